"""Records: write a game as lines of text, and read it by playing it again. docs/record.md has the format.

Only the decisions of chance and of the players are read from a record. Everything else in it (who draws, the
result) must match the replayed game, line for line.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from engine import events as facts
from engine.board import CENTRE, ORIENTATIONS, TILES, Field, Tile
from engine.components import DEALS, OTHER_LAURELS, PEOPLES, Laurel
from engine.draws import BYTES32, MISSING, NO_SHARE, OF_ROUND, Bytes32, Draws, Share
from engine.errors import DamagedRecord, IllegalCommand
from engine.events import Command, Event, LayTile, Place
from engine.game import Game, GameOptions
from engine.pieces import NOTATIONS, People, Piece, Seat

LINE_LENGTH: Final = 200
_HEADER: Final = "palatinus record 1"
_HEADER_WITH_DRAWS: Final = "palatinus record 2"  # with the lines on where the draws came from
_VERSIONS: Final = {"1": False, "2": True}
_UNFINISHED: Final = "unfinished"
_LAID, _RANDOM = "laid", "random"
_DRAWN, _CHOSEN = "drawn", "chosen"
_POINTS: Final = re.compile(r"^ *result +[0-4] +points +(\d{1,3}) ", re.MULTILINE)
_WINNERS: Final = re.compile(r"^ *winners((?: +[0-4])+) *\r?$", re.MULTILINE)
_NAMED: Final = re.compile(r" *# seat ([0-4]) is (.+)")


def recorded(events: Iterable[Event], names: Sequence[str] = ()) -> str:
    """Return the record of the game of these `events`; the players' `names`, by seat, become comments."""
    lines: list[str] = []
    header, over = _HEADER, False
    for event in events:
        lines.extend(_lines(event))
        over = isinstance(event, facts.GameEnded)
        if isinstance(event, facts.GameStarted) and event.draws is not None:
            header = _HEADER_WITH_DRAWS
    if not over:
        lines.append(_UNFINISHED)
    comments = (_comment(f"seat {seat} is {name}") for seat, name in enumerate(names))
    return "\n".join([header, *comments, *lines]) + "\n"


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """The end of a game according to its record: points by seat, and the winners' seats."""

    points: tuple[int, ...]
    winners: tuple[int, ...]


def outcome_in(text: str) -> RecordedResult | None:
    """Return the end of the game in the record `text`, None if there is none; nothing is checked."""
    points = tuple(int(each) for each in _POINTS.findall(text))
    winners = _WINNERS.search(text)
    if winners is None or not points:
        return None
    return RecordedResult(points, tuple(int(seat) for seat in winners[1].split() if int(seat) < len(points)))


def names_in(text: str) -> dict[int, str]:
    """Return the players' names by seat from the comments in the record `text`: strangers wrote them."""
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    # No line of a record is longer. The end is stripped apart: in a pattern, it takes quadratic time to find.
    found = (_NAMED.fullmatch(line.rstrip(" ")) for line in lines if len(line) <= LINE_LENGTH)
    return {int(named[1]): named[2] for named in found if named is not None}


def replayed(text: str) -> Game:
    """Return the game in the record `text`, played again under the rules.

    Raises DamagedRecord, with line and reason, if the record is damaged or the game is impossible.
    To continue an unfinished game, give its events and a new source of chance to `Game`.
    """
    reader = _Reader(text)
    options, draws = _start(reader, with_draws=reader.header())
    game = Game.new(options, _RecordedChance(reader, draws, random_layout=options.random_layout))
    reader.prove(game.events)
    while not game.over and (command := _command(reader, game)) is not None:
        try:
            events = (game.taken_back(command),) if isinstance(command, int) else game.decided(command)
        except IllegalCommand as error:
            raise reader.damage(error.text, **error.about) from error
        for event in events:
            game.fold(event)
        reader.prove(events)
    reader.end()
    return game


# -- writing --------------------------------------------------------------------------------------


def _lines(event: Event) -> Iterator[str]:
    """Yield the lines for `event`; none if it follows from the lines before."""
    match event:
        case facts.GameStarted():
            yield f"players {len(event.peoples)}"
            how = "" if event.draws is None else f" {_DRAWN if event.draws.starting else _CHOSEN}"
            yield f"starts {event.starting}{how}"
            for seat, peoples in enumerate(event.peoples):
                yield f"seat {seat} {''.join(peoples)}"
            if event.draws is not None:
                yield f"commitment {event.draws.commitment}"
                for seat, share in enumerate(event.draws.shares):
                    yield f"share {seat} {share}"
        case facts.CentreTurned():
            yield f"layout {_LAID}"
            yield f"tile {event.tile} {CENTRE} 0"
        case facts.LayoutDrawn():
            yield f"layout {_RANDOM}"
            for position, laid in enumerate(event.tiles):
                yield f"tile {laid.tile} {position} {laid.orientation}"
        case facts.TileDrawn():
            yield f"{event.seat} draws {event.tile}"
        case facts.TileLaid():
            yield f"{event.seat} lays {event.tile} {event.position} {event.orientation}"
        case facts.LaurelsDealt():
            for tile in TILES:
                yield f"laurel {tile} {event.laurels[tile]}"
        case facts.Placed():
            yield f"{event.seat} places {event.piece} {event.field}"
        case facts.TakenBack():
            yield f"{event.seat} takes back {event.fields[-1]}"
        case facts.GameEnded():
            if event.seed is not None:
                yield f"seed {event.seed}"
            for seat, tally in enumerate(event.tallies):
                yield f"result {seat} points {tally.points} items {tally.items}"
            yield f"winners {' '.join(map(str, event.winners))}"
        case facts.WolvesRevealed() | facts.SoldierFled() | facts.Captured() | facts.HillScored():
            return
        case _:
            assert_never(event)


def _comment(text: str) -> str:
    """Return `text` as one comment line that `replayed` accepts, for names come from strangers."""
    safe = "".join(character if character.isprintable() else " " for character in text)
    return f"# {safe}"[:LINE_LENGTH]


# -- reading --------------------------------------------------------------------------------------


class _Reader:
    """The lines of a record, and those read that are still to be checked against the game."""

    def __init__(self, text: str) -> None:
        self._rest = _meaningful(text)
        self._unproven: deque[tuple[int, str]] = deque()
        self._line = 0
        self._lines = text.removesuffix("\n").count("\n") + 1 if text else 0

    def damage(self, text: str, **about: object) -> DamagedRecord:
        """Return the refusal of the line read last."""
        return DamagedRecord(self._line, text, **about)

    def words(self, *shapes: str) -> list[str]:
        """Return the words of the next line, which must match one of `shapes`: capitals match any word."""
        expected = " | ".join(f"`{shape}`" for shape in shapes)
        found = self._next(expected)
        words = found.split()
        for shape in shapes:
            places = shape.split()
            if len(words) == len(places) and all(
                place.isupper() or word == place for word, place in zip(words, places, strict=True)
            ):
                return words
        raise self.damage("found {found}, expected {expected}", found=_quote(found), expected=expected)

    def number(self, word: str) -> int:
        """Return `word`, from the line read last, as a number."""
        if not word.isdecimal() or len(word) > 3:
            raise self.damage("{word} is not a number that is allowed here", word=_quote(word))
        return int(word)

    def bytes32(self, word: str) -> Bytes32:
        """Return `word`, from the line read last, as 32 bytes."""
        if BYTES32.fullmatch(word) is None:
            raise self.damage("{word} is not 64 hexadecimal digits, 0-9 and a-f", word=_quote(word))
        return Bytes32(word)

    def header(self) -> bool:
        """Read the first line, which says that this is a record; return whether it describes the draws."""
        found = self._next(f"`{_HEADER}` | `{_HEADER_WITH_DRAWS}`")
        match found.split():
            case ["palatinus", "record", version]:
                if version not in _VERSIONS:
                    raise self.damage(
                        "this is a record of version {version}; only versions {known} can be read",
                        version=_quote(version),
                        known=", ".join(_VERSIONS),
                    )
            case _:
                raise self.damage(
                    "found {found}, but a record begins with {header}",
                    found=_quote(found),
                    header=_quote(_HEADER),
                )
        self._unproven.clear()  # no event produces this line
        return _VERSIONS[version]

    def prove(self, events: Iterable[Event]) -> None:
        """Check that the next lines, already read or not, are those that `events` produce."""
        for event in events:
            for line in _lines(event):
                if not self._unproven:
                    self._next(f"`{line}`")
                number, found = self._unproven.popleft()
                if found != line:
                    raise DamagedRecord(
                        number,
                        "found {found}, but this game has {due} here",
                        found=_quote(found),
                        due=f"`{line}`",
                    )

    def end(self) -> None:
        """Check that nothing is left."""
        for number, found in self._rest:
            raise DamagedRecord(number, "found {found} after the end of the record", found=_quote(found))

    def _next(self, due: str) -> str:
        line = next(self._rest, None)
        if line is None:
            raise DamagedRecord(self._lines + 1, "the record ends where {due} should follow", due=due)
        self._line, found = line
        self._unproven.append(line)
        return found


def _meaningful(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each line that is neither blank nor a comment, with single spaces."""
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.removesuffix("\r")
        if len(line) > LINE_LENGTH:
            raise DamagedRecord(
                number,
                "the line has {length} characters; at most {most} are allowed",
                length=len(line),
                most=LINE_LENGTH,
            )
        comment = line.lstrip(" ").startswith("#")
        for character in line:
            if not character.isprintable() or not (comment or character.isascii()):
                code = f"U+{ord(character):04X}"
                raise DamagedRecord(number, "the character {code} is not allowed here", code=code)
        words = line.split()
        if words and not comment:
            yield number, " ".join(words)


def _quote(found: str) -> str:
    return f"`{found}`" if len(found) <= 60 else f"`{found[:60]}...`"


def _start(reader: _Reader, *, with_draws: bool) -> tuple[GameOptions, Draws | None]:
    """Return how the game starts, and what its draws come from if the record says so."""
    players = reader.number(reader.words("players COUNT")[1])
    if players not in DEALS:
        text = "Palatinus is for {least} to {most} players, not {n}."
        raise reader.damage(text, n=players, least=min(DEALS), most=max(DEALS))
    forms = (f"starts SEAT {_DRAWN}", f"starts SEAT {_CHOSEN}") if with_draws else ("starts SEAT",)
    words = reader.words(*forms)
    starting = reader.number(words[1])
    if starting not in range(players):
        raise reader.damage("Seat {seat} cannot start. Choose 0 to {last}.", seat=starting, last=players - 1)
    peoples = _peoples(reader, players)
    draws = None
    if with_draws:
        commitment = reader.bytes32(reader.words("commitment DIGITS")[1])
        shares = tuple(_share(reader, reader.words(f"share {seat} SHARE")[2]) for seat in range(players))
        draws = Draws(commitment, shares, starting=words[2] == _DRAWN)
    layout = reader.words(f"layout {_LAID}", f"layout {_RANDOM}")[1]
    return GameOptions(players, Seat(starting), layout == _RANDOM, peoples), draws


def _share(reader: _Reader, word: str) -> Share:
    return Share(word if word in {NO_SHARE, MISSING, OF_ROUND} else reader.bytes32(word))


def _peoples(reader: _Reader, players: int) -> tuple[tuple[People, ...], ...]:
    """Return the peoples of each seat, which the players have chosen or been given."""
    count = 1 + bool(DEALS[players].second)
    left = list(PEOPLES)
    peoples = []
    for seat in range(players):
        found = reader.words(f"seat {seat} PEOPLES")[2]
        if not len(found) == len(set(found)) == count or not set(found).issubset(left):
            raise reader.damage(
                "found {found}, expected {count} of the peoples left: {left}",
                found=_quote(found),
                count=count,
                left=", ".join(left),
            )
        peoples.append(tuple(map(People, found)))
        left = [people for people in left if people not in found]
    return tuple(peoples)


def _command(reader: _Reader, game: Game) -> Command | Seat | None:
    """Return the next command, or the seat that takes back; None where the record says: unfinished."""
    shapes = "SEAT lays TILE POSITION ORIENTATION", "SEAT places PIECE FIELD", "SEAT takes back FIELD"
    words = reader.words(*shapes, _UNFINISHED)
    if words[1:2] == ["takes"]:
        return Seat(reader.number(words[0]))
    if words != [_UNFINISHED] and (found := reader.number(words[0])) != game.view.turn:
        raise reader.damage(
            "found seat {seat}, but it is the turn of seat {turn}",
            seat=_quote(str(found)),
            turn=_quote(str(game.view.turn)),
        )
    match words:
        case [seat, "lays", tile, position, orientation]:
            drawn = game.view.drawn
            if drawn is not None and tile != drawn:
                raise reader.damage(
                    "found tile {tile}, but {drawn} was drawn", tile=_quote(tile), drawn=drawn
                )
            return LayTile(Seat(reader.number(seat)), reader.number(position), reader.number(orientation))
        case [seat, _, piece, field]:
            if piece not in NOTATIONS:
                raise reader.damage(
                    "{piece} is not a piece: write people, kind, and * for a wolf, like {example}",
                    piece=_quote(piece),
                    example="Em*",
                )
            return Place(Seat(reader.number(seat)), Piece(piece), Field(field))
    return None


class _RecordedChance:
    """Chance as a record has it; what could not have come up is refused."""

    def __init__(self, reader: _Reader, draws: Draws | None, *, random_layout: bool) -> None:
        self._reader = reader
        self._draws = draws
        self._random_layout = random_layout
        self._centre: Tile | None = None
        self._orientation = ""

    def starting(self, seats: Sequence[Seat]) -> Seat:
        raise NotImplementedError("a record names who starts, so it is not drawn")

    def tile(self, bag: Sequence[Tile]) -> Tile:
        position = len(TILES) - len(bag)
        if position == CENTRE:
            tile = self._reader.words(f"tile TILE {CENTRE} 0")[1]
        elif self._random_layout:
            _, tile, _, self._orientation = self._reader.words(f"tile TILE {position} ORIENTATION")
        else:
            tile = self._reader.words("SEAT draws TILE")[2]
        if tile not in bag:
            raise self._reader.damage(
                "tile {tile} cannot be drawn: the bag still holds {bag}",
                tile=_quote(tile),
                bag=", ".join(bag),
            )
        if position == CENTRE:
            self._centre = Tile(tile)
        return Tile(tile)

    def orientation(self, position: int) -> int:  # noqa: ARG002 - the line read last has it
        orientation = self._reader.number(self._orientation)
        if orientation not in ORIENTATIONS:
            raise self._reader.damage(
                "{orientation} is not an orientation. Choose 0 to 5.", orientation=orientation
            )
        return orientation

    def laurels(self) -> Sequence[Laurel]:
        left = {str(laurel): laurel for laurel in OTHER_LAURELS}
        named = []
        for tile in TILES:
            name = self._reader.words(f"laurel {tile} LAUREL")[2]
            if (tile == self._centre) != (name == Laurel.PALATINUS):
                raise self._reader.damage(
                    "{laurel} must be in the centre, on {tile}, and nowhere else",
                    laurel=Laurel.PALATINUS,
                    tile=self._centre,
                )
            if tile == self._centre:
                continue
            if name not in left:
                raise self._reader.damage(
                    "laurel {laurel} cannot be dealt: the ones left are {left}",
                    laurel=_quote(name),
                    left=", ".join(left),
                )
            named.append(left.pop(name))
        return named

    def draws(self, *, starting: bool) -> Draws | None:  # noqa: ARG002 - the record says so itself
        return self._draws

    def seed(self) -> Bytes32 | None:
        """Return the seed, which follows the last placement."""
        return None if self._draws is None else self._reader.bytes32(self._reader.words("seed DIGITS")[1])

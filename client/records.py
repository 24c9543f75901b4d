"""Finished games: each stop of one as any seat saw it, its analysis, and what players have reached."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple, replace

from client.language import _
from client.levels import LEVELS
from engine.board import Field, Tile
from engine.events import Command, GameStarted, Place, SeenEvent, WolfPlaced, WolvesRevealed, lasting, stops
from engine.legal import LegalPlaces
from engine.pieces import Kind, Seat
from engine.redaction import redacted
from engine.view import SPECTATOR, Eyes, View, eyes_of, folded
from protocol.bot_names import level_of, person_of
from protocol.limits import NAME_LENGTH
from protocol.messages import NEWCOMER, Standing
from protocol.text import unsafe


@dataclass(frozen=True, slots=True)
class Recording:
    """What happened in a game, or what `eyes` saw of it, and the names of its players by seat.

    Moves that were taken back are left out.
    Its stops are numbered: 0 is the start, n the game after move n, a move being a tile laid or a piece
    placed. After the last move of a finished game one more stop follows: the scoring.
    """

    events: tuple[SeenEvent, ...]
    names: tuple[str, ...]
    counts: tuple[int, ...]  # how many events have happened, by stop
    eyes: Eyes | None = None

    @classmethod
    def of(cls, events: Sequence[SeenEvent], names: Mapping[int, str], eyes: Eyes | None = None) -> Self:
        """Return the recording of `events`; a seat without a name that can be shown is `Seat 1` and so on."""
        events = lasting(events)
        seats = next(len(event.peoples) for event in events if isinstance(event, GameStarted))
        return cls(
            tuple(events),
            tuple(player_name(names.get(seat), seat) for seat in range(seats)),
            stops(events),
            eyes,
        )

    @property
    def over(self) -> bool:
        return any(isinstance(event, WolvesRevealed) for event in self.events)

    @property
    def end(self) -> int:
        return len(self.counts) - 1

    @property
    def moves(self) -> int:
        return self.end - self.over

    @property
    def last_turn(self) -> int:
        """Return the last stop at which it is somebody's turn."""
        return self.moves - self.over

    @property
    def seats(self) -> range:
        return range(len(self.names))

    @property
    def all_eyes(self) -> Eyes:
        """Return the eyes that see all that is known."""
        return frozenset(map(Seat, self.seats)) if self.eyes is None else self.eyes

    @property
    def every_eyes(self) -> Sequence[Eyes]:
        """Return every view from which the record can be shown."""
        if self.eyes is not None:
            return [self.eyes]
        return [self.all_eyes, *(eyes_of(Seat(seat)) for seat in self.seats), SPECTATOR]

    def seen(self, stop: int, eyes: Eyes) -> tuple[SeenEvent, ...]:
        happened = self.events[: self.counts[stop]]
        return tuple(event if isinstance(event, WolfPlaced) else redacted(event, eyes) for event in happened)

    def view(self, stop: int, eyes: Eyes) -> View:
        return folded(self.seen(stop, eyes), eyes)


def player_name(name: str | None, seat: int) -> str:
    """Return the name if a table would accept it, for records come from strangers; else the seat's number."""
    usable = name is not None and len(name) <= NAME_LENGTH and unsafe(name) is None
    return name if usable and name else _("Seat {number}").format(number=seat + 1)


class PastGame(Struct, frozen=True):
    """A finished game by its record's file name; `ended` is in seconds since 1970.

    Names and points are by seat, winners are seats. A record that cannot be read has none of them.
    """

    file: str
    table: str
    ended: float
    names: tuple[str, ...] = ()
    points: tuple[int, ...] = ()
    winners: tuple[int, ...] = ()


def player_standings(games: Iterable[PastGame]) -> list[tuple[str, Standing]]:
    """Return what everybody has reached, the best first; players are told apart by their names.

    All bots of a level are one.
    """
    found: dict[str, Standing] = {}
    for game in games:
        for seat, (called, points) in enumerate(zip(game.names, game.points, strict=True)):
            name = _level_in(called) or called
            before = found.get(name, NEWCOMER)
            found[name] = Standing(
                before.games + 1, before.wins + (seat in game.winners), before.points + points
            )
    return best_first(found.items())


def best_first(standings: Iterable[tuple[str, Standing]]) -> list[tuple[str, Standing]]:
    """Return the players in order: more wins come first, then more points."""
    return sorted(standings, key=lambda each: (-each[1].wins, -each[1].points, each[0]))


Chances: TypeAlias = tuple[float, ...]  # of winning, by seat: they add up to 1

MOSTDECIDING: Final = 3  # moves that decided a game
DECIDING: Final = 0.1  # what a move has to change at least, to be one of them


@dataclass(frozen=True, slots=True)
class Contest:
    """In what part of the games a seat takes a hill's laurel after one move, and instead after another one.

    `rival` is the seat that it is taken from, or lost to, if there is one.
    """

    hill: Tile
    worth: int
    seat: Seat
    rival: Seat | None
    often: float
    instead: float


@dataclass(frozen=True, slots=True)
class Captives:
    """How many pieces of `owner` a seat captures on average after one move, and instead after another one."""

    captor: Seat
    owner: Seat
    often: float
    instead: float


@dataclass(frozen=True, slots=True)
class Awaited:
    """In what part of the games after another move a rival places a piece on the field of this one."""

    seat: Seat
    field: Field
    often: float


Reason: TypeAlias = Contest | Captives | Awaited


@dataclass(frozen=True, slots=True)
class HiddenWolf:
    """A wolf of `seat`, hidden from a player, that has to be of this kind for a move to be better.

    It `seems` to be of this kind if it is placed where that promises its owner more.
    """

    seat: Seat
    field: Field
    kind: Kind
    seems: bool


@dataclass(frozen=True, slots=True)
class Better:
    """A move that is better than another one, judged by what its player sees.

    `chance` is the player's chance of winning after it, and `instead_of` that after the other. `reasons` are
    what differs in the games played out after both: what is for the move comes first. It is better on
    `condition`, or in any case.
    """

    move: Place
    chance: float
    instead_of: float
    reasons: tuple[Reason, ...] = ()
    condition: HiddenWolf | None = None

    @property
    def gain(self) -> float:
        return self.chance - self.instead_of


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The move, and in words why; the reason is empty where what the move brings says enough.

    `other` is the next best move, which is about as good without `better`. `aim` is in a few words what the
    move is for.
    """

    command: Command
    reason: str = ""
    other: Place | None = None
    better: Better | None = None
    aim: str = ""


@dataclass(frozen=True, slots=True)
class JudgedMove:
    """A placement, move `number` of its game, and everybody's chances before and after it.

    Without a better move that its player could know, `unknown` is a wolf that hid one.
    """

    number: int
    move: Place
    before: Chances
    after: Chances
    better: Better | None
    unknown: HiddenWolf | None = None

    @property
    def seat(self) -> Seat:
        return self.move.seat

    @property
    def swing(self) -> float:
        return swing(self.before, self.after)

    @property
    def gain(self) -> float:
        """Return how much the chance of its player rose."""
        return self.after[self.seat] - self.before[self.seat]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The chances in a game, as far as they are judged: after move `first`, and after each one that follows.

    `wanted` is how many moves there are to judge, and `result` everybody's share of the victory.
    `simulations` is how many games were played out to judge each moment, and `seed` makes them repeatable.
    """

    names: tuple[str, ...]
    first: int
    start: Chances | None
    moves: tuple[JudgedMove, ...]
    wanted: int
    result: Chances
    simulations: int
    seed: int

    @property
    def complete(self) -> bool:
        return self.start is not None and len(self.moves) == self.wanted

    @property
    def judged(self) -> int:
        """Return how many moments are judged, of `wanted + 1`."""
        return (self.start is not None) + len(self.moves)

    @property
    def curve(self) -> tuple[Chances, ...]:
        """Return the chances from the start on; if all is judged, the last ones are the result itself."""
        return () if self.start is None else (self.start, *(move.after for move in self.moves))

    @property
    def deciding(self) -> tuple[JudgedMove, ...]:
        by_swing = sorted(self.moves, key=lambda move: -move.swing)
        return tuple(move for move in by_swing[:MOSTDECIDING] if move.swing >= DECIDING)

    def at(self, stop: int) -> Chances | None:
        """Return the chances at a stop of the recording; None where they are not judged."""
        curve, index = self.curve, stop - self.first
        return curve[index] if 0 <= index < len(curve) else None

    def move_at(self, stop: int) -> JudgedMove | None:
        index = stop - self.first - 1
        return self.moves[index] if 0 <= index < len(self.moves) else None


class Analyse(Protocol):
    """Judges a finished game, tells what there is of it again and again, and returns what went wrong."""

    def __call__(self, recording: Recording, told: Callable[[Analysis], None], /) -> Awaitable[str]: ...

    def knows(self, recording: Recording) -> bool:
        """Return whether the game has been analysed, so that nothing is left to do."""
        ...


# What a move was lost on: a hill that the player wins less often, or another one more often; pieces of others
# that are not captured, or own ones that are; or a little of everything.
LostOn: TypeAlias = Literal["hill", "rival", "captives", "soldiers", "all"]


GRADES: Final = 4  # of the problems that ship, from 1: the next is harder to find


class StoredProblem(Struct, frozen=True):
    """A moment of a game, after move `move` of its record, at which one move is clearly the best.

    `other` is the next best, or the one that was played. Both are written like `Em* D4`. Problems of the
    player's own games have no `grade`.
    """

    record: str
    move: int
    best: str
    other: str
    grade: int = 0


class Slip(Struct, frozen=True):
    """A move of a player's own that was clearly not the best: by how much, and what it was lost on.

    It came after move `move`; both placements are written like `Em* D4`.
    """

    move: int
    best: str
    played: str
    gain: float
    lost_on: LostOn


class Looked(Struct, frozen=True):
    """What was found in a game of the player in this seat, who has made so many moves."""

    seat: int
    moves: int
    faults: tuple[Slip, ...]


class OwnResult(Struct, frozen=True):
    """What a player has reached in games of so many, against bots of these levels or people.

    Of `moves` in games that were looked through, `lost` is what they cost in all, in parts of a game won.
    """

    against: tuple[str, ...]
    players: int
    games: int = 0
    wins: int = 0
    points: int = 0
    moves: int = 0
    lost: float = 0.0


_LEVELS: Final = frozenset(level.name for level in LEVELS)
PEOPLE: Final = "people"  # among levels: opponents who are none


def _level_in(name: str) -> str:
    """Return the level of a bot of that name; empty for people."""
    level = level_of(name) or name
    return level if level in _LEVELS else ""


def own_results(name: str, games: Iterable[PastGame], looked: Mapping[str, Looked]) -> list[OwnResult]:
    """Return what the player of that name has reached, those games first of which there are most."""
    found: dict[tuple[tuple[str, ...], int], OwnResult] = {}
    for game in games:
        if name not in game.names or not game.points:
            continue
        seat = game.names.index(name)
        others = (other for at, other in enumerate(game.names) if at != seat)
        against = tuple(sorted({_level_in(other) or PEOPLE for other in others}))
        kind = against, len(game.names)
        before, seen = found.get(kind, OwnResult(*kind)), looked.get(game.file, Looked(seat, 0, ()))
        found[kind] = replace(
            before,
            games=before.games + 1,
            wins=before.wins + (seat in game.winners),
            points=before.points + game.points[seat],
            moves=before.moves + seen.moves,
            lost=before.lost + sum(fault.gain for fault in seen.faults),
        )
    return sorted(found.values(), key=lambda each: (-each.games, each.players, each.against))


class Rival(Struct, frozen=True):
    """Somebody at the player's tables, or the bots of a level, and how many of the games the player has won.

    `lately` are the names of the bots in the latest of them.
    """

    name: str
    played: int = 0
    won: int = 0
    lately: tuple[str, ...] = ()


class Ladder(Struct, frozen=True):
    """The levels of bots as rivals, the weakest first, and the people whom the player has met most often."""

    bots: tuple[Rival, ...]
    people: tuple[Rival, ...]

    @property
    def beaten(self) -> int:
        """Return how many levels, from the weakest on, the player has risen above."""
        return max((at for at, each in enumerate(self.bots, 1) if each.won), default=0)


def ladder_of(name: str, games: Iterable[PastGame]) -> Ladder:
    """Return the rivals of the player of that name; the games are in order, the latest first.

    Whoever has won a game with bots of several levels has beaten them all.
    """
    found = {level.name: Rival(level.name) for level in LEVELS}
    for game in games:
        if name not in game.names or not game.points:
            continue
        seat = game.names.index(name)
        others = [each for at, each in enumerate(game.names) if at != seat]
        for rival in dict.fromkeys(_level_in(each) or each for each in others):
            before = found.get(rival, Rival(rival))
            lately = tuple(person_of(each) for each in others if _level_in(each) == rival)
            found[rival] = Rival(
                rival, before.played + 1, before.won + (seat in game.winners), before.lately or lately
            )
    bots = tuple(found.pop(level.name) for level in LEVELS)
    return Ladder(bots, tuple(sorted(found.values(), key=lambda each: (-each.played, -each.won, each.name))))


class Habits(Struct, frozen=True):
    """What a player did in so many finished games.

    Soldiers were among the first or the second half of the player's pieces, `early` or `late`, and of both
    some fled. Of the wolves, some were `believed`: they seemed likelier to be of the other kind.
    """

    games: int = 0
    early: int = 0
    early_fled: int = 0
    late: int = 0
    late_fled: int = 0
    wolves: int = 0
    believed: int = 0

    def with_game(self, other: Self) -> Self:
        """Return these habits and those in other games together."""
        return type(self)(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Problem:
    """A moment of a game, after move `stop`, at which `best` is clearly the best move.

    `other` is the next best or, in a game of the player's `own` at this `table`, the one that was played.
    `key` tells problems apart. One that ships has a `number`, from 1, and a `grade`. It may be that of a
    `day`, in ISO 8601.
    """

    key: str
    recording: Recording
    stop: int
    legal: LegalPlaces
    best: Place
    other: Place
    table: str = ""
    number: int = 0
    grade: int = 0
    day: str = ""

    @property
    def own(self) -> bool:
        return bool(self.table)


class Solved(Struct, frozen=True):
    """The `keys` of the problems that a player has solved, and how many those are `of` the set that ships.

    Also whether that of the day is solved, and on how many days until then one was, without a gap.
    """

    keys: frozenset[str] = frozenset()
    count: int = 0
    of: int = 0
    today: bool = False
    in_a_row: int = 0


NONE_SOLVED: Final = Solved()


def swing(before: Sequence[float], after: Sequence[float]) -> float:
    """Return how much of the chances changed hands."""
    return sum(max(0.0, now - then) for then, now in zip(before, after, strict=True))

"""A table's persistent state: options, who sits where, the game, and which messages were answered.

It is exactly the fold of the table's journal entries, so that a restart restores it.
"""

import random
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import Any, Final

import msgspec

from engine.board import Field
from engine.components import DEALS, peoples_by_seat
from engine.draws import Bytes32
from engine.errors import Fault, IllegalCommand
from engine.events import Event, GameStarted, Place, TakenBack, lasting, stops
from engine.game import Chance, Game, GameOptions, RandomChance, SharedChance
from engine.pieces import People, Seat
from engine.view import View
from protocol import messages, settings
from protocol.absence import WAIT, Absence, LongClock, for_older_clients, kept
from protocol.codes import Code
from protocol.events import event_map
from protocol.messages import Stage, Standing
from protocol.settings import USUAL, Setting, Switches
from server.net.tokens import hash_fits
from server.refusal import Refusal
from server.storage import entries as stored
from server.storage.entries import Entry
from server.tables.clocks import Clocks
from server.tables.feature import Feature, Fleeting, Happening, Moment, PlannedPlace
from server.tables.rooms import AWAITING, FOLDING, OWN, PLANNING, ROOMS, SHOWING, SHOWING_OF, STOPPING
from server.tables.state.answers import Answers, digest

# What others are told in the game's own messages, or not at all; and what the rooms say that others see.
_UNSEEN: Final = frozenset[type[Happening]](
    {
        stored.Played,
        stored.StoodIn,
        stored.TookBack,
        stored.Answered,
        stored.Clocked,
        stored.Forgotten,
        stored.Returned,  # for whoever is here no bot plays anyway
        *OWN,
    }
)
_REMEMBERED: Final = 8  # games of a series, which the server's bots may learn from
_EVENTS: Final = msgspec.json.Decoder(list[messages.EventMap])
_NOTHING_TO_DRAW: Final[Chance] = RandomChance(random.Random(0))  # in a finished game


@dataclass(slots=True)
class Player:
    """Who holds a seat, a person or a `program`; a `kept` one played the game before and has not come yet.

    A player whom the host of the server removed from a running game has no token hash and counts as a
    program: a bot plays on. A `vacant` seat of a running game is nobody's until somebody takes it over: it
    has no token hash, and the name of the player whom the host of the table removed. A bot of the server has
    a `level` and no token hash, and counts as a program that never comes: it moves as the stand-in does.
    `people` is the one that the player has chosen.
    """

    name: str
    token_hash: str
    program: bool = False
    kept: bool = False
    standing: Standing = messages.NEWCOMER  # before this table's game
    vacant: bool = False
    level: str | None = None
    people: People | None = None
    took_over: str | None = None  # the seat of somebody of this name; in memory
    answers: Answers = field(default_factory=Answers)

    def entries(self, seat: int) -> list[Entry]:
        """Return the entries that make the player sit in the seat, with the people that they have chosen."""
        entry: Entry
        if self.level is not None:
            entry = stored.BotSeated(seat, self.level, self.name, self.standing)
        else:
            kind = stored.Kept if self.kept else stored.Taken
            entry = kind(seat, self.name, self.token_hash, self.program, self.standing)
        entries: list[Entry] = [entry]
        if self.people is not None:
            entries.append(stored.PeopleChosen(seat, self.people))
        return entries


@dataclass(frozen=True, slots=True)
class Rearranged(Fleeting):
    """Each seat has the player of the seat in `order`; they were these `players`."""

    order: Sequence[Seat]
    players: Sequence[Player | None] = field(repr=False)


@dataclass(slots=True, weakref_slot=True, eq=False, repr=False)
class PersistentState:
    """The fold of a table's entries; `chance` makes the draws of a game without a seed."""

    entries: InitVar[Iterable[Entry]]
    chance: Chance
    opened: stored.Opened = field(default=stored.Opened(2, random_layout=False, starting=None))
    seats_follow: bool = False  # the people, until the game begins
    of_evening: bool = False
    study: bool = False
    absence: Absence = WAIT
    settings: dict[type[Setting], Setting] = field(default_factory=dict)  # those changed
    title: str = ""
    switches: Switches = USUAL
    clocks: Clocks = field(default_factory=lambda: Clocks(WAIT, 0))
    bot_seats: frozenset[Seat] = frozenset()  # for which the stand-in plays
    players: list[Player | None] = field(default_factory=list)
    stood_in: list[int] = field(default_factory=list)  # events: the stand-in's moves for players
    stage: Stage = "gathering"
    _game: Game | None = None
    _packed: bytes | None = None  # the events of a finished game in place of `_game`
    paused: Seat | None = None  # the seat for whose player the game is paused
    paused_until: int | None = None  # in seconds since 1970, if the players have agreed on that
    ended: bool = False  # by the host, without a result
    forgotten: bool = False
    entry_count: int = 0
    ready: frozenset[Seat] = frozenset()  # whose players have said that they are
    _starting: Seat | None = None  # the seat that starts, if the table has it
    _host: Seat | None = None  # unless it is still the lowest taken seat
    _movers: set[int] = field(default_factory=set)  # seats whose players have made a move themselves
    earlier: list[tuple[list[str], View]] = field(default_factory=list)  # ends of games; in memory
    rooms: dict[type[Feature], Feature] = field(init=False)
    # What the rooms said after the last change but moves, which are many and change none of it.
    _stopped: tuple[Seat, ...] | None = None
    _awaiting: tuple[type[Feature], ...] | None = None

    def __post_init__(self, entries: Iterable[Entry]) -> None:
        self.rooms = {room: room(self) for room in ROOMS}
        for entry in entries:
            self.fold(entry)

    @property
    def game(self) -> Game | None:
        """Return the game, None before it begins."""
        if self._game is None and self._packed is not None:
            events = _EVENTS.decode(zlib.decompress(self._packed))
            self._game = Game(stored.whole_events(events), self.chance)
            self._packed = None
        return self._game

    @property
    def grows(self) -> bool:
        """Return whether the seats follow the people who come and go."""
        return self.seats_follow and self.stage == "gathering"

    @property
    def most_seats(self) -> int:
        """Return how many people can sit down."""
        return max(DEALS) if self.grows else len(self.players)

    @property
    def starting(self) -> Seat | None:
        """Return the seat that starts, None for a draw; one that has gone with its player does not."""
        return self._starting if self._starting in range(len(self.players)) else None

    @property
    def options(self) -> GameOptions:
        """Return how the coming game starts."""
        return GameOptions(len(self.players), self.starting, self.opened.random_layout, self.chosen)

    def check_gathering(self) -> None:
        """Raise Refusal unless the game has yet to begin."""
        if self.stage != "gathering":
            raise Refusal(Code.ALREADY_STARTED)

    def running_game(self) -> Game:
        """Return the game, which may be paused; raises Refusal before it, IllegalCommand after it."""
        if self.stage == "over":
            raise IllegalCommand(Fault.GAME_OVER, "R4.4")
        if self._game is None:
            raise Refusal(Code.NOT_STARTED)
        return self._game

    def check_running(self) -> None:
        """Raise Refusal before the game, IllegalCommand after it."""
        self.running_game()

    def check_finished(self) -> None:
        """Raise Refusal unless the game has been played to its end: looking back would reveal its pieces."""
        if (game := self.game) is None or not game.over:
            raise Refusal(Code.NOT_OVER)

    def check_place(self, place: Place) -> None:
        """Raise IllegalCommand if the player could not place this if it were their turn."""
        self.running_game().check_place(place)

    def owner_of(self, field: Field) -> Seat | None:
        """Return the seat that placed the piece on the field, None without one."""
        return None if self.game is None else self.game.view.owners.get(field)

    @property
    def turn(self) -> Seat | None:
        """Return the seat to move, None before and after the game."""
        return None if self.game is None else self.game.view.turn

    def turn_of_game(self, id: int, seat: Seat) -> messages.Turn:  # noqa: A002 - the wire's own word
        """Return whose turn it is, for the player of `seat`, without the time that is left."""
        if self.stage != "playing" or (on_turn := self.turn) is None:
            return messages.Turn(id, self.stage, seat)
        return messages.Turn(
            id,
            "playing",
            seat,
            on_turn,
            self.names[on_turn],
            planned=bool(self.planned(seat)),
            paused=self.paused is not None,
            paused_until=self.paused_until,
        )

    @property
    def first(self) -> Seat | None:
        """Return the seat that has the first turn, None before the game."""
        return None if self.game is None else self.game.view.start.starting

    @property
    def event_count(self) -> int:
        """Return how many events the game has had so far."""
        return 0 if self.game is None else len(self.game.events)

    def holder(self, seat: Seat) -> str:
        """Return the hash of the token that holds the seat, "" without one."""
        return self._holder(seat).token_hash

    def played_until(self, step: int) -> list[Entry]:
        """Return the moves of the finished game up to this step; raises Refusal at a step without a turn."""
        assert self.game is not None  # noqa: S101 - a game that is finished was begun
        events = lasting(self.game.events)
        counts = stops(events)
        last = len(counts) - 3  # then come the last move and the scoring
        if step > last:
            raise Refusal(Code.NO_SUCH_STEP, last=last)
        return [*stored.played_so_far(events[: counts[step]], 0)]

    @property
    def taken_back(self) -> int:
        """Return how often a placement was taken back in the running game."""
        return sum(isinstance(event, TakenBack) for event in self.running_game().events)

    def take_back(self, seat: Seat) -> stored.TookBack:
        """Return the entry that takes the seat's last placement back; raises IllegalCommand."""
        return stored.TookBack(seat, [event_map(self.running_game().taken_back(seat))])

    def check_turn(self, seat: Seat) -> None:
        """Raise IllegalCommand unless it is the seat's turn in the running game."""
        self.running_game().check_turn(seat)

    @property
    def stopped(self) -> tuple[Seat, ...]:
        """Return the seats whose clocks are stopped during the game."""
        if self._stopped is None:
            self._stopped = tuple(seat for room in STOPPING for seat in self.rooms[room].stopped)
        return self._stopped

    @property
    def awaiting(self) -> tuple[type[Feature], ...]:
        """Return the rooms in which something may fall due."""
        if self._awaiting is None:
            self._awaiting = tuple(room for room in AWAITING if self.rooms[room].awaits)
        return self._awaiting

    def pack(self) -> None:
        """Keep a finished game as its events alone, until it is asked for: it takes a tenth of the memory."""
        if self._game is not None and self._game.over:
            events = [event_map(event) for event in self._game.events]
            self._packed = zlib.compress(msgspec.json.encode(events))  # some 2 KiB
            self._game = None
            self.chance = _NOTHING_TO_DRAW

    def follow(self, before: "PersistentState") -> None:
        """Record the earlier games of this series; the last one is the previous game."""
        assert before.game is not None  # noqa: S101 - a game that is played again was played
        self.earlier = [*before.earlier, (before.names, before.game.view)][-_REMEMBERED:]

    @property
    def played(self) -> bool:
        """Return whether the game was really played: every player has moved, rather than a stand-in.

        The server's bots do not count, nor do studies, nor games between them and a single player, because
        anybody can play any number of those.
        """
        players = {seat for seat in range(len(self.players)) if seat not in self.bots}
        return len(players) > 1 and players <= self._movers and not self.study

    @property
    def scores(self) -> list[tuple[int, int, int]]:
        """Return the seats whose players have made a move themselves, with their points and items (R7)."""
        result = None if self.game is None else self.game.view.result
        tallies = [] if result is None else result.tallies
        return [(seat, each.points, each.items) for seat, each in enumerate(tallies) if seat in self._movers]

    @property
    def names(self) -> list[str]:
        """Return the players' names by seat, empty ones for free seats."""
        return ["" if player is None else player.name for player in self.players]

    @property
    def free(self) -> list[int]:
        """Return the seats that are neither taken nor kept for a player."""
        return [seat for seat, player in enumerate(self.players) if player is None]

    @property
    def to_be_had(self) -> list[int]:
        """Return the free seats, and in a table that grows the one added for the next newcomer."""
        return [*self.free, *range(len(self.players), self.most_seats)[:1]]

    def check_seat(self, seat: int) -> None:
        if seat >= len(self.players):
            raise Refusal(Code.NO_SUCH_SEAT, seat=seat, last_seat=len(self.players) - 1)

    @property
    def host(self) -> Seat | None:
        """Return the host's seat: the one chosen as host, or the lowest taken one until that player comes."""
        taken = self.taken
        return self._host if self._host in taken else next(iter(taken), None)

    @property
    def held(self) -> list[tuple[Seat, Player]]:
        """Return the seats that are not free, with who holds them."""
        return [(Seat(seat), player) for seat, player in enumerate(self.players) if player is not None]

    def seat_held(self, given: str) -> Seat | None:
        """Return the seat that the token with this hash holds, None if none."""
        return next((seat for seat, player in self.held if hash_fits(given, player.token_hash)), None)

    @property
    def taken(self) -> list[Seat]:
        """Return the seats whose players have come and have not been removed."""
        return [seat for seat, player in self.held if not player.kept and player.token_hash]

    def planned(self, seat: Seat) -> list[PlannedPlace]:
        """Return the player's planned placements, which are secret, in the order in which they are tried."""
        return [each for room in PLANNING for each in self.rooms[room].planned(seat)]

    @property
    def programs(self) -> set[Seat]:
        """Return the seats that programs hold, not people."""
        return {seat for seat, player in self.held if player.program}

    @property
    def bots(self) -> set[Seat]:
        return {seat for seat, player in self.held if player.level is not None}

    @property
    def people(self) -> set[Seat]:
        """Return the seats that people hold, including those kept for them."""
        return {seat for seat, player in self.held if not (player.program or player.vacant)}

    @property
    def unready(self) -> list[Entry]:
        """Return the entries that reset who is ready, because the coming game has changed."""
        return [stored.SaidReady(seat, on=False) for seat in sorted(self.ready)]

    def seated_again(self, seat: Seat, player: Player, at: Seat) -> list[Entry]:
        """Return the entries that seat a player again, with rights that no newcomer would inherit."""
        entries = player.entries(at)
        for room in self.rooms.values():
            kept = room.kept_of(seat)
            entries += kept if at == seat else [msgspec.structs.replace(entry, seat=at) for entry in kept]
        if player.answers.stored:
            entries.append(stored.Answered(at, list(player.answers.stored.items())))
        return entries

    @property
    def kept_seats(self) -> list[Entry]:
        """Return the entries that keep at another table the seats of those who have not been removed.

        Bots come along immediately, and everybody has the people that they chose.
        """
        entries = list[Entry]()
        for seat, player in self.held:
            if player.level is not None or player.token_hash:
                entries += replace(player, kept=True, standing=self.standing(seat)).entries(seat)
        return entries

    def rearranged(self, order: Sequence[Seat]) -> Sequence[Happening]:
        """Return the entries that give each seat to the player of the seat in `order`.

        The starting seat and the host stay the same, and players keep the peoples that they have chosen.
        """
        players = [self.players[seat] for seat in order]
        entries, seated = self.unready, list[Entry]()
        for seat, player in enumerate(players):
            same = None if player is None else self.seated_again(order[seat], player, Seat(seat))
            seated += [stored.Freed(seat)] if same is None else same
        # Choices come last: in between no two seats have the same people.
        entries += sorted(seated, key=lambda entry: isinstance(entry, stored.PeopleChosen))
        if self.host is not None:
            entries.append(stored.Hosted(order.index(self.host)))
        if self.starting is not None:
            entries.append(stored.Changed(settings.Starting(order.index(self.starting))))
        return [*entries, Rearranged(order, players)]

    @property
    def chosen(self) -> tuple[tuple[People, ...], ...]:
        """Return the players' choices by seat, for `peoples_by_seat`."""
        return tuple(
            () if player is None or player.people is None else (player.people,) for player in self.players
        )

    @property
    def peoples(self) -> list[People]:
        return [own[0] for own in peoples_by_seat(len(self.players), self.chosen)]

    def standing(self, seat: Seat) -> Standing:
        """Return a player's totals so far, including this game once it is over."""
        player = self.players[seat]
        before = messages.NEWCOMER if player is None else player.standing
        result = None if self.game is None else self.game.view.result
        if result is None or self.study:
            return before
        return Standing(
            before.games + 1,
            before.wins + (seat in result.winners),
            before.points + result.tallies[seat].points,
        )

    def shown(self, moment: Moment) -> dict[str, Any]:
        """Return the rooms' fields of the table's state."""
        return {name: each for room in SHOWING for name, each in self.rooms[room].shown(moment).items()}

    def _shown_of(self, seat: Seat, moment: Moment) -> dict[str, Any]:
        """Return the rooms' fields of what is said of a player."""
        shown: dict[str, Any] = {}
        for room in SHOWING_OF:
            shown |= self.rooms[room].shown_of(seat, moment)
        return shown

    def table_state(self, code: str, moment: Moment) -> messages.TableState:
        """Return the table's state, but for removed players, and what follows from the absence policy."""
        gathering, playing = self.stage == "gathering", self.stage == "playing"
        peoples = self.peoples if gathering else [None] * len(self.players)
        seats = [
            messages.SeatSummary(people=people)
            if player is None
            else messages.SeatSummary(
                player.name,
                here=(here := player.level is not None or seat in moment.seated),
                kept=player.kept,
                standing=self.standing(Seat(seat)),
                vacant=player.vacant,
                ready=gathering and (seat in self.ready or (player.program and not player.kept)),
                level=player.level,
                people=people,
                chosen=gathering and player.people is not None,
                removable_in=moment.removable_in(Seat(seat))
                if playing and not (here or player.vacant)
                else None,
                **self._shown_of(Seat(seat), moment),
            )
            for seat, (player, people) in enumerate(zip(self.players, peoples, strict=True))
        ]
        return messages.TableState(
            code,
            self.stage,
            seats,
            self.host or 0,
            self.opened.random_layout,
            absence=for_older_clients(self.absence),
            title=self.title,
            switches=self.switches,
            starting=self.starting,
            grows=self.grows,
            ended=self.ended,
            turn_limit=self.clocks.limit if playing else None,
            long_clock=self.absence if isinstance(self.absence, LongClock) else None,
            study=self.study,
            spectators=len(moment.spectators),
            watching=list(moment.spectators),
            **self.shown(moment),
        )

    def fold(self, entry: Entry) -> bool:
        """Fold an entry; return whether others see a change that the game's own messages do not show."""
        if isinstance(entry, stored.MADE):
            return self.fold_move(entry, stored.whole_events(entry.events))
        self.entry_count += 1
        seen = self._fold_in_rooms(entry)
        self._fold(entry)
        self._stopped = self._awaiting = None
        return seen or type(entry) not in _UNSEEN

    def _fold(self, entry: Entry) -> None:  # noqa: PLR0915 - a case for each entry
        match entry:
            case stored.Opened(players, _, starting, absence):
                GameOptions(players)  # raises ValueError for what nobody can play
                self.opened = entry
                self.absence = kept(absence)
                self.clocks = Clocks(absence, players)
                self._starting = None if starting is None else Seat(starting)
                self.players = [None] * players
            case stored.SeatsFollow():
                self.seats_follow = True
            case stored.OfEvening():
                self.of_evening = True
            case stored.OfStudy():
                self.study = True
            case stored.Taken(seat, name, token_hash, program, standing, vacant):
                self._seat(seat, Player(name, token_hash, program, standing=standing, vacant=vacant))
            case stored.Kept(seat, name, token_hash, program, standing):
                self._seat(seat, Player(name, token_hash, program, kept=True, standing=standing))
            case stored.BotSeated(seat, level, name, standing):
                self._seat(seat, Player(name, "", program=True, standing=standing, level=level))
            case stored.Freed(seat):
                if seat < len(self.players):  # else it has gone already
                    self.players[seat] = None
                self.ready -= {Seat(seat)}
                if self._host == seat:
                    self._host = None
                if self.grows:
                    self._set_seats(max([self.opened.players, *(seat + 1 for seat, _ in self.held)]))
            case stored.Hosted(seat):
                self._host = Seat(seat)
            case stored.SaidReady(seat, on):
                self.ready = self.ready | {Seat(seat)} if on else self.ready - {Seat(seat)}
            case stored.Changed(setting):
                self._set(setting)
            case stored.Clocked():
                self.clocks.set(entry)
            case stored.TookBack():
                self._take_back(entry)
            case stored.Paused(seat, until):
                self.paused, self.paused_until = Seat(seat), until
            case stored.Unpaused():
                self.paused = self.paused_until = None
            case stored.EndedByHost():
                self.ended = True
                self.stage = "gathering" if self._game is None else "over"
                self.paused = self.paused_until = None
            case stored.GivenToBot(seat):
                self.bot_seats |= {Seat(seat)}
            case stored.Returned(seat):
                self.bot_seats -= {Seat(seat)}
            case stored.PeopleChosen(seat, people):
                self._holder(seat).people = people
            case stored.TokenRevoked(seat):
                holder = self._holder(seat)
                holder.token_hash, holder.program = "", True
            case stored.Answered(seat, requests):
                self._holder(seat).answers.fold(requests)
            case stored.Forgotten():
                self.forgotten = True

    def fold_fleeting(self, what: Fleeting) -> bool:
        """Take in what is not stored; return whether the visible state changes."""
        seen = self._fold_in_rooms(what)
        self._stopped = self._awaiting = None
        return seen

    def _fold_in_rooms(self, entry: Happening) -> bool:
        """Fold an entry in the rooms that it concerns; return whether the visible state changes."""
        seen = False
        for room in FOLDING.get(type(entry), ()):
            seen |= self.rooms[room].fold(entry)
        return seen

    def _seat(self, seat: int, player: Player) -> None:
        if self.grows and seat >= len(self.players):
            self._set_seats(seat + 1)
        self.players[seat] = player

    def _set_seats(self, number: int) -> None:
        """Add free seats, or take away the last ones."""
        if number != len(self.players):
            self.players = [*self.players, *[None] * number][:number]
            self.clocks.set_seats(number)

    def _holder(self, seat: int) -> Player:
        """Return who holds the seat; if nobody does, what is stored about them counts for nothing."""
        return dict(self.held).get(Seat(seat)) or Player("", "")

    def fold_move(self, entry: stored.Played | stored.StoodIn, happened: Iterable[Event]) -> bool:
        """Take in a move, as `fold` does, whose events are at hand already."""
        self.entry_count += 1
        seen = self._fold_in_rooms(entry)
        seat, game = Seat(entry.seat), self._game  # no packed one: that is over
        if game is None:
            happened = tuple(happened)
            if isinstance(entry, stored.Played) and entry.seed is not None:
                self.chance = _chance(Bytes32(entry.seed), happened)
            self._game = game = Game(happened, self.chance)
            self._set_seats(game.view.seats)  # of a shortened journal, who came to the last ones can follow
        else:
            if isinstance(entry, stored.Played):
                self._movers.add(seat)
            elif seat not in self.bots:
                self.stood_in.append(len(game.events) + 1)
            for event in happened:
                game.fold(event)
        self.stage = "over" if self.ended or game.view.result is not None else "playing"
        self.clocks.charge(seat, entry.thought)
        if game.view.turn == game.view.start.starting:
            self.clocks.begin_round()
        player = self.players[seat]
        if isinstance(entry, stored.Played) and not entry.planned and player is not None:
            player.answers.fold([(entry.move.id, digest(entry.move))])
        return seen

    def _take_back(self, entry: stored.TookBack) -> None:
        """Undo the last moves."""
        game = self.running_game()
        assert game.view.turn is not None  # noqa: S101 - in a running game
        self.clocks.charge(game.view.turn, 0)
        for event in stored.whole_events(entry.events):
            game.fold(event)

    def _set(self, setting: Setting) -> None:
        self.settings[type(setting)] = setting
        match setting:
            case settings.Title(text):
                self.title = text
            case settings.Switch():
                self.switches = setting.applied(self.switches)
            case settings.Starting(seat):
                self._starting = None if seat is None else Seat(seat)
            case settings.AbsenceSetting(policy):
                self.absence = kept(policy)
                self.clocks.change_policy(policy, in_game=self._game is not None)


def _chance(seed: Bytes32, happened: Iterable[Event]) -> Chance:
    """Return where the draws of the game come from that began with these events."""
    for event in happened:
        if isinstance(event, GameStarted) and event.draws is not None:
            return SharedChance(seed, event.draws.shares)
    raise ValueError("a game with a seed tells where its draws come from")

"""What the live pages are about: the list of tables, and a table as spectators see it."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from msgspec.structs import replace as with_fields

from engine.board import Tile
from engine.events import Event, HillScored, lasting, stops
from engine.game import Game
from engine.knowledge import hill_influence
from engine.pieces import Seat
from engine.redaction import redacted, redacted_legal, snapshot
from engine.view import SPECTATOR, Eyes, View, eyes_of, folded
from protocol.messages import Notices, PauseSummary, SeatSummary, TableState
from protocol.pages import SMALL_TABLES, MoveChoice, OnTelevision, PlayerHand
from server.config import Pages
from server.parts import Running
from server.probes import probe
from server.refusal import Refusal
from server.tables.lobby import Lobby
from server.tables.registry.public_tables import PublicTables
from server.tables.table import Table
from server.web.live_page import MOVED, Drawn, Parts, PlayerSession, Sight

_EVENTS: Final = 8  # the last ones are told
_SECONDS_BETWEEN_LOOKS: Final = 1.0  # at the lists, and at the table where the players go on
_SECONDS_AT_A_TABLE: Final = 30  # before another one is shown large
_SECONDS_FOR_A_RESULT: Final = 30
_SECONDS_FOR_STANDINGS: Final = 15
# All that spectators in browsers are shown: nothing in it changes because time passes.
_SHOWN_OF_SEAT: Final = ("name", "here", "bot", "vacant", "level", "holiday_until")
_SHOWN_OF_TABLE: Final = ("table", "stage", "host", "spectators", "title", "ended")


@dataclass(eq=False, repr=False)
class TableList:
    """The list of tables."""

    tables: PublicTables
    pages: Pages

    def __post_init__(self) -> None:
        self._looks = 0

    def sight(self) -> Sight:
        tables = self.tables.summaries()

        def draw(language: str) -> Drawn:
            return self.pages.tables(language, tables), _SECONDS_BETWEEN_LOOKS

        return Sight(self.tables.version, self._looks, draw)

    def advance(self) -> None:
        self._looks += 1


@dataclass(eq=False, repr=False)
class WatchedTable:
    """A table with this code; if it is seen until its game ends, its scoring is walked through.

    When the players begin their next game, the page goes there, unless they had begun before it was seen.
    """

    code: str
    tables: PublicTables
    pages: Pages

    def __post_init__(self) -> None:
        self._playing = False
        self._step: int | None = None
        self.walking = False  # through the scoring
        self._stays: bool | None = None

    def sight(self) -> Sight | None:
        table = self.tables.open_to_all(self.code)
        return (
            None
            if table is None
            else self._sight_of(table, public_state(table.as_seen(), self.tables), SPECTATOR, None)
        )

    def _sight_of(self, table: Table, state: TableState, eyes: Eyes, hand: PlayerHand | None) -> Sight:
        game = table.state.game
        if state.stage == "playing":
            self._playing = True
        elif self._playing:
            self._playing, self._step, self.walking = False, 0, True
        # The same gate as for every client: what leaves it may be shown to these eyes.
        view = None if game is None else snapshot(game.view, eyes)
        latest = [] if game is None else [redacted(event, eyes) for event in game.events[-_EVENTS:]]
        step, goes_on = self._step, hand is None and self._goes_on(state.next)

        back: Sequence[Event] | None = None
        if game is not None and hand is not None:
            hand, back, eyes = _looking_back(state, game, hand, eyes)

        def draw(language: str) -> Drawn:
            then, last = view, latest
            if back is not None:
                seen = [redacted(event, eyes) for event in back]
                then, last = folded(seen, eyes), seen[-_EVENTS:]
            parts, seconds = self.pages.table(language, state, then, last, step, hand=hand)
            self.walking = seconds is not None
            if goes_on and state.next is not None:
                return {**parts, MOVED: state.next}, None
            return parts, seconds

        key = (state, 0 if game is None else len(game.events), step, goes_on, hand)
        # Nothing that happens at the next table is told to those who are at this one.
        follows = state.next is not None and hand is None and not goes_on
        return Sight(key, (step, state.next), draw, _SECONDS_BETWEEN_LOOKS if follows else None)

    def advance(self) -> None:
        if self.walking and self._step is not None:
            self._step += 1

    def _goes_on(self, code: str | None) -> bool:
        """Return whether the next game has begun since the table was first seen."""
        table = None if code is None else self.tables.open_to_all(code)
        begun = table is not None and table.state.stage != "gathering"
        if self._stays is None:
            self._stays = begun
        return begun and not self._stays


def _looking_back(
    state: TableState, game: Game, hand: PlayerHand, eyes: Eyes
) -> tuple[PlayerHand, Sequence[Event] | None, Eyes]:
    """Return the hand of a player who may look back, the events until there if they do, and the eyes.

    Of a finished game everybody may see everything.
    """
    if not game.over:
        return hand, None if hand.moment is None else game.events[: hand.moment], eyes
    events = lasting(game.events)
    *moves, _end = stops(events)
    scored = (len(each.pieces) + 1 if isinstance(each, HillScored) else 1 for each in game.view.scoring)
    if hand.choice.follow and state.shown is not None:
        hand = replace(hand, choice=with_fields(hand.choice, moment=state.shown.step + 1))
    hand = replace(hand, moments=len(moves) + sum(scored))
    if not hand.choice.moment or hand.choice.moment > len(moves):
        return hand, None, eyes
    return hand, events[: moves[hand.choice.moment - 1]], frozenset(map(Seat, range(game.view.seats)))


def public_state(state: TableState, tables: PublicTables) -> TableState:
    seats = [SeatSummary(**{name: getattr(seat, name) for name in _SHOWN_OF_SEAT}) for seat in state.seats]
    paused = None if state.paused is None else PauseSummary(state.paused.seat, 0, 0, state.paused.until)
    followed = state.next is not None and tables.open_to_all(state.next) is not None
    same = {name: getattr(state, name) for name in _SHOWN_OF_TABLE}
    return TableState(**same, seats=seats, next=state.next if followed else None, paused=paused)


@dataclass(slots=True)
class _Running:
    """A running table as spectators see it after so many events, and how it is drawn small, by language.

    `leaders` has who certainly leads on each hill, `changes` how often somebody else has come to lead.
    """

    state: TableState
    events: int
    view: View
    drawn: dict[str, str] = field(default_factory=dict)
    leaders: Mapping[Tile, Seat] = field(default_factory=dict)
    changes: int = 0

    @property
    def interest(self) -> tuple[int, int]:
        """Return what is greatest at the most interesting table: soonest to end, then most lead changes."""
        return -sum(self.view.remaining), self.changes

    def follow(self, before: "_Running | None") -> None:
        """Compare the leaders with those of an earlier moment; this takes milliseconds."""
        led = {} if before is None else before.leaders
        now = dict(led)
        for hill in self.view.layout.hills:
            seats = hill_influence(self.view, hill).seats
            for seat, bounds in enumerate(seats):
                if all(bounds.least > other.most for at, other in enumerate(seats) if at != seat):
                    now[hill] = Seat(seat)
        changed = sum(led.get(hill, seat) != seat for hill, seat in now.items())
        self.leaders, self.changes = now, changed + (0 if before is None else before.changes)


@dataclass(eq=False, repr=False)
class Television:
    """All tables that everybody may watch, for a screen that nobody touches: one large, the others small.

    The large one stays for a while, and until its result has been seen. Then comes how the evening stands.
    """

    lobby: Lobby
    pages: Pages

    def __post_init__(self) -> None:
        self._running: dict[str, _Running] = {}
        self._large: WatchedTable | None = None
        self._looks = self._until = 0  # in seconds: now, and until when the large table stays
        self._step: object = None
        self._stepped, self._needed = 0, 0.0  # when the large table's step began, and how long it takes

    def sight(self) -> Sight:
        public, held = self.lobby.public, self.lobby.evening
        tables = {table.code: table for table in public.watchable()}
        states: dict[str, TableState] = {}
        for code, table in tables.items():
            with contextlib.suppress(Refusal):  # it is being closed
                states[code] = public_state(table.as_seen(), public)
        running = dict(self._running_tables(tables, states))
        large = self._look_at_large(running)
        others = [each for code, each in running.items() if self._large is None or code != self._large.code]
        small = others[:SMALL_TABLES]
        elsewhere = sum(table.elsewhere and table.stage == "playing" for table in public.summaries())
        evening = held.message() if large is None and held is not None else None
        more = len(others) - len(small) + elsewhere
        waiting = [state for state in states.values() if state.stage == "gathering"]

        def draw(language: str) -> Drawn:
            for code, each in running.items():
                if (before := self._running.get(code)) is not each:
                    each.follow(before)
                    self._running[code] = each
            parts: Parts = {}
            if large is not None:
                parts, seconds = large.draw(language)
                self._needed = seconds or 0.0
            for each in small:
                if language not in each.drawn:
                    each.drawn[language] = self.pages.small(language, each.state, each.view)
            drawn = [each.drawn[language] for each in small]
            seen = OnTelevision(parts, drawn, more, waiting, evening)
            return self.pages.on_tv(language, seen), _SECONDS_BETWEEN_LOOKS

        key = (
            None if large is None else large.key,
            [(each.state, each.events) for each in small],
            more,
            waiting,
            evening,
        )
        return Sight(key, self._looks, draw)

    def advance(self) -> None:
        self._looks += 1
        if self._large is not None and self._looks - self._stepped >= self._needed:
            self._large.advance()

    def _running_tables(
        self, tables: Mapping[str, Table], states: Mapping[str, TableState]
    ) -> Iterator[tuple[str, _Running]]:
        """Yield the running tables by their codes; one that looks as before is the same object."""
        self._running = {code: each for code, each in self._running.items() if code in states}
        for code, state in states.items():
            game = tables[code].state.game
            if state.stage == "playing" and game is not None:
                seen = self._running.get(code)
                if seen is None or (seen.state, seen.events) != (state, len(game.events)):
                    seen = _Running(state, len(game.events), snapshot(game.view, SPECTATOR))
                yield code, seen

    def _look_at_large(self, running: Mapping[str, _Running]) -> Sight | None:
        """Return how the large table looks, after choosing another one if it is time; None for no table."""
        sight = None if self._large is None else self._large.sight()
        if self._large is not None and sight is None:
            self._large, self._until = None, self._looks
        elif self._large is not None and self._large.walking:
            self._until = self._looks + _SECONDS_FOR_A_RESULT
        if self._looks >= self._until:
            best = max(running, key=lambda code: running[code].interest, default=None)
            seen = self._large is not None and self._large.code not in running
            if best is None or seen:
                self._large = sight = None
                self._until = self._looks + (_SECONDS_FOR_STANDINGS if seen else 0)
            elif self._large is None or self._large.code != best:
                self._large = WatchedTable(best, self.lobby.public, self.pages)
                probe("the television shows another table")
                self._until = self._looks + _SECONDS_AT_A_TABLE
                sight = self._large.sight()
        step = None if sight is None else (self._large, sight.step)
        if step != self._step:
            self._step, self._stepped = step, self._looks
        return sight


class PlayedTable(WatchedTable):
    """The table that a player in a browser is at, as the seat may see it; blank while it is at none."""

    def __init__(self, session: PlayerSession, server: Running, pages: Pages) -> None:
        super().__init__("", server.lobby.public, pages)
        self._session, self._server = session, server

    def sight(self) -> Sight:
        sight, held, at = self._at_table(), self._server.lobby.evening, self._session.table
        if held is None or (person := held.person_of(self._session)) is None:
            return sight
        evening = held.message()

        def draw(language: str) -> Drawn:
            parts, seconds = sight.draw(language)
            call = self.pages.call(language, evening, person, None if at is None else at.code)
            return {**parts, "call": call}, seconds

        return Sight((sight.key, evening), sight.step, draw)

    def _at_table(self) -> Sight:
        table, seat = self._session.table, self._session.seat
        if seat is not None and isinstance(table, Table):
            with contextlib.suppress(Refusal):  # it is being closed
                state = table.as_seen()
                if self.code and table.code != self.code:  # the next game
                    probe("a player at a page goes to the next game")
                    self._playing, self._step, self._session.choice = False, None, MoveChoice()
                    self._session.notices = Notices("none")
                elif self._playing and state.stage == "over":
                    self._session.choice = MoveChoice()
                self.code = table.code
                return self._sight_of(table, state, eyes_of(seat), self._hand(table, seat))
        return Sight(None, None, lambda language: (self.pages.nothing(language), None))

    def _hand(self, table: Table, seat: Seat) -> PlayerHand:
        state = table.state
        hand = PlayerHand(
            seat,
            None,
            self._session.choice,
            tuple(self._server.config.brains),
            of_evening=state.of_evening,
            notices=self._session.notices,
            kinds=self._server.lobby.notice_kinds,
        )
        if state.game is None or state.ended or state.stage != "playing":
            return hand
        hand = replace(hand, moments=len(state.game.events))
        first = max((hand.moment or hand.moments) - _EVENTS, 0) + 1
        missed, by_bot = (
            frozenset(number - first for number in numbers if number >= first)
            for numbers in (self._session.missed, state.stood_in)
        )
        hand = replace(hand, missed=missed, by_bot=by_bot)
        if state.paused is not None or hand.moment is not None:
            return hand
        return replace(hand, legal=redacted_legal(state.game.legal(), eyes_of(seat)))

"""What the live pages are about: the list of tables, and a table as spectators see it."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec.structs import replace as with_fields

from engine.events import Event, HillScored, ScoringEvent, WolvesRevealed, lasting, stops
from engine.game import Game
from engine.pieces import Seat
from engine.redaction import redacted, redacted_legal, snapshot
from engine.view import SPECTATOR, Eyes, View, eyes_of, folded
from pages.serving.hints import Hints
from pages.serving.live_page import MOVED, Drawn, PlayerSession, Sight
from pages.shared import MoveChoice, Pages, PlayerHand, SeatLater
from protocol.messages import Notices, PauseSummary, PlannedMove, SeatSummary, TableState
from server.parts import Running
from server.probes import probe
from server.refusal import Refusal
from server.tables.registry.public_tables import PublicTables
from server.tables.table import Table

_EVENTS: Final = 8  # the last ones are told
_SECONDS_BETWEEN_LOOKS: Final = 1.0  # at the lists, and at the table where the players go on
# All that spectators in browsers are shown: nothing in it changes because time passes.
_SHOWN_OF_SEAT: Final = ("name", "here", "bot", "vacant", "level", "holiday_until")
_SHOWN_OF_TABLE: Final = ("table", "stage", "host", "spectators", "title", "ended", "grows")


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

    The scoring is told in brief if it is to take place `within` so many seconds. When the players begin their
    next game, the page goes there, unless they had begun before it was seen.
    """

    code: str
    tables: PublicTables
    pages: Pages
    within: float | None = None

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
        later = SeatLater.NEVER if hand is not None else self._seat_later(table, state.next)

        back: Sequence[Event] | None = None
        if game is not None and hand is not None:
            hand, back, eyes = _looking_back(state, game, hand, eyes)

        def draw(language: str) -> Drawn:
            then, last = view, latest
            if back is not None:
                seen = [redacted(event, eyes) for event in back]
                then, last = folded(seen, eyes), seen[-_EVENTS:]
            parts, seconds = self.pages.table(
                language, state, then, last, step, hand=hand, within=self.within, later=later
            )
            self.walking = seconds is not None
            if goes_on and state.next is not None:
                return {**parts, MOVED: state.next}, None
            return parts, seconds

        key = (state, 0 if game is None else len(game.events), step, goes_on, hand, later)
        # Nothing that happens at the next table is told to those who are at this one.
        follows = state.next is not None and hand is None and not goes_on
        return Sight(key, (step, state.next), draw, _SECONDS_BETWEEN_LOOKS if follows else None)

    def advance(self) -> None:
        if self.walking and self._step is not None:
            self._step += 1

    def _seat_later(self, table: Table, code: str | None) -> SeatLater:
        """Return when somebody who watches may have a seat; the next game's table may have a `code`."""
        following = None if code is None else self.tables.open_to_all(code)
        if table.state.of_evening:
            return SeatLater.NEVER
        if following is None:
            return SeatLater.NEVER if table.state.stage == "over" else SeatLater.ONCE_FREE
        waits = following.state.stage == "gathering" and following.as_seen().has_seat
        return SeatLater.NEXT_GAME if waits else SeatLater.NEVER

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
    if hand.choice.follow and state.shown is not None:
        hand = replace(hand, choice=with_fields(hand.choice, moment=state.shown.step + 1))
    hand = replace(hand, moments=len(moves) + sum(_steps_of(each, game.view) for each in game.view.scoring))
    if not hand.choice.moment or hand.choice.moment > len(moves):
        return hand, None, eyes
    return hand, events[: moves[hand.choice.moment - 1]], frozenset(map(Seat, range(game.view.seats)))


def _steps_of(event: ScoringEvent, view: View) -> int:
    """Return how many steps of the walk through the scoring an event takes."""
    match event:
        case HillScored(pieces=pieces):
            return len(pieces) + 1
        case WolvesRevealed(pieces=wolves):
            return max(len({view.owners[field] for field in wolves}), 1)
        case _:
            return 1


def public_state(state: TableState, tables: PublicTables) -> TableState:
    seats = [SeatSummary(**{name: getattr(seat, name) for name in _SHOWN_OF_SEAT}) for seat in state.seats]
    paused = None if state.paused is None else PauseSummary(state.paused.seat, 0, 0, state.paused.until)
    followed = state.next is not None and tables.open_to_all(state.next) is not None
    same = {name: getattr(state, name) for name in _SHOWN_OF_TABLE}
    return TableState(**same, seats=seats, next=state.next if followed else None, paused=paused)


class PlayedTable(WatchedTable):
    """The table that a player in a browser is at, as the seat may see it, until the player leaves.

    Until there is one, the page keeps what an earlier connection has shown.
    """

    def __init__(self, session: PlayerSession, server: Running, pages: Pages, address: str) -> None:
        super().__init__("", server.lobby.public, pages)
        self._session, self._server, self._address = session, server, address
        self._hints = Hints(session, server)

    def sight(self) -> Sight:
        sight, held, at = self._at_table(), self._server.lobby.evenings.running, self._session.table
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
        had_one = bool(self.code)
        return Sight(had_one, None, lambda language: (self.pages.nothing(language) if had_one else {}, None))

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
            address=self._address,
        )
        if state.stage == "gathering" and not state.of_evening:
            return replace(hand, guests=self._server.lobby.chat.listed.people)
        if state.game is None or state.ended or state.stage != "playing":
            return hand
        hand = replace(hand, moments=len(state.game.events))
        first = max((hand.moment or hand.moments) - _EVENTS, 0) + 1
        missed, by_bot = (
            frozenset(number - first for number in numbers if number >= first)
            for numbers in (self._session.missed, state.stood_in)
        )
        hand = replace(hand, missed=missed, by_bot=by_bot)
        plans = [
            PlannedMove(str(place.piece), place.field, condition)
            for place, condition, _ in state.planned(seat)
        ]
        if not plans and state.turn == seat:
            self._session.plan_played = None
        hand = replace(hand, plans=plans, plan_played=self._session.plan_played)
        if state.paused is not None or hand.moment is not None:
            return hand
        legal = redacted_legal(state.game.legal(), eyes_of(seat))
        if legal is None or not state.switches.hints or not self._server.config.brains:
            self._session.wants_hint = False
            return replace(hand, legal=legal)
        suggested = self._hints.suggested(table, state.game)
        return replace(hand, legal=legal, hints=True, suggested=suggested, choice=self._session.choice)

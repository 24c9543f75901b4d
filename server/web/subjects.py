"""What the live pages are about: the list of tables, and a table as spectators see it."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.pieces import Seat
from engine.redaction import redacted, redacted_legal, snapshot
from engine.view import SPECTATOR, Eyes, eyes_of
from protocol.messages import PauseSummary, SeatSummary, TableState
from protocol.pages import Choice, Hand
from server.config import Pages
from server.refusal import Refusal
from server.tables.registry.public_tables import PublicTables
from server.tables.table import Table
from server.web.live_page import MOVED, Drawn, PlayerSession, Sight

_EVENTS: Final = 8  # the last ones are told
_SECONDS_BETWEEN_LOOKS: Final = 1.0  # at the list, and at the table where the players go on


@dataclass(eq=False, repr=False)
class TableList:
    """The list of tables."""

    tables: PublicTables
    pages: Pages

    def __post_init__(self) -> None:
        self._looks = 0

    def sight(self) -> Sight:
        tables = self.tables.listed()

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
        self._walking = False  # through the scoring
        self._looks = 0
        self._stays: bool | None = None

    def sight(self) -> Sight | None:
        table = self.tables.open_to_all(self.code)
        return None if table is None else self._sight_of(table, self._shown(table.as_seen()), SPECTATOR, None)

    def _sight_of(self, table: Table, state: TableState, eyes: Eyes, hand: Hand | None) -> Sight:
        game = table.state.game
        if state.stage == "playing":
            self._playing = True
        elif self._playing:
            self._playing, self._step, self._walking = False, 0, True
        # The same gate as for every client: what leaves it may be shown to these eyes.
        view = None if game is None else snapshot(game.view, eyes)
        latest = [] if game is None else [redacted(event, eyes) for event in game.events[-_EVENTS:]]
        step, goes_on = self._step, hand is None and self._goes_on(state.next)

        def draw(language: str) -> Drawn:
            parts, seconds = self.pages.table(language, state, view, latest, step, hand=hand)
            self._walking = seconds is not None
            if goes_on and state.next is not None:
                return {**parts, MOVED: state.next}, None
            if seconds is None and state.next is not None and hand is None:
                seconds = _SECONDS_BETWEEN_LOOKS
            return parts, seconds

        key = (state, 0 if game is None else len(game.events), step, goes_on, hand)
        return Sight(key, (step, state.next, self._looks), draw)

    def advance(self) -> None:
        if self._walking and self._step is not None:
            self._step += 1
        else:
            self._looks += 1

    def _goes_on(self, code: str | None) -> bool:
        """Return whether the next game has begun since the table was first seen."""
        table = None if code is None else self.tables.open_to_all(code)
        begun = table is not None and table.state.stage != "gathering"
        if self._stays is None:
            self._stays = begun
        return begun and not self._stays

    def _shown(self, state: TableState) -> TableState:
        """Return what is shown of a table: nothing in it changes because time passes."""
        seats = [
            SeatSummary(seat.name, here=seat.here, bot=seat.bot, vacant=seat.vacant, level=seat.level)
            for seat in state.seats
        ]
        paused = None if state.paused is None else PauseSummary(state.paused.seat, 0, 0)
        followed = state.next is not None and self.tables.open_to_all(state.next) is not None
        return TableState(
            state.table,
            state.stage,
            seats,
            state.host,
            spectators=state.spectators,
            next=state.next if followed else None,
            title=state.title,
            ended=state.ended,
            paused=paused,
        )


class PlayedTable(WatchedTable):
    """The table that a player in a browser is at, as the seat may see it; blank while it is at none."""

    def __init__(
        self, session: PlayerSession, levels: Sequence[str], tables: PublicTables, pages: Pages
    ) -> None:
        super().__init__("", tables, pages)
        self._session, self._levels = session, levels

    def sight(self) -> Sight:
        table, seat = self._session.table, self._session.seat
        if seat is not None and isinstance(table, Table):
            with contextlib.suppress(Refusal):  # it is being closed
                state = table.as_seen()
                if self.code and table.code != self.code:  # the next game
                    self._playing, self._step, self._session.choice = False, None, Choice()
                self.code = table.code
                return self._sight_of(table, state, eyes_of(seat), self._hand(table, seat))
        return Sight(None, None, lambda language: (self.pages.gone(language), None))

    def _hand(self, table: Table, seat: Seat) -> Hand:
        state = table.state
        moves = state.game is not None and not state.ended and state.paused is None
        legal = (
            redacted_legal(state.game.legal(), eyes_of(seat)) if moves and state.game is not None else None
        )
        return Hand(seat, legal, self._session.choice, self._levels)

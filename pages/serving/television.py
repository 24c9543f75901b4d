"""What a television shows: all tables that everybody may watch, one large, and how the evening stands."""

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from client.ui.leads import hill_leads
from engine.board import Tile
from engine.components import LAUREL_WORTH
from engine.pieces import Seat
from engine.redaction import snapshot
from engine.view import SPECTATOR, View
from pages.serving.live_page import Drawn, Parts, Sight
from pages.serving.subjects import WatchedTable, public_state
from pages.shared import SMALL_TABLES, OnTelevision, Pages
from protocol.messages import TableState
from protocol.pages import EveningShown
from server.probes import probe
from server.refusal import Refusal
from server.tables.lobby import Lobby
from server.tables.table import Table

_SECONDS_BETWEEN_LOOKS: Final = 1.0
_SECONDS_AT_A_TABLE: Final = 30  # before another one is shown large
_SECONDS_FOR_A_SCORING: Final = 50.0  # which is less than a minute with what the drawing takes
_SECONDS_FOR_A_RESULT: Final = 15
_SECONDS_FOR_STANDINGS: Final = 15
_SECONDS_FOR_THE_END: Final = 180  # of an evening, before other games are shown
_SECONDS_COUNTED: Final = 10


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

    @property
    def is_attended(self) -> bool:
        return any(seat.here and seat.level is None for seat in self.state.seats)

    @property
    def leader(self) -> Seat | None:
        """Return who leads on hills that are worth most, None if several do."""
        worth = Counter[Seat]()
        for hill, seat in self.leaders.items():
            if (laurel := self.view.laurels.get(hill)) is not None:
                worth[seat] += LAUREL_WORTH[laurel]
        first = [seat for seat in worth if worth[seat] == max(worth.values())]
        return first[0] if len(first) == 1 else None

    def follow(self, before: "_Running | None") -> None:
        """Compare the leaders with those of an earlier moment; this takes milliseconds."""
        led = {} if before is None else before.leaders
        now = dict(led)
        now |= {each.hill: each.leader for each in hill_leads(self.view) if each.leader is not None}
        changed = sum(led.get(hill, seat) != seat for hill, seat in now.items())
        self.leaders, self.changes = now, changed + (0 if before is None else before.changes)


@dataclass(eq=False, repr=False)
class Television:
    """All tables that everybody may watch, for a screen that nobody touches: one large, the others small.

    The large one stays for a while, and until its result has been seen. Then comes how the evening stands. A
    call to the tables of an evening, and its end, come first.
    """

    lobby: Lobby
    pages: Pages

    def __post_init__(self) -> None:
        self._running: dict[str, _Running] = {}
        self._large: WatchedTable | None = None
        self._looks = self._until = 0  # in seconds: now, and until when the large table stays
        self._step: object = None
        self._due, self._needed = 0.0, 0.0  # when the large table's next step is due, and how long this takes
        self._goes_on = False  # the evening, when it was looked at last
        self._ends_until = 0  # when something else may be shown than how it ended

    def sight(self) -> Sight:
        public, held = self.lobby.public, self.lobby.evenings.running
        evening = None if held is None else held.shown()
        tables = {table.code: table for table in public.watchable()}
        states: dict[str, TableState] = {}
        for code, table in tables.items():
            with contextlib.suppress(Refusal):  # it is being closed
                states[code] = public_state(table.as_seen(), public)
        found = dict(self._running_tables(tables, states))
        running = {code: each for code, each in found.items() if each.is_attended}
        comes_first = self._comes_first(evening)
        everybody_left = self._large is not None and self._large.code in found.keys() - running.keys()
        if comes_first or everybody_left:
            self._large, self._until = None, self._looks
        large = None if comes_first else self._look_at_large(running)
        others = [each for code, each in running.items() if self._large is None or code != self._large.code]
        small = others[:SMALL_TABLES]
        elsewhere = sum(table.elsewhere and table.stage == "playing" for table in public.summaries())
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
                    each.drawn[language] = self.pages.small(language, each.state, each.view, each.leader)
            drawn = [each.drawn[language] for each in small]
            seen = OnTelevision(parts, drawn, more, waiting, evening)
            return self.pages.on_tv(language, seen), _SECONDS_BETWEEN_LOOKS

        key = (
            None if large is None else large.key,
            [(each.state, each.events) for each in small],
            more,
            waiting,
            # The page counts the seconds; whoever comes later is shown them as they were at most so long ago.
            None if evening is None else replace(evening, seconds=evening.seconds // _SECONDS_COUNTED),
        )
        return Sight(key, self._looks, draw)

    def advance(self) -> None:
        self._looks += 1
        if self._large is not None and self._looks >= self._due + self._needed:
            self._due += self._needed  # not when it is done: a second's fraction at each step would add up
            self._large.advance()

    def _comes_first(self, evening: EveningShown | None) -> bool:
        """Return whether the evening calls everybody, or has just ended."""
        ends = self._goes_on and evening is not None and evening.evening.over
        self._goes_on = evening is not None and not evening.evening.over
        if ends:
            probe("the television shows how an evening has ended")
            self._ends_until = self._looks + _SECONDS_FOR_THE_END
        if evening is not None and evening.calls:
            probe("the television calls people to their tables")
            return True
        return self._looks < self._ends_until and not self._goes_on

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
                self._large = WatchedTable(best, self.lobby.public, self.pages, _SECONDS_FOR_A_SCORING)
                probe("the television shows another table")
                self._until = self._looks + _SECONDS_AT_A_TABLE
                sight = self._large.sight()
        step = None if sight is None else (self._large, sight.step)
        if step != self._step:
            self._step, self._due = step, max(self._due, self._looks - 1.0)
        return sight

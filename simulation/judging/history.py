"""What a table's journal says was so after each of its entries, and what everybody was told of that."""

import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from dataclasses import replace as replaced
from itertools import groupby
from typing import Any, Final

from msgspec.structs import replace

from engine.game import RandomChance
from engine.pieces import Seat
from protocol.codec import encode
from protocol.messages import PauseSummary, TableState
from protocol.settings import Spectators
from server.net.tokens import hash_fits, token_hash
from server.storage.entries import Changed, Clocked, Entry, Paused, Played, StoodIn, TookBack, Unpaused
from server.tables.clocks import Clocks
from server.tables.feature import Moment
from server.tables.state.persistent_state import PersistentState
from simulation.verdict import Finding, Verdict
from simulation.wiretap import Heard, Wiretap


@dataclass(frozen=True, slots=True)
class GameState:
    """How a game stands after an entry, beside its events."""

    clocks: Clocks
    bots: frozenset[Seat]  # of the server
    may_move: bool  # it is neither paused nor ended
    ended: bool
    surely: bool = True  # else the clocks may have been others, because entries are missing


class History:
    """The states of a table, by the number of entries that have made them.

    If the journal was `shortened`, those are missing that were not true any more.
    """

    def __init__(self, table: str, entries: Sequence[Entry], *, shortened: bool = False) -> None:
        self.state = PersistentState((), RandomChance(random.Random(0)))
        self.standings: defaultdict[int, list[GameState]] = defaultdict(list)  # by the number of events
        self._table = table
        self._told: defaultdict[bytes, list[int]] = defaultdict(list)
        self._kept_spectators_out = shortened  # for all that is known
        self._unwatched: set[int] = set()  # numbers of entries after which nobody may watch
        stopped = any(isinstance(each, Paused | Unpaused | Clocked | Changed) for each in entries)
        doubtful = shortened and stopped
        self._moved_while_paused = False
        self._stood_in: list[str] = []  # for seats that no bot was to play for
        for number, entry in enumerate(entries, start=1):
            paused = self.state.paused is not None or self.state.ended
            moves = isinstance(entry, Played | StoodIn | TookBack)
            self._moved_while_paused |= paused and moves and not shortened
            if isinstance(entry, StoodIn) and not shortened and not self._may_stand_in(entry):
                self._stood_in.append(f"seat {entry.seat} by {entry.by!r} after {number - 1} entries")
            self.state.fold(entry)
            self._take_note(number)
            if doubtful:
                self._doubt()
            self._kept_spectators_out |= isinstance(entry, Changed) and entry.setting == Spectators(on=False)

    def _take_note(self, number: int) -> None:
        state = self.state
        self._told[encode(_lasting(state.table_state(self._table, Moment())))].append(number)
        if not state.switches.spectators:
            self._unwatched.add(number)
        if state.game is not None:
            may_move = state.stage == "playing" and state.paused is None
            standing = GameState(deepcopy(state.clocks), frozenset(state.bots), may_move, state.ended)
            self.standings[len(state.game.events)].append(standing)

    def _may_stand_in(self, entry: StoodIn) -> bool:
        """Return whether a seat is a bot's, or, as far as the journal says, its time may be up."""
        state = self.state
        if entry.by == "clock":
            return state.clocks.runs
        return entry.seat in state.bot_seats | state.bots | state.programs

    def _doubt(self) -> None:
        """Take note that the game may have been paused, or not, and that other clocks may have run."""
        state = self.state
        if state.game is not None:
            here = self.standings[len(state.game.events)]
            here += [replaced(here[-1], may_move=may_move, surely=False) for may_move in (True, False)]

    def holds(self, token: str) -> bool:
        """Return whether a seat is its player's, who has this token, after all entries."""
        given = token_hash(token)
        return any(
            player is not None and hash_fits(given, player.token_hash) for player in self.state.players
        )

    def check_moves(self, verdict: Verdict) -> None:
        """No move was made in a pause, or after the game was ended, nor by a bot in a person's place."""
        if self._moved_while_paused:
            verdict.invented.append(Finding("a move was made while nobody might move", self._table))
        verdict.invented += [Finding(f"a bot moved for {which}", self._table) for which in self._stood_in]

    def check_spectators_kept_out(self, verdict: Verdict) -> None:
        """Somebody was told that the table is closed to spectators: it was so at some time."""
        if not self._kept_spectators_out:
            text = "a spectator was kept out, and nobody has asked for that"
            verdict.invented.append(Finding(text, self._table))

    def check_told(self, taps: Iterable[Wiretap], verdict: Verdict) -> None:
        """Everybody is told states that the table has had, in their order, also from restart to restart."""
        least = 1

        def life(tap: Wiretap) -> int:
            return tap.life_at(self._table)

        for _, of_one_life in groupby(sorted(taps, key=life), key=life):
            least = max([self._last_told(tap, least, verdict) for tap in of_one_life], default=least)

    def _last_told(self, tap: Wiretap, least: int, verdict: Verdict) -> int:
        """Check the states that one connection was told; return after which entry it was at the end."""
        for heard in tap.heard:
            message = heard.message
            if not isinstance(message, TableState) or heard.table != self._table:
                continue
            receiver = "a spectator" if heard.seat is None else f"seat {heard.seat}"
            who = f"the server told {receiver}"
            numbers = self._told.get(encode(_lasting(message)))
            if message.table != self._table or numbers is None:
                verdict.different.append(tap.finding(f"{who} what the table never was: {message}", heard))
                return least
            if (at := bisect_left(numbers, least)) == len(numbers):
                text = f"{who} what was so after entry {numbers[-1]} when there were {least}: {message}"
                verdict.lost.append(tap.finding(text, heard))
                return least
            least = numbers[at]
            for kind, wrong in self._wrong_presence(heard, message, least, verdict):
                kind.append(tap.finding(f"{who} {wrong}", heard))
        return least

    def _wrong_presence(
        self, heard: Heard, message: TableState, number: int, verdict: Verdict
    ) -> Iterator[tuple[list[Finding], str]]:
        """Nobody sits in a seat that was taken from its player, or watches a table that is closed to that."""
        if any(seat.vacant and seat.here for seat in message.seats):
            yield verdict.stolen, "that somebody is in a seat that was taken from its player"
        if number in self._unwatched and (heard.seat is None or message.watching):
            yield verdict.leaked, "how it stands at a table that is closed to spectators"


_NOW: Final[dict[str, Any]] = {
    "here": False,
    "bot": False,
    "seconds_left": None,
    "removable_in": None,
    "removed": False,
    "votes": [],
    "votes_needed": 0,
    "clock": None,
}


def _lasting(state: TableState) -> TableState:
    """Return the state without what is not stored: who is here, and how long things take."""
    pause = state.paused and PauseSummary(state.paused.seat, 0, 0, state.paused.until)
    seats = [replace(seat, again=False, **_NOW) for seat in state.seats]
    told = replace(
        state,
        seats=seats,
        spectators=0,
        watching=[],
        pause_asked=[],
        still_asked=[],
        paused=pause,
        shown=None,
        studied=None,
    )
    return replace(told, asked=None) if state.asked and state.asked.what == "pause" else told

"""Journals stay short, whatever people do at a table, and keep everything that still counts."""

import contextlib
import random
import threading
from collections import defaultdict
from pathlib import Path
from unittest.mock import AsyncMock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import inspect
from msgspec.structs import replace

from engine.board import FIELDS
from engine.errors import IllegalCommand
from engine.events import Place
from engine.game import Game, RandomChance
from engine.pieces import People, Seat
from engine.record import recorded
from protocol.absence import Absence, ByVote, GameClock
from protocol.events import event_map, move_message
from protocol.messages import NEW, Asked, Condition, Leave, PlannedMove, StartGame, TableState
from protocol.settings import Setting
from server.app import running
from server.config import Config, Limits
from server.storage import entries as stored
from server.storage.sqlite.journal import SqliteJournal
from server.tables import context
from server.tables.context import ENTRIES_BETWEEN_SHORTENINGS
from server.tables.state.live_entries import live_entries
from server.tables.state.persistent_state import PersistentState
from tests.games import some_command
from tests.protocol.messages import of_schema
from tests.server.peer import Peer, connected, eventually
from tests.server.playing import full_table, table_of
from tests.server.storage.test_journal import count_rows, table_facts

FAST = Limits(burst=1_000_000, rate=1_000_000.0, burst_per_address=1_000_000)
seats = st.integers(0, 4)
names = st.sampled_from(["Anna", "Bruno", "Carla"])
settings_made: st.SearchStrategy[Setting] = of_schema(inspect.type_info(Setting))
requests = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9)), min_size=1, max_size=64)
clocks = st.lists(st.integers(0, 10**6), min_size=5, max_size=5)
policies: st.SearchStrategy[Absence] = of_schema(inspect.type_info(Absence))
conditions = st.builds(Condition, st.sampled_from(["A1", "B2"]), st.none() | seats, st.booleans())
planned_moves = st.builds(PlannedMove, st.just("Em"), st.sampled_from(["A1", "B2"]), st.none() | conditions)
plans = st.builds(stored.PlanMade, seats, plans=st.lists(planned_moves, max_size=3).map(tuple)) | st.builds(
    stored.PlanMade, seats, st.just("Em"), st.just("A1")
)
seat_entries = st.one_of(
    st.builds(stored.Taken, seats, names, names, st.booleans(), st.booleans()),
    st.builds(stored.Kept, seats, names, names, st.booleans()),
    *(st.builds(stored.BotSeated, seats, names, names), st.builds(stored.Freed, seats)),
    *(st.builds(stored.Voted, seats, seats, st.booleans()), st.builds(stored.GivenToBot, seats)),
    *(st.builds(stored.Returned, seats), st.builds(stored.TokenRevoked, seats)),
    *(st.builds(stored.Hosted, seats), st.builds(stored.SaidReady, seats, st.booleans())),
    plans,
    st.builds(stored.PeopleChosen, seats, st.none() | st.sampled_from(People)),
    st.builds(stored.Changed, settings_made),
    st.builds(stored.Clocked, clocks, st.integers(0, 10**6)),
    *(st.builds(stored.EndedByHost), st.builds(stored.Paused, seats, st.none() | st.just(2_000_000_000))),
    *(st.builds(stored.Unpaused), st.builds(stored.OnHoliday, seats, st.integers(0, 10**6), st.booleans())),
    st.builds(stored.Continued, st.sampled_from(["BBBB", "CCCC"])),
    st.builds(stored.Answered, seats, requests),
)


@given(st.booleans(), st.lists(seat_entries, max_size=60))
@example(False, [stored.Voted(3, 1, agree=True), stored.Voted(3, 1, agree=False)])
@example(
    False,
    [
        stored.Taken(0, "A", "h"),
        stored.OnHoliday(0, 0, on=True),
        stored.Taken(0, "A", "h"),
        stored.Kept(0, "A", "h"),
    ],
)
@example(True, [stored.Taken(3, "A", "h"), stored.Taken(4, "B", "i"), stored.Freed(3), stored.Freed(4)])
def test_the_live_entries_make_the_same_table(grows: bool, happened: list[stored.Entry]) -> None:
    entries: list[stored.Entry] = [
        stored.Opened(2 if grows else 5, random_layout=True, starting=None, absence=ByVote(0)),
        *([stored.SeatsFollow()] if grows else []),
        *(each for each in happened if not (grows and isinstance(each, stored.Clocked))),  # of a game
    ]
    kept = [entries[number] for number in live_entries(entries)]
    before, after = (PersistentState(each, RandomChance(random.Random(1))) for each in (entries, kept))
    assert table_facts(before) | {"entries": 0} == table_facts(after) | {"entries": 0}
    # One end at most in a real journal, and three pauses of each player.
    for_good = sum(
        isinstance(entry, stored.EndedByHost | stored.Paused | stored.OnHoliday | stored.Answered)
        for entry in entries
    )
    assert len(kept) <= 1 + grows + 5 + 25 + 5 + 5 + 5 + 1 + 1 + 5 + 1 + 1 + for_good
    assert live_entries(kept) == list(range(len(kept)))


wishes = st.sampled_from(["pause", "take-back", "more-time"])
in_game = st.one_of(
    *(st.builds(stored.Taken, seats, names, names, st.booleans(), vacant=st.booleans()),),
    *(st.builds(stored.Voted, seats, seats, st.booleans()), st.builds(stored.GivenToBot, seats)),
    *(st.builds(stored.Returned, seats), st.builds(stored.TokenRevoked, seats)),
    *(st.builds(stored.Hosted, seats), st.builds(stored.Unpaused)),
    st.builds(stored.Paused, seats, st.none() | st.just(2_000_000_000)),
    plans,
    st.builds(stored.OnHoliday, seats, st.integers(0, 10**6), st.booleans()),
    st.builds(stored.NoticesTo, seats, st.sampled_from(["", "a@example.org", "https://b"]), st.just("en")),
    st.builds(stored.Noticed, seats, st.integers(0, 60), st.booleans(), st.integers(0, 3)),
    st.builds(stored.Wished, st.none() | st.builds(Asked, wishes, st.lists(seats, min_size=1, max_size=5))),
    st.builds(stored.Changed, settings_made),
    st.builds(stored.Clocked, clocks, st.integers(0, 10**6), st.just([]) | clocks),
    st.builds(stored.Answered, seats, requests),
)
moves = st.sampled_from(["played", "planned", "stood in", "taken back"])
after_game = st.one_of(
    st.builds(stored.Continued, st.sampled_from(["BBBB", "CCCC"])),
    st.builds(stored.NoticesTo, seats, st.just(""), st.just("")),
    st.builds(stored.Hosted, seats),
    st.builds(stored.Answered, seats, requests),
)


class Histories:
    """Makes what could be stored of a table, whose state at the moment says which moves are legal."""

    def __init__(self, seed: int) -> None:
        self.entries = list[stored.Entry]()
        self.state = PersistentState([], RandomChance(random.Random(seed)))
        self._chooser = random.Random(seed)

    def store(self, *entries: stored.Entry) -> None:
        for entry in entries:
            self.entries.append(entry)
            self.state.fold(entry)

    def allows(self, entry: stored.Entry) -> bool:
        """Return whether this can be after the lobby: clocks are a game's, and bots keep their seats."""
        match entry:
            case stored.Clocked():
                return self.state.game is not None
            case stored.Taken(seat):
                return seat not in self.state.bots
        return True

    def begin(self) -> None:
        game = Game.new(self.state.options, self.state.chance)
        self.store(stored.Played(0, StartGame(1), [event_map(event) for event in game.events]))

    def move(self, kind: str) -> None:
        game, thought = self.state.game, self._chooser.randrange(10**6)
        if game is None or self.state.stage != "playing":
            return
        if kind == "taken back":
            with contextlib.suppress(IllegalCommand):
                self.store(self.state.take_back(Seat(self._chooser.randrange(5))))
            return
        command = some_command(game, self._chooser)
        events = [event_map(event) for event in game.decided(command)]
        if kind == "stood in":
            self.store(stored.StoodIn(command.seat, "bot", events, thought))
        else:
            number = len(self.entries) if kind == "played" else NEW
            if kind == "planned" and isinstance(command, Place):
                field = self._chooser.choice(FIELDS)
                plan = PlannedMove(str(command.piece), command.field, Condition(field, unless=True))
                self.store(stored.PlanMade(command.seat, plans=(plan, replace(plan, condition=None))))
            move = move_message(number, command)
            self.store(stored.Played(command.seat, move, events, thought, planned=kind == "planned"))


@st.composite
def histories(draw: st.DrawFn) -> Histories:
    """Draw the whole history of a table: it gathers, plays and is looked back on, or only some of this."""
    made = Histories(draw(st.integers(0, 10**6)))
    grows = draw(st.booleans())
    made.store(stored.Opened(2 if grows else 5, random_layout=True, starting=None, absence=draw(policies)))
    made.store(*([stored.SeatsFollow()] if grows else []))
    before = draw(st.lists(seat_entries, max_size=10))
    made.store(*(each for each in before if not (grows and isinstance(each, stored.Clocked))))  # of a game
    free = {*range(5)} - {seat for seat, _ in made.state.held}
    made.store(*(stored.Taken(seat, f"Player {seat}", f"hash {seat}") for seat in sorted(free)))
    if not made.state.ended:
        made.begin()
    for step in draw(st.lists(moves | in_game, min_size=15, max_size=60)):
        if isinstance(step, str):
            made.move(step)
        elif made.allows(step):
            made.store(step)
    if draw(st.booleans()):
        made.store(stored.EndedByHost(), *draw(st.lists(after_game, max_size=5)))
    return made


@given(histories())
def test_a_history_makes_the_same_table_when_it_is_shortened(made: Histories) -> None:
    live = [made.entries[number] for number in live_entries(made.entries)]
    after = PersistentState(live, RandomChance(random.Random(1)))
    assert table_facts(made.state) | {"entries": 0} == table_facts(after) | {"entries": 0}
    assert live_entries(live) == list(range(len(live)))


def test_a_table_that_grew_keeps_its_seats_when_it_is_shortened() -> None:
    """Even if whoever has the last one was seated once more, and the first time is dropped."""
    made = Histories(1)
    made.store(
        stored.Opened(2, random_layout=True, starting=None, absence=GameClock(60)), stored.SeatsFollow()
    )
    made.store(*(stored.Taken(seat, f"Player {seat}", f"hash {seat}") for seat in range(4)))
    made.begin()
    made.move("played")
    made.store(stored.Taken(3, "Player 3", "another hash"))
    live = [made.entries[number] for number in live_entries(made.entries)]
    assert len(live) < len(made.entries)
    after = PersistentState(live, RandomChance(random.Random(1)))
    assert table_facts(made.state) | {"entries": 0} == table_facts(after) | {"entries": 0}


@given(histories())
def test_whoever_is_seated_once_more_keeps_all_that_is_theirs(made: Histories) -> None:
    """Their state alone says with which entries: how it came about is not asked."""
    again = [
        entry
        for seat, player in made.state.held
        if not player.vacant
        for entry in made.state.seated_again(seat, player, seat)
    ]
    after = PersistentState([*made.entries, *again], RandomChance(random.Random(1)))
    assert table_facts(made.state) | {"entries": 0} == table_facts(after) | {"entries": 0}


async def join_and_leave(peer: Peer, code: str, times: int) -> None:
    for _ in range(times):
        await peer.join(code, "Restless")
        await peer.done(Leave)


@pytest.mark.slow
async def test_joining_and_leaving_does_not_fill_the_journal(tmp_path: Path) -> None:
    config = Config(data=tmp_path, limits=FAST)
    async with running(config) as server, full_table(server.port, 3) as peers:
        await peers[2].done(Leave)
        async with connected(server.port) as restless:
            await join_and_leave(restless, peers[0].code, ENTRIES_BETWEEN_SHORTENINGS)
        before = table_facts(table_of(server, peers).state)
    assert count_rows(tmp_path) <= ENTRIES_BETWEEN_SHORTENINGS + 6
    async with running(config) as server:
        assert table_facts(table_of(server, peers).state) == before


@pytest.mark.slow
async def test_a_long_journal_is_shortened_at_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nothing happens at its table; short ones stay as they are."""
    config = Config(data=tmp_path, limits=FAST)
    with monkeypatch.context() as patch:
        patch.setattr(context.TableContext, "shorten", AsyncMock())
        async with running(config) as server, full_table(server.port, 3) as peers:
            await peers[2].done(Leave)
            async with connected(server.port) as restless:
                await join_and_leave(restless, peers[0].code, ENTRIES_BETWEEN_SHORTENINGS)
            async with full_table(server.port, 2) as others:
                before = [table_facts(table_of(server, each).state) for each in (peers, others)]
    assert count_rows(tmp_path) > 2 * ENTRIES_BETWEEN_SHORTENINGS
    async with running(config) as server:
        states = [table_of(server, each).state for each in (peers, others)]
        await eventually(lambda: states[0].entry_count == 3)
        assert [table_facts(state) | {"entries": 0} for state in states] == [
            facts | {"entries": 0} for facts in before
        ]
        assert states[1].entry_count == 3
    assert count_rows(tmp_path) == 6


async def test_a_table_is_removed_outside_the_event_loop(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path)
    threads = []

    def seen(statement: str) -> None:
        if statement.startswith("DELETE"):
            threads.append(threading.get_ident())

    try:
        await journal.append("GONE", 0, [stored.Opened(2, random_layout=True, starting=None)])
        journal._database.set_trace_callback(seen)
        await journal.append("GONE", 1, [stored.Forgotten()])
    finally:
        await journal.close()
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()
    assert count_rows(tmp_path) == 0


KEPT = Path(__file__).parent / "kept"
LINES = [line.split(" ", 1) for line in (KEPT / "journal.txt").read_text(encoding="utf-8").splitlines()]


def test_entries_are_written_as_before() -> None:
    for _, text in LINES:
        assert stored.entry_text(stored.entry_of(text)) == text


async def test_its_tables_are_the_same(tmp_path: Path) -> None:
    """A running game, a finished one and its rematch, and one whose players are still gathering."""
    tables = defaultdict[str, list[stored.Entry]](list)
    for code, text in LINES:
        tables[code].append(stored.entry_of(text))
    journal = SqliteJournal(tmp_path)
    for code, entries in tables.items():
        await journal.append(code, 0, entries)
    await journal.close()
    async with running(Config(data=tmp_path)) as server:
        states = {code: table.state for code, table in server.lobby.tables.items()}
        assert set(states) == {"GAME", "OVER", "NEXT", "SEAT"}
        for code in ("GAME", "OVER"):
            game = states[code].game
            assert game is not None
            kept = (KEPT / f"{code}.txt").read_text(encoding="utf-8")
            assert recorded(game.events, states[code].names) == kept
        assert [player and player.kept for player in states["NEXT"].players] == [True, False]
        seats = states["SEAT"]
        assert seats.names == ["Player 1", "Player 0", "Player 3", "Player 2"]
        assert (seats.host, seats.options.starting, seats.title, seats.ready) == (1, 2, "Friday", frozenset())
        assert "".join(seats.peoples) == "ESLM"
        async with connected(server.port) as spectator:
            await spectator.watch("SEAT")
            state = await spectator.until(TableState)
            assert [(each.people, each.chosen) for each in state.seats] == [(each, False) for each in "ESLM"]

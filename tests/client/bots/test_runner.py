"""Bots on a real server: alone, with people, and without a server."""

import asyncio
import io
import json
import random
import re
import sys
import threading
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from client.bots import brains, runner
from client.bots.brains import at_random
from client.bots.results import Results, result_line
from client.bots.runner import BotOptions, run_bots
from client.network.connection import Connection, open_connection
from engine.components import Laurel
from engine.events import Command, DecidedBy, GameEnded, Tally
from engine.legal import Legal
from engine.pieces import Piece, Seat
from engine.view import View
from protocol import messages
from protocol.absence import MoveClock
from protocol.codes import Code
from protocol.messages import NEW
from server.app import Running, running
from server.config import Config, Limits
from server.errors import NotStoredNow
from tests.client.scripted import FAST_RETRIES, TIMEOUT, play_randomly
from tests.server.manual_clock import ManualClock
from tests.server.peer import eventually
from tests.test_docs import ROOT, section


def options(server: Running, **changes: object) -> BotOptions:
    return BotOptions(f"ws://127.0.0.1:{server.port}", timeouts=FAST_RETRIES, **changes)  # type: ignore[arg-type]


async def run_to_the_end(chosen: BotOptions) -> tuple[int, str, str]:
    """Return the exit code, the output and the errors."""
    out, errors = io.StringIO(), io.StringIO()
    async with asyncio.timeout(TIMEOUT):
        code = await run_bots(chosen, out, errors)
    return code, out.getvalue(), errors.getvalue()


class AwaitableOutput(io.StringIO):
    """An output that lets a test wait for the next line."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed = asyncio.Event()

    def flush(self) -> None:
        self.flushed.set()


async def test_a_brain_that_is_slower_than_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in makes the moves, and choices that come too late are not played."""

    loop, clock = asyncio.get_running_loop(), ManualClock()

    def slow_choose(view: View, legal: Legal, rng: random.Random) -> Command:
        loop.call_soon_threadsafe(clock.advance, 5.0)
        return at_random(view, legal, rng)

    monkeypatch.setattr(brains, "BRAINS", {"slow": slow_choose})
    async with running(Config(limits=Limits(stand_in_seconds=0.0), timers=lambda: clock)) as server:
        chosen = options(server, seats=2, brains=("slow",), random_layout=True, absence=MoveClock(5))
        code, out, errors = await run_to_the_end(chosen)
        assert (code, errors) == (0, "")
        assert "Game 1: slow-1" in out


async def test_a_brain_that_begins_more_slowly_than_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not asked for the move that the stand-in has made by then."""
    loop, clock, others_turn = asyncio.get_running_loop(), ManualClock(), threading.Event()

    class SlowToBegin:
        def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command:
            return at_random(view, legal, rng)

        def game_begins(self, _view: View) -> None:
            loop.call_soon_threadsafe(clock.advance, 5.0)
            assert others_turn.wait(TIMEOUT)

    def other(view: View, legal: Legal, rng: random.Random) -> Command:
        others_turn.set()
        return at_random(view, legal, rng)

    monkeypatch.setattr(brains, "BRAINS", {"slow": SlowToBegin(), "other": other})
    async with running(Config(limits=Limits(stand_in_seconds=0.0), timers=lambda: clock)) as server:
        own = {"starting": Seat(0), "random_layout": True, "absence": MoveClock(5)}
        chosen = options(server, seats=2, brains=("slow", "other"), **own)
        code, _, errors = await run_to_the_end(chosen)
        assert (code, errors) == (0, "")


@pytest.mark.slow
async def test_bots_wait_for_a_journal_that_is_expected_back() -> None:
    """Whatever they ask for in the meantime, they ask for again; what needs the host ends them."""
    async with running(Config(seed=1)) as server:
        journal = server.lobby.journal
        stored: dict[str, Callable[..., Awaitable[None]]] = {}
        failures = Counter[str]()

        async def fails(name: str, *arguments: object) -> None:
            failures[name] += 1
            if failures[name] <= 2:
                raise NotStoredNow("the database is restarted")
            await stored[name](*arguments)

        for name in ("append_together", "append"):
            stored[name] = getattr(journal, name)
            setattr(journal, name, partial(fails, name))
        chosen = options(server, players=2, seats=2, random_layout=True, seed=1)
        code, out, errors = await run_to_the_end(chosen)
        assert (code, errors) == (0, "")
        assert "Game 1: " in out
        assert all(count > 2 for count in failures.values())


@pytest.mark.parametrize(
    ("players", "starting"), [(2, None), pytest.param(5, Seat(2), marks=pytest.mark.slow)]
)
async def test_bots_alone(players: int, starting: Seat | None, tmp_path: Path) -> None:
    """Each game is played at a new table, and its result is printed; bots choose who starts there (R3.1)."""
    async with running(Config(records=tmp_path)) as server:
        own = {"players": players, "seats": players, "starting": starting, "games": 2, "seed": 1}
        code, out, errors = await run_to_the_end(options(server, brains=("greedy", "random"), **own))
        assert (code, errors) == (0, "")
        table, result, other_table, _, totals, *players_totals = out.splitlines()
        assert re.fullmatch("Table [A-Z]{4}", table)
        assert table != other_table
        assert re.fullmatch(r"Game 1: greedy-1 \d+, random-2 \d+.*; .*(wins|share the victory).*", result)
        assert totals == "2 games (in brackets: 95 per cent intervals):"
        assert len(players_totals) == players
        assert all(table.summary().stage == "over" for table in server.lobby.tables.values())
    records = [record.read_text(encoding="utf-8") for record in tmp_path.iterdir()]  # noqa: ASYNC240
    assert ["\nstarts 2 chosen" in record for record in records] == [starting is not None] * 2


@pytest.mark.slow
async def test_results_for_programs() -> None:
    async with running(Config(seed=1)) as server:
        code, out, errors = await run_to_the_end(options(server, seats=2, games=2, as_json=True))
    assert (code, errors) == (0, "")
    table, game, _, other, totals = map(json.loads, out.splitlines())
    assert game["game"] == 1
    assert game["table"] == table["table"]
    assert game["names"] == ["greedy-1", "greedy-2"]
    assert [game["points"][seat] for seat in game["winners"]] == [max(game["points"])] * len(game["winners"])
    assert totals["games"] == 2
    assert sum(total["share"] for total in totals["players"]) == pytest.approx(1.0)
    for seat, name in enumerate(game["names"]):
        (total,) = (each for each in totals["players"] if each["name"] == name)
        assert total["points"] == (game["points"][seat] + other["points"][seat]) / 2
        low, high = total["interval"]
        assert low - 1e-9 <= total["share"] <= high + 1e-9
    lines = section("Over a server", (ROOT / "docs" / "measuring-bots.md").read_text(encoding="utf-8"))
    for line, what in ((table, "when a table opens"), (game, "when a game ends"), (totals, "at the end")):
        row = re.search(rf"^\| {what} \| (.*) \|$", lines, re.MULTILINE)
        assert row
        keys = list(line) if line is not totals else [*totals, *totals["players"][0]]
        assert re.findall(r"`(\w+)`", row[1]) == keys


async def test_the_same_seed_plays_the_same_game() -> None:
    results = []
    for seed in (7, 7, 8):
        async with running(Config(seed=1)) as server:
            chosen = options(server, seats=2, brains=("random",), random_layout=True, seed=seed)
            results.append((await run_to_the_end(chosen))[1].splitlines()[-1])
    assert results[0] == results[1] != results[2]


@pytest.mark.slow
async def test_bots_join_a_table() -> None:
    async with running(Config()) as server:
        out = AwaitableOutput()
        async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as tasks:
            host = tasks.create_task(run_bots(options(server, players=4), out))
            await out.flushed.wait()
            code = out.getvalue().split()[1]
            guests = [
                tasks.create_task(run_to_the_end(options(server, table=code, seats=seats)))
                for seats in (1, 2)
            ]
        assert host.result() == 0
        results = [out.getvalue().splitlines()[-1], *(guest.result()[1].strip() for guest in guests)]
        assert len(set(results)) == 1
        assert set(re.findall(r"greedy-\d", results[0])) >= {"greedy-1", "greedy-2", "greedy-3"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"players": 6}, "Palatinus is for 2 to 5 players, not 6."),
        ({"seats": 3}, "Bots cannot take 3 seats. Choose 1 to 2."),
        ({"seats": 0}, "Bots cannot take 0 seats. Choose 1 to 2."),
        ({"games": 0}, "Cannot play 0 games. Choose 1 or more."),
        ({"cores": 0}, "Bots cannot use 0 cores. Choose 1 to "),
        ({"cores": 10_000}, "Bots cannot use 10000 cores. Choose 1 to "),
        ({"table": "ABCD", "games": 2}, "A table plays only one game."),
        ({"brains": ("greedy", "clever")}, "There is no brain called 'clever'."),
    ],
)
async def test_contradictory_options(changes: dict[str, object], sentence: str) -> None:
    code, out, errors = await run_to_the_end(BotOptions("ws://127.0.0.1:1", **changes))  # type: ignore[arg-type]
    assert (code, out) == (2, "")
    assert errors.startswith(sentence)
    assert errors.count("\n") == 1


async def test_without_a_server_or_a_table_the_error_is_one_sentence() -> None:
    async with running(Config()) as server:
        chosen = options(server)
        code, out, errors = await run_to_the_end(options(server, table="ABCD"))
    assert (code, out) == (1, "")
    assert errors.startswith("There is no table ABCD.")
    told = f"Nothing answers at {chosen.url}. Is the server running?\n"
    assert await run_to_the_end(chosen) == (1, "", told)


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (
            "LayTile(legal.seat, 1, 0)",
            r"The brain failing chose LayTile.* allowed: Position 1 is taken\..*\n",
        ),
        ("exit(3)", r"The brain failing failed in .*\.py, line 3: SystemExit: 3\.\n"),
    ],
)
async def test_a_brain_that_fails_is_reported_in_one_line(
    choice: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the brain's name, its move and the server's sentence, or the error; its author asks for more."""
    source = f"from engine.events import LayTile\ndef choose(view, legal, rng):\n    return {choice}\n"
    (tmp_path / "failing.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "failing", raising=False)
    async with running(Config()) as server:
        ways = [
            await run_to_the_end(options(server, brains=("failing:choose",), seats=2, traces=traces))
            for traces in (False, True)
        ]
    (code, _, errors), (_, _, traced) = ways
    assert code == 1
    assert re.fullmatch(told, errors)
    assert re.match(told, traced)
    assert ("Traceback" in traced) == ("exit" in choice)


def test_result_lines() -> None:
    state = messages.TableState(
        "ABCD", "over", [messages.SeatSummary("ann"), messages.SeatSummary("bob")], host=0
    )
    tally = Tally(1, 0, 0, (Laurel.CAELIUS,), 4, 2)
    for winners, decided, ending in (
        ((0,), DecidedBy.POINTS, "ann wins"),
        ((1,), DecidedBy.ITEMS, "bob wins on captives, discs and laurels"),
        ((0, 1), DecidedBy.ITEMS, "ann and bob share the victory"),
        ((0, 1), DecidedBy.NOTHING, "ann and bob share the victory"),
    ):
        ended = GameEnded((tally, tally), tuple(map(Seat, winners)), decided)
        assert result_line(state, ended) == f"ann 4, bob 4; {ending}"


def test_no_terminal_acts_on_json() -> None:
    """Whatever a server says that people are called."""
    name = "\x9b2J\u202e\u200b\x1b[31m"
    state = messages.TableState("ABCD", "over", [messages.SeatSummary(name), messages.SeatSummary("bob")], 0)
    tally = Tally(1, 0, 0, (), 4, 2)
    results = Results(out := io.StringIO(), as_json=True)
    results.game_over(1, state, GameEnded((tally, tally), (Seat(0),), DecidedBy.POINTS), ())
    results.all_over()
    game, totals = out.getvalue().splitlines()
    assert json.loads(game)["names"] == [name, "bob"]
    assert json.loads(totals)["players"][0]["name"] == name
    assert (game + totals).isprintable()


async def test_a_bot_that_chose_during_a_pause_moves_when_the_game_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The move that was refused meanwhile is no reason to stop, nor is a pause before the bot's turn."""
    loop, thinks, may_choose = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def choose(view: View, legal: Legal, rng: random.Random) -> Command:
        loop.call_soon_threadsafe(thinks.set)
        assert may_choose.wait(TIMEOUT)
        return at_random(view, legal, rng)

    monkeypatch.setattr(brains, "BRAINS", {"slow": choose})
    async with (
        running(Config()) as server,
        open_connection(options(server).url, timeouts=FAST_RETRIES) as person,
    ):
        seated = await person.ask(messages.OpenTable(NEW, 2, "ann", random_layout=True, starting=1))
        async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as tasks:
            chosen = options(server, table=seated.table, brains=("slow",))
            bot = tasks.create_task(run_to_the_end(chosen))
            await everybody_is_here(person)
            await person.ask(messages.StartGame(NEW))
            await thinks.wait()
            await person.ask(messages.AskPause(NEW, on=True))
            may_choose.set()
            await eventually(lambda: server.lobby.counts.refusals[Code.PAUSED] > 0)
            await person.ask(messages.AskPause(NEW, on=False))
            await person.ask(messages.AskPause(NEW, on=True))
            await person.ask(messages.AskPause(NEW, on=False))
            await play_randomly(person, random.Random(1))
        assert bot.result()[0] == 0
        assert bot.result()[2] == ""


async def test_bots_end_with_a_game_that_its_host_ends() -> None:
    async with (
        running(Config()) as server,
        open_connection(options(server).url, timeouts=FAST_RETRIES) as person,
    ):
        seated = await person.ask(messages.OpenTable(NEW, 2, "ann", random_layout=True, starting=0))
        bot = asyncio.create_task(run_to_the_end(options(server, table=seated.table)))
        await everybody_is_here(person)
        await person.ask(messages.StartGame(NEW))
        await person.ask(messages.EndGame(NEW))
        assert await bot == (0, "Game 1: The host has ended the game: nobody wins.\n", "")


async def everybody_is_here(person: Connection) -> None:
    async for _ in person.updates():
        if person.model.state and all(line.here for line in person.model.state.seats):
            return


@pytest.mark.slow
async def test_bots_play_again_when_a_person_does() -> None:
    """They keep their seats, and leave once there is nobody who could ask for another game."""
    async with running(Config()) as server:
        out = AwaitableOutput()
        chosen = options(server, players=3, seats=2, rematch=True, random_layout=True)
        async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as tasks:
            bots = tasks.create_task(run_bots(chosen, out))
            await out.flushed.wait()
            async with open_connection(chosen.url, timeouts=FAST_RETRIES) as person:
                await person.ask(messages.JoinTable(NEW, out.getvalue().split()[1], "ann"))
                rng, tables = random.Random(1), set()
                for game in range(3):
                    await play_randomly(person, rng)
                    tables.add(person.model.table)
                    if game < 2:
                        seated = await person.ask(messages.Rematch(NEW))
                        assert (seated.seat, person.model.token is not None) == (2, True)
        assert bots.result() == 0
        assert len(tables) == 3
        assert out.getvalue().count("Game 1") == 3
        assert any(line.startswith("ann: ") for line in out.getvalue().splitlines()[-3:])
        assert not any(table.summary().stage == "playing" for table in server.lobby.tables.values())


@dataclass(frozen=True)
class Learner:
    """A brain that knows how many games it has learned from; `over` is told of each."""

    over: Callable[[int, View], None]
    number: int = 0
    seen: set[int] = field(default_factory=set)

    def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command:
        self.seen.add(self.number)
        return at_random(view, legal, rng)

    def game_over(self, view: View) -> "Learner":
        self.over(self.number, view)
        return replace(self, number=self.number + 1)


@pytest.mark.parametrize(
    ("newcomer", "expected"), [("bob", {0}), pytest.param(None, {0, 1}, marks=pytest.mark.slow)]
)
async def test_bots_learn_from_a_game_for_the_next_one_with_the_same_players(
    monkeypatch: pytest.MonkeyPatch, newcomer: str | None, expected: set[int]
) -> None:
    """What they have learned does not count for other players; at its end a game hides nothing."""
    may_learn = threading.Event()

    def over(_number: int, view: View) -> None:
        assert view.result is not None
        assert all(isinstance(piece, Piece) for piece in view.placed.values())
        assert may_learn.wait(TIMEOUT)

    learner = Learner(over)
    monkeypatch.setattr(brains, "BRAINS", {"learner": learner})
    async with (
        running(Config()) as server,
        open_connection(options(server).url, timeouts=FAST_RETRIES) as ann,
    ):
        table = (await ann.ask(messages.OpenTable(NEW, 2, "ann", random_layout=True))).table
        bot = asyncio.create_task(
            run_to_the_end(options(server, table=table, brains=("learner",), rematch=True))
        )
        await everybody_is_here(ann)
        await ann.ask(messages.StartGame(NEW))
        await play_randomly(ann, random.Random(1))
        table = (await ann.ask(messages.Rematch(NEW))).table
        async with open_connection(options(server).url, timeouts=FAST_RETRIES) as bob:
            person = ann
            if newcomer is not None:
                await ann.ask(messages.Leave(NEW))
                await bob.ask(messages.JoinTable(NEW, table, newcomer))
                person = bob
            may_learn.set()
            await everybody_is_here(person)
            await person.ask(messages.StartGame(NEW))
            await play_randomly(person, random.Random(2))
            await person.ask(messages.Leave(NEW))
            assert (await bot)[0] == 0
    assert learner.seen == expected


@pytest.mark.slow
async def test_bots_begin_anew_at_each_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Players of the same names there may be others."""
    numbers: list[int] = []
    monkeypatch.setattr(brains, "BRAINS", {"learner": Learner(lambda number, _view: numbers.append(number))})
    async with running(Config()) as server:
        assert (await run_to_the_end(options(server, brains=("learner",), seats=2, games=2)))[0] == 0
    assert numbers == [0] * 4


@dataclass(frozen=True)
class Keeper:
    """A brain that counts its moves in a game, each of which `moved` is told of."""

    moved: Callable[[int], None]
    numbers: list[int] | None = None

    def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command:
        assert self.numbers is not None
        self.numbers.append(len(self.numbers))
        self.moved(self.numbers[-1])
        return at_random(view, legal, rng)

    def game_begins(self, _view: View) -> "Keeper":
        return replace(self, numbers=[])


@pytest.mark.slow
async def test_a_bot_keeps_things_within_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers: list[int] = []
    monkeypatch.setattr(brains, "BRAINS", {"keeper": Keeper(numbers.append)})
    async with running(Config()) as server:
        chosen = options(server, brains=("keeper", "citizen"), seats=2, games=2, random_layout=True)
        assert (await run_to_the_end(chosen))[0] == 0
    assert numbers == [*range(max(numbers) + 1)] * 2


@pytest.mark.slow
async def test_a_game_goes_on_after_its_bots_ended_with_the_server(tmp_path: Path) -> None:
    """When it is hosted again, the server's own bots play it to the end."""
    config = Config(data=tmp_path, limits=Limits(stand_in_seconds=0.0))
    rng = random.Random(1)
    async with asyncio.timeout(TIMEOUT):
        async with (
            running(config) as server,
            open_connection(options(server).url, timeouts=FAST_RETRIES) as person,
        ):
            seated = await person.ask(messages.OpenTable(NEW, 3, "ann", random_layout=True))
            bots = asyncio.create_task(run_to_the_end(options(server, table=seated.table, seats=2)))
            await everybody_is_here(person)
            await person.ask(messages.StartGame(NEW))
            bots.cancel()
            await asyncio.wait([bots])
        async with (
            running(config) as server,
            open_connection(options(server).url, timeouts=FAST_RETRIES) as person,
        ):
            assert seated.token is not None
            await person.ask(messages.Resume(NEW, seated.table, seated.token))
            await play_randomly(person, rng)
            assert person.model.state is not None
            assert [line.name for line in person.model.state.seats] == ["ann", "greedy-1", "greedy-2"]


@pytest.mark.slow
async def test_a_brain_in_the_current_folder_does_not_hide_libraries(tmp_path: Path) -> None:
    """The folder is searched last; `queue` is imported only when the bots play."""
    (tmp_path / "mybot.py").write_text(
        "def choose(view, legal, rng):\n    return rng.choice(list(legal.commands()))\n"
    )
    for library in ("queue", "websockets", "msgpack"):
        (tmp_path / f"{library}.py").write_text("raise SystemExit('the wrong one')\n")
    async with running(Config()) as server:
        address = f"ws://127.0.0.1:{server.port}"
        bots = await asyncio.create_subprocess_exec(
            *(Path(sys.executable).with_name("palatinus"), "bot", address, "--seats", "2"),
            *("--brain", "mybot:choose"),
            cwd=tmp_path,
            stdout=PIPE,
            stderr=PIPE,
        )
        async with asyncio.timeout(TIMEOUT):
            out, errors = await bots.communicate()
    assert (bots.returncode, errors) == (0, b"")
    assert b"mybot" in out


@pytest.mark.slow
async def test_at_a_human_pace_no_move_comes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every move of a game takes at least as long as is drawn for it."""
    monkeypatch.setattr(runner, "seconds_to_move", lambda _view, _rng: 0.005)
    async with running(Config()) as server:
        begun = asyncio.get_running_loop().time()
        await run_to_the_end(
            options(server, brains=("random",), seats=2, random_layout=True, human_pace=True)
        )
        moves = 36  # the pieces of two hands (R3.4)
        assert asyncio.get_running_loop().time() - begun >= moves * 0.005

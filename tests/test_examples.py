"""The example bots play whole games on a real server, and the documents for authors of bots are right."""

import ast
import asyncio
import contextlib
import doctest
import importlib
import io
import json
import random
import re
import runpy
import shutil
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import msgpack
import pytest
from hypothesis import given

from client.bots.arena.games import ArenaPlayer, play_to_end, start_game
from client.bots.brains import brain_named
from client.bots.runner import BotOptions, run_bots
from engine.events import LayTile, Place
from engine.game import Game
from engine.knowledge import holdings
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import Piece, Wolf
from engine.redaction import snapshot
from engine.view import SPECTATOR, View
from protocol.messages import AskPause, ChoosePeople, EndGame, Say, StartGame, TableState
from tests.games import all_eyes, games
from tests.protocol.test_events import CLIENTS, SERVERS, tags_of_valid
from tests.relay import Relay, relay
from tests.server.peer import TIMEOUT, Peer, connected, eventually
from tests.server.playing import memory_server, table_of
from tests.test_docs import PROTOCOL, ROOT, first_column, section

GUIDE = (ROOT / "docs" / "bots.md").read_text(encoding="utf-8")
EXAMPLES = Path(__file__).parent.parent / "examples"
PYTHON = EXAMPLES / "python" / "bot.py"
JAVASCRIPT = EXAMPLES / "javascript" / "bot.js"
PACKAGES = [JAVASCRIPT.parent / "node_modules" / name for name in ("ws", "@msgpack/msgpack")]
NODE = shutil.which("node")

needs_node = pytest.mark.skipif(
    NODE is None or not all(package.is_dir() for package in PACKAGES),
    reason="Node is not installed, or its packages are not: run npm install in examples/javascript",
)
IN_PYTHON = pytest.param((sys.executable, str(PYTHON)), id="python")
IN_JAVASCRIPT = pytest.param((NODE or "node", str(JAVASCRIPT)), id="javascript", marks=needs_node)
BOTS = [IN_PYTHON, IN_JAVASCRIPT]
# One test shows that the bot in JavaScript plays; what else it can do is left to `.ci/run`.
BOTS_OR_SLOW = [
    IN_PYTHON,
    pytest.param(*IN_JAVASCRIPT.values, id="javascript", marks=(needs_node, pytest.mark.slow)),
]
Command = tuple[str, str]


@contextlib.asynccontextmanager
async def bot(command: Command, *arguments: str) -> AsyncIterator[Process]:
    """Run a bot, and kill it in the end if it is still running."""
    process = await asyncio.create_subprocess_exec(*command, *arguments, stdout=PIPE, stderr=PIPE)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def result_of(process: Process) -> str:
    """Wait until the bot has ended well; return what it has printed."""
    async with asyncio.timeout(TIMEOUT):
        out, errors = await process.communicate()
    assert (process.returncode, errors.decode()) == (0, "")
    return out.decode()


async def seated(process: Process) -> str:
    """Return the code of the table where the bot is, as soon as it has said it."""
    assert process.stdout is not None
    async with asyncio.timeout(TIMEOUT):
        line = (await process.stdout.readline()).decode()
    assert line.startswith("Table "), line
    return line.split()[1].rstrip(",")


async def full(peer: Peer) -> None:
    """Wait until everybody is at the table."""
    while not all(seat.here for seat in (await peer.until(TableState)).seats):
        pass


async def play_to_the_end(peer: Peer) -> None:
    """Make random moves, and wait for those of others."""
    rng = random.Random(1)
    while peer.view is None or peer.view.result is None:
        if peer.legal is None:
            await peer.news()
        else:
            await peer.done(peer.random_move(rng))


async def failure_of(process: Process) -> str:
    """Wait until the bot has given up; return its one sentence."""
    async with asyncio.timeout(TIMEOUT):
        _, errors = await process.communicate()
    assert process.returncode == 1
    assert errors.count(b"\n") == 1
    return errors.decode()


def refusals(between: Relay) -> list[str]:
    """Return the codes of all refusals so far."""
    messages = map(msgpack.unpackb, between.from_server)
    return [message["code"] for message in messages if message["t"] == "refused"]


@pytest.mark.slow
@pytest.mark.parametrize("guest", BOTS_OR_SLOW)
async def test_two_bots_play_each_other(guest: Command) -> None:
    async with (
        memory_server() as server,
        relay(server.port) as between,
        bot((sys.executable, str(PYTHON)), f"ws://127.0.0.1:{between.port}") as host,
    ):
        code = await seated(host)
        async with bot(guest, f"ws://127.0.0.1:{between.port}", code) as other:
            results = await asyncio.gather(result_of(host), result_of(other))
        assert results[1].startswith(f"Table {code}, seat 2, as Example-2\n")  # a name is given only once
        assert all("Points by seat: " in result for result in results)
        assert between.connections == 2
        assert tags_of_valid(between.from_clients, CLIENTS) == {
            *("hello", "open", "join", "start", "lay", "place", "leave")
        }
        assert {"welcome", "seated", "table", "events", "refused", "done", "event ended"} <= tags_of_valid(
            between.from_server, SERVERS
        )


@pytest.mark.slow
@pytest.mark.parametrize("guest", BOTS)
async def test_a_bot_among_people(guest: Command) -> None:
    """They take its people, chat, and pause when it moves; it hears new things, and loses connections."""
    async with memory_server() as server, relay(server.port) as between, connected(server.port) as person:
        between.from_the_future = True
        between.cut_after = {2, 7}
        code = (await person.open(2)).table
        table = table_of(server, [person])
        await person.done(ChoosePeople(person.next_id(), "S"))

        async def pause() -> None:
            await person.send(AskPause(person.next_id(), on=True))
            await eventually(lambda: table.state.paused is not None)

        async def end_pause() -> None:
            await eventually(lambda: "paused" in refusals(between))
            await person.send(AskPause(person.next_id(), on=False))

        between.before = {4: pause}
        async with (
            bot(guest, f"ws://127.0.0.1:{between.port}", code) as process,
            asyncio.TaskGroup() as tasks,
        ):
            await full(person)
            await person.done(StartGame(person.next_id()))
            await person.done(Say(person.next_id(), "Salve!"))
            tasks.create_task(end_pause())
            await play_to_the_end(person)
            assert "Points by seat: " in await result_of(process)
        assert between.connections == 3
        assert tags_of_valid(between.from_clients, CLIENTS) == {
            *("hello", "join", "resume", "lay", "place", "leave")
        }
        assert tags_of_valid(between.from_server, SERVERS) > {"snapshot", "said", "refused"}


@pytest.mark.slow
@pytest.mark.parametrize("guest", BOTS_OR_SLOW)
async def test_a_bot_takes_one_seat_whose_answer_is_lost(guest: Command) -> None:
    """At the table that it joins, or one that it opens."""
    async with memory_server() as server, relay(server.port) as between, connected(server.port) as person:
        code = (await person.open(2)).table
        for table, players in ((code, ["Anna", "Example"]), (None, ["Example", ""])):
            between.loses = {"seated"}
            arguments = [f"ws://127.0.0.1:{between.port}", *([] if table is None else [table])]
            async with bot(guest, *arguments) as process:
                found = await seated(process)
                assert server.lobby.tables[found].state.names == players
        assert len(server.lobby.tables) == 2


@pytest.mark.slow
@pytest.mark.parametrize("guest", BOTS)
async def test_a_bot_follows_its_table(guest: Command) -> None:
    """To the server that has it now; and if that is gone, too, to another that it was told of."""
    async with (
        memory_server() as server,
        relay(server.port) as first,
        relay(server.port) as second,
        relay(server.port) as third,
        connected(server.port) as person,
    ):
        first.sends_on = {2: f"ws://127.0.0.1:{second.port}"}
        second.cut_after = {2}
        second.other_addresses = [f"ws://127.0.0.1:{third.port}"]
        first.most_connections = second.most_connections = 1
        code = (await person.open(2)).table
        async with bot(guest, f"ws://127.0.0.1:{first.port}", code) as process:
            await full(person)
            await person.done(StartGame(person.next_id()))
            await play_to_the_end(person)
            assert "Points by seat: " in await result_of(process)
        assert (first.connections, second.connections, third.connections) == (1, 1, 1)
        assert tags_of_valid(second.from_server, SERVERS) > {"welcome", "seated"}


@pytest.mark.slow
@pytest.mark.parametrize("command", BOTS)
async def test_the_host_ends_the_game(command: Command) -> None:
    async with memory_server() as server, connected(server.port) as person:
        code = (await person.open(2)).table
        async with bot(command, f"ws://127.0.0.1:{server.port}", code) as process:
            await full(person)
            await person.done(StartGame(person.next_id()))
            await person.done(EndGame(person.next_id()))
            assert (await result_of(process)).endswith("The host has ended the game.\n")


@pytest.mark.slow
@pytest.mark.parametrize("command", BOTS)
async def test_what_a_bot_cannot_do_is_one_sentence(command: Command) -> None:
    async with memory_server() as server:
        there = f"ws://127.0.0.1:{server.port}"
        async with bot(command, there, "ABCD") as lost, bot(command, "nowhere") as nowhere:
            outcomes = [await failure_of(process) for process in (lost, nowhere)]
    assert outcomes[0].startswith("There is no table ABCD.")
    assert "nowhere" in outcomes[1]


@pytest.mark.slow
async def test_the_minimal_bot_of_the_protocol_plays_a_game(tmp_path: Path) -> None:
    """As docs/protocol.md has it, against the example that opens the table."""
    found = re.search(r"^```python\n# minimal\.py\n(.*?)^```", PROTOCOL, re.MULTILINE | re.DOTALL)
    assert found
    minimal = tmp_path / "minimal.py"
    minimal.write_text(found[1], encoding="utf-8")
    async with memory_server() as server:
        there = f"ws://127.0.0.1:{server.port}"
        async with bot((sys.executable, str(PYTHON)), there) as host:
            code = await seated(host)
            async with bot((sys.executable, str(minimal)), there, code) as guest:
                assert (await result_of(guest)).startswith("Won by seats [")
                assert "Points by seat: " in await result_of(host)


def test_the_python_example_can_be_tested_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the test beside it."""
    monkeypatch.syspath_prepend(PYTHON.parent)
    monkeypatch.delitem(sys.modules, "bot", raising=False)
    runpy.run_path(str(PYTHON.with_name("test_bot.py")))["test_it_chooses_the_hill_that_is_worth_most"]()
    monkeypatch.delitem(sys.modules, "bot")


@needs_node
def test_the_javascript_example_can_be_imported() -> None:
    """It plays only when it is run."""
    script = (
        f'import {{ FIELDS, Game, choose }} from "{JAVASCRIPT.as_uri()}";'
        "const game = new Game();"
        "game.takeSnapshot({ seq: 1, tiles: Array(7).fill(null), laurels: {}, placed: [] });"
        'console.log(choose(game, { t: "lay", positions: [3], orientations: [2] }), FIELDS.length);'
    )
    words = [str(NODE), "--input-type=module", "-e", script]
    out = subprocess.run(words, capture_output=True, text=True, check=True, timeout=TIMEOUT).stdout
    assert out == "{ t: 'lay', position: 3, orientation: 2 } 42\n"


def test_the_session_in_the_protocol_is_valid() -> None:
    """Every frame of it that is shown in full."""
    text = section("A complete session", PROTOCOL)
    frames = "".join(re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)).replace("\n   ", " ")
    for arrow, valid, tags in (
        ("→", CLIENTS, {"hello", "join", "place", "resume", "leave"}),
        ("←", SERVERS, {"welcome", "seated", "table", "draw", "refused", "events", "done"}),
    ):
        shown = [frame[2:] for frame in frames.splitlines() if frame[0] == arrow and "..." not in frame]
        known = tags_of_valid((msgpack.packb(json.loads(frame)) for frame in shown), valid)
        assert {tag for tag in known if not tag.startswith("event ")} == tags


def test_the_python_example_stands_alone() -> None:
    """It imports Python's own modules and the two libraries that it names."""
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(PYTHON.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
        )
    }
    libraries = (PYTHON.parent / "requirements.txt").read_text(encoding="utf-8").split()
    assert imported - sys.stdlib_module_names == {library.split(">")[0] for library in libraries}


PAGES = {
    name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("bots", "measuring-bots", "search", "reinforcement-learning")
}
MODULES = {
    name: code
    for page in PAGES.values()
    for name, code in re.findall(r"^```python\n# (\w+)\.py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document's modules are in the current folder, as an author's are."""
    for name, code in MODULES.items():
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, code in MODULES.items() if "def choose(" in code or "\nchoose = " in code]
)
@pytest.mark.usefixtures("modules")
def test_the_documents_brains_play_whole_games(name: str) -> None:
    """Laying tiles, with two peoples and with one; the learner after a batch of games."""
    brains = [brain_named(f"{name}:choose"), brain_named("random")]
    for players in (2, 3):
        if name == "learner":
            learner = sys.modules[name]
            learner.learn(players, learner.BATCH)
            assert learner.learned(players).any()
        rng = random.Random(players)
        seated = [ArenaPlayer(brain.name, brain.choose, rng) for brain in (*brains, brains[1])[:players]]
        play_to_end(start_game(players, rng), seated)


@pytest.mark.usefixtures("modules")
def test_the_documents_test_of_a_position_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path.cwd())
    importlib.import_module("test_mybot").test_it_places_a_wolf_on_the_hill_that_is_worth_most()


@pytest.mark.slow
@pytest.mark.usefixtures("modules")
async def test_the_first_brain_plays_on_a_server() -> None:
    """As the document's command has it: against random, with a result in the end."""
    out, errors = io.StringIO(), io.StringIO()
    async with memory_server() as server:
        chosen = BotOptions(
            f"ws://127.0.0.1:{server.port}", brains=("mybot:choose", "random"), seats=2, games=2
        )
        assert await run_bots(chosen, out, errors) == 0, errors.getvalue()
    assert "mybot-1" in out.getvalue()


@pytest.mark.parametrize(("page", "least"), [("bots", 20), ("reinforcement-learning", 10)])
def test_what_a_document_types_gives_what_it_shows(page: str, least: int) -> None:
    """The session at Python's prompt, from the top of the page to its end."""
    session = "\n".join(re.findall(r"^```pycon\n(.*?)^```", PAGES[page], re.MULTILINE | re.DOTALL))
    test = doctest.DocTestParser().get_doctest(session, {}, page, None, None)
    assert len(test.examples) > least
    told = io.StringIO()
    doctest.DocTestRunner().run(test, out=told.write)
    assert not told.getvalue(), told.getvalue()


def test_every_attribute_of_a_view_is_documented() -> None:
    assert first_column(section("View", GUIDE)) == list(View.__dataclass_fields__)
    for kind, heading in (
        (LegalLays, "Legal"),
        (LegalPlaces, "Legal"),
        (Place, "Place and LayTile"),
        (LayTile, "Place and LayTile"),
    ):
        row = re.search(rf"^\| `{kind.__name__}` .*", section(heading, GUIDE), re.MULTILINE)
        assert row
        assert [name for name in re.findall(r"`(\w+)`", row[0]) if name in kind._fields] == list(kind._fields)


@given(game=games())
def test_the_documents_guesses_are_possible(game: Game) -> None:
    """Nothing is hidden in a guess, what was seen stays, and no hand has held more than it was dealt."""
    content: dict[str, object] = {}
    exec(MODULES["sampler"], content)  # noqa: S102 - the document's own code
    guess = content["guess"]
    assert callable(guess)
    for eyes in (*all_eyes(game), SPECTATOR):
        view = snapshot(game.view, eyes)
        pieces = guess(view, random.Random(1))
        assert list(pieces) == list(view.placed)
        for field, seen in view.placed.items():
            assert isinstance(pieces[field], Piece)
            assert pieces[field] == seen or seen == Wolf.of(pieces[field].people)
        on_board = Counter(pieces.values())
        for holding in holdings(view):
            for count in holding.counts:
                assert count.left.least <= count.dealt - on_board[count.piece] <= count.left.most

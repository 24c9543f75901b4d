"""The documents for authors of bots are right: every example in them is run."""

import doctest
import importlib
import io
import random
import re
import sys
from collections import Counter
from pathlib import Path

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
from tests.games import all_eyes, games
from tests.server.peer import memory_server
from tests.test_docs import ROOT, first_column, section

PAGES = {
    name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("bots", "measuring-bots", "search", "reinforcement-learning")
}
BOTS = PAGES["bots"]
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
    """And of the legal moves and the commands."""
    assert first_column(section("View", BOTS)) == list(View.__dataclass_fields__)
    for kind, heading in (
        (LegalLays, "Legal"),
        (LegalPlaces, "Legal"),
        (Place, "Place and LayTile"),
        (LayTile, "Place and LayTile"),
    ):
        row = re.search(rf"^\| `{kind.__name__}` .*", section(heading, BOTS), re.MULTILINE)
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

"""The compiled search comes to the same as the plain one, and stays out of the way where it cannot be had."""

import math
import random
import sys
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from client.bots.levels import LEVELS
from client.bots.search import implementation
from client.bots.search.brain import SearchBrain
from client.bots.search.ending import Ending
from client.bots.search.implementation import Implementation, NoNativeSearch, searching
from client.bots.search.tree import Search
from engine.components import DEALS
from engine.game import Game, GameOptions
from engine.redaction import snapshot
from engine.view import Phase, View, eyes_of
from tests.client.bots.test_ending import ending
from tests.client.bots.test_levels import match
from tests.examples import examples
from tests.games import games, played, seeds


def placing(players: int) -> View:
    """Return what the first seat sees when all tiles are laid."""
    view = played(GameOptions(players, random_layout=True), 1, 0).view
    assert view.turn is not None
    return snapshot(view, eyes_of(view.turn))


def check_equal(view: View, simulations: int, seed: int) -> None:
    """Compare all that comes of a search in both implementations."""
    found = []
    for kind in (Implementation.PLAIN, Implementation.NATIVE):
        rng, wins = random.Random(seed), [1.0 / view.seats] * view.seats
        search = searching(view, simulations, kind).search(view, rng, wins)
        visits = list(search.run(simulations).items())
        found.append((visits, wins, search.worlds.cumulative, search.simulations, rng.getstate()))
    assert found[0] == found[1]


@examples(20)
@given(game=games(), open_to_all=st.booleans(), simulations=st.integers(1, 700), seed=seeds)
def test_every_number_is_equal(game: Game, open_to_all: bool, simulations: int, seed: int) -> None:
    """At any moment of any game, for a seat or with everything open, down to the last bit of a float."""
    pytest.importorskip("numba")
    view = game.view
    assume(view.phase is Phase.PLACING or (view.phase is Phase.OVER and open_to_all))
    if not open_to_all:
        assert view.turn is not None
        view = snapshot(view, eyes_of(view.turn))
    check_equal(view, simulations, seed)


@pytest.mark.parametrize("players", DEALS)
def test_long_searches_are_equal(players: int) -> None:
    """Long enough for moves to be chosen anew several times, and for the tree to be given more room."""
    pytest.importorskip("numba")
    check_equal(placing(players), 9_000 if players == 5 else 2_000, players)


@pytest.mark.parametrize(
    ("players", "left", "open_to_all"),
    [(2, 1, False), (2, 2, False), (5, 1, False), (5, 2, False), (3, 3, True), (4, 3, True), (5, 4, True)],
)
def test_endings_are_equal(players: int, left: int, open_to_all: bool) -> None:
    """In every world that there may be, as likely as a search has inferred, each field is worth the same."""
    pytest.importorskip("numba")
    game, _, seen = ending(players, left, seed=players)
    view = game.view if open_to_all else seen
    search = Search(view, random.Random(1), None)
    search.run(300)
    native = searching(view, 300, Implementation.NATIVE)
    exact = Ending(view, search.worlds).values()
    assert exact is not None
    assert native.ending(view, search.worlds).values() == exact


def test_a_senator_beats_a_citizen() -> None:
    """With all its simulations, which plain Python takes too long for: a short match, of the same games."""
    pytest.importorskip("numba")
    senator = LEVELS["senator"]
    assert isinstance(senator.choose, SearchBrain)
    native = replace(senator.choose, seconds=600.0, implementation=Implementation.NATIVE)
    assert match(replace(senator, choose=native), LEVELS["citizen"], 8) > 4


def test_a_process_that_searches_a_lot_goes_on_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    """In plain Python at first, so that nobody waits for the compiler."""
    pytest.importorskip("numba")
    monkeypatch.setattr(implementation, "_native", implementation._Native())
    view = placing(3)

    assert searching(view, 9_999).search is Search
    assert implementation._native._loading is None
    searching(view, 1)
    loading = implementation._native._loading
    assert loading is not None
    loading.join()
    assert searching(view, 1).search is not Search
    assert implementation._native._loading is loading


@pytest.fixture
def _no_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(implementation, "_native", implementation._Native())
    for name in [name for name in sys.modules if name.startswith("client.bots.search.native")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numba", None)


@pytest.mark.usefixtures("_no_numba")
def test_without_numba_the_search_is_plain() -> None:
    """It is an extra; who asks for it by name is told how to get it."""
    view = placing(2)
    assert searching(view, 10**6).search is Search
    assert implementation._native._loading is None
    brain = SearchBrain(100, math.inf, Implementation.NATIVE)
    with pytest.raises(NoNativeSearch, match=r"pip install 'palatinus\[native\]'"):
        brain.visits(view, 1)


def test_a_compiler_that_fails_leaves_the_search_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with it: the same work is done, more slowly."""

    def fail(_view: View) -> None:
        raise RuntimeError

    monkeypatch.setattr(implementation, "_native", implementation._Native())
    monkeypatch.setattr(implementation, "_compiled_for", fail)
    monkeypatch.setattr(implementation, "find_spec", lambda _name: object())
    view = placing(2)
    searching(view, 10**6)
    loading = implementation._native._loading
    assert loading is not None
    loading.join()
    assert searching(view, 10**6).search is Search


def test_without_a_folder_to_write_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a user without a home, from an installation that cannot be written."""
    pytest.importorskip("numba")
    from numba.core.caching import FunctionCache, NullCache

    from client.bots.search.native.compiling import compiled_and_kept

    def function() -> int:
        return 1

    assert isinstance(compiled_and_kept(function)._cache, FunctionCache)  # type: ignore[attr-defined]
    monkeypatch.setattr(FunctionCache._impl_class, "_locator_classes", [])
    assert isinstance(compiled_and_kept(function)._cache, NullCache)  # type: ignore[attr-defined]

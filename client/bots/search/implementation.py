"""Which implementation of the search runs: compiled by numba once that is ready, in plain Python until then.

Both come to the same result for the same number of simulations, so a change between two moves shows in
nothing but the time.
"""

import enum
import logging
import random
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Final, Protocol, TypeAlias

from client.bots.search.tree import Search, Visits
from client.bots.search.worlds import Worlds
from engine.view import View

log = logging.getLogger(__name__)

# That many simulations take plain Python about as long as it takes to load what is compiled already, so a
# process that never makes more would gain nothing.
_WORTH_LOADING: Final = 10_000


class AnySearch(Protocol):
    """A search for the seat on turn of a view, of either implementation."""

    worlds: Worlds
    simulations: int

    def run(self, simulations: int, seconds: float = ...) -> Visits:
        """Run so many simulations, fewer if the time is up before, and return what came of the moves."""


NewSearch: TypeAlias = Callable[[View, random.Random, list[float] | None], AnySearch]


class Implementation(enum.StrEnum):
    """How to search: `AUTOMATIC` is in plain Python until the compiled search is ready, if numba is there."""

    AUTOMATIC = "automatic"
    PLAIN = "plain"
    NATIVE = "native"


class NoNativeSearch(Exception):
    """The compiled search cannot be had."""

    def __str__(self) -> str:
        return "the compiled search needs numba: pip install 'palatinus[native]'"


class _Native:
    """The compiled search of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: NewSearch | None = None
        self._simulations = 0
        self._loading: threading.Thread | None = None

    def if_ready(self, view: View, simulations: int) -> NewSearch | None:
        """Return the compiled search if it is ready; in a process that searches a lot, have it made ready."""
        with self._lock:
            self._simulations += simulations
            if (
                self._loading is None
                and self._simulations >= _WORTH_LOADING
                and find_spec("numba") is not None
            ):
                # A daemon: a process that ends meanwhile has no more to search, and does not wait for it.
                self._loading = threading.Thread(
                    target=self._load, args=(view,), name="compiling", daemon=True
                )
                self._loading.start()
            return self._ready

    def at_once(self, view: View) -> NewSearch:
        """Wait until the compiled search is ready and return it; raises NoNativeSearch."""
        if self._ready is None:
            try:
                self._ready = _compiled_for(view)
            except ImportError as error:
                raise NoNativeSearch from error
        return self._ready

    def _load(self, view: View) -> None:
        try:
            self._ready = _compiled_for(view)
        except Exception:  # whatever is wrong with the compiler, plain Python does the same work
            log.info("the search stays in plain Python", exc_info=True)


def _compiled_for(view: View) -> NewSearch:
    """Return the compiled search after a simulation, for which numba has to compile it, or to load it."""
    from client.bots.search.native.search import NativeSearch

    NativeSearch(view, random.Random(0)).run(1)
    return NativeSearch


_native: Final = _Native()


def new_search(
    view: View,
    rng: random.Random,
    simulations: int,
    wins: list[float] | None = None,
    implementation: Implementation = Implementation.AUTOMATIC,
) -> AnySearch:
    """Return a search that is going to make so many simulations; raises NoNativeSearch.

    To `wins`, if given, each seat's share of the win in every simulation is added.
    """
    search: NewSearch | None = Search
    if implementation is Implementation.NATIVE:
        search = _native.at_once(view)
    elif implementation is Implementation.AUTOMATIC:
        search = _native.if_ready(view, simulations)
    return (search or Search)(view, rng, wins)

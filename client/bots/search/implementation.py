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
from typing import Final, NamedTuple, Protocol

from client.bots.search.ending import Ending
from client.bots.search.tree import Search, Visits
from client.bots.search.worlds import Worlds
from engine.view import View

log = logging.getLogger(__name__)

# That many simulations take plain Python about as long as it takes to load what is compiled already, so a
# process that never makes more would gain nothing.
_WORTH_LOADING: Final = 10_000


class AnySearch(Protocol):
    """A search for the seat on turn of a view."""

    worlds: Worlds
    simulations: int

    def run(self, simulations: int, seconds: float = ...) -> Visits:
        """Run so many simulations, fewer if the time is up before, and return what came of the moves."""


class Searching(NamedTuple):
    """An implementation: how to search, and how to play the last placements exactly."""

    search: Callable[[View, random.Random, list[float] | None], AnySearch]
    ending: Callable[[View, Worlds], Ending]


_PLAIN: Final = Searching(Search, Ending)


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
        self._ready: Searching | None = None
        self._simulations = 0
        self._loading: threading.Thread | None = None

    def if_ready(self, view: View, simulations: int) -> Searching | None:
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

    def at_once(self, view: View) -> Searching:
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


def _compiled_for(view: View) -> Searching:
    """Return the compiled search, when it is compiled."""
    from client.bots.search.native.ending import NativeEnding
    from client.bots.search.native.loading import load
    from client.bots.search.native.search import NativeSearch

    load(view)
    return Searching(NativeSearch, NativeEnding)


_native: Final = _Native()


def searching(
    view: View, simulations: int, implementation: Implementation = Implementation.AUTOMATIC
) -> Searching:
    """Return the implementation for a search of so many simulations; raises NoNativeSearch."""
    found = None
    if implementation is Implementation.NATIVE:
        found = _native.at_once(view)
    elif implementation is Implementation.AUTOMATIC:
        found = _native.if_ready(view, simulations)
    return found or _PLAIN

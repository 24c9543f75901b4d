"""What is used of numba, which has no types: compiling a function."""

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
from numba.core import types
from numba.extending import intrinsic

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


# Nothing is allocated, so arrays need no counts of references, which would take half of the time.
_OPTIONS: Final = {"error_model": "numpy", "_nrt": False}


def compiled(function: AnyFunction) -> AnyFunction:
    """Compile a function that only compiled functions call."""
    return cast(
        "AnyFunction", numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)
    )


def compiled_and_kept(function: AnyFunction) -> AnyFunction:
    """Compile a function when it is first called, and keep it if a folder can be written.

    The folder is `__pycache__` beside the function's file, else the user's own, or `NUMBA_CACHE_DIR`. While
    the function runs, other threads run, too.
    """
    try:
        return cast("AnyFunction", numba.njit(nogil=True, cache=True, **_OPTIONS)(function))
    except RuntimeError:  # no folder can be written
        return cast("AnyFunction", numba.njit(nogil=True, **_OPTIONS)(function))


@intrinsic  # type: ignore[untyped-decorator]
def _population_count(_typing: Any, _number: Any) -> Any:
    def lowered(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), lowered


@compiled
def bit_count(number: int) -> int:
    """Return how many bits of the number are set."""
    return _population_count(number)  # type: ignore[no-any-return]

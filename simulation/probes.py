"""The probes of the server and its pages, found in the source: rare states that simulations have to reach."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pages
import server
from server.probes import probe

_UNREACHED: Final = Path(__file__).with_name("unreached.txt")


def probes_in(source: str) -> Iterator[str]:
    """Yield the names of the probes in a module; raises ValueError if one is no literal."""
    if f"{probe.__name__}(" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=probe.__name__), args=[ast.Constant(value=str(name))]):
                yield name
            case ast.Call(func=ast.Name(id=probe.__name__)):
                raise ValueError(f"no literal: {ast.unparse(node)}")


@cache
def all_probes() -> tuple[str, ...]:
    """Return the names of all probes, in the order of the modules that have them."""
    folders = (*server.__path__, *pages.__path__)
    paths = [path for folder in folders for path in sorted(Path(folder).rglob("*.py"))]
    return tuple(name for path in paths for name in probes_in(path.read_text(encoding="utf-8")))


def not_to_be_reached() -> dict[str, str]:
    """Return the probes that unreached.txt has, each with the reason."""
    reasons: dict[str, str] = {}
    for paragraph in _UNREACHED.read_text(encoding="utf-8").split("\n\n")[1:]:
        reason, *names = paragraph.strip("\n").splitlines()
        reasons |= dict.fromkeys((name.removeprefix("- ") for name in names), reason)
    return reasons

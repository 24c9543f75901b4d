"""Take out each room of the tables, its file and its line in the list, and run the tests of the server.

Only tests in `tests/server/tables/rooms` whose file names the room may fail, and those that make every
request of the protocol. With names of rooms, only these are taken out.
"""

import argparse
import ast
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from server.tables.feature import Feature
from server.tables.rooms import ROOMS

_ROOT: Final = Path(__file__).parents[1]
_LEFT_OUT: Final = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".mypy_cache", ".*_cache")
_TESTS: Final = "tests/server/tables", "tests/pages/serving", "tests/server/storage"
_OF_ALL_REQUESTS: Final = (
    "tests/server/tables/test_refusals.py::test_every_request_at_a_table_has_a_handler",
    "tests/server/tables/test_refusals.py::test_players_spectators_and_strangers_may_not_do_what_the_host_may",
    "tests/server/tables/test_refusals.py::test_before_the_game",
    "tests/server/tables/test_refusals.py::test_during_and_after_the_game",
    "tests/server/tables/test_secrets.py::test_no_request_tells_secrets",
    "tests/server/tables/test_secrets.py::test_secrets_change_no_byte",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m trials.rooms",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [_name(room) for room in ROOMS]
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(names)}; none: all")
    parser.add_argument("--named", action="store_true", help="print which files name each room instead")
    parser.add_argument("--some", type=int, metavar="N", help="take out N rooms, others for each commit")
    options = parser.parse_args()
    if options.named:
        print("\n".join(_table()))
        return 0
    wrong = 0
    chosen = options.rooms or names
    if options.some is not None:
        chosen = random.Random(_commit()).sample(chosen, min(options.some, len(chosen)))
    for name in chosen:
        others = _failing_without(name)
        print(f"{name}: {'only its own tests fail' if not others else 'these fail, too:'}")
        for test in others:
            print(f"  {test}")
        wrong += bool(others)
    return min(wrong, 1)


def _commit() -> str:
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False).stdout


def _name(room: type[Feature]) -> str:
    return room.__module__.rpartition(".")[2]


def _table() -> Iterator[str]:
    """Yield the lines of a table: which other files of the server name a room, its requests and entries."""
    yield "| room | named by |"
    yield "|---|---|"
    names = {path: _names(path) for path in sorted((_ROOT / "server").rglob("*.py"))}
    for room in ROOMS:
        kinds = {
            f"{kind.__module__}.{kind.__name__}"
            for kind in (room, *(request for request, _ in room.requests), *room.own)
        }
        named = [path for path in names if path.stem != _name(room) and kinds & names[path]]
        where = (f"`{path.relative_to(_ROOT / 'server')}`" for path in named)
        yield f"| `{_name(room)}` | {', '.join(where)} |"


def _names(path: Path) -> set[str]:
    """Return the classes that a file defines, and what it has from other modules, with their modules."""
    own = ".".join(path.relative_to(_ROOT).with_suffix("").parts)
    names, prefixes, attributes = set[str](), dict[str, str](), list[tuple[str, str]]()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.ClassDef(name):
                names.add(f"{own}.{name}")
            case ast.ImportFrom(str(module), imported):
                names |= {f"{module}.{each.name}" for each in imported}
                prefixes |= {each.asname or each.name: f"{module}.{each.name}" for each in imported}
            case ast.Attribute(ast.Name(prefix), name):
                attributes.append((prefix, name))
    return names | {f"{prefixes.get(prefix)}.{name}" for prefix, name in attributes}


def _failing_without(name: str) -> list[str]:
    """Return the tests that fail without the room, apart from its own."""
    with tempfile.TemporaryDirectory(prefix="palatinus-rooms-") as folder:
        tree = Path(folder) / "palatinus"
        shutil.copytree(_ROOT, tree, ignore=_LEFT_OUT)
        (tree / "server/tables/rooms" / f"{name}.py").unlink()
        rooms = tree / "server/tables/rooms/__init__.py"
        text = rooms.read_text(encoding="utf-8")
        imported = re.search(rf"^from server\.tables\.rooms\.{name} import (\w+)\n", text, re.MULTILINE)
        assert imported is not None, f"{rooms} does not import {name}"
        rest = text.replace(imported[0], "").replace(f"    {imported[1]},\n", "")
        rooms.write_text(rest, encoding="utf-8")
        own = re.compile(rf"tests/server/tables/rooms/test_(\w+_and_)?{name}(_and_\w+)?\.py")
        left_out = [f"--deselect={test}" for test in _OF_ALL_REQUESTS]
        command = [sys.executable, "-m", "pytest", "-q", "-rfE", *_TESTS, *left_out]
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        if done.returncode not in {0, 1}:
            raise RuntimeError(done.stdout + done.stderr)
        return [test for test in failed if own.match(test) is None]


if __name__ == "__main__":
    sys.exit(main())

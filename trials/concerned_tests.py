"""Which tests concern a file of the product, and which of them fails first."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from trials.limited_run import limited_run
from trials.mutation_list import MUTATIONS, mutations

_NEAREST: Final = 4  # test files that are tried first
# After these, the tests hang, by the marks of those that run; even a busy machine gives them more.
_CPU_SECONDS: Final = {"not slow": 300.0, "slow": 1200.0}
_REAL_SECONDS: Final = 4.0  # for each second of CPU time


def failed_test(tree: Path, tests: Sequence[str], workers: int, marked: str = "not slow") -> str | None:
    """Run the tests so marked until one fails, and return its name, without parameters; None if all pass."""
    words = ["pytest", "-q", "-x", f"-n{workers}", "-m", marked, "-p", "no:cacheprovider", *tests]
    cpu = _CPU_SECONDS[marked]
    ended = limited_run(words, tree, cpu=cpu, seconds=_REAL_SECONDS * cpu)
    match ended.code:
        case None:
            return "the tests hang"
        case 0 | 5:  # all pass, or none has these marks
            return None
    found = re.search(r"^(?:FAILED|ERROR) (tests/[^\s\[]+)", ended.output, re.MULTILINE)
    return found[1] if found else "the tests cannot be run"


def nearest_tests(path: str, tree: Path) -> list[str]:
    """Return the test files that are named after a file of the product, and some that import it."""
    module, stem = path.removesuffix(".py").replace("/", "."), f"test_{Path(path).stem}.py"
    importing = re.compile(rf"^from {re.escape(module)} import", re.MULTILINE)
    found = [
        (each.name != stem, each.stat().st_size, str(each.relative_to(tree)))
        for each in (tree / "tests").rglob("test_*.py")
        if each.name == stem or importing.search(each.read_text(encoding="utf-8"))
    ]
    return [name for *_, name in sorted(found)[:_NEAREST]]


def concerned_tests(path: str, tree: Path) -> list[str]:
    """Return the tests of a file's areas in mutations.txt, and the tests of the folder that it is in."""
    listed = mutations(MUTATIONS.read_text(encoding="utf-8"))
    tests = [test for mutation in listed if mutation.path == path for test in mutation.tests]
    mirror = Path("tests", *Path(path).parent.parts[:2])
    return [*dict.fromkeys([*tests, *([str(mirror)] if (tree / mirror).is_dir() else [])])]

"""The product broken on purpose, in one place after the other: do its tests notice?

    python -m trials.mutations [--only AREA ...] [--quick] [--all-tests] [--table FILE]

Each mutation in mutations.txt replaces a text in a copy of the source tree, where the tests of its area run
until one fails, the nearest to the file first. With --all-tests, what they miss is tried with all tests.
--table writes the result as docs/testing.md has it. It prints each result, and exits with 1 if a mutation
goes unnoticed.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
MUTATIONS: Final = Path(__file__).with_name("mutations.txt")
_NEAREST: Final = 4  # test files that are tried first
_SECONDS: Final = 300.0  # after which tests that hang have noticed


@dataclass(frozen=True, slots=True)
class Mutation:
    """A text in a file of the product, what replaces it, and the tests that should notice."""

    area: str
    tests: tuple[str, ...]
    name: str
    path: str
    old: str
    new: str

    def applied(self, source: str) -> str:
        """Return the source with the mutation in it; raises ValueError unless its text is there once."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: {source.count(self.old)} times in {self.path}: {self.old}")
        return source.replace(self.old, self.new)


def mutations(text: str) -> Iterator[Mutation]:
    """Yield what mutations.txt holds; its first paragraph says how it is written."""
    area, tests = "", tuple[str, ...]()
    for paragraph in text.split("\n\n")[1:]:
        head, *lines = paragraph.strip("\n").splitlines()
        if head.startswith("# "):
            area, _, files = head.removeprefix("# ").partition(":")
            tests = tuple(files.split())
            continue
        path, *changes = lines
        old, new = ("\n".join(line[1:] for line in changes if line.startswith(sign)) for sign in ("-", "+"))
        yield Mutation(area, tests, head, path, old, new)


def copy_tree(tree: Path) -> None:
    """Copy what git knows of the source tree, as it is now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)  # noqa: S607
    for name in listed.stdout.decode().split("\0")[:-1]:
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def failed_test(tree: Path, tests: Sequence[str], workers: int) -> str | None:
    """Run the tests until one fails, and return its name; None if all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", f"-n{workers}", "-p", "no:cacheprovider", *tests]
    # In a group of its own, so that nothing is left of tests that hang.
    with subprocess.Popen(
        command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as run:
        try:
            output, _ = run.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            return "the tests hang"
    if run.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (tests/\S+)", output, re.MULTILINE)
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


def notice(mutation: Mutation, tree: Path, *, quick: bool, all_tests: bool) -> str | None:
    """Return which test notices the mutation, None if none does."""
    path = tree / mutation.path
    source = path.read_text(encoding="utf-8")
    path.write_text(mutation.applied(source), encoding="utf-8")
    nearest = nearest_tests(mutation.path, tree)
    try:
        return (
            (failed_test(tree, nearest, 0) if nearest else None)
            or (None if quick else failed_test(tree, mutation.tests, 0))
            or (failed_test(tree, ["tests"], 2) if all_tests else None)
        )
    finally:
        path.write_text(source, encoding="utf-8")


def table(results: dict[Mutation, str | None]) -> str:
    """Return the result as a table: how many of each area were noticed, and which were not."""
    lines = ["| area | mutations | noticed | not noticed |", "|---|---:|---:|---|"]
    for area in dict.fromkeys(each.area for each in results):
        found = [test for each, test in results.items() if each.area == area]
        missed = [each.name for each, test in results.items() if each.area == area and test is None]
        lines.append(f"| {area} | {len(found)} | {len(found) - len(missed)} | {'; '.join(missed)} |")
    noticed = sum(test is not None for test in results.values())
    return "\n".join([*lines, f"| all | {len(results)} | {noticed} | |"])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m trials.mutations",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", metavar="AREA", help="areas, or beginnings of mutations' names")
    parser.add_argument("--quick", action="store_true", help="run only the tests nearest to each file")
    parser.add_argument("--all-tests", action="store_true", help="try with all tests what an area's miss")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table to this file")
    options = parser.parse_args()
    chosen = [
        each
        for each in mutations(MUTATIONS.read_text(encoding="utf-8"))
        if options.only is None
        or any(word == each.area or each.name.startswith(word) for word in options.only)
    ]
    results: dict[Mutation, str | None] = {}
    with tempfile.TemporaryDirectory(prefix="palatinus-mutations-") as folder:
        copy_tree(Path(folder))
        for number, mutation in enumerate(chosen, start=1):
            began = time.monotonic()
            results[mutation] = found = notice(
                mutation, Path(folder), quick=options.quick, all_tests=options.all_tests
            )
            seconds = time.monotonic() - began
            outcome = found or "NOT NOTICED"
            print(f"{number}/{len(chosen)} {seconds:4.0f} s  {mutation.name}: {outcome}", flush=True)
    print(table(results))
    if options.table is not None:
        options.table.write_text(table(results) + "\n", encoding="utf-8")
    return int(None in results.values())


if __name__ == "__main__":
    sys.exit(main())

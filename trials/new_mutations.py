"""Mistakes that nobody has chosen: which of them do the tests and the simulation find?"""

import difflib
import json
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from trials.concerned_tests import concerned_tests, failed_test, nearest_tests
from trials.limited_run import ROOT, copied_tree, limited_run, used_by_children
from trials.mutation_rules import Change, changes, is_mistake

_ONE_SERVER: Final[Sequence[str]] = ()
_NODES: Final = ("--nodes", "3")
_LETTERS: Final = ("--letters",)
# By the beginning of a path: what the simulation plays, for the same time each.
_MODES: Final[dict[str, tuple[Sequence[str], ...]]] = {
    "server/cluster/": (_NODES,),
    "server/storage/postgresql/": (_NODES,),
    "server/tables/absence/": (_ONE_SERVER, _LETTERS),
    "server/tables/rooms/notices.py": (_LETTERS,),
    "": (_ONE_SERVER,),
}
_FAILED: Final = r"^seed (\d+) (?:failed|took too long)"
_LONGEST: Final = 30.0  # CPU seconds of one world without correspondence games: it takes 2
_REAL_SECONDS: Final = 30.0  # for each second of CPU time, however busy the machine is


@dataclass(frozen=True, slots=True)
class Result:
    """What found a mistake, None if nothing did, and how many seconds of CPU time were spent on that."""

    path: str
    line: int
    rule: str
    diff: str
    suite: str | None
    tested: float
    simulation: str | None
    simulated: float

    @property
    def folder(self) -> str:
        return "/".join(Path(self.path).parent.parts[:2])


def drawn(
    number: int, places: Sequence[dict[str, str]], chance: random.Random
) -> Iterator[tuple[str, Change]]:
    """Yield mistakes in sources by path, from each place in turn; the rule is drawn before the line."""
    pools = [_by_rule(sources) for sources in places]
    left = number
    while left > 0 and any(pools):
        for sources, pool in zip(places, pools, strict=True):
            while left > 0 and pool:
                rule = chance.choice(list(pool))
                path, change = pool[rule].pop(chance.randrange(len(pool[rule])))
                if not pool[rule]:
                    del pool[rule]
                if is_mistake(change, sources[path]):
                    left -= 1
                    yield path, change
                    break


def _by_rule(sources: dict[str, str]) -> dict[str, list[tuple[str, Change]]]:
    found: dict[str, list[tuple[str, Change]]] = {}
    for path, source in sources.items():
        for change in changes(source):
            found.setdefault(change.rule, []).append((path, change))
    return dict(sorted(found.items()))


def difference(path: str, source: str, change: Change) -> str:
    """Return a mistake as a diff with one line around it."""
    old, new = (text.splitlines() for text in (source, change.applied(source)))
    return "\n".join(difflib.unified_diff(old, new, path, path, n=1, lineterm=""))


def try_new(
    number: int,
    places: Sequence[Path],
    seed: int,
    *,
    simulation: float,
    only_missed: bool,
    results: Path | None,
) -> list[Result]:
    """Make so many mistakes in files and folders and print what finds each; Ctrl-C leaves out the rest.

    Return the results, with those that the file has already, whose mistakes are not made again.
    """
    known = [] if results is None or not results.exists() else list(_read(results))
    if number == 0:
        return known
    print(f"seed {seed}", flush=True)
    try:
        with copied_tree() as tree:
            sources = [_sources(tree, place.resolve().relative_to(ROOT)) for place in places]
            mistakes = drawn(number, sources, random.Random(seed))
            for count, (path, change) in enumerate(mistakes, start=1):
                source = (tree / path).read_text(encoding="utf-8")
                diff = difference(path, source, change)
                if any(each.diff == diff for each in known):
                    continue
                print(f"\n{count}/{number}: {change.rule}\n{diff}", flush=True)
                suite, tested = _tested(tree, path, change)
                print(f"  tests: {suite or 'NOTHING'} in {tested:.0f} s", flush=True)
                found, simulated = None, 0.0
                if simulation > 0 and not (only_missed and suite is not None):
                    found, simulated = _simulated(tree, path, change, seed, simulation)
                    print(f"  simulation: {found or 'NOTHING'} in {simulated:.0f} s", flush=True)
                result = Result(path, change.line, change.rule, diff, suite, tested, found, simulated)
                known.append(result)
                if results is not None:
                    with results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(result)) + "\n")
    except KeyboardInterrupt:
        print("interrupted")
    return known


def _read(results: Path) -> Iterator[Result]:
    for line in results.read_text(encoding="utf-8").splitlines():
        yield Result(**json.loads(line))


def _sources(tree: Path, place: Path) -> dict[str, str]:
    files = sorted((tree / place).rglob("*.py")) if (tree / place).is_dir() else [tree / place]
    return {str(file.relative_to(tree)): file.read_text(encoding="utf-8") for file in files}


def _tested(tree: Path, path: str, change: Change) -> tuple[str | None, float]:
    """Return the first test that fails with the mistake, None without, and how many CPU seconds that took."""
    nearest, began = nearest_tests(path, tree), used_by_children()
    with _changed(tree / path, change):
        found = failed_test(tree, nearest, 0) if nearest else None
        found = found or failed_test(tree, concerned_tests(path, tree), 0)
        found = found or failed_test(tree, concerned_tests(path, tree), 2, "slow")
    used = used_by_children() - began
    if found is not None and found.startswith("tests/") and _fails_alone(tree, found):
        print(f"  {found} fails without the mistake, too")
        found = None
    return found, used


def _fails_alone(tree: Path, test: str) -> bool:
    return any(failed_test(tree, [test], 0, marked) for marked in ("not slow", "slow"))


def _simulated(tree: Path, path: str, change: Change, first: int, seconds: float) -> tuple[str | None, float]:
    """Return what the simulation finds with the mistake, None without, and how many CPU seconds that took."""
    modes = next(modes for beginning, modes in _MODES.items() if path.startswith(beginning))
    used = 0.0
    for mode in modes:
        with _changed(tree / path, change):
            found, cpu = simulate(tree, mode, first, seconds / len(modes))
        used += cpu
        if found is None:
            continue
        seed = re.match(r"seed (\d+)", found)
        if simulate(tree, mode, int(seed[1]) if seed else first, seconds, seeds=1)[0] is None:
            return found, used
        print(f"  simulation: {found}, which fails without the mistake, too")
    return None, used


@contextmanager
def _changed(path: Path, change: Change) -> Iterator[None]:
    source = path.read_text(encoding="utf-8")
    path.write_text(change.applied(source), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(source, encoding="utf-8")


def simulate(
    tree: Path, mode: Sequence[str], first: int, cpu: float, seeds: int = 10_000
) -> tuple[str | None, float]:
    """Return the first finding of the simulation, None without, and the CPU seconds that it took."""
    words = ["simulation", "--first", str(first), "--seeds", str(seeds), "-j", "1", *mode]
    ended = limited_run(words, tree, cpu=cpu, seconds=_REAL_SECONDS * cpu, wanted=_FAILED)
    failed = re.search(_FAILED, ended.output, re.MULTILINE)
    if failed is None:
        if ended.code not in {None, 0}:
            return "the simulation cannot be run", ended.cpu
        hangs = ended.busiest > _LONGEST and mode != _LETTERS
        return ("the simulation hangs" if hangs else None), ended.cpu
    kinds = dict.fromkeys(re.findall(r"^  (?!fault)(\w+): ", ended.output, re.MULTILINE))
    how = ", ".join(kinds) or "it fails itself"
    return f"seed {failed[1]} ({how})", ended.cpu


def table(results: Sequence[Result]) -> str:
    """Return how many mistakes of each folder were found by what, and the diffs of the survivors."""
    lines = ["| folder | mistakes | tests | simulation | both | neither |", "|---|---:|---:|---:|---:|---:|"]
    folders = sorted({each.folder for each in results})
    lines += [_row(folder, [each for each in results if each.folder == folder]) for folder in folders]
    lines.append(_row("all", results))
    survivors = [each for each in results if each.suite is None and each.simulation is None]
    return "\n".join([*lines, *(f"\nnot found: {each.rule}\n{each.diff}" for each in survivors)])


def _row(name: str, results: Sequence[Result]) -> str:
    """Return the counts, the simulation's out of those mistakes that it was tried on."""
    found = [(each.suite is not None, each.simulation is not None) for each in results]
    simulated = sum(each.simulated > 0 for each in results)
    counts = (
        sum(suite for suite, _ in found),
        f"{sum(simulation for _, simulation in found)} of {simulated}",
        found.count((True, True)),
        found.count((False, False)),
    )
    return f"| {name} | {len(found)} | {' | '.join(map(str, counts))} |"

"""All measurements in one run, as a table in Markdown and as JSON; or a comparison of two commits.

    python -m bench [--only server,engine] [--json FILE]
    python -m bench --compare REV [--only ...]

Everything runs on the loopback address and on two cores, bounded in count and time.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench import Samples

# Each a module that prints its samples as JSON, how many seconds it takes, and what it measures. `--compare`
# finds the modules under the same names in older commits; only the server's load is always this tree's.
SECTIONS: Final = {
    "engine": (["bench.engine"], 20, "the rules, the codec and a search, in one process"),
    "server": (["bench.server"], 210, "the server under load beside a bare one, a core each"),
    "durable": (["bench.durable"], 40, "what safety from power cuts costs"),
    "client": (["bench.client"], 50, "the client in a terminal"),
    "instructions": (["bench.instructions"], 60, "the server under valgrind, if that is installed"),
}
ROOT: Final = Path(__file__).parent.parent
_TIMEOUT: Final = 600.0
_ROUNDS: Final = 3  # of A B in a comparison

# What the figures should be; `>=` or `<=` a number.
TARGETS: Final = {
    "T=10 journal: CPU a move against the floor's": ("<=", 2.6),
    "T=50 journal: CPU a move against the floor's": ("<=", 2.4),
    "T=200 journal: CPU a move against the floor's": ("<=", 2.6),
    "T=50 journal: share of the floor's moves/s": (">=", 0.4),
    "T=50 journal: bytes a move": ("<=", 640.0),
    "T=50 journal: bytes a placement": ("<=", 356.0),
    "offered load journal: p99 against the floor's": ("<=", 2.0),
    "memory a connection above the floor's, KiB": ("<=", 20.0),
    "search: 4 players, simulations/s": (">=", 6000.0),  # a consul makes 30,000 within its five seconds
    "client: start to the start screen, s": ("<=", 0.25),
    "client: start to the board, s": ("<=", 0.4),
    "client: key to redraw p95, ms": ("<=", 16.0),
}


def measured(section: str, tree: Path, *options: str) -> Samples:
    """Run one section of the bench in a source tree; raises RuntimeError if it fails."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", *SECTIONS[section][0], *options],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
            cwd=tree,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"bench.{section} took more than {_TIMEOUT:.0f} s") from None
    if done.returncode != 0:
        raise RuntimeError(f"bench.{section} failed: {done.stderr.strip().splitlines()[-1:]}")
    found: Samples = json.loads(done.stdout)
    return found


def table(found: Samples) -> str:
    """Return the figures as a table: median, range, and target."""
    lines = ["| | median | range | target |", "|---|---:|---:|---|"]
    for name, values in found.items():
        lines.append(
            f"| {name} | {shown(statistics.median(values))} | {reach(values)} | {aim(name, values)} |"
        )
    return "\n".join(lines)


def reach(values: list[float]) -> str:
    """Return the range of the values, if there are several."""
    return f"{shown(min(values))} .. {shown(max(values))}" if len(values) > 1 else ""


def aim(name: str, values: list[float]) -> str:
    """Return the target, and whether the median meets it."""
    if name not in TARGETS:
        return ""
    sign, bound = TARGETS[name]
    middle = statistics.median(values)
    met = middle >= bound if sign == ">=" else middle <= bound
    return f"{sign} {bound:g}: {'met' if met else 'missed'}"


def shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def compared(sections: tuple[str, ...], revision: str) -> Samples:
    """Return the ratios of this tree's figures to another commit's, measured in turn."""
    ratios: Samples = defaultdict(list)
    with checked_out(revision) as other:
        for section in sections:
            if section == "server":  # it runs both in turn itself, under the same load
                found = measured(section, ROOT, "--beside", str(other))
                for name in found:
                    others = name.replace("journal:", "the other's journal:")
                    if others != name and others in found:
                        pairs = zip(found[name], found[others], strict=True)
                        ratios[name] = [ours / theirs for ours, theirs in pairs if theirs]
                continue
            for _ in range(_ROUNDS):
                here, there = measured(section, ROOT), measured(section, other)
                for name in here.keys() & there.keys():
                    before = statistics.median(there[name])
                    if before:
                        ratios[name].append(statistics.median(here[name]) / before)
    return dict(sorted(ratios.items()))


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Check a commit out beside this tree while the context lasts."""
    with tempfile.TemporaryDirectory(prefix="palatinus-bench-") as folder:
        tree = Path(folder) / "tree"
        git("worktree", "add", "--detach", "--quiet", str(tree), revision)
        try:
            yield tree
        finally:
            git("worktree", "remove", "--force", str(tree))


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True, cwd=ROOT)  # noqa: S607 - the reader's own git


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help=f"sections to run, of {','.join(SECTIONS)}")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="file for the samples")
    parser.add_argument(
        "--compare", metavar="REV", help="print the ratios of this tree's figures to those of REV"
    )
    options = parser.parse_args()
    usual = (each for each in SECTIONS if each != "instructions" or shutil.which("valgrind"))
    sections = tuple(options.only.split(",") if options.only else usual)
    if unknown := set(sections) - set(SECTIONS):
        parser.error(f"no section {', '.join(sorted(unknown))}: choose of {', '.join(SECTIONS)}")
    rounds = 2 * _ROUNDS if options.compare else 1
    print("measuring in turn, on two cores without other work:", file=sys.stderr)
    for section in sections:
        _, seconds, what = SECTIONS[section]
        print(f"  {section:12} {rounds * seconds / 60:4.1f} min  {what}", file=sys.stderr, flush=True)
    try:
        if options.compare:
            found = compared(sections, options.compare)
            print(f"this tree against {options.compare}, median and range of the ratios", file=sys.stderr)
        else:
            found = {}
            for section in sections:
                found |= measured(section, ROOT)
    except RuntimeError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(table(found))
    options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

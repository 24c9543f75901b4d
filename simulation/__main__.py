"""Live through many simulations, each with a server, games and faults of its own, all drawn from a seed.

`python -m simulation --seeds 1000 -j 2` begins with a fresh seed, which it prints. For a seed that fails, it
prints the command that lives through it again, and what happened before each kind of finding.

The exit status is 1 if a seed fails, and 3 if none does, but one does not end within 300 s of CPU time.
"""

import argparse
import secrets
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Final

from simulation.broken import MISTAKES, prove
from simulation.plan import Choice
from simulation.probes import all_probes, not_to_be_reached
from simulation.report import report
from simulation.running import outcomes, shrink

_SECONDS_BETWEEN_LINES: Final = 30.0
_SECONDS_FOR_A_MISTAKE: Final = 60.0  # of one core
_TOO_SLOW: Final = 3  # the exit status if nothing else is wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m simulation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=100, help="how many simulations")
    parser.add_argument("--first", type=int, help="the first seed; the others follow it")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="simulations at once")
    parser.add_argument("--minutes", type=float, help="begin no simulation after this time")
    parser.add_argument("--without", default="", help="what is left out, as --shrink says: fault0,game2")
    parser.add_argument(
        "--timing", type=int, default=0, help="another number has the same happen at other moments"
    )
    parser.add_argument(
        "--nodes", type=int, help="servers that share a database; without, the seed says how many"
    )
    parser.add_argument("--calm", action="store_true", help="a network without delays and cuts of its own")
    parser.add_argument(
        "--letters", action="store_true", help="correspondence games, with something wrong daily"
    )
    parser.add_argument("--evening", action="store_true", help="an evening in each; without, in a quarter")
    parser.add_argument("--trace", type=Path, help="write all that happens into this file, as lines of JSON")
    parser.add_argument(
        "--shrink",
        action="store_true",
        help="leave out faults, games and people that a failure does not need",
    )
    parser.add_argument("--broken", choices=("all", *MISTAKES), help="prove that this broken server is found")
    parser.add_argument(
        "--needs", choices=MISTAKES, help="play what this broken server needs, to the first failure"
    )
    parser.add_argument(
        "--reaches", action="store_true", help="fail unless all rare states but those in unreached.txt occur"
    )
    options = parser.parse_args()
    if options.letters and options.evening:
        parser.error("--letters and --evening exclude each other")
    if options.trace is not None and options.seeds != 1:
        parser.error("--trace is for one simulation: --seeds 1")
    first = secrets.randbelow(10**9) if options.first is None else options.first
    without = frozenset(filter(None, options.without.split(",")))
    choices = (
        Choice(
            seed,
            without,
            calm=options.calm,
            timing=options.timing,
            nodes=options.nodes,
            letters=options.letters,
            evening=options.evening,
            needs=options.needs,
        )
        for seed in range(first, first + options.seeds)
    )
    if options.broken is not None:
        return prove(list(MISTAKES) if options.broken == "all" else [options.broken], first, options.jobs)
    return _live(list(choices), options)


def _live(choices: list[Choice], options: argparse.Namespace) -> int:
    print(f"seeds {choices[0].seed} to {choices[-1].seed}", file=sys.stderr, flush=True)
    began = told = time.monotonic()
    until = None if options.minutes is None else began + 60 * options.minutes
    counts: Counter[str] = Counter()
    ended: Counter[str] = Counter()  # simulations, and those that failed or took too long
    virtual = cpu = 0.0
    reached: set[str] = set()
    for choice, outcome in outcomes(choices, options.jobs, trace=options.trace, until=until):
        ended["done"] += 1
        if outcome.failed or outcome.slow:
            ended["failed" if outcome.failed else "slow"] += 1
            if options.shrink and outcome.failed:
                choice, outcome = shrink(choice, outcome, options.jobs)  # noqa: PLW2901 - which is reported
            print("\n".join(report(choice, outcome)), flush=True)
        counts.update(outcome.counts)
        reached |= outcome.reached
        virtual += outcome.seconds
        cpu += outcome.cpu
        if options.needs is not None and (ended["failed"] or cpu > _SECONDS_FOR_A_MISTAKE):
            break
        if time.monotonic() > told + _SECONDS_BETWEEN_LINES:
            told = time.monotonic()
            print(_progress(ended, counts, virtual, told - began), file=sys.stderr, flush=True)
    if options.seeds == 1:
        print(f"trace {outcome.digest}")
    for name, count in sorted(counts.items()):
        print(f"{name:44}{count:>12,}")
    print(_progress(ended, counts, virtual, time.monotonic() - began))
    if options.needs is not None:
        print(f"CPU: {cpu:.1f} s")
    unreached = _report_unreached(reached) if options.reaches else 0
    return 1 if ended["failed"] or unreached else _TOO_SLOW if ended["slow"] else 0


def _report_unreached(reached: set[str]) -> int:
    """Print which rare states did not occur; return how many of them should have."""
    missing = [name for name in all_probes() if name not in reached]
    reasons = not_to_be_reached()
    for name in missing:
        print(f"never: {name} ({reasons[name]})" if name in reasons else f"NEVER: {name}")
    print(f"{len(reached)} of {len(all_probes())} rare states were reached")
    return len(set(missing) - reasons.keys())


def _progress(ended: Counter[str], counts: Counter[str], virtual: float, seconds: float) -> str:
    return (
        f"{ended['done']:,} simulations in {seconds:,.0f} s: {counts['games']:,} games, "
        f"{counts['faults']:,} faults, {virtual / 3600:,.1f} simulated hours, {ended['failed']} failed"
        + (f", {ended['slow']} took too long" if ended["slow"] else "")
    )


if __name__ == "__main__":
    sys.exit(main())

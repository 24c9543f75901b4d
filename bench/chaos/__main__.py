"""Chaos: bots play on a bad network with a server that is killed; nothing may be lost.

    python -m bench.chaos [--games N] [--kills K] [--seed S] [--minutes M] [--tables T] [--json FILE]
    python -m bench.chaos --nodes 3 [--faults F] [--games N] ...
    python -m bench.chaos --broken NAME|all

With --nodes, several servers share a PostgreSQL of their own, and all of them, and the lines between, fail.
Every game must end, and what each player and spectator saw must be what the journal holds. Otherwise it
exits with 1 and prints what is wrong. With --broken, the server is broken on purpose, and it exits with 1 if
that goes unnoticed. Ctrl-C or SIGTERM stops the games, and the games that have ended are judged; a second one
ends it at once. It exits with 3 if not all was played, and nothing was wrong. docs/testing.md has more.
"""

import argparse
import asyncio
import json
import math
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from bench.chaos.progress import Progress
from bench.chaos.proof import games_until_noticed
from bench.chaos.round import Round
from bench.chaos.servers.power_cut import compiler
from bench.chaos.stopping import Stop
from server.event_loop import new_loop
from simulation.broken.mistakes import MISTAKES
from simulation.people.plan import Plan, cluster_rounds, rounds
from simulation.verdict import Verdict

R = TypeVar("R")

_TOLD: Final = 20  # how many violations of a kind are printed of each round ...
_WORDS: Final = 400  # ... and how many characters of each; the JSON has all
_INTERRUPTED: Final = 3  # the exit status; 1 says that something is wrong, 2 that it was called wrongly


@dataclass(slots=True)
class Outcome:
    """What the rounds have come to; `interrupted` if a signal has ended them."""

    counts: Counter[str] = field(default_factory=Counter)
    verdict: Verdict = field(default_factory=Verdict)
    interrupted: bool = False

    def add(self, one: Round) -> None:
        self.counts.update(one.counts)
        self.verdict.add(one.verdict)


async def run(plans: list[Plan], until: float, traces: Path) -> Outcome:
    """Play the rounds, as many as start in time; what happened where something is wrong goes to `traces`.

    The first signal to end stops the games, and what has ended is judged; the second cancels this.
    """
    outcome, progress, stop = Outcome(), Progress(plans), Stop()
    with stop.by_signals():
        showing = asyncio.create_task(progress.show())
        try:
            for number, plan in enumerate(plans, start=1):
                if stop.asked:
                    break
                if time.monotonic() > until:
                    progress.say(f"out of time after {number - 1} of {len(plans)} rounds")
                    outcome.interrupted = True
                    break
                with tempfile.TemporaryDirectory(prefix="palatinus-chaos-") as folder:
                    one = Round(plan, Path(folder))
                    progress.round_begins(number, outcome.counts.copy(), one.counts)
                    with stop.calling(one.interrupt):
                        await one.run()
                outcome.add(one)
                _tell(f"round {number} of {len(plans)}", one, progress, traces)
        except asyncio.CancelledError:
            if not stop.asked:
                raise
            progress.say("stopped at once: what this round has found is not judged")
        finally:
            showing.cancel()
    outcome.interrupted |= stop.asked
    return outcome


def _tell(which: str, one: Round, progress: Progress, traces: Path) -> None:
    judged = "interrupted, and of what has ended all well" if one.interrupted else "all well"
    progress.say(
        f"{which}, seed {one.plan.seed}: {one.counts['games']} games, {one.disturbances} disturbances, "
        f"{one.counts['cuts']} cuts, {'wrong' if one.verdict else judged}"
    )
    _write(one.traces, traces)
    for kind, cases in one.verdict.kinds().items():
        for case in cases[:_TOLD]:
            progress.say(f"{kind}: {case[:_WORDS]}")


def _write(texts: Mapping[str, str], folder: Path) -> None:
    for table, text in texts.items():
        folder.mkdir(exist_ok=True)
        (folder / f"{table}.txt").write_text(text, encoding="utf-8")


async def prove(names: list[str], seed: str) -> int:
    """Print after how many games each of the mistakes is noticed; return 1 if one of them is not."""
    stop = Stop()
    proving = asyncio.create_task(_prove(names, seed))
    with stop.by_signals(), stop.calling(proving.cancel):
        try:
            return await proving
        except asyncio.CancelledError:
            if not stop.asked:
                raise
            return _INTERRUPTED


async def _prove(names: list[str], seed: str) -> int:
    unnoticed = 0
    for name in names:
        mistake = MISTAKES[name]
        if mistake.plan.get("power_cuts") and compiler() is None:
            print(f"{name:28}left out: power cuts need Linux and a C compiler", flush=True)
            continue
        games, noticed = await games_until_noticed(name, seed)
        unnoticed += not noticed
        how = ", ".join(noticed) if noticed else "NOT NOTICED"
        print(f"{name:28}{mistake.wrong:68}{games:>4} games: {how}", flush=True)
    return 1 if unnoticed else 0


def _run(what: Coroutine[Any, Any, R]) -> R:
    """Run it on the servers' event loop: half of the work here is the network's."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(what)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument(
        "--kills", type=int, default=20, help="kills of the server, including one at the end of each round"
    )
    parser.add_argument("--nodes", type=int, default=1, help="servers that share a database")
    parser.add_argument("--faults", type=int, default=20, help="of nodes, database, and lines between")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="repeats a plan of faults")
    parser.add_argument("--minutes", type=float, help="start no round after this time")
    parser.add_argument("--tables", type=int, default=40, help="tables at once")
    parser.add_argument("--json", type=Path, default=Path("chaos.json"), help="file for the counts")
    parser.add_argument("--broken", choices=("all", *MISTAKES), help="prove that this mistake is noticed")
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr, flush=True)
    if options.broken is not None:
        names = list(MISTAKES) if options.broken == "all" else [options.broken]
        return _run(prove(names, options.seed))
    if options.nodes == 1 and compiler() is None:
        print("without power cuts, which need Linux and a C compiler", file=sys.stderr)
    began = time.monotonic()
    if options.nodes > 1:
        plans = cluster_rounds(
            options.games, options.faults, options.tables, options.seed, nodes=options.nodes
        )
        how = f"--nodes {options.nodes} --faults {options.faults}"
    else:
        power_cuts = compiler() is not None
        plans = rounds(options.games, options.kills, options.tables, options.seed, power_cuts=power_cuts)
        how = f"--kills {options.kills}"
    until = math.inf if options.minutes is None else began + 60 * options.minutes
    outcome = _run(run(plans, until, options.json.with_suffix(".traces")))
    seconds = time.monotonic() - began
    wrong = outcome.verdict.kinds()
    found = dict(outcome.counts) | {kind: len(cases) for kind, cases in wrong.items()}
    for name, count in found.items():
        print(f"{name:28}{count:>10,}")
    report = {
        "seed": options.seed,
        "seconds": round(seconds),
        "complete": not outcome.interrupted,
        "counts": outcome.counts,
        "wrong": wrong,
    }
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if outcome.interrupted:
        print("not all was played: the figures are those of what was judged", file=sys.stderr)
    if not outcome.verdict:
        return _INTERRUPTED if outcome.interrupted else 0
    print(
        f"Repeat with: python -m bench.chaos --seed {options.seed} --games {options.games} "
        f"{how} --tables {options.tables}",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())

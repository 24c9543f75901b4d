"""Chaos: bots play on a bad network with a server that is killed; nothing may be lost.

    python -m bench.chaos [--games N] [--kills K] [--seed S] [--minutes M] [--tables T] [--json FILE]
    python -m bench.chaos --nodes 3 [--faults F] [--games N] ...
    python -m bench.chaos --broken NAME|all

With --nodes, several servers share a PostgreSQL of their own, and all of them, and the lines between, fail.
Every game must end, and what each player and spectator saw must be what the journal holds. Otherwise it
exits with 1 and prints what is wrong. With --broken, the server is broken on purpose, and it exits with 1 if
that goes unnoticed. docs/reliability.md has more.
"""

import argparse
import asyncio
import json
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.chaos.broken.mistakes import MISTAKES
from bench.chaos.broken.proof import games_until_noticed
from bench.chaos.judging.verdict import Verdict
from bench.chaos.plan import Plan, cluster_rounds, rounds
from bench.chaos.round import Round
from bench.chaos.servers.power_cut import compiler

_TOLD: Final = 20  # how many violations of a kind are printed of each round ...
_WORDS: Final = 400  # ... and how many characters of each; the JSON has all


async def run(plans: list[Plan], until: float, traces: Path) -> tuple[Counter[str], Verdict]:
    """Play the rounds, as many as start in time; what happened where something is wrong goes to `traces`."""
    counts: Counter[str] = Counter()
    verdict = Verdict()
    for number, plan in enumerate(plans, start=1):
        if time.monotonic() > until:
            print(f"out of time after {number - 1} of {len(plans)} rounds", file=sys.stderr)
            break
        with tempfile.TemporaryDirectory(prefix="palatinus-chaos-") as folder:
            one = Round(plan, Path(folder))
            await one.run()
        counts.update(one.counts)
        verdict.add(one.verdict)
        wrong = "wrong" if one.verdict else "all well"
        print(
            f"round {number} of {len(plans)}, seed {plan.seed}: {one.counts['games']} games, "
            f"{one.disturbances} disturbances, {one.counts['cuts']} cuts, {wrong}",
            file=sys.stderr,
            flush=True,
        )
        _write(one.traces, traces)
        for kind, cases in one.verdict.kinds().items():
            for case in cases[:_TOLD]:
                print(f"{kind}: {case[:_WORDS]}", file=sys.stderr, flush=True)
    return counts, verdict


def _write(texts: Mapping[str, str], folder: Path) -> None:
    for table, text in texts.items():
        folder.mkdir(exist_ok=True)
        (folder / f"{table}.txt").write_text(text, encoding="utf-8")


async def prove(names: list[str], seed: str) -> int:
    """Print after how many games each of the mistakes is noticed; return 1 if one of them is not."""
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
    parser.add_argument("--minutes", type=float, default=30.0, help="start no round after this time")
    parser.add_argument("--tables", type=int, default=40, help="tables at once")
    parser.add_argument("--json", type=Path, default=Path("chaos.json"), help="file for the counts")
    parser.add_argument("--broken", choices=("all", *MISTAKES), help="prove that this mistake is noticed")
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr, flush=True)
    if options.broken is not None:
        names = list(MISTAKES) if options.broken == "all" else [options.broken]
        return asyncio.run(prove(names, options.seed))
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
    counts, verdict = asyncio.run(
        run(plans, began + 60 * options.minutes, options.json.with_suffix(".traces"))
    )
    seconds = time.monotonic() - began
    found = dict(counts) | {kind: len(cases) for kind, cases in verdict.kinds().items()}
    for name, count in found.items():
        print(f"{name:28}{count:>10,}")
    wrong = verdict.kinds()
    report = {"seed": options.seed, "seconds": round(seconds), "counts": counts, "wrong": wrong}
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if not verdict:
        return 0
    print(
        f"Repeat with: python -m bench.chaos --seed {options.seed} --games {options.games} "
        f"{how} --tables {options.tables}",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())

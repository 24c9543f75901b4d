"""Chaos: bots play on a bad network with a server that is killed; nothing may be lost.

    python -m bench.chaos [--games N] [--kills K] [--seed S] [--minutes M] [--tables T] [--json FILE]
    python -m bench.chaos --broken NAME|all

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
from pathlib import Path
from typing import Final

from bench.chaos.broken.mistakes import MISTAKES
from bench.chaos.broken.proof import games_until_noticed
from bench.chaos.plan import Plan, rounds
from bench.chaos.power_cut import compiler
from bench.chaos.round import Round
from bench.chaos.verdict import Verdict

_TOLD: Final = 20  # how many violations of a kind are printed of each round ...
_WORDS: Final = 400  # ... and how many characters of each; the JSON has all


async def run(plans: list[Plan], until: float) -> tuple[Counter[str], Verdict]:
    """Play the rounds, as many as start in time."""
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
            f"{one.counts['kills']} kills, {one.counts['cuts']} cuts, {wrong}",
            file=sys.stderr,
            flush=True,
        )
        for kind, cases in one.verdict.kinds().items():
            for case in cases[:_TOLD]:
                print(f"{kind}: {case[:_WORDS]}", file=sys.stderr, flush=True)
    return counts, verdict


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
    if compiler() is None:
        print("without power cuts, which need Linux and a C compiler", file=sys.stderr)
    began = time.monotonic()
    plans = rounds(
        options.games, options.kills, options.tables, options.seed, power_cuts=compiler() is not None
    )
    counts, verdict = asyncio.run(run(plans, began + 60 * options.minutes))
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
        f"--kills {options.kills} --tables {options.tables}",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())

"""The product broken on purpose, in one place after the other: do its tests notice?

    python -m trials.mutations [--only AREA ...] [--quick] [--all-tests] [--table FILE]
    python -m trials.mutations --new N [--seed SEED] [--simulation SECONDS] [--only-missed]
        [--results FILE] PATH ...
    python -m trials.mutations --simulate SECONDS [--seed SEED] FILE ...

Each mutation in mutations.txt replaces a text in a copy of the source tree, where the tests of its area run
until one fails, the nearest to the file first, the slow ones last. With --all-tests, what they miss is tried
with all that are not slow. --table writes the result as a table. It prints each result, and exits with 1 if
a mutation goes unnoticed.

With --new, N mistakes are made by rule (trials/mutation_rules.py) in files and folders, at random. The tests
that concern the file run until one fails, then the simulation runs for as many seconds of CPU time as
--simulation says; with --only-missed, only if all tests pass. Ctrl-C ends this with the table so far.
--simulate tries the mistakes in files that are written like mutations.txt with so many seconds of the
simulation alone.

--results adds each result to a file: those in it are not tried again, and are in the table. --new 0 prints
that table.
"""

import argparse
import secrets
import sys
import time
from pathlib import Path

from trials.chosen_mistakes import try_chosen
from trials.concerned_tests import failed_test, nearest_tests
from trials.limited_run import copied_tree
from trials.mutation_list import MUTATIONS, Mutation, mutations
from trials.new_mutations import table as new_table
from trials.new_mutations import try_new


def notice(mutation: Mutation, tree: Path, *, quick: bool, all_tests: bool) -> str | None:
    """Return which test notices the mutation, None if none does."""
    path = tree / mutation.path
    source = path.read_text(encoding="utf-8")
    try:
        path.write_text(mutation.applied(source), encoding="utf-8")
    except ValueError as error:
        print(error)  # it has to be written anew
        return None
    nearest = nearest_tests(mutation.path, tree)
    try:
        return (
            (failed_test(tree, nearest, 0) if nearest else None)
            or (None if quick else failed_test(tree, mutation.tests, 0))
            or (None if quick else failed_test(tree, mutation.tests, 2, "slow"))
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
    parser.add_argument("--new", type=int, metavar="N", help="make so many mistakes by rule, at random")
    parser.add_argument(
        "--seed", type=int, help="from which the new mistakes are drawn; without, a fresh one"
    )
    parser.add_argument("--simulation", type=float, default=60.0, metavar="SECONDS", help="CPU time (60)")
    parser.add_argument("--only-missed", action="store_true", help="simulate only what the tests miss")
    parser.add_argument("--results", type=Path, metavar="FILE", help="add new mistakes' results to this file")
    parser.add_argument(
        "--simulate", type=float, metavar="SECONDS", help="CPU time for each mistake in files"
    )
    parser.add_argument("places", nargs="*", type=Path, metavar="PATH", help="where new mistakes are made")
    options = parser.parse_args()
    if options.simulate is not None:
        return try_chosen(options.places, options.simulate, 1 if options.seed is None else options.seed)
    if options.new is not None:
        if options.new > 0 and not options.places:
            parser.error("--new needs files or folders")
        seed = secrets.randbelow(10**9) if options.seed is None else options.seed
        found = try_new(
            options.new,
            options.places,
            seed,
            simulation=options.simulation,
            only_missed=options.only_missed,
            results=options.results,
        )
        print(f"\n{new_table(found)}")
        return int(any(each.suite is None and each.simulation is None for each in found))
    return _try_listed(options)


def _try_listed(options: argparse.Namespace) -> int:
    chosen = [
        each
        for each in mutations(MUTATIONS.read_text(encoding="utf-8"))
        if options.only is None
        or any(word == each.area or each.name.startswith(word) for word in options.only)
    ]
    results: dict[Mutation, str | None] = {}
    with copied_tree() as tree:
        for number, mutation in enumerate(chosen, start=1):
            began = time.monotonic()
            results[mutation] = found = notice(
                mutation, tree, quick=options.quick, all_tests=options.all_tests
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

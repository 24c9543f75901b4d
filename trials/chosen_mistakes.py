"""Mistakes that somebody has chosen, without a look at the judge: which of them does the simulation find?"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from simulation.broken import Mistake, mistake_of
from trials.limited_run import copied_tree
from trials.mutation_list import mutations
from trials.new_mutations import simulate


def try_chosen(files: Sequence[Path], seconds: float, first: int) -> int:
    """Print what the simulation finds of the mistakes in these files; return 1 if it does not find one.

    Each is looked for in so many seconds of CPU time, beginning with the seed `first`.
    """
    made, found = Counter[str](), Counter[str]()
    with copied_tree() as tree:
        for file in files:
            for mutation in mutations(file.read_text(encoding="utf-8")):
                name, mistake = mistake_of(mutation)
                try:
                    how, cpu = _try(tree, mistake, seconds, first)
                except ValueError as error:
                    print(error)  # it has to be written anew
                    continue
                made[mutation.area] += 1
                found[mutation.area] += how is not None
                print(f"{name:28}{mistake.wrong:80}{cpu:5.1f} s  {how or 'NOT FOUND'}", flush=True)
    for area, number in made.items():
        print(f"{area:28}{found[area]:3} of {number}")
    print(f"{'all':28}{found.total():3} of {made.total()}")
    return int(found != made)


def _try(tree: Path, mistake: Mistake, seconds: float, first: int) -> tuple[str | None, float]:
    path = tree / mistake.mutation.path
    source = path.read_text(encoding="utf-8")
    path.write_text(mistake.mutation.applied(source), encoding="utf-8")
    nodes = mistake.needs.get("nodes")
    mode = ["--letters"] if mistake.letters else [] if nodes is None else ["--nodes", str(nodes)]
    try:
        return simulate(tree, mode, first, seconds)
    finally:
        path.write_text(source, encoding="utf-8")

"""Servers that are broken on purpose, to prove that the simulation notices: broken.txt has them."""

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trials.limited_run import ROOT, copy_tree
from trials.mutation_list import Mutation, mutations


@dataclass(frozen=True, slots=True)
class Mistake:
    """What a server does wrong, and what games need, beside the usual, to run into that soon."""

    wrong: str
    needs: dict[str, Any]
    mutation: Mutation
    letters: bool  # it takes correspondence games


def mistake_of(mutation: Mutation) -> tuple[str, Mistake]:
    """Return the name of a mistake, and what it is."""
    name, _, rest = mutation.name.partition(": ")
    wrong, brace, needs = rest.partition(" {")
    wanted = json.loads(brace + needs or "{}")
    letters = wanted.pop("letters", False)
    return name, Mistake(wrong, wanted, mutation, letters)


MISTAKES: Final = dict(map(mistake_of, mutations(Path(__file__).with_suffix(".txt").read_text("utf-8"))))


def prove(names: list[str], first: int, jobs: int) -> int:
    """Print how soon each mistake is found, in a copy of the source tree; return 1 if one is not.

    What is found has to be right without the mistake.
    """
    missed = 0
    with tempfile.TemporaryDirectory(prefix="palatinus-broken-") as folder:
        copy_tree(Path(folder))
        for name in names:
            mistake = MISTAKES[name]
            path = Path(folder) / mistake.mutation.path
            source = path.read_text(encoding="utf-8")
            path.write_text(mistake.mutation.applied(source), encoding="utf-8")
            said = _simulate(Path(folder), name, "--first", str(first), "--seeds", "10000", "-j", str(jobs))
            path.write_text(source, encoding="utf-8")
            found = re.search(r"^seed (\d+) failed", said, re.MULTILINE)
            how = ", ".join(dict.fromkeys(re.findall(r"^  ([a-z]+): ", said, re.MULTILINE))) or "NOT FOUND"
            control = "" if found is None else _simulate(ROOT, name, "--first", found[1], "--seeds", "1")
            if " 0 failed" not in control:
                missed += 1
                print(control)
            seeds, seconds = found and int(found[1]) - first + 1, said.rsplit("CPU: ", 1)[-1].strip()
            print(f"{name:28}{mistake.wrong:68}{seeds!s:>4} seeds {seconds:>6}  {how}", flush=True)
    return min(missed, 1)


def _simulate(tree: Path, name: str, *options: str) -> str:
    """Return what the simulation in a source tree prints until it has found a failure."""
    command = [sys.executable, "-m", "simulation", "--needs", name, *options]
    command += ["--letters"] if MISTAKES[name].letters else []
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False).stdout

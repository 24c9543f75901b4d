"""Mistakes by rule: each compiles to other code, changes its own place alone, and is the same for a seed."""

import random
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from trials.mutation_rules import RULES, Change, changes, is_mistake
from trials.new_mutations import Result, drawn, table

ROOT = Path(__file__).parents[1]
# Of each rule: a line, and what the rule makes of it.
MADE = {
    "a call is dropped": [
        ("self.bell.ring(1)", ["pass"]),
        ("await ring()", ["pass"]),
        ("log.info(1)", []),
        ("probe('rung')", []),
    ],
    "a condition is negated": [
        ("if a or b: ring()", ["if not (a or b): ring()"]),
        ("x = a if not b else c", ["x = a if b else c"]),
        ("x = [a for a in b if a]", ["x = [a for a in b if not (a)]"]),
        ("while True: ring()", []),
    ],
    "a comparison is off by one": [
        ("x = (a) < (b) >= c", ["x = (a) <= (b) >= c", "x = (a) < (b) > c"]),
        ("x = a == b", []),
    ],
    "a number is off by one": [
        ("x: Annotated[int, 7] = 0", ["x: Annotated[int, 7] = 1"]),
        ("x = 'é', 12, True, f'{3}'", ["x = 'é', 13, True, f'{3}'", "x = 'é', 11, True, f'{3}'"]),
    ],
    "two arguments are swapped": [
        ("ring(a, (b), c)", ["ring(b, (a), c)", "ring(a, (c), b)"]),
        ("ring(a, *b, x=c, y=d)", ["ring(a, *b, x=d, y=c)"]),
        ("ring(a, a)", []),
    ],
    "a case is skipped": [
        ("if a: ring()\nelse: call()", ["if a: pass\nelse: call()", "if a: ring()\nelse: pass"]),
        ("match a:\n    case 1:\n        ring()\n        call()", ["match a:\n    case 1:\n        pass"]),
        ("if a: log.info(b)", []),
    ],
    "an await is forgotten": [("x = await ring()", ["x = ring()"])],
    "an element is dropped": [
        ("x = (a, b)", ["x = (a,)", "x = (b,)"]),
        ("x = [a, b, c]", ["x = [b, c]", "x = [a, c]", "x = [a, b]"]),
        ("x = {a: b, **c, d: e}", ["x = {d: e}", "x = {a: b}"]),
        ("x, y = a", []),
        ("x = tuple[a, b]", []),
    ],
    "it returns early": [
        (
            "def f() -> None:\n    x()\n    y()",
            ["def f() -> None:\n    return\n    y()", "def f() -> None:\n    x()\n    return"],
        ),
        ("def f() -> int:\n    x()\n    return 1", []),
    ],
}


def mistakes(source: str, rule: str) -> list[str]:
    return [
        each.applied(source) for each in changes(source) if each.rule == rule and is_mistake(each, source)
    ]


def test_every_rule_makes_its_mistakes() -> None:
    assert MADE.keys() == RULES.keys()
    for rule, cases in MADE.items():
        for source, expected in cases:
            # `await` needs a coroutine around it, whose own lines are not changed.
            head = "async def around():\n" if "await" in source else ""
            indent = "    " if head else ""
            whole = head + textwrap.indent(source, indent)
            made = [textwrap.dedent(each.removeprefix(head)) for each in mistakes(whole, rule)]
            assert sorted(made) == sorted(expected), (rule, source)


@pytest.mark.parametrize("path", ["server/tables/rates.py", "client/tables/draws.py"])
def test_nothing_but_its_place_is_changed(path: str) -> None:
    source = (ROOT / path).read_text(encoding="utf-8")
    encoded = source.encode()
    for change in changes(source):
        changed = change.applied(source).encode()
        assert changed.startswith(encoded[: change.start])
        assert changed.endswith(encoded[change.end :])
        assert len(changed) == len(encoded) - (change.end - change.start) + len(change.text.encode())


@pytest.mark.parametrize("text", ["x = 2 - 1", "x = 1  # one", "x = (1)", "x = 0b1", "x = ("])
def test_equal_code_and_no_code_are_no_mistakes(text: str) -> None:
    source = "x = 1"
    assert not is_mistake(Change("", 1, 0, len(source), text), source)
    assert is_mistake(Change("", 1, 0, len(source), "x = True"), source)


def test_the_same_seed_makes_the_same_mistakes() -> None:
    places = [
        {path: (ROOT / path).read_text(encoding="utf-8")}
        for path in ("server/tables/rates.py", "server/tables/priority_lock.py")
    ]
    first, again, other = (list(drawn(12, places, random.Random(seed))) for seed in (7, 7, 8))
    assert first == again != other
    assert len(set(first)) == 12
    assert [path for path, _ in first[:2]] == ["server/tables/rates.py", "server/tables/priority_lock.py"]


def test_no_more_mistakes_than_there_are() -> None:
    assert [change.text for _, change in drawn(9, [{"a": "x = 0"}, {}], random.Random(1))] == ["1"]


def test_the_table_counts_what_found_each() -> None:
    def results() -> Iterator[Result]:
        for path, suite, simulation, simulated in (
            ("server/tables/game/moves.py", "tests/a.py", None, 0.0),
            ("server/tables/owner.py", "tests/a.py", "seed 1 (lost)", 3.0),
            ("client/tables/draws.py", None, None, 60.0),
        ):
            yield Result(path, 1, "a rule", f"diff of {path}", suite, 1.0, simulation, simulated)

    told = table(list(results()))
    assert "| client/tables | 1 | 0 | 0 of 1 | 0 | 1 |" in told
    assert "| server/tables | 2 | 2 | 1 of 1 | 1 | 0 |" in told
    assert "| all | 3 | 2 | 1 of 2 | 1 | 1 |" in told
    assert told.count("not found: a rule") == 1
    assert "diff of client/tables/draws.py" in told


# In a process of its own, as it ends all that this process has begun.
RUN = """
import sys
from pathlib import Path
from trials.limited_run import limited_run
ended = limited_run(["program"], Path(sys.argv[1]), cpu=float(sys.argv[2]), seconds=600, wanted="left [0-9]+")
print(ended.code, ended.output)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a folder like that of a copied tree."""
    for name in ("tree", "t", "home"):
        (tmp_path / name).mkdir()
    return tmp_path / "tree"


def limited(program: str, tree: Path, cpu: float) -> str:
    """Return how a program ended and what it printed, with a limit of CPU seconds."""
    (tree / "program.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-c", RUN, str(tree), str(cpu)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_a_command_that_is_stopped_leaves_nothing_behind(tree: Path) -> None:
    """Not even what has a session of its own, was left by its parent, and has made a temporary folder."""
    program = """
import subprocess, sys, tempfile, time
if len(sys.argv) == 1:
    tempfile.mkdtemp()
    subprocess.run(f"{sys.executable} program.py again & echo left $!", shell=True, start_new_session=True)
while True:
    time.sleep(1)
"""
    said = limited(program, tree, cpu=60)
    assert said.startswith("None ")
    assert not psutil.pid_exists(int(said.partition("left ")[2].split()[0]))
    assert not list((tree.parent / "t").iterdir())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_a_command_that_runs_in_a_circle_is_ended(tree: Path) -> None:
    """However many processes share the work: what counts is the CPU time of all."""
    assert (
        limited("import os; os.fork(); print('circle', flush=True)\nwhile True: pass", tree, cpu=0.3)[:5]
        == "None "
    )
    assert limited("raise SystemExit(3)", tree, cpu=60).startswith("3 ")

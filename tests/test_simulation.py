"""The short form of `python -m simulation`: docs/testing.md tells of the long one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the simulation needs Linux")
ROOT = Path(__file__).parents[1]


def simulate(*options: str, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    """Run it in a process of its own: it forks, and this one has threads."""
    return subprocess.run(
        [sys.executable, "-m", "simulation", *options],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_games_on_bad_lines_and_a_server_that_dies_are_the_ones_that_everybody_saw() -> None:
    """Nothing is lost, doubled, invented or leaked, and every game ends."""
    done = simulate("--first", "1", "--seeds", "5", "-j", "2")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("seed", "nodes"), [("5", "1"), ("4", "3")])
def test_a_seed_is_the_same_simulation_byte_for_byte_in_every_process(
    tmp_path: Path, seed: str, nodes: str
) -> None:
    """Whatever the order of sets, and the addresses of objects; and nothing fails in it."""
    traces = []
    for hash_seed in ("1", "2"):
        file = tmp_path / hash_seed
        options = ["--first", seed, "--nodes", nodes, "--seeds", "1", "--trace", str(file)]
        done = simulate(*options, hash_seed=hash_seed)
        assert done.returncode == 0, done.stdout
        traces.append(file.read_bytes())
    assert traces[0] == traces[1]
    assert traces[0].count(b"\n") > 1000


_SLOW = ("synchronous-off", "commits-not-fenced", "let-in-after-the-lease", "own-tables-given-up")


@pytest.mark.parametrize(
    "name", ["told-before-stored", *(pytest.param(name, marks=pytest.mark.slow) for name in _SLOW)]
)
def test_the_simulation_finds_a_broken_server(name: str) -> None:
    """Some of the mistakes here; `python -m simulation --broken all` tries all of them."""
    done = simulate("--first", "1", "--broken", name)
    assert done.returncode == 0, done.stdout

"""The short form of `python -m bench.chaos`: docs/reliability.md tells of the long one."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.chaos.broken.mistakes import MISTAKES
from bench.chaos.broken.proof import games_until_noticed
from bench.chaos.plan import Disturbance, Plan
from bench.chaos.round import Round
from bench.chaos.servers.power_cut import compiler
from protocol.absence import WAIT, ByBot

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="fills the disk of another process")
POWER_CUTS = pytest.mark.skipif(compiler() is None, reason="power cuts need Linux and a C compiler")
QUICK: dict[str, Any] = {"longest_hold": 0.2, "policies": (WAIT, ByBot(0)), "patience": 60.0}
QUIET: dict[str, Any] = {"lively": 0.0, "with_bots": 0.0, "operated": False}  # bots take a second for a move


@pytest.mark.parametrize(
    ("seed", "plan"),
    [
        pytest.param("plain", {"pauses": 1, "played_again": 0.5, "lively": 1.0}, id="plain, lively"),
        pytest.param("disk", QUIET | {"full_disks": 2}, id="full disk", marks=LINUX),
        pytest.param(
            "power", QUIET | {"durable": True, "power_cuts": True}, id="power cuts", marks=POWER_CUTS
        ),
        pytest.param(
            "left", QUIET | {"tls": True, "most_tables": 2, "policies": (WAIT,)}, id="archive, over TLS"
        ),
    ],
)
async def test_games_on_a_bad_network_and_a_killed_server_are_the_ones_that_everybody_saw(
    seed: str, plan: dict[str, Any], tmp_path: Path
) -> None:
    """Nothing is lost, doubled, invented or leaked, and every game ends."""
    played = Round(Plan(seed=seed, games=2, kills=2, tables=2, **QUICK | plan), tmp_path)
    await played.run()
    assert not played.verdict, played.verdict.kinds()
    assert played.counts["games"] >= 2
    assert played.counts["kills"] == 2
    assert played.counts["cuts"] > 0
    assert played.counts["gaps sent"] > 0
    assert played.counts["full disks"] == plan.get("full_disks", 0)


@LINUX
async def test_games_over_two_nodes_are_the_ones_that_everybody_saw(tmp_path: Path) -> None:
    """While one sleeps past its lease, one is killed, and the database is."""
    faults = (Disturbance.SLEEP, Disturbance.CRASH)
    plan = QUICK | QUIET | {"policies": (WAIT,), "played_again": 0.0}
    played = Round(Plan(seed="nodes", games=2, kills=2, tables=2, nodes=2, faults=faults, **plan), tmp_path)
    await played.run()
    assert not played.verdict, played.verdict.kinds()
    assert played.counts["games"] >= 2
    assert played.disturbances == 4
    assert played.counts["tables that went to another node"] > 0


@pytest.mark.parametrize(
    "name",
    [
        "any-token",
        "seed-shown",
        "legal-moves-shown",
        pytest.param("synchronous-off", marks=POWER_CUTS),
    ],
)
async def test_chaos_notices_a_broken_server(name: str) -> None:
    """Some of the mistakes here; `python -m bench.chaos --broken all` tries all of them."""
    few = QUICK | {"games": 2, "tables": 2, "policies": (WAIT,), "played_again": 0.0, "patience": 5.0}
    _, noticed = await games_until_noticed(name, "suite", **few)
    assert noticed


def test_every_mistake_can_be_made() -> None:
    """What the mistakes replace is still there."""
    make = "from bench.chaos.broken.mistakes import MISTAKES as m\nfor each in m.values(): each.make()"
    done = subprocess.run([sys.executable, "-c", make], cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == 0
    assert len(MISTAKES) >= 12

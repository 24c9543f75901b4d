"""What tests of tables share."""

from pathlib import Path
from typing import Any

import pytest

from client.bots.brains import at_random
from server.config import Config, Limits
from tests.server.cluster.running_cluster import LONG_LEASE
from tests.server.manual_clock import ManualClock


@pytest.fixture(params=["a folder", "a database"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> Config:
    """Return the configuration of a server that keeps its tables there."""
    place: dict[str, Any] = {"data": tmp_path}
    if request.param == "a database":
        place = {"database": request.getfixturevalue("database"), "node": "one", "lease_seconds": LONG_LEASE}
    limits = Limits(stand_in_seconds=0)
    return Config(brains={"random": at_random}, limits=limits, timers=ManualClock, seed=1, **place)

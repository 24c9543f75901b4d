"""A server full of idle tables: what they cost, and whether they slow one active table down.

python -m bench.idle
"""

import json
import resource
import time
from pathlib import Path
from typing import Final

from bench import Samples
from bench.load.process import subject
from bench.load.tables import ServerTables

TABLES: Final = 500
_CPU_SECONDS: Final = 5.0
_ACTIVE: Final = ("--tables", "1", "--moves", "640", "--rate", "100")


def samples(tree: Path) -> Samples:
    """Return what 500 tables with 2,000 seated connections cost while nobody moves."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # the server inherits it
    found: Samples = {}
    with subject("server", tree=tree) as server:
        alone = server.loaded(*_ACTIVE)
        before = server.resident
        tables = ServerTables([server.port], TABLES)
        tables.prepare()
        found["idle: memory of 500 tables with 2,000 connections, MiB"] = [(server.resident - before) / 2**20]
        cpu, began = server.cpu, time.perf_counter()
        time.sleep(_CPU_SECONDS)
        found["idle: CPU, % of a core"] = [100 * (server.cpu - cpu) / (time.perf_counter() - began)]
        among = server.loaded(*_ACTIVE)
        for percentile in ("p50_ms", "p99_ms"):
            found[f"idle: latency {percentile} of one active table alone"] = [alone[percentile]]
            found[f"idle: latency {percentile} of one active table among them"] = [among[percentile]]
        tables.tidy()
    return found


if __name__ == "__main__":
    print(json.dumps(samples(Path.cwd())))

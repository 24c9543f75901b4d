"""What the server takes of its machine, for the metrics: process, journal's files, disk.

All of it is rounded: what a table stores and does depends a little on hidden pieces, and nobody is to learn
that from a byte or a millisecond.
"""

import asyncio
import math
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector

from server.storage.sqlite.journal_file import FILE_NAME
from server.version import installed_version

_MIB: Final = 2**20
_STEPS: Final = {"_seconds": 1, "_bytes": _MIB}  # by the end of a metric's name
_SECONDS_FOR_THE_DISK: Final = 1.0


class Process:
    """The process, as far as the system tells; on Linux only."""

    def __init__(self) -> None:
        self._collector = ProcessCollector(registry=None)

    def metrics(self) -> Iterator[Metric]:
        """Yield the standard metrics of a process, rounded."""
        for family in self._collector.collect():
            step = next((step for end, step in _STEPS.items() if family.name.endswith(end)), 1)
            for at, sample in enumerate(family.samples):
                family.samples[at] = sample._replace(value=float(round(sample.value / step) * step))
            yield family


def build() -> Metric:
    """Return what program this is."""
    about = {
        "version": installed_version() or "dev",
        "python": platform.python_version(),
        "loop": type(asyncio.get_running_loop()).__module__.partition(".")[0],
    }
    return InfoMetricFamily("palatinus_build", "The program.", about)


@dataclass(frozen=True, slots=True)
class DiskUse:
    """What the journal takes on its disk, in bytes."""

    journal: int
    log: int
    free: int


class Disk:
    """Looks at the journal's files, in a thread: a dead disk must not stall the tables or the metrics."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._looking: asyncio.Future[DiskUse | None] | None = None

    async def look(self) -> DiskUse | None:
        """Return what the journal takes, None if the disk does not tell in time."""
        if self._looking is None:
            self._looking = asyncio.get_running_loop().run_in_executor(None, self._look)
        looking = self._looking
        done, _ = await asyncio.wait((looking,), timeout=_SECONDS_FOR_THE_DISK)
        if not done:
            return None
        self._looking = None
        return looking.result()

    def _look(self) -> DiskUse | None:
        journal = self._data / FILE_NAME
        log = journal.with_name(f"{FILE_NAME}-wal")
        try:
            free = shutil.disk_usage(self._data).free
            size, log_size = journal.stat().st_size, log.stat().st_size if log.exists() else 0
        except OSError:
            return None
        return DiskUse(_rounded_up(size), _rounded_up(log_size), free // _MIB * _MIB)


def disk_metrics(use: DiskUse) -> Iterator[Metric]:
    yield GaugeMetricFamily("palatinus_journal_bytes", "The journal's file.", use.journal)
    yield GaugeMetricFamily("palatinus_journal_log_bytes", "The journal's write-ahead log.", use.log)
    yield GaugeMetricFamily("palatinus_disk_free_bytes", "Free space on the journal's disk.", use.free)


def _rounded_up(size: int) -> int:
    return math.ceil(size / _MIB) * _MIB

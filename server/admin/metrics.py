"""Health and metrics over plain HTTP: `/healthz`, and `/metrics` for Prometheus.

It shows only what everybody may know: sums over all tables, and no exact bytes, for a hand's list of legal
pieces has a length. What the server takes of its machine is rounded for the same reason.
"""

import asyncio
import http
import math
import platform
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final, TypeAlias, get_args

from prometheus_client import generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from protocol.messages import Stage
from server.monitoring.counts import COMMIT_SECONDS
from server.net.connections.address import RefusedFor
from server.net.connections.plain_http import Page
from server.parts import Running
from server.storage.journal import NodeState
from server.storage.sqlite.journal_file import FILE_NAME
from server.version import VERSION

Figures: TypeAlias = Sequence[tuple[str, str, float]]  # names, what they are, and values

_MIB: Final = 2**20
_STEPS: Final = {"_seconds": 1, "_bytes": _MIB}  # by the end of a metric's name
_SECONDS_FOR_THE_DISK: Final = 1.0
_PLAIN: Final = "text/plain; charset=utf-8"
_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS: Final = (*map(str, COMMIT_SECONDS), "+Inf")
_SECONDS_BETWEEN_LOOKS: Final = 1.0


@dataclass(eq=False, repr=False)
class Gauges(Collector):
    """The metrics of a server, read at each request."""

    server: Running

    def __post_init__(self) -> None:
        self.pages = {
            "/healthz": self.health,
            "/livez": self.alive,
            "/readyz": self.ready,
            "/metrics": self.metrics,
        }
        self._disk_use: Figures = []
        self._looking: asyncio.Future[Figures] | None = None  # at the disk
        self._storing = True
        self._process = ProcessCollector(registry=None)  # on Linux only
        self._loop_lag = 0.0

    async def watch_the_loop(self) -> None:
        """Measure regularly how late the event loop runs its timers."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _SECONDS_BETWEEN_LOOKS
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            self._loop_lag = loop.time() - due

    async def health(self) -> Page:
        """Return whether moves can be accepted."""
        if not await self.server.journal.storing():
            return Page(http.HTTPStatus.SERVICE_UNAVAILABLE, _PLAIN, "the journal cannot be written\n")
        return Page(http.HTTPStatus.OK, _PLAIN, "ok\n")

    async def ready(self) -> Page:
        """Return whether newcomers should come here: moves can be accepted, and the server runs on."""
        if self.server.stopping() is not None:
            return Page(http.HTTPStatus.SERVICE_UNAVAILABLE, _PLAIN, "the server stops soon\n")
        return await self.health()

    async def alive(self) -> Page:
        """Return that the server answers; it may be that no move can be accepted."""
        return Page(http.HTTPStatus.OK, _PLAIN, "ok\n")

    async def metrics(self) -> Page:
        """Return every metric in Prometheus' text format."""
        data = self.server.config.journal_folder
        self._disk_use = [] if data is None else await self._look_at_disk(data)
        self._storing = await self.server.journal.storing()
        return Page(http.HTTPStatus.OK, _METRICS, generate_latest(self).decode())

    async def _look_at_disk(self, data: Path) -> Figures:
        """Return what the journal takes, nothing if a dead disk does not tell in time."""
        if self._looking is None:
            self._looking = asyncio.get_running_loop().run_in_executor(None, _disk_use, data)
        done, _ = await asyncio.wait((self._looking,), timeout=_SECONDS_FOR_THE_DISK)
        if not done:
            return []
        self._looking = None
        return done.pop().result()

    def collect(self) -> Iterator[Metric]:
        yield from self._now()
        yield from self._so_far()
        for family in self._process.collect():
            step = next((step for end, step in _STEPS.items() if family.name.endswith(end)), 1)
            for at, sample in enumerate(family.samples):
                family.samples[at] = sample._replace(value=float(round(sample.value / step) * step))
            yield family
        program = {
            "version": VERSION,
            "python": platform.python_version(),
            "loop": type(asyncio.get_running_loop()).__module__.partition(".")[0],
        }
        yield InfoMetricFamily("palatinus_build", "The program.", program)
        if (node := self.server.journal.node) is not None:
            yield from node_metrics(node)
        yield from _gauges(*self._disk_use)
        if (certificate := self.server.access.certificate) is not None and certificate.ends is not None:
            what = "When the certificate ends."
            yield from _gauges(("certificate_expires_timestamp_seconds", what, certificate.ends))
        yield HistogramMetricFamily(
            "palatinus_commit_seconds",
            "How long commits to the journal took.",
            buckets=list(zip(_BOUNDS, accumulate(self.server.journal.commits.counts), strict=True)),
            sum_value=self.server.journal.commits.seconds,
        )

    def _now(self) -> Iterator[Metric]:
        tables = self.server.lobby.tables.values()
        stages = Counter(table.state.stage for table in tables)
        by_stage = GaugeMetricFamily("palatinus_tables", "Tables by stage.", labels=["stage"])
        for stage in get_args(Stage):
            by_stage.add_metric([stage], stages[stage])
        yield by_stage
        journal, draining = self.server.journal, self.server.drain.seconds_left() is not None
        yield from _gauges(
            ("connections", "Open connections.", len(self.server.connections)),
            (
                "players",
                "Players who are at their tables.",
                sum(len(table.audience.seated) for table in tables),
            ),
            ("spectators", "Spectators.", sum(len(table.audience.spectators) for table in tables)),
            ("event_loop_lag_seconds", "How late the event loop was when last measured.", self._loop_lag),
            ("archived_games", "Games in the archive.", len(journal.archived)),
            ("set_aside_tables", "Damaged tables that were set aside.", len(journal.codes_set_aside)),
            ("storing", "1 unless the journal cannot be written.", self._storing),
            ("draining", "1 if the server stops soon.", draining),
        )
        if (last := journal.commits.last) is not None:
            yield from _gauges(("last_commit_timestamp_seconds", "When a commit last succeeded.", last))

    def _so_far(self) -> Iterator[Metric]:
        counts = self.server.counts
        yield from _counters(
            ("messages", "Messages received.", counts.messages),
            ("moves", "Moves accepted.", counts.moves),
            ("games", "Games finished.", counts.games),
            ("resumes", "Returns to a seat.", counts.resumes),
            ("slow_readers", "Connections dropped because they did not read.", counts.slow_readers),
            ("delayed_messages", "Messages read later than they came.", self.server.connections.delayed),
            ("not_stored", "Commits that failed.", self.server.journal.not_stored),
        )
        refusals = CounterMetricFamily("palatinus_refusals", "Refusals by code.", labels=["code"])
        for code, number in sorted(counts.refusals.items()):
            refusals.add_metric([code], number)
        yield refusals
        refused = CounterMetricFamily(
            "palatinus_refused_connections", "Connections refused or cut, by reason.", labels=["reason"]
        )
        for reason in RefusedFor:
            refused.add_metric([reason], self.server.connections.refused[reason])
        yield refused


def _disk_use(data: Path) -> Figures:
    journal = data / FILE_NAME
    log = journal.with_name(f"{FILE_NAME}-wal")
    try:
        free = shutil.disk_usage(data).free
        size, log_size = journal.stat().st_size, log.stat().st_size if log.exists() else 0
    except OSError:
        return []
    return [
        ("journal_bytes", "The journal's file.", math.ceil(size / _MIB) * _MIB),
        ("journal_log_bytes", "The journal's write-ahead log.", math.ceil(log_size / _MIB) * _MIB),
        ("disk_free_bytes", "Free space on the journal's disk.", free // _MIB * _MIB),
    ]


def _gauges(*metrics: tuple[str, str, float]) -> Iterator[Metric]:
    return (GaugeMetricFamily(f"palatinus_{name}", what, value) for name, what, value in metrics)


def _counters(*metrics: tuple[str, str, float]) -> Iterator[Metric]:
    return (CounterMetricFamily(f"palatinus_{name}", what, number) for name, what, number in metrics)


def node_metrics(node: NodeState) -> Iterator[Metric]:
    """Yield what is told of a node; its name is in one metric, by which the others can be joined."""
    yield InfoMetricFamily("palatinus_node", "The name of this server.", {"node": node.name})
    yield from _gauges(
        ("lease_held", "1 if the tables are this server's, which may speak for them.", node.seconds_left > 0),
        ("lease_term", "The number of the lease; each has a higher one.", node.term),
        ("lease_left_seconds", "How long the lease still runs.", node.seconds_left),
        ("database_reachable", "1 if the database answered the last time.", node.answers),
        ("database_answer_seconds", "How long the last renewal of the lease took.", node.answer_seconds),
    )
    yield from _counters(
        ("leases", "Leases begun: each after the first means that one was lost.", node.leases),
        ("commit_round_trips", "Round trips to the database for commits of moves.", node.round_trips),
        ("tables_taken_up", "Tables taken up that were nobody's.", node.taken_up),
        ("tables_handed_over", "Tables handed over to servers that stay.", node.handed_over),
        ("tables_lost", "Tables given up because the lease was lost.", node.lost),
    )

"""Several nodes and the PostgreSQL that they share: each of them, and the lines between, can fail."""

import asyncio
import contextlib
import random
import re
import signal
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.chaos.network.proxy import Destination, Proxy
from bench.chaos.servers.database import DatabaseServer
from bench.chaos.servers.server_process import NotStarted, ServerProcess
from bench.cluster.relay import DatabaseRelay
from client.network.transport import Access
from server.errors import JournalError
from server.storage.entries import Entry
from server.storage.postgresql.database import Database
from server.storage.postgresql.database_tables import house_in
from server.storage.postgresql.schema import prepare
from simulation.judging.ownership import NOTES, SAID_BY_NODES, Ownership, noted
from simulation.people.operator import Operator
from simulation.people.plan import Disturbance, Plan
from simulation.wiretap import Wiretap

LEASE: Final = 3.0  # seconds
_SECONDS_TO_START: Final = 60.0
_SECONDS_BETWEEN_STARTS: Final = 1.0
_NO_DATABASE: Final = re.compile(r"palatinus: cannot use the database ")
_STARTED_AGAIN: Final = "nodes started again, because they could not use the database"
_SECONDS_FOR_RECORDS: Final = 20.0
_SECONDS_BETWEEN_LOOKS: Final = 0.1


@dataclass(slots=True)
class _Node:
    process: ServerProcess
    relay: DatabaseRelay
    records: Path
    port: int = 0  # of its own door


class Nodes:
    """The servers of a plan for several; all their files are in `folder`."""

    authority: Path | None = None
    operator: Operator | None = None

    def __init__(
        self, plan: Plan, folder: Path, carried: Callable[[Wiretap], None], counts: Counter[str]
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._counts = counts
        self._rng = random.Random(f"{plan.seed} nodes")
        self._open = contextlib.AsyncExitStack()
        self._nodes: list[_Node] = []
        self._struck: list[_Node] = []
        self._port = 0
        self._database: DatabaseServer | None = None
        self.access = Access()
        self.proxy = Proxy(plan.seed, plan.longest_hold, carried, None)
        self.long_tables: set[str] = set()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._port}"

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        # A folder of its own, because the path of a socket has to be short.
        short = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="palatinus-pg-")))
        self._database = DatabaseServer(short / "database")
        self._open.push_async_callback(self._database.stop)
        await self._database.make()
        await self._prepare_schema()
        try:
            async with contextlib.AsyncExitStack() as doors:
                for number in range(self._plan.nodes):
                    await self._add_node(number, short, doors)
                self._port = await doors.enter_async_context(self.proxy.door(self._any))
                async with asyncio.TaskGroup() as starting:
                    for node in self._nodes:
                        starting.create_task(self._start(node))
                yield
        finally:
            for node in self._nodes:
                node.process.kill()
            for node in self._nodes:
                await node.process.gone()

    async def _prepare_schema(self) -> None:
        assert self._database is not None
        database = Database(self._database.url)
        connection = await database.connect()
        try:
            await prepare(connection, database)
            await connection.execute(NOTES)
        finally:
            await connection.close()

    async def _add_node(self, number: int, short: Path, doors: contextlib.AsyncExitStack) -> None:
        assert self._database is not None
        name = f"node{number + 1}"
        sockets = short / name
        sockets.mkdir()
        relay = DatabaseRelay(self._database.url, sockets)
        await self._open.enter_async_context(relay.running())
        data, records = self._folder / name, self._folder / f"records-{name}"
        options = ["--database", relay.url, "--node", name, "--lease", f"{LEASE:g}"]
        options += ["--data", str(data), "--records", str(records), "--no-admin"]
        options += ["--max-tables", str(self._plan.most_tables)]
        options += ["--durable", "full" if self._plan.durable else "normal"]
        process = ServerProcess(name, self._folder / f"{name}.log", options, broken=self._plan.broken)
        port = await doors.enter_async_context(self.proxy.door(lambda: process.destination))
        process.options += ["--address", f"ws://127.0.0.1:{port}"]
        self._nodes.append(_Node(process, relay, records, port))

    async def _start(self, node: _Node) -> None:
        """Start a node as a supervisor does: again after a moment if it could not use the database."""
        until = time.monotonic() + _SECONDS_TO_START
        while True:
            try:
                await node.process.start()
            except NotStarted as error:
                if node.process.runs or not _NO_DATABASE.search(str(error)) or time.monotonic() > until:
                    raise
                self._counts[_STARTED_AGAIN] += 1
                await asyncio.sleep(_SECONDS_BETWEEN_STARTS)
            else:
                return

    def _any(self) -> Destination:
        """Return where a newcomer comes to, as with a name that leads to all nodes that can be reached."""
        living = [node for node in self._nodes if node.process.runs] or self._nodes
        return self._rng.choice(living).process.destination

    # -- what happens to them -----------------------------------------------------------------------

    def strike(self, kind: Disturbance, server: str) -> None:
        named = [node for node in self._nodes if node.process.destination.name == server]
        self._struck = named or [self._rng.choice(self._nodes)]
        match kind:
            case Disturbance.KILL:
                if self._rng.random() < 0.2:  # two at once
                    self._struck = [*self._struck, self._rng.choice(self._nodes)]
                for node in self._struck:
                    node.process.kill()
            case Disturbance.SLEEP | Disturbance.PAUSE:
                self._struck[0].process.send(signal.SIGSTOP)
            case Disturbance.CUT:
                if self._rng.random() < 0.2:
                    self._struck = self._nodes
                for node in self._struck:
                    node.relay.cut()
            case Disturbance.SILENCE:
                self._struck[0].relay.hold(requests=self._rng.random() < 0.5)
            case Disturbance.CRASH:
                assert self._database is not None
                self._database.kill()

    async def carry_out(self, kind: Disturbance) -> str | None:
        assert self._database is not None
        rng, node, wrong = self._rng, self._struck[0], None
        match kind:
            case Disturbance.KILL:
                for each in self._struck:
                    await each.process.gone()
                await asyncio.sleep(LEASE * rng.choice([0.0, 0.5, 1.7]))
                for each in {id(each): each for each in self._struck}.values():
                    await self._start(each)
            case Disturbance.SLEEP:
                await asyncio.sleep(LEASE * rng.uniform(1.4, 2.2))
                await self._wake(node)
            case Disturbance.PAUSE:
                await asyncio.sleep(LEASE * rng.uniform(0.1, 0.9))
                await self._wake(node)
            case Disturbance.DRAIN:
                node.process.send(signal.SIGTERM)
                if not await node.process.ended() or node.process.process.returncode != 0:
                    wrong = f"{node.process.destination.name} did not stop as it should"
                    node.process.kill()
                    await node.process.gone()
                await self._start(node)
            case Disturbance.RESTART:
                await self._database.restart(LEASE * rng.choice([0.0, 0.3, 1.5]))
            case Disturbance.CRASH:
                await asyncio.sleep(LEASE * rng.choice([0.0, 0.3]))
                await self._database.start()
            case Disturbance.CUT:
                for each in self._struck:
                    each.relay.refuses = True
                await asyncio.sleep(LEASE * rng.choice([0.0, 0.1, 0.5, 1.7]))
                for each in self._struck:
                    each.relay.refuses = False
            case Disturbance.SILENCE:
                await asyncio.sleep(LEASE * rng.choice([0.2, 0.6, 1.7]))
                if rng.random() < 0.3:
                    node.relay.cut()
                node.relay.let_go()
            case Disturbance.DELAY:
                node.relay.delay = rng.choice([0.005, 0.03, 0.15])
                await asyncio.sleep(LEASE)
                node.relay.delay = 0.0
            case Disturbance.FULL_DISK:
                raise AssertionError("the disk of a database is its own matter")
        return wrong

    async def _wake(self, node: _Node) -> None:
        """Let a process that was stopped go on; the taps know what it has sent before."""
        await asyncio.sleep(0)
        self.proxy.mark(node.process.destination)
        node.process.send(signal.SIGCONT)

    # -- what is left -------------------------------------------------------------------------------

    async def wait_for_records(self, tables: set[str]) -> None:
        try:
            for node in self._nodes:
                await self._start(node)
            with contextlib.suppress(TimeoutError):  # the verdict lists those that are missing
                async with asyncio.timeout(_SECONDS_FOR_RECORDS):
                    while any(not self.records_of(table) for table in tables):  # noqa: ASYNC110 - a folder has no event
                        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        finally:
            for node in self._nodes:
                node.process.kill()
            for node in self._nodes:
                await node.process.gone()

    async def journal(self) -> dict[str, list[Entry]]:
        assert self._database is not None
        house = await asyncio.to_thread(house_in, self._database.url)
        if house.set_aside:
            raise JournalError(f"tables are set aside: {[table.code for table in house.set_aside]}")
        self._counts["games in the archive at the end"] += len(house.archived)
        tables = [*house.in_use, *house.archived]
        return {table.code: table.whole_entries for table in tables}

    async def ownership(self) -> Ownership:
        assert self._database is not None
        connection = await Database(self._database.url).connect()
        try:
            ownership, self.long_tables = await noted(connection)
        finally:
            await connection.close()
        self._counts["tables that went to another node"] += ownership.changes
        return ownership

    async def close(self) -> None:
        await self._open.aclose()

    def records_of(self, table: str) -> list[Path]:
        return [path for node in self._nodes for path in node.records.glob(f"*-{table}.txt")]

    def complaints(self) -> str:
        return "".join(
            f"{node.process.destination.name}: {line}"
            for node in self._nodes
            for line in node.process.logged()
            if not (
                SAID_BY_NODES.search(line) or (self._counts[_STARTED_AGAIN] and _NO_DATABASE.search(line))
            )
        )

    def secrets_logged(self, tokens: set[str]) -> list[str]:
        return [line for node in self._nodes for line in node.process.secrets_logged(tokens)]

    def count(self) -> dict[str, int]:
        return {}

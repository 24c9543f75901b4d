"""Real servers, a real PostgreSQL and real clients, for about a minute: is the simulation true to life?

    python -m simulation.real [--games N] [--faults F] [--seed S]

Half of the games are played on one server with its own file, the others on three nodes that share a
database. In the meantime servers are killed (kill -9) and started again, PostgreSQL is restarted or killed,
the lines between it and the nodes are cut, and so are those of the clients. The judges of the simulation
compare what everybody received with what was stored. It exits with 1 if anything is wrong. The seed repeats
who plays what, and which faults come; when they come depends on the real clock.
"""

import argparse
import asyncio
import contextlib
import itertools
import random
import secrets
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Final

from protocol.absence import WAIT, ByBot
from server.config import Limits
from server.errors import JournalError
from server.storage.entries import Entry
from server.storage.postgresql.database import Database
from server.storage.postgresql.database_tables import DatabaseTables
from server.storage.postgresql.schema import prepare
from simulation.judging.ownership import NOTES, SAID_BY_NODES, Ownership, read_notes
from simulation.judging.tables import TablesJudge
from simulation.machine.entering import NAMES_A_PIECE
from simulation.people.games import Games
from simulation.people.plan import Crowd
from simulation.people.visitors import Route
from simulation.verdict import Finding, Outcome, Verdict, journal_in, long_tables_in, stored_in
from simulation.wiretap import Wiretap
from tests.postgresql import CARELESS, Cluster, DatabaseRelay
from tests.server.process import ServerProcess

_LEASE: Final = 3.0  # seconds
_BYTES_BEFORE_A_CUT: Final = 6000  # on average: a game is some 8,000 to each seat, and a greeting 700
# Seconds without a move, after which some game will not end; a host waits half of them before freeing a seat.
_PATIENCE: Final = 2 * Limits().seat_grace_seconds
_LONGEST_ABSENCE: Final = 15.0  # seconds
_SECONDS: Final = 60.0  # to start, and to write the last records
_LOOK: Final = 0.1
_LIMITS: Final = (
    *("--max-connections", "5000"),
    *("--connections-per-address", "5000"),
    *("--tables-per-minute", "5000"),
)


class RealServer(ServerProcess):
    """A server with a folder for its records."""

    def __init__(self, name: str, folder: Path) -> None:
        self.records = folder / f"records-{name}"
        super().__init__(*_LIMITS, "--no-admin", "--records", self.records, name=name)

    async def restart(self) -> None:
        """Start it, and again until it can use its database."""
        async with asyncio.timeout(_SECONDS):
            while not self.runs:
                with contextlib.suppress(RuntimeError):
                    await self.start()


class Proxy:
    """The network between clients and servers: it takes down what passes, and cuts connections.

    Each goes on for `bytes_before_a_cut`, on average.
    """

    def __init__(self, rng: random.Random, bytes_before_a_cut: float = 1e15) -> None:
        self.taps: list[Wiretap] = []
        self.cuts = 0
        self._rng = rng
        self._bytes_before_a_cut = bytes_before_a_cut

    @contextlib.asynccontextmanager
    async def door(self, servers: Sequence[ServerProcess]) -> AsyncIterator[int]:
        """Accept connections while the context lasts, each to any of the servers that run then."""
        links: set[asyncio.Task[None]] = set()

        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            server = self._rng.choice([each for each in servers if each.runs] or servers)
            link = asyncio.create_task(self._link(server, reader, writer))
            links.add(link)
            link.add_done_callback(links.discard)

        listener = await asyncio.start_server(accepted, "127.0.0.1", 0)
        try:
            yield listener.sockets[0].getsockname()[1]
        finally:
            listener.close()
            for link in links:
                link.cancel()
            await asyncio.gather(*links, return_exceptions=True)

    async def _link(
        self, server: ServerProcess, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        tap = Wiretap(server.starts, server.name, len(self.taps))
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", server.port)
        except OSError:  # the server is dead just now
            writer.transport.abort()
            return
        self.taps.append(tap)
        room = self._rng.expovariate(1 / self._bytes_before_a_cut)
        ways = [
            asyncio.create_task(_carry(reader, to_server, tap.feed_request, room)),
            asyncio.create_task(_carry(from_server, writer, tap.feed, room)),
        ]
        try:
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            self.cuts += (cut := any(way.result() for way in done))
            for end in (writer, to_server):
                end.transport.abort() if cut else end.close()
        finally:
            for way in ways:
                way.cancel()


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, feed: Callable[[bytes], None], room: float
) -> bool:
    """Carry bytes one way; return False when they end, and True when there is no room for more."""
    with contextlib.suppress(OSError):
        while data := await reader.read(4096):
            feed(data)
            writer.write(data[: max(0, int(room))])
            room -= len(data)
            if room < 0:
                return True
            await writer.drain()
    return False


class Round:
    """Plays the games of a plan on one server, or on nodes that share a database, and judges them."""

    def __init__(self, plan: Crowd, folder: Path, nodes: int, faults: int) -> None:
        self.outcome = Outcome()
        self._long_tables: set[str] = set()
        self._plan = plan
        self._rng = random.Random(f"{plan.seed} faults")
        self._faults = faults
        kinds = ["kill", "restart", "cut", "crash", "kill"]
        self._rng.shuffle(kinds)
        self._kinds = itertools.cycle(kinds)
        self._proxy = Proxy(random.Random(f"{plan.seed} network"), _BYTES_BEFORE_A_CUT)
        self._folder = folder
        self._data = folder / "data"
        self._cluster = Cluster(folder / "postgresql") if nodes > 1 else None
        self._relays: list[DatabaseRelay] = []
        self._servers = [RealServer(f"node{number}", folder) for number in range(1, nodes + 1)]

    def records_of(self, table: str) -> list[Path]:
        return [path for server in self._servers for path in server.records.glob(f"*-{table}.txt")]

    async def run(self) -> None:
        """Play everything to its end, kill the servers a last time, and judge what is left."""
        async with contextlib.AsyncExitStack() as open_until_judged:
            if self._cluster is not None:
                await self._start_database(open_until_judged)
            parties: Games
            try:
                async with contextlib.AsyncExitStack() as doors:
                    port = await self._start_servers(doors)
                    parties = self._games(port)
                    await self._play(parties)
                for server in self._servers:
                    await self._kill(server)
                    await server.restart()
                await parties.wait_for_records(self.records_of, _SECONDS)
            finally:
                for server in self._servers:
                    await self._kill(server)
            await self._judge(parties)

    async def _start_database(self, stack: contextlib.AsyncExitStack) -> None:
        cluster = self._cluster
        assert cluster is not None
        stack.enter_context(cluster.running(*CARELESS))
        database = Database(cluster.url)
        connection = await database.connect()
        try:
            await prepare(connection, database)
            await connection.execute(NOTES)
        finally:
            await connection.close()
        for server in self._servers:
            sockets = self._folder / server.name
            sockets.mkdir()
            relay = await stack.enter_async_context(DatabaseRelay(cluster.url, sockets).running())
            self._relays.append(relay)

    async def _start_servers(self, doors: contextlib.AsyncExitStack) -> int:
        """Start all servers; return the port that leads to any of them."""
        if self._cluster is None:
            self._servers[0].options += ("--data", self._data, "--durable", "normal")
            await self._servers[0].restart()
        for server, relay in zip(self._servers, self._relays, strict=False):
            own = await doors.enter_async_context(self._proxy.door([server]))
            data = self._folder / f"data-{server.name}"
            server.options += ("--database", relay.url, "--node", server.name, "--lease", f"{_LEASE:g}")
            server.options += ("--address", f"ws://127.0.0.1:{own}", "--data", data)
            await server.restart()
        return await doors.enter_async_context(self._proxy.door(self._servers))

    # -- playing ------------------------------------------------------------------------------------

    def _games(self, port: int) -> Games:
        way = Route(
            f"ws://127.0.0.1:{port}", self._plan.longest_hold, self._plan.talk, self._plan.longest_absence
        )
        return Games(self._plan, way, self.outcome)

    async def _play(self, parties: Games) -> None:
        """Play all games, with a fault after every few moves; stop if nobody moves for too long."""
        playing = asyncio.create_task(parties.play_all())
        loop = asyncio.get_running_loop()
        moves, since, next_fault = 0, loop.time(), 10
        try:
            while not playing.done() and loop.time() < since + _PATIENCE:
                await asyncio.wait((playing,), timeout=_LOOK)
                if self.outcome.counts["moves"] > moves:
                    moves, since = self.outcome.counts["moves"], loop.time()
                if moves >= next_fault and self.outcome.counts["faults"] < self._faults:
                    self.outcome.counts["faults"] += 1
                    await self._fail()
                    next_fault = self.outcome.counts["moves"] + self._rng.randrange(5, 15)
        finally:
            playing.cancel()  # the verdict lists the games that have not ended
            with contextlib.suppress(asyncio.CancelledError):
                await playing

    async def _fail(self) -> None:
        """Kill a server or two, or let database or lines fail, each as long as it lasts."""
        cluster, seconds = self._cluster, self._rng.choice([0.0, 0.3, 1.5]) * _LEASE
        kind = "kill" if cluster is None else next(self._kinds)
        self.outcome.counts[f"faults: {kind}"] += 1
        at = self._rng.randrange(len(self._servers))
        if kind == "kill":
            await self._kill(self._servers[at])
            await asyncio.sleep(0 if cluster is None else seconds)
            await self._servers[at].restart()
        elif kind == "cut":
            relay = self._relays[at]
            relay.refuses = True
            relay.cut()
            await asyncio.sleep(seconds)
            relay.refuses = False
        elif cluster is not None:
            await asyncio.to_thread(cluster.stop, "fast" if kind == "restart" else "immediate")
            await asyncio.sleep(seconds)
            await asyncio.to_thread(cluster.start, *CARELESS)

    async def _kill(self, server: RealServer) -> None:
        """Kill it, and note which tables were long: its next start lists what is left of them."""
        await server.end()
        if self._cluster is None:
            self._long_tables |= long_tables_in(self._data)

    # -- judging ------------------------------------------------------------------------------------

    async def _journal(self) -> tuple[dict[str, list[Entry]], Ownership | None]:
        """Return the entries of every table, and which node had which table when; raises JournalError."""
        if self._cluster is None:
            return (await journal_in(self._data)).tables, None
        kept = stored_in(await asyncio.to_thread(DatabaseTables(self._cluster.url).everything))
        connection = await Database(self._cluster.url).connect()
        try:
            ownership, self._long_tables = await read_notes(connection)
        finally:
            await connection.close()
        self.outcome.counts["tables that went to another node"] += ownership.changes
        return kept.tables, ownership

    async def _judge(self, parties: Games) -> None:
        verdict = self.outcome.verdict
        self.outcome.counts["connections"] += len(self._proxy.taps)
        self.outcome.counts["connections cut"] += self._proxy.cuts
        try:
            journal, ownership = await self._journal()
        except JournalError as error:
            verdict.lost.append(Finding(str(error)))
            return
        judge = TablesJudge(self._plan, journal, ownership, self._long_tables, self.records_of, self.outcome)
        judge.judge_all(parties.parties, self._proxy.taps)
        tokens = {player.token for party in parties.parties for player in party.everybody if player.token}
        for server in self._servers:
            for line in server.logged():
                expected = SAID_BY_NODES.search(line) or "cannot use the database" in line
                if self._cluster is None or not expected:
                    verdict.different.append(Finding(f"{server.name} logged: {line}"))
                if NAMES_A_PIECE.search(line) or any(token in line for token in tokens):
                    verdict.leaked.append(Finding(f"{server.name} logged: {line}"))


async def run(count: int, faults: int, seed: str) -> tuple[Counter[str], Verdict]:
    """Play half of the games on one server, half on three nodes; return what was counted and found wrong."""
    counts, verdict = Counter[str](), Verdict()
    for nodes in (1, 3):
        plan = Crowd(
            f"{seed}/{nodes}",
            games=count // 2,
            tables=count // 2,
            longest_hold=0.5,
            longest_absence=_LONGEST_ABSENCE,
            policies=(WAIT, ByBot(0)),
        )
        with tempfile.TemporaryDirectory(prefix="palatinus-real-") as folder:
            one = Round(plan, Path(folder), nodes, faults // 2)
            await one.run()
        counts.update(one.outcome.counts)
        verdict.add(one.outcome.verdict)
    return counts, verdict


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m simulation.real",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--games", type=int, default=12)
    parser.add_argument("--faults", type=int, default=12)
    parser.add_argument("--seed", default=secrets.token_hex(4))
    options = parser.parse_args()
    print(f"playing {options.games} games with seed {options.seed}; this takes about a minute", flush=True)
    counts, verdict = asyncio.run(run(options.games, options.faults, options.seed))
    for name, number in sorted(counts.items()):
        print(f"{name:50}{number:>8,}")
    for kind, cases in verdict.kinds().items():
        for case in cases:
            print(f"{kind}: {case.table or ''} {case.text}")
    return int(bool(verdict))


if __name__ == "__main__":
    sys.exit(main())

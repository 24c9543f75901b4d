"""A world: a server, or nodes, who plays there, and what goes wrong; and the verdict on all of it."""

import asyncio
import contextlib
import gc
import hashlib
import logging
import random
import re
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import asyncpg

from client.bots.brains import at_random
from client.bots.greedy import greedy
from client.network.transport import ServerAccess
from pages.drawing.pages import WebPages
from protocol.admin import EveningPlan
from protocol.messages import TableState
from server.config import Config, Limits
from server.errors import JournalError
from server.refusal import Refusal
from server.storage import operations
from server.storage.archive_index import ArchivedGame, ArchiveIndex
from server.storage.entries import EveningBegun, entry_text
from server.storage.names import EVENING
from server.storage.postgresql.rows import carry_out, change
from server.storage.stored_tables import Everything, Kept, Stored, link_rows
from server.tables.evening.evening import RunningEvening
from server.tables.state.persistent_state import PersistentState
from simulation.circles import Circle
from simulation.database.server import DatabaseServer
from simulation.disturbing import Disturbing
from simulation.judging.evening import check_evening
from simulation.judging.limits import check_guesses, check_spectators
from simulation.judging.ownership import SAID_BY_NODES
from simulation.judging.shortening import check_shortening, is_what_is_stored
from simulation.judging.tables import TablesJudge
from simulation.judging.wire_checks import check_online
from simulation.knobs import turn
from simulation.machine.disk import Disks
from simulation.machine.entering import NAMES_A_PIECE, enter
from simulation.machine.loop import EPOCH, Clock, Process, Stuck
from simulation.machine.network import Network, NetworkConnection, Weather
from simulation.people.evening import EveningGuest, PlannedEvening, hold_evening, judge_evening
from simulation.people.games import Games
from simulation.people.lobby import lobby_guests
from simulation.people.page_player import play_on_pages
from simulation.people.postbox import Postbox
from simulation.people.strangers import OTHER_TABLES, Stranger, browse
from simulation.people.visitors import Route, Stroller
from simulation.plan import FaultKind, WorldPlan
from simulation.report import excerpts
from simulation.server import Log, LogLine, NotStarted, Server, begin, records_in
from simulation.trace import Trace
from simulation.verdict import Finding, Outcome, journal_in, stored_in
from simulation.wiretap import Wiretap

PORT: Final = 4000
HOST: Final = "10.0.0.1"
NAME: Final = "10.0.0.100"  # of all nodes; the ports that follow are each node's own
_LEASE_LOST: Final = re.compile(r"the lease is lost: term=(\d+)")
# The warning before: the database has left a change in doubt for so long that its tables are read again.
_IN_DOUBT: Final = re.compile(r"database is lost: line=\w+ reason=\"it does not answer in time")
_SHORT_DOUBT: Final = "line._DOUBT_SECONDS"
_UNDELIVERED: Final = "a notice was not delivered"
_HALF_A_DAY: Final = 12 * 3600.0
_STRANGER: Final = "10.0.9.1"
_EVENING: Final = "10.0.2.2"
_PLAYERS: Final = tuple(f"10.0.1.{number}" for number in range(1, 5))
_LIMITS: Final = Limits(
    connections=5000, connections_per_address=5000, tables_per_connection=5000, tables_per_address=5000
)
_SECONDS_FOR_RECORDS: Final = 60.0
_SECONDS_FOR_LEASES: Final = 60  # to be taken again


class World:
    """The world of a plan, with its files in `folder`.

    One Python process has one world, and does nothing else.
    """

    def __init__(self, plan: WorldPlan, folder: Path, trace: Trace) -> None:
        self.outcome = Outcome()
        self.taps: list[Wiretap] = []
        self._plan = plan
        self._trace = trace
        self._folder = folder
        self._rng = rng = random.Random(f"{plan.seed} world {plan.timing or ''}".rstrip())
        self._clock = clock = Clock(rng, trace)
        trace.now = lambda: clock.now
        self._network = Network(clock, rng, plan.weather)
        self._network.opened = self._tap
        disks = Disks(clock, rng)
        enter(clock, self._network, disks, rng)
        self._people = Process(clock, self._network, "people", _PLAYERS[0], rng)
        self._people.hosts = _PLAYERS
        self._browser = Process(clock, self._network, "browser", "10.0.2.1", rng)
        self._guests = Process(clock, self._network, "evening", _EVENING, rng)
        self._stranger = Process(clock, self._network, "stranger", _STRANGER, rng)
        self.postbox = Postbox(clock, random.Random(f"{plan.seed} postbox"), self.outcome.counts)
        config = Config(
            host=HOST,
            port=PORT,
            data=folder / "data",
            records=folder / "records",
            durable="full" if plan.durable else "normal",
            stand_in=at_random,
            brains={"random": at_random, "greedy": greedy},
            pages=WebPages(),
            postman=self.postbox,
            evening=None if plan.evening is None else plan.evening.plan,
            password=plan.password,
            limits=(
                limits := replace(
                    _LIMITS,
                    tables=plan.people.most_tables + (0 if plan.evening is None else 4),
                    archived_tables=plan.people.most_archived,
                    seat_grace_seconds=plan.grace,
                    waiting_seat_seconds=plan.grace,
                    **plan.limits,
                )
            ),
        )
        turn(plan.constants)
        self._limits = limits
        note_what_gives_way(self.outcome.gave_way)
        self.shortened: set[str] = set()  # tables whose journal no longer has all entries
        check_shortening(self.shortened, self.outcome.verdict)
        self.database: DatabaseServer | None = None
        self._host = HOST if plan.nodes == 1 else NAME
        configs = [config]
        if plan.nodes > 1:
            self.database = DatabaseServer(clock, rng, plan.line_weather, self.outcome.counts)
            asyncpg.connect = self.database.connect
            configs = [self._config_of_node(config, number) for number in range(1, plan.nodes + 1)]
            self._network.route = self._route
        self.servers = [
            Server(each.node or "server", each, clock, self._network, disks, rng=rng, keeps_undo=plan.durable)
            for each in configs
        ]
        for server, drift in zip(self.servers, plan.drifts, strict=True):
            server.drift, server.longest_turn, server.late = drift, plan.longest_turn, plan.late_work
        self._taps_of: dict[int, Wiretap] = {}  # by the connections' numbers
        self._disturbing = Disturbing(
            plan,
            self.servers,
            self.database,
            self._network,
            _PLAYERS,
            outcome=self.outcome,
            woken=self._mark,
        )
        self._strangers_taps: list[Wiretap] = []
        self._known: set[str] = set()  # tables that the servers have had to the end ...
        self._left: dict[str, PersistentState] = {}  # ... and those in use, as they were in memory
        self._games: Games | None = None
        self._evening: list[EveningGuest] = []
        self._stroller: Stroller | None = None
        logging.basicConfig(handlers=[Log(clock, lambda: self.servers, self._check_log_line)], force=True)
        logging.getLogger().setLevel(logging.WARNING)
        for ours in ("server", "pages"):
            logging.getLogger(ours).setLevel(logging.INFO if plan.verbose else logging.WARNING)

    def run(self) -> Outcome:
        """Play everything to its end, and judge it."""
        gc.disable()
        verdict = self.outcome.verdict
        try:
            self._clock.run(begin(self._people, self._live()))
        except* Stuck as group:
            verdict.unfinished += [self._finding(str(each)) for each in _leaves(group)]
        except* NotStarted as group:
            verdict.lost += [self._finding(str(each)) for each in _leaves(group)]
        self.outcome.seconds = self._clock.now
        self.outcome.digest = self._trace.digest
        if verdict:
            self.outcome.excerpts = excerpts(verdict, self._trace.events)
        return self.outcome

    def circle(self) -> Circle:
        """Return what can look at what runs just now."""
        return Circle(self._clock, self._trace)

    def records_of(self, table: str) -> list[Path]:
        return [path for server in self.servers for path in records_in(server.records, table)]

    # -- living -----------------------------------------------------------------------------------------

    def _new_bot(self, name: str) -> Process:
        return Process(self._clock, self._network, name, f"10.0.3.{len(self._clock.processes)}", self._rng)

    def _tap(self, connection: NetworkConnection) -> None:
        host = connection.client_address[0]
        if host == self._browser.host:
            return
        (server,) = (each for each in self.servers if each.host == connection.server_address[0])
        tap = Wiretap(server.life, server.name, connection.number, self._trace.note)
        tap.address = host
        connection.sent = partial(self._by_the_worlds_clock, tap.feed)
        connection.received = partial(self._by_the_worlds_clock, tap.feed_request)
        if host == _EVENING:  # which is judged by its entries
            return
        self._taps_of[connection.number] = tap
        (self.taps if host != _STRANGER else self._strangers_taps).append(tap)
        self.outcome.counts["connections"] += 1

        def received(data: bytes) -> None:
            self._by_the_worlds_clock(tap.feed_request, data)
            self._disturbing.note_arrival(tap)

        connection.received = received

    def _by_the_worlds_clock(self, feed: Callable[[bytes], None], data: bytes) -> None:
        """Have a tap hear something at a time that is no single computer's."""
        running, self._clock.running = self._clock.running, None
        try:
            feed(data)
        finally:
            self._clock.running = running

    def _finding(self, text: str, table: str | None = None) -> Finding:
        """Return what is wrong just now."""
        return Finding(text, table, EPOCH + self._clock.now)

    # -- several nodes ----------------------------------------------------------------------------------

    def _config_of_node(self, config: Config, number: int) -> Config:
        folder = self._folder / f"node{number}"
        (folder / "data").mkdir(parents=True)
        return replace(
            config,
            host=f"10.0.0.{number}",
            data=folder / "data",
            records=folder / "records",
            database="postgresql://database/palatinus",
            evening=None,  # it comes from a file, as no server of several opens one
            node=f"node{number}",
            address=f"ws://{NAME}:{PORT + number}",
            lease_seconds=self._plan.lease,
        )

    def _route(self, address: tuple[str, int]) -> tuple[str, int]:
        """Return where an address of the nodes' common name leads: the first port to any of them."""
        host, port = address
        if host != NAME:
            return address
        if port > PORT:
            return self.servers[port - PORT - 1].host, PORT
        living = [server for server in self.servers if server.running is not None] or self.servers
        return self._rng.choice(living).host, PORT

    def _check_log_line(self, server: Server, line: str) -> None:
        """See to it that nodes give up their tables only if they have to."""
        if (lost := _LEASE_LOST.search(line)) is None or self.database is None:
            return
        if _SHORT_DOUBT in self._plan.constants:  # then a connection that is lost may be enough
            return
        warnings = (each.text for each in reversed(server.log[:-1]) if " INFO " not in each.text)
        if _IN_DOUBT.search(next(warnings, "")):
            return
        if self.database.has_no_fault(int(lost[1])):
            text = f"{server.name} gave up its tables while it had a lease"
            self.outcome.verdict.needless.append(self._finding(text))

    def _mark(self, server: Server) -> None:
        """Have the taps take note of how far a server that wakes just now had sent."""
        assert server.process is not None
        for number in server.process.transports:
            if (tap := self._taps_of.get(number)) is not None:
                tap.marks.append((tap.fed, EPOCH + self._clock.now))

    # -- playing ----------------------------------------------------------------------------------------

    async def _live(self) -> None:
        plan, outcome = self._plan, self.outcome
        way = await self._start()
        self._games = Games(
            plan.people,
            way,
            outcome,
            between_games=self._disturbing.at_rematch,
            new_process=self._new_bot,
        )
        rng = random.Random(f"{plan.seed} stranger")
        strange = Stranger(self._host, PORT, rng, outcome.counts, plan.password)
        others = []
        if "stranger" not in plan.people.without:
            others.append(begin(self._stranger, strange.break_rules()))
        if "browser" not in plan.people.without:
            others.append(begin(self._browser, self._browse()))
            others.append(begin(self._browser, self._play_on_pages()))
        evening = None
        if plan.evening is not None:
            evening = begin(self._guests, hold_evening(way, plan.seed, plan.evening.guests, outcome))
        async with asyncio.TaskGroup() as around:
            side = [around.create_task(self._disturbing.run())]
            if "stroller" not in plan.people.without:
                side.append(around.create_task(self._stroll(way)))
            if plan.evening is not None:
                side.append(around.create_task(self._lead_evening(plan.evening)))
            playing = around.create_task(self._games.play_all())
            watching = around.create_task(self._wait_while_moves_come(playing))
            await asyncio.wait((playing, watching), return_when=asyncio.FIRST_COMPLETED)
            if not playing.done():  # the verdict lists the games that have not ended
                playing.cancel()
            watching.cancel()
            if evening is not None:
                while not evening.done():  # it is another computer's
                    await asyncio.sleep(1.0)
                self._evening = evening.result()
            await self._disturbing.end()
            for task in side:
                task.cancel()
        for each in others:
            if each.done():
                each.result()
        self._stranger.end()
        self._browser.end()
        self._guests.end()
        await self._end()
        await self._judge()

    async def _start(self) -> Route:
        """Start the servers; return the way to them."""
        if self.database is not None and self._plan.evening is not None:
            await self._copy_evening(self.database, self._plan.evening.plan)
        async with asyncio.TaskGroup() as starting:
            for server in self.servers:
                starting.create_task(server.start())
        people = self._plan.people
        scale, url = min(1.0, people.longest_hold), f"ws://{self._host}:{PORT}"
        access = ServerAccess(password=self._plan.password)
        return Route(
            url,
            scale,
            people.talk,
            people.longest_absence,
            postbox=self.postbox,
            hold=self._hold,
            access=access,
        )

    async def _lead_evening(self, planned: PlannedEvening) -> None:
        """Do what the host of an evening does: draw a round at once, and close it some time."""
        rng, began = random.Random(f"{self._plan.seed} host of the evening"), self._clock.now
        while True:
            await asyncio.sleep(rng.uniform(5.0, 60.0))
            for server in self.servers:
                if server.running is None or server.process is None or server.process.paused:
                    continue
                if (evening := server.running.lobby.evenings.running) is None:
                    continue
                if planned.closed_after is not None and self._clock.now > began + planned.closed_after:
                    begin(server.process, _suppressing(evening.close()))
                elif planned.draws_now:
                    begin(server.process, _suppressing(_draw_now(evening)))

    async def _copy_evening(self, database: DatabaseServer, plan: EveningPlan) -> None:
        """Have an evening in the database that was begun elsewhere."""
        seed = hashlib.sha256(str(self._plan.seed).encode()).hexdigest() if plan.same_draws else None
        begun = EveningBegun(plan, seed, int(EPOCH))
        evening = Stored(EVENING, link_rows(EVENING, [(int(EPOCH), entry_text(begun))]), [begun])
        weather, database.weather = database.weather, Weather(torn=0.0, stalled=0.0)
        connection = await database.connect("", server_settings={"synchronous_commit": "on"})
        async with connection.transaction():
            await change(connection, operations.insert(Everything([evening])))
        connection.terminate()
        database.weather = weather

    async def _wait_while_moves_come(self, playing: "asyncio.Task[None]") -> None:
        """Return when nobody has moved for as long as the plan has patience, since the last fault."""
        counts, seen, since = self.outcome.counts, -1, 0.0
        while not playing.done():
            if counts["moves"] > seen or not self._disturbing.calm:
                seen, since = counts["moves"], self._clock.now
            if self._clock.now > since + self._plan.people.patience:
                return
            await asyncio.sleep(1.0)

    async def _stroll(self, way: Route) -> None:
        """Look at the list of tables while games are played."""
        self._stroller = Stroller(way, random.Random(f"{self._plan.seed} stroller"), self.outcome.counts)
        talkers = lobby_guests(self._stroller, str(self._plan.seed))
        try:
            async with asyncio.TaskGroup() as there:
                there.create_task(self._stroller.stroll())
                for talker in talkers:
                    there.create_task(talker.talk_on())
        finally:
            for visitor in (self._stroller, *talkers):
                await visitor.disconnect()

    async def _browse(self) -> None:
        rng = random.Random(f"{self._plan.seed} browser")
        async for table, seen in browse(
            f"{self.servers[0].host}:{PORT}", self._secret_wolves, rng, self.outcome.counts
        ):
            self.outcome.verdict.leaked.append(self._finding(seen, table))

    async def _play_on_pages(self) -> None:
        rng, address = random.Random(f"{self._plan.seed} page"), f"{self.servers[-1].host}:{PORT}"
        async for seen in play_on_pages(address, self._plan.password, rng, self.outcome.counts):
            self.outcome.verdict.leaked.append(self._finding(seen))

    def _secret_wolves(self) -> dict[str, bool]:
        """Return the tables in the server's memory, and whether wolves there are secrets."""
        running = self.servers[0].running
        if running is None:
            return {}
        return {
            code: table.state.game is not None and not table.state.game.over
            for code, table in running.lobby.tables.items()
        }

    def _hold(self, ports: tuple[int, int]) -> Callable[[], None]:
        for connection in reversed(self._network.connections.values()):
            if connection.client_address[1] == ports[0]:
                return connection.hold()
        return lambda: None

    async def _end(self) -> None:
        """Have the server write its records, and stop in order; nothing of anybody may be left in it."""
        counts, verdict = self.outcome.counts, self.outcome.verdict
        for server in self.servers:
            if self._rng.random() < 0.3 or not server.runs:
                if self.database is not None and server.running is not None:
                    # Perhaps it does not have them again before it stops.
                    self._known |= server.running.lobby.tables.keys()
                server.kill()
                counts["last kill"] += 1
                await server.start()
        if self._games is not None:
            await self._games.wait_for_records(self.records_of, _SECONDS_FOR_RECORDS)
        for server in self.servers:
            if server.running is not None and EVENING in server.running.lobby.tables:
                verdict.different.append(self._finding(f"the evening is a table of {server.name}"))
            verdict.unfinished += map(self._finding, await server.left_by_guests())
        await self._wait_for_leases()
        # A node whose lease ends while others stop gives up its tables, and may not have all of them again.
        running = [server.running for server in self.servers if server.running is not None]
        self._known |= {code for each in running for code in each.lobby.tables}
        for server in self.servers:
            lobby = None if server.running is None else server.running.lobby
            if lobby is not None:
                self._known |= {*lobby.tables, *lobby.journal.archived}
                self._left |= {code: table.state for code, table in lobby.tables.items()}
            if (wrong := await server.stop()) is not None:
                verdict.unfinished.append(self._finding(wrong))
            if lobby is not None:  # it may have taken up others
                self._known |= lobby.tables.keys()
            verdict.unfinished += map(self._finding, server.left)

    async def _wait_for_leases(self) -> None:
        """Wait until no node has lost its lease: its tables are nobody's meanwhile."""
        for _ in range(_SECONDS_FOR_LEASES):
            running = [server.running for server in self.servers if server.running is not None]
            if not any(each.lobby.journal.lapsed for each in running):
                return
            await asyncio.sleep(1.0)

    async def _journal(self) -> Kept:
        """Return all entries; raises JournalError."""
        if self.database is None:
            return await journal_in(self._folder / "data", self._plan.people.most_archived)
        self.database.weather = Weather(torn=0.0, stalled=0.0)
        connection = await self.database.connect("", server_settings={"synchronous_commit": "on"})
        return stored_in(await carry_out(connection, operations.everything()))

    # -- the verdict ------------------------------------------------------------------------------------

    async def _judge(self) -> None:
        counts, verdict = self.outcome.counts, self.outcome.verdict
        counts["writes undone by power cuts"] += sum(server.undone for server in self.servers)
        try:
            journal, evening = await self._journal()
        except JournalError as error:
            verdict.lost.append(Finding(str(error)))
            return
        verdict.invented += [
            Finding("it was closed, and is still in the journal", table)
            for table in sorted(journal.keys() - self._known)
        ]
        verdict.different += [
            Finding("it is stored otherwise than the server had it", table)
            for table, state in self._left.items()
            if table in journal and not is_what_is_stored(state, journal[table])
        ]
        if self._stroller is not None:
            # Nodes hear of each other's tables a moment later: what was public may still be in a list.
            late = self._stroller.way.once_public if self.database is not None else set()
            verdict.leaked += [
                Finding("it is private, and in the list", table)
                for table in self._stroller.found
                if table not in late
            ]
            private = self._stroller.way.private - self._stroller.way.once_public
            for tap in self.taps:
                check_online(tap, private, verdict)
        parties = [] if self._games is None else self._games.parties
        # By a clock that has jumped a day, the last start begins another evening in place of the one over.
        if self._evening and self.servers[0].wall_offset < _HALF_A_DAY:
            assert self._plan.evening is not None
            judge_evening(self._plan.evening, self._evening, evening, verdict)
            check_evening(self._evening, evening, journal, self.shortened, verdict)
        ownership = None if self.database is None else self.database.ownership()
        if ownership is not None:
            counts["tables that went to another node"] += ownership.changes
            counts["evenings that went to another node"] += ownership.changes_of(EVENING)
        kinds = {fault.kind for fault in self._plan.faults}
        judge = TablesJudge(
            self._plan.people,
            journal,
            ownership,
            self.shortened,
            self.records_of,
            self.outcome,
            self._plan.grace,
            stored=self.database is None and not kinds & {FaultKind.FULL_DISK, FaultKind.BAD_DISK},
        )
        judge.judge_all(parties, self.taps)
        tokens = {player.token for party in parties for player in party.everybody if player.token}
        check_spectators(self.taps, self._limits, verdict)
        check_guesses(self._strangers_taps, OTHER_TABLES, self._limits, verdict)
        self._judge_strangers({table for party in parties for table in party.tables}, tokens)
        self._judge_log(tokens)
        errors = [error for process in self._clock.processes for error in process.errors]
        verdict.different += [Finding(f"a client failed: {error}", at=at) for at, error in errors]

    def _judge_strangers(self, tables: set[str], tokens: set[str]) -> None:
        """Who has not come to a table is told nothing of it, and nobody's token.

        A table of their own, where strangers have a seat, may by chance have the code of one of these.
        """
        self.outcome.verdict.leaked += [
            tap.finding(f"a stranger was told {heard.message}", heard)
            for tap in self._strangers_taps
            for heard in tap.heard
            if (
                isinstance(heard.message, TableState)
                and heard.message.table in tables
                and (heard.seat is None or heard.table != heard.message.table)
            )
            or any(token.encode() in heard.frame for token in tokens)
        ]

    def _judge_log(self, tokens: set[str]) -> None:
        """Nothing was logged that the faults do not explain, and no secret."""
        verdict = self.outcome.verdict
        undelivered = self.outcome.counts["notices not delivered"]
        for server in self.servers:
            for line in server.log:
                found = Finding(f"the {server.name} logged: {line.text}", at=line.at)
                if undelivered and _UNDELIVERED in line.text:
                    undelivered -= 1
                elif not self._is_expected(server, line):
                    verdict.different.append(found)
                if NAMES_A_PIECE.search(line.text) or any(token in line.text for token in tokens):
                    verdict.leaked.append(found)
            failures = [Finding(f"the {server.name} failed: {error}", at=at) for at, error in server.errors]
            verdict.different += failures

    def _is_expected(self, server: Server, line: LogLine) -> bool:
        """Return whether a server may have logged a line; the lines to a database may fail at any time."""
        if self.database is not None and SAID_BY_NODES.search(line.text):
            return True
        return " INFO " in line.text or self._disturbing.excuses.explain(server.name, line)


async def _draw_now(evening: RunningEvening) -> None:
    evening.draw_now()


async def _suppressing(request: Coroutine[Any, Any, None]) -> None:
    """Do what the host asks for, unless that is refused now."""
    with contextlib.suppress(Refusal, JournalError):
        await request


def note_what_gives_way(tables: set[str]) -> None:
    """Have the archive add to `tables` which ones it chooses, whether or not they can be removed then."""
    displaced_by = ArchiveIndex.displaced_by

    def noted(self: ArchiveIndex, code: str, game: ArchivedGame, most: int) -> list[str]:
        chosen = displaced_by(self, code, game, most)
        tables.update(chosen)
        return chosen

    ArchiveIndex.displaced_by = noted  # type: ignore[method-assign]  # a process has one world


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error

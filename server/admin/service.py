"""What the host of a running server can see and do, and how each request is carried out."""

import asyncio
import contextlib
import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, get_args

from engine.events import Event, Placed, TileLaid
from engine.pieces import Seat
from protocol import admin
from protocol.codes import Code
from protocol.events import event_map
from protocol.messages import Announced, Stage
from server.admin.evening_service import EveningService
from server.admin.failures import FailureCode, failure
from server.admin.listener import Answer
from server.monitoring.logs import about
from server.net.session import Session
from server.parts import Running
from server.refusal import Refusal
from server.storage.names import is_table
from server.storage.owner import replayed_game
from server.storage.sqlite.journal_file import FILE_NAME
from server.tables.names import check_text
from server.tables.table import Table
from server.version import SERVER_NAME

log = logging.getLogger(__name__)

BACKUP_NAME: Final = "palatinus.backup.unfinished"
_TABLES_AT_ONCE: Final = 20  # read from the journal before moves have their turn


@dataclass(eq=False, repr=False)
class AdminService:
    """Carries out requests; raises AdminFailure, Refusal or JournalError for what cannot be done."""

    server: Running

    def __post_init__(self) -> None:
        self._journal, self._lobby = self.server.journal, self.server.lobby
        self._now = asyncio.get_running_loop().time
        self._started = self._now()
        self._node = "" if self._journal.node is None else self._journal.node.name
        self._evening = EveningService(self.server)
        self._backing_up = False
        if self.server.config.data is not None:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                (self.server.config.data / BACKUP_NAME).unlink()  # from a killed server

    async def do(self, request: admin.Request) -> Answer:
        """Carry out a request; return what to answer, and the file that follows, if one does."""
        match request:
            case admin.CopyJournal():
                copy, size, _ = await self._copy(exact=False)
                log.info("backed up", extra=about(bytes=size))
                return admin.CopyReport(size), copy
            case admin.CopyFiles():
                copy, size, listed = await self._copy(exact=True)
                return admin.SnapshotReport(listed, size), copy
            case admin.ShowStatus():
                return await self._status(), None
            case admin.ListLiveTables():
                return [self._table_report(table) for table in self._lobby.tables.values()], None
            case admin.ListClients():
                return [self._client_report(session) for session in self.server.clients], None
            case admin.ListStored():
                return await self._stored_tables(), None
            case admin.ShowGame(code):
                return await self._game(code), None
            case admin.AskNodes(asked, None):
                report, _ = await self.do(asked)
                return [admin.NodeAnswer("", "", report)], None
            case admin.AskNodes(_, node):
                raise failure(FailureCode.NO_SUCH_NODE, node=node)
            case admin.SendAnnouncement(text):
                check_text(text)
                self.server.clients.broadcast(Announced(text))
                log.warning("announced", extra=about(clients=len(self.server.clients)))
                return admin.ToldReport(len(self.server.clients)), None
            case admin.CloseTables(codes, reason):
                if reason is not None:
                    check_text(reason)
                for code in codes:
                    await self._lobby.registry.close(code, reason)
            case admin.RemovePlayer(code, seat):
                await self._remove(code, seat)
            case admin.RestoreTable(code):
                return await self._restore(code), None
            case admin.SetDrain(seconds):
                if seconds is None:
                    self.server.drain.cancel()
                else:
                    self.server.drain.begin(seconds)
                return admin.DrainReport(self.server.drain.seconds_left()), None
            case admin.SetLogLevel(level):
                logging.getLogger().setLevel(level.upper())
            case admin.Ban() | admin.LiftBan() | admin.ListBans():
                return await self._look_after_bans(request), None
            case _:
                return await self._evening.do(request), None
        return None, None

    # -- looking ------------------------------------------------------------------------------------

    async def _status(self) -> admin.StatusReport:
        storing = await self._journal.storing()
        tables = self._lobby.tables.values()
        stages = Counter(table.state.stage for table in tables)
        data = self.server.config.journal_folder
        journal = None if data is None else data / FILE_NAME
        return admin.StatusReport(
            SERVER_NAME,
            os.getpid(),
            int(self._now() - self._started),
            self.server.port,
            len(self.server.connections),
            sum(len(table.audience.seated) for table in tables),
            sum(len(table.audience.spectators) for table in tables),
            {stage: stages[stage] for stage in get_args(Stage)},
            len(self._journal.archived),
            len(self._journal.codes_set_aside),
            None if data is None else str(data.absolute()),
            None if journal is None else _size(journal),
            None if journal is None else _size(journal.with_name(f"{FILE_NAME}-wal")),
            not storing,
            self.server.drain.seconds_left(),
            logging.getLevelName(logging.getLogger().level).lower(),
            self._node,
        )

    def _table_report(self, table: Table) -> admin.TableReport:
        state = table.as_seen()
        seats = [
            admin.SeatReport(number, seat.name, seat.here, seat.bot or seat.level is not None)
            for number, seat in enumerate(state.seats)
        ]
        return admin.TableReport(
            table.code, state.stage, _moves(table), seats, state.spectators, table.seconds_unattended()
        )

    def _client_report(self, session: Session) -> admin.ClientReport:
        code = None if session.table is None else session.table.code
        name = None
        if code in self._lobby.tables and session.seat is not None:
            name = self._lobby.tables[code].state.names[session.seat]
        return admin.ClientReport(
            session.name, session.client, int(self._now() - session.since), code, session.seat, name
        )

    async def _stored_tables(self) -> list[admin.StoredReport]:
        """Return all tables, read in small parts: however many there are, moves have their turn."""
        found: dict[str, admin.StoredReport] = {}
        for codes in _parts([*self._journal.archived, *self._journal.codes_set_aside]):
            found |= {report.code: report for report in await self._journal.reports(codes)}
        for codes in _parts(list(self._lobby.tables)):
            times = await self._journal.times(codes)
            tables = [self._lobby.tables[code] for code in codes if code in self._lobby.tables]
            found |= {table.code: _live_report(table, *times.get(table.code, ())) for table in tables}
        return sorted(found.values(), key=lambda table: table.changed or 0, reverse=True)

    async def _game(self, code: str) -> admin.GameReport:
        times = await self._journal.times([code])
        if (table := self._lobby.tables.get(code)) is not None:
            report = _live_report(table, *times.get(code, ()))
            return admin.GameReport(report, list(map(event_map, _events(table))))
        entries = await self._journal.archived_entries(code) if code in self._journal.archived else []
        known = entries or code in self._journal.codes_set_aside
        if not (reports := await self._journal.reports([code]) if known else []):
            raise Refusal(Code.NO_SUCH_TABLE, table=code)
        return admin.GameReport(reports[0], list(map(event_map, replayed_game(entries))))

    # -- changing -----------------------------------------------------------------------------------

    async def _remove(self, code: str, seat: int) -> None:
        table = self._lobby.tables.get(code)
        if table is not None:
            table.state.check_seat(seat)
        if not await self._lobby.registry.table(code).remove_player(Seat(seat)):
            raise failure(FailureCode.SEAT_FREE, seat=seat, table=code)

    async def _look_after_bans(self, request: admin.Ban | admin.LiftBan | admin.ListBans) -> object:
        match request:
            case admin.Ban(kind, what):
                return await self._ban(kind, what)
            case admin.LiftBan(kind, what):
                await self._lift_ban(kind, what)
            case admin.ListBans():
                return list(self.server.bans)
        return None

    async def _ban(self, kind: admin.BanKind, what: str) -> admin.BannedReport:
        if len(self.server.bans) >= admin.MOST_BANS:
            raise failure(FailureCode.TOO_MANY_BANS, most=admin.MOST_BANS)
        try:
            ban = await self.server.bans.add(kind, what)
        except ValueError as error:
            raise failure(FailureCode.BAD_REQUEST, reason=error) from error
        if kind == "name":
            self._lobby.chat.put_out(ban.what)
        return admin.BannedReport(ban.what, self.server.connections.cut_banned())

    async def _lift_ban(self, kind: admin.BanKind, what: str) -> None:
        try:
            lifted = await self.server.bans.lift(kind, what)
        except ValueError as error:
            raise failure(FailureCode.BAD_REQUEST, reason=error) from error
        if not lifted:
            raise failure(FailureCode.NO_SUCH_BAN, what=what)

    async def _restore(self, code: str) -> admin.StoredReport:
        if not is_table(code):
            if not await self._lobby.evenings.restore_set_aside():
                raise failure(FailureCode.NOTHING_LEFT, table=code)
            return (await self._journal.reports([code]))[0]
        table = await self._lobby.registry.restore_damaged(code)
        if table is None:
            raise failure(FailureCode.NOTHING_LEFT, table=code)
        times = await self._journal.times([code])
        return _live_report(table, *times.get(code, ()))

    async def _copy(self, *, exact: bool) -> tuple[BinaryIO, int, bytes]:
        """Return a private copy of the journal, already removed, its size, and its commit list."""
        if self.server.config.data is None:
            raise failure(FailureCode.NOTHING_STORED)
        if self._backing_up:
            raise failure(FailureCode.BACKUP_RUNS)
        path = self.server.config.data / BACKUP_NAME
        self._backing_up = True
        try:
            path.unlink(missing_ok=True)
            listed = await self._journal.copy(path, exact=exact)
            copy: BinaryIO = path.open("rb")
        finally:
            self._backing_up = False
            with contextlib.suppress(OSError):  # on Windows an open file cannot be removed
                path.unlink(missing_ok=True)
        return copy, os.fstat(copy.fileno()).st_size, listed


def _events(table: Table) -> Sequence[Event]:
    return () if table.state.game is None else table.state.game.events


def _moves(table: Table) -> int:
    return sum(isinstance(event, Placed | TileLaid) for event in _events(table))


def _live_report(table: Table, opened: int | None = None, changed: int | None = None) -> admin.StoredReport:
    state = table.state
    return admin.StoredReport(
        table.code, state.stage, False, tuple(state.names), _moves(table), opened, changed
    )


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _parts(codes: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the codes in parts of a size that is read quickly."""
    for start in range(0, len(codes), _TABLES_AT_ONCE):
        yield codes[start : start + _TABLES_AT_ONCE]

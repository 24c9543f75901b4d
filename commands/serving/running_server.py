"""What commands ask a running server over its admin socket, or all servers that share a database."""

import argparse
import contextlib
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import msgspec
from msgspec.structs import replace

from client.language import CANNOT_WRITE, N_, WrongUse, _, using_file
from client.player.folders import data_folder
from commands.parsing import write_out
from engine.events import Event, WolvesRevealed
from engine.record import recorded
from hosting.errors import describe_host_error
from protocol import admin
from server.admin.client import ask, copy_bytes
from server.admin.endpoint import SOCKET_NAME, NoServer, connect_to
from server.admin.failures import AdminFailure, FailureCode
from server.errors import JournalError, JournalInUse
from server.storage.entries import whole_events
from server.storage.reasons import reason_of
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.data_folder import DataFolder
from server.storage.sqlite.journal_file import FILE_NAME, lock_folder

_UNFINISHED: Final = ".unfinished"

R = TypeVar("R")


def add_server(command: argparse.ArgumentParser, default: str | None) -> None:
    command.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        default=default,
        help=_("folder where the server keeps its games"),
    )
    command.add_argument(
        "--admin-socket",
        type=Path,
        metavar="FILE",
        default=default,
        help=_("where the server listens, if not in its data folder"),
    )


def data_of(arguments: argparse.Namespace) -> Path:
    return Path(arguments.data or data_folder())


def socket_of(arguments: argparse.Namespace) -> Path:
    return Path(arguments.admin_socket or data_of(arguments) / SOCKET_NAME)


def ask_server(
    path: Path, request: admin.Request, kind: type[R], rest: Callable[[R, BinaryIO], None] | None = None
) -> R:
    """Return the answer of the server that listens at `path`; `rest` reads what follows it.

    Raises HostError if the server is not there or does not do that, WrongUse if it cannot be asked.
    """
    with using_file(N_("cannot ask the server at {file}: {reason}"), path):
        return ask(path, request, kind, rest)


def runs(path: Path) -> bool:
    try:
        connect_to(path, seconds=10.0)[0].close()
    except (NoServer, OSError):
        return False
    return True


class ServedTables:
    """The tables of the server that listens at `path`, as a DataFolder; all raise like `ask_server`.

    Its data folder is `data`.
    """

    def __init__(self, path: Path, data: Path) -> None:
        self._path = path
        self._data = data

    def tables(self) -> list[admin.StoredReport]:
        return ask_server(self._path, admin.ListStored(), list[admin.StoredReport])

    def table(self, code: str) -> admin.StoredReport | None:
        """Return the table with this code, None if there is none."""
        return next((table for table in self.tables() if table.code == code), None)

    def game(self, code: str) -> tuple[Event, ...]:
        """Return all events of this table's game, hidden kinds included; none if it has not started."""
        return tuple(whole_events(self.with_game(code).events))

    def with_game(self, code: str) -> admin.GameReport:
        return ask_server(self._path, admin.ShowGame(code), admin.GameReport)

    def restore(self, code: str) -> int:
        """Put a damaged table back into play at its last whole move; return that move's number."""
        return ask_server(self._path, admin.RestoreTable(code), admin.StoredReport).moves

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[DataFolder]:
        """Yield what the server's disk holds, to be looked at closely without disturbing the server."""
        with tempfile.TemporaryDirectory(prefix="palatinus-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            file = folder / FILE_NAME
            report = ask_server(self._path, admin.CopyFiles(), admin.SnapshotReport, _writer_into(file))
            (folder / LIST_NAME).write_bytes(report.listed)
            with DataFolder(folder, kept=self._data) as opened:
                yield opened

    def remove(self, codes: Iterable[str]) -> None:
        """Remove all these tables for good; people who are there are told."""
        ask_server(self._path, admin.CloseTables(list(codes)), type(None))


def back_up(path: Path, file: Path) -> admin.CopyReport:
    """Write a copy of the server's journal into `file`, whole or not at all; raises WrongUse."""
    if file.name.endswith(_UNFINISHED):
        text = _(
            "{file} is reserved for unfinished backups, and the next backup would remove it: "
            "choose another name"
        )
        raise WrongUse(text.format(file=file))
    if _is_in_use(file):
        raise WrongUse(_("a server is using {file}: write the backup to another file").format(file=file))
    unfinished = file.with_name(f"{file.name}{_UNFINISHED}")
    try:
        report = ask_server(path, admin.CopyJournal(), admin.CopyReport, _writer_into(unfinished))
        _check_copy(unfinished)
        with using_file(CANNOT_WRITE, file):
            unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
    return report


def _is_in_use(file: Path) -> bool:
    """Return whether this is one of the files that a running server keeps its games in."""
    if file.name not in {FILE_NAME, f"{FILE_NAME}-wal", LIST_NAME}:
        return False
    if not file.parent.is_dir():  # to be told when the file is written
        return False
    try:
        with lock_folder(file.parent):
            return False
    except JournalError as error:
        return isinstance(error, JournalInUse)


def _writer_into(file: Path) -> Callable[[admin.CopyReport | admin.SnapshotReport, BinaryIO], None]:
    """Return what copies into a new file that only its owner may read: a journal holds hidden pieces."""

    def write(report: admin.CopyReport | admin.SnapshotReport, source: BinaryIO) -> None:
        with using_file(CANNOT_WRITE, file):
            file.unlink(missing_ok=True)
            opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(opened, "wb") as target:
            copy_bytes(source, target, report.size)
            target.flush()
            os.fsync(target.fileno())

    return write


def _check_copy(file: Path) -> None:
    """Raise WrongUse unless the copy is a sound database."""
    try:
        with contextlib.closing(
            sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        ) as copy:
            found = copy.execute("PRAGMA integrity_check").fetchone()[0]
    except sqlite3.Error as error:
        found = reason_of(error)
    if found != "ok":
        raise WrongUse(_("the copy is damaged: {reason}").format(reason=found))


@dataclass(frozen=True, slots=True)
class Gathered:
    """What several servers have answered, or why not, and the reports that are told of that."""

    nodes: Sequence[admin.NodeAnswer]
    reports: Any

    @property
    def failures(self) -> list[str]:
        return [describe_host_error(_failure(each.error)) for each in self.nodes if each.error is not None]


def add_node(command: argparse.ArgumentParser, default: str | None) -> None:
    command.add_argument(
        "--node",
        metavar="NAME",
        default=default,
        help=_("name of the server to ask, among those sharing the database"),
    )


def of_nodes(path: Path, request: admin.NodeRequest, kind: type[R], node: str | None) -> Gathered:
    """Return what the servers answer, or the one that is called `node`; raises what `ask_server` does."""
    nodes = [
        _convert_answer(answer, kind)
        for answer in ask_server(path, admin.AskNodes(request, node), list[admin.NodeAnswer])
    ]
    return Gathered(nodes, [each.ok for each in nodes if each.error is None])


def list_of_nodes(path: Path, request: admin.NodeRequest, kind: type[R], node: str | None) -> Gathered:
    """Return the lists that the servers answer as one of all, in which each item says where it is."""
    nodes = of_nodes(path, request, kind, node).nodes
    return Gathered(nodes, [replace(each, node=found.node) for found in nodes for each in found.ok or ()])


def of_node(path: Path, request: admin.NodeRequest, kind: type[R], node: str | None) -> R:
    """Return what the server at `path` answers, or the one called `node`; raises what `ask_server` does."""
    if node is None:
        return ask_server(path, request, kind)
    (found,) = of_nodes(path, request, kind, node).nodes
    if found.error is not None:
        raise _failure(found.error)
    report: R = found.ok
    return report


def _convert_answer(answer: admin.NodeAnswer, kind: type[R]) -> admin.NodeAnswer:
    """Return the answer with a report of this kind, or the failure of a server that speaks otherwise."""
    if answer.error is not None:
        return answer
    try:
        return replace(answer, ok=msgspec.convert(answer.ok, kind))
    except msgspec.ValidationError:
        code = FailureCode.NODE_OTHER_VERSION
        error = admin.FailureReport(code, code.text, {"node": answer.node})
        return replace(answer, ok=None, error=error)


def _failure(error: admin.FailureReport) -> AdminFailure:
    return AdminFailure(error.code, error.text, **error.about)


def add_record(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help=_("file to write, or - for standard output (default: CODE.txt, if it does not exist yet)"),
    )


def export_record(table: admin.StoredReport, events: Sequence[Event], file: str | None) -> Path | None:
    """Write the record of a table's game to `file`, `-` for standard output; None is CODE.txt, if it is new.

    Return the file that was written, if one was. Raises WrongUse.
    """
    if not events:
        raise WrongUse(_("the game at table {code} has not begun").format(code=table.code))
    out = file or f"{table.code}.txt"
    write_out(out, recorded(events, table.names), new=not file)
    if not any(isinstance(event, WolvesRevealed) for event in events):
        print(_("This game has no result: its record reveals all wolf pieces."), file=sys.stderr)
    return None if out == "-" else Path(out)

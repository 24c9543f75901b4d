"""`palatinus tables`: the games in a data folder or in a database."""

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import quote

from client.language import CANNOT_WRITE, N_, WrongUse, _, counted, using_file
from client.records import Recording
from client.ui.export.moment import as_text
from client.ui.export.tables import listing, progress, summary
from commands import parsing
from commands.serving import running_server
from commands.serving.running_server import ServedTables
from engine.record import recorded
from engine.view import SPECTATOR
from hosting.errors import describe_host_error
from protocol.admin import StoredReport
from salvage.repair import repair, salvage_tables
from server.errors import JournalInUse
from server.storage.names import EVENING, is_table
from server.storage.owner import CheckedTable, OwnersTables
from server.storage.sqlite.data_folder import DataFolder, make_folder
from server.storage.stored_tables import Condition
from server.version import install_command

_DAMAGE: Final = {
    Condition.SHORTER: N_("Table {code}: intact up to move {moves}. Missing entries after that: {missing}."),
    Condition.DAMAGED: N_("Table {code}: damaged after move {moves}. Damaged or missing entries: {missing}."),
    Condition.LOST: N_("Table {code}: lost. Missing entries: {missing}."),
}


def add_tables(tables: argparse.ArgumentParser) -> None:
    running_server.add_server(tables, default=None)
    actions = tables.add_subparsers(title=_("commands"), metavar=_("COMMAND"))
    tables.add_argument(
        "--database",
        metavar="URL",
        help=_("the PostgreSQL database that keeps the games, instead of a data folder"),
    )

    def add(name: str, run: Callable[[argparse.Namespace], int], meaning: str, codes: str = "") -> Any:
        """Add an action; `codes` is how many codes it takes: none, 1, + or *."""
        action = parsing.add_command(actions, name, meaning, run)
        if codes == "1":
            action.add_argument("code", type=_stored_name, metavar="CODE", help=_("a table's code"))
        elif codes:
            meaning = _("a table's code (default: all)") if codes == "*" else _("a table's code")
            action.add_argument("codes", type=_stored_name, nargs=codes, metavar="CODE", help=meaning)
        action.add_argument(
            "--database",
            metavar="URL",
            default=argparse.SUPPRESS,
            help=_("the PostgreSQL database that keeps the games, instead of a data folder"),
        )
        # An option before the action counts as well.
        running_server.add_server(action, default=argparse.SUPPRESS)
        return action

    add("list", run_tables, _("list all tables (the default)"))
    show = add("show", _show_table, _("show one table"), "1")
    show.add_argument(
        "--open", action="store_true", help=_("reveal the wolf pieces of a game without a result")
    )
    parsing.add_ascii(show)
    running_server.add_record(add("export", _export_table, _("write a game's record"), "1"))
    removal = add("remove", _remove_tables, _("remove tables for good"), "+")
    removal.add_argument("--yes", action="store_true", help=_("do not ask for confirmation"))
    add("check", _check_tables, _("check every table and report which are intact"))
    salvage = add(
        "salvage",
        _salvage_tables,
        _("write a damaged journal again from what can be read, or the records of its games"),
        "*",
    )
    salvage.add_argument(
        "--to",
        type=Path,
        metavar="FOLDER",
        help=_("write only the records of all games to this folder; existing files are not overwritten"),
    )
    add("restore", _restore_table, _("put a damaged table back into play at its last intact move"), "1")
    copying = add("copy", _copy_tables, _("copy all games to a database, or back"))
    copying.add_argument(
        "--back",
        action="store_true",
        help=_("copy from the database into a new data folder, instead of into the database"),
    )


@contextlib.contextmanager
def _open_tables(arguments: argparse.Namespace) -> Iterator[OwnersTables | ServedTables]:
    """Open the database or the data folder, or ask the server that is using that folder.

    Raises WrongUse if that fails.
    """
    data, path = running_server.data_of(arguments), running_server.socket_of(arguments)
    try:
        if arguments.database is not None:
            yield _database_module().DatabaseTables(arguments.database)
        elif running_server.runs(path):
            yield ServedTables(path, data)
        else:
            with DataFolder(data) as folder:
                yield folder
    except JournalInUse as error:
        text = _("{reason}. If the server listens somewhere else, name its socket with --admin-socket")
        raise WrongUse(text.format(reason=describe_host_error(error))) from error


@contextlib.contextmanager
def _open_closely(arguments: argparse.Namespace) -> Iterator[OwnersTables]:
    """Open it, or a copy from the server that is using it; raises WrongUse if that fails."""
    with _open_tables(arguments) as folder, contextlib.ExitStack() as copy:
        yield copy.enter_context(folder.snapshot()) if isinstance(folder, ServedTables) else folder


def _database_module() -> ModuleType:
    """Return the module for tables in a database; raises WrongUse without the package that it needs."""
    if find_spec("asyncpg") is None:
        text = _("--database needs the package {package}: install it with {command}")
        raise WrongUse(text.format(package="asyncpg", command=install_command("cluster")))
    from server.storage.postgresql import database_tables

    return database_tables


def _stored_name(text: str) -> str:
    return EVENING if text.lower() == EVENING else text.upper()


def _find_table(folder: OwnersTables | ServedTables, code: str) -> StoredReport:
    if (table := folder.table(code)) is None:
        raise WrongUse(_("there is no table {code}").format(code=code))
    return table


def _copy_tables(arguments: argparse.Namespace) -> int:
    """Copy everything from a data folder to a database, or back, and say how much that was."""
    if arguments.database is None:
        raise WrongUse(_("name the database with --database"))
    database, data = _database_module(), running_server.data_of(arguments)
    if arguments.back:
        content = database.DatabaseTables(arguments.database).everything(alone=True)
        if damaged := content.damaged:
            text = _("these tables are damaged: {codes}. Start the server once: it will set them aside")
            raise WrongUse(text.format(codes=", ".join(damaged)))
        make_folder(data, content)
    else:
        with DataFolder(data) as folder:
            content = folder.everything()
            database.fill_database(arguments.database, content)
    copied = sum(is_table(table.code) for table in content.tables)
    print(counted("{n} table was copied.", "{n} tables were copied.", copied).format(n=copied))
    return 0


def run_tables(arguments: argparse.Namespace) -> int:
    with _open_tables(arguments) as folder:
        parsing.print_lines(listing(folder.tables()))
    return 0


def _show_table(arguments: argparse.Namespace) -> int:
    with _open_tables(arguments) as folder:
        table = _find_table(folder, arguments.code)
        events = folder.game(table.code)
    parsing.print_lines(summary(table))
    if events:
        recording = Recording.of(events, dict(enumerate(table.names)))
        eyes = recording.all_eyes if arguments.open or recording.over else SPECTATOR
        print(progress(recording, eyes))
        print(as_text(recording, recording.end, eyes, ascii_only=parsing.prints_ascii(arguments)), end="")
    return 0


def _export_table(arguments: argparse.Namespace) -> int:
    with _open_tables(arguments) as folder:
        table = _find_table(folder, arguments.code)
        if table.damaged:
            text = _("table {code} is damaged. Recover what is intact with palatinus tables salvage")
            raise WrongUse(text.format(code=table.code))
        events = folder.game(table.code)
    running_server.export_record(table, events, arguments.file)
    return 0


def _remove_tables(arguments: argparse.Namespace) -> int:
    with _open_tables(arguments) as folder:
        codes = list(dict.fromkeys(arguments.codes))
        tables = [_find_table(folder, code) for code in codes]
        if not arguments.yes:
            form = counted("Remove {n} table for good?", "Remove {n} tables for good?", len(tables))
            if not parsing.confirm(listing(tables), form.format(n=len(tables))):
                return 1
        folder.remove(codes)
    return 0


def _check_tables(arguments: argparse.Namespace) -> int:
    """Print what is intact and what is damaged; return 1 if anything is."""
    with _open_closely(arguments) as tables:
        found = tables.check()
    reasons = map(describe_host_error, found.faults)
    parsing.print_lines(_("Damaged: {reason}.").format(reason=reason) for reason in reasons)
    parsing.print_lines(_check_lines(found.tables))
    return 0 if found.whole else 1


def _salvage_tables(arguments: argparse.Namespace) -> int:
    """Write the journal again, or the records of all games that can be had.

    Return 1 if any of these is incomplete, or none was found.
    """
    codes = arguments.codes
    if arguments.to is None:
        return _repair_journal(arguments)
    with _open_closely(arguments) as tables:
        if isinstance(tables, DataFolder):
            found = salvage_tables(tables.data, tables.kept, codes)
        else:
            found = _database_module().DatabaseTables.salvage(tables, codes)
    if missing := [code for code in codes if code not in {game.code for game in found}]:
        raise WrongUse(_("no trace of table {code} was found").format(code=", ".join(missing)))
    if not found:
        print(_("No game was found."))
        return 1
    for game in found:
        # A stranger's journal may have any code, such as one that leads out of the folder.
        path = arguments.to / f"{quote(game.code, safe='', errors='replace')}.txt"
        if game.events:
            with using_file(CANNOT_WRITE, path):
                path.parent.mkdir(parents=True, exist_ok=True)
                parsing.write_out(str(path), recorded(game.events, game.names), new=True)
        parsing.print_lines([_salvage_line(game, str(path))])
    print(_("The records of running games reveal all wolf pieces."), file=sys.stderr)
    return 0 if all(game.condition is Condition.WHOLE for game in found) else 1


def _repair_journal(arguments: argparse.Namespace) -> int:
    """Write a damaged journal again from what can be had of it, and say what that is."""
    if arguments.codes or arguments.database is not None:
        raise WrongUse(_("name the folder for the records with --to"))
    with _open_tables(arguments) as tables:
        if not isinstance(tables, DataFolder):
            text = _("a server is using {folder}. Stop it first, or only write records with --to")
            raise WrongUse(text.format(folder=running_server.data_of(arguments)))
        findings, kept = repair(tables.data)
    parsing.print_lines(_check_lines(list(map(CheckedTable.of, findings.tables))))
    if kept is not None:
        print(_("The journal was written again. The earlier files are kept: {file}.").format(file=kept))
    return 0


def _restore_table(arguments: argparse.Namespace) -> int:
    with _open_tables(arguments) as folder:
        table = _find_table(folder, arguments.code)
        if not table.damaged:
            raise WrongUse(_("table {code} is not damaged").format(code=table.code))
        if table.lost:
            text = _("table {code} is lost. Look for it in the copies with palatinus tables salvage")
            raise WrongUse(text.format(code=table.code))
        moves = folder.restore(table.code)
    if is_table(table.code):
        print(_("Table {code} continues after move {moves}.").format(code=table.code, moves=moves))
    else:
        print(_("The evening continues."))
    return 0


def _check_lines(tables: Sequence[CheckedTable]) -> list[str]:
    """Return what is wrong with each damaged table, or the evening, and how many tables are intact."""
    lines = [_damage_line(table) for table in tables if table.condition is not Condition.WHOLE]
    whole = sum(table.condition is Condition.WHOLE and is_table(table.code) for table in tables)
    return [*lines, counted("{n} table is intact.", "{n} tables are intact.", whole).format(n=whole)]


def _damage_line(table: CheckedTable) -> str:
    if not is_table(table.code):
        text = _("The evening is damaged. Damaged or missing entries: {missing}.")
        return text.format(missing=table.missing)
    return _(_DAMAGE[table.condition]).format(code=table.code, moves=table.moves, missing=table.missing)


def _salvage_line(game: CheckedTable, file: str) -> str:
    if not game.events:
        return _("Table {code}: no game.").format(code=game.code)
    text = (
        _("Table {code}: complete up to move {moves}, in {file}.")
        if game.condition is Condition.WHOLE
        else _("Table {code}: only up to move {moves}, in {file}.")
    )
    return text.format(code=game.code, moves=game.moves, file=file)

"""`palatinus tables copy`: all games from a data folder to a database, or back."""

import argparse
import contextlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from client.language import _, counted
from commands.arguments import data_folder
from commands.parsing import WrongUse, describe_host_error
from server.errors import JournalError
from server.storage.postgresql.database_tables import DatabaseTables
from server.storage.sqlite.data_folder import DataFolder, make_folder
from server.version import install_command


def copy_tables(arguments: argparse.Namespace) -> int:
    """Copy everything, and say how much that was; raises WrongUse."""
    try:
        number = _copied_back(arguments) if arguments.back else _copied(arguments)
    except JournalError as error:
        raise WrongUse(describe_host_error(error)) from error
    print(counted("{n} table was copied.", "{n} tables were copied.", number).format(n=number))
    return 0


@contextlib.contextmanager
def database_tables(url: str) -> Iterator[DatabaseTables]:
    """Yield what is in a database; whatever fails raises WrongUse."""
    _need_asyncpg()
    from server.storage.postgresql.database_tables import DatabaseTables

    try:
        yield DatabaseTables(url)
    except JournalError as error:
        raise WrongUse(describe_host_error(error)) from error


def _copied(arguments: argparse.Namespace) -> int:
    _need_asyncpg()
    from server.storage.postgresql.database_tables import fill_database

    with DataFolder(Path(arguments.data or data_folder())) as folder:
        house = folder.house()
        fill_database(arguments.database, house)
    return len(house)


def _copied_back(arguments: argparse.Namespace) -> int:
    _need_asyncpg()
    from server.storage.postgresql.database_tables import house_in

    house = house_in(arguments.database, alone=True)
    if damaged := house.damaged:
        raise JournalError(
            "these tables are damaged: {codes}. Start the server once: it will set them aside",
            codes=", ".join(damaged),
        )
    make_folder(Path(arguments.data or data_folder()), house)
    return len(house)


def _need_asyncpg() -> None:
    if find_spec("asyncpg") is None:
        text = _("--database needs the package {package}: install it with {command}")
        raise WrongUse(text.format(package="asyncpg", command=install_command("cluster")))

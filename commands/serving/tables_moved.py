"""`palatinus tables copy`: all games from a data folder to a database, or back."""

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from client.language import _, counted
from commands.parsing import WrongUse, data_folder, describe_host_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.storage.postgresql.database_tables import DatabaseTables


def copy_tables(arguments: argparse.Namespace) -> int:
    """Copy everything, and say how much that was; raises WrongUse."""
    from server.errors import JournalError

    try:
        number = _copied_back(arguments) if arguments.back else _copied(arguments)
    except JournalError as error:
        raise WrongUse(describe_host_error(error)) from error
    print(counted("{n} table was copied.", "{n} tables were copied.", number).format(n=number))
    return 0


@contextlib.contextmanager
def database_tables(url: str) -> "Iterator[DatabaseTables]":
    """Yield what is in a database; whatever fails raises WrongUse."""
    from server.errors import JournalError

    _need_asyncpg()
    from server.storage.postgresql.database_tables import DatabaseTables

    try:
        yield DatabaseTables(url)
    except JournalError as error:
        raise WrongUse(describe_host_error(error)) from error


def _copied(arguments: argparse.Namespace) -> int:
    _need_asyncpg()
    from server.storage.postgresql.database_tables import fill_database
    from server.storage.sqlite.data_folder import DataFolder

    with DataFolder(Path(arguments.data or data_folder())) as folder:
        house = folder.house()
        fill_database(arguments.database, house)
    return len(house)


def _copied_back(arguments: argparse.Namespace) -> int:
    _need_asyncpg()
    from server.errors import JournalError
    from server.storage.postgresql.database_tables import house_in
    from server.storage.sqlite.new_folder import make_folder

    house = house_in(arguments.database, alone=True)
    if damaged := house.damaged:
        raise JournalError(
            "these tables are damaged: {codes}. Start the server once: it will set them aside",
            codes=", ".join(damaged),
        )
    make_folder(Path(arguments.data or data_folder()), house)
    return len(house)


def _need_asyncpg() -> None:
    from importlib.util import find_spec

    if find_spec("asyncpg") is None:
        from server.version import install_command

        text = _("--database needs the package {package}: install it with {command}")
        raise WrongUse(text.format(package="asyncpg", command=install_command("cluster")))

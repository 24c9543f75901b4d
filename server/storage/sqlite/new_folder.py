"""A data folder made of tables from elsewhere."""

import sqlite3
from contextlib import closing
from pathlib import Path

from server.errors import JournalError
from server.storage.house import House
from server.storage.sqlite.journal_file import FILE_NAME, locked, opened, unusable
from server.storage.sqlite.ledger import Ledger
from server.storage.sqlite.tables_in_file import insert, insert_archived, insert_set_aside


def make_folder(data: Path, house: House) -> None:
    """Store all tables in a folder that has no journal; raises JournalError."""
    path = data / FILE_NAME
    with closing(locked(data)):
        if any(data.glob(f"{FILE_NAME}*")):
            raise JournalError("there is a journal in {folder} already. Choose another --data", folder=data)
        try:
            with closing(opened(path)) as database:
                with database:
                    _insert(database, house)
                Ledger(database, data).close()
        except (OSError, sqlite3.Error) as error:
            for made in data.glob(f"{FILE_NAME}*"):
                made.unlink(missing_ok=True)
            raise unusable(path, error) from error


def _insert(database: sqlite3.Connection, house: House) -> None:
    for table in house.in_use:
        insert(database, table.code, table.rows, commit=1)
    for archived, game in house.archived:
        insert_archived(database, archived, game)
    for aside in house.set_aside:
        insert_set_aside(database, aside)
    database.executemany("INSERT INTO record_due (code, ended) VALUES (?, ?)", house.records_due)
    database.execute("UPDATE journal SET commits = 1")

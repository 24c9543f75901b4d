"""A table that cannot go on, whatever is stored of it, is set aside; nobody else notices."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocol.codes import CloseCode, Code
from protocol.messages import JoinTable, OpenTable
from server.app import running
from server.config import Config
from server.storage.entries import Entry, Opened, Taken
from server.storage.postgresql.journal import PostgresJournal
from server.storage.sqlite.journal import SqliteJournal
from server.tables import lobby, shared_tables
from server.tables.absence.deadlines import Unattended
from server.tables.table import Table
from tests.server.cluster.running_cluster import cluster
from tests.server.peer import connected, eventually
from tests.server.storage.conformance.stores import journal_at, rows
from tests.server.storage.test_reasons import logged

ENTRIES: list[Entry] = [Opened(2, random_layout=True, starting=None), Taken(0, "Anna", "0" * 64)]


class Unfit(Table):
    """A table that fails with a state that nobody has thought of, when it has begun."""

    def summary(self) -> Any:
        if self.code == "ODDS":
            self._context.deadlines.set(Unattended(), 0)
            raise ZeroDivisionError("Em*")
        return super().summary()


@pytest.fixture
def unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lobby, "Table", Unfit)


async def refusal(port: int, code: str) -> str:
    """Return why somebody cannot join a table."""
    async with connected(port) as peer:
        return (await peer.refused(JoinTable(1, code, "Bruno"))).code


@pytest.mark.usefixtures("unfit")
async def test_a_start_sets_aside_what_cannot_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The log says which table, and holds nothing of it; nothing that it has begun goes on."""
    journal = SqliteJournal(tmp_path)
    for code in ("WELL", "ODDS", "FINE"):
        await journal.append(code, 0, ENTRIES)
    await journal.close()
    async with running(Config(data=tmp_path)) as server:
        assert sorted(server.lobby.tables) == ["FINE", "WELL"]
        assert await refusal(server.port, "ODDS") == Code.TABLE_DAMAGED
    log = logged(caplog)
    assert 'aside: table=ODDS entries=2 reason="it cannot go on: ZeroDivisionError"' in log
    assert "Em*" not in log


@pytest.mark.usefixtures("unfit")
async def test_a_server_sets_aside_what_it_takes_up_and_cannot_go_on(database: str) -> None:
    """It goes on, and so do the tables that come along; a table without entries is damaged as well."""
    async with cluster(database, "one") as (one,):
        async with journal_at(database, "gone") as journal:
            for code in ("WELL", "ODDS", "FINE"):
                await journal.append(code, 0, ENTRIES)
            await rows(database, "INSERT INTO game_table (code) VALUES ('NONE') RETURNING code")
        await eventually(lambda: sorted(one.lobby.tables) == ["FINE", "WELL"])
        await eventually(lambda: {"NONE", "ODDS"} <= set(one.lobby._journal.codes_set_aside))
        assert [await refusal(one.port, code) for code in ("ODDS", "NONE")] == [Code.TABLE_DAMAGED] * 2


async def lose_the_lease_after(
    patch: pytest.MonkeyPatch, journal: PostgresJournal, owner: object, name: str
) -> None:
    """Let the lease be lost once, just when something has been done."""
    work: Callable[..., Any] = getattr(owner, name)

    async def done(*args: Any) -> Any:
        result = await work(*args)
        patch.undo()
        journal._lease._fenced()
        return result

    patch.setattr(owner, name, done)


async def test_a_table_opened_just_when_the_lease_is_lost_is_not_here(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody learns of it, and it goes on where it is taken up: here, under the next lease."""
    async with cluster(database, "one") as (one,), connected(one.port) as peer:
        journal = one.lobby._journal
        assert isinstance(journal, PostgresJournal)
        await lose_the_lease_after(monkeypatch, journal, journal, "append_together")
        await peer.send(OpenTable(1, 2, "Anna"))
        assert (await peer.closed())[0] == CloseCode.SERVICE_RESTART
        await eventually(lambda: bool(one.lobby.tables))
        assert all(journal.holds(code) for code in one.lobby.tables)


async def test_a_table_taken_up_just_when_the_lease_is_lost_is_not_here(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is taken up again, by whoever comes first."""
    async with cluster(database, "one") as (one,):
        journal = one.lobby._journal
        assert isinstance(journal, PostgresJournal)
        begun: list[str] = []
        new_table = one.lobby.registry._new_table

        def noted(code: str, state: Any) -> Table:
            assert journal.holds(code)
            begun.append(code)
            return new_table(code, state)

        one.lobby.registry._new_table = noted
        await lose_the_lease_after(monkeypatch, journal, shared_tables, "folded")
        async with journal_at(database, "gone") as gone:
            await gone.append("ONCE", 0, ENTRIES)
        await eventually(lambda: list(one.lobby.tables) == ["ONCE"])
        await asyncio.sleep(0)
        assert begun == ["ONCE"]

"""A journal from before peoples could be chosen: its tables are the same, to the last event."""

from collections import defaultdict
from pathlib import Path

from engine.record import recorded
from protocol.messages import TableState
from server.app import running
from server.config import Config
from server.storage.entries import Entry, entry_of, entry_text
from server.storage.sqlite.journal import SqliteJournal
from tests.server.peer import connected

KEPT = Path(__file__).parent / "kept"
LINES = [line.split(" ", 1) for line in (KEPT / "journal.txt").read_text(encoding="utf-8").splitlines()]


def test_entries_are_written_as_before() -> None:
    for _, text in LINES:
        assert entry_text(entry_of(text)) == text


async def test_its_tables_are_the_same(tmp_path: Path) -> None:
    """A running game, a finished one and its rematch, and one whose players are still gathering."""
    tables = defaultdict[str, list[Entry]](list)
    for code, text in LINES:
        tables[code].append(entry_of(text))
    journal = SqliteJournal(tmp_path)
    for code, entries in tables.items():
        await journal.append(code, 0, entries)
    await journal.close()
    async with running(Config(data=tmp_path)) as server:
        states = {code: table.state for code, table in server.lobby.tables.items()}
        assert set(states) == {"GAME", "OVER", "NEXT", "SEAT"}
        for code in ("GAME", "OVER"):
            game = states[code].game
            assert game is not None
            kept = (KEPT / f"{code}.txt").read_text(encoding="utf-8")
            assert recorded(game.events, states[code].names) == kept
        assert [player and player.kept for player in states["NEXT"].players] == [True, False]
        seats = states["SEAT"]
        assert seats.names == ["Player 1", "Player 0", "Player 3", "Player 2"]
        assert (seats.host, seats.options.starting, seats.title, seats.ready) == (1, 2, "Friday", set())
        assert "".join(seats.peoples) == "ESLM"
        async with connected(server.port) as spectator:
            await spectator.watch("SEAT")
            state = await spectator.until(TableState)
            assert [(each.people, each.chosen) for each in state.seats] == [(each, False) for each in "ESLM"]

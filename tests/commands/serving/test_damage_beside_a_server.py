"""`palatinus tables` looks at damage beside a running server, and mends it: real processes and files."""

import asyncio
import contextlib
import random
import re
import sqlite3
from pathlib import Path

import pytest

from engine.record import replayed
from protocol.codes import Code
from protocol.messages import Resume
from server.storage.sqlite.journal_file import FILE_NAME
from tests.program import ran
from tests.server.peer import Peer, connected, full_table, game, play_on
from tests.server.process import serving


async def tables(data: Path, *words: str | Path, code: int = 0) -> tuple[str, str]:
    """Return what `palatinus tables` prints, and its errors; it must exit with `code`."""
    found, out, err = await ran("tables", "--data", data, *words)
    assert found == code, (out, err)
    return out, err


async def stopped_with_three_games(data: Path) -> tuple[list[Peer], list[Peer], list[Peer]]:
    """Return the players of three games, after 9, 7 and 5 moves, whose server has stopped."""
    async with (
        serving("--data", str(data)) as server,
        game(server.port, 2) as first,
        game(server.port, 3) as second,
        game(server.port, 2) as third,
    ):
        for peers, moves in ((first, 9), (second, 7), (third, 5)):
            await play_on(peers, random.Random(moves), moves=moves)
        server.process.terminate()
        assert (await server.ended())[0] == 0
    return first, second, third


def damage(data: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(data / FILE_NAME)) as database, database:
        for statement in statements:
            database.execute(statement)


def last_but_one_changed(code: str) -> str:
    return (
        f"UPDATE entry SET body = replace(body, '0', '1') WHERE code = '{code}' AND number ="  # noqa: S608
        f" (SELECT max(number) - 1 FROM entry WHERE code = '{code}')"
    )


async def test_damaged_tables_are_told_salvaged_restored_and_removed(tmp_path: Path) -> None:
    """The others play on, and the players of the restored table come back to their seats."""
    data = tmp_path / "data"
    (damaged, lost, whole) = await stopped_with_three_games(data)
    code, gone, other = damaged[0].code, lost[0].code, whole[0].code
    damage(data, last_but_one_changed(code), f"DELETE FROM entry WHERE code = '{gone}'")  # noqa: S608
    async with serving("--data", str(data)) as server, connected(server.port) as peer:
        rows = {row[:4]: re.split("  +", row) for row in (await tables(data))[0].splitlines()[1:]}
        assert rows[code][1:3] == ["playing, damaged", "7"]
        assert rows[code][5] == "Player 0, Player 1"
        assert rows[gone][1:3] == ["lost", "0"]
        assert rows[other][1:3] == ["playing", "5"]
        out, _ = await tables(data, "check", code=1)
        assert re.search(
            f"^Table {code}: damaged after move 7. Damaged or missing entries: 2.$", out, re.MULTILINE
        )
        assert re.search(f"^Table {gone}: lost.", out, re.MULTILINE)
        assert out.endswith("\n1 table is intact.\n")
        assert (await tables(data, "show", gone))[0].splitlines()[0] == f"Table {gone}: lost"
        assert "palatinus tables salvage" in (await tables(data, "export", code, "-", code=2))[1]
        out, _ = await tables(data, "salvage", "--to", tmp_path / "out", code=1)
        assert f"Table {code}: only up to move 7, in " in out
        assert f"Table {other}: complete up to move 5, in " in out
        for saved in (code, other):
            assert not replayed((tmp_path / "out" / f"{saved}.txt").read_text(encoding="utf-8")).over
        assert "is lost" in (await tables(data, "restore", gone, code=2))[1]
        assert "is not damaged" in (await tables(data, "restore", other, code=2))[1]
        refused = await peer.refused(Resume(peer.next_id(), code, damaged[0].token))
        assert refused.code == Code.TABLE_DAMAGED
        assert await tables(data, "restore", code) == (f"Table {code} goes on after move 7.\n", "")
        await peer.resume(code, damaged[0].token)
        assert len((await peer.news()).placed) == 7  # type: ignore[union-attr]
        assert await tables(data, "remove", gone, "--yes") == ("", "")
        assert "no table" in (await tables(data, "show", gone, code=2))[1]
        assert await tables(data, "check") == ("2 tables are intact.\n", "")
        server.process.terminate()
        _, _, err = await server.ended()
    assert f"damaged table restored by the host: table={code}" in err
    assert f"damaged table removed by the host: table={gone}" in err
    assert await tables(data, "check") == ("2 tables are intact.\n", "")


async def test_damage_on_the_disk_of_a_running_server_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the server remembers what was on the disk; the look leaves nothing behind."""
    data, temporary = tmp_path / "data", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    changed, _, other = await stopped_with_three_games(data)
    async with serving("--data", str(data)) as server, connected(server.port) as peer:
        assert await tables(data, "check") == ("3 tables are intact.\n", "")
        content = (data / FILE_NAME).read_bytes()
        places = [found.start() for found in re.finditer(rb'"t":"placed"', content)]
        with (data / FILE_NAME).open("r+b") as file:
            for place in places:
                if content.rfind(changed[0].code.encode(), place - 120, place) >= 0:
                    file.seek(place + 5)
                    file.write(b"q")
        out, err = await tables(data, "check", code=1)
        assert err == ""
        assert re.search(rf"^Table {changed[0].code}: damaged after move \d\.", out, re.MULTILINE)
        assert out.endswith("\n2 tables are intact.\n")
        out, _ = await tables(data, "salvage", changed[0].code, "--to", tmp_path / "out", code=1)
        assert f"Table {changed[0].code}: only up to move" in out
        await peer.resume(other[0].code, other[0].token)
        await peer.news()
        assert not list(temporary.iterdir())
        assert not list(data.glob("*.unfinished"))


@pytest.mark.slow
async def test_a_check_while_games_go_on_finds_them_whole(tmp_path: Path) -> None:
    """Whatever is stored in the meantime: journal and commit list are looked at as of one moment."""
    data = tmp_path / "data"
    async with serving("--data", str(data), "--tables-per-minute", "9999") as server:
        playing = True

        async def play(seed: int) -> None:
            chooser = random.Random(seed)
            while playing:
                async with game(server.port, 2) as peers:
                    await play_on(peers, chooser)

        async with asyncio.TaskGroup() as tasks:
            for seed in range(3):
                tasks.create_task(play(seed))
            for _ in range(3):
                out, _ = await tables(data, "check")
                assert re.fullmatch(r"\d+ tables? (is|are) intact\.\n", out)
            playing = False


@pytest.mark.slow
async def test_a_table_comes_back_only_if_there_is_room(tmp_path: Path) -> None:
    """The host learns why not, and the table stays where it is kept."""
    data = tmp_path / "data"
    damaged, _, _ = await stopped_with_three_games(data)
    code = damaged[0].code
    damage(data, last_but_one_changed(code))
    async with serving("--data", str(data), "--max-tables", "2") as server:
        async with full_table(server.port, 2), full_table(server.port, 2):
            assert "too many tables" in (await tables(data, "restore", code, code=2))[1]
            assert re.search(rf"{code} +playing, damaged", (await tables(data))[0])
        assert await tables(data, "restore", code) == (f"Table {code} goes on after move 7.\n", "")


async def test_a_journal_that_is_gone_is_not_made_anew_by_a_check(tmp_path: Path) -> None:
    """The server says what became of it."""
    data = tmp_path / "data"
    async with serving("--data", str(data)):
        (data / FILE_NAME).rename(tmp_path / "elsewhere")
        _, err = await tables(data, "check", code=2)
        assert "it was deleted or moved" in err
        assert not (data / FILE_NAME).exists()
        (tmp_path / "elsewhere").rename(data / FILE_NAME)
        assert await tables(data, "check") == ("0 tables are intact.\n", "")

"""`palatinus admin`, and `palatinus tables` beside a running server: a real process, its socket and files."""

import asyncio
import contextlib
import json
import random
import re
import sqlite3
import stat
from pathlib import Path

import pytest

from engine.record import replayed
from protocol.admin import EveningPlan
from protocol.codes import CloseCode, Code
from protocol.messages import Announced, OpenTable, Refused, Resume, SignedUp, SignUp, Stopping
from server.storage.entries import EveningBegun, TableResult
from server.storage.names import EVENING
from server.storage.sqlite.journal import SqliteJournal
from server.storage.sqlite.journal_file import FILE_NAME
from tests.commands.serving.test_tables import damage, last_but_one_changed
from tests.program import ran
from tests.server.peer import Peer, connected
from tests.server.playing import full_table, game, play_on
from tests.server.process import serving
from tests.server.tables.evenings import Guest


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


async def told(data: Path, *words: str | Path) -> str:
    """Return what `palatinus admin` prints, which must succeed."""
    code, out, err = await ran("admin", "--data", data, *words)
    assert (code, err) == (0, "")
    return out


async def complaint(data: Path, *words: str | Path) -> str:
    """Return the one line with which `palatinus admin` refuses."""
    code, out, err = await ran("admin", *words, "--data", data)
    assert (code, out) == (2, "")
    assert re.fullmatch(r"palatinus[^\n]*: [^\n]+\n", err)
    return err


async def tables(data: Path, *words: str | Path, code: int = 0) -> tuple[str, str]:
    """Return what `palatinus tables` prints, and its errors; it must exit with `code`."""
    found, out, err = await ran("tables", "--data", data, *words)
    assert found == code, (out, err)
    return out, err


async def test_the_host_sees_the_server_its_tables_and_clients(data: Path) -> None:
    async with serving("--data", str(data)) as server, game(server.port, 2, watched=True) as peers:
        status = await told(data, "status")
        assert re.search(rf"^port +{server.port}$", status, re.MULTILINE)
        stages = "waiting for players 0, playing 1, over 0, archived 0"
        assert re.search(rf"^tables +{stages}$", status, re.MULTILINE)
        assert re.search(r"^connections +3\nplayers here +2\nspectators +1$", status, re.MULTILINE)
        assert re.search(r"^stopping +no$", status, re.MULTILINE)
        heading, row = (await told(data, "tables")).splitlines()
        assert re.split("  +", heading) == ["TABLE", "STAGE", "MOVES", "WATCHING", "EMPTY FOR", "SEATS"]
        assert row.split()[0] == peers[0].code
        assert row.endswith("Player 0, Player 1")
        who = (await told(data, "who")).splitlines()
        assert [re.split("  +", line)[2:4] for line in who[1:]] == [
            [peers[0].code, "1 Player 0"],
            [peers[0].code, "2 Player 1"],
            [peers[0].code, "watching"],
        ]
        assert json.loads(await told(data, "who", "--json"))[2]["seat"] is None
        assert (await told(data, "status", "--lang", "nl")).startswith("versie")


async def test_without_a_server_the_folder_is_named(tmp_path: Path) -> None:
    assert f"no server is running in {tmp_path}:" in await complaint(tmp_path, "status")
    assert "nessun server" in await complaint(tmp_path, "status", "--lang", "it")
    other = tmp_path / "file"
    other.write_text("")
    assert "no server is running" in await complaint(tmp_path, "status", "--admin-socket", other)
    for word in ("0", "10x", "-5", "169h", "soon"):
        assert "is not a time" in await complaint(tmp_path, "drain", "--", word)


async def test_what_the_host_does_reaches_players(data: Path) -> None:
    async with serving("--data", str(data)) as server, game(server.port, 2) as peers:
        code = peers[0].code
        assert await told(data, "announce", "  Down\nat ten. ") == "2 clients were told.\n"
        assert (await peers[0].until(Announced)).text == "Down at ten."
        assert "will stop in 10:00" in await told(data, "drain")
        assert (await peers[0].until(Stopping)).seconds == 600
        assert await told(data, "drain", "off") == "The server keeps running.\n"
        assert (await peers[0].until(Stopping)).seconds is None
        assert "there is no node ours" in await complaint(data, "--node", "ours", "drain")
        assert "unrecognized arguments: --node" in await complaint(data, "--node", "ours", "close", code)
        assert "control characters" in await complaint(data, "announce", "a\x1b[31m")
        assert "1 to 400" in await complaint(data, "announce", " ")
        assert "nobody at table" in await complaint(data, "remove", code, "Nobody")
        await told(data, "remove", code.lower(), "Player 1")
        assert (await peers[1].until(Refused)).code == "removed-by-server"
        assert "There is no seat 5 at this table" in await complaint(data, "remove", code, "5")
        assert await told(data, "close", code, "--reason", "Enough.") == f"Table {code} is closed.\n"
        assert (await peers[0].until(Announced)).text == "Enough."
        assert "There is no table" in await complaint(data, "close", code)
        async with full_table(server.port, 2) as others:
            await told(data, "remove", others[0].code, "2")
            assert "nobody has seat 2 at table" in await complaint(data, "remove", others[0].code, "2")


async def test_the_host_bans_and_lifts_bans(data: Path) -> None:
    async with serving("--data", str(data)) as server:
        assert await told(data, "bans") == "Nobody is banned.\n"
        banned = "192.0.2.0/24 is banned, and 0 connections were closed.\n"
        assert await told(data, "ban", "192.0.2.0/24") == banned
        assert "2001:db8::/64 is banned" in await told(data, "ban", "2001:db8::1")
        assert "Brutus is banned" in await told(data, "ban", "--name", "Brutus")
        heading, *rows = (await told(data, "bans")).splitlines()
        assert heading.split() == ["BANNED", "SINCE"]
        assert [row.split()[0] for row in rows] == ["192.0.2.0/24", "2001:db8::/64", "Brutus"]
        async with connected(server.port) as peer:
            refused = await peer.refused(OpenTable, 2, "brutus")
            assert refused.code == Code.NAME_BANNED
            assert await told(data, "unban", "--name", "Brutus") == "Brutus is no longer banned.\n"
            await peer.open(2, "Brutus")
        assert "is not an address or a network" in await complaint(data, "ban", "192.0.2.7/24")
        assert "192.0.2.7/32 is not banned" in await complaint(data, "unban", "192.0.2.7")
        assert "not allowed with" in await complaint(data, "ban", "192.0.2.7", "--name", "Brutus")
        kept = json.loads(await told(data, "bans", "--json"))
        assert [(each["kind"], each["what"]) for each in kept] == [
            ("network", "192.0.2.0/24"),
            ("network", "2001:db8::/64"),
        ]


async def test_a_drained_server_without_clients_stops_now(data: Path) -> None:
    """Whatever time was given: there is nobody to wait for, and the answer says so."""
    async with serving("--data", str(data)) as server:
        assert await told(data, "drain", "10s") == "Nobody is connected, so the server stops now.\n"
        assert (await server.ended())[0] == 0


async def test_a_backup_is_whole_private_and_can_be_served(data: Path, tmp_path: Path) -> None:
    restored = tmp_path / "restored"
    restored.mkdir()
    file = restored / "palatinus.sqlite3"
    async with serving("--data", str(data)) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1), moves=7)
        file.write_text("an older one")
        assert await told(data, "backup", file) == f"{file}: {file.stat().st_size} bytes, complete.\n"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert list(restored.iterdir()) == [file]
        assert "cannot write" in await complaint(data, "backup", tmp_path / "missing" / "file")
        assert "choose another" in await complaint(data, "backup", tmp_path / "copy.unfinished")
        assert "a server is using" in await complaint(data, "backup", data / file.name)
        await play_on(peers, random.Random(2), moves=1)  # which is stored where it was before
    with contextlib.closing(sqlite3.connect(file)) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    async with serving("--data", str(restored)) as server, connected(server.port) as peer:
        await peer.resume(peers[0].code, peers[0].token)
        assert len((await peer.news()).placed) == 7  # type: ignore[union-attr]


async def test_a_backup_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    """The server dies in the middle of it: the older file stays as it was."""
    path, file = tmp_path / "socket", tmp_path / "copy"
    file.write_text("an older one")

    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b'{"v":1,"ok":{"bytes":1000}}\nabc')
        writer.close()

    server = await asyncio.start_unix_server(half, path)
    async with server:
        refused = await complaint(tmp_path, "backup", file, "--admin-socket", path)
        assert "the server closed the connection" in refused
    assert file.read_text() == "an older one"
    assert not file.with_name("copy.unfinished").exists()


async def test_tables_are_listed_shown_exported_and_removed_beside_a_running_server(
    data: Path, tmp_path: Path
) -> None:
    """As the server has them at this moment; nothing hidden unless it is asked for."""
    async with serving("--data", str(data)) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1), moves=9)
        table = peers[0].code
        rows = (await tables(data))[0].splitlines()
        assert re.split("  +", rows[1])[:3] == [table, "playing", "9"]
        hidden = re.compile(r"[ESLMA][mf]\*")
        assert not hidden.search((await tables(data, "show", table))[0])
        assert hidden.search((await tables(data, "show", table, "--open"))[0])
        out, err = await tables(data, "export", table, "-")
        assert "reveals all wolf pieces" in err
        assert len(replayed(out).events) == peers[0].seq
        code, out, _ = await ran("admin", "export", table, tmp_path / "record", "--data", data)
        assert (code, out) == (0, "")
        assert len(replayed((tmp_path / "record").read_text()).events) == peers[0].seq
        assert "there is no table ZZZZ" in (await tables(data, "show", "ZZZZ", code=2))[1]
        assert "--yes" in (await tables(data, "remove", table, code=2))[1]
        assert await tables(data, "remove", table, "--yes") == ("", "")
        assert (await peers[0].until(Refused)).code == "closed-by-server"
        assert (await tables(data))[0] == "There are no tables.\n"


async def test_beside_a_server_without_admin_socket_the_journal_is_in_use(data: Path) -> None:
    async with serving("--data", str(data), "--no-admin"):
        out, err = await tables(data, code=2)
        assert out == ""
        assert "is using the journal" in err
        assert "--admin-socket" in err
        assert not (data / "admin.sock").exists()


async def test_beside_a_server_that_listens_elsewhere_the_socket_is_named(data: Path, tmp_path: Path) -> None:
    """What a check has to know of the data folder it finds there."""
    path = tmp_path / "socket"
    options = ("--data", str(data), "--admin-socket", str(path))
    async with serving(*options) as server, full_table(server.port, 2) as peers:
        code, out, err = await ran("tables", "check", "--data", data, "--admin-socket", path)
        assert (code, out, err) == (0, "1 table is intact.\n", "")
        code, out, err = await ran("tables", "--admin-socket", path, "show", peers[0].code)
        assert (code, err) == (0, "")
        assert peers[0].code in out


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


@pytest.mark.slow
async def test_damaged_tables_are_told_salvaged_restored_and_removed(data: Path, tmp_path: Path) -> None:
    """The others play on, and the players of the restored table come back to their seats."""
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
        assert await tables(data, "restore", code) == (f"Table {code} continues after move 7.\n", "")
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
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the server remembers what was on the disk; the look leaves nothing behind."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    changed, _, other = await stopped_with_three_games(data)
    async with serving("--data", str(data)) as server, connected(server.port) as peer:
        monkeypatch.setattr("tempfile.tempdir", str(temporary))
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
        assert not list(data.glob("*.unfinished"))  # noqa: ASYNC240


@pytest.mark.slow
async def test_a_check_while_games_go_on_finds_them_whole(data: Path) -> None:
    """Whatever is stored in the meantime: journal and commit list are looked at as of one moment."""
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
async def test_a_table_comes_back_only_if_there_is_room(data: Path) -> None:
    """The host learns why not, and the table stays where it is kept."""
    damaged, _, _ = await stopped_with_three_games(data)
    code = damaged[0].code
    damage(data, last_but_one_changed(code))
    async with serving("--data", str(data), "--max-tables", "2") as server:
        async with full_table(server.port, 2), full_table(server.port, 2):
            assert "too many tables" in (await tables(data, "restore", code, code=2))[1]
            assert re.search(rf"{code} +playing, damaged", (await tables(data))[0])
        assert await tables(data, "restore", code) == (f"Table {code} continues after move 7.\n", "")


async def test_a_journal_that_is_gone_is_not_made_anew_by_a_check(data: Path, tmp_path: Path) -> None:
    """The server says what became of it."""
    async with serving("--data", str(data)):
        (data / FILE_NAME).rename(tmp_path / "elsewhere")
        _, err = await tables(data, "check", code=2)
        assert "it was deleted or moved" in err
        assert not (data / FILE_NAME).exists()
        (tmp_path / "elsewhere").rename(data / FILE_NAME)
        assert await tables(data, "check") == ("0 tables are intact.\n", "")


async def test_the_host_removes_a_person_from_the_evening(data: Path) -> None:
    """By the name in the list, however it is written; who is told the code, and nobody of another name."""
    async with serving("--data", str(data), "--evening", "Friday") as server, connected(server.port) as peer:
        anna = Guest("Anna")
        await anna.sign_up(peer)
        assert "Anna" in await told(data, "evening")
        assert "nobody in the evening is called Ben" in await complaint(data, "evening", "remove", "Ben")
        assert "that of a person" in await complaint(data, "evening", "remove")
        assert "Anna" not in await told(data, "evening", "remove", "anna")
        refused = await peer.until(Refused)
        assert (refused.code, refused.id) == (Code.REMOVED_FROM_EVENING, None)
        assert await peer.refusal(SignUp, anna.name, anna.token) == Code.REMOVED_FROM_EVENING


async def test_the_host_gives_somebodys_place_in_the_evening_to_another_device(data: Path) -> None:
    """By a link that a browser opens; whoever had the place is told."""
    async with serving("--data", str(data), "--evening", "Friday", "--web") as server:
        async with connected(server.port) as peer:
            anna = Guest("Anna")
            await anna.sign_up(peer)
            assert "nobody in the evening is called Ben" in await complaint(
                data, "evening", "hand-over", "Ben"
            )
            link = (await told(data, "evening", "hand-over", "anna")).splitlines()[1].strip()
            assert (await peer.closed())[0] == CloseCode.TAKEN_OVER
        front, _, token = link.partition("/play/EVENING#")
        assert front.startswith("http://")
        assert front.endswith(f":{server.port}")
        async with connected(server.port) as other:
            again = await other.answer(SignedUp, SignUp, "-", token, back=True, new_token="x" * 43)
            assert again.person == anna.person


async def test_the_host_restores_a_damaged_evening(data: Path) -> None:
    """It is in the list of tables, as it is damaged, and goes on after its last intact entry."""
    journal = SqliteJournal(data)
    await journal.append(EVENING, 0, [EveningBegun(EveningPlan("Friday")), TableResult("ZZZZ", [])])
    await journal.close()
    async with serving("--data", str(data), "--evening", "Saturday"):
        assert "There is no evening" in await complaint(data, "evening")
        listed, _ = await tables(data, "list")
        assert re.search(rf"^{EVENING} .*damaged", listed, re.MULTILINE)
        shown, _ = await tables(data, "show", EVENING)
        assert "damaged" in shown
        line = "The evening is damaged. Damaged or missing entries: 1.\n"
        assert await tables(data, "check", code=1) == (f"{line}0 tables are intact.\n", "")
        assert await tables(data, "restore", EVENING.upper()) == ("The evening continues.\n", "")
        assert (await told(data, "evening")).startswith("Friday")

"""The seats that the program keeps on this computer, and when it forgets them."""

import asyncio
import shutil
from pathlib import Path

import pytest

from client.player.seats import Seats
from client.tables.draws import DrawsCheck
from client.ui import requests
from client.ui.game import run
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.scoring import Result
from client.ui.seat_keeper import SeatKeeper
from client.ui.state import Ui
from client.ui.visit import Options
from engine.draws import NO_SHARE, Share, commitment_to, pledge_of
from engine.game import GameOptions, SharedChance
from engine.pieces import Seat
from engine.redaction import snapshot
from engine.view import eyes_of
from protocol import messages
from protocol.events import snapshot_message
from protocol.messages import NEW
from tests.client.scripted import Peer, scripted
from tests.client.tables.test_draws import SEED, SHARES, played_game
from tests.client.ui.keyboard import (
    Keyboard,
    gathering,
    greet_with_a_table,
    is_idle,
    kept_seat_files,
    options_with_kept_seat,
    quit_table,
    seat,
)
from tests.games import played


@pytest.mark.parametrize("code", ["bad-token", "no-such-table"])
async def test_a_lost_seat_is_forgotten(keys: Keyboard, tmp_path: Path, code: str) -> None:
    """The player is told, and takes a free seat, which is kept instead."""

    async def act(peer: Peer) -> None:
        resume = await peer.answer(messages.Resume, messages.Refused(code, "No.", NEW))
        assert (resume.table, resume.token, resume.after) == ("KXQT", "old-secret", 0)
        join = await peer.answer(
            messages.JoinTable, messages.Seated(NEW, "KXQT", 0, "new-secret"), gathering("Bob", None)
        )
        assert join.name == "Bob"
        await keys.until(is_idle)
        await keys.until(lambda ui, _: "Your seat at table KXQT is no longer kept." in ui.log)
        (content,) = kept_seat_files(tmp_path)
        assert b"new-secret" in content
        await quit_table(keys, peer)

    async with scripted(act) as url:
        assert await run(options_with_kept_seat(tmp_path, url)) == 0
    assert kept_seat_files(tmp_path) == []


async def test_another_refusal_keeps_the_seat(keys: Keyboard, tmp_path: Path) -> None:
    """Other refusals do not mean that the seat is lost."""

    async def act(peer: Peer) -> None:
        await peer.answer(messages.Resume, messages.Refused("not-stored", "The disk is full.", NEW))
        await peer.answer(
            messages.ListTables, messages.Tables(NEW, [messages.TableSummary("KXQT", "Bob", 2, 2, "playing")])
        )
        kept = frozenset({"KXQT"})
        await keys.until(lambda ui, _: isinstance(ui.page, LobbyPage) and ui.page.kept_seats == kept)
        await keys.until(lambda ui, _: ui.notice is not None)
        keys.press("q")

    async with scripted(act) as url:
        assert await run(options_with_kept_seat(tmp_path, url)) == 0
    assert len(kept_seat_files(tmp_path)) == 1


@pytest.mark.parametrize(
    ("folder", "sentence"), [("file/seats", "cannot be saved for later"), ("seats", "is ignored")]
)
async def test_unusable_seat_files_do_not_end_the_game(
    keys: Keyboard, tmp_path: Path, folder: str, sentence: str
) -> None:
    """An impossible folder and a damaged file lead to one sentence each."""
    (tmp_path / "file").write_text("")
    (tmp_path / "seats").mkdir()
    (tmp_path / "seats" / "0.json").write_text('{"token": "a-secret')

    async def act(peer: Peer) -> None:
        await greet_with_a_table(keys, peer)
        keys.press("\r")
        await peer.answer(
            messages.JoinTable, messages.Seated(NEW, "KXQT", 1, "a-secret"), gathering("Bob", "Ann")
        )
        await keys.until(lambda ui, model: is_idle(ui, model) and sentence in "\n".join(ui.log))
        assert "a-secret" not in repr(keys.client.ui) + repr(keys.client._connection.model)
        await quit_table(keys, peer)

    async with scripted(act) as url:
        assert await run(Options(url, "Ann", seats=Seats(tmp_path / folder, url))) == 0


def test_a_damaged_seat_file_is_reported_once_and_an_unsaved_seat_each_time(tmp_path: Path) -> None:
    """A player whose seat is not saved may want to stay, so this is not said for the first seat alone."""
    (folder := tmp_path / "seats").mkdir()
    (folder / "0.json").write_text("{")
    seats, told = Seats(folder, "ws://127.0.0.1:7733"), list[str]()
    keeper = SeatKeeper(seats, told.append)
    keeper.tables()
    for number in range(3):
        keeper.keep(messages.Seated(number, "KXQT", 0, "a-secret"), "Ann", ())
    (damaged,) = told
    assert damaged.startswith("A seat saved on this computer cannot be read and is ignored: ")
    keeper.release()
    shutil.rmtree(folder)
    folder.write_text("")
    for number in range(2):
        keeper.keep(messages.Seated(number, "KXQT", 0, "a-secret"), "Ann", ())
    assert [text.startswith("Your seat cannot be saved") for text in told] == [False, True, True]


def says(ui: Ui, text: str) -> bool:
    return any(remark.text == text for remark in ui.talk.remarks)


async def test_the_seat_of_the_next_game_is_kept_under_the_same_token(keys: Keyboard, tmp_path: Path) -> None:
    """The finished game's seat is forgotten, and its talk stays."""
    game = played(GameOptions(2, random_layout=True), 1)

    async def act(peer: Peer) -> None:
        over = snapshot_message(snapshot(game.view, eyes_of(Seat(1))), len(game.events), None)
        await seat(peer, gathering("Cosima", "Ann"), over, messages.Said("again?", 0))
        await keys.until(
            lambda ui, _: isinstance(ui.page, Result) and says(ui, "again?") and not kept_seat_files(tmp_path)
        )
        keys.press("m")
        rematch = await peer.receive(messages.Rematch)
        seats = [messages.SeatSummary("Cosima", kept=True), messages.SeatSummary("Ann", here=True)]
        await peer.send(
            messages.Said("at once", 0),  # news that is heard only when the client is at the next table
            messages.Seated(rematch.id, "ABCD", 1),
            messages.TableState("ABCD", "gathering", seats, 1),
        )
        await keys.until(lambda ui, model: model.table == "ABCD" and model.view is None and not ui.busy)
        await keys.until(lambda ui, _: says(ui, "again?") and not isinstance(ui.page, Result))
        (content,) = kept_seat_files(tmp_path)
        assert b"a-secret" in content
        assert b"ABCD" in content
        await quit_table(keys, peer)

    async with scripted(act) as url:
        assert await run(Options(url, "Ann", requests.Join("KXQT"), seats=Seats(tmp_path, url))) == 0


async def test_a_returning_player_finds_the_share_among_the_draws(keys: Keyboard, tmp_path: Path) -> None:
    """It is kept with the seat as soon as it has been shown, so the result says that it was used."""
    table = gathering("Cosima", "Ann", "Dario")
    shown = asyncio.get_running_loop().create_future()

    async def show(peer: Peer) -> None:
        resume = await peer.receive(messages.Resume)
        draw = messages.DrawBegins(commitment_to(SEED), [pledge_of(SHARES[0]), resume.pledge, None])
        await peer.send(messages.Seated(resume.id, "KXQT", 1), table, draw)
        share = (await peer.receive(messages.AddShare)).share
        await peer.send(table)
        await keys.until(lambda *_: share.encode() in kept_seat_files(tmp_path)[0])
        shown.set_result(Share(share))

    async def finish(peer: Peer) -> None:
        game = played_game(SharedChance(SEED, (SHARES[0], shown.result(), NO_SHARE)))
        view = snapshot(game.view, eyes_of(Seat(1)))
        await seat(peer, table, snapshot_message(view, len(game.events), None))
        fair = DrawsCheck(view.start.draws, own=True)
        await keys.until(lambda ui, model: ui.name == "Ann" and model.draws.check() == fair)
        await quit_table(keys, peer)

    async with scripted(show, finish) as url:
        options = options_with_kept_seat(tmp_path, url)
        first = asyncio.create_task(run(options))
        await shown
        first.cancel()
        await asyncio.wait([first])
        assert await run(options) == 0

"""The program around the screen: how it starts, what it asks a server, seats it keeps, how it ends."""

import asyncio
import contextlib
import random
import shutil
import signal
from pathlib import Path

import pytest
from msgspec import structs

from client.bots.brains import at_random
from client.bots.hints import suggest_move
from client.network.connection import open_connection
from client.player.preferences import Explanations
from client.player.seats import Seats
from client.records import Suggestion
from client.tables.draws import DrawsCheck
from client.ui import game as game_program
from client.ui import program, requests
from client.ui.game import run
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.overlays import Quitting
from client.ui.screens.scoring import Result
from client.ui.seat_keeper import Keeping, SeatKeeper
from client.ui.state import Notice, Ui
from client.ui.visit import Destination, Explaining, LookingBack, Player, SeatedBots, Stay
from engine.draws import NO_SHARE, Share, commitment_to, pledge_of
from engine.game import GameOptions, SharedChance
from engine.legal import Legal
from engine.pieces import Seat
from engine.record import recorded
from engine.redaction import snapshot
from engine.view import View, eyes_of
from past_games.records import recording_of
from protocol import messages
from protocol.events import snapshot_message
from protocol.messages import NEW
from protocol.settings import Switches
from server.app import running
from server.config import Config
from tests.client.scripted import TIMEOUT, Peer, next_update, scripted
from tests.client.tables.test_draws import SEED, SHARES, played_game
from tests.client.ui import keyboard
from tests.client.ui.seen import notice_of
from tests.games import played
from tests.server.manual_clock import FastClock


async def test_a_table_opened_at_once_starts_when_it_is_full(keys: keyboard.Keyboard) -> None:
    seated_bots: list[tuple[str, int]] = []

    async def act(peer: Peer) -> None:
        opening = await peer.receive(messages.OpenTable)
        assert (opening.players, opening.random_layout) == (2, True)
        seated = messages.Seated(opening.id, "KXQT", 0, "secret")
        await peer.send(seated, keyboard.gathering("Ann", None), keyboard.gathering("Ann", "bot"))
        await peer.answer(messages.StartGame, messages.Done(NEW))
        await keys.until(keyboard.is_idle)
        await keyboard.quit_table(keys, peer)

    async with scripted(act) as url:
        opening = requests.Open(2, random_layout=True)
        bots = SeatedBots(lambda table, seats: seated_bots.append((table, seats)), asyncio.Queue())
        assert await run(Player("Ann", suggest_move), Destination(url, bots=bots), Stay(opening)) == 0
    assert seated_bots == [("KXQT", 1)]


async def test_a_refusal_leaves_the_player_in_the_lobby(keys: keyboard.Keyboard) -> None:
    async def act(peer: Peer) -> None:
        await peer.answer(messages.JoinTable, messages.Refused("removed", "You were removed.", NEW))
        await peer.answer(
            messages.ListTables, messages.Tables(NEW, [messages.TableSummary("ABCD", "Bob", 2, 2, "playing")])
        )
        await keys.until(lambda ui, _: len(keyboard.tables_in(ui)) == 1)
        keys.press("w")
        watch = await peer.answer(messages.Watch, messages.Watching(NEW, "ABCD"))
        assert watch.table == "ABCD"
        await keys.until(keyboard.is_idle)
        await keyboard.quit_table(keys, peer)

    async with scripted(act) as url:
        assert await run(Player("Ann", suggest_move), Destination(url), Stay(requests.Join("KXQT"))) == 0


async def test_who_comes_too_late_watches_and_has_a_seat_as_soon_as_one_is_free(
    keys: keyboard.Keyboard,
) -> None:
    """At the same table, or at the next one of its players."""

    async def act(peer: Peer) -> None:
        await peer.answer(messages.JoinTable, messages.Refused("table-full", "Full.", NEW))
        full = keyboard.gathering("Bob", "Cosima")
        await peer.answer(messages.Watch, messages.Watching(NEW, "KXQT"), full)
        await keys.until(lambda ui, _: any("All seats are taken" in each for each in ui.log))
        await peer.send(keyboard.gathering("Bob", None))
        await keys.until(lambda ui, _: ui.log[-1] == "A seat is free. g: take it")
        keys.press("g")
        await peer.answer(messages.Leave, messages.Done(NEW))
        seated = messages.Seated(NEW, "KXQT", 1, "token")
        await peer.answer(messages.JoinTable, seated, keyboard.gathering("Bob", "Ann"))
        await keys.until(lambda ui, model: keyboard.is_idle(ui, model) and model.seat == 1)
        await keyboard.quit_table(keys, peer)

    async with scripted(act) as url:
        assert await run(Player("Ann", suggest_move), Destination(url), Stay(requests.Join("KXQT"))) == 0


async def test_who_comes_too_late_opens_another_table(keys: keyboard.Keyboard) -> None:
    async def act(peer: Peer) -> None:
        await peer.answer(messages.JoinTable, messages.Refused("table-full", "Full.", NEW))
        full = keyboard.gathering("Bob", "Cosima")
        await peer.answer(messages.Watch, messages.Watching(NEW, "KXQT"), full)
        await keys.until(lambda ui, _: any("type open" in each for each in ui.log))
        keys.press(":open\r")
        await peer.answer(messages.Leave, messages.Done(NEW))
        seated = messages.Seated(NEW, "ABCD", 0, "token")
        own = structs.replace(keyboard.gathering("Ann", None), table="ABCD")
        await peer.answer(messages.OpenTable, seated, own)
        await keys.until(lambda ui, model: keyboard.is_idle(ui, model) and model.seat == 0)
        await keyboard.quit_table(keys, peer)

    async with scripted(act) as url:
        assert await run(Player("Ann", suggest_move), Destination(url), Stay(requests.Join("KXQT"))) == 0


@pytest.mark.usefixtures("listed_often")
@pytest.mark.parametrize(
    ("code", "left"), [("bad-token", 0), pytest.param("no-such-table", 1, marks=pytest.mark.slow)]
)
async def test_a_table_that_is_gone_after_a_lost_connection_leads_to_the_lobby(
    keys: keyboard.Keyboard, tmp_path: Path, code: str, left: int
) -> None:
    """A seat is forgotten only if the server says that nobody has it: the table may be there again later."""

    async def act(peer: Peer) -> None:
        await keyboard.seat(peer, keyboard.gathering("Cosima", "Ann"))
        await keys.until(lambda _, model: model.table == "KXQT")
        peer.drop()

    async def again(peer: Peer) -> None:
        await peer.answer(messages.Resume, messages.Refused(code, "No.", NEW, about={"table": "KXQT"}))
        await keys.until(lambda ui, _: ui.lost is None and isinstance(ui.page, LobbyPage))
        await keyboard.list_again(keys, peer)
        await keys.until(lambda ui, _: any("KXQT" in line for line in ui.log[-2:]))
        keys.press("q")

    async with scripted(act, again) as url:
        assert await run(*keyboard.visit_with_kept_seat(tmp_path, url)) == 0
    assert len(keyboard.kept_seat_files(tmp_path)) == left


async def test_a_list_that_is_refused_leaves_the_request_under_way_alone(
    keys: keyboard.Keyboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is asked for again and again, whatever the player does."""
    monkeypatch.setattr(game_program, "_LOBBY_SECONDS", 0)

    async def act(peer: Peer) -> None:
        await keyboard.greet_with_a_table(keys, peer)
        asked = await peer.receive(messages.ListTables)
        keys.press("w")
        await peer.receive(messages.Watch)
        await peer.send(messages.Refused("too-soon", "Not now.", asked.id))
        await keys.until(lambda ui, _: ui.notice is not None and ui.notice.refusal)
        assert keys.client.ui.busy
        peer.drop()
        keys.press("q")

    async with scripted(act) as url:
        assert await run(Player("Ann", suggest_move), Destination(url)) == 0


async def test_quitting_does_not_wait_for_a_lost_connection(keys: keyboard.Keyboard) -> None:
    async def act(peer: Peer) -> None:
        await keyboard.greet_with_a_table(keys, peer)
        keys.press("w")
        await peer.receive(messages.Watch)
        peer.drop()

    async with asyncio.timeout(TIMEOUT):
        async with scripted(act) as url:
            quitting = asyncio.create_task(run(Player("Ann", suggest_move), Destination(url)))
            await keys.until(lambda ui, _: ui.busy)
        await keys.until(lambda ui, _: ui.lost is not None)
        keys.press("q")
        assert await quitting == 0


@pytest.mark.parametrize(
    ("commands", "laid", "left"),
    [
        (20, True, Explanations(laying=False)),
        (80, False, Explanations(wanted=False)),
        (80, True, Explanations(wanted=False, laying=False)),
    ],
)
async def test_what_a_game_has_explained_is_not_explained_in_a_later_one(
    keys: keyboard.Keyboard, commands: int, laid: bool, left: Explanations
) -> None:
    game = played(GameOptions(2, random_layout=not laid), 1, commands)
    kept: list[Explanations] = []

    async def act(peer: Peer) -> None:
        seats = [messages.SeatSummary(name, here=True) for name in ("Cosima", "Ann")]
        state = messages.TableState(
            "KXQT", "over" if game.over else "playing", seats, 0, random_layout=not laid
        )
        view = snapshot(game.view, eyes_of(Seat(1)))
        await keyboard.seat(peer, state, snapshot_message(view, len(game.events), None), state)
        await keys.until(lambda _ui, _model: kept[-1:] == [left])
        if game.over:
            await keyboard.quit_table(keys, peer)
        else:  # the seat is kept
            keys.press("qy")

    async with scripted(act) as url:
        player = Player("Ann", suggest_move, explaining=Explaining(Explanations(), kept.append))
        await run(player, Destination(url), Stay(requests.Join("KXQT")))
    assert kept[-1:] == [left]


async def test_a_finished_game_is_kept_once(keys: keyboard.Keyboard) -> None:
    """As soon as it is over, by whoever has played it elsewhere."""
    game = played(GameOptions(2, random_layout=True), 1)
    text = recorded(game.events, ("Cosima", "Ann"))
    seats = [messages.SeatSummary("Cosima", here=True), messages.SeatSummary("Ann", here=True)]
    kept: list[tuple[str, str]] = []

    async def act(peer: Peer) -> None:
        over = messages.TableState("KXQT", "over", seats, 0)
        view = snapshot(game.view, eyes_of(Seat(1)))
        await keyboard.seat(peer, over, snapshot_message(view, len(game.events), None), over)
        await peer.answer(messages.GetRecord, messages.Record(NEW, text.splitlines()), over)
        await keys.until(lambda _ui, _model: bool(kept))
        await keyboard.quit_table(keys, peer)

    looking_back = LookingBack(recording_of, None, keep=lambda table, record: kept.append((table, record)))
    async with scripted(act) as url:
        await run(
            Player("Ann", suggest_move, looking_back=looking_back),
            Destination(url),
            Stay(requests.Join("KXQT")),
        )
    assert kept == [("KXQT", text)]


async def ask_for_a_hint(keys: keyboard.Keyboard, peer: Peer) -> messages.TableState:
    """Let the player ask for a hint at the beginning of a game, and return the table, which allows it."""
    game = played(GameOptions(2, random_layout=True, starting=Seat(1)), 1, 0)
    seats = [messages.SeatSummary("Cosima", here=True), messages.SeatSummary("Ann", here=True)]
    allowed = messages.TableState("KXQT", "playing", seats, 0, switches=Switches(hints=True))
    shown = snapshot(game.view, eyes_of(Seat(1)))
    await keyboard.seat(peer, allowed, snapshot_message(shown, len(game.events), game.legal()))
    await keys.until(lambda ui, model: keyboard.is_idle(ui, model) and model.legal is not None)
    keys.press("s")
    return allowed


async def test_a_hint_comes_only_if_it_is_still_allowed(keys: keyboard.Keyboard) -> None:
    """The host may forbid hints while a move is being looked for, and allow them again."""
    looking, may_answer = asyncio.Event(), asyncio.Event()

    async def suggest(view: View, legal: Legal) -> Suggestion:
        looking.set()
        await may_answer.wait()
        return Suggestion(at_random(view, legal, random.Random(1)), "So it is.")

    def told(ui: Ui) -> str:
        return "" if ui.notice is None else ui.notice.text

    async def act(peer: Peer) -> None:
        allowed = await ask_for_a_hint(keys, peer)
        await looking.wait()
        await peer.send(structs.replace(allowed, switches=Switches()))
        await keys.until(lambda _, model: model.state is not None and not model.state.switches.hints)
        may_answer.set()
        await keys.until(lambda ui, _: not ui.ponders)
        assert "So it is." not in told(keys.client.ui)
        keys.press("s")
        await keys.until(lambda ui, _: "no hints" in told(ui))
        await peer.send(allowed)
        await keys.until(lambda _, model: model.state is not None and model.state.switches.hints)
        keys.press("s")
        await keys.until(lambda ui, _: "So it is." in told(ui))
        keys.press("qy")

    async with scripted(act) as url:
        await run(Player("Ann", suggest), Destination(url), Stay(requests.Join("KXQT")))


@pytest.mark.parametrize("key", ["l", "s", "\r"])
async def test_any_key_stops_the_search_for_a_hint(keys: keyboard.Keyboard, key: str) -> None:
    """Until then the screen says what it does; the key does what it always does, and no hint comes.

    The screen says that, too. The key that has begun the search begins no other one, and Enter makes no move
    that nobody has found yet.
    """
    cancelled = asyncio.Event()

    async def suggest(_view: View, _legal: Legal) -> Suggestion:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError("nothing ends this but its cancellation")

    async def act(peer: Peer) -> None:
        await ask_for_a_hint(keys, peer)
        await keys.until(lambda ui, _: ui.ponders and ui.notice is not None)
        cursor = keys.client.ui.page.game
        keys.press(key)
        await cancelled.wait()
        await keys.until(lambda ui, _: not ui.ponders and "is stopped" in notice_of(ui))
        assert (keys.client.ui.page.game != cursor) is (key == "l")
        keys.press("qy")

    async with scripted(act) as url:
        await run(Player("Ann", suggest), Destination(url), Stay(requests.Join("KXQT")))


async def test_a_paste_is_typed_into_the_line(keys: keyboard.Keyboard) -> None:
    """Whatever it contains, a paste is text and not a series of keys."""

    async def act(peer: Peer) -> None:
        await keyboard.greet(peer)
        await keys.until(lambda ui, _: not ui.busy)
        keys.press("\x1b[200~q\x1b[201~")  # without a line to type into, a paste does nothing
        keys.press(":\x1b[200~join\n kxqt\x1b[201~\r")
        join = await peer.answer(
            messages.JoinTable, messages.Refused("no-such-table", "There is no table KXQT.", NEW)
        )
        assert join.table == "KXQT"
        await keys.until(lambda ui, _: ui.notice is not None)
        keys.press("\x03q")  # the refused line stays until it is cancelled

    async with scripted(act) as url:
        assert await run(Player("Ann", suggest_move), Destination(url)) == 0


async def test_a_signal_ends_the_program_cleanly(keys: keyboard.Keyboard) -> None:
    async def act(peer: Peer) -> None:
        await keyboard.greet(peer)
        await keys.until(lambda ui, _: not ui.busy)
        signal.raise_signal(signal.SIGTERM)

    async with scripted(act) as url:
        assert await run(Player("Ann", suggest_move), Destination(url)) == 0


async def test_a_crash_is_reported_in_one_sentence(
    keys: keyboard.Keyboard, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del keys

    def drawn(*_: object) -> None:
        raise RuntimeError("no ink")

    monkeypatch.setattr(program, "drawn", drawn)

    async def act(peer: Peer) -> None:
        with contextlib.suppress(Exception):
            await keyboard.greet(peer)

    async with asyncio.timeout(TIMEOUT), scripted(act) as url:
        assert await run(Player("Ann", suggest_move), Destination(url)) == 1
    told = capsys.readouterr().err
    assert told.startswith("palatinus: The client crashed: RuntimeError: no ink. Please report")
    assert told.count("\n") == 1


@pytest.mark.parametrize("name", ["", " Ann", "A\x1bB", "x" * 21])
async def test_a_bad_name_is_a_usage_error(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert await run(Player(name, suggest_move), Destination("ws://127.0.0.1:9")) == 2
    assert capsys.readouterr().err.startswith(("palatinus: That name", "palatinus: The name is too long"))


async def test_without_a_server_the_error_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert await run(Player("Ann", suggest_move), Destination("ws://127.0.0.1:9")) == 1
    assert capsys.readouterr().err.count("\n") == 1


def names_of(ui: Ui) -> list[str]:
    return [] if ui.company is None else [each.name for each in ui.company.people]


async def test_who_goes_straight_to_a_table_is_online(keys: keyboard.Keyboard) -> None:
    async with (
        running(Config(timers=FastClock)) as server,
        open_connection(url := f"ws://127.0.0.1:{server.port}") as other,
    ):
        await other.ask(messages.EnterLobby(NEW, "Bob"))
        opening = Stay(requests.FOR_WHOEVER_COMES)
        ann = asyncio.create_task(run(Player("Ann", suggest_move), Destination(url), opening))
        online: dict[str, str] = {}
        while online != {"Ann": "playing", "Bob": "lobby"}:
            told = await next_update(other, messages.Online)
            online = {each.name: each.at for each in told.people}
        await keys.until(keyboard.is_idle)
        keys.press("qy")
        await ann


@pytest.mark.usefixtures("listed_often")
async def test_people_meet_in_the_lobby(keys: keyboard.Keyboard) -> None:
    """A taken name is changed on the spot, or tried again; people are listed at tables as well, and talk."""
    async with (
        running(Config(timers=FastClock)) as server,
        open_connection(url := f"ws://127.0.0.1:{server.port}") as other,
    ):
        await other.ask(messages.EnterLobby(NEW, "Ann"))
        ann = asyncio.create_task(run(Player("Ann", suggest_move), Destination(url)))
        await keys.until(lambda ui, _: ui.company is not None and "already has that name" in ui.company.fault)
        keys.press("t")
        await keys.until(lambda ui, _: ui.entry is not None)
        keys.press("\x15Livia\r")
        await keys.until(lambda ui, _: names_of(ui) == ["Ann", "Livia"])
        keys.press("nAnn\r")  # it is LiviaAnn
        await keys.until(lambda ui, _: names_of(ui) == ["Ann", "LiviaAnn"])
        keys.press("n\x15ANN\r")
        await keys.until(lambda ui, _: bool(ui.entry and ui.notice) and ui.name == "LiviaAnn")
        await other.ask(messages.EnterLobby(NEW, "Bob"))
        keys.press("\x15Ann\r")
        await keys.until(lambda ui, _: names_of(ui) == ["Bob", "Ann"])
        keys.press("thello\r")
        said = await next_update(other, messages.SaidInLobby)
        assert [(each.name, each.text) for each in said.remarks] == [("Ann", "hello")]
        keys.press("o\r")
        await keys.until(keyboard.is_idle)
        await other.ask(messages.SayInLobby(NEW, "anybody?"))
        keys.press("\x1b")
        await keys.until(lambda ui, _: isinstance(ui.overlay, Quitting))
        keys.press("y")
        await keys.until(lambda ui, _: [each.text for each in ui.talk.remarks] == ["hello", "anybody?"])
        keys.client._connection._websocket.transport.abort()  # type: ignore[union-attr]
        await keys.until(lambda ui, _: ui.lost is not None and ui.company is None)
        await keys.until(lambda ui, _: names_of(ui) == ["Bob", "Ann"])
        assert [each.text for each in keys.client.ui.talk.remarks] == ["hello", "anybody?"]
        keys.press("q")
        assert await ann == 0


async def test_a_game_against_bots_has_no_lobby(keys: keyboard.Keyboard) -> None:
    """Nobody else is there: the client does not enter one that the server has."""
    bots = SeatedBots(lambda _table, _seats: None, asyncio.Queue())
    async with running(Config()) as server:
        url = f"ws://127.0.0.1:{server.port}"
        playing = asyncio.create_task(
            run(Player("Ann", suggest_move), Destination(url, bots=bots), Stay(requests.Open(2)))
        )
        await keys.until(keyboard.is_idle)
        assert keys.client._connection.listed_as is None
        keys.press("q")
        assert await playing == 0


@pytest.mark.parametrize("code", ["bad-token", "no-such-table"])
async def test_a_lost_seat_is_forgotten(keys: keyboard.Keyboard, tmp_path: Path, code: str) -> None:
    async def act(peer: Peer) -> None:
        resume = await peer.answer(messages.Resume, messages.Refused(code, "No.", NEW))
        assert (resume.table, resume.token, resume.after) == ("KXQT", "old-secret", 0)
        join = await peer.answer(
            messages.JoinTable, messages.Seated(NEW, "KXQT", 0, "new-secret"), keyboard.gathering("Bob", None)
        )
        assert join.name == "Bob"
        await keys.until(keyboard.is_idle)
        await keys.until(lambda ui, _: "Your seat at table KXQT is no longer kept." in ui.log)
        (content,) = keyboard.kept_seat_files(tmp_path)
        assert b"new-secret" in content
        await keyboard.quit_table(keys, peer)

    async with scripted(act) as url:
        assert await run(*keyboard.visit_with_kept_seat(tmp_path, url)) == 0
    assert keyboard.kept_seat_files(tmp_path) == []


async def test_a_seat_is_kept_before_it_is_asked_for(keys: keyboard.Keyboard, tmp_path: Path) -> None:
    """A client that is killed before the answer comes back to it, if the server has given it."""
    asked: list[messages.JoinTable] = []

    async def killed(peer: Peer) -> None:
        await peer.welcome(own_tokens=True)
        asked.append(await peer.receive(messages.JoinTable))
        (content,) = keyboard.kept_seat_files(tmp_path)
        assert (asked[0].token or "?").encode() in content
        keys.press("q")

    async def given(peer: Peer) -> None:
        await peer.welcome(own_tokens=True)
        seated = messages.Seated(NEW, "KXQT", 1)
        resume = await peer.answer(messages.Resume, seated, keyboard.gathering("Bob", "Ann"))
        assert resume.token == asked[0].token
        await keys.until(lambda ui, model: keyboard.is_idle(ui, model) and model.table == "KXQT")
        await keyboard.quit_table(keys, peer)

    async def act(peer: Peer) -> None:
        await (given if asked else killed)(peer)

    async with scripted(act, act) as url:
        for _ in range(2):
            stay = Stay(requests.Join("KXQT"), Keeping(Seats(tmp_path, url)))
            assert await run(Player("Ann", suggest_move), Destination(url), stay) == 0
    assert keyboard.kept_seat_files(tmp_path) == []


@pytest.mark.parametrize(("code", "kept"), [("too-many-seats", 0), ("not-stored", 1)])
async def test_a_seat_that_was_not_given_is_not_kept(
    keys: keyboard.Keyboard, tmp_path: Path, code: str, kept: int
) -> None:
    """Unless that is in doubt; nothing is said about one that the player has never had."""

    async def act(peer: Peer) -> None:
        await peer.welcome(own_tokens=True)
        first = await peer.answer(messages.JoinTable, messages.Refused(code, "No.", NEW))
        await peer.answer(
            messages.ListTables,
            messages.Tables(NEW, [messages.TableSummary("KXQT", "Bob", 2, 1, "gathering")]),
        )
        await keys.until(lambda ui, _: len(keyboard.tables_in(ui)) == 1)
        assert len(keyboard.kept_seat_files(tmp_path)) == kept
        keys.press("\r")
        if kept:
            resume = await peer.answer(messages.Resume, messages.Refused("bad-token", "No.", NEW))
            assert resume.token == first.token
        seated = messages.Seated(NEW, "KXQT", 1)
        join = await peer.answer(messages.JoinTable, seated, keyboard.gathering("Bob", "Ann"))
        assert join.token != first.token
        await keys.until(lambda ui, model: keyboard.is_idle(ui, model) and model.table == "KXQT")
        assert not any("no longer kept" in line for line in keys.client.ui.log)
        (content,) = keyboard.kept_seat_files(tmp_path)
        assert (join.token or "?").encode() in content
        await keyboard.quit_table(keys, peer)

    async with scripted(act) as url:
        stay = Stay(requests.Join("KXQT"), Keeping(Seats(tmp_path, url)))
        assert await run(Player("Ann", suggest_move), Destination(url), stay) == 0


async def test_another_refusal_keeps_the_seat(keys: keyboard.Keyboard, tmp_path: Path) -> None:
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
        assert await run(*keyboard.visit_with_kept_seat(tmp_path, url)) == 0
    assert len(keyboard.kept_seat_files(tmp_path)) == 1


@pytest.mark.parametrize(
    ("folder", "sentence"), [("file/seats", "cannot be saved for later"), ("seats", "is ignored")]
)
async def test_unusable_seat_files_do_not_end_the_game(
    keys: keyboard.Keyboard, tmp_path: Path, folder: str, sentence: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "seats").mkdir()
    (tmp_path / "seats" / "0.json").write_text('{"token": "a-secret')

    async def act(peer: Peer) -> None:
        await keyboard.greet_with_a_table(keys, peer)
        keys.press("\r")
        await peer.answer(
            messages.JoinTable, messages.Seated(NEW, "KXQT", 1, "a-secret"), keyboard.gathering("Bob", "Ann")
        )
        await keys.until(lambda ui, model: keyboard.is_idle(ui, model) and sentence in "\n".join(ui.log))
        assert "a-secret" not in repr(keys.client.ui) + repr(keys.client._connection.model)
        await keyboard.quit_table(keys, peer)

    async with scripted(act) as url:
        assert (
            await run(
                Player("Ann", suggest_move),
                Destination(url),
                Stay(keeping=Keeping(Seats(tmp_path / folder, url))),
            )
            == 0
        )


def test_a_damaged_seat_file_is_reported_once_and_an_unsaved_seat_each_time(tmp_path: Path) -> None:
    """A player whose seat is not saved may want to stay, so this is not said for the first seat alone."""
    (folder := tmp_path / "seats").mkdir()
    (folder / "0.json").write_text("{")
    seats, told = Seats(folder, "ws://127.0.0.1:7733"), list[str]()
    keeper = SeatKeeper(Keeping(seats), told.append)
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


async def test_what_a_visit_begins_with_stays_in_view_until_a_key(keys: keyboard.Keyboard) -> None:
    """A small window shows only the end of the log, which goes on."""

    async def act(peer: Peer) -> None:
        await keyboard.greet_with_a_table(keys, peer)
        assert keys.client.ui.notice == Notice("Your last move is taken back.")
        assert keys.client.ui.log == ("Your last move is taken back.",)
        keys.press("q")

    async with scripted(act) as url:
        assert (
            await run(
                Player("Ann", suggest_move), Destination(url), Stay(news=("Your last move is taken back.",))
            )
            == 0
        )


@pytest.mark.parametrize(
    ("gone", "sentence"),
    [("Ann", "You are back in your seat, as Ann."), ("Bob", "You take over the seat of Bob.")],
)
async def test_whose_seat_it_was_is_said(keys: keyboard.Keyboard, gone: str, sentence: str) -> None:
    async def act(peer: Peer) -> None:
        seated = messages.Seated(NEW, "KXQT", 1, "a-secret", taken_over=gone)
        await peer.answer(messages.JoinTable, seated, keyboard.gathering("Cosima", "Ann"))
        await keys.until(keyboard.is_idle)
        await keyboard.quit_table(keys, peer)

    async with scripted(act) as url:
        assert await run(Player("Ann", suggest_move), Destination(url), Stay(requests.Join("KXQT"))) == 0
    assert sentence in keys.client.ui.log


def says(ui: Ui, text: str) -> bool:
    return any(remark.text == text for remark in ui.talk.remarks)


async def test_the_seat_of_the_next_game_is_kept_under_the_same_token(
    keys: keyboard.Keyboard, tmp_path: Path
) -> None:
    game = played(GameOptions(2, random_layout=True), 1)

    async def act(peer: Peer) -> None:
        over = snapshot_message(snapshot(game.view, eyes_of(Seat(1))), len(game.events), None)
        await keyboard.seat(peer, keyboard.gathering("Cosima", "Ann"), over, messages.Said("again?", 0))
        await keys.until(
            lambda ui, _: (
                isinstance(ui.page, Result) and says(ui, "again?") and not keyboard.kept_seat_files(tmp_path)
            )
        )
        keys.press("g")
        rematch = await peer.receive(messages.Rematch)
        seats = [messages.SeatSummary("Cosima", kept=True), messages.SeatSummary("Ann", here=True)]
        await peer.send(
            messages.Said("at once", 0),  # news that is heard only when the client is at the next table
            messages.Seated(rematch.id, "ABCD", 1),
            messages.TableState("ABCD", "gathering", seats, 1),
        )
        await keys.until(lambda ui, model: model.table == "ABCD" and model.view is None and not ui.busy)
        await keys.until(lambda ui, _: says(ui, "again?") and not isinstance(ui.page, Result))
        (content,) = keyboard.kept_seat_files(tmp_path)
        assert b"a-secret" in content
        assert b"ABCD" in content
        await keyboard.quit_table(keys, peer)

    async with scripted(act) as url:
        stay = Stay(requests.Join("KXQT"), Keeping(Seats(tmp_path, url)))
        assert await run(Player("Ann", suggest_move), Destination(url), stay) == 0


async def test_a_returning_player_finds_the_share_among_the_draws(
    keys: keyboard.Keyboard, tmp_path: Path
) -> None:
    """It is kept with the seat as soon as it has been shown, so the result says that it was used."""
    table = keyboard.gathering("Cosima", "Ann", "Dario")
    shown = asyncio.get_running_loop().create_future()

    async def show(peer: Peer) -> None:
        resume = await peer.receive(messages.Resume)
        draw = messages.DrawBegins(commitment_to(SEED), [pledge_of(SHARES[0]), resume.pledge, None])
        await peer.send(messages.Seated(resume.id, "KXQT", 1), table, draw)
        share = (await peer.receive(messages.AddShare)).share
        await peer.send(table)
        await keys.until(lambda *_: share.encode() in keyboard.kept_seat_files(tmp_path)[0])
        shown.set_result(Share(share))

    async def finish(peer: Peer) -> None:
        game = played_game(SharedChance(SEED, (SHARES[0], shown.result(), NO_SHARE)))
        view = snapshot(game.view, eyes_of(Seat(1)))
        await keyboard.seat(peer, table, snapshot_message(view, len(game.events), None))
        fair = DrawsCheck(view.start.draws, own=True)
        await keys.until(lambda ui, model: ui.name == "Ann" and model.draws.check() == fair)
        await keyboard.quit_table(keys, peer)

    async with scripted(show, finish) as url:
        visit = keyboard.visit_with_kept_seat(tmp_path, url)
        first = asyncio.create_task(run(*visit))
        await shown
        first.cancel()
        await asyncio.wait([first])
        assert await run(*visit) == 0

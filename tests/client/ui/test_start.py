"""The start screen, and games against bots that are left and continued."""

import contextlib
import re
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from client.finding.found import Gone, Locked, SeatAnswer, Silent, is_turn
from client.language import LANGUAGES
from client.player.preferences import (
    Explanations,
    Preferences,
    at_random,
    explanations_file,
    read_preferences,
    remember,
)
from client.player.seats import KeptSeat, Seats, seats_folder
from client.player.terminal import DesktopNotices
from client.records import Solved
from client.tables.table import TableModel
from client.ui import requests
from client.ui.keys import ChooseLine
from client.ui.screens.dispatch import updated
from client.ui.screens.menu import At, Form, Page
from client.ui.screens.search import Search
from client.ui.screens.settings import OF_HOST, OWN
from client.ui.screens.start import (
    HOSTING,
    LEADS_TO,
    SETTINGS,
    LeftGame,
    Start,
    StartLine,
    StoppedTable,
    seat_stands,
    with_left,
    with_seats,
    with_solved,
    with_stopped,
)
from client.ui.state import Ui
from commands.playing.play import half_played
from engine.game import GameOptions
from engine.pieces import People
from engine.record import recorded
from hosting.kept_games import games_folder, new_game
from protocol.admin import EveningPlan
from protocol.messages import StartGame, Turn
from server.storage.sqlite.journal_file import FILE_NAME, lock_folder
from tests.client.ui import seen
from tests.client.ui.pty_terminal import Terminal
from tests.games import played
from tests.server.peer import connected
from tests.server.process import serving

NOWHERE = TableModel()
SERVERS = ("ws://192.0.2.7:7733", "wss://example.org:7733")
UI = Ui("Ann", screens=(Start(Preferences(servers=SERVERS)),))


def test_a_line_is_chosen_by_clicking_twice() -> None:
    chosen, at_first = updated(UI, ChooseLine(1), NOWHERE)
    assert at_first is None
    assert updated(chosen, ChooseLine(1), NOWHERE)[1] == requests.Errand.PLAY
    assert seen.request_after(UI, NOWHERE, "escape") is None


def to_line(line: StartLine | str) -> list[str]:
    """Return the keys that lead from the first line of the start screen to another."""
    assert isinstance(UI.page, Start)
    return ["down"] * UI.page.lines.index(line)


def test_every_line_of_the_start_screen_leads_where_it_says() -> None:
    for line, leads in LEADS_TO.items():
        if isinstance(leads, Page):
            assert seen.after(UI, NOWHERE, *to_line(line), "enter").overlay == Form(leads)
        else:
            assert seen.request_after(UI, NOWHERE, *to_line(line), "enter") == leads
    assert {*LEADS_TO} == {*StartLine}
    for server in SERVERS:
        assert seen.request_after(UI, NOWHERE, *to_line(server), "enter") == requests.GoTo(server)


def test_a_small_window_shows_what_a_line_means() -> None:
    choices = UI.page.choices(UI, NOWHERE)
    assert choices is not None
    for line, meant in zip(StartLine, choices.lines, strict=False):
        shown = seen.screen_of(seen.after(UI, NOWHERE, *to_line(line)), NOWHERE, 40, 12)
        assert f"{meant.text} {meant.about}" in " ".join(shown.replace("|", " ").split())
    assert SERVERS[1] in seen.screen_of(seen.after(UI, NOWHERE, *to_line(SERVERS[1])), NOWHERE, 40, 12)


def at_row(page: Page, name: str, ui: Ui = UI) -> Ui:
    """Return the state with a form open, at the row of this name."""
    return ui.opened(Form(page, [line.text for line in page.lines(At(ui, NOWHERE))].index(name)))


def preferences_in(ui: Ui) -> Preferences:
    assert isinstance(ui.page, Start)
    return ui.page.preferences


_MOST_VALUES = 20
NAMED_EVENING = (*"Friday night", "enter")


@pytest.mark.parametrize("page", [SETTINGS, HOSTING], ids=["settings", "hosting"])
def test_every_setting_leads_through_its_values_and_back(page: Page) -> None:
    """The form shows each of them, and the sentence about the setting, in windows of both kinds."""
    ui = seen.after(at_row(HOSTING, "Evening"), NOWHERE, "enter", *NAMED_EVENING).closed()
    rows = [row for row in (OWN if page is SETTINGS else OF_HOST) if row.prompt is None]
    assert len(rows) == len([*page.lines(At(ui, NOWHERE))]) - (1 if page is SETTINGS else 2)
    for row in rows:
        there = at_row(page, row.name, ui)
        values = [there]
        while (after := seen.after(values[-1], NOWHERE, "right")) != there and len(values) < _MOST_VALUES:
            values.append(after)
        assert 1 < len(values) < _MOST_VALUES
        for before, now in zip(values, (*values[1:], there), strict=True):
            assert seen.after(now, NOWHERE, "left") == before
            assert seen.after(before, NOWHERE, "enter") == now
            assert re.search(rf"► {row.name} +{re.escape(row.value(preferences_in(now)))} ", screen(now))
            small = " ".join(screen(now, 40, 12).replace("|", " ").split())
            assert f"► {row.name}: {row.value(preferences_in(now))} {row.help}" in small
            assert row.help in " ".join(screen(now).replace("|", " ").split())


def screen(ui: Ui, width: int = 80, height: int = 24) -> str:
    return seen.screen_of(ui, NOWHERE, width, height)


def test_settings_are_what_games_are_played_with() -> None:
    """They stay when the form is closed, with the line of the start screen that was chosen."""
    for name, keys, expected in (
        ("Players", ("right", "right"), Preferences(servers=SERVERS, players=5)),
        ("Tiles", ("enter",), Preferences(servers=SERVERS, random_layout=True)),
        ("Tiles", ("left",), Preferences(servers=SERVERS, random_layout=False)),
        ("Your people", ("left",), Preferences(servers=SERVERS, people=People.ARCADIANS)),
        ("Bots", ("left",), Preferences(servers=SERVERS, brain="slave")),
        ("Bots move", ("right",), Preferences(servers=SERVERS, human_pace=False)),
        ("Bell", ("right",), Preferences(servers=SERVERS, bell=False)),
        ("Window title", ("right",), Preferences(servers=SERVERS, title=False)),
        ("Desktop notifications", ("right",), Preferences(servers=SERVERS, notices=DesktopNotices.OSC9)),
    ):
        changed = seen.after(at_row(SETTINGS, name), NOWHERE, *keys, "escape")
        assert preferences_in(changed) == expected
        assert seen.request_after(changed, NOWHERE, "down", "enter") is requests.Errand.PLAY
    more = seen.after(at_row(SETTINGS, "Players"), NOWHERE, "right", "o")
    assert "4 players; bots: Plebeian" in screen(more)


def test_a_name_and_an_evening_are_typed_into_their_forms() -> None:
    """The evening is that of the games that are hosted, and has rounds; an empty name ends it."""
    called = seen.after(UI, NOWHERE, "o", "enter", "c-u", *"Zoë", "enter")
    assert re.search("► Your name +Zoë", screen(called))
    assert called.name == "Zoë"
    assert "Rounds" not in screen(at_row(HOSTING, "Evening"))
    named = seen.after(at_row(HOSTING, "Evening"), NOWHERE, "enter", *NAMED_EVENING)
    assert preferences_in(named).evening == EveningPlan("Friday night", 4)
    more = seen.after(named, NOWHERE, "down", "right")
    assert re.search("Host a game +the evening Friday night, 5 rounds", screen(more.closed()))
    assert preferences_in(seen.after(more, NOWHERE, *["right"] * 4)).evening == EveningPlan("Friday night")
    long = seen.after(more, NOWHERE, "up", "enter", "c-u", *"x" * 41, "enter")
    assert (seen.is_refused(long), preferences_in(long)) == (True, preferences_in(more))
    none = seen.after(more, NOWHERE, "up", "enter", "c-u", "enter")
    assert preferences_in(none).evening is None
    assert seen.request_after(none, NOWHERE, "up", "up", "enter") is requests.Errand.HOST


def test_an_address_is_typed_and_completed() -> None:
    looking = UI.with_page(Search())
    asking = seen.after(looking, NOWHERE, "enter")
    assert seen.request_after(asking, NOWHERE, *"example.org", "enter") == requests.GoTo(
        "ws://example.org:7733"
    )
    assert "ws://HOST:PORT" in seen.notice_of(seen.after(asking, NOWHERE, *"ht://tp", "enter"))
    assert seen.after(asking, NOWHERE, "escape") == looking


def test_a_name_is_typed_and_checked() -> None:
    assert seen.after(UI, NOWHERE, "n", "c-u", *"Zoë", "enter").name == "Zoë"
    wrong = seen.after(UI, NOWHERE, "n", *"x" * 20, "enter")
    assert (wrong.name, seen.is_refused(wrong)) == ("Ann", True)


def test_games_left_can_be_continued() -> None:
    """Each of them: one just left is chosen, and stays so until it is over."""
    one, other = LeftGame("one", 4, "2026-11-21 20:15"), LeftGame("other", 2, "2026-11-21 19:00")
    ui = with_left(UI, [one])
    assert seen.request_after(ui, NOWHERE, "enter") == requests.Continue("one")
    assert seen.request_after(ui, NOWHERE, "down", "enter") == requests.Errand.LEARN
    both = with_left(ui, [one, other])
    assert seen.request_after(both, NOWHERE, "enter") == requests.Continue("other")
    assert seen.request_after(both, NOWHERE, "up", "enter") == requests.Continue("one")
    again = with_left(both, [structs.replace(other, when="2026-11-21 21:00"), one])
    assert seen.request_after(again, NOWHERE, "enter") == requests.Continue("other")
    assert seen.request_after(with_left(again, [one]), NOWHERE, "enter") == requests.Errand.PLAY
    assert isinstance(ui.page, Start)
    at_server = ui.with_page(replace(ui.page, chosen=SERVERS[1]))
    assert seen.request_after(at_server, NOWHERE, "enter") == requests.GoTo(SERVERS[1])
    seen.assert_screen("start-continue-80x24", seen.screen_of(ui, NOWHERE))


def test_the_start_screen_says_how_many_problems_are_solved_and_whether_that_of_the_day_is() -> None:
    told = {
        (0, False, 0): "find the best move: the problem of the day",
        (7, False, 0): "7 of 40 solved; today's is not",
        (7, False, 1): "7 of 40 solved; yesterday's is solved",
        (7, False, 4): "7 of 40 solved; those of the last 4 days are solved",
        (7, True, 1): "7 of 40 solved; today's is solved ",
        (7, True, 4): "7 of 40 solved; today's is solved, 4 days in a row",
    }
    for (count, today, in_a_row), words in told.items():
        ui = with_solved(UI, Solved(frozenset(), count, 40, today, in_a_row))
        assert f"Problems              {words}" in seen.screen_of(ui, NOWHERE)


def test_games_that_wait_for_the_player_come_first() -> None:
    """With the one chosen where it is the player's turn, unless a key has been pressed; ended ones vanish."""
    one, two = KeptSeat(SERVERS[0], "KXQT", "Ann"), KeptSeat(SERVERS[1], "ABCD", "Bob")
    theirs = Turn(0, "playing", seat=0, turn=1, name="Cosima\x1b", clock=44_000)
    mine = Turn(0, "playing", seat=1, turn=1, name="Bob", clock=2 * 86_400_000)
    ui = seat_stands(UI, one, theirs)
    assert seen.request_after(ui, NOWHERE, "enter") == requests.Errand.LEARN
    ui = seat_stands(ui, two, mine)
    for size in ((80, 24), (40, 12)):
        columns, lines = size
        seen.assert_screen(f"start-waiting-{columns}x{lines}", seen.screen_of(ui, NOWHERE, *size))
    assert seen.request_after(ui, NOWHERE, "enter") == requests.GoTo(SERVERS[1], "ABCD")
    assert seen.request_after(ui, NOWHERE, "down", "enter") == requests.GoTo(SERVERS[0], "KXQT")
    moved = seat_stands(seen.after(UI, NOWHERE, "down"), two, mine)
    assert seen.request_after(moved, NOWHERE, "enter") == requests.Errand.PLAY
    left: tuple[SeatAnswer, ...] = (Gone(), Silent("No."), Locked(), Turn(0, "over"))
    for answer in (*left, Turn(0, "playing", archived=True)):
        gone = seat_stands(ui, two, answer)
        assert "ABCD" not in seen.screen_of(gone, NOWHERE)
        assert seen.request_after(gone, NOWHERE, "enter") == requests.Errand.SEARCH
    assert with_seats(ui, [one]) == seat_stands(ui, two, Gone())
    assert not is_turn(structs.replace(mine, paused=True))


STOPPED = StoppedTable(
    KeptSeat("ws://127.0.0.1:7733", "BPHB", "Ann"),
    Turn(0, "playing", seat=0, turn=1, name="emma"),
    ("bob", "Cosima", "Dario", "emma"),
    "17:14",
)


def test_a_table_that_has_stopped_is_hosted_on() -> None:
    """It is chosen unless the player has moved, and gone as soon as another program hosts it."""
    ui = with_stopped(UI, [STOPPED])
    there = requests.HostOn("ws://127.0.0.1:7733", "BPHB")
    assert seen.request_after(ui, NOWHERE, "enter") == there
    for columns, lines in (80, 24), (40, 12):
        seen.assert_screen(f"start-stopped-{columns}x{lines}", seen.screen_of(ui, NOWHERE, columns, lines))
    moved = with_stopped(seen.after(UI, NOWHERE, "down"), [STOPPED])
    assert seen.request_after(moved, NOWHERE, "enter") is requests.Errand.PLAY
    hosted = with_stopped(seen.after(UI, NOWHERE, *to_line(StartLine.HOST)), [STOPPED])
    assert seen.request_after(hosted, NOWHERE, "enter") == there
    assert seen.after(with_stopped(hosted, []), NOWHERE, "enter").overlay == Form(HOSTING)
    elsewhere = seat_stands(ui, STOPPED.seat, STOPPED.turn)
    assert "Host on" not in seen.screen_of(elsewhere, NOWHERE)
    mine = structs.replace(STOPPED, turn=structs.replace(STOPPED.turn, turn=0, name="Ann"), others=())
    assert "stopped at 17:14; it is your turn." in seen.screen_of(with_stopped(UI, [mine]), NOWHERE)
    gathering = structs.replace(STOPPED, turn=Turn(0, "gathering", seat=0))
    assert "stopped at 17:14: not started yet." in seen.screen_of(with_stopped(UI, [gathering]), NOWHERE)


def port_of(terminal: Terminal, before: int) -> int:
    """Return the port of a table that is hosted on: that of `before`, or the one that its host is told."""
    told = {
        int(port) for port in terminal.found(r"ws://\S+:(\d+)")
    }  # a sentence is cut into lines, they are not
    return next(iter(told - {before}), before)


@contextlib.contextmanager
def taking(port: int) -> Iterator[bool]:
    """Take the port for another program; yield whether it is ours: one that has it already may let it go."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("", port))
            listener.listen()
        except OSError:
            yield False
        else:
            yield True


@pytest.mark.slow
@pytest.mark.parametrize("taken", [False, True])
async def test_everybody_comes_back_when_a_killed_program_hosts_on(
    environment: dict[str, str], *, taken: bool
) -> None:
    """At the same address unless it is taken, with the seats that they had; after an orderly end, too."""
    with Terminal(environment=environment) as terminal:
        terminal.press(*to_line(StartLine.HOST), "enter", "down", "right", shows="with Palatinus alone")
        terminal.press("up", "enter", shows=r"palatinus join ws://\S+:\d+ \w{4}")
        (address,) = terminal.found(r"palatinus join ws://\S+:(\d+ \w{4})")
        port, code = int(address.split()[0]), address.split()[1]
        async with connected(port) as bob:
            await bob.join(code, "Bob")
            terminal.shows("Bob takes a seat")
            terminal.press("enter", shows=f"· {code} · (Your|Bob's) turn")
        terminal.end(signal.SIGKILL)
    for _once in range(2):
        with (
            taking(port) if taken else contextlib.nullcontext(enter_result=False) as ours,
            Terminal(environment=environment, size=(160, 50)) as terminal,
        ):
            terminal.shows(rf"► Host on +{code}; Bob comes back", f"Your table {code} stopped at")
            terminal.press("enter", shows=f"· {code} · (Your|Bob's) turn")
            if ours:
                terminal.shows(rf"ws://\S+:(?!{port}\b)\d+")
            there = port_of(terminal, port)
            async with connected(there) as bob_again:
                await bob_again.resume(code, bob.token)
                terminal.shows("Bob is back")
                said = terminal.quit("y")
        assert "Host on from the start screen:\n  palatinus" in said.replace("\r", "")


@pytest.mark.slow
async def test_whose_turn_it_is_is_asked_of_the_servers(environment: dict[str, str]) -> None:
    async with (
        serving("--memory", "--no-config", imported=False) as server,
        connected(server.port) as host,
        connected(server.port) as guest,
    ):
        seated = await host.open(2, "Ann", random_layout=True, starting=0)
        url = f"ws://localhost:{server.port}"
        Seats(seats_folder(), url).keep(seated.table, seated.seat, "Ann", str(seated.token)).release()
        with Terminal(environment=environment) as terminal:
            terminal.shows("Welcome")
            await guest.join(seated.table, "Bob", 1)
            await host.done(StartGame)
            terminal.shows(rf"► Your turn +{seated.table}; you are Ann; {url}")
            terminal.press("enter", shows="Your turn: place")
            terminal.quit("y")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_settings_are_shown_in_every_language(language: str, in_language: Callable[[str], None]) -> None:
    in_language(language)
    seen.assert_screen(f"settings-{language}-80x24", screen(UI.opened(Form(SETTINGS, 4))))


def test_the_start_screen_and_the_form_of_a_host() -> None:
    seen.assert_screen("start-80x24", screen(seen.after(UI, NOWHERE, "down")))
    hosting = seen.after(at_row(HOSTING, "Evening"), NOWHERE, "enter", *NAMED_EVENING)
    for columns, lines in ((80, 24), (40, 12)):
        seen.assert_screen(f"hosting-{columns}x{lines}", screen(hosting, columns, lines))


def test_preferences_are_kept_for_their_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "preferences.json"
    assert read_preferences(path) is None
    kept = Preferences(name="Ann", players=4).joined(SERVERS[0]).joined("ws://localhost:7733")
    remember(path, kept.joined("ws://127.0.0.1:7733/"))
    assert read_preferences(path) == Preferences("Ann", ("ws://127.0.0.1:7733/", SERVERS[0]), 4)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text('{"players": 9}')
    assert read_preferences(path) is None
    path.write_text(f'{{"players": 5, "servers": ["ws://[", "{SERVERS[0]}", "ws://host:99999"]}}')
    assert read_preferences(path) == Preferences(servers=(SERVERS[0],), players=5)
    remember(path / "under" / "a-file.json", kept)


def test_the_first_minutes(tmp_path: Path) -> None:
    environment = {
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }
    with Terminal(environment=environment) as terminal:
        terminal.shows("► Learn the game")
        terminal.press("n", "\x15", "Zoë", "enter", shows="Welcome, Zoë")
        terminal.press("o", "down", "left", shows="► Players +2")
        terminal.press("escape", "down", "enter", shows="Your turn: place|'s turn to place")
        terminal.press(":", "leave", "enter", shows=(r"► Continue .*against 1 bot", "2 players"))
        terminal.press(*["down"] * 3, "enter", shows=("► Start hosting", "over ssh and in browsers too"))
        terminal.press("down", "down", "enter", "Friday", "enter", "down", "right")
        terminal.shows("Evening +Friday", "► Rounds +5")
        terminal.press("up", "up", "up", "enter", shows=("the lobby", "Evening: Friday"))
        terminal.press("o", "enter")
        terminal.shows(r"palatinus join ws://\S+ \w{4}", r"ssh -p \d+ \S+", r"in a browser: http://\S+/")
        terminal.press("b", shows=("► Plebeian", "Consul", "plays openly"))
        terminal.press("enter", shows=(r"\(plebeian\) +\(bot\)", "Everyone who joins gets a seat"))
        terminal.press("escape", shows="give up your seat")
        terminal.press("y", shows="the lobby")
        terminal.press("escape", shows="► Host a game")
        line = next(at for at, text in enumerate(terminal.lines) if "Join a game" in text)
        terminal.click(4, line)
        terminal.shows("► Join a game")
        terminal.click(4, line)
        terminal.shows("► Type an address", "cannot look for servers .PALATINUS_MULTICAST=none.")
        terminal.press("enter", shows="address, name or code:")
        terminal.press("\x1b[200~127.0.0.1:9\x1b[201~", "enter")  # pasted
        terminal.shows("Nothing answers at ws://127.0.0.1:9")
        left = terminal.quit()
        assert not re.search("INFO|Traceback", left)
    with Terminal(environment=environment) as terminal:
        terminal.shows("Welcome, Zoë", "► Continue", "2 players")
        terminal.press("o", shows=("Bell +on", "Window title +on"))
        terminal.press(*["down"] * 6, "left", "down", "right", shows=("Bell +off", "Window title +off"))
        terminal.press("o", shows="Welcome, Zoë")
        terminal.quit()
    with Terminal(environment=environment) as terminal:
        terminal.press("o", shows=("Bell +off", "Window title +off", "Players +2"))
        terminal.press("escape", shows="Welcome, Zoë")
        terminal.quit()


@pytest.mark.slow
def test_games_that_cannot_be_hosted_are_named(tmp_path: Path) -> None:
    """With advice that can be followed: options cannot be typed there."""
    data = tmp_path / "data" / "palatinus"
    data.mkdir(parents=True)
    (data / FILE_NAME).write_bytes(b"no journal" * 500)
    environment = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    with Terminal(environment=environment) as terminal:
        terminal.shows("► Learn the game")
        terminal.press(*to_line(StartLine.HOST), "enter", "enter")
        terminal.shows("► Host a game", "cannot be hosted", "palatinus tables check says more")
        assert "--data" not in terminal.text
        with lock_folder(data):
            terminal.press("enter", "enter")
            terminal.shows("Another server on this computer is using the games", "Join it, or stop it first")
        terminal.quit()


def test_past_games_are_looked_through_and_removed(tmp_path: Path) -> None:
    records = tmp_path / ".local" / "share" / "palatinus" / "records"
    records.mkdir(parents=True)
    for hour in (19, 20):
        text = recorded(played(GameOptions(2, random_layout=True), hour).events, ("Anna", "Bruno"))
        (records / f"20261121-{hour}0000-KRTV.txt").write_text(text, encoding="utf-8")
    (records / "20261121-180000-KRTW.txt").write_text("palatinus record 1\nwinners 0\n")
    with Terminal(environment={"HOME": str(tmp_path), "TZ": "UTC"}, folder=tmp_path) as terminal:
        terminal.shows("Past games")
        terminal.press(*to_line(StartLine.HISTORY), "enter")
        terminal.shows("PLAYERS AND POINTS", "► 2026-11-21 20:00", "Anna", "All games so far")
        terminal.press("down", "enter", shows="Replay . move 0 of")
        terminal.press("q", shows="► 2026-11-21 19:00")
        terminal.press("w", shows="Saved as palatinus-20261121-190000-KRTV.txt")
        terminal.press("e", shows="Saved as palatinus-20261121-190000-KRTV.svg")
        terminal.press("x", shows="Press x again")
        terminal.press("x", shows=("The game is removed", "► 2026-11-21 18:00 .*cannot be read"))
        terminal.press("enter", shows="This record cannot be read: line 2")
        terminal.press("escape", shows="Welcome")
        terminal.quit()
    assert [path.name for path in sorted(records.iterdir())] == [
        "20261121-180000-KRTW.txt",
        "20261121-200000-KRTV.txt",
    ]
    assert len(list(tmp_path.glob("palatinus-*"))) == 2


GAME = ("play", "--pace", "quick", "--players", "3", "--random-layout", "--starts", "me", "--name", "Ann")
TOKEN = "t" * 43


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return an environment with folders of its own, which this process uses as well."""
    found = {
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


def place(terminal: Terminal, left: int, piece: str = "f*") -> None:
    """Place a piece on the first empty field, and wait for the next own turn."""
    terminal.shows("Your turn: place", rf"YOUR HAND +{left}\b")
    field = terminal.found(r"[┃┊▐→] ?([A-G][1-6]) ")[0]
    terminal.press(":", f"{piece} {field}", "enter", shows=(rf"YOUR HAND +{left - 1}\b", "Your turn: place"))


def board_of(terminal: Terminal) -> list[str]:
    """Return the board's lines without the cursor and without the mark of the last piece.

    Where the cursor is depends on which fields were taken while somebody looked.
    """
    return [re.sub("[•→]", " ", re.sub("[▐▌┃┊]", "|", line[:48])).rstrip() for line in terminal.lines[1:20]]


@pytest.mark.slow
def test_left_and_continued(environment: dict[str, str]) -> None:
    """With `q`, by leaving for the start screen and by a kill; the bots play on, and hold their seats."""
    bots = re.compile(r"([A-Z][a-z]+) \(")
    with Terminal(*GAME, environment=environment) as terminal:
        place(terminal, 12)
        board = board_of(terminal)
        names = bots.findall(terminal.text)
        assert len(names) == 2
        said = terminal.quit("y")
    assert "palatinus play --continue" in said
    with Terminal(environment=environment) as terminal:
        terminal.shows("► Continue .*against 2 bots")
        terminal.press("enter", shows="Your turn: place")
        assert board_of(terminal) == board
        assert bots.findall(terminal.text) == names
        terminal.shows(
            rf"{names[1]} (places|\S+ \w\d)"
        )  # what happened last: nobody else has been away or come back
        assert not terminal.found(" is back|back in your seat")
        place(terminal, 11)
        terminal.press(":", "leave", "enter", shows="► Continue")
        terminal.press("enter")
        place(terminal, 10)
        terminal.end(signal.SIGKILL)
    with Terminal("play", "--continue", environment=environment) as terminal:
        place(terminal, 9, "f")
        assert not terminal.found(r"\bbot\b|\baway\b")  # as it says if another bot plays for one
        with Terminal("play", "--continue", environment=environment) as second:
            code, said = second.ended()
        assert code == 2
        assert "there is no game to continue" in said
        terminal.quit("y")


@pytest.mark.slow
def test_play_asks_whether_to_continue_a_game(environment: dict[str, str]) -> None:
    """Not if an option says what a new one is like; neither answer ends a game."""
    with Terminal(*GAME, environment=environment) as terminal:
        place(terminal, 12)
        terminal.quit("y")
    with Terminal("play", environment=environment) as terminal:
        terminal.shows(r"Your game of .* is half played", r"Continue it\? \[y/N\]")
        terminal.press("y", "enter", shows=r"YOUR HAND +11\b")
        terminal.quit("y")
    with Terminal("play", "--plain", environment=environment) as terminal:
        terminal.shows(r"Continue it\?")
        terminal.press("n", "enter", shows="The game starts: ")
        terminal.press("quit", "enter", "yes", "enter")
        terminal.ended()
    remember(explanations_file(), Explanations(wanted=False))
    with Terminal("play", "--players", "2", environment=environment) as terminal:
        terminal.shows("lay your tiles|Lay the tile beside the others")
        terminal.quit("y")
    assert len(list(games_folder().iterdir())) == 3


def test_a_damaged_game_is_told_and_left_alone(environment: dict[str, str]) -> None:
    with Terminal(*GAME, environment=environment) as terminal:
        place(terminal, 12)
        terminal.quit("y")
    (folder,) = games_folder().iterdir()
    for journal in folder.glob("*.sqlite*"):
        journal.write_bytes(b"?" * 4096)
    with Terminal("play", "--continue", environment=environment) as terminal:
        code, said = terminal.ended()
    assert code == 1
    assert re.search(r"cannot be continued \(.*\)\. It was left untouched", " ".join(said.split()))
    with Terminal(environment=environment) as terminal:
        terminal.shows("► Continue")
        terminal.press("enter", shows="cannot be continued")
        assert "Continue  " not in terminal.text
        terminal.quit()
    assert folder.exists()


@pytest.mark.usefixtures("environment")
def test_tiles_are_laid_at_random_in_a_first_game_unless_that_is_chosen() -> None:
    first = [at_random(chosen) for chosen in (None, True, False)]
    remember(explanations_file(), Explanations(wanted=False))
    later = [at_random(chosen) for chosen in (None, True, False)]
    assert (first, later) == ([True, True, False], [False, True, False])


@pytest.mark.usefixtures("environment")
def test_a_new_game_says_that_another_is_half_played() -> None:
    assert half_played() == ()
    with new_game(("random",), 2) as game:
        game.seat.keep("KXQT", 0, "Ann", TOKEN).release()
    (told,) = half_played()
    assert "palatinus play --continue" in told


@pytest.mark.slow
def test_the_player_is_told_where_an_own_brain_failed(environment: dict[str, str], tmp_path: Path) -> None:
    """The module is in the current folder; the game goes on, for the server plays instead."""
    (tmp_path / "mybot.py").write_text("def choose(view, legal, rng):\n    raise KeyError('wolf')\n")
    words = (*GAME[:1], "--random-layout", "--players", "2", "--starts", "2", "--brain", "mybot:choose")
    with Terminal(*words, environment=environment, folder=tmp_path) as terminal:
        terminal.shows("The brain mybot failed in", r"line\s+2:\s+KeyError", "Your turn: place")
        terminal.quit("y")


def test_where_no_game_can_be_kept_it_is_played_all_the_same(environment: dict[str, str]) -> None:
    """The log says why it cannot be kept."""
    games_folder().parent.mkdir(parents=True)
    games_folder().write_text("in the way")
    with Terminal(*GAME, environment=environment) as terminal:
        terminal.shows("Your turn: place")
        terminal.resize(140, 60)
        terminal.shows(r"cannot be kept for later \(.*\)")
        terminal.press("q", "y")
        code, said = terminal.ended()
    assert (code, "--continue" in said) == (0, False)

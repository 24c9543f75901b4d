"""Text mode: what a screen shows can be asked for, and whole visits can be typed."""

import asyncio
import dataclasses
import io
import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from prompt_toolkit.utils import get_cwidth

from client.records import Analysis, Recording
from client.tables.table import ConnectionLost, TableModel
from client.ui.at_table import field_at, hand
from client.ui.frame import plain
from client.ui.interaction import Service, Surroundings
from client.ui.lines import QUESTIONS, LineShell, answer, numbered, rows_of
from client.ui.program import Replaying
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.menu import Form
from client.ui.screens.news import after_update, at_table_page, with_tables
from client.ui.screens.playing import Playing
from client.ui.screens.replay import Replay, open_record, seen_in, with_analysis
from client.ui.screens.screen import drawn
from client.ui.screens.search import with_found
from client.ui.screens.start import HOSTING, SETTINGS
from client.ui.state import Choices, Remark, TalkLog, Ui
from client.ui.terminal.device import OwnLines
from client.ui.texts.glyphs import ASCII
from client.ui.texts.pieces import piece_sign, piece_words
from client.ui.texts.tables import describe_ended
from engine.board import FIELDS, OUTER_POSITIONS, TILES
from engine.events import WolvesRevealed
from engine.game import Game, GameOptions
from engine.legal import LegalPlaces
from engine.pieces import FACES, Kind, People, Piece, Seat, Wolf
from engine.record import recorded
from engine.view import eyes_of
from protocol import messages
from protocol.absence import ByBot
from protocol.admin import EveningPlan
from protocol.messages import AskPause, TableSummary
from server.app import running
from server.config import Config
from tests.client.ui.analysed import analysis_of, recording_of
from tests.client.ui.draw.sample_pages import PAGES
from tests.client.ui.seen import (
    NAMES,
    after,
    at_scoring_step,
    change,
    client_of,
    laying,
    over,
    placing,
    view_of,
)
from tests.client.ui.test_search import FOUND, LOOKING
from tests.client.ui.test_start import UI as START
from tests.games import examples, games, played
from tests.program import let_bots_move_at_once, started_in_lines
from tests.server.peer import connected, state_where
from tests.server.tables.calling import called_by_url

OTHERS = {
    "start": START,
    "settings": START.opened(Form(SETTINGS, 4)),
    "hosting": START.opened(Form(HOSTING)),
    "search": with_found(LOOKING, FOUND),
}
_WORD = re.compile(r"[ESLMA]\?\*|[ESLMA][mfs]\*?|\w+")


def _words(texts: Iterable[str]) -> set[str]:
    """Return the words, pieces, fields and numbers in the texts."""
    return {word.casefold() for text in texts for word in _WORD.findall(re.sub(r"\bx(?=\d)", "", text))}


_PIECES: list[Piece | Wolf] = [Piece(f"{people}{face}") for people in People for face in FACES]
_PIECES += map(Wolf.of, People)
_IN_WORDS = {piece_sign(piece).casefold(): _words([piece_words(piece)]) for piece in _PIECES}
_ON_SIGNS = _words(
    ["By hill. 1-3: at least one, at most three. ?*: wolves on the board whose kind you do not know."]
)


def _heard(texts: Iterable[str]) -> set[str]:
    """Return what is known from the texts: their words, the signs for these, and what explains signs."""
    words = _words(texts)
    return words | _ON_SIGNS | {sign for sign, said in _IN_WORDS.items() if said <= words}


@examples(2)
@given(games(), st.data())
def test_whatever_the_screen_of_a_game_shows_can_be_asked_for(game: Game, data: st.DataObject) -> None:
    seat = data.draw(st.sampled_from([None, *map(Seat, range(game.view.seats))]))
    ui, model = client_of(game, seat)
    seen = _on_screen(ui, model) | (_on_screen(after(ui, model, "c"), model) if not game.over else set())
    questions = [each.typed for each in QUESTIONS if " " not in each.typed]
    questions += [f"if {position} 0" for position in OUTER_POSITIONS]
    questions += [f"hill {tile}" for tile in TILES] + [f"field {field}" for field in FIELDS]
    pointed_at = field_at(model, ui.page.cursor) if isinstance(ui.page, Playing) else None
    questions += [f"if {held.piece} {pointed_at}" for held in hand(model)]
    told = [text for question in questions for text in answer(question, ui, model) or ()]
    known = _heard([*told, *ui.page.words(ui, model), *ui.log])
    assert not {word for word in seen - known if not any(each.startswith(word) for each in known)}
    assert not any("?*" in text for text in (*told, *ui.log))


@pytest.mark.parametrize("at", [placing, laying, over])
def test_help_lists_what_has_an_answer_now(at: Callable[[], tuple[Ui, TableModel]]) -> None:
    ui, model = at()
    (asked, *_others) = answer("help", ui, model) or ("",)
    words = asked.partition(": ")[2].split(", ")
    assert "tables" not in words
    assert ("hand" in words) == (at is not over)
    assert ("if 4 2" in words) == (at is laying)
    done = {"wait"}  # rather than answered
    assert [word for word in words if word not in done and not answer(word, ui, model)] == []


@pytest.mark.parametrize("name", ["> Bob", "A  B", "A     B", "►Z"])
def test_no_name_breaks_a_result_or_is_told_as_another(name: str) -> None:
    ui, model = over()
    result = view_of(model).result
    assert model.state is not None
    assert result is not None
    (winner,) = result.winners
    model.state.seats[winner] = replace(model.state.seats[winner], name=name)
    ui = at_scoring_step(ui, model, 999)
    told = [*(answer("players", ui, model) or ()), *(answer("points", ui, model) or ())]
    spaced = "you" if winner == model.seat else re.sub(" +", " ", name)
    assert any(re.search(rf"(^|\s){re.escape(spaced)}(, \w+)?: ", text) for text in told[:4])
    assert sum(re.sub(" +", " ", text).startswith(f"{spaced}: captives") for text in told) == 1


def test_nothing_is_asked_of_anybody_after_a_game() -> None:
    ui, model = placing()
    change(model, stage="over", ended=True)
    gone = at_table_page(ui, model)
    assert answer("turn", gone, model) == answer("moves", gone, model) == [describe_ended()]
    ui, model = over()
    assert answer("turn", ui, model) == answer("moves", ui, model) == list(ui.page.words(ui, model))


def test_the_chances_in_a_record_can_be_asked_for() -> None:
    recording = recording_of(3)
    ui = with_analysis(open_record(recording, 20, recording.all_eyes), analysis_of(recording))
    model = seen_in(ui)
    told = _words(answer("chances", ui, model) or ())
    shown = [text for text in _on_screen(ui, model) if text.isdecimal()]
    assert isinstance(ui.page, Replay)
    assert ui.page.analysis is not None
    chances = ui.page.analysis.at(20) or ()
    assert {str(round(100 * chance)) for chance in chances} <= told & set(shown)
    assert "36" in told  # how far the analysis is


def test_a_hand_in_a_record_is_nobodys_own() -> None:
    recording = recording_of(3)
    ui = open_record(recording, 10, eyes_of(Seat(1)))
    told = answer("hand", ui, seen_in(ui)) or [""]
    assert told[0].startswith(f"HAND OF {recording.names[1]}: ")


def test_each_move_of_a_record_is_told_with_what_it_leads_to() -> None:
    recording = recording_of(3)
    for move in range(recording.moves + 1):
        ui = open_record(recording, move, recording.all_eyes)
        told, log = (
            ui.page.words(ui, seen_in(ui)),
            open_record(recording, move - 1, recording.all_eyes).log_here,
        )
        assert [line for line in ui.log_here[len(log) * (move > 0) :] if line not in told] == []


def test_each_table_in_the_lobby_is_told_with_how_it_is_set_up() -> None:
    ann = TableSummary("KXQT", "Ann", 3, 1, "gathering", absence=ByBot(60))
    bob = TableSummary("BDFH", "Bob", 2, 1, "gathering", random_layout=True)
    ui = Ui("Dan", screens=(LobbyPage((ann, bob)),))
    told = answer("tables", ui, TableModel())
    first, second = told or ("", "")
    assert first.startswith("KXQT: Ann is the host; seats taken: 1 of 3")
    assert "bot" in first
    assert "the tiles are laid at random" in second
    assert "the tiles are laid at random" not in first


def test_a_piece_is_foreseen_as_it_is_placed() -> None:
    """Of two peoples, a seat's own is meant where none is named (R3.5), whichever comes first in the hand."""
    ui, model = placing(players=2)
    assert isinstance(model.legal, LegalPlaces)
    own, second = view_of(model).start.peoples[model.legal.seat]
    hand = {Piece(f"{second}m"): 0, Piece(f"{own}m"): 1}
    view = dataclasses.replace(view_of(model), hands={model.legal.seat: hand})
    told = answer(f"if m {model.legal.fields[0]}", ui, dataclasses.replace(model, view=view)) or ()
    assert any(text.startswith(f"{own}m here: ") for text in told)


@pytest.mark.parametrize("name", [*OTHERS, *PAGES])
def test_whatever_other_pages_show_is_told_or_can_be_asked_for(name: str) -> None:
    ui, model = PAGES[name]() if name in PAGES else (OTHERS[name], TableModel())
    ui = at_table_page(ui, model)
    told = [text for text in (ui.notice and ui.notice.text, ui.lost and ui.lost.reason) if text]
    for screen in filter(None, (ui.page, ui.overlay)):
        told += [*screen.words(ui, model), *numbered(screen.choices(ui, model) or Choices((), 0))]
    questions = ["help all", "rules", *(each.typed for each in QUESTIONS if " " not in each.typed)]
    questions += [f"hill {tile}" for tile in TILES] + [f"field {field}" for field in FIELDS]
    questions += [f"if {position} 0" for position in OUTER_POSITIONS]
    if isinstance(playing := ui.page.game, Playing) and playing.piece is not None:
        questions += [f"if {playing.piece} {field}" for field in FIELDS]
    told += [text for question in questions for text in answer(question, ui, model) or ()]
    known = _heard([*told, *ui.log, "" if ui.overlay is None else ui.overlay.question(ui)])
    aside = {"host", "seats", "ended", "holds", "x"}  # headings, a remark, a key
    unheard = _on_screen(ui, model) - known - aside
    assert not {word for word in unheard if not any(each.startswith(word) for each in known)}


def _on_screen(ui: Ui, model: TableModel) -> set[str]:
    frame = drawn(ui, model, ASCII, 120, 40)
    return _words(plain(content) for content in frame.lines[1:-1])


class Visit:
    """A program of its own whose input and output are lines of text."""

    def __init__(self, home: Path, *words: str, term: str = "xterm") -> None:
        environment = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home), "TERM": term}
        let_bots_move_at_once(home / ".local" / "state")
        self._process, self._typed, self._out = started_in_lines(words, environment)
        self._deadline = threading.Timer(600, self._process.kill)  # what waits for its next line ends as well
        self._deadline.daemon = True
        self._deadline.start()
        self.told: list[str] = []

    def type(self, *lines: str) -> None:
        self._typed.writelines(f"{line}\n" for line in lines)
        self._typed.flush()

    def until(self, pattern: str) -> re.Match[str]:
        """Read up to a line with the pattern."""
        for line in self._out:
            self.told.append(line.rstrip("\n"))
            if (found := re.search(pattern, line)) is not None:
                return found
        raise AssertionError(self.told[-20:])

    def quit(self) -> None:
        self.type("quit", "yes")
        assert self.end() == 0

    def end(self) -> int | None:
        self._typed.close()
        with self._out:
            self.told += self._out.read().splitlines()
        self._process.join()
        self._deadline.cancel()
        assert not any("\x1b" in line for line in self.told)
        code: int | None = self._process.exitcode
        return code


def test_an_evening_is_spent_line_by_line(tmp_path: Path) -> None:
    """From the start screen: a game against bots, its scoring, the record, past games, a server elsewhere."""
    visit = Visit(tmp_path, "--plain")
    visit.type("wait", "n", "Ann", "o", "- 2", "back", "3", "3", "Friday", "back", "2", "wait", "moves")
    visit.until("Welcome, Ann")
    visit.until("^2. Players: 2. How many play")
    visit.until("Host a game: the evening Friday, 4 rounds")
    while (move := visit.until(r"You may place (\S+?),? .*on (\w\d)|The scoring begins"))[1] is not None:
        visit.type(f"if {move[1]} {move[2]}", f"{move[1]} {move[2]}", "wait", "moves")
        visit.until(f"FIELD {move[2]}")
    visit.type("", "points", "result", "review")
    assert visit.until(r"step (\d+) of").group(1) == "2"
    visit.until(r"\bwins?\b|share")
    visit.until("everything shown")
    visit.type("go 3", "quit", "leave", "6")
    visit.until("^move 3 of")
    visit.until(r"^1\. .*Ann \d+")
    visit.type("1", "quit", "x 1", "x 1", "list", "back", "4")
    visit.until("move 0 of")
    visit.until("remove the game")
    visit.until("No finished games")
    address = visit.until(r"^(\d)\. Type an address")
    visit.type(address[1], "127.0.0.1:1", "back", "yes")
    visit.until("Nothing answers at")
    assert visit.end() == 0


async def test_what_is_asked_for_again_is_told_again(tmp_path: Path) -> None:
    """Even if it is still open: nobody sees that."""
    async with running(Config(evening=EveningPlan("Friday"))) as server:
        visit = Visit(tmp_path, "join", "--plain", f"ws://127.0.0.1:{server.port}", "--name", "Ann")
        await asyncio.to_thread(visit.until, "Evening: Friday")
        visit.type("evening", "evening")
        for _ in range(2):
            await asyncio.to_thread(visit.until, "Nobody has signed up yet")
        await asyncio.to_thread(visit.quit)
        assert sum("You are in the lobby" in line for line in visit.told) == 1


async def test_a_player_is_called_who_has_left(tmp_path: Path) -> None:
    """An address is left, confirmed and used, all by lines."""
    async with called_by_url() as called, running(called.config) as server:
        visit = Visit(tmp_path, "join", "--plain", f"ws://127.0.0.1:{server.port}", "--name", "Ann")
        visit.type("open 2", f"notify {called.url}")
        await asyncio.to_thread(visit.until, "A code is on its way")
        visit.type(f"notify {await called.receiver.code()}", "quit", "yes")
        await asyncio.to_thread(visit.until, "Your URL gets a notification")
        assert await asyncio.to_thread(visit.end) == 0


async def test_friends_meet_by_invitation(tmp_path: Path) -> None:
    """Who comes in text mode is heard at the table, invited there, and sits down with an empty line."""
    async with running(Config(seed=1)) as server, connected(server.port) as host:
        table = (await host.open(2, "Bob", grows=True)).table
        await host.done(messages.EnterLobby, "Bob", [host.token])
        visit = Visit(tmp_path, "join", "--plain", f"ws://127.0.0.1:{server.port}", "--name", "Ann")
        while messages.PersonOnline("Ann", by="text") not in (await host.until(messages.Online)).people:
            pass
        await host.done(messages.Invite)
        await asyncio.to_thread(visit.until, f"Bob invites you to table {table}. Enter: take a seat")
        visit.type("")
        await state_where(host, lambda state: state.taken == 2)
        async with connected(server.port) as guest:
            await guest.done(messages.EnterLobby, "Gina", by="ssh")
            await asyncio.to_thread(visit.until, r"Gina \(ssh\) has come to the lobby")
            visit.type("invite")
            await asyncio.to_thread(visit.until, "Invited to this table: Gina")
            assert (await guest.until(messages.SaidInLobby)).remarks[-1].name == "Ann"
        await asyncio.to_thread(visit.quit)


async def test_what_another_player_asks_for_is_answered_in_words(tmp_path: Path) -> None:
    async with running(Config(seed=1)) as server, connected(server.port) as peer:
        visit = Visit(tmp_path, "join", "--plain", f"ws://127.0.0.1:{server.port}", "--name", "Ann")
        visit.type("open 2 random move-clock:3d")
        code = (await asyncio.to_thread(visit.until, "^Table ([A-Z]+)"))[1]
        await peer.join(code, "Bob")
        visit.type("start")
        for answer, told in (("no", "Ann says no"), ("yes", "The game is paused until")):
            await state_where(peer, lambda state: state.stage == "playing")
            until = int(time.time()) + 86_400
            await peer.done(AskPause(peer.next_id(), on=True, until=until))
            await asyncio.to_thread(visit.until, "Bob asks for a pause until")
            visit.type(answer)
            await asyncio.to_thread(visit.until, told)
        visit.type("plan off")
        await asyncio.to_thread(visit.until, "No move is planned")
        await asyncio.to_thread(visit.quit)
    assert sum("Bob asks for a pause" in line for line in visit.told) == 2, "each time once"
    assert visit.told.count("Still asked: Ann. y: yes, n: no") == 2


def test_questions_are_answered_after_a_refused_move(tmp_path: Path) -> None:
    """A screen has the line for correction then; here the next line stands for itself."""
    visit = Visit(tmp_path, "play", "--plain", "--no-random-layout", "--players", "2")
    visit.type("wait", "lay 1 0", "wait", "lay 1 0")  # at the latest after a move, position 1 is not free
    visit.until("Choose one of")
    visit.type("hand")
    visit.until("^YOUR HAND")
    visit.quit()
    assert ":" not in visit.told


async def test_a_line_that_the_menu_begins_is_completed(tmp_path: Path) -> None:
    async with running(Config()) as server:
        visit = Visit(tmp_path, "join", "--plain", f"ws://127.0.0.1:{server.port}", "--name", "Ann")
        visit.type("open 2 random move-clock:3d", "menu")
        holidays = (await asyncio.to_thread(visit.until, r"^(\d+)\. holiday of each player: 7 days"))[1]
        visit.type(holidays, "9", "menu", holidays, "holidays 8", "menu", holidays, "many", "table")
        for told in ": holidays", "From now on: holiday of each player: 9", "From now on: .* 8 days":
            await asyncio.to_thread(visit.until, f"^{told}")
        await asyncio.to_thread(visit.until, "^Type it like this: holidays 7")
        await asyncio.to_thread(visit.until, "^1 E Ann")
        await asyncio.to_thread(visit.quit)


def test_questions_are_asked_before_anything_is_lost(tmp_path: Path) -> None:
    visit = Visit(tmp_path, "play", "--players", "2", "--seed", "1", "--random-layout", term="dumb")
    visit.type("wait", "m Z9", "say " + "y" * 5000, f"if {'9' * 5000} 0", "end game", "0", "9" * 5000, "1")
    visit.type("quit", "no", "turn", "quit", "yes")
    visit.until("no field Z9")
    visit.until("yyyy")
    visit.until("2. yes: the game ends")
    visit.until(r"Quit\?")
    visit.until("Your turn")
    assert visit.end() == 0
    assert any("palatinus play --continue" in line for line in visit.told)


def test_commands_may_be_typed_with_their_colon(tmp_path: Path) -> None:
    """As the guides write them. The player has chosen a people by its name, and the bots get others."""
    visit = Visit(tmp_path, "play", "--plain", "--people", "sabines", "--name", "Ann")
    visit.type("wait", ":say Salve", "players")
    visit.until("Salve$")
    visit.until("^you, Sabines: ")
    visit.until(r"^[A-Z][a-z]+ \(plebeian\), Etruscans: ")
    visit.quit()
    assert not any("not a command" in line for line in visit.told)


def test_help_is_brief_and_says_more_about_each_word() -> None:
    ui, model = placing()
    brief = answer("help", ui, model) or []
    assert len(brief) <= 8
    everything = answer("help all", ui, model) or []
    for typed in (each for row in brief[:-1] for each in row.partition(": ")[2].split(", ")):
        told = answer(f"help {typed.split()[0]}", ui, model) or []
        assert told
        assert set(told) <= set(everything)
    assert len(everything) > len(brief)
    assert answer("help foo", ui, model) == ["Nothing that can be typed here begins with foo."]


def test_who_has_captured_what_can_be_asked_for_while_it_is_scored() -> None:
    """At the end it is what counts; at the beginning nobody has anything."""
    ui, model = over()
    assert answer("captured", at_scoring_step(ui, model, 0), model) == ["Nothing has been captured yet."]
    result = view_of(model).result
    assert result is not None
    told = answer("captured", at_scoring_step(ui, model, 999), model) or []
    assert len(told) == sum(tally.captives > 0 for tally in result.tallies)


def test_what_the_others_have_placed_can_be_asked_for() -> None:
    ui, model = placing()
    view = view_of(model)
    latest = list(view.placed)[-2:]
    told = answer("since", ui, model) or []
    assert len(told) == 2
    assert all(field in sentence for field, sentence in zip(latest, told, strict=True))


def test_help_names_letters_that_do_the_same_once() -> None:
    ui, model = over()
    told = answer("help all", at_scoring_step(ui, model, 999), model) or ()
    assert len({text.rpartition(": ")[2] for text in told}) == len(told)
    assert "back, h, k: one step back" in told
    assert not any(text.startswith("E: ") for text in told)  # there is no evening here


def test_past_games_that_cannot_be_read_are_told_as_such(tmp_path: Path) -> None:
    """And nobody who leaves them is told that games are not kept."""
    (tmp_path / "palatinus").write_text("not a folder")
    visit = Visit(tmp_path, "--plain")
    visit.type("6", "quit")
    assert visit.end() == 0
    (cannot,) = (line for line in visit.told if "part of the path is not a folder" in line)
    assert cannot.startswith(f"Cannot read {tmp_path / 'palatinus' / 'records'}")


def test_no_line_of_a_list_is_told_below_another_list(tmp_path: Path) -> None:
    """A setting that shows on the start screen, too: what has changed there is told on the way back."""
    visit = Visit(tmp_path, "--plain")
    visit.type("o", "5", "back", "quit", "yes")
    assert visit.end() == 0
    (opened,) = (at for at, line in enumerate(visit.told) if line.startswith("5. Bots: Plebeian."))
    (changed,) = (at for at, line in enumerate(visit.told) if line.startswith("5. Bots: Citizen."))
    (back,) = (at for at, line in enumerate(visit.told) if line.endswith("bots: Citizen"))
    assert opened < changed < back


def test_what_is_typed_for_a_lobby_does_not_end_the_program(tmp_path: Path) -> None:
    """On the start screen and in the list of past games."""
    visit = Visit(tmp_path, "--plain")
    visit.type("join KXQT", "name Zoe", "6", "say hello", "open 3", "refresh", "pause", "back", "quit", "yes")
    assert visit.end() == 0
    assert visit.told.count("That works in the lobby of a server or at a table, not here.") == 5
    assert visit.told.count("You are not at a table. Open or join one first.") == 1


def test_questions_are_answered_in_the_language_in_use(tmp_path: Path) -> None:
    visit = Visit(tmp_path, "--plain", "--lang", "it")
    visit.type("back", "no", "back", "sì")
    assert visit.end() == 0
    assert sum("Uscire da Palatinus?" in line for line in visit.told) == 2
    assert not any("non è un comando" in line for line in visit.told)


def test_a_game_that_its_host_has_ended_is_not_kept(tmp_path: Path) -> None:
    visit = Visit(tmp_path, "play", "--plain", "--players", "2", "--seed", "1", "--random-layout")
    visit.type("wait", "end game", "2")
    visit.until("nobody wins")
    visit.type("quit")
    assert visit.end() == 0
    assert not any("--continue" in line for line in visit.told)
    again = Visit(tmp_path, "play", "--plain", "--continue")
    assert again.end() == 2


def test_a_move_against_bots_is_taken_back(tmp_path: Path) -> None:
    """Whatever is drawn after it will be drawn again."""
    visit = Visit(
        tmp_path,
        "play",
        "--plain",
        "--no-random-layout",
        "--players",
        "2",
        "--brain",
        "random",
        "--starts",
        "me",
    )
    visit.type("wait", "undo", "wait", "lay 1 2", "wait", "undo", "wait", "tiles", "lay 3 0", "wait")
    visit.until("no move to take back")
    drawn = [visit.until(r"draws? tile (\w)")[1] for _player in range(2)]
    visit.until("Your last move is taken back, with all that the bots have done since")
    visit.until("position 1: NO TILE")
    assert [visit.until(r"draws? tile (\w)")[1] for _player in range(2)] == drawn
    visit.quit()
    assert not any("back in your seat" in line or "is back" in line for line in visit.told)


@pytest.mark.slow
def test_a_record_is_played_on_against_bots(tmp_path: Path) -> None:
    record = tmp_path / "record.txt"
    game = played(GameOptions(2, random_layout=True), 1, 8)
    record.write_text(recorded(game.events, ["Bob", "Cosima"]), encoding="utf-8")
    words = "--from", str(record), "--at", "7", "--seat", "cosima", "--name", "Ann"
    visit = Visit(tmp_path, "play", "--plain", *words)
    visit.type("wait", "hint", "moves")
    asked = visit.until("Looking for a good move")
    assert "key" not in asked.string  # none is pressed in text mode
    visit.until("Hint: ")
    move = visit.until(r"You may place (\S+?),? .*on (\w\d)")
    visit.type("v", "back", "quit")
    visit.until("move 6 of 7, seen by you")
    visit.type(f"{move[1]} {move[2]}", "wait", "quit", "yes")
    visit.until("Bob places")
    assert visit.end() == 0


def test_a_lesson_is_taken_line_by_line(tmp_path: Path) -> None:
    visit = Visit(tmp_path, "learn", "--plain")
    visit.type("next", "field B3", "next")
    visit.until("2/21")
    visit.until("Type it like this: field B3")
    visit.until("FIELD B3")
    visit.until("3/21")
    visit.type("quit")
    assert visit.end() == 0


def test_nothing_that_a_server_sends_controls_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = Remark("Eve", "\x1b[2J\x9b31mgone")
    shown = Service(
        Ui("Ann", screens=(LobbyPage(listed=True),), talk=TalkLog(remarks=(hostile,)))
    ).interaction
    asyncio.run(LineShell(shown, OwnLines(io.StringIO(""))).run())
    told = capsys.readouterr().out
    assert "gone" in told
    assert not any((letter < " " and letter != "\n") or "\x7f" <= letter < "\xa0" for letter in told)


def test_a_lost_connection_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """It is in the log, too."""
    shown = Service(Ui("Ann", screens=(LobbyPage(listed=True),))).interaction
    shown.ui = after_update(shown.ui, ConnectionLost("The connection was lost.", 1), shown.model)
    asyncio.run(LineShell(shown, OwnLines(io.StringIO(""))).run())
    assert capsys.readouterr().out.count("The connection was lost.") == 1


def test_words_that_do_nothing_now_are_not_called_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Service(*placing()).interaction
    asyncio.run(LineShell(shown, OwnLines(io.StringIO("next\nresult\n\nfoo\n\n"))).run())
    told = capsys.readouterr().out
    assert "There is nothing for next to do now." in told
    assert "There is nothing for result to do now." in told
    assert told.count("There is nothing for") == 2  # an empty line asks for nothing
    assert told.count("'foo' is not a command. Type help for the list.") == 1


def test_the_scoring_begins_with_every_wolf_and_with_what_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    ui, model = over()
    shown = Service(ui, model).interaction
    asyncio.run(LineShell(shown, OwnLines(io.StringIO("\n\n"))).run())  # each player's turn up by themselves
    told = capsys.readouterr().out
    view = view_of(model)
    revealed = next(event for event in view.scoring if isinstance(event, WolvesRevealed))
    assert revealed.pieces
    for field, piece in revealed.pieces.items():
        kind = "a farmer" if piece.kind is Kind.FARMER else "a merchant"
        seat = view.owners[field]
        whose = "Your" if seat == model.seat else f"{NAMES[seat]}'s"
        assert f"{whose} wolf on {field}: {kind} with the wolf" in told
    assert "An empty line shows what is scored next" in told


def test_a_notice_that_the_log_has_too_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    told = "Your last move is taken back."
    shown = Service(Ui("Ann", screens=(LobbyPage(listed=True),), log=(told,)).with_notice(told)).interaction
    asyncio.run(LineShell(shown, OwnLines(io.StringIO(""))).run())
    assert capsys.readouterr().out.count(told) == 1


def test_the_first_line_waits_for_the_list_of_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise it would be answered that there are none."""
    shown = Service(Ui("Ann", screens=(LobbyPage(),))).interaction

    class Typed(OwnLines):
        left: ClassVar = ["tables"]

        async def line(self, **_how: bool) -> str | None:
            return self.left.pop() if self.left else None

    async def listed_late() -> None:
        shell = LineShell(shown, Typed(io.StringIO()))
        running = asyncio.create_task(shell.run())
        for _turn in range(20):
            await asyncio.sleep(0)
        assert "lobby" not in capsys.readouterr().out  # who goes from a game to its study only passes it
        shown.ui = with_tables(shown.ui, [TableSummary("KXQT", "Bob", 3, 1, "gathering")], shown.model)
        shell.redraw()
        await running

    asyncio.run(listed_late())
    told = capsys.readouterr().out
    assert "KXQT: Bob is the host" in told
    assert "No tables" not in told


@pytest.mark.parametrize("known", [False, True])
def test_lines_wait_until_a_record_is_analysed(capsys: pytest.CaptureFixture[str], known: bool) -> None:
    """Even if nothing is known yet, and whoever's turn it is; a game analysed before need not be again."""

    class Typed(OwnLines):
        left: ClassVar = ["chances", "wait", *([] if known else ["analyse"])]

        async def line(self, **_how: bool) -> str | None:
            return self.left.pop() if self.left else None

    class Analysing:
        async def __call__(self, recording: Recording, told: Callable[[Analysis], None]) -> str:
            for _turn in range(20):
                await asyncio.sleep(0)
            told(analysis_of(recording))
            return ""

        def knows(self, _recording: Recording) -> bool:
            return known

    async def analysed() -> None:
        recording = recording_of(3)
        shown = Replaying(recording, 20, recording.all_eyes, Analysing()).interaction
        shell = LineShell(shown, Typed(io.StringIO()))
        async with asyncio.TaskGroup() as group:
            shown.start(Surroundings(shell.redraw, shell.redraw, group.create_task, shell.call))
            await shell.run()

    asyncio.run(analysed())
    told = capsys.readouterr().out
    assert "decided most" in told
    assert "No record is being analysed here" not in told


def test_words_for_a_table_are_none_for_a_record(tmp_path: Path) -> None:
    """It has neither a host nor votes."""
    record = tmp_path / "record.txt"
    record.write_text(recorded(played(GameOptions(2), 1, 8).events), encoding="utf-8")
    visit = Visit(tmp_path, "replay", "--plain", str(record))
    visit.type("menu", "hint", "v", "quit")
    assert visit.end() == 0
    assert sum("is not a command" in line for line in visit.told) == 3


@pytest.mark.parametrize("eyes", ["1", "all"])
def test_the_result_in_a_record_names_no_command_of_a_table(tmp_path: Path, eyes: str) -> None:
    record = tmp_path / "record.txt"
    record.write_text(recorded(played(GameOptions(2), 1).events), encoding="utf-8")
    visit = Visit(tmp_path, "replay", "--plain", str(record))
    visit.type(f"eyes {eyes}", "result", "points")
    assert visit.end() == 0
    assert any("captives" in line for line in visit.told)
    assert not any("You can type" in line for line in visit.told)


def test_who_leads_after_a_game_is_the_result() -> None:
    """Influence on the board from which the captives are gone says nothing of it."""
    ui, model = over()
    for step in (5, 999):
        there = at_scoring_step(ui, model, step)
        assert answer("leaders", there, model) == answer("points", there, model)


def test_what_was_typed_ahead_reaches_the_next_program() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin, os.fdopen(writing, "w") as typed:
        lines = OwnLines(stdin)
        typed.write("next\nwait\n")
        typed.flush()
        assert asyncio.run(lines.line()) == "next"
        assert asyncio.run(lines.line()) == "wait"
        typed.close()
        assert asyncio.run(lines.line()) is None  # what reads has ended


def test_any_moment_of_a_record_or_problem_is_played_on(tmp_path: Path) -> None:
    """From the record of the game that has just ended, and from a problem."""
    record = tmp_path / "record.txt"
    game = played(GameOptions(2, random_layout=True), 1)
    record.write_text(recorded(game.events, ["Bob", "Cosima"]), encoding="utf-8")
    last = len(game.view.placed) - 1
    visit = Visit(tmp_path, "play", "--plain", "--from", str(record), "--at", str(last), "--name", "Ann")
    visit.type("moves")
    move = visit.until(r"You may place (\S+?),? .*on (\w\d)")
    visit.type(f"{move[1]} {move[2]}", "wait", "result", "review", "go 3", "play on", "wait", "players")
    visit.until("move 3 of")
    visit.until("to place")
    visit.quit()
    visit = Visit(tmp_path, "problems", "--plain", "--name", "Ann")
    visit.type("play on", "moves", "quit", "yes")
    visit.until("You may place")
    assert visit.end() == 0


@given(st.integers(0, 12), st.lists(st.text("ab\u4e00", min_size=1, max_size=12)), st.integers(4, 20))
def test_no_line_breaks_inside_a_word(indented: int, words: list[str], width: int) -> None:
    """Unless no line has room for it; what is indented stays so, and a pipe is given each text whole."""
    text = " " * indented + " ".join(words)
    rows = [*rows_of([text], width)]
    margins = {len(row) - len(row.lstrip(" ")) for row in rows if row.strip()}
    assert len(margins) <= 1
    assert all(get_cwidth(row) <= width for row in rows)
    if all(get_cwidth(word) <= width // 2 for word in words):
        assert " ".join(rows).split() == words
    assert [*rows_of([text], None)] == [text]

"""What keys, clicks and typed lines do, as pure functions from one UI state to the next."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from client.records import Better, Captives, Contest, Suggestion
from client.tables.table import Happened, TableModel
from client.ui import requests
from client.ui.at_table import selected_piece
from client.ui.keys import NAMED, YES, Act, Hold, PointAt
from client.ui.screens.dispatch import after_key, updated
from client.ui.screens.gathering import Gathering
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.news import after_update, with_refusal, with_suggestion
from client.ui.screens.reading import Reading
from client.ui.screens.scoring import Result, Scoring, last_step, steps
from client.ui.screens.screen import keys_offered
from client.ui.state import FinishedGames, LinePrompt, Notice, Offers, TypedLine, Ui
from engine.board import HILLS, Field, Tile
from engine.errors import Fault
from engine.events import LayTile, Place, Placed
from engine.game import GameOptions
from engine.legal import LegalLays
from engine.pieces import Piece, Seat
from engine.view import free_fields
from protocol import messages
from protocol.absence import ByBot, ByVote, GameClock, LongClock, MoveClock
from protocol.codes import Code
from protocol.messages import NEW, Leave, PauseSummary
from protocol.settings import Switches
from tests.client.ui import seen
from tests.client.ui.draw.sample_pages import TABLES
from tests.client.ui.test_search import SEEN as SEARCH
from tests.client.ui.test_start import UI as START
from tests.games import played


def free_field(model: TableModel) -> Field:
    return free_fields(seen.view_of(model))[0]


def at_free_field() -> tuple[Ui, TableModel]:
    ui, model = seen.placing()
    return seen.with_cursor(ui, seen.view_of(model).layout.hexes[free_field(model)]), model


def at_first_tile() -> tuple[Ui, TableModel]:
    """Return the beginning of a game, where every position is open."""
    start = played(GameOptions(3), 1, 0)
    return Ui("Ann"), seen.model_of(start, start.view.turn)


PLACES: dict[str, Callable[[], tuple[Ui, TableModel]]] = {
    "start": lambda: (START, seen.LOBBY),
    "search": lambda: (SEARCH, seen.LOBBY),
    "lobby": lambda: (Ui("Ann", screens=(LobbyPage(TABLES),)), seen.LOBBY),
    "first tile": at_first_tile,
    "tile": seen.laying,
    "piece": at_free_field,
    "scoring": seen.over,
}


ASKED_BY_KEYS: dict[str, dict[str, object]] = {
    "lobby": {
        "enter": requests.Join("KXQT"),
        "down enter": requests.WatchTable("ABCD"),
        "j k w": requests.WatchTable("KXQT"),
        "down down enter": requests.Open(2, grows=True),
        "5 x enter": requests.Open(5, random_layout=True),
        "2 o enter": requests.Open(2),
        "f5": messages.ListTables(NEW),
        "q": requests.Errand.QUIT,
        "o enter": requests.Open(2, grows=True),
        "a o enter": requests.Open(2, grows=True, absence=MoveClock(60)),
        "a a o enter": requests.Open(2, grows=True, absence=GameClock(900)),
        "a a a o enter": requests.Open(2, grows=True, absence=ByVote(60)),
        "a a a a o enter": requests.Open(2, grows=True, absence=ByBot(60)),
        "a a a a a o enter": requests.Open(2, grows=True),
        "a a a a + o enter": requests.Open(2, grows=True, absence=ByBot(120)),
        "a a a a - - o enter": requests.Open(2, grows=True, absence=ByBot(0)),
        "a + + + + + + o enter": requests.Open(2, grows=True, absence=LongClock(172800)),
        "a + + + + + + - o enter": requests.Open(2, grows=True, absence=MoveClock(86400)),
        "a + + + + + + a o enter": requests.Open(2, grows=True, absence=GameClock(900)),
        "+ o enter": requests.Open(2, grows=True),
    },
    "start": {
        "q": requests.Errand.QUIT,
        "escape y": requests.Errand.QUIT,
    },
    "search": {
        "up enter": requests.GoTo("ws://192.0.2.7:7733"),
        "down down enter": requests.GoTo("wss://192.0.2.8:7733"),
        "down w": requests.GoTo("ws://192.0.2.7:7733", "WKGQ", watch=True),
        "escape y": requests.Errand.QUIT,
        "q": requests.Errand.QUIT,
    },
    "tile": {
        "enter": LayTile(Seat(1), 2, 0),
        "r ] [ r enter": LayTile(Seat(1), 2, 2),
        "R space": LayTile(Seat(1), 2, 5),
        "right enter": LayTile(Seat(1), 6, 0),
        "left enter": LayTile(Seat(1), 6, 0),
        "6 enter": LayTile(Seat(1), 6, 0),
        "scroll-down enter": LayTile(Seat(1), 2, 1),
    },
    "first tile": {
        "right enter": LayTile(Seat(0), 2, 0),
        "left enter": LayTile(Seat(0), 6, 0),
        "down enter": LayTile(Seat(0), 2, 0),
        "up enter": LayTile(Seat(0), 6, 0),
    },
    "piece": {
        "2 enter": Place(Seat(0), Piece("Em*"), Field("A1")),
        "tab space": Place(Seat(0), Piece("Em*"), Field("A1")),
        "! 1": messages.Say(NEW, "👏"),
        "! escape 2 enter": Place(Seat(0), Piece("Em*"), Field("A1")),
        "tab tab s-tab s-tab space": Place(Seat(0), Piece("Em"), Field("A1")),
        "s-tab enter": Place(Seat(0), Piece("Es"), Field("A1")),
    },
    "scoring": {
        "end escape": messages.Leave(NEW),
        "end g": messages.Rematch(NEW),
        "! 6": messages.Say(NEW, "🙏"),
        "q": requests.Errand.QUIT,
    },
}


@pytest.mark.parametrize(
    ("place", "keys"), [(place, keys) for place, asked in ASKED_BY_KEYS.items() for keys in asked]
)
def test_what_keys_ask_for(place: str, keys: str) -> None:
    pressed = [" " if key == "space" else key for key in keys.split()]
    assert seen.request_after(*PLACES[place](), *pressed) == ASKED_BY_KEYS[place][keys]


def names_offered(ui: Ui, model: TableModel) -> list[str]:
    """Return the keys in the function bar, by their first names."""
    return [key.names[0] for key in keys_offered(ui, model)]


def test_a_finished_game_is_looked_back_at_where_the_program_can() -> None:
    ui, model = seen.over()
    able = replace(ui.with_page(Result()), finished_games=FinishedGames(judged=True, saved=True))
    wanted = {
        "v": requests.Review(),
        "y": requests.Review(analysed=True),
        "w": requests.Errand.SAVE_RECORD,
        "e": requests.Errand.SAVE_PICTURE,
    }
    assert {key: seen.request_after(able, model, key) for key in wanted} == wanted
    assert wanted.keys() <= set(names_offered(able, model))
    for other in (replace(able, finished_games=None), able.with_page(Scoring())):
        assert {seen.request_after(other, model, key) for key in wanted} == {None}
        assert "v" not in names_offered(other, model)


def test_escape_lets_a_spectator_leave() -> None:
    for game in (played(GameOptions(3), 1, 1), played(GameOptions(3, random_layout=True), 1, 6)):
        model = seen.model_of(game, None)
        assert seen.request_after(seen.ui_of(game, model), model, "escape") == Leave(NEW)
    ui, model = seen.placing()
    assert seen.playing_of(seen.after(ui, model, "2", "escape")).piece is None


def test_moves_are_taken_back_against_bots_alone() -> None:
    ui, model = seen.placing()
    assert "z" not in names_offered(ui, model)
    assert "no move" in seen.notice_of(seen.after(ui, model, "z"))
    alone = replace(ui, offers=Offers(takes_back=True))
    assert "z" in names_offered(alone, model)
    assert seen.request_after(alone, model, "z") == requests.TakeBack(Seat(0))
    assert seen.request_after(alone, model, ":", *"undo", "enter") == requests.TakeBack(Seat(0))


def test_hints_where_the_table_allows_them() -> None:
    ui, model = seen.placing()
    assert "no hints" in seen.notice_of(seen.after(ui, model, "s"))
    assert "s" not in names_offered(ui, model)
    seen.change(model, switches=Switches(hints=True))
    assert seen.request_after(ui, model, "s") == requests.Errand.HINT
    assert "s" in names_offered(ui, model)
    waiting = seen.model_of(seen.played_until_turn_of(played(GameOptions(3, random_layout=True), 1, 6), 1), 0)
    waiting.state = model.state
    assert "s" not in names_offered(ui, waiting)
    assert "own turn" in seen.notice_of(seen.after(ui, waiting, "s"))
    seen.change(model, paused=PauseSummary(0, 20, 580))
    model.legal = None
    assert "The game is paused." in seen.notice_of(seen.after(ui, model, "s"))


def test_enter_on_anothers_turn_says_whose_turn_it_is() -> None:
    """Until a piece is picked, with which it would plan a placement."""
    game = seen.played_until_turn_of(played(GameOptions(3, random_layout=True), 3, 12), 0)
    ui, model = seen.client_of(game, 1)
    told = seen.notice_of(seen.after(ui, model, "enter"))
    assert told.startswith("Ann's turn to place. To plan your placement, pick a piece")
    assert isinstance(seen.request_after(ui, model, "2", "right", "enter"), Place)


def test_a_hint_chooses_the_move() -> None:
    """Enter makes it; the reason is in words."""
    ui, model = seen.placing()
    command = Place(Seat(0), Piece("Ef"), free_field(model))
    hinted = with_suggestion(ui, Suggestion(command, "So it is."), model)
    assert seen.notice_of(hinted) == f"Hint: Ef on {command.field}. So it is."
    assert seen.request_after(hinted, model, "enter") == command
    ui, model = seen.laying()
    assert isinstance(model.legal, LegalLays)
    lay = LayTile(model.legal.seat, model.legal.positions[-1], 3)
    assert seen.request_after(with_suggestion(ui, Suggestion(lay), model), model, "enter") == lay


def test_a_hint_says_what_it_is_for_before_the_move() -> None:
    """The same key again says more."""
    ui, model = seen.placing()
    seen.change(model, switches=Switches(hints=True))
    move = Place(Seat(0), Piece("Ef"), free_field(model))
    hinted = with_suggestion(ui, Suggestion(move, "So it is.", aim="for 2 springs, worth 2 each"), model)
    told = f"Hint: for 2 springs, worth 2 each, Ef on {move.field}. Ask again to hear why."
    assert seen.notice_of(hinted) == told
    assert seen.notice_of(seen.after(hinted, model, "s")) == "So it is."


def test_a_hint_never_argues_with_the_board_as_it_is() -> None:
    """What a piece would do now is no reason of a search, nor is what hardly differs."""
    ui, model = seen.placing()
    view = seen.view_of(model)
    move, other = (Place(Seat(0), Piece("Es"), field) for field in list(view.layout.fields.values())[:2])
    told = seen.notice_of(with_suggestion(ui, Suggestion(move, "", other), model))
    assert told == f"Hint: Es on {move.field}. Es on {other.field} is about as good."
    hill = Tile("D")
    reasons = (
        Contest(hill, 4, Seat(1), None, 0.004, 0.0),
        Captives(Seat(0), Seat(1), 0.44, 0.41),
        Contest(hill, 4, Seat(0), None, 0.55, 0.5),
    )
    better = Suggestion(move, "", other, Better(move, 0.5, 0.4, reasons))
    seen.change(model, switches=Switches(hints=True))
    hinted = with_suggestion(ui, better, model)
    assert seen.notice_of(hinted) == f"Hint: for hill D, worth 4, Es on {move.field}. Ask again to hear why."
    told = seen.notice_of(seen.after(hinted, model, "s"))
    assert "wins about 50 of 100 games" in told
    assert "captures more" not in told
    assert "Bob" not in told
    assert "you win it in 55 of 100 games" in told


def test_a_hint_stays_until_the_game_goes_on() -> None:
    """Whatever is looked at in the meantime, and whatever else is told for a moment."""
    ui, model = seen.placing()
    move = Place(Seat(0), Piece("Ef"), free_field(model))
    hinted = with_suggestion(ui, Suggestion(move, "So it is."), model)
    told = f"Hint: Ef on {move.field}. So it is."
    looked = seen.after(hinted, model, "l", "1", "tab", "c", "escape")
    assert looked.notice is None
    for size in ((80, 24), (120, 40), (40, 15)):
        assert f"Hint: Ef on {move.field}." in seen.screen_of(looked, model, *size)
    refused = looked.with_notice("No.", refusal=True)
    assert told not in seen.screen_of(refused, model)
    assert told in seen.screen_of(seen.after(refused, model, "l"), model)
    assert told in seen.screen_of(seen.after(looked, model, "m"), model)
    placed = Happened((Placed(Seat(0), move.piece, move.field),), model.seq + 1)
    assert "Hint" not in seen.screen_of(after_update(looked, placed, model), model)


def test_what_ends_in_dots_is_read_in_full_with_the_log() -> None:
    ui, model = seen.placing()
    reason = " ".join(f"word{number}" for number in range(80))
    hinted = with_suggestion(ui, Suggestion(Place(Seat(0), Piece("Ef"), free_field(model)), reason), model)
    screen = seen.screen_of(hinted, model)
    assert "... (m)" in screen
    assert "word79" not in screen
    whole = seen.after(hinted, model, "m")
    read = seen.screen_of(whole, model)
    assert "word79" in read
    assert ui.log[-1] in read
    assert seen.after(whole, model, "escape").overlay is None


def test_a_key_that_ends_a_search_or_a_question_does_not_show_it_again() -> None:
    ui, model = seen.placing()
    seen.change(model, switches=Switches(hints=True))
    searching, _hint = after_key(ui, "s", model)
    at = seen.view_of(model).layout.hexes[free_field(model)]
    asked = seen.after(seen.with_cursor(replace(ui, confirms=True), at), model, "1", "enter")
    for waiting, words in (searching, "Any key stops"), (asked, "Enter: yes"):
        assert words in seen.screen_of(waiting, model)
        assert words not in seen.screen_of(seen.after(waiting, model, "m"), model)


def test_the_only_kind_left_is_chosen() -> None:
    """On the player's own turn, and whatever was picked or put back before."""
    game = played(GameOptions(3, random_layout=True), 1, 0)
    while not (game.view.turn == 0 and len(game.view.hands[Seat(0)]) == 1):
        game.apply(game.legal_commands()[0])
    (piece,) = game.view.hands[Seat(0)]
    model = seen.model_of(game, 0)
    field = free_field(model)
    ui = seen.with_cursor(seen.ui_of(game, model), seen.view_of(model).layout.hexes[field])
    assert seen.request_after(ui, model, "escape", "enter") == Place(Seat(0), piece, field)
    model.legal = None
    assert selected_piece(seen.playing_of(seen.after(ui, model, "escape")), model) is None


def test_a_spectator_goes_to_the_next_game_too() -> None:
    ui, _ = seen.over()
    model = seen.model_of(played(GameOptions(3, random_layout=True), 1), None)
    assert "Only players" in seen.notice_of(seen.after(ui, model, "end", "g"))
    seen.change(model, stage="over", next="ABCD")
    assert seen.request_after(ui, model, "end", "g") == requests.SitOrWatch("ABCD")


def test_spectators_are_not_offered_what_players_do() -> None:
    """Neither in the help nor in the function bar; `g` leads to the next game when there is one."""
    game = played(GameOptions(2, random_layout=True), 1)
    model = seen.model_of(game, None)
    seen.change(model, stage="over", next="ABCD")
    ui = seen.ui_of(game, model).with_page(Result())
    assert "next game" in seen.screen_of(ui, model, 100, 24)
    told = seen.screen_of(ui.opened(Reading(Act.HELP)), model)
    assert "play in their next game if a seat is free" in told
    assert "play again" not in told
    seen.change(model, stage="gathering")
    model.view = None
    ui = Ui("Zoe").with_page(Gathering()).opened(Reading(Act.HELP))
    assert "ready" not in seen.screen_of(ui, model)


def test_a_tile_is_turned_moved_among_open_positions_and_laid() -> None:
    ui, model = seen.laying()
    assert isinstance(model.legal, LegalLays)
    _first, other, *_others = model.legal.positions
    for key in ("escape", "backspace"):
        assert seen.after(ui, model, "r", "right", key) == ui
    closed = next(position for position in range(1, 7) if position not in model.legal.positions)
    told = seen.notice_of(seen.after(ui, model, str(closed)))
    assert all(str(position) in told for position in model.legal.positions)
    moved, request = updated(ui, PointAt(HILLS[other]), model)
    assert request is None
    assert updated(moved, PointAt(HILLS[other]), model)[1] == LayTile(Seat(1), other, 0)


def test_a_lay_is_confirmed_if_the_player_wants_it() -> None:
    ui, model = seen.laying()
    assert isinstance(model.legal, LegalLays)
    first, second = model.legal.positions[:2]
    lay = LayTile(Seat(1), first, 1)
    ui = replace(ui, confirms=True)
    once = seen.after(ui, model, "r", "enter")
    assert once.asked == lay
    assert f"position {first}, turned once?" in seen.notice_of(once)
    assert seen.request_after(once, model, "enter") == lay
    assert updated(once, PointAt(HILLS[first]), model)[1] == lay
    for key in ("escape", "backspace"):
        assert seen.after(once, model, key) == seen.after(ui, model, "r")  # a second one would turn it back
    assert seen.after(once, model, "r", "enter").asked == LayTile(Seat(1), first, 2)
    assert seen.request_after(ui, model, *seen.typed(f"lay {second} 3"), "enter") == LayTile(
        Seat(1), second, 3
    )


def test_a_placement_is_confirmed_if_the_player_wants_it() -> None:
    ui, model = seen.placing()
    field, cell = next(
        pair for pair in seen.view_of(model).layout.hexes.items() if pair[0] not in seen.view_of(model).placed
    )
    ui = seen.with_cursor(replace(ui, confirms=True), cell)
    place = Place(Seat(0), Piece("Em*"), field)
    assert seen.request_after(ui, model, "2", "enter", "enter") == place
    assert seen.request_after(ui, model, *seen.typed(f"m* {field}"), "enter") == place
    again = seen.after(ui, model, "2", "enter", "escape")
    assert (again.asked, again.notice, seen.playing_of(again).piece) == (None, None, place.piece)
    assert seen.playing_of(seen.after(again, model, "escape")).piece is None
    sent, request = after_key(seen.after(ui, model, "2", "enter"), "enter", model)
    assert (sent.asked, sent.busy, request) == (None, True, place)


def test_the_cursor_moves_in_six_directions_and_stays_on_the_board() -> None:
    ui, model = seen.placing()
    ui = seen.with_cursor(ui, (0, 0))
    for key, cell in {
        "h": (-1, 0), "l": (1, 0), "y": (0, -1), "u": (1, -1), "b": (-1, 1), "n": (0, 1),
        "left": (-1, 0), "right": (1, 0), "up": (1, -1), "down": (0, 1),
    }.items():  # fmt: skip
        assert seen.playing_of(seen.after(ui, model, key)).cursor == cell
    assert seen.after(ui, model, "k", "k", "j", "j") == ui
    for key in "hlyubnkj":
        end = seen.after(ui, model, *[key] * 20)
        assert seen.after(end, model, key) == end


def test_every_field_can_be_reached_with_the_arrow_keys() -> None:
    ui, model = seen.placing()
    found, edge = {seen.playing_of(ui).cursor}, [ui]
    while edge:
        at = edge.pop()
        for key in ("left", "right", "up", "down"):
            there = seen.after(at, model, key)
            if (cell := seen.playing_of(there).cursor) not in found:
                found.add(cell)
                edge.append(there)
    assert len(found) == 49


def test_a_piece_is_picked_and_placed() -> None:
    ui, model = at_free_field()
    field, taken = free_field(model), next(iter(seen.view_of(model).placed))
    held, _ = updated(ui, Hold(Piece("Ef")), model)
    assert updated(held, PointAt(seen.playing_of(ui).cursor), model)[1] == Place(Seat(0), Piece("Ef"), field)
    elsewhere, request = updated(held, PointAt((0, 0)), model)
    assert (seen.playing_of(elsewhere).cursor, request) == ((0, 0), None)
    there = seen.with_cursor(ui, seen.view_of(model).layout.hexes[taken])
    assert seen.request_after(there, model, "1", "enter") == Place(Seat(0), Piece("Em"), taken)
    waiting, _ = after_key(seen.after(ui, model, "1"), "enter", model)
    again, request = after_key(waiting, "enter", model)
    assert request is None
    assert seen.notice_of(again)


def test_what_cannot_be_placed_is_explained() -> None:
    ui, model = seen.placing()
    assert "Pick a piece" in seen.notice_of(seen.after(ui, model, "escape", "enter"))
    on_hill = seen.with_cursor(ui, HILLS[0])
    assert "A hill holds no pieces" in seen.notice_of(seen.after(on_hill, model, "enter"))
    assert seen.playing_of(seen.after(ui, model, "1", "escape")).piece is None
    game = played(GameOptions(3, random_layout=True), 1, 6)
    watching = seen.model_of(game, None)
    assert seen.notice_of(seen.after(seen.ui_of(game, watching), watching, "tab", "enter"))


def test_the_log_scrolls_within_its_length() -> None:
    for ui, model in (seen.placing(), seen.laying()):
        assert seen.after(ui, model, "pageup").scroll == min(2, len(ui.log) - 1)
        assert seen.after(ui, model, *["pageup"] * 50).scroll == len(ui.log) - 1
        assert seen.after(ui, model, "pageup", "pagedown", "pagedown").scroll == 0


def test_pages_to_read() -> None:
    """They are turned within as many as the window last had."""
    ui, model = seen.placing()
    assert seen.after(ui, model, "?").overlay == Reading(Act.HELP)
    assert seen.after(ui, model, "?", "i").overlay == Reading(Act.RULES)
    assert seen.after(ui, model, *seen.typed("rules")).overlay == Reading(Act.RULES)
    four = replace(ui, last_top=3)  # pages there are, in the window
    assert seen.after(four, model, "?", *["down"] * 5).overlay == Reading(Act.HELP, 3)
    assert seen.after(four, model, "i", "down", "down", "up", "up", "up").overlay == Reading(Act.RULES)
    reading = four.opened(Reading(Act.HELP, 3))
    assert seen.after(replace(reading, last_top=2), model, "up").overlay == Reading(Act.HELP, 1)  # enlarged
    assert isinstance(seen.after(ui, model, "c").overlay, Reading)
    for key in "?ic":
        assert seen.after(ui, model, key, "escape") == ui


def test_quitting_before_a_game_asks_whether_to_give_up_the_seat() -> None:
    model = TableModel("KXQT", Seat(0), state=seen.state_of(3))
    ui = Ui("Ann", seen.ADDRESS)
    for key in ("q", "c-c"):
        asked = seen.after(ui, model, key)
        assert "give up your seat" in seen.screen_of(asked, model)
        assert seen.request_after(asked, model, "y") is requests.Errand.QUIT
        assert seen.after(asked, model, "n").overlay is None
    watching = replace(model, seat=None)
    alone = replace(ui, offers=Offers(private=True))
    assert seen.request_after(ui, watching, "q") is requests.Errand.QUIT
    assert seen.request_after(alone, model, "q") is requests.Errand.QUIT


def test_quitting_asks_once_while_a_game_runs() -> None:
    ui, model = seen.placing()
    for key in ("q", "c-c"):
        assert seen.request_after(ui, model, key, key) == requests.Errand.QUIT
    assert seen.request_after(ui, model, "q", "y") == requests.Errand.QUIT
    assert seen.after(ui, model, "q", "n") == ui
    assert seen.request_after(ui, model, *seen.typed("quit"), "y") == requests.Errand.QUIT


@pytest.mark.parametrize(
    ("letter", "does"), [("m", {Act.WHOLE}), ("t", {Act.CHAT}), ("T", {Act.TALK, Act.CANCEL})]
)
def test_a_letter_means_the_same_on_all_screens(letter: str, does: set[Act]) -> None:
    """To read in full, to say something, to read what was said, and to close that again."""
    assert {key.action for keys in seen.KEYS.values() for key in keys if letter in key.names} == does


def test_scoring_goes_on_back_and_to_the_end() -> None:
    ui, model = seen.over()
    last = last_step(seen.view_of(model))
    assert isinstance(ui.page, Scoring)
    assert seen.shown_step(seen.after(ui, model, "enter", " ", "right"), model) == 3
    assert seen.shown_step(seen.after(ui, model, "enter", "left", "left"), model) == 0
    assert seen.shown_step(seen.after(ui, model, "end"), model) == last
    assert isinstance(seen.after(ui, model, *["enter"] * last).page, Result)
    assert seen.shown_step(seen.after(ui, model, "end", "left"), model) == last - 1
    assert seen.shown_step(seen.after(ui, model, "end", "home"), model) == 0
    assert seen.after(ui, model, "end", "enter", "enter", " ") == seen.after(ui, model, "end")


def test_who_is_led_through_the_scoring_says_what_they_have_seen_or_goes_on_alone() -> None:
    ui, model = seen.over()
    ui = replace(ui, finished_games=FinishedGames())
    first = len(seen.view_of(model).placed) + 1
    seen.change(model, random_layout=True, shown=messages.Shown(first, seat=1))
    assert after_key(ui, "enter", model)[1] == messages.Seen(NEW, first)
    assert after_key(ui, "f", model)[1] is None
    for alone in (seen.after(ui, model, "right"), seen.after(ui, model, "f", "enter")):
        assert seen.shown_step(alone, model) == 1
        assert seen.shown_step(seen.after(alone, model, "enter"), model) == 2
        assert seen.after(alone, model, "f") == seen.after(ui, model, "f", "f")
    seen.change(model, shown=messages.Shown(first, seat=1, seen=[0]))
    waiting, request = after_key(ui, "enter", model)
    assert (seen.shown_step(waiting, model), request) == (0, None)
    assert "still at this step" in seen.notice_of(waiting)


def test_scoring_skips_hill_by_hill() -> None:
    ui, model = seen.over()
    hills = []
    for _ in range(7):
        ui = seen.after(ui, model, "tab")
        hills.append(steps(seen.view_of(model))[seen.shown_step(ui, model)].hill)
    assert hills == list("ABCDEFG")
    assert isinstance(seen.after(ui, model, "tab").page, Result)


@pytest.mark.parametrize("place", seen.KEYS)
def test_keys_are_clear(place: str) -> None:
    """On each screen a key means one thing, and is bound; help is there, unless something is closed first."""
    closed_first = {"dispatch keys", "overlays quitting", "overlays consenting", "overlays signing"}
    closed_first |= {"overlays announcement", "lobby taking_over", "lobby invited"}
    names = [name for key in seen.KEYS[place] for name in key.names]
    assert [name for name, times in Counter(names).items() if times > 1] == []
    assert {name for name in names if len(name) > 1 and name != YES} <= NAMED
    assert "c-c" in names
    assert ("?" in names) is (place not in closed_first)


def test_a_line_is_edited() -> None:
    ui, model = seen.placing()
    keys = [":", *"mx C", "left", "left", "backspace", "right", "right", "4", "home", "delete"]
    keys += ["f", "end", "left"]
    entry = seen.after(ui, model, *keys).entry
    assert entry is not None
    assert (entry.text, entry.at) == ("f C4", 3)
    assert seen.after(ui, model, *keys, "c-u", "backspace").entry is None
    assert seen.after(ui, model, *keys, "escape").entry is None
    assert seen.after(ui, model, ":", "enter").entry is None


def test_lines_are_completed_up_to_where_they_differ_and_recalled() -> None:
    ui, model = seen.placing()
    later = seen.after(ui, model, *seen.typed("help"), "escape", *seen.typed("rules"), "escape")
    ways = ["up"], ["up", "up"], ["up", "up", "down", "down"]
    assert [seen.line_of(seen.after(later, model, ":", *keys)) for keys in ways] == ["rules", "help", ""]
    assert seen.line_of(seen.after(ui, model, ":", "r", "tab")) == "rules"
    assert seen.line_of(seen.after(ui, model, ":", "m", "*", " ", "tab")).startswith("m* ")
    ui, model = seen.laying()
    assert seen.line_of(seen.after(ui, model, ":", "l", "a", "tab")).startswith("lay ")


def test_a_taken_field_is_refused_and_not_planned() -> None:
    """Enter pressed twice, or a typed line: while others move, no piece leaves its field."""
    ui, model = seen.placing()
    taken = next(iter(seen.view_of(model).placed))
    waiting, request = after_key(seen.after(ui, model, *seen.typed(f"m {taken}")[:-1]), "enter", model)
    refused = with_refusal(waiting, "It is not your turn.", Fault.NOT_YOUR_TURN, request, model)
    assert (refused.overlay, refused.busy) == (None, False)
    assert refused.notice == Notice(f"{taken} is taken. Choose an empty field.", refusal=True)
    assert seen.line_of(refused) == f"m {taken}"


def test_a_refused_line_can_be_corrected() -> None:
    """It is back when the server refuses what it says, and a line typed in the meantime stays.

    Otherwise, as when it is not the player's turn, the next key would be typed into it.
    """
    ui, model = seen.placing()
    waiting, request = after_key(seen.after(ui, model, *seen.typed("m A1")[:-1]), "enter", model)
    assert request is not None
    assert waiting.entry is None
    early = with_refusal(waiting, "It is not your turn.", Fault.NOT_YOUR_TURN, request)
    assert early.entry is None
    assert "Play Em on A1 when your turn comes?" in seen.screen_of(early, model)
    assert after_key(early, "enter", model)[1] == messages.Plan(NEW, "Em", "A1")
    assert after_key(early, "escape", model)[0].overlay is None
    corrected = with_refusal(waiting, "A1 is taken.", Fault.FIELD_TAKEN)
    assert seen.line_of(corrected) == "m A1"
    assert with_refusal(replace(waiting, sent=None), "A1 is taken.", Fault.FIELD_TAKEN).entry is None
    said = replace(waiting, sent=TypedLine(LinePrompt.SAY).filled("hello"))
    assert with_refusal(said, "Too many messages.", Code.TOO_MUCH_CHAT).entry == said.sent
    late = seen.after(ui, model, *seen.typed("bot senator"))
    assert (late.entry, bool(seen.notice_of(late))) == (None, True)
    assert seen.line_of(seen.after(waiting, model, *seen.typed("m A2"))) == "m A2"

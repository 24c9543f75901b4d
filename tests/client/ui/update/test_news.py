"""What news from the server changes on the screen: page, log, talk, and what the player is called for."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from client.language import LANGUAGES, _, speaking
from client.player.preferences import Preferences
from client.tables.table import (
    Back,
    Closed,
    ConnectionLost,
    Happened,
    HeardRemark,
    Refreshed,
    TableChanged,
    TableClosed,
    TableModel,
)
from client.ui.at_table import HEX_POSITIONS
from client.ui.keys import Act
from client.ui.screens.dispatch import after_key, after_tick
from client.ui.screens.gathering import Gathering
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.news import (
    after_update,
    at_next_table,
    at_other_table,
    at_table_page,
    occasions,
    with_log,
    with_refusal,
    with_tables,
)
from client.ui.screens.overlays import Announcements
from client.ui.screens.playing import Playing
from client.ui.screens.reading import Reading
from client.ui.screens.scoring import Result, Scoring, last_step
from client.ui.screens.screen import window_title
from client.ui.screens.start import Start
from client.ui.state import LOG_KEPT, REMARKS_KEPT, Mute, Outage, TalkLog, Ui, with_remark
from client.ui.texts.games import describe_rematch
from client.ui.texts.signs import SIGNS
from client.ui.texts.tables import describe_news
from engine.board import Field, Hex
from engine.errors import Fault
from engine.events import GameEnded, HillScored, Place, Placed, WolfPlaced, WolvesRevealed
from engine.game import Game, GameOptions
from engine.legal import LegalPlaces
from engine.pieces import Piece, Seat
from engine.redaction import redacted
from engine.view import SPECTATOR
from protocol.limits import NAME_LENGTH
from protocol.messages import (
    Announced,
    Refused,
    SeatSummary,
    SpectatorSummary,
    Stopping,
    TableState,
    TableSummary,
)
from tests.client.ui import seen
from tests.games import all_eyes, games, played


@given(games())
def test_every_event_is_put_into_words(game: Game) -> None:
    for seat, eyes in enumerate(all_eyes(game), start=-1):
        model = seen.model_of(game, None if seat < 0 else seat)
        for event in game.events:
            ui = after_update(Ui("Ann"), Happened((redacted(event, eyes),), 1), model)
            walked = hasattr(event, "hill") or isinstance(event, WolvesRevealed | GameEnded)
            assert (len(ui.log) == 0) == walked
            assert all(sentence.endswith(".") for sentence in ui.log)


def test_a_piece_that_was_taken_back_at_once_changes_nothing() -> None:
    """Both arrive together after a lost connection; the board may be empty by then."""
    game = played(GameOptions(2, random_layout=True), 1, 0)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    place = next(iter(legal.commands()))
    (placed, *_others) = game.apply(place)
    game.fold(taken := game.taken_back(place.seat))
    model = seen.model_of(game, place.seat)
    ui = after_update(Ui("Ann"), Happened((placed, taken), len(game.events)), model)
    assert len(ui.log) == 2


def test_pieces_placed_since_the_players_own_are_marked() -> None:
    """For a spectator, the last one; for who has just moved, too."""
    game = played(GameOptions(3, random_layout=True), 1, 8)
    placed = [event for event in game.events if isinstance(event, Placed)]
    mover = placed[-1].seat
    for seat, marked in ((None, 1), (mover, 1), ((mover + 1) % 3, 2), ((mover + 2) % 3, 1)):
        model = seen.model_of(game, seat)
        marks = seen.playing_of(seen.ui_of(game, model)).marks(model)
        assert set(marks.recent) == {event.field for event in placed[-marked:]}


def test_the_scoring_is_shown_when_the_game_ends_and_not_on_return() -> None:
    game = played(GameOptions(3, random_layout=True), 1)
    model = seen.model_of(game, 0)
    assert isinstance(seen.ui_of(game, model).page, Scoring)
    back = after_update(Ui("Ann"), Refreshed(), model)
    assert seen.shown_step(back, model) == last_step(seen.view_of(model))
    assert isinstance(back.page, Result)
    log = "".join(seen.ui_of(game, model).log)
    assert not any(event.laurel in log for event in game.events if isinstance(event, HillScored))


def test_joining_leaving_and_returning_are_logged() -> None:
    ui, model = Ui("Ann"), TableModel("KXQT", Seat(0))
    before, joined, away, removed, gone = (
        TableState("KXQT", "gathering", [SeatSummary("Ann", True), other], 0)
        for other in (
            *(SeatSummary(), SeatSummary("Bob", True), SeatSummary("Bob", False)),
            *(SeatSummary(removed=True), SeatSummary("Bob", False, removable_in=60)),
        )
    )
    removable = "Bob is away. In 1:00, the host may give the seat to a bot or to somebody else."
    for state, last, words in (
        (gone, joined, (removable,)),
        (gone, away, (removable,)),
        (before, None, ()),
        (joined, before, ("Bob takes a seat.",)),
        (away, joined, ("Bob is away.",)),
        (joined, away, ("Bob is back.",)),
        (before, joined, ("Bob leaves the table.",)),
        (removed, joined, ("Bob was removed from the table.",)),
    ):
        assert after_update(ui, TableChanged(state, last), model).log == words


def test_who_comes_to_watch_is_logged_by_name() -> None:
    """Once, however often they come: their connection may be a bad one."""
    nobody = TableState("KXQT", "playing", [SeatSummary("Ann", True)], 0)
    watched = structs.replace(nobody, watching=[SpectatorSummary(3, "Zoe"), SpectatorSummary(4)])
    again = structs.replace(nobody, watching=[SpectatorSummary(5, "Zoe")])
    ui = Ui("Ann")
    for before, state in pairwise((nobody, watched, nobody, again)):
        ui = after_update(ui, TableChanged(state, before), TableModel("KXQT"))
        assert ui.log == ("Zoe watches.",)


def test_an_unstable_connection_does_not_fill_the_log() -> None:
    """Of one player's repeated absences only the latest is kept; other lines stay."""

    def table(*here: bool) -> TableState:
        seats = [SeatSummary(name, each) for name, each in zip(("Bob", "Dario"), here, strict=True)]
        return TableState("KXQT", "playing", seats, 0)

    def changed(ui: Ui, *states: TableState) -> Ui:
        for before, state in pairwise(states):
            ui = after_update(ui, TableChanged(state, before), TableModel("KXQT"))
        return ui

    both, one, none = table(True, True), table(False, True), table(False, False)
    ui = Ui("Ann", log=("Bob is away.", "Ann places an Etruscan merchant on C4."))
    flapping = changed(ui, both, one, none, table(True, False), none, one, both, one)
    assert flapping.log == (*ui.log, "Dario is back.", "Bob is away.")
    went_on = replace(flapping, log=(*flapping.log, "Dario: hello"))
    assert changed(went_on, one, both, one, both).log == (*went_on.log, "Bob is back.")
    reading = replace(flapping, scroll=3)
    assert changed(reading, one, both, one).scroll == 3


def test_rematches_votes_and_bots_are_logged() -> None:
    ui, model = Ui("Ann"), TableModel("KXQT")
    ann, bob = SeatSummary("Ann", here=True), SeatSummary("Bob", here=True)
    away = SeatSummary("Bob", votes_needed=1)
    for was, now, words in (
        (bob, SeatSummary("Bob", again=True), ("Bob wants to play again.",)),
        (SeatSummary("Bob", kept=True), bob, ("Bob takes a seat.",)),
        (SeatSummary("Bob", kept=True), SeatSummary(), ("Bob did not come, so the seat is free.",)),
        (away, SeatSummary("Bob", votes=[0], votes_needed=1), ("Ann wants a bot to play for Bob.",)),
        (away, SeatSummary("Bob", bot=True), ("A bot plays for Bob from now on.",)),
        (SeatSummary("Bob", bot=True), bob, ("Bob is back.",)),
    ):
        states = [TableState("KXQT", "playing", [ann, line], 0) for line in (was, now)]
        assert after_update(ui, TableChanged(states[1], states[0]), model).log == words


def test_an_announcement_stays_until_it_is_closed() -> None:
    ui, model = seen.client_of(played(GameOptions(3, random_layout=True), 1, 5), 0)
    ui = after_update(ui.opened(Reading(Act.HELP)), Announced("Down at ten."), model)
    assert ui.overlay == Announcements(("Down at ten.",))
    assert ui.log[-1] == "Announcement by the host of the server: Down at ten."
    for key in ("up", "down", " ", "q", "?", "1", "m"):
        assert seen.after(ui, model, key) == ui
    both = after_update(ui, Announced("Really."), model)
    assert both.overlay == Announcements(("Down at ten.", "Really."))
    assert at_other_table(both, model).overlay == both.overlay
    ended = played(GameOptions(3, random_layout=True), 1)
    at_the_end = after_update(both, Happened((ended.events[-1],), 1), seen.model_of(ended, 0))
    assert at_the_end.overlay == both.overlay
    for key in ("escape", "enter"):
        assert seen.after(both, model, key).overlay == Reading(Act.HELP)  # which was open before


def test_an_announcement_does_not_take_the_line_being_typed() -> None:
    model = TableModel("KXQT", Seat(0), state=seen.state_of(3))
    ui = after_update(seen.after(Ui("Ann"), model, "t", "h", "i"), Announced("Down at ten."), model)
    assert seen.line_of(ui) == "hi"
    typing_on = seen.after(ui, model, "!")
    assert seen.line_of(typing_on) == "hi!"
    assert seen.after(typing_on, model, "escape").overlay == Announcements(("Down at ten.",))


def test_no_chat_line_looks_like_an_announcement() -> None:
    """What stands before the colon is longer than a name may be."""
    for language in LANGUAGES:
        with speaking(language):
            assert len(describe_news(Announced("")).rstrip(" :\u00a0")) > NAME_LENGTH


def test_a_server_that_stops_counts_down_until_it_is_taken_back() -> None:
    model = TableModel()
    ui = after_update(Ui("Ann", now=100.0), Stopping(300), model)
    assert ui.stops_at == 400
    assert ui.log == ("The server is stopping in 5:00, and will not open any more tables.",)
    assert seen.moves(ui, model)
    assert at_other_table(ui, model).stops_at == 400
    back = after_update(ui, Stopping(None), model)
    assert back.stops_at is None
    assert back.log[-1] == "The server will not stop after all."
    for end in (ConnectionLost("The server stopped.", 1.0), Closed(1001, "The server stopped.")):
        assert after_update(ui, end, model).stops_at is None


def test_a_player_who_is_sent_away_is_told_why() -> None:
    for code, told in (
        ("removed-by-server", "The host of the server removed you from table KXQT."),
        ("table-closed", "Table KXQT is closed."),
    ):
        refused = Refused(code, "", about={"table": "KXQT"})
        assert after_update(Ui("Ann"), TableClosed(refused), TableModel()).log == (told,)


def test_the_result_names_players_at_the_next_table() -> None:
    ann, bob = SeatSummary("Ann", again=True), SeatSummary("Bob", here=True)
    over = TableState("KXQT", "over", [ann, bob], 0, next="ABCD")
    assert describe_rematch(over, Seat(1)) == "Ann plays again. Press g to play too."
    assert describe_rematch(over, None) == "Ann plays again. Press g to play if a seat is free, or to watch."
    assert describe_rematch(TableState("KXQT", "over", [bob, bob], 0), Seat(1)) == ""


def test_a_move_made_because_time_was_up_is_explained() -> None:
    game = played(GameOptions(3, random_layout=True), 1, 6)
    model = seen.model_of(game, None)
    placed = redacted(game.events[-1], SPECTATOR)
    assert isinstance(placed, Placed | WolfPlaced)
    log = after_update(Ui("Eve"), Happened((placed,), 9, "clock"), model).log
    assert len(log) == 2
    assert log[0].endswith("time is up: a bot makes the move.")
    assert len(after_update(Ui("Eve"), Happened((placed,), 9, "bot"), model).log) == 1


def test_talk_stands_apart_from_the_log() -> None:
    game = played(GameOptions(2, random_layout=True), 1, 4)
    ui, model = seen.client_of(game, 0)
    log, zoe = ui.log, HeardRemark(None, "hm", "Zoe", 3)
    for said in (HeardRemark(None, "hi"), zoe, HeardRemark(None, "oh", None, 7), HeardRemark(Seat(1), "ho")):
        ui = after_update(ui, said, model)
    assert ui.log == log
    speakers = [remark.speaker for remark in ui.talk.remarks]
    assert speakers == ["A spectator", "Zoe (spectator)", "spectator 7", "Bob"]
    assert ui.talk.remarks[-1].people == game.view.start.peoples[1][0]
    assert ui.talk.remarks[0].people is None


def test_who_comes_back_reads_what_happened_and_was_said_meanwhile() -> None:
    """A bot's moves for a player are marked; what is told again is not heard twice, nor from the muted."""
    game = played(GameOptions(2, random_layout=True), 1, 6)
    placed = tuple(event for event in game.events if isinstance(event, Placed))
    model = seen.model_of(game, 0)
    ui = after_update(Ui("Ann"), Refreshed(placed, 10, (11,)), model)
    assert len(ui.log) == len(placed)
    assert ["(A bot moved.)" in sentence for sentence in ui.log[:3]] == [False, True, False]
    model.left_at = 12
    back = after_update(Ui("Ann"), Refreshed(placed, 10, (14,)), model)
    assert [sentence.startswith("Missed: ") for sentence in back.log] == [False] * 3 + [True] * (
        len(placed) - 3
    )
    assert back.log[4].endswith("(A bot moved.)")
    lost = after_update(Ui("Ann"), Happened(placed[:2], 13), model)  # as sent again, from event 12 on
    assert [sentence.startswith("Missed: ") for sentence in lost.log] == [False, True]
    assert not after_update(Ui("Ann"), Happened(placed[-1:], 14), model).log[-1].startswith("Missed: ")
    missed = HeardRemark(Seat(1), "hello?", player="Bob", again=True, missed=True)
    assert after_update(back, missed, model).talk.remarks[-1].speaker == "Missed: Bob"
    ui = after_update(ui, HeardRemark(Seat(1), "hi", remark=7), model)
    for said in (
        HeardRemark(Seat(1), "hi", remark=7, player="Bob", again=True),
        HeardRemark(None, "psst", "Eve", 3, 8, again=True),
        HeardRemark(Seat(1), "Welcome", remark=9, player="Carla", again=True),
    ):
        ui = after_update(ui, said, model)
    talk = [(each.speaker, each.text) for each in ui.talk.remarks]
    assert talk == [("Bob", "hi"), ("Eve (spectator)", "psst"), ("Carla", "Welcome")]
    assert ui.talk.unread == 3
    assert ui.talk.remarks[2].people is None  # she has left since, and Bob plays on
    muted = replace(ui, talk=ui.talk.after(Mute("Eve")))
    assert after_update(muted, HeardRemark(None, "psst", "Eve", 3, 10, again=True), model).talk == muted.talk


def test_what_was_said_counts_as_unread_until_the_player_reads_or_answers() -> None:
    ui, model = seen.client_of(played(GameOptions(2, random_layout=True), 1, 4), 0)
    ui = after_update(
        after_update(ui, HeardRemark(Seat(1), "hi"), model),
        HeardRemark(None, "hm", "Ann", 3),
        model,
    )
    assert ui.talk.unread == 2
    assert seen.after(ui, model, "?", "escape", "c", "escape").talk.unread == 2
    assert seen.after(ui, model, "t", "o", "escape").talk.unread == 2
    assert seen.after(ui, model, "T").talk.unread == 0
    assert after_key(seen.after(ui, model, "t", "o"), "enter", model)[0].talk.unread == 0
    assert after_update(seen.after(ui, model, "T"), HeardRemark(Seat(1), "so"), model).talk.unread == 0
    assert after_update(seen.after(ui, model, "T", "T"), HeardRemark(Seat(1), "so"), model).talk.unread == 1
    assert after_update(ui, HeardRemark(Seat(0), "mine"), model).talk.unread == 0
    model.seat = None
    assert after_update(ui, HeardRemark(None, "mine", ui.name, 4), model).talk.unread == 0


def test_what_the_player_says_is_seen_at_the_table() -> None:
    """In a small window too, where only unread talk stands above the log; until the next key or an answer."""
    ui, model = seen.client_of(played(GameOptions(2, random_layout=True), 1, 4), 0)
    ui = after_update(ui, HeardRemark(Seat(0), "That hurts!"), model)
    assert "Ann: That hurts!" in seen.screen_of(ui, model)
    assert "That hurts!" not in seen.screen_of(seen.after(ui, model, "right"), model)
    answered = seen.screen_of(after_update(ui, HeardRemark(Seat(1), "I know."), model), model)
    assert "Bob: I know." in answered
    assert "That hurts!" not in answered


def test_a_remark_that_was_seen_makes_room_for_the_log() -> None:
    """With a key some seconds later, which shows that somebody is there; the bar still counts it."""
    ui, model = seen.client_of(played(GameOptions(2, random_layout=True), 1, 4), 0)
    ui = after_update(replace(ui, now=100.0), HeardRemark(Seat(1), "hi"), model)

    def shows_talk(ui: Ui, *size: int) -> bool:
        return "Bob: hi" in seen.screen_of(ui, model, *size)

    assert shows_talk(replace(ui, now=1000.0)), "nobody may have been there"
    early, late = (seen.after(replace(ui, now=now), model, "right") for now in (109.0, 110.0))
    assert (shows_talk(early), shows_talk(late), shows_talk(late, 120, 40)) == (True, False, True)
    assert "T read (1)" in seen.screen_of(late, model)
    helped = seen.after(ui, model, "?")
    assert shows_talk(seen.after(replace(helped, now=110.0), model, "escape")), "the help had hidden it"
    again = after_update(late, HeardRemark(Seat(1), "hm"), model)
    assert "Bob: hm" in seen.screen_of(again, model)
    assert "T read (2)" in seen.screen_of(again, model)
    signed = after_update(late, HeardRemark(Seat(1), "👏"), model)
    assert signed.talk.unread == 1
    assert "Bob: Well played!" not in seen.screen_of(signed, model), "that is at the seat"


def test_talk_outlasts_the_scoring_and_the_rematch_but_not_the_table() -> None:
    ui, model = seen.client_of(played(GameOptions(2, random_layout=True), 1), 0)
    ui = after_update(ui, HeardRemark(Seat(1), "hi"), model)
    for keys in (["enter"], ["?"], ["end"], ["end", "T"]):
        assert seen.after(ui, model, *keys).talk.remarks == ui.talk.remarks
    again = TableModel("ABCD", Seat(0), state=seen.state_of(2))
    for there in (ui, at_table_page(ui, again), at_table_page(at_table_page(ui, TableModel()), again)):
        assert at_table_page(at_next_table(there, again, ui.talk), again).talk.remarks == ui.talk.remarks
    greeted = after_update(at_table_page(ui, again), HeardRemark(Seat(1), "once more"), again)
    assert [each.text for each in at_next_table(greeted, again, ui.talk).talk.remarks] == ["hi", "once more"]
    assert at_table_page(at_other_table(ui, model), TableModel()).talk == TalkLog()
    assert at_table_page(seen.after(ui, model, "T"), TableModel()).overlay is None


def test_a_lost_connection_is_shown_until_it_is_back() -> None:
    model = TableModel()
    lost = after_update(Ui("Ann", now=10.0), ConnectionLost("The server does not answer.", 2.5), model)
    assert lost.lost == Outage("The server does not answer.", 12.5)
    again = after_update(replace(lost, now=12.5), ConnectionLost("Nobody answers.", 5.0), model)
    assert again.lost == Outage("Nobody answers.", 17.5)
    assert after_update(again, Back(), model).lost is None
    assert after_update(again, Back(), model).log == (
        "The server does not answer.",
        "The connection is back.",
    )
    assert (
        after_update(Ui("Ann"), Back(), model).log == ()
    )  # it has gone on to another server, and was not lost
    closed = after_update(replace(again, busy=True), Closed(1001, "The server stops."), model)
    assert (closed.lost, closed.busy) == (Outage("The server stops.", None), False)


def test_only_the_server_of_the_table_says_when_it_stops() -> None:
    model = TableModel("KXQT")
    stopping = after_update(Ui("Ann"), Stopping(60), model)
    assert after_update(stopping, Back(), model).stops_at is None
    assert after_update(stopping, Back(stopping=True), model).stops_at is not None


def test_the_log_is_limited_and_keeps_its_scroll_position() -> None:
    model = TableModel("KXQT")
    ui = replace(Ui("Ann", log=("old",) * 10), scroll=3)
    ui = after_update(ui, Stopping(None), model)
    assert ui.scroll == 4
    for _remark in range(LOG_KEPT + 5):
        ui = after_update(ui, Stopping(None), model)
        ui = after_update(ui, HeardRemark(None, "new"), model)
    assert len(ui.log) == LOG_KEPT
    assert len(ui.talk.remarks) == REMARKS_KEPT
    assert ui.scroll < LOG_KEPT


@given(games(), st.sampled_from(sorted(HEX_POSITIONS)))
def test_a_turn_begins_with_a_move_that_can_be_made(game: Game, cell: Hex) -> None:
    """With a piece, and on the nearest empty field if the one pointed at has been taken since."""
    legal = game.legal()
    if not isinstance(legal, LegalPlaces):
        return
    ui, model = seen.client_of(game, legal.seat)
    view = seen.view_of(model)
    assert isinstance(seen.request_after(ui, model, "enter"), Place)
    pointing = seen.with_cursor(ui, cell)
    assert seen.playing_of(after_update(pointing, Refreshed(), model)).cursor == cell  # once it has begun
    before = pointing.with_page(replace(seen.playing_of(pointing), ready_after=None))
    there = seen.playing_of(after_update(before, Refreshed(), model))
    assert there.piece in legal.pieces
    pointed = view.layout.fields.get(cell)
    if pointed is None or pointed not in (view.since(legal.seat) or view.placed):
        assert there.cursor == cell
        return
    found = view.layout.fields[there.cursor]
    assert found in legal.fields
    beside = view.layout.adjacent(pointed)
    assert found in beside or not any(each in legal.fields for each in beside)


def test_the_log_of_the_scoring_forgets_the_placements() -> None:
    """They are out of date there; what comes after them is shown."""
    game = played(GameOptions(2, random_layout=True), 11)
    model = seen.model_of(game, 0)
    told = tuple(redacted(event, frozenset({Seat(0)})) for event in game.events)
    ui = after_update(Ui("Ann"), Happened(told, len(told)), model)
    for keys in ((), ("enter",), ("end",)):
        there = seen.after(ui, model, *keys)
        for size in ((80, 24), (120, 40), (40, 12)):
            assert "places" not in seen.screen_of(there, model, *size)
        news = with_log(there, ["Bob is gone."])
        assert "Bob is gone." in seen.screen_of(news, model)


def test_what_is_told_and_logged_stands_there_once() -> None:
    ui, model = seen.placing()
    told = "Your last move is taken back."
    ui = with_log(ui, [told])
    assert seen.screen_of(ui, model).count(told) == 1
    assert seen.screen_of(ui.with_notice(told), model).count(told) == 1
    assert seen.screen_of(ui.with_notice("Another."), model).count(told) == 1


def test_the_scoring_that_has_just_begun_is_not_skipped_by_mistake() -> None:
    """The key that put a piece back has to be pressed twice, and that for a hint does nothing there."""
    game = played(GameOptions(2, random_layout=True), 11)
    model = seen.model_of(game, 0)
    told = tuple(redacted(event, frozenset({Seat(0)})) for event in game.events)
    ui = after_update(Ui("Ann"), Happened(told, len(told)), model)
    assert seen.after(ui, model, "s") == ui
    asked = seen.after(ui, model, "escape")
    assert "Press Esc again" in seen.notice_of(asked)
    assert seen.shown_step(asked, model) == 0
    assert isinstance(seen.after(asked, model, "escape").page, Result)
    assert isinstance(seen.after(ui, model, "enter", "escape").page, Result)
    assert isinstance(seen.after(ui, model, "end").page, Result)


def test_a_turn_without_a_move_that_can_be_made_keeps_what_is_chosen() -> None:
    """As a server that sends nonsense could list it."""
    ui, model = seen.placing()
    taken = seen.with_cursor(ui, seen.view_of(model).layout.hexes[next(iter(seen.view_of(model).placed))])
    model.legal = LegalPlaces(Seat(0), (), ())
    assert seen.playing_of(after_update(taken, Refreshed(), model)) == seen.playing_of(taken)


def test_tables_that_can_be_joined_come_first() -> None:
    """Finished tables come last, and deserted games before them, unless the player has a seat there.

    Within each group, tables keep the server's order, newest first.
    """
    over, study, left, running, full, held, free = (
        TableSummary("AAAA", "Bob", 3, 3, "over"),
        TableSummary("GGGG", "Bob", 3, 1, "playing", vacant=2, study=True),
        TableSummary("FFFF", "Bob", 3, 3, "playing", vacant=1, deserted=True),
        TableSummary("BBBB", "Bob", 3, 3, "playing"),
        TableSummary("CCCC", "Bob", 2, 2, "gathering"),
        TableSummary("DDDD", "Bob", 3, 3, "playing", deserted=True),
        TableSummary("EEEE", "Bob", 3, 1, "gathering"),
    )
    ui = with_tables(
        Ui("Ann"), [over, study, left, running, full, held, free], TableModel(), frozenset({"DDDD"})
    )
    assert seen.lobby_of(ui).tables == (held, free, study, running, full, left, over)


def test_the_lobby_keeps_the_chosen_table() -> None:
    model = TableModel()
    one, two, three = (TableSummary(code * 4, "Bob", 3, 1, "gathering") for code in "ABC")
    ui = with_tables(Ui("Ann"), [one, two], model)
    assert seen.lobby_of(ui).chosen == 0
    ui = with_tables(seen.after(ui, model, "down"), [three, one, two], model)
    assert seen.lobby_of(ui).chosen == 2
    assert (
        seen.lobby_of(with_tables(ui, [three], model)).chosen == 1
    )  # the table is gone: the line for a new one
    assert seen.lobby_of(with_tables(seen.after(ui, model, "down"), [one], model)).chosen == 1
    over = structs.replace(two, stage="over")
    for left, chosen in ((two, 1), (over, 0)):  # from a game that is over it leads to the next one
        at_left = seen.after(with_tables(Ui("Ann"), [one, left], model), model, "down")
        assert seen.lobby_of(with_tables(at_left, [one, left], model, frozenset({"AAAA"}))).chosen == chosen


LOBBY = LobbyPage((TableSummary("KXQT", "Bob", 3, 1, "gathering"),), chosen=1)
TABLE = TableModel("KXQT")
RUNNING = seen.model_of(played(GameOptions(3, random_layout=True), 1, 6), 0)
OVER = seen.model_of(played(GameOptions(3, random_layout=True), 1), 0)


def test_the_page_follows_the_table() -> None:
    ui = Ui("Ann", screens=(LOBBY,))
    for model, page in (
        (TABLE, Gathering()),
        (RUNNING, Playing()),
        (OVER, Scoring()),
        (TABLE, Gathering()),
        (TableModel(), LobbyPage()),
    ):
        ui = at_table_page(ui, model)
        assert ui == Ui("Ann", screens=(page,), talk=TalkLog(model.table))
    for chosen, model in (
        (LOBBY, TableModel()),
        (Playing(piece=Piece("Em")), RUNNING),
        (Scoring(5), OVER),
        (Result(), OVER),
    ):
        assert at_table_page(Ui("Ann", screens=(chosen,)), model) == Ui(
            "Ann", screens=(chosen,), talk=TalkLog(model.table)
        )
    start = Start(Preferences())  # without a server
    assert at_table_page(Ui("Ann", screens=(start,)), RUNNING).page == start


def test_the_screen_shows_the_current_table() -> None:
    """The table is updated before the UI state, and a screen drawn in between fits the table."""
    ui = Ui("Ann", screens=(Scoring(5),))
    assert "PLAYERS" in seen.screen_of(ui, RUNNING)
    assert "the lobby" in seen.screen_of(ui.with_page(Playing()), TableModel())


def called_for(model: TableModel) -> list[str]:
    return [each.sentence for each in occasions(model)]


def with_seat(model: TableModel, seat: int, summary: SeatSummary) -> TableModel:
    assert model.state is not None
    model.state.seats[seat] = summary
    return model


def test_every_own_turn_is_an_occasion_of_its_own() -> None:
    game = seen.played_until_turn_of(played(GameOptions(3), 1, 1), 1)
    called = []
    while not game.over:
        model = seen.model_of(game, 1)
        if game.view.turn == 1:
            called.append(next(occasions(model)))
            assert called_for(model)[0].startswith("Your turn: ")
            assert window_title(model).startswith("Your turn: ")
        else:
            assert called_for(model) == ["The game has begun."]
            assert window_title(model) == "Palatinus KXQT"
        game.apply(game.legal_commands()[0])
    assert len({*called}) == len(called) > 10
    assert called_for(seen.model_of(game, 1)) == ["All pieces are placed: the scoring begins."]
    assert called_for(seen.model_of(game, None)) == []


def test_the_host_is_called_when_everybody_is_there() -> None:
    def model(seat: int, *seats: SeatSummary) -> TableModel:
        return TableModel("KXQT", Seat(seat), state=TableState("KXQT", "gathering", list(seats), 0))

    ann, bob = SeatSummary("Ann", here=True), SeatSummary("Bob", here=True)
    assert called_for(model(0, ann, bob)) == ["Everybody is here: you can start the game."]
    assert called_for(model(1, ann, bob)) == []
    assert called_for(model(0, ann, SeatSummary())) == []
    assert called_for(model(0, ann, SeatSummary("Bob", kept=True))) == []
    assert called_for(TableModel()) == []


def test_votes_and_another_game() -> None:
    game = seen.played_until_turn_of(played(GameOptions(3, random_layout=True), 1, 6), 1)
    asked = "Cosima is away: vote whether a bot plays."
    away = SeatSummary("Cosima", here=False, votes_needed=2)
    assert asked in called_for(with_seat(seen.model_of(game, 0), 2, away))
    assert asked not in called_for(with_seat(seen.model_of(game, 0), 2, structs.replace(away, votes=[0])))
    over = seen.model_of(played(GameOptions(3, random_layout=True), 1), 0)
    over = with_seat(over, 1, SeatSummary("Bob", here=True, again=True))
    assert called_for(over)[0] == "Bob plays again. Press g to play too."
    over = with_seat(over, 0, SeatSummary("Ann", here=True, again=True))
    assert called_for(over)[0] == "All pieces are placed: the scoring begins."


def test_what_was_too_early_goes_when_the_turn_comes() -> None:
    """A refusal, a question about a plan, and any other notice about another's turn."""
    game = played(GameOptions(3, random_layout=True), 1, 6)
    for seat in map(Seat, range(3)):
        model = seen.model_of(game, seat)
        early = Place(seat, Piece("Em"), Field("A1"))
        for request in (None, early):  # the second asks whether to plan it
            told = with_refusal(Ui("Ann"), "It is not your turn.", Fault.NOT_YOUR_TURN, request)
            ui = after_update(told, Happened((redacted(game.events[-1], frozenset({seat})),), 9), model)
            here = seat == seen.view_of(model).turn
            told_nothing = here or request is early
            assert (ui.notice is None, ui.overlay is None) == (told_nothing, here or request is None)
        waits = Ui("Ann").with_notice("There are hints on your own turn.")
        ui = after_update(waits, Happened((redacted(game.events[-1], frozenset({seat})),), 9), model)
        assert (ui.notice is None) == (seat == seen.view_of(model).turn)


def test_a_sign_is_read_in_ones_own_words() -> None:
    """Whatever the terminal can show; anything else is what was typed."""
    for language in LANGUAGES:
        with speaking(language):
            for sign, words in SIGNS.items():
                for said, shown in ((sign, _(words)), (sign * 2, sign * 2)):
                    remark = HeardRemark(None, said, "Bob", 1, 1)
                    talk = with_remark(TalkLog(), remark, TableModel(), "Ann", read=True)
                    assert talk.remarks[-1].text == shown


def test_a_sign_is_at_the_seat_for_some_seconds() -> None:
    """The latest one of each player, until its time is up; not what was said before, or is not heard."""
    ui, model = Ui("Ann", now=10.0), seen.model_of(played(GameOptions(3, random_layout=True), 1, 6), 0)
    well_played, sorry, *_others = SIGNS
    ui = replace(ui.with_page(Playing()), talk=TalkLog(model.table, muted=frozenset({"cosima"})))
    for said in (
        HeardRemark(Seat(1), "Well played!", remark=1),
        HeardRemark(Seat(1), well_played, remark=2, again=True),
        HeardRemark(Seat(2), well_played, remark=3),
        HeardRemark(None, well_played, "Cosima", 1, 4),
    ):
        ui = after_update(ui, said, model)
        assert ui.signs == ()
    ui = after_update(ui, HeardRemark(Seat(0), well_played, remark=5), model)
    ui = after_update(replace(ui, now=12.0), HeardRemark(Seat(1), well_played, remark=6), model)
    ui = after_update(replace(ui, now=13.0), HeardRemark(Seat(1), sorry, remark=7), model)
    ui = after_update(ui, HeardRemark(None, sorry, "Zoe", 1, 8), model)
    signs = [(each.seat, each.spectator, each.text) for each in ui.signs]
    assert signs == [(0, "", well_played), (1, "", sorry), (None, "Zoe", sorry)]
    left = [len(after_tick(replace(ui, now=now), model).signs) for now in (14.9, 15.0, 17.9, 18.0)]
    assert left == [3, 2, 2, 0]
    assert after_update(ui, Back(), TableModel()).signs == ()

"""Everything that counts down: reconnecting, absences, clocks and votes, at a given moment."""

from dataclasses import replace

import pytest
from prompt_toolkit.utils import get_cwidth

from client.tables.table import TableModel
from client.ui.at_table import next_vote
from client.ui.draw.news_lines import describe_outage, seat_note, vote_question
from client.ui.screens.dispatch import counting, pressed
from client.ui.screens.screen import drawn
from client.ui.state import Outage, Ui
from client.ui.texts.glyphs import UNICODE
from client.ui.texts.tables import describe_policy
from engine.game import GameOptions
from engine.pieces import Seat
from protocol.absence import WAIT, ByBot, ByVote, GameClock, MoveClock
from protocol.messages import NEW, SeatSummary, TableState, Vote
from tests.client.ui.seen import assert_screen, model_of, played_until_turn_of, text_of, typed, ui_of
from tests.games import played


def playing(*seats: SeatSummary, seat: int = 0) -> tuple[Ui, TableModel]:
    """Return a game with these seats, as `seat` sees it at time 100, when the news arrives."""
    game = played_until_turn_of(played(GameOptions(len(seats), random_layout=True), 3, 12), 0)
    model = model_of(game, seat)
    model.state = TableState("KXQT", "playing", list(seats), 0)
    return replace(ui_of(game, model), now=100.0, told_at=100.0, clock_at=100.0), model


ANN, BOB, COSIMA = (SeatSummary(name, here=True) for name in ("Ann", "Bob", "Cosima"))


def test_an_outage_fits_the_narrowest_screen_in_words() -> None:
    """The reason is shown if there is room, and the countdown is never cut off."""
    outage = Outage("The server stopped.", 12.4)
    assert describe_outage(outage, 10.0, 78) == "The server stopped. Trying again in 3 s."
    assert describe_outage(outage, 12.4, 78) == "The server stopped. Trying again now."
    assert describe_outage(Outage("Your seat was taken over.", None), 10.0, 78) == "Your seat was taken over."
    wordy = Outage(
        "Nothing answers at ws://a-rather-long-name.example.org:7733. Is the server running?", 12.4
    )
    assert describe_outage(wordy, 10.0, 78) == "No connection. Trying again in 3 s."
    assert get_cwidth(describe_outage(wordy, 10.0, 78)) <= 78


def test_absences_and_bots_are_shown_beside_the_names() -> None:
    ui, model = playing(
        ANN, SeatSummary("Bob", seconds_left=75), SeatSummary("Cosima", bot=True), SeatSummary("Dario")
    )
    notes = [seat_note(replace(ui, now=110.5), model, Seat(seat)) for seat in range(4)]
    assert notes == ["", "away 1:05", "bot", "away"]
    assert seat_note(replace(ui, now=500.0), model, Seat(1)) == "away 0:00"
    assert_screen("absences-80x24", text_of(drawn(replace(ui, now=110.5), model, UNICODE, 80, 24)))


def test_only_the_clock_of_the_player_on_turn_runs() -> None:
    ui, model = playing(replace_clock(ANN, 65_000), replace_clock(BOB, 3_700_000))
    model.clock = 65_000
    later = replace(ui, now=105.0)
    assert [seat_note(later, model, Seat(seat)) for seat in range(2)] == ["1:00", "1:01:40"]


def replace_clock(line: SeatSummary, milliseconds: int) -> SeatSummary:
    return SeatSummary(line.name, here=line.here, clock=milliseconds)


def test_the_screen_ticks_only_if_something_counts_down() -> None:
    """Outages with another attempt, timed absences and clocks count down."""
    ui, model = playing(ANN, BOB)
    assert not counting(ui, model)
    assert counting(replace(ui, lost=Outage("Broken.", 101.0)), model)
    assert not counting(replace(ui, lost=Outage("Broken.", None)), model)
    model.clock = 3
    assert counting(ui, model)
    ui, model = playing(ANN, SeatSummary("Bob", seconds_left=3))
    assert counting(ui, model)
    assert not counting(*playing(ANN, SeatSummary("Bob", seconds_left=0)))
    assert not counting(Ui("Ann"), TableModel())


def test_one_key_votes_and_withdraws_the_vote() -> None:
    """It votes for the first absent player without this vote; once all have it, it withdraws one."""
    away = SeatSummary("Bob", seconds_left=0, votes_needed=2, votes=[2])
    ui, model = playing(ANN, away, COSIMA)
    question = "Bob is away. Let a bot play until they are back? v: yes (1 of 2 agree)"
    assert vote_question(model) == question
    assert question in text_of(drawn(ui, model, UNICODE, 80, 24))
    assert pressed(ui, "v", model)[1] == Vote(NEW, 1, agree=True)
    agreed = SeatSummary("Bob", seconds_left=0, votes_needed=2, votes=[0])
    ui, model = playing(ANN, agreed, COSIMA)
    assert pressed(ui, "v", model)[1] == Vote(NEW, 1, agree=False)
    ui, model = playing(ANN, BOB, COSIMA)
    assert (next_vote(model), vote_question(model)) == (None, "")
    assert pressed(ui, "v", model)[0].notice is not None


def test_votes_are_typed_by_name_or_seat() -> None:
    away = SeatSummary("Bob", seconds_left=0, votes_needed=1)
    ui, model = playing(ANN, away, COSIMA)
    for text, vote in (
        ("vote yes bob", Vote(NEW, 1, agree=True)),
        ("vote no 2", Vote(NEW, 1, agree=False)),
        ("vote yes", Vote(NEW, 1, agree=True)),
    ):
        shown, request = ui, None
        for key in typed(text):
            shown, request = pressed(shown, key, model)
        assert request == vote
    shown = ui
    for key in typed("vote yes zoe"):
        shown, request = pressed(shown, key, model)
    assert request is None
    assert shown.notice is not None


@pytest.mark.parametrize("policy", [WAIT, MoveClock(60), GameClock(3600), ByVote(90), ByBot(0)])
def test_every_policy_is_put_into_words(policy: object) -> None:
    assert describe_policy(policy)  # type: ignore[arg-type]

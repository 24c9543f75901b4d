"""A record that is analysed: what begins it, what stops it, and what leads to the moves that decided."""

from dataclasses import replace

import pytest

from client.records import Recording
from client.ui import requests
from client.ui.frame import Frame, plain
from client.ui.keys import Act
from client.ui.requests import Request
from client.ui.screens.dispatch import pressed
from client.ui.screens.replay import Replay, analysed, open_record, seen_in, stopped, told_of_move
from client.ui.screens.screen import drawn, offered
from client.ui.state import Ui
from client.ui.texts.glyphs import UNICODE
from engine.game import GameOptions
from tests.client.ui.analysed import analysis_of, recording_of
from tests.games import played


def begun(*, can_analyse: bool = True) -> Ui:
    recording = recording_of(3)
    return open_record(recording, 0, recording.all_eyes, can_analyse=can_analyse)


def after(ui: Ui, key: str) -> tuple[Ui, Request | None]:
    return pressed(ui, key, seen_in(ui))


def is_offered(ui: Ui, act: Act) -> bool:
    return any(key.action is act for key in offered(ui, seen_in(ui)))


def replay_of(ui: Ui) -> Replay:
    assert isinstance(ui.page, Replay)
    return ui.page


def test_the_key_begins_the_analysis_once() -> None:
    """Not while it goes on, nor when all is judged; but again when it was stopped."""
    ui = begun()
    recording = replay_of(ui).recording
    assert is_offered(ui, Act.ANALYSE)
    assert after(ui, "y")[1] == requests.Analyse()
    judging = analysed(ui, analysis_of(recording, 5))
    assert after(judging, "y")[1] is None
    assert not is_offered(judging, Act.ANALYSE)
    assert after(stopped(judging), "y")[1] == requests.Analyse()
    assert after(stopped(analysed(ui, analysis_of(recording))), "y")[1] is None


def test_a_program_that_cannot_analyse_offers_nothing() -> None:
    """As for guests, whose searches would run on the host's computer."""
    ui = begun(can_analyse=False)
    assert not is_offered(ui, Act.ANALYSE)
    assert after(ui, "y")[1] is None


def test_an_unfinished_game_is_not_analysed() -> None:
    """The page says why."""
    game = played(GameOptions(3, random_layout=True), seed=1, commands=20)
    recording = Recording.of(game.events, {})
    ui = open_record(recording, 0, recording.all_eyes, can_analyse=True)
    told, request = after(ui, "y")
    assert request is None
    assert told.notice is not None
    assert "Only a finished game" in told.notice.text


def test_escape_stops_the_analysis_first() -> None:
    """Only then does it leave; q leaves immediately."""
    ui = analysed(begun(), analysis_of(recording_of(3), 5))
    assert after(ui, "escape")[1] == requests.StopAnalysis()
    assert after(ui, "q")[1] == requests.Quit()
    ended = stopped(ui)
    assert ended.notice is not None
    assert ended.notice.text == "Stopped: 5 of 36 moves analysed."
    assert after(ended, "escape")[1] == requests.Quit()


def test_what_is_told_of_a_move_can_be_read_in_full() -> None:
    """In a window of the least size there is little room for it beside the board."""
    ui = analysed(begun(), analysis_of(recording_of(3)))
    page = replay_of(ui)
    assert page.analysis is not None
    at = replace(ui, page=replace(page, stop=page.analysis.deciding[0].number))
    read = plain_text(drawn(after(at, "m")[0], seen_in(at), UNICODE, 80, 24))
    told = " ".join(told_of_move(replay_of(at), page.analysis))
    assert " ".join(told.split()) in read


def plain_text(frame: Frame) -> str:
    return " ".join(" ".join(plain(content) for content in frame.lines).split())


def test_a_key_goes_from_one_decisive_move_to_the_next() -> None:
    """And from the last to the first."""
    ui = stopped(analysed(begun(), analysis_of(recording_of(3))))
    analysis = replay_of(ui).analysis
    assert analysis is not None
    assert ui.notice is not None
    numbers = sorted(move.number for move in analysis.deciding)
    assert ui.notice.text == "Moves {}, {} and {} decided most.".format(*numbers)
    for number in [*numbers, numbers[0]]:
        ui, _ = after(ui, "d")
        assert replay_of(ui).stop == number
    ui, _ = after(replace(begun()), "d")
    assert replay_of(ui).stop == 0


@pytest.mark.parametrize("key", ["right", "end", "tab", "w"])
def test_the_chances_stay_while_one_looks_around(key: str) -> None:
    """Wherever one goes, and whose eyes one borrows."""
    ui = stopped(analysed(begun(), analysis_of(recording_of(3))))
    assert replay_of(after(ui, key)[0]).analysis == replay_of(ui).analysis

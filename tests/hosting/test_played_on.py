"""Recorded games that are played on."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from client.player.seats import kept_seats
from client.records import Recording
from client.ui.requests import PlayOn
from engine.events import Event, GameStarted, SeenEvent
from engine.game import Game, GameOptions, RandomChance
from engine.pieces import Seat
from engine.redaction import redacted
from engine.view import eyes_of
from hosting.kept_games import kept_games, new_game
from hosting.played_on import fill
from server.storage.sqlite.data_folder import DataFolder
from tests.games import games, played


@given(games(), st.data())
def test_a_game_is_played_on_as_its_player_saw_it(
    tmp_path_factory: pytest.TempPathFactory, game: Game, data: st.DataObject
) -> None:
    """The others' wolves may be of other kinds, as long as these were dealt (R3.5)."""
    recording = Recording.of(game.events, {0: "Ann", 1: "Bob"})
    assume(recording.last_turn >= 0)
    stop = data.draw(st.integers(0, recording.last_turn))
    seat = Seat(data.draw(st.sampled_from(recording.seats)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        with new_game(("greedy",), len(recording.names)) as new:
            kept = fill(new, PlayOn(recording, stop, seat), "Cosima", redraw=True)
        assert [each.table for each in kept_games().games] == [kept.table]
        with DataFolder(kept.folder) as tables:
            events = tables.game(str(kept.table))
    eyes = eyes_of(seat)
    assert _without_draws([redacted(event, eyes) for event in events]) == _without_draws(
        recording.seen(stop, eyes)
    )
    hands = Game(events, RandomChance(random.Random())).view.hands.values()
    assert all(number > 0 for hand in hands for number in hand.values())


def _without_draws(events: Sequence[SeenEvent]) -> list[SeenEvent]:
    return [replace(event, draws=None) if isinstance(event, GameStarted) else event for event in events]


def test_nobody_else_has_the_name_of_who_plays_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose own game it was, and who now takes another seat, lends its name to the bot in their own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    game = played(GameOptions(3, random_layout=True), 1, 9)
    played_on = PlayOn(Recording.of(game.events, {0: "Ann", 1: "Bob", 2: "Cosima"}), 4, Seat(2))
    with new_game(("greedy",), 3) as new:
        kept = fill(new, played_on, "ann", redraw=True)
    assert {seat.name for seat in kept_seats(kept.folder / "bots")} == {"Bob", "Cosima"}


def test_bots_have_the_level_that_plays_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A game against the best that somebody else continues is not won against the best."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    game = played(GameOptions(3, random_layout=True), 1, 9)
    names = {0: "Ann", 1: "Livia (consul)", 2: "consul-2"}
    with new_game(("slave",), 3) as new:
        kept = fill(new, PlayOn(Recording.of(game.events, names), 4, Seat(0)), "Ann", redraw=True)
    assert {seat.name for seat in kept_seats(kept.folder / "bots")} == {"Livia (slave)", "consul-2"}


def test_the_others_wolves_are_drawn_anew_unless_wanted_as_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    game = played(GameOptions(2, random_layout=True), 1, 24)
    recording = Recording.of(game.events, {})

    def placed(*, redraw: bool) -> tuple[Event, ...]:
        with new_game(("greedy",), 2) as new:
            kept = fill(new, PlayOn(recording, recording.last_turn, Seat(0)), "Ann", redraw=redraw)
        with DataFolder(kept.folder) as tables:
            return tables.game(str(kept.table))

    assert _without_draws(placed(redraw=False)) == _without_draws(recording.events)
    assert len({repr(placed(redraw=True)) for _ in range(12)}) > 1

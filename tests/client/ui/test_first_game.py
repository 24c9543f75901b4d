"""A first game explains each new thing once, at the moment it happens, and what it says is true."""

import random
import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from client.player.preferences import Explanations
from client.tables.table import TableChanged
from client.ui.first_game import explain
from client.ui.screens.news import after_update
from client.ui.screens.reading import Reading
from engine.board import Field
from engine.game import Game, GameOptions
from engine.legal import LegalPlaces
from engine.pieces import Kind, Piece, Seat
from engine.view import Phase
from tests.client.ui import seen
from tests.games import begun, played, some_command

ME = Seat(0)


def surely_taken(game: Game, soldier: Field) -> int:
    """Return how many pieces the soldier captures as the board is, with all wolves known (R5)."""
    placed = game.view.placed
    kinds = [placed[each] for each in game.view.layout.adjacent(soldier) if each in placed]
    merchants, farmers = (
        sum(isinstance(piece, Piece) and piece.kind is kind for piece in kinds)
        for kind in (Kind.MERCHANT, Kind.FARMER)
    )
    return 0 if merchants == farmers else max(merchants, farmers)


@given(st.integers(2, 5), st.integers(0, 10_000))
def test_each_new_thing_is_explained_once(players: int, seed: int) -> None:
    game, chooser = begun(GameOptions(players, random_layout=True), seed), random.Random(seed)
    told = []
    while not game.over:
        legal = game.legal()
        model = seen.model_of(game, ME)
        text = explain(Explanations(), model)
        in_text_mode = explain(Explanations(), model, keys=False)
        assert not re.search(r"\b(Enter|Tab|Arrows|cursor)\b|:explain", in_text_mode)
        if not isinstance(legal, LegalPlaces) or legal.seat != ME:
            assert text == ""
        else:
            told.append(text)
            for field, amount in re.findall(r"Your soldier on (\w\d) has [^.]* captures (\d+) piece", text):
                assert surely_taken(game, Field(field)) >= int(amount) > 0
            soldiers = {piece.kind for piece in legal.pieces} == {Kind.SOLDIER}
            assert soldiers == ("Now a soldier has to be placed" in text)
        game.apply(some_command(game, chooser))
    assert told[0].startswith("Most points win")
    assert [text.startswith("Most points win") for text in told].count(True) == 1
    assert "Your last piece" in told[-1]
    for once in ("wolf on", "beside it, whichever are"):
        assert sum(once in text for text in told) <= 1


def test_laying_tiles_is_explained_until_the_player_has_laid_some() -> None:
    """In a later game than the first, if that was at random; then it is over with the first piece."""
    ui, model = seen.laying()
    told = "Lay the tile beside the others"
    assert told not in seen.screen_of(ui, model)
    later = replace(ui, explains=Explanations(wanted=False))
    for columns, lines in ((80, 24), (120, 40), (40, 12)):
        assert told in " ".join(seen.screen_of(later, model, columns, lines).replace("|", "").split())
    nothing = Explanations(wanted=False, laying=False)
    game = seen.played_until_turn_of(played(GameOptions(3), 1, 7), 1)
    after = TableChanged(seen.change(model), None)
    assert after_update(later, after, model).explains == Explanations(wanted=False)
    placing, model = seen.client_of(game, 1)
    assert game.view.phase is Phase.PLACING
    assert after_update(replace(placing, explains=later.explains), after, model).explains == nothing
    at_random = TableChanged(seen.change(model, random_layout=True), None)
    assert (
        after_update(replace(placing, explains=later.explains), at_random, model).explains == later.explains
    )


def test_who_stops_the_explanations_is_told_no_more() -> None:
    """They are on the board's screen, in full with `m`, and gone when switched off, for good."""
    game = seen.played_until_turn_of(played(GameOptions(3, random_layout=True), 3, 0), 0)
    ui, model = seen.client_of(game, 0)
    assert game.view.phase is Phase.PLACING
    assert "Most points win" not in seen.screen_of(ui, model)
    ui = replace(ui, explains=Explanations())
    assert "Most points win" in seen.screen_of(ui, model)
    smallest = " ".join(seen.screen_of(ui, model, 40, 12).replace("|", "").split())
    assert "Most points win: the most influence on a hill takes its points" in smallest
    overlay = seen.after(ui, model, "m").overlay
    assert isinstance(overlay, Reading)
    assert overlay.told.startswith("Most points win")
    *keys, enter = seen.typed("explain off")
    quiet = seen.after(ui, model, *keys, enter)
    assert quiet.explains == Explanations(wanted=False, laying=False)
    assert "Most points win" not in seen.screen_of(seen.after(quiet, model, "l"), model)

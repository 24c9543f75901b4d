"""Properties of every screen of any game: it fits, it never fails, and it shows nothing hidden."""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from client.ui.frame import plain
from client.ui.screens.dispatch import pressed
from client.ui.screens.overlays import Announcements
from client.ui.screens.screen import drawn
from client.ui.texts.glyphs import ASCII, UNICODE
from engine.events import Command, Place
from engine.game import Game, GameOptions
from engine.pieces import Kind, Piece
from engine.view import Phase
from protocol.limits import ANNOUNCEMENT_LENGTH
from tests.client.ui.seen import KEY_NAMES, model_of, ui_of
from tests.games import begun, game_options, games, seeds

SIZES = st.sampled_from(
    [(80, 24), (96, 31), (100, 50), (120, 40), (200, 60), (79, 24), (20, 10), (1, 1)]
) | st.tuples(st.integers(0, 130), st.integers(0, 45))
ANY_KEY = KEY_NAMES + list("mC4*é小")


@given(games(), SIZES, st.booleans(), st.lists(st.sampled_from(ANY_KEY), max_size=30), st.data())
def test_any_screen_of_any_game_fits(
    game: Game, size: tuple[int, int], ascii_only: bool, keys: list[str], data: st.DataObject
) -> None:
    """After any keys, for any eyes, at any moment and size, the frame is as large as the window."""
    seat = data.draw(st.none() | st.integers(0, game.view.seats - 1))
    model = model_of(game, seat)
    ui = ui_of(game, model)
    for key in keys:
        ui, _ = pressed(ui, key, model)
    announced = data.draw(st.lists(st.text("ab é小", min_size=1, max_size=ANNOUNCEMENT_LENGTH), max_size=3))
    if announced:
        ui = replace(ui, overlay=Announcements(tuple(announced)))
    ui = replace(ui, stops_at=data.draw(st.none() | st.integers(0, 86_400)))
    frame = drawn(ui, model, ASCII if ascii_only else UNICODE, *size)
    assert [get_cwidth(plain(line)) for line in frame.lines] == [size[0]] * size[1]
    if ascii_only:
        assert all(plain(line).isascii() for line in frame.lines)


@given(game_options(), seeds, st.integers(1, 30), st.data())
def test_nothing_hidden_is_drawn(options: GameOptions, seed: int, turns: int, data: st.DataObject) -> None:
    """R4.2: two games that differ only in the kinds of others' wolves look the same to a seat."""
    game, twin = begun(options, seed), begun(options, seed)
    seat = data.draw(st.none() | st.integers(0, game.view.seats - 1))
    chooser = random.Random(seed)
    for _ in range(turns):
        commands = game.legal_commands()
        if not commands:
            break
        command = chooser.choice(commands)
        other = _with_other_wolf(command) if command.seat != seat else command
        twin_legal = twin.legal_commands()
        if command not in twin_legal and other not in twin_legal:
            break
        game.apply(command)
        twin.apply(other if other in twin_legal else command)
    if game.view.phase is Phase.OVER:
        return
    one, two = model_of(game, seat), model_of(twin, seat)
    for width, height in ((80, 24), (120, 40)):
        assert drawn(ui_of(game, one), one, UNICODE, width, height) == drawn(
            ui_of(twin, two), two, UNICODE, width, height
        )


def _with_other_wolf(command: Command) -> Command:
    if not isinstance(command, Place) or not command.piece.wolf:
        return command
    other = Kind.FARMER if command.piece.kind is Kind.MERCHANT else Kind.MERCHANT
    return replace(command, piece=Piece.of(command.piece.people, other, wolf=True))

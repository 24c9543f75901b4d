"""Moves that are suggested to people."""

import asyncio
import random
from dataclasses import replace

import pytest
from hypothesis import given

from client.bots.greedy import greedy
from client.bots.levels import LEVELS, reason_for, suggested
from client.bots.search.brain import SearchBrain, SearchFailed
from engine.events import Command, LayTile, Place
from engine.game import Game, GameOptions
from engine.legal import Legal, LegalPlaces
from engine.pieces import Kind, Piece
from engine.redaction import redacted_legal, snapshot
from engine.view import View, eyes_of
from tests.games import games, played

SEARCH = SearchBrain(100, 600.0)


@pytest.fixture
def quick_senator(monkeypatch: pytest.MonkeyPatch) -> None:
    """A senator who thinks for a moment."""
    monkeypatch.setattr("client.bots.levels.LEVELS", {"senator": replace(LEVELS["senator"], choose=SEARCH)})


def on_turn(commands: int) -> tuple[View, Legal]:
    """Return what the seat on turn sees and may do after so many moves."""
    game = played(GameOptions(2), 1, commands)
    legal = game.legal()
    assert legal is not None
    return snapshot(game.view, eyes_of(legal.seat)), legal


@given(games())
def test_a_move_has_a_reason_where_its_effect_is_none(game: Game) -> None:
    """Laying a tile has one, a merchant alone, and a wolf that could be placed openly."""
    legal = game.legal()
    if legal is None:
        return
    eyes = eyes_of(legal.seat)
    assert redacted_legal(legal, eyes) == legal
    view = snapshot(game.view, eyes)
    command = greedy(view, legal, random.Random(1))
    reason = reason_for(command, view, legal)
    match command:
        case LayTile():
            assert reason.startswith("Springs lie ")
        case Place(piece=piece, field=field):
            assert isinstance(legal, LegalPlaces)
            alone = not any(beside in view.placed for beside in view.layout.adjacent(field))
            assert bool(reason) or piece.kind is not Kind.MERCHANT or not alone
            hides = piece.wolf and Piece(str(piece)[:-1]) in legal.pieces
            assert ("As a wolf" in reason) == hides


@pytest.mark.usefixtures("quick_senator")
async def test_a_hint_is_what_a_senator_would_do() -> None:
    """Found in another process, as the screen goes on; a tile is laid as well."""
    view, legal = on_turn(10)
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0)
            beats += 1

    beating = asyncio.create_task(beat())
    found = await suggested(view, legal)
    beating.cancel()
    assert found.command in list(legal.commands())
    assert beats > 1
    view, legal = on_turn(0)
    assert isinstance((await suggested(view, legal)).command, LayTile)


@pytest.mark.usefixtures("quick_senator")
async def test_without_a_process_a_simpler_move_is_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lost(*_arguments: object) -> Command:
        raise SearchFailed

    monkeypatch.setattr("client.bots.levels.searched", lost)
    view, legal = on_turn(10)
    assert (await suggested(view, legal)).command in list(legal.commands())

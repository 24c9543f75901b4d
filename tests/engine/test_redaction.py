"""The one gate, and the two invariants that it carries: fold and indistinguishable (R3.5, R4.2)."""

import copy
import random
from itertools import product, takewhile
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine import events as facts
from engine.board import Field
from engine.errors import IllegalCommand
from engine.events import Command, Event, LayTile, Place, lasting
from engine.game import Game, GameOptions
from engine.pieces import NOTATIONS, Piece, Seat, Wolf
from engine.redaction import hidden_from, redacted, redacted_legal, sees_all, snapshot
from engine.view import SPECTATOR, Eyes, Phase, View, eyes_of, folded
from protocol.codec import encode
from protocol.events import event_map, legal_message, snapshot_message
from protocol.messages import Events
from tests.games import (
    MOST_COMMANDS,
    all_eyes,
    begun,
    examples,
    finished_games,
    game_options,
    games,
    played,
    seeds,
)

# -- what is hidden -------------------------------------------------------------------------------


def test_only_the_kind_of_another_seats_wolf_is_hidden() -> None:
    """R4.2: an open piece shows what it is, a wolf only its people, and both show all to their owner."""
    seats = [Seat(seat) for seat in range(5)]
    for seat, eyes in product(seats, [SPECTATOR, *map(eyes_of, seats), frozenset(seats)]):
        for notation in NOTATIONS:
            hidden = notation.endswith("*") and seat not in eyes
            assert hidden_from(Piece(notation), seat, eyes) == hidden
        assert hidden_from(Wolf("E*"), seat, eyes) == (seat not in eyes)


@given(games())
def test_legal_moves_are_for_the_seat_on_turn_alone(game: Game) -> None:
    """R3.5: which pieces may be placed shows what a hand holds, and nobody else may know that."""
    legal = game.legal()
    for eyes in all_eyes(game):
        assert redacted_legal(legal, eyes) is (legal if game.view.turn in eyes else None)


@given(games())
def test_fold_equals_snapshot_at_every_step(game: Game) -> None:
    """R4.2: the fold of all redacted events is the snapshot, no more and no less."""
    for eyes in all_eyes(game):
        whole, heard = View(frozenset()), View(eyes)
        whole.eyes = frozenset(Seat(seat) for seat in range(game.view.seats))
        for event in game.events:
            whole.fold(event)
            heard.fold(redacted(event, eyes))
            assert snapshot(whole, eyes) == heard


@given(games())
def test_a_snapshot_does_not_follow_the_game(game: Game) -> None:
    taken = [(eyes, snapshot(game.view, eyes)) for eyes in all_eyes(game)]
    before = copy.deepcopy(taken)
    if commands := game.legal_commands():
        game.apply(commands[0])
    assert taken == before


@given(games())
def test_what_everybody_sees(game: Game) -> None:
    """R3.3, R3.5, R4.2: the drawn tile and how many pieces are left; until scoring no other wolf or hand."""
    for eyes in all_eyes(game):
        seen = snapshot(game.view, eyes)
        assert set(seen.hands) == eyes
        assert seen.remaining == [sum(hand.values()) for hand in game.view.hands.values()]
        assert (seen.drawn is not None) == (seen.phase is Phase.LAYING)
        assert seen.drawn not in [laid.tile for laid in seen.tiles if laid is not None]
        for event in lasting(game.events):
            if isinstance(event, facts.Placed):
                hidden = event.piece.wolf and event.seat not in eyes
                assert isinstance(redacted(event, eyes), facts.WolfPlaced) == hidden
                assert isinstance(seen.placed[event.field], Wolf) == (hidden and not game.over)
                assert seen.placed[event.field].people == event.piece.people
            else:
                assert redacted(event, eyes) is event
            # What a spectator sees whole, everybody does: the server redacts such events once.
            assert redacted(event, SPECTATOR) is not event or redacted(event, eyes) is event
            assert sees_all([event], eyes) == (redacted(event, eyes) is event)


@given(finished_games())
def test_everybody_sees_the_same_in_the_end(game: Game) -> None:
    """R5: at scoring all wolf pieces are turned up, and views differ only in hands and eyes."""
    spectator = folded((redacted(event, SPECTATOR) for event in game.events), SPECTATOR)
    assert spectator.placed == game.view.placed
    assert spectator.board == game.view.board
    assert spectator.result == game.view.result
    assert len(spectator.scoring) == len(game.view.scoring) > 7
    assert not any(game.view.hands.values())


@given(games())
def test_a_snapshot_cannot_add_knowledge(game: Game) -> None:
    """R4.2: a seat's view cannot become a view for other eyes."""
    one = snapshot(game.view, eyes_of(Seat(0)))
    with pytest.raises(ValueError, match="cannot know more"):
        snapshot(one, eyes_of(Seat(1)))
    assert snapshot(one, SPECTATOR) == snapshot(game.view, SPECTATOR)


def commands_of(events: list[Event]) -> list[Command]:
    """Return the commands that led to `events`."""
    commands: list[Command] = []
    for event in events:
        if isinstance(event, facts.TileLaid):
            commands.append(LayTile(event.seat, event.position, event.orientation))
        elif isinstance(event, facts.Placed):
            commands.append(Place(event.seat, event.piece, event.field))
    return commands


def twin_commands(
    options: GameOptions, seed: int, commands: list[Command], eyes: Eyes, mixer: int
) -> list[Command]:
    """Return the commands of a twin game, in which hidden wolf pieces may be of the other kind."""
    rng = random.Random(mixer)
    twin = begun(options, seed)
    changed: list[Command] = []
    for command in commands:
        twinned = command
        if isinstance(command, Place) and command.piece.wolf and command.seat not in eyes:
            wolves = [
                piece
                for piece in twin.view.hands[command.seat]
                if piece.wolf and piece.people == command.piece.people
            ]
            twinned = Place(command.seat, rng.choice(wolves), command.field)
        twin.apply(twinned)
        changed.append(twinned)
    return changed


def frames(options: GameOptions, seed: int, commands: list[Command], eyes: Eyes) -> list[bytes]:
    """Return every byte that `eyes` get until scoring, refusals and moves taken back included."""
    game = begun(options, seed)
    sent = _after(game, game.events, eyes)
    for number, command in enumerate(commands):
        events = game.apply(command)
        sent.extend(_after(game, list(events), eyes))
        seat = Seat(number % game.view.seats)
        if number % 5 == 4 and not game.over and (fields := game.view.since(seat)):
            game.fold(game.taken_back(seat))
            sent.extend(_after(game, game.events[-1:], eyes))
            for again in commands[number + 1 - len(fields) : number + 1]:
                sent.extend(_after(game, list(game.apply(again)), eyes))
    return sent


def _after(game: Game, events: list[Event], eyes: Eyes) -> list[bytes]:
    seen = [
        event_map(redacted(event, eyes))
        for event in takewhile(lambda event: not isinstance(event, facts.WolvesRevealed), events)
    ]
    seq = len(game.events)
    if game.view.phase is Phase.OVER:
        return [encode(Events(seq, seen))]
    legal = redacted_legal(game.legal(), eyes)
    may = None if legal is None else legal_message(legal)
    shown = snapshot_message(snapshot(game.view, eyes), seq, legal)
    return [encode(Events(seq, seen, game.view.turn, may)), encode(shown), *refusals(game, eyes)]


def refusals(game: Game, eyes: Eyes) -> list[bytes]:
    """Return how the game refuses the seat every placement that is illegal."""
    texts = []
    for seat in eyes:
        allowed = set(game.legal_commands())
        for notation, field in product(sorted(NOTATIONS), ("A1", "D4", "G6", "H1")):
            command = Place(seat, Piece(notation), Field(field))
            if command not in allowed:
                with pytest.raises(IllegalCommand) as refused:
                    game.apply(command)
                texts.append(f"{refused.value.fault} {refused.value}".encode())
    return texts


@examples(2)
@given(game_options(), seeds, st.integers(8, MOST_COMMANDS), seeds, st.data())
def test_hidden_kinds(
    options: GameOptions, seed: int, commands: int, mixer: int, data: st.DataObject
) -> None:
    """R4.2: games that differ in what a seat may not know give it the same bytes until scoring."""
    game = played(options, seed, commands)
    eyes = data.draw(st.sampled_from(all_eyes(game)))
    own = commands_of(game.events)
    twin = twin_commands(options, seed, own, eyes, mixer)
    assume(twin != own)
    assert frames(options, seed, own, eyes) == frames(options, seed, twin, eyes)


def test_what_nobody_has_said_to_be_public_is_told_to_nobody() -> None:
    """R4.2: a kind of event that the gate does not know stays behind it."""
    unheard: Any = object()
    with pytest.raises(AssertionError):
        redacted(unheard, SPECTATOR)

"""Who is said to lead on a hill does, whatever the wolves are."""

import random
import re
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from client.ui.leads import (
    changed_hands,
    describe_foreseen,
    describe_needed,
    describe_own_prey,
    describe_soldiers_to_act,
    hill_leads,
    sure_prey,
    who_has_no_wolf_left,
)
from client.ui.lines import answer
from client.ui.screens.playing import Playing
from client.ui.texts.tables import names_at
from engine.board import Tile, fields_of, tile_of
from engine.components import LAUREL_WORTH
from engine.events import Event, HillScored
from engine.forecast import forecast
from engine.game import GameOptions
from engine.knowledge import hill_influence
from engine.legal import LegalPlaces
from engine.pieces import Kind, Piece, Seat
from engine.redaction import snapshot
from engine.view import SPECTATOR, Phase, eyes_of
from tests.client.ui import seen
from tests.games import begun, played, some_command


@given(st.integers(2, 5), st.integers(0, 10_000), st.integers(0, 80), st.data())
def test_the_lead_on_a_hill(players: int, seed: int, commands: int, data: st.DataObject) -> None:
    """For each player and a spectator: what everybody has lies within what is shown, after every move."""
    game = played(GameOptions(players, random_layout=True), seed, commands)
    eyes = data.draw(st.sampled_from([SPECTATOR, *(eyes_of(Seat(seat)) for seat in range(players))]))
    view = snapshot(game.view, eyes)
    leads = hill_leads(view)
    assert [(each.hill, each.worth) for each in leads] == [
        (hill, LAUREL_WORTH[laurel]) for hill, laurel in sorted(view.laurels.items())
    ]
    for each in leads:
        truth = [bounds.least for bounds in hill_influence(game.view, each.hill).seats]
        for bounds, amount in zip(each.influence, truth, strict=True):
            assert bounds.least <= amount <= bounds.most
        best = {seat for seat, amount in enumerate(truth) if amount and amount == max(truth)}
        assert best <= set(each.leaders)
        assert each.leader is None or best == {each.leader}
        assert not each.tied or best == set(each.leaders)


@given(st.integers(2, 5), st.integers(0, 10_000))
def test_what_a_placement_changes_is_told_once(players: int, seed: int) -> None:
    """A hill changes hands when somebody else is certain to lead; each player's last wolf is told once."""
    game = begun(GameOptions(players, random_layout=True), seed)
    chooser, without = random.Random(seed), list[Seat | None]()
    leaders: dict[Tile, tuple[Seat, ...]] = {}
    while not game.over:
        before, earlier = len(game.view.placed), snapshot(game.view, SPECTATOR)
        game.apply(some_command(game, chooser))
        view = snapshot(game.view, SPECTATOR)
        if game.over or len(game.view.placed) == before:
            continue
        leads = {each.hill: each for each in hill_leads(view)}
        for each in changed_hands(view):
            assert each.leader is not None
            assert leaders[each.hill][0] != each.leader
            last, piece = list(view.placed.items())[-1]
            soldier = isinstance(piece, Piece) and piece.kind is Kind.SOLDIER
            assert not soldier or each.hill < tile_of(last)  # else it may act before the hill is counted
            if isinstance(piece, Piece) and each.hill == tile_of(last):
                assert forecast(earlier, view.owners[last], piece, last).taken_first is None
        leaders = {hill: each.leaders for hill, each in leads.items()}
        without.append(who_has_no_wolf_left(view))
    assert sorted(seat for seat in without if seat is not None) in (
        list(range(players)),
        [seat for seat in range(players) if seat != game.view.owners[next(reversed(game.view.placed))]],
    )


@given(st.integers(2, 5), st.integers(0, 10_000), st.integers(0, 60), st.randoms(use_true_random=False))
def test_what_is_promised_of_a_placement_comes_true(
    players: int, seed: int, commands: int, chooser: random.Random
) -> None:
    """A hill of which the preview says that its lead is taken is led afterwards, by as much; no other one.

    Nothing is promised of a piece that a soldier takes before its hill is counted.
    """
    game = played(GameOptions(players, random_layout=True), seed, commands)
    legal = game.legal()
    if not isinstance(legal, LegalPlaces):
        return
    place = chooser.choice(list(legal.commands()))
    model = seen.model_of(game, place.seat)
    assert model.view is not None
    before = {each.hill: each for each in hill_leads(model.view)}
    chosen = Playing(cursor=model.view.layout.hexes[place.field], piece=place.piece)
    told = " ".join(describe_foreseen(chosen, model))
    assert told
    game.apply(place)
    if game.over:
        return
    for each in hill_leads(snapshot(game.view, eyes_of(place.seat))):
        was, mine = before[each.hill], each.influence[place.seat]
        takes = f"Takes the lead on {each.hill}, {mine.least} against " in told
        lost = each.hill == tile_of(place.field) and "would take it." in told  # before the hill is counted
        assert takes == (each.leader == place.seat != was.leader and not lost) or not mine.known


@given(st.integers(2, 5), st.integers(0, 10_000), st.integers(0, 80), st.data())
def test_what_a_player_needs_to_lead(players: int, seed: int, commands: int, data: st.DataObject) -> None:
    """Whatever the wolves are: a player leads by as much as is said, or with as much more would lead."""
    game = played(GameOptions(players, random_layout=True), seed, commands)
    me = Seat(data.draw(st.integers(0, players - 1)))
    view = snapshot(game.view, eyes_of(me))
    for each in hill_leads(view):
        truth = [bounds.least for bounds in hill_influence(game.view, each.hill).seats]
        gap = truth[me] - max(amount for seat, amount in enumerate(truth) if seat != me)
        (told,) = describe_needed(view, each.hill, me)
        least, most = re.findall(r"(\d+)-?(\d*)", told)[0]
        assert int(least) <= (gap if "lead by" in told else max(1 - gap, 0)) <= int(most or least)
        assert gap > 0 or "need" in told
    ui, model = seen.client_of(game, me)
    undecided = [hill for hill in sorted(view.laurels) if not view.placed.keys() >= {*fields_of(hill)}]
    if not game.over:
        soldiers = describe_soldiers_to_act(view)
        for question, lines in (("could win", len(undecided)), ("leaders", 1 + len(view.laurels))):
            assert (answer(question, ui, model) or [])[lines:] == soldiers
        assert [line[5] for line in answer("could win", ui, model) or ()][: len(undecided)] == undecided


def test_the_hills_that_soldiers_may_change_are_not_cut_off() -> None:
    """In the panel of a large window the sentence is there whole, however long the rest is."""
    game = seen.played_until_turn_of(played(GameOptions(5, random_layout=True), 4, 16), 0)
    ui, model = seen.client_of(game, 0)
    panel = " ".join(row[84:-1].strip() for row in seen.screen_of(ui, model, 120, 40).splitlines())
    (sentence,) = describe_soldiers_to_act(seen.view_of(model))
    assert sentence in panel


@given(st.integers(2, 5), st.integers(0, 10_000))
def test_which_hills_soldiers_may_still_change(players: int, seed: int) -> None:
    """Only on these is the influence that is counted another than what it was before any soldier acted."""
    game = begun(GameOptions(players, random_layout=True), seed)
    chooser, happened = random.Random(seed), tuple[Event, ...]()
    while not game.over:
        happened = game.apply(some_command(game, chooser))
    before = replace(game.view, gone=set(), phase=Phase.PLACING)
    for event in happened:
        if isinstance(event, HillScored):
            was = hill_influence(before, event.hill).seats
            if event.influence != tuple(bounds.least for bounds in was):
                assert describe_soldiers_to_act(before, [event.hill])
    assert not describe_soldiers_to_act(game.view)


@given(st.integers(2, 5), st.integers(0, 10_000), st.integers(6, 80), st.data())
def test_the_prey_of_a_soldier(players: int, seed: int, commands: int, data: st.DataObject) -> None:
    """Whatever the wolves are, it captures what is said; and how much of that is the reader's own is told."""
    game = played(GameOptions(players, random_layout=True), seed, commands)
    me = Seat(data.draw(st.integers(0, players - 1)))
    view, names = snapshot(game.view, eyes_of(me)), names_at(seen.model_of(game, me))
    kinds = {field: piece.kind for field, piece in game.view.board.items() if isinstance(piece, Piece)}
    for soldier in (field for field, kind in kinds.items() if kind is Kind.SOLDIER):
        near = Counter(kinds[each] for each in game.view.layout.adjacent(soldier) if each in kinds)
        prey = sure_prey(view, soldier)
        eaten = {kinds[field] for field in prey}
        assert all(near[kind] > near[other] for kind in eaten for other in _EATEN - {kind})
        told = describe_own_prey(view, prey, names)
        own = [field for field in prey if view.owners[field] == me]
        number = re.match(r"\d+", told)
        said = int(number[0]) if number else len(prey) if told else 0
        assert said == len(own)


_EATEN = {Kind.MERCHANT, Kind.FARMER}

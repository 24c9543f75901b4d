"""Set-up and play: what is dealt and drawn, what is legal, and that every refusal changes nothing."""

import copy
import random
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.board import FIELDS, OUTER_POSITIONS, TILES, Field, field_hex, neighbours
from engine.components import DEALS, Laurel
from engine.errors import Fault, IllegalCommand
from engine.events import (
    CentreTurned,
    Command,
    GameEnded,
    LaurelsDealt,
    LayoutDrawn,
    LayTile,
    Place,
    Placed,
    TileDrawn,
    TileLaid,
)
from engine.game import Game, GameOptions, RandomChance
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import NOTATIONS, Kind, People, Piece, Seat
from engine.view import Phase, free_fields
from tests.examples import examples
from tests.games import begun, finished_games, game_options, games, played, seeds

PLAYERS = tuple(DEALS)
TURNS = {2: 16, 3: 12, 4: 8, 5: 7}  # R3.5


def laid_out(players: int, seed: int = 1) -> Game:
    """Return a game whose tiles are laid and where seat 0 places first."""
    return begun(GameOptions(players, Seat(0), random_layout=True), seed)


def place(game: Game, *kinds: Kind) -> Piece:
    """Place a piece of one of `kinds` on the first empty field, whoever is on turn, and return it."""
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    piece = next(piece for piece in legal.pieces if piece.kind in kinds)
    game.apply(Place(legal.seat, piece, legal.fields[0]))
    return piece


def touching(one: int, other: int) -> bool:
    """Return whether two tile positions border each other, by the hexes that tiles there would cover."""
    hexes = {field_hex(other, 0, number) for number in range(1, 7)}
    return any(beside in hexes for number in range(1, 7) for beside in neighbours(field_hex(one, 0, number)))


# -- set-up ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [-1, 0, 1, 6])
def test_two_to_five_can_play(players: int) -> None:
    """R3.1: other numbers are refused."""
    with pytest.raises(ValueError, match="2 to 5"):
        GameOptions(players)


@given(st.sampled_from(PLAYERS), st.integers(-1, 5), seeds)
def test_a_player_named_to_start_starts(players: int, starting: int, seed: int) -> None:
    """R3.1: the host names a seat of the table, and it lays and places first."""
    if starting not in range(players):
        with pytest.raises(ValueError, match="cannot start"):
            GameOptions(players, Seat(starting))
        return
    for random_layout in (True, False):
        game = begun(GameOptions(players, Seat(starting), random_layout=random_layout), seed)
        assert game.view.start.starting == game.view.turn == starting


def test_any_player_may_be_drawn_to_start() -> None:
    """R3.1: without a named one, chance decides between all."""
    drawn = {begun(GameOptions(5), seed).view.start.starting for seed in range(60)}
    assert drawn == set(range(5))


@given(game_options(), seeds)
def test_the_centre_tile_is_palatinus(options: GameOptions, seed: int) -> None:
    """R3.2, R3.4: it is not turned, and each other hill gets one of the other laurels."""
    view = played(options, seed, commands=6).view
    centre = view.tiles[0]
    assert centre is not None
    assert centre.orientation == 0
    assert view.laurels[centre.tile] is Laurel.PALATINUS
    assert sorted(view.laurels) == sorted(TILES)
    assert sorted(view.laurels.values()) == sorted(Laurel)
    assert sorted(laid.tile for laid in view.tiles if laid is not None) == sorted(TILES)


@pytest.mark.parametrize(
    ("players", "lays"), [(2, [3, 3]), (3, [2, 2, 2]), (4, [1, 2, 2, 1]), (5, [1, 2, 1, 1, 1])]
)
def test_players_lay_tiles_in_turn(players: int, lays: list[int]) -> None:
    """R3.3: clockwise from the starting player, here seat 1; with 4 or 5 some lay more than others."""
    game = played(GameOptions(players, Seat(1)), seed=4, commands=6)
    laid = [event for event in game.events if isinstance(event, TileLaid)]
    assert [event.seat for event in laid] == [(1 + turn) % players for turn in range(6)]
    assert [Counter(event.seat for event in laid)[Seat(seat)] for seat in range(players)] == lays
    assert game.view.phase is Phase.PLACING


@given(game_options(), seeds)
def test_every_tile_is_drawn_once_by_the_seat_that_lays_it(options: GameOptions, seed: int) -> None:
    """R3.3: the tile drawn for all to see is the one laid next, by the same seat."""
    events = played(options, seed, commands=6).events
    if options.random_layout:
        assert sum(isinstance(event, LayoutDrawn) for event in events) == 1
        assert not any(isinstance(event, TileDrawn | TileLaid | CentreTurned) for event in events)
        return
    drawn = [(event.seat, event.tile) for event in events if isinstance(event, TileDrawn)]
    laid = [(event.seat, event.tile) for event in events if isinstance(event, TileLaid)]
    assert drawn == laid
    (centre,) = [event.tile for event in events if isinstance(event, CentreTurned)]
    assert sorted([centre, *(tile for _, tile in laid)]) == sorted(TILES)
    assert isinstance(events[-1], LaurelsDealt)


@given(st.sampled_from(PLAYERS), seeds)
def test_tiles_go_beside_outer_ones(players: int, seed: int) -> None:
    """R3.3: the first anywhere, each later one where it borders an outer tile, in any orientation."""
    game = begun(GameOptions(players), seed)
    chooser = random.Random(seed)
    while game.view.phase is Phase.LAYING:
        legal = game.legal()
        assert isinstance(legal, LegalLays)
        taken = [position for position in OUTER_POSITIONS if game.view.tiles[position] is not None]
        expected = [
            position
            for position in OUTER_POSITIONS
            if position not in taken and (not taken or any(touching(position, other) for other in taken))
        ]
        assert list(legal.positions) == expected
        assert list(legal.orientations) == list(range(6))
        game.apply(chooser.choice(game.legal_commands()))
    assert game.view.tiles.count(None) == 0


# -- play -----------------------------------------------------------------------------------------


@given(finished_games())
def test_seats_place_in_turn_until_all_hands_are_empty(game: Game) -> None:
    """R4.1, R4.4, R3.5: clockwise from the starting player, each as often as its hand has pieces."""
    start = game.view.start
    players = len(start.peoples)
    placed = [event for event in game.events if isinstance(event, Placed)]
    assert [event.seat for event in placed] == [
        (start.starting + turn) % players for turn in range(players * TURNS[players])
    ]
    assert len({event.field for event in placed}) == len(placed)
    for seat, hand in enumerate(start.hands):
        assert Counter(event.piece for event in placed if event.seat == seat) == hand
    assert isinstance(game.events[-1], GameEnded)
    assert sum(isinstance(event, GameEnded) for event in game.events) == 1
    assert game.legal() is None
    assert game.legal_commands() == []


@given(game_options(), seeds)
def test_the_same_seed_is_the_same_game(options: GameOptions, seed: int) -> None:
    """The same chance and the same commands lead to the same events."""
    assert played(options, seed).events == played(options, seed).events


@given(game_options(), seeds, st.integers(0, 20))
def test_a_game_taken_up_from_its_events_is_the_same(options: GameOptions, seed: int, commands: int) -> None:
    """A fold of the events is the whole state, including what may be done next."""
    game = played(options, seed, commands)
    again = Game(game.events, begun(options, 0)._chance)
    assert again.view == game.view
    assert again.legal() == game.legal()


# -- soldiers in time -----------------------------------------------------------------------------


@pytest.mark.parametrize("players", PLAYERS)
def test_soldiers_put_off_must_be_placed_in_the_end(players: int) -> None:
    """R4.3: a player who puts soldiers off must place them just before the last pieces."""
    game = laid_out(players)
    soldiers_on: list[int] = []
    for turn in range(1, TURNS[players] + 1):
        for seat in range(players):
            hand = game.view.hands[Seat(seat)]
            due = sum(count for piece, count in hand.items() if piece.kind is Kind.SOLDIER)
            legal = game.legal()
            assert isinstance(legal, LegalPlaces)
            between = game.view.remaining[Seat(seat)] - game.view.start.soldierless_at
            forced = all(piece.kind is Kind.SOLDIER for piece in legal.pieces)
            assert forced == (due > 0 and due == between)
            place(game, *([Kind.SOLDIER] if forced else [Kind.MERCHANT, Kind.FARMER]))
            if forced and seat == 0:
                soldiers_on.append(turn)
    last = TURNS[players] - DEALS[players].soldierless_at
    assert soldiers_on == {2: [last - 1, last], 3: [last - 1, last], 4: [last], 5: [last]}[players]
    assert game.over


@pytest.mark.parametrize("players", PLAYERS)
def test_soldiers_may_be_placed_at_once(players: int) -> None:
    """R4.3: the rule only says how late a soldier may be placed."""
    game = laid_out(players)
    soldiers = {2: 2, 3: 2, 4: 1, 5: 1}[players]
    for _ in range(players * soldiers):
        place(game, Kind.SOLDIER)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    assert not any(piece.kind is Kind.SOLDIER for piece in legal.pieces)


@pytest.mark.parametrize("turn", [1, 2, 3, 4])
def test_with_five_players_the_soldier_goes_on_turn_one_to_four(turn: int) -> None:
    """R4.3: it is legal on each of them, and after three other pieces nothing else is."""
    game = laid_out(5)
    for _ in range(5 * (turn - 1)):
        place(game, Kind.MERCHANT, Kind.FARMER)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    kinds = {piece.kind for piece in legal.pieces}
    assert Kind.SOLDIER in kinds
    assert (kinds == {Kind.SOLDIER}) == (turn == 4)


def test_one_of_two_soldiers_does_not_settle_the_other() -> None:
    """R4.3: with one soldier placed early, the other is due one turn later, not two."""
    game = laid_out(3)
    for _ in range(3):
        place(game, Kind.SOLDIER)
    for _ in range(3 * 6):
        place(game, Kind.MERCHANT, Kind.FARMER)
    assert game.view.remaining[Seat(0)] == 5
    other = next(piece for piece in game.view.hands[Seat(0)] if piece.kind is not Kind.SOLDIER)
    with pytest.raises(IllegalCommand) as refused:
        game.apply(Place(Seat(0), other, free_fields(game.view)[0]))
    assert refused.value.fault is Fault.SOLDIER_DUE


# -- refusals -------------------------------------------------------------------------------------

MERCHANT = Piece.of(People.ETRUSCANS, Kind.MERCHANT)
FOREIGN = Piece.of(People.ARCADIANS, Kind.MERCHANT)
A1 = Field("A1")


def one_laid() -> Game:
    game = begun(GameOptions(3, Seat(2)), seed=1)
    game.apply(LayTile(Seat(2), 1, 0))
    return game


def soldiers_due() -> Game:
    game = laid_out(5)
    for _ in range(15):
        place(game, Kind.FARMER)
    return game


def field_taken() -> Game:
    game = laid_out(2)
    game.apply(Place(Seat(0), MERCHANT, A1))
    game.apply(Place(Seat(1), Piece.of(People.SABINES, Kind.SOLDIER), Field("A2")))
    return game


def merchants_gone() -> Game:
    """A game of five in which seat 0 has placed both its open merchants."""
    game = laid_out(5)
    for turn in range(10):
        if turn % 5 == 0:
            game.apply(Place(Seat(0), MERCHANT, free_fields(game.view)[0]))
        else:
            place(game, Kind.SOLDIER, Kind.FARMER)
    return game


REFUSALS: list[tuple[Game, Command, Fault, str]] = [
    (one_laid(), LayTile(Seat(1), 2, 0), Fault.NOT_YOUR_TURN, "R3.3"),
    (laid_out(2), Place(Seat(1), Piece.of(People.SABINES, Kind.MERCHANT), A1), Fault.NOT_YOUR_TURN, "R4.1"),
    (one_laid(), Place(Seat(0), MERCHANT, A1), Fault.TILES_NOT_LAID, "R3.3"),
    (laid_out(2), LayTile(Seat(0), 2, 0), Fault.ALL_TILES_LAID, "R4.1"),
    (one_laid(), LayTile(Seat(0), 0, 0), Fault.NOT_AN_OUTER_POSITION, "R3.3"),
    (one_laid(), LayTile(Seat(0), 7, 0), Fault.NOT_AN_OUTER_POSITION, "R3.3"),
    (one_laid(), LayTile(Seat(0), -1, 0), Fault.NOT_AN_OUTER_POSITION, "R3.3"),
    (one_laid(), LayTile(Seat(0), 2, 6), Fault.NOT_AN_ORIENTATION, "R3.3"),
    (one_laid(), LayTile(Seat(0), 2, -1), Fault.NOT_AN_ORIENTATION, "R3.3"),
    (one_laid(), LayTile(Seat(0), 1, 0), Fault.POSITION_TAKEN, "R3.3"),
    (one_laid(), LayTile(Seat(0), 3, 0), Fault.POSITION_APART, "R3.3"),
    (one_laid(), LayTile(Seat(0), 5, 0), Fault.POSITION_APART, "R3.3"),
    (laid_out(2), Place(Seat(0), FOREIGN, A1), Fault.NOT_IN_HAND, "R4.1"),
    (merchants_gone(), Place(Seat(0), MERCHANT, Field("G6")), Fault.NOT_IN_HAND, "R4.1"),
    (soldiers_due(), Place(Seat(0), MERCHANT, Field("G6")), Fault.SOLDIER_DUE, "R4.3"),
    (laid_out(2), Place(Seat(0), MERCHANT, Field("A7")), Fault.NO_SUCH_FIELD, "R4.1"),
    (laid_out(2), Place(Seat(0), MERCHANT, Field("")), Fault.NO_SUCH_FIELD, "R4.1"),
    (field_taken(), Place(Seat(0), MERCHANT, A1), Fault.FIELD_TAKEN, "R4.1"),
    (field_taken(), Place(Seat(0), MERCHANT, Field("A2")), Fault.FIELD_TAKEN, "R4.1"),
    (played(GameOptions(4), seed=1), Place(Seat(0), MERCHANT, A1), Fault.GAME_OVER, "R4.4"),
    (played(GameOptions(4), seed=1), LayTile(Seat(0), 1, 1), Fault.GAME_OVER, "R4.4"),
]


@pytest.mark.parametrize(
    ("game", "command", "fault", "rule"), REFUSALS, ids=[f"{each[2]}-{each[3]}" for each in REFUSALS]
)
def test_a_refused_command_cites_its_rule_and_changes_nothing(
    game: Game, command: Command, fault: Fault, rule: str
) -> None:
    """R3.3, R4.1, R4.3, R4.4: there is no event, and neither the view nor chance changes."""
    view, events, legal = copy.deepcopy(game.view), list(game.events), game.legal_commands()
    with pytest.raises(IllegalCommand) as refused:
        game.apply(command)
    assert (refused.value.fault, refused.value.rule) == (fault, rule)
    assert str(refused.value).endswith(".")
    assert rule not in str(refused.value)
    assert game.view == view
    assert game.events == events
    assert game.legal_commands() == legal


def test_every_fault_is_tried() -> None:
    """A new way to refuse needs a case above."""
    assert {fault for _, _, fault, _ in REFUSALS} == set(Fault)


def test_a_refusal_draws_nothing() -> None:
    """Chance goes on as if the refused command had never been sent."""
    quiet, pestered = one_laid(), one_laid()
    for _ in range(10):
        with pytest.raises(IllegalCommand):
            pestered.apply(LayTile(Seat(0), 1, 0))
    assert pestered.apply(LayTile(Seat(0), 2, 3)) == quiet.apply(LayTile(Seat(0), 2, 3))


# -- legal ----------------------------------------------------------------------------------------


def conceivable(players: int) -> list[Command]:
    """Return every conceivable command: any seat, any piece, any field, and some beyond."""
    seats = [Seat(seat) for seat in range(players)]
    lays = [LayTile(*each) for each in product(seats, range(-1, 9), range(-1, 8))]
    fields = [*FIELDS, Field("A0"), Field("A7"), Field("H1")]
    pieces = [Piece(notation) for notation in sorted(NOTATIONS)]
    return [*lays, *(Place(*each) for each in product(seats, pieces, fields))]


@examples(6)
@given(games(), seeds)
def test_a_command_is_accepted_if_and_only_if_it_is_listed(game: Game, seed: int) -> None:
    """R3.3, R4.1, R4.3: all conceivable commands are tried, also of seats that are not on turn."""
    listed = game.legal_commands()
    assert len(set(listed)) == len(listed)
    accepted = set()
    before = copy.deepcopy(game.view)
    fresh = Game(game.events, RandomChance(random.Random(seed)))
    for command in conceivable(game.view.seats):
        try:
            fresh.apply(command)
        except IllegalCommand:
            continue
        accepted.add(command)
        fresh = Game(game.events, RandomChance(random.Random(seed)))
    assert accepted == set(listed)
    assert game.view == before == fresh.view

"""Set-up and play: what is dealt and drawn, what is legal, and that every refusal changes nothing."""

import copy
import random
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import events as facts
from engine.board import FIELDS, OUTER_POSITIONS, TILES, Field, bordering
from engine.components import DEALS, Laurel
from engine.errors import Fault, IllegalCommand
from engine.events import Command, LayTile, Place, lasting
from engine.game import Game, GameOptions, RandomChance
from engine.legal import Legal, LegalLays, LegalPlaces, random_command
from engine.pieces import NOTATIONS, Kind, People, Piece, Seat
from engine.scoring import removed
from engine.view import SPECTATOR, Phase, View, free_fields, seat_of
from tests.games import begun, examples, finished_games, game_options, games, played, seeds

LAYS = LegalLays(Seat(1), (2, 3, 6), (0, 1, 2, 3, 4, 5))
PLACES = LegalPlaces(Seat(2), (Piece("Em"), Piece("Ef*")), (Field("A1"), Field("C4"), Field("G6")))
PLAYERS = tuple(DEALS)
TURNS = {2: 16, 3: 12, 4: 8, 5: 7}  # R3.5


def laid_out(players: int, seed: int = 1) -> Game:
    """Return a game whose tiles are laid and where seat 0 places first."""
    return begun(GameOptions(players, Seat(0), random_layout=True), seed)


def place(game: Game, *kinds: Kind) -> Piece:
    """Place a piece of one of `kinds` on the first empty field, whoever's turn it is, and return it."""
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    piece = next(piece for piece in legal.pieces if piece.kind in kinds)
    game.apply(Place(legal.seat, piece, legal.fields[0]))
    return piece


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


def test_two_to_five_can_play_and_any_may_be_drawn_to_start() -> None:
    """R3.1: without a named one, chance decides between all."""
    for players in (-1, 0, 1, 6):
        with pytest.raises(ValueError, match="2 to 5"):
            GameOptions(players)
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
    laid = [event for event in game.events if isinstance(event, facts.TileLaid)]
    assert [event.seat for event in laid] == [(1 + turn) % players for turn in range(6)]
    assert [Counter(event.seat for event in laid)[Seat(seat)] for seat in range(players)] == lays
    assert game.view.phase is Phase.PLACING


@given(game_options(), seeds)
def test_every_tile_is_drawn_once_by_the_seat_that_lays_it(options: GameOptions, seed: int) -> None:
    """R3.3: the tile drawn for all to see is the one laid next, by the same seat."""
    events = played(options, seed, commands=6).events
    if options.random_layout:
        assert sum(isinstance(event, facts.LayoutDrawn) for event in events) == 1
        assert not any(
            isinstance(event, facts.TileDrawn | facts.TileLaid | facts.CentreTurned) for event in events
        )
        return
    drawn = [(event.seat, event.tile) for event in events if isinstance(event, facts.TileDrawn)]
    laid = [(event.seat, event.tile) for event in events if isinstance(event, facts.TileLaid)]
    assert drawn == laid
    (centre,) = [event.tile for event in events if isinstance(event, facts.CentreTurned)]
    assert sorted([centre, *(tile for _, tile in laid)]) == sorted(TILES)
    assert isinstance(events[-1], facts.LaurelsDealt)


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
            if position not in taken and (not taken or set(bordering(position)) & set(taken))
        ]
        assert list(legal.positions) == expected
        assert list(legal.orientations) == list(range(6))
        game.apply(chooser.choice(game.legal_commands()))
    assert game.view.tiles.count(None) == 0


def test_a_game_that_has_not_started_has_no_start() -> None:
    with pytest.raises(LookupError):
        _ = View(SPECTATOR).start


@given(finished_games())
def test_seats_place_in_turn_until_all_hands_are_empty(game: Game) -> None:
    """R4.1, R4.4, R3.5: clockwise from the starting player, each as often as its hand has pieces."""
    start = game.view.start
    players = len(start.peoples)
    placed = [event for event in game.events if isinstance(event, facts.Placed)]
    assert [event.seat for event in placed] == [
        (start.starting + turn) % players for turn in range(players * TURNS[players])
    ]
    assert len({event.field for event in placed}) == len(placed)
    for seat, hand in enumerate(start.hands):
        assert Counter(event.piece for event in placed if event.seat == seat) == hand
    assert isinstance(game.events[-1], facts.GameEnded)
    assert sum(isinstance(event, facts.GameEnded) for event in game.events) == 1
    assert game.legal() is None
    assert game.legal_commands() == []


@given(games())
def test_every_people_in_play_has_one_seat(game: Game) -> None:
    """R9.6: a piece's people tells its owner, at two players too."""
    for field, piece in game.view.placed.items():
        assert seat_of(game.view.start, piece.people) == game.view.owners[field]
    played_by = [people for peoples in game.view.start.peoples for people in peoples]
    for people in {Piece(notation).people for notation in NOTATIONS} - set(played_by):
        with pytest.raises(LookupError):
            seat_of(game.view.start, people)


@given(finished_games())
def test_the_board_keeps_what_no_soldier_has_taken(game: Game) -> None:
    """R5.2, R5.3: who flees or is captured is off the board, and still among what was placed."""
    acts = [event for event in game.view.scoring if isinstance(event, facts.SoldierFled | facts.Captured)]
    gone = {field for act in acts for field in removed(act)}
    assert game.view.board.keys() == game.view.placed.keys() - gone


@pytest.mark.parametrize(
    ("players", "early", "last_turns"),
    [
        *((2, 0, [11, 12]), (2, 1, [12]), (3, 0, [7, 8]), (3, 1, [8]), (3, 2, []), (4, 0, [5]), (5, 0, [4])),
        (5, 1, []),
    ],
)
def test_soldiers_put_off_must_be_placed_in_the_end(players: int, early: int, last_turns: list[int]) -> None:
    """R4.3: soldiers may be placed at any turn, and must be just before the last pieces."""
    game = laid_out(players)
    forced_on: list[int] = []
    for turn in range(1, TURNS[players] + 1):
        for seat in range(players):
            due = sum(
                count for piece, count in game.view.hands[Seat(seat)].items() if piece.kind is Kind.SOLDIER
            )
            legal = game.legal()
            assert isinstance(legal, LegalPlaces)
            kinds = {piece.kind for piece in legal.pieces}
            assert (Kind.SOLDIER in kinds) == (due > 0)
            forced = kinds == {Kind.SOLDIER}
            if forced and seat == 0:
                forced_on.append(turn)
                other = next(piece for piece in game.view.hands[Seat(0)] if piece.kind is not Kind.SOLDIER)
                with pytest.raises(IllegalCommand) as refused:
                    game.apply(Place(Seat(0), other, free_fields(game.view)[0]))
                assert refused.value.fault is Fault.SOLDIER_DUE
            soldier = forced or turn <= early
            place(game, *([Kind.SOLDIER] if soldier else [Kind.MERCHANT, Kind.FARMER]))
    assert forced_on == last_turns
    assert game.over


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
def test_a_refused_command_cites_its_rule(game: Game, command: Command, fault: Fault, rule: str) -> None:
    """R3.3, R4.1, R4.3, R4.4: there is no event, and neither the view nor chance changes."""
    twin = copy.deepcopy(game)
    with pytest.raises(IllegalCommand) as refused:
        game.apply(command)
    assert (refused.value.fault, refused.value.rule) == (fault, rule)
    assert str(refused.value).endswith(".")
    assert rule not in str(refused.value)
    assert (game.view, game.events) == (twin.view, twin.events)
    assert game.legal_commands() == twin.legal_commands()
    for legal in game.legal_commands()[:1]:
        assert copy.deepcopy(game).apply(legal) == twin.apply(legal)


def test_every_fault_is_tried() -> None:
    """A new way to refuse needs a case above, or below for what takes moves back."""
    assert {fault for _, _, fault, _ in REFUSALS} == set(Fault) - {Fault.NOTHING_TO_TAKE_BACK}


@given(games(), st.data())
def test_what_is_taken_back_can_be_made_again(game: Game, data: st.DataObject) -> None:
    """R4.1, R4.3: hands, turn and legal moves are those of before; the same moves lead to the same."""
    seats = [Seat(seat) for seat in range(game.view.seats)]
    if game.over or not game.view.placed:
        fault = Fault.GAME_OVER if game.over else Fault.NOTHING_TO_TAKE_BACK
        for seat in seats:
            with pytest.raises(IllegalCommand) as refused:
                game.taken_back(seat)
            assert refused.value.fault is fault
        return
    seat = data.draw(st.sampled_from(sorted(set(game.view.owners.values()))))
    before = copy.deepcopy(game.view)
    event = game.taken_back(seat)
    assert game.view == before
    again = [Place(before.owners[field], Piece(before.placed[field]), field) for field in event.fields[::-1]]
    assert seat == again[0].seat not in {each.seat for each in again[1:]}
    game.fold(event)
    assert game.view.turn == seat
    assert not game.view.placed.keys() & set(event.fields)
    earlier = Game(lasting(game.events), RandomChance(random.Random(0)))
    assert (game.view, game.legal()) == (earlier.view, earlier.legal())
    for command in again:
        assert command in game.legal_commands()
        game.apply(command)
    assert game.view == before


def conceivable(players: int) -> list[Command]:
    """Return every conceivable command: any seat, any piece, any field, and some beyond."""
    seats = [Seat(seat) for seat in range(players)]
    lays = [LayTile(*each) for each in product(seats, range(-1, 9), range(-1, 8))]
    fields = [*FIELDS, Field("A0"), Field("A7"), Field("H1")]
    pieces = [Piece(notation) for notation in sorted(NOTATIONS)]
    return [*lays, *(Place(*each) for each in product(seats, pieces, fields))]


@examples(2)
@given(games(), seeds)
def test_a_command_is_accepted_if_and_only_if_it_is_listed(game: Game, seed: int) -> None:
    """R3.3, R4.1, R4.3: all conceivable commands are tried, also of seats that are not to move."""
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


@pytest.mark.parametrize("legal", [LAYS, PLACES], ids=["lays", "places"])
def test_every_legal_command_is_equally_likely(legal: Legal) -> None:
    """Random play prefers nothing."""
    commands = list(legal.commands())
    rng = random.Random(1)
    expected = 400
    drawn = Counter(random_command(legal, rng) for _ in range(expected * len(commands)))
    assert set(drawn) == set(commands)
    assert all(abs(times - expected) < 5 * expected**0.5 for times in drawn.values())


def test_a_seed_gives_the_same_commands_everywhere() -> None:
    """The commands were written down once; a machine or a Python that disagrees fails here."""
    rng = random.Random(7)
    lays = [LayTile(Seat(1), *each) for each in ((3, 1), (3, 5), (2, 0))]
    assert [random_command(LAYS, rng) for _ in lays] == lays
    places = [Place(Seat(2), Piece("Em"), Field(each)) for each in ("C4", "G6", "A1")]
    assert [random_command(PLACES, rng) for _ in places] == places

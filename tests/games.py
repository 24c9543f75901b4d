"""Random games for property tests, which can be played again from their seeds, and how many are tried."""

import itertools
import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from engine.board import ORIENTATIONS, TILES, LaidTile
from engine.components import DEALS, PEOPLES
from engine.draws import MISSING, NO_SHARE, Bytes32, Share
from engine.events import Command, LayTile, Place
from engine.game import Game, GameOptions, RandomChance, SharedChance
from engine.legal import LegalLays
from engine.pieces import People, Seat
from engine.view import SPECTATOR, Eyes, eyes_of

USUAL = 5  # examples of a property; some are costly, and some rarely show anything
THOROUGH = 150
MOST_COMMANDS = 6 + 36  # tiles to lay, and the most pieces that all hands hold together


def examples(count: int) -> settings:
    """Return the setting for so many examples; the profile `thorough` has more in the same proportion."""
    assert settings.default is not None
    return settings(max_examples=count * settings.default.max_examples // USUAL)


def rest_slow(*values: object) -> list[object]:
    """Return a parameter's values, of which all but the first are left to `pytest -m slow`."""
    return [values[0], *(pytest.param(each, marks=pytest.mark.slow) for each in values[1:])]


def begun(options: GameOptions, seed: int, *, shared: bool = False) -> Game:
    """Return a new game whose chance comes from `seed`; if it is `shared`, as shares and a seed in hex."""
    rng = random.Random(seed)
    return Game.new(options, shared_chance(options.players, rng) if shared else RandomChance(rng))


def shared_chance(players: int, rng: random.Random) -> SharedChance:
    """Return chance from a seed and shares, of which some are missing."""
    shares = [rng.choice([NO_SHARE, MISSING, *[Share(rng.randbytes(32).hex())] * 4]) for _ in range(players)]
    return SharedChance(Bytes32(rng.randbytes(32).hex()), shares)


def played(options: GameOptions, seed: int, commands: int = MOST_COMMANDS, *, shared: bool = False) -> Game:
    """Return the game of `seed` after at most so many random legal commands."""
    game = begun(options, seed, shared=shared)
    chooser = random.Random(seed + 1)
    for _ in range(commands):
        if game.over:
            break
        game.apply(some_command(game, chooser))
    return game


def some_command(game: Game, chooser: random.Random) -> Command:
    """Return a random legal command: the one that would be chosen from a list of all, which takes longer."""
    legal = game.legal()
    assert legal is not None
    if isinstance(legal, LegalLays):
        turns = len(legal.orientations)
        number = chooser.choice(range(len(legal.positions) * turns))
        return LayTile(legal.seat, legal.positions[number // turns], legal.orientations[number % turns])
    fields = len(legal.fields)
    number = chooser.choice(range(len(legal.pieces) * fields))
    return Place(legal.seat, legal.pieces[number // fields], legal.fields[number % fields])


def all_eyes(game: Game) -> list[Eyes]:
    """Return the eyes of a spectator and of each seat."""
    return [SPECTATOR, *(eyes_of(Seat(seat)) for seat in range(game.view.seats))]


seeds = st.integers(0, 2**32 - 1)


@st.composite
def choices_of_peoples(draw: st.DrawFn, players: int) -> tuple[tuple[People, ...], ...]:
    """What the seats choose: nobody anything, or any seats their own people or both of two."""
    wanted = iter(draw(st.permutations(PEOPLES)))
    most = 1 + bool(DEALS[players].second)
    return draw(
        st.just(())
        | st.tuples(*[st.integers(0, most)] * players).map(
            lambda counts: tuple(tuple(itertools.islice(wanted, count)) for count in counts)
        )
    )


@st.composite
def game_options(draw: st.DrawFn) -> GameOptions:
    """All options: 2 to 5 players, any or no starting seat or peoples, tiles laid by players or at random."""
    players = draw(st.integers(2, 5))
    starting = draw(st.none() | st.integers(0, players - 1).map(Seat))
    return GameOptions(players, starting, draw(st.booleans()), draw(choices_of_peoples(players)))


@st.composite
def games(draw: st.DrawFn) -> Game:
    """Games at any moment, from the first tile to the result; in some, moves were taken back."""
    commands = draw(st.integers(0, MOST_COMMANDS))
    game = played(draw(game_options()), draw(seeds), commands, shared=draw(st.booleans()))
    return game if draw(st.booleans()) else taken_back(game, random.Random(draw(seeds)))


def taken_back(game: Game, chooser: random.Random) -> Game:
    """Take moves back in a running game, twice if possible, and make others."""
    for _ in range(2):
        owners = [] if game.over else sorted(set(game.view.owners.values()))
        if owners:
            game.fold(game.taken_back(chooser.choice(owners)))
            for _ in range(chooser.randrange(min(4, game.view.to_place))):
                game.apply(some_command(game, chooser))
    return game


@st.composite
def finished_games(draw: st.DrawFn) -> Game:
    """Games that are over."""
    return played(draw(game_options()), draw(seeds), shared=draw(st.booleans()))


@st.composite
def layouts(draw: st.DrawFn) -> tuple[LaidTile, ...]:
    """All seven tiles in any layout; the centre's is not turned (R3.2)."""
    letters = draw(st.permutations(TILES))
    turns = draw(st.tuples(*[st.sampled_from(ORIENTATIONS)] * 6))
    return tuple(LaidTile(tile, turn) for tile, turn in zip(letters, (0, *turns), strict=True))

"""Whether a game was drawn as its seed and shares have it: whatever else was drawn is noticed."""

import random
import re
from collections.abc import Sequence

import pytest
from hypothesis import given

from engine.board import TILES, Tile
from engine.components import Laurel
from engine.draws import Draws
from engine.errors import DamagedRecord
from engine.events import GameEnded, GameStarted, LayoutDrawn
from engine.fairness import Drawn, Mismatch, drawn_in, mismatch, sources_of
from engine.game import Game, GameOptions, SharedChance
from engine.pieces import Seat
from engine.record import recorded, replayed
from engine.redaction import redacted
from engine.view import SPECTATOR, folded
from tests.examples import examples
from tests.games import finished_games, games, played, shared_chance, some_command

OTHER = "0f" * 32


class CheatingChance(SharedChance):
    """Chance that is committed to a seed, and draws what it likes: each `thing` in another order."""

    def __init__(self, thing: str, honest: SharedChance) -> None:
        super().__init__(honest._seed, honest._shares)
        self._thing = thing

    def starting(self, seats: Sequence[Seat]) -> Seat:
        right = super().starting(seats)
        return Seat((right + 1) % len(seats)) if self._thing == "starting" else right

    def tile(self, bag: Sequence[Tile]) -> Tile:
        right = super().tile(bag)
        wrong = self._thing == "tiles" and len(bag) == 3
        return next(tile for tile in bag if tile != right) if wrong else right

    def orientation(self, position: int) -> int:
        right = super().orientation(position)
        return (right + 1) % 6 if self._thing == "orientations" and position == 6 else right

    def laurels(self, laurels: Sequence[Laurel]) -> Sequence[Laurel]:
        right = super().laurels(laurels)
        return [*right[:-2], right[-1], right[-2]] if self._thing == "laurels" else right


def cheated(thing: str, *, random_layout: bool) -> Game:
    """Return a whole game where something was not drawn from seed and shares."""
    rng = random.Random(7)
    chance = CheatingChance(thing, shared_chance(3, rng))
    game = Game.new(GameOptions(3, random_layout=random_layout), chance)
    while not game.over:
        game.apply(some_command(game, rng))
    return game


@given(finished_games())
def test_honest_draws_fit(game: Game) -> None:
    """For everybody who has seen the whole game, or only its end; without shares there is nothing to fit."""
    started, ended = game.events[0], game.events[-1]
    assert isinstance(started, GameStarted)
    assert isinstance(ended, GameEnded)
    sources = sources_of(game.events)
    assert (sources.draws, sources.seed, sources.mismatch) == (started.draws, ended.seed, None)
    if started.draws is not None:
        seen = drawn_in(game.view, random_layout=isinstance(game.events[1], LayoutDrawn))
        assert mismatch(started.draws, ended.seed, seen) is None


@given(games())
def test_what_a_view_shows_agrees_with_the_events(game: Game) -> None:
    """At any moment, and for spectators, too; what is drawn after that is seen by both."""
    drawn = Drawn()
    for event in game.events:
        drawn.fold(event)
    view = folded([redacted(event, SPECTATOR) for event in game.events], SPECTATOR)
    seen = drawn_in(view, random_layout=bool(drawn.orientations))
    assert drawn.agrees(seen)
    assert seen.agrees(drawn)
    assert (seen.starting, seen.laurels, seen.orientations) == (
        drawn.starting,
        drawn.laurels,
        drawn.orientations,
    )
    assert seen.tiles.items() <= drawn.tiles.items()
    assert seen.joined(drawn) == drawn


@pytest.mark.parametrize(
    ("thing", "random_layout"),
    [
        ("starting", False),
        ("tiles", False),
        ("tiles", True),
        ("orientations", True),
        ("laurels", False),
        ("laurels", True),
    ],
)
def test_a_draw_that_comes_from_nothing_is_noticed(thing: str, *, random_layout: bool) -> None:
    """A single draw that seed and shares do not give, in the events and in a record of them."""
    game = cheated(thing, random_layout=random_layout)
    assert sources_of(game.events).mismatch == Mismatch(thing)
    assert sources_of(replayed(recorded(game.events)).events).mismatch == Mismatch(thing)


def test_a_seed_that_is_kept_back_fits_nothing() -> None:
    """A game with a result and a commitment has a seed; one that still runs has none to check."""
    game = played(GameOptions(2), 1, shared=True)
    started = game.events[0]
    assert isinstance(started, GameStarted)
    assert isinstance(started.draws, Draws)
    assert mismatch(started.draws, None, Drawn()) is Mismatch.SEED
    assert sources_of(game.events[:-1]).mismatch is None
    assert sources_of(game.events[:-1]).seed is None


@pytest.mark.parametrize("random_layout", [False, True])
def test_no_line_about_the_draws_can_be_changed(*, random_layout: bool) -> None:
    """Whichever of the lines that tell of chance is changed: it is refused, or the draws do not fit."""
    text = recorded(played(GameOptions(4, random_layout=random_layout), 11, shared=True).events)
    assert sources_of(replayed(text).events).mismatch is None
    changes = [(r"starts (\d) drawn", [rf"starts {seat} drawn" for seat in range(4)])]
    changes += [(r"(commitment|seed) \w+", [rf"\1 {OTHER}"])]
    changes += [
        (rf"share {seat} \w+", [f"share {seat} {new}" for new in (OTHER, "none", "missing")])
        for seat in range(4)
    ]
    changes += [(rf"laurel {tile} \w+", [f"laurel {tile} {laurel}" for laurel in Laurel]) for tile in TILES]
    changes += [(r"tile (\w) (\d) (\d)", [rf"tile \1 \2 {turn}" for turn in range(6)])]
    changes += [(r"tile (\w) (\d) (\d)", [rf"tile {tile} \2 \3" for tile in TILES])]
    changes += [(r"(\d) draws \w", [rf"\1 draws {tile}" for tile in TILES])]
    tried = 0
    for pattern, replacements in changes:
        for found in re.finditer(rf"(?m)^{pattern}$", text):
            for replacement in replacements:
                line = re.sub(pattern, replacement, found[0])
                if line != found[0]:
                    tried += 1
                    assert is_noticed(text[: found.start()] + line + text[found.end() :]), line
    assert tried > 60


@pytest.mark.parametrize("pair", ["AB", "CG"])
def test_tiles_cannot_be_exchanged_everywhere(pair: str) -> None:
    """Two tiles that change places in a whole record make another sound game, which was not drawn."""
    text = recorded(played(GameOptions(3), 11, shared=True).events)
    other = dict(zip(pair, reversed(pair), strict=True))
    swapped = re.sub(rf"(?m)(?<= )[{pair}](?=\d?( |$))", lambda found: other[found[0]], text)
    assert swapped != text
    assert is_noticed(swapped)


def is_noticed(text: str) -> bool:
    """Tell whether a record is refused, or its draws do not fit."""
    try:
        game = replayed(text)
    except DamagedRecord:
        return True
    return sources_of(game.events).mismatch is not None


@examples(10)
@given(games())
def test_nothing_tells_the_seed_before_the_end(game: Game) -> None:
    """Not the events, not any view, and not the record: the only place is the result."""
    seed = game._chance.seed()
    if seed is not None:
        assert (seed in repr(game.events) + recorded(game.events) + repr(game.view)) == game.over

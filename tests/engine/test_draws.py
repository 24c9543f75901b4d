"""Draws from a seed and shares: unbiased, the same everywhere and always, and as docs/fairness.md says."""

import hashlib
import itertools
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import draws
from engine.board import TILES, Tile
from engine.components import Laurel
from engine.draws import MISSING, NO_SHARE, OF_ROUND, Bytes32, Numbers, Outcomes, Share, outcomes, pledge_of
from engine.errors import DamagedRecord
from engine.events import GameEnded, GameStarted, LayoutDrawn
from engine.fairness import Drawn, Mismatch, drawn_in, mismatch, sources_of
from engine.game import Game, GameOptions, SharedChance
from engine.pieces import Seat
from engine.record import recorded, replayed
from engine.redaction import redacted
from engine.view import SPECTATOR, folded
from tests.games import examples, finished_games, games, played, shared_chance, some_command

PROGRAM = Path(__file__).parents[2] / "examples" / "python" / "check_draws.py"
OTHERS = tuple(laurel for laurel in Laurel if laurel is not Laurel.PALATINUS)

bytes32 = st.binary(min_size=32, max_size=32).map(lambda content: content.hex())
shares = st.lists(st.sampled_from([NO_SHARE, MISSING]) | bytes32.map(Share), min_size=2, max_size=5)


class Scripted(Numbers):
    """Numbers from given bytes."""

    def __init__(self, content: bytes) -> None:
        self._bytes = iter(content)


class Indices(Numbers):
    """Numbers that are given, whatever they are below."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self._numbers = iter(numbers)

    def below(self, bound: int) -> int:
        number = next(self._numbers)
        assert number < bound
        return number


@pytest.mark.parametrize("bound", range(1, 8))
def test_every_number_is_equally_likely(bound: int) -> None:
    numbers = Counter[int]()
    for byte in range(256):
        with_spare = Scripted(bytes((byte, 0)))
        numbers[with_spare.below(bound)] += 1
        if next(with_spare._bytes, None) is None:  # the byte was skipped, and the next one taken
            numbers[0] -= 1
    assert set(numbers) == set(range(bound))
    assert set(numbers.values()) == {256 // bound}


@pytest.mark.parametrize("length", range(1, 7))
def test_every_order_is_equally_likely(length: int) -> None:
    items = range(length)
    all_numbers = itertools.product(*(range(last + 1) for last in range(length - 1, 0, -1)))
    orders = Counter(tuple(draws.shuffled(items, Indices(numbers))) for numbers in all_numbers)
    assert set(orders) == set(itertools.permutations(items))
    assert set(orders.values()) == {1}


@given(bytes32.map(Bytes32), shares, st.data())
def test_every_bit_counts(seed: Bytes32, given_shares: list[Share], data: st.DataObject) -> None:
    """Another seed, another share, or the same shares at other seats: other draws."""
    other = data.draw(bytes32)
    at = data.draw(st.integers(0, len(given_shares) - 1))
    changed = [*given_shares[:at], Share(other), *given_shares[at + 1 :]]
    first = drawn_bytes(seed, given_shares)
    assert (drawn_bytes(Bytes32(other), given_shares) == first) == (other == seed)
    assert (drawn_bytes(seed, changed) == first) == (changed == given_shares)
    turned = [*given_shares[1:], given_shares[0]]
    assert (drawn_bytes(seed, turned) == first) == (turned == given_shares)


def drawn_bytes(seed: Bytes32, given_shares: list[Share]) -> list[int]:
    """Return numbers for a purpose of no game: they coincide only if the keys do."""
    key = hashlib.sha256(f"palatinus game 1 {seed} {' '.join(given_shares)}".encode()).hexdigest()
    numbers = Numbers(Bytes32(key), "a test")
    return [numbers.below(256) for _ in range(40)]


def test_draws_never_change() -> None:
    """Old records are checked with it. The values are those of a program in JavaScript, from the document."""
    seed, given_shares = Bytes32("5e" * 32), [Share("0" * 64), NO_SHARE, MISSING]
    assert draws.commitment_to(seed) == "c5c97c28e9b1558247426509adac3f77a4f826c5f6647a65e36a0b0c6c81c07a"
    assert pledge_of(given_shares[0]) == "792da02ce6e02f52eac3a23600b4f3779ab32771974f3a464f47c91b254ad8f1"
    assert outcomes(seed, given_shares) == Outcomes(
        Seat(0),
        tuple(map(Tile, "FGEBDCA")),
        (1, 1, 3, 0, 3, 2),
        tuple(map(Laurel, ["Aventinus", "Viminalis", "Capitolinus", "Esquilinus", "Caelius", "Quirinalis"])),
    )


@pytest.mark.slow
def test_the_documented_program_comes_to_the_same(tmp_path: Path) -> None:
    """docs/fairness.md is enough to check a record: its program knows nothing of this one."""
    of_round = Game.new(GameOptions(4, random_layout=True), SharedChance(Bytes32("5e" * 32), [OF_ROUND] * 4))
    chooser = random.Random(3)
    while not of_round.over:
        of_round.apply(some_command(of_round, chooser))
    for game in (
        played(GameOptions(3, Seat(1)), 0, shared=True),
        played(GameOptions(5, random_layout=True), 1, shared=True),
        of_round,
    ):
        text = recorded(game.events, ["Anna"])
        record = tmp_path / "record.txt"
        record.write_text(text, encoding="utf-8")
        assert run(PROGRAM, record) == "The draws are right."
        record.write_text(re.sub(r"(?m)^laurel A .*", "laurel A Janiculum", text), encoding="utf-8")
        assert run(PROGRAM, record) == "Wrong: laurels."


def test_the_program_says_that_a_record_without_a_seed_cannot_be_checked(tmp_path: Path) -> None:
    record = tmp_path / "record.txt"
    record.write_text("palatinus record 1\nplayers 2\nunfinished\n", encoding="ascii")
    assert run(PROGRAM, record).startswith("There is no seed to check")


def run(program: Path, record: Path) -> str:
    """Return the last line that the program prints."""
    done = subprocess.run(
        [sys.executable, "-I", program, record], capture_output=True, text=True, check=False
    )
    return (done.stdout + done.stderr).strip().splitlines()[-1]


def test_a_game_that_is_resumed_draws_the_same() -> None:
    """From its events and the same seed and shares, at every moment: nothing else is kept."""
    seed, given_shares = Bytes32("5e" * 32), [Share("0" * 64), NO_SHARE, MISSING]
    game = Game.new(GameOptions(3), SharedChance(seed, given_shares))
    chooser = random.Random(1)
    while not game.over:
        again = Game(game.events, SharedChance(seed, given_shares))
        command = chooser.choice(game.legal_commands())
        assert again.apply(command) == game.apply(command)


# -- whether a game was drawn as its seed and shares have it ----------------------------------------

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

    def laurels(self) -> Sequence[Laurel]:
        right = super().laurels()
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
        *(("starting", False), ("tiles", False), ("tiles", True)),
        *(("orientations", True), ("laurels", False), ("laurels", True)),
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
    assert isinstance(started.draws, draws.Draws)
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


@examples(3)
@given(games())
def test_nothing_tells_the_seed_before_the_end(game: Game) -> None:
    """Not the events, not any view, and not the record: the only place is the result."""
    seed = game._chance.seed()
    if seed is not None:
        assert (seed in repr(game.events) + recorded(game.events) + repr(game.view)) == game.over

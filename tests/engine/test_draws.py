"""Draws from a seed and shares: unbiased, the same everywhere and always, and as docs/fairness.md says."""

import hashlib
import itertools
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.board import ORIENTATIONS, TILES, Tile
from engine.components import Laurel
from engine.draws import (
    MISSING,
    NO_SHARE,
    Bytes32,
    Numbers,
    Outcomes,
    Share,
    commitment_to,
    outcomes,
    pledge_of,
    shuffled,
)
from engine.game import Game, GameOptions, SharedChance
from engine.pieces import Seat
from engine.record import recorded
from tests.games import played

DOCUMENT = Path(__file__).parents[2] / "docs" / "fairness.md"
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
    """Over all bytes there are: each number as often as any other, and few bytes are skipped."""
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
    """The numbers that a shuffle draws lead to each order in exactly one way."""
    items = range(length)
    draws = itertools.product(*(range(last + 1) for last in range(length - 1, 0, -1)))
    orders = Counter(tuple(shuffled(items, Indices(numbers))) for numbers in draws)
    assert set(orders) == set(itertools.permutations(items))
    assert set(orders.values()) == {1}


@given(bytes32.map(Bytes32), shares)
def test_draws_are_possible(seed: Bytes32, given_shares: list[Share]) -> None:
    """Each tile and laurel once, a seat that there is, and orientations that there are."""
    due = outcomes(seed, given_shares)
    assert sorted(due.tiles) == sorted(TILES)
    assert sorted(due.laurels) == sorted(OTHERS)
    assert due.starting in range(len(given_shares))
    assert len(due.orientations) == 6
    assert set(due.orientations) <= set(ORIENTATIONS)
    laurels = due.laurels_by_tile()
    assert laurels[due.tiles[0]] is Laurel.PALATINUS
    assert sorted(laurels.values()) == sorted(Laurel)


def test_draws_favour_nothing() -> None:
    """In 2,000 games, everything comes up as often as it should, within five standard deviations."""
    rng = random.Random(1)
    seen = Counter[tuple[str, int, object]]()
    games = 2000
    for _ in range(games):
        due = outcomes(Bytes32(rng.randbytes(32).hex()), [Share(rng.randbytes(32).hex()), NO_SHARE])
        seen["starting", 2, due.starting] += 1
        for place, tile in enumerate(due.tiles):
            seen["tile", 7, (place, tile)] += 1
        for place, turn in enumerate(due.orientations):
            seen["orientation", 6, (place, turn)] += 1
        for place, laurel in enumerate(due.laurels):
            seen["laurel", 6, (place, laurel)] += 1
    assert len(seen) == 2 + 7 * 7 + 6 * 6 + 6 * 6
    for (_, among, _), times in seen.items():
        share = 1 / among
        assert abs(times - games * share) < 5 * (games * share * (1 - share)) ** 0.5


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
    assert commitment_to(seed) == "c5c97c28e9b1558247426509adac3f77a4f826c5f6647a65e36a0b0c6c81c07a"
    assert pledge_of(given_shares[0]) == "792da02ce6e02f52eac3a23600b4f3779ab32771974f3a464f47c91b254ad8f1"
    assert outcomes(seed, given_shares) == Outcomes(
        Seat(0),
        tuple(map(Tile, "FGEBDCA")),
        (1, 1, 3, 0, 3, 2),
        (
            Laurel.AVENTINUS,
            Laurel.VIMINALIS,
            Laurel.CAPITOLINUS,
            Laurel.ESQUILINUS,
            Laurel.CAELIUS,
            Laurel.QUIRINALIS,
        ),
    )


def verifier(tmp_path: Path) -> Path:
    """Return the program in the document, as a file."""
    (program,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "verifier.py"
    file.write_text(program, encoding="utf-8")
    return file


def test_the_documented_program_comes_to_the_same(tmp_path: Path) -> None:
    """docs/fairness.md is enough to check a record: its program knows nothing of this one."""
    program = verifier(tmp_path)
    for number, options in enumerate(
        (GameOptions(2), GameOptions(3, Seat(1)), GameOptions(5, random_layout=True))
    ):
        text = recorded(played(options, number, shared=True).events, ["Anna"])
        record = tmp_path / "record.txt"
        record.write_text(text, encoding="utf-8")
        assert run(program, record) == "The draws are right."
        record.write_text(re.sub(r"(?m)^laurel A .*", "laurel A Janiculum", text), encoding="utf-8")
        assert run(program, record).endswith("AssertionError: laurels")


def run(program: Path, record: Path) -> str:
    """Return the last line that the program prints."""
    done = subprocess.run(
        [sys.executable, "-I", program, record], capture_output=True, text=True, check=False, timeout=30
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

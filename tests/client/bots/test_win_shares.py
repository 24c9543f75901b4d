"""Totals of bots over many games."""

import pytest

from client.bots.results import WinShares, wilson
from engine.game import GameOptions
from tests.games import played


def test_wilsons_interval() -> None:
    """Checked against published values (Newcombe 1998, table I: 81 of 263; 0 of 20; 20 of 20)."""
    assert wilson(81 / 263, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0.0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(1.0, 20) == pytest.approx((0.8389, 1.0), abs=5e-5)
    for games in range(1, 100):
        assert 0.0 <= wilson(0.0, games)[0] < wilson(1.0, games)[1] <= 1.0


def test_shares_add_up_to_the_games() -> None:
    """Shared victories are divided, so that everybody's shares together are all of them."""
    shares, names = WinShares(), ["a", "b", "c"]
    for seed in range(30):
        result = played(GameOptions(3, random_layout=True), seed).view.result
        assert result is not None
        shares.add(names, result)
    assert sum(shares.wins.values()) == pytest.approx(30)
    heading, *rows = shares.lines()
    assert heading == "30 games (in brackets: 95 per cent intervals):"
    assert {row.partition(":")[0] for row in rows} == set(names)
    assert rows[0].startswith(max(names, key=lambda name: (shares.wins[name], shares.points[name])))

"""A test of `choose` on a position: python -m pytest -c /dev/null --rootdir . test_bot.py, in this folder."""

import random

from bot import FIELDS, Game, choose


def test_it_chooses_the_hill_that_is_worth_most() -> None:
    game = Game()
    game.take_snapshot(
        {
            "seq": 6,
            # By position, each with its orientation.
            "tiles": [("B", 0), ("E", 5), ("A", 0), ("C", 2), ("G", 0), ("D", 0), ("F", 3)],
            "laurels": {
                "A": "Aventinus",
                "B": "Palatinus",
                "C": "Capitolinus",
                "D": "Quirinalis",
                "E": "Viminalis",
                "F": "Caelius",
                "G": "Esquilinus",
            },
            "placed": [(1, "Ss", "B2"), (2, "L*", "G6"), (0, "Es", "A4")],
        }
    )
    free = sum(1 << bit for bit, field in enumerate(FIELDS) if field not in game.board)
    legal = {"t": "place", "pieces": ["Sm", "Sm*", "Sf", "Sf*"], "fields": free}
    assert choose(game, legal, random.Random(1))["field"].startswith("B")

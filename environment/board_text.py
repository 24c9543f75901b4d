"""The board as text, for people who watch."""

from engine.board import Field, has_spring
from engine.components import LAUREL_WORTH
from engine.view import Phase, View

_HALF = 3  # columns of half a hex
_WIDTH = 17 * _HALF + _HALF


def board_text(view: View) -> str:
    """Return the board as the eyes of this view see it, and below it how the game is.

    An empty field shows its name, a hill the worth of its laurel, a hidden wolf its people and `*`, and `~`
    marks springs.
    """
    layout = view.layout
    texts = {cell: _field_text(view, field) for cell, field in layout.fields.items()}
    for tile, cell in layout.hills.items():
        worth = LAUREL_WORTH[view.laurels[tile]] if tile in view.laurels else ""
        texts[cell] = f"({tile}{worth})"
    rows = []
    for r in range(-4, 5):
        row = [" "] * _WIDTH
        for q in range(-4, 5):
            text = texts.get((q, r), "")
            first = (2 * q + r + 8) * _HALF
            row[first : first + len(text)] = text
        rows.append("".join(row).rstrip())
    return "\n".join([*rows, "", _state_text(view), ""])


def _field_text(view: View, field: Field) -> str:
    return f"{view.placed.get(field, field)}{'~' if has_spring(field) else ''}"


def _state_text(view: View) -> str:
    if view.result is not None:
        points = ", ".join(str(tally.points) for tally in view.result.tallies)
        return f"over: points {points}; won by {', '.join(f'player_{seat}' for seat in view.result.winners)}"
    left = ", ".join(map(str, view.remaining))
    doing = f"lays tile {view.drawn}" if view.phase is Phase.LAYING else "places a piece"
    return f"player_{view.turn} {doing}; to place {left}"

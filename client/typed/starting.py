"""The starting seat as users type it: `random`, `me`, or a seat, counted from 1."""

from client.language import _
from engine.pieces import Seat


class BadStart(ValueError):
    """The text does not say who starts; the message says what to write."""


def seat_to_start(text: str, players: int) -> Seat | None:
    """Return the seat that starts at a new table (R3.1), None for a draw; raises BadStart.

    The player who opens a table has its first seat, and is `me`.
    """
    seats = {str(seat + 1): Seat(seat) for seat in range(players)}
    known = {"random": None, "me": Seat(0), **seats}
    if text not in known:
        hint = _("{text!r} does not say who starts. Write random, me, or a seat from 1 to {last}.")
        raise BadStart(hint.format(text=text, last=players))
    return known[text]

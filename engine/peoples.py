"""Which peoples the seats play: those they have chosen, and for the others what the box still has (R1.5)."""

from collections.abc import Sequence

from engine.components import DEALS, PEOPLES
from engine.pieces import People


def peoples_by_seat(players: int, chosen: Sequence[Sequence[People]] = ()) -> tuple[tuple[People, ...], ...]:
    """Return the peoples of each seat, its own first; with two players each has a second one (R9.6).

    `chosen` has each seat's choice in the same order, or nothing. A seat without a choice keeps the people
    that it would have if nobody chose, unless another seat chose that; then it gets the first one left.
    Raises ValueError for choices that no game can deal.
    """
    of_each = 1 + bool(DEALS[players].second)
    wants = chosen or [()] * players
    if len(wants) != players or any(len(own) > of_each for own in wants):
        raise ValueError(f"{players} seats choose at most {of_each} people each")
    wanted = [own[place] if place < len(own) else None for place in range(of_each) for own in wants]
    taken = [people for people in wanted if people is not None]
    if len(set(taken)) < len(taken):
        raise ValueError("two seats cannot play the same people")
    usual = PEOPLES[: len(wanted)]
    settled = [
        people or (own if own not in taken else None) for people, own in zip(wanted, usual, strict=True)
    ]
    left = iter([people for people in PEOPLES if people not in settled])
    complete = [people or next(left) for people in settled]
    return tuple(tuple(complete[seat::players]) for seat in range(players))

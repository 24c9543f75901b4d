"""What people type after a command, and those at a table whom it can mean."""

import re
from collections.abc import Callable
from typing import Final

from client.language import _
from client.tables.table import TableModel
from client.typed_text import SEAT_NUMBERS, BadText, Misplaced, seats_meant
from client.ui.texts.tables import spectator_name, spectator_number
from engine.board import FIELDS, ORIENTATIONS, OUTER_POSITIONS, Field
from engine.events import LayTile, Place
from engine.pieces import People, Piece
from protocol.codes import Code
from protocol.messages import SeatSummary, TableState

ON_OR_OFF: Final = {"on": True, "off": False}
PIECE: Final = re.compile(r"([ESLMA])?([MFS])(\*)?", re.IGNORECASE)


def seat_named(text: str, state: TableState) -> int | None:
    """Return the seat that a text means; None if it means none, or a spectator by number."""
    if spectator_number(text) is not None:
        return None
    return next(iter(seats_meant(text, [each.name for each in state.seats])), None)


def known_seat(text: str, state: TableState) -> int | None:
    """Return the seat that a text names, None if it is no name; raises BadText for an unknown name."""
    if (seat := seat_named(text, state)) is None:
        refuse_name(text)
    return seat


def refuse_name(name: str) -> None:
    """Raise BadText for a text that is a name, because no player has it."""
    if name and not name.isdecimal():
        raise BadText(_("Nobody at this table is called {name}.").format(name=name))


def spectator_named(text: str, state: TableState) -> int | None:
    """Return the number of the spectator that a text means, None if it means none, or a seat."""
    number, wanted = spectator_number(text), text.casefold()
    if number is None and (wanted in SEAT_NUMBERS or seat_named(text, state) is not None):
        return None
    meant = (
        each.number
        for each in state.watching
        if each.number == number
        or (number is None and each.name is not None and each.name.casefold() == wanted)
    )
    return next(meant, None)


def typed_players(state: TableState, *words: str) -> dict[int, str]:
    """Return how to type the players, by their seats: by name, unless that means something else.

    The command has `words` of its own.
    """
    return {
        seat: each.name
        if each.name.casefold() not in words and seat_named(each.name, state) == seat
        else str(seat + 1)
        for seat, each in enumerate(state.seats)
        if each.name
    }


def typed_spectators(state: TableState, *words: str) -> dict[int, str]:
    """Return how to type the spectators, by their numbers, as `typed_players` does."""
    named = {each.number: spectator_name(each.number, each.name) for each in state.watching}
    return {
        number: name
        if name.casefold() not in words and spectator_named(name, state) == number
        else spectator_name(number, None)
        for number, name in named.items()
    }


def free_seats(state: TableState) -> list[int]:
    return [seat for seat, each in enumerate(state.seats) if each.name is None]


def choosers(state: TableState) -> dict[People, int]:
    """Return the seats whose players have chosen their peoples, by these."""
    return {People(each.people): seat for seat, each in enumerate(state.seats) if each.chosen and each.people}


def _others(model: TableModel, fits: Callable[[SeatSummary], bool]) -> list[int]:
    """Return the seats of the other players who fit."""
    seats = enumerate(() if model.state is None else model.state.seats)
    return [seat for seat, each in seats if seat != model.seat and each.name is not None and fits(each)]


def speakers(model: TableModel) -> list[int]:
    """Return the seats of the other players who could say something: the server's bots never do."""
    return _others(model, lambda each: each.level is None)


def removable(model: TableModel) -> list[int]:
    """Return the seats whose players the host can remove: before the game all others, then absent ones."""
    gathering = model.state is not None and model.state.stage == "gathering"
    return _others(model, lambda each: not each.vacant and (gathering or not each.here))


def substitutable(model: TableModel) -> list[int]:
    """Return the seats of absent players for whom no bot plays yet."""
    return _others(model, lambda each: not each.here and not each.bot)


def heirs(model: TableModel) -> list[int]:
    """Return the seats of those who could be the next host."""
    return _others(model, lambda each: each.here and each.level is None)


def seat_and_name(state: TableState, seat: int) -> str:
    return f"{seat + 1} {state.seats[seat].name or _('free')}"


def swapped(seats: int, one: int, other: int) -> tuple[int, ...]:
    order = list(range(seats))
    order[one], order[other] = other, one
    return tuple(order)


def placement(piece: str, field: str, model: TableModel) -> Place | None:
    """Return the move that places this piece on this field, None if it is no piece; raises BadText."""
    matched = PIECE.fullmatch(piece)
    name = Field(field.upper())
    if matched is None:
        return None
    if model.view is None:
        raise Misplaced(_("Pieces are placed during a game, and none is running here."))
    if model.seat is None:
        raise Misplaced(_(Code.NOT_A_PLAYER.text))
    if name not in FIELDS:
        text = _("There is no field {field}. Choose an empty field, A1 to G6.")
        raise BadText(text.format(field=name))
    people, kind, wolf = matched.groups()
    own = model.view.start.peoples[model.seat][0]
    try:
        chosen = Piece(f"{(people or own).upper()}{kind.lower()}{wolf or ''}")
    except ValueError:
        raise BadText(_("There is no soldier with a wolf. The pieces are m, m*, f, f* and s.")) from None
    return Place(model.seat, chosen, name)


def laying(text: str, model: TableModel) -> LayTile:
    """Return the move that lays the tile at a position, turned so often; raises BadText."""
    numbers = text.split()
    position, turns = [*numbers, "0"][:2] if 1 <= len(numbers) <= 2 else ["", ""]
    fits = position in map(str, OUTER_POSITIONS) and turns in map(str, ORIENTATIONS)
    if model.seat is not None and fits:
        return LayTile(model.seat, int(position), int(turns))
    form = _("Type lay, a position (1 to 6) and how often to turn the tile (0 to 5), for example: {example}")
    raise BadText(form.format(example="lay 3 2"))

"""Every sentence about the game that people read, in one place; `names` are the players' by seat."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, assert_never

from client.table import TableModel
from engine.board import Field
from engine.components import LAUREL_WORTH
from engine.events import (
    Captured,
    CentreTurned,
    DecidedBy,
    GameEnded,
    GameStarted,
    HillScored,
    Influence,
    LaurelsDealt,
    LayoutDrawn,
    Placed,
    SeenEvent,
    SoldierFled,
    Term,
    TileDrawn,
    TileLaid,
    Why,
    WolfPlaced,
    WolvesRevealed,
)
from engine.legal import LegalPlaces
from engine.pieces import Kind, People, Piece, Seat, Wolf
from engine.view import Phase
from protocol.messages import TableState

KINDS: Final = {Kind.MERCHANT: "merchant", Kind.FARMER: "farmer", Kind.SOLDIER: "soldier"}
PEOPLES: Final = {
    People.ETRUSCANS: "Etruscans",
    People.SABINES: "Sabines",
    People.LATINS: "Latins",
    People.MARSI: "Marsi",
    People.ARCADIANS: "Arcadians",
}
PEOPLES_OF: Final = {
    People.ETRUSCANS: "Etruscan",
    People.SABINES: "Sabine",
    People.LATINS: "Latin",
    People.MARSI: "Marsian",
    People.ARCADIANS: "Arcadian",
}


def names_of(state: TableState | None, seats: int) -> tuple[str, ...]:
    """Return what the players are called, by seat."""
    lines = [] if state is None else state.seats
    named = [line.name or f"Seat {seat + 1}" for seat, line in enumerate(lines)]
    return tuple(named) + tuple(f"Seat {seat + 1}" for seat in range(len(named), seats))


def piece_words(piece: Piece | Wolf) -> str:
    """Return a piece in words: `Etruscan merchant with the wolf`."""
    if isinstance(piece, Wolf):
        return f"{PEOPLES_OF[piece.people]} wolf, kind unknown"
    wolf = " with the wolf" if piece.wolf else ""
    return f"{PEOPLES_OF[piece.people]} {KINDS[piece.kind]}{wolf}"


def kind_words(piece: Piece) -> str:
    return f"{'wolf ' if piece.wolf else ''}{KINDS[piece.kind]}"


def counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def listed(words: Iterable[str]) -> str:
    """Return the words as a list in a sentence: `A, B and C`."""
    *first, last = list(words) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def told(event: SeenEvent, names: Sequence[str]) -> str:
    """Return what happened, in one sentence."""
    match event:
        case GameStarted():
            who = listed(
                f"{names[seat]} ({' and '.join(PEOPLES[people] for people in peoples)})"
                for seat, peoples in enumerate(event.peoples)
            )
            return f"The game starts: {who}. {names[event.starting]} begins."
        case CentreTurned():
            return f"Tile {event.tile} lies in the centre."
        case TileDrawn():
            return f"{names[event.seat]} draws tile {event.tile}."
        case TileLaid():
            turned = counted(event.orientation, "turn", "turns") if event.orientation else "no turn"
            return f"{names[event.seat]} lays tile {event.tile} at position {event.position}, {turned}."
        case LayoutDrawn():
            return "The tiles were laid at random."
        case LaurelsDealt():
            return "Every hill has its laurel."
        case Placed():
            return f"{names[event.seat]} places {event.piece} on {event.field}: {kind_sentence(event.piece)}."
        case WolfPlaced():
            return f"{names[event.seat]} places {event.people}?* on {event.field}: a wolf, face down."
        case WolvesRevealed():
            return "All wolf pieces are turned up. The scoring begins."
        case SoldierFled() | Captured():
            return soldier_told(event, names)
        case HillScored():
            return hill_told(event, names)
        case GameEnded():
            return result_told(event, names)
        case _:
            assert_never(event)


def kind_sentence(piece: Piece) -> str:
    return f"a {KINDS[piece.kind]}{' with the wolf' if piece.wolf else ''}"


def soldier_told(event: SoldierFled | Captured, names: Sequence[str]) -> str:
    """Return what a soldier found beside it and did (R5)."""
    merchants = counted(len(event.merchants), "merchant", "merchants")
    farmers = counted(len(event.farmers), "farmer", "farmers")
    found = f"The soldier of {names[event.seat]} on {event.field} has {merchants} and {farmers} beside it"
    if isinstance(event, SoldierFled):
        return f"{found}: it flees."
    group = "merchant" if len(event.merchants) > len(event.farmers) else "farmer"
    if len(event.taken) + len(event.shared) > 1:
        group += "s"
    parts = [f"{found}: it captures the {group}"]
    if event.taken:
        parts.append(f" on {listed(event.taken)}")
    if event.shared:
        discs = counted(len(event.shared), "1-point disc", "1-point discs")
        parts.append(f", and {discs} for {listed(event.shared)}, shared with another soldier")
    return "".join(parts) + "."


WHY: Final = {
    Why.MERCHANT: "a merchant",
    Why.FARMER: "a farmer",
    Why.SOLDIER: "a soldier",
    Why.EMPTY: "an empty field",
    Why.SPRING: "a spring",
    Why.OWN_SPRING: "its own spring",
}


def influence_told(influence: Influence, names: Sequence[str]) -> str:
    """Return one piece's influence as a sentence (R6.2, R6.3)."""
    owner = f"The {KINDS[influence.kind]} of {names[influence.seat]} on {influence.field}"
    if not influence.terms:
        return f"{owner} finds nothing of use beside it: no influence."
    return f"{owner} gives {influence.amount}: {listed(term_told(term) for term in influence.terms)}."


def term_told(term: Term) -> str:
    where = "" if term.why is Why.OWN_SPRING else f" on {term.field}"
    return f"{term.amount} for {WHY[term.why]}{where}"


def sum_of(influence: Influence) -> str:
    """Return one piece's influence as arithmetic: `1+2+2 = 5`."""
    terms = "+".join(str(term.amount) for term in influence.terms)
    return f"{terms} = {influence.amount}" if len(influence.terms) > 1 else str(influence.amount)


def amounts(influence: Influence) -> dict[Field, int]:
    """Return what each field adds to a piece's influence."""
    added: dict[Field, int] = {}
    for term in influence.terms:
        added[term.field] = added.get(term.field, 0) + term.amount
    return added


def hill_told(event: HillScored, names: Sequence[str]) -> str:
    """Return who controls a hill (R6.5)."""
    laurel = f"the laurel {event.laurel} ({LAUREL_WORTH[event.laurel]})"
    most = max(event.influence, default=0)
    match event.leaders:
        case ():
            return f"Hill {event.hill}: nobody has influence, {laurel} is discarded."
        case (leader,):
            return f"Hill {event.hill}: {names[leader]} leads with {most} and takes {laurel}."
        case _:
            tied = listed(names[seat] for seat in event.leaders)
            return f"Hill {event.hill}: {tied} tie with {most}; each takes a 2-point disc, {laurel} is gone."


def result_told(event: GameEnded, names: Sequence[str]) -> str:
    """Return who won and what decided it (R7)."""
    winners = listed(names[seat] for seat in event.winners)
    points = counted(event.tallies[event.winners[0]].points, "point", "points")
    match event.decided_by:
        case DecidedBy.POINTS:
            return f"{winners} wins with {points}."
        case DecidedBy.ITEMS if len(event.winners) == 1:
            items = event.tallies[event.winners[0]].items
            return f"{winners} wins: {points} like others, but more captives, discs and laurels ({items})."
        case DecidedBy.ITEMS:
            return f"{winners} share the victory: {points} and the most captives, discs and laurels."
        case DecidedBy.NOTHING:
            return f"{winners} share the victory with {points} each: nothing sets them apart."
        case _:
            assert_never(event.decided_by)


def table_told(state: TableState, before: TableState | None) -> list[str]:
    """Return who came, who went and who is away."""
    if before is None or len(before.seats) != len(state.seats):
        return []
    sentences = []
    for was, now in zip(before.seats, state.seats, strict=True):
        if was.name != now.name:
            sentences.append(f"{now.name} takes a seat." if now.name else f"{was.name} leaves the table.")
        elif now.name and was.here != now.here:
            sentences.append(f"{now.name} is back." if now.here else f"{now.name} is away.")
    return sentences


def said(seat: Seat | None, text: str, names: Sequence[str]) -> str:
    return f"{'A spectator' if seat is None else names[seat]}: {text}"


def turn_told(model: TableModel, names: Sequence[str]) -> str:
    """Return what the table waits for while nothing is being scored."""
    view = model.view
    if model.table is None:
        return "the lobby"
    if view is None:
        return "waiting for players"
    if view.turn is None:
        return "one moment"
    if view.phase is Phase.LAYING:
        tile = f"lay tile {view.drawn}"
        return f"Your turn: {tile}" if view.turn == model.seat else f"{names[view.turn]} is to {tile}"
    if view.turn != model.seat:
        return f"{names[view.turn]} is to place"
    due = isinstance(model.legal, LegalPlaces) and all(
        piece.kind is Kind.SOLDIER for piece in model.legal.pieces
    )
    return "Your turn: place a soldier" if due else "Your turn: place an inhabitant"


YOUR_SEAT: Final = "your seat"


def back_in_seat(name: str) -> str:
    return f"You are back in your seat, as {name}."


def seat_lost(table: str) -> str:
    return f"Your seat at table {table} was given up in the meantime."


def seat_not_kept(error: OSError) -> str:
    return f"Your seat cannot be kept for another time ({error.strerror}): stay until the game is over."


def seats_not_read(error: OSError) -> str:
    return f"The seats kept on this computer cannot be read ({error.strerror})."


def seat_damaged(path: Path) -> str:
    return f"A seat kept on this computer cannot be read and is left out: {path}"


def how_to_come_back(address: str, table: str, name: str | None) -> str:
    """Return what is told on leaving a running game; `name` if it is needed to find the seat again."""
    named = "" if name is None else f" --name {shlex.quote(name)}"
    return (
        f"The game goes on, and your seat is kept. Come back with\n  palatinus join {address} {table}{named}"
    )

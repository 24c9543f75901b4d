"""The scoring in sentences, its arithmetic, and the results of one game and of several."""

from collections.abc import Iterable, Sequence
from typing import Final, assert_never

from client.language import N_, _, counted, listed, parted
from client.records import PastGame, best_first
from engine.board import Field
from engine.components import LAUREL_WORTH
from engine.events import Captured, DecidedBy, GameEnded, HillScored, Influence, SoldierFled, Term, Why
from engine.knowledge import Bounds
from engine.pieces import Kind, Seat
from protocol.messages import Standing, TableState


def bounds_text(bounds: Bounds) -> str:
    """Return a number as far as it is known: `3`, or `1-3`."""
    return str(bounds.least) if bounds.known else f"{bounds.least}-{bounds.most}"


def describe_soldier(event: SoldierFled | Captured, names: Sequence[str]) -> str:
    """Return what a soldier found next to it, and what it did (R5)."""
    merchants, farmers = len(event.merchants), len(event.farmers)
    found = _("{name}'s soldier on {field} has {merchants} and {farmers} beside it").format(
        name=names[event.seat],
        field=event.field,
        merchants=counted("{n} merchant", "{n} merchants", merchants).format(n=merchants),
        farmers=counted("{n} farmer", "{n} farmers", farmers).format(n=farmers),
    )
    if isinstance(event, SoldierFled):
        return _("{found}: it flees.").format(found=found)
    taken = (*event.taken, *event.shared)
    form = (
        counted(
            "{found}: it captures the merchant on {fields}.",
            "{found}: it captures the merchants on {fields}.",
            len(taken),
        )
        if merchants > farmers
        else counted(
            "{found}: it captures the farmer on {fields}.",
            "{found}: it captures the farmers on {fields}.",
            len(taken),
        )
    )
    captured = form.format(found=found, fields=listed(taken))
    if not event.shared:
        return captured
    discs = counted(
        "{captured} For the piece on {fields}, taken by another soldier, it gets a 1-point disc.",
        "{captured} For the pieces on {fields}, taken by other soldiers, it gets {n} 1-point discs.",
        len(event.shared),
    )
    return discs.format(captured=captured, fields=listed(event.shared), n=len(event.shared))


_TERMS: Final = {
    Why.MERCHANT: N_("{amount} for a merchant on {field}"),
    Why.FARMER: N_("{amount} for a farmer on {field}"),
    Why.SOLDIER: N_("{amount} for a soldier on {field}"),
    Why.EMPTY: N_("{amount} for an empty field on {field}"),
    Why.SPRING: N_("{amount} for a spring on {field}"),
    Why.OWN_SPRING: N_("{amount} for its own spring"),
}
_OWNERS: Final = {
    Kind.MERCHANT: N_("{name}'s merchant on {field}"),
    Kind.FARMER: N_("{name}'s farmer on {field}"),
    Kind.SOLDIER: N_("{name}'s soldier on {field}"),
}


def describe_influence(influence: Influence, names: Sequence[str]) -> str:
    """Return one piece's influence as a sentence (R6.2, R6.3)."""
    piece = _(_OWNERS[influence.kind]).format(name=names[influence.seat], field=influence.field)
    if not influence.terms:
        return _("{piece} has nothing useful beside it: no influence.").format(piece=piece)
    return _("{piece} gives {amount}: {terms}.").format(
        piece=piece, amount=influence.amount, terms=listed(map(describe_term, influence.terms))
    )


def describe_term(term: Term) -> str:
    return _(_TERMS[term.why]).format(amount=term.amount, field=term.field)


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


def describe_hill(event: HillScored, names: Sequence[str]) -> str:
    """Return who controls a hill (R6.5)."""
    match event.leaders:
        case ():
            form = _("Hill {hill}: nobody has influence, so the {laurel} laurel ({worth}) is discarded.")
        case (_leader,):
            form = _("Hill {hill}: {leaders} leads with {most} and takes the {laurel} laurel ({worth}).")
        case _:
            form = _(
                "Hill {hill}: {leaders} tie with {most}; each takes a 2-point disc, and the {laurel} "
                "laurel ({worth}) is discarded."
            )
    return form.format(
        hill=event.hill,
        leaders=listed(names[seat] for seat in event.leaders),
        most=max(event.influence, default=0),
        laurel=event.laurel,
        worth=LAUREL_WORTH[event.laurel],
    )


def describe_result(event: GameEnded, names: Sequence[str]) -> str:
    """Return who won and what decided it (R7)."""
    tally = event.tallies[event.winners[0]]
    match event.decided_by:
        case DecidedBy.POINTS:
            form = counted("{winners} wins with {n} point.", "{winners} wins with {n} points.", tally.points)
        case DecidedBy.ITEMS if len(event.winners) == 1:
            form = counted(
                "{winners} wins the tie: {n} point each, but more captives, discs and laurels ({items}).",
                "{winners} wins the tie: {n} points each, but more captives, discs and laurels ({items}).",
                tally.points,
            )
        case DecidedBy.ITEMS:
            form = counted(
                "{winners} share the victory: {n} point each, and the most captives, discs and laurels.",
                "{winners} share the victory: {n} points each, and the most captives, discs and laurels.",
                tally.points,
            )
        case DecidedBy.NOTHING:
            form = counted(
                "{winners} share the victory with {n} point each: nothing separates them.",
                "{winners} share the victory with {n} points each: nothing separates them.",
                tally.points,
            )
        case _:
            assert_never(event.decided_by)
    return form.format(
        winners=listed(names[seat] for seat in event.winners), n=tally.points, items=tally.items
    )


def describe_rematch(state: TableState, seat: Seat | None) -> str:
    """Return which players of a finished game play again, and how to join them; empty if none does."""
    names = [summary.name for summary in state.seats if summary.again and summary.name]
    if not names:
        return ""
    form = counted("{names} plays again.", "{names} play again.", len(names))
    how = _("Press m to watch.") if seat is None else _("Press m to play too.")
    return f"{form.format(names=listed(names))} {how}"


def describe_standings(state: TableState) -> str:
    """Return the players' totals over several games, best first; empty after a single one."""
    if all(seat.standing.games < 2 for seat in state.seats):
        return ""
    return list_standings(
        best_first((seat.name, seat.standing) for seat in state.seats if seat.name is not None)
    )


def list_standings(standings: Iterable[tuple[str, Standing]]) -> str:
    """Return the players' standings in one sentence."""
    each_player = (
        counted(
            "{name}: {wins} of {games} won, {points} point",
            "{name}: {wins} of {games} won, {points} points",
            each.points,
        ).format(name=name, wins=each.wins, games=each.games, points=each.points)
        for name, each in standings
    )
    return _("All games so far: {totals}.").format(totals=parted(each_player))


def describe_points(game: PastGame, names: Sequence[str] | None = None) -> str:
    """Return everybody's points, with a star for the winners; `names` are others than the record's."""
    if not game.points:
        return _("(this record cannot be read)")
    return ", ".join(
        f"{name} {points}{'*' if seat in game.winners else ''}"
        for seat, (name, points) in enumerate(zip(names or game.names, game.points, strict=True))
    )

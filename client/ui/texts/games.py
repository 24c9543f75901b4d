"""Games in sentences: events, forecasts, the scoring with its arithmetic, results, analyses."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, assert_never

from client.language import N_, _, counted, listed, parted
from client.records import Analysis, Chances, JudgedMove, PastGame, Recording, best_first
from client.tables.table import TableModel
from client.ui.texts.names import by, called, in_sentences
from client.ui.texts.pieces import PEOPLES, a_piece, piece_sign
from client.ui.texts.tables import describe_stage
from engine import events
from engine.board import Field, tile_of
from engine.components import LAUREL_WORTH
from engine.forecast import GROUPS, Forecast, SoldierAct, SoldierBeside, forecast
from engine.knowledge import Bounds
from engine.legal import LegalPlaces
from engine.pieces import Kind, Seat, Wolf
from engine.view import Phase, eyes_of
from protocol.messages import Standing, TableState, Turn
from protocol.text import printable


def bounds_text(bounds: Bounds, *, in_words: bool = False) -> str:
    """Return a number within known bounds: `3`, or `1-3`, which is `1 to 3` in words."""
    if bounds.known:
        return str(bounds.least)
    if not in_words:
        return f"{bounds.least}-{bounds.most}"
    return _("{least} to {most}").format(least=bounds.least, most=bounds.most)


def describe_soldier(event: events.SoldierFled | events.Captured, names: Sequence[str]) -> str:
    """Return the groups that a soldier found beside it, and whether it captured or fled (R5)."""
    merchants, farmers = len(event.merchants), len(event.farmers)
    found = by(
        names[event.seat],
        _("{name}'s soldier on {field} has {merchants} and {farmers} beside it"),
        _("Your soldier on {field} has {merchants} and {farmers} beside it"),
    ).format(
        name=names[event.seat],
        field=event.field,
        merchants=counted("{n} merchant", "{n} merchants", merchants).format(n=merchants),
        farmers=counted("{n} farmer", "{n} farmers", farmers).format(n=farmers),
    )
    if isinstance(event, events.SoldierFled):
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
    events.Why.MERCHANT: N_("{amount} for a merchant on {field}"),
    events.Why.FARMER: N_("{amount} for a farmer on {field}"),
    events.Why.SOLDIER: N_("{amount} for a soldier on {field}"),
    events.Why.EMPTY: N_("{amount} for an empty field on {field}"),
    events.Why.SPRING: N_("{amount} for a spring on {field}"),
    events.Why.OWN_SPRING: N_("{amount} for its own spring"),
}
_OWNERS: Final = {
    Kind.MERCHANT: N_("{name}'s merchant on {field}"),
    Kind.FARMER: N_("{name}'s farmer on {field}"),
    Kind.SOLDIER: N_("{name}'s soldier on {field}"),
}
_OWN: Final = {
    Kind.MERCHANT: N_("Your merchant on {field}"),
    Kind.FARMER: N_("Your farmer on {field}"),
    Kind.SOLDIER: N_("Your soldier on {field}"),
}


def describe_influence(influence: events.Influence, names: Sequence[str]) -> str:
    """Return one piece's influence as a sentence (R6.2, R6.3)."""
    name = names[influence.seat]
    piece = _(by(name, _OWNERS[influence.kind], _OWN[influence.kind])).format(
        name=name, field=influence.field
    )
    if not influence.terms:
        return _("{piece} has nothing useful beside it: no influence.").format(piece=piece)
    forms = ((_(_TERMS[each.why]), each) for each in influence.terms)
    terms = listed(form.format(amount=each.amount, field=each.field) for form, each in forms)
    return _("{piece} gives {amount}: {terms}.").format(piece=piece, amount=influence.amount, terms=terms)


def sum_of(amounts: Sequence[int]) -> str:
    """Return amounts as arithmetic: `1+2+2 = 5`."""
    return f"{'+'.join(map(str, amounts))} = {sum(amounts)}" if len(amounts) > 1 else str(sum(amounts))


def amounts(influence: events.Influence) -> dict[Field, int]:
    added: Counter[Field] = Counter()
    for term in influence.terms:
        added[term.field] += term.amount
    return added


def describe_hill(event: events.HillScored, names: Sequence[str]) -> str:
    """Return who controls a hill (R6.5)."""
    match event.leaders:
        case ():
            form = _("Hill {hill}: nobody has influence, so the {laurel} laurel ({worth}) is discarded.")
        case (leader,):
            form = by(
                names[leader],
                _("Hill {hill}: {leaders} leads with {most} and takes the {laurel} laurel ({worth})."),
                _("Hill {hill}: you lead with {most} and take the {laurel} laurel ({worth})."),
            )
        case _:
            form = _(
                "Hill {hill}: {leaders} tie with {most}; each takes a 2-point disc, and the {laurel} "
                "laurel ({worth}) is discarded."
            )
    return form.format(
        hill=event.hill,
        leaders=listed(called(names[seat]) for seat in event.leaders),
        most=max(event.influence, default=0),
        laurel=event.laurel,
        worth=LAUREL_WORTH[event.laurel],
    )


def describe_result(event: events.GameEnded, names: Sequence[str]) -> str:
    """Return the winners, and the tie-break that decided (R7)."""
    tally = event.tallies[event.winners[0]]
    match event.decided_by:
        case events.DecidedBy.POINTS:
            form = by(
                names[event.winners[0]],
                counted("{winners} wins with {n} point.", "{winners} wins with {n} points.", tally.points),
                counted("You win with {n} point.", "You win with {n} points.", tally.points),
            )
        case events.DecidedBy.ITEMS if len(event.winners) == 1:
            form = counted(
                "{winners} wins the tie: {n} point each, but more captives, discs and laurels ({items}).",
                "{winners} wins the tie: {n} points each, but more captives, discs and laurels ({items}).",
                tally.points,
            )
        case events.DecidedBy.ITEMS:
            form = counted(
                "{winners} share the victory: {n} point each, and the most captives, discs and laurels.",
                "{winners} share the victory: {n} points each, and the most captives, discs and laurels.",
                tally.points,
            )
        case events.DecidedBy.NOTHING:
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
    if not (told := describe_who_plays_again(state)):
        return ""
    how = _("Press g to play if a seat is free, or to watch.") if seat is None else _("Press g to play too.")
    return f"{told} {how}"


def describe_who_plays_again(state: TableState) -> str:
    """Return which players of a finished game play again; empty if none does."""
    names = [summary.name for summary in state.seats if summary.again and summary.name]
    form = counted("{names} plays again.", "{names} play again.", len(names))
    return form.format(names=listed(names)) if names else ""


def describe_next_game(turn: Turn) -> str:
    """Return the news of a next game, for a player who has left and keeps a seat there."""
    names = listed(map(printable, turn.again))
    form = counted("{names} plays again.", "{names} play again.", len(turn.again))
    seat = _("Your seat is kept, at table {table} in the lobby.").format(table=turn.next)
    return f"{form.format(names=names)} {seat}" if names else seat


def describe_standings(state: TableState) -> str:
    """Return the players' totals over several games, best first; empty after a single one."""
    if all(seat.standing.games < 2 for seat in state.seats):
        return ""
    return list_standings(best_first((each.name, each.standing) for each in state.seats if each.name))


def list_standings(standings: Iterable[tuple[str, Standing]]) -> str:
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
    """Return everybody's points, with a star for the winners; `names` replace the record's."""
    if not game.points:
        return _("(this record cannot be read)")
    stars = ("*" if seat in game.winners else "" for seat in range(len(game.points)))
    each = zip(names or game.names, game.points, stars, strict=True)
    return ", ".join(f"{name} {points}{star}" for name, points, star in each)


def describe_event(event: events.SeenEvent, names: Sequence[str]) -> str:
    match event:
        case events.GameStarted():
            who = listed(
                f"{called(names[seat])} ({listed(_(PEOPLES[people]) for people in peoples)})"
                for seat, peoples in enumerate(event.peoples)
            )
            name = names[event.starting]
            text = by(
                name,
                _("The game starts: {players}. {name} begins."),
                _("The game starts: {players}. You begin."),
            )
            return text.format(players=who, name=name)
        case events.CentreTurned():
            return _("Tile {tile} lies in the centre.").format(tile=event.tile)
        case events.TileDrawn():
            name = names[event.seat]
            text = by(name, _("{name} draws tile {tile}."), _("You draw tile {tile}."))
            return text.format(name=name, tile=event.tile)
        case events.TileLaid():
            text = by(
                names[event.seat],
                _("{name} lays tile {tile} at position {position}, {turned}."),
                _("You lay tile {tile} at position {position}, {turned}."),
            )
            about = {"position": event.position, "turned": turned(event.orientation)}
            return text.format(name=names[event.seat], tile=event.tile, **about)
        case events.LayoutDrawn():
            return _("The tiles were laid at random.")
        case events.LaurelsDealt():
            return _("Every hill has its laurel.")
        case events.Placed():
            text = by(
                names[event.seat],
                _("{name} places {piece} on {field}."),
                _("You place {piece} on {field}."),
            )
            return text.format(name=names[event.seat], piece=a_piece(event.piece), field=event.field)
        case events.WolfPlaced():
            text = _("{name} places {piece} on {field}, face down.")
            piece = a_piece(Wolf.of(event.people))
            return text.format(name=names[event.seat], piece=piece, field=event.field)
        case events.TakenBack():
            text = by(names[event.seat], _("{name} takes back: {fields}."), _("You take back: {fields}."))
            return text.format(name=names[event.seat], fields=", ".join(event.fields))
        case events.WolvesRevealed():
            return _("All wolf pieces are turned up. The scoring begins.")
        case events.SoldierFled() | events.Captured():
            return describe_soldier(event, names)
        case events.HillScored():
            return describe_hill(event, names)
        case events.GameEnded():
            return describe_result(event, names)
        case _:
            assert_never(event)


def turned(turns: int) -> str:
    if not turns:
        return _("not turned")
    return counted("turned once", "turned {turns} times", turns).format(turns=turns)


def confirmation(move: events.LayTile | events.Place) -> str:
    if isinstance(move, events.Place):
        form = _("Place {piece} on {field}? Enter: yes, Esc: no")
        return form.format(piece=piece_sign(move.piece), field=move.field)
    form = _("Lay the tile at position {position}, {turned}? Enter: yes, Esc: no")
    return form.format(position=move.position, turned=turned(move.orientation))


def describe_turn(model: TableModel, names: Sequence[str]) -> str:
    view = model.view
    if model.table is None:
        return _("the lobby")
    if view is None:
        state = model.state
        return describe_stage("gathering", full=state is not None and not state.room)
    if view.turn is None:
        return _("one moment")
    mine = view.turn == model.seat
    if view.phase is Phase.LAYING:
        form = _("Your turn: lay tile {tile}") if mine else _("{name}'s turn to lay tile {tile}")
        return form.format(name=names[view.turn], tile=view.drawn)
    if not mine:
        return _("{name}'s turn to place").format(name=names[view.turn])
    pieces = model.legal.pieces if isinstance(model.legal, LegalPlaces) else ()
    due = {piece.kind for piece in pieces} == {Kind.SOLDIER}
    return _("Your turn: place a soldier") if due else _("Your turn: place a piece")


_FLIGHT = frozenset({SoldierAct.FLIGHT})


def describe_forecast(found: Forecast, names: Sequence[str]) -> list[str]:
    """Return the score that the piece would have, the acts of soldiers, and the changes for other pieces."""
    return [
        _describe_gain(found, names),
        *(told for soldier in found.soldiers if (told := _describe_soldier(found, soldier, names))),
        *_describe_changes(found, names),
    ]


def _describe_gain(found: Forecast, names: Sequence[str]) -> str:
    if found.gives is not None:
        form = _("{piece} here: {amount} influence on {hill}.")
        return form.format(
            piece=piece_sign(found.piece),
            amount=bounds_text(found.gives, in_words=True),
            hill=tile_of(found.field),
        )
    if found.acts == _FLIGHT:
        return _("{piece} here would flee.").format(piece=piece_sign(found.piece))
    if SoldierAct.FLIGHT in found.acts:
        form = _("{piece} here would flee or capture {captives}.")
    else:
        form = _("{piece} here would capture {captives}.")
    return form.format(piece=piece_sign(found.piece), captives=describe_captives(found, names))


def describe_captives(found: Forecast, names: Sequence[str]) -> str:
    """Return how many pieces of each player a soldier would capture."""
    told = []
    for seat, number in found.captives.items():
        form = by(
            names[seat],
            counted("{n} piece from {name}", "{n} pieces from {name}", number.most),
            counted("{n} piece of your own", "{n} pieces of your own", number.most),
        )
        told.append(form.format(n=bounds_text(number, in_words=True), name=names[seat]))
    return listed(told)


def _describe_soldier(found: Forecast, soldier: SoldierBeside, names: Sequence[str]) -> str:
    """Return what a soldier beside it would do to the piece, or because of it; empty if neither."""
    takes = GROUPS.get(found.piece.kind)
    if takes in soldier.after:
        if len(soldier.after) > 1:
            form = _("{soldier} may take it.")
        elif soldier.first:
            form = _("{soldier} would take it.")
        else:
            form = _("{soldier} would take it, after {hill} is counted.")
    elif soldier.after == _FLIGHT and soldier.before != _FLIGHT:
        form = _("{soldier} would flee.")
    else:
        return ""
    name = names[soldier.seat]
    who = by(name, _("{name}'s soldier on {field}"), _("Your soldier on {field}"))
    who = who.format(name=name, field=soldier.field)
    return form.format(soldier=who, hill=tile_of(found.field))


def _describe_changes(found: Forecast, names: Sequence[str]) -> list[str]:
    if not found.changes:
        return []
    form = _("{name} {amount} on {hill}")
    told = ((called(names[each.seat]), _signed(each.by), each.hill) for each in found.changes)
    changes = ", ".join(form.format(name=name, amount=amount, hill=hill) for name, amount, hill in told)
    return [_("Influence changes: {changes}.").format(changes=changes)]


def _signed(bounds: Bounds) -> str:
    """Return a difference as far as it is known: `+2`, or `-2 to +1`."""
    if bounds.known:
        return f"{bounds.least:+}"
    least, most = (f"{amount:+}" if amount else "0" for amount in (bounds.least, bounds.most))
    return _("{least} to {most}").format(least=least, most=most)


def percent(chance: float) -> str:
    return f"{chance:.0%}"


def describe_chances(chances: Chances, names: Sequence[str]) -> str:
    """Return each player's chance: `Ann 62%, Bob 38%`."""
    return ", ".join(f"{name} {percent(chance)}" for name, chance in zip(names, chances, strict=True))


def describe_move(move: JudgedMove, names: Sequence[str]) -> str:
    """Return a move in a line: `Move 7: Ann, Em* on C4.`"""
    return _("Move {number}: {name}, {piece} on {field}.").format(
        number=move.number, name=names[move.seat], piece=piece_sign(move.move.piece), field=move.move.field
    )


def describe_change(before: Chances, after: Chances, names: Sequence[str]) -> str:
    """Return the chances before and after a move: `Ann 62% -> 48%, Bob 38% -> 52%`."""
    return ", ".join(
        f"{name} {percent(then)} -> {percent(now)}"
        for name, then, now in zip(names, before, after, strict=True)
    )


def reasons(recording: Recording, judged: JudgedMove) -> list[str]:
    """Return the effects of a move on the board, as its player could foresee them."""
    view = recording.view(judged.number - 1, eyes_of(judged.seat))
    move = judged.move
    return describe_forecast(
        forecast(view, judged.seat, move.piece, move.field), in_sentences(recording.names)
    )


def describe_deciding(analysis: Analysis) -> str:
    """Return which moves decided the game, in one sentence; empty while there are none."""
    numbers = [str(number) for number in sorted(move.number for move in analysis.deciding)]
    if not numbers:
        return ""
    form = counted("Move {numbers} decided most.", "Moves {numbers} decided most.", len(numbers))
    return form.format(numbers=listed(numbers))


def describe_progress(analysis: Analysis) -> str:
    return _("{judged} of {wanted} moves analysed").format(judged=len(analysis.moves), wanted=analysis.wanted)


def describe_stopped(analysis: Analysis) -> str:
    return _("Stopped: {progress}.").format(progress=describe_progress(analysis))

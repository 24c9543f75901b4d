"""What a piece would do on a field, in words; `names` are the players' names by seat."""

from collections.abc import Sequence

from client.language import _, counted, listed
from client.ui.texts.events import turned
from client.ui.texts.scoring import bounds_text
from engine.board import tile_of
from engine.events import LayTile, Place
from engine.forecast import GROUPS, Forecast, Outcome, SoldierBeside
from engine.knowledge import Bounds

_FLIGHT = frozenset({Outcome.FLIGHT})


def describe_forecast(found: Forecast, names: Sequence[str]) -> list[str]:
    """Return what the piece would give, what soldiers would do, and what changes for other pieces."""
    return [
        _describe_gain(found, names),
        *(told for soldier in found.soldiers if (told := _describe_soldier(found, soldier, names))),
        *_describe_changes(found, names),
    ]


def describe_standing(found: Forecast, names: Sequence[str]) -> str:
    """Return the influence on the field's hill after the placement; empty if nobody has any."""
    standing = listed(
        f"{name} {bounds_text(bounds)}"
        for name, bounds in zip(names, found.hill.seats, strict=False)
        if bounds.most
    )
    if not standing:
        return ""
    return _("On {hill} that would give: {standing}.").format(hill=tile_of(found.field), standing=standing)


def describe_place(command: Place) -> str:
    return _("Hint: {piece} on {field}.").format(piece=command.piece, field=command.field)


def describe_lay(command: LayTile) -> str:
    return _("Hint: position {position}, {turned}.").format(
        position=command.position, turned=turned(command.orientation)
    )


def _describe_gain(found: Forecast, names: Sequence[str]) -> str:
    if found.gives is not None:
        form = _("{piece} here gives {amount} on {hill}.")
        return form.format(piece=found.piece, amount=bounds_text(found.gives), hill=tile_of(found.field))
    if found.acts == _FLIGHT:
        return _("{piece} here would flee.").format(piece=found.piece)
    captives = listed(_describe_captives(number, names[seat]) for seat, number in found.captives.items())
    if Outcome.FLIGHT in found.acts:
        form = _("{piece} here would flee or capture {captives}.")
    else:
        form = _("{piece} here would capture {captives}.")
    return form.format(piece=found.piece, captives=captives)


def _describe_captives(number: Bounds, name: str) -> str:
    form = counted("{n} piece from {name}", "{n} pieces from {name}", number.most)
    return form.format(n=bounds_text(number), name=name)


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
    who = _("{name}'s soldier on {field}").format(name=names[soldier.seat], field=soldier.field)
    return form.format(soldier=who, hill=tile_of(found.field))


def _describe_changes(found: Forecast, names: Sequence[str]) -> list[str]:
    if not found.changes:
        return []
    form = _("{name} {amount} on {hill}")
    changes = (
        form.format(name=names[each.seat], amount=_signed(each.by), hill=each.hill) for each in found.changes
    )
    return [_("Other pieces: {changes}.").format(changes=", ".join(changes))]


def _signed(bounds: Bounds) -> str:
    """Return a difference as far as it is known: `+2`, or `-2 to +1`."""
    if bounds.known:
        return f"{bounds.least:+}"
    least, most = (f"{amount:+}" if amount else "0" for amount in (bounds.least, bounds.most))
    return _("{least} to {most}").format(least=least, most=most)

"""Planned moves in sentences: what they depend on, and what has become of them."""

from collections.abc import Iterator, Sequence

from client.language import _, parted
from client.tables.table import TableModel
from client.ui.texts.pieces import piece_sign
from client.ui.texts.tables import names_at
from engine.board import Field
from engine.legal import LegalPlaces
from engine.pieces import Piece
from engine.view import View
from protocol.messages import Condition, PlannedMove, PlanPlayed, WhySkipped

_SHOWN = 3  # plans below the board


def describe_plan(plan: PlannedMove, names: Sequence[str], *, first: bool = True) -> str:
    """Return a plan with what it depends on; one that is not the `first` is made otherwise."""
    condition, name = plan.condition, ""
    if condition is None:
        form = _("{piece} on {field}") if first else _("otherwise {piece} on {field}")
    elif condition.seat is not None:
        name = names[condition.seat]
        form = _("if {name} takes {there}, {piece} on {field}")
        if condition.unless:
            form = _("unless {name} takes {there}, {piece} on {field}")
    elif condition.unless:
        form = _("if nobody takes {there}, {piece} on {field}")
    else:
        form = _("if somebody takes {there}, {piece} on {field}")
    there = "" if condition is None else condition.field
    return form.format(name=name, there=there, piece=_sign(plan), field=plan.field)


def describe_plans(model: TableModel, *, typed: bool = True) -> str:
    """Return the player's plans, or why none is possible now that it is the player's turn; often empty.

    Who can type commands is told which.
    """
    plans, names = model.plans, names_at(model)
    if not plans:
        return ""
    possible = _any_possible(model)
    if len(plans) == 1 and plans[0].condition is None:
        if possible:
            text = _("Planned for your turn: {piece} on {field}.")
            if typed:
                text = _("Planned for your turn: {piece} on {field}. Type plan off if you change your mind.")
        else:
            text = _("The move that you planned, {piece} on {field}, is not possible now.")
        return text.format(piece=_sign(plans[0]), field=plans[0].field)
    if not possible and model.view is not None and isinstance(model.legal, LegalPlaces):
        why = [_why_skipped(plan, model.view, model.legal) or "illegal" for plan in plans]
        skipped = describe_skipped(plans, why, names)
        return " ".join((_("None of your plans is possible now."), *skipped))
    told = [
        f"{number} {describe_plan(plan, names, first=number == 1)}"
        for number, plan in enumerate(plans[:_SHOWN], start=1)
    ]
    text = _("Your plans: {plans}.")
    if len(plans) > _SHOWN:
        text = _("Your plans: {plans}; to see all of them, type plans.")
    return text.format(plans=parted(told))


def describe_played(played: PlanPlayed, names: Sequence[str]) -> Iterator[str]:
    """Yield which plan was played, after why those before it were not."""
    yield from describe_skipped(played.tried, played.skipped, names)
    number, plan = len(played.tried), played.tried[-1]
    form = _("Plan {number} is played: {plan}.") if number > 1 else _("Played as you planned: {plan}.")
    yield form.format(number=number, plan=describe_plan(plan, names))


def describe_skipped(
    plans: Sequence[PlannedMove], skipped: Sequence[WhySkipped], names: Sequence[str]
) -> Iterator[str]:
    """Yield why each of these plans is not played, the first of all plans first."""
    for number, (plan, why) in enumerate(zip(plans, skipped, strict=False), start=1):
        form, name = _("Plan {number} is skipped: {piece} on {field} is not possible."), ""
        condition = plan.condition
        there = "" if condition is None else condition.field
        if why == "condition" and condition is not None:
            if condition.seat is not None:
                name = names[condition.seat]
                form = _("Plan {number} is skipped: {name} has not taken {there}.")
                if condition.unless:
                    form = _("Plan {number} is skipped: {name} has taken {there}.")
            elif condition.unless:
                form = _("Plan {number} is skipped: {there} is taken.")
            else:
                form = _("Plan {number} is skipped: nobody has taken {there}.")
        yield form.format(number=number, name=name, there=there, piece=_sign(plan), field=plan.field)


def _any_possible(model: TableModel) -> bool:
    """Return whether a plan can be made now, or may be possible when the player's turn comes."""
    view, legal = model.view, model.legal
    if view is None or not isinstance(legal, LegalPlaces):
        return True
    return any(_why_skipped(plan, view, legal) is None for plan in model.plans)


def _why_skipped(plan: PlannedMove, view: View, legal: LegalPlaces) -> WhySkipped | None:
    if not _holds(plan.condition, view):
        return "condition"
    possible = Piece(plan.piece) in legal.pieces and Field(plan.field) in legal.fields
    return None if possible else "illegal"


def _holds(condition: Condition | None, view: View) -> bool:
    if condition is None:
        return True
    there = view.owners.get(Field(condition.field))
    taken = there is not None if condition.seat is None else there == condition.seat
    return taken != condition.unless


def _sign(plan: PlannedMove) -> str:
    return piece_sign(Piece(plan.piece))

"""Plans for the player's next turn: typing them, choosing when one is made, and the list of them."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from client.language import N_, _
from client.tables.table import TableModel
from client.typed_text import BadText
from client.ui.keys import Handler
from client.ui.requests import Request
from client.ui.screens.arguments import known_seat, placement
from client.ui.screens.menu import At, Menu, MenuLine, Page
from client.ui.state import Outcome, TypedLine, Ui
from client.ui.texts.pieces import piece_sign
from client.ui.texts.plans import describe_plan
from client.ui.texts.tables import names_at
from engine.board import FIELDS, Field
from engine.errors import Fault
from engine.events import Place
from protocol.limits import MOST_PLANS
from protocol.messages import NEW, Condition, Plan, PlannedMove, plan_fields

_CONDITION: Final = re.compile(r"(?P<when>if|unless) (?P<who>.+) takes (?P<field>\w+)", re.IGNORECASE)
_NOBODY: Final = "nobody"
_EXAMPLE: Final = "plan m D5 if Iris takes D6"


class PlanChoice(Menu):
    """A menu that asks when a placement made too early is to be made."""

    __slots__ = ()


def choices_for(move: Place) -> Page:
    """Return the page that asks when a placement is made: always, on a condition, or in another's place."""

    def lines(at: At) -> Iterator[MenuLine]:
        plans, new = at.model.plans, PlannedMove(move.piece, move.field)
        if len(plans) < MOST_PLANS:
            always = _("yes, if no plan before it is made") if plans else _("yes, whatever happens")
            yield MenuLine(always, plan_request(with_plan(plans, new)))
            about = _("Type who takes which field, for example: {example}")
            yield MenuLine(
                _("only if somebody takes a field, or nobody does"),
                TypedLine().filled(f"plan {move.piece} {move.field} if "),
                about=about.format(example="Iris takes D6"),
            )
        for number, plan in enumerate(plans):
            there = [*plans[:number], replace(plan, piece=move.piece, field=move.field), *plans[number + 1 :]]
            told = describe_plan(plan, names_at(at.model), first=number == 0)
            words = _("in place of plan {number}: {plan}").format(number=number + 1, plan=told)
            yield MenuLine(words, plan_request(there))

    heading = _("Play {piece} on {field} when your turn comes?")
    return Page(heading.format(piece=piece_sign(move.piece), field=move.field), lines)


def read_plan(text: str, at: At) -> Request | Handler | None:
    """Return what the text after the verb asks for; raises BadText."""
    plans = at.model.plans
    match text.split(maxsplit=2):
        case ["off"]:
            return Plan(NEW)
        case ["remove", number]:
            return plan_request(_without(plans, number))
        case [piece, field, *rest] if (move := placement(piece, field, at.model)) is not None:
            if not rest and any(plan.condition is None for plan in plans):
                return _asking(move)
            condition = _condition(rest[0], at) if rest else None
            if len(plans) >= MOST_PLANS:
                full = _("You have {number} plans. Remove one first, for example: {example}")
                raise BadText(full.format(number=len(plans), example="plan remove 2"))
            return plan_request(with_plan(plans, PlannedMove(move.piece, move.field, condition)))
    return None


def _asking(move: Place) -> Handler:
    return lambda _screen, ui, _model: (ui.opened(PlanChoice(choices_for(move))), None)


def _condition(text: str, at: At) -> Condition:
    """Return the condition that a text says; raises BadText."""
    said = _CONDITION.fullmatch(text)
    if said is None:
        raise BadText(_("Type it like this: {example}").format(example=_EXAMPLE))
    field, who = Field(said["field"].upper()), said["who"].casefold()
    if field not in FIELDS:
        raise BadText(_("There is no field {field}. Choose an empty field, A1 to G6.").format(field=field))
    if at.model.view is not None and field in at.model.view.placed:
        raise BadText(_(Fault.FIELD_TAKEN.text).format(field=field))
    seat = None if who in {"somebody", _NOBODY} else known_seat(said["who"], at.state)
    if seat == at.model.seat and seat is not None:
        text = _("A plan depends on what others do. Type it like this: {example}")
        raise BadText(text.format(example=_EXAMPLE))
    return Condition(field, seat, unless=(said["when"].casefold() == "unless") != (who == _NOBODY))


def with_plan(plans: Sequence[PlannedMove], new: PlannedMove) -> list[PlannedMove]:
    """Return the plans with another: on a condition before those without, which would always come first."""
    at = next((number for number, plan in enumerate(plans) if plan.condition is None), len(plans))
    at = len(plans) if new.condition is None else at
    return [*plans[:at], new, *plans[at:]]


def _without(plans: Sequence[PlannedMove], number: str) -> list[PlannedMove]:
    """Return the plans without the one of this number; raises BadText if there is none."""
    if number not in map(str, range(1, len(plans) + 1)):
        raise BadText(_("You have no plan {number}. To see your plans, type plans.").format(number=number))
    return [*plans[: int(number) - 1], *plans[int(number) :]]


def plan_request(plans: Sequence[PlannedMove]) -> Plan:
    return Plan(NEW, **plan_fields(plans))


def _listed(at: At) -> Iterator[MenuLine]:
    plans, names = at.model.plans, names_at(at.model)
    for number, plan in enumerate(plans, start=1):
        told = describe_plan(plan, names, first=number == 1)
        yield MenuLine(told, page_of(plan, told))
    if len(plans) > 1:
        yield MenuLine(_("remove all plans"), Plan(NEW))


def page_of(plan: PlannedMove, told: str, there: Field | None = None) -> Page:
    """Return what can be done about a plan, such as to make it depend on what is placed `there`."""

    def lines(at: At) -> Iterator[MenuLine]:
        plans, names = at.model.plans, names_at(at.model)
        others = [each for each in plans if each != plan]
        if plans[:1] != (plan,):
            yield MenuLine(_("try it before the others"), plan_request([plan, *others]))
        yield MenuLine(_("remove it"), plan_request(others))
        if there is not None and there != plan.field:
            rivals = (seat for seat in range(len(at.state.seats)) if seat != at.model.seat)
            conditions = [Condition(there, seat) for seat in rivals]
            for condition in (*conditions, Condition(there), Condition(there, unless=True)):
                changed = replace(plan, condition=condition)
                yield MenuLine(describe_plan(changed, names), plan_request(with_plan(others, changed)))

    return Page(told, lines)


def _says(at: At) -> str:
    if at.model.plans:
        return ""
    return _("You have no plans. Place a piece before your turn, or type for example: {example}").format(
        example=_EXAMPLE
    )


PLANS: Final = Page(N_("Your plans, tried in this order when your turn comes"), _listed, _says)


def open_plans(_screen: object, ui: Ui, _model: TableModel) -> Outcome:
    return ui.opened(Menu(PLANS)), None


def line_of_plans(at: At) -> Iterator[MenuLine]:
    if plans := at.model.plans:
        yield MenuLine(_("your plans: {number}").format(number=len(plans)), PLANS)

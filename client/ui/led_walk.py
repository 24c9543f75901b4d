"""The walk through the scoring, if somebody at the table leads everybody through it."""

from collections.abc import Sequence
from typing import Final

from client.language import _, labelled, listed
from client.tables.table import TableModel
from client.ui.texts.names import called
from client.ui.texts.tables import names_at
from engine.view import Phase, View
from protocol.messages import NEW, Seen, Show, TableState

_TILES_LAID: Final = 6  # by players, around the first one


def show(state: TableState, view: View, step: int) -> Show:
    """Return the request to lead everybody to this step of the scoring."""
    return Show(NEW, _moves_before(state, view) + step)


def step_shown(state: TableState | None, view: View | None) -> int | None:
    """Return the step of the scoring to which somebody leads everybody; None if nobody does."""
    if state is None or state.shown is None or view is None or view.phase is not Phase.OVER:
        return None
    step = state.shown.step - _moves_before(state, view)
    return step if step >= 0 else None


def _moves_before(state: TableState, view: View) -> int:
    """Return the number, as in Show, of the first step of the scoring: the wolves turn up after all moves."""
    return len(view.placed) + (0 if state.random_layout else _TILES_LAID) + 1


def leads(model: TableModel) -> bool:
    """Return whether this player leads everybody through the scoring."""
    state = model.state
    if state is None or state.shown is None or step_shown(state, model.view) is None:
        return False
    return model.seat is not None and state.shown.seat == model.seat


def is_led(model: TableModel) -> bool:
    """Return whether somebody else leads everybody through the scoring."""
    return step_shown(model.state, model.view) is not None and not leads(model)


def seen(model: TableModel, step: int) -> Seen | None:
    """Return how to say that this player has seen this step of the scoring; None if that is of no use now."""
    state, view = model.state, model.view
    if state is None or state.shown is None or view is None or model.seat is None or not is_led(model):
        return None
    number = _moves_before(state, view) + step
    return None if number < state.shown.step or model.seat in state.shown.seen else Seen(NEW, number)


def describe_seen(model: TableModel) -> Sequence[str]:
    """Return who has seen the step that is shown, and who has not, in a line each; empty if nobody leads."""
    names, (have, yet) = names_at(model), _who_has_seen(model)
    if have and not yet:
        return (_("Everybody has seen this."),)
    told = (_("seen by"), have), (_("not yet"), yet)
    return [labelled(words, listed(called(names[seat]) for seat in seats)) for words, seats in told if seats]


def describe_seen_in_brief(model: TableModel) -> str:
    """Return how many of the others have seen the step that is shown; empty if nobody leads."""
    have, yet = _who_has_seen(model)
    return labelled(_("seen by"), f"{len(have)}/{len(have) + len(yet)}") if have or yet else ""


def _who_has_seen(model: TableModel) -> tuple[Sequence[int], Sequence[int]]:
    """Return the seats of the others here who have seen the step that is shown, and of those who have not."""
    state = model.state
    if state is None or state.shown is None or step_shown(state, model.view) is None:
        return (), ()
    shown = state.shown
    people = [
        seat
        for seat, each in enumerate(state.seats)
        if each.here and each.level is None and not each.bot and seat != shown.seat
    ]
    have = [seat for seat in people if seat in shown.seen]
    return have, [seat for seat in people if seat not in have]

"""Which of the keys at work have something to do right now: the function bar offers no others."""

from client.table import TableModel
from client.ui.update.actions import Act
from client.ui.update.keys import Key, keys_at
from client.ui.update.state import Ui, Where, page_count, where
from engine.view import Phase


def offered(ui: Ui, model: TableModel) -> tuple[Key, ...]:
    """Return the keys that the function bar shows where there is room for all."""
    keys = keys_at(where(ui, model), lesson=ui.lesson is not None)
    idle = _idle(ui, model)
    return tuple(key for key in keys if key.short and key.action not in idle)


def _idle(ui: Ui, model: TableModel) -> frozenset[Act]:
    """Return what would change nothing."""
    if ui.overlay is not None:
        last = page_count(ui.overlay) - 1
        return _those((Act.PAGE_DOWN, ui.page >= last), (Act.PAGE_UP, ui.page == 0))
    match where(ui, model):
        case Where.ROOM:
            return _idle_in_room(ui, model)
        case Where.PLAYING:
            laying = model.view is not None and model.view.phase is Phase.LAYING
            only_points = ui.lesson is not None and ui.lesson.points
            none = laying or model.seat is None or only_points
            return _those((Act.NEXT_PIECE, none), (Act.CONFIRM, none))
        case Where.LESSON if ui.lesson is not None and ui.lesson.last:
            return frozenset({Act.PAGE_DOWN})
        case Where.RESULT:
            followed = model.state is not None and model.state.next is not None
            return _those((Act.REMATCH, model.seat is None and not followed))
        case _:
            return frozenset()


def _idle_in_room(ui: Ui, model: TableModel) -> frozenset[Act]:
    state = model.state
    if state is None:
        return frozenset({Act.START, Act.SEAT_BOT})
    free = any(each.name is None for each in state.seats)
    waits = free or any(each.kept for each in state.seats)
    host = model.seat is not None and model.seat == state.host
    return _those(
        (Act.START, waits or not host),
        (Act.SEAT_BOT, not (free and ui.hosting.bots and model.seat is not None)),
    )


def _those(*acts: tuple[Act, bool]) -> frozenset[Act]:
    return frozenset(act for act, said in acts if said)

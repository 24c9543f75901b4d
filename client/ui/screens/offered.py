"""The keys that have an effect right now: the function bar offers no others."""

from typing import Final

from client.tables.table import TableModel
from client.ui.actions import Act
from client.ui.keys import Key, KeyContext, context_of, keys_at, watches
from client.ui.state import (
    Lesson,
    Lobby,
    Reading,
    Replay,
    TalkPage,
    Ui,
    closed_for_good,
    hints_allowed,
    in_lobby,
)
from engine.view import Phase

_AT_A_SERVER: Final = frozenset(
    {
        KeyContext.LOBBY,
        KeyContext.GATHERING,
        KeyContext.LAYING,
        KeyContext.PLACING,
        KeyContext.SCORING,
        KeyContext.RESULT,
        KeyContext.ENDED,
    }
)
# What can still be done there when the connection is closed for good: reading, and going.
_WITHOUT_SERVER: Final = frozenset(
    {
        Act.NEXT,
        Act.BACK,
        Act.NEXT_HILL,
        Act.FIRST,
        Act.SKIP,
        Act.RUN,
        Act.COUNTS,
        Act.WHOLE,
        Act.TALK,
        Act.LEAVE,
        Act.HELP,
        Act.RULES,
        Act.QUIT,
    }
)


def offered(ui: Ui, model: TableModel) -> tuple[Key, ...]:
    """Return the keys that the function bar shows if there is room for all."""
    context = context_of(ui, model)
    keys = keys_at(context, lesson=isinstance(ui.page, Lesson), watching=watches(ui, model))
    alone = ui.company is None or not ui.company.people
    nothing_to_read = not ui.talk.remarks and (alone or not in_lobby(ui))
    idle = _idle(ui, model) | _those((Act.TALK, nothing_to_read))
    shown = (key for key in keys if key.short and key.action not in idle)
    if closed_for_good(ui) and context in _AT_A_SERVER:
        return tuple(key for key in shown if key.action in _WITHOUT_SERVER)
    return tuple(shown)


def _idle(ui: Ui, model: TableModel) -> frozenset[Act]:
    """Return the actions that would change nothing."""
    if isinstance(ui.overlay, Reading):
        reading = ui.overlay
        at_last = reading.number >= reading.pages - 1 and reading.top >= reading.last_top
        at_first = reading.number == 0 and reading.top == 0
        return _those((Act.PAGE_DOWN, at_last), (Act.PAGE_UP, at_first))
    if isinstance(ui.overlay, TalkPage):
        page = ui.overlay
        at_last = page.top is None or page.top >= page.last_top
        at_first = page.top == 0 or page.last_top == 0
        return _those((Act.PAGE_DOWN, at_last), (Act.PAGE_UP, at_first))
    match context_of(ui, model):
        case KeyContext.LOBBY:
            new_table = isinstance(ui.page, Lobby) and ui.page.chosen >= len(ui.page.tables)
            return _those(
                (Act.CHAT, not ui.hosting.lobby),
                (Act.REVIEW, not ui.hosting.lists_games),
                (Act.WATCH, new_table),
                (Act.CONFIRM, new_table),  # it does the same as `o` there, and has another name
            )
        case KeyContext.GATHERING:
            return _idle_while_gathering(ui, model)
        case KeyContext.PLACING:
            laying = model.view is not None and model.view.phase is Phase.LAYING
            only_points = isinstance(ui.page, Lesson) and ui.page.points
            none = laying or model.seat is None or only_points
            return _those((Act.NEXT_PIECE, none), (Act.CONFIRM, none), (Act.HINT, _no_hint(ui, model)))
        case KeyContext.LAYING:
            return _those((Act.HINT, _no_hint(ui, model)))
        case KeyContext.LESSON:
            return _those((Act.PAGE_DOWN, isinstance(ui.page, Lesson) and ui.page.last and not ui.page.reads))
        case KeyContext.REPLAY if isinstance(ui.page, Replay):
            return _those(
                (Act.ANALYSE, not ui.page.wants_analysis),
                (Act.DECIDING, ui.page.analysis is None or not ui.page.analysis.deciding),
            )
        case KeyContext.HISTORY:
            return _not_here(ui)
        case KeyContext.RESULT | KeyContext.ENDED:
            followed = model.state is not None and model.state.next is not None
            return _those(
                (Act.REMATCH, model.seat is None and not followed),
                (Act.REVIEW, not ui.hosting.looks_back),
            ) | _not_here(ui)
        case _:
            return frozenset()


def _not_here(ui: Ui) -> frozenset[Act]:
    """Return what this program does not do with a finished game."""
    saving = ((act, not ui.hosting.saves) for act in (Act.SAVE_RECORD, Act.SAVE_PICTURE))
    return _those((Act.ANALYSE, not ui.hosting.analyses), *saving)


def _no_hint(ui: Ui, model: TableModel) -> bool:
    return not hints_allowed(ui, model) or model.legal is None


def _idle_while_gathering(ui: Ui, model: TableModel) -> frozenset[Act]:
    state = model.state
    if state is None:
        return frozenset({Act.START, Act.SEAT_BOT, Act.READY, Act.PEOPLE})
    free = any(each.name is None for each in state.seats)
    waits = free or any(each.kept for each in state.seats)
    host = model.seat is not None and model.seat == state.host
    return _those(
        (Act.START, waits or not host),
        (Act.READY, model.seat is None or ui.hosting.private),
        (Act.PEOPLE, model.seat is None),
        (Act.SEAT_BOT, not (free and ui.hosting.levels and host)),
    )


def _those(*acts: tuple[Act, bool]) -> frozenset[Act]:
    return frozenset(act for act, said in acts if said)

"""Map the UI state and an action, a typed line or a tick of the clock to the next state and a request."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil
from typing import Final

from client.language import N_, _
from client.tables.table import TableModel
from client.typed_text import BadText, Misplaced
from client.ui.keys import (
    Act,
    Action,
    GoToStop,
    Handler,
    Hover,
    InsertText,
    Key,
    Pick,
    PointAt,
    action_of,
)
from client.ui.requests import Errand, Password, Request, TakeBack
from client.ui.screens import replay, start
from client.ui.screens.anywhere import done_anywhere
from client.ui.screens.menu import At, with_mute
from client.ui.screens.news import at_table_page
from client.ui.screens.playing import Playing
from client.ui.screens.replay import Replay
from client.ui.screens.scoring import (
    Result,
    Scoring,
    decides,
    sentence_with_meaning,
    step_of,
)
from client.ui.screens.typed_commands import completions, meaning, shared_start
from client.ui.state import LinePrompt, Mute, Notice, Outage, Outcome, TypedLine, Ui, with_game
from client.ui.texts.games import confirmation
from client.ui.texts.tables import names_at
from engine.board import Hex
from engine.events import LayTile, Place
from protocol.limits import CHAT_LENGTH
from protocol.messages import NEW, Leave, ListTables, Say, SayInLobby

_TYPED_KEPT: Final = 100


def _edits(change: Callable[[str, str], tuple[str, str]]) -> Handler:
    """Return what changes the texts before and after the cursor."""

    def edited(entry: TypedLine, ui: Ui, _model: TableModel) -> Outcome:
        return replace(ui, entry=entry.filled(*change(*entry.parts))), None

    return edited


def _erase(entry: TypedLine, ui: Ui, _model: TableModel) -> Outcome:
    """Erase the character before the cursor; close the line if there is nothing in it."""
    before, after = entry.parts
    return replace(ui, entry=entry.filled(before[:-1], after) if entry.text else None), None


def _complete(entry: TypedLine, ui: Ui, model: TableModel) -> Outcome:
    if not entry.command or not (lines := ways_on(ui, entry, model)):
        return ui, None
    shared = shared_start(lines)  # or the likeliest, if they differ at once
    return replace(ui, entry=entry.filled(shared if len(shared) > len(entry.text) else lines[0])), None


def _recall(by: int) -> Handler:
    """Return what goes so many lines back among those typed before, if a command is typed."""

    def recalled(entry: TypedLine, ui: Ui, _model: TableModel) -> Outcome:
        return (replace(ui, entry=entry.recalled(ui.typed, by)) if entry.command else ui), None

    return recalled


def _discard(entry: TypedLine, ui: Ui, _model: TableModel) -> Outcome:
    request = Password(None) if entry.prompt is LinePrompt.PASSWORD else None
    return replace(ui, entry=None, retry=None), request


def _send(entry: TypedLine, ui: Ui, model: TableModel) -> Outcome:
    text = entry.text.strip()
    if not text and entry.prompt not in {LinePrompt.TITLE, LinePrompt.EVENING}:
        return _discard(entry, ui, model)
    closed = replace(ui, entry=None)
    if entry.prompt is LinePrompt.PASSWORD:
        return closed, Password(entry.text)
    if entry.prompt in {LinePrompt.SAY, LinePrompt.SAY_ALOUD, LinePrompt.SAY_IN_LOBBY}:
        said = SayInLobby(NEW, text) if entry.prompt is LinePrompt.SAY_IN_LOBBY else Say(NEW, text)
        return replace(closed, talk=replace(ui.talk, unread=0)), said
    if not entry.command:
        return start.accept_answer(closed, entry.prompt, text)
    closed = replace(closed, typed=(*ui.typed, text)[-_TYPED_KEPT:])
    try:
        read = meaning(text, At(ui, model))
    except BadText as error:
        there = closed if isinstance(error, Misplaced) else ui  # else it can be mended
        return there.with_notice(str(error), refusal=True), None
    match read:
        case Mute():
            return with_mute(closed, read), None
        case Act() | Pick() | GoToStop():
            return done_anywhere(closed, read, model) or closed.page.act(closed, read, model)
        case handler if callable(handler):
            return handled(handler, closed.page, closed, model)
        case request:
            return closed, request


KEYS: Final = (
    Key(("enter",), _send, N_("send the line"), N_("send")),
    Key(("tab",), _complete, N_("complete the command"), N_("complete")),
    Key(("escape", "c-c"), _discard, N_("discard the line"), N_("cancel")),
    Key(("backspace", "c-h"), _erase, N_("erase the character before")),
    Key(("delete",), _edits(lambda before, after: (before, after[1:])), N_("erase the character after")),
    Key(("left",), _edits(lambda before, after: (before[:-1], before[-1:] + after)), N_("left")),
    Key(("right",), _edits(lambda before, after: (before + after[:1], after[1:])), N_("right")),
    Key(("home", "c-a"), _edits(lambda before, after: ("", before + after)), N_("to the start")),
    Key(("end", "c-e"), _edits(lambda before, after: (before + after, "")), N_("to the end")),
    Key(("c-u",), _edits(lambda _before, _after: ("", "")), N_("erase the line")),
    Key(("c-k",), _edits(lambda before, _after: (before, "")), N_("erase to the end")),
    Key(("up",), _recall(1), N_("the previous line typed"), N_("earlier")),
    Key(("down",), _recall(-1), N_("the next line typed")),
)
_EDITS: Final = frozenset(key.action for key in KEYS)


def _edit_line(ui: Ui, entry: TypedLine, action: Action, model: TableModel) -> Outcome:
    """Return the UI state after a key or a click while a line is being typed, and the line's request."""
    if isinstance(action, InsertText):
        room = CHAT_LENGTH - len(entry.text)
        typed = "".join(filter(str.isprintable, action.text))[:room]
        before, after = entry.parts
        return replace(ui, entry=entry.filled(before + typed, after)), None
    if action is Act.CONFIRM:  # as in text mode
        return _send(entry, ui, model)
    if callable(action) and action in _EDITS:
        return handled(action, entry, ui, model)
    return ui, None


def ways_on(ui: Ui, entry: TypedLine, model: TableModel) -> tuple[str, ...]:
    """Return the lines that a command could be completed to, the likeliest first."""
    return completions(entry.text, At(ui, model))


TICK_SECONDS: Final = 1.0
_READ_IN_A_TICK: Final = (20, 40, 80)  # characters, by speed; at the first, everybody can read everything
_LEAST_TICKS: Final = (2, 1, 1)
SPEEDS: Final = len(_READ_IN_A_TICK)


def after_tick(ui: Ui, model: TableModel) -> Ui:
    """Return `ui` a tick later: the walk takes its next step after enough time to read the last one."""
    view = model.view
    ui = replace(ui, signs=tuple(each for each in ui.signs if each.until > ui.now))
    if ui.ticks_left is None or view is None:
        return ui
    if ui.ticks_left > 1:
        return replace(ui, ticks_left=ui.ticks_left - 1)
    match ui.page:
        case Replay() as page:
            ui, _request = page.act(ui, Act.NEXT, model)
            model = replay.seen_in(ui)
        case Scoring() as page:
            ui, _request = page.act(ui, Act.NEXT, model)
        case _:
            pass
    return replace(ui, ticks_left=None if _walk_ends(ui) else _ticks_for(ui, model))


def _walk_ends(ui: Ui) -> bool:
    match ui.page:
        case Scoring() | Replay(table=Scoring()):
            return False
        case Replay(recording, stop, table=Playing()):
            return stop >= recording.end
        case _:
            return True


def _ticks_for(ui: Ui, model: TableModel) -> int:
    told = ui.log_here[-1] if ui.log_here else ""
    page = ui.page.game
    if model.view is not None and isinstance(page, Scoring | Result):
        told = sentence_with_meaning(model.view, step_of(page, model.view), names_at(model))
        if decides(model.view, step_of(page, model.view)):
            told += told  # the moment stays as long again
    return max(_LEAST_TICKS[ui.speed], ceil(len(told) / _READ_IN_A_TICK[ui.speed]))


_OURS: Final = (Errand.QUIT, Errand.GO_HOME, Errand.LOOK_BACK)  # not for a server


def after_key(ui: Ui, name: str, model: TableModel) -> Outcome:
    ui = at_table_page(ui, model)
    action = action_of(name, keys_now(ui, model))
    if action is None and ui.entry is not None and len(name) == 1 and name.isprintable():
        action = InsertText(name)
    return (replace(ui, ticks_left=None), None) if action is None else updated(ui, action, model)


def keys_now(ui: Ui, model: TableModel) -> tuple[Key, ...]:
    """Return the keys that do something now: those of the line being typed, or of the top layer."""
    return KEYS if ui.entry is not None else ui.top.keys(model)


# What opens a page that only a screen can show; text mode has words for it.
_SHOWN: Final = frozenset({Act.HELP, Act.RULES, Act.COUNTS, Act.TALK, Act.SIGN, Act.WHOLE, Act.COMMAND})


def letters(ui: Ui, model: TableModel) -> Mapping[str, Key]:
    """Return the keys that can be typed as a line of one letter: none where letters move over a board."""
    if ui.overlay is None and isinstance(ui.page.game, Playing):
        return {}
    offered = ui.top.offered_keys(replace(ui, last_top=0), model)
    keys = (key for key in offered if callable(key.action) or key.action in {*Act} - _SHOWN)
    return {name: key for key in keys for name in key.names if len(name) == 1 and name.strip()}


def updated(ui: Ui, action: Action, model: TableModel) -> Outcome:
    """Return the UI state after `action`, and the request to the server, if any."""
    ui = at_table_page(ui, model)
    if isinstance(action, Hover):
        return _hovering(ui, action.cell), None
    if ui.ticks_left is not None and action is Act.RUN:  # after the last speed comes the first
        faster = replace(ui, speed=(ui.speed + 1) % SPEEDS)
        return replace(faster, ticks_left=_ticks_for(faster, model)), None
    if ui.ticks_left is not None and (action is Act.NEXT or isinstance(action, PointAt)):
        return replace(ui, ticks_left=None), None  # a player who stops the walk wants to stay there
    heard = ui.talk.after_key(ui.now) if ui.overlay is None else ui.talk
    waits = ui.ponders or ui.asked is not None  # for a key: any other than the one it names ends that
    notice = ui.notice if action is Act.WHOLE and not waits else None  # which is about to be read
    before = replace(
        _hovering(ui, None), notice=notice, ticks_left=None, asked=None, ponders=False, talk=heard
    )
    if ui.ponders and action is Act.CONFIRM:  # which would make another move than the one that is looked for
        return _with_search_stopped(before), None
    after, request = _act(before, action, model)
    if ui.ponders and request is None:
        after = _with_search_stopped(after)
    at_board = ui.entry is None and isinstance(ui.top, Playing)
    if ui.asked is not None and at_board and action in {Act.CONFIRM, Act.CANCEL}:
        after = replace(ui, notice=None, asked=None)
        request = ui.asked if action is Act.CONFIRM else None
    if ui.confirms and isinstance(request, LayTile | Place) and request != ui.asked:
        return replace(after, asked=request, notice=Notice(confirmation(request))), None
    if request is None or not ui.page.at_server or request in _OURS or isinstance(request, TakeBack):
        return after, request
    if request is Errand.HINT:  # which is worked out here
        if ui.ponders:  # and stopped by any key, this one too
            return _with_search_stopped(after), None
        if isinstance(table := after.page.game, Playing) and table.hint:  # another search might differ
            hint = table.why or table.hint
            return with_game(after, replace(table, hint=hint, why="")).with_notice(hint), None
        told = Notice(_("Looking for a good move ..."), keys=_("Any key stops the search."))
        return replace(after, ponders=True, notice=told), request
    if ui.lost is not None:
        return _without_connection(after, ui.lost, request)
    if ui.busy:
        return ui.with_notice(_("One moment: the server has not answered yet.")), None
    return replace(after, sent=ui.entry, busy=not isinstance(request, ListTables)), request


def _with_search_stopped(ui: Ui) -> Ui:
    """Return the state that says that no hint is going to come, unless it says something else."""
    if ui.notice is not None or not isinstance(ui.top, Playing):
        return ui
    return ui.with_notice(_("The search for a good move is stopped."))


def _without_connection(ui: Ui, outage: Outage, request: Request) -> Outcome:
    if outage.until is None and isinstance(request, Leave):
        return ui, ui.way_back
    if outage.until is None:
        return ui.with_notice(outage.reason), None
    if isinstance(request, ListTables):
        return ui.with_notice(_("There is no connection: the list may be out of date.")), None
    if ui.busy:
        return ui.with_notice(
            _("There is no connection. Your earlier action will be sent when it is back.")
        ), None
    kept = _("There is no connection. Your action will be sent when it is back.")
    return replace(ui, notice=Notice(kept), busy=True), request


def _hovering(ui: Ui, cell: Hex | None) -> Ui:
    """Return `ui` with the mouse over this hex of the board, or over none, if a game is running."""
    table = ui.page.game
    if not isinstance(table, Playing) or table.hovered == cell:
        return ui
    return with_game(ui, replace(table, hovered=cell))


def handled(handler: Handler, screen: object, ui: Ui, model: TableModel) -> Outcome:
    outcome: Outcome = handler(screen, ui, model)
    return outcome


def _act(ui: Ui, action: Action, model: TableModel) -> Outcome:
    if ui.entry is not None:
        return _edit_line(ui, ui.entry, action, model)
    if ui.overlay is not None and ui.overlay.question(ui):
        return ui.overlay.act(ui, action, model)
    if (outcome := done_anywhere(ui, action, model)) is not None:
        return outcome
    if callable(action):
        return handled(action, ui.top, ui, model)
    if ui.overlay is None and action is Act.RUN:
        return (ui if _walk_ends(ui) else replace(ui, ticks_left=_ticks_for(ui, model))), None
    return ui.top.act(ui, action, model)

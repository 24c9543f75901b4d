"""What an action at the screen makes of the UI state, and what it asks of the server: pure functions."""

from dataclasses import replace
from typing import Final, TypeAlias, assert_never

from client.language import _
from client.table import TableModel
from client.ui.texts.sentences import confirmation
from client.ui.update import autoplay, lobby, replay, requests, selection, start
from client.ui.update.actions import Act, Action, Hold, Hover, Insert, Pick, PointAt, Way
from client.ui.update.cursor import HEX_POSITIONS, moved
from client.ui.update.entry import Entry
from client.ui.update.keys import action_of
from client.ui.update.requests import Request
from client.ui.update.scoring_steps import last_step, next_hill_step
from client.ui.update.state import Lesson, Notice, Outage, Overlay, Ui, Where, page_count, where
from client.ui.update.typed_commands import (
    Go,
    Misread,
    Read,
    See,
    completions,
    meaning,
    replay_meaning,
    shared_start,
)
from client.ui.update.votes import next_vote
from engine.events import LayTile, Place
from engine.legal import LegalLays
from engine.view import Phase
from protocol.limits import CHAT_LENGTH

Outcome: TypeAlias = tuple[Ui, Request | None]

_OURS: Final = (requests.Quit, requests.GoHome, requests.TurnPage)  # no business of a server
_ONWARDS: Final[frozenset[Action]] = frozenset({Act.RUN, Act.NEXT})
_ON_TURN: Final = frozenset({Where.LAYING, Where.PLAYING})
_TYPED_KEPT: Final = 100
_LOG_LINES: Final = 5


def pressed(ui: Ui, name: str, model: TableModel) -> Outcome:
    """Return what a key does, by the table of keys."""
    action = action_of(name, where(ui, model))
    return (replace(ui, rest=None), None) if action is None else updated(ui, action, model)


def updated(ui: Ui, action: Action, model: TableModel) -> Outcome:
    """Return the UI state after `action`, and what is to be asked of the server, if anything."""
    if isinstance(action, Hover):
        return replace(ui, hovered=action.cell), None
    if ui.rest is not None and (action in _ONWARDS or isinstance(action, PointAt)):
        return replace(ui, rest=None), None  # whoever stops the walk wants to stay where it is
    after, request = _acted(replace(ui, hovered=None, notice=None, rest=None, asked=None), action, model)
    if ui.asked is not None and where(ui, model) in _ON_TURN and action in {Act.CONFIRM, Act.CANCEL}:
        after = replace(ui, notice=None, asked=None)
        request = ui.asked if action is Act.CONFIRM else None
    if ui.confirms and isinstance(request, LayTile | Place) and request != ui.asked:
        return replace(after, asked=request, notice=Notice(confirmation(request))), None
    if request is None or ui.start is not None or isinstance(request, _OURS):
        return after, request
    if ui.lost is not None:
        return _without_connection(after, ui.lost, request)
    if ui.busy:
        return replace(ui, notice=Notice(_("One moment: the server has not answered yet."))), None
    return replace(after, sent=ui.entry, busy=not isinstance(request, requests.Refresh)), request


def _without_connection(ui: Ui, outage: Outage, request: Request) -> Outcome:
    """Keep one request until the connection is back, and say so."""
    if outage.until is None:
        return replace(ui, notice=Notice(outage.reason)), None
    if isinstance(request, requests.Refresh):
        return replace(ui, notice=Notice(_("There is no connection: the list may be out of date."))), None
    if ui.busy:
        kept = _("There is no connection. Your earlier action will be sent when it is back.")
        return replace(ui, notice=Notice(kept)), None
    kept = _("There is no connection. Your action will be sent when it is back.")
    return replace(ui, notice=Notice(kept), busy=True), request


def _acted(ui: Ui, action: Action, model: TableModel) -> Outcome:
    here = where(ui, model)
    match here:
        case Where.TYPING:
            return _typing(ui, action, model)
        case Where.QUITTING:
            return replace(ui, overlay=None), requests.Quit() if action is Act.CONFIRM else None
        case _ if (opened := _opened(ui, action, model)) is not None:
            return opened
        case Where.READING:
            return _reading(ui, action), None
        case _ if ui.lesson is not None and (action in _PAGES or here is Where.LESSON):
            return _learning(ui, ui.lesson, action)
        case Where.START:
            return (ui, None) if ui.start is None else start.acted(ui, ui.start, action)
        case Where.LOBBY:
            return lobby.acted(ui, action)
        case Where.ROOM:
            return lobby.waiting(ui, action)
        case Where.LAYING:
            return _laying(ui, action, model)
        case Where.PLAYING:
            return _playing(ui, action, model)
        case Where.SCORING | Where.RESULT:
            return _scoring(ui, action, model)
        case Where.REPLAY:
            if ui.replay is None or model.view is None:
                return ui, None
            if action is Act.RUN:
                return autoplay.running(ui, model), None
            return replay.acted(ui, ui.replay, action, model.view), None
        case Where.LESSON:
            return ui, None
        case _:
            assert_never(here)


_PAGES: Final[dict[Action, Request]] = {
    Act.PAGE_DOWN: requests.TurnPage(1),
    Act.PAGE_UP: requests.TurnPage(-1),
}


def _learning(ui: Ui, lesson: Lesson, action: Action) -> Outcome:
    """Turn the lessons' pages, or walk through the part of the scoring that a page is about."""
    first, last = lesson.walk or (ui.step, ui.step)
    match action:
        case Act.NEXT | Way.EAST if ui.step < last:
            return replace(ui, step=ui.step + 1), None
        case Act.BACK | Way.WEST if ui.step > first:
            return replace(ui, step=ui.step - 1), None
        case Way():
            return replace(ui, cursor=moved(ui.cursor, action)), None
        case PointAt(cell):
            return replace(ui, cursor=cell), None
        case Act.NEXT:
            return ui, requests.TurnPage(1)
        case Act.BACK:
            return ui, requests.TurnPage(-1)
        case Act.PAGE_DOWN if lesson.last:
            return replace(ui, notice=Notice(_("This is the last page. Press Enter to play."))), None
        case _:
            return ui, _PAGES.get(action)


def _opened(ui: Ui, action: Action, model: TableModel) -> Outcome | None:
    """Return what opens over any page; None if the action opens nothing."""
    match action:
        case Act.HELP:
            return replace(ui, overlay=Overlay.HELP, page=0), None
        case Act.RULES:
            return replace(ui, overlay=Overlay.RULES, page=0), None
        case Act.COUNTS:
            return replace(ui, overlay=Overlay.COUNTS, page=0), None
        case Act.COMMAND:
            return replace(ui, entry=Entry()), None
        case Act.CHAT:
            return replace(ui, entry=Entry(chat=True)), None
        case Act.VOTE:
            if (vote := next_vote(model)) is None:
                return replace(ui, notice=Notice(_("There is nothing to vote on."))), None
            return ui, vote
        case Act.QUIT:
            running = model.view is not None and model.view.phase is not Phase.OVER
            if running and model.seat is not None and ui.replay is None and ui.lesson is None:
                return replace(ui, overlay=Overlay.QUIT), None
            return ui, requests.Quit()
        case _:
            return None


def _reading(ui: Ui, action: Action) -> Ui:
    match action:
        case Act.PAGE_DOWN:
            return replace(ui, page=min(ui.page + 1, page_count(ui.overlay) - 1))
        case Act.PAGE_UP:
            return replace(ui, page=max(ui.page - 1, 0))
        case Act.CANCEL:
            return replace(ui, overlay=None)
        case _:
            return ui


def _laying(ui: Ui, action: Action, model: TableModel) -> Outcome:
    legal = model.legal
    if not isinstance(legal, LegalLays):
        return ui, None
    aimed = selection.selected_position(ui, legal)
    match action:
        case Way():
            return replace(ui, position=selection.next_position(ui, legal, action)), None
        case Act.ROTATE | Act.ROTATE_BACK:
            return replace(ui, orientation=(ui.orientation + (1 if action is Act.ROTATE else -1)) % 6), None
        case Pick(number):
            return _aimed_at(ui, number, legal), None
        case PointAt(cell) if HEX_POSITIONS[cell] != aimed:
            return _aimed_at(ui, HEX_POSITIONS[cell], legal), None
        case Act.PAGE_UP | Act.PAGE_DOWN:
            return _scrolled(ui, action), None
        case Act.CONFIRM | PointAt():
            return ui, LayTile(legal.seat, aimed, ui.orientation)
        case Act.CANCEL:
            return replace(ui, position=None, orientation=0), None
        case _:
            return ui, None


def _aimed_at(ui: Ui, position: int, legal: LegalLays) -> Ui:
    if position in legal.positions:
        return replace(ui, position=position)
    free = ", ".join(map(str, legal.positions))
    return replace(
        ui, notice=Notice(_("The tile cannot go there. Free positions: {free}.").format(free=free))
    )


def _playing(ui: Ui, action: Action, model: TableModel) -> Outcome:
    match action:
        case Way():
            return replace(ui, cursor=moved(ui.cursor, action)), None
        case PointAt(cell) if cell != ui.cursor:
            return replace(ui, cursor=cell), None
        case Act.CONFIRM | PointAt():
            return _placing(ui, model)
        case Act.NEXT_PIECE | Act.LAST_PIECE:
            return replace(
                ui, piece=selection.next_piece(ui, model, 1 if action is Act.NEXT_PIECE else -1)
            ), None
        case Pick(number):
            pieces = selection.hand(model)
            if number > len(pieces):
                return ui, None
            return _held(ui, pieces[number - 1])
        case Hold(piece):
            return _held(ui, next(each for each in selection.hand(model) if each.piece == piece))
        case Act.CANCEL:
            return replace(ui, piece=None), None
        case Act.PAGE_UP | Act.PAGE_DOWN:
            return _scrolled(ui, action), None
        case _:
            return ui, None


def _scrolled(ui: Ui, action: Act) -> Ui:
    """Show older or newer lines of the log."""
    by = _LOG_LINES if action is Act.PAGE_UP else -_LOG_LINES
    return replace(ui, scroll=min(max(ui.scroll + by, 0), max(len(ui.log) - 1, 0)))


def _held(ui: Ui, chosen: selection.HandPiece) -> Outcome:
    if chosen.count:
        return replace(ui, piece=chosen.piece), None
    text = _("There is no {piece} left in your hand.").format(piece=chosen.piece)
    return replace(ui, notice=Notice(text)), None


def _placing(ui: Ui, model: TableModel) -> Outcome:
    """Place what is held where the cursor is; whether that is allowed is the server's to say."""
    piece, field = selection.selected_piece(ui, model), selection.field_at(model, ui.cursor)
    if model.seat is None:
        return replace(ui, notice=Notice(_("You are watching: only the players place pieces."))), None
    if ui.lesson is not None and ui.lesson.points:
        return replace(ui, notice=Notice(_("Nothing can be placed on this page: move the cursor."))), None
    if piece is None:
        return replace(
            ui, notice=Notice(_("Pick a piece from your hand first: press its number, or Tab."))
        ), None
    if field is None:
        return replace(
            ui, notice=Notice(_("A hill holds no pieces. Choose one of the fields around it."))
        ), None
    return ui, Place(model.seat, piece, field)


def _scoring(ui: Ui, action: Action, model: TableModel) -> Outcome:
    if model.view is None:
        return ui, None
    last = last_step(model.view)
    match action:
        case Act.NEXT | PointAt():
            return replace(ui, step=min(ui.step + 1, last)), None
        case Act.BACK:
            return replace(ui, step=max(ui.step - 1, 0)), None
        case Act.NEXT_HILL:
            return replace(ui, step=next_hill_step(model.view, ui.step)), None
        case Act.FIRST:
            return replace(ui, step=0), None
        case Act.SKIP:
            return replace(ui, step=last), None
        case Act.RUN:
            return autoplay.running(ui, model), None
        case Act.LEAVE:
            return ui, requests.Leave()
        case Act.REMATCH:
            return _playing_again(ui, model)
        case _:
            return ui, None


def _playing_again(ui: Ui, model: TableModel) -> Outcome:
    """Play again, or watch those who do."""
    if model.seat is not None:
        return ui, requests.Rematch()
    if model.state is not None and model.state.next is not None:
        return ui, requests.WatchNext(model.state.next)
    return replace(ui, notice=Notice(_("You are watching: the players decide whether to play again."))), None


def _typing(ui: Ui, action: Action, model: TableModel) -> Outcome:
    entry = ui.entry or Entry()
    match action:
        case Act.CONFIRM:
            return _sent(ui, entry, model)
        case Act.CANCEL:
            return replace(ui, entry=None), None
        case Act.ERASE if not entry.text:
            return replace(ui, entry=None), None
        case _:
            return replace(ui, entry=_edited(entry, action, ui, model)), None


def _edited(entry: Entry, action: Action, ui: Ui, model: TableModel) -> Entry:
    match action:
        case Insert(text):
            room = CHAT_LENGTH - len(entry.text)
            return entry.insert("".join(filter(str.isprintable, text))[:room])
        case Act.ERASE:
            return entry.erase()
        case Act.DELETE:
            return entry.delete()
        case Act.CLEAR:
            return entry.cleared()
        case Act.TO_START:
            return entry.to_start()
        case Act.TO_END:
            return entry.to_end()
        case Way.WEST | Way.EAST:
            return entry.moved(1 if action is Way.EAST else -1)
        case Way.UP | Way.DOWN if entry.command:
            return entry.recalled(ui.typed, 1 if action is Way.UP else -1)
        case Act.COMPLETE if entry.command:
            return _completed(entry, completions(entry.text, model, ui.replay))
        case _:
            return entry


def _completed(entry: Entry, lines: tuple[str, ...]) -> Entry:
    """Complete as far as all ways on agree, or, where they part at once, take the first."""
    if not lines:
        return entry
    shared = shared_start(lines)
    return entry.filled(shared if len(shared) > len(entry.text) else lines[0])


def _sent(ui: Ui, entry: Entry, model: TableModel) -> Outcome:
    text = entry.text.strip()
    if not text:
        return replace(ui, entry=None), None
    closed = replace(ui, entry=None)
    if entry.asks is not None:
        return start.typed(closed, entry.asks, text)
    if entry.chat:
        return closed, requests.Say(text)
    closed = replace(closed, typed=(*ui.typed, text)[-_TYPED_KEPT:])
    read = meaning(text, model) if ui.replay is None else replay_meaning(text, ui.replay)
    match read:
        case Go() | See():
            return _replayed(closed, read), None
        case Misread(reason):
            return replace(ui, notice=Notice(reason, refusal=True)), None
        case Read("help"):
            return replace(closed, overlay=Overlay.HELP, page=0), None
        case Read("rules"):
            return replace(closed, overlay=Overlay.RULES, page=0), None
        case Read():
            return _opened(closed, Act.QUIT, model) or (closed, None)
        case request:
            return closed, request


def _replayed(ui: Ui, read: Go | See) -> Ui:
    """Go where a line typed at a record leads."""
    if ui.replay is None:
        return ui
    match read:
        case See(eyes):
            return replay.seen_by(ui, ui.replay, eyes)
        case Go(None):
            return replay.ended(ui, ui.replay)
        case Go(int(stop)):
            return replay.gone(ui, ui.replay, stop)
        case _:
            return ui

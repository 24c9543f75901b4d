"""The line being typed: how keys edit it, and what sending it does."""

from dataclasses import replace
from typing import Final

from client.language import N_
from client.tables.table import TableModel
from client.ui.actions import Act, Action, Insert, Way
from client.ui.keys import Key
from client.ui.requests import Misread
from client.ui.screens import replay, start
from client.ui.screens.menu import asked_to_end, may_end, muted
from client.ui.screens.reading import Reading, Topic, open_overlay
from client.ui.screens.replay import Replay
from client.ui.screens.typed_commands import Go, Read, See, completions, meaning, replay_meaning, shared_start
from client.ui.state import Asked, Entry, Notice, Outcome, Ui
from client.ui.talk import Mute
from protocol.limits import CHAT_LENGTH
from protocol.messages import NEW, EndGame, Say, SayInLobby

_TYPED_KEPT: Final = 100


KEYS: Final = (
    Key(("enter",), Act.CONFIRM, N_("send the line"), N_("send")),
    Key(("tab",), Act.COMPLETE, N_("complete the command"), N_("complete")),
    Key(("escape", "c-c"), Act.CANCEL, N_("discard the line"), N_("cancel")),
    Key(("backspace", "c-h"), Act.ERASE, N_("erase the character before")),
    Key(("delete",), Act.DELETE, N_("erase the character after")),
    Key(("left",), Way.WEST, N_("left")),
    Key(("right",), Way.EAST, N_("right")),
    Key(("home", "c-a"), Act.TO_START, N_("to the start")),
    Key(("end", "c-e"), Act.TO_END, N_("to the end")),
    Key(("c-u",), Act.CLEAR, N_("erase the line")),
    Key(("up",), Way.UP, N_("the previous line typed"), N_("earlier")),
    Key(("down",), Way.DOWN, N_("the next line typed")),
)


def replay_in(ui: Ui) -> Replay | None:
    """Return the record on the screen, if there is one: it has its own typed commands."""
    return ui.page if isinstance(ui.page, Replay) else None


def edit_line(ui: Ui, entry: Entry, action: Action, model: TableModel) -> Outcome:
    """Return the UI state after a key while a line is being typed, and the line's request."""
    match action:
        case Act.CONFIRM:
            return _sent(ui, entry, model)
        case Act.CANCEL:
            return replace(ui, entry=None, retry=None), None
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
            return _completed(entry, ways_on(ui, entry, model))
        case _:
            return entry


def ways_on(ui: Ui, entry: Entry, model: TableModel) -> tuple[str, ...]:
    """Return the lines that a command could be completed to, the likeliest first."""
    others = () if ui.company is None else (each.name for each in ui.company.people if each.name != ui.name)
    return completions(entry.text, model, replay_in(ui), others)


def _completed(entry: Entry, lines: tuple[str, ...]) -> Entry:
    """Complete as far as all completions agree, or take the first if they differ at once."""
    if not lines:
        return entry
    shared = shared_start(lines)
    return entry.filled(shared if len(shared) > len(entry.text) else lines[0])


def _sent(ui: Ui, entry: Entry, model: TableModel) -> Outcome:
    text = entry.text.strip()
    if not text and entry.asks is not Asked.TITLE:
        return replace(ui, entry=None, retry=None), None
    closed = replace(ui, entry=None)
    if entry.asks is not None:
        return start.typed(closed, entry.asks, text)
    if entry.chat:
        said = SayInLobby(NEW, text) if entry.lobby else Say(NEW, text)
        return replace(closed, talk=replace(ui.talk, unread=0)), said
    closed = replace(closed, typed=(*ui.typed, text)[-_TYPED_KEPT:])
    record = replay_in(ui)
    read = meaning(text, model) if record is None else replay_meaning(text, record)
    match read:
        case Go() | See():
            return (closed if record is None else _replayed(closed, record, read)), None
        case Mute():
            return muted(closed, read), None
        case Misread(reason, mistyped):
            return replace(ui if mistyped else closed, notice=Notice(reason, refusal=True)), None
        case EndGame() if may_end(model):
            return asked_to_end(closed), None
        case Read("help"):
            return replace(closed, overlay=Reading(Topic.HELP)), None
        case Read("rules"):
            return replace(closed, overlay=Reading(Topic.RULES)), None
        case Read():
            return open_overlay(closed, Act.QUIT, model) or (closed, None)
        case request:
            return closed, request


def _replayed(ui: Ui, record: Replay, read: Go | See) -> Ui:
    """Go where a line typed at a record leads."""
    match read:
        case See(eyes):
            return replay.seen_by(ui, record, eyes)
        case Go(None):
            return replay.ended(ui, record)
        case Go(int(stop)):
            return replay.gone(ui, record, stop)
        case _:
            return ui

"""What opens over any page: texts to read, talk, announcements, questions, and the line to type."""

from dataclasses import replace
from typing import Final

from client.language import _
from client.tables.table import TableModel
from client.ui import requests
from client.ui.actions import Act, Action
from client.ui.at_table import next_vote, pause_request
from client.ui.frame import EMPTY, Block, Line, begun, fitted, line, stacked, wrapped
from client.ui.requests import Request
from client.ui.screens import menu
from client.ui.state import (
    Announcements,
    Asked,
    Entry,
    Lobby,
    Notice,
    Playing,
    Quitting,
    Reading,
    Search,
    Start,
    TableMenu,
    TalkPage,
    Topic,
    Ui,
    hints_allowed,
    in_lobby,
)

_LINES: Final = 4  # no more than the smallest window shows, or some would never be seen


def opened(ui: Ui, action: Action, model: TableModel) -> tuple[Ui, Request | None] | None:
    """Return what opens over any page; None if the action opens nothing."""
    match action:
        case Act.HELP:
            return replace(ui, overlay=Reading(Topic.HELP)), None
        case Act.RULES:
            return replace(ui, overlay=Reading(Topic.RULES)), None
        case Act.COUNTS:
            return replace(ui, overlay=Reading(Topic.COUNTS)), None
        case Act.WHOLE:
            told = "" if ui.notice is None else ui.notice.text
            return replace(ui, overlay=Reading(Topic.WHOLE, told=told), notice=None), None
        case Act.COMMAND:
            return replace(ui, entry=Entry()), None
        case Act.MENU if not isinstance(ui.overlay, TableMenu):
            return menu.opened_menu(ui, model), None
        case Act.CHAT | Act.TALK if in_lobby(ui) and (stays := _without_lobby_chat(ui)) is not None:
            return stays, None
        case Act.CHAT:
            return replace(ui, entry=Entry(chat=True, lobby=in_lobby(ui))), None
        case Act.TALK:
            return replace(ui, overlay=TalkPage(), talk=replace(ui.talk, unread=0)), None
        case Act.VOTE:
            if (vote := next_vote(model)) is None:
                return replace(ui, notice=Notice(_("There is nothing to vote on."))), None
            return ui, vote
        case Act.PAUSE:
            if (asked := pause_request(model)) is None:
                return replace(ui, notice=Notice(_("Only the players can pause a game."))), None
            return ui, asked
        case Act.HINT:
            return _asked_for_a_hint(ui, model)
        case Act.LEAVE if not ui.hosting.home and isinstance(ui.page, Start | Search | Lobby):
            return replace(ui, overlay=Quitting()), None  # one Esc too many must not end the program
        case Act.QUIT:
            if isinstance(ui.page, Playing) and model.seat is not None:
                return replace(ui, overlay=Quitting()), None
            return ui, requests.Quit()
        case _:
            return None


def _without_lobby_chat(ui: Ui) -> Ui | None:
    """Return why the player cannot talk in the lobby, with a line for another name if that is the reason."""
    if not ui.hosting.lobby:
        return replace(ui, notice=Notice(_("This server has no chat in the lobby.")))
    if ui.company is not None and ui.company.fault:
        entry = Entry(asks=Asked.NAME).filled(ui.name)
        return replace(ui, overlay=None, entry=entry, notice=Notice(ui.company.fault, refusal=True))
    return None


def _asked_for_a_hint(ui: Ui, model: TableModel) -> tuple[Ui, Request | None]:
    if not hints_allowed(ui, model):
        none = _("There are no hints at this table. The host can allow them in the table's menu (o).")
        return replace(ui, notice=Notice(none)), None
    if model.legal is None and model.state is not None and model.state.paused is not None:
        return replace(ui, notice=Notice(_("The game is paused. It goes on when the pause is ended."))), None
    if model.legal is None:
        return replace(ui, notice=Notice(_("There are hints on your own turn."))), None
    return ui, requests.Hint()


def read_talk(ui: Ui, page: TalkPage, action: Action) -> Ui:
    """Return the UI state after a key while all that was said is open."""
    top = page.last_top if page.top is None else page.top
    match action:
        case Act.PAGE_UP:
            return replace(ui, overlay=replace(page, top=max(top - _LINES, 0)))
        case Act.PAGE_DOWN:
            top += _LINES
            return replace(ui, overlay=replace(page, top=None if top >= page.last_top else top))
        case Act.CANCEL:
            return replace(ui, overlay=None)
        case _:
            return ui


def read_on(ui: Ui, reading: Reading, action: Action) -> Ui:
    """Return the UI state after a key while a text is open."""
    match action:
        case Act.PAGE_DOWN if reading.top < reading.last_top:
            return replace(ui, overlay=replace(reading, top=min(reading.top + _LINES, reading.last_top)))
        case Act.PAGE_UP if reading.top:
            return replace(ui, overlay=replace(reading, top=max(reading.top - _LINES, 0)))
        case Act.PAGE_DOWN if reading.number + 1 < reading.pages:
            return replace(ui, overlay=replace(reading, number=reading.number + 1, top=0))
        case Act.PAGE_UP if reading.number:
            return replace(ui, overlay=replace(reading, number=reading.number - 1, top=0))
        case Act.CANCEL:
            return replace(ui, overlay=None)
        case _:
            return ui


def announcements_block(announcements: Announcements, width: int, height: int) -> Block:
    """Return the announcements, the newest first: it is seen whole, however small the window."""
    heading = _("ANNOUNCEMENT BY THE HOST OF THE SERVER")
    lines: list[Line] = [
        fitted(line(f" {row}", "class:refusal"), width, "class:refusal")
        for row in begun(wrapped(heading, width - 2), 2, width - 2)
    ]
    for text in reversed(announcements.texts):
        rows = [line(f"  {row}", "class:info") for row in wrapped(text, width - 4)]
        if len(lines) + len(rows) + 1 > height and len(lines) > 2:
            break
        lines += [EMPTY, *rows] if len(rows) + len(lines) < height else rows
    return Block(tuple(stacked(lines, width, height)))

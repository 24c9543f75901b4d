"""Where the player is, which decides what the keys do."""

import enum
from typing import Final, assert_never

from client.tables.table import TableModel
from client.ui.update.state import (
    Announcements,
    Ended,
    Gathering,
    History,
    Lesson,
    Lobby,
    Playing,
    Quitting,
    Reading,
    Replay,
    Result,
    Scoring,
    Search,
    Start,
    TableMenu,
    TalkPage,
    Ui,
)
from engine.legal import LegalLays


class KeyContext(enum.Enum):
    """Where the player is, which decides what the keys do."""

    START = enum.auto()
    SEARCH = enum.auto()
    HISTORY = enum.auto()
    LOBBY = enum.auto()
    GATHERING = enum.auto()
    LAYING = enum.auto()
    PLACING = enum.auto()
    SCORING = enum.auto()
    RESULT = enum.auto()
    ENDED = enum.auto()
    REPLAY = enum.auto()
    LESSON = enum.auto()
    READING = enum.auto()
    ANNOUNCEMENT = enum.auto()
    TALK = enum.auto()
    MENU = enum.auto()
    QUITTING = enum.auto()
    TYPING = enum.auto()


_OVERLAYS: Final = {
    Reading: KeyContext.READING,
    Quitting: KeyContext.QUITTING,
    Announcements: KeyContext.ANNOUNCEMENT,
    TableMenu: KeyContext.MENU,
    TalkPage: KeyContext.TALK,
}


def watches(ui: Ui, model: TableModel) -> bool:
    """Return whether the player is at a server's table as a spectator."""
    at_table = isinstance(ui.page, Gathering | Playing | Scoring | Result | Ended)
    return at_table and model.table is not None and model.seat is None


def context_of(ui: Ui, model: TableModel) -> KeyContext:
    """Return where the player is: in the line being typed, in what lies over the page, or on the page."""
    if ui.entry is not None:
        return KeyContext.TYPING
    if ui.overlay is not None:
        return _OVERLAYS[type(ui.overlay)]
    match ui.page:
        case Start():
            return KeyContext.START
        case Search():
            return KeyContext.SEARCH
        case History():
            return KeyContext.HISTORY
        case Lobby():
            return KeyContext.LOBBY
        case Gathering():
            return KeyContext.GATHERING
        case Playing() | Lesson(table=Playing(), done=False):
            return KeyContext.LAYING if isinstance(model.legal, LegalLays) else KeyContext.PLACING
        case Scoring():
            return KeyContext.SCORING
        case Result():
            return KeyContext.RESULT
        case Ended():
            return KeyContext.ENDED
        case Replay():
            return KeyContext.REPLAY
        case Lesson():
            return KeyContext.LESSON
        case _:
            assert_never(ui.page)

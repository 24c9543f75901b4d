"""The keys: where the player is, what they do there, and how they are called."""

import enum
from typing import Final, assert_never

from msgspec import Struct

from client.language import N_, _, yes_letters
from client.tables.table import TableModel
from client.ui.actions import Act, Action, Insert, Pick, Way
from client.ui.state import (
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
from client.ui.texts.glyphs import GlyphSet
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


class Key(Struct, frozen=True):
    """Keys by prompt_toolkit's names, and what they do in which contexts.

    `short` is the word in the function bar, empty if the key is not shown there.
    """

    names: tuple[str, ...]
    action: Action
    contexts: frozenset[KeyContext]
    help: str
    short: str = ""


_START: Final = frozenset({KeyContext.START})
_SEARCH: Final = frozenset({KeyContext.SEARCH})
_HISTORY: Final = frozenset({KeyContext.HISTORY})
_LOBBY: Final = frozenset({KeyContext.LOBBY})
_GATHERING: Final = frozenset({KeyContext.GATHERING})
_LAYING: Final = frozenset({KeyContext.LAYING})
_PLACING: Final = frozenset({KeyContext.PLACING})
_SCORING: Final = frozenset({KeyContext.SCORING})
_RESULT: Final = frozenset({KeyContext.RESULT})
_ENDED: Final = frozenset({KeyContext.ENDED})
_REPLAY: Final = frozenset({KeyContext.REPLAY})
_LESSON: Final = frozenset({KeyContext.LESSON})
_READING: Final = frozenset({KeyContext.READING})
_ANNOUNCEMENT: Final = frozenset({KeyContext.ANNOUNCEMENT})
_TALK: Final = frozenset({KeyContext.TALK})
_MENU: Final = frozenset({KeyContext.MENU})
_QUITTING: Final = frozenset({KeyContext.QUITTING})
_TYPING: Final = frozenset({KeyContext.TYPING})
_BOARD: Final = _LAYING | _PLACING
_WALK: Final = _SCORING | _RESULT
_AT_TABLE: Final = _GATHERING | _BOARD | _WALK | _ENDED
_ANYWHERE: Final = _LOBBY | _AT_TABLE | _REPLAY | _LESSON

YES: Final = "yes"  # not a key's name: each language has its own letter for it

KEYS: Final = (
    # The start screen
    Key(("up", "k", "scroll-up"), Way.UP, _START, N_("the line above")),
    Key(("down", "j", "scroll-down"), Way.DOWN, _START, N_("the line below")),
    Key(("enter", " "), Act.CONFIRM, _START, N_("choose this line"), N_("go")),
    *(Key((str(n),), Pick(n), _START, N_("how many players, bots included")) for n in range(2, 6)),
    Key(("x",), Act.LAYOUT, _START, N_("lay the tiles, or have them laid at random"), N_("layout")),
    Key(("p",), Act.PEOPLE, _START, N_("choose the people that you play"), N_("people")),
    Key(("a",), Act.PACE, _START, N_("have the bots move at once, or take their time like people")),
    Key(("s",), Act.BRAIN, _START, N_("change the bots' strength"), N_("strength")),
    Key(("w",), Act.WAYS_IN, _START, N_("open the games you host to browsers and ssh, or not")),
    Key(("n",), Act.NAME, _START, N_("change the name others see"), N_("name")),
    Key(("b",), Act.BELL, _START, N_("ring when it is your turn, or not")),
    Key(("t",), Act.WINDOW_TITLE, _START, N_("show it in the window's title, or not")),
    Key(
        ("d",), Act.NOTICES, _START, N_("desktop notices: where the terminal is known, OSC 9, OSC 777, none")
    ),
    # Looking for servers
    Key(("up", "k", "scroll-up"), Way.UP, _SEARCH, N_("the line above")),
    Key(("down", "j", "scroll-down"), Way.DOWN, _SEARCH, N_("the line below")),
    Key(
        ("enter", " "),
        Act.CONFIRM,
        _SEARCH,
        N_("sit down at the table, or see all tables of the server"),
        N_("join"),
    ),
    Key(("w",), Act.WATCH, _SEARCH, N_("watch the table"), N_("watch")),
    Key(("a",), Act.ADDRESS, _SEARCH, N_("type the host's address"), N_("address")),
    Key(("escape",), Act.LEAVE, _SEARCH, N_("back to the start screen, or quit"), N_("leave")),
    # Finished games
    Key(("up", "k", "scroll-up"), Way.UP, _HISTORY, N_("the game above")),
    Key(("down", "j", "scroll-down"), Way.DOWN, _HISTORY, N_("the game below")),
    Key(("pageup",), Act.PAGE_UP, _HISTORY, N_("ten games up")),
    Key(("pagedown",), Act.PAGE_DOWN, _HISTORY, N_("ten games down")),
    Key(
        ("enter", " ", "v"),
        Act.CONFIRM,
        _HISTORY,
        N_("replay the game with everything revealed"),
        N_("review"),
    ),
    Key(("y",), Act.ANALYSE, _HISTORY, N_("replay it with everybody's chances"), N_("analyse")),
    Key(("w",), Act.SAVE_RECORD, _HISTORY, N_("save the game's record in a file"), N_("save")),
    Key(("e",), Act.SAVE_PICTURE, _HISTORY, N_("save a picture of the board in a file"), N_("picture")),
    Key(("x", "delete"), Act.REMOVE, _HISTORY, N_("remove the game for good; press twice"), N_("remove")),
    Key(("escape",), Act.LEAVE, _HISTORY, N_("back to where you came from"), N_("leave")),
    # The lobby
    Key(("up", "k", "scroll-up"), Way.UP, _LOBBY, N_("the table above or below")),
    Key(("down", "j", "scroll-down"), Way.DOWN, _LOBBY, N_("the table above or below")),
    Key(
        ("enter",),
        Act.CONFIRM,
        _LOBBY,
        N_("join, return to your seat, or watch; last line: open"),
        N_("join"),
    ),
    Key(("w",), Act.WATCH, _LOBBY, N_("watch the table"), N_("watch")),
    Key(("o",), Act.OPEN, _LOBBY, N_("open a new table"), N_("new table")),
    Key(("t",), Act.CHAT, _LOBBY, N_("say something in the lobby"), N_("say")),
    Key(("T",), Act.TALK, _LOBBY, N_("who is online, and what was said in the lobby"), N_("read")),
    Key(("n",), Act.NAME, _LOBBY, N_("change the name others see"), N_("name")),
    Key(("v",), Act.REVIEW, _LOBBY, N_("your past games, if you are here over ssh"), N_("past games")),
    *(Key((str(n),), Pick(n), _LOBBY, N_("new table: how many players")) for n in range(2, 6)),
    Key(
        ("x",), Act.LAYOUT, _LOBBY, N_("new table: lay the tiles, or have them laid at random"), N_("layout")
    ),
    Key(("s",), Act.STARTING, _LOBBY, N_("new table: who starts"), N_("who starts")),
    Key(
        ("a",),
        Act.ABSENCE,
        _LOBBY,
        N_("new table: what happens when a player is away or slow"),
        N_("absence"),
    ),
    Key(("+", "="), Act.MORE, _LOBBY, N_("new table: more or less time before it happens")),
    Key(("-",), Act.LESS, _LOBBY, N_("new table: more or less time before it happens")),
    Key(("p",), Act.PRIVATE, _LOBBY, N_("new table: listed or not; with hints or not")),
    Key(("h",), Act.HINTS, _LOBBY, N_("new table: listed or not; with hints or not")),
    Key(("r",), Act.REFRESH, _LOBBY, N_("refresh the list"), N_("refresh")),
    Key(("escape",), Act.LEAVE, _LOBBY, N_("back to the start screen, or quit")),
    Key(("escape",), Act.LEAVE, _START, N_("quit")),
    # Waiting at a table
    Key(("enter", "s"), Act.START, _GATHERING, N_("start the game (host only)"), N_("start")),
    Key(("r",), Act.READY, _GATHERING, N_("say that you are ready, or take that back"), N_("ready")),
    Key(("p",), Act.PEOPLE, _GATHERING, N_("choose the people that you play"), N_("people")),
    Key(("b",), Act.SEAT_BOT, _GATHERING, N_("let a bot take a free seat"), N_("bot")),
    Key(("escape",), Act.LEAVE, _GATHERING, N_("leave the table"), N_("leave")),
    # Laying tiles
    *(Key((str(n),), Pick(n), _LAYING, N_("choose the position with that number")) for n in range(1, 7)),
    Key(("right", "down", "l", "j", "n", "b"), Way.EAST, _LAYING, N_("the next position clockwise")),
    Key(("left", "up", "h", "k", "y", "u"), Way.WEST, _LAYING, N_("the next position anticlockwise")),
    Key(("r", "]", "scroll-down"), Act.ROTATE, _LAYING, N_("turn the tile clockwise"), N_("turn")),
    Key(("R", "[", "scroll-up"), Act.ROTATE_BACK, _LAYING, N_("turn the tile anticlockwise")),
    Key(("enter", " "), Act.CONFIRM, _LAYING, N_("lay the tile"), N_("lay")),
    Key(("escape", "backspace"), Act.CANCEL, _LAYING, N_("put the tile back as it was drawn")),
    # Placing inhabitants
    Key(("left", "h"), Way.WEST, _PLACING, N_("west, east")),
    Key(("right", "l"), Way.EAST, _PLACING, N_("west, east")),
    Key(("up", "k"), Way.UP, _PLACING, N_("up, down")),
    Key(("down", "j"), Way.DOWN, _PLACING, N_("up, down")),
    Key(("y",), Way.NORTHWEST, _PLACING, N_("north-west, north-east, south-west, south-east")),
    Key(("u",), Way.NORTHEAST, _PLACING, N_("north-west, north-east, south-west, south-east")),
    Key(("b",), Way.SOUTHWEST, _PLACING, N_("north-west, north-east, south-west, south-east")),
    Key(("n",), Way.SOUTHEAST, _PLACING, N_("north-west, north-east, south-west, south-east")),
    *(Key((str(n),), Pick(n), _PLACING, N_("pick that piece from your hand")) for n in range(1, 10)),
    Key(("enter", " "), Act.CONFIRM, _PLACING, N_("place the piece on the field"), N_("place")),
    Key(("tab", "scroll-down"), Act.NEXT_PIECE, _PLACING, N_("the next piece in your hand"), N_("piece")),
    Key(("s-tab", "scroll-up"), Act.LAST_PIECE, _PLACING, N_("the previous piece")),
    Key(("escape", "backspace"), Act.CANCEL, _PLACING, N_("put the piece back; leave, if you are watching")),
    # The scoring
    Key(
        ("enter", " ", "right", "n", "l", "down", "j", "scroll-down"),
        Act.NEXT,
        _SCORING,
        N_("the next step"),
        N_("next"),
    ),
    Key(
        ("left", "p", "backspace", "h", "up", "k", "scroll-up"),
        Act.BACK,
        _WALK,
        N_("one step back"),
        N_("back"),
    ),
    Key(("tab", "pagedown"), Act.NEXT_HILL, _SCORING, N_("go to the next hill"), N_("next hill")),
    Key(("s", "end", "escape"), Act.SKIP, _SCORING, N_("skip to the result"), N_("result")),
    Key(("r",), Act.RUN, _SCORING, N_("play automatically; again: faster; other keys stop"), N_("run")),
    Key(("home",), Act.FIRST, _WALK, N_("back to the first step"), N_("from the start")),
    Key(("m",), Act.REMATCH, _RESULT | _ENDED, N_("play again with the same players"), N_("play again")),
    Key(("v",), Act.REVIEW, _RESULT, N_("replay the game with everything revealed"), N_("review")),
    Key(("y",), Act.ANALYSE, _RESULT, N_("replay it with everybody's chances"), N_("analyse")),
    Key(("w",), Act.SAVE_RECORD, _RESULT, N_("save the game's record in a file"), N_("save")),
    Key(("e",), Act.SAVE_PICTURE, _RESULT, N_("save a picture of the board in a file"), N_("picture")),
    Key(("escape",), Act.LEAVE, _RESULT | _ENDED, N_("leave the table"), N_("leave")),
    # Looking at a record
    Key(
        ("right", " ", "enter", "n", "l", "scroll-down"),
        Act.NEXT,
        _REPLAY,
        N_("the next move, or step of the scoring"),
        N_("next"),
    ),
    Key(
        ("left", "backspace", "p", "h", "scroll-up"),
        Act.BACK,
        _REPLAY,
        N_("the previous move or step"),
        N_("back"),
    ),
    Key(("down", "pagedown", "j"), Act.PAGE_DOWN, _REPLAY, N_("one round forward, or one hill"), N_("round")),
    Key(("up", "pageup", "k"), Act.PAGE_UP, _REPLAY, N_("one round back, or one hill")),
    Key(("escape",), Act.LEAVE, _REPLAY, N_("stop the analysis, or leave")),
    Key(("escape",), Act.QUIT, _LESSON, N_("leave")),
    Key(("home",), Act.FIRST, _REPLAY, N_("to the start")),
    Key(("end",), Act.SKIP, _REPLAY, N_("to the end, or the result if there is one")),
    Key(("g",), Act.GO, _REPLAY, N_("go to the move whose number you type"), N_("go to")),
    Key(("r",), Act.RUN, _REPLAY, N_("play automatically; again: faster; other keys stop"), N_("run")),
    Key(
        ("tab",),
        Act.NEXT_EYES,
        _REPLAY,
        N_("the next view: everything, each seat, spectators"),
        N_("view"),
    ),
    Key(("s-tab",), Act.LAST_EYES, _REPLAY, N_("the previous view")),
    *(Key((str(n),), Pick(n), _REPLAY, N_("what the seat with that number saw")) for n in range(1, 6)),
    Key(("y",), Act.ANALYSE, _REPLAY, N_("everybody's chances of winning, move by move"), N_("analyse")),
    Key(("d",), Act.DECIDING, _REPLAY, N_("the next decisive move"), N_("decisive")),
    Key(("a",), Act.ALL_EYES, _REPLAY, N_("everything: all hands and all wolves")),
    Key(("w",), Act.NO_EYES, _REPLAY, N_("as spectators saw it")),
    # Lessons
    Key(("enter", " ", "n"), Act.NEXT, _LESSON, N_("one step forward, or the next page"), N_("next")),
    Key(("backspace", "p"), Act.BACK, _LESSON, N_("one step back, or the previous page"), N_("back")),
    Key(
        ("right", "l", "scroll-down"),
        Way.EAST,
        _LESSON,
        N_("one step forward in the scoring; otherwise cursor east"),
    ),
    Key(
        ("left", "h", "scroll-up"),
        Way.WEST,
        _LESSON,
        N_("one step back in the scoring; otherwise cursor west"),
    ),
    Key(("up", "k"), Way.UP, _LESSON, N_("move the cursor up")),
    Key(("down", "j"), Way.DOWN, _LESSON, N_("move the cursor down")),
    Key(("pagedown",), Act.PAGE_DOWN, _LESSON, N_("the next page, at any time"), N_("next page")),
    Key(("pageup",), Act.PAGE_UP, _LESSON, N_("the previous page, at any time")),
    # At every table
    Key((":", "/"), Act.COMMAND, _ANYWHERE, N_("type a command"), N_("command")),
    Key(("o",), Act.MENU, _AT_TABLE, N_("the table: what its host can do"), N_("table")),
    Key(("t",), Act.CHAT, _AT_TABLE, N_("say something to the table"), N_("say")),
    Key(("T",), Act.TALK, _AT_TABLE, N_("read all that was said at the table"), N_("read")),
    Key(("s",), Act.HINT, _BOARD, N_("suggest a move, where the table allows hints"), N_("hint")),
    Key(("v",), Act.VOTE, _BOARD, N_("vote: let a bot play for an absent player, or not")),
    Key(("p",), Act.PAUSE, _BOARD, N_("ask for a pause, or agree to it; or end it")),
    Key(
        ("c",),
        Act.COUNTS,
        _BOARD | _REPLAY,
        N_("what others may hold, and influence on the hills"),
        N_("count"),
    ),
    Key(("m",), Act.WHOLE, _REPLAY, N_("read in full what ends in dots")),
    Key(("m",), Act.WHOLE, _BOARD, N_("the log in full, with what ends in dots; by lines")),
    Key(("pageup",), Act.PAGE_UP, _BOARD, N_("the log in full, with what ends in dots; by lines")),
    Key(("pagedown",), Act.PAGE_DOWN, _BOARD, N_("the log in full, with what ends in dots; by lines")),
    Key(
        ("?", "f1"),
        Act.HELP,
        _START | _SEARCH | _HISTORY | _ANYWHERE | _MENU | _TALK,
        N_("show the help"),
        N_("help"),
    ),
    Key(
        ("i", "f2"), Act.RULES, _START | _SEARCH | _HISTORY | _ANYWHERE, N_("the rules in short"), N_("rules")
    ),
    Key(("q", "c-c"), Act.QUIT, _START | _SEARCH | _HISTORY | _ANYWHERE, N_("quit"), N_("quit")),
    # Reading help or rules
    Key(
        ("right", "down", "j", " ", "pagedown", "scroll-down"),
        Act.PAGE_DOWN,
        _READING,
        N_("the next page"),
        N_("next page"),
    ),
    Key(
        ("left", "up", "k", "pageup", "scroll-up"), Act.PAGE_UP, _READING, N_("the previous page"), N_("back")
    ),
    Key(("?", "f1"), Act.HELP, _READING, N_("the help"), N_("help")),
    Key(("i", "f2"), Act.RULES, _READING, N_("the rules in short"), N_("rules")),
    Key(("escape", "enter", "q"), Act.CANCEL, _READING, N_("back to the table"), N_("close")),
    Key(("c-c",), Act.QUIT, _READING, N_("quit")),
    # What the people who run the server have to say
    Key(("escape", "enter"), Act.CANCEL, _ANNOUNCEMENT, N_("close the announcement"), N_("close")),
    Key(("c-c",), Act.QUIT, _ANNOUNCEMENT, N_("quit")),
    # All that was said
    Key(("up", "k", "pageup", "scroll-up"), Act.PAGE_UP, _TALK, N_("earlier lines"), N_("earlier")),
    Key(("down", "j", "pagedown", "scroll-down"), Act.PAGE_DOWN, _TALK, N_("later lines"), N_("later")),
    Key(("t",), Act.CHAT, _TALK, N_("say something"), N_("say")),
    Key(
        ("escape", "enter", "q", "T"),
        Act.CANCEL,
        _TALK,
        N_("back to the table, or to the lobby"),
        N_("close"),
    ),
    Key(("c-c",), Act.QUIT, _TALK, N_("quit")),
    # The menu of the table
    Key(("up", "k", "scroll-up"), Way.UP, _MENU, N_("the line above")),
    Key(("down", "j", "scroll-down"), Way.DOWN, _MENU, N_("the line below")),
    Key(("enter", " "), Act.CONFIRM, _MENU, N_("choose this line"), N_("choose")),
    Key(("escape", "backspace", "left", "q"), Act.CANCEL, _MENU, N_("back"), N_("back")),
    Key(("o",), Act.MENU, _MENU, N_("close the menu"), N_("close")),
    Key(("c-c",), Act.QUIT, _MENU, N_("quit")),
    # Quitting
    Key((YES, "q", "c-c"), Act.CONFIRM, _QUITTING, N_("quit, or leave the table"), N_("yes")),
    Key(("n", "escape"), Act.CANCEL, _QUITTING, N_("stay"), N_("stay")),
    # Typing
    Key(("enter",), Act.CONFIRM, _TYPING, N_("send the line"), N_("send")),
    Key(("tab",), Act.COMPLETE, _TYPING, N_("complete the command"), N_("complete")),
    Key(("escape", "c-c"), Act.CANCEL, _TYPING, N_("discard the line"), N_("cancel")),
    Key(("backspace", "c-h"), Act.ERASE, _TYPING, N_("erase the character before")),
    Key(("delete",), Act.DELETE, _TYPING, N_("erase the character after")),
    Key(("left",), Way.WEST, _TYPING, N_("left")),
    Key(("right",), Way.EAST, _TYPING, N_("right")),
    Key(("home", "c-a"), Act.TO_START, _TYPING, N_("to the start")),
    Key(("end", "c-e"), Act.TO_END, _TYPING, N_("to the end")),
    Key(("c-u",), Act.CLEAR, _TYPING, N_("erase the line")),
    Key(("up",), Way.UP, _TYPING, N_("the previous line typed"), N_("earlier")),
    Key(("down",), Way.DOWN, _TYPING, N_("the next line typed")),
)

_ACTIONS: Final = {
    (name, context): key.action for key in KEYS for name in key.names for context in key.contexts
}

# Keys that do something else for spectators, and those that do nothing for them.
_WATCHING: Final[dict[Action, Key]] = {
    Act.REMATCH: Key(
        ("m",), Act.REMATCH, _RESULT | _ENDED, N_("watch the next game of the same players"), N_("next game")
    )
}
_FOR_PLAYERS: Final = frozenset(
    {Act.START, Act.READY, Act.PEOPLE, Act.SEAT_BOT, Act.VOTE, Act.PAUSE, Act.HINT}
)

_PAGES: Final = frozenset({Act.PAGE_DOWN, Act.PAGE_UP})
_WITH_OTHERS: Final = frozenset({Act.CHAT, Act.TALK, Act.VOTE, Act.PAUSE, Act.HINT, Act.MENU})


def action_of(name: str, context: KeyContext) -> Action | None:
    """Return what the key does in the context; a printable one is typed where a line is being typed."""
    if context is KeyContext.QUITTING and name in yes_letters():
        name = YES
    if found := _ACTIONS.get((name, context)):
        return found
    if context is KeyContext.TYPING and len(name) == 1 and name.isprintable():
        return Insert(name)
    return None


def keys_at(context: KeyContext, *, lesson: bool = False, watching: bool = False) -> tuple[Key, ...]:
    """Return the keys of the context: in a lesson, with those that turn its pages; those of spectators."""
    here = tuple(key for key in KEYS if context in key.contexts)
    if watching:
        return tuple(_WATCHING.get(key.action, key) for key in here if key.action not in _FOR_PLAYERS)
    if not lesson or context not in {KeyContext.LAYING, KeyContext.PLACING}:
        return here
    turning: dict[Action, Key] = {
        key.action: key for key in KEYS if key.contexts == _LESSON and key.action in _PAGES
    }
    return tuple(turning.get(key.action, key) for key in here if key.action not in _WITH_OTHERS)


_NAMES: Final = {
    YES: N_("y"),
    "enter": N_("Enter"),
    "escape": N_("Esc"),
    "tab": N_("Tab"),
    "s-tab": N_("Shift-Tab"),
    " ": N_("Space"),
    "left": N_("Left"),
    "right": N_("Right"),
    "up": N_("Up"),
    "down": N_("Down"),
    "pageup": N_("PgUp"),
    "pagedown": N_("PgDn"),
    "home": N_("Home"),
    "end": N_("End"),
    "backspace": N_("Backspace"),
    "delete": N_("Del"),
    "f1": "F1",
    "f2": "F2",
    "scroll-up": N_("wheel up"),
    "scroll-down": N_("wheel down"),
}


def key_name(name: str, glyphs: GlyphSet) -> str:
    """Return the key's name on the screen."""
    if name in glyphs.keys:
        return glyphs.keys[name]
    if name.startswith("c-"):
        return _("Ctrl-{key}").format(key=name[2:].upper())
    return _(_NAMES[name]) if name in _NAMES else name

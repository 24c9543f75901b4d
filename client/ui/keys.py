"""Keys and clicks: what they mean, and the keys that several screens share."""

import enum
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

from msgspec import Struct, structs

from client.language import N_, _, yes_letters
from client.tables.table import TableModel
from client.ui.texts.glyphs import GlyphSet
from engine.board import Hex
from engine.pieces import Piece

# Actions without further data that several screens, or words, know by name; any other is a handler.
Act = enum.Enum(
    "Act",
    """
    CONFIRM CANCEL NEXT_PIECE LAST_PIECE ROTATE ROTATE_BACK NEXT BACK NEXT_HILL FIRST SKIP SKIP_UNSEEN RUN
    PLAY_ON ANALYSE SAVE_RECORD SAVE_PICTURE LEAVE MENU COMMAND CHAT TALK SIGN HELP RULES COUNTS WHOLE QUIT
    PAGE_UP PAGE_DOWN EVENING TOGETHER SEEN STUDY
    """,
)


class Way(enum.Enum):
    """The direction of a key: the value is the step to the next hex; up and down a column it varies."""

    EAST = (1, 0)
    SOUTHEAST = (0, 1)
    SOUTHWEST = (-1, 1)
    WEST = (-1, 0)
    NORTHWEST = (0, -1)
    NORTHEAST = (1, -1)
    UP = "up"
    DOWN = "down"


class Pick(Struct, frozen=True):
    """Choose the item with this number: a piece of the hand, a position, a number of players, a seat."""

    number: int


class Hold(Struct, frozen=True):
    piece: Piece


class PointAt(Struct, frozen=True):
    """Point at a hex; a second time, confirm."""

    cell: Hex


class Hover(Struct, frozen=True):
    """The mouse is over this hex, or over none; that chooses nothing."""

    cell: Hex | None


class ChooseLine(Struct, frozen=True):
    """Choose a line of a list; a second time, confirm."""

    number: int


class ChooseUnseen(ChooseLine, frozen=True):
    """Choose the nearest of so many lines of a list for which there is no room."""

    count: int


class GoToStop(Struct, frozen=True):
    """Go to this stop of a record."""

    stop: int


class InsertText(Struct, frozen=True):
    text: str


# What a key of one screen does: of the screen, its state and the table it makes an `Outcome`.
Handler: TypeAlias = Callable[[Any, Any, TableModel], Any]
Action: TypeAlias = Handler | Act | Way | Pick | Hold | PointAt | Hover | ChooseLine | GoToStop | InsertText


# Whether keys have an effect now: on this screen, in this state of it, at this table.
When: TypeAlias = Callable[[Any, Any, TableModel], bool]


def always(_screen: object, _ui: object, _model: TableModel) -> bool:
    return True


class Key(Struct, frozen=True):
    """Keys by prompt_toolkit's names, and what they do.

    `short` is the word in the function bar, empty if the key is not shown there. `form` is what the help is
    part of, if it is. Only `when` they have an effect are they offered, those `for_players` never to others,
    and those `with_others` only at a table. Spectators may have other words than `help` and `short`. In
    text mode, the line `typed` does the same; "" is an empty line.
    """

    names: tuple[str, ...]
    action: Action
    help: str
    short: str = ""
    form: str = ""
    when: When = always
    for_players: bool = False
    with_others: bool = False
    for_spectators: tuple[str, str] | None = None
    typed: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Return the help on the keys, in the current language."""
        return _(self.form).format(text=_(self.help)) if self.form else _(self.help)


YES: Final = "yes"  # not a key's name: each language has its own letter for it

COMMAND: Final = Key((":", "/"), Act.COMMAND, N_("type a command"), N_("command"))
HELP: Final = Key(("?", "f1"), Act.HELP, N_("show the help"), N_("help"))
QUIT: Final = Key(("c-c",), Act.QUIT, N_("quit"))
RULES: Final = Key(("i", "f2"), Act.RULES, N_("the rules in short"), N_("rules"))
ON_EVERY_PAGE: Final = (
    HELP,
    RULES,
    Key(("q", "c-c"), Act.QUIT, N_("quit"), N_("quit")),
)
LINES: Final = (
    Key(("up", "k", "scroll-up"), Way.UP, N_("the line above")),
    Key(("down", "j", "scroll-down"), Way.DOWN, N_("the line below")),
)
COUNTS: Final = Key(("c",), Act.COUNTS, N_("what others may hold, and influence on the hills"), N_("count"))
READ_WHOLE: Final = Key(("m",), Act.WHOLE, N_("read in full what ends in dots"))
EVENING: Final = Key(
    ("E",),
    Act.EVENING,
    N_("the evening: sign up, pause, standings"),
    N_("evening"),
    when=lambda _screen, ui, _model: ui.evening is not None,
    with_others=True,
)
TOGETHER: Final = Key(
    ("f",), Act.TOGETHER, N_("look together: lead, or follow the leader; again: stop"), N_("together")
)
TALK: Final = (
    Key(("t",), Act.CHAT, N_("say something to the table; read what was said"), N_("say"), with_others=True),
    Key(
        ("T",),
        Act.TALK,
        N_("say something to the table; read what was said"),
        N_("read"),
        when=lambda _screen, ui, _model: bool(ui.talk.remarks),
        with_others=True,
    ),
)
AT_TABLE: Final = (
    EVENING,
    COMMAND,
    Key(("o",), Act.MENU, N_("the table: what its host can do"), N_("table"), with_others=True),
    *TALK,
    Key(("!",), Act.SIGN, N_("give a sign to everybody"), with_others=True),
)

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
    "f5": "F5",
    "scroll-up": N_("wheel up"),
    "scroll-down": N_("wheel down"),
}

# The keys that are no characters.
NAMED: Final = frozenset({*_NAMES, "c-a", "c-c", "c-e", "c-h", "c-k", "c-u"})


def key_name(name: str, glyphs: GlyphSet) -> str:
    if name in glyphs.keys:
        return glyphs.keys[name]
    if name.startswith("c-"):
        return _("Ctrl-{key}").format(key=name[2:].upper())
    return _(_NAMES[name]) if name in _NAMES else name


def action_of(name: str, keys: Iterable[Key]) -> Action | None:
    names = {name, YES} if name in yes_letters() else {name}
    return next((key.action for key in keys if not names.isdisjoint(key.names)), None)


def spectators_keys(keys: Iterable[Key]) -> Iterator[Key]:
    """Yield the keys for spectators: without those that they cannot use, and with their words."""
    for key in keys:
        if key.for_spectators is not None:
            words, short = key.for_spectators
            yield structs.replace(key, help=words, short=short)
        elif not key.for_players:
            yield key

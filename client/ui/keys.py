"""Keys: their names and actions, and those that several screens share."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from client.language import N_, _, yes_letters
from client.ui.actions import Act, Action
from client.ui.texts.glyphs import GlyphSet


class Key(Struct, frozen=True):
    """Keys by prompt_toolkit's names, and what they do.

    `short` is the word in the function bar, empty if the key is not shown there.
    """

    names: tuple[str, ...]
    action: Action
    help: str
    short: str = ""


YES: Final = "yes"  # not a key's name: each language has its own letter for it

COMMAND: Final = Key((":", "/"), Act.COMMAND, N_("type a command"), N_("command"))
HELP: Final = Key(("?", "f1"), Act.HELP, N_("show the help"), N_("help"))
QUIT: Final = Key(("c-c",), Act.QUIT, N_("quit"))
ON_EVERY_PAGE: Final = (
    HELP,
    Key(("i", "f2"), Act.RULES, N_("the rules in short"), N_("rules")),
    Key(("q", "c-c"), Act.QUIT, N_("quit"), N_("quit")),
)
COUNTS: Final = Key(("c",), Act.COUNTS, N_("what others may hold, and influence on the hills"), N_("count"))
AT_TABLE: Final = (
    COMMAND,
    Key(("o",), Act.MENU, N_("the table: what its host can do"), N_("table")),
    Key(("t",), Act.CHAT, N_("say something to the table"), N_("say")),
    Key(("T",), Act.TALK, N_("read all that was said at the table"), N_("read")),
)

_FOR_PLAYERS: Final = frozenset(
    {Act.START, Act.READY, Act.PEOPLE, Act.SEAT_BOT, Act.VOTE, Act.PAUSE, Act.HINT}
)
_NEXT_GAME: Final = Key(("m",), Act.REMATCH, N_("watch the next game of the same players"), N_("next game"))
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

# The keys that are no characters.
NAMED: Final = frozenset({*_NAMES, "c-a", "c-c", "c-e", "c-h", "c-u"})


def key_name(name: str, glyphs: GlyphSet) -> str:
    """Return the key's name on the screen."""
    if name in glyphs.keys:
        return glyphs.keys[name]
    if name.startswith("c-"):
        return _("Ctrl-{key}").format(key=name[2:].upper())
    return _(_NAMES[name]) if name in _NAMES else name


def action_of(name: str, keys: Iterable[Key]) -> Action | None:
    """Return the action of the key with this name among `keys`."""
    names = {name, YES} if name in yes_letters() else {name}
    return next((key.action for key in keys if not names.isdisjoint(key.names)), None)


def spectators_keys(keys: Iterable[Key]) -> tuple[Key, ...]:
    """Return the keys for spectators: without those that they cannot use, and with changed descriptions."""
    return tuple(
        _NEXT_GAME if key.action is Act.REMATCH else key for key in keys if key.action not in _FOR_PLAYERS
    )

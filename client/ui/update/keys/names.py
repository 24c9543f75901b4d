"""The names of keys on the screen."""

from typing import Final

from client.language import N_, _
from client.ui.texts.glyphs import GlyphSet
from client.ui.update.keys.table import YES

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

"""HTML elements: whatever is put into one is escaped, unless it is HTML already."""

from typing import Final

from markupsafe import Markup, escape

_VOID: Final = frozenset({"link", "meta"})
EMPTY: Final = Markup()


def element(name: str, /, *content: str, **attributes: str) -> Markup:
    """Return an element; `class_` and `aria_label` stand for the attributes `class` and `aria-label`."""
    written = EMPTY.join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), value)
        for key, value in attributes.items()
    )
    if name in _VOID:
        return Markup("<{}{}>").format(name, written)
    return Markup("<{0}{1}>{2}</{0}>").format(name, written, joined(*content))


def joined(*content: str) -> Markup:
    """Return all of the content as HTML."""
    return EMPTY.join(map(escape, content))

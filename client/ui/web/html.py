"""HTML elements: whatever is put into one is escaped, unless it is HTML already; and QR codes."""

import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import Final

import segno
from markupsafe import Markup, escape

_VOID: Final = frozenset({"input", "link", "meta"})
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
    return EMPTY.join(map(escape, content))


_QUIET: Final = 4  # empty modules around the code, which cameras need (ISO/IEC 18004, 9.1)
_KEPT: Final = 64  # codes: a few addresses lead to a server, but anyone may ask for more


@functools.lru_cache(_KEPT)
def qr_code(text: str, label: str) -> Markup:
    """Return a QR code as an SVG element; `label` says in words where it leads."""
    code = segno.make_qr(text, error="m")
    dark = "".join(
        f"M{x} {y}h{length}v1h-{length}z"
        for y, row in enumerate(code.matrix, start=_QUIET)
        for x, length in _runs(row)
    )
    size = len(code.matrix) + 2 * _QUIET
    return element(
        "svg",
        element("path", d=f"M0 0h{size}v{size}h-{size}z", fill="#ffffff"),
        element("path", d=dark, fill="#000000"),
        class_="qr",
        viewBox=f"0 0 {size} {size}",
        role="img",
        aria_label=label,
    )


def _runs(row: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield where the dark modules of a row begin that lie together, and how many they are."""
    for dark, run in itertools.groupby(enumerate(row, start=_QUIET), key=lambda module: module[1]):
        (first, _module), *others = run
        if dark:
            yield first, 1 + len(others)

"""HTML elements: whatever is put into one is escaped, unless it is HTML already; and QR codes."""

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import segno
from markupsafe import Markup, escape

_VOID: Final = frozenset({"input", "link", "meta"})
EMPTY: Final = Markup()
_COMMENTS: Final = ("//", "/*", "*")
_BESIDE: Final = re.compile(r"\s//\s.*")  # a comment at the end of a line; no string of ours has these signs
_REMARKS: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_SPACES: Final = re.compile(r"\s*([{};,])\s*|(?<=:)\s+")


@functools.cache
def template(name: str) -> Markup:
    """Return the HTML in a file beside this one; `format` escapes what it puts there, unless it is HTML."""
    return Markup((Path(__file__).parent / name).read_text(encoding="utf-8"))  # noqa: S704 - our own


def script(*names: str) -> Markup:
    """Return the scripts of these names as one, without what only their readers need."""
    written = (line for name in names for line in template(f"scripts/{name}.js").splitlines())
    lines = (_BESIDE.sub("", line).strip() for line in written)
    return Markup("\n".join(line for line in lines if line and not line.startswith(_COMMENTS)))  # noqa: S704


def style(rules: str) -> Markup:
    """Return a style sheet without what only its readers need; no string in it has these signs."""
    return Markup(_SPACES.sub(r"\1", _REMARKS.sub("", rules)))  # noqa: S704


def element(name: str, /, *content: str, **attributes: str) -> Markup:
    """Return an element; `class_` and `aria_label` stand for the attributes `class` and `aria-label`."""
    written = with_attributes(attributes)
    inside = "" if name in _VOID else f"{join(*content)}</{name}>"
    return Markup(f"<{name}{written}>{inside}")  # noqa: S704 - attributes and content are escaped


def with_attributes(attributes: Mapping[str, str]) -> Markup:
    written = (f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Markup("".join(written))  # noqa: S704 - the values are escaped


def scrolled(content: Markup, label: str) -> Markup:
    """Return what may be wider than the page, which arrow keys scroll too."""
    return element("div", content, class_="scroll", tabindex="0", role="region", aria_label=label)


def join(*content: str) -> Markup:
    return Markup("".join(map(escape, content)))  # noqa: S704 - all of it is escaped


_QUIET: Final = 4  # empty modules around the code, which cameras need (ISO/IEC 18004, 9.1)
_KEPT: Final = 64  # codes: a few addresses lead to a server, but anyone may ask for more


def draw_qr_code(text: str, label: str) -> Markup:
    """Return a QR code as SVG; `label` says in words where it leads."""
    code = segno.make_qr(text, error="m")
    drawn = code.svg_inline(border=_QUIET, omitsize=True, svgclass="qr", lineclass=None, light="#ffffff")
    return element("div", Markup(drawn), role="img", aria_label=label)  # noqa: S704 - nothing but numbers


qr_code: Final = functools.lru_cache(_KEPT)(draw_qr_code)  # not for what holds a secret

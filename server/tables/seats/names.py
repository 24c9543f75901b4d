"""Players' names: which may be shown, and which could pass for each other."""

import functools
import unicodedata

from protocol.codes import Code
from protocol.text import mixes_alphabets, unsafe
from server.refusal import Refusal
from server.tables.seats.confusables import skeleton


def check_name(name: str) -> None:
    """Raise Refusal unless `name` may be shown to others and is what it looks like."""
    if (reason := unsafe(name)) is not None:
        raise Refusal(Code(f"name-{reason.fault}"), **reason.about)
    if mixes_alphabets(name):
        raise Refusal(Code.NAME_MIXED_ALPHABETS)


def alike(name: str, other: str) -> bool:
    """Tell whether two names differ by no more than case, spaces, marks that do not show, or look-alikes."""
    return not looks(name).isdisjoint(looks(other))


@functools.lru_cache(maxsize=4096)  # every name of the most tables that a server has by default
def looks(name: str) -> frozenset[str]:
    """Return what the name may be mistaken for: as it is, by its letters, and letter for letter."""
    plain = unicodedata.normalize("NFKC", name)
    return frozenset(
        {_folded(plain), *(_folded(skeleton(form)).replace("vv", "w") for form in (name, plain))}
    )


def _folded(name: str) -> str:
    """Return Unicode's compatibility caseless form, unspaced."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    shown = (letter for letter in folded if "VARIATION SELECTOR" not in unicodedata.name(letter, ""))
    return "".join("".join(shown).split())

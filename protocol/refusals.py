"""The sentence of a refusal, from its code and its facts."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from engine.errors import Fault, Template
from protocol.codes import Code

REFUSAL_TEXTS: Final[Mapping[str, Template]] = MappingProxyType({code: code.text for code in (*Code, *Fault)})
# The sentences of refusals that pass by themselves: then the facts have the `seconds` until another attempt.
_PASSING_TEXTS: Final[Mapping[str, Template]] = MappingProxyType(
    {
        Code.NOT_STORED: Template(
            "The server cannot store that just now, so nothing has changed. Try again in a moment."
        ),
        Code.TABLE_CLOSED: Template(
            "Table {table} had to make room for another one. Its game is kept. Come back later."
        ),
    }
)
_SEATS: Final = frozenset({"seat", "last_seat", "free_seats"})  # facts that count seats from 0


def refusal_template(code: str, about: Mapping[str, str]) -> Template:
    """Return the sentence for a code and these facts, not yet filled in; raises KeyError if there is none."""
    template = _PASSING_TEXTS.get(code) if "seconds" in about else None
    return REFUSAL_TEXTS[code] if template is None else template


def sentence(template: str, about: Mapping[str, str]) -> str:
    """Return the sentence of a refusal: people count seats from 1.

    Raises LookupError if it needs a fact that `about` does not have.
    """
    facts = {name: _from_one(fact) if name in _SEATS else fact for name, fact in about.items()}
    return template.format_map(facts)


def _from_one(seats: str) -> str:
    return ", ".join(str(int(seat) + 1) if seat.isdecimal() else seat for seat in seats.split(", "))

"""Signs: a handful of remarks that are one touch, and that each reader is told in their own language.

On the wire a sign is a remark like any other, so those who mute somebody, or read what was said before, need
nothing else, and older clients show the sign itself.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from client.language import N_, _

SIGNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "👏": N_("Well played!"),
        "🎉": N_("Hooray!"),
        "😮": N_("Oh!"),
        "😅": N_("That was close."),
        "🤔": N_("Let me think."),
        "🙏": N_("Sorry!"),
    }
)


def in_words(text: str) -> str:
    """Return a remark in words if it is a sign, which not every terminal can show."""
    return _(SIGNS[text]) if text in SIGNS else text

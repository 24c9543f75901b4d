"""Names in sentences: the player's own name is "you", and bots are called without their levels."""

from collections import Counter
from collections.abc import Sequence

from client.language import _
from protocol.bot_names import person_of


class OwnName(str):
    """The name of the player who reads: sentences about it are in the second person."""

    __slots__ = ()


def by(name: str, of_others: str, of_own: str) -> str:
    """Return the sentence in the third person, or in the second if the name is the reader's own."""
    return of_own if isinstance(name, OwnName) else of_others


def marked(names: Sequence[str], own: int | None) -> tuple[str, ...]:
    """Return the names, the one of the reader's own seat marked as such."""
    return tuple(OwnName(name) if seat == own else name for seat, name in enumerate(names))


def called(name: str) -> str:
    """Return a name for lists and for the middle of a sentence."""
    return by(name, name, _("you"))


def in_sentences(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names without the levels of bots, except where two would then be the same."""
    often = Counter(person_of(name).casefold() for name in names)
    return tuple(
        name if isinstance(name, OwnName) or often[person_of(name).casefold()] > 1 else person_of(name)
        for name in names
    )

"""Names in sentences: the player's own name is "you"."""

from client.language import _


class OwnName(str):
    """The name of the player who reads: sentences about it are in the second person."""

    __slots__ = ()


def by(name: str, of_others: str, of_own: str) -> str:
    """Return the sentence in the third person, or in the second if the name is the reader's own."""
    return of_own if isinstance(name, OwnName) else of_others


def called(name: str) -> str:
    """Return a name as it stands in lists, and in the middle of a sentence."""
    return by(name, name, _("you"))

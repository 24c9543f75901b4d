"""Players' names: the default, and what is wrong with a name."""

import getpass
import re
from typing import Final

from client.language import _
from client.network.refusals import describe_unsafe_name
from protocol.limits import NAME_LENGTH
from protocol.text import unsafe

_GUEST_WORD: Final = re.compile(r"(?:[a-z]{4}-){3}[a-z]{4}", re.IGNORECASE)  # as ssh guests are told one


def default_name() -> str:
    """Return the name of this computer's user, or `Player` where that cannot be shown."""
    try:
        name = getpass.getuser()[:NAME_LENGTH].strip()
    except (OSError, KeyError, ImportError):  # no such user, or no such thing as users
        return _("Player")
    return _("Player") if unsafe(name) else name


def fault_of(name: str) -> str | None:
    """Return what is wrong with a player's name, None if nothing is."""
    if len(name) > NAME_LENGTH:
        return _("The name is too long: at most {most} characters.").format(most=NAME_LENGTH)
    if _GUEST_WORD.fullmatch(name):
        return _("That is a secret word to come back with over ssh: as a name, everybody would read it.")
    found = unsafe(name)
    return None if found is None else describe_unsafe_name(found)

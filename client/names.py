"""The name a player goes by when none was given."""

import getpass

from client.language import _
from protocol.limits import NAME_LENGTH
from protocol.text import unsafe


def default_name() -> str:
    """Return the name of this computer's user, or `Player` where that cannot be shown."""
    try:
        name = getpass.getuser()[:NAME_LENGTH].strip()
    except (OSError, KeyError, ImportError):  # no such user, or no such thing as users
        return _("Player")
    return _("Player") if unsafe(name) else name

"""Asking before something is done for good."""

import sys
from collections.abc import Iterable

from client.language import _, yes_letters
from commands.parsing import WrongUse


def confirmed(lines: Iterable[str], question: str) -> bool:
    """Show what it is about and ask; raises WrongUse without a terminal."""
    if not sys.stdin.isatty():
        raise WrongUse(_("cannot ask for confirmation without a terminal: add --yes to remove without it"))
    print(*lines, sep="\n")
    yes = _("y")
    try:
        answer = input(f"{question} [{yes}/N] ")
    except EOFError:
        answer = ""
    return answer.strip().casefold() in yes_letters()

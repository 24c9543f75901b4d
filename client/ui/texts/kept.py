"""Seats, games and files that are kept on this computer."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from client.language import _, describe_reason, listed
from engine.errors import DamagedRecord


def saved_as(path: Path) -> str:
    return _("Saved as {file} in {folder}.").format(file=path.name, folder=path.parent)


def not_saved(path: Path, error: OSError) -> str:
    return _("Cannot write {file}: {reason}.").format(file=path, reason=describe_reason(error))


def nothing_saved_here() -> str:
    return _("You are playing on another computer's screen, so no files can be saved for you.")


def bad_record(error: DamagedRecord) -> str:
    reason = _(error.text).format(**error.about)
    return _("The server sent a record that cannot be read: {reason}.").format(reason=reason)


def your_seat() -> str:
    return _("your seat")


def back_in_seat(name: str) -> str:
    return _("You are back in your seat, as {name}.").format(name=name)


def seat_lost(table: str) -> str:
    return _("Your seat at table {table} is no longer kept for you.").format(table=table)


def seat_not_kept(error: OSError) -> str:
    return _("Your seat cannot be saved for later ({error}): stay until the game is over.").format(
        error=describe_reason(error)
    )


def seats_not_read(error: OSError) -> str:
    return _("The seats saved on this computer cannot be read ({error}).").format(
        error=describe_reason(error)
    )


def seat_damaged(path: Path) -> str:
    return _("A seat saved on this computer cannot be read and is ignored: {path}").format(path=path)


def how_to_continue() -> str:
    """Return what to say on leaving a game against bots."""
    told_first = _("The game is kept. Continue it on the start screen, or with")
    return f"{told_first}\n  palatinus play --continue"


def game_not_kept(reason: str) -> str:
    return _("This game cannot be kept for later ({reason}).").format(reason=reason)


def game_not_continued(folder: Path, reason: str) -> str:
    return _("The game in {folder} cannot be continued ({reason}). It was left untouched.").format(
        folder=folder, reason=reason
    )


def games_damaged(folders: Sequence[Path]) -> str:
    return _("A saved game cannot be read, and was left untouched: {folders}").format(
        folders=listed(map(str, folders))
    )


def how_to_come_back(address: str, table: str, name: str | None) -> str:
    """Return what to say on leaving a running game; `name` if it is needed to find the seat again."""
    named = "" if name is None else f" --name {shlex.quote(name)}"
    told_first = _("The game goes on, and your seat is kept. Come back with")
    return f"{told_first}\n  palatinus join {address} {table}{named}"

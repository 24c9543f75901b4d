"""What a list of tables says of a stored one."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from protocol.messages import Stage
from server.storage.entries import BotSeated, Ended, Entry, Freed, Kept, Opened, Played, StoodIn, Taken


class Contents(Struct, frozen=True):
    """What a table's entries say of its game: the players' names by seat, empty ones for free seats."""

    stage: Stage
    names: tuple[str, ...]
    moves: int


def contents(entries: Iterable[Entry]) -> Contents:
    """Return what the entries say, without replaying the game: there may be thousands of tables."""
    names: dict[int, str] = {}
    kinds: list[Any] = []
    for entry in entries:
        match entry:
            case Opened(players):
                names = dict.fromkeys(range(players), "")
            case Taken(seat, name) | Kept(seat, name) | BotSeated(seat, _, name):
                names[seat] = name
            case Freed(seat):
                names[seat] = ""
            case Played() | StoodIn():
                kinds += [event.get("t") for event in entry.events]
            case Ended():
                kinds.append("ended")
    return Contents(_stage(kinds), tuple(names.values()), kinds.count("laid") + kinds.count("placed"))


def _stage(kinds: list[Any]) -> Stage:
    if not kinds:
        return "gathering"
    return "over" if "ended" in kinds else "playing"

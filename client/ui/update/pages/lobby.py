"""What keys and clicks do in the lobby: choosing a table, and setting a new one up."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from msgspec import structs

from client.language import _
from client.ui.update import requests
from client.ui.update.actions import Act, Action, ChooseLine, Pick, Way
from client.ui.update.entry import Asked, Entry
from client.ui.update.requests import Open, Request
from client.ui.update.state import Lobby, Notice, Ui
from engine.pieces import Seat
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, MoveClock, Wait
from protocol.messages import TableSummary

# The first of each is the default.
_SECONDS: Final[Mapping[type[MoveClock | GameClock | ByVote | ByBot], tuple[int, ...]]] = MappingProxyType(
    {
        MoveClock: (60, 120, 300, 600, 86_400, 15, 30),
        GameClock: (900, 1800, 3600, 7200, 300, 600),
        ByVote: (60, 120, 300, 600, 0, 30),
        ByBot: (60, 120, 300, 600, 0, 30),
    }
)
_KINDS: Final = tuple(_SECONDS)


def acted(ui: Ui, lobby: Lobby, action: Action) -> tuple[Ui, Request | None]:
    """Return the UI state after a key or a click in the lobby, and what is asked of the server."""
    last = len(lobby.tables)  # the line that opens a new table
    match action:
        case Way():
            chosen = lobby.chosen + (1 if action is Way.DOWN else -1)
            return _at_line(ui, lobby, min(max(chosen, 0), last)), None
        case ChooseLine(number) if number != lobby.chosen:
            return _at_line(ui, lobby, number), None
        case Act.CONFIRM | ChooseLine():
            if lobby.chosen < last:
                return ui, _entrance(lobby.tables[lobby.chosen], lobby.kept_seats)
            return ui, ui.new_table
        case Act.WATCH if lobby.chosen < last:
            return ui, requests.Watch(lobby.tables[lobby.chosen].table)
        case Act.WATCH:
            return replace(ui, notice=Notice(_("Use the arrow keys to choose a table to watch."))), None
        case Act.OPEN:
            return _at_line(ui, lobby, last), ui.new_table
        case Act.REFRESH:
            return ui, requests.Refresh()
        case Act.NAME:
            return replace(ui, entry=Entry(asks=Asked.NAME).filled(ui.name)), None
        case Act.REVIEW if ui.hosting.lists_games:
            return ui, requests.LookBack()
        case Act.LEAVE:
            return ui, requests.GoHome()
        case _ if (table := _set_up(ui.new_table, action)) is not None:
            return replace(_at_line(ui, lobby, last), new_table=table), None
        case _:
            return ui, None


def _at_line(ui: Ui, lobby: Lobby, number: int) -> Ui:
    return replace(ui, page=replace(lobby, chosen=number))


def _set_up(table: Open, action: Action) -> Open | None:
    """Return the new table as it is after a key that sets it up; None if it is another key."""
    match action:
        case Pick(number):
            starting = None if table.starting is None or table.starting >= number else table.starting
            return structs.replace(table, players=number, starting=starting)
        case Act.LAYOUT:
            return structs.replace(table, random_layout=not table.random_layout)
        case Act.PRIVATE:
            return structs.replace(table, private=not table.private)
        case Act.HINTS:
            return structs.replace(table, hints=not table.hints)
        case Act.STARTING:
            return structs.replace(table, starting=_next_to_start(table))
        case Act.ABSENCE:
            return structs.replace(table, absence=_next_kind(table.absence))
        case Act.MORE | Act.LESS:
            return structs.replace(table, absence=_timed(table.absence, action))
        case _:
            return None


def _next_to_start(table: Open) -> Seat | None:
    """Return the seat after the one that starts; a draw comes after the last one."""
    following = 0 if table.starting is None else table.starting + 1
    return Seat(following) if following < table.players else None


def _entrance(table: TableSummary, kept: frozenset[str]) -> Request:
    """Return how to enter the table: as a player, or, if it is too late for that, as a spectator."""
    if table.stage == "gathering" or table.vacant or table.table in kept:
        return requests.Join(table.table)
    return requests.Watch(table.table)


def _next_kind(policy: Absence) -> Absence:
    if isinstance(policy, Wait):
        kind = _KINDS[0]
    elif isinstance(policy, _KINDS[-1]):
        return WAIT
    else:
        kind = _KINDS[_KINDS.index(type(policy)) + 1]
    return kind(_SECONDS[kind][0])


def _timed(policy: Absence, action: Action) -> Absence:
    """Return the policy with the next longer or shorter time that can be picked, if there is one."""
    if isinstance(policy, Wait):
        return policy
    seconds, choices = policy.seconds, _SECONDS[type(policy)]
    if action is Act.MORE:
        return type(policy)(min((each for each in choices if each > seconds), default=seconds))
    return type(policy)(max((each for each in choices if each < seconds), default=seconds))

"""What a key does before a game: choosing a table, setting a new one up, waiting at it."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from client.language import _
from client.ui.update import requests
from client.ui.update.actions import Act, Action, ChooseLine, Pick, Way
from client.ui.update.requests import Request
from client.ui.update.state import Notice, Ui
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, MoveClock, Wait
from protocol.messages import TableLine

# The first of each is the usual one.
_SECONDS: Final[Mapping[type[MoveClock | GameClock | ByVote | ByBot], tuple[int, ...]]] = MappingProxyType(
    {
        MoveClock: (60, 120, 300, 600, 86_400, 15, 30),
        GameClock: (900, 1800, 3600, 7200, 300, 600),
        ByVote: (60, 120, 300, 600, 0, 30),
        ByBot: (60, 120, 300, 600, 0, 30),
    }
)
_KINDS: Final = tuple(_SECONDS)


def acted(ui: Ui, action: Action) -> tuple[Ui, Request | None]:
    """Return the UI state after a key or a click in the lobby, and what is asked of the server."""
    lines = len(ui.tables) + 1  # the last one opens a new table
    match action:
        case Way():
            by = 1 if action is Way.DOWN else -1
            return replace(ui, chosen=min(max(ui.chosen + by, 0), lines - 1)), None
        case ChooseLine(number) if number != ui.chosen:
            return replace(ui, chosen=number), None
        case Act.CONFIRM | ChooseLine():
            if ui.chosen < len(ui.tables):
                return ui, _entrance(ui.tables[ui.chosen], ui.kept_seats)
            return ui, opening(ui)
        case Act.WATCH if ui.chosen < len(ui.tables):
            return ui, requests.Watch(ui.tables[ui.chosen].table)
        case Act.WATCH:
            return replace(ui, notice=Notice(_("Use the arrow keys to choose a table to watch."))), None
        case Act.OPEN:
            return replace(ui, chosen=lines - 1), opening(ui)
        case Pick(number):
            return replace(ui, players=number, chosen=lines - 1), None
        case Act.LAYOUT:
            return replace(ui, random_layout=not ui.random_layout, chosen=lines - 1), None
        case Act.ABSENCE:
            return replace(ui, absence=_next_kind(ui.absence), chosen=lines - 1), None
        case Act.MORE | Act.LESS:
            return replace(ui, absence=_timed(ui.absence, action), chosen=lines - 1), None
        case Act.REFRESH:
            return ui, requests.Refresh()
        case Act.LEAVE if ui.hosting.home:
            return ui, requests.GoHome()
        case _:
            return ui, None


def opening(ui: Ui) -> requests.Open:
    """Return the request for a table as it is set up."""
    return requests.Open(ui.players, ui.random_layout, ui.absence)


def _entrance(table: TableLine, kept: frozenset[str]) -> Request:
    """Return how the table can be entered: who may not play there any more may still watch."""
    if table.stage == "gathering" or table.table in kept:
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


def waiting(ui: Ui, action: Action) -> tuple[Ui, Request | None]:
    """Return the same for a table that has not begun."""
    match action:
        case Act.START:
            return ui, requests.Start()
        case Act.LEAVE:
            return ui, requests.Leave()
        case Act.SEAT_BOT if ui.hosting.bots:
            return ui, requests.SeatBot()
        case Act.SEAT_BOT:
            return replace(
                ui, notice=Notice(_("To add a bot, run the command above in another terminal."))
            ), None
        case _:
            return ui, None

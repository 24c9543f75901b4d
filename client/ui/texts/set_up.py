"""How a table is set up."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from client.language import N_, _
from client.ui.texts.times import span
from protocol.absence import Absence, ByBot, ByVote, GameClock, MoveClock, Wait
from protocol.messages import Stage, TableState, TableSummary
from protocol.settings import Hints, Private, Quiet, Setting, Spectators

_STAGES: Final = {"gathering": N_("waiting for players"), "playing": N_("playing"), "over": N_("over")}


class Switch(NamedTuple):
    """An on-off setting: its command, its help text, and the texts for on and off."""

    verb: str
    help: str
    setting: Callable[[bool], Setting]
    is_on: Callable[[TableState | TableSummary], bool]
    on: str
    off: str

    def describe(self, *, on: bool) -> str:
        return _(self.on if on else self.off)


PRIVATE: Final = Switch(
    "private",
    N_("found only by its code, or listed"),
    Private,
    attrgetter("private"),
    N_("the table is private: it can be found only by its code"),
    N_("the table is in the list"),
)
SPECTATORS: Final = Switch(
    "spectators",
    N_("whether the table may be watched"),
    Spectators,
    lambda table: not table.no_spectators,
    N_("spectators may watch"),
    N_("the table is closed to spectators"),
)
HINTS: Final = Switch(
    "hints",
    N_("whether players may have moves suggested"),
    Hints,
    attrgetter("hints"),
    N_("players may have moves suggested"),
    N_("there are no hints"),
)
QUIET: Final = Switch(
    "quiet",
    N_("whether players hear spectators while a game runs"),
    Quiet,
    attrgetter("quiet"),
    N_("players do not hear spectators while a game runs"),
    N_("players hear what spectators say"),
)
SWITCHES: Final = (PRIVATE, SPECTATORS, HINTS, QUIET)


def describe_starting(seat: int | None, names: Sequence[str]) -> str:
    if seat is None:
        return _("a draw decides who starts")
    return _("{name} starts").format(name=names[seat])


def describe_stage(stage: Stage, *, full: bool = False) -> str:
    """Return what a table is doing; `full` if no seat is free."""
    return _("waiting to start") if full and stage == "gathering" else _(_STAGES[stage])


def describe_policy(policy: Absence) -> str:
    """Return what happens at a table when a player is away or slow."""
    match policy:
        case Wait():
            return _("the game waits for anyone who is away")
        case MoveClock(seconds):
            return _("{time} per move, then a bot makes it").format(time=span(seconds))
        case GameClock(seconds):
            return _("{time} per player for the whole game, then a bot plays").format(time=span(seconds))
        case ByVote(0):
            return _("a player who is away may be replaced by a bot at once, by vote")
        case ByVote(seconds):
            return _("after {time} away, a player may be replaced by a bot, by vote").format(
                time=span(seconds)
            )
        case ByBot(0):
            return _("a bot plays at once for anyone who is away")
        case ByBot(seconds):
            return _("after {time} away, a bot plays for that player").format(time=span(seconds))

"""How a table is set up."""

from collections.abc import Sequence
from typing import Final

from client.language import N_, _
from client.ui.texts.times import span
from protocol.absence import Absence, ByBot, ByVote, GameClock, MoveClock, Wait
from protocol.messages import Stage

_STAGES: Final = {"gathering": N_("waiting for players"), "playing": N_("playing"), "over": N_("over")}


def describe_private(*, private: bool) -> str:
    if private:
        return _("the table is private: it can be found only by its code")
    return _("the table is in the list")


def describe_spectators(*, allowed: bool) -> str:
    return _("spectators may watch") if allowed else _("the table is closed to spectators")


def describe_hints(*, allowed: bool) -> str:
    return _("players may have moves suggested") if allowed else _("there are no hints")


def describe_quiet(*, quiet: bool) -> str:
    if quiet:
        return _("players do not hear spectators while a game runs")
    return _("players hear what spectators say")


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

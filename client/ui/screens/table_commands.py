"""Typed commands about the table itself: what players settle before the game, and what its host may do."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from client.language import _
from client.tables.table import TableModel
from client.typed.absence import BadPolicy, policy_named
from client.ui.requests import Misread, Request
from client.ui.screens.menu import choosers, free_seats, speakers, swapped
from client.ui.talk import Mute
from client.ui.texts.people import PEOPLES, people_named, spectator_name
from engine.pieces import People
from protocol.limits import TITLE_LENGTH
from protocol.messages import (
    NEW,
    Arrange,
    AskPause,
    ChangeSeat,
    ChangeSetting,
    ChoosePeople,
    Dismiss,
    EndGame,
    HandOver,
    Remove,
    SayReady,
    SubstituteNow,
    TableState,
)
from protocol.settings import AbsenceSetting, Hints, Private, Quiet, Spectators, Starting, Title

_ON_OR_OFF: Final = {"on": True, "off": False}
_OF_A_SEAT: Final[Mapping[str, Callable[[int], Request]]] = {
    "remove": partial(Remove, NEW),
    "host": partial(HandOver, NEW),
    "stand-in": partial(SubstituteNow, NEW),
}
VERBS: Final = (
    "ready",
    "seat",
    "people",
    "pause",
    "title",
    "private",
    "spectators",
    "hints",
    "quiet",
    "starts",
    "absence",
    "swap",
    "shuffle",
    "remove",
    "host",
    "stand-in",
    "end",
)


def meaning(verb: str, words: Sequence[str], model: TableModel) -> Request | Misread:
    """Return what a line with one of `VERBS` and further words asks for."""
    if (state := model.state) is None:
        return Misread(_("You are not at a table. Open or join one first."), mistyped=False)
    rest = " ".join(words)
    match verb, words:
        case "ready", []:
            return SayReady(NEW, on=True)
        case "ready", [answer] if answer in _ON_OR_OFF:
            return SayReady(NEW, _ON_OR_OFF[answer])
        case "pause", []:
            return AskPause(NEW, on=True)
        case "pause", [answer] if answer in _ON_OR_OFF:
            return AskPause(NEW, _ON_OR_OFF[answer])
        case "seat", [place] if place in map(str, range(1, len(state.seats) + 1)):
            return ChangeSeat(NEW, int(place) - 1)
        case "people", ["any"]:
            return ChoosePeople(NEW, None)
        case "people", _words if (people := people_named(rest)) is not None:
            return ChoosePeople(NEW, people)
        case "title", _words if len(rest) <= TITLE_LENGTH:
            return ChangeSetting(NEW, Title(rest))
        case "private", [answer] if answer in _ON_OR_OFF:
            return ChangeSetting(NEW, Private(_ON_OR_OFF[answer]))
        case "spectators", [answer] if answer in _ON_OR_OFF:
            return ChangeSetting(NEW, Spectators(_ON_OR_OFF[answer]))
        case "hints", [answer] if answer in _ON_OR_OFF:
            return ChangeSetting(NEW, Hints(_ON_OR_OFF[answer]))
        case "quiet", [answer] if answer in _ON_OR_OFF:
            return ChangeSetting(NEW, Quiet(_ON_OR_OFF[answer]))
        case "starts", ["random"]:
            return ChangeSetting(NEW, Starting(None))
        case "starts", _words if (seat := _seat(rest, state)) is not None:
            return ChangeSetting(NEW, Starting(seat))
        case "absence", [policy]:
            try:
                return ChangeSetting(NEW, AbsenceSetting(policy_named(policy)))
            except BadPolicy as error:
                return Misread(str(error))
        case "swap", [one, other] if (pair := _pair(one, other, state)) is not None:
            return Arrange(NEW, swapped(len(state.seats), *pair))
        case "shuffle", []:
            return Arrange(NEW, None)
        case "end", ["game"]:
            return EndGame(NEW)
        case "remove" | "host" | "stand-in", _words if (seat := _seat(rest, state)) is not None:
            return _OF_A_SEAT[verb](seat)
        case "remove", _words if (number := _spectator(rest, state)) is not None:
            return Dismiss(NEW, number)
    return Misread(_("Type it like this: {example}").format(example=_EXAMPLES[verb]))


_EXAMPLES: Final = {
    "ready": "ready, ready off",
    "seat": "seat 3",
    "people": f"people {'/'.join(People)}, people any",
    "pause": "pause, pause off",
    "title": "title Friday's game",
    "private": "private on, private off",
    "spectators": "spectators on, spectators off",
    "hints": "hints on, hints off",
    "quiet": "quiet on, quiet off",
    "starts": "starts 2, starts Bob, starts random",
    "absence": "absence bot:60s, absence wait",
    "swap": "swap 1 3",
    "shuffle": "shuffle",
    "remove": "remove Bob",
    "host": "host Bob",
    "stand-in": "stand-in Bob",
    "end": "end game",
}


def mute(verb: str, words: Sequence[str], model: TableModel) -> Mute | Misread:
    """Return whom a line with `mute` or `unmute` is about: a player, a spectator, or all spectators.

    In the lobby it can be anybody, whether they are there or not.
    """
    rest, on = " ".join(words), verb == "mute"
    if (state := model.state) is None:
        return (
            Mute(rest, on)
            if rest
            else Misread(_("Type it like this: {example}").format(example=f"{verb} Bob"))
        )
    if rest == "spectators":
        return Mute(None, on)
    if (seat := _seat(rest, state)) is not None and seat != model.seat and state.seats[seat].name:
        return Mute(state.seats[seat].name, on)
    if rest and ((number := _spectator(rest, state)) is not None or not on):
        name = next((each.name for each in state.watching if each.number == number), rest)
        return Mute(name or rest, on)  # one who has left can still be heard again
    return Misread(_("Type it like this: {example}").format(example=f"{verb} Bob, {verb} spectators"))


def lines_about(names: Iterable[str]) -> Iterator[str]:
    """Yield how people in the lobby can be muted."""
    yield from (f"{verb} {name}" for name in names for verb in ("mute", "unmute"))


def mute_lines(model: TableModel) -> Iterator[str]:
    """Yield whom anybody can mute."""
    state = model.state
    if state is None:
        return
    names = [state.seats[seat].name for seat in speakers(model, state)]
    watching = [spectator_name(each.number, each.name) for each in state.watching]
    yield from (f"{verb} {who}" for verb in ("mute", "unmute") for who in ("spectators", *names, *watching))


def _seat(text: str, state: TableState) -> int | None:
    """Return the seat with that number, or with a player of that name."""
    wanted = text.casefold()
    named = (
        seat
        for seat, each in enumerate(state.seats)
        if wanted and wanted in {str(seat + 1), (each.name or "").casefold()}
    )
    return next(named, None)


def _pair(one: str, other: str, state: TableState) -> tuple[int, int] | None:
    first, second = _seat(one, state), _seat(other, state)
    return None if first is None or second is None or first == second else (first, second)


def _spectator(text: str, state: TableState) -> int | None:
    wanted = text.casefold()
    named = (
        each.number for each in state.watching if wanted == spectator_name(each.number, each.name).casefold()
    )
    return next(named, None)


def lines(model: TableModel) -> Iterator[str]:
    """Yield what the player can type now, with what only the host may do."""
    state = model.state
    if state is None or model.seat is None:
        return
    if state.stage == "gathering":
        yield from ("ready", "ready off", *(f"seat {seat + 1}" for seat in free_seats(state)))
        free = (people for people in People if people not in choosers(state))
        yield from (*(f"people {_(PEOPLES[people])}" for people in free), "people any")
    if state.stage == "playing":
        yield from ("pause", "pause off")
    if model.seat != state.host:
        return
    names = [each.name for seat, each in enumerate(state.seats) if each.name and seat != model.seat]
    yield "title "
    yield from ("private on", "private off", "spectators on", "spectators off", "hints on", "hints off")
    yield from ("quiet on", "quiet off")
    if state.stage == "gathering":
        yield from (f"bot remove {each.name}" for each in state.seats if each.level is not None)
        yield from (
            "shuffle",
            "swap ",
            "starts random",
            *(f"starts {each.name}" for each in state.seats if each.name),
        )
    if state.stage == "playing":
        yield from (f"stand-in {name}" for name in names)
        yield "end game"
    yield "absence "
    yield from (f"remove {name}" for name in names)
    yield from (f"remove {spectator_name(each.number, each.name)}" for each in state.watching)
    yield from (f"host {name}" for name in names)

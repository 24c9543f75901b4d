"""Typed commands about the table itself: what players settle before the game, and what its host may do."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from client.language import N_, _, current_language
from client.tables.table import TableModel
from client.typed_text import BadText, policy_named
from client.ui.requests import Misread, Request
from client.ui.screens.menu import END, HAND_OVER, SUBSTITUTE, choosers, free_seats, speakers, swapped
from client.ui.state import Mute
from client.ui.texts.pieces import PEOPLES, people_named
from client.ui.texts.tables import SWITCHES, Switch, spectator_name
from client.ui.texts.times import moment_named
from engine.pieces import People
from protocol.limits import ADDRESS_LENGTH, HOLIDAYS, LEVEL_LENGTH, NOTICE_CODE_LENGTH, TITLE_LENGTH
from protocol.messages import (
    NEW,
    Arrange,
    Ask,
    AskPause,
    CallMe,
    ChangeSeat,
    ChangeSetting,
    ChoosePeople,
    ConfirmCall,
    Dismiss,
    EndGame,
    HandOver,
    Remove,
    SayReady,
    SeatBot,
    Stage,
    StartGame,
    SubstituteNow,
    TableState,
    TakeHoliday,
)
from protocol.settings import AbsenceSetting, Holidays, Starting, Title

Read: TypeAlias = Callable[[str, TableState], Request | Misread | None]

_LEVEL: Final = re.compile(rf"[a-z][a-z0-9-]{{0,{LEVEL_LENGTH - 1}}}")
_ON_OR_OFF: Final = {"on": True, "off": False}


class TableCommand(NamedTuple):
    """A command: `typed` is what the help shows, and begins with the verb.

    `read` returns what the text after the verb asks for, None if it makes no sense; `texts` are those that
    the line can be completed with, "..." where anything can be typed.
    """

    typed: str
    help: str
    read: Read
    texts: Iterable[str] | Callable[[TableModel, TableState], Iterable[str]]
    stage: Stage | None = None  # in which it can be used, None in all
    host: bool = True

    @property
    def verb(self) -> str:
        return re.split("[ ,]", self.typed)[0]

    @property
    def example(self) -> str:
        parts = self.typed.split(", ")
        return ", ".join(part if part.startswith(self.verb) else f"{self.verb} {part}" for part in parts)

    def lines(self, model: TableModel, state: TableState) -> Iterator[str]:
        for text in self.texts(model, state) if callable(self.texts) else self.texts:
            yield f"{self.verb} {text}".removesuffix("...").rstrip() + (" " if text == "..." else "")


def _more_time(_id: int, on: bool) -> Request:
    return Ask(NEW, "more-time", on)


def _make(kind: Callable[..., Request], value: object | None) -> Request | None:
    return None if value is None else kind(NEW, value)


def _exactly(text: str, request: Request) -> Read:
    return lambda said, _state: request if said == text else None


def _of_switch(kind: Callable[..., Request]) -> Read:
    return lambda text, _state: _make(kind, {"": True, **_ON_OR_OFF}.get(text))


def _of_seat(kind: Callable[..., Request]) -> Read:
    return lambda text, state: _make(kind, _seat(text, state))


def _place(text: str, state: TableState) -> Request | None:
    return ChangeSeat(NEW, int(text) - 1) if text in map(str, range(1, len(state.seats) + 1)) else None


def _people(text: str, _state: TableState) -> Request | None:
    return ChoosePeople(NEW, None) if text == "any" else _make(ChoosePeople, people_named(text))


def _pause(text: str, state: TableState) -> Request | Misread | None:
    verb, _space, moment = text.partition(" ")
    if verb != "until":
        return _of_switch(AskPause)(text, state)
    try:
        return AskPause(NEW, on=True, until=moment_named(moment, datetime.now()))  # noqa: DTZ005 - local time
    except BadText as error:
        return Misread(str(error))


def _notify(text: str, _state: TableState) -> Request | None:
    if re.fullmatch(rf"\d{{{NOTICE_CODE_LENGTH}}}", text, re.ASCII):
        return ConfirmCall(NEW, text)
    if text == "off":
        return CallMe(NEW)
    fits = ("@" in text or "://" in text) and len(text) <= ADDRESS_LENGTH
    return CallMe(NEW, text, current_language()) if fits else None


def _title(text: str, _state: TableState) -> Request | None:
    return ChangeSetting(NEW, Title(text)) if len(text) <= TITLE_LENGTH else None


def _absence(text: str, _state: TableState) -> Request | Misread | None:
    try:
        return ChangeSetting(NEW, AbsenceSetting(policy_named(text))) if len(text.split()) == 1 else None
    except BadText as error:
        return Misread(str(error))


def _holidays(text: str, _state: TableState) -> Request | None:
    fits = re.fullmatch(r"\d{1,2}", text, re.ASCII) and int(text) <= HOLIDAYS
    return ChangeSetting(NEW, Holidays(int(text))) if fits else None


def _starts(text: str, state: TableState) -> Request | None:
    seat = _seat(text, state)
    return ChangeSetting(NEW, Starting(seat)) if text == "random" or seat is not None else None


def _swap(text: str, state: TableState) -> Request | None:
    match [_seat(each, state) for each in text.split()]:
        case [int(one), int(other)] if one != other:
            return Arrange(NEW, swapped(len(state.seats), one, other))
    return None


def _bot(text: str, state: TableState) -> Request | Misread | None:
    if state.stage != "gathering":
        too_late = _("The game has begun: no bot can take a seat. See the table's menu.")
        return Misread(too_late, mistyped=False)
    verb, _space, name = text.partition(" ")
    if verb == "remove":
        return _remove(name, state)
    return SeatBot(NEW, text.lower()) if not text or _LEVEL.fullmatch(text.lower()) else None


def _remove(text: str, state: TableState) -> Request | None:
    return _make(Remove, _seat(text, state)) or _make(Dismiss, _spectator(text, state))


def _others(model: TableModel, state: TableState) -> list[str]:
    return [each.name for seat, each in enumerate(state.seats) if each.name and seat != model.seat]


def _removable(model: TableModel, state: TableState) -> list[str]:
    return [*_others(model, state), *(spectator_name(each.number, each.name) for each in state.watching)]


def _switch(switch: Switch) -> TableCommand:
    def read(text: str, _state: TableState) -> Request | None:
        return ChangeSetting(NEW, switch.setting(_ON_OR_OFF[text])) if text in _ON_OR_OFF else None

    return TableCommand(f"{switch.verb} on, off", switch.help, read, _ON_OR_OFF)


_CONSENT: Final = N_("pause (until fri 20:00), time, holiday; off: end it")
_SEAT_OR_PEOPLE: Final = N_("before the game: take a free seat, choose a people")
_SEATS: Final = N_("swap two seats, shuffle all; before the game")
_BEFORE: Final = "gathering"
TABLE_COMMANDS: Final = (
    TableCommand(
        "ready, ready off",
        N_("you are ready for the game, or not yet"),
        _of_switch(SayReady),
        ("", "off"),
        _BEFORE,
        host=False,
    ),
    TableCommand(
        "seat 3",
        _SEAT_OR_PEOPLE,
        _place,
        lambda _model, state: (str(seat + 1) for seat in free_seats(state)),
        _BEFORE,
        host=False,
    ),
    TableCommand(
        "people S, any",
        _SEAT_OR_PEOPLE,
        _people,
        lambda _model, state: (*(_(PEOPLES[each]) for each in People if each not in choosers(state)), "any"),
        _BEFORE,
        host=False,
    ),
    TableCommand("pause", _CONSENT, _pause, ("", "off", "until ..."), "playing", host=False),
    TableCommand("time", _CONSENT, _of_switch(_more_time), ("", "off"), "playing", host=False),
    TableCommand("holiday", _CONSENT, _of_switch(TakeHoliday), ("", "off"), "playing", host=False),
    TableCommand(
        "notify ann@x.org, off",
        N_("be called while you are away; the code confirms it"),
        _notify,
        ("...", "off"),
        host=False,
    ),
    TableCommand("title Friday", N_("name the table"), _title, ("...",)),
    *map(_switch, SWITCHES),
    TableCommand("holidays 7", N_("days of holiday for each, in games over days"), _holidays, ("...",)),
    TableCommand("absence bot:60s", N_("what happens when a player is away or slow"), _absence, ("...",)),
    TableCommand(
        "starts Bob, random",
        N_("who starts; before the game"),
        _starts,
        lambda _model, state: ("random", *(each.name for each in state.seats if each.name)),
        _BEFORE,
    ),
    TableCommand("swap 1 3", _SEATS, _swap, ("...",), _BEFORE),
    TableCommand("shuffle", _SEATS, _exactly("", Arrange(NEW, None)), ("",), _BEFORE),
    TableCommand(
        "bot slave, remove Bob",
        N_("seat a bot at a level, or remove it; before the game"),
        _bot,
        lambda _model, state: ("", *(f"remove {each.name}" for each in state.seats if each.level)),
        _BEFORE,
    ),
    TableCommand(
        "start", N_("start the game, once every seat is taken"), _exactly("", StartGame(NEW)), ("",), _BEFORE
    ),
    TableCommand(
        "remove Bob", N_("remove a player (in a game: if away) or a spectator"), _remove, _removable
    ),
    TableCommand("stand-in Bob", SUBSTITUTE, _of_seat(SubstituteNow), _others, "playing"),
    TableCommand("host Bob", HAND_OVER, _of_seat(HandOver), _others),
    TableCommand("end game", END, _exactly("game", EndGame(NEW)), ("game",), "playing"),
)
_BY_VERB: Final = {command.verb: command for command in TABLE_COMMANDS}


def meaning(verb: str, text: str, model: TableModel) -> Request | Misread | None:
    """Return the request in a line about the table, from its verb and the rest; None without a verb."""
    if (command := _BY_VERB.get(verb)) is None:
        return None
    if model.state is None:
        return Misread(_("You are not at a table. Open or join one first."), mistyped=False)
    example = _("Type it like this: {example}").format(example=command.example)
    return command.read(text, model.state) or Misread(example)


def lines(model: TableModel) -> Iterator[str]:
    """Yield the commands that the player can type now, including the host's."""
    state = model.state
    if state is None or model.seat is None:
        return
    for command in TABLE_COMMANDS:
        if command.stage in {None, state.stage} and (model.seat == state.host or not command.host):
            yield from command.lines(model, state)


def help_rows(*, host: bool) -> tuple[tuple[str, str], ...]:
    """Return the help on the commands of everybody, or of the host; similar ones share a row."""
    chosen = (command for command in TABLE_COMMANDS if command.host == host)
    return tuple(
        (", ".join(command.typed for command in alike), words)
        for words, alike in groupby(chosen, lambda command: command.help)
    )


def mute(verb: str, rest: str, model: TableModel) -> Mute | Misread:
    """Return whom a line with `mute` or `unmute` is about: a player, a spectator, or all spectators.

    In the lobby it can be anybody, whether they are there or not.
    """
    on, example = verb == "mute", f"{verb} Bob, {verb} spectators"
    if (state := model.state) is None:
        if rest:
            return Mute(rest, on)
        return Misread(_("Type it like this: {example}").format(example=f"{verb} Bob"))
    if rest == "spectators":
        return Mute(None, on)
    if (seat := _seat(rest, state)) is not None and seat != model.seat and state.seats[seat].name:
        return Mute(state.seats[seat].name, on)
    if rest and ((number := _spectator(rest, state)) is not None or not on):
        name = next((each.name for each in state.watching if each.number == number), rest)
        return Mute(name or rest, on)  # one who has left can still be heard again
    return Misread(_("Type it like this: {example}").format(example=example))


def mute_lines(model: TableModel) -> Iterator[str]:
    state = model.state
    if state is None:
        return
    names = [state.seats[seat].name for seat in speakers(model, state)]
    watching = [spectator_name(each.number, each.name) for each in state.watching]
    yield from (f"{verb} {who}" for verb in ("mute", "unmute") for who in ("spectators", *names, *watching))


def seats_named(text: str, names: Iterable[str | None]) -> list[int]:
    """Return the seats that a text means, by their numbers or by the names of their players."""
    wanted = text.casefold()
    seats = enumerate(names)
    return [seat for seat, name in seats if wanted and wanted in {str(seat + 1), (name or "").casefold()}]


def _seat(text: str, state: TableState) -> int | None:
    return next(iter(seats_named(text, (each.name for each in state.seats))), None)


def _spectator(text: str, state: TableState) -> int | None:
    wanted = text.casefold()
    named = (
        each.number for each in state.watching if wanted == spectator_name(each.number, each.name).casefold()
    )
    return next(named, None)

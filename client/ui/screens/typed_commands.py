"""Typed commands: their meaning, their completions, and the help on them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias, get_args

from msgspec.structs import replace

from client.language import N_, _, current_language
from client.tables.table import TableModel
from client.typed_text import (
    SEAT_NUMBERS,
    BadText,
    Misplaced,
    fault_of,
    policy_named,
    seat_to_start,
    seats_meant,
    table_code,
)
from client.ui import requests
from client.ui.at_table import request_to_answer
from client.ui.keys import Act, GoToStop, Handler, Pick
from client.ui.requests import Request
from client.ui.screens.menu import END, HAND_OVER, SUBSTITUTE, choosers, free_seats, speakers, swapped
from client.ui.screens.replay import Replay, all_eyes, no_eyes
from client.ui.state import Mute
from client.ui.texts.pieces import PEOPLES, people_named
from client.ui.texts.tables import ROWS, Row, spectator_name, spectator_number
from client.ui.texts.times import moment_named
from engine.board import FIELDS, ORIENTATIONS, OUTER_POSITIONS, Field
from engine.components import DEALS
from engine.events import LayTile, Place
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import People, Piece
from engine.view import Phase
from protocol import messages
from protocol.codes import Code
from protocol.limits import ADDRESS_LENGTH, HOLIDAYS, LEVEL_LENGTH, NOTICE_CODE_LENGTH, TITLE_LENGTH
from protocol.messages import NEW, TableState
from protocol.settings import AbsenceSetting, Holidays, Starting, Title

Read: TypeAlias = Callable[[str, TableState], Request | None]

_LEVEL: Final = re.compile(rf"[a-z][a-z0-9-]{{0,{LEVEL_LENGTH - 1}}}")
_DRAW: Final = "random"
_SPECTATORS: Final = "spectators"
_ON_OR_OFF: Final = {"on": True, "off": False}
_SWITCHES: Final = frozenset(row.name for row in ROWS)


class TableCommand(NamedTuple):
    """A command: `typed` is what the help shows, and begins with the verb.

    `read` returns what the text after the verb asks for; if it makes no sense it returns None, or raises
    BadText. `texts` are those that the line can be completed with, "..." where anything can be typed.
    """

    typed: str
    help: str
    read: Read
    texts: Iterable[str] | Callable[[TableModel, TableState], Iterable[str]]
    stage: messages.Stage | None = None  # in which it can be used, None in all
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
    return messages.Ask(NEW, "more-time", on)


def _make(kind: Callable[..., Request], value: object | None) -> Request | None:
    return None if value is None else kind(NEW, value)


def _exactly(text: str, request: Request) -> Read:
    return lambda said, _state: request if said == text else None


def _of_switch(kind: Callable[..., Request]) -> Read:
    return lambda text, _state: _make(kind, {"": True, **_ON_OR_OFF}.get(text))


def _of_seat(kind: Callable[..., Request]) -> Read:
    return lambda text, state: _make(kind, _known_seat(text, state))


def _known_seat(text: str, state: TableState) -> int | None:
    if (seat := _seat(text, state)) is None:
        _refuse_name(text)
    return seat


def _refuse_name(name: str) -> None:
    """Raise BadText that nobody has this name, if it is one."""
    if name and not name.isdecimal():
        raise BadText(_("Nobody at this table is called {name}.").format(name=name))


def _free_seat(text: str, state: TableState) -> Request | None:
    return (
        messages.ChangeSeat(NEW, int(text) - 1) if text in map(str, range(1, len(state.seats) + 1)) else None
    )


def _people(text: str, _state: TableState) -> Request | None:
    return (
        messages.ChoosePeople(NEW, None)
        if text == "any"
        else _make(messages.ChoosePeople, people_named(text))
    )


def _pause(text: str, state: TableState) -> Request | None:
    verb, _space, moment = text.partition(" ")
    if verb != "until":
        return _of_switch(messages.AskPause)(text, state)
    return messages.AskPause(NEW, on=True, until=moment_named(moment, datetime.now()))  # noqa: DTZ005 - local time


def _holiday(text: str, state: TableState) -> Request | None:
    if not state.holidays and text != "off":  # the host may have changed that during a holiday
        raise Misplaced(_("There are no holidays in this game."))
    return _of_switch(messages.TakeHoliday)(text, state)


def _notify(text: str, _state: TableState) -> Request | None:
    if re.fullmatch(rf"\d{{{NOTICE_CODE_LENGTH}}}", text, re.ASCII):
        return messages.ConfirmCall(NEW, text)
    if text == "off":
        return messages.CallMe(NEW)
    fits = ("@" in text or "://" in text) and len(text) <= ADDRESS_LENGTH
    return messages.CallMe(NEW, text, current_language()) if fits else None


def _title(text: str, _state: TableState) -> Request | None:
    return messages.ChangeSetting(NEW, Title(text)) if len(text) <= TITLE_LENGTH else None


def _absence(text: str, _state: TableState) -> Request | None:
    setting = AbsenceSetting(policy_named(text)) if len(text.split()) == 1 else None
    return _make(messages.ChangeSetting, setting)


def _holidays(text: str, _state: TableState) -> Request | None:
    fits = re.fullmatch(r"\d{1,2}", text, re.ASCII) and int(text) <= HOLIDAYS
    return messages.ChangeSetting(NEW, Holidays(int(text))) if fits else None


def _starts(text: str, state: TableState) -> Request | None:
    if text.casefold() == _DRAW:
        return messages.ChangeSetting(NEW, Starting(None))
    seat = _known_seat(text, state)
    return None if seat is None else messages.ChangeSetting(NEW, Starting(seat))


def _swap(text: str, state: TableState) -> Request | None:
    match [_seat(each, state) for each in text.split()]:
        case [int(one), int(other)] if one != other:
            return messages.Arrange(NEW, swapped(len(state.seats), one, other))
    return None


def _bot(text: str, state: TableState) -> Request | None:
    if state.stage != "gathering":
        raise Misplaced(_("The game has begun: no bot can take a seat. See the table's menu."))
    verb, _space, name = text.partition(" ")
    if verb == "remove":
        return _remove(name, state)
    return messages.SeatBot(NEW, text.lower()) if not text or _LEVEL.fullmatch(text.lower()) else None


def _remove(text: str, state: TableState) -> Request | None:
    if (spectator := _spectator(text, state)) is not None:
        return messages.Dismiss(NEW, spectator)
    return _make(messages.Remove, _known_seat(text, state))


def _others(model: TableModel, state: TableState) -> list[str]:
    return [who for seat, who in _players(state) if seat != model.seat]


def _removable(model: TableModel, state: TableState) -> list[str]:
    return [*_others(model, state), *_watching(state)]


def _players(state: TableState, *words: str) -> Iterator[tuple[int, str]]:
    """Yield the taken seats, and how to type each: by its player's name, unless that means something else.

    The command has `words` of its own.
    """
    for seat, each in enumerate(state.seats):
        if each.name:
            means_it = each.name.casefold() not in words and _seat(each.name, state) == seat
            yield seat, each.name if means_it else str(seat + 1)


def _watching(state: TableState, *words: str) -> Iterator[str]:
    """Yield how to type the spectators, as `_players` does."""
    for each in state.watching:
        name = spectator_name(each.number, each.name)
        means_it = name.casefold() not in words and _spectator(name, state) == each.number
        yield name if means_it else spectator_name(each.number, None)


def _of_row(row: Row) -> TableCommand:
    def read(text: str, _state: TableState) -> Request | None:
        return messages.ChangeSetting(NEW, row.kind(on=_ON_OR_OFF[text])) if text in _ON_OR_OFF else None

    return TableCommand(f"{row.name} on, off", row.help, read, _ON_OR_OFF)


_CONSENT: Final = N_("pause (until fri 20:00), time, holiday; off: end it")
_SEAT_OR_PEOPLE: Final = N_("before the game: take a free seat, choose a people")
_SEATS: Final = N_("swap two seats, shuffle all; before the game")
_BEFORE: Final = "gathering"
TABLE_COMMANDS: Final = (
    TableCommand(
        "ready, ready off",
        N_("you are ready for the game, or not yet"),
        _of_switch(messages.SayReady),
        ("", "off"),
        _BEFORE,
        host=False,
    ),
    TableCommand(
        "seat 3",
        _SEAT_OR_PEOPLE,
        _free_seat,
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
    TableCommand("holiday", _CONSENT, _holiday, ("", "off"), "playing", host=False),
    TableCommand(
        "notify ann@x.org, off",
        N_("be called while you are away; the code confirms it"),
        _notify,
        ("...", "off"),
        host=False,
    ),
    TableCommand("title Friday", N_("name the table"), _title, ("...",)),
    *map(_of_row, ROWS),
    TableCommand("holidays 7", N_("days of holiday for each, in games over days"), _holidays, ("...",)),
    TableCommand("absence bot:60s", N_("what happens when a player is away or slow"), _absence, ("...",)),
    TableCommand(
        "starts Bob, random",
        N_("who starts; before the game"),
        _starts,
        lambda _model, state: (_DRAW, *(who for _seat_of, who in _players(state, _DRAW))),
        _BEFORE,
    ),
    TableCommand("swap 1 3", _SEATS, _swap, ("...",), _BEFORE),
    TableCommand("shuffle", _SEATS, _exactly("", messages.Arrange(NEW, None)), ("",), _BEFORE),
    TableCommand(
        "bot slave, remove Bob",
        N_("seat a bot at a level, or remove it; before the game"),
        _bot,
        lambda _model, state: (
            "",
            *(f"remove {who}" for seat, who in _players(state) if state.seats[seat].level),
        ),
        _BEFORE,
    ),
    TableCommand(
        "start",
        N_("start the game, once every seat is taken"),
        _exactly("", messages.StartGame(NEW)),
        ("",),
        _BEFORE,
    ),
    TableCommand(
        "remove Bob", N_("remove a player (in a game: if away) or a spectator"), _remove, _removable
    ),
    TableCommand("stand-in Bob", SUBSTITUTE, _of_seat(messages.SubstituteNow), _others, "playing"),
    TableCommand("host Bob", HAND_OVER, _of_seat(messages.HandOver), _others),
    TableCommand("end game", END, _exactly("game", messages.EndGame(NEW)), ("game",), "playing"),
)
_BY_VERB: Final = {command.verb: command for command in TABLE_COMMANDS}


def _table_request(command: TableCommand, text: str, model: TableModel) -> Request:
    if model.state is None:
        raise Misplaced(_("You are not at a table. Open or join one first."))
    if (request := command.read(text, model.state)) is None:
        raise BadText(_("Type it like this: {example}").format(example=command.example))
    return request


def _table_lines(model: TableModel) -> Iterator[str]:
    """Yield the commands that the player can type now, including the host's."""
    state = model.state
    if state is None or model.seat is None:
        return
    for command in TABLE_COMMANDS:
        if command.stage in {None, state.stage} and (model.seat == state.host or not command.host):
            yield from command.lines(model, state)


def _help_rows(*, host: bool) -> tuple[tuple[str, str], ...]:
    """Return the help on the commands of everybody, or of the host; similar ones share a row."""
    chosen = (command for command in TABLE_COMMANDS if command.host == host)
    return tuple(
        (", ".join(command.typed for command in alike), words)
        for words, alike in groupby(chosen, lambda command: command.help)
    )


def _mute(verb: str, rest: str, model: TableModel) -> Mute:
    """Return whom a line with `mute` or `unmute` is about: a player, a spectator, or all spectators.

    In the lobby it can be anybody, whether they are there or not.
    """
    on, example = verb == "mute", f"{verb} Bob, {verb} spectators"
    if (state := model.state) is None:
        if rest:
            return Mute(rest, on)
        raise BadText(_("Type it like this: {example}").format(example=f"{verb} Bob"))
    if rest.casefold() == _SPECTATORS:
        return Mute(None, on)
    if (seat := _seat(rest, state)) is not None and seat != model.seat and state.seats[seat].name:
        return Mute(state.seats[seat].name, on)
    if rest and ((number := _spectator(rest, state)) is not None or not on):
        name = next((each.name for each in state.watching if each.number == number), rest)
        return Mute(name or rest, on)  # one who has left can still be heard again
    if seat is None:
        _refuse_name(rest)
    raise BadText(_("Type it like this: {example}").format(example=example))


def _mute_lines(model: TableModel) -> Iterator[str]:
    state = model.state
    if state is None:
        return
    heard = speakers(model, state)
    names = [who for seat, who in _players(state, _SPECTATORS) if seat in heard]
    watching = _watching(state, _SPECTATORS)
    whom = (_SPECTATORS, *names, *watching)
    yield from (f"{verb} {who}" for verb in ("mute", "unmute") for who in whom)


def _seat(text: str, state: TableState) -> int | None:
    """Return the seat that a text means, None if it means none, or a spectator by number."""
    if spectator_number(text) is not None:
        return None
    return next(iter(seats_meant(text, [each.name for each in state.seats])), None)


def _spectator(text: str, state: TableState) -> int | None:
    """Return the number of the spectator that a text means, None if it means none, or a seat."""
    number, wanted = spectator_number(text), text.casefold()
    if number is None and (wanted in SEAT_NUMBERS or _seat(text, state) is not None):
        return None
    meant = (
        each.number
        for each in state.watching
        if each.number == number
        or (number is None and each.name is not None and each.name.casefold() == wanted)
    )
    return next(meant, None)


COMMANDS: Final = (
    ("m* C4", N_("place a merchant with the wolf (m m* f f* s) on C4")),
    ("Lm* C4", N_("the same of your second people (with two players)")),
    ("lay 3 2", N_("lay the tile at position 3, turned twice")),
    ("plan m C4, plan off", N_("a move for your turn, if it fits then; your secret")),
    ("say hello", N_("say something to the table, or in the lobby")),
    ("mute Bob, spectators", N_("mute them; unmute: hear them again")),
    ("vote yes, vote no Bob", N_("to what is asked, or whether a bot plays for Bob")),
    *_help_rows(host=False),
    ("leave, undo", N_("leave (a game keeps your seat); take a move back")),
    ("open 3 random", N_("open a table, tiles at random; starts:2, starts:me")),
    ("open 4 random vote:2m", N_("or wait, move-clock:3d+12h, game-clock:30m, bot:60s")),
    ("join KXQT, watch KXQT", N_("join or watch the table with that code")),
    ("help, rules, quit", N_("open help or rules, or quit")),
)


LOBBY_COMMANDS: Final = (
    ("name Ann", N_("change the name others see")),
    ("open 3 private", N_("open a table that is not in the list")),
    ("open 3 no-spectators", N_("and so for each setting that is on or off")),
)


HOST_COMMANDS: Final = _help_rows(host=True)


REPLAY_COMMANDS: Final = (
    ("go 12, 12", N_("go to move 12")),
    ("go start, go end", N_("go to the start, to the end")),
    ("go scoring", N_("go to the first step of the scoring")),
    ("eyes 1, eyes Ann", N_("see what that seat saw")),
    ("eyes all, eyes none", N_("see everything; see what spectators saw")),
    ("say hello", N_("say something to the table, or in the lobby")),
    ("together", N_("at a table: lead the others, or follow who leads; again: stop")),
    ("study", N_("at a table: go on from here at a new table, open to all")),
    ("leave", N_("stop the analysis, or leave")),
    ("help, rules, quit", N_("open help or rules, or quit")),
)

_PIECE: Final = re.compile(r"([ESLMA])?([MFS])(\*)?", re.IGNORECASE)


Meaning: TypeAlias = Request | Act | Mute
ReplayMeaning: TypeAlias = Handler | Act | Pick | GoToStop | messages.Say

PAGES: Final = ("help", "rules", "quit")
# Lines without arguments; the server refuses those that make no sense where they are typed.
_PLAIN: Final[dict[str, Request | Act]] = {
    **{word: Act[word.upper()] for word in (*PAGES, "undo", "evening", "hint", "menu")},
    **{f"evening {how}": messages.TakePart(NEW, how) for how in get_args(messages.TakesPart)},
    "again": messages.Rematch(NEW),
    "review": requests.Review(),
    "together": requests.Review(together=True),
    "study": requests.JoinStudy(),
    "save": requests.Errand.SAVE_RECORD,
    "picture": requests.Errand.SAVE_PICTURE,
    "leave": messages.Leave(NEW),
    "plan off": messages.Plan(NEW),
}
_ANSWERS: Final = {"yes": True, "no": False}
_LOBBY_WORDS: Final = ("join", "watch", "open", "say", "name ", "refresh", *PAGES)
_TABLE_WORDS: Final = ("say", "leave", *PAGES)
_OTHER_WORDS: Final = ("count", "lay", "mute", "place", "plan", "unmute", "vote")
_REPLAY_WORDS: Final = ("go ", "eyes ", "go start", "go scoring", "go end", "eyes all", "eyes none")


def meaning(text: str, model: TableModel) -> Meaning:
    """Return what a line asks for; raises BadText if it makes no sense, Misplaced if it makes none here."""
    words = text.split()
    match [words[0].lower(), *words[1:]] if words else []:
        case []:
            raise BadText(_("Type a command, for example: {example}").format(example="m* C4"))
        case [*plain] if (plain_meaning := _PLAIN.get(" ".join(plain))) is not None:
            return plain_meaning
        case [("join" | "watch") as verb, code]:
            return (requests.Join if verb == "join" else requests.WatchTable)(table_code(code))
        case ["count" | "counts"]:
            if model.view is None:
                raise Misplaced(_("No game is running here."))
            return Act.COUNTS
        case ["open", *options]:
            return _open(options)
        case ["name", *_name]:
            return _rename(text, model)
        case ["refresh"] if model.table is not None:
            raise Misplaced(_("The list of tables is in the lobby. Leave the table to see it."))
        case ["refresh"]:
            return messages.ListTables(NEW)
        case [verb, *rest] if (command := _BY_VERB.get(verb)) is not None:
            return _table_request(command, " ".join(rest), model)
        case [("mute" | "unmute") as verb, *who]:
            return _mute(verb, " ".join(who), model)
        case ["vote", *answer]:
            return _vote(answer, model)
        case ["say", *_rest]:
            said = _remark(text)
            return messages.SayInLobby(NEW, said.text) if model.table is None else said
        case ["lay", *numbers]:
            return _lay(numbers, model)
        case ["plan", piece, field]:
            move = placement(piece, field, text, model)
            return messages.Plan(NEW, move.piece, move.field)
        case ["plan", *_]:
            raise BadText(_("Type it like this: {example}").format(example="plan m* C4, plan off"))
        case ["place", piece, field] | [piece, field]:
            return placement(piece, field, text, model)
        case [piece] if _PIECE.fullmatch(piece):
            raise _no_piece(text, model)
    raise _no_command(text)


def _remark(text: str) -> messages.Say:
    said = text.partition(" ")[2].strip()
    if not said:
        raise BadText(_("Type what you want to say, for example: {example}").format(example="say hello"))
    return messages.Say(NEW, said)


def _open(options: Sequence[str]) -> Request:
    """Return the request to open a table: players, who starts, absence policy, and words like `random`."""
    opening, starts = requests.Open(3), "random"
    for word in map(str.lower, options):
        if word in map(str, DEALS):
            opening = replace(opening, players=int(word))
        elif word.isdecimal():
            hint = _("Palatinus is for {least} to {most} players, not {n}.")
            raise BadText(hint.format(n=word, least=min(DEALS), most=max(DEALS)))
        elif word == "random":
            opening = replace(opening, random_layout=True)
        elif (name := word.removeprefix("no-")) in _SWITCHES:
            opening = replace(opening, switches=replace(opening.switches, **{name: name == word}))
        elif word.startswith("starts:"):
            starts = word.removeprefix("starts:")
        else:
            opening = replace(opening, absence=policy_named(word))
    return replace(opening, starting=seat_to_start(starts, opening.players))


def _rename(text: str, model: TableModel) -> Request:
    if model.table is not None:
        raise Misplaced(_("Names can be changed in the lobby only. Leave the table first."))
    name = text.partition(" ")[2].strip()
    if not name:
        raise BadText(_("Type your name, for example: {example}").format(example="name Ann"))
    if (fault := fault_of(name)) is not None:
        raise BadText(fault)
    return requests.Rename(name)


def _vote(answer: Sequence[str], model: TableModel) -> Request:
    """Return the vote on the player named, or the answer to what is asked, or the only vote there is."""
    hint = _("Type vote, yes or no, and a player who is away, for example: {example}")
    misread = BadText(hint.format(example="vote yes Bob"))
    if model.state is None or not answer or (agree := _ANSWERS.get(answer[0].lower())) is None:
        raise misread
    if not answer[1:] and (asked := request_to_answer(model, on=agree)) is not None:
        return asked
    seats = model.state.seats
    voted_on = [seat for seat, each in enumerate(seats) if each.votes_needed]
    if answer[1:]:
        voted_on = seats_meant(" ".join(answer[1:]), [each.name for each in seats])
    if len(voted_on) != 1:
        raise misread
    return messages.Vote(NEW, voted_on[0], agree)


def _no_piece(line: str, model: TableModel) -> BadText:
    if model.view is None:
        return _no_command(line)
    hint = _("'{line}' is not a command. Type a piece and a field, for example: {example}")
    return BadText(hint.format(line=line.strip(), example="m* C4"))


def _no_command(text: str) -> BadText:
    """Return that this is no command, and which is the nearest one that is."""
    from difflib import get_close_matches  # noqa: PLC0415 - few lines are mistyped

    line, words = text.strip(), text.split()
    lines = (*_PLAIN, *_BY_VERB, *_LOBBY_WORDS, *_REPLAY_WORDS, *_OTHER_WORDS)
    known = sorted({each.split()[0] for each in lines})
    near = get_close_matches(words[0].lower(), known, 1) if words else []
    if near and near[0] != words[0].lower():
        text = _("'{line}' is not a command. Do you mean {word}?")
        return BadText(text.format(line=line, word=near[0]))
    return BadText(_("'{line}' is not a command. Type help for the list.").format(line=line))


def replay_meaning(text: str, replay: Replay) -> ReplayMeaning:
    """Return what a line asks for at a record; raises as `meaning` does."""
    recording = replay.recording
    words = text.split()
    seats = (str(seat + 1) for seat in recording.seats)
    match [word.lower() for word in words]:
        case [word] if word in {*PAGES, "together", "leave"}:
            return Act[word.upper()]
        case ["study"] if replay.company is not None:
            return Act.STUDY
        case ["say", *_said] if replay.company is not None:
            return _remark(text)
        case ["go", "start"]:
            return Act.FIRST
        case ["go", "end"]:
            return Act.SKIP
        case ["go", "scoring"] if recording.over:
            return GoToStop(recording.end)
        case ["go", "scoring"]:
            raise Misplaced(_("This game has not been scored: the record ends before the scoring."))
        case ["go", number] | [number] if number.isascii() and number.isdigit():
            if len(number) < 4 and int(number) <= recording.moves:
                return GoToStop(int(number))
            form = _("There is no move {number}. Choose 0 to {last}.")
            raise BadText(form.format(number=number, last=recording.moves))
        case ["eyes", "all"]:
            return all_eyes
        case ["eyes", "none"]:
            return no_eyes
        case ["eyes", *_] if meant := seats_meant(" ".join(words[1:]), recording.names):
            return Pick(meant[0] + 1)
        case ["eyes", *_]:
            raise BadText(_("Type eyes and one of: {eyes}.").format(eyes=", ".join(("all", "none", *seats))))
        case ["go", *_]:
            form = _("Type go and a move from 0 to {last}, or start, scoring or end.")
            raise BadText(form.format(last=recording.moves))
    raise _no_command(text)


def _lay(numbers: list[str], model: TableModel) -> LayTile:
    position, turns = [*numbers, "0"][:2] if 1 <= len(numbers) <= 2 else ["", ""]
    fits = position in map(str, OUTER_POSITIONS) and turns in map(str, ORIENTATIONS)
    if model.seat is not None and fits:
        return LayTile(model.seat, int(position), int(turns))
    text = _("Type lay, a position (1 to 6) and how often to turn the tile (0 to 5), for example: {example}")
    raise BadText(text.format(example="lay 3 2"))


def placement(piece: str, field: str, line: str, model: TableModel) -> Place:
    matched = _PIECE.fullmatch(piece)
    name = Field(field.upper())
    if matched is None:
        raise _no_piece(line, model)
    if model.view is None:
        raise Misplaced(_("Pieces are placed during a game, and none is running here."))
    if model.seat is None:
        raise Misplaced(_(Code.NOT_A_PLAYER.text))
    if name not in FIELDS:
        text = _("There is no field {field}. Choose an empty field, A1 to G6.")
        raise BadText(text.format(field=name))
    people, kind, wolf = matched.groups()
    own = model.view.start.peoples[model.seat][0]
    try:
        chosen = Piece(f"{(people or own).upper()}{kind.lower()}{wolf or ''}")
    except ValueError:
        raise BadText(_("There is no soldier with a wolf. The pieces are m, m*, f, f* and s.")) from None
    return Place(model.seat, chosen, name)


def completions(
    text: str, model: TableModel, replay: Replay | None = None, online: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the lines that `text` could be completed to, the likeliest first; `online` are names."""
    wanted = text.lower()
    lines: Iterable[str] = _lines(model, text, online)
    if replay is not None:
        names = replay.recording.names
        called = (name for seat, name in enumerate(names) if seats_meant(name, names)[:1] == [seat])
        eyes = *(str(seat + 1) for seat in replay.recording.seats), *called
        studies = () if replay.company is None else ("study",)
        lines = *_REPLAY_WORDS, *(f"eyes {who}" for who in eyes), "together", *studies, "leave", *PAGES
    return tuple(line for line in lines if line.lower().startswith(wanted) and line.lower() != wanted)


def _lines(model: TableModel, text: str, online: Iterable[str]) -> Iterator[str]:
    """Yield what can be typed now: whole lines after a complete first word, else first words."""
    first, space = text.partition(" ")[:2]
    match model.legal:
        case LegalPlaces():
            own = "" if model.view is None else model.view.start.peoples[model.legal.seat][0]
            spellings = [spelling for piece in model.legal.pieces for spelling in _spellings(piece, own)]
            if space:
                yield from (f"{first} {field}" for field in model.legal.fields if first in spellings)
            else:
                yield from (f"{spelling} " for spelling in spellings)
        case LegalLays():
            ways = [f"lay {position} " for position in model.legal.positions]
            yield from ways
            if space:
                yield from (f"{way}{turns}" for way in ways for turns in model.legal.orientations)
    if model.table is None:
        yield from _LOBBY_WORDS
        yield from (f"{verb} {name}" for name in online for verb in ("mute", "unmute"))
    elif model.view is None:
        yield from (*_table_lines(model), *_TABLE_WORDS, *_mute_lines(model))
    else:
        if model.view.phase is Phase.OVER:
            yield from ("again", "review", "together", "study", "save", "picture")
        state = model.state
        players = () if state is None else _players(state)
        voted_on = [who for seat, who in players if state is not None and state.seats[seat].votes_needed]
        yield from (f"vote {answer} {who}" for who in voted_on for answer in _ANSWERS)
        yield from (*_TABLE_WORDS, "undo", *_table_lines(model), *_mute_lines(model))


def _spellings(piece: Piece, own: str) -> tuple[str, ...]:
    """Return how the piece can be typed: those of the seat's own people need no letter (R3.5)."""
    return (piece[1:], str(piece)) if piece.people == own else (str(piece),)


def shared_start(lines: Sequence[str]) -> str:
    shortest = min(lines, key=len)
    same = next((at for at, letter in enumerate(shortest) if any(each[at] != letter for each in lines)), None)
    return shortest[:same]

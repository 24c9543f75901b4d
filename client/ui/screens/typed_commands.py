"""Typed commands: their meaning and their completions."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from client.language import _
from client.tables.table import TableModel
from client.typed_text import BadText, fault_of, policy_named, seat_to_start, table_code
from client.ui import requests
from client.ui.at_table import request_to_answer
from client.ui.keys import Act
from client.ui.requests import Misread, Request
from client.ui.screens import table_commands
from client.ui.screens.replay import Replay
from client.ui.screens.table_commands import seats_named
from client.ui.state import Mute
from engine.board import FIELDS, ORIENTATIONS, OUTER_POSITIONS, Field
from engine.components import DEALS
from engine.events import LayTile, Place
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import Piece, Seat
from engine.view import SPECTATOR, Eyes, Phase, eyes_of
from protocol.codes import Code
from protocol.messages import (
    NEW,
    Leave,
    ListTables,
    Plan,
    Rematch,
    Say,
    SayInLobby,
    TakePart,
    TakesPart,
    Vote,
)

_PIECE: Final = re.compile(r"([ESLMA])?([MFS])(\*)?", re.IGNORECASE)


class Go(Struct, frozen=True):
    """Go to this stop of the record; None is the very end."""

    stop: int | None


class See(Struct, frozen=True):
    eyes: Eyes


Meaning: TypeAlias = Request | Act | Mute | Misread
ReplayMeaning: TypeAlias = Go | See | Act | Say | Misread

PAGES: Final = ("help", "rules", "quit")
# Lines without arguments; the server refuses those that make no sense where they are typed.
_PLAIN: Final[dict[str, Request | Act]] = {
    **{word: Act[word.upper()] for word in (*PAGES, "undo", "evening")},
    **{f"evening {how}": TakePart(NEW, how) for how in get_args(TakesPart)},
    "again": Rematch(NEW),
    "review": requests.Review(),
    "together": requests.Review(together=True),
    "study": requests.JoinStudy(),
    "save": requests.Errand.SAVE_RECORD,
    "picture": requests.Errand.SAVE_PICTURE,
    "leave": Leave(NEW),
    "plan off": Plan(NEW),
}
_ANSWERS: Final = {"yes": True, "no": False}
_LOBBY_WORDS: Final = ("join", "watch", "open", "say", "name ", "refresh", *PAGES)
_TABLE_WORDS: Final = ("say", "leave", *PAGES)
_REPLAY_WORDS: Final = ("go ", "eyes ", "go start", "go scoring", "go end", "eyes all", "eyes none")


def meaning(text: str, model: TableModel) -> Meaning:
    words = text.split()
    match [words[0].lower(), *words[1:]] if words else []:
        case []:
            return Misread(_("Type a command, for example: {example}").format(example="m* C4"))
        case [*plain] if (plain_meaning := _PLAIN.get(" ".join(plain))) is not None:
            return plain_meaning
        case [("join" | "watch") as verb, code]:
            try:
                return (requests.Join if verb == "join" else requests.WatchTable)(table_code(code))
            except BadText as error:
                return Misread(str(error))
        case ["open", *options]:
            return _open(options)
        case ["name", *_name]:
            return _rename(text, model)
        case ["refresh"] if model.table is not None:
            misplaced = _("The list of tables is in the lobby. Leave the table to see it.")
            return Misread(misplaced, mistyped=False)
        case ["refresh"]:
            return ListTables(NEW)
        case [verb, *rest] if (asked := table_commands.meaning(verb, " ".join(rest), model)) is not None:
            return asked
        case [("mute" | "unmute") as verb, *who]:
            return table_commands.mute(verb, " ".join(who), model)
        case ["vote", *answer]:
            return _vote(answer, model)
        case ["say", *_rest]:
            said = _remark(text)
            return SayInLobby(NEW, said.text) if isinstance(said, Say) and model.table is None else said
        case ["lay", *numbers]:
            return _lay(numbers, model)
        case ["plan", piece, field]:
            meant = _place(piece, field, text, model)
            return Plan(NEW, meant.piece, meant.field) if isinstance(meant, Place) else meant
        case ["plan", *_]:
            return Misread(_("Type it like this: {example}").format(example="plan m* C4, plan off"))
        case ["place", piece, field] | [piece, field]:
            return _place(piece, field, text, model)
        case [piece] if _PIECE.fullmatch(piece):
            return _no_piece(text, model)
    return _no_command(text)


def _remark(text: str) -> Say | Misread:
    said = text.partition(" ")[2].strip()
    if not said:
        return Misread(_("Type what you want to say, for example: {example}").format(example="say hello"))
    return Say(NEW, said)


def _open(options: Sequence[str]) -> Meaning:
    """Return the request to open a table: players, who starts, absence policy, and words like `random`."""
    opening, starts = requests.Open(3), "random"
    try:
        for word in map(str.lower, options):
            if word in map(str, DEALS):
                opening = replace(opening, players=int(word))
            elif word.isdecimal():
                hint = _("Palatinus is for {least} to {most} players, not {n}.")
                return Misread(hint.format(n=word, least=min(DEALS), most=max(DEALS)))
            elif word in {"random", "private", "hints"}:
                opening = replace(opening, **{"random_layout" if word == "random" else word: True})
            elif word.startswith("starts:"):
                starts = word.removeprefix("starts:")
            else:
                opening = replace(opening, absence=policy_named(word))
        return replace(opening, starting=seat_to_start(starts, opening.players))
    except BadText as error:
        return Misread(str(error))


def _rename(text: str, model: TableModel) -> Meaning:
    if model.table is not None:
        misplaced = _("Names can be changed in the lobby only. Leave the table first.")
        return Misread(misplaced, mistyped=False)
    name = text.partition(" ")[2].strip()
    if not name:
        return Misread(_("Type your name, for example: {example}").format(example="name Ann"))
    fault = fault_of(name)
    return requests.Rename(name) if fault is None else Misread(fault)


def _vote(answer: Sequence[str], model: TableModel) -> Meaning:
    """Return the vote on the player named, or the answer to what is asked, or the only vote there is."""
    hint = _("Type vote, yes or no, and a player who is away, for example: {example}")
    misread = Misread(hint.format(example="vote yes Bob"))
    if model.state is None or not answer or (agree := _ANSWERS.get(answer[0].lower())) is None:
        return misread
    if not answer[1:] and (asked := request_to_answer(model, on=agree)) is not None:
        return asked
    seats = model.state.seats
    voted_on = [seat for seat, each in enumerate(seats) if each.votes_needed]
    if answer[1:]:
        voted_on = seats_named(" ".join(answer[1:]), (each.name for each in seats))
    return Vote(NEW, voted_on[0], agree) if len(voted_on) == 1 else misread


def _no_piece(line: str, model: TableModel) -> Misread:
    if model.view is None:
        return _no_command(line)
    hint = _("'{line}' is not a command. Type a piece and a field, for example: {example}")
    return Misread(hint.format(line=line.strip(), example="m* C4"))


def _no_command(text: str) -> Misread:
    return Misread(_("'{line}' is not a command. Press ? for the list.").format(line=text.strip()))


def replay_meaning(text: str, replay: Replay) -> ReplayMeaning:
    recording = replay.recording
    words = text.split()
    seats = (str(seat + 1) for seat in recording.seats)
    match [word.lower() for word in words]:
        case [word] if word in {*PAGES, "together"}:
            return Act[word.upper()]
        case ["study"] if replay.company is not None:
            return Act.STUDY
        case ["say", *_said] if replay.company is not None:
            return _remark(text)
        case ["go", "start"]:
            return Go(0)
        case ["go", "end"]:
            return Go(None)
        case ["go", "scoring"] if recording.over:
            return Go(recording.end)
        case ["go", "scoring"]:
            text = _("This game has not been scored: the record ends before the scoring.")
            return Misread(text, mistyped=False)
        case ["go", number] | [number] if number.isascii() and number.isdigit():
            if len(number) < 4 and int(number) <= recording.moves:
                return Go(int(number))
            form = _("There is no move {number}. Choose 0 to {last}.")
            return Misread(form.format(number=number, last=recording.moves))
        case ["eyes", "all"]:
            return See(recording.all_eyes)
        case ["eyes", "none"]:
            return See(SPECTATOR)
        case ["eyes", *_] if meant := seats_named(" ".join(words[1:]), recording.names):
            return See(eyes_of(Seat(meant[0])))
        case ["eyes", *_]:
            return Misread(_("Type eyes and one of: {eyes}.").format(eyes=", ".join(("all", "none", *seats))))
        case ["go", *_]:
            form = _("Type go and a move from 0 to {last}, or start, scoring or end.")
            return Misread(form.format(last=recording.moves))
    return _no_command(text)


def _lay(numbers: list[str], model: TableModel) -> Meaning:
    position, turns = [*numbers, "0"][:2] if 1 <= len(numbers) <= 2 else ["", ""]
    fits = position in map(str, OUTER_POSITIONS) and turns in map(str, ORIENTATIONS)
    if model.seat is not None and fits:
        return LayTile(model.seat, int(position), int(turns))
    text = _("Type lay, a position (1 to 6) and how often to turn the tile (0 to 5), for example: {example}")
    return Misread(text.format(example="lay 3 2"))


def _place(piece: str, field: str, line: str, model: TableModel) -> Meaning:
    matched = _PIECE.fullmatch(piece)
    name = Field(field.upper())
    if matched is None:
        return _no_piece(line, model)
    if model.view is None:
        return Misread(_("Pieces are placed during a game, and none is running here."), mistyped=False)
    if model.seat is None:
        return Misread(_(Code.NOT_A_PLAYER.text), mistyped=False)
    if name not in FIELDS:
        text = _("There is no field {field}. Choose an empty field, A1 to G6.")
        return Misread(text.format(field=name))
    people, kind, wolf = matched.groups()
    own = model.view.start.peoples[model.seat][0]
    try:
        chosen = Piece(f"{(people or own).upper()}{kind.lower()}{wolf or ''}")
    except ValueError:
        return Misread(_("There is no soldier with a wolf. The pieces are m, m*, f, f* and s."))
    return Place(model.seat, chosen, name)


def completions(
    text: str, model: TableModel, replay: Replay | None = None, online: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the lines that `text` could be completed to, the likeliest first; `online` are names."""
    wanted = text.lower()
    lines: Iterable[str] = _lines(model, text, online)
    if replay is not None:
        eyes = *(str(seat + 1) for seat in replay.recording.seats), *replay.recording.names
        lines = *_REPLAY_WORDS, *(f"eyes {who}" for who in eyes), "together", "study", *PAGES
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
        yield from (*table_commands.lines(model), *_TABLE_WORDS, *table_commands.mute_lines(model))
    else:
        if model.view.phase is Phase.OVER:
            yield from ("again", "review", "together", "study", "save", "picture")
        voted_on = [] if model.state is None else [each for each in model.state.seats if each.votes_needed]
        yield from (f"vote {answer} {each.name}" for each in voted_on for answer in _ANSWERS)
        yield from (*_TABLE_WORDS, "undo", *table_commands.lines(model), *table_commands.mute_lines(model))


def _spellings(piece: Piece, own: str) -> tuple[str, ...]:
    """Return how the piece can be typed: those of the seat's own people need no letter (R3.5)."""
    return (piece[1:], str(piece)) if piece.people == own else (str(piece),)


def shared_start(lines: Sequence[str]) -> str:
    shortest = min(lines, key=len)
    same = next((at for at, letter in enumerate(shortest) if any(each[at] != letter for each in lines)), None)
    return shortest[:same]

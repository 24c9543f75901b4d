"""Typed commands: what a line means, and how it could go on."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from client.table import TableModel
from client.ui import requests
from client.ui.requests import Request
from engine.board import FIELDS, ORIENTATIONS, OUTER_POSITIONS, Field
from engine.events import LayTile, Place
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import Piece

_PIECE: Final = re.compile(r"([ESLMA])?([MFS])(\*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Misread:
    """The line means nothing, for the reason in the sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class Read:
    """The line opens a page of the program's own: help, rules or quit."""

    page: str


Meaning: TypeAlias = Request | Read | Misread

PAGES: Final = ("help", "rules", "quit")
_LOBBY_WORDS: Final = ("join", "watch", "open", "refresh", *PAGES)
_TABLE_WORDS: Final = ("say", "leave", *PAGES)


def meaning(text: str, model: TableModel) -> Meaning:
    """Return what a typed line asks for."""
    words = text.split()
    match [words[0].lower(), *words[1:]] if words else []:
        case []:
            return Misread("Type a command, for example: m* C4")
        case [page] if page in PAGES:
            return Read(page)
        case ["join", code]:
            return requests.Join(code.upper())
        case ["watch", code]:
            return requests.Watch(code.upper())
        case ["open", number] if number in {"2", "3", "4", "5"}:
            return requests.Open(int(number))
        case ["open", number, "random"] if number in {"2", "3", "4", "5"}:
            return requests.Open(int(number), random_layout=True)
        case ["refresh"]:
            return requests.Refresh()
        case ["start"]:
            return requests.Start()
        case ["leave"]:
            return requests.Leave()
        case ["say", _, *_]:
            return requests.Say(text.split(maxsplit=1)[1].strip())
        case ["lay", *numbers]:
            return _lay(numbers, model)
        case ["place", piece, field] | [piece, field]:
            return _place(piece, field, model)
    return Misread(f"'{text.strip()}' is no command. Press ? for the list.")


def _lay(numbers: list[str], model: TableModel) -> Meaning:
    position, orientation = (*numbers, "0")[:2] if numbers else ("", "")
    if (
        model.seat is None
        or len(numbers) > 2
        or position not in map(str, OUTER_POSITIONS)
        or orientation not in map(str, ORIENTATIONS)
    ):
        return Misread("Type lay, a position from 1 to 6 and turns from 0 to 5, for example: lay 3 2")
    return LayTile(model.seat, int(position), int(orientation))


def _place(piece: str, field: str, model: TableModel) -> Meaning:
    matched = _PIECE.fullmatch(piece)
    name = Field(field.upper())
    if matched is None or name not in FIELDS or model.seat is None or model.view is None:
        return Misread(f"'{piece} {field}' is no command. Type a piece and a field, for example: m* C4")
    people, kind, wolf = matched.groups()
    own = model.view.setup.peoples[model.seat][0]
    try:
        chosen = Piece(f"{(people or own).upper()}{kind.lower()}{wolf or ''}")
    except ValueError:
        return Misread("There is no soldier with a wolf. The pieces are m, m*, f, f* and s.")
    return Place(model.seat, chosen, name)


def completions(text: str, model: TableModel) -> tuple[str, ...]:
    """Return the whole lines that `text` could become, the likeliest first."""
    wanted = text.lower()
    return tuple(
        line for line in _lines(model, text) if line.lower().startswith(wanted) and line.lower() != wanted
    )


def _lines(model: TableModel, text: str) -> Iterator[str]:
    """Yield what can be typed now: whole lines for words that are complete, first words else."""
    first, space, _ = text.partition(" ")
    match model.legal:
        case LegalPlaces():
            own = "" if model.view is None else model.view.setup.peoples[model.legal.seat][0]
            spellings = [spelling for piece in model.legal.pieces for spelling in _spellings(piece, own)]
            if space:
                yield from (f"{first} {field}" for field in model.legal.fields if first in spellings)
            else:
                yield from (f"{spelling} " for spelling in spellings)
        case LegalLays():
            yield from (f"lay {position} " for position in model.legal.positions)
            if space:
                yield from (
                    f"lay {position} {turns}"
                    for position in model.legal.positions
                    for turns in model.legal.orientations
                )
    if model.table is None:
        yield from _LOBBY_WORDS
    elif model.view is None:
        yield from ("start", *_TABLE_WORDS)
    else:
        yield from _TABLE_WORDS


def _spellings(piece: Piece, own: str) -> tuple[str, ...]:
    """Return how the piece can be typed: a people's own pieces need no letter (R3.5)."""
    return (piece[1:], str(piece)) if piece.people == own else (str(piece),)


def shared_start(lines: Sequence[str]) -> str:
    """Return the longest beginning that all of `lines` have."""
    shortest = min(lines, key=len)
    same = next((at for at, letter in enumerate(shortest) if any(each[at] != letter for each in lines)), None)
    return shortest[:same]

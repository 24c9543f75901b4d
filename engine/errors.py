"""The engine's refusals."""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


class Template(str):
    """A sentence for people; names in braces stand for its facts."""

    __slots__ = ()


class Fault(enum.StrEnum):
    """What is wrong with a command; the value is its stable code on the wire."""

    NOT_YOUR_TURN = "not-your-turn"
    ALL_TILES_LAID = "all-tiles-laid"
    TILES_NOT_LAID = "tiles-not-laid"
    NOT_AN_OUTER_POSITION = "not-an-outer-position"
    NOT_AN_ORIENTATION = "not-an-orientation"
    POSITION_TAKEN = "position-taken"
    POSITION_APART = "position-apart"
    NOT_IN_HAND = "not-in-hand"
    SOLDIER_DUE = "soldier-due"
    NO_SUCH_FIELD = "no-such-field"
    FIELD_TAKEN = "field-taken"
    GAME_OVER = "game-over"


FAULT_TEXTS: Final[Mapping[Fault, Template]] = MappingProxyType(
    {
        Fault.NOT_YOUR_TURN: Template("It is not your turn. Wait for the others."),
        Fault.ALL_TILES_LAID: Template("All tiles are laid. Place a piece on an empty field."),
        Fault.TILES_NOT_LAID: Template("The tiles are still being laid. Lay the tile that was drawn."),
        Fault.NOT_AN_OUTER_POSITION: Template("{position} is not an outer position. Choose one of {free}."),
        Fault.NOT_AN_ORIENTATION: Template("{orientation} is not an orientation. Choose 0 to 5."),
        Fault.POSITION_TAKEN: Template("Position {position} is taken. Choose one of {free}."),
        Fault.POSITION_APART: Template(
            "Position {position} does not touch an outer tile. Choose one of {free}."
        ),
        Fault.NOT_IN_HAND: Template("There is no {piece} in your hand. It holds {hand}."),
        Fault.SOLDIER_DUE: Template(
            "A hand of {limit} or fewer may not hold a soldier. Place a soldier now: {soldiers}."
        ),
        Fault.NO_SUCH_FIELD: Template("There is no field {field}. Choose an empty field, A1 to G6."),
        Fault.FIELD_TAKEN: Template("{field} is taken. Choose an empty field."),
        Fault.GAME_OVER: Template("The game is over. Start another one."),
    }
)


class IllegalCommand(ValueError):
    """A rule forbids the command, and nothing has changed.

    `fault` is its stable code, `rule` the section of docs/rules.md, `about` the facts in `text` by name.
    The text says what to do instead, and reveals nothing that the seat which sent the command may not know.
    """

    def __init__(self, fault: Fault, rule: str, **about: object) -> None:
        self.fault = fault
        self.rule = rule
        self.text = FAULT_TEXTS[fault]
        self.about = {name: str(fact) for name, fact in about.items()}
        super().__init__(self.text.format(**self.about))


class DamagedRecord(ValueError):
    """A record cannot be read or replayed; `line` is where, counted from 1.

    The reason is `text` filled in with the facts `about`: a translation needs both.
    """

    def __init__(self, line: int, text: str, **about: object) -> None:
        super().__init__(text.format(**about))
        self.line = line
        self.text = text
        self.about = about

    def __str__(self) -> str:
        return f"line {self.line}: {self.args[0]}"

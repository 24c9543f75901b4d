"""Errors with a sentence for people, and the engine's refusals."""

import enum
from typing import Any, Self


class Template(str):
    """A sentence for people; names in braces stand for its facts."""

    __slots__ = ()


class _NamedByCode(enum.EnumType):
    """Makes a member's code from its name, so that it stands there once: NAME_TAKEN is `name-taken`."""

    def __new__(cls, name: str, bases: tuple[type, ...], content: Any, **options: Any) -> Any:
        for member, text in content.items():
            if isinstance(text, Template):
                dict.__setitem__(content, member, (member.lower().replace("_", "-"), text))
        return super().__new__(cls, name, bases, content, **options)


class CodeWithText(enum.StrEnum, metaclass=_NamedByCode):
    """A stable code on the wire, and the `text` that explains it to people."""

    text: Template

    def __new__(cls, code: str, text: str = "") -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.text = Template(text)
        return member


class Fault(CodeWithText):
    """What is wrong with a command."""

    NOT_YOUR_TURN = Template("It is not your turn. Wait for the others.")
    ALL_TILES_LAID = Template("All tiles are laid. Place a piece on an empty field.")
    TILES_NOT_LAID = Template("The tiles are still being laid. Pieces come after the last tile.")
    NOT_AN_OUTER_POSITION = Template("{position} is not an outer position. Choose one of {free}.")
    NOT_AN_ORIENTATION = Template("{orientation} is not an orientation. Choose 0 to 5.")
    POSITION_TAKEN = Template("Position {position} is taken. Choose one of {free}.")
    POSITION_APART = Template("Position {position} does not touch an outer tile. Choose one of {free}.")
    NOT_IN_HAND = Template("There is no {piece} in your hand. It holds {hand}.")
    SOLDIER_DUE = Template(
        "A hand of {limit} or fewer may not hold a soldier. Place a soldier now: {soldiers}."
    )
    NO_SUCH_FIELD = Template("There is no field {field}. Choose an empty field, A1 to G6.")
    FIELD_TAKEN = Template("{field} is taken. Choose an empty field.")
    NOTHING_TO_TAKE_BACK = Template(
        "You have no piece on the board to take back. Tiles cannot be taken back."
    )
    GAME_OVER = Template("The game is over. Start another one.")


class IllegalCommand(ValueError):
    """A rule forbids the command, and nothing has changed.

    `fault` is its stable code, `rule` the section of docs/rules.md, `about` the facts in `text` by name.
    The text says what to do instead, and reveals nothing that the seat which sent the command may not know.
    """

    def __init__(self, fault: Fault, rule: str, **about: object) -> None:
        self.fault = fault
        self.rule = rule
        self.text = fault.text
        self.about = {name: str(fact) for name, fact in about.items()}
        super().__init__(self.text.format(**self.about))


class Explained(Exception):
    """An error whose sentence is `text` filled in with the facts `about`: a translation needs both."""

    def __init__(self, text: str, **about: object) -> None:
        super().__init__(text.format(**about))
        self.text = text
        self.about = about


class DamagedRecord(Explained):
    """A record cannot be read or replayed; `line` is where, counted from 1."""

    def __init__(self, line: int, text: str, **about: object) -> None:
        super().__init__(text, **about)
        self.line = line

    def __str__(self) -> str:
        return f"line {self.line}: {self.args[0]}"

"""The engine's refusals."""

import enum


class Fault(enum.StrEnum):
    """What is wrong with a command; the value is its stable code on the wire."""

    NOT_YOUR_TURN = "not-your-turn"
    NOT_NOW = "not-now"
    NOT_AN_OUTER_POSITION = "not-an-outer-position"
    NOT_AN_ORIENTATION = "not-an-orientation"
    POSITION_TAKEN = "position-taken"
    POSITION_APART = "position-apart"
    NOT_IN_HAND = "not-in-hand"
    SOLDIER_DUE = "soldier-due"
    NO_SUCH_FIELD = "no-such-field"
    FIELD_TAKEN = "field-taken"
    GAME_OVER = "game-over"


class IllegalCommand(ValueError):
    """A rule forbids the command, and nothing has changed.

    `fault` is its stable code, `rule` the section of docs/rules.md, `about` the facts in the text by name.
    The text says what to do instead, and reveals nothing that the seat which sent the command may not know.
    """

    def __init__(self, fault: Fault, rule: str, text: str, **about: object) -> None:
        super().__init__(text.format(**about) if about else text)
        self.fault = fault
        self.rule = rule
        self.text = text
        self.about = {name: str(fact) for name, fact in about.items()}


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

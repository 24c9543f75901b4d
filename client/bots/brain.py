"""The type of a brain, and what its author is told when it fails."""

import enum
import random
import reprlib
import sys
import traceback
from typing import Any, Protocol

from client.language import _
from engine.events import Command, LayTile, Place
from engine.legal import Legal
from engine.pieces import NOTATIONS, Piece
from engine.view import View


class Brain(Protocol):
    """A function from what a seat sees and may do to its command; all its randomness comes from `rng`.

    It may have methods `game_begins` and `game_over`: see `brain_in_game` and `brain_after`.
    """

    def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command: ...


class Forfeit(enum.StrEnum):
    """How a game is lost before its end."""

    FAILED = "failed"  # an exception, or a program that ends with an error or without a reason
    ILLEGAL = "illegal"
    LATE = "late"
    ABSENT = "absent"  # a program that never takes its seat
    SILENT = "silent"  # a program that closes its connection and does not come back


class BrainFailed(Exception):
    """A brain, or another player, has forfeited its game; the text says how, `trace` where in its code."""

    def __init__(self, text: str, kind: Forfeit = Forfeit.FAILED, trace: str = "") -> None:
        super().__init__(text)
        self.kind, self.trace = kind, trace
        self.seat = 0  # whoever plays the game sets it


def brain_in_game(name: str, choose: Brain, view: View) -> Brain:
    """Return the brain `name` for one seat in one game, in which it can keep things; raises BrainFailed.

    If the brain has a method `game_begins`, it is called with `view`, what its seat sees before its first
    move, and returns that brain, or None to play itself.
    """
    return _brain_from(name, choose, "game_begins", view)


def brain_after(name: str, choose: Brain, view: View) -> Brain:
    """Return the brain `name` for another game with the same players in their seats; raises BrainFailed.

    If the brain has a method `game_over`, it is called with `view`, all that its seat sees of the game that
    has ended, and returns that brain, or None to stay as it is.
    """
    return _brain_from(name, choose, "game_over", view)


def _brain_from(name: str, choose: Brain, method_name: str, view: View) -> Brain:
    method = getattr(choose, method_name, None)
    if method is None:
        return choose
    try:
        returned: Brain | None = method(view)
    except (Exception, SystemExit) as error:  # whatever the brain's own code raises
        raise brain_failure(name, method, error) from error
    if returned is not None and not callable(returned):
        text = _("The brain {name} returned {what} from {method} instead of a brain.")
        raise BrainFailed(text.format(name=name, what=reprlib.repr(returned), method=method_name))
    return choose if returned is None else returned


def brain_failure(name: str, choose: Any, error: BaseException) -> BrainFailed:
    """Return what to raise because the brain `name`, the function `choose`, has raised `error`."""
    own = getattr(sys.modules.get(getattr(choose, "__module__", "")), "__file__", None)
    code = getattr(choose, "__code__", None)
    if code is not None and _origin(error, own)[0] != own:  # such as the wrong number of parameters
        return BrainFailed(_describe_failure_at(name, (code.co_filename, code.co_firstlineno), error))
    # The traceback as Python prints it, from the first frame in the brain's own file on.
    files = [frame.f_code.co_filename for frame, _line in traceback.walk_tb(error.__traceback__)]
    for _frame in range(files.index(own) if own in files else 1):
        if error.__traceback__ is not None:
            error.__traceback__ = error.__traceback__.tb_next
    text = describe_brain_failure(name, error, own)
    return BrainFailed(text, trace="".join(traceback.format_exception(error)).rstrip())


def forbidden_choice(name: str, command: Command, reason: str) -> BrainFailed:
    """Return what to raise because the brain `name` has chosen a command that the rules forbid."""
    text = _("The brain {name} chose {command}, which is not allowed: {reason}")
    return BrainFailed(text.format(name=name, command=command, reason=reason), Forfeit.ILLEGAL)


def checked_command(name: str, returned: object) -> Command:
    """Return what the brain `name` has returned; raises BrainFailed if that is not a command."""
    match returned:
        case LayTile(_, int(), int()):
            return returned
        case Place(seat, str(piece), str(field)):
            # Plain strings will do for an author; the engine has to know what they name.
            return Place(seat, Piece(piece), field) if piece in NOTATIONS else returned
    text = _("The brain {name} returned {what} instead of a command.")
    raise BrainFailed(text.format(name=name, what=reprlib.repr(returned)), Forfeit.ILLEGAL)


def describe_brain_failure(name: str, error: BaseException, own: str | None) -> str:
    """Return that the brain `name` failed, and where: in its file `own`, if the error passed through it."""
    return _describe_failure_at(name, _origin(error, own), error)


def _describe_failure_at(name: str, origin: tuple[str, int], error: BaseException) -> str:
    file, line = origin
    text = _("The brain {name} failed in {file}, line {line}: {error}.")
    said = "".join(traceback.format_exception_only(error)).strip()
    if isinstance(error, SyntaxError):  # which is printed with the line and a mark under it
        said = f"{type(error).__name__}: {error.msg}"
    return text.format(name=name, file=file, line=line, error=said)


def _origin(error: BaseException, own: str | None) -> tuple[str, int]:
    if isinstance(error, SyntaxError) and error.filename is not None:
        return error.filename, error.lineno or 0
    frames = traceback.extract_tb(error.__traceback__)
    frame = next((each for each in reversed(frames) if each.filename == own), frames[-1])
    return frame.filename, frame.lineno or 0

"""What the server and the processes that think for it say to each other, in frames over pipes."""

from typing import TYPE_CHECKING, Final, NamedTuple

from engine.events import Command
from engine.legal import Legal
from engine.view import View

if TYPE_CHECKING:
    from server.config import Choose

FRAME_HEAD: Final = 4  # bytes, which say how many bytes of content follow
MOST_BYTES: Final = 1024 * 1024


class Question(NamedTuple):
    """What a seat is to do, by a brain that is pickled by its name: what it sees and may do, and no more.

    `earlier` is what it saw at the ends of games with the same players. `kept` is what the brain has kept
    from its last move in this game.
    """

    choose: "Choose"
    view: View
    legal: Legal
    seed: int
    earlier: tuple[View, ...] = ()
    kept: bytes = b""


class Thought(NamedTuple):
    """The answer to a question: a command, or the kind of error that the brain raised.

    `seconds` says how much of a processor's time the process has used since its last answer, or its start.
    `kept` is for the next question of the seat in this game.
    """

    command: Command | None
    error: str
    seconds: float
    kept: bytes = b""


def pack_frame(content: Question | Thought) -> bytes:
    """Return a frame; raises what pickling raises."""
    import pickle  # noqa: PLC0415 - 0.4 MiB, for the first bot that searches

    packed = pickle.dumps(content)
    return len(packed).to_bytes(FRAME_HEAD) + packed

"""What the server and the processes that think for it say to each other, in frames over pipes."""

from typing import Final

import msgspec
from msgspec import Struct

FRAME_HEAD: Final = 4  # bytes, which say how many bytes of content follow
MOST_BYTES: Final = 1024 * 1024


class Position(Struct, frozen=True):
    """What a seat is to do.

    `snapshot` is the frame with which the seat's own player would come back to the table: what the seat sees
    and may do, and no more. `brain` is pickled: by name, because functions and classes are.
    """

    brain: bytes
    seat: int
    seed: int
    snapshot: bytes


class Thought(Struct, frozen=True):
    """What came of a question: the frame of a move, or what kind of error the brain raised.

    `seconds` says how much of a processor's time the process has used since its last answer, or its start.
    """

    move: bytes
    error: str
    seconds: float


_QUESTIONS: Final = msgspec.msgpack.Decoder(Position)
_ANSWERS: Final = msgspec.msgpack.Decoder(Thought)


def framed(message: Position | Thought) -> bytes:
    """Return the message as a frame."""
    content = msgspec.msgpack.encode(message)
    return len(content).to_bytes(FRAME_HEAD) + content


def question_in(content: bytes) -> Position:
    """Return the question in a frame's content."""
    return _QUESTIONS.decode(content)


def answer_in(content: bytes) -> Thought:
    """Return the answer in a frame's content; raises msgspec.DecodeError."""
    return _ANSWERS.decode(content)

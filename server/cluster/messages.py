"""What servers tell each other. Each of these holds until it is told otherwise (`channel`).

Whoever reads this may be another version: a new field has a default, and what would mean something else gets
another tag.
"""

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct

from protocol.limits import CHAT_LENGTH, NAME_LENGTH, TOKENS_SHOWN
from protocol.messages import CameBy, Name, RemarkNumber, TableCode, TableSummary, Whereabouts
from protocol.text import unsafe

QUESTION_BYTES: Final = 4096
ANSWER_BYTES: Final = 49_152  # of each part
ANSWER_PARTS: Final = 64

Hash: TypeAlias = Annotated[str, Meta(max_length=64)]  # of a token; empty for a bot's seat, which has none
Time: TypeAlias = float  # in seconds since 1970, by the clock of the server that tells it


class Holder(Struct, frozen=True, array_like=True):
    """Who has a seat that everybody may know, so that nobody else takes the name."""

    name: Name
    token_hash: Hash


class PublicTable(Struct, frozen=True, tag_field="t", tag="table", omit_defaults=True):
    """A table that is in the list of its server."""

    summary: TableSummary
    opened: Time
    holders: Annotated[list[Holder], Meta(max_length=5)] = []


class PersonElsewhere(Struct, frozen=True, tag_field="t", tag="person", omit_defaults=True):
    """Somebody who is online, since then; `proofs` are the hashes of the tokens that came with the name."""

    name: Name
    since: Time
    at: Whereabouts = "lobby"
    table: TableCode | None = None
    proofs: Annotated[list[Hash], Meta(max_length=TOKENS_SHOWN)] = []
    by: CameBy | None = None


class RemarkElsewhere(Struct, frozen=True, tag_field="t", tag="remark", omit_defaults=True):
    """What somebody has said in the lobby, or at a table for the lobby, or that they invite people to one."""

    number: RemarkNumber
    name: Name
    text: Annotated[str, Meta(min_length=1, max_length=CHAT_LENGTH)]
    time: Time
    table: TableCode | None = None
    said_at: TableCode | None = None


class Draining(Struct, frozen=True, tag_field="t", tag="draining"):
    """The server takes no new tables: it is going to stop."""


class EveningHere(Struct, frozen=True, tag_field="t", tag="evening"):
    """The server has the evening."""


class NodeQuestion(Struct, frozen=True, tag_field="t", tag="question"):
    """What the host of one server asks others, as long as it waits: a request of the admin socket.

    `by` and `to` are the terms of their leases, so that nobody answers it again under another one.
    """

    number: Annotated[int, Meta(ge=1)]
    line: Annotated[bytes, Meta(max_length=QUESTION_BYTES)]
    by: int
    to: list[int]


class AnswerPart(Struct, frozen=True, tag_field="t", tag="answer"):
    """A part of the answer to the question with this number of the server with the term `to`."""

    to: int
    number: Annotated[int, Meta(ge=1)]
    part: Annotated[int, Meta(ge=0, lt=ANSWER_PARTS)]
    parts: Annotated[int, Meta(ge=1, le=ANSWER_PARTS)]
    line: Annotated[bytes, Meta(max_length=ANSWER_BYTES)]


Message: TypeAlias = (
    PublicTable | PersonElsewhere | RemarkElsewhere | Draining | EveningHere | NodeQuestion | AnswerPart
)

MOST_BYTES: Final = 65_536

_DECODER: Final = msgspec.msgpack.Decoder(Message)
_ENCODER: Final = msgspec.msgpack.Encoder()


class NotUnderstood(ValueError):
    """This is not what any server of this version tells."""


def encode(message: Message) -> bytes:
    """Return the bytes of a message; raises ValueError if they are too many."""
    body = _ENCODER.encode(message)
    if len(body) > MOST_BYTES:
        raise ValueError(f"{type(message).__name__} has {len(body)} bytes")
    return body


def decode(body: bytes) -> Message:
    """Return the message with these bytes; raises NotUnderstood.

    Anyone who can write to the database could have made it, and people are shown what it says.
    """
    if len(body) > MOST_BYTES:
        raise NotUnderstood("too long")
    try:
        message: Message = _DECODER.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise NotUnderstood(type(error).__name__) from error
    if any(text and unsafe(text) is not None for text in _texts(message)):
        raise NotUnderstood("a text that may not be shown")
    if isinstance(message, PublicTable) and len(message.summary.host) > NAME_LENGTH:
        raise NotUnderstood("a long name")
    return message


def _texts(message: Message) -> tuple[str, ...]:
    match message:
        case PublicTable(summary):
            return summary.host, summary.title
        case PersonElsewhere(name):
            return (name,)
        case RemarkElsewhere(_, name, text):
            return name, text
        case Draining() | EveningHere() | NodeQuestion() | AnswerPart():
            return ()  # what servers answer, the admin command makes fit to be shown

"""What servers tell each other, as bytes.

Servers of several versions may run side by side while they are upgraded: fields that one does not know are
passed over, and so are whole messages of a kind that it does not know.
"""

from typing import Final

import msgspec

from protocol.limits import NAME_LENGTH
from protocol.text import unsafe
from server.cluster.messages import (
    AnswerPart,
    Draining,
    Message,
    NodeQuestion,
    PersonElsewhere,
    PublicTable,
    RemarkElsewhere,
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

    Whoever can write into the database can tell anything, and what is told here is shown to people.
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
        case Draining():
            return ()
        case NodeQuestion() | AnswerPart():
            return ()  # which the admin command makes fit to be shown

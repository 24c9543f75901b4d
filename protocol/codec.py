"""Encode and decode messages: msgpack with hard limits, then the schema, with one kind of error."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, get_args

import msgpack
import msgspec
import msgspec.json
import msgspec.msgpack
from msgspec import ValidationError, convert

from protocol.limits import (
    ARRAY_LENGTH,
    CLIENT_FRAME_BYTES,
    LARGEST_ID,
    MAP_LENGTH,
    SERVER_FRAME_BYTES,
    STRING_LENGTH,
)
from protocol.messages import (
    ClientMessage,
    FromClient,
    FromServer,
    Lay,
    News,
    PlacePiece,
    ServerMessage,
    TableSummary,
)
from protocol.text import printable


def _map(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a map of `pairs`; refuses duplicate keys, which different readers could read differently."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key appears twice in one map")
    return content


_unpacked: Final = partial(
    msgpack.unpackb,
    max_str_len=STRING_LENGTH,
    max_bin_len=0,
    max_ext_len=0,
    max_array_len=ARRAY_LENGTH,
    max_map_len=MAP_LENGTH,
    strict_map_key=True,
    object_pairs_hook=_map,
    raw=False,
)


# msgspec writes msgpack straight from the classes; for reading, msgpack has limits that msgspec lacks.
_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=str)
# A move has four keys, and needs them all: in a map of four pairs, none can be twice.
_MOVE: Final[msgspec.msgpack.Decoder[Lay | PlacePiece]] = msgspec.msgpack.Decoder(Lay | PlacePiece)
_FOUR_PAIRS: Final = b"\x84"
_MOST_BYTES_OF_MOVE: Final = 64  # of which no part can go beyond the limits of msgpack
_FROM_CLIENT: Final = {str(kind.__struct_config__.tag): kind for kind in get_args(ClientMessage)}
_FROM_SERVER: Final = {str(kind.__struct_config__.tag): kind for kind in get_args(ServerMessage)}
_NEWS: Final = {str(kind.__struct_config__.tag): kind for kind in get_args(News)}


class BadMessage(ValueError):
    """The frame is not a message of this protocol; `id` is its command id, if one could be read."""

    def __init__(self, text: str, id: int | None = None) -> None:  # noqa: A002 - the wire's own word
        super().__init__(text)
        self.id = id


class UnknownMessage(BadMessage):
    """The frame is a message of a kind that this version does not know."""


# Returns the message's frame. Each move asks four times, and a function around it is a call more.
encode: Final[Callable[[FromClient | FromServer], bytes]] = _ENCODER.encode


def encoded_summaries(summaries: list[TableSummary]) -> msgspec.Raw:
    """Return the list of tables, encoded once for everybody who asks for it."""
    return msgspec.Raw(_ENCODER.encode(summaries))


def tables_frame(id: int, summaries: msgspec.Raw) -> bytes:  # noqa: A002 - the wire's own word
    """Return the frame of a Tables message with summaries that are encoded already."""
    return _ENCODER.encode({"t": "tables", "id": id, "tables": summaries})


def decode_client(frame: bytes) -> ClientMessage:
    """Return the client's message in `frame`; raises BadMessage whatever the bytes."""
    if len(frame) <= _MOST_BYTES_OF_MOVE and frame.startswith(_FOUR_PAIRS):
        try:
            return _MOVE.decode(frame)  # in a fifth of the time
        except ValueError:  # another message, or a wrong one
            pass
    message: ClientMessage = _decode(frame, CLIENT_FRAME_BYTES, _FROM_CLIENT)
    return message


def decode_json(text: str) -> dict[str, Any]:
    """Return the JSON object in a text frame, which may be a message; raises BadMessage for anything else."""
    try:
        content = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"the text is not JSON: {readable(error)}") from error
    if not isinstance(content, dict):
        raise BadMessage("the text is not one JSON object")
    return content


def client_message(content: dict[str, Any]) -> ClientMessage:
    """Return the client's message that has come as a JSON object; raises BadMessage."""
    try:
        frame = _ENCODER.encode(content)
    except (ValueError, OverflowError) as error:
        raise BadMessage(readable(error), id_in(content)) from error
    return decode_client(frame)  # with the same limits


def as_json(payload: bytes) -> bytes:
    """Return the encoded message as JSON, for pages."""
    return msgspec.json.encode(msgspec.msgpack.decode(payload))


def news_in(payload: bytes) -> News | None:
    """Return the encoded message if it is news."""
    content = msgspec.msgpack.decode(payload)
    kind = _NEWS.get(content["t"])
    news: News | None = None if kind is None else msgspec.convert(content, kind)
    return news


def decode_server(frame: bytes) -> ServerMessage:
    """Return the server's message in `frame`; raises BadMessage whatever the bytes.

    Raises UnknownMessage for messages that only newer servers send, which clients ignore.
    """
    message: ServerMessage = _decode(frame, SERVER_FRAME_BYTES, _FROM_SERVER)
    return message


def _decode(frame: bytes, most_bytes: int, kinds: dict[str, Any]) -> Any:
    if len(frame) > most_bytes:
        raise BadMessage(f"the frame has {len(frame)} bytes; at most {most_bytes} are allowed")
    try:
        content = _unpacked(frame)
    except ValueError as error:
        raise BadMessage(f"the frame is not one msgpack map within the limits: {readable(error)}") from error
    if not isinstance(content, dict):
        raise BadMessage("the frame is not one msgpack map")
    tag = content.get("t")
    # Not convert() with the whole union: it analyses the union again for each message.
    kind = kinds.get(tag) if isinstance(tag, str) else None
    if kind is None:
        wrong = UnknownMessage if isinstance(tag, str) else BadMessage
        raise wrong(f"`t` must be one of {', '.join(kinds)}", id_in(content))
    try:
        return convert(content, kind)
    except ValidationError as error:
        raise BadMessage(readable(error), id_in(content)) from error


def readable(error: Exception) -> str:
    """Return the error's text as one short printable line."""
    return printable(str(error) or type(error).__name__)[:200]


def id_in(content: object) -> int | None:
    """Return the command id in an unpacked message, which may be anything."""
    if isinstance(content, dict):
        found = content.get("id")
        if type(found) is int and 0 <= found <= LARGEST_ID:
            return found
    return None

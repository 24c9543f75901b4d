"""What the first bytes of a client's websocket frame say (RFC 6455, 5.2)."""

from typing import Final

from websockets.frames import (  # type: ignore[attr-defined]  # the compiled function, where there is one
    Opcode,
    apply_mask,
)

from protocol.limits import CLIENT_FRAME_BYTES

_WHOLE_BINARY: Final = 0x80 | Opcode.BINARY  # with no part to follow, and no extension
_MASKED: Final = 0x80
_MASK_BYTES: Final = 4
_SHORT_HEAD: Final = 2 + _MASK_BYTES


def bytes_of_first_frame(data: bytes | bytearray) -> int:
    """Return the size of the first frame, 0 if too little of it is there to tell.

    Of a frame whose head is enough to refuse it, that is the size of its head.
    """
    if len(data) < 2:
        return 0
    if not data[1] & _MASKED:
        return 2
    head, payload = 2, data[1] & ~_MASKED
    if payload >= 126:
        head = 4 if payload == 126 else 10
        if len(data) < head:
            return 0
        payload = int.from_bytes(data[2:head])
    return head if payload > CLIENT_FRAME_BYTES else head + _MASK_BYTES + payload


def is_short_message(frame: bytes | bytearray) -> bool:
    """Return whether a frame is a whole binary message of at most 125 bytes, masked as it has to be."""
    return frame[0] == _WHOLE_BINARY and _MASKED <= frame[1] < _MASKED | 126


def content_of_short(frame: bytes | bytearray) -> bytes:
    """Return the content of a frame for which `is_short_message` is true."""
    return apply_mask(frame[_SHORT_HEAD:], frame[2:_SHORT_HEAD])

"""Where a client's websocket frame ends, before it is parsed (RFC 6455, 5.2)."""

from typing import Final

from protocol.limits import CLIENT_FRAME_BYTES

_MASKED: Final = 0x80
_MASK_BYTES: Final = 4


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

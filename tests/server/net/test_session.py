"""Short frames are made without the library, and are the same as the library's."""

import pytest
from websockets.frames import Frame, Opcode

from server.net.session import in_frame


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536])
def test_a_frame_is_what_the_library_would_send(size: int) -> None:
    payload = b"x" * size
    assert in_frame(payload) == Frame(Opcode.BINARY, payload).serialize(mask=False)

"""Short frames are the same as the library's, though made without it; and codes are new ones."""

import pytest
from websockets.frames import Frame, Opcode

from server.net.session import in_frame
from server.net.tokens import new_code


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536])
def test_a_frame_is_what_the_library_would_send(size: int) -> None:
    payload = b"x" * size
    assert in_frame(payload) == Frame(Opcode.BINARY, payload).serialize(mask=False)


def test_a_code_is_given_to_one_table() -> None:
    class Taken:
        def __contains__(self, code: object) -> bool:
            return not str(code).startswith("B")

    assert new_code(Taken(), private=False).startswith("B")

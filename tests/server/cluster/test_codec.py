"""What servers tell each other arrives as it was, and nothing else that arrives does any harm."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.text import unsafe
from server.cluster.codec import MOST_BYTES, NotUnderstood, decode, encode
from server.cluster.messages import Message, PersonElsewhere, PublicTable, RemarkElsewhere
from tests.server.cluster.messages import REMARK, messages


@given(messages())
def test_what_is_told_arrives(message: Message) -> None:
    body = encode(message)
    assert len(body) <= MOST_BYTES
    assert decode(body) == message


@given(
    st.binary(max_size=200)
    | st.builds(msgspec.msgpack.encode, st.dictionaries(st.text(), st.integers(-9, 9)))
)
def test_bytes_are_a_message_or_not_understood(body: bytes) -> None:
    try:
        message = decode(body)
    except NotUnderstood:
        return
    assert isinstance(message, PublicTable | PersonElsewhere | RemarkElsewhere)


@given(messages(), st.data())
def test_a_damaged_message_is_another_one_or_not_understood(message: Message, data: st.DataObject) -> None:
    body = bytearray(encode(message))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] = data.draw(st.integers(0, 255))
    try:
        found = decode(bytes(body))
    except NotUnderstood:
        return
    if isinstance(found, RemarkElsewhere):
        assert unsafe(found.text) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x91" * 60_000,  # lists in lists
        b"\xc1",
        msgspec.msgpack.encode({"t": "of-a-later-version", "text": "hello"}),
        msgspec.msgpack.encode({"t": "remark"}),
        msgspec.msgpack.encode({**msgspec.to_builtins(REMARK), "t": "remark", "text": "\x1b[2J"}),
        encode(REMARK) + b"\0" * MOST_BYTES,
    ],
    ids=["nothing", "deep", "no msgpack", "unknown", "incomplete", "escape sequence", "too long"],
)
def test_what_is_not_understood(body: bytes) -> None:
    with pytest.raises(NotUnderstood):
        decode(body)


def test_fields_of_a_later_version_are_passed_over() -> None:
    later = {**msgspec.to_builtins(REMARK), "t": "remark", "colour": "red"}
    assert decode(msgspec.msgpack.encode(later)) == REMARK

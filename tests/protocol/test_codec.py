"""Frames and texts: what is encoded comes back, and nothing leads to anything but a message or BadMessage."""

import unicodedata
from collections.abc import Callable
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import limits
from protocol.codec import BadMessage, decode_client, decode_server, encode
from protocol.messages import Events, Hello, OpenTable, Ping, Resume, Say, Seated
from protocol.text import printable, unsafe
from tests.games import examples
from tests.protocol.messages import FROM_CLIENT, FROM_SERVER, anything, messages_of

Decode = Callable[[bytes], Any]


def refusal(decode: Decode, frame: bytes) -> BadMessage:
    with pytest.raises(BadMessage) as refused:
        decode(frame)
    return refused.value


def decoded_or_refused(decode: Decode, frame: bytes) -> Any:
    """Return the message in `frame`, or None; any exception but BadMessage fails the test."""
    try:
        return decode(frame)
    except BadMessage as refused:
        text = str(refused)
    assert text.isprintable()
    assert len(text) < 400
    return None


def ping(**changes: Any) -> bytes:
    frame: bytes = msgpack.packb({"t": "ping", "id": 1} | changes)
    return frame


@pytest.mark.parametrize("kind", FROM_CLIENT, ids=lambda kind: kind.__name__)
@examples(1)
@given(data=st.data())
def test_client_messages_come_back(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    """Every message that the schema allows; with a field that the server would ignore, it is refused.

    Required fields are required, and what passes in a field is what the message then holds.
    """
    message = data.draw(messages_of(kind))
    frame = encode(message)
    assert decode_client(frame) == message
    content = msgpack.unpackb(frame)
    refused = refusal(decode_client, msgpack.packb(content | {"added": 1}))
    assert "added" in str(refused)
    assert refused.id == content.get("id")
    name = data.draw(st.sampled_from(sorted(content)))
    value = data.draw(anything)
    changed = decoded_or_refused(decode_client, msgpack.packb(content | {name: value}))
    if changed is not None:
        # A field that has its default now is not encoded.
        held = msgpack.unpackb(encode(changed)).get(name, getattr(changed, name, None))
        held = list(held) if isinstance(held, tuple) else held
        assert (held, type(held)) == (value, type(value))
    del content[name]
    lacking = decoded_or_refused(decode_client, msgpack.packb(content))
    required = {field.name for field in msgspec.structs.fields(kind) if field.required}
    assert (lacking is None) == (name in required or name == "t")


@pytest.mark.parametrize("kind", FROM_SERVER, ids=lambda kind: kind.__name__)
@examples(1)
@given(data=st.data())
def test_server_messages_come_back(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    message = data.draw(messages_of(kind))
    frame = encode(message)
    assert decode_server(frame) == message
    added = {"added": [1, {"later": True}]}
    assert decode_server(msgpack.packb(msgpack.unpackb(frame) | added)) == message


@pytest.mark.parametrize(("decode", "kinds"), [(decode_client, FROM_CLIENT), (decode_server, FROM_SERVER)])
@examples(3)
@given(data=st.data())
def test_damaged_frames(decode: Decode, kinds: tuple[type[msgspec.Struct], ...], data: st.DataObject) -> None:
    frame = bytearray(encode(data.draw(st.sampled_from(kinds).flatmap(messages_of))))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(frame) - 1))
        match data.draw(st.sampled_from(["change", "lose", "add"])):
            case "change":
                frame[at] = data.draw(st.integers(0, 255))
            case "lose" if len(frame) > 1:
                del frame[at]
            case _:
                frame.insert(at, data.draw(st.integers(0, 255)))
    message = decoded_or_refused(decode, bytes(frame))
    if message is not None:
        assert decode(encode(message)) == message


odd_values = st.recursive(
    anything
    | st.floats()
    | st.binary(max_size=3)
    | st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=3))
    | st.builds(msgpack.Timestamp, st.integers(0, 2**34), st.integers(0, 10**9 - 1)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.integers(-3, 3) | st.floats() | st.binary(max_size=2) | st.booleans(), inner, max_size=2
        )
    ),
    max_leaves=5,
)


@pytest.mark.parametrize(("decode", "kinds"), [(decode_client, FROM_CLIENT), (decode_server, FROM_SERVER)])
@examples(3)
@given(data=st.data())
def test_odd_values(decode: Decode, kinds: tuple[type[msgspec.Struct], ...], data: st.DataObject) -> None:
    """Any msgpack value in any field: NaN, extensions, timestamps, binaries, maps with keys of any type."""
    content = msgpack.unpackb(encode(data.draw(st.sampled_from(kinds).flatmap(messages_of))))
    content[data.draw(st.sampled_from(sorted(content)))] = data.draw(odd_values)
    decoded_or_refused(decode, msgpack.packb(content))


@pytest.mark.parametrize(
    "frame",
    [
        *(b"", b"\xc1", None, 7, [1, 2], "ping", {}, {"id": 1}),
        *({"t": "welcome", "version": 1, "server": "x"}, {b"t": b"ping", b"id": 1}),
        *({"t": kind, "id": 1} for kind in (None, ["ping"], {"a": 1})),
        *(ping(id=each) for each in (True, 1.0, -1, limits.LARGEST_ID + 1, "1", float("nan"), None)),
        *(ping(id=each) for each in (msgpack.Timestamp(1, 0), msgpack.ExtType(5, b""))),
        ping(**{"\x1b[2J\u202e" + "x" * 900: 1}),
        *(ping() + b"\x00", ping() + ping(), ping()[:-1]),
        b"\x82\xa1t\xa4ping\x90\x01",  # a list for a key
        b"\x82\xa1t\xa4ping\x80\x01",  # a map for a key
        b"\x82\xa1t\xa4ping\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00\x01",  # NaN for a key
        b"\x83\xa1t\xa4ping\xa2id\x01\xa2id\x02",  # a key twice
        b"\x83\xa1t\xa4ping\xa1t\xa5leave\xa2id\x01",  # the tag twice
        b"\x84\xa2id\x01\xa5piece\xa2Em\xa5field\xa2A1\xa5field\xa2A2",  # a key twice, and no tag
        b"\x82\xa1t\xa4ping\xa2id\xa3\xed\xa0\x80",  # a surrogate in UTF-8
        b"\x82\xa1t\xa4ping\xa2id\xc7\x00\xff",  # a timestamp of no bytes
        b"\xdb\xff\xff\xff\xff",  # 4 GiB of text announced
        b"\xdd\xff\xff\xff\xff",  # as many entries in a list
        b"\xdf\xff\xff\xff\xff",  # as many in a map
        b"\xc6\xff\xff\xff\xff",  # as many bytes
        b"\xc9\xff\xff\xff\xff\x05",  # as many in an extension
        b"\x91" * (limits.CLIENT_FRAME_BYTES - 1) + b"\xc0",
        b"\x82\xa1t\xa4ping\xa2id" + b"\x91" * 1000 + b"\xc0",
        b"\x81\xa1t" * 2000 + b"\xc0",
        *({"t": "say", "id": 1, "text": "x" * (1 + n)} for n in (limits.STRING_LENGTH, limits.CHAT_LENGTH)),
        {"t": "hello", "versions": [1] * (limits.ARRAY_LENGTH + 1), "client": ""},
        {"t": "hello", "versions": [True], "client": ""},
        {"t": "ping", "id": 1} | {f"x{number}": 0 for number in range(limits.MAP_LENGTH)},
        *({"t": "place", "id": 1, "piece": each, "field": "C4"} for each in ("Em*\n", "Es*")),
        *({"t": "place", "id": 1, "piece": "Em", "field": each} for each in ("C4\n", "C7")),
        *({"t": "lay", "id": 1, "position": at, "orientation": turn} for at, turn in ((0, 0), (1, 6))),
    ],
)
def test_each_of_these_frames_is_refused(frame: Any) -> None:
    packed = frame if isinstance(frame, bytes) else msgpack.packb(frame)
    assert decoded_or_refused(decode_client, packed) is None


@pytest.mark.parametrize("depth", [100, 990, 1015, 5000])
def test_depth_in_an_event_harms_no_client(depth: int) -> None:
    """An event's own map may hold anything as yet, but no depth of it breaks the decoder."""
    head = msgpack.packb({"t": "events", "seq": 1})
    frame = b"\x83" + head[1:] + b"\xa6events\x91\x81\xa1a" + b"\x91" * depth + b"\xc0"
    decoded_or_refused(decode_server, frame)


def test_a_frame_over_the_limit_is_not_even_read() -> None:
    assert "at most 8192" in str(refusal(decode_client, b"\xc0" * (limits.CLIENT_FRAME_BYTES + 1)))
    assert "at most 262144" in str(refusal(decode_server, b"\xc0" * (limits.SERVER_FRAME_BYTES + 1)))


def test_the_largest_messages_of_a_client_fit_its_frame() -> None:
    for message in (
        Say(limits.LARGEST_ID, "\U0001f409" * limits.CHAT_LENGTH),
        Hello([2**63] * 16, "\U0001f409" * 64),
    ):
        assert decode_client(encode(message)) == message


def test_a_refusal_has_the_id_that_could_be_read() -> None:
    """The sender of a bad command can tell which it was; an invalid id is not echoed."""
    assert refusal(decode_client, ping(extra=1)).id == 1
    assert refusal(decode_client, msgpack.packb({"t": "nonsense", "id": 7})).id == 7
    assert refusal(decode_client, ping(id=True)).id is None
    assert refusal(decode_client, ping(id=-5)).id is None


def test_a_client_leaves_out_defaults() -> None:
    """A server of an earlier version, which refuses fields that it does not know, understands the rest."""
    assert msgpack.unpackb(encode(OpenTable(1, 3, "Anna"))).keys() == {"t", "id", "players", "name"}


def test_each_side_decodes_what_the_other_may_send() -> None:
    refusal(decode_server, encode(Ping(1)))
    refusal(decode_client, encode(Events(1, [])))


@pytest.mark.parametrize("message", [Seated(1, "ABCD", 0, "a-secret"), Resume(1, "ABCD", "a-secret", 3)])
def test_a_token_is_never_shown(message: Seated | Resume) -> None:
    """However a message is shown, alone or in something else; the wire has it all the same."""
    assert "a-secret" not in f"{message} {message!r} {[message]!r}"
    assert f"{message!r}".startswith(f"{type(message).__name__}(id=1, table='ABCD'")
    assert b"a-secret" in encode(message)


NAMES = "Anna, Zoë, Łukasz, Ἀχιλλεύς, Ольга, 李小龙, さくら, שלום, नमस्ते, Anna & Ben, Well played! 🎲"
INVISIBLE = "\n\t\x1b\x9b\x00\x7f\u202e\u2066\u200b\ufeff\u2028\u2029"


def test_names_of_the_world_pass() -> None:
    assert [name for name in NAMES.split(", ") if unsafe(name)] == []


@pytest.mark.parametrize("character", INVISIBLE + "\ud800\ue000\u0378\u3164\U000e0041\U00016fe4\U0001d159")
def test_what_deceives_is_refused_by_its_code_point(character: str) -> None:
    found = unsafe(f"An{character}na")
    assert found
    assert found.about.get("character") == f"U+{ord(character):04X}"


@pytest.mark.parametrize("text", ["", " ", " Anna", "Anna\u3000", "\ufe0f", "\u0301nna"])
def test_blanks_are_refused(text: str) -> None:
    """At the ends as well, where nobody sees them."""
    found = unsafe(text)
    assert found
    assert found.fault == "blank"


def test_marks_that_pile_up_and_other_forms_are_refused() -> None:
    found = [unsafe(text) for text in ("a\u0301\u0302\u0303\u0304", "Zoe\u0308")]
    assert [each and each.fault for each in found] == ["too-many-marks", "not-composed"]


@given(st.text(max_size=30))
def test_what_passes_is_harmless(text: str) -> None:
    if unsafe(text) is None:
        assert all(unicodedata.category(character)[0] != "C" for character in text)
        assert unicodedata.normalize("NFC", text) == text == text.strip() != ""


@given(st.text(max_size=30))
def test_an_escaped_text_shows_all_and_does_nothing(text: str) -> None:
    """What is logged or shown of a stranger's text has no character that a terminal acts on."""
    shown = printable(text)

    def acts(character: str) -> bool:
        return unicodedata.category(character)[0] == "C" or character in "\u2028\u2029"

    assert not any(map(acts, shown))
    assert any(map(acts, text)) or shown == text


def test_an_escape_tells_which_character_it_was() -> None:
    assert printable("\x1b[0m") == "\\x1b[0m"
    assert printable("\u202e") != printable("\u202d")

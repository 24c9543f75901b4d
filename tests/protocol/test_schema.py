"""The messages as JSON Schema: what the file says is what the code accepts and what a server sends."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from build_schema import schema, schema_text
from engine.game import GameOptions
from engine.pieces import Seat
from engine.redaction import redacted, redacted_legal, snapshot
from engine.view import SPECTATOR, eyes_of
from protocol import messages
from protocol.codec import BadMessage, decode_client, encode
from protocol.events import event_map, legal_message, snapshot_message
from tests.examples import examples
from tests.games import MOST_COMMANDS, played, taken_back
from tests.protocol.messages import FROM_CLIENT, FROM_SERVER, anything, messages_of, texts

FILE = Path(__file__).parents[2] / "docs" / "protocol.schema.json"


def closed(part: Any) -> Any:
    """Return the schema with no map open to fields that it does not name, so that none is forgotten."""
    if isinstance(part, list):
        return [closed(each) for each in part]
    if not isinstance(part, dict):
        return part
    inner = {name: closed(each) for name, each in part.items()}
    return {"additionalProperties": False, **inner} if "properties" in part else inner


def validator(direction: str) -> Draft202012Validator:
    content = closed(json.loads(FILE.read_text(encoding="utf-8")))
    return Draft202012Validator({"$ref": f"#/$defs/{direction}", "$defs": content["$defs"]})


CLIENTS = validator("FromClient")
OTHERS = [kind for kind in FROM_SERVER if kind not in {messages.Events, messages.Snapshot}]
SERVERS = validator("FromServer")


def tags_of_valid(frames: Iterable[bytes], valid: Draft202012Validator) -> set[str]:
    """Fail unless every frame is valid; return the tags of them all, and of the events in them."""
    tags = set()
    for frame in set(frames):
        content = msgpack.unpackb(frame)
        assert valid.is_valid(content), content
        events = content.get("events", ()) or content.get("scoring", ())
        tags |= {content["t"], *(f"event {event['t']}" for event in events)}
    return tags


def test_the_file_is_what_the_code_makes() -> None:
    """After a change of the messages, the command in the file's description makes it again."""
    text = FILE.read_text(encoding="utf-8")
    assert text == schema_text(), "run build_schema.py as it says"
    assert r"\\Z" not in text  # of Python's patterns: others know those of ECMA 262
    Draft202012Validator.check_schema(schema())


@given(st.data())
def test_schema_and_server_accept_the_same(data: st.DataObject) -> None:
    """Whatever a client sends, with a field too many, too few or of another kind."""
    message = data.draw(messages_of(data.draw(st.sampled_from(FROM_CLIENT))))
    content: dict[str, Any] = msgpack.unpackb(encode(message))
    change = data.draw(st.sampled_from(["nothing", "change", "remove", "add"]))
    name = data.draw(texts if change == "add" else st.sampled_from(sorted(content)))
    if change == "remove":
        del content[name]
    elif change != "nothing":
        content[name] = data.draw(anything)
    try:
        decode_client(msgpack.packb(content))
    except BadMessage:
        accepted = False
    else:
        accepted = True
    assert CLIENTS.is_valid(content) is accepted, content


@examples(30)
@given(st.sampled_from(OTHERS).flatmap(messages_of))
def test_what_a_server_may_send_is_valid(message: messages.ServerMessage) -> None:
    content = msgpack.unpackb(encode(message))
    assert SERVERS.is_valid(content), content


@pytest.mark.parametrize("commands", [3, 12, MOST_COMMANDS])
def test_what_a_server_sends_of_a_game_is_valid(commands: int) -> None:
    """To players and to spectators, however the tiles are laid, and when moves are taken back."""
    frames = []
    for game in (
        played(GameOptions(2), 1, commands),
        played(GameOptions(3, random_layout=True), 1, commands),
    ):
        taken_back(game, random.Random(1))
        for eyes in (SPECTATOR, eyes_of(Seat(1))):
            events = [event_map(redacted(event, eyes)) for event in game.events]
            legal = redacted_legal(game.legal(), eyes)
            may = None if legal is None else legal_message(legal)
            frames.append(encode(messages.Events(1, events, game.view.turn, may)))
            frames.append(encode(snapshot_message(snapshot(game.view, eyes), len(events), legal)))
    assert tags_of_valid(frames, SERVERS) > {"events", "snapshot", "event started"}

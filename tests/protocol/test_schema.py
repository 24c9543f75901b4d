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
from protocol import messages
from protocol.codec import BadMessage, decode_client, encode
from tests.protocol.messages import FROM_CLIENT, anything, messages_of, texts
from tests.server.peer import connected, game, memory_server, play_on

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
SERVERS = validator("FromServer")


def tags_of_valid(frames: Iterable[bytes], valid: Draft202012Validator) -> set[str]:
    """Fail unless every frame is valid; return the tags of them all, and of the events in them."""
    tags = set()
    for frame in set(frames):
        content = msgpack.unpackb(frame)
        assert valid.is_valid(content), content
        tags.add(content["t"])
        tags.update(
            f"event {event['t']}" for event in content.get("events", ()) or content.get("scoring", ())
        )
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


@pytest.mark.parametrize(("players", "random_layout"), [(2, False), (3, True)])
async def test_all_that_a_server_sends_is_valid(players: int, *, random_layout: bool) -> None:
    """In a whole game, to its players and to spectators, one of whom comes late; and in the lobby."""
    async with (
        memory_server() as server,
        game(server.port, players, watched=True, random_layout=random_layout) as peers,
        connected(server.port) as late,
    ):
        host = peers[0]
        await late.done(messages.EnterLobby(late.next_id(), "Late"))
        await late.done(messages.SayInLobby(late.next_id(), "Salve!"))
        await late.until(messages.SaidInLobby)
        await late.ask(messages.ListTables(late.next_id()))
        await play_on(peers, random.Random(players), 12)
        await late.watch(host.code)
        await late.until(messages.Snapshot)
        await host.done(messages.Say(host.next_id(), "Ave!"))
        for on in (True, False):
            await host.done(messages.AskPause(host.next_id(), on))
        await host.refused(messages.StartGame(host.next_id()))
        everybody = [*peers, late]
        for peer in everybody:
            await peer.done(messages.Sync(peer.next_id(), peer.seq))
        await play_on(everybody, random.Random(players))
        await late.done(messages.Sync(late.next_id()))
        await late.ask(messages.GetRecord(late.next_id()))
        await late.nothing_but_pong()
        frames = [frame for peer in everybody for frame in peer.frames]
    assert tags_of_valid(frames, SERVERS) > {
        *("welcome", "seated", "watching", "table", "tables", "snapshot", "events", "done", "refused"),
        *("said", "online", "lobby-said", "record", "pong"),
        *("event started", "event laurels", "event placed", "event revealed", "event scored", "event ended"),
    }

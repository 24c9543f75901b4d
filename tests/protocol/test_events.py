"""Events, legal moves and snapshots on the wire, and the messages as JSON Schema."""

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from build_schema import schema, schema_text
from engine.game import Game, GameOptions
from engine.pieces import Seat
from engine.redaction import redacted, redacted_legal, snapshot
from engine.view import SPECTATOR, eyes_of, folded
from protocol import messages
from protocol.codec import BadMessage, decode_client, decode_server, encode
from protocol.events import (
    EVENT_TAGS,
    event_map,
    event_of,
    legal_message,
    legal_of,
    snapshot_message,
    view_of,
)
from protocol.messages import Events, Snapshot
from tests.games import (
    MOST_COMMANDS,
    all_eyes,
    examples,
    finished_games,
    games,
    played,
    rest_slow,
    taken_back,
)
from tests.protocol.messages import FROM_CLIENT, FROM_SERVER, anything, messages_of, texts


def sent(content: dict[str, Any]) -> dict[str, Any]:
    """Return an event's map after the wire."""
    message = decode_server(encode(Events(1, [content])))
    assert isinstance(message, Events)
    return message.events[0]


def shape(value: Any) -> Any:
    """Return the types that make up a value: enums and pieces equal their text, their types do not."""
    if isinstance(value, tuple | list):
        return type(value), [shape(each) for each in value]
    if isinstance(value, dict):
        return dict, [(shape(key), shape(each)) for key, each in value.items()]
    if hasattr(value, "__dataclass_fields__"):
        return type(value), [shape(getattr(value, name)) for name in value.__dataclass_fields__]
    return type(value)


@given(finished_games())
def test_every_event_comes_back(game: Game) -> None:
    for eyes in all_eyes(game):
        for event in game.events:
            seen = redacted(event, eyes)
            again = event_of(sent(event_map(seen)))
            assert again == seen
            assert shape(again) == shape(seen)


def test_every_kind_of_event_is_among_those_tried() -> None:
    """The tags are complete: games of both layouts, seen by a spectator and by all, have every kind."""
    kinds: set[type] = set()
    for random_layout in (True, False):
        game = played(GameOptions(3, random_layout=random_layout), seed=11)
        begun = played(GameOptions(3), seed=11, commands=9)
        kinds.add(type(begun.taken_back(Seat(0))))
        kinds |= {type(event) for event in game.events}
        kinds |= {type(redacted(event, SPECTATOR)) for event in game.events}
    assert kinds == set(EVENT_TAGS.values())


@given(games())
def test_legal_moves_come_back(game: Game) -> None:
    legal = game.legal()
    if legal is not None:
        assert legal_of(legal_message(legal), legal.seat) == legal


@given(games())
def test_a_snapshot_comes_back_as_the_view_it_was(game: Game) -> None:
    for eyes in all_eyes(game):
        seat = next(iter(eyes), None)
        frame = encode(snapshot_message(snapshot(game.view, eyes), len(game.events), game.legal()))
        message = decode_server(frame)
        assert isinstance(message, Snapshot)
        view = view_of(message, seat)
        heard = folded((redacted(event, eyes) for event in game.events), eyes)
        assert view == heard
        assert shape(view) == shape(heard)


@examples(8)
@given(st.data())
def test_changed_event_maps_are_refused_or_sound(data: st.DataObject) -> None:
    game = played(GameOptions(2), seed=5)
    content = event_map(data.draw(st.sampled_from(game.events)))
    content[data.draw(st.sampled_from(sorted(content)))] = data.draw(anything)
    try:
        event = event_of(content)
    except BadMessage:
        return
    assert event_of(event_map(event)) == event


@examples(8)
@given(st.data())
def test_changed_snapshots_are_refused_or_sound(data: st.DataObject) -> None:
    game = played(GameOptions(2), seed=5, commands=data.draw(st.sampled_from([2, 10, 40])))
    message = snapshot_message(snapshot(game.view, eyes_of(Seat(0))), len(game.events), None)
    content = msgpack.unpackb(encode(message))
    place: Any = content
    key: Any = data.draw(st.sampled_from(sorted(content)))
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
        place = place[key]
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    place[key] = data.draw(anything)
    try:
        decoded = decode_server(msgpack.packb(content))
        assert isinstance(decoded, Snapshot)
        assert view_of(decoded, Seat(0)).layout is not None
    except BadMessage:
        return


@pytest.mark.parametrize(
    "change", [lambda tiles: [*tiles, None], lambda tiles: tiles[1:], lambda tiles: [["A", 6], *tiles[1:]]]
)
def test_a_snapshot_has_seven_places_for_tiles(change: Callable[[list[Any]], list[Any]]) -> None:
    """More tiles than places, fewer, or one that is turned impossibly: no board could be drawn of it."""
    game = played(GameOptions(2), seed=6, commands=10)
    message = snapshot_message(snapshot(game.view, eyes_of(Seat(0))), len(game.events), None)
    content = msgpack.unpackb(encode(message))
    content["tiles"] = change(content["tiles"])
    with pytest.raises(BadMessage):
        decode_server(msgpack.packb(content))


@pytest.mark.parametrize(
    "content",
    [
        {"t": "drawn", "seat": 0, "tile": "\x1b[2J"},
        {"t": "drawn", "seat": 5, "tile": "A"},
        {"t": "wolf", "seat": 1, "people": "E", "field": "A7"},
        {"t": "revealed", "pieces": {"\x1b": "Em*"}},
        {"t": "layout", "tiles": [{"tile": "H", "orientation": 0}]},
        {"t": "fled", "hill": "A", "field": "A1", "seat": 1, "merchants": [], "farmers": ["\x07"]},
        {
            "t": "scored",
            "hill": "A",
            "laurel": "Caelius",
            "pieces": [["A1", 0, "m", [["merchant", "\x1b]0;", 2]]]],
            "influence": [2, 0],
            "leaders": [0],
        },
    ],
)
def test_what_a_server_names_exists(content: dict[str, Any]) -> None:
    """Tiles, fields and seats that do not exist are refused, however deep: a client shows them to people."""
    with pytest.raises(BadMessage):
        event_of(content)


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


@examples(10)
@given(st.sampled_from(OTHERS).flatmap(messages_of))
def test_what_a_server_may_send_is_valid(message: messages.ServerMessage) -> None:
    content = msgpack.unpackb(encode(message))
    assert SERVERS.is_valid(content), content


@pytest.mark.parametrize("commands", rest_slow(12, 3, MOST_COMMANDS))
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

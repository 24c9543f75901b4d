"""Events, legal moves and snapshots on the wire: the same at the other end, and no secret among them."""

from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.game import Game, GameOptions
from engine.pieces import Seat
from engine.redaction import redacted, snapshot
from engine.view import SPECTATOR, eyes_of, folded
from protocol.codec import BadMessage, decode_server, encode
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
from tests.examples import examples
from tests.games import all_eyes, finished_games, games, played
from tests.protocol.messages import anything


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
    """For every eyes: equal, of the same types inside, and in the same order."""
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
    """The compact form lists neither more nor less."""
    legal = game.legal()
    if legal is not None:
        assert legal_of(legal_message(legal), legal.seat) == legal


@given(games())
def test_a_snapshot_comes_back_as_the_view_it_was(game: Game) -> None:
    """For every seat and spectators: equal to the fold of what they heard, of the same types inside."""
    for eyes in all_eyes(game):
        seat = next(iter(eyes), None)
        frame = encode(snapshot_message(snapshot(game.view, eyes), len(game.events), game.legal()))
        message = decode_server(frame)
        assert isinstance(message, Snapshot)
        view = view_of(message, seat)
        heard = folded((redacted(event, eyes) for event in game.events), eyes)
        assert view == heard
        assert shape(view) == shape(heard)


@examples(25)
@given(st.data())
def test_changed_event_maps_are_refused_or_sound(data: st.DataObject) -> None:
    """Any value in any field of an event: BadMessage, or an event that the wire can carry."""
    game = played(GameOptions(2), seed=5)
    content = event_map(data.draw(st.sampled_from(game.events)))
    content[data.draw(st.sampled_from(sorted(content)))] = data.draw(anything)
    try:
        event = event_of(content)
    except BadMessage:
        return
    assert event_of(event_map(event)) == event


@examples(25)
@given(st.data())
def test_changed_snapshots_are_refused_or_sound(data: st.DataObject) -> None:
    """Any value in any field of a snapshot: BadMessage, or a view."""
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

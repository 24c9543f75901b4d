"""Finished games that nobody is watching: their events, compressed."""

import zlib
from collections.abc import Iterable
from typing import Final

import msgspec

from engine.events import Event
from protocol.events import event_map
from protocol.messages import EventMap
from server.storage.entries import whole_events

_DECODER: Final = msgspec.json.Decoder(list[EventMap])


def packed(events: Iterable[Event]) -> bytes:
    """Return the events of a game in some 2 KiB."""
    return zlib.compress(msgspec.json.encode([event_map(event) for event in events]))


def unpacked(content: bytes) -> list[Event]:
    """Return the events that were packed."""
    return whole_events(_DECODER.decode(zlib.decompress(content)))

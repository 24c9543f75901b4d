"""What a table's journal holds: facts, appended and never changed; a table is the fold of its entries."""

from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from protocol.absence import WAIT, Absence
from protocol.messages import EventMap, Lay, PlacePiece, StartGame

Move: TypeAlias = StartGame | Lay | PlacePiece


class Opened(Struct, frozen=True, tag_field="t", tag="opened"):
    """The table was opened with these options."""

    players: int
    random_layout: bool
    starting: int | None
    absence: Absence = WAIT


class Taken(Struct, frozen=True, tag_field="t", tag="taken"):
    """A player took a seat; only the token's hash is kept."""

    seat: int
    name: str
    token_hash: str


class Kept(Struct, frozen=True, tag_field="t", tag="kept"):
    """A seat waits for a player of the game before, who takes it with the token of then."""

    seat: int
    name: str
    token_hash: str


class Freed(Struct, frozen=True, tag_field="t", tag="freed"):
    """A player left a seat of a table that has not begun."""

    seat: int


class Played(Struct, frozen=True, tag_field="t", tag="played"):
    """A seat's move was accepted: all that happened, with the secret kinds."""

    seat: int
    move: Move
    events: list[EventMap]


class Continued(Struct, frozen=True, tag_field="t", tag="continued"):
    """The players of this finished game play again at the table `code`."""

    code: str


class Forgotten(Struct, frozen=True, tag_field="t", tag="forgotten"):
    """The table is closed for good."""


Entry: TypeAlias = Opened | Taken | Kept | Freed | Played | Continued | Forgotten

_DECODER: Final[msgspec.json.Decoder[Entry]] = msgspec.json.Decoder(Entry)


def entry_text(entry: Entry) -> str:
    """Return the entry as one line of JSON."""
    return msgspec.json.encode(entry).decode()


def entry_of(text: str) -> Entry:
    """Return the entry in a line of JSON; raises msgspec.DecodeError if it is none."""
    return _DECODER.decode(text)

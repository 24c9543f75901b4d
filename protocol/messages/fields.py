"""The types of the messages' fields: what both sides check strictly."""

from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta

from protocol.limits import (
    CODE_LENGTH,
    LARGEST_ID,
    LEVEL_LENGTH,
    NAME_LENGTH,
    PRIVATE_CODE_LENGTH,
    TITLE_LENGTH,
    TOKEN_LENGTH,
)

CommandId: TypeAlias = Annotated[int, Meta(ge=0, le=LARGEST_ID)]
Seq: TypeAlias = Annotated[int, Meta(ge=0, le=LARGEST_ID)]
SeatNumber: TypeAlias = Annotated[int, Meta(ge=0, le=4)]
PositionNumber: TypeAlias = Annotated[int, Meta(ge=1, le=6)]
OrientationNumber: TypeAlias = Annotated[int, Meta(ge=0, le=5)]
PieceName: TypeAlias = Annotated[str, Meta(pattern=r"^[ESLMA](?:[mf]\*?|s)\Z")]
PeopleName: TypeAlias = Annotated[str, Meta(pattern=r"^[ESLMA]\Z")]
FieldName: TypeAlias = Annotated[str, Meta(pattern=r"^[A-G][1-6]\Z")]
TileName: TypeAlias = Annotated[str, Meta(pattern=r"^[A-G]\Z")]
TableCode: TypeAlias = Annotated[str, Meta(pattern=rf"^[A-Z]{{{CODE_LENGTH},{PRIVATE_CODE_LENGTH}}}\Z")]
Token: TypeAlias = Annotated[str, Meta(min_length=1, max_length=TOKEN_LENGTH)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH)]
Level: TypeAlias = Annotated[str, Meta(pattern=rf"^[a-z][a-z0-9-]{{0,{LEVEL_LENGTH - 1}}}\Z")]  # of a bot
TableTitle: TypeAlias = Annotated[str, Meta(max_length=TITLE_LENGTH)]
RemarkNumber: TypeAlias = Annotated[int, Meta(ge=1, le=LARGEST_ID)]
SpectatorNumber: TypeAlias = Annotated[int, Meta(ge=1, le=LARGEST_ID)]
Seconds: TypeAlias = Annotated[int, Meta(ge=0)]
Milliseconds: TypeAlias = Annotated[int, Meta(ge=0)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Substitute: TypeAlias = Literal["bot", "clock"]  # why the stand-in moved: it holds the seat, or time was up
Hex32: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]  # 32 bytes
FieldSet: TypeAlias = Annotated[int, Meta(ge=0, lt=2**42)]  # bit i: field i of A1..A6, B1..B6, ... G6
Stage: TypeAlias = Literal["gathering", "playing", "over"]  # of a table
Whereabouts: TypeAlias = Literal["lobby", "playing", "watching"]

SCHEMA_NAMES: Final = "#/$defs/{name}"  # where JSON Schema finds a class: see `protocol.schema`
EVENT_SCHEMA: Final = "Event"
# An event's own map; `protocol.events` checks it.
EventMap: TypeAlias = Annotated[
    dict[str, Any], Meta(extra_json_schema={"$ref": SCHEMA_NAMES.format(name=EVENT_SCHEMA)})
]

"""The messages as JSON Schema (draft 2020-12), for programs in any language: docs/protocol.schema.json.

    python build_schema.py > docs/protocol.schema.json

Messages are msgpack on the wire; the schema describes the maps that are packed.
"""

import dataclasses
import inspect
import json
import sys
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from engine.board import Field, Tile
from engine.draws import MISSING, NO_SHARE, OF_ROUND, Bytes32, Share
from engine.pieces import Piece, Seat
from protocol.events import EVENT_TAGS
from protocol.limits import VERSIONS
from protocol.messages import (
    EVENT_SCHEMA,
    SCHEMA_NAMES,
    ClientMessage,
    FieldName,
    Hex32,
    PieceName,
    SeatNumber,
    ServerMessage,
    TileName,
)

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_WIRE: Final[dict[Any, Any]] = {
    Tile: TileName,
    Field: FieldName,
    Seat: SeatNumber,
    Piece: PieceName,
    Bytes32: Hex32,
    Share: Annotated[str, Meta(pattern=rf"^(?:{NO_SHARE}|{MISSING}|{OF_ROUND}|[0-9a-f]{{64}})\Z")],
}

Json: TypeAlias = dict[str, Any]


def schema() -> Json:
    """Return the schema: a map is valid if it is a message, in either direction."""
    events = [_event_class(tag, kind) for tag, kind in EVENT_TAGS.items()]
    (from_client, from_server, event), classes = msgspec.json.schema_components(
        [ClientMessage, ServerMessage, Union[tuple(events)]],  # noqa: UP007 - of types known at run time
        ref_template=SCHEMA_NAMES,
    )
    content = {
        "$schema": _DIALECT,
        "title": f"The messages of Palatinus, protocol version {VERSIONS[-1]}",
        "description": (
            "Made by `python build_schema.py`. docs/protocol.md describes the messages. "
            "FromClient is what a client sends, with no other fields. FromServer is what a server sends, to "
            "which newer servers may add fields and messages."
        ),
        "anyOf": [{"$ref": SCHEMA_NAMES.format(name=name)} for name in ("FromClient", "FromServer")],
        "$defs": {
            "FromClient": from_client,
            "FromServer": from_server,
            EVENT_SCHEMA: {"description": "What happened in a game, as a map.", **event},
            **classes,
        },
    }
    clean: Json = _plain(content)
    return clean


def schema_text() -> str:
    """Return the schema as the text of the file in docs/."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def _event_class(tag: str, event: type) -> type[msgspec.Struct]:
    """Return an event as a class whose instances msgspec would write as `protocol.events` does."""
    return msgspec.defstruct(
        event.__name__, _fields_of(event), tag_field="t", tag=tag, namespace={"__doc__": event.__doc__}
    )


def _fields_of(kind: Any) -> list[tuple[str, Any] | tuple[str, Any, Any]]:
    hints = get_type_hints(kind)
    return [
        (field.name, _on_wire(hints[field.name]))
        if field.default is dataclasses.MISSING
        else (field.name, _on_wire(hints[field.name]), field.default)
        for field in dataclasses.fields(kind)
    ]


def _on_wire(hint: Any) -> Any:
    """Return the type that a message's class would have for a value of the engine's type `hint`."""
    if hint in _WIRE:
        return _WIRE[hint]
    if hint is Ellipsis or hint is NoneType:
        return hint
    if dataclasses.is_dataclass(hint):
        assert isinstance(hint, type)  # noqa: S101 - an instance is not a hint
        return msgspec.defstruct(hint.__name__, _fields_of(hint), namespace={"__doc__": hint.__doc__})
    if isinstance(hint, type) and issubclass(hint, tuple) and get_origin(hint) is None:
        return tuple.__class_getitem__(tuple(map(_on_wire, get_type_hints(hint).values())))
    origin, parts = get_origin(hint), tuple(map(_on_wire, get_args(hint)))
    if origin in {Union, UnionType}:
        return Union[parts]  # noqa: UP007
    return hint if origin is None else origin[parts]


def _plain(content: Any) -> Any:
    """Return a part of the schema in words that every reader of JSON Schema knows.

    `discriminator` is OpenAPI's, `\\Z` is Python's, and docstrings are indented as in the source.
    """
    match content:
        case dict():
            return {
                name: _plain_text(name, part) if isinstance(part, str) else _plain(part)
                for name, part in content.items()
                if name != "discriminator"
            }
        case list():
            return [_plain(part) for part in content]
        case _:
            return content


def _plain_text(name: str, text: str) -> str:
    if name == "pattern":
        return text.replace(r"\Z", "$")
    return inspect.cleandoc(text) if name == "description" else text


if __name__ == "__main__":
    sys.stdout.write(schema_text())

"""The messages as JSON Schema (draft 2020-12), for programs in any language: docs/protocol.schema.json.

    python build_schema.py > docs/protocol.schema.json

Messages are msgpack on the wire; the schema describes the maps that are packed.
"""

import inspect
import json
import sys
from typing import Any, Final, TypeAlias, Union

import msgspec

from protocol.events import EVENT_STRUCTS
from protocol.limits import VERSIONS
from protocol.messages import EVENT_SCHEMA, SCHEMA_NAMES, ClientMessage, ServerMessage

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
Json: TypeAlias = dict[str, Any]


def schema() -> Json:
    """Return the schema: a map is valid if it is a message, in either direction."""
    (from_client, from_server, event), classes = msgspec.json.schema_components(
        [ClientMessage, ServerMessage, Union[tuple(EVENT_STRUCTS.values())]],  # noqa: UP007 - of types known at run time
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


def _plain(content: Any) -> Any:
    """Return a part of the schema in words that every reader of JSON Schema knows.

    `discriminator` is OpenAPI's, `\\Z` is Python's, and docstrings are indented as in the source. That names
    of properties are of an enumeration is said by msgspec from 0.23 on, by others not.
    """
    match content:
        case dict():
            return {
                name: _plain_text(name, part) if isinstance(part, str) else _plain(part)
                for name, part in content.items()
                if name != "discriminator" and not (name == "propertyNames" and "enum" in part)
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

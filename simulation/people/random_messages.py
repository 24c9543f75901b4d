"""Random messages of every kind that the protocol has: new kinds and fields come in by themselves."""

import contextlib
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, get_args

import msgspec

from engine.board import FIELDS
from engine.draws import Bytes32, Share, commitment_to, pledge_of
from engine.pieces import NOTATIONS, People
from protocol.messages import ClientMessage, ServerMessage
from server.net.tokens import token_hash

Message = TypeVar("Message", ClientMessage, ServerMessage)

KINDS: Final = get_args(ClientMessage)
_TEXTS: Final = ("Anna", "Αnna", "a", "é" * 20, "w" * 20, "\x1b[2J", " ", "x" * 200)  # of any length
_SHARES: Final = [Share(digit * 64) for digit in "5a"]
_VALUES_BY_FIELD: Final[Mapping[str, Sequence[str | None]]] = {
    "proof": [token_hash("x")],
    "people": [*People, None],
    "piece": sorted(NOTATIONS),
    "field": FIELDS,
    "password": ["secret"],
    "level": ["random", "best"],
    "share": _SHARES,
    "pledge": [None, *map(pledge_of, _SHARES)],
    "to": [None, "ann@example.org", "nonsense"],
    "language": ["en", "it"],
    "digits": ["123456"],
    "commitment": [commitment_to(Bytes32("0" * 64))],
}


class RandomMessages:
    """Makes messages; those about a table are about one of `tables`."""

    def __init__(self, rng: random.Random, tables: Sequence[str]) -> None:
        self._rng = rng
        self._values = {**_VALUES_BY_FIELD, "table": tables}

    def of(self, kind: type[Message]) -> Message:
        """Return a message of this kind whose fields have values that they allow."""
        info = msgspec.inspect.type_info(kind)
        assert isinstance(info, msgspec.inspect.StructType)
        while True:
            with contextlib.suppress(ValueError):  # a text was too long for its field
                return msgspec.convert(self._content(info), kind)

    def _content(self, info: msgspec.inspect.StructType) -> dict[str, Any]:
        content: dict[str, Any] = {} if info.tag is None else {str(info.tag_field): info.tag}
        for field in info.fields:
            if field.required or self._rng.random() < 0.5:
                known = self._values.get(field.name)
                listed = isinstance(field.type, msgspec.inspect.ListType)
                value = self._rng.choice(known) if known and not listed else self._value(field.type)
                content[field.encode_name] = msgspec.to_builtins(value)
        return content

    def _value(self, info: msgspec.inspect.Type) -> Any:
        rng = self._rng
        match info:
            case msgspec.inspect.UnionType(types):
                return self._value(rng.choice(types))
            case msgspec.inspect.StructType():
                return self._content(info)
            case (
                msgspec.inspect.ListType(item_type=item, max_length=most)
                | msgspec.inspect.VarTupleType(item_type=item, max_length=most)
            ):
                return [self._value(item) for _ in range(rng.randint(1, most or 5))]
            case msgspec.inspect.TupleType(item_types=items):
                return [self._value(item) for item in items]
            case msgspec.inspect.IntType(ge=least, le=most):
                bounds = (least or 0, 2**31 - 1 if most is None else most)
                return rng.choice((*bounds, rng.randint(*bounds)))
            case msgspec.inspect.LiteralType(values):
                return rng.choice(values)
            case msgspec.inspect.BoolType():
                return rng.random() < 0.5
            case msgspec.inspect.NoneType():
                return None
            case msgspec.inspect.StrType(min_length=int(least)) if least > 1:
                return rng.choice("ab") * least
            case msgspec.inspect.StrType(max_length=most):
                return rng.choice(_TEXTS)[:most]
            case msgspec.inspect.DictType():
                return {}
            case msgspec.inspect.FloatType():
                return rng.random()
            case _:
                raise TypeError(f"no values for {info}")

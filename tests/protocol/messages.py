"""Messages for property tests, made out of the schema itself."""

import functools
from typing import Any, get_args

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from protocol.absence import Absence
from protocol.messages import ClientMessage, Hex32, ServerMessage

FROM_CLIENT: tuple[type[msgspec.Struct], ...] = get_args(ClientMessage)
FROM_SERVER: tuple[type[msgspec.Struct], ...] = get_args(ServerMessage)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)


PLAIN: dict[type[inspect.Type], st.SearchStrategy[Any]] = {
    inspect.BoolType: st.booleans(),
    inspect.FloatType: st.floats(allow_nan=False),
    inspect.BytesType: st.binary(max_size=100),
    inspect.NoneType: st.none(),
    inspect.AnyType: anything,
}


def of_schema(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Return values of a type in the schema, up to the bounds that it sets."""
    match kind:
        case inspect.Metadata():
            return of_schema(kind.type)
        case inspect.IntType():
            most = kind.lt - 1 if kind.lt is not None else kind.le
            return st.integers(-(2**63) if kind.ge is None else kind.ge, 2**64 - 1 if most is None else most)
        case inspect.StrType() if kind == inspect.type_info(Hex32):
            return st.binary(min_size=32, max_size=32).map(bytes.hex)  # at once, not digit by digit
        case inspect.StrType() if kind.pattern is not None:
            return st.from_regex(kind.pattern)
        case inspect.StrType():
            longest = 60 if kind.max_length is None else kind.max_length
            return st.text(
                st.characters(exclude_categories=["Cs"]), min_size=kind.min_length or 0, max_size=longest
            )
        case inspect.LiteralType():
            return st.sampled_from(kind.values)
        case inspect.ListType() | inspect.VarTupleType():
            items = st.lists(
                of_schema(kind.item_type), min_size=kind.min_length or 0, max_size=kind.max_length or 4
            )
            return items if isinstance(kind, inspect.ListType) else items.map(tuple)
        case inspect.TupleType():
            return st.tuples(*map(of_schema, kind.item_types))
        case inspect.DictType():
            return st.dictionaries(of_schema(kind.key_type), of_schema(kind.value_type), max_size=4)
        case inspect.UnionType():
            return st.one_of(*map(of_schema, kind.types))
        case inspect.StructType():
            return messages_of(kind.cls)
        case _:
            return PLAIN[type(kind)]  # if the schema has a new kind of type: how to make some


@functools.cache
def messages_of(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Return messages of one class, or the parts of messages that are of this class."""
    schema = inspect.type_info(kind)
    assert isinstance(schema, inspect.StructType)
    return st.builds(kind, **{field.name: of_schema(field.type) for field in schema.fields})


policies: st.SearchStrategy[Absence] = of_schema(inspect.type_info(Absence))

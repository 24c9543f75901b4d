"""Where a journal keeps a table and how far it has come, as the journal and its commit list agree on it."""

import enum
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias


class Place(enum.StrEnum):
    """Where a table is kept; the values are those of the commit list."""

    IN_USE = "="
    ARCHIVED = "~"
    SET_ASIDE = "!"


class Standing(NamedTuple):
    """A table's place, the number of its entries, and the last link of their chain."""

    place: Place
    length: int
    link: bytes


SET_ASIDE: Final = Standing(Place.SET_ASIDE, 0, b"")

# What a commit changed: tables by their codes, None for those that are gone.
Changes: TypeAlias = Mapping[str, Standing | None]

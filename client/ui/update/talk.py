"""What was said at a table: kept apart from the log, so that moves cannot push it away."""

from dataclasses import dataclass, replace
from typing import Final

from msgspec import Struct

from client.table import Heard, TableModel
from client.ui.texts.sentences import names_at, spectator_name, watching_name
from engine.pieces import People

REMARKS_KEPT: Final = 200


class Remark(Struct, frozen=True):
    """What somebody said; `people` has the speaker's colour, once the game has given it."""

    speaker: str
    text: str
    people: People | None = None


@dataclass(frozen=True, slots=True)
class Talk:
    """What was said at the table with this code, oldest first; the last `unread` the player has not read."""

    table: str | None = None
    remarks: tuple[Remark, ...] = ()
    unread: int = 0


def with_remark(talk: Talk, said: Heard, model: TableModel, name: str, *, read: bool) -> Talk:
    """Return `talk` with what was just said; the player `name` need not read what is the player's own."""
    own = said.seat == model.seat if said.seat is not None else model.seat is None and said.spectator == name
    unread = 0 if read or own else talk.unread + 1
    remarks = (*talk.remarks, _remark(said, model))[-REMARKS_KEPT:]
    return replace(talk, remarks=remarks, unread=min(unread, REMARKS_KEPT))


def _remark(said: Heard, model: TableModel) -> Remark:
    if said.seat is None:
        return Remark(watching_name(spectator_name(said.number, said.spectator), said.spectator), said.text)
    people = None if model.view is None else model.view.start.peoples[said.seat][0]
    return Remark(names_at(model)[said.seat], said.text, people)

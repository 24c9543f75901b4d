"""Chat at a table or in the lobby, kept apart from the log so that moves cannot push it away."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from msgspec import Struct

from client.tables.table import Heard, TableModel
from client.ui.texts.people import names_at, spectator_name, watching_name
from engine.pieces import People
from protocol.messages import LobbyRemark

REMARKS_KEPT: Final = 200


class Mute(Struct, frozen=True):
    """Hear somebody no more, or again: the player or spectator of this name, or all spectators for None."""

    name: str | None
    on: bool = True


class Remark(Struct, frozen=True):
    """What somebody said; `people` has the speaker's colour, once the game has given it.

    Its `number` identifies it when it is sent again.
    """

    speaker: str
    text: str
    people: People | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Talk:
    """What was said at the table with this code, or in the lobby, oldest first.

    The last `unread` remarks have not been read; `echoed` if the last one is the player's own. Remarks by
    people `muted` by name, and with `no_spectators` those by any spectator, are not kept.
    """

    table: str | None = None
    remarks: tuple[Remark, ...] = ()
    unread: int = 0
    echoed: bool = False
    muted: frozenset[str] = frozenset()
    no_spectators: bool = False

    def hears(self, name: str | None) -> bool:
        """Return whether the player hears who has this name, or spectators in general for None."""
        return not self.no_spectators if name is None else name.casefold() not in self.muted

    def after(self, mute: Mute) -> "Talk":
        """Return the talk after the player has muted somebody, or no longer does."""
        if mute.name is None:
            return replace(self, no_spectators=mute.on)
        name = {mute.name.casefold()}
        return replace(self, muted=self.muted | name if mute.on else self.muted - name)


def with_remark(talk: Talk, said: Heard, model: TableModel, name: str, *, read: bool) -> Talk:
    """Return `talk` with a new remark; the player `name` need not read their own."""
    if said.seat is None:
        called = spectator_name(said.number, said.spectator)
    else:
        called = said.player or names_at(model)[said.seat]
    known = said.again and any(each.number == said.remark for each in talk.remarks)
    if known or not talk.hears(called) or (said.seat is None and not talk.hears(None)):
        return talk
    own = said.seat == model.seat if said.seat is not None else model.seat is None and said.spectator == name
    unread = 0 if read or own else talk.unread + 1
    remarks = (*talk.remarks, _remark(said, called, model))[-REMARKS_KEPT:]
    return replace(talk, remarks=remarks, unread=min(unread, REMARKS_KEPT), echoed=own and not said.again)


def with_lobby_remarks(talk: Talk, said: Iterable[LobbyRemark], name: str, *, read: bool) -> Talk:
    """Return `talk` with remarks from the lobby; the player `name` need not read their own."""
    known = {remark.number for remark in talk.remarks}
    new = [each for each in said if each.number not in known and talk.hears(each.name)]
    remarks = (*talk.remarks, *(Remark(each.name, each.text, number=each.number) for each in new))
    unread = 0 if read else talk.unread + sum(each.name != name for each in new)
    return replace(talk, remarks=remarks[-REMARKS_KEPT:], unread=min(unread, REMARKS_KEPT))


def _remark(said: Heard, called: str, model: TableModel) -> Remark:
    if said.seat is None:
        return Remark(watching_name(called, said.spectator), said.text, number=said.remark)
    there = model.view is not None and called == names_at(model)[said.seat]  # and did not sit elsewhere then
    people = model.view.start.peoples[said.seat][0] if model.view is not None and there else None
    return Remark(called, said.text, people, said.remark)

"""What was said at a table: kept apart from the log, so that moves cannot push it away."""

from dataclasses import dataclass, replace
from typing import Final

from msgspec import Struct

from client.table import Heard, TableModel
from client.ui.texts.sentences import names_at, spectator_name, watching_name
from engine.pieces import People

REMARKS_KEPT: Final = 200


class Mute(Struct, frozen=True):
    """Hear somebody no more, or again: the player or spectator of this name, or all spectators for None."""

    name: str | None
    on: bool = True


class Remark(Struct, frozen=True):
    """What somebody said; `people` has the speaker's colour, once the game has given it."""

    speaker: str
    text: str
    people: People | None = None


@dataclass(frozen=True, slots=True)
class Talk:
    """What was said at the table with this code, oldest first; the last `unread` the player has not read.

    What those in `muted` say, by name, and with `no_spectators` what any spectator says, is not kept.
    """

    table: str | None = None
    remarks: tuple[Remark, ...] = ()
    unread: int = 0
    muted: frozenset[str] = frozenset()
    no_spectators: bool = False

    def hears(self, name: str | None) -> bool:
        """Tell whether the player hears who has this name, or spectators in general for None."""
        return not self.no_spectators if name is None else name.casefold() not in self.muted

    def after(self, mute: Mute) -> "Talk":
        """Return the talk after the player has muted somebody, or no longer does."""
        if mute.name is None:
            return replace(self, no_spectators=mute.on)
        name = {mute.name.casefold()}
        return replace(self, muted=self.muted | name if mute.on else self.muted - name)


def with_remark(talk: Talk, said: Heard, model: TableModel, name: str, *, read: bool) -> Talk:
    """Return `talk` with what was just said; the player `name` need not read what is the player's own."""
    called = spectator_name(said.number, said.spectator) if said.seat is None else names_at(model)[said.seat]
    if not talk.hears(called) or (said.seat is None and not talk.hears(None)):
        return talk
    own = said.seat == model.seat if said.seat is not None else model.seat is None and said.spectator == name
    unread = 0 if read or own else talk.unread + 1
    remarks = (*talk.remarks, _remark(said, called, model))[-REMARKS_KEPT:]
    return replace(talk, remarks=remarks, unread=min(unread, REMARKS_KEPT))


def _remark(said: Heard, called: str, model: TableModel) -> Remark:
    if said.seat is None:
        return Remark(watching_name(called, said.spectator), said.text)
    people = None if model.view is None else model.view.start.peoples[said.seat][0]
    return Remark(called, said.text, people)

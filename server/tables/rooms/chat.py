"""Chat at a table: what is said there, for those who are here and those who come a little later.

Nothing of it is stored. In a quiet game spectators talk among themselves.
"""

import zlib
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import replace

from engine.pieces import Seat
from protocol.limits import LARGEST_ID, REMARKS_REPEATED
from protocol.messages import Said, SaidBefore, Say, ServerMessage, SpectatorSummary, TableRemark
from server.tables.feature import (
    Access,
    Aloud,
    Came,
    Deserted,
    Feature,
    Happening,
    Moment,
    Occasion,
    Overheard,
    Went,
)
from server.tables.names import check_text

_Kind: TypeAlias = tuple[bool, bool, bool]  # of a player, for players, for spectators


@dataclass(frozen=True, slots=True)
class Remark(Aloud):
    """A chat message under a name; `to_spectators` if newcomers among these get it, too."""

    name: str | None
    to_spectators: bool


@dataclass(slots=True, eq=False, repr=False)
class Chat(Feature):
    """The last remarks.

    Each kind has its own space: spectators cannot push out what players said, and nobody can infer from gaps
    that others were told more.
    """

    requests = ((Say, Access(of_spectators=True, is_remark=True)),)
    own = (Remark,)
    folds_too = Came, Went, Deserted

    _count: int = 0  # of all remarks
    _counts: Counter[_Kind] = field(default_factory=Counter)
    _kept: dict[_Kind, deque[tuple[int, TableRemark]]] = field(default_factory=dict)
    # How much had been said when players left a running game.
    _left_at: dict[Seat, int] = field(default_factory=dict)
    _missed: dict[Seat, int] = field(default_factory=dict)  # as much when those left who are here again

    def decide(self, by: Seat | SpectatorSummary, request: Say, _: Moment) -> Sequence[Happening]:
        """Return the remark: to everybody, or a spectator's to spectators only while a quiet table plays."""
        check_text(request.text)
        switches = self.facts.switches
        name: str | None
        if isinstance(by, SpectatorSummary):
            said, name = Said(request.text, spectator=by.number), by.name
            to_players = not (switches.quiet and self.facts.stage == "playing")
        else:
            said, name, to_players = Said(request.text, by), self.facts.names[by], True
        kind = said.seat is not None, to_players, switches.spectators
        # Of its kind alone, so that it does not show what one may not read. With the text, because counts
        # begin again with every server.
        told = f"{self._counts[kind] + 1} {said.seat} {said.spectator} {said.text}"
        number = zlib.crc32(told.encode()) % LARGEST_ID + 1
        remark = Remark(replace(said, number=number), to_players, name, switches.spectators)
        return [remark, Overheard(request.text)]

    def fold(self, entry: Happening) -> bool:
        match entry:
            case Remark(Said(text, seat, spectator, number), to_players, name, to_spectators):
                assert number is not None  # noqa: S101 - each has one
                kind = seat is not None, to_players, to_spectators
                kept = self._kept.setdefault(kind, deque(maxlen=REMARKS_REPEATED))
                self._count += 1
                self._counts[kind] += 1
                kept.append((self._count, TableRemark(number, text, seat, spectator, name)))
            case Went(seat):
                self._left_at[seat] = self._count
            case Came(seat, again):
                self._missed.pop(seat, None)
                left_at = self._left_at.pop(seat, None)
                if again and left_at is not None:
                    self._missed[seat] = left_at
            case Deserted() if self.facts.stage == "over":
                self._kept.clear()
        return False

    def told(self, seat: Seat | None, why: Occasion) -> Sequence[ServerMessage]:
        remarks = self._read_by(seat) if why == "came" else []
        return [SaidBefore(remarks)] if remarks else []

    def _read_by(self, seat: Seat | None) -> list[TableRemark]:
        """Return the remarks that the player may read, or a spectator, latest last."""
        kept = [
            each
            for (_, to_players, to_spectators), remarks in self._kept.items()
            if (to_spectators if seat is None else to_players)
            for each in remarks
        ]
        left_at = None if seat is None else self._missed.get(seat)
        seats = range(len(self.facts.names))  # fewer than before the game, if the table had some left over
        return [
            replace(
                remark,
                seat=remark.seat if remark.seat in seats else None,
                missed=left_at is not None and number > left_at,
            )
            for number, remark in sorted(kept, key=lambda each: each[0])
        ]

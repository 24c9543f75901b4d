"""A game beside an attack: how long its moves take."""

import itertools
import ssl
import time
from collections.abc import Iterator
from typing import Final

from bench.load.tables import SEATS, begin_game, leave, scripts
from bench.load.wire import Wire

_SECONDS_BETWEEN_MOVES: Final = 0.1  # so that no seat comes near what a client may send
_GAMES: Final = 29  # of some 3.2 s: nearly as many as a connection may open within a minute


class Bystander:
    """Four seats that play one game after another.

    The games have begun before the attack, because tables are counted by address too.
    """

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._wires = [Wire.welcomed(port, host, tls) for _ in range(SEATS)]
        self._ids = itertools.count(1)
        self._games = [self._begun() for _ in range(_GAMES)]
        self._moves = self._played()

    def play(self, seconds: float) -> list[float]:
        """Play on for so long; return how long after it was due each move had reached all seats."""
        waits = []
        due = time.perf_counter()
        end = due + seconds
        while due < end:
            seat, frame = next(self._moves)
            due = max(due, time.perf_counter())  # to go to its table may have taken longer
            time.sleep(max(0.0, due - time.perf_counter()))
            self._wires[seat].send(frame)
            for wire in self._wires:
                wire.expect("events")
            heard = time.perf_counter()
            waits.append(heard - due)  # from when it was due: a stall must not hide by delaying the next move
            due = max(due + _SECONDS_BETWEEN_MOVES, heard)
        return waits

    def _played(self) -> Iterator[tuple[int, bytes]]:
        """Yield the moves of games, going to their tables and leaving them."""
        for game, frames in zip(self._games, itertools.cycle(scripts(1)), strict=False):
            code, tokens = game
            for wire, token in zip(self._wires, tokens, strict=True):
                wire.ask("snapshot", t="resume", id=next(self._ids), table=code, token=token)
            yield from frames
            leave(self._wires, self._ids)
        raise RuntimeError("the attack lasts longer than the games that were begun before it")

    def _begun(self) -> tuple[str, list[object]]:
        game = begin_game(self._wires, self._ids)
        leave(self._wires, self._ids)
        return game

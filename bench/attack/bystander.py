"""A game beside an attack: how long its moves take."""

import itertools
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.load.tables import SEATS, scripts
from bench.load.wire import Wire, packed

_SECONDS_BETWEEN_MOVES: Final = 0.1  # so that no seat comes near what a client may send
_GAMES: Final = 29  # of some 3.2 s: nearly as many as a connection may open within a minute


@dataclass(frozen=True)
class _Game:
    """A game that has begun: its table, and the tokens of its seats."""

    code: object
    tokens: tuple[object, ...]


class Bystander:
    """Four seats that play one game after another.

    The games have begun before the attack, because tables are counted by address too.
    """

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._wires = [Wire(port, host, tls) for _ in range(SEATS)]
        self._ids = itertools.count(1)
        for wire in self._wires:
            wire.send(packed(t="hello", versions=[1], client="bench"))
            wire.expect("welcome")
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
            for wire, token in zip(self._wires, game.tokens, strict=True):
                wire.send(packed(t="resume", id=next(self._ids), table=game.code, token=token))
                wire.expect("snapshot")
            yield from frames
            self._leave()
        raise RuntimeError("the attack lasts longer than the games that were begun before it")

    def _begun(self) -> _Game:
        host, *others = self._wires
        host.send(
            packed(t="open", id=next(self._ids), players=SEATS, name="s0", random_layout=True, starting=0)
        )
        seated = host.expect("seated")
        tokens = [seated["token"]]
        for seat, wire in enumerate(others, start=1):
            wire.send(packed(t="join", id=next(self._ids), table=seated["table"], name=f"s{seat}"))
            tokens.append(wire.expect("seated")["token"])
        host.send(packed(t="start", id=next(self._ids)))
        for wire in self._wires:
            wire.expect("events")
        self._leave()
        return _Game(seated["table"], tuple(tokens))

    def _leave(self) -> None:
        for wire in self._wires:
            wire.send(packed(t="leave", id=next(self._ids)))
            wire.expect("done")

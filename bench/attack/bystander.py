"""A game beside an attack: how long its moves take."""

import ssl
import time
from collections.abc import Iterator
from typing import Final

from bench.load import SEATS, scripts
from bench.wire import Wire, packed

_SECONDS_BETWEEN_MOVES: Final = 0.1  # so that no seat comes near what a client may send


class Bystander:
    """Four seats that play one game after another."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._wires = [Wire(port, host, tls) for _ in range(SEATS)]
        self._ids = iter(range(1, 10**9))
        self._moves = self._played()
        for wire in self._wires:
            wire.send(packed(t="hello", versions=[1], client="bench"))
            wire.expect("welcome")

    def play(self, seconds: float) -> list[float]:
        """Play on for so long; return how long after it was due each move had reached all seats."""
        waits = []
        due = time.perf_counter()
        end = due + seconds
        while due < end:
            seat, frame = next(self._moves)
            due = max(due, time.perf_counter())  # to open a table for it may have taken longer
            time.sleep(max(0.0, due - time.perf_counter()))
            self._wires[seat].send(frame)
            for wire in self._wires:
                wire.expect("events")
            heard = time.perf_counter()
            waits.append(heard - due)  # from when it was due: a stall must not hide by delaying the next move
            due = max(due + _SECONDS_BETWEEN_MOVES, heard)
        return waits

    def _played(self) -> Iterator[tuple[int, bytes]]:
        """Yield the moves of games, opening and leaving their tables."""
        for frames in scripts(1):
            self._open()
            yield from frames
            for wire in self._wires:
                wire.send(packed(t="leave", id=next(self._ids)))
                wire.expect("done")

    def _open(self) -> None:
        host, *others = self._wires
        host.send(
            packed(t="open", id=next(self._ids), players=SEATS, name="s0", random_layout=True, starting=0)
        )
        code = host.expect("seated")["table"]
        for seat, wire in enumerate(others, start=1):
            wire.send(packed(t="join", id=next(self._ids), table=code, name=f"s{seat}"))
            wire.expect("seated")
        host.send(packed(t="start", id=next(self._ids)))
        for wire in self._wires:
            wire.expect("events")

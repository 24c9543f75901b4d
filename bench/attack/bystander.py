"""A game beside an attack: how long its moves take, and a player who loses the connection to come back."""

import contextlib
import itertools
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Final

from bench.load.tables import SEATS, begin_game, leave, scripts
from bench.load.wire import Wire

_SECONDS_BETWEEN_MOVES: Final = 0.1  # so that no seat comes near what a client may send
_GAMES: Final = 29  # of some 3.2 s: nearly as many as a connection may open within a minute
_SECONDS_BETWEEN_LOSSES: Final = 1.0
_LONGEST_PAUSE: Final = 2.0  # between two attempts: each is twice as long as the one before


class Bystander:
    """Four seats that play one game after another.

    The games have begun before the attack, because tables are counted by address too.
    """

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._wires = [Wire.welcomed(port, host, tls) for _ in range(SEATS)]
        self._ids = itertools.count(1)
        self._games = [self._begin() for _ in range(_GAMES)]
        self._moves = self._play_games()

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

    def _play_games(self) -> Iterator[tuple[int, bytes]]:
        """Yield the moves of games, going to their tables and leaving them."""
        for game, frames in zip(self._games, itertools.cycle(scripts(1)), strict=False):
            code, tokens = game
            for wire, token in zip(self._wires, tokens, strict=True):
                wire.ask("snapshot", t="resume", id=next(self._ids), table=code, token=token)
            yield from frames
            leave(self._wires, self._ids)
        raise RuntimeError("the attack lasts longer than the games that were begun before it")

    def _begin(self) -> tuple[str, list[object]]:
        game = begin_game(self._wires, self._ids)
        leave(self._wires, self._ids)
        return game


class ReturningPlayer:
    """Plays at a table of its own; while it is entered, loses its connection and comes back."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._host = host
        self._port = port
        self._tls = tls
        self._ids = itertools.count(1)
        self._stop = threading.Event()
        self.returns: list[float] = []  # seconds
        self._wire: Wire | None
        self._wire, other = (Wire.welcomed(port, host, tls) for _ in range(2))
        self._table, (self._token, _) = begin_game((self._wire, other), self._ids)  # the seat is kept
        other.close()
        self._thread = threading.Thread(target=self._lose_connections)

    def __enter__(self) -> "ReturningPlayer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._wire is not None:
            self._wire.close()

    def _lose_connections(self) -> None:
        while not self._stop.wait(_SECONDS_BETWEEN_LOSSES):
            if self._wire is not None:
                self._wire.close()
                self._wire = None
            began = time.perf_counter()
            pause = 0.1
            while self._wire is None and not self._stop.is_set():
                with contextlib.suppress(OSError):
                    self._wire = self._back()
                    break
                self._stop.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            self.returns.append(time.perf_counter() - began)

    def _back(self) -> Wire:
        wire = Wire.welcomed(self._port, self._host, self._tls)
        wire.ask("seated", t="resume", id=next(self._ids), table=self._table, token=self._token)
        return wire

"""A player who loses the connection again and again beside an attack: how long coming back takes."""

import contextlib
import itertools
import ssl
import threading
import time
from typing import Final

from bench.load.tables import begin_game
from bench.load.wire import Wire

_SECONDS_BETWEEN_LOSSES: Final = 1.0
_LONGEST_PAUSE: Final = 2.0  # between two attempts: each is twice as long as the one before


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

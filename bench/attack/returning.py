"""A player who loses the connection again and again beside an attack: how long coming back takes."""

import contextlib
import itertools
import ssl
import threading
import time
from typing import Final

from bench.load.wire import Wire, packed

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
        wire, other = self._connected(), self._connected()
        wire.send(packed(t="open", id=next(self._ids), players=2, name="s0", random_layout=True))
        seated = wire.expect("seated")
        self._table, self._token = seated["table"], seated["token"]
        other.send(packed(t="join", id=next(self._ids), table=self._table, name="s1"))
        other.expect("seated")
        wire.send(packed(t="start", id=next(self._ids)))
        wire.expect("events")  # from now on the seat is kept
        other.close()
        self._wire: Wire | None = wire
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
        wire = self._connected()
        wire.send(packed(t="resume", id=next(self._ids), table=self._table, token=self._token))
        wire.expect("seated")
        return wire

    def _connected(self) -> Wire:
        wire = Wire(self._port, self._host, self._tls)
        wire.send(packed(t="hello", versions=[1], client="bench"))
        wire.expect("welcome")
        return wire

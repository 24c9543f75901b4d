"""What has happened in a simulation, in its order: the same in every run of a seed, byte for byte."""

import hashlib
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Final, TextIO

_LAST: Final = 12  # lines kept of each party, for the report of a failure


class Trace:
    """Takes notes; `digest` says whether two simulations were the same. With a `file`, writes all of it."""

    def __init__(self, file: TextIO | None = None) -> None:
        self.now: Callable[[], float] = lambda: 0.0
        self.events = 0
        self.last: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=_LAST))
        self._file = file
        self._hash = hashlib.sha256()

    def add(self, party: str, what: str, detail: str = "", *, detail_only: bool = False) -> None:
        """Note that something has happened to a party; details alone say little of a failure."""
        line = f"{self.now():.9f} {party} {what} {detail}\n"
        self.events += 1
        self._hash.update(line.encode())
        if not detail_only:
            self.last[party].append(line)
        if self._file is not None:
            self._file.write(line)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

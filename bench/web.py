"""What browsers cost a server: the page of a table, and each browser that watches it.

    python -m bench.web

Four games are played at three moves a second, so that each move is drawn: watched by no browser, by one, by
32 in one language, and by 32 in four.
"""

import contextlib
import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench import Samples
from bench.load.process import Subject, subject
from bench.load.tables import SEATS, begin_game, leave, scripts
from bench.load.wire import Wire, packed, page_handshake

_BROWSERS: Final = 32
_LISTENING: Final = 800  # browsers that show the list, for the memory of each
_MOVES_A_SECOND: Final = 3
_LANGUAGES: Final = ("en", "it", "fr", "nl")


def samples(tree: Path) -> Samples:
    """Return memory and CPU of browsers, and of the pages that they share."""
    found: Samples = {}
    with subject("server", "--web", tree=tree) as server:
        with _browsers(
            server.port, "/watch", ("en",) * 50
        ):  # what is loaded for the first ones is not counted
            time.sleep(2.0)
            before = server.resident
            with _browsers(server.port, "/watch", ("en",) * _LISTENING):
                time.sleep(2.0)
                found["web: memory a browser, KiB"] = [(server.resident - before) / _LISTENING / 1024]
                cpu, began = server.cpu, time.perf_counter()
                time.sleep(5.0)
                idle = 100 * (server.cpu - cpu) / (time.perf_counter() - began)
                found["web: CPU of 850 browsers that show a quiet list, % of a core"] = [idle]
        wires = [Wire.welcomed(server.port) for _ in range(SEATS)]
        for name, languages in (
            ("nobody", ()),
            ("one browser", ("en",)),
            ("32 browsers", ("en",) * _BROWSERS),
            ("32 browsers in four languages", _LANGUAGES * (_BROWSERS // 4)),
        ):
            found[f"web: CPU ms a move, watched by {name}"] = [_cost_of_move(server, wires, languages)]
        for wire in wires:
            wire.close()
    return found


def _cost_of_move(server: Subject, wires: list[Wire], languages: tuple[str, ...]) -> float:
    """Return the milliseconds of CPU that the server takes for a move of a game watched in `languages`."""
    ids = itertools.count(1)
    code, _tokens = begin_game(wires, ids)
    moves = scripts(1)[0][:-1]  # without the scoring, which goes on for minutes
    with _browsers(server.port, f"/watch/{code}", languages):
        time.sleep(1.0)  # everybody has the board
        cpu, due = server.cpu, time.perf_counter()
        for seat, frame in moves:
            wires[seat].send(frame)
            for wire in wires:
                wire.expect("events")
            due += 1 / _MOVES_A_SECOND
            time.sleep(max(0.0, due - time.perf_counter()))
        busy = server.cpu - cpu
    wires[0].send(packed(t="end", id=next(ids)))
    leave(wires, ids)
    return 1000 * busy / len(moves)


@contextlib.contextmanager
def _browsers(port: int, path: str, languages: tuple[str, ...]) -> Iterator[None]:
    """Keep live pages open and read them while the context lasts."""
    open_pages = [_live_page(port, path, language) for language in languages]
    readers = [threading.Thread(target=_read, args=(page,), daemon=True) for page in open_pages]
    for reader in readers:
        reader.start()
    try:
        yield
    finally:
        for page in open_pages:
            with contextlib.suppress(OSError):
                page.shutdown(socket.SHUT_RDWR)
        for reader in readers:
            reader.join()


def _live_page(port: int, path: str, language: str) -> socket.socket:
    page = socket.create_connection(("127.0.0.1", port))
    page.sendall(page_handshake(path, language))
    return page


def _read(page: socket.socket) -> None:
    with page, contextlib.suppress(OSError):
        while page.recv(65536):
            pass


if __name__ == "__main__":
    print(json.dumps(samples(Path.cwd()), indent=2))

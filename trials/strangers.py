"""Strangers who want others to wait: for codes of notices, for hints, and for commands that read their files.

    python -m trials.strangers [codes|hints|files ...]

Each kind is tried alone and beside the strangers, who come from other addresses of this computer (Linux). It
exits with 0 if nobody else waits much longer. Times are those of this machine: on a busy one, repeat it.
"""

import argparse
import asyncio
import contextlib
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final

from bench.attack.client import AttackClient, Target
from bench.load.process import Served, serving
from server.storage.sqlite.journal_file import FILE_NAME
from tests.gateway.visitor import Visitor, visiting

_ROOT: Final = Path(__file__).parents[1]
_ADDRESSES: Final = 12
_CODES_OF_EACH: Final = 10
_SILENT_ADDRESSES: Final = 2
_GUESTS: Final = 10
_HINTS: Final = 8  # that are timed
_TIMEOUT: Final = 120.0
_MOST_TIMES: Final = 2.5  # as long as alone; with two who take turns it is twice as long
_MOST_SECONDS: Final = 60.0  # of the processor, for a stranger's file
_RECORD_BYTES: Final = 63 * 1024
_JOURNAL_PAGES: Final = 2560  # 10 MiB
_LINES: Final = 60_000  # of a value in a configuration file


class Receiver:
    """Receives notices by POST; some paths get no answer."""

    def __init__(self) -> None:
        self.port = 0
        self.codes: dict[str, str] = {}  # by path
        self._changed = asyncio.Condition()
        self._closing = asyncio.Event()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Receiver"]:
        async with await asyncio.start_server(self._serve, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            yield self
            self._closing.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split(" ", 2)[1]
            if path.startswith("/silent"):
                await self._closing.wait()
            length = re.search(r"Content-Length: (\d+)", head)
            text = (await reader.readexactly(int(length[1]) if length else 0)).decode()
            async with self._changed:
                self.codes[path] = text
                self._changed.notify_all()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
        writer.close()

    async def arrived(self, path: str) -> None:
        async with asyncio.timeout(_TIMEOUT), self._changed:
            await self._changed.wait_for(lambda: path in self.codes)


async def _hosts(served: Served, source: str, number: int) -> AttackClient:
    """Return a client that has opened a table, and can leave an address there."""
    client = await AttackClient.connected(Target("127.0.0.1", served.port, 1, source))
    await client.ask("open", name=f"Ann {number}", players=2)
    return client


async def codes() -> bool:
    """Have codes sent to receivers that say nothing, for two addresses, and then all there are for twelve."""
    async with Receiver().open() as receiver:
        with serving("--notify", f"url:127.0.0.1:{receiver.port}") as served:
            url = f"http://127.0.0.1:{receiver.port}"

            async def wait(friend: AttackClient, path: str) -> float:
                began = time.perf_counter()
                await friend.ask("call-me", to=f"{url}{path}", language="en")
                await receiver.arrived(path)
                return time.perf_counter() - began

            friend = await _hosts(served, "127.0.0.1", 0)
            alone = await wait(friend, "/alone")
            for number in range(_SILENT_ADDRESSES * _CODES_OF_EACH):
                stranger = await _hosts(served, f"127.0.0.{2 + number % _SILENT_ADDRESSES}", number)
                await stranger.ask("call-me", to=f"{url}/silent/{number}", language="en")
            beside = await wait(friend, "/beside")
            sent = 0
            for number in range(_ADDRESSES * _CODES_OF_EACH):
                stranger = await _hosts(served, f"127.0.0.{2 + number % _ADDRESSES}", number)
                with contextlib.suppress(ConnectionError):  # refused
                    await stranger.ask("call-me", to=f"{url}/{number}", language="en")
                    sent += 1
            try:
                after: float | None = await wait(friend, "/after")
            except ConnectionError:
                after = None
    print(f"codes: a friend's after {alone:.2f} s, {beside:.2f} s beside receivers that say nothing")
    print(f"codes: after {sent} more of strangers, a friend's is {'refused' if after is None else 'sent'}")
    return beside < alone + 2.0 and after is not None


async def _plays(guest: Visitor) -> None:
    """Have a guest begin a game against a bot at a table with hints."""
    for line, answer in (
        ("open 2 random", "Waiting for 1 more"),
        ("hints on", "may have moves suggested"),
        ("bot plebeian", "Everybody is here"),
        ("start", "Your turn: place a piece."),
    ):
        await _says(guest, line, answer)


async def _asks_for_hint(guest: Visitor) -> float:
    """Return how many seconds a hint takes; then make that move, because asked again it would be the same."""
    seconds = await _says(guest, "hint", r"Hint: [^\n]*\n")
    hinted = re.findall(rb"(\S+) on ([A-G]\d)", guest.raw)[0]
    piece, field = (word.decode() for word in hinted)
    await _says(guest, f"{piece} {field}", r"Your turn: place|The scoring begins")
    if b"The scoring begins" in guest.raw:
        await _says(guest, "leave", "You are in the lobby")
        await _plays(guest)
    return seconds


async def _says(guest: Visitor, line: str, answer: str) -> float:
    """Return how many seconds pass from a line of a guest to its answer, a pattern."""
    guest.raw.clear()
    began = time.perf_counter()
    guest.type(f"{line}\n")
    async with asyncio.timeout(_TIMEOUT):
        while re.search(answer.encode(), guest.raw) is None:  # noqa: ASYNC110 - the visitor tells nobody
            await asyncio.sleep(0.01)
    return time.perf_counter() - began


async def hints() -> bool:
    """Let ten guests of one address ask for hints without end."""
    with serving("--ssh", "0", announced=r"ssh -p (\d+)") as served:
        async with contextlib.AsyncExitStack() as stack:

            async def guest(name: str, source: str) -> Visitor:
                return await stack.enter_async_context(
                    visiting(served.port, name, term=None, local_addr=(source, 0), login_timeout=_TIMEOUT)
                )

            async def ask_on(stranger: Visitor) -> None:
                while True:
                    await _asks_for_hint(stranger)

            friend = await guest("anna", "127.0.0.1")
            await _says(friend, "", "You are in the lobby")
            await _plays(friend)
            await _asks_for_hint(friend)  # starts the process
            alone = [await _asks_for_hint(friend) for _ in range(_HINTS)]
            strangers = [await guest(f"guest {number}", "127.0.0.2") for number in range(_GUESTS)]
            for stranger in strangers:
                await _plays(stranger)
            asking = [asyncio.create_task(ask_on(stranger)) for stranger in strangers]
            await asyncio.sleep(2 * statistics.median(alone))
            beside = [await _asks_for_hint(friend) for _ in range(_HINTS)]
            for task in asking:
                task.cancel()
    middle = statistics.median(beside) / statistics.median(alone)
    print(f"hints: after {statistics.median(alone):.2f} s (median), {statistics.median(beside):.2f} s beside")
    return middle < _MOST_TIMES


def _processor_seconds(*words: str | Path) -> float:
    """Return what a command takes of a processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, str(_ROOT / "palatinus.py"), *map(str, words)]
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, capture_output=True, check=False, timeout=5 * _MOST_SECONDS)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _pages() -> Iterator[bytes]:
    """Yield the pages of a file that is no journal: on each, 256 rows that go on in the same 256 pages."""
    size, chain = 4096, 256
    yield bytes(16) + size.to_bytes(2, "big") + bytes(size - 18)
    here = (size - 12) * 32 // 255 - 23
    length = here + (size - 4) * (chain - 1)

    def varint(number: int) -> bytes:
        return bytes([0x80 | number >> 14 & 0x7F, 0x80 | number >> 7 & 0x7F, number & 0x7F])

    row = varint(length) + b"\x01\x04" + varint(13 + 2 * (length - 4))
    row = row.ljust(here + 4, b"x") + (2).to_bytes(4, "big")
    head = b"\x0d\0\0" + (256).to_bytes(2, "big") + b"\0\0\0" + b"\x08\0" * 256
    for number in range(2, 2 + chain):
        yield (number + 1).to_bytes(4, "big") + b"x" * (size - 4)
    for _ in range(2 + chain, _JOURNAL_PAGES):
        yield (head.ljust(2048, b"\0") + row).ljust(size, b"\0")


async def files() -> bool:
    """Have the commands read a record, a journal and a configuration that were made to keep them busy."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = f"# seat 0 is {'x' + ' ' * _RECORD_BYTES}x\n"
        end = "winners 0\nresult 0 points 1 items 1\n"
        (folder / "20010101-000000-AAAA.txt").write_text(names + end, encoding="utf-8")
        (folder / FILE_NAME).write_bytes(b"".join(_pages()))
        settings = folder / "serve.toml"
        settings.write_text(f'host = """{_LINES * chr(10)}"""\nport = 70000\n', encoding="utf-8")
        nothing = _processor_seconds("--version")
        config = _processor_seconds("serve", "--config", settings) - nothing
        record = _processor_seconds("history", "--records", folder) - nothing
        journal = _processor_seconds("tables", "--data", folder, "salvage", "--to", folder / "out") - nothing
    print(f"files: history {record:.1f} s of the processor, salvage {journal:.1f} s, serve {config:.1f} s")
    return journal < _MOST_SECONDS and max(record, config) < _MOST_SECONDS / 20


_KINDS: Final[dict[str, Callable[[], Awaitable[bool]]]] = {"codes": codes, "hints": hints, "files": files}


async def _run(kinds: list[str]) -> int:
    held = [await _KINDS[kind]() for kind in kinds]
    failed = [kind for kind, fine in zip(kinds, held, strict=True) if not fine]
    print(f"failed: {', '.join(failed)}" if failed else "all held")
    return len(failed)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m trials.strangers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kinds", nargs="*", choices=(*_KINDS, []), metavar="KIND")
    os.environ["LANGUAGE"] = "en"
    return asyncio.run(_run(parser.parse_args().kinds or [*_KINDS]))


if __name__ == "__main__":
    sys.exit(main())

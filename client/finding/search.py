"""The search for servers: what multicast tells, and what the servers themselves say, live."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from client.finding.found import (
    Answer,
    Asking,
    Found,
    FoundServer,
    Listed,
    Locked,
    Silent,
    each_table_once,
    listing,
    named,
)
from client.finding.inquiry import answers
from client.network.transport import FREE_ACCESS, Access

if TYPE_CHECKING:
    from discovery.browser import Hearing
    from discovery.service import Heard

_AT_ONCE: Final = 4  # connections that are being opened
_FIRST_PAUSE: Final = 2.0  # seconds before a server that did not answer is asked again; then twice as long
_LONGEST_PAUSE: Final = 30.0


async def search(show: Callable[[Found], None], access: Access = FREE_ACCESS) -> None:
    """Call `show` with all that is found, whenever that changes, until cancelled."""
    from discovery.browser import listen  # noqa: PLC0415 - who types an address does not wait for the library

    async with asyncio.TaskGroup() as tasks:
        await listen(_Search(show, access, tasks).hear)


async def located(name: str, access: Access, seconds: float, code: str | None = None) -> FoundServer | None:
    """Return the server of that name once it has answered; None if none is found in so many seconds.

    With a `code`, that is a server which lists the table, if none has the name.

    A server that was found and does not answer is returned as well, when the time is up.
    """
    loop = asyncio.get_running_loop()
    there: asyncio.Future[None] = loop.create_future()
    seen: FoundServer | None = None

    def look(found: Found) -> None:
        nonlocal seen
        if there.done():
            return
        seen = named(found, name) or (None if code is None else listing(found, code))
        answered = seen is not None and not isinstance(seen.answer, Asking | Silent)
        if answered or found.deaf is not None:
            there.set_result(None)

    searching = asyncio.create_task(search(look, access))
    try:
        waiting: set[asyncio.Future[Any]] = {there, searching}
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        searching.cancel()
        await asyncio.wait({searching})
    if not searching.cancelled() and (error := searching.exception()) is not None:
        raise error
    return seen


class _Search:
    """Asks all servers that are heard of, each in a task of its own."""

    def __init__(self, show: Callable[[Found], None], access: Access, tasks: asyncio.TaskGroup) -> None:
        self._show = show
        self._access = access
        self._tasks = tasks
        self._asking: dict[Heard, asyncio.Task[None]] = {}
        self._known: dict[Heard, FoundServer] = {}
        self._deaf: str | None = None
        self._slots = asyncio.Semaphore(_AT_ONCE)

    def hear(self, hearing: "Hearing") -> None:
        """Take in which servers are heard of: ask the new ones, and forget those that are gone."""
        self._deaf = hearing.deaf
        for gone in self._asking.keys() - set(hearing.servers):
            self._asking.pop(gone).cancel()
            del self._known[gone]
        for server in hearing.servers:
            if server not in self._asking:
                self._known[server] = FoundServer(server.name, server.urls[0])
                self._asking[server] = self._tasks.create_task(self._ask(server))
        self._tell()

    async def _ask(self, server: "Heard") -> None:
        pause = _FIRST_PAUSE
        while True:
            for url in server.urls:
                if (last := await self._ask_at(url, server)) is not None:
                    break
            match last:
                case Listed():
                    pause = _FIRST_PAUSE
                case Locked():
                    pause = _LONGEST_PAUSE
                case _:
                    pause = min(2 * pause, _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def _ask_at(self, url: str, server: "Heard") -> Listed | Locked | None:
        """Show what the server says at this address, as long as it does; return the last of it."""
        last: Listed | Locked | None = None
        async with contextlib.aclosing(answers(url, self._access)) as told:
            async with self._slots:
                answer = await anext(told, None)
            while answer is not None:
                if isinstance(answer, Listed | Locked):
                    last = answer
                if last is not None or url == server.urls[0]:
                    self._learn(server, url, answer)
                answer = await anext(told, None)
        return last

    def _learn(self, server: "Heard", url: str, answer: Answer) -> None:
        known = FoundServer(server.name, url, answer)
        if known != self._known[server]:
            self._known[server] = known
            self._tell()

    def _tell(self) -> None:
        by_url: dict[str, FoundServer] = {}
        for server in self._known.values():
            by_url.setdefault(server.url, server)
        self._show(Found(each_table_once(by_url.values()), self._deaf))

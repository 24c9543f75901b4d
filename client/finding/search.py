"""The search for servers: what multicast tells, and what servers say of their tables and a player's seats."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from client.finding import found
from client.language import N_
from client.network import transport
from client.network.refusals import describe_refusal
from protocol.codec import BadMessage, encode
from protocol.codes import Code
from protocol.messages import AskTurn, ClientMessage, ListTables, Refused, Tables, Turn, Welcome

_CLIENT: Final = "palatinus"
_TIMEOUTS: Final = transport.Timeouts(opening=3.0, answer=3.0, closing=0.2)
_SECONDS_BETWEEN_LISTS: Final = 3.0
_MOST_TABLES: Final = 20  # of one server
_MOST_MESSAGES: Final = 20  # before the one that was asked for
_MOST_FOLLOWED: Final = 3  # servers that send on to another one
_SECONDS_UNTIL_RETRY: Final = 15.0

Said = TypeVar("Said")
Message = TypeVar("Message")


async def follow_seat(
    url: str, table: str, proof: str, access: transport.ServerAccess, show: Callable[[found.SeatAnswer], None]
) -> None:
    """Call `show` with how the game of a seat stands until that is settled; `proof` is its token's hash."""
    while True:
        if await _is_settled(url, AskTurn(0, table, proof), access, show):
            return
        await asyncio.sleep(_SECONDS_UNTIL_RETRY)


async def _is_settled(
    url: str, question: AskTurn, access: transport.ServerAccess, show: Callable[[found.SeatAnswer], None]
) -> bool:
    """Show what the servers say until they fail, or until it will not change: then return True."""

    async def ask(websocket: ClientConnection, welcome: Welcome, number: int) -> Turn | Refused | None:
        if not welcome.turns:
            return None
        return await _answer(websocket, replace(question, id=number), Turn, Refused)

    address = _address(url, access)
    for _ in range(_MOST_FOLLOWED):
        moved: transport.Elsewhere | None = None
        async with contextlib.aclosing(_answers(address, ask)) as told:
            async for answer in told:
                match answer:
                    case None:
                        return True
                    case Refused(Code.BAD_TOKEN | Code.NO_SUCH_TABLE):
                        show(found.Gone())
                        return True
                    case Refused() if (moved := transport.elsewhere(answer, address)) is not None:
                        break
                    case Refused():
                        show(found.Silent(describe_refusal(answer)))
                        break
                    case _:
                        show(answer)
                        over = isinstance(answer, Turn) and (answer.archived or answer.stage == "over")
                        if over or isinstance(answer, found.Locked):
                            return True
        if moved is None:
            return False
        address = address.at(moved.url)
    return False


def _address(url: str, access: transport.ServerAccess) -> transport.ServerAddress:
    """Return where to ask, without the password: a stranger is told nothing of the player."""
    return transport.ServerAddress(url, _CLIENT, transport.ServerAccess(access.tls, hosts=access.hosts))


async def _answers(
    address: transport.ServerAddress, ask: Callable[[ClientConnection, Welcome, int], Awaitable[Said]]
) -> AsyncGenerator[Said | found.Locked | found.Silent, None]:
    """Yield the answer of the server again and again, or why there is none, which is the last."""
    try:
        websocket, welcome = await transport.open_websocket(address, _TIMEOUTS)
    except transport.PasswordWanted:
        yield found.Locked()
        return
    except transport.ConnectFailed as error:
        yield found.Silent(str(error))
        return
    try:
        for number in itertools.count():
            async with asyncio.timeout(_TIMEOUTS.answer):
                answer = await ask(websocket, welcome, number)
            yield answer
            await asyncio.sleep(_SECONDS_BETWEEN_LISTS)
    except (ConnectionClosed, TimeoutError, BadMessage) as error:
        yield found.Silent(str(transport.why_not(address.url, error)))
    finally:
        websocket.transport.abort()


async def _list_tables(websocket: ClientConnection, _welcome: Welcome, number: int) -> found.Listed:
    tables = (await _answer(websocket, ListTables(number), Tables)).tables
    open_tables = {
        table.table: table
        for table in tables
        if table.vacant or (table.stage == "gathering" and table.taken - table.bots < table.players)
    }
    shown, codes = tuple(open_tables.values()), frozenset(table.table for table in tables)
    return found.Listed(shown[:_MOST_TABLES], max(len(shown) - _MOST_TABLES, 0), codes)


async def _answer(websocket: ClientConnection, question: ClientMessage, *kinds: type[Message]) -> Message:
    """Return the answer, of one of these kinds; raises BadMessage if the server sends something else."""
    await websocket.send(encode(question))
    for _ in range(_MOST_MESSAGES):
        message = await transport.receive(websocket)
        if isinstance(message, kinds):
            return message
    raise BadMessage(N_("no answer"))


if TYPE_CHECKING:
    from discovery.browser import Hearing
    from discovery.service import HeardServer

_AT_ONCE: Final = 4  # connections that are being opened
_FIRST_PAUSE: Final = 2.0  # seconds before a server that did not answer is asked again; then twice as long
_LONGEST_PAUSE: Final = 30.0


async def search(
    show: Callable[[found.Found], None], access: transport.ServerAccess = transport.FREE_ACCESS
) -> None:
    """Call `show` with all that is found, whenever that changes, until cancelled."""
    from discovery.browser import listen  # noqa: PLC0415 - who types an address does not wait for the library

    async with asyncio.TaskGroup() as tasks:
        await listen(_Search(show, access, tasks).hear)


async def locate(
    name: str,
    access: transport.ServerAccess,
    seconds: float,
    code: str | None = None,
    hear: Callable[[found.Found], None] | None = None,
) -> found.FoundServer | None:
    """Return the server of that name once it has answered; None if none is found in so many seconds.

    `hear` is called with all that is found on the way.

    With a `code`, that is a server which lists the table, if none has the name. A server that was found and
    does not answer is returned as well, when the time is up.
    """
    seen: found.FoundServer | None = None

    def look(now: found.Found) -> None:
        nonlocal seen
        if searching.cancelling():
            return
        if hear is not None:
            hear(now)
        seen = found.server_named(now, name) or (code and found.server_listing(now, code)) or None
        answered = seen is not None and not isinstance(seen.answer, found.Asking | found.Silent)
        if answered or now.deaf is not None:
            searching.cancel()

    searching = asyncio.create_task(search(look, access))
    try:
        await asyncio.wait({searching}, timeout=seconds)
    finally:
        searching.cancel()
        await asyncio.wait({searching})
    if not searching.cancelled() and (error := searching.exception()) is not None:
        raise error
    return seen


class _Search:
    """Asks all servers that are heard of, each in a task of its own."""

    def __init__(
        self, show: Callable[[found.Found], None], access: transport.ServerAccess, tasks: asyncio.TaskGroup
    ) -> None:
        self._show, self._access, self._tasks = show, access, tasks
        self._asking: dict[HeardServer, asyncio.Task[None]] = {}
        self._known: dict[HeardServer, found.FoundServer] = {}
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
                self._known[server] = found.FoundServer(server.name, server.urls[0])
                self._asking[server] = self._tasks.create_task(self._ask(server))
        self._tell()

    async def _ask(self, server: "HeardServer") -> None:
        pause = _FIRST_PAUSE
        while True:
            for url in server.urls:
                if (last := await self._ask_at(url, server)) is not None:
                    break
            match last:
                case found.Listed():
                    pause = _FIRST_PAUSE
                case found.Locked():
                    pause = _LONGEST_PAUSE
                case _:
                    pause = min(2 * pause, _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def _ask_at(self, url: str, server: "HeardServer") -> found.Listed | found.Locked | None:
        """Show what the server says at this address, as long as it does; return the last of it."""
        last: found.Listed | found.Locked | None = None
        async with contextlib.aclosing(_answers(_address(url, self._access), _list_tables)) as told:
            async with self._slots:
                answer = await anext(told, None)
            while answer is not None:
                if isinstance(answer, found.Listed | found.Locked):
                    last = answer
                known = found.FoundServer(server.name, url, answer)
                if (last is not None or url == server.urls[0]) and known != self._known[server]:
                    self._known[server] = known
                    self._tell()
                answer = await anext(told, None)
        return last

    def _tell(self) -> None:
        by_url: dict[str, found.FoundServer] = {}
        for server in self._known.values():
            by_url.setdefault(server.url, server)
        self._show(found.Found(found.each_table_once(by_url.values()), self._deaf))

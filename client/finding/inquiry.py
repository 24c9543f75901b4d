"""Asking servers for their tables, and where the player has a seat whose turn it is: briefly, and no more."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final, TypeVar

from msgspec.structs import replace
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from client.finding.found import Answer, Gone, Listed, Locked, SeatAnswer, Silent
from client.language import N_
from client.network.refusals import describe_refusal
from client.network.transport import (
    Access,
    Address,
    ConnectFailed,
    Elsewhere,
    PasswordWanted,
    Timeouts,
    elsewhere,
    ending,
    not_understood,
    open_websocket,
    received,
    why_not,
)
from protocol.codec import BadMessage, encode
from protocol.codes import Code
from protocol.messages import (
    AskTurn,
    ClientMessage,
    ListTables,
    Refused,
    Tables,
    TableSummary,
    Turn,
    Welcome,
)

_CLIENT: Final = "palatinus"
_TIMEOUTS: Final = Timeouts(opening=3.0, answer=3.0, closing=0.2)
_SECONDS_BETWEEN_LISTS: Final = 3.0
_MOST_TABLES: Final = 20  # of one server
_MOST_MESSAGES: Final = 20  # before the one that was asked for
_MOST_FOLLOWED: Final = 3  # servers that send on to another one
_SECONDS_UNTIL_RETRY: Final = 15.0

Said = TypeVar("Said")
Message = TypeVar("Message")


def answers(url: str, access: Access) -> AsyncGenerator[Answer, None]:
    """Yield the tables of the server again and again, or what it says instead, which is the last.

    It may be a stranger, so it is told nothing of the player.
    """
    return _answers(_address(url, access), _listed)


async def follow_seat(
    url: str, table: str, proof: str, access: Access, show: Callable[[SeatAnswer], None]
) -> None:
    """Call `show` with how the game of a seat stands, again and again until that is settled.

    `proof` is the hash of the seat's token.
    """
    while True:
        if await _is_settled(url, AskTurn(0, table, proof), access, show):
            return
        await asyncio.sleep(_SECONDS_UNTIL_RETRY)


async def _is_settled(
    url: str, question: AskTurn, access: Access, show: Callable[[SeatAnswer], None]
) -> bool:
    """Show what the servers say until they fail, or until it will not change: then return True."""

    async def asked(websocket: ClientConnection, welcome: Welcome, number: int) -> Turn | Refused | None:
        if not welcome.turns:
            return None
        return await _answer(websocket, replace(question, id=number), Turn, Refused)

    address = _address(url, access)
    for _ in range(_MOST_FOLLOWED):
        moved: Elsewhere | None = None
        async with contextlib.aclosing(_answers(address, asked)) as told:
            async for answer in told:
                match answer:
                    case None:
                        return True
                    case Refused(Code.BAD_TOKEN | Code.NO_SUCH_TABLE):
                        show(Gone())
                        return True
                    case Refused() if (moved := elsewhere(answer, address)) is not None:
                        break
                    case Refused():
                        show(Silent(describe_refusal(answer)))
                        break
                    case _:
                        show(answer)
                        over = isinstance(answer, Turn) and (answer.archived or answer.stage == "over")
                        if over or isinstance(answer, Locked):
                            return True
        if moved is None:
            return False
        address = address.at(moved.url)
    return False


def _address(url: str, access: Access) -> Address:
    """Return where to ask, without the password: that is for the server that it was given for."""
    return Address(url, _CLIENT, Access(access.tls, hosts=access.hosts))


async def _answers(
    address: Address, ask: Callable[[ClientConnection, Welcome, int], Awaitable[Said]]
) -> AsyncGenerator[Said | Locked | Silent, None]:
    """Yield the answer of the server again and again, or why there is none, which is the last."""
    try:
        websocket, welcome = await open_websocket(address, _TIMEOUTS)
    except PasswordWanted:
        yield Locked()
        return
    except ConnectFailed as error:
        yield Silent(str(error))
        return
    try:
        for number in itertools.count():
            async with asyncio.timeout(_TIMEOUTS.answer):
                answer = await ask(websocket, welcome, number)
            yield answer
            await asyncio.sleep(_SECONDS_BETWEEN_LISTS)
    except ConnectionClosed as error:
        yield Silent(str(ending(error)))
    except TimeoutError as error:
        yield Silent(str(why_not(address.url, error)))
    except BadMessage as error:
        yield Silent(str(not_understood(error)))
    finally:
        websocket.transport.abort()


async def _listed(websocket: ClientConnection, _welcome: Welcome, number: int) -> Listed:
    return open_tables((await _answer(websocket, ListTables(number), Tables)).tables)


async def _answer(websocket: ClientConnection, question: ClientMessage, *kinds: type[Message]) -> Message:
    """Return the answer, of one of these kinds; raises BadMessage if the server sends something else."""
    await websocket.send(encode(question))
    for _ in range(_MOST_MESSAGES):
        message = await received(websocket)
        if isinstance(message, kinds):
            return message
    raise BadMessage(N_("no answer"))


def open_tables(tables: list[TableSummary]) -> Listed:
    """Return the tables that somebody can join."""
    free = [table for table in tables if (table.stage == "gathering" and _has_room(table)) or table.vacant]
    different = list({table.table: table for table in free}.values())
    codes = frozenset(table.table for table in tables)
    return Listed(tuple(different[:_MOST_TABLES]), max(len(different) - _MOST_TABLES, 0), codes)


def _has_room(table: TableSummary) -> bool:
    return table.taken - table.bots < table.players

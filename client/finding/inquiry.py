"""Asking a server that was found for its tables: a stranger, so briefly, and with no word of the player."""

import asyncio
import itertools
from collections.abc import AsyncGenerator
from typing import Final

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from client.finding.found import Answer, Listed, Locked, Silent
from client.network.transport import (
    Access,
    Address,
    ConnectFailed,
    PasswordWanted,
    Timeouts,
    ending,
    not_understood,
    opened,
    received,
    why_not,
)
from protocol.codec import BadMessage, encode
from protocol.messages import ListTables, Tables, TableSummary

_CLIENT: Final = "palatinus"
_TIMEOUTS: Final = Timeouts(opening=3.0, answer=3.0, closing=0.2)
_SECONDS_BETWEEN_LISTS: Final = 3.0
_MOST_TABLES: Final = 20  # of one server
_MOST_MESSAGES: Final = 20  # before the one that was asked for


async def answers(url: str, access: Access) -> AsyncGenerator[Answer, None]:
    """Yield the tables of the server again and again, or what it says instead, which is the last."""
    # The password is for the server that it was given for; who asks here does not know yet who answers.
    address = Address(url, _CLIENT, Access(access.tls))
    try:
        websocket, _welcome = await opened(address, _TIMEOUTS)
    except PasswordWanted:
        yield Locked()
        return
    except ConnectFailed as error:
        yield Silent(str(error))
        return
    try:
        for number in itertools.count():
            async with asyncio.timeout(_TIMEOUTS.answer):
                tables = await _listed(websocket, number)
            yield open_tables(tables)
            await asyncio.sleep(_SECONDS_BETWEEN_LISTS)
    except ConnectionClosed as error:
        yield Silent(str(ending(error)))
    except TimeoutError as error:
        yield Silent(str(why_not(url, error)))
    except BadMessage as error:
        yield Silent(str(not_understood(error)))
    finally:
        websocket.transport.abort()


async def _listed(websocket: ClientConnection, number: int) -> list[TableSummary]:
    """Return the list of tables; raises BadMessage if the server sends other things instead."""
    await websocket.send(encode(ListTables(number)))
    for _ in range(_MOST_MESSAGES):
        message = await received(websocket)
        if isinstance(message, Tables):
            return message.tables
    raise BadMessage("no list of tables")


def open_tables(tables: list[TableSummary]) -> Listed:
    """Return the tables that somebody can join."""
    free = [table for table in tables if (table.stage == "gathering" and _has_room(table)) or table.vacant]
    different = list({table.table: table for table in free}.values())
    codes = frozenset(table.table for table in tables)
    return Listed(tuple(different[:_MOST_TABLES]), max(len(different) - _MOST_TABLES, 0), codes)


def _has_room(table: TableSummary) -> bool:
    return table.taken - table.bots < table.players

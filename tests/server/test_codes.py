"""Every refusal code is provoked once; a new one without a provocation fails."""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from protocol.absence import ByVote, MoveClock
from protocol.codes import Code
from protocol.messages import (
    Hello,
    JoinTable,
    Lay,
    Leave,
    OpenTable,
    Ping,
    PlacePiece,
    Refused,
    Rematch,
    Resume,
    Say,
    StartGame,
    Sync,
    Vote,
    Watch,
)
from server.app import Running, running
from server.config import Config, Limits
from server.errors import JournalError
from server.tables.requests import TimeUp
from tests.client.test_refusals import said_precisely
from tests.server.peer import Peer, company, connected, game, house, stranger, table_of

Provocation = Callable[[Running, contextlib.AsyncExitStack], Awaitable[Refused]]


async def bad_message(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    await peer.socket.send(b"\xc1")
    return await peer.until(Refused)


async def no_common_version(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(stranger(server.port))
    await peer.send(Hello([99], "test"))
    return await peer.until(Refused)


async def hello_first(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(stranger(server.port))
    return await peer.refused(Ping(7))


async def hello_twice(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    await peer.send(Hello([1], "test"))
    return await peer.until(Refused)


def with_password(offered: str | None) -> Provocation:
    """Say hello to a server that wants a password."""

    async def provoked(_server: Running, stack: contextlib.AsyncExitStack) -> Refused:
        config = Config(password="open", limits=Limits(wrong_password_seconds=0))  # noqa: S106 - a test's own
        locked = await stack.enter_async_context(running(config))
        peer = await stack.enter_async_context(stranger(locked.port))
        await peer.send(Hello([1], "test", offered))
        return await peer.until(Refused)

    return provoked


async def not_at_a_table(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    return await peer.refused(Leave(7))


async def no_such_table(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    return await peer.refused(Watch(7, "AAAA"))


async def too_many_tables(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    host = await stack.enter_async_context(connected(server.port))
    attended = server.lobby.tables[(await host.open(2)).table]
    more = {f"no. {number}": attended for number in range(500)}
    server.lobby.tables.update(more)
    try:
        peer = await stack.enter_async_context(connected(server.port))
        return await peer.refused(OpenTable(7, 2, "Anna"))
    finally:
        for code in more:
            del server.lobby.tables[code]


async def too_soon(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    for _ in range(30):
        await peer.open(2)
        await peer.done(Leave(peer.next_id()))
    return await peer.refused(OpenTable(7, 2, "Anna"))


async def not_stored(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    async def failing(*_: object) -> None:
        raise JournalError("the disk is full")

    peer = await stack.enter_async_context(connected(server.port))
    server.lobby._journal.append_together = failing  # type: ignore[assignment, method-assign]
    return await peer.refused(OpenTable(7, 2, "Anna"))


def by_newcomer(message: Callable[[Peer], JoinTable | Resume]) -> Provocation:
    """Send a message from outside to a table of three with two seats taken."""

    async def provoked(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
        host = await stack.enter_async_context(connected(server.port))
        await host.open(2, "Anna")
        return await (await stack.enter_async_context(connected(server.port))).refused(message(host))

    return provoked


def at_full_table(seat: int, message: OpenTable | Say | StartGame | Lay | Vote | Rematch) -> Provocation:
    """Send a message as seat (2: spectator) of a full table of two that has not begun."""

    async def provoked(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
        peers = await stack.enter_async_context(company(server.port, 2, watched=True))
        return await peers[seat].refused(message)

    return provoked


async def seats_empty(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    await peer.open(2)
    return await peer.refused(StartGame(7))


async def table_full(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(company(server.port, 2))
    late = await stack.enter_async_context(connected(server.port))
    return await late.refused(JoinTable(7, peers[0].code, "Late"))


async def already_started(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(game(server.port, 2))
    late = await stack.enter_async_context(connected(server.port))
    return await late.refused(JoinTable(7, peers[0].code, "Late"))


async def id_reused(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(company(server.port, 2))
    await peers[0].done(Say(7, "hello"))
    return await peers[0].refused(Sync(7))


async def time_up(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(game(server.port, 2, absence=MoveClock(60)))
    table = table_of(server, peers)
    table.requests.put_nowait(TimeUp(peers[0].seq))
    return await peers[0].refused(PlacePiece(7, "Em", "A1"))


def voting(seat: int) -> Provocation:
    """Vote on a seat of a running game; the player of seat 1 has just gone."""

    async def provoked(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
        peers = await stack.enter_async_context(game(server.port, 2, absence=ByVote(600)))
        await peers[1].done(Leave(8))
        return await peers[0].refused(Vote(7, seat, agree=True))

    return provoked


PROVOCATIONS: Final[dict[Code, Provocation]] = {
    Code.BAD_MESSAGE: bad_message,
    Code.NO_COMMON_VERSION: no_common_version,
    Code.HELLO_FIRST: hello_first,
    Code.HELLO_TWICE: hello_twice,
    Code.PASSWORD_NEEDED: with_password(None),
    Code.BAD_PASSWORD: with_password("sesame"),
    Code.ID_REUSED: id_reused,
    Code.BAD_NAME: by_newcomer(lambda host: JoinTable(7, host.code, "\x1b")),
    Code.NAME_TAKEN: by_newcomer(lambda host: JoinTable(7, host.code, "anna")),
    Code.BAD_TEXT: at_full_table(0, Say(7, "\x1b")),
    Code.TOO_MANY_TABLES: too_many_tables,
    Code.TOO_SOON: too_soon,
    Code.NO_SUCH_TABLE: no_such_table,
    Code.TABLE_FULL: table_full,
    Code.SEAT_TAKEN: by_newcomer(lambda host: JoinTable(7, host.code, "Late", 0)),
    Code.BAD_TOKEN: by_newcomer(lambda host: Resume(7, host.code, "guessed")),
    Code.AT_A_TABLE: at_full_table(0, OpenTable(7, 2, "Anna")),
    Code.NOT_AT_A_TABLE: not_at_a_table,
    Code.NOT_A_PLAYER: at_full_table(2, StartGame(7)),
    Code.NOT_THE_HOST: at_full_table(1, StartGame(7)),
    Code.SEATS_EMPTY: seats_empty,
    Code.ALREADY_STARTED: already_started,
    Code.NOT_STARTED: at_full_table(0, Lay(7, 1, 0)),
    Code.TIME_UP: time_up,
    Code.NOT_AWAY: voting(0),
    Code.TOO_EARLY: voting(1),
    Code.NO_VOTE: at_full_table(0, Vote(7, 1, agree=True)),
    Code.NOT_OVER: at_full_table(0, Rematch(7)),
    Code.NOT_STORED: not_stored,
}


# What other languages say in their own way: faults of a client's program, and what means nothing to a player.
TOLD_IN_GENERAL: Final = {
    Code.BAD_MESSAGE,
    Code.NO_COMMON_VERSION,
    Code.HELLO_FIRST,
    Code.HELLO_TWICE,
    Code.ID_REUSED,
    Code.BAD_TOKEN,
    Code.NOT_THE_HOST,
}


@pytest.mark.parametrize("code", Code)
async def test_every_code_has_its_cause(code: Code) -> None:
    """The refusal has a sentence that ends in a full stop, and the id of what it answers if there was one."""
    async with house() as server, contextlib.AsyncExitStack() as stack:
        refused = await PROVOCATIONS[code](server, stack)
        assert refused.code == code
        assert refused.text.endswith(".")
        without_id = {
            Code.BAD_MESSAGE,
            Code.NO_COMMON_VERSION,
            Code.HELLO_TWICE,
            Code.PASSWORD_NEEDED,
            Code.BAD_PASSWORD,
        }
        assert refused.id == (None if code in without_id else 7)
        assert refused.rule is None
        assert said_precisely(refused) or code in TOLD_IN_GENERAL

"""Every refusal code is provoked once; a new code without a provocation fails."""

import contextlib
import random
from collections.abc import Awaitable, Callable
from ipaddress import ip_network
from typing import Final
from unittest import mock

import pytest

from client.network.refusals import describe_refusal
from engine.legal import random_command
from engine.pieces import Seat
from protocol.absence import ByVote, MoveClock
from protocol.codes import Code
from protocol.messages import (
    AskPause,
    ChangeSeat,
    ChangeSetting,
    ChoosePeople,
    ClientMessage,
    Dismiss,
    EnterLobby,
    HandOver,
    Hello,
    JoinTable,
    Lay,
    Leave,
    OpenTable,
    Ping,
    PlacePiece,
    Refused,
    Rematch,
    Remove,
    Resume,
    Say,
    SayInLobby,
    SeatBot,
    StartGame,
    Sync,
    Vote,
    Watch,
)
from protocol.settings import Spectators
from server.app import Running, running
from server.config import Config, Limits
from server.errors import JournalError
from server.storage.journal import Journal
from server.tables.absence.deadlines import TimeUp
from server.tables.game.pauses import PAUSES
from tests.server.peer import (
    Peer,
    connected,
    connected_without_hello,
    eventually,
    full_table,
    game,
    memory_server,
    play_on,
    queued_requests,
    table_of,
)

Provocation = Callable[[Running, contextlib.AsyncExitStack], Awaitable[Refused]]


async def bad_message(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    await peer.socket.send(b"\xc1")
    return await peer.until(Refused)


async def no_common_version(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected_without_hello(server.port))
    await peer.send(Hello([99], "test"))
    return await peer.until(Refused)


async def hello_first(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected_without_hello(server.port))
    return await peer.refused(Ping(7))


async def hello_twice(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    await peer.send(Hello([1], "test"))
    return await peer.until(Refused)


def with_password(offered: str | None) -> Provocation:
    """Return a provocation: a hello to a server with a password."""

    async def provoked(_server: Running, stack: contextlib.AsyncExitStack) -> Refused:
        config = Config(password="open", limits=Limits(wrong_password_seconds=0))  # noqa: S106 - a test's own
        locked = await stack.enter_async_context(running(config))
        peer = await stack.enter_async_context(connected_without_hello(locked.port))
        await peer.send(Hello([1], "test", offered))
        return await peer.until(Refused)

    return provoked


async def not_at_a_table(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    return await peer.refused(Leave(7))


async def no_such_table(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    return await peer.refused(Watch(7, "AAAA"))


async def table_damaged(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    host = await stack.enter_async_context(connected(server.port))
    await host.open(2)
    peer = await stack.enter_async_context(connected(server.port))
    with mock.patch.object(Journal, "codes_set_aside", {host.code}):
        return await peer.refused(Watch(7, host.code))


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


async def too_much_chat(_server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    server = await stack.enter_async_context(memory_server(chat_per_table=1))
    peers = await stack.enter_async_context(full_table(server.port, 2))
    await peers[1].done(Say(6, "hello"))
    return await peers[0].refused(Say(7, "hello"))


async def name_in_use(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    anna, other = [await stack.enter_async_context(connected(server.port)) for _ in range(2)]
    await anna.done(EnterLobby(6, "Anna"))
    return await other.refused(EnterLobby(7, "anna"))


async def no_lobby_chat(_server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    server = await stack.enter_async_context(running(Config(lobby_chat=False)))
    peer = await stack.enter_async_context(connected(server.port))
    return await peer.refused(SayInLobby(7, "hello"))


async def not_in_lobby(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    return await peer.refused(SayInLobby(7, "hello"))


async def too_many_seats(_server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    small = await stack.enter_async_context(memory_server(connections_per_address=4))
    await stack.enter_async_context(full_table(small.port, 3))
    peer = await stack.enter_async_context(connected(small.port))
    return await peer.refused(OpenTable(7, 2, "Fourth"))


async def too_soon(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    for _ in range(30):
        await peer.open(2)
        await peer.done(Leave(peer.next_id()))
    return await peer.refused(OpenTable(7, 2, "Anna"))


async def server_stopping(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    await stack.enter_async_context(game(server.port, 2))
    peer = await stack.enter_async_context(connected(server.port))
    server.drain.begin(600)
    return await peer.refused(OpenTable(7, 2, "Anna"))


async def closed_by_server(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(full_table(server.port, 2))
    await server.lobby.close_table(peers[0].code, None)
    return await peers[0].until(Refused)


async def removed_by_server(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(full_table(server.port, 2))
    await server.lobby.remove_player(peers[0].code, Seat(1))
    return await peers[1].until(Refused)


async def table_elsewhere(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    async def whereabouts(_: str) -> str:
        return "ws://elsewhere.example:7733"

    server.lobby._journal.whereabouts = whereabouts  # type: ignore[assignment, method-assign]
    peer = await stack.enter_async_context(connected(server.port))
    return await peer.refused(Watch(7, "KXQT"))


async def not_stored(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    async def failing(*_: object) -> None:
        raise JournalError("the disk is full")

    peer = await stack.enter_async_context(connected(server.port))
    server.lobby._journal.append_together = failing  # type: ignore[assignment, method-assign]
    return await peer.refused(OpenTable(7, 2, "Anna"))


def by_newcomer(message: Callable[[Peer], JoinTable | Resume]) -> Provocation:
    """Return a provocation: a message from outside to a table of three with two seats taken."""

    async def provoked(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
        host = await stack.enter_async_context(connected(server.port))
        await host.open(2, "Anna")
        return await (await stack.enter_async_context(connected(server.port))).refused(message(host))

    return provoked


def at_full_table(seat: int, message: ClientMessage) -> Provocation:
    """Return a provocation: a message as seat (2: spectator) of a full table of two before its game."""

    async def provoked(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
        peers = await stack.enter_async_context(full_table(server.port, 2, watched=True))
        return await peers[seat].refused(message)

    return provoked


async def removed(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(full_table(server.port, 2, watched=True))
    await peers[0].done(Dismiss(6, 1))
    while not isinstance(message := await peers[2].receive(), Refused):
        pass
    assert (message.code, message.id) == (Code.REMOVED, None)
    return await peers[2].refused(JoinTable(7, peers[0].code, "Zoe"))


async def removed_nearby(_server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    config = Config(trusted_proxies=(ip_network("127.0.0.1"),))
    server = await stack.enter_async_context(running(config))
    host, bruno, other = [
        await stack.enter_async_context(connected(server.port, address))
        for address in ("192.0.2.1", "192.0.2.2", "192.0.2.2")
    ]
    await host.open(2)
    await bruno.join(host.code, "Bruno")
    await host.done(Remove(6, 1))
    return await other.refused(JoinTable(7, host.code, "Zoe"))


async def no_spectators(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(full_table(server.port, 2))
    await peers[0].done(ChangeSetting(6, Spectators(allowed=False)))
    late = await stack.enter_async_context(connected(server.port))
    return await late.refused(Watch(7, peers[0].code))


async def too_many_guesses(_server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    server = await stack.enter_async_context(memory_server(wrong_codes_per_address=1))
    peer = await stack.enter_async_context(connected(server.port))
    await peer.refused(Watch(6, "AAAA"))
    return await peer.refused(Watch(7, "AAAB"))


async def knows_another_hand(_server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    server = await stack.enter_async_context(memory_server(seat_grace_seconds=0))
    peers = await stack.enter_async_context(game(server.port, 3))
    for peer in peers[1:]:
        await peer.done(Leave(6))
    await peers[0].done(Remove(6, 1))
    return await peers[2].refused(JoinTable(7, peers[0].code, "Carla"))


async def nobody_there(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    await peer.open(2)
    return await peer.refused(Remove(7, 1))


async def not_a_person(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(full_table(server.port, 2, programs={1}))
    return await peers[0].refused(HandOver(7, 1))


async def no_such_seat(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    return await peer.refused(OpenTable(7, 2, "Anna", starting=2))


async def no_free_seat(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(full_table(server.port, 2))
    return await peers[1].refused(ChangeSeat(7, 0))


async def people_taken(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(full_table(server.port, 2))
    await peers[1].done(ChoosePeople(6, "E"))
    return await peers[0].refused(ChoosePeople(7, "E"))


async def paused(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(game(server.port, 2))
    await peers[1].done(AskPause(6, on=True))
    return await peers[0].refused(Lay(7, 1, 0))


async def not_paused(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(game(server.port, 2))
    return await peers[1].refused(AskPause(7, on=False))


async def no_pauses_left(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(game(server.port, 2))
    for _ in range(PAUSES):
        await peers[1].done(AskPause(peers[1].next_id(), on=True))
        await peers[1].done(AskPause(peers[1].next_id(), on=False))
    return await peers[1].refused(AskPause(7, on=True))


async def pause_goes_on(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(game(server.port, 3))
    await peers[1].done(AskPause(6, on=True))
    return await peers[2].refused(AskPause(7, on=False))


async def seats_empty(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peer = await stack.enter_async_context(connected(server.port))
    await peer.open(2)
    return await peer.refused(StartGame(7))


async def table_full(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(full_table(server.port, 2))
    late = await stack.enter_async_context(connected(server.port))
    return await late.refused(JoinTable(7, peers[0].code, "Late"))


async def already_started(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(game(server.port, 2))
    return await peers[0].refused(StartGame(7))


def join_late(moves: int) -> Provocation:
    """Return a provocation: joining a table after this many moves."""

    async def provoked(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
        peers = await stack.enter_async_context(game(server.port, 2))
        await play_on(peers, random.Random(1), moves)
        late = await stack.enter_async_context(connected(server.port))
        return await late.refused(JoinTable(7, peers[0].code, "Late"))

    return provoked


async def seat_kept(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(game(server.port, 2))
    await play_on(peers, random.Random(1))
    await peers[0].ask(Rematch(6))
    return await peers[0].refused(StartGame(7))


async def spectators_full(_server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    server = await stack.enter_async_context(memory_server(spectators=0))
    peers = await stack.enter_async_context(full_table(server.port, 2))
    late = await stack.enter_async_context(connected(server.port))
    return await late.refused(Watch(7, peers[0].code))


async def table_closed(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    host = await stack.enter_async_context(connected(server.port))
    table = server.lobby.tables[(await host.open(2)).table]
    late = await stack.enter_async_context(connected(server.port))
    async with table._lock:
        await late.send(Watch(7, table.code))
        await eventually(lambda: queued_requests(table) == 1)
        table._end()
    return await late.until(Refused)


async def left_the_table(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(full_table(server.port, 2))
    table = table_of(server, peers)
    async with table._lock:
        await peers[1].send(Sync(7))
        await eventually(lambda: queued_requests(table) == 1)
        table._context.audience.remove(table._context.audience.seated[Seat(1)])
    return await peers[1].until(Refused)


async def no_such_level(_server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    config = Config(brains={"random": lambda _view, legal, rng: random_command(legal, rng)})
    server = await stack.enter_async_context(running(config))
    peers = await stack.enter_async_context(full_table(server.port, 2))
    return await peers[0].refused(SeatBot(7, "best"))


async def programs_do_not_vote(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(game(server.port, 2, programs={1}, absence=ByVote(600)))
    return await peers[1].refused(Vote(7, 0, agree=True))


async def bot_plays_already(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(game(server.port, 2, programs={1}, absence=ByVote(600)))
    await peers[1].done(Leave(8))
    return await peers[0].refused(Vote(7, 1, agree=False))


async def id_reused(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(full_table(server.port, 2))
    await peers[0].done(Say(7, "hello"))
    return await peers[0].refused(Sync(7))


async def time_up(server: Running, stack: contextlib.AsyncExitStack) -> Refused:
    peers = await stack.enter_async_context(game(server.port, 2, absence=MoveClock(60)))
    table = table_of(server, peers)
    await table._fall_due(TimeUp(peers[0].seq))
    return await peers[0].refused(PlacePiece(7, "Em", "A1"))


def voting(seat: int) -> Provocation:
    """Return a provocation: a vote on a seat of a running game when the player of seat 1 has just left."""

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
    Code.NAME_UNPRINTABLE: by_newcomer(lambda host: JoinTable(7, host.code, "\x1b")),
    Code.NAME_TOO_MANY_MARKS: by_newcomer(lambda host: JoinTable(7, host.code, "x\u0336\u0337\u0338")),
    Code.NAME_BLANK: by_newcomer(lambda host: JoinTable(7, host.code, " ")),
    Code.NAME_NOT_COMPOSED: by_newcomer(lambda host: JoinTable(7, host.code, "A\u0301nna")),
    Code.NAME_MIXED_ALPHABETS: by_newcomer(lambda host: JoinTable(7, host.code, "Ann\u0430")),
    Code.NAME_TAKEN: by_newcomer(lambda host: JoinTable(7, host.code, "anna")),
    Code.NAME_IN_USE: name_in_use,
    Code.NO_LOBBY_CHAT: no_lobby_chat,
    Code.NOT_IN_LOBBY: not_in_lobby,
    Code.TEXT_UNPRINTABLE: at_full_table(0, Say(7, "\x1b")),
    Code.TEXT_TOO_MANY_MARKS: at_full_table(0, Say(7, "x\u0336\u0337\u0338")),
    Code.TEXT_BLANK: at_full_table(0, Say(7, " hm")),
    Code.TEXT_NOT_COMPOSED: at_full_table(0, Say(7, "A\u0301h")),
    Code.TOO_MUCH_CHAT: too_much_chat,
    Code.TOO_MANY_TABLES: too_many_tables,
    Code.TOO_MANY_SEATS: too_many_seats,
    Code.TOO_SOON: too_soon,
    Code.NO_SUCH_TABLE: no_such_table,
    Code.SERVER_STOPPING: server_stopping,
    Code.TABLE_DAMAGED: table_damaged,
    Code.TABLE_CLOSED: table_closed,
    Code.CLOSED_BY_SERVER: closed_by_server,
    Code.REMOVED_BY_SERVER: removed_by_server,
    Code.TABLE_FULL: table_full,
    Code.SPECTATORS_FULL: spectators_full,
    Code.NO_SPECTATORS: no_spectators,
    Code.REMOVED: removed,
    Code.REMOVED_NEARBY: removed_nearby,
    Code.TOO_MANY_GUESSES: too_many_guesses,
    Code.KNOWS_ANOTHER_HAND: knows_another_hand,
    Code.NOT_YOURSELF: at_full_table(0, Remove(7, 0)),
    Code.NOBODY_THERE: nobody_there,
    Code.NO_SUCH_SPECTATOR: at_full_table(0, Dismiss(7, 99)),
    Code.NO_BOTS: at_full_table(0, SeatBot(7, "greedy")),
    Code.NO_SUCH_LEVEL: no_such_level,
    Code.NOT_A_PERSON: not_a_person,
    Code.NO_SUCH_SEAT: no_such_seat,
    Code.NO_FREE_SEAT: no_free_seat,
    Code.PEOPLE_TAKEN: people_taken,
    Code.PAUSED: paused,
    Code.NOT_PAUSED: not_paused,
    Code.NO_PAUSES_LEFT: no_pauses_left,
    Code.PAUSE_GOES_ON: pause_goes_on,
    Code.SEAT_TAKEN: by_newcomer(lambda host: JoinTable(7, host.code, "Late", 0)),
    Code.BAD_TOKEN: by_newcomer(lambda host: Resume(7, host.code, "guessed")),
    Code.AT_A_TABLE: at_full_table(0, OpenTable(7, 2, "Anna")),
    Code.NOT_AT_A_TABLE: not_at_a_table,
    Code.LEFT_THE_TABLE: left_the_table,
    Code.NOT_A_PLAYER: at_full_table(2, StartGame(7)),
    Code.NOT_THE_HOST: at_full_table(1, StartGame(7)),
    Code.SEATS_EMPTY: seats_empty,
    Code.SEAT_KEPT: seat_kept,
    Code.ALREADY_STARTED: already_started,
    Code.GAME_RUNNING: join_late(1),
    Code.GAME_FINISHED: join_late(1000),
    Code.NOT_STARTED: at_full_table(0, Lay(7, 1, 0)),
    Code.TIME_UP: time_up,
    Code.NO_VOTE: at_full_table(0, Vote(7, 1, agree=True)),
    Code.PROGRAMS_DO_NOT_VOTE: programs_do_not_vote,
    Code.BOT_PLAYS_ALREADY: bot_plays_already,
    Code.NOT_OVER: at_full_table(0, Rematch(7)),
    Code.NOT_AWAY: voting(0),
    Code.TOO_EARLY: voting(1),
    Code.NOT_STORED: not_stored,
    Code.TABLE_ELSEWHERE: table_elsewhere,
}


@pytest.mark.parametrize("code", Code)
async def test_every_code_can_be_provoked(code: Code) -> None:
    """The refusal has the id of its request, if there was one, and all facts of its sentence."""
    async with memory_server() as server, contextlib.AsyncExitStack() as stack:
        refused = await PROVOCATIONS[code](server, stack)
        assert refused.code == code
        assert refused.text.endswith(".")
        without_id = {
            Code.BAD_MESSAGE,
            Code.NO_COMMON_VERSION,
            Code.HELLO_TWICE,
            Code.PASSWORD_NEEDED,
            Code.BAD_PASSWORD,
            Code.CLOSED_BY_SERVER,
            Code.REMOVED_BY_SERVER,
        }
        assert refused.id == (None if code in without_id else 7)
        assert refused.rule is None
        assert describe_refusal(refused) == refused.text

"""Requests that are refused at a table: to whom, when, and with which code."""

from collections.abc import Sequence
from typing import Final, get_args, get_type_hints

import pytest
from msgspec.structs import replace

from client.bots.brains import at_random
from engine.pieces import Seat
from protocol.absence import ByBot
from protocol.codes import Code
from protocol.messages import (
    Arrange,
    AskPause,
    BesideMoves,
    ChangeSeat,
    ChangeSetting,
    ChoosePeople,
    ClientMessage,
    Dismiss,
    EndGame,
    GetRecord,
    HandOver,
    JoinTable,
    Lay,
    Leave,
    OpenTable,
    PlacePiece,
    Refused,
    Rematch,
    Remove,
    Resume,
    Say,
    SayReady,
    SeatBot,
    Show,
    StartGame,
    SubstituteNow,
    Sync,
    Watch,
)
from protocol.settings import AbsenceSetting, Hints, Private, Quiet, Spectators, Starting, Title
from protocol.text import unsafe
from server.app import running
from server.config import Config, Limits
from server.tables.absence.deadlines import AT_SEATS, Due
from server.tables.requests import HANDLERS
from server.tables.table import WORK
from tests.server.peer import Peer, connected, eventually
from tests.server.playing import full_table, game, table_of
from tests.server.storage.test_journal import table_facts
from tests.server.tables.hosted import play_to_the_end, queued_requests

CONFIG: Final = Config(brains={"random": at_random}, limits=Limits(stand_in_seconds=0))
CODE: Final = "ZZZZ"  # stands for the code of the table
SETTINGS = Title("x"), Private(on=True), Spectators(allowed=False), Hints(on=True), Quiet(on=True)
OF_HOSTS: Final[list[ClientMessage]] = [
    *(ChangeSetting(0, each) for each in (*SETTINGS, Starting(1), AbsenceSetting(ByBot(60)))),
    *(SeatBot(0, "random"), Remove(0, 2), Dismiss(0, 1), HandOver(0, 1), Arrange(0), SubstituteNow(0, 2)),
    EndGame(0),
]
OF_PLAYERS: Final[list[ClientMessage]] = [
    *(StartGame(0), SayReady(0, on=True), ChangeSeat(0, 1), ChoosePeople(0, "A"), AskPause(0, on=True))
]
AT_TABLES: Final[list[ClientMessage]] = [
    *(OpenTable(0, 2, "Twice"), JoinTable(0, CODE, "Twice"), Resume(0, CODE, "x"), Watch(0, CODE))
]


async def check_refused(peers: Sequence[Peer], who: int, *rows: tuple[ClientMessage, str]) -> None:
    """Fail unless each message is refused to one of the peers, with its code."""
    for message, code in rows:
        given = replace(message, id=peers[who].next_id())
        if hasattr(given, "table"):
            given = replace(given, table=peers[0].code)
        refused = await peers[who].refused(given)
        assert refused.code == code, message
        assert unsafe(refused.text) is None


@pytest.mark.parametrize("started", [False, True])
async def test_players_spectators_and_strangers_may_not_do_what_the_host_may(*, started: bool) -> None:
    opened = game if started else full_table
    async with running(CONFIG) as server, opened(server.port, 3, watched=True) as peers:
        before = table_facts(table_of(server, peers).state)
        await check_refused(peers, 1, *((each, Code.NOT_THE_HOST) for each in OF_HOSTS))
        await check_refused(peers, 1, *((each, Code.AT_A_TABLE) for each in AT_TABLES))
        await check_refused(peers, 3, *((each, Code.NOT_A_PLAYER) for each in (*OF_HOSTS, *OF_PLAYERS)))
        async with connected(server.port) as stranger:
            of_tables = (*OF_HOSTS, *OF_PLAYERS, Rematch(0), GetRecord(0))
            await check_refused([stranger], 0, *((each, Code.NOT_AT_A_TABLE) for each in of_tables))
        assert table_facts(table_of(server, peers).state) == before
        await peers[2].nothing_but_pong()


async def test_before_the_game() -> None:
    """Here seat 2 is a program's, and seat 3 a bot's."""
    async with (
        running(CONFIG) as server,
        full_table(server.port, 4, programs={2}, bots={3: "random"}, watched=True) as peers,
        connected(server.port) as stranger,
    ):
        before = table_facts(table_of(server, peers).state)
        await check_refused(
            peers,
            0,
            *((Lay(0, 1, 0), Code.NOT_STARTED), (PlacePiece(0, "Em", "A1"), Code.NOT_STARTED)),
            *((AskPause(0, on=True), Code.NOT_STARTED), (EndGame(0), Code.NOT_STARTED)),
            *((GetRecord(0), Code.NOT_OVER), (Rematch(0), Code.NOT_OVER)),
            *((SeatBot(0, "random"), Code.TABLE_FULL), (Remove(0, 0), Code.NOT_YOURSELF)),
            *((Remove(0, 4), Code.NO_SUCH_SEAT), (HandOver(0, 2), Code.NOT_A_PERSON)),
            *((HandOver(0, 3), Code.NOT_A_PERSON), (Arrange(0, (0, 0, 1, 2)), Code.BAD_MESSAGE)),
            *((Arrange(0, (0, 1)), Code.BAD_MESSAGE), (Arrange(0, (0, 1, 2, 4)), Code.BAD_MESSAGE)),
            (ChangeSetting(0, Starting(4)), Code.NO_SUCH_SEAT),
            (ChangeSetting(0, Title("\x1b[2J")), Code.NAME_UNPRINTABLE),
            (ChangeSetting(0, Title(" x")), Code.NAME_BLANK),
            (ChangeSetting(0, Title("Fr\u0456day")), Code.NAME_MIXED_ALPHABETS),
            *((ChangeSeat(0, 1), Code.NO_FREE_SEAT), (Say(0, "\x1b]0;title\x07"), Code.TEXT_UNPRINTABLE)),
        )
        await check_refused(
            [peers[0], stranger],
            1,
            (JoinTable(0, CODE, "\uff30layer 1"), Code.NAME_TAKEN),
            (Watch(0, CODE, name="player 1"), Code.NAME_TAKEN),
            (Watch(0, CODE, name="Pl\u0430yer 1"), Code.NAME_MIXED_ALPHABETS),
            (JoinTable(0, CODE, "An\x1b[31mna"), Code.NAME_UNPRINTABLE),
            (OpenTable(0, 2, "An\x1b[31mna"), Code.NAME_UNPRINTABLE),
        )
        assert table_facts(table_of(server, peers).state) == before
        await peers[1].nothing_but_pong()


async def test_at_a_table_with_a_free_seat() -> None:
    """Here seat 3 is a bot's."""
    async with running(CONFIG) as server, full_table(server.port, 4, bots={3: "random"}) as peers:
        host, second, third = peers
        await third.done(Leave)
        codes = (Code.SEAT_TAKEN, Code.NOT_YOURSELF, Code.NO_SUCH_SEAT)
        await check_refused(
            peers, 1, *((ChangeSeat(0, to), code) for to, code in zip((0, 1, 4), codes, strict=True))
        )
        await check_refused(
            peers,
            0,
            *((Remove(0, 2), Code.NOBODY_THERE), (SeatBot(0, "best"), Code.NO_SUCH_LEVEL)),
            *((SeatBot(0, "random", seat), Code.SEAT_TAKEN) for seat in (0, 3)),
            (SeatBot(0, "random", 4), Code.NO_SUCH_SEAT),
        )
        refused = await third.refused(JoinTable, host.code, "Third", 1)
        assert (refused.code, refused.about) == (Code.SEAT_TAKEN, {"seat": "1", "free_seats": "2, 3"})
        table = table_of(server, peers)
        await table._lock.acquire()
        await second.send(Sync(8))
        await eventually(lambda: queued_requests(table) == 1)
        table._context.audience.remove(table._context.audience.seated[Seat(1)])
        table._lock.release()
        assert (await second.until(Refused)).code == Code.LEFT_THE_TABLE


async def test_during_and_after_the_game() -> None:
    """Here seat 2 is a bot's."""
    async with running(CONFIG) as server, game(server.port, 3, bots={2: "random"}, watched=True) as peers:
        before = table_facts(table_of(server, peers).state)
        started: list[ClientMessage] = [
            *(StartGame(0), SeatBot(0, "random"), Remove(0, 1), Remove(0, 2), Arrange(0)),
            *(ChangeSetting(0, Starting(1)), SayReady(0, on=True), ChangeSeat(0, 1), ChoosePeople(0, "A")),
        ]
        await check_refused(peers, 0, *((each, Code.ALREADY_STARTED) for each in started))
        not_over: list[ClientMessage] = [Rematch(0), GetRecord(0), Show(0, 3)]
        await check_refused(peers, 0, *((each, Code.NOT_OVER) for each in not_over))
        await check_refused(
            peers, 0, (SubstituteNow(0, 2), Code.BOT_PLAYS_ALREADY), (HandOver(0, 2), Code.NOT_A_PERSON)
        )
        await check_refused(
            peers, 2, (GetRecord(0), Code.NOT_OVER), (Show(0), Code.NOT_OVER), (Rematch(0), Code.NOT_A_PLAYER)
        )
        assert table_facts(table_of(server, peers).state) == before
        await peers[1].nothing_but_pong()
        await play_to_the_end(peers)
        await check_refused(peers, 0, (EndGame(0), "game-over"), (AskPause(0, on=True), "game-over"))
        await check_refused(peers, 2, (Rematch(0), Code.NOT_A_PLAYER))
        async with connected(server.port) as late:
            await check_refused([peers[0], late], 1, (JoinTable(0, CODE, "Late"), Code.GAME_FINISHED))


def test_every_request_at_a_table_has_a_handler() -> None:
    assert HANDLERS.keys() == set(get_args(BesideMoves))
    for request, handler in HANDLERS.items():
        _context, _session, taken, *_ = get_type_hints(handler).values()
        assert request in (get_args(taken) or (taken,)), request


def test_everything_that_falls_due_at_a_table_is_done() -> None:
    assert WORK.keys() | {Due.UNATTENDED} == set(Due)
    for due, work in WORK.items():
        _context, *concerned = list(get_type_hints(work).values())[:2]
        assert due not in AT_SEATS or Seat in concerned, due

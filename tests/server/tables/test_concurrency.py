"""Many clients at few tables, all at once, while the journal is slow and fails now and then."""

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from client.bots.brains import at_random
from engine.game import RandomChance
from engine.pieces import People
from protocol.absence import WAIT, ByBot, ByVote, GameClock, MoveClock
from protocol.codes import SENT_AWAY, Code
from protocol.messages import (
    Arrange,
    AskPause,
    ChangeSeat,
    ChangeSetting,
    ChoosePeople,
    ClientMessage,
    Dismiss,
    Done,
    EndGame,
    HandOver,
    JoinTable,
    Leave,
    OpenTable,
    Refused,
    Rematch,
    Remove,
    Resume,
    Say,
    SayReady,
    SeatBot,
    Seated,
    StartGame,
    SubstituteNow,
    Sync,
    TableState,
    Vote,
    Watch,
    Watching,
)
from protocol.settings import AbsenceSetting, Hints, Private, Quiet, Spectators, Starting, Title
from server.app import Running, running
from server.config import Config, Limits
from server.errors import JournalError
from server.storage.journal import Journal
from server.storage.sqlite.journal import SqliteJournal
from server.tables.state.persistent_state import PersistentState
from server.timers import Timer
from tests.server.peer import Peer, check_views, connected, eventually
from tests.server.storage.test_journal import table_facts

CLIENTS = 12
ACTIONS = 100
POLICIES = (WAIT, ByBot(0), ByBot(5), ByVote(0), MoveClock(10), GameClock(60))
NO_TABLE = {*SENT_AWAY, Code.LEFT_THE_TABLE, Code.NOT_AT_A_TABLE}


class FastClock:
    """A clock whose seconds pass forty times as fast as the event loop's."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def time(self) -> float:
        return self._loop.time() * 40

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: object) -> Timer:
        return self._loop.call_later(delay / 40, callback, *args)


@dataclass
class Tokens:
    """The seats that were given to any client, by table codes."""

    by_table: dict[str, list[str]] = field(default_factory=dict)

    def add(self, seated: Seated) -> None:
        if seated.token is not None:
            self.by_table.setdefault(seated.table, []).append(seated.token)

    def recent_table(self, rng: random.Random) -> str:
        return rng.choice(list(self.by_table)[-4:])


def slow_down(patch: pytest.MonkeyPatch, journal: Journal, rng: random.Random) -> None:
    """Let whatever is stored take a random time, before and after, and fail now and then."""
    for name in ("append", "append_together", "archive", "bring_back", "shorten", "archived_entries"):
        done = getattr(journal, name)

        async def slowly(*arguments: object, done: Callable[..., object] = done) -> object:
            await asyncio.sleep(rng.choice((0, 0, 0.001, 0.01)))
            if rng.random() < 0.05:
                raise JournalError("the disk is full")
            result = await done(*arguments)  # type: ignore[misc]
            await asyncio.sleep(rng.choice((0, 0, 0.001)))
            return result

        patch.setattr(journal, name, slowly)


def request_in_lobby(peer: Peer, rng: random.Random, tokens: Tokens, name: str) -> ClientMessage:
    peer.view, peer.seq, peer.seen, peer.legal = None, 0, [], None
    if not tokens.by_table or rng.random() < 0.1:
        policy, program = rng.choice(POLICIES), rng.random() < 0.2
        return OpenTable(peer.next_id(), 2, name, random_layout=True, absence=policy, program=program)
    code = tokens.recent_table(rng)
    match rng.choice(("join", "join", "watch", "resume", "resume", "resume")):
        case "join":
            return JoinTable(peer.next_id(), code, name)
        case "watch":
            return Watch(peer.next_id(), code)
        case _:
            return Resume(peer.next_id(), code, rng.choice(tokens.by_table[code]))


def request_at_table(peer: Peer, rng: random.Random) -> ClientMessage:
    if peer.legal is not None and rng.random() < 0.8:
        return peer.random_move(rng)
    match rng.choice(
        (
            "start",
            "start",
            "say",
            "sync",
            "vote",
            "rematch",
            "leave",
            "host",
            "host",
            "ready",
            "seat",
            "people",
            "pause",
        )
    ):
        case "start":
            return StartGame(peer.next_id())
        case "say":
            return Say(peer.next_id(), "Salve!")
        case "sync":
            return Sync(peer.next_id(), 0)
        case "vote":
            return Vote(peer.next_id(), rng.randrange(2), agree=rng.random() < 0.8)
        case "rematch":
            return Rematch(peer.next_id())
        case "ready":
            return SayReady(peer.next_id(), on=rng.random() < 0.8)
        case "pause":
            return AskPause(peer.next_id(), on=rng.random() < 0.5)
        case "seat":
            return ChangeSeat(peer.next_id(), rng.randrange(2))
        case "people":
            return ChoosePeople(peer.next_id(), rng.choice((*People, None)))
        case "host":
            return rng.choice(host_requests(peer, rng))
        case _:
            return Leave(peer.next_id())


def host_requests(peer: Peer, rng: random.Random) -> list[ClientMessage]:
    """Return what only a host may do; most clients are not one, or do it at the wrong time."""
    seat = rng.randrange(2)
    settings = (
        Title("Salve"),
        Private(on=rng.random() < 0.2),
        Spectators(allowed=rng.random() < 0.8),
        Hints(on=rng.random() < 0.5),
        Quiet(on=rng.random() < 0.5),
    )
    return [
        ChangeSetting(peer.next_id(), rng.choice(settings)),
        ChangeSetting(peer.next_id(), AbsenceSetting(rng.choice(POLICIES))),
        ChangeSetting(peer.next_id(), Starting(rng.choice((None, seat)))),
        SeatBot(peer.next_id(), "random", seat),
        Remove(peer.next_id(), seat),
        Dismiss(peer.next_id(), rng.randrange(1, 4)),
        HandOver(peer.next_id(), seat),
        Arrange(peer.next_id(), rng.choice((None, [1, 0]))),
        SubstituteNow(peer.next_id(), seat),
        EndGame(peer.next_id()) if rng.random() < 0.2 else HandOver(peer.next_id(), seat),
    ]


async def act_at_random(port: int, rng: random.Random, tokens: Tokens, name: str) -> None:
    """Do random things on one connection after another; some end in the middle of a request."""
    actions = ACTIONS
    while actions:
        with contextlib.suppress(ConnectionClosed):  # another client took the seat over
            async with connected(port) as peer:
                at_table = False
                while actions:
                    actions -= 1
                    request = (
                        request_at_table(peer, rng) if at_table else request_in_lobby(peer, rng, tokens, name)
                    )
                    if rng.random() < 0.04:
                        await peer.send(request)
                        peer.socket.transport.abort()
                        break
                    answer = await peer.ask(request)
                    match answer:
                        case Seated() | Watching():
                            at_table = True
                            if isinstance(answer, Seated):
                                tokens.add(answer)
                            peer.view, peer.seq, peer.seen, peer.legal = None, 0, [], None
                            if (await peer.until(TableState)).stage != "gathering" and not peer.seq:
                                await peer.news()
                        case Done() if isinstance(request, Leave):
                            at_table = False
                        case Refused(code) if code in NO_TABLE:
                            at_table = False
                        case _:
                            assert peer.legal is None or peer.view is None or peer.view.turn == peer.seat


def tables_are_left(server: Running) -> bool:
    tables = server.lobby.tables.values()
    return not any(table.players_here or table.spectators_here or len(table._lock) for table in tables)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_requests_at_the_same_time_are_handled_one_by_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, seed: int
) -> None:
    """Every table's state is the fold of its entries, none failed, and none waits for ever.

    Players join, move, chat, vote, leave, vanish, come back, take seats over and play again, and hosts use
    their powers, while clocks run out, stand-ins move, and tables are archived to make room.
    """
    limits = Limits(
        tables=6,
        tables_per_connection=1000,
        tables_per_address=10_000,
        chat_per_address=10_000,
        bad_messages=1000,
        wrong_codes_per_address=10_000,
        burst=10_000,
        seat_grace_seconds=10.0,
        rematch_grace_seconds=20.0,
        over_seconds=10.0,
    )
    tokens = Tokens()
    brains = {"random": at_random}
    config = Config(data=tmp_path, limits=limits, brains=brains, timers=FastClock, seed=seed)
    async with running(config) as server:
        with pytest.MonkeyPatch.context() as patch:
            slow_down(patch, server.lobby._journal, random.Random(seed))
            async with asyncio.TaskGroup() as clients:
                for number in range(CLIENTS):
                    rng = random.Random(f"{seed} {number}")
                    clients.create_task(act_at_random(server.port, rng, tokens, f"Client {number}"))
        await eventually(lambda: tables_are_left(server))
        for code in list(tokens.by_table)[-4:]:
            async with connected(server.port) as peer:
                if isinstance(await peer.ask(Watch(peer.next_id(), code)), Watching):
                    table = server.lobby.tables[code]
                    if table.state.stage == "over":
                        await peer.news()
                        check_views(table, [peer])
    assert not [record for record in caplog.records if record.exc_info]
    journal = SqliteJournal(tmp_path)
    stored = await journal.tables()
    await journal.close()
    for code, table in server.lobby.tables.items():
        state = PersistentState(stored.pop(code), RandomChance(random.Random(0)))
        assert table_facts(state) == table_facts(table.state)
    assert not stored

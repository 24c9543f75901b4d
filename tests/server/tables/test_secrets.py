"""A client that may not know the kind of a wolf piece receives the same bytes for either kind."""

import contextlib
import itertools
import logging
import random
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import msgpack
import pytest

from engine.board import FIELDS
from engine.events import Command, Place
from engine.legal import Legal
from engine.pieces import People
from engine.view import View
from protocol.absence import WAIT, Absence, ByBot
from protocol.messages import (
    Announced,
    Arrange,
    AskPause,
    AskTurn,
    ChangeSeat,
    ChangeSetting,
    ChoosePeople,
    ClientMessage,
    DrawBegins,
    EnterLobby,
    GetRecord,
    JoinTable,
    Lay,
    Leave,
    ListTables,
    Moved,
    Online,
    OpenTable,
    Ping,
    PlacePiece,
    Record,
    Rematch,
    Remove,
    Reseated,
    Resume,
    SaidInLobby,
    Say,
    SayInLobby,
    SayReady,
    ServerMessage,
    StartGame,
    SubstituteNow,
    Sync,
    TableState,
    Vote,
    Watch,
)
from protocol.settings import Starting
from server.app import running
from server.config import Config, Limits
from server.logs import describe
from server.net.tokens import token_hash
from tests.server.match import Script, piece_of
from tests.server.peer import Peer, all_caught_up, blanked, connected, game, http_get, play_on
from tests.server.traces import Traces, traces

OUR_LOGGERS = ("server", "palatinus", "engine", "protocol")  # loggers
TIMED_METRICS = (
    "palatinus_event_loop_lag_seconds ",
    "palatinus_commit_seconds_sum ",
    "palatinus_connections ",
    "process_",
)
CLOSING_LINES = {"disconnected", "connection closed"}  # when they are noticed is the network's matter
WATCHING = 0  # the seat that must not notice a difference; the spectator must not either


@dataclass(frozen=True)
class Received:
    """Everything sent to the watching seat, spectators and the lobby; log, metrics and traces."""

    seat: list[bytes]
    lobby: list[bytes]
    spectator: list[bytes]
    latecomers: list[bytes]
    log: list[str]
    metrics: list[str]
    traces: list[str]


def planned_faces(players: int, seed: int, *, swapped: bool) -> list[list[str]]:
    """Return the faces that each seat places, in order; if `swapped`, all other seats' wolves in reverse."""
    others = frozenset(range(players)) - {WATCHING}
    return Script(players, seed=seed, swapped=others if swapped else frozenset()).faces()


async def play_and_record(
    players: int,
    seed: int,
    log: pytest.LogCaptureFixture,
    *,
    swapped: bool,
    traced: Traces,
    away: int | None = None,
) -> Received:
    """Play all but the last move, with refusals and absences, and return what the others received.

    The player of seat `away` leaves at the start; the stand-in places what the plan has for that seat.
    """
    log.clear()
    rng = random.Random(seed)
    fields = rng.sample(FIELDS, len(FIELDS))
    faces = planned_faces(players, seed, swapped=swapped)
    latecomers: list[bytes] = []
    colours = rng.sample(tuple(People), players)
    chosen = {seat: people for seat, people in enumerate(colours) if rng.random() < 0.5}

    def planned(view: View, legal: Legal, _rng: random.Random) -> Command:
        turn = len(view.placed)
        return Place(legal.seat, piece_of(view, legal.seat, faces[legal.seat][turn // players]), fields[turn])

    # Nothing depends on how long anything takes.
    limits = Limits(stand_in_seconds=0, states_at_once=10_000, seat_grace_seconds=0)
    config = Config(seed=seed, stand_in=planned, limits=limits, watched=True)
    policy: Absence = WAIT if away is None else ByBot(0)
    async with (
        running(config) as server,
        game(server.port, players, watched=True, absence=policy, peoples=chosen) as peers,
        connected(server.port) as visitor,
        contextlib.AsyncExitStack() as newer,
    ):
        await visitor.done(EnterLobby(1, "Visitor"))
        await visitor.until(Online)
        await visitor.done(SayInLobby(2, "hello"))
        await visitor.until(SaidInLobby)
        code = peers[0].code
        for number, peer in enumerate(peers):
            peer.id = 1000 * number
        if away is not None:
            await peers[away].done(Leave(peers[away].next_id()))
        start = [len(peer.frames) for peer in peers]
        last = sum(len(order) for order in faces) - 1
        for turn in range(last):
            seat = turn % players
            if seat == away:
                continue
            await send_refused_messages(peers, peers[seat], rng, turn, fields[turn - 1] if turn else None)
            await place_face(peers[seat], faces[seat][turn // players], fields[turn])
            present = [peer for peer in peers if peer.seat is None or peer.seat != away]
            await all_caught_up(present, peers[seat].seq + ((seat + 1) % players == away))
            for peer in (peers[WATCHING], peers[-1]):
                if rng.random() < 0.3:
                    await sync_again(peer, rng)
            if rng.random() < 0.2:
                latecomers += await frames_of_latecomer(server.port, peers[-1], peers[WATCHING], rng)
            if turn % 5 == 3 and away is None:
                who = turn // 5 % players
                await newer.enter_async_context(reconnected(server.port, peers, who, rng))
        server.clients.broadcast(Announced("Down at ten."))
        server.drain.begin(600)
        server.drain.cancel()
        visitor.id = 10
        for peer in (*peers, visitor):
            await peer.ask(Ping(peer.next_id()))  # everything sent before has arrived
        _, metrics = await http_get(server.port, "/metrics")
        # Before the players leave: a stand-in would move for the first to leave.
        lines = sorted(
            without_addresses(record, code)
            for record in log.records
            if record.name.startswith(OUR_LOGGERS) and record.getMessage() not in CLOSING_LINES
        )
        moves = traced.lines()
        tokens = [peer.token for peer in peers if peer.token]
    blank = [code.encode(), *(token.encode() for token in tokens)]
    return Received(
        [blanked(frame, blank) for frame in peers[WATCHING].frames[start[WATCHING] :]],
        visitor.frames,
        [blanked(frame, blank) for frame in peers[-1].frames[start[-1] :]],
        [blanked(frame, blank) for frame in latecomers],
        lines,
        [line for line in metrics.splitlines() if not line.startswith(TIMED_METRICS)],
        moves,
    )


async def place_face(mover: Peer, face: str, field: str) -> None:
    """Have a peer place the piece that the plan names."""
    assert mover.view is not None
    assert mover.seat is not None
    await mover.done(PlacePiece(mover.next_id(), piece_of(mover.view, mover.seat, face), field))


async def send_refused_messages(
    peers: list[Peer], mover: Peer, rng: random.Random, turn: int, taken: str | None
) -> None:
    """Have some messages refused, from the mover and others, and chat now and then."""
    other = peers[(peers.index(mover) + 1) % (len(peers) - 1)]
    what = turn % 8
    if what == 0 and taken is not None:
        assert mover.view is not None
        assert mover.seat is not None
        held = rng.choice(sorted(mover.view.start.hands[mover.seat]))
        await mover.refused(PlacePiece(mover.next_id(), str(held), taken))
    elif what == 1:
        await mover.refused(PlacePiece(mover.next_id(), rng.choice(["Am*", "Af*", "As"]), taken or "A1"))
    elif what == 2:
        await other.refused(PlacePiece(other.next_id(), rng.choice(["Em*", "Sf*"]), "A1"))
    elif what == 3:
        await mover.refused(Lay(mover.next_id(), 1, 0))
    elif what == 4:
        await mover.done(Say(mover.next_id(), "hm"))
    elif what == 5:
        watching = peers[WATCHING]
        for message in refused_messages(watching):
            await watching.refused(message)
    elif what == 6:
        await peers[-1].refused(PlacePiece(peers[-1].next_id(), "Em*", "A1"))


def refused_messages(peer: Peer) -> list[ClientMessage]:
    """Return requests that are refused to a player in the middle of a game."""
    return [
        OpenTable(peer.next_id(), 2, "Anna"),
        JoinTable(peer.next_id(), peer.code, "Anna"),
        Resume(peer.next_id(), peer.code, peer.token),
        Watch(peer.next_id(), peer.code),
        StartGame(peer.next_id()),
        Vote(peer.next_id(), 1, agree=True),
        Rematch(peer.next_id()),
        GetRecord(peer.next_id()),
        ChangeSetting(peer.next_id(), Starting(1)),
        Remove(peer.next_id(), WATCHING),
        Arrange(peer.next_id()),
        SubstituteNow(peer.next_id(), WATCHING),
        SayReady(peer.next_id(), on=True),
        AskPause(peer.next_id(), on=False),
        ChangeSeat(peer.next_id(), 1),
        ChoosePeople(peer.next_id(), "A"),
    ]


@contextlib.asynccontextmanager
async def reconnected(port: int, peers: list[Peer], seat: int, rng: random.Random) -> AsyncIterator[None]:
    """Break a player's connection and resume on a new one; the others see both."""
    gone = peers[seat]
    others = [peer for peer in peers if peer is not gone]
    await gone.socket.close()
    for peer in others:
        await see_presence(peer, seat, here=False)
    async with connected(port) as back:
        back.id, back.seat = gone.id, gone.seat
        await resume_as(back, gone, rng)
        for peer in others:
            await see_presence(peer, seat, here=True)
        back.frames[:0] = gone.frames
        peers[seat] = back
        yield


async def see_presence(peer: Peer, seat: int, *, here: bool) -> None:
    while (await peer.until(TableState)).seats[seat].here is not here:
        pass


async def resume_as(back: Peer, gone: Peer, rng: random.Random) -> None:
    """Have a peer take over from another, and catch up from a random event or from the start."""
    after = rng.choice([0, rng.randint(1, gone.seq)])
    back.seat, back.token = gone.seat, gone.token
    back.go_back_to(after, gone.seen)
    if gone.seat is None:
        await back.watch(gone.code, after)
    else:
        await back.resume(gone.code, gone.token, after)
    await back.news()
    back.seen = list(gone.seen)
    assert back.view == gone.view


async def sync_again(peer: Peer, rng: random.Random) -> None:
    """Ask again for the events since a random one, or for everything."""
    seen, seq, legal = list(peer.seen), peer.seq, peer.legal
    after = rng.choice([0, rng.randint(1, seq)])
    peer.go_back_to(after, seen)
    await peer.done(Sync(peer.next_id(), after))
    peer.seen = seen
    assert (peer.seq, peer.legal) == (seq, legal)


async def frames_of_latecomer(port: int, spectator: Peer, player: Peer, rng: random.Random) -> list[bytes]:
    """Return what a client receives that watches for a moment, with or without knowing some events.

    Before that it asks for the player how the game stands.
    """
    async with connected(port) as late:
        late.id = 0
        await late.refused(JoinTable(late.next_id(), spectator.code, "Late"))
        await late.ask(ListTables(late.next_id()))
        await late.ask(AskTurn(late.next_id(), player.code, token_hash(player.token)))
        after = rng.choice([0, rng.randint(1, spectator.seq)])
        late.go_back_to(after, spectator.seen)
        await late.send(Watch(late.next_id(), spectator.code, after))
        await late.news()
        assert late.view == spectator.view
        await late.done(Leave(late.next_id()))
        return late.frames


def without_addresses(record: logging.LogRecord, code: str) -> str:
    text = re.sub(r"\d+\.\d+\.\d+\.\d+:\d+|:\d+\b", "ADDRESS", f"{record.levelname} {describe(record)}")
    return text.replace(code, "CODE")


async def test_the_log_contains_neither_tokens_nor_frames(caplog: pytest.LogCaptureFixture) -> None:
    """At no level: frames contain hidden pieces and tokens."""
    caplog.set_level(logging.DEBUG)
    async with running(Config()) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1), moves=4)
        async with connected(server.port) as again:
            await again.resume(peers[0].code, peers[0].token)
    ours = [describe(record) for record in caplog.records if record.name.startswith(OUR_LOGGERS)]
    assert ours
    for line in ours:
        assert "BINARY" not in line
        assert not any(peer.token in line for peer in peers)


@pytest.mark.parametrize(
    ("players", "away"),
    [(2, None), (3, 1)],
)
async def test_swapping_hidden_kinds_changes_no_byte(
    caplog: pytest.LogCaptureFixture, players: int, away: int | None
) -> None:
    """Events, refusals, syncs, snapshots, lists, chat, traces and the log stay the same to the last byte.

    So do the moves of the stand-in, which holds a seat in one of the games.
    """
    caplog.set_level(logging.DEBUG)
    seed = players
    with traces() as traced:
        one = await play_and_record(players, seed, caplog, swapped=False, away=away, traced=traced)
    with traces() as traced:
        two = await play_and_record(players, seed, caplog, swapped=True, away=away, traced=traced)
    for seat in range(1, players):
        assert (
            planned_faces(players, seed, swapped=False)[seat]
            != planned_faces(players, seed, swapped=True)[seat]
        )
    assert one.seat == two.seat
    assert one.lobby == two.lobby
    assert one.spectator == two.spectator
    assert one.latecomers == two.latecomers
    assert one.log == two.log
    assert one.metrics == two.metrics
    assert one.traces == two.traces != []
    assert one.seat
    assert one.spectator
    assert one.latecomers
    assert any("took seat" in line for line in one.log)
    if away is None:
        received = {
            msgpack.unpackb(frame)["t"] for frame in one.seat + one.lobby + one.spectator + one.latecomers
        }
        kinds = set(get_args(ServerMessage)) - {
            Record,
            Reseated,
            DrawBegins,
            Moved,
        }  # sent only after a game, before it, or when a server stops
        assert received == {kind.__struct_config__.tag for kind in kinds}
    assert any("stand-in moved" in line for line in one.log) == (away is not None)
    assert 'palatinus_tables{stage="playing"} 1.0' in one.metrics


async def frames_after_a_restart(folder: Path, *, swapped: bool) -> list[list[bytes]]:
    """Return what the watching seat and a spectator receive after a restart in the middle of a game."""
    players, seed = 3, 1
    rng = random.Random(seed)
    fields = rng.sample(FIELDS, len(FIELDS))
    faces = planned_faces(players, seed, swapped=swapped)
    turns = iter(range(6 * players))
    async with (
        running(Config(seed=seed, data=folder)) as server,
        game(server.port, players, watched=True) as before,
    ):
        for turn in itertools.islice(turns, 4 * players):
            await place_face(before[turn % players], faces[turn % players][turn // players], fields[turn])
            await all_caught_up(before, before[turn % players].seq)
    async with running(Config(seed=seed, data=folder)) as server, contextlib.AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(connected(server.port)) for _ in before]
        for number, (peer, gone) in enumerate(zip(peers, before, strict=True)):
            peer.id = 1000 * number
            await resume_as(peer, gone, rng)
        for turn in turns:
            mover = peers[turn % players]
            await place_face(mover, faces[turn % players][turn // players], fields[turn])
            await all_caught_up(peers, mover.seq)
        for peer in peers:
            await peer.ask(Ping(peer.next_id()))
    blank = [before[0].code.encode()]
    return [[blanked(frame, blank) for frame in peer.frames] for peer in (peers[WATCHING], peers[-1])]


async def test_swapping_hidden_kinds_changes_no_byte_after_a_restart(tmp_path: Path) -> None:
    """What comes from the journal is redacted like what comes from the running game."""
    one = await frames_after_a_restart(tmp_path / "one", swapped=False)
    two = await frames_after_a_restart(tmp_path / "two", swapped=True)
    assert one == two
    assert all(one)

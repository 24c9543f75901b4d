"""Whoever may not know the kind of a wolf piece receives the same bytes for either kind."""

import contextlib
import logging
import random
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import msgpack
import pytest

from protocol import messages
from protocol.absence import WAIT
from protocol.codec import decode_server
from protocol.settings import Starting
from server.app import running
from server.config import Config
from server.monitoring.logs import describe
from server.net.tokens import token_hash
from tests.server.manual_clock import ManualClock
from tests.server.match import Match, Script, match, some_scripts
from tests.server.monitoring.traces import traces
from tests.server.peer import Peer, blanked, connected, game, http_get, play_on
from tests.server.storage.test_journal import resumed

OUR_LOGGERS = ("server", "palatinus", "engine", "protocol")  # loggers
TIMED_METRICS = (
    *("palatinus_event_loop_lag_seconds ", "palatinus_commit_seconds_bucket"),
    *("palatinus_commit_seconds_sum ", "palatinus_last_commit_", "palatinus_disk_free_bytes "),
    *("palatinus_connections ", "process_"),
)
CLOSING_LINES = {"disconnected", "connection closed"}  # when they are noticed is the network's matter


@dataclass(frozen=True)
class Told:
    """All that leaves a server during a match, but for its last move, which reveals everything."""

    seats: list[list[bytes]]  # of people, and the spectator last
    others: list[bytes]  # in the lobby, on coming late, and after a restart
    log: list[str]
    metrics: list[str]
    traces: list[str]


def watching_seat(script: Script) -> int:
    """Return the seat that must not notice a difference; the spectator must not either."""
    return script.seed % script.people


async def told_in_match(script: Script, log: pytest.LogCaptureFixture, folder: Path) -> Told:
    """Play a match, with refusals, chat, latecomers, announcements and a copy of the server beside it."""
    log.clear()
    rng, others = random.Random(script.seed), list[bytes]()
    with traces() as traced:
        async with match(script, folder / "data") as playing, connected(playing.server.port) as visitor:
            server, code = playing.server, playing.spectator.code
            await visitor.done(messages.EnterLobby(1, "Visitor"))
            await visitor.done(messages.SayInLobby(2, "hello"))
            while playing.turns_left > 1:
                await playing.turn()
                seat = watching_seat(script)
                peer = playing.peers[seat]
                if playing.turns % 6 == 5 and seat not in playing.away:
                    for message in refused_messages(peer):
                        await peer.refused(message)
                    await peer.done(messages.Say, "hm")
                    await peer.done(messages.Sync, 0)
                    await sync_again(playing.spectator, rng)
                    others += await frames_of_latecomer(server.port, playing.spectator, peer, rng)
                if playing.turns == 20:
                    shutil.copytree(folder / "data", folder / "copy")
                    others += await frames_after_a_restart(script, playing, folder / "copy", rng)
            server.clients.broadcast(messages.Announced("Down at ten."))
            server.drain.begin(600)
            server.drain.cancel()
            visitor.id = 10
            for each in (*playing.present, visitor):
                await each.ask(messages.Ping)  # everything sent before has arrived
            _, metrics = await http_get(server.port, "/metrics")
            lines = sorted(
                without_addresses(record, code)
                for record in log.records
                if record.name.startswith(OUR_LOGGERS) and record.getMessage() not in CLOSING_LINES
            )
            moves = traced.lines()
    blank = [code.encode(), *(peer.token.encode() for peer in playing.peers[:-1])]
    return Told(
        [[blanked(frame, blank) for frame in peer.frames] for peer in playing.peers],
        [blanked(frame, blank) for frame in (*others, *visitor.frames)],
        lines,
        [line for line in metrics.splitlines() if not line.startswith(TIMED_METRICS)],
        moves,
    )


def refused_messages(peer: Peer) -> list[messages.ClientMessage]:
    """Return requests that are refused to a player in the middle of a game."""
    assert peer.seat is not None
    return [
        messages.OpenTable(peer.next_id(), 2, "Anna"),
        messages.JoinTable(peer.next_id(), peer.code, "Anna"),
        *(messages.Resume(peer.next_id(), peer.code, peer.token), messages.Watch(peer.next_id(), peer.code)),
        *(messages.StartGame(peer.next_id()), messages.Rematch(peer.next_id())),
        *(messages.GetRecord(peer.next_id()), messages.ChangeSetting(peer.next_id(), Starting(1))),
        *(messages.Remove(peer.next_id(), peer.seat), messages.Arrange(peer.next_id())),
        *(messages.SubstituteNow(peer.next_id(), peer.seat), messages.SayReady(peer.next_id(), on=True)),
        *(messages.AskPause(peer.next_id(), on=False), messages.ChangeSeat(peer.next_id(), 1)),
        messages.ChoosePeople(peer.next_id(), "A"),
    ]


async def sync_again(peer: Peer, rng: random.Random) -> None:
    """Ask again for the events since a random one, or for everything."""
    seen, seq, legal = list(peer.seen), peer.seq, peer.legal
    after = rng.choice([0, rng.randint(1, seq)])
    peer.go_back_to(after, seen)
    await peer.done(messages.Sync, after)
    peer.seen = seen
    assert (peer.seq, peer.legal) == (seq, legal)


async def frames_of_latecomer(port: int, spectator: Peer, player: Peer, rng: random.Random) -> list[bytes]:
    """Return what a client receives that watches for a moment, with or without knowing some events.

    Before that it asks for the player how the game stands.
    """
    async with connected(port) as late:
        late.id = 0
        await late.refused(messages.JoinTable, spectator.code, "Late")
        await late.ask(messages.ListTables)
        await late.ask(messages.AskTurn, player.code, token_hash(player.token))
        after = rng.choice([0, rng.randint(1, spectator.seq)])
        late.go_back_to(after, spectator.seen)
        await late.send(messages.Watch(late.next_id(), spectator.code, after))
        await late.news()
        assert late.view == spectator.view
        await late.done(messages.Leave)
        return late.frames


async def frames_after_a_restart(
    script: Script, playing: Match, data: Path, rng: random.Random
) -> list[bytes]:
    """Return what the watching seat and a spectator are sent by a server on a copy of the journal.

    On coming back, and of the turns that are then played there.
    """
    clock, seat, frames = ManualClock(), watching_seat(script), list[bytes]()
    async with running(script.config(data, clock)) as server, contextlib.AsyncExitStack() as later:
        for gone in (playing.peers[seat], playing.spectator):
            async with connected(server.port) as back:
                after = rng.choice([0, rng.randint(1, gone.seq)])
                token = gone.token
                await back.send(
                    messages.Resume(1, gone.code, token, after)
                    if token
                    else messages.Watch(1, gone.code, after),
                    messages.Ping(2),
                )
                while not isinstance(
                    decode_server(frame := await back.socket.recv(decode=False)), messages.Pong
                ):
                    frames.append(frame)
        peers = await later.enter_async_context(resumed(server.port, *playing.peers))
        again = Match(script, server, clock, peers, later)
        while again.turns < script.players:
            await again.turn()
        return [*frames, *peers[seat].frames, *peers[-1].frames]


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


@some_scripts("bot", "server's bots")
async def test_secrets_change_no_byte(
    script: Script, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """R4.2: swapping the kinds of all others' wolves changes nothing for a seat, spectators or the log."""
    caplog.set_level(logging.DEBUG)
    seats = frozenset(range(script.players))
    swapped = seats - {watching_seat(script)}
    one = await told_in_match(replace(script, swapped=frozenset()), caplog, tmp_path / "one")
    two = await told_in_match(replace(script, swapped=swapped), caplog, tmp_path / "two")
    same = [first == second for first, second in zip(one.seats, two.seats, strict=True)]
    clients = [*range(script.people), script.players]  # the spectator last
    assert same == [seat not in swapped for seat in clients]
    assert one.others == two.others
    assert one.log == two.log
    assert one.metrics == two.metrics
    assert one.traces == two.traces != []
    received = {msgpack.unpackb(frame)["t"] for frames in (*one.seats, one.others) for frame in frames}
    # Some are sent only after a game, before it, or when a server stops.
    kinds = set(get_args(messages.ServerMessage)) - {
        *(messages.Record, messages.Reseated, messages.DrawBegins, messages.Moved, messages.Evening),
        *(messages.Notices, messages.SignedUp, messages.Planned),  # the last to whoever plans alone
    }
    assert received == {kind.__struct_config__.tag for kind in kinds}
    stands_in = script.absence != WAIT or bool(script.programs)
    assert any("stand-in moved" in line for line in one.log) == stands_in
    assert 'palatinus_tables{stage="playing"} 1.0' in one.metrics

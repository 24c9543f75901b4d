"""The start of a game: seed, shares and who is waited for; what is drawn, stored and told of it."""

import contextlib
import hashlib
import logging
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from client.bots.brains import at_random
from engine.draws import MISSING, NO_SHARE, Bytes32, Draws, Share, commitment_to, outcomes, pledge_of
from engine.fairness import sources_of
from engine.record import replayed
from protocol import messages
from protocol.codes import Code
from protocol.settings import Starting, Title
from server.app import Running, running
from server.config import Config, Limits
from server.monitoring.logs import describe
from server.storage.entries import EndedByHost
from server.tables.game.game_start import SHARE_SECONDS
from tests.games import rest_slow
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, all_connected, connected, eventually, http_get
from tests.server.playing import changed, happen, memory_server, play_on, rearranged, table_of
from tests.server.storage.test_journal import full_disk, resumed, table_facts
from tests.server.tables.hosted import begun, game_of
from tests.server.tables.test_secrets import sync_again

SHARES = [Share(digit * 64) for digit in "abcde"]
NEXT = Share("f" * 64)


@dataclass
class Sharer:
    """A peer that has pledged a share."""

    peer: Peer
    share: Share

    async def called(self) -> messages.DrawBegins:
        return await self.peer.until(messages.DrawBegins)

    def showing(self, draw: messages.DrawBegins, share: Share | None = None) -> messages.AddShare:
        """Return the answer to a call, with another share than its own if that is given."""
        return messages.AddShare(self.peer.next_id(), draw.commitment, share or self.share, pledge_of(NEXT))

    async def show(self) -> None:
        """Wait for the call and answer it; the next share is another one."""
        draw = await self.called()
        assert self.peer.seat is not None
        assert draw.pledges[self.peer.seat] == pledge_of(self.share)
        await self.peer.done(self.showing(draw))
        self.share = NEXT


@contextlib.asynccontextmanager
async def sharers(port: int, players: int, *, bots: int = 0) -> AsyncIterator[list[Sharer]]:
    """Seat peers with pledged shares at a new table, the last seats for bots of the server."""
    async with all_connected(port, players - bots) as peers:
        host, *guests = peers
        await host.open(players, "Player 0", pledge=pledge_of(SHARES[0]))
        for seat, guest in enumerate(guests, 1):
            pledge = pledge_of(SHARES[seat])
            joining = messages.JoinTable(guest.next_id(), host.code, f"Player {seat}", seat, pledge=pledge)
            await guest.answer(messages.Seated, joining)
        for _ in range(bots):
            await host.done(messages.SeatBot, "random")
        yield [Sharer(peer, share) for peer, share in zip(peers, SHARES, strict=False)]


async def begin(seated: Sequence[Sharer]) -> None:
    """Start a game, with a share from each; all know that it has begun."""
    host = seated[0].peer
    await host.send(messages.StartGame(host.next_id()))
    for each in seated:
        await each.show()
    await begun(*(each.peer for each in seated))


def draws_of(peer: Peer) -> Draws:
    assert peer.sight.start.draws is not None
    return peer.sight.start.draws


def seed_of(server: Running, peer: Peer) -> Bytes32:
    seed = game_of(server, [peer])._chance.seed()
    assert seed is not None
    return seed


async def test_a_game_is_drawn_from_all_shares(caplog: pytest.LogCaptureFixture) -> None:
    """All are told the same commitment before anybody shows a share; the seed comes with the result.

    What a client shows the server is not shown to others until everybody has shown theirs.
    """
    caplog.set_level(logging.DEBUG)
    async with memory_server() as server, sharers(server.port, 3) as seated:
        host, peers = seated[0].peer, [each.peer for each in seated]
        await host.send(messages.StartGame(host.next_id()))
        calls = [await each.called() for each in seated]
        assert calls == [calls[0]] * 3
        assert calls[0].pledges == [pledge_of(share) for share in SHARES[:3]]
        for each in seated:
            assert each.peer.view is None
            await each.peer.nothing_but_pong()
            assert not any(share.encode() in frame for share in SHARES for frame in each.peer.frames)
            assert each.share not in repr(each.showing(calls[0]))
            await each.peer.done(each.showing(calls[0]))
        assert not any(share in describe(record) for share in SHARES for record in caplog.records)
        await begun(*peers)
        for peer in peers:
            assert draws_of(peer) == Draws(Bytes32(calls[0].commitment), tuple(SHARES[:3]), starting=True)
        await play_on(peers, random.Random(1))
        for peer in peers:
            assert peer.sight.result is not None
            assert peer.sight.result.seed is not None
            assert commitment_to(peer.sight.result.seed) == calls[0].commitment
            assert sources_of(peer.seen).mismatch is None
        record = await host.answer(messages.Record, messages.GetRecord)
        assert sources_of(replayed("\n".join(record.lines)).events) == sources_of(peers[-1].seen)


async def test_a_server_with_a_fixed_seed_asks_for_no_shares() -> None:
    """`play --seed` repeats a game: its draws come from that number alone, and it does not claim more."""
    drawn = []
    for _ in range(2):
        async with running(Config(seed=1)) as server, sharers(server.port, 2) as seated:
            host = seated[0].peer
            await host.done(messages.StartGame)
            assert host.sight.start.draws is None
            drawn.append(host.seen)
    assert drawn[0] == drawn[1]


async def test_nobody_holds_up_a_start(tmp_path: Path) -> None:
    """Who has pledged and stays silent is waited for, not for long; who is away, or a bot, not at all."""
    clock = ManualClock()
    config = Config(data=tmp_path, timers=lambda: clock, brains={"random": at_random})
    async with running(config) as server, sharers(server.port, 5, bots=1) as seated:
        host, silent, away, mute = (each.peer for each in seated)
        await away.socket.close()
        while (await host.until(messages.TableState)).seats[2].here:
            pass
        await host.send(messages.StartGame(host.next_id()))
        draw = await seated[0].called()
        assert [pledge is None for pledge in draw.pledges] == [False, False, True, False, True]
        await host.done(seated[0].showing(draw))
        await mute.socket.close()
        clock.advance(SHARE_SECONDS - 0.1)
        assert host.view is None
        clock.advance(0.1)
        await host.until(messages.Events)
        assert draws_of(host).shares == (SHARES[0], MISSING, NO_SHARE, MISSING, NO_SHARE)
        await silent.until(messages.DrawBegins)
        await silent.answer(messages.Done, Sharer(silent, SHARES[1]).showing(draw))
        # It is too late, and no harm is done.


async def test_a_share_that_was_not_pledged_does_not_count() -> None:
    async with memory_server() as server, sharers(server.port, 2) as seated:
        host, guest = (each.peer for each in seated)
        await host.send(messages.StartGame(host.next_id()))
        draw = await seated[0].called()
        other = messages.DrawBegins(commitment_to(Bytes32("0" * 64)), draw.pledges)
        await guest.until(messages.DrawBegins)
        await guest.done(seated[1].showing(other))
        refused = await guest.refused(seated[1].showing(draw, NEXT))
        assert (refused.code, "pledged" in refused.text) == (Code.BAD_MESSAGE, True)
        await guest.done(seated[1].showing(draw))  # only the first one is looked at
        await host.done(seated[0].showing(draw))
        await begun(host)
        assert draws_of(host).shares == (SHARES[0], MISSING)


async def test_a_share_without_a_draw_changes_nothing() -> None:
    async with memory_server() as server, sharers(server.port, 2) as seated, connected(server.port) as late:
        host = seated[0].peer
        draw = messages.DrawBegins(commitment_to(Bytes32("0" * 64)), [None, None])
        assert await late.refusal(Sharer(late, NEXT).showing(draw)) == Code.NOT_AT_A_TABLE
        await late.watch(host.code)
        assert await late.refusal(Sharer(late, NEXT).showing(draw)) == Code.NOT_A_PLAYER
        before = table_facts(table_of(server, [host]).state)
        await host.done(seated[0].showing(draw))
        assert table_facts(table_of(server, [host]).state) == before
        seated[0].share = NEXT  # which that message has pledged
        await begin(seated)
        assert draws_of(host).shares == (NEXT, SHARES[1])
        await host.done(seated[0].showing(draw))


async def test_a_start_is_asked_for_once() -> None:
    """Another request is refused while the first waits; the same one, from a new connection, is answered."""
    async with memory_server() as server, sharers(server.port, 2) as seated:
        host, guest = (each.peer for each in seated)
        start = messages.StartGame(host.next_id())
        await host.send(start)
        await seated[0].called()
        draw = await seated[1].called()
        assert await host.refusal(messages.StartGame) == Code.ALREADY_STARTED
        assert await guest.refusal(messages.StartGame) == Code.NOT_THE_HOST
        async with connected(server.port) as back:
            back.seat = host.seat
            await back.send(messages.Resume(back.next_id(), host.code, host.token))
            await back.until(messages.Seated)
            await back.send(start)
            await host.closed()
            await guest.done(seated[1].showing(draw))
            answer = await back.until(messages.Events)
            assert answer.id == start.id
            assert draws_of(back).shares == (MISSING, SHARES[1])
            assert isinstance(await back.ask(start), messages.Done)


async def test_who_leaves_breaks_the_start_off() -> None:
    async with memory_server() as server, sharers(server.port, 3) as seated:
        host, _, guest = (each.peer for each in seated)
        start = messages.StartGame(host.next_id())
        await host.send(start)
        draw = await seated[0].called()
        await guest.until(messages.DrawBegins)
        await guest.done(messages.Leave)
        await seated[1].show()
        await host.done(seated[0].showing(draw))
        refused = await _answer_to(host, start)
        assert (refused.code, refused.about) == (Code.SEATS_EMPTY, {"free_seats": "2"})
        assert await host.refusal(start) == Code.SEATS_EMPTY


async def _answer_to(peer: Peer, start: messages.StartGame) -> messages.Refused:
    """Return the refusal of a request that was sent before; others may be among what was received."""
    for message in peer.received:
        if isinstance(message, messages.Refused) and message.id == start.id:
            return message
    while (refused := await peer.until(messages.Refused)).id != start.id:
        pass
    return refused


async def test_a_start_that_everybody_has_left_is_void() -> None:
    async with memory_server() as server, sharers(server.port, 2) as seated:
        host, guest = (each.peer for each in seated)
        start = messages.StartGame(host.next_id())
        await host.send(start)
        await seated[0].called()
        table = table_of(server, [host])
        await guest.socket.close()
        await host.socket.close()
        await eventually(lambda: not table.audience.seated)
        async with connected(server.port) as back:
            back.seat = host.seat
            await back.ask(messages.Resume, host.code, host.token, pledge=pledge_of(NEXT))
            assert table.state.game is None
            await back.send(start)
            await Sharer(back, NEXT).show()
            await begun(back)
            assert draws_of(back).shares == (NEXT, NO_SHARE)


async def test_another_game_is_drawn_anew() -> None:
    """If seats change, even the host's, no share shown before counts, and all are called again."""
    async with (
        running(Config(brains={"random": at_random})) as server,
        sharers(server.port, 3, bots=1) as seated,
        connected(server.port) as late,
    ):
        host, guest = (each.peer for each in seated)
        start = messages.StartGame(host.next_id())
        await host.send(start)
        first = await seated[0].called()
        await host.done(seated[0].showing(first))
        seated[0].share = NEXT
        await late.ask(messages.JoinTable, host.code, "Late", 2, pledge=pledge_of(SHARES[4]))
        await rearranged(server, host, 1, 0, 2)
        await changed(server, host, Title("Friday"))  # which draws nothing
        await seated[1].called()
        await guest.done(messages.SayReady, on=True)
        await guest.done(seated[1].showing(first))
        seated[1].share = NEXT
        for each in (*seated, Sharer(late, SHARES[4])):
            await each.show()
        await begun(host, late)
        assert draws_of(late).commitment != first.commitment
        assert (host.seat, guest.seat) == (1, 0)
        assert draws_of(host).shares == (NEXT, NEXT, SHARES[4])
        answers = [each for each in host.told(messages.Events) if each.id == start.id]
        assert len(answers) == 1


async def test_nobody_is_asked_for_a_share_of_what_they_were_not_told() -> None:
    """After many changes the table's state is sent late, but not later than the draw that it is about."""
    async with running(Config(timers=ManualClock)) as server, sharers(server.port, 2) as seated:
        host, guest = (each.peer for each in seated)
        for number in range(2 * Limits().states_at_once + 1):
            await changed(server, host, Starting((number + 1) % 2))
        await host.send(messages.StartGame(host.next_id()))
        await seated[1].called()
        assert guest.told(messages.TableState)[-1].starting == 1


async def test_a_start_that_cannot_be_stored_is_refused(tmp_path: Path) -> None:
    async with running(Config(data=tmp_path)) as server, sharers(server.port, 2) as seated:
        host = seated[0].peer
        before = table_facts(table_of(server, [host]).state)
        start = messages.StartGame(host.next_id())
        await host.send(start)
        first = await seated[0].called()
        await seated[1].show()
        with full_disk(server):
            await host.done(seated[0].showing(first))
            assert (await _answer_to(host, start)).code == Code.NOT_STORED
        assert table_facts(table_of(server, [host]).state) == before
        seated[0].share = NEXT
        await host.send(start)
        for each in seated:
            await each.show()
        await begun(host)
        assert draws_of(host).commitment != first.commitment
        assert draws_of(host).shares == (NEXT, NEXT)


async def test_a_server_that_restarts_goes_on_with_the_same_draws(tmp_path: Path) -> None:
    """In the middle of laying: the tiles still to come, the laurels and the seed are those committed to."""
    async with running(Config(data=tmp_path)) as server, sharers(server.port, 3) as seated:
        await begin(seated)
        peers = [each.peer for each in seated]
        await play_on(peers, random.Random(1), moves=2)
        seed, draws = seed_of(server, peers[0]), draws_of(peers[0])
    for moves in (1, 100):
        async with running(Config(data=tmp_path)) as server, resumed(server.port, *peers) as again:
            assert seed_of(server, again[0]) == seed
            await play_on(again, random.Random(2), moves=moves)
            peers = again
            game = game_of(server, again)
            sources = sources_of(game.events)
            due = outcomes(seed, draws.shares)
            assert [each.tile for each in game.view.tiles[:1] if each] == [due.tiles[0]]
    assert (sources.draws, sources.seed, sources.mismatch) == (draws, seed, None)


@pytest.mark.parametrize("ended", rest_slow(False, True))
async def test_the_seed_leaves_the_server_only_with_the_result(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, ended: bool
) -> None:
    """Not in a frame to players, spectators and latecomers, not in logs, errors or metrics.

    A game that its host ends without a result never tells it.
    """
    caplog.set_level(logging.DEBUG)
    config = Config(data=tmp_path, watched=True, limits=Limits(tables=10))
    async with (
        running(config) as server,
        sharers(server.port, 2) as seated,
        all_connected(server.port, 2) as (watching, late),
    ):
        host, peers, rng = seated[0].peer, [each.peer for each in seated], random.Random(1)
        await watching.watch(host.code)
        await begin(seated)
        seed = seed_of(server, host)
        while (mover := next((peer for peer in peers if peer.legal is not None), None)) is not None:
            if game_of(server, peers).view.to_place == 1:
                break
            await play_on(peers, rng, moves=1)
            await sync_again(mover, rng)
        assert await host.refusal(messages.GetRecord) == Code.NOT_OVER
        if ended:
            await happen(server, host, EndedByHost())
            assert await host.refusal(messages.GetRecord) == Code.NOT_OVER
        await late.send(messages.Watch(late.next_id(), host.code))
        await late.until(messages.Snapshot)
        _, metrics = await http_get(server.port, "/metrics")
        told = [*peers, watching, late]
        for peer in told:
            await peer.done(messages.Sync, 0)
        before = b"".join(frame for peer in told for frame in peer.frames)
        lines = " ".join(f"{describe(record)} {record.__dict__}" for record in caplog.records)
        made = f"palatinus game 1 {seed} {' '.join(draws_of(host).shares)}"
        for hidden in (seed, hashlib.sha256(made.encode()).hexdigest()):
            assert hidden.encode() not in before
            assert hidden not in metrics
            assert hidden not in lines
            assert hidden not in repr(table_of(server, peers).summary())
            assert hidden not in repr(table_of(server, peers).as_seen())
        if not ended:
            await play_on(peers, rng)
            assert peers[0].sight.result is not None
            assert peers[0].sight.result.seed == seed

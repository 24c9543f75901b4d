"""Hidden pieces, private and quiet tables: who may not know something gets the same bytes without it."""

import asyncio
import contextlib
import itertools
import logging
import random
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import msgpack
import msgspec
import pytest
from websockets.exceptions import ConnectionClosed

from engine.events import Event, lasting, stops
from engine.pieces import Seat
from pages.drawing.pages import WebPages
from protocol import messages
from protocol.absence import WAIT, MoveClock
from protocol.codec import decode_server, encode
from protocol.codes import Code
from protocol.limits import CODE_LENGTH, PRIVATE_CODE_LENGTH
from protocol.settings import ChosenSwitches, Private, Starting, Title
from server.app import running
from server.config import Config, Limits
from server.monitoring.logs import describe
from server.net.tokens import token_hash
from simulation.people.random_messages import KINDS, RandomMessages
from tests.games import rest_slow
from tests.pages.serving.viewer import player_page, viewer
from tests.server.manual_clock import ManualClock
from tests.server.match import LIMITS, Match, Script, match, some_scripts
from tests.server.monitoring.traces import traces
from tests.server.peer import Peer, all_connected, blanked, connected, eventually, http_get
from tests.server.playing import archived_game, changed, full_table, game, memory_server, play_on, table_of
from tests.server.storage.test_journal import resumed

OUR_LOGGERS = ("server", "pages", "palatinus", "engine", "protocol")  # loggers
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
            ours = [record for record in log.records if record.name.startswith(OUR_LOGGERS)]
            kept = [record for record in ours if record.getMessage() not in CLOSING_LINES]
            lines = sorted(without_addresses(record, code) for record in kept)
            moves = traced.lines()
    blank = [code.encode(), *(peer.token.encode() for peer in playing.peers[:-1])]
    seats = [[blanked(frame, blank) for frame in peer.frames] for peer in playing.peers]
    for_others = [blanked(frame, blank) for frame in (*others, *visitor.frames)]
    shown = [line for line in metrics.splitlines() if not line.startswith(TIMED_METRICS)]
    return Told(seats, for_others, lines, shown, moves)


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
                watch = messages.Watch(1, gone.code, after)
                returning = messages.Resume(1, gone.code, token, after) if token else watch
                await back.send(returning, messages.Ping(2))
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


@some_scripts("server's bots")
async def test_secrets_change_no_byte(
    script: Script, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """R4.2: swapping the kinds of all others' wolves changes nothing for a seat, spectators or the log."""
    for name in OUR_LOGGERS:
        caplog.set_level(logging.DEBUG, name)
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


UNLIMITED = replace(
    LIMITS,
    pages_cpu=1.0,
    **dict.fromkeys(
        (
            *("tables_per_connection", "tables_per_address", "wrong_codes_per_address", "bad_messages"),
            *("chat_per_table", "chat_per_address", "chat_in_lobby", "chat_in_lobby_per_connection"),
            *("chat_in_lobby_per_address", "lobby_names_per_connection"),
        ),
        1_000_000,
    ),
)


async def answers_to_everything(
    script: Script, seat: int, of_each: int, folder: Path
) -> tuple[list[Event], list[list[bytes]], list[str]]:
    """Play for a while, and send `of_each` kind of message, as a seat and as others, to a copy of the server.

    Return the game so far, what each sender was sent, as others were at tables opened that way, and what
    pages showed.
    """
    rng = random.Random(script.seed)
    async with match(script, folder / "data") as playing:
        while playing.turns < 30:
            await playing.turn()
        shutil.copytree(folder / "data", folder / "copy")
        code, player = playing.spectator.code, playing.peers[seat]
        game = playing.server.lobby.tables[code].state.game
    assert game is not None
    step = len(stops(lasting(game.events))) - 3  # the last one that may be studied after a game
    ids, proof = itertools.count(2000), token_hash(player.token)
    comes = messages.Resume(1, code, player.token), messages.Watch(1, code), messages.ListTables(1)
    config = replace(script.config(folder / "copy", ManualClock()), limits=UNLIMITED, pages=WebPages())
    made, answers, watched = RandomMessages(rng, [code]), list[list[bytes]](), {code}
    pages = list[str]()
    async with running(config) as server:
        state = server.lobby.tables[code].state
        for ends in (False, True):
            if ends:  # from then on the game is over without a result, and still nobody may look back
                host = messages.Resume(1, code, playing.peers[state.host or 0].token)
                await frames_from(server.port, host, [messages.EndGame(2)])
                assert state.ended
            for come in comes:
                kinds = [kind for kind in KINDS if kind is not messages.EndGame]
                sent = [made.of(kind) for kind in kinds for _ in range(of_each)]
                fitting = [with_facts(each, id=next(ids), step=step, proof=proof) for each in sent]
                answers.append(await frames_from(server.port, come, fitting))
                for table in sorted(server.lobby.tables.keys() - watched):
                    watched.add(table)
                    join = messages.JoinTable(1, table, "Other", (seat + 1) % script.players)
                    answers[-1] += await frames_from(server.port, join, [messages.Ping(2)])
            pages += await pages_at(server.port, code, player.token, over=ends)
    received = [decode_server(frame) for frames in answers for frame in frames]
    seated = [each for each in received if isinstance(each, messages.Seated)]
    drawn = watched | {each.table for each in seated} | {each.token for each in seated if each.token}
    secrets = [each.encode() for each in (*drawn, player.token)]
    told = [[blanked(frame, secrets) for frame in frames] for frames in answers]
    return game.events, told, [blanked(page.encode(), secrets).decode() for page in pages]


async def pages_at(port: int, code: str, token: str, *, over: bool) -> list[str]:
    """Return what a table's page, the television and the page of a player who looks back show."""
    shown = list[str]()
    for path in (f"/watch/{code}", "/tv"):
        async with viewer(port, path) as page:
            await page.receive()
            shown.append(str(page.parts))
    async with player_page(port, code) as own:
        await own.send(messages.Resume(1, code, token))
        await own.news()
        if over:
            await own.until_shown(lambda parts: "rematch" in parts.get("ask", ""))
        for moment in () if over else range(own.seq - 1, 0, -4):
            await own.socket.send(f'{{"moment": {moment}}}')
            there = f">{moment}/{own.seq}<"
            await own.until_shown(lambda parts, there=there: there in parts.get("look", ""))  # type: ignore[misc]
            shown.append(str(own.parts))
        shown.append(str(own.parts))
    return shown


def with_facts(message: messages.ClientMessage, **facts: object) -> messages.ClientMessage:
    """Return the message with those of the facts that it has fields for."""
    fields = message.__struct_fields__
    return msgspec.structs.replace(message, **{name: fact for name, fact in facts.items() if name in fields})


async def frames_from(
    port: int, come: messages.ClientMessage, sent: Sequence[messages.ClientMessage]
) -> list[bytes]:
    """Return what somebody receives who comes, and comes back before each of these messages if need be."""
    frames, rest = list[bytes](), list(sent)
    while rest:
        async with connected(port) as sender:
            sender.frames.clear()
            sender.id = 1000
            with contextlib.suppress(ConnectionClosed):  # after a second hello, say
                while rest:
                    await sender.ask(come)
                    await sender.send(rest.pop(0))
                    await sender.ask(messages.Ping)
        frames += sender.frames
    return frames


@pytest.mark.parametrize("of_each", rest_slow(1, 3))
@pytest.mark.parametrize("seat", rest_slow(1, 0), ids=["player", "host"])
@some_scripts("bot")
async def test_no_request_tells_secrets(script: Script, seat: int, of_each: int, tmp_path: Path) -> None:
    """R4.2: whatever anybody asks, the answers in a running game would be the same for other wolves."""
    swapped = frozenset(range(script.players)) - {seat}
    kept = replace(script, swapped=frozenset())
    events, one, pages = await answers_to_everything(kept, seat, of_each, tmp_path / "one")
    other = replace(script, swapped=swapped)
    others, two, shown = await answers_to_everything(other, seat, of_each, tmp_path / "two")
    assert events != others
    assert one == two
    assert pages == shown
    assert len(pages) > 10  # a player's page at many moments
    tags = {msgpack.unpackb(frame)["t"] for frames in one for frame in frames}
    assert {"snapshot", "refused", "done", "seated", "tables", "turn"} <= tags


async def listed(peer: Peer) -> bytes:
    """Return the list of tables as it is sent to the peer."""
    peer.id = 0
    answer = await peer.answer(messages.Tables, messages.ListTables)
    return encode(answer)


async def test_private_tables_change_no_byte_of_the_list() -> None:
    async with memory_server() as server, connected(server.port) as stranger, connected(server.port) as other:
        await other.open(3, "Olga")
        before = await listed(stranger)
        async with game(server.port, 2, switches=ChosenSwitches(private=True)) as peers:
            assert await listed(stranger) == before
            await changed(server, peers[0], Title("Secret"))
            await play_on(peers, random.Random(1))
            assert await listed(stranger) == before
            await changed(server, peers[0], Private(on=False))
            assert await listed(stranger) != before


def guesses(code: str, token: str, number: int = 7) -> list[messages.ClientMessage]:
    """Return the requests by which somebody can try whether there is a table."""
    by_code = messages.Watch(number, code), messages.JoinTable(number, code, "X")
    return [*by_code, messages.Resume(number, code, token), messages.AskTurn(number, code, token_hash(token))]


async def test_codes_of_private_tables_cannot_be_found_by_trying() -> None:
    """After too many wrong codes, a right and a wrong one are answered alike; listed tables are found."""
    async with memory_server() as server, connected(server.port) as host, connected(server.port) as public:
        private = (await host.open(3, switches=ChosenSwitches(private=True))).table
        listed_table = (await public.open(3)).table
        async with connected(server.port) as stranger:
            most = Limits().wrong_codes_per_address
            for number in range(most):
                wrong = guesses("AAAA", "x", number)[number % 4]
                assert await stranger.refusal(wrong) == Code.NO_SUCH_TABLE
            guessed = [*guesses(private, "x"), *guesses("AAAA", "x")]
            answers = [await stranger.refused(message) for message in guessed]
            assert len({encode(answer) for answer in answers}) == 1
            assert answers[0].code == Code.TOO_MANY_GUESSES
            await stranger.join(listed_table, "Late")
        await host.socket.close()
        async with connected(server.port) as back:
            await back.resume(private, host.token)


async def test_how_long_it_takes_to_refuse_a_code_says_nothing() -> None:
    """A refusal after too many wrong codes is delayed at random, by more than it takes to find a table."""
    clock = ManualClock()
    config = Config(timers=lambda: clock, limits=Limits(wrong_codes_per_address=1))
    async with running(config) as server, connected(server.port) as host, connected(server.port) as stranger:
        private = (await host.open(2, switches=ChosenSwitches(private=True))).table
        assert await stranger.refusal(messages.Watch, "AAAA") == Code.NO_SUCH_TABLE
        before = clock.waiting
        for code in (private, "AAAA"):
            refused = asyncio.create_task(stranger.refused(messages.Watch, code))
            await eventually(lambda: clock.waiting == before + 1)
            assert not refused.done()
            clock.advance(1.0)
            assert (await refused).code == Code.TOO_MANY_GUESSES


async def test_the_archive_is_not_looked_at_for_codes_that_are_tried(tmp_path: Path) -> None:
    """That takes longer than finding nothing; so after too many wrong codes its own players wait, too."""
    limits = Limits(unattended_seconds=0.01, wrong_codes_per_address=2)
    async with running(Config(data=tmp_path, limits=limits)) as server:
        host, _ = await archived_game(server, moves=0, switches=ChosenSwitches(private=True))
        async with connected(server.port) as stranger:
            for number in range(2):
                await stranger.refused(messages.Resume(number, "AAAA", "x"))
            refusals = [
                await stranger.refused(message)
                for code, token in ((host.code, host.token), (host.code, "x"), ("AAAA", "x"))
                for message in guesses(code, token)
            ]
            assert len({encode(refusal) for refusal in refusals}) == 1
            assert refusals[0].code == Code.TOO_MANY_GUESSES


async def test_codes_of_private_tables_are_long() -> None:
    """A table that becomes private keeps its code."""
    async with (
        memory_server() as server,
        game(server.port, 2, switches=ChosenSwitches(private=True)) as peers,
    ):
        assert len(peers[0].code) == PRIVATE_CODE_LENGTH
        async with connected(server.port) as host, connected(server.port) as guest:
            code = (await host.open(2)).table
            assert len(code) == CODE_LENGTH
            await changed(server, host, Private(on=True))
            await guest.join(code, "Guest")


async def turn(peer: Peer, code: str, token: str) -> messages.Turn:
    """Return how the game stands for the holder of a token, who asks over another connection."""
    return await peer.answer(messages.Turn, messages.AskTurn, code, token_hash(token))


async def test_a_player_learns_whose_turn_it_is_before_during_and_after_the_game() -> None:
    async with memory_server() as server, connected(server.port) as asker:
        async with connected(server.port) as host:
            code = (await host.open(2)).table
            answer = await turn(asker, code, host.token)
            assert (answer.stage, answer.seat, answer.turn) == ("gathering", 0, None)
        async with game(server.port, 2, absence=MoveClock(60)) as peers:
            for peer in peers:
                answer = await turn(asker, peer.code, peer.token)
                on_turn = peer.sight.turn
                assert on_turn is not None
                assert answer.clock is not None
                assert 0 < answer.clock <= 60_000
                known = messages.Turn(
                    answer.id, "playing", peer.seat, on_turn, f"Player {on_turn}", answer.clock
                )
                assert answer == known
            await play_on(peers, random.Random(1))
            answer = await turn(asker, peers[1].code, peers[1].token)
            assert answer == messages.Turn(answer.id, "over", 1)


async def test_nothing_is_told_without_the_seats_own_token() -> None:
    """Not to the holder of another table's seat, nor to a removed player; a question is noticed by nobody."""
    async with (
        memory_server() as server,
        full_table(server.port, 2, switches=ChosenSwitches(private=True)) as peers,
        all_connected(server.port, 2) as (other, stranger),
    ):
        await other.open(2)
        for token in ("x", other.token):
            question = messages.AskTurn(7, peers[0].code, token_hash(token))
            assert await stranger.refusal(question) == Code.BAD_TOKEN
            assert question.proof not in repr(question)
        before = [len(peer.frames) for peer in peers]
        await turn(stranger, peers[0].code, peers[1].token)
        for peer in peers:
            await peer.ask(messages.Ping)
        assert [len(peer.frames) for peer in peers] == [number + 1 for number in before]
        assert await table_of(server, peers).remove_player(Seat(1))
        question = messages.AskTurn(8, peers[0].code, token_hash(peers[1].token))
        assert await stranger.refusal(question) == Code.BAD_TOKEN


async def test_an_archived_game_stays_in_the_archive(tmp_path: Path) -> None:
    limits = Limits(unattended_seconds=0.01, tables_per_connection=2)
    async with running(Config(data=tmp_path, limits=limits)) as server, connected(server.port) as asker:
        host, _ = await archived_game(server, moves=0)
        assert await asker.refusal(messages.AskTurn, host.code, token_hash("x")) == Code.BAD_TOKEN
        for _ in range(2):
            answer = await turn(asker, host.code, host.token)
            assert answer == messages.Turn(answer.id, "playing", archived=True)
        assert not server.lobby.tables
        assert await asker.refusal(messages.AskTurn, host.code, token_hash(host.token)) == Code.TOO_SOON

"""What clients notice of a game's draws: on an honest server, and on one that cheats."""

import asyncio
import contextlib
import io
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as with_fields

from client.bots.runner import BotOptions, run_bots
from client.network.connection import Connection, open_connection
from client.tables.draws import (
    Doubt,
    DrawsCheck,
    DrawsWitness,
    describe_draws,
    draws_in_a_word,
    is_plainly_right,
)
from client.tables.table import TableModel
from engine.draws import (
    MISSING,
    NO_SHARE,
    OF_ROUND,
    Bytes32,
    Draws,
    Share,
    commitment_to,
    outcomes,
    pledge_of,
)
from engine.events import GameEnded, SeenEvent
from engine.fairness import Mismatch
from engine.game import Game, GameOptions, SharedChance
from engine.pieces import Seat
from engine.redaction import redacted, snapshot
from engine.view import SPECTATOR, eyes_of
from palatinus import main
from protocol import messages
from protocol.events import event_map, snapshot_message
from protocol.messages import NEW
from server.app import Running, running
from server.config import Config
from server.tables.game import game_start
from tests.client.scripted import FAST_RETRIES, TIMEOUT, Peer, play_randomly, scripted
from tests.engine.test_draws import CheatingChance
from tests.games import some_command

ANN = Seat(0)
SEED = Bytes32("5e" * 32)
SHARES = (Share("a" * 64), Share("b" * 64), NO_SHARE)
OTHER = Share("c" * 64)
TABLE = messages.TableState(
    "KRTV",
    "gathering",
    [messages.SeatSummary("Ann"), messages.SeatSummary("Bob"), messages.SeatSummary("Cid")],
    Seat(0),
)


def played_game(chance: SharedChance, *, random_layout: bool = False, starting: Seat | None = None) -> Game:
    """Return a whole game of three players."""
    rng = random.Random(3)
    game = Game.new(GameOptions(3, starting, random_layout), chance)
    while not game.over:
        game.apply(some_command(game, rng))
    return game


def called(shares: Sequence[Share] = SHARES, seed: Bytes32 = SEED) -> messages.DrawBegins:
    """Return the call for these shares."""
    pledges: list[str | None] = [None if share == NO_SHARE else pledge_of(share) for share in shares]
    return messages.DrawBegins(commitment_to(seed), pledges)


def witnessed(
    events: Sequence[SeenEvent],
    *calls: messages.DrawBegins,
    seat: Seat | None = ANN,
    table: messages.TableState = TABLE,
    share: Share = SHARES[0],
    promised: str | None = None,
) -> DrawsCheck:
    """Return what a client says that was called and saw these events."""
    witness = DrawsWitness(promised=promised)
    for call in calls:
        witness.share_called(call, table, seat, share)
    return folded(witness, events)


def folded(witness: DrawsWitness, events: Sequence[SeenEvent]) -> DrawsCheck:
    for event in events:
        witness.fold(event)
    check = witness.check()
    assert check is not None
    return check


HONEST = played_game(SharedChance(SEED, SHARES))


@pytest.mark.parametrize("seat", [*map(Seat, range(3)), None])
def test_an_honest_game_is_right_for_everybody(seat: Seat | None) -> None:
    """For those who have added a share, for those who have not, and for spectators."""
    eyes = SPECTATOR if seat is None else eyes_of(seat)
    share = SHARES[seat or 0]
    check = witnessed([redacted(event, eyes) for event in HONEST.events], called(), seat=seat, share=share)
    assert check == DrawsCheck(Draws(commitment_to(SEED), SHARES, starting=True), own=seat in {0, 1})


def test_the_draws_of_a_round_are_those_that_were_promised() -> None:
    """Tables of an evening's round have the same tiles and laurels, whatever their size, from one seed."""
    shares = (OF_ROUND,) * 3
    larger = outcomes(SEED, (*shares, OF_ROUND))
    assert (larger.tiles, larger.orientations, larger.laurels) == (
        (due := outcomes(SEED, shares)).tiles, due.orientations, due.laurels
    )  # fmt: skip
    game = played_game(SharedChance(SEED, shares), random_layout=True)
    table = with_fields(TABLE, random_layout=True)
    call = messages.DrawBegins(commitment_to(SEED), [None] * 3)
    for promised, fault in (commitment_to(SEED), None), (commitment_to(Bytes32("0" * 64)), Doubt.COMMITMENT):
        check = witnessed(game.events, call, table=table, promised=promised)
        assert check.fault is fault
        assert ("all tables of the round" in describe_draws(check, ("Ann", "Bob", "Cid"), plays=True)) == (
            fault is None
        )


def test_whoever_came_later_checks_what_there_is_to_see() -> None:
    """From a snapshot at any moment: nothing is wrong with an honest game, and a wrong laurel is seen."""
    wrong = played_game(CheatingChance("laurels", SharedChance(SEED, SHARES)))
    for game, fault in ((HONEST, None), (wrong, Mismatch.LAURELS)):
        for number in (1, 3, 8, 20, len(game.events)):
            model = TableModel(table="KRTV", state=TABLE)
            earlier = Game(game.events[:number], SharedChance(SEED, SHARES))
            message = snapshot_message(snapshot(earlier.view, SPECTATOR), number, None)
            model.take(message)
            if number < len(game.events):
                rest = [event_map(redacted(event, SPECTATOR)) for event in game.events[number:]]
                model.take(messages.Events(number + 1, rest))
            assert model.draws.check() == DrawsCheck(Draws(commitment_to(SEED), SHARES, True), fault)


def test_a_snapshot_does_not_make_a_client_forget() -> None:
    """A tile that was drawn and is another one in a snapshot is noticed, and so are other shares."""
    view = replace(HONEST.view, tiles=tuple(reversed(HONEST.view.tiles)))
    other = replace(HONEST.view.start, draws=Draws(commitment_to(SEED), (OTHER, *SHARES[1:]), True))
    for shown in (view, replace(HONEST.view, started=other)):
        witness = DrawsWitness()
        for event in HONEST.events[:-1]:
            witness.fold(event)
        witness.look(shown, TABLE)
        assert folded(witness, []).fault in {Mismatch.TILES, Doubt.COMMITMENT}


def test_a_tile_that_becomes_the_right_one_is_noticed() -> None:
    """A client saw a wrong one first, and after a snapshot the whole game fits its seed."""
    chance = SharedChance(SEED, SHARES)
    honest = played_game(chance, random_layout=True)
    wrong = played_game(CheatingChance("tiles", chance), random_layout=True)
    witness = DrawsWitness()
    for event in wrong.events[:-1]:
        witness.fold(event)
    witness.look(honest.view, with_fields(TABLE, random_layout=True))
    assert folded(witness, []).fault is Mismatch.TILES


def test_a_draw_abandoned_while_the_client_was_away_is_counted() -> None:
    """If this client had revealed its share, which is not in the game; settings have changed since."""
    abandoned = called((OTHER, *SHARES[1:]), Bytes32("0" * 64))
    then = with_fields(TABLE, random_layout=True)
    for share, broken_off in (OTHER, 1), (SHARES[0], 0):
        check = witnessed(HONEST.events, abandoned, table=then, share=share)
        assert (check.fault, check.broken_off) == (None, broken_off)


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"commitment": commitment_to(Bytes32("0" * 64))}, Doubt.COMMITMENT),
        ({"shares": (OTHER, *SHARES[1:])}, Doubt.SHARE),
        ({"shares": (NO_SHARE, *SHARES[1:])}, Doubt.SHARE),
        ({"shares": (SHARES[0], OTHER, NO_SHARE)}, Doubt.PLEDGE),
        ({"shares": (SHARES[0], NO_SHARE, NO_SHARE)}, Doubt.PLEDGE),
        ({"shares": (*SHARES[:2], OTHER)}, Doubt.PLEDGE),
        ({"starting": False}, Doubt.OPTIONS),
    ],
)
def test_what_changed_after_the_call_is_noticed(change: dict[str, Any], doubt: Doubt) -> None:
    """Whatever the server has exchanged once it knew the shares, even if it fits in itself."""
    started = HONEST.view.start
    assert started.draws is not None
    draws = replace(started.draws, **change)
    again = played_game(SharedChance(SEED, draws.shares)).events
    check = witnessed([replace(started, draws=draws), *again[1:]], called())
    assert check.fault is doubt
    assert "DO NOT TRUST" in describe_draws(check, ["Ann", "Bob", "Cid"], plays=True)
    assert draws_in_a_word([check]) == "wrong"


def test_what_does_not_fit_the_call_is_noticed() -> None:
    """A game that says nothing of its draws, that begins twice, or whose seed is another one or not shown."""
    events = [replace(HONEST.view.start, draws=None), *HONEST.events[1:]]
    assert witnessed(events, called()).fault is Doubt.COMMITMENT
    assert witnessed(events) == DrawsCheck()  # a server with a fixed seed, or an old one
    assert witnessed([*HONEST.events[:4], *HONEST.events], called()).fault is Doubt.COMMITMENT
    ended = HONEST.events[-1]
    assert isinstance(ended, GameEnded)
    for seed in (None, Bytes32("0" * 64)):
        check = witnessed([*HONEST.events[:-1], replace(ended, seed=seed)], called())
        assert check.fault is Mismatch.SEED


@pytest.mark.parametrize("thing", ["starting", "tiles", "laurels"])
def test_draws_of_the_servers_own_liking_are_noticed(thing: str) -> None:
    game = played_game(CheatingChance(thing, SharedChance(SEED, SHARES)))
    assert witnessed(game.events, called()).fault == Mismatch(thing)


@pytest.mark.parametrize(
    ("table", "random_layout", "starting", "fault"),
    [
        (TABLE, True, None, Doubt.OPTIONS),
        (with_fields(TABLE, random_layout=True), False, None, Doubt.OPTIONS),
        (with_fields(TABLE, starting=1), False, Seat(2), Doubt.OPTIONS),
        (with_fields(TABLE, starting=1), False, Seat(1), None),
        (with_fields(TABLE, starting=1, random_layout=True), True, Seat(1), None),
    ],
)
def test_a_game_is_the_one_that_was_to_be_drawn(
    table: messages.TableState, starting: Seat | None, fault: Doubt | None, *, random_layout: bool
) -> None:
    """Who starts, if the host had named a seat, and whether the tiles are laid or drawn."""
    chance = SharedChance(SEED, SHARES)
    game = played_game(chance, random_layout=random_layout, starting=starting)
    assert witnessed(game.events, called(), table=table).fault is fault


def test_missing_shares_and_broken_draws_are_told() -> None:
    """Without calling them wrong: that may be nobody's fault."""
    missing = (MISSING, MISSING, NO_SHARE)
    game = played_game(SharedChance(SEED, missing))
    check = witnessed(game.events, called(seed=Bytes32("0" * 64)), called())
    assert check == DrawsCheck(Draws(commitment_to(SEED), missing, True), late=True, broken_off=1)
    told = describe_draws(check, ["Ann", "Bob", "Cid"], plays=True)
    assert "no player has added a share" in told
    assert "Yours came too late" in told
    assert "the share from Ann and Bob" in told
    assert "1 draw was abandoned" in told
    assert not is_plainly_right(check, ["Ann", "Bob", "Cid"], plays=True)
    assert draws_in_a_word([check]) == "unshared"


def test_a_share_is_shown_only_if_it_was_pledged() -> None:
    """Not to a call with another pledge, for another number of seats, or to a spectator."""
    for call, table, seat, shown in (
        (called((OTHER, *SHARES[1:])), TABLE, Seat(0), False),
        (called(SHARES[:2]), TABLE, Seat(0), False),
        (called(), TABLE, Seat(2), False),
        (called(), TABLE, None, False),
        (called(), None, Seat(0), False),
        (called(), TABLE, Seat(0), True),
    ):
        assert DrawsWitness().share_called(call, table, seat, SHARES[0]) is shown


async def test_no_share_is_shown_twice() -> None:
    """Each call is answered with another share, which was pledged before."""

    async def act(peer: Peer) -> None:
        opening = await peer.receive(messages.OpenTable)
        pledge, shown = opening.pledge, set()
        await peer.send(messages.Seated(opening.id, "KRTV", 0, "a-token"), TABLE)
        for number in range(3):
            draw = messages.DrawBegins(commitment_to(Bytes32(str(number) * 64)), [pledge, None, None])
            await peer.send(draw)
            answer = await peer.receive(messages.AddShare)
            assert pledge_of(Share(answer.share)) == pledge
            assert answer.commitment == draw.commitment
            pledge = answer.pledge
            shown.add(answer.share)
            await peer.send(messages.Done(answer.id), with_fields(draw, pledges=[None, None, None]))
        assert len(shown) == 3

    async with scripted(act) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
        await connection.ask(messages.OpenTable(NEW, 3, "Ann"))
        async with asyncio.timeout(TIMEOUT):
            while connection.model.draws._broken_off < 3:  # noqa: ASYNC110 - no update tells it
                await asyncio.sleep(0.005)


# -- real servers -----------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def two_players(server: Running) -> AsyncIterator[list[Connection]]:
    """Seat two clients at a table, and a spectator."""
    async with contextlib.AsyncExitStack() as stack:
        line = partial(open_connection, f"ws://127.0.0.1:{server.port}", timeouts=FAST_RETRIES)
        ann, bob, watching = [await stack.enter_async_context(line()) for _ in range(3)]
        seated = await ann.ask(messages.OpenTable(NEW, 2, "Ann"))
        await bob.ask(messages.JoinTable(NEW, seated.table, "Bob"))
        await watching.ask(messages.Watch(NEW, seated.table))
        yield [ann, bob, watching]


async def play(*clients: Connection) -> None:
    """Play the game to its end; everybody else only looks on."""
    async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as tasks:
        for seat, client in enumerate(clients):
            tasks.create_task(play_randomly(client, random.Random(seat)))


async def test_clients_check_an_honest_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both players' shares count, also after a lost connection and in a rematch; the record agrees."""
    async with running(Config(records=tmp_path)) as server, two_players(server) as (ann, bob, watching):
        commitments = set()
        for _ in range(2):
            await ann.ask(messages.StartGame(NEW))
            assert ann._websocket is not None
            ann._websocket.transport.abort()
            await play(ann, bob)
            assert ann.model.view is not None
            draws = ann.model.view.start.draws
            assert draws is not None
            assert draws.shared == 2
            check = DrawsCheck(draws, own=True)
            assert ann.model.draws.check() == bob.model.draws.check() == check
            commitments.add(draws.commitment)
            told = describe_draws(check, ["Ann", "Bob"], plays=True)
            assert told == "The draws are right: they come from the server's seed and 2 shares of 2."
            without_own = DrawsCheck(draws)
            for seen, plays, plain in (
                (check, True, True),
                (without_own, False, True),
                (without_own, True, False),
            ):
                assert is_plainly_right(seen, ["Ann", "Bob"], plays=plays) == plain
            if len(commitments) == 1:
                await play(watching)
                assert watching.model.draws.check() == DrawsCheck(draws)
                await ann.ask(messages.Rematch(NEW))
                await bob.ask(messages.Rematch(NEW))
        assert len(commitments) == 2
        record = (await ann.ask(messages.GetRecord(NEW))).text
    file = tmp_path / "saved.txt"
    file.write_text(record, encoding="utf-8")
    assert main(["check", str(file)]) == 0
    assert "2 shares of 2" in capsys.readouterr().out


async def test_bots_notice_a_server_that_uses_other_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """They say so, and stop."""
    monkeypatch.setattr(
        game_start, "SharedChance", lambda seed, shares: SharedChance(seed, [OTHER, *shares[1:]])
    )
    async with running(Config()) as server:
        out, errors = io.StringIO(), io.StringIO()
        url = f"ws://127.0.0.1:{server.port}"
        options = BotOptions(url, brains=("random",), seats=2, games=2, random_layout=True)
        assert await run_bots(options, out, errors) == 1
    assert out.getvalue().endswith("; draws that are wrong\n")
    assert errors.getvalue().startswith("DO NOT TRUST THE DRAWS OF THIS GAME: the server used")

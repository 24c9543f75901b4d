"""The lobby: who is online, and what is said there."""

import contextlib
import random
from collections.abc import AsyncIterator
from ipaddress import ip_network
from typing import Any

import pytest

from protocol.limits import PEOPLE_LISTED, REMARKS_REPEATED
from protocol.messages import (
    EnterLobby,
    Invite,
    Leave,
    LobbyRemark,
    Online,
    PersonOnline,
    SaidInLobby,
    SayInLobby,
    SayReady,
    StartGame,
    Welcome,
)
from protocol.settings import ChosenSwitches, Private
from server.app import Running, running
from server.config import Config, Limits
from server.tables.names import looks
from tests.server.manual_clock import FastClock, ManualClock
from tests.server.peer import Peer, all_connected, connected, eventually, state_where
from tests.server.playing import changed, game, play_on, timed_server

# As many names and remarks as anybody likes.
MANY: dict[str, Any] = dict.fromkeys(
    (f"chat_in_lobby{each}" for each in ("", "_per_connection", "_per_address")), 10**6
)
MANY |= {"burst": 10**6, "burst_per_address": 10**6}
THIS_COMPUTER = (ip_network("127.0.0.1"),)


def fast_server(**limits: int) -> contextlib.AbstractAsyncContextManager[Running]:
    """Run a server on which a test does not wait long for the next round."""
    return running(Config(limits=Limits(**limits), timers=FastClock))


@contextlib.asynccontextmanager
async def in_lobby(*names: str) -> AsyncIterator[tuple[Running, contextlib.AsyncExitStack, list[Peer]]]:
    """Run a server as `fast_server` does, with these people in its lobby, and a stack for more."""
    async with fast_server() as server, contextlib.AsyncExitStack() as stack:
        yield server, stack, [await entered(stack, server.port, name) for name in names]


async def entered(stack: contextlib.AsyncExitStack, port: int, name: str) -> Peer:
    """Connect a peer and list it under the name."""
    peer = await stack.enter_async_context(connected(port))
    await peer.done(EnterLobby, name)
    return peer


async def says(peer: Peer, text: str) -> str:
    """Return what comes of it when the peer says something: `said`, or the code of the refusal."""
    answer = await peer.ask(SayInLobby, text)
    return getattr(answer, "code", "said")


def lists(peer: Peer) -> list[Online]:
    return peer.told(Online)


def remarks(peer: Peer) -> list[LobbyRemark]:
    return [each for told in peer.received if isinstance(told, SaidInLobby) for each in told.remarks]


async def sees(peer: Peer, *people: PersonOnline) -> None:
    """Wait until the peer's list has these people."""
    while not lists(peer) or lists(peer)[-1].people != list(people):
        await peer.until(Online)


async def sees_whom(peer: Peer, *names: str) -> None:
    """Wait until the peer's list has people of these names."""
    while not lists(peer) or [each.name for each in lists(peer)[-1].people] != list(names):
        await peer.until(Online)


async def heard(peer: Peer, many: int) -> list[LobbyRemark]:
    """Wait until the peer has heard so many remarks, and return them all."""
    while len(remarks(peer)) < many:
        await peer.until(SaidInLobby)
    return remarks(peer)


async def test_people_see_who_is_online_and_where() -> None:
    async with in_lobby("Anna", "Bruno") as (server, _, (anna, bruno)):
        await sees(anna, PersonOnline("Anna"), PersonOnline("Bruno"))
        code = (await bruno.open(2, "Bruno")).table
        await sees(anna, PersonOnline("Anna"), PersonOnline("Bruno", "playing", code))
        async with connected(server.port) as carla:
            await carla.done(EnterLobby, "Carla")
            await carla.watch(code)
            at_table = PersonOnline("Bruno", "playing", code), PersonOnline("Carla", "watching", code)
            await sees(anna, PersonOnline("Anna"), *at_table)
        await sees(anna, PersonOnline("Anna"), at_table[0])
        await bruno.done(EnterLobby, None)
        await sees(anna, PersonOnline("Anna"))


async def test_a_private_table_shows_nowhere() -> None:
    async with in_lobby("Anna", "Bruno", "Carla") as (server, stack, (anna, bruno, carla)):
        code = (await bruno.open(2, "Bruno", switches=ChosenSwitches(private=True))).table
        await carla.watch(code)
        hidden = PersonOnline("Bruno", "playing"), PersonOnline("Carla", "playing")
        await sees(anna, PersonOnline("Anna"), *hidden)
        assert not any(code.encode() in frame for frame in anna.frames)
        await changed(server, bruno, Private(on=False))
        shown = PersonOnline("Bruno", "playing", code), PersonOnline("Carla", "watching", code)
        await sees(anna, PersonOnline("Anna"), *shown)
        await changed(server, bruno, Private(on=True))
        dario = await entered(stack, server.port, "Dario")  # before the next round
        await sees(dario, PersonOnline("Anna"), PersonOnline("Dario"), *hidden)
        assert not any(code.encode() in frame for frame in dario.frames)


async def test_what_happens_at_a_private_table_sends_the_lobby_nothing() -> None:
    """A game with settings and strangers to the lobby: not one frame, and no name is taken by it."""
    async with in_lobby("Anna") as (server, stack, (anna,)):
        await sees(anna, PersonOnline("Anna"))
        await anna.nothing_but_pong()
        host, guest = [await stack.enter_async_context(connected(server.port)) for _ in range(2)]
        code = (await host.open(2, "Bruno", switches=ChosenSwitches(private=True))).table
        await guest.join(code, "Carla")
        await guest.done(SayReady, on=True)
        await guest.done(Leave)
        await changed(server, host, Private(on=True))
        frames = len(anna.frames)
        await anna.done(EnterLobby, "Bruno")
        await sees(anna, PersonOnline("Bruno"))
        assert len(anna.frames) == frames + 2, "the new list, and the answer"


async def test_a_table_that_waits_for_players_sees_who_comes_and_how_until_its_game() -> None:
    async with in_lobby("Anna") as (server, stack, (anna,)):
        table = (await anna.open(2, "Anna")).table
        at_table = PersonOnline("Anna", "playing", table)
        bruno = await stack.enter_async_context(connected(server.port))
        await bruno.done(EnterLobby, "Bruno", by="ssh")
        await sees(anna, PersonOnline("Bruno", by="ssh"), at_table)
        await bruno.join(table, "Bruno")
        await anna.done(StartGame)
        await state_where(anna, lambda state: state.stage == "playing")
        many = len(lists(anna))
        carla = await entered(stack, server.port, "Carla")
        await sees(carla, PersonOnline("Carla"), at_table, PersonOnline("Bruno", "playing", table, "ssh"))
        await anna.nothing_but_pong()
        assert len(lists(anna)) == many


async def test_an_invitation_leads_the_lobby_to_a_table_with_a_free_seat() -> None:
    async with in_lobby("Anna", "Bruno") as (server, stack, (anna, bruno)):
        table = (await anna.open(2, "Anna")).table
        await anna.done(Invite)
        (invited,) = await heard(bruno, 1)
        assert (invited.name, invited.table) == ("Anna", table)
        carla = await entered(stack, server.port, "Carla")
        assert [each.table for each in await heard(carla, 1)] == [table], "it still stands"
        await bruno.join(table, "Bruno")
        dario = await entered(stack, server.port, "Dario")
        await sees_whom(dario, "Carla", "Dario", "Anna", "Bruno")
        assert remarks(dario) == [], "there is no seat any more"
        assert await anna.refusal(Invite) == "not-open-to-guests"
        assert not remarks(anna), "she is at her table"


async def test_invitations_are_for_players_at_tables_in_the_list_and_no_more_than_remarks() -> None:
    limits = Limits(chat_in_lobby_per_connection=2)
    async with (
        running(Config(limits=limits, timers=FastClock)) as server,
        contextlib.AsyncExitStack() as stack,
    ):
        anna, bruno = [await entered(stack, server.port, name) for name in ("Anna", "Bruno")]
        assert await anna.refusal(Invite) == "not-at-a-table"
        table = (await anna.open(3, "Anna", switches=ChosenSwitches(private=True))).table
        await bruno.watch(table)
        assert await bruno.refusal(Invite) == "not-a-player"
        await bruno.done(Leave)
        assert await anna.refusal(Invite) == "not-open-to-guests"
        await changed(server, anna, Private(on=False))
        await anna.done(Invite)
        await anna.done(Invite)
        assert await anna.refusal(Invite) == "too-much-chat"
        await changed(server, anna, Private(on=True))
        dario = await entered(stack, server.port, "Dario")
        await sees_whom(dario, "Bruno", "Dario", "Anna")
        assert not any(table.encode() in frame for frame in dario.frames), "it has become private"


async def test_the_lobby_hears_what_is_said_there_and_private_tables_do_not() -> None:
    async with in_lobby("Anna", "Bruno") as (_, _, (anna, bruno)):
        assert await says(anna, "hello 🦊") == "said"
        (first,) = await heard(bruno, 1)
        assert (first.name, first.text) == ("Anna", "hello 🦊")
        await bruno.open(2, "Bruno", switches=ChosenSwitches(private=True))
        assert await says(anna, "anybody?") == "said"
        assert [each.text for each in await heard(anna, 2)] == ["hello 🦊", "anybody?"]
        assert await says(bruno, "from the table") == "at-a-table"
        assert (await says(anna, "a\x1b[2J")).startswith("text-")
        await bruno.nothing_but_pong()
        await bruno.done(Leave)
        known = await heard(bruno, 2)
        assert [each.text for each in known] == ["hello 🦊", "anybody?"]
        assert [each.number for each in known] == [first.number, first.number + 1]


async def test_newcomers_hear_the_last_remarks_unless_they_are_old() -> None:
    clock = ManualClock()
    async with timed_server(clock, **MANY) as server, contextlib.AsyncExitStack() as stack:
        anna = await entered(stack, server.port, "Anna")
        for number in range(REMARKS_REPEATED + 5):
            assert await says(anna, str(number)) == "said"
        bruno = await entered(stack, server.port, "Bruno")
        known = await heard(bruno, REMARKS_REPEATED)
        assert [each.text for each in known] == [str(5 + number) for number in range(REMARKS_REPEATED)]
        clock.advance(1801.0)
        carla = await entered(stack, server.port, "Carla")
        clock.advance(1.0)
        await sees(carla, PersonOnline("Anna"), PersonOnline("Bruno"), PersonOnline("Carla"))
        assert not remarks(carla)


async def test_names_in_the_lobby_cannot_be_mistaken_for_each_other() -> None:
    async with fast_server() as server, contextlib.AsyncExitStack() as stack:
        async with connected(server.port) as anna:
            await anna.done(EnterLobby, "Anna")
            bruno = await entered(stack, server.port, "Bruno")
            for name in ("anna", "An na", "Αnna"):
                assert await bruno.refusal(EnterLobby, name) in {"name-in-use", "name-mixed-alphabets"}
            await anna.done(EnterLobby, "ANNA")  # her own name, written otherwise
            await sees(bruno, PersonOnline("ANNA"), PersonOnline("Bruno"))
        await sees(bruno, PersonOnline("Bruno"))
        await bruno.done(EnterLobby, "Anna")
        await sees(bruno, PersonOnline("Anna"))


async def test_a_finished_game_keeps_the_names_of_those_who_are_there() -> None:
    """Clients forget the tokens of a game that is over; so whoever has left it could not prove anything."""
    async with fast_server() as server, contextlib.AsyncExitStack() as stack:
        async with game(server.port, 2) as peers:
            await play_on(peers, random.Random(1))
            again = await stack.enter_async_context(connected(server.port))
            assert await again.refusal(EnterLobby, "Player 0") == "name-in-use"
        await eventually(lambda: all(not table.audience.seated for table in server.lobby.tables.values()))
        await again.done(EnterLobby, "Player 0")
        await sees(again, PersonOnline("Player 0"))


async def test_nobody_gets_the_name_of_a_seat_but_who_holds_it() -> None:
    async with fast_server() as server, all_connected(server.port, 3) as (anna, stranger, elsewhere):
        await anna.open(2, "Anna")
        for tokens in ([], ["x" * 43, "guessed"]):
            assert await stranger.refusal(EnterLobby, "ANNA", tokens) == "name-in-use"
        await anna.done(EnterLobby, "Anna")
        await anna.done(EnterLobby, None)
        await elsewhere.done(EnterLobby, "Anna", ["x" * 43, anna.token])
        await sees(elsewhere, PersonOnline("Anna"))


async def test_a_name_is_not_compared_with_all_others() -> None:
    """Each took up to 0.5 ms: a lobby request stalled everybody for half a second."""
    async with fast_server() as server, all_connected(server.port, 4) as (anna, *players):
        for number, peer in enumerate(players):
            await peer.open(2, f"Player {number}")
        looks.cache_clear()
        await anna.done(EnterLobby, "Anna")
        assert looks.cache_info().misses == 1


async def test_a_name_is_got_back_from_a_lost_connection() -> None:
    """By a secret that both connections have given, and by no other; the lost one is listed no more."""
    async with fast_server() as server, all_connected(server.port, 3) as (lost, stranger, back):
        await lost.done(EnterLobby, "Anna", ["made up"])
        assert await stranger.refusal(EnterLobby, "Anna", ["guessed"]) == "name-in-use"
        await back.done(EnterLobby, "Anna", ["another", "made up"])
        assert await says(lost, "hello") == "not-in-lobby"
        assert await says(back, "hello") == "said"
        await sees(back, PersonOnline("Anna"))


async def test_chat_in_the_lobby_is_limited_by_connection_address_and_in_all() -> None:
    async with (
        fast_server(chat_in_lobby=5, chat_in_lobby_per_connection=2, chat_in_lobby_per_address=3) as server,
        contextlib.AsyncExitStack() as stack,
    ):
        anna = await entered(stack, server.port, "Anna")
        bruno = await entered(stack, server.port, "Bruno")
        assert [await says(anna, "x") for _ in range(3)] == ["said", "said", "too-much-chat"]
        assert [await says(bruno, "x") for _ in range(2)] == ["said", "too-much-chat"]
    config = Config(limits=Limits(chat_in_lobby=2), timers=FastClock, trusted_proxies=THIS_COMPUTER)
    async with running(config) as server, all_connected(server.port, ["192.0.2.1", "192.0.2.2"]) as both:
        anna, bruno = both
        await anna.done(EnterLobby, "Anna")
        await bruno.done(EnterLobby, "Bruno")
        assert [await says(anna, "x") for _ in range(3)] == ["said", "said", "too-much-chat"]
        assert await says(bruno, "x") == "said", "one address does not mute everybody"
    async with fast_server(lobby_names_per_address=1) as server, connected(server.port) as anna:
        await anna.done(EnterLobby, "Anna")
        assert await anna.refusal(EnterLobby, "Bruno") == "too-much-chat"


async def test_a_running_server_can_begin_to_do_without() -> None:
    async with in_lobby("Anna") as (server, stack, (anna,)):
        assert await says(anna, "hello") == "said"
        await heard(anna, 1)
        server.lobby.chat.open(on=False)
        await sees(anna)
        assert await says(anna, "anybody?") == "no-lobby-chat"
        bruno = await stack.enter_async_context(connected(server.port))
        assert [each.lobby for each in bruno.told(Welcome)] == [False]
        assert await bruno.refusal(EnterLobby, "Bruno") == "no-lobby-chat"
        assert not lists(bruno)
        server.lobby.chat.open(on=True)
        await bruno.done(EnterLobby, "Bruno")
        await sees(anna, PersonOnline("Anna"), PersonOnline("Bruno"))
        assert [each.text for each in await heard(bruno, 1)] == ["hello"]


@pytest.mark.slow
async def test_a_crowd_that_comes_at_once_is_told_in_rounds() -> None:
    """Each is sent one list on coming and at most one in each round; the list is bounded, with a count."""
    many = PEOPLE_LISTED + 20
    clock = ManualClock()
    async with timed_server(clock, **MANY) as server, contextlib.AsyncExitStack() as stack:
        crowd = [await entered(stack, server.port, f"Visitor {number}") for number in range(many)]
        clock.advance(60.0)
        for peer in crowd:
            while not lists(peer) or len(lists(peer)[-1].people) + lists(peer)[-1].more < many:
                await peer.until(Online)
            names = [each.name for each in lists(peer)[-1].people]
            assert names == [f"Visitor {number}" for number in range(PEOPLE_LISTED)]
            assert len(lists(peer)) <= 3, "on coming, in the round that ran then, and in the next"


@pytest.mark.slow
async def test_the_list_has_room_for_people_of_all_addresses() -> None:
    config = Config(timers=FastClock, trusted_proxies=THIS_COMPUTER)
    addresses = ["192.0.2.8", *["192.0.2.7"] * PEOPLE_LISTED]
    async with running(config) as server, all_connected(server.port, addresses) as (anna, *visitors):
        for number, peer in enumerate(visitors):
            await peer.done(EnterLobby, f"Visitor {number}")
        await anna.done(EnterLobby, "Anna")
        while not lists(anna) or lists(anna)[-1].more == 0:
            await anna.until(Online)
        assert len(lists(anna)[-1].people) == PEOPLE_LISTED
        assert lists(anna)[-1].people[-1] == PersonOnline("Anna")


async def test_what_many_say_at_once_comes_together() -> None:
    clock = ManualClock()
    async with timed_server(clock, **MANY) as server, contextlib.AsyncExitStack() as stack:
        anna = await entered(stack, server.port, "Anna")
        bruno = await entered(stack, server.port, "Bruno")
        assert await says(anna, "first") == "said"
        clock.advance(1.0)
        await heard(bruno, 1)
        clock.advance(0.1)
        for number in range(100):
            assert await says(anna, str(number)) == "said"
        clock.advance(1.0)
        known = await heard(bruno, 101)
        assert [each.text for each in known] == ["first", *(str(number) for number in range(100))]
        assert sum(isinstance(each, SaidInLobby) for each in bruno.received) <= 2

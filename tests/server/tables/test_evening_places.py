"""The places of an evening: shared by address, free again when people have left, and its names as well."""

import contextlib
import random
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import pytest

from protocol import messages
from protocol.admin import EveningPlan
from protocol.codes import CloseCode, Code
from protocol.limits import EVENING_PEOPLE
from server.app import Running, running
from server.config import Config, Limits
from server.storage import entries as stored
from server.storage.entries import Countdown, EveningBegun, PersonEntered, RoundDrawn, TableResult
from server.tables.evening import people
from server.tables.evening.people import SECONDS_KEPT
from server.tables.evening.state import EveningState, live_entries
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, connected
from tests.server.playing import play_on
from tests.server.tables.evenings import Guest, config, draw, play_round, signed_up
from tests.server.tables.hosted import begun

FRIDAY = EveningPlan("Friday", rounds=3)
HERE, THERE, ELSEWHERE = "198.51.100.1", "198.51.100.2", "198.51.100.3"


@pytest.fixture
def four_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "EVENING_PEOPLE", 4)


def behind_proxy(data: Path | None = None, clock: ManualClock | None = None) -> Config:
    """Return a configuration in which clients name their addresses themselves."""
    found = replace(config(FRIDAY, data), trusted_proxies=(ip_network("127.0.0.1"),), limits=Limits())
    return found if clock is None else replace(found, timers=lambda: clock)


@contextlib.asynccontextmanager
async def signed_up_from(server: Running, address: str, names: Sequence[str]) -> AsyncIterator[list[Guest]]:
    guests = [Guest(name) for name in names]
    async with contextlib.AsyncExitStack() as stack:
        for guest in guests:
            await guest.sign_up(await stack.enter_async_context(connected(server.port, address)))
        yield guests


async def refusal(server: Running, address: str, guest: Guest, **more: bool) -> str:
    async with connected(server.port, address) as peer:
        return await peer.refusal(messages.SignUp, guest.name, guest.token, **more)


def listed(server: Running) -> dict[str, str]:
    """Return how the people in the list take part."""
    assert server.lobby.evenings.running is not None
    return {each.name: each.takes_part for each in server.lobby.evenings.running.message().people}


async def sent_away(peer: Peer) -> str:
    """Return the code of what the peer was told without having asked."""
    while (refused := await peer.until(messages.Refused)).id is not None:
        pass
    return refused.code


@pytest.mark.usefixtures("four_places")
async def test_places_are_shared_by_address() -> None:
    """One address may have all of them until others come; then it is asked for one as long as it has more."""
    async with (
        running(behind_proxy()) as server,
        signed_up_from(server, HERE, ["A1", "A2", "A3", "A4"]) as crowd,
        signed_up_from(server, THERE, ["B1"]),
    ):
        assert await sent_away(crowd[3].peer) == Code.EVENING_FULL
        assert listed(server).keys() == {"A1", "A2", "A3", "B1"}
        assert await crowd[3].peer.refusal(messages.TakePart, "play") == Code.NOT_SIGNED_UP
        assert await refusal(server, HERE, crowd[3]) == Code.EVENING_FULL
        async with (
            signed_up_from(server, ELSEWHERE, ["C1"]),
            signed_up_from(server, "2001:db8::1", ["D1"]),
        ):
            assert listed(server).keys() == {"A1", "B1", "C1", "D1"}
            assert await refusal(server, "2001:db8:1::1", Guest("E1")) == Code.EVENING_FULL
            assert await refusal(server, HERE, Guest("A5")) == Code.EVENING_FULL


@pytest.mark.slow
async def test_a_whole_room_behind_one_address_has_its_places() -> None:
    """Forty guests of one address, and the others that come later."""
    async with (
        running(behind_proxy()) as server,
        signed_up_from(server, HERE, [f"A{number}" for number in range(40)]),
        signed_up_from(server, THERE, [f"B{number}" for number in range(EVENING_PEOPLE - 40)]),
    ):
        assert len(listed(server)) == EVENING_PEOPLE
        assert await refusal(server, HERE, Guest("A late")) == Code.EVENING_FULL


@pytest.mark.usefixtures("four_places")
async def test_who_leaves_gives_the_place_back() -> None:
    async with (
        running(behind_proxy()) as server,
        signed_up_from(server, HERE, ["A1", "A2"]) as (first, second),
        signed_up_from(server, THERE, ["B1", "B2"]) as (other, _),
    ):
        assert await refusal(server, ELSEWHERE, Guest("A1")) == Code.NAME_IN_USE
        await first.peer.done(messages.TakePart, "leave")
        assert listed(server)["A1"] == "leave"
        await first.peer.done(messages.TakePart, "play")  # there was room
        await first.peer.done(messages.TakePart, "leave")
        async with signed_up_from(server, HERE, ["A3"]):
            assert await sent_away(first.peer) == Code.NOT_SIGNED_UP
            assert listed(server).keys() == {"A2", "A3", "B1", "B2"}
            assert await first.peer.refusal(messages.TakePart, "play") == Code.NOT_SIGNED_UP
        assert await refusal(server, HERE, first, back=True) == Code.NOT_SIGNED_UP
        await second.peer.done(messages.TakePart, "leave")
        async with signed_up_from(server, ELSEWHERE, ["a2"]):  # the name as well
            assert "a2" in listed(server)
        await other.peer.done(messages.TakePart, "leave")


async def test_who_has_never_come_makes_room_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A phone may sleep for ten minutes; a restart begins them again."""
    monkeypatch.setattr(people, "EVENING_PEOPLE", 3)  # so few that no round is drawn
    clock = ManualClock()
    async with running(behind_proxy(tmp_path, clock)) as server:
        async with signed_up_from(server, HERE, ["A1"]) as (gone,):
            pass
        async with signed_up_from(server, THERE, ["B1", "B2"]):
            clock.advance(SECONDS_KEPT - 1)
            assert await refusal(server, THERE, Guest("A1")) == Code.NAME_IN_USE
            assert await refusal(server, THERE, Guest("B3")) == Code.EVENING_FULL
            async with connected(server.port, HERE) as peer:
                await gone.sign_up(peer)
            clock.advance(SECONDS_KEPT - 1)
            assert await refusal(server, THERE, Guest("B3")) == Code.EVENING_FULL
    async with (
        running(behind_proxy(tmp_path, clock)) as server,
        signed_up_from(server, THERE, ["B3"]),
    ):
        assert listed(server).keys() == {"A1", "B1", "B3"}  # the crowd's own, not the one who sleeps
        clock.advance(SECONDS_KEPT)
        async with signed_up_from(server, ELSEWHERE, ["A1"]):
            assert await refusal(server, HERE, gone, back=True) == Code.NOT_SIGNED_UP


@pytest.mark.usefixtures("four_places")
async def test_who_did_not_come_to_the_table_makes_room_and_who_plays_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many of one address play: nobody is sent away from a table."""
    monkeypatch.setattr("server.tables.evening.evening.SECONDS_TO_COME", 20.0)
    async with (
        running(behind_proxy()) as server,
        signed_up_from(server, HERE, ["A1", "A2", "A3"]) as guests,
        signed_up_from(server, THERE, ["B1"]) as (late,),
    ):
        draw(server)
        table = await guests[0].called(1)
        await late.peer.socket.close()
        for guest in guests:
            await guest.go(table)
        await guests[0].evening(lambda evening: any(p.takes_part == "pause" for p in evening.people))
        assert (
            await refusal(server, ELSEWHERE, Guest("C1")) == Code.EVENING_FULL
        )  # all have a seat at a table
        assert await refusal(server, ELSEWHERE, Guest("B1")) == Code.NAME_IN_USE
        await server.lobby.tables[table.table].close(None)
        await guests[0].evening(lambda evening: all(each.stage == "over" for each in evening.tables))
        async with signed_up_from(server, HERE, ["A4"]):  # an address that has most of them already
            assert listed(server).keys() == {"A1", "A2", "A3", "A4"}


async def test_a_table_to_which_nobody_comes_is_closed_without_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not the operator who closes it."""
    monkeypatch.setattr("server.tables.evening.evening.SECONDS_TO_COME", 4.0)
    guests = Guest("A"), Guest("B")
    async with running(config(FRIDAY)) as server, signed_up(server, guests):
        draw(server)
        await guests[0].evening(lambda evening: any(each.stage == "over" for each in evening.tables))
    assert not [record for record in caplog.records if record.name.startswith("server.tables")]


@pytest.mark.usefixtures("four_places")
def test_somebody_with_a_result_leaves_it_behind() -> None:
    """Who has played makes room last, keeps the row in the standings, and can come back."""
    begun = EveningBegun(FRIDAY)
    state = EveningState(begun)
    for entry in (
        *(PersonEntered(number, f"A{number}", f"hash {number}", "play", "aa.bb") for number in range(1, 5)),
        RoundDrawn([("BBBB", [1, 2, 3])]),
        PersonEntered(3, "A3", "hash 3", "pause", "aa.bb"),  # who did not come
        TableResult("BBBB", [(1, 30, 2), (2, 20, 2)]),
    ):
        state.fold(entry)
    known = people.People(state, _Same(), lambda: 0.0)  # type: ignore[arg-type]
    leaving = []
    for number in (5, 6, 7):
        room = known.room_for_newcomer(_Elsewhere(), f"B{number}")  # type: ignore[arg-type]
        leaving += [(entry.person, entry.name, entry.takes_part) for entry in room]
        for entry in (*room, PersonEntered(number, f"B{number}", f"hash {number}", "play", f"c{number}")):
            state.fold(entry)
    assert leaving == [(3, "", "leave"), (4, "", "leave"), (2, "A2", "leave")]
    assert [score.person for score in known.listed()] == [1, 5, 6, 7]  # as many as there are places
    assert {2} == {score.person for score in state.scores()} - {1, 5, 6, 7}
    assert {number for number, each in state.people.items() if each.takes_part == "play"} == {1, 5, 6, 7}


class _Same:
    """Stands in for the pseudonyms of addresses."""

    def of(self, address: Sequence[str]) -> str:
        return ".".join(address)


class _Elsewhere:
    address = ("somewhere else",)


async def test_whoever_was_removed_is_told_and_cannot_come_back(tmp_path: Path) -> None:
    """Not with the same token, nor after a restart; the name is free, and nobody sees them in the list."""
    names = ["Anna", "Ben", "Cid"]
    async with (
        running(behind_proxy(tmp_path)) as server,
        signed_up_from(server, HERE, names) as (anna, ben, _),
    ):
        assert server.lobby.evenings.running is not None
        assert not await server.lobby.evenings.running.remove("Nobody")
        assert await server.lobby.evenings.running.remove("anna")  # names that look alike are one
        assert await sent_away(anna.peer) == Code.REMOVED_FROM_EVENING
        assert listed(server).keys() == {"Ben", "Cid"}
        for back in (True, False):
            assert await refusal(server, HERE, anna, back=back) == Code.REMOVED_FROM_EVENING
        assert await anna.peer.refusal(messages.TakePart, "play") == Code.NOT_SIGNED_UP
        await ben.evening(lambda evening: len(evening.people) == 2)
    async with running(behind_proxy(tmp_path)) as server:
        assert await refusal(server, HERE, anna) == Code.REMOVED_FROM_EVENING
        async with signed_up_from(server, THERE, ["Anna"]):
            assert listed(server).keys() == {"Anna", "Ben", "Cid"}


async def test_a_lost_phone_keeps_its_place_and_its_points(tmp_path: Path) -> None:
    """The host gives both to another one, in the middle of a game too; the lost one is told, and out."""
    async with (
        running(config(FRIDAY, tmp_path)) as server,
        connected(server.port) as found,
        connected(server.port) as late,
    ):
        guests = [Guest(name) for name in ("Anna", "Bruno", "Carla")]
        evening = server.lobby.evenings.running
        assert evening is not None
        async with signed_up(server, guests):
            draw(server)
            await play_round(guests, 1, random.Random(1))
            for guest in guests:
                await guest.evening(
                    lambda evening: not any(each.stage == "playing" for each in evening.tables)
                )
            draw(server)
            table = await guests[0].called(2)
            for guest in guests:
                await guest.go(await guest.called(2))
            lost = guests[0].token
            before = [(each.name, each.score) for each in evening.message().people]
            assert await evening.hand_over_person("Nobody") is None
            given = await evening.hand_over_person("anna")
            assert given is not None
            assert (await guests[0].peer.closed())[0] == CloseCode.TAKEN_OVER
            assert await found.refusal(messages.SignUp, "Anna", lost, back=True) == Code.NOT_SIGNED_UP
            assert await found.refusal(messages.Resume, table.table, lost) == Code.BAD_TOKEN
            guests[0].token = secrets.token_urlsafe(32)
            for peer in (found, late):  # as if the first answer had been lost
                again = await peer.answer(
                    messages.SignedUp, messages.SignUp, "-", given, new_token=guests[0].token, back=True
                )
                assert again.person == guests[0].person
            guests[0].peer = late
            assert await connected_refusal(server, "Anna", given) == Code.NOT_SIGNED_UP
            await guests[0].go(table)
            assert [(each.name, each.score) for each in evening.message().people] == before
            await begun(*(guest.peer for guest in guests))
            await play_on([guest.peer for guest in guests], random.Random(2))
            await guests[0].evening(lambda evening: evening.people[0].games == 2)


async def connected_refusal(server: Running, name: str, token: str) -> str:
    async with connected(server.port) as peer:
        return await peer.refusal(messages.SignUp, name, token, back=True)


async def test_whoever_was_removed_ends_the_game_that_they_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.tables.evening.evening.SECONDS_TO_COME", 20.0)
    guests = [Guest(f"Guest {number}") for number in range(4)]
    async with running(config(FRIDAY)) as server, signed_up(server, guests):
        draw(server)
        table = await guests[0].called(1)
        for guest in guests[1:]:
            await guest.go(table)
        assert server.lobby.evenings.running is not None
        assert await server.lobby.evenings.running.remove("Guest 0")
        await guests[0].go(table)
        told = await guests[1].evening(lambda evening: any(p.takes_part == "leave" for p in evening.people))
        assert [each.name for each in told.people if each.takes_part == "leave"] == ["Guest 0"]


def test_shortening_an_evening_keeps_all_that_counts() -> None:
    found = [
        EveningBegun(FRIDAY),
        PersonEntered(1, "Anna", "hash 1", "play", "aa"),
        PersonEntered(2, "Ben", "hash 2", "play", "aa"),
        PersonEntered(3, "Cid", "hash 3", "play", "aa"),
        Countdown(100),
        Countdown(),
        Countdown(150),
        RoundDrawn([("BBBB", [1, 2])], at=200),
        TableResult("BBBB", [(1, 30, 2), (2, 20, 2)]),
        Countdown(300),
        PersonEntered(3, "", "", "leave"),
        PersonEntered(1, "Anna", "hash 1", "leave", "aa", removed=True),
        stored.EveningClosed(),
    ]
    live = live_entries(found)
    assert live == [0, 2, 7, 8, 9, 11, 12]
    whole, short = EveningState(found[0]), EveningState(found[0])
    for number, entry in enumerate(found[1:], 1):
        whole.fold(entry)
        if number in live:
            short.fold(entry)
    assert (whole.people, whole.tables, whole.scores()) == (short.people, short.tables, short.scores())
    assert (whole.played, whole.called, whole.closed) == (short.played, short.called, short.closed)
    assert (whole.countdown, whole.round_drawn) == (short.countdown, short.round_drawn) == (300, 200)

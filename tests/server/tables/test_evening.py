"""Evenings: from signing up to the standings over sockets, and what is drawn for each round."""

import asyncio
import itertools
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from engine.draws import Bytes32, commitment_to
from engine.events import GameEnded, GameStarted, LaurelsDealt, LayoutDrawn
from palatinus import main
from protocol import messages
from protocol.admin import EveningPlan
from protocol.codes import Code
from server.app import running
from server.errors import JournalError
from server.net.tokens import token_hash
from server.refusal import Refusal
from server.storage.entries import (
    Entry,
    EveningBegun,
    EveningClosed,
    Opened,
    PersonEntered,
    RoundDrawn,
    TableResult,
)
from server.storage.names import EVENING
from server.tables.evening.rounds import (
    PATIENCE,
    Pair,
    draw_tables,
    meetings,
    standings,
    table_sizes,
    tables_now,
)
from server.tables.evening.state import EveningState
from tests.games import rest_slow
from tests.server.manual_clock import ManualClock, clock_of_day
from tests.server.match import LIMITS
from tests.server.peer import connected, eventually
from tests.server.playing import game, play_on
from tests.server.storage.test_journal import full_disk
from tests.server.tables.evenings import Guest, config, draw, play_round, signed_up
from tests.server.tables.hosted import begun
from tests.server.tables.registry.test_archive import unattended_games

FRIDAY = EveningPlan("Friday")
ROUNDS = EveningPlan("Friday", rounds=2, same_draws=True)


async def test_an_evening_in_rounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seven people play two rounds with the same draws, with a restart in between; nobody meets again."""
    guests, rng = [Guest(f"Guest {number}") for number in range(7)], random.Random(1)
    async with running(config(ROUNDS, tmp_path)) as server, signed_up(server, guests):
        draw(server)
        await play_round(guests, 1, rng)
        first = await guests[0].evening(lambda evening: all(each.games == 1 for each in evening.people))
        starts = [
            {type(event): event for event in guest.peer.seen if isinstance(event, LayoutDrawn | LaurelsDealt)}
            for guest in guests
        ]
        assert all(each == starts[0] for each in starts)
        ends = [event for guest in guests for event in guest.peer.seen if isinstance(event, GameEnded)]
        begun = [event for guest in guests for event in guest.peer.seen if isinstance(event, GameStarted)]
        assert {commitment_to(Bytes32(end.seed or "")) for end in ends} == {first.commitments[0]}
        assert {start.draws and start.draws.commitment for start in begun} == {first.commitments[0]}
    async with running(config(ROUNDS, tmp_path)) as server, signed_up(server, guests):
        again = await guests[0].evening(lambda evening: sum(each.here for each in evening.people) == 7)
        assert [(each.person, each.place, each.score) for each in again.people] == [
            (each.person, each.place, each.score) for each in first.people
        ]
        assert again.commitments == first.commitments
        draw(server)
        await play_round(guests, 2, rng)
        over = await guests[0].evening(lambda evening: evening.over)
        assert [each.games for each in over.people] == [2] * 7
        assert {len(table.people) for table in (*first.tables, *over.tables)} == {3, 4}
        assert abs(sum(each.average for each in over.people) - 7 * 5000) < 7  # half, but for rounding
        assert abs(sum(each.score for each in over.people) - 2 * 7 * 5000) < 7
        assert await guests[0].peer.refusal(messages.SignUp, "Late", Guest("").token) == Code.NO_EVENING
    assert main(["history", "--records", str(tmp_path / "records"), "standings", "--evening", "--json"]) == 0
    shown = [(each["name"], each["place"], each["games"]) for each in json.loads(capsys.readouterr().out)]
    assert shown == [(each.name, each.place, each.games) for each in over.people]
    (record,) = (tmp_path / "records").glob("evening-*.json")
    assert main(["history", "--records", str(tmp_path), "standings", "--evening"]) == 0
    assert "No evenings are recorded here." in capsys.readouterr().out
    secrets_of = [text for guest in guests for text in (guest.token, token_hash(guest.token))]
    assert not any(text in record.read_text() for text in secrets_of)


async def test_the_tables_of_a_round_take_the_places_of_games_that_everybody_has_left(tmp_path: Path) -> None:
    full = replace(config(ROUNDS, tmp_path), limits=replace(LIMITS, tables=2))
    guests = [Guest(f"Guest {number}") for number in range(8)]
    async with running(full) as server:
        left = await unattended_games(server, 2)
        async with signed_up(server, guests):
            draw(server)
            tables = {(await guest.called(1)).table for guest in guests}
            assert server.lobby.tables.keys() == tables
            assert {peers[0].code for peers in left} <= {*server.lobby.journal.archived}


@pytest.mark.slow
async def test_a_countdown_continues_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the server restarts, the first round comes; people have time to return before it does."""
    guests, clock = [Guest(f"Guest {number}") for number in range(3)], clock_of_day(monkeypatch)
    held = replace(config(EveningPlan("Friday", rounds=2), tmp_path), timers=lambda: clock)

    async def left(awaited: str | None, *, after: float, here: int = 3) -> int:
        """Return what is left until something, so many seconds after a start of the server."""
        async with running(held) as server, signed_up(server, guests[:here]):
            evening = server.lobby.evenings.running
            assert evening is not None
            for _ in range(round(2 * after)):
                clock.advance(0.5)
                await guests[0].peer.ask(messages.Ping)
            await eventually(lambda: evening.shown().awaited == awaited)
            return evening.shown().seconds

    first = await left("draw", after=100)
    assert await left("draw", after=100) == first - 100
    clock.advance(1000)  # while no server runs
    assert await left("draw", after=10, here=1) == 10
    await left(None, after=25, here=1)  # nobody to play with has returned
    await left(None, after=25, here=2)
    await left("draw", after=1)
    clock.advance(1000)
    called = await left("begin", after=25)
    assert called < 60
    assert await left("begin", after=0) == called
    clock.advance(1000)
    assert await left("begin", after=0) == 20


async def test_a_countdown_outlasts_lost_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """For as long as people need to come back: else the first round of those with poor lines never came."""
    guests, clock = [Guest(f"Guest {number}") for number in range(3)], clock_of_day(monkeypatch)
    held = replace(config(EveningPlan("Friday", rounds=2)), timers=lambda: clock)

    async def wait(seconds: int) -> None:
        for _ in range(2 * seconds):
            clock.advance(0.5)
            await guests[0].peer.ask(messages.Ping)

    async with running(held) as server, signed_up(server, guests[:1]):
        evening = server.lobby.evenings.running
        assert evening is not None

        async def here(people: int) -> None:
            await eventually(lambda: sum(each.here for each in evening.message().people) == people)

        async with signed_up(server, guests[1:]):
            await here(3)
            await wait(60)
            assert evening.shown().awaited == "draw"
            first = evening.shown().seconds
        await here(1)
        await wait(15)
        async with signed_up(server, guests[1:]):
            await here(3)
            await wait(1)
            assert evening.shown().seconds == first - 16
        await here(1)
        await wait(25)
        assert evening.shown().awaited is None
        with pytest.raises(Refusal, match="too few people"):
            draw(server)


async def test_who_waits_for_others_has_waited_before_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guests, clock = [Guest(f"Guest {number}") for number in range(3)], clock_of_day(monkeypatch)
    held = replace(config(FRIDAY, tmp_path), timers=lambda: clock)

    async def wait(seconds: int) -> None:
        for _ in range(2 * seconds):
            clock.advance(0.5)
            await guests[0].peer.ask(messages.Ping)

    async with running(held) as server, signed_up(server, guests):
        evening = server.lobby.evenings.running
        assert evening is not None
        while evening.state.countdown is None:  # it is stored
            await wait(1)
        await wait(60)
        assert evening.state.round == 0
    async with running(held) as server, signed_up(server, guests):
        evening = server.lobby.evenings.running
        assert evening is not None
        await wait(60)  # less than they would have to wait from here on
        await eventually(lambda: evening.state.round == 1)


async def test_what_a_room_is_shown_of_an_evening() -> None:
    """What everybody waits for, who has come to their table, and how the standings were before the round."""
    guests, rng = [Guest(f"Guest {number}") for number in range(3)], random.Random(1)
    async with running(config(EveningPlan("Friday", rounds=2))) as server, signed_up(server, guests):
        evening = server.lobby.evenings.running
        assert evening is not None
        await eventually(lambda: evening.shown().awaited == "draw")
        draw(server)
        table = await guests[0].called(1)
        shown = evening.shown()
        assert (shown.awaited, shown.come, shown.calls) == ("begin", frozenset(), True)
        await guests[0].go(table)
        assert evening.shown().come == {guests[0].person}
        for guest in guests[1:]:
            await guest.go(table)
        peers = [guest.peer for guest in guests]
        await begun(*peers)
        shown = evening.shown()
        assert (shown.awaited, shown.calls) == ("end", False)
        await play_on(peers, rng)
        first = await guests[0].evening(lambda evening: all(each.games == 1 for each in evening.people))
        assert evening.shown().before == {guest.person: (1, 0) for guest in guests}
        draw(server)
        await guests[0].called(2)
        assert evening.shown().before == {each.person: (each.place, each.score) for each in first.people}


async def test_an_evening_in_free_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four people get a table immediately; a bot plays for the one who does not come, until they do.

    Nor does one who leaves the evening, who is not said to pause.
    """
    monkeypatch.setattr("server.tables.evening.evening.SECONDS_TO_COME", 20.0)
    guests = [Guest(f"Guest {number}") for number in range(4)]
    async with running(config(EveningPlan("Friday", minutes=5))) as server, signed_up(server, guests):
        table = await guests[0].called(1)
        late, left, *here = guests
        await left.peer.done(messages.TakePart, "leave")
        for guest in here:
            await guest.go(table)
        await begun(*(guest.peer for guest in here))  # the first one has not come after a minute
        evening = await here[0].evening(lambda evening: any(p.takes_part == "pause" for p in evening.people))
        take_part = {p.person: p.takes_part for p in evening.people}
        assert (take_part[late.person], take_part[left.person]) == ("pause", "leave")
        await late.go(table)
        assert server.lobby.tables[table.table].state.bot_seats == {table.people.index(left.person)}


async def test_connections_that_come_and_go_are_no_news() -> None:
    """Everybody would be sent everything each time; who is here is told with the next change, or later."""
    guests = [Guest(f"Guest {number}") for number in range(2)]
    clock = ManualClock()
    slow = replace(config(ROUNDS), timers=lambda: clock)
    async with running(slow) as server, signed_up(server, guests):
        reader = guests[0]

        async def told(seconds: float) -> list[list[bool]]:
            """Return who is said to be here in all that is told within so many seconds."""
            before = len(reader.peer.received)
            for _ in range(round(seconds * 2)):
                clock.advance(0.5)
                await reader.peer.ask(messages.Ping)
            new = [each for each in reader.peer.received[before:] if isinstance(each, messages.Evening)]
            return [[person.here for person in each.people] for each in new]

        await told(20)
        await guests[1].peer.socket.close()
        seen = []
        for _ in range(3):
            async with connected(server.port) as other:
                await guests[1].sign_up(other)
                seen += await told(1)
            seen += await told(1)
        assert len(seen) <= 1
        assert [*seen, *await told(20)][-1] == [True, False]


async def test_an_evening_gives_way_in_one_step(tmp_path: Path) -> None:
    """Nothing is lost between the two; what is being stored comes first, and the first stores no more."""
    async with running(config(ROUNDS, tmp_path)) as server, connected(server.port) as peer:
        guest, first = Guest("Anna"), server.lobby.evenings.running
        assert first is not None
        await guest.sign_up(peer)
        with full_disk(server), pytest.raises(JournalError):
            await server.lobby.evenings.begin(EveningPlan("Saturday"))
        await guest.peer.done(messages.TakePart, "pause")  # the first one goes on
        before = sum(server.lobby.journal.commits.counts)
        await asyncio.gather(first.close(), server.lobby.evenings.begin(EveningPlan("Saturday")))
        second = server.lobby.evenings.running
        assert second is not None
        sunday = server.lobby.evenings.begin(EveningPlan("Sunday"))
        _, refusal = await asyncio.gather(sunday, second.close(), return_exceptions=True)
        assert isinstance(refusal, Refusal)
        assert sum(server.lobby.journal.commits.counts) == before + 3
        assert await peer.refusal(messages.SignUp, "Anna", guest.token, back=True) == Code.NOT_SIGNED_UP


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param([EveningClosed()], id="begins with nothing"),
        pytest.param([EveningBegun(ROUNDS)], id="no seed for the same draws"),
        pytest.param([EveningBegun(FRIDAY), TableResult("ZZZZ", [])], id="the result of no table"),
        pytest.param([EveningBegun(FRIDAY), Opened(2, False, None)], id="an entry of a table"),
        pytest.param(
            [EveningBegun(FRIDAY), RoundDrawn([("BBBB", [1, 2])]), TableResult("BBBB", [(3, 9, 1)])],
            id="the result of somebody else",
        ),
    ],
)
async def test_an_evening_that_makes_no_sense_is_set_aside(tmp_path: Path, odd: Sequence[Entry]) -> None:
    """Everything else starts; no other evening takes its place until the host has restored or removed it."""
    async with running(config(None, tmp_path)) as server:
        async with game(server.port, 2) as (peer, _):
            code = peer.code
        await server.lobby.journal.append(EVENING, 0, odd)
    for _ in range(2):  # it is set aside once, and stays so
        async with running(config(FRIDAY, tmp_path)) as server:
            assert server.lobby.tables.keys() == {code}
            assert server.lobby.evenings.running is None
            assert server.lobby.journal.codes_set_aside == {EVENING}
            with pytest.raises(Refusal) as refused:
                await server.lobby.evenings.begin(FRIDAY)
            assert refused.value.code == Code.TABLE_DAMAGED
    async with running(config(FRIDAY, tmp_path)) as server:
        (report,) = await server.lobby.journal.reports([EVENING])
        restored = await server.lobby.evenings.restore_set_aside()
        assert restored is (len(odd) > 1)  # then its first entry makes sense
        assert (report.damaged, report.lost) == (True, not restored)
        if not restored:
            await server.lobby.registry.close(EVENING, None)
    async with running(config(FRIDAY, tmp_path)) as server:
        assert server.lobby.evenings.running is not None
        assert not server.lobby.journal.codes_set_aside


async def test_who_may_not_know_or_do_what() -> None:
    """With the same draws all tables begin together, nobody watches, and nothing can be chosen."""
    guests = [Guest(f"Guest {number}") for number in range(6)]
    async with (
        running(config(ROUNDS)) as server,
        signed_up(server, guests),
        connected(server.port) as other,
    ):
        draw(server)
        tables = [await guest.called(1) for guest in guests]
        mine = [guest for guest in guests if guest.person in tables[0].people]
        others = [guest for guest in guests if guest not in mine]
        assert (len(mine), len(others)) == (3, 3)
        for guest in mine:
            await guest.go(tables[0])
        assert await other.refusal(messages.Watch, tables[0].table) == Code.NO_SPECTATORS
        assert await other.refusal(messages.JoinTable, tables[0].table, "Other") == Code.OF_THE_EVENING
        peer = mine[0].peer
        for kind, *facts in ((messages.ChoosePeople, "E"), (messages.StartGame,)):
            assert await peer.refusal(kind, *facts) == Code.OF_THE_EVENING
        for guest in others[1:]:
            await guest.go(await guest.called(1))
        await peer.done(messages.Leave)
        assert all(table.state.game is None for table in server.lobby.tables.values())
        seed = server.lobby.evenings.running.state.seeds[0] if server.lobby.evenings.running else ""
        await mine[0].peer.resume(tables[0].table, mine[0].token)
        await others[0].go(await others[0].called(1))
        await begun(*(guest.peer for guest in guests))
        frames = b"".join(frame for guest in guests for frame in guest.peer.frames)
        assert seed.encode() not in frames
        assert bytes.fromhex(seed) not in frames


async def test_refusals() -> None:
    """Names are told apart, only those who have signed up take part, and tokens are one person's."""
    async with running(config(None)) as server, connected(server.port) as peer:
        for message in (
            messages.AskEvening(peer.next_id()),
            messages.SignUp(peer.next_id(), "Anna", Guest("").token),
        ):
            assert await peer.refusal(message) == Code.NO_EVENING
        await server.lobby.evenings.begin(EveningPlan("Friday"))
        assert await peer.refusal(messages.TakePart, "pause") == Code.NOT_SIGNED_UP
        one, other = Guest("Anna"), Guest("anna")
        await one.sign_up(peer)
        async with connected(server.port) as second:
            refused = await second.answer(messages.Refused, messages.SignUp, other.name, other.token)
            assert refused.code == Code.NAME_IN_USE
            other.token = one.token
            await other.sign_up(second)
            assert other.person == one.person
        await peer.done(messages.TakePart, "pause")
        evening = await one.evening(lambda evening: evening.people[0].takes_part == "pause")
        assert [(each.name, each.here) for each in evening.people] == [("Anna", True)]


_EVENINGS = 500  # of each kind, in parts
_PARTS = rest_slow(*range(10))


def test_table_sizes() -> None:
    """Tables have 3 to 5 people, nearly the same number; two people play with each other, nobody alone."""
    assert not [*table_sizes(1), *table_sizes(0), *draw_tables([7], {}, random.Random(1))]
    assert table_sizes(2) == [2]
    for people in range(3, 65):
        sizes = table_sizes(people)
        assert sum(sizes) == people
        assert 3 <= min(sizes) <= max(sizes) <= min(5, min(sizes) + 1)


def _repeats(tables: Sequence[Sequence[int]], met: Mapping[Pair, int]) -> list[int]:
    """Return how often pairs of these tables have met, the most first: fewer is less in this order."""
    return sorted((met.get(pair, 0) for pair in meetings(tables)), reverse=True)


def _check_draw(tables: list[list[int]], free: set[int], met: Mapping[Pair, int]) -> None:
    """Check that everybody sits once, and that no exchange of two people would bring fewer repeats."""
    assert sorted(itertools.chain(*tables)) == sorted(free)
    for here, there in itertools.combinations(range(len(tables)), 2):
        before = _repeats((tables[here], tables[there]), met)
        if not any(before):
            continue
        for one, other in itertools.product(tables[here], tables[there]):
            changed = [
                [other if each == one else one if each == other else each for each in tables[at]]
                for at in (here, there)
            ]
            assert _repeats(changed, met) >= before


@pytest.mark.parametrize("part", _PARTS)
def test_evenings_in_rounds(part: int) -> None:
    for seed in range(part, _EVENINGS, len(_PARTS)):
        rng = random.Random(seed)
        here, ids = set(range(rng.randint(4, 40))), itertools.count(100)
        played: list[list[int]] = []
        for number in range(rng.randint(2, 7)):
            met = meetings(played)
            tables = draw_tables(here, met, rng)
            if len(here) > 1:
                if number % 3 == 2:  # takes longer than the draw
                    _check_draw(tables, here, met)
                assert sorted(itertools.chain(*tables)) == sorted(here)
            played += tables
            here -= {person for person in here if rng.random() < 0.1}
            here |= {next(ids) for _ in range(rng.choice((0, 0, 1, 2)))}


@pytest.mark.slow
@pytest.mark.parametrize("part", _PARTS)
def test_evenings_in_free_order(part: int) -> None:
    for seed in range(part, _EVENINGS, len(_PARTS)):
        _play_in_free_order(random.Random(seed))


def _play_in_free_order(rng: random.Random) -> None:
    now, played = 0.0, list[list[int]]()
    running: dict[int, tuple[float, list[int]]] = {}
    arrivals = sorted((rng.random() * 3600.0, person) for person in range(rng.randint(4, 40)))
    leaves = {person: at + rng.random() * 10_000.0 for at, person in arrivals}
    waiting: dict[int, float] = {}
    ended_while_waiting: dict[int, int] = {}
    while arrivals or running or len(waiting) > 1:
        moments = [at for at, _ in running.values()] + [at for at, _ in arrivals[:1]]
        if waiting:
            moments += [at for at in [min(waiting.values()) + PATIENCE] if at > now]
        assert moments, "everybody waits for ever"
        now = min(moments)
        while arrivals and arrivals[0][0] <= now:
            person = arrivals.pop(0)[1]
            waiting[person], ended_while_waiting[person] = now, 0
        for number in [number for number, (at, _) in running.items() if at <= now]:
            for person in waiting:
                ended_while_waiting[person] += 1
            for person in running.pop(number)[1]:
                waiting[person], ended_while_waiting[person] = now, 0
        waiting = {person: since for person, since in waiting.items() if leaves[person] > now}
        waited = now - min(waiting.values(), default=now)
        tables = tables_now(
            list(waiting), meetings(played), rng, others_play=bool(running), waited=waited + 1e-6
        )
        for table in tables:
            running[len(played)] = (now + 600.0 + rng.random() * 1800.0, table)
            played.append(table)
            for person in table:
                assert now - waiting.pop(person) <= PATIENCE + 1 or ended_while_waiting[person] or len(tables)
        # Whoever has waited long enough is alone, or two people wait for those who still play.
        assert all(
            now - since < PATIENCE or len(waiting) == 1 or (len(waiting) == 2 and running)
            for since in waiting.values()
        )


@pytest.mark.parametrize(
    ("people", "rounds"), [(16, 3), (28, 4), pytest.param(40, 5, marks=pytest.mark.slow)]
)
def test_nobody_meets_again_while_the_others_are_new(people: int, rounds: int) -> None:
    for seed in range(10):
        played = list[list[int]]()
        for _ in range(rounds):
            played += draw_tables(range(people), meetings(played), random.Random(seed))
        assert set(meetings(played).values()) == {1}


def test_a_table_begins_when_enough_people_wait() -> None:
    """Four new people start immediately; three, or people who have met, wait a while for others."""
    rng = random.Random(1)
    assert tables_now([1, 2, 3, 4], {}, rng, others_play=True, waited=0)
    for free, met in ([1, 2, 3], {}), ([1, 2, 3, 4], {(1, 2): 1}):
        assert tables_now(free, met, rng, others_play=True, waited=PATIENCE - 1) == []
        assert tables_now(free, met, rng, others_play=True, waited=PATIENCE)
    assert tables_now([1, 2], {}, rng, others_play=True, waited=1000) == []
    assert tables_now([1, 2], {}, rng, others_play=False, waited=1000)


def rounds_of(origins: Mapping[int, str], rounds: int) -> list[list[list[int]]]:
    """Return the tables of so many rounds for people of these origins."""
    rng, drawn = random.Random(1), list[list[list[int]]]()
    for _ in range(rounds):
        met = meetings(table for tables in drawn for table in tables)
        drawn.append(draw_tables(origins, met, rng, origins))
    return drawn


def strangers_together(tables: Sequence[Sequence[int]], origins: Mapping[int, str]) -> int:
    """Return how many pairs of one origin sit at tables with somebody of another one."""
    mixed = [[origins[each] for each in table] for table in tables]
    pairs = [itertools.combinations(each, 2) for each in mixed if len(set(each)) > 1]
    return sum(one == other for each in pairs for one, other in each)


@pytest.mark.parametrize("strangers", [3, 12, 40, 72])
def test_one_address_does_not_surround_people_from_elsewhere(strangers: int) -> None:
    """At first, friends meet at most one of those who have signed up from it; later, few at a time."""
    origins = {number: "stranger" if number > 8 else f"friend {number}" for number in range(1, 9 + strangers)}
    first, *later = rounds_of(origins, 3)
    assert all(
        sorted(each for table in tables for each in table) == sorted(origins) for tables in (first, *later)
    )
    assert strangers_together(first, origins) == 0
    _, *otherwise = rounds_of(
        {number: str(number) for number in origins}, 3
    )  # as if each came from elsewhere
    with_rule, without = (
        sum(strangers_together(each, origins) for each in found) for found in (later, otherwise)
    )
    assert with_rule <= without / 2


def test_a_room_behind_one_address_is_drawn_as_any_other() -> None:
    """And households are not put together, nor does a room with two addresses stay divided."""
    drawn = rounds_of(dict.fromkeys(range(1, 41), "room"), 3)
    assert not any(times > 1 for times in meetings(table for tables in drawn for table in tables).values())
    couples = {number: f"couple {number // 2}" for number in range(24)}
    assert not any(strangers_together(tables, couples) for tables in rounds_of(couples, 3))
    halves = {number: "by IPv4" if number <= 12 else "by IPv6" for number in range(1, 25)}
    met = meetings(table for tables in rounds_of(halves, 4) for table in tables)
    assert sum(halves[one] != halves[other] for one, other in met) > len(met) // 4
    assert sum(times > 1 for times in met.values()) < len(met) // 10


def test_standings() -> None:
    """A game is worth the part of the people left behind, whatever the table's size; ties are shared (R7)."""
    results = [[(1, 30, 5), (2, 20, 5), (3, 20, 5)], [(1, 9, 1), (2, 9, 0)], [(6, 50, 9)]]
    scores = standings(range(1, 7), results)
    assert [(each.person, each.place, each.tied, each.score) for each in scores] == [
        (1, 1, False, Fraction(2)),
        (6, 2, False, Fraction(1, 2)),  # played with bots alone
        (2, 3, True, Fraction(1, 4)),
        (3, 3, True, Fraction(1, 4)),
        (4, 5, True, Fraction(0)),
        (5, 5, True, Fraction(0)),
    ]
    assert [each.average for each in scores[:3]] == [Fraction(1), Fraction(1, 2), Fraction(1, 8)]
    assert [(each.games, each.wins, each.points) for each in scores[:2]] == [(2, 2, 39), (1, 0, 50)]
    assert (scores[4].games, scores[4].average) == (0, Fraction(0))
    assert scores[0].against == {2: (2, 2, 0), 3: (1, 1, 0)}
    assert scores[3].against == {1: (1, 0, 1), 2: (1, 0, 0)}


def test_a_missed_round_is_worth_nothing() -> None:
    """Nobody wins by staying away once they lead, and who came last each time is before who never played."""
    first, second = [(1, 30, 5), (2, 20, 5), (3, 10, 5)], [(2, 30, 5), (3, 20, 5)]
    scores = standings(range(1, 5), [first, second])
    assert [(each.person, each.place, each.score) for each in scores] == [
        (2, 1, Fraction(3, 2)),
        (1, 2, Fraction(1)),
        (3, 3, Fraction(0)),
        (4, 4, Fraction(0)),
    ]


def test_the_standings_are_made_once_for_all_who_ask() -> None:
    """They take so long that whoever asked often would hold up every table; each result makes new ones."""
    state = EveningState(EveningBegun(EveningPlan("Friday")))
    for number in (1, 2):
        state.fold(PersonEntered(number, f"N{number}", "", "play"))
    state.fold(RoundDrawn([("AAAA", [1, 2])]))
    before = state.scores()
    assert state.scores() is before
    state.fold(TableResult("AAAA", [(2, 30, 3), (1, 20, 3)]))
    assert [score.person for score in state.scores()] == [2, 1]
    assert [score.wins for score in before] == [0, 0]

"""An IPv6 network of 48 bits is free to have; whoever has one has no more than a few addresses' limits."""

import asyncio

from server.limits.networks import Networks, Origins, networks_in, networks_of, shares, who_gives_way
from server.limits.rate_limits import PerMinuteLimit
from server.limits.turns import InTurn, Turns
from server.storage.archive_index import ArchivedGame, ArchiveIndex
from tests.cases import cases

HERE = networks_of("198.51.100.7")


def of_one_48(number: int) -> Networks:
    return networks_of(f"2001:db8:7:{number:x}::1")


def test_an_ipv6_address_counts_as_its_networks() -> None:
    for address, *counted in cases(__file__, "networks"):
        assert networks_of(address) == tuple(counted)


def test_each_network_may_have_a_multiple_of_the_one_inside_it() -> None:
    """But not all that there is: half of it at most, unless one address may have more."""
    assert [share for _, share in shares(of_one_48(1), 10)] == [10, 20, 40]
    assert [share for _, share in shares(of_one_48(1), 250, 1000)] == [250, 500, 500]
    assert [share for _, share in shares(of_one_48(1), 250, 100)] == [250, 250, 250]
    assert [share for _, share in shares(HERE, 250, 1000)] == [250]


def test_many_networks_guess_no_more_often_than_a_few_addresses() -> None:
    limit = PerMinuteLimit(3)
    guesses = 0
    for number in range(1000):
        if limit.wait(of_one_48(number), 0.0) == 0:
            limit.count(of_one_48(number), 0.0)
            guesses += 1
    assert guesses == 12
    assert limit.wait(of_one_48(7), 59.0) == 1
    assert limit.wait(HERE, 0.0) == 0


def test_many_networks_have_one_turn() -> None:
    """Whoever else asks waits for one of them, and they take turns among themselves."""
    turns: Turns[str] = Turns()
    for number in (0, 1, 0x100, 0):
        turns.add(of_one_48(number), f"network {number}")
    turns.add(HERE, "here")
    turns.add(HERE, "here again")
    done = [turns.next() for _ in range(7)]
    assert done == ["network 0", "here", "network 256", "here again", "network 1", "network 0", None]


async def test_whoever_asks_most_often_holds_the_lock_no_more_often() -> None:
    """40 guests of one address made all others wait for 40 hints; who gives up waiting delays nobody."""
    lock, done = InTurn(), []

    async def hold(networks: Networks, name: str) -> None:
        async with lock.turn(networks):
            done.append(name)
            await asyncio.sleep(0)

    loud = [asyncio.create_task(hold(of_one_48(number), f"loud {number}")) for number in range(4)]
    quiet = asyncio.create_task(hold(HERE, "quiet"))
    await asyncio.sleep(0)
    loud[1].cancel()
    await asyncio.wait([*loud, quiet])
    assert done == ["loud 0", "quiet", "loud 2", "loud 3"]
    await hold(HERE, "later")


async def test_who_has_just_held_the_lock_lets_others_go_first() -> None:
    """Guests who asked without end were served twice before anybody else, with one of them still served."""
    lock, done, ended = InTurn(), list[str](), asyncio.Event()

    async def hold(networks: Networks, name: str) -> None:
        async with lock.turn(networks):
            done.append(name)
            await ended.wait()

    loud = [asyncio.create_task(hold(of_one_48(number), f"loud {number}")) for number in range(3)]
    await asyncio.sleep(0)
    quiet = asyncio.create_task(hold(HERE, "quiet"))
    await asyncio.sleep(0)
    ended.set()
    await asyncio.wait([*loud, quiet])
    assert done == ["loud 0", "quiet", "loud 1", "loud 2"]


def test_what_is_wanted_no_more_is_nobodys_turn() -> None:
    turns: Turns[str] = Turns()
    for work in ("given up", "given up", "loud"):
        turns.add(of_one_48(1), work)
    turns.add(HERE, "quiet")
    turns.add(HERE, "quiet again")
    wanted = [turns.next(lambda work: work != "given up") for _ in range(4)]
    assert wanted == ["loud", "quiet", "quiet again", None]
    assert not turns


def test_games_of_many_networks_do_not_displace_those_of_others() -> None:
    index, origins = ArchiveIndex(share=3), Origins()
    index.add("friends", ArchivedGame(origins.of(HERE), played=False))
    for number in range(100):
        newest = ArchivedGame(origins.of(of_one_48(number)), played=True)
        displaced = index.displaced_by(str(number), newest, most=20)
        index.add(str(number), newest)
        for code in displaced:
            index.discard(code)
    assert "friends" in index.codes
    assert len(index.codes) == 20


def test_an_archive_whose_limit_was_lowered_shrinks_step_by_step() -> None:
    """Choosing thousands of games to remove would keep the whole server waiting."""
    index = ArchiveIndex(share=100)
    for number in range(200):
        index.add(f"old {number}", ArchivedGame(str(number), played=True))
    for number in range(20):
        newest = ArchivedGame("new", played=True)
        displaced = index.displaced_by(f"new {number}", newest, most=50)
        assert len(displaced) <= 20
        index.add(f"new {number}", newest)
        for code in displaced:
            index.discard(code)
    assert len(index.codes) == 50


def test_pseudonyms_tell_which_networks_are_the_same() -> None:
    origins = Origins()
    one, other = networks_in(origins.of(of_one_48(1))), networks_in(origins.of(of_one_48(2)))
    assert one[0] != other[0]
    assert one[1:] == other[1:]
    assert len(set(one)) == 3
    assert Origins().of(HERE) != Origins().of(HERE)  # nobody can try all addresses


def test_whoever_has_used_little_of_what_all_share_has_a_part_of_it() -> None:
    """Three addresses, or a network of any size, do not use up everybody's minute."""
    limit = PerMinuteLimit(6)
    loud = [networks_of("192.0.2.1"), *(of_one_48(number) for number in range(100))]
    for _ in range(20):
        for networks in loud:
            if limit.wait("lobby", 0.0, networks) == 0:
                limit.count("lobby", 0.0, networks)
    assert [limit.wait("lobby", 20.0, networks) for networks in loud[:2]] == [40, 40]
    assert limit.wait("lobby", 20.0, HERE) == 0
    assert limit.wait("lobby", 60.0, loud[0]) == 0
    spoken = 0
    while limit.wait("lobby", 30.0, HERE) == 0:
        limit.count("lobby", 30.0, HERE)
        spoken += 1
    assert spoken == 2


def test_whoever_comes_last_has_the_place_of_one_of_the_network_with_most() -> None:
    """Not if that has only as many as the newcomer's would; of a network, an address with most gives way."""
    there, other = networks_of("192.0.2.1"), networks_of("192.0.2.2")
    holders = [(there, "1"), (other, "2"), (there, "3"), (there, "4")]
    assert who_gives_way(HERE, holders) == "1"
    assert who_gives_way(other, holders) == "1"
    assert who_gives_way(there, holders) is None
    assert who_gives_way(HERE, [(there, "1"), (other, "2")]) is None
    crowd = [(of_one_48(1), "1"), (of_one_48(2), "2"), (of_one_48(2), "3")]
    assert who_gives_way(HERE, crowd) == "2"
    assert who_gives_way(of_one_48(3), [*crowd, *crowd]) == "2"

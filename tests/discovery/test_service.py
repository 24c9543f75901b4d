"""What is made of announcements, of any, because anybody on the network can send them."""

import ipaddress
from typing import Any
from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st

from discovery.guard import Guard
from discovery.interfaces import listened_on
from discovery.names import name_of_host, usable
from discovery.service import MOST_ADDRESSES, SERVICE_TYPE, HeardServer, Service, server_in, shown_name

OWN = tuple(
    map(ipaddress.ip_interface, ("192.0.2.5/24", "172.17.0.1/16", "fd00::5/64", "127.0.0.1/8", "::1/128"))
)
OUTSIDE = tuple(each for each in OWN if not each.ip.is_loopback)
PLAIN = {b"scheme": b"ws"}
ANYWHERE = "0.0.0.0"  # noqa: S104 - nothing listens there

addresses = st.one_of(
    st.ip_addresses().map(str),
    st.sampled_from(["127.0.0.1", "10.0.0.7", "192.0.2.9", "fe80::1%eth0", "::ffff:10.0.0.7", "224.0.0.251"]),
    st.text(max_size=20),
)


@given(
    st.text(max_size=80),
    st.one_of(st.none(), st.integers(-1, 2**17)),
    st.dictionaries(
        st.sampled_from([b"scheme", b"txtvers"]), st.one_of(st.none(), st.binary(max_size=4), st.just(b"wss"))
    ),
    st.lists(addresses, max_size=30),
    st.booleans(),
)
def test_whatever_is_announced_is_bounded_and_makes_sense(
    name: str, port: int | None, properties: dict[bytes, bytes | None], given_to: list[str], on_loopback: bool
) -> None:
    """Nothing makes it fail; names can be shown, and addresses are near by, or loopback if heard there."""
    server = server_in(f"{name}.{SERVICE_TYPE}", port, properties, given_to, OWN, on_loopback=on_loopback)
    if server is None:
        return
    assert server.name == "" or usable(server.name)
    assert 0 < len(server.urls) <= MOST_ADDRESSES
    for url in server.urls:
        parts = urlsplit(url)
        address = ipaddress.ip_address(parts.hostname or "")
        assert (parts.scheme, parts.port) == ((properties[b"scheme"] or b"").decode(), port)
        assert address.is_loopback == on_loopback
        near = address.is_private or address.is_link_local or address in OWN[0].network
        assert near
        assert not address.is_multicast


def test_a_server_like_ours_is_heard() -> None:
    service = Service("Anna's attic", 7733, tls=True)
    properties: dict[bytes, bytes | None] = {
        key.encode(): value.encode() for key, value in service.properties.items()
    }
    found = server_in(f"Anna's attic.{SERVICE_TYPE}", 7733, properties, ["192.0.2.9"], OWN, on_loopback=False)
    assert found == HeardServer("Anna's attic", ("wss://192.0.2.9:7733",))


def test_the_likeliest_address_comes_first() -> None:
    """One in this computer's networks, then others; its own, which another computer may have too, last."""
    said = ["172.17.0.1", "10.9.8.7", "8.8.8.8", "192.0.2.9", "fd00::9"]
    found = server_in(f"attic.{SERVICE_TYPE}", 1, PLAIN, said, OUTSIDE, on_loopback=False)
    assert found is not None
    assert found.urls == ("ws://192.0.2.9:1", "ws://[fd00::9]:1", "ws://10.9.8.7:1", "ws://172.17.0.1:1")


def test_what_cannot_be_a_server_is_not_heard() -> None:
    name = f"attic.{SERVICE_TYPE}"
    assert server_in(name, 0, PLAIN, ["192.0.2.9"], OWN, on_loopback=False) is None
    assert server_in(name, 1, {b"scheme": b"http"}, ["192.0.2.9"], OWN, on_loopback=False) is None
    assert server_in(name, 1, PLAIN, ["127.0.0.1"], OWN, on_loopback=False) is None
    assert server_in(name, 1, PLAIN, ["8.8.8.8"], OWN, on_loopback=False) is None
    assert server_in(name, 1, PLAIN, ["192.0.2.9"], OWN, on_loopback=True) is None


def test_names_that_could_deceive_are_not_shown() -> None:
    """Terminal escapes, text that runs backwards, mixed alphabets, addresses, and endless ones."""
    hidden = ("\x1b[2Jattic", "at\u202etic", "\u2800", " attic", "")
    for name in (*hidden, "\u0430ttic", "192.168.0.1", "a:b", "x" * 33):
        assert shown_name(f"{name}.{SERVICE_TYPE}") == "", name
    assert shown_name(f"чердак.{SERVICE_TYPE}") == "чердак"
    assert shown_name("attic._http._tcp.local.") == ""


def test_computers_names_become_servers_names() -> None:
    assert name_of_host("attic.example.org") == "attic"
    assert name_of_host("localhost") == name_of_host("") == name_of_host("\x1b") == "palatinus"


def test_a_server_is_announced_where_it_listens() -> None:
    every = [str(each.ip) for each in listened_on(ANYWHERE, OWN)]
    assert every == ["192.0.2.5", "172.17.0.1"]
    assert [str(each.ip) for each in listened_on("::", OWN)] == [*every, "fd00::5"]
    assert [str(each.ip) for each in listened_on("127.0.0.1", OWN)] == ["127.0.0.1"]
    assert [str(each.ip) for each in listened_on("192.0.2.5", OWN)] == ["192.0.2.5"]
    assert [str(each.ip) for each in listened_on(ANYWHERE, OWN[3:])] == ["127.0.0.1"]
    assert listened_on(ANYWHERE, ()) == listened_on("192.0.2.77", OWN) == ()


OURS = b"\x0a_Palatinus\x04_tcp\x05local\x00"


class Library:
    """Counts what it is given."""

    def __init__(self) -> None:
        self.given: list[bytes] = []

    def datagram_received(self, data: bytes, _addrs: Any, /) -> None:
        self.given.append(data)

    def connection_lost(self, _exc: Exception | None, /) -> None: ...


def test_only_what_is_short_ours_and_near_by_passes() -> None:
    library = Library()
    guard = Guard(library, (OWN[0], OWN[2]), lambda: 0.0, lambda _: None)
    for data, source in (
        (OURS, "192.0.2.9"),
        (OURS, "fd00::9"),
        (OURS, "::ffff:192.0.2.9"),
        (OURS, "127.0.0.1"),
        (OURS, "198.51.100.1"),
        (OURS, "fe80::9%2"),
        (b"\x08_printer\x04_tcp\x05local\x00", "192.0.2.9"),
        (OURS + bytes(9000), "192.0.2.9"),
    ):
        guard.datagram_received(data, (source, 5353))
    assert library.given == [OURS] * 3


def test_a_flood_is_held_back_and_what_comes_later_passes() -> None:
    now, library = 0.0, Library()
    guard = Guard(library, (OWN[0], OWN[2]), lambda: now, lambda _: None)
    for _ in range(10_000):
        guard.datagram_received(OURS, ("192.0.2.9", 5353))
    flooded = len(library.given)
    assert flooded == 80
    now = 1.0
    for _ in range(10_000):
        guard.datagram_received(OURS, ("192.0.2.9", 5353))
    assert len(library.given) - flooded == 40

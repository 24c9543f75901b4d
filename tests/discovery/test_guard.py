"""What the library gets to see of multicast traffic."""

import ipaddress
from typing import Any

from discovery.guard import Guard

OWN = (ipaddress.ip_interface("192.0.2.5/24"), ipaddress.ip_interface("fd00::5/64"))
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
    guard = Guard(library, OWN, lambda: 0.0, lambda _: None)
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
    guard = Guard(library, OWN, lambda: now, lambda _: None)
    for _ in range(10_000):
        guard.datagram_received(OURS, ("192.0.2.9", 5353))
    flooded = len(library.given)
    assert flooded == 80
    now = 1.0
    for _ in range(10_000):
        guard.datagram_received(OURS, ("192.0.2.9", 5353))
    assert len(library.given) - flooded == 40

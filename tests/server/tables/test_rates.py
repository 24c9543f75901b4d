"""How many codes may be sent, and to whom."""

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from protocol.messages import NoticeKind
from server.config import Limits
from server.limits.networks import Networks, networks_of
from server.refusal import Refusal
from server.tables.rates import Rates


@dataclass
class Asker:
    """A session as far as rates know it."""

    address: Networks


def codes_sent(rates: Rates, address: str, receivers: Iterator[str], kind: NoticeKind = "mail") -> int:
    """Return how many codes an address may have sent to these receivers."""
    sent = 0
    with contextlib.suppress(Refusal):
        for receiver in receivers:
            rates.count_code_sent(Asker(networks_of(address)), kind, receiver)  # type: ignore[arg-type]
            sent += 1
    return sent


def test_a_few_addresses_do_not_use_up_the_codes_of_all() -> None:
    """89 codes from nine addresses were as many as a server sends in an hour."""
    rates, receivers = Rates(Limits(), lambda: 0.0), (f"{number}@example.org" for number in itertools.count())
    crowd = [codes_sent(rates, f"198.51.100.{number}", receivers) for number in range(100)]
    assert crowd[:9] == [10] * 9
    assert sum(crowd) < 400
    assert codes_sent(rates, "192.0.2.1", receivers) > 0


def test_a_mailbox_gets_few_codes_and_a_host_few_from_each_address() -> None:
    rates = Rates(Limits(), lambda: 0.0)
    assert codes_sent(rates, "192.0.2.1", itertools.repeat("ann@example.org")) == 3
    assert codes_sent(rates, "192.0.2.2", itertools.repeat("ann@example.org")) == 0
    assert codes_sent(rates, "192.0.2.1", itertools.repeat("ntfy.sh"), "url") == 3
    assert 1 <= codes_sent(rates, "192.0.2.2", itertools.repeat("ntfy.sh"), "url") < 3

"""What tests with multicast share."""

from collections.abc import Iterator

import pytest

from tests.discovery.network import own_network


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Be in a network of this test's own, where multicast is allowed."""
    monkeypatch.delenv("PALATINUS_MULTICAST")
    with own_network() as handle:
        yield handle

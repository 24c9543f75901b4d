"""Absence policies as people write them."""

import pytest
from hypothesis import given

from client.absence import BadPolicy, policy_named, policy_text
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, MoveClock
from tests.protocol.messages import policies


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("wait", WAIT),
        ("move-clock:60", MoveClock(60)),
        ("game-clock:30m", GameClock(1800)),
        ("vote:2m", ByVote(120)),
        ("bot:60s", ByBot(60)),
        ("bot:0", ByBot(0)),
        ("game-clock:7d", GameClock(604800)),
    ],
)
def test_policies_have_names(text: str, policy: Absence) -> None:
    assert policy_named(text) == policy


@given(policies)
def test_what_is_written_is_read(policy: Absence) -> None:
    """Every policy that the wire allows can be written."""
    assert policy_named(policy_text(policy)) == policy


@pytest.mark.parametrize(
    "text", ["", "waits", "wait:3", "bot", "bot:", "bot:1w", "bot:-1", "Bot:60", "bot:²"]
)
def test_what_is_no_policy_says_what_to_write(text: str) -> None:
    with pytest.raises(BadPolicy, match="Write wait, move-clock:60"):
        policy_named(text)


@pytest.mark.parametrize("text", ["move-clock:4", "game-clock:29", "game-clock:8d", "vote:25h", "bot:86401"])
def test_seconds_have_bounds(text: str) -> None:
    with pytest.raises(BadPolicy, match=r"Choose \d+ to \d+ seconds"):
        policy_named(text)

"""Absence policies and starting players as users type them."""

import pytest
from hypothesis import given

from client.typed_text import BadText, policy_named, seat_to_start
from engine.components import DEALS
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, LongClock, MoveClock, Wait, move_clock
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
        ("move-clock:1d", MoveClock(86400)),
        ("move-clock:1d12h", LongClock(129600)),
        ("move-clock:12h+2d", LongClock(43200, 172800)),
    ],
)
def test_policies_have_names(text: str, policy: Absence) -> None:
    assert policy_named(text) == policy


@given(policies)
def test_every_policy_can_be_typed(policy: Absence) -> None:
    """Every policy that the wire allows can be written and read."""
    match policy:
        case Wait():
            written = "wait"
        case LongClock(seconds, reserve):
            written, policy = f"move-clock:{seconds}+{reserve}s", move_clock(seconds, reserve)
        case _:
            written = f"{policy.__struct_config__.tag}:{policy.seconds}"
    assert policy_named(written) == policy


@pytest.mark.parametrize(
    "text",
    [
        *("", "waits", "wait:3", "bot", "bot:", "bot:1w", "bot:-1", "Bot:60", "bot:²", "bot:1d12"),
        "move-clock:1d+",
    ],
)
def test_an_unknown_policy_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(BadText, match="Write wait, move-clock:60"):
        policy_named(text)


@pytest.mark.parametrize(
    "text",
    [
        *("move-clock:4", "game-clock:29", "game-clock:8d", "vote:25h", "bot:86401", "move-clock:31d"),
        "move-clock:1d+31d",
    ],
)
def test_seconds_have_bounds(text: str) -> None:
    """The refusal has them as they are typed."""
    with pytest.raises(BadText, match=r"Choose (5s|30s|0) to (1|7|30)d\."):
        policy_named(text)


@pytest.mark.parametrize("players", DEALS)
def test_seats_count_from_one(players: int) -> None:
    """R3.1: any seat or a random one can start; the player who opens the table has the first seat."""
    assert [seat_to_start(str(seat + 1), players) for seat in range(players)] == [*range(players)]
    assert seat_to_start("me", players) == 0
    assert seat_to_start("random", players) is None


@pytest.mark.parametrize("text", ["0", "4", "-1", "01", "two", "", "Me"])
def test_an_invalid_starting_seat_is_refused_with_the_valid_ones(text: str) -> None:
    with pytest.raises(BadText) as caught:
        seat_to_start(text, 3)
    assert str(caught.value) == f"{text!r} does not say who starts. Write random, me, or a seat from 1 to 3."

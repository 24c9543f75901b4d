"""Absence policies as users type them."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given

from client.network.connection import Connection, connected
from client.tables.table import TableModel
from client.typed_text import BadPolicy, policy_named
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, MoveClock, Wait
from protocol.messages import NEW, JoinTable, Leave, OpenTable, StartGame, Vote
from server.app import running
from server.config import Config, Limits
from tests.client.scripted import FAST_RETRIES, TIMEOUT
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
def test_every_policy_can_be_typed(policy: Absence) -> None:
    """Every policy that the wire allows can be written and read."""
    written = "wait" if isinstance(policy, Wait) else f"{policy.__struct_config__.tag}:{policy.seconds}"
    assert policy_named(written) == policy


@pytest.mark.parametrize(
    "text", ["", "waits", "wait:3", "bot", "bot:", "bot:1w", "bot:-1", "Bot:60", "bot:²"]
)
def test_an_unknown_policy_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(BadPolicy, match="Write wait, move-clock:60"):
        policy_named(text)


@pytest.mark.parametrize("text", ["move-clock:4", "game-clock:29", "game-clock:8d", "vote:25h", "bot:86401"])
def test_seconds_have_bounds(text: str) -> None:
    """The refusal has them as they are typed."""
    with pytest.raises(BadPolicy, match=r"Choose (5s|30s|0) to (1|7)d\."):
        policy_named(text)


async def wait_until(connection: Connection, condition: Callable[[TableModel], bool]) -> None:
    """Wait until the connection's model meets the condition."""
    async with asyncio.timeout(TIMEOUT):
        while not condition(connection.model):
            await anext(connection.updates())


async def test_a_vote_through_connections() -> None:
    """At a table with votes, a bot replaces an absent player once the other player agrees."""
    async with running(Config(limits=Limits(stand_in_seconds=0.0))) as server:
        url = f"ws://127.0.0.1:{server.port}"
        async with (
            connected(url, timeouts=FAST_RETRIES) as anna,
            connected(url, timeouts=FAST_RETRIES) as bruno,
        ):
            code = (
                await anna.ask(OpenTable(NEW, 2, "Anna", starting=1, random_layout=True, absence=ByVote(0)))
            ).table
            await bruno.ask(JoinTable(NEW, code, "Bruno"))
            await wait_until(anna, lambda model: model.state is not None and model.state.seats[1].here)
            assert anna.model.state is not None
            assert anna.model.state.absence == ByVote(0)
            await anna.ask(StartGame(NEW))
            await bruno.ask(Leave(NEW))
            await wait_until(
                anna, lambda model: model.state is not None and model.state.seats[1].seconds_left == 0
            )
            await anna.ask(Vote(NEW, 1, agree=True))
            await wait_until(anna, lambda model: model.legal is not None)
            assert anna.model.state.seats[1].bot

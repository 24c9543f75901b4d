"""Attacks by the host of a table and its players: whatever they may do to each other, without end."""

import asyncio
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from bench.attack.client import Client, Groups, Mode
from bench.load.wire import packed
from engine.board import FIELDS
from protocol.limits import TITLE_LENGTH

_SPECTATORS: Final = 27  # with five players as many at one table as a group of visitors
_POLICIES: Final[tuple[dict[str, Any], ...]] = (
    {"t": "wait"},
    {"t": "move-clock", "seconds": 5},
    {"t": "game-clock", "seconds": 30},
    {"t": "vote", "seconds": 0},
    {"t": "bot", "seconds": 0},
)

Messages = Callable[[Iterator[int]], Iterable[bytes]]


async def settings(clients: list[Client]) -> None:
    """Let the host change everything at a watched table before its game, while players come and go."""
    host, *others = clients
    code = (await host.ask("open", players=5, name="w" * 20))["table"]
    for spectator in others[4:]:
        await spectator.ask("watch", table=code)

    def changes(ids: Iterator[int]) -> Iterator[bytes]:
        for policy in itertools.cycle(_POLICIES):
            for setting in (
                {"t": "title", "text": "w" * TITLE_LENGTH},
                {"t": "absence", "policy": policy},
                {"t": "starting", "seat": 1},
                {"t": "title", "text": ""},
                {"t": "private", "on": policy == _POLICIES[0]},
            ):
                yield packed(t="set", id=next(ids), setting=setting)
            yield packed(t="arrange", id=next(ids))

    def comings(name: str) -> Messages:
        return lambda ids: (
            packed(t="join", id=at, table=code, name=name) + packed(t="leave", id=next(ids)) for at in ids
        )

    players = zip(others[:4], "abcd", strict=False)
    await asyncio.gather(
        host.flood(changes), *(player.flood(comings(name)) for player, name in players), *_reading(others[4:])
    )


async def votes(clients: list[Client]) -> None:
    """Let players of a watched game leave and return, vote and take votes back, under changing policies."""
    host, *others = clients
    answers = [(await host.ask("open", players=5, name="A", random_layout=True, absence=_POLICIES[3]))]
    code = answers[0]["table"]
    for player, name in zip(others[:4], "BCDE", strict=False):
        answers.append(await player.ask("join", table=code, name=name))
    await host.ask("start")
    for spectator in others[4:]:
        await spectator.ask("watch", table=code)

    def changes(ids: Iterator[int]) -> Iterator[bytes]:
        for policy in itertools.cycle(_POLICIES):
            yield packed(t="set", id=next(ids), setting={"t": "absence", "policy": policy})
            yield packed(t="stand-in", id=next(ids), seat=3)
            yield packed(t="vote", id=next(ids), seat=4, agree=policy == _POLICIES[0])

    def voting(ids: Iterator[int]) -> Iterator[bytes]:
        for seat, agree in itertools.cycle(itertools.product((3, 4), (True, False))):
            yield packed(t="vote", id=next(ids), seat=seat, agree=agree)

    def returning(token: str) -> Messages:
        return lambda ids: (
            packed(t="leave", id=at) + packed(t="resume", id=next(ids), table=code, token=token) for at in ids
        )

    await asyncio.gather(
        host.flood(changes),
        *(player.flood(voting) for player in others[:2]),
        *(
            player.flood(returning(answer["token"]))
            for player, answer in zip(others[2:4], answers[3:], strict=True)
        ),
        *_reading(others[4:]),
    )


async def rematches(clients: list[Client]) -> None:
    """Let the players of a finished game go to the next table, leave it, come back and go on again."""
    host, second = clients
    first = await host.ask("open", players=2, name="A", random_layout=True, starting=0)
    code = first["table"]
    answers = [first, await second.ask("join", table=code, name="B")]
    host.send("start")
    await asyncio.gather(*(_play_to_the_end(client) for client in clients))

    def going_on(token: str) -> Messages:
        def messages(ids: Iterator[int]) -> Iterator[bytes]:
            while True:
                yield packed(t="rematch", id=next(ids))
                yield packed(t="record", id=next(ids))
                yield packed(t="leave", id=next(ids))
                yield packed(t="resume", id=next(ids), table=code, token=token)

        return messages

    await asyncio.gather(
        *(client.flood(going_on(answer["token"])) for client, answer in zip(clients, answers, strict=True))
    )


def _reading(clients: list[Client]) -> Iterator[Any]:
    return (client.read_all() for client in clients)


async def _play_to_the_end(client: Client) -> None:
    """Make the first legal move whenever it is the client's turn, until the game is over."""
    while (message := await client.received()).get("t") != "events" or message.get("turn") is not None:
        if (legal := message.get("legal")) is not None:
            first = (legal["fields"] & -legal["fields"]).bit_length() - 1
            client.send("place", piece=legal["pieces"][0], field=FIELDS[first])


MODES: Final = (
    Mode("settings", "hosts who change everything at full tables", Groups(settings, 5 + _SPECTATORS)),
    Mode("votes", "players who leave, return and vote at full tables", Groups(votes, 5 + _SPECTATORS)),
    Mode("rematches", "players who go on from finished games and come back", Groups(rematches, 2)),
)

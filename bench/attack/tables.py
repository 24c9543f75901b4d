"""Attacks on the tables, by clients that have said hello: whatever the rules allow, without end."""

import asyncio
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from bench.attack.client import Client, Groups, Mode, begun_game
from bench.load.wire import packed
from engine.board import FIELDS
from protocol.limits import NAME_LENGTH

_SPECTATORS: Final = 32  # as many as a table lets in
_GAMES: Final = 60  # three times as many as tables
_TABLES_OF_A_GROUP: Final = 90
_SLOW: Final = "\ufdf2\u33af"  # each stands for six letters, the most that a name may have


async def _flood(clients: list[Client], messages: Callable[[Iterator[int]], Iterable[bytes]]) -> None:
    await asyncio.gather(*(client.flood(messages) for client in clients))


async def chat(clients: list[Client]) -> None:
    """Let everyone at full tables talk."""
    await begun_game(clients)
    await _flood(clients, lambda ids: (packed(t="say", id=at, text="x" * 200) for at in ids))


async def lobby(clients: list[Client]) -> None:
    """Let everyone talk in the lobby, and hear it."""
    for number, client in enumerate(clients):
        await client.ask("lobby", name=f"{_address(client)} {number}")
    await _flood(clients, lambda ids: (packed(t="lobby-say", id=at, text="x" * 200) for at in ids))


async def crowd(clients: list[Client]) -> None:
    """Let everyone in the lobby take other names, and come and go."""

    def comings(number: int, client: Client) -> Callable[[Iterator[int]], Iterable[bytes]]:
        name = f"{_address(client)} {number}"
        return lambda ids: (
            packed(t="lobby", id=at, name=name)
            + packed(t="lobby", id=next(ids), name=f"{name} b")
            + packed(t="lobby", id=next(ids))
            for at in ids
        )

    await asyncio.gather(*(client.flood(comings(number, client)) for number, client in enumerate(clients)))


def _address(client: Client) -> str:
    """Return what makes the names of one address differ from another's."""
    return (client.target.source or "0").rpartition(".")[2]


async def pings(clients: list[Client]) -> None:
    """Let players whose games have begun send messages without a pause."""
    await begun_game(clients, players=len(clients))
    await _flood(clients, lambda ids: (packed(t="ping", id=at) for at in ids))


async def syncs(clients: list[Client]) -> None:
    """Let everyone at tables with a clock ask for the whole game."""
    await begun_game(clients, absence={"t": "move-clock", "seconds": 5})
    await _flood(clients, lambda ids: (packed(t="sync", id=at) for at in ids))


async def visitors(clients: list[Client]) -> None:
    """Let spectators come and go, which everyone at the table is told."""
    code = await begun_game(clients[:2])
    await _flood(
        clients[2:],
        lambda ids: (packed(t="watch", id=at, table=code) + packed(t="leave", id=next(ids)) for at in ids),
    )


async def joining(clients: list[Client]) -> None:
    """Let players come and go at tables that gather, which is stored."""
    host, *others = clients
    code = (await host.ask("open", players=5, name="Host"))["table"]

    def comings(name: str) -> Callable[[Iterator[int]], Iterable[bytes]]:
        return lambda ids: (
            packed(t="join", id=at, table=code, name=name) + packed(t="leave", id=next(ids)) for at in ids
        )

    await asyncio.gather(*(client.flood(comings(name)) for client, name in zip(others, "abcd", strict=False)))


async def names(clients: list[Client]) -> None:
    """Ask for a seat under a name that is taken, as long and as strange as they get."""
    host, *others = clients
    code = (await host.ask("open", players=5, name="ꓮ" * 20))["table"]
    await _flood(others, lambda ids: (packed(t="join", id=at, table=code, name="A" * 20) for at in ids))


async def looks(clients: list[Client]) -> None:
    """Fill tables with names that are slow to compare, and go on taking others in the lobby."""
    names = _slow_names(id(clients) >> 6)
    for _ in range(_TABLES_OF_A_GROUP):
        await begun_game(clients, len(clients), names=names)
        for client in clients:
            await client.ask("leave")
    await _flood(clients, lambda ids: (packed(t="lobby", id=at, name=next(names)) for at in ids))


def _slow_names(group: int) -> Iterator[str]:
    """Yield names that take as long to compare as any, none of them twice."""
    own = "".join(chr(0x4E00 + (group >> 12 * digit) % 4096) for digit in range(3))
    for letters in itertools.product(_SLOW, repeat=NAME_LENGTH - len(own)):
        yield own + "".join(letters)


async def openers(clients: list[Client]) -> None:
    """Open tables and leave them."""
    await _flood(
        clients,
        lambda ids: (
            packed(t="open", id=at, players=2, name="A") + packed(t="leave", id=next(ids)) for at in ids
        ),
    )


async def returns(clients: list[Client]) -> None:
    """Leave many games, and go back to one after the other."""
    host, second = clients
    games = []
    for _ in range(_GAMES):
        code = (first := await host.ask("open", players=2, name="A", random_layout=True))["table"]
        await second.ask("join", table=code, name="B")
        await host.ask("start")
        await host.ask("leave")
        await second.ask("leave")
        games.append((code, first["token"]))
    one_after_the_other = itertools.cycle(games)
    await host.flood(
        lambda ids: (
            packed(t="resume", id=at, table=code, token=token) + packed(t="leave", id=next(ids))
            for at, (code, token) in zip(ids, one_after_the_other, strict=False)
        )
    )


async def bots(clients: list[Client]) -> None:
    """Play against as many bots as a table has room for, and move immediately."""
    (host,) = clients
    await host.ask("open", players=5, name="A", random_layout=True)
    for _ in range(4):
        await host.ask("bot", level="citizen")
    host.send("start")
    while True:
        message = await host.received()
        if message.get("t") != "events":
            continue
        if message.get("turn") is None:
            return
        if (legal := message.get("legal")) is not None:
            first = (legal["fields"] & -legal["fields"]).bit_length() - 1
            host.send("place", piece=legal["pieces"][0], field=FIELDS[first])


_FEW_TABLES: Final = ("--max-tables", "20", "--tables-per-minute", "1000000")

MODES: Final = (
    Mode("chat", "full tables at which everyone talks", Groups(chat, 2 + _SPECTATORS)),
    Mode("lobby", "everyone talks in the lobby, with hundreds listening", Groups(lobby, 240)),
    Mode("crowd", "hundreds who take names in the lobby, come and go", Groups(crowd, 240)),
    Mode("seated", "players of begun games send messages without a pause", Groups(pings, 5)),
    Mode("syncs", "full tables at which everyone asks for the game", Groups(syncs, 2 + _SPECTATORS)),
    Mode("visitors", "spectators who come and go", Groups(visitors, 2 + _SPECTATORS)),
    Mode("joining", "players who come and go before a game", Groups(joining, 5)),
    Mode("names", "names that look like another player's", Groups(names, 5)),
    Mode(
        "looks",
        "tables full of names that are slow to compare, and others taken in the lobby",
        Groups(looks, 5),
        connections=25,
        options=("--tables-per-minute", "1000000"),
    ),
    Mode("openers", "tables opened and left", Groups(openers, 2)),
    Mode("bots", "full tables of the server's bots", Groups(bots, 1)),
    Mode(
        "returns",
        "more archived games than tables, to which a player goes back in turn",
        Groups(returns, 2),
        connections=2,
        options=_FEW_TABLES,
    ),
)

"""Attacks on the tables, by clients that have said hello: whatever the rules allow, without end."""

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Final

from bench.attack.client import AttackClient, Mode, begun_game, flood, gathered, groups, play
from protocol.limits import NAME_LENGTH, TITLE_LENGTH

_SPECTATORS: Final = 32  # as many as a table lets in
_GAMES: Final = 60  # three times as many as tables
_TABLES_OF_A_GROUP: Final = 90
_SLOW: Final = "\ufdf2\u33af"  # each stands for six letters, the most that a name may have
_VISITORS: Final = 5 + 27  # at one table: players, and spectators
_POLICIES: Final[tuple[dict[str, Any], ...]] = (
    {"t": "wait"},
    {"t": "move-clock", "seconds": 5},
    {"t": "game-clock", "seconds": 30},
    {"t": "vote", "seconds": 0},
    {"t": "bot", "seconds": 0},
)
_LEAVE: Final = {"t": "leave"}


async def chat(clients: list[AttackClient]) -> None:
    """Let everyone at full tables talk."""
    await begun_game(clients)
    await flood(clients, {"t": "say", "text": "x" * 200})


async def lobby(clients: list[AttackClient]) -> None:
    """Let everyone talk in the lobby, and hear it."""
    for client, name in _named(clients):
        await client.ask("lobby", name=name)
    await flood(clients, {"t": "lobby-say", "text": "x" * 200})


async def crowd(clients: list[AttackClient]) -> None:
    """Let everyone in the lobby take other names, and come and go."""
    comings = (
        flood([client], {"t": "lobby", "name": name}, {"t": "lobby", "name": f"{name} b"}, {"t": "lobby"})
        for client, name in _named(clients)
    )
    await asyncio.gather(*comings)


def _named(clients: Iterable[AttackClient]) -> Iterator[tuple[AttackClient, str]]:
    """Yield clients with names, which differ from those of another address."""
    for number, client in enumerate(clients):
        yield client, f"{(client.target.source or '0').rpartition('.')[2]} {number}"


async def pings(clients: list[AttackClient]) -> None:
    """Let players whose games have begun send messages without a pause."""
    await begun_game(clients, players=len(clients))
    await flood(clients, {"t": "ping"})


async def syncs(clients: list[AttackClient]) -> None:
    """Let everyone at tables with a clock ask for the whole game."""
    await begun_game(clients, absence={"t": "move-clock", "seconds": 5})
    await flood(clients, {"t": "sync"})


async def visitors(clients: list[AttackClient]) -> None:
    """Let spectators come and go, which everyone at the table is told."""
    code, _tokens = await begun_game(clients[:2])
    await flood(clients[2:], {"t": "watch", "table": code}, _LEAVE)


async def joining(clients: list[AttackClient]) -> None:
    """Let players come and go at tables that gather, which is stored."""
    host, *others = clients
    code = (await host.ask("open", players=5, name="Host"))["table"]
    await _coming_and_going(others, code)


async def _coming_and_going(players: Iterable[AttackClient], code: str) -> None:
    named = zip(players, "abcd", strict=False)
    comings = (flood([player], {"t": "join", "table": code, "name": name}, _LEAVE) for player, name in named)
    await asyncio.gather(*comings)


async def names(clients: list[AttackClient]) -> None:
    """Ask for a seat under a name that is taken, as long and as strange as they get."""
    host, *others = clients
    code = (await host.ask("open", players=5, name="ꓮ" * 20))["table"]
    await flood(others, {"t": "join", "table": code, "name": "A" * 20})


async def looks(clients: list[AttackClient]) -> None:
    """Fill tables with names that are slow to compare, and go on taking others in the lobby."""
    names = _slow_names(id(clients) >> 6)
    for _ in range(_TABLES_OF_A_GROUP):
        await begun_game(clients, len(clients), names=names)
        for client in clients:
            await client.ask("leave")
    taking = (client.flood([{"t": "lobby", "name": name}] for name in names) for client in clients)
    await asyncio.gather(*taking)


def _slow_names(group: int) -> Iterator[str]:
    """Yield names that take as long to compare as any, none of them twice."""
    own = "".join(chr(0x4E00 + (group >> 12 * digit) % 4096) for digit in range(3))
    for letters in itertools.product(_SLOW, repeat=NAME_LENGTH - len(own)):
        yield own + "".join(letters)


async def openers(clients: list[AttackClient]) -> None:
    """Open tables and leave them."""
    await flood(clients, {"t": "open", "players": 2, "name": "A"}, _LEAVE)


async def returns(clients: list[AttackClient]) -> None:
    """Leave many games, and go back to one after the other."""
    host, second = clients
    games = []
    for _ in range(_GAMES):
        code, tokens = await begun_game(clients)
        await host.ask("leave")
        await second.ask("leave")
        games.append([_resume(code, tokens[0]), _LEAVE])
    await host.flood(itertools.cycle(games))


async def bots(clients: list[AttackClient]) -> None:
    """Play against as many bots as a table has room for, and move immediately."""
    (host,) = clients
    await host.ask("open", players=5, name="A", random_layout=True)
    for _ in range(4):
        await host.ask("bot", level="citizen")
    host.send("start")
    await play(host)


async def settings(clients: list[AttackClient]) -> None:
    """Let the host change everything at a watched table before its game, while players come and go."""
    host, *others = clients
    code = (await host.ask("open", players=5, name="w" * 20))["table"]
    for spectator in others[4:]:
        await spectator.ask("watch", table=code)
    changes: list[dict[str, Any]] = []
    for policy in _POLICIES:
        every = (
            {"t": "title", "text": "w" * TITLE_LENGTH},
            {"t": "absence", "policy": policy},
            {"t": "starting", "seat": 1},
            {"t": "title", "text": ""},
            {"t": "private", "on": policy == _POLICIES[0]},
        )
        changes += [*({"t": "set", "setting": setting} for setting in every), {"t": "arrange"}]
    await asyncio.gather(
        host.flood(_one_by_one(changes)), _coming_and_going(others[:4], code), *_reading(others[4:])
    )


async def votes(clients: list[AttackClient]) -> None:
    """Let players of a watched game leave and return, vote and take votes back, under changing policies."""
    host, *others = clients
    code, tokens = await begun_game(clients, 5, absence=_POLICIES[3])
    changes: list[dict[str, Any]] = []
    for policy in _POLICIES:
        changes += [
            {"t": "set", "setting": {"t": "absence", "policy": policy}},
            {"t": "stand-in", "seat": 3},
            {"t": "vote", "seat": 4, "agree": policy == _POLICIES[0]},
        ]
    voting = [{"t": "vote", "seat": seat, "agree": agree} for seat in (3, 4) for agree in (True, False)]
    away = zip(others[2:4], tokens[3:], strict=True)
    await asyncio.gather(
        host.flood(_one_by_one(changes)),
        *(player.flood(_one_by_one(voting)) for player in others[:2]),
        *(flood([player], _LEAVE, _resume(code, token)) for player, token in away),
        *_reading(others[4:]),
    )


async def rematches(clients: list[AttackClient]) -> None:
    """Let the players of a finished game go to the next table, leave it, come back and go on again."""
    code, tokens = await gathered(clients, starting=0)
    clients[0].send("start")
    await asyncio.gather(*map(play, clients))
    going_on: list[dict[str, Any]] = [{"t": "rematch"}, {"t": "record"}, _LEAVE]
    await asyncio.gather(
        *(
            client.flood(_one_by_one([*going_on, _resume(code, token)]))
            for client, token in zip(clients, tokens, strict=True)
        )
    )


def _one_by_one(messages: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any]]]:
    return itertools.cycle((each,) for each in messages)


def _resume(code: str, token: str) -> dict[str, Any]:
    return {"t": "resume", "table": code, "token": token}


def _reading(clients: list[AttackClient]) -> Iterator[Any]:
    return (client.read_all() for client in clients)


_FEW_TABLES: Final = ("--max-tables", "20", "--tables-per-minute", "1000000")

MODES: Final = (
    Mode("chat", "full tables at which everyone talks", groups(chat, 2 + _SPECTATORS)),
    Mode("lobby", "everyone talks in the lobby, with hundreds listening", groups(lobby, 240)),
    Mode("crowd", "hundreds who take names in the lobby, come and go", groups(crowd, 240)),
    Mode("seated", "players of begun games send messages without a pause", groups(pings, 5)),
    Mode("syncs", "full tables at which everyone asks for the game", groups(syncs, 2 + _SPECTATORS)),
    Mode("visitors", "spectators who come and go", groups(visitors, 2 + _SPECTATORS)),
    Mode("joining", "players who come and go before a game", groups(joining, 5)),
    Mode("names", "names that look like another player's", groups(names, 5)),
    Mode(
        "looks",
        "tables full of names that are slow to compare, and others taken in the lobby",
        groups(looks, 5),
        connections=25,
        options=("--tables-per-minute", "1000000"),
    ),
    Mode("openers", "tables opened and left", groups(openers, 2)),
    Mode("bots", "full tables of the server's bots", groups(bots, 1)),
    Mode(
        "returns",
        "more archived games than tables, to which a player goes back in turn",
        groups(returns, 2),
        connections=2,
        options=_FEW_TABLES,
    ),
    Mode("settings", "hosts who change everything at full tables", groups(settings, _VISITORS)),
    Mode("votes", "players who leave, return and vote at full tables", groups(votes, _VISITORS)),
    Mode("rematches", "players who go on from finished games and come back", groups(rematches, 2)),
)

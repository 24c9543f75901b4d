"""What a round does, drawn from the seed beforehand."""

import enum
import random
from dataclasses import dataclass, replace
from typing import Final

from engine.components import DEALS
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, MoveClock

_GAMES_IN_A_ROUND: Final = 50  # on one data folder: fewer than a server has tables
_GAMES_OF_NODES: Final = 100  # on one database
_WATCHED: Final = 0.4  # of the games
_LEFT: Final = 0.6  # by everybody at once, in the middle of the game, where tables are few
_WITH_A_PROGRAM: Final = 0.2
_WITH_A_GUEST: Final = 0.05
_DEEDS_AT_MOST: Final = (
    8  # before a lively game, and as many during it: far fewer than shorten a table's journal
)
_CLOSED: Final = 0.05  # of the lively games, by those who run the server
_ROBBED: Final = 0.1  # of the lively games, of a player, by those who run the server
POLICIES: Final[tuple[Absence, ...]] = (
    WAIT,
    WAIT,
    MoveClock(5),
    GameClock(40),
    ByVote(0),
    ByVote(1),
    ByBot(0),
    ByBot(1),
)


class Disturbance(enum.StrEnum):
    """What happens to the servers; the network's own faults come besides."""

    KILL = "kills"
    DRAIN = "drains"  # a server stops by itself, and is started again
    PAUSE = "pauses"
    FULL_DISK = "full disks"
    # Where several share a database:
    SLEEP = "sleeps past the lease"
    RESTART = "restarts of the database"
    CRASH = "kills of the database"
    CUT = "cuts between node and database"
    SILENCE = "silences between node and database"
    DELAY = "delays between node and database"


# How often each happens to nodes, of all that happens.
_SHARES: Final = {
    Disturbance.KILL: 5,
    Disturbance.SLEEP: 4,
    Disturbance.CUT: 3,
    Disturbance.SILENCE: 2,
    Disturbance.RESTART: 2,
    Disturbance.CRASH: 1,
    Disturbance.DRAIN: 1,
    Disturbance.PAUSE: 1,
    Disturbance.DELAY: 1,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a round does; the seed decides what the network does, and who plays what."""

    seed: str
    games: int
    kills: int  # the last one after the last game
    tables: int  # at the same time
    longest_hold: float = 6.0  # the longest stall or delay in seconds; other times derive from it
    patience: float = 90.0  # seconds without any move, after which some game will not end
    pauses: int = 0
    full_disks: int = 0
    drains: int = 0  # the server stops by itself, and is started again
    durable: bool = False
    power_cuts: bool = False  # each kill is one; needs `durable`
    tls: bool = False
    most_tables: int = 500  # if there are fewer than games at once, games that are left are archived
    policies: tuple[Absence, ...] = POLICIES
    played_again: float = 0.3  # of the games
    talk: float = 0.01  # of the news, on which a client says something
    lively: float = 0.5  # of the games: hosts use their powers, and players ask for pauses
    may_end: float = 0.2  # of the lively games: their hosts may end them
    quiet: bool = False  # hosts of lively games keep what spectators say from the players
    with_bots: float = 0.25  # of the games: one or two seats are for bots of the server
    operated: bool = True  # those who run the server use its admin socket
    nodes: int = 1  # more than one share a database
    faults: tuple[Disturbance, ...] = ()  # beside those counted above
    broken: str | None = None  # one of the mistakes in `simulation.broken`

    @property
    def disturbances(self) -> int:
        """Return how many things are to happen to the servers."""
        return self.kills + self.drains + self.pauses + self.full_disks + len(self.faults)


@dataclass(frozen=True, slots=True)
class Game:
    """How one game is played."""

    players: int
    random_layout: bool
    absence: Absence
    programs: frozenset[int]  # seats
    guests: int  # of the last seats: `palatinus bot`, a process of its own that is paused
    watched: bool
    again: bool  # there is a rematch
    leaves_at: int | None  # the event after which everybody leaves for a while
    bots: int  # of the server, in the first seats after the host's
    lively: bool
    private: bool  # from the beginning
    deeds: tuple[int, int]  # how many things people do before a lively game, and during it
    may_end: bool
    closed_at: int | None  # the event after which the table is closed by those who run the server ...
    robbed_at: int | None  # ... and after which they remove a player


def games(plan: Plan) -> list[Game]:
    """Return the games of a round."""
    return [_game(random.Random(f"{plan.seed} game {number}"), plan) for number in range(plan.games)]


def _game(rng: random.Random, plan: Plan) -> Game:
    players = rng.choice(list(DEALS))
    crowded = plan.most_tables < plan.games
    lively = rng.random() < plan.lively
    guests = int(rng.random() < _WITH_A_GUEST)
    bots = min(rng.choice((1, 2)), players - 1 - guests) if rng.random() < plan.with_bots else 0
    operated = lively and plan.operated
    return Game(
        players=players,
        random_layout=rng.random() < 0.5,
        absence=rng.choice(plan.policies),
        programs=frozenset({1} if rng.random() < _WITH_A_PROGRAM else ()),
        guests=guests,
        watched=rng.random() < _WATCHED,
        again=rng.random() < plan.played_again and not crowded,  # whose table would have to make room
        leaves_at=rng.randrange(4, 24) if crowded and rng.random() < _LEFT else None,
        bots=bots,
        lively=lively,
        private=rng.random() < 0.2,
        deeds=(rng.randrange(_DEEDS_AT_MOST + 1), rng.randrange(_DEEDS_AT_MOST + 1)),
        may_end=lively and rng.random() < plan.may_end,
        closed_at=rng.randrange(4, 24) if operated and rng.random() < _CLOSED else None,
        robbed_at=rng.randrange(4, 24) if operated and rng.random() < _ROBBED else None,
    )


def rounds(games: int, kills: int, tables: int, seed: str, *, power_cuts: bool) -> list[Plan]:
    """Return what each round does, with games and kills spread evenly, and servers run in turn in all ways.

    Every third kill more, the server is stopped for a while, or its disk is full; it is drained once.
    """
    count = -(-games // _GAMES_IN_A_ROUND)
    return [
        _round(
            Plan(
                seed=f"{seed}/{number}",
                games=games * (number + 1) // count - games * number // count,
                kills=kills * (number + 1) // count - kills * number // count,
                tables=tables,
            ),
            number,
            power_cuts=power_cuts,
        )
        for number in range(count)
    ]


def cluster_rounds(games: int, faults: int, tables: int, seed: str, *, nodes: int) -> list[Plan]:
    """Return what each round with several nodes does, with games and all kinds of faults spread evenly."""
    count = -(-games // _GAMES_OF_NODES)
    cycle = [kind for kind, share in _SHARES.items() for _ in range(share)]
    kinds = (cycle * (faults // len(cycle) + 1))[:faults]
    random.Random(f"{seed} faults").shuffle(kinds)
    # Every node has room for all, also when others are gone, but not for the games that they have left.
    most_tables = max(3, min(games, tables))
    plans = []
    for number in range(count):
        here = kinds[faults * number // count : faults * (number + 1) // count]
        plans.append(
            Plan(
                seed=f"{seed}/{number}",
                games=games * (number + 1) // count - games * number // count,
                kills=here.count(Disturbance.KILL) + 1,
                tables=tables,
                durable=number % 2 == 1,
                most_tables=most_tables if number % 2 else 500,
                operated=False,
                nodes=nodes,
                faults=tuple(kind for kind in here if kind is not Disturbance.KILL),
            )
        )
    return plans


def _round(plan: Plan, number: int, *, power_cuts: bool) -> Plan:
    plan = replace(plan, drains=1)
    more = -(-plan.kills // 3)
    few_tables = max(3, min(plan.games, plan.tables) // 2)
    match number % 4:
        case 0:
            return replace(plan, pauses=more, full_disks=more)
        case 1:
            return replace(plan, durable=True, power_cuts=power_cuts, pauses=more)
        case 2:
            return replace(plan, tls=True, most_tables=few_tables, pauses=more)
        case _:
            return replace(plan, durable=True, most_tables=few_tables, full_disks=more)

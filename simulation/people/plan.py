"""What a round does, drawn from the seed beforehand."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.components import DEALS
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, LongClock, MoveClock

_WATCHED: Final = 0.4  # of the games
_GROWS: Final = 0.4  # of the games
_LEFT: Final = 0.6  # by everybody at once, in the middle of the game, where tables are few
_WITH_A_PROGRAM: Final = 0.35
_DEEDS_AT_MOST: Final = (
    16  # before a lively game, and as many during it: fewer than shorten a table's journal
)
POLICIES: Final[tuple[Absence, ...]] = (
    WAIT,
    WAIT,
    MoveClock(5),
    MoveClock(5),
    GameClock(40),
    GameClock(40),
    ByVote(0),
    ByVote(1),
    ByVote(1),
    ByBot(0),
    ByBot(1),
    ByBot(1),
)
_DAY: Final = 86_400
LETTERS: Final[tuple[Absence, ...]] = (MoveClock(_DAY), LongClock(_DAY, _DAY // 2), LongClock(2 * _DAY, _DAY))


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who plays, and how; the seed decides the rest."""

    seed: str
    games: int
    tables: int  # at the same time
    longest_hold: float = 6.0  # the longest stall or delay in seconds; other times derive from it
    longest_absence: float = 100.0  # seconds
    patience: float = 90.0  # seconds without any move, after which some game will not end
    most_tables: int = 500  # if there are fewer than games at once, games that are left are archived
    most_archived: int = 10_000  # games; if there are fewer than are left, some give way
    policies: tuple[Absence, ...] = POLICIES
    played_again: float = 0.3  # of the games
    talk: float = 0.01  # of the news, on which a client says something
    lively: float = 0.5  # of the games: hosts use their powers, and players ask for pauses
    may_end: float = 0.2  # of the lively games: their hosts may end them
    quiet: bool = False  # hosts of lively games keep what spectators say from the players
    by_letters: bool = False  # people look in now and then, and nobody else is there
    programs: float = 0.15  # of those who take a seat that has become free
    with_guests: float = 0.0  # of the games: the last seat is for `palatinus bot`
    with_bots: float = 0.25  # of the games: one or two seats are for bots of the server
    without: frozenset[str] = frozenset()  # what is left out, as `parts_of_games` names it


@dataclass(frozen=True, slots=True)
class PlannedGame:
    """How one game is played."""

    players: int
    random_layout: bool
    absence: Absence
    programs: frozenset[int]  # seats
    guests: int  # of the last seats: `palatinus bot`, which is paused
    watched: bool
    again: bool  # there is a rematch
    leaves_at: int | None  # the event after which everybody leaves for a while
    bots: int  # of the server, in the first seats after the host's
    lively: bool
    private: bool  # from the beginning
    deeds: tuple[int, int]  # how many things people do before a lively game, and during it
    may_end: bool
    grows: bool  # its seats follow the people


# What a game can do without, and what it is then.
_WITHOUT: Final[Mapping[str, Mapping[str, Any]]] = {
    "spectator": {"watched": False},
    "guest": {"guests": 0},
    "bots": {"bots": 0},
    "program": {"programs": frozenset()},
    "others": {"players": 2, "guests": 0, "bots": 0},  # than the two first players
    "rematch": {"again": False},
    "deeds": {"lively": False, "may_end": False},
    "leaving": {"leaves_at": None},
    "growing": {"grows": False},
}


def games(plan: Crowd) -> dict[int, PlannedGame]:
    """Return the games of a round, by their numbers."""
    found = {}
    for number in range(plan.games):
        if f"game{number}" in plan.without:
            continue
        game = _game(random.Random(f"{plan.seed} game {number}"), plan)
        for part, changes in _WITHOUT.items():
            if f"{part}{number}" in plan.without:
                game = replace(game, **changes)
        found[number] = game
    return found


def parts_of_games(plan: Crowd) -> list[str]:
    """Return what can be left out of a round: whole games first."""
    drawn = games(plan)
    return [f"game{number}" for number in drawn] + [
        f"{part}{number}"
        for part, changes in _WITHOUT.items()
        for number, game in drawn.items()
        if replace(game, **changes) != game
    ]


def _game(rng: random.Random, plan: Crowd) -> PlannedGame:
    players = rng.choice(list(DEALS))
    crowded = plan.most_tables < plan.games
    lively = rng.random() < plan.lively
    guests = int(rng.random() < plan.with_guests)
    bots = min(rng.choice((1, 2)), players - 1 - guests) if rng.random() < plan.with_bots else 0
    return PlannedGame(
        players=players,
        random_layout=rng.random() < 0.5,
        absence=rng.choice(plan.policies),
        programs=frozenset({1} if rng.random() < _WITH_A_PROGRAM and not plan.by_letters else ()),
        guests=guests,
        watched=rng.random() < _WATCHED and not plan.by_letters,
        again=rng.random() < plan.played_again and not crowded,  # whose table would have to make room
        # If a small archive is full, it matters whether all of them have moved by then.
        leaves_at=rng.randrange(4, 24 if plan.most_archived > plan.games else 12)
        if crowded and rng.random() < _LEFT
        else None,
        bots=bots,
        lively=lively,
        private=rng.random() < 0.2,
        deeds=(rng.randrange(_DEEDS_AT_MOST + 1), rng.randrange(_DEEDS_AT_MOST + 1)),
        may_end=lively and rng.random() < plan.may_end,
        grows=rng.random() < _GROWS,
    )

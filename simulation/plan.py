"""What happens in a simulation, drawn from its seed beforehand, so that parts of it can be left out."""

import enum
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Any, Final

import msgspec

from protocol.absence import Absence
from simulation.broken import MISTAKES
from simulation.database.server import LEASE_SECONDS
from simulation.knobs import Settings, constants_of, limits_of
from simulation.machine.network import Weather
from simulation.people.evening import PlannedEvening, evening_of
from simulation.people.plan import LETTERS, Crowd, parts_of_games


class FaultKind(enum.StrEnum):
    """What goes wrong with the server, its computer, and the lines to it."""

    KILL = "kill"
    TORN_WRITE = "kill in the middle of a write"
    POWER_CUT = "power cut"
    STOP = "orderly stop"
    PAUSE = "pause"
    FULL_DISK = "full disk"
    BAD_DISK = "disk errors"
    SLOW_DISK = "slow disk"
    PARTITION = "partition"
    CUTS = "cut lines"
    CLOCK = "clock jump"
    DRAIN = "drain"
    # Where several share a database:
    SLEEP = "sleep past the lease"
    LINE_CUT = "lines to the database cut"
    LINE_SILENT = "lines to the database silent"
    LINE_SLOW = "lines to the database slow"
    RESTART = "restart of the database"
    CRASH = "kill of the database"
    FAILOVER = "failover of the database"


class Moment(enum.StrEnum):
    """When something happens."""

    MOVE = "after so many moves"
    END = "when a game ends"
    REMATCH = "when players go to a rematch"
    RETURN = "when somebody comes back to a table"


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """Something that goes wrong, after so many moves and then so many pieces of data on their way."""

    number: int
    kind: FaultKind
    moment: Moment
    moves: int
    pieces: int


@dataclass(frozen=True, slots=True)
class WorldPlan:
    """A simulation; `people` says who plays, and how."""

    seed: int
    timing: int  # the same happens at other moments with another one
    people: Crowd
    faults: tuple[PlannedFault, ...]
    weather: Weather
    line_weather: Weather  # between nodes and their database
    durable: bool
    verbose: bool  # the server logs everything
    drifts: tuple[float, ...]  # of the servers' clocks
    longest_turn: float  # seconds for which a server computes at once
    late_work: float  # of its threads' work, the part that is done late
    nodes: int  # more than one share a database
    lease: float  # seconds
    grace: float  # seconds for which the seat of somebody who is away is safe
    evening: PlannedEvening | None
    password: str | None
    constants: Settings  # of the product, where they are not as usual ...
    limits: Mapping[str, Any]  # ... and of `Limits`


@dataclass(frozen=True, slots=True)
class Choice:
    """What is asked for: a seed, and perhaps less than it brings, or what a broken server needs."""

    seed: int
    without: frozenset[str] = frozenset()  # what is left out, as `parts_of` names it
    calm: bool = False
    nodes: int | None = None  # the seed says so
    letters: bool = False  # correspondence games
    evening: bool = False  # certainly one is held
    timing: int = 0  # another one has the same happen at other moments
    needs: str | None = None  # with all that this broken server needs to be found

    def command(self) -> str:
        """Return what a terminal takes to do it again."""
        words = ["python -m simulation --seeds 1 --first", str(self.seed)]
        # What belongs to a game that is left out need not be named.
        parts = {part for part in self.without if f"game{part.lstrip(ascii_lowercase)}" not in self.without}
        parts |= {part for part in self.without if part.startswith(("game", "fault"))}
        words += ["--without", ",".join(sorted(parts))] if parts else []
        words += ["--timing", str(self.timing)] if self.timing else []
        words += ["--letters"] if self.letters else []
        words += ["--evening"] if self.evening else []
        words += ["--calm"] if self.calm else []
        words += ["--nodes", str(self.nodes)] if self.nodes is not None else []
        words += ["--needs", self.needs] if self.needs else []
        return " ".join(words)


_SHARES: Final = {  # how often something happens to one server, and to nodes
    FaultKind.KILL: (5, 5),
    FaultKind.TORN_WRITE: (4, 0),
    FaultKind.POWER_CUT: (4, 0),
    FaultKind.STOP: (2, 3),
    FaultKind.PAUSE: (2, 2),
    FaultKind.FULL_DISK: (2, 0),
    FaultKind.BAD_DISK: (2, 0),
    FaultKind.SLOW_DISK: (2, 0),
    FaultKind.SLEEP: (0, 4),
    FaultKind.LINE_CUT: (0, 3),
    FaultKind.LINE_SILENT: (0, 3),
    FaultKind.LINE_SLOW: (0, 1),
    FaultKind.RESTART: (0, 2),
    FaultKind.CRASH: (0, 2),
    FaultKind.FAILOVER: (0, 1),
    FaultKind.PARTITION: (2, 1),
    FaultKind.CUTS: (3, 2),
    FaultKind.CLOCK: (1, 1),
}
_SHARE_WITH_NODES: Final = 0.3
_MOVES_OF_A_GAME: Final = 30
_DRIFTS: Final = (1.0, 1.0, 1.001, 0.999)
_DRIFTS_OF_NODES: Final = (1.0, 1.0001, 0.9999)
_TURNS: Final = (0.0, 0.0, 0.002, 0.05)
_LATE: Final = (0.0, 0.02, 0.1)
_DRAINED: Final = 0.15  # of the simulations
_LOCKED: Final = 0.08  # ... by a password
_PASSWORD: Final = "a simulated password"
_GRACES: Final = (0.1, 0.1, 60.0)
_ARCHIVES: Final = (1, 2, 10_000, 10_000)  # games that are kept, where tables are few


# What a broken server asks for (`Mistake.needs`), in faults of ours.
_WANTED: Final = {
    "kills": FaultKind.KILL,
    "full_disks": FaultKind.FULL_DISK,
    "sleeps": FaultKind.SLEEP,
    "silences": FaultKind.LINE_SILENT,
}


_AROUND: Final = ("stranger", "browser", "stroller")  # who is there beside those who play
_LONG_LEASE: Final = 600.0  # renewing a lease takes most of the work of nodes that nobody looks at
_BY_LETTERS: Final[dict[str, Any]] = {
    "games": 2,
    "tables": 2,
    "most_tables": 500,
    "most_archived": 10_000,
    "policies": LETTERS,
    "by_letters": True,
    "lively": 0.0,
    "with_guests": 0.0,
    "with_bots": 0.0,
    "played_again": 0.0,
    "talk": 0.0,
}


def plan_of(choice: Choice) -> WorldPlan:
    """Return what happens."""
    rng = random.Random(f"simulation {choice.seed}")
    wanted = dict(MISTAKES[choice.needs].needs) if choice.needs is not None else {}
    if "policies" in wanted:
        wanted["policies"] = msgspec.convert(wanted["policies"], tuple[Absence, ...])
    durable = bool(wanted.pop("durable", rng.random() < 0.5))
    nodes = wanted.pop("nodes", choice.nodes)
    if nodes is None and (choice.letters or choice.needs is not None):
        nodes = 1
    elif nodes is None:
        nodes = 3 if random.Random(f"nodes {choice.seed}").random() < _SHARE_WITH_NODES else 1
    shares = {
        kind: each[nodes > 1] for kind, each in _SHARES.items() if durable or kind is not FaultKind.POWER_CUT
    }
    struck = rng.choices(list(shares), list(shares.values()), k=rng.choice([0, 1, 2, 4, 8]))
    if choice.needs is not None and nodes == 1:
        struck += [FaultKind.POWER_CUT if wanted.pop("power_cuts", False) else FaultKind.KILL] * 3
    for name, kind in _WANTED.items():
        struck += [kind] * wanted.pop(name, 0)
    at_ends, evening = wanted.pop("at_ends", False), wanted.pop("evening", choice.needs is None)
    rare = wanted.pop(
        "rare", choice.needs is None
    )  # else the servers are as usual: a mistake is found sooner
    people = _people(rng, str(choice.seed)) | wanted | {"without": choice.without}
    if choice.evening:
        people["most_tables"] = 500
    if "most_archived" not in wanted and people["most_tables"] < people["games"]:
        people["most_archived"] = random.Random(f"archive {choice.seed}").choice(_ARCHIVES)
    if choice.letters:
        struck = []  # whatever goes wrong goes wrong on some day
        people |= _BY_LETTERS
    moves = people["games"] * _MOVES_OF_A_GAME
    faults = tuple(
        PlannedFault(
            number,
            kind,
            rng.choices(list(Moment), [6, 1, 1, 4 if kind is FaultKind.SLEEP else 1])[0],
            rng.randrange(moves),
            rng.randrange(40),
        )
        for number, kind in enumerate(struck)
    )
    drain = random.Random(f"drain {choice.seed}")
    if drain.random() < _DRAINED and not (choice.letters or choice.needs):
        at, pieces = drain.randrange(moves), drain.randrange(40)
        faults += (PlannedFault(len(faults), FaultKind.DRAIN, Moment.MOVE, at, pieces),)
    if at_ends:
        faults = tuple(replace(fault, moment=Moment.END, pieces=fault.pieces % 4) for fault in faults)
    weather = Weather(
        most_delay=rng.choice([0.002, 0.02, 0.2]),
        torn=rng.choice([0.0, 0.05, 0.3]),
        stalled=rng.choice([0.0, 0.002, 0.01]),
        cut=rng.choice([0.0, 0.0, 0.003, 0.01]),
    )
    line_weather = Weather(
        most_delay=rng.choice([0.002, 0.02]),
        stalled=rng.choice([0.0, 0.001]),
        cut=rng.choice([0.0, 0.0, 0.001, 0.005]),
    )
    # Where everybody's seat is free again immediately, all may have left a rematch's table, which is then
    # closed, before the last has come there: who comes opens another one. A program that has lost its seat
    # before the game, and is gone, would be waited for.
    grace = 60.0 if people["played_again"] else random.Random(f"grace {choice.seed}").choice(_GRACES)
    if grace < 60.0:
        people["with_guests"] = 0.0
    pace = random.Random(f"pace {choice.seed}")
    return WorldPlan(
        choice.seed,
        choice.timing,
        Crowd(**people),
        tuple(fault for fault in faults if f"fault{fault.number}" not in choice.without),
        Weather(torn=0.0, stalled=0.0) if choice.calm else weather,
        Weather(torn=0.0, stalled=0.0) if choice.calm else line_weather,
        durable=durable,
        verbose=rng.random() < 0.2,
        drifts=_drifts(choice, nodes) if rare or nodes == 1 else (1.0,) * nodes,
        longest_turn=0.0 if choice.letters or not rare else pace.choice(_TURNS),
        late_work=pace.choice(_LATE) if rare else 0.0,
        nodes=nodes,
        lease=_LONG_LEASE if choice.letters else LEASE_SECONDS,
        grace=grace,
        evening=None
        if choice.letters
        or not evening
        or "evening" in choice.without
        or people.get("most_tables", 500) < people["games"]
        else evening_of(choice.seed, certain=choice.evening, brief=choice.needs is not None),
        password=_PASSWORD if rare and random.Random(f"password {choice.seed}").random() < _LOCKED else None,
        constants=constants_of(choice.seed, over_days=choice.letters, moved=rare),
        limits=limits_of(choice.seed) if rare else {},
    )


def _drifts(choice: Choice, nodes: int) -> tuple[float, ...]:
    """Return how fast the servers' clocks go; those of nodes are near enough for their leases."""
    rng, drifts = random.Random(f"drifts {choice.seed}"), _DRIFTS if nodes == 1 else _DRIFTS_OF_NODES
    return tuple(1.0 if choice.letters else rng.choice(drifts) for _ in range(nodes))


def parts_of(plan: WorldPlan, faults: int) -> list[str]:
    """Return what can be left out of a simulation in which there were so many faults: the largest first."""
    by_letters = plan.people.by_letters  # whose faults are drawn each day
    around = [] if by_letters else [*_AROUND, *(["evening"] if plan.evening else [])]
    struck = range(1, faults + 1) if by_letters else (fault.number for fault in plan.faults)
    parts = [*parts_of_games(plan.people), *around, *(f"fault{number}" for number in struck)]
    return [part for part in parts if part not in plan.people.without]


def _people(rng: random.Random, seed: str) -> dict[str, Any]:
    games = rng.choice([2, 3, 4, 6])
    return {
        "seed": seed,
        "games": games,
        "tables": rng.randint(1, games),
        "longest_hold": rng.choice([0.5, 2.0, 6.0]),
        "patience": 300.0,  # a host waits a minute to free a seat, and again when the table changes nodes
        "most_tables": max(2, games // 2) if rng.random() < 0.25 and games > 2 else 500,
        "lively": rng.choice([0.0, 0.7, 1.0]),
        "with_guests": 0.05,
        "with_bots": rng.choice([0.0, 0.25]),
        "played_again": rng.choice([0.0, 0.3, 1.0]),
        "talk": rng.choice([0.0, 0.01, 0.1]),
        "quiet": rng.random() < 0.2,
    }

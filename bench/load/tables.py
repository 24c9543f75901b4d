"""The tables of a load: opened on a server or on the floor, with the frames of games drawn beforehand."""

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.load.wire import Wire, packed
from engine.events import Place
from engine.game import Game, GameOptions, RandomChance
from engine.pieces import Seat

SEATS: Final = 4
_SCRIPTS: Final = 32
_FIRST_ID: Final = 100_000  # as large on the wire as the ids that clients choose


@dataclass
class LoadTable:
    """A table: the wires of its seats, and the frames of its game, each with the seat that sends it."""

    wires: list[Wire]
    frames: list[tuple[int, bytes]] = field(default_factory=list)
    at: int = 0
    heard: int = 0
    sent: float = 0.0
    codes: list[str] = field(default_factory=list)  # of one game after another


def scripts(seed: int) -> list[list[tuple[int, bytes]]]:
    """Return the frames of random legal games that seat 0 starts and that fit any layout."""
    rng = random.Random(seed)
    games = []
    for _ in range(_SCRIPTS):
        game = Game.new(GameOptions(SEATS, starting=Seat(0), random_layout=True), RandomChance(rng))
        frames: list[tuple[int, bytes]] = []
        while not game.over:
            move = rng.choice(game.legal_commands())
            assert isinstance(move, Place)
            game.apply(move)
            number = _FIRST_ID + len(frames)
            frames.append((move.seat, packed(t="place", id=number, piece=str(move.piece), field=move.field)))
        games.append(frames)
    return games


def begin_game(wires: Sequence[Wire], ids: Iterator[int], **chosen: object) -> tuple[str, list[object]]:
    """Begin a game in which seat 0 starts; return its table's code and the tokens of the seats."""
    host, *others = wires
    table: dict[str, object] = {"players": len(wires), "random_layout": True, "starting": 0, **chosen}
    seated = [host.ask("seated", t="open", id=next(ids), name="s0", **table)]
    code = str(seated[0]["table"])
    for seat, wire in enumerate(others, start=1):
        seated.append(wire.ask("seated", t="join", id=next(ids), table=code, name=f"s{seat}"))
    host.send(packed(t="start", id=next(ids)))
    for wire in wires:
        wire.expect("events")
    return code, [each["token"] for each in seated]


def leave(wires: Iterable[Wire], ids: Iterator[int]) -> None:
    for wire in wires:
        wire.ask("done", t="leave", id=next(ids))


class ServerTables:
    """Tables on the real servers at some ports, divided among them, left after each round and opened anew."""

    def __init__(self, ports: Sequence[int], tables: int) -> None:
        at = itertools.cycle(ports)
        self.tables = [
            LoadTable([Wire.welcomed(port) for _ in range(SEATS)]) for port in itertools.islice(at, tables)
        ]
        self._ids = itertools.count(1)

    def prepare(self) -> None:
        for table in self.tables:
            table.codes.append(begin_game(table.wires, self._ids)[0])
        for table in self.tables:  # read everything that the server sends about the start
            for wire in table.wires:
                wire.ask("pong", t="ping", id=next(self._ids))

    def tidy(self) -> None:
        for table in self.tables:
            leave(table.wires, self._ids)


class FloorTables:
    """The same seats on the floor: the first frame names the group, every other one is fanned out to it."""

    def __init__(self, ports: Sequence[int], tables: int) -> None:
        (port,) = ports
        self.tables = [LoadTable([Wire(port) for _ in range(SEATS)]) for _ in range(tables)]
        for number, table in enumerate(self.tables):
            for wire in table.wires:
                wire.ask("grouped", t="group", group=number)

    def prepare(self) -> None:
        pass

    def tidy(self) -> None:
        pass

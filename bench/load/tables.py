"""The tables of a load: opened on a server or on the floor, with the frames of games drawn beforehand."""

import random
from collections.abc import Sequence
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


class ServerTables:
    """Tables on the real servers at some ports, divided among them, left after each round and opened anew."""

    def __init__(self, ports: Sequence[int], tables: int) -> None:
        self.tables = _tables(ports, tables)
        self._id = 0
        for table in self.tables:
            for wire in table.wires:
                wire.send(packed(t="hello", versions=[1], client="bench"))
                wire.expect("welcome")

    def prepare(self) -> None:
        for table in self.tables:
            host = table.wires[0]
            host.send(
                packed(t="open", id=self._next(), players=SEATS, name="s0", random_layout=True, starting=0)
            )
            code = host.expect("seated")["table"]
            table.codes.append(str(code))
            for seat, wire in enumerate(table.wires[1:], start=1):
                wire.send(packed(t="join", id=self._next(), table=code, name=f"s{seat}"))
                wire.expect("seated")
            host.send(packed(t="start", id=self._next()))
            host.expect("events")
        self._drain()

    def tidy(self) -> None:
        for table in self.tables:
            for wire in table.wires:
                wire.send(packed(t="leave", id=self._next()))
                wire.expect("done")

    def _drain(self) -> None:
        """Read everything that the server sends about the start."""
        for table in self.tables:
            for wire in table.wires:
                number = self._next()
                wire.send(packed(t="ping", id=number))
                wire.expect("pong")

    def _next(self) -> int:
        self._id += 1
        return self._id


class FloorTables:
    """The same seats on the floor: the first frame names the group, every other one is fanned out to it."""

    def __init__(self, ports: Sequence[int], tables: int) -> None:
        self.tables = _tables(ports, tables)
        for number, table in enumerate(self.tables):
            for wire in table.wires:
                wire.send(packed(t="group", group=number))
                wire.expect("grouped")

    def prepare(self) -> None:
        pass

    def tidy(self) -> None:
        pass


def _tables(ports: Sequence[int], tables: int) -> list[LoadTable]:
    return [LoadTable([Wire(ports[at % len(ports)]) for _ in range(SEATS)]) for at in range(tables)]

"""The load: tables of four seats that play at once, each seat a connection of its own.

It runs in a process of its own, against one or more servers or against the floor (`bench.subject`), and
prints its figures as JSON. The tables play legal games drawn beforehand, so that this process does as little
as it can.
"""

import argparse
import json
import random
import selectors
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import psutil

from bench.process import cpu_of
from bench.wire import Wire, packed
from engine.events import Place
from engine.game import Game, GameOptions, RandomChance
from engine.pieces import Seat

SEATS: Final = 4
_EVENTS: Final = b"\xa1t\xa6events"  # how an events message begins, after the byte that counts its keys
_SCRIPTS: Final = 32
_FIRST_ID: Final = 100_000  # as large on the wire as the ids that clients choose
_TIMEOUT: Final = 30.0  # seconds without any frame before the run is given up


@dataclass
class LoadTable:
    """A table: the wires of its seats, and the frames of its game, each with the seat that sends it."""

    wires: list[Wire]
    frames: list[tuple[int, bytes]] = field(default_factory=list)
    at: int = 0
    heard: int = 0
    sent: float = 0.0


@dataclass
class Figures:
    """The figures of a run: moves, seconds, bytes at this end, the servers' CPU, latencies in seconds."""

    moves: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    bytes_sent: int = 0
    bytes_received: int = 0
    placements: int = 0
    placement_bytes: int = 0  # of the moves that do not end a game
    latencies: list[float] = field(default_factory=list)

    def percentile(self, percent: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]

    def summary(self) -> dict[str, float]:
        return {
            "moves": self.moves,
            "seconds": self.seconds,
            "moves_per_second": self.moves / self.seconds,
            "cpu_per_1000_moves": 1000 * self.cpu / self.moves,
            "bytes_per_move": (self.bytes_sent + self.bytes_received) / self.moves,
            "bytes_per_placement": self.placement_bytes / self.placements,
            "p50_ms": 1000 * self.percentile(50),
            "p95_ms": 1000 * self.percentile(95),
            "p99_ms": 1000 * self.percentile(99),
        }


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


def measured(
    tables: ServerTables | FloorTables,
    games: list[list[tuple[int, bytes]]],
    rounds: int,
    servers: Sequence[psutil.Process],
    rate: float | None,
) -> Figures:
    """Play `rounds` games at every table; as fast as possible, or at `rate` moves a second over all."""
    figures = Figures()
    rng = random.Random(1)
    for _ in range(rounds):
        tables.prepare()
        for table in tables.tables:
            table.frames, table.at = rng.choice(games), 0
        for table in tables.tables:
            for wire in table.wires:
                wire.bytes_in = wire.bytes_out = 0
        cpu = sum(map(cpu_of, servers))
        began = time.perf_counter()
        play(tables.tables, figures, rate, rng)
        figures.seconds += time.perf_counter() - began
        figures.cpu += sum(map(cpu_of, servers)) - cpu
        wires = [wire for table in tables.tables for wire in table.wires]
        for wire in wires:
            figures.bytes_received += wire.bytes_in
            figures.bytes_sent += wire.bytes_out
        tables.tidy()
    return figures


def play(tables: list[LoadTable], figures: Figures, rate: float | None, rng: random.Random) -> None:
    selector = selectors.DefaultSelector()
    for table in tables:
        for wire in table.wires:
            selector.register(wire.socket, selectors.EVENT_READ, (table, wire))
    now = time.perf_counter
    # At a fixed rate every table moves by a clock of its own, whatever the others do; they begin one after
    # another over a game's length, so that they do not all come to their scoring at once.
    pause = 0.0 if rate is None else len(tables) / rate
    length = pause * len(tables[0].frames)
    due = [(now() + length * rng.random(), table) for table in tables] if rate is not None else []
    playing = len(tables)

    def send(table: LoadTable, at: float) -> None:
        seat, frame = table.frames[table.at]
        table.heard, table.sent = 0, at
        table.wires[seat].send(frame)

    if rate is None:
        for table in tables:
            send(table, now())
    else:
        due.sort(key=lambda each: each[0])
    last_heard = now()
    while playing:
        if due and due[0][0] <= now():
            at, table = due.pop(0)
            # Latency counts from when the move was due: a stall must not hide by delaying the load.
            send(table, at)
            continue
        # Never asleep: a server whose clients are other machines does not pay for waking them either.
        for key, _ in selector.select(0):
            table, wire = key.data
            for payload in wire.frames():
                if payload[1:10] != _EVENTS:
                    continue
                table.heard += 1
                if table.heard < SEATS:
                    continue
                last_heard = now()
                figures.latencies.append(last_heard - table.sent)
                figures.moves += 1
                table.at += 1
                if table.at == len(table.frames) - 1:
                    figures.placements += table.at
                    figures.placement_bytes += sum(wire.bytes_in + wire.bytes_out for wire in table.wires)
                if table.at == len(table.frames):
                    playing -= 1
                elif rate is None:
                    send(table, now())
                else:
                    following = max(table.sent + pause, last_heard)
                    due.append((following, table))
                    due.sort(key=lambda each: each[0])
        if now() - last_heard > _TIMEOUT:
            raise TimeoutError("the server has stopped answering")
    selector.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("subject", choices=("server", "floor"))
    parser.add_argument("--port", type=int, nargs="+", required=True)
    parser.add_argument("--pid", type=int, nargs="+", required=True)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--moves", type=int, default=6400)
    parser.add_argument(
        "--rate", type=float, help="moves per second over all tables (default: as many as possible)"
    )
    options = parser.parse_args()
    kind = ServerTables if options.subject == "server" else FloorTables
    games = scripts(7)
    tables = kind(options.port, options.tables)
    rounds = max(1, round(options.moves / (options.tables * len(games[0]))))
    figures = measured(tables, games, rounds, [psutil.Process(pid) for pid in options.pid], options.rate)
    print(json.dumps(figures.summary()))


if __name__ == "__main__":
    main()

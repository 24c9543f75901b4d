"""The games of a load: played at all tables at once, with the figures of how the servers kept up."""

import heapq
import random
import selectors
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import psutil

from bench.load.process import Load, cpu_of
from bench.load.tables import SEATS, FloorTables, LoadTable, ServerTables

_TIMEOUT: Final = 30.0  # seconds without any frame before the run is given up


@dataclass
class Figures:
    """The figures of a run: seconds, the servers' CPU, bytes at this end, latencies in seconds."""

    seconds: float = 0.0
    idle: float = 0.0  # seconds in which nothing had come
    cpu: float = 0.0
    bytes: int = 0
    placements: int = 0
    placement_bytes: int = 0  # of the moves that do not end a game
    latencies: list[tuple[float, float, int]] = field(default_factory=list)  # with when and at which table

    def summary(self) -> Load:
        moves, ordered = len(self.latencies), sorted(self.latencies)
        percentiles = {
            f"p{percent}_ms": 1000 * ordered[moves * percent // 100][0] for percent in (50, 95, 99)
        }
        return {
            "moves": moves,
            "moves_per_second": moves / self.seconds,
            "cpu_per_1000_moves": 1000 * self.cpu / moves,
            "server_busy": self.cpu / self.seconds,
            "client_busy": 1 - self.idle / self.seconds,
            "bytes_per_move": self.bytes / moves,
            "bytes_per_placement": self.placement_bytes / self.placements,
            **percentiles,
        }


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
    wires = [wire for table in tables.tables for wire in table.wires]
    for _ in range(rounds):
        tables.prepare()
        for table in tables.tables:
            table.frames, table.at = rng.choice(games), 0
        for wire in wires:
            wire.bytes_in = wire.bytes_out = 0
        cpu, began = sum(map(cpu_of, servers)), time.perf_counter()
        play(tables.tables, figures, rate, rng)
        figures.seconds += time.perf_counter() - began
        figures.cpu += sum(map(cpu_of, servers)) - cpu
        figures.bytes += sum(wire.bytes_in + wire.bytes_out for wire in wires)
        tables.tidy()
    return figures


def play(tables: list[LoadTable], figures: Figures, rate: float | None, rng: random.Random) -> None:
    """Play the game that each table has, to its end."""
    selector = selectors.DefaultSelector()
    for number, table in enumerate(tables):
        for wire in table.wires:
            selector.register(wire.socket, selectors.EVENT_READ, (number, wire))
    now = time.perf_counter
    # At a fixed rate every table moves by a clock of its own, whatever the others do; they begin one after
    # another over a game's length, so that they do not all come to their scoring together.
    pause = 0.0 if rate is None else len(tables) / rate
    length = pause * len(tables[0].frames)
    due = [(now() + length * rng.random(), number) for number in range(len(tables))]
    heapq.heapify(due)
    playing, last_heard = len(tables), now()

    def send(table: LoadTable, at: float) -> None:
        seat, frame = table.frames[table.at]
        table.heard, table.sent = 0, at
        table.wires[seat].send(frame)

    while playing:
        while due and due[0][0] <= now():
            at, number = heapq.heappop(due)
            # Latency counts from when the move was due: a stall must not hide by delaying the load.
            send(tables[number], at)
        asked = now()
        # Never asleep: a server whose clients are other machines does not pay for waking them either.
        if not (ready := selector.select(0)):
            figures.idle += now() - asked
            if asked - last_heard > length + _TIMEOUT:
                raise TimeoutError("the server has stopped answering")
        for key, _ in ready:
            number, wire = key.data
            table = tables[number]
            table.heard += wire.heard()
            if table.heard < SEATS:
                continue
            last_heard = now()
            figures.latencies.append((last_heard - table.sent, last_heard, number))
            table.heard = 0
            table.at += 1
            if table.at == len(table.frames) - 1:
                figures.placements += table.at
                figures.placement_bytes += sum(wire.bytes_in + wire.bytes_out for wire in table.wires)
            if table.at == len(table.frames):
                playing -= 1
            elif rate is None:
                send(table, last_heard)
            else:
                heapq.heappush(due, (max(table.sent + pause, last_heard), number))
    selector.close()

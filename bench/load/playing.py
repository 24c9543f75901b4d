"""The games of a load: played at all tables at once, with the figures of how the servers kept up."""

import random
import selectors
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import psutil

from bench.load.process import cpu_of
from bench.load.tables import SEATS, FloorTables, LoadTable, ServerTables

_EVENTS: Final = b"\xa1t\xa6events"  # how an events message begins, after the byte that counts its keys
_TIMEOUT: Final = 30.0  # seconds without any frame before the run is given up


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

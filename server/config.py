"""What a host can set, with defaults for a LAN."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from engine.events import Command
from engine.legal import Legal
from engine.view import View
from server.timers import Timers

Durable: TypeAlias = Literal["normal", "full"]


class Choose(Protocol):
    """How a stand-in thinks: from what a seat sees and may do to what it does."""

    def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the server gives to strangers; counts, bytes and seconds. docs/hosting.md lists them."""

    connections: int = 1000
    connections_per_address: int = 250
    tables: int = 500  # in memory; one that everybody has left makes room for a new or returning one
    tables_per_connection: int = 30  # opened, or brought back from the archive, within a minute
    tables_per_address: int = 120  # ... by all who share it; then they wait, nobody is banned
    spectators: int = 32  # at one table
    chat_per_table: int = (
        60  # messages within a minute from a table's players, and as many from its spectators
    )
    chat_per_address: int = 120  # ... and from one address at all tables
    burst: int = 100  # messages a connection may send at once ...
    rate: float = 20.0  # ... and per second after that; faster ones are read later, not refused
    fragments: int = 16  # of one message; each is paid for like a message
    incoming_bytes: int = 64 * 1024  # waiting to be read at the rate, before the connection is dropped
    request_bytes: int = 8 * 1024  # of the HTTP request that a connection begins with
    bad_messages: int = 10  # before the connection is closed; a wrong token counts for two
    outgoing_bytes: int = 256 * 1024  # waiting for a client that does not read, before it is dropped
    hello_seconds: float = 10.0
    wrong_password_seconds: float = 1.0  # before the answer, so that guessing is slow
    lobby_idle_seconds: float = 900.0
    ping_seconds: float = 20.0
    close_seconds: float = 2.0
    seat_grace_seconds: float = 60.0  # before a seat is freed whose player left a table that has not begun
    rematch_grace_seconds: float = 300.0  # ... or of a player who has not yet come to play again
    over_seconds: float = 600.0  # before a finished table that everyone has left is archived
    unattended_seconds: float = 3600.0  # before a running table that everyone has left is archived
    archived_tables: int = 10_000  # kept in the journal, some 2 KiB each; unplayed and older ones go first
    archived_per_address: int = 100  # opened from one address; if it has more, its own games go first
    stand_in_seconds: float = 1.0  # that the stand-in takes for a move, however long it thinks


@dataclass(frozen=True, slots=True)
class Config:
    """Where to listen and where to keep things; `data` None keeps nothing beyond the process."""

    host: str = "127.0.0.1"
    port: int = 0
    data: Path | None = None
    durable: Durable = "normal"  # full: a move is on the disk before anyone hears of it
    records: Path | None = None  # a folder to which every finished game's record is written
    tls_cert: Path | None = None
    tls_key: Path | None = None
    password: str | None = field(default=None, repr=False)  # who connects must know it; None lets in anyone
    watched: bool = False  # answer /healthz and /metrics
    stand_in: Choose | None = None  # the brain that plays for absent players; None moves at random
    seed: int | None = None  # for games that can be repeated; None draws from the system
    limits: Limits = field(default_factory=Limits)
    timers: Callable[[], Timers] = asyncio.get_running_loop  # the time that the tables go by

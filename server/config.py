"""What a host can set, with defaults for a LAN."""

import asyncio
import ipaddress
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from engine.events import Command
from engine.game import RandomChance
from engine.legal import Legal
from engine.view import View
from protocol.admin import EveningPlan
from protocol.messages import NoticeKind
from server.limits.networks import Networks

Durable: TypeAlias = Literal["normal", "full"]
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class Timer(Protocol):
    """A call that is still to come."""

    def cancel(self) -> None: ...


class Timers(Protocol):
    """A clock, in seconds, that calls back; an event loop is one. A test can let hours pass at once."""

    def time(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: object) -> Timer: ...


class Choose(Protocol):
    """How a bot thinks: from what a seat sees and may do to what it does."""

    def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command: ...


@dataclass(frozen=True, slots=True)
class InProcess:
    """A brain that takes long for a move, and so thinks in a process of its own, where it is imported."""

    choose: Choose


Brain: TypeAlias = Choose | InProcess


class Website(Protocol):
    """What browsers are shown of a server."""

    def open(self, server: Any) -> Any:
        """Return the `OpenWebsite` of a server that is `Running`; both stand on the configuration."""


NoticeOf: TypeAlias = Literal["confirm", "turn", "short", "resumed", "over"]


class PlayerNotice(NamedTuple):
    """What a player who is away is told: nothing that is hidden, nor any text that people have written.

    `kind` says that the address is to be confirmed with `digits`, that it is the player's `turn`, that time
    is `short`, that the game has `resumed` after a pause or is `over`; `seconds` is the time left in a turn
    with a clock. `key` is the same if the same notice is sent again.
    """

    kind: NoticeOf
    table: str
    key: str
    digits: str = ""
    seconds: int | None = None


class Postman(Protocol):
    """How players who are away are notified; addresses appear in no log."""

    @property
    def kinds(self) -> Sequence[NoticeKind]:
        """Return the kinds of addresses that players may leave."""

    def kind_of(self, address: str) -> NoticeKind:
        """Return the kind of an address that may be left; raises Refusal."""

    def receiver(self, address: str) -> str:
        """Return what limits on codes count by: a mailbox, a host, or the URL at a host that is named."""

    async def send(
        self, address: str, language: str, server: str, notice: PlayerNotice, asker: Networks
    ) -> str | None:
        """Send a notice of the table at `server`; return why it was not delivered, None if it was.

        The reason does not contain the address. Notices take turns by their askers, who have caused them.
        """


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of the server clients may use, in counts, bytes and seconds (docs/reference/limits.md)."""

    connections: int = 1000
    connections_per_address: int = 250
    tables: int = 500  # in memory; one that everybody has left makes room for a new or restored one
    tables_per_connection: int = 30  # opened, or restored from the archive, within a minute
    tables_per_address: int = 120  # ... by all clients that share it; then they wait, and nobody is banned
    spectators: int = 32  # at one table
    states_at_once: int = 20  # of a table, before its next ones are told together
    chat_per_table: int = 60  # messages within a minute from its players, and as many from its spectators
    chat_per_address: int = 120  # ... and from one address at all tables
    chat_in_lobby: int = 180  # messages within a minute from everybody in the lobby ...
    chat_in_lobby_per_connection: int = 20
    chat_in_lobby_per_address: int = 60
    lobby_names_per_connection: int = 30  # names taken in the lobby within a minute ...
    lobby_names_per_address: int = 600
    burst: int = 100  # messages a connection may send at once ...
    rate: float = 20.0  # ... and per second after that; faster ones are read later, not refused
    fragments: int = 16  # of one message; each counts as a message
    burst_per_address: int = 250  # messages from all connections of an address at once ...
    rate_per_address: float = 1000.0  # ... and per second after that: 4 from each, if all send
    incoming_bytes: int = 64 * 1024  # queued by the rate limit, before the connection is dropped
    request_bytes: int = 8 * 1024  # of the HTTP request that a connection begins with
    bad_messages: int = 10  # before the connection is closed; a wrong token counts for two
    outgoing_bytes: int = 256 * 1024  # queued for a client that does not read, before it is dropped
    hello_seconds: float = 10.0
    handshakes_cpu: float = 0.5  # the share of one processor's time for TLS handshakes
    wrong_password_seconds: float = 1.0  # before the answer, so that guessing is slow
    lobby_idle_seconds: float = 900.0
    ping_seconds: float = 20.0
    close_seconds: float = 2.0
    waiting_seat_seconds: float = 600.0  # before an absent player's seat is freed, if the game has not begun
    seat_grace_seconds: float = 60.0  # before a host may free an absent player's seat in a game
    host_grace_seconds: float = 60.0  # before somebody who is here becomes host instead of an absent one
    notice_seconds: float = 60.0  # of a turn or after a game, before an absent player is called
    notice_codes: int = 100  # sent within an hour to confirm addresses; everybody has a part of them ...
    notice_codes_per_address: int = 10  # ... for clients at one address
    notice_codes_per_receiver: int = 3  # ... to one mailbox, or to one host for all of one address
    removed_address_seconds: float = 60.0  # before others at the address of somebody removed can come
    removed_seconds: float = 600.0  # before somebody whom the host removed can come back to the table
    wrong_codes_per_address: int = 30  # within a minute; then only tables in the list are found
    rematch_grace_seconds: float = 300.0  # ... or the seat kept for a player's rematch
    over_seconds: float = 600.0  # before a finished table that everyone has left is archived
    unattended_seconds: float = 3600.0  # before a running table that everyone has left is archived
    archived_tables: int = 10_000  # kept in the journal, some 2 KiB each; unplayed and older ones go first
    archived_per_address: int = 100  # opened from one address; if it has more, its own games go first
    stand_in_seconds: float = 1.0  # before the stand-in or a bot moves; 0.8 to 4 times that with people
    pages_per_address: int = 600  # for browsers, within a minute; with websockets that follow a page
    pages_cpu: float = 0.25  # the share of one processor's time in which all pages are drawn
    bots_cpu: float = 0.5  # how many processors' time all together think; above 1 in several processes
    bots_seconds: float = 30.0  # for a move of one that searches, with its wait; then it moves simply


@dataclass(frozen=True, slots=True)
class Announce:
    """How the server is found on the network: under this name, or with a number behind it if that is taken.

    `told` is called with the name in use, whenever the server is announced.
    """

    name: str
    told: Callable[[str], None] = lambda _name: None


@dataclass(frozen=True, slots=True)
class Config:
    """Where to listen and where to store tables; without `data` or `database`, they end with the process."""

    host: str = "127.0.0.1"
    port: int = 0
    data: Path | None = None
    database: str | None = field(default=None, repr=False)  # the URL of PostgreSQL, which has the tables then
    address: str = ""  # where clients reach this server, as the others tell them
    lease_seconds: float = 6.0  # after which others take up the tables of a server that is gone
    node: str | None = None  # this server's name among those that share the database; None: host and port
    durable: Durable = "normal"  # full: a move is on the disk before anyone sees it
    records: Path | None = None  # a folder for the records of finished games
    shared_records: bool = False  # the folder has the records of many journals, each of them new
    most_records: int | None = None  # there; if there are more, the oldest go. None keeps all
    records_days: int | None = None  # for which they are kept; None keeps them for ever
    tls_cert: Path | None = None
    tls_key: Path | None = None
    password: str | None = field(default=None, repr=False)  # clients must know it; None lets anyone connect
    trusted_proxies: tuple[Network, ...] = ()  # whose word for where a client is counts
    proxy_header: bool = False  # they say it by the PROXY protocol; otherwise by X-Forwarded-For
    announce: Announce | None = None  # None: whoever joins has to know the address
    gateway: Callable[[str, str], None] | None = None  # is told URL and token for a program that connects
    attendance: Callable[[str, str, bool], None] | None = None  # is told who comes to tables, and leaves
    admin: Path | None = None  # the socket for `palatinus admin`; None for none
    watched: bool = False  # answer /healthz and /metrics
    pages: Website | None = None  # None shows browsers nothing
    postman: Postman | None = None  # how players who are away are called; None calls nobody
    stand_in: Brain | None = None  # the brain that plays for absent players; None moves at random
    human_pace: bool = True  # bots take their time for a move while people are at the table
    evening: EveningPlan | None = None  # to be held, unless it is under way already
    lobby_chat: bool = True  # and the list of who is online
    brains: Mapping[str, Brain] = field(default_factory=dict)  # of the bots that it seats, by levels
    former_brains: Mapping[str, Brain] = field(default_factory=dict)  # of levels that older tables may have
    seed: int | None = None  # for reproducible games, which draw from it alone; None is random
    chances: Iterator[RandomChance] | None = None  # what a new table draws from, with a seed and no data
    limits: Limits = field(default_factory=Limits)
    timers: Callable[[], Timers] = asyncio.get_running_loop  # the clock for the tables

    @property
    def journal_folder(self) -> Path | None:
        """Return the folder with the journal's files, None if it has none."""
        return self.data if self.database is None else None

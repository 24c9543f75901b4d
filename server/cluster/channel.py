"""The channel between the servers that share a database: each tells what holds there, until it changes.

It is stored in the database first, and then the others are notified, who look there. So what anybody makes of
a notification is a look, and what is missed while a connection is lost is found afterwards. A server tells at
intervals, and looks at intervals: however much happens, it costs so many round trips.
"""

import asyncio
import contextlib
import itertools
import logging
import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

import asyncpg

from server.cluster.messages import Draining, Message, NotUnderstood, decode, encode
from server.cluster.others import Others, SameAddress
from server.monitoring.failures import RepeatedFailure
from server.probes import probe
from server.storage.postgresql import telling
from server.storage.postgresql.database import FAILED, Connection, Database, Signal, listen, reason_of
from server.storage.postgresql.telling import READ_AT_ONCE, News, Node

M = TypeVar("M", bound=Message)

_SECONDS_BETWEEN_TELLINGS: Final = 0.2
_SECONDS_BETWEEN_LOOKS: Final = 0.1
_SECONDS_BETWEEN_BEATS: Final = 2.0  # a look without a notification; the connection is tried by that, too
_SECONDS_BETWEEN_CLEARINGS: Final = 5.0
_LONGEST_GAP: Final = 30.0  # between looks: what holds no longer is told for longer than that
_MOST_READ: Final = 50_000  # at one look: more than any servers have
_ANSWER_SECONDS: Final = 5.0
_DRAINING: Final = "draining"  # a key
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
_TOLD_AT_ONCE: Final = 500

log = logging.getLogger(__name__)


class Channel:
    """What this server tells the others, and what they have told.

    `term` returns the term of this server's lease, None while it has none.
    """

    def __init__(self, database: Database, term: Callable[[], int | None]) -> None:
        self._database = database
        self._term = term
        self._loop = asyncio.get_running_loop()
        self.hears = False  # what the others tell: the last look had an answer
        self._mine: dict[str, Message] = {}  # what holds here
        self._outdated: dict[str, Callable[[], Message | None]] = {}  # by keys: returns what holds now
        self._changed: dict[str, None] = {}  # keys of what is to be told, in order
        self._told_as = 0  # the term under which all of this is told, as far as is known
        self._last_term = 0  # the term under which something was told last
        self._ended_term = 0  # a term that is over
        self._number = 0  # of the last thing told
        self._others = Others()
        self._same_address = SameAddress()
        self._seen: dict[int, int] = {}  # by terms, the last number
        self._watched: dict[type[object], Callable[[], None]] = {}
        self._wake = asyncio.Event()
        self._rung = False
        self._next_telling = self._next_look = self._next_clearing = -math.inf
        self._looked = -math.inf
        self._turns = itertools.count()  # of the servers that newcomers are sent to
        self._failures = RepeatedFailure()
        self._not_understood = RepeatedFailure()

    # -- what the server asks -----------------------------------------------------------------------

    @property
    def term(self) -> int:
        """Return the number of this server's lease, or of the last one."""
        return self._term() or self._last_term

    def keep(self, key: str, message: Message | None) -> None:
        """Announce that this holds until it is changed; None withdraws it."""
        self._outdated.pop(key, None)
        if message == self._mine.get(key):
            return
        if message is None:
            del self._mine[key]
        else:
            self._mine[key] = message
        self._changed[key] = None
        self._wake.set()

    def keep_latest(self, key: str, latest: Callable[[], Message | None]) -> None:
        """Announce the result of `latest`, which is called only just before it is sent."""
        self._outdated[key] = latest
        self._wake.set()

    def on_change(self, kind: type[Message], changed: Callable[[], None]) -> None:
        """Call `changed` when what holds of this kind has changed."""
        self._watched[kind] = changed

    def holding(self, kind: type[M]) -> Iterator[tuple[Node, M]]:
        """Yield what holds of this kind at the other servers, and at which."""
        return self._others.holding(kind)

    @property
    def nodes(self) -> Mapping[int, Node]:
        """Return the servers, this one too, as they were at the last look, by their terms."""
        return self._others.nodes

    def addresses(self) -> list[str]:
        """Return where clients reach the other servers, as many as they are told."""
        return self._others.addresses(self.term)

    # -- newcomers ----------------------------------------------------------------------------------

    def announce_drain(self, *, on: bool) -> None:
        """Announce that this server takes no new tables, or takes them again."""
        self.keep(_DRAINING, Draining() if on else None)

    def address_for_newcomers(self) -> str | None:
        """Return where a new table may be opened, at each of the servers in turn; None if at none of them."""
        drain = {node.term for node, _ in self.holding(Draining)}
        ready = [
            node.address
            for term, node in sorted(self.nodes.items())
            if node.runs and node.address and not node.leaving and term not in drain | {self.term}
        ]
        return ready[next(self._turns) % len(ready)] if ready else None

    # -- the connection -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Send and receive as long as the server runs."""
        pause = _FIRST_PAUSE
        while True:
            since = self._loop.time()
            try:
                async with self._database.connection() as connection:
                    await self._begin(connection)
                    await self._serve(connection)
            except (*FAILED, ValueError) as error:
                reason = reason_of(error)
                self._failures.log(log.warning, "nothing is heard from the other servers", reason=reason)
            finally:
                self.hears = False
            if self._loop.time() - since > _LONGEST_PAUSE:  # else it breaks as soon as it is there
                pause = _FIRST_PAUSE
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _begin(self, connection: Connection) -> None:
        """Listen; what is in the database then is read anew."""
        connection.add_termination_listener(lambda _gone: self._wake.set())
        async with asyncio.timeout(_ANSWER_SECONDS):
            await connection.execute("SET synchronous_commit = off")
            await listen(connection, self._database, Signal.TOLD, self._ring)
        self._looked = -math.inf
        self._told_as = 0  # the database may have lost what it was told
        self._rung = True

    def _ring(self, _connection: Connection, _pid: int, _channel: str, payload: str) -> None:
        """Record a notification, whatever it says: only one's own echo is known to be useless."""
        if payload != str(self._last_term):
            self._rung = True
            self._wake.set()

    async def _serve(self, connection: Connection) -> None:
        while not connection.is_closed():
            self._wake.clear()
            now = self._loop.time()
            if self._to_tell() and now >= self._next_telling:
                self._next_telling = now + _SECONDS_BETWEEN_TELLINGS
                async with asyncio.timeout(_ANSWER_SECONDS):
                    await self._tell(connection)
            now = self._loop.time()
            if now >= self._next_look if self._rung else now >= self._next_look + _SECONDS_BETWEEN_BEATS:
                self._rung = False
                self._next_look = now + _SECONDS_BETWEEN_LOOKS
                async with asyncio.timeout(_ANSWER_SECONDS):
                    await self._look(connection)
                self.hears = True
                self._failures.log_end(log.warning, "the other servers are heard again")
            due = self._next_look if self._rung else self._next_look + _SECONDS_BETWEEN_BEATS
            if self._to_tell():
                due = min(due, self._next_telling)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._wake.wait()

    def _to_tell(self) -> bool:
        """Return whether there are facts to send and a lease to send them under."""
        term = self._term()
        if term is None or term == self._ended_term:
            return False
        return bool(self._outdated or self._changed) or term != self._told_as

    # -- telling ------------------------------------------------------------------------------------

    async def _tell(self, connection: Connection) -> None:
        """Tell the others what has changed, as much as fits into one statement."""
        term = self._term()
        if term is None:
            return
        if term != self._told_as:
            # First what has changed: nothing is to be told of a table that has become private meanwhile.
            self._changed = dict.fromkeys((*self._changed, *self._mine))
            self._told_as = self._last_term = term
        for key, latest in list(self._outdated.items()):
            self.keep(key, latest())
        if not (keys := list(self._changed)[:_TOLD_AT_ONCE]):
            return
        lines = []
        for key in keys:
            del self._changed[key]
            self._number += 1
            message = self._mine.get(key)
            lines.append((self._number, key, None if message is None else encode(message)))
        try:
            await telling.tell(connection, term, lines)
        except asyncpg.ForeignKeyViolationError:
            probe("a server without a lease tells others something")
            self._ended_term = term  # the journal will have another one
        except BaseException:
            probe("it is in doubt whether others have learned something")
            self._changed = dict.fromkeys((*keys, *self._changed))  # in doubt: told again as it is then
            raise

    # -- looking ------------------------------------------------------------------------------------

    async def _look(self, connection: Connection) -> None:
        """Learn what the others have told since the last look, or all of it if that is long ago."""
        now, term = self._loop.time(), self._last_term
        anew = now > self._looked + _LONGEST_GAP
        seen = {} if anew else dict(self._seen)
        told: list[News] = []
        while len(told) < _MOST_READ:
            news = await telling.news(connection, term, seen)
            told += news
            seen |= {each.term: each.number for each in news}
            if len(news) < READ_AT_ONCE:
                break
            probe("more news has come than is read at once")
        nodes = await telling.nodes(connection)
        if now >= self._next_clearing and term:
            self._next_clearing = now + _SECONDS_BETWEEN_CLEARINGS
            await telling.forget_old(connection, term)
        self._others.know(nodes, anew=anew)
        self._same_address.look(nodes, term, now)
        # What a server has told goes with its lease.
        self._seen = {term: last for term, last in seen.items() if term in self._others.nodes}
        for each in told:
            if (node := self._others.nodes.get(each.term)) is not None:
                message = None if each.body is None else self._decode(node, each.body)
                self._others.put(each.term, each.key, message)
        self._looked = now
        kinds = self._others.changes()
        for kind, changed in self._watched.items():
            if kind in kinds:
                self._call(changed)

    def _decode(self, node: Node, body: bytes) -> Message | None:
        """Return a message, None if it is not one that this server knows."""
        try:
            return decode(body)
        except NotUnderstood as error:
            event = "a message from another server cannot be understood"
            self._not_understood.log(log.warning, event, node=node.name, reason=str(error))
            return None

    def _call(self, changed: Callable[[], None]) -> None:
        """Have this server take in what others have told."""
        try:
            changed()
        except Exception:  # noqa: BLE001 - what another version tells, or a stranger, ends nothing here
            self._not_understood.log(log.exception, "a message from another server failed here")

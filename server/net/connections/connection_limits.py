"""How many connections there may be, in all and from one address."""

import asyncio
import contextlib
import http
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, cast

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response
from websockets.protocol import State

from protocol.codes import FULL
from server.config import Limits
from server.limits.banned import BannedNetworks
from server.limits.networks import Networks, shares
from server.limits.turns import Turns
from server.monitoring.logs import about
from server.net.addresses import RemoteEnd, remote_of
from server.net.connections.address import AddressConnections, FairRate, RefusedFor, SharingConnection
from server.net.connections.plain_http import (
    Page,
    PageRequest,
    WatchedSite,
    over_tls,
    page_response,
    upgrade_required,
)
from server.net.proxies import TrustedProxies
from server.probes import probe

log = logging.getLogger(__name__)

_FORWARDED_FOR: Final = "X-Forwarded-For"
_REFUSALS: Final = 64  # connections beyond the limit that get an answer; more are just cut ...
_REFUSALS_PER_ADDRESS: Final = 16  # ... and of one address
_REQUESTS_AT_ONCE: Final = 4
_HOLD_MEMORY: Final = 50  # connections that have ended; fewer do not hold enough
_SECONDS_FOR_OTHERS: Final = 5.0  # to end meanwhile: giving memory back takes up to 20 ms


class ConnectionLimits:
    """Counts connections from the first byte on, and refuses those that are too many.

    From a `banned` network, nothing is let in. `pages` are the answers to plain HTTP, by path, and `site`, if
    there is one, has all others; `refused` and `delayed` count for the metrics.
    """

    def __init__(self, limits: Limits, banned: BannedNetworks) -> None:
        self.limits = limits
        self._banned = banned
        self.pages: Mapping[str, Callable[[], Awaitable[Page]]] = {}
        self.site: WatchedSite | None = None
        self._open: dict[SharingConnection, None] = {}
        self._widest: dict[str, AddressConnections] = {}  # addresses, and networks with those inside them
        self._ended = 0  # connections, since memory was last given back
        self._stopping = False
        self.refused: Counter[RefusedFor] = Counter()
        self.delayed = 0  # messages read later than they came
        self._complaints: set[str] = set()
        self._told: Counter[str] = Counter()  # connections that only wait to be refused, by addresses
        self._turns: Turns[SharingConnection] = Turns()
        self._readers: dict[SharingConnection, Callable[[], None]] = {}  # of those that wait for their turn

    def __len__(self) -> int:
        return len(self._open)

    def admit(
        self, connection: SharingConnection, transport: asyncio.Transport, proxies: TrustedProxies
    ) -> bool:
        """Count a connection and return True, unless there are far too many for an answer.

        If there is no room for it, another one is cut that nobody would miss.
        """
        if self._stopping:
            self.refused[RefusedFor.STOPPING] += 1
            return False
        remote = remote_of(transport)
        networks, most = remote.counted_as, self.limits.connections_per_address
        if proxies.trusts(remote.address):
            # A proxy's own connections are its clients', and counted for them as soon as it has named them.
            networks, most = networks[:1], self.limits.connections
            connection.proxies = None if proxies.header else proxies
        elif self._refuse_banned(remote):
            return False
        connection.network, connection.remote = transport, remote
        return self._count(connection, networks, most)

    def admit_client(self, connection: SharingConnection, remote: RemoteEnd) -> bool:
        """Count a connection for the client that a trusted proxy names instead; answers as `admit` does."""
        self._uncount(connection)
        connection.remote, connection.forwarded, connection.proxies = remote, True, None
        if self._refuse_banned(remote):
            return False
        return self._count(connection, remote.counted_as, self.limits.connections_per_address)

    def cut_banned(self) -> int:
        """Cut the connections from networks that are banned by now; return how many there were."""
        cut = [
            each
            for each in self._open
            if each.remote.address in self._banned and (each.forwarded or each.proxies is None)
        ]
        for each in cut:
            self._uncount(each)
            each.network.abort()
        return len(cut)

    def _refuse_banned(self, remote: RemoteEnd) -> bool:
        if remote.address not in self._banned:
            return False
        probe("a banned network connects")
        self.refused[RefusedFor.BANNED] += 1
        return True

    def read_in_turn(self, connection: SharingConnection, read: Callable[[], None]) -> None:
        """Call what reads a request or a PROXY header: a few in each turn of the loop, network by network."""
        if connection in self._readers:
            return
        if not self._readers:
            asyncio.get_running_loop().call_soon(self._read_requests)
        self._readers[connection] = read
        self._turns.add(connection.remote.counted_as, connection)

    def _read_requests(self) -> None:
        turns = (self._turns.next() for _ in range(_REQUESTS_AT_ONCE))
        readers = [self._readers.pop(connection) for connection in turns if connection is not None]
        if self._readers:  # looked at before those that read may add others
            asyncio.get_running_loop().call_soon(self._read_requests)
        for read in readers:
            read()

    def forget(self, connection: SharingConnection) -> None:
        self._uncount(connection)
        self._ended += 1
        if self._ended == _HOLD_MEMORY:
            asyncio.get_running_loop().call_later(_SECONDS_FOR_OTHERS, self._give_memory_back)

    def _give_memory_back(self) -> None:
        self._ended = 0
        asyncio.get_running_loop().run_in_executor(None, give_memory_back)

    def _count(self, connection: SharingConnection, networks: Networks, most: int) -> bool:
        address = self._address(networks, most)
        self._make_room(address)
        refusal = RefusedFor.FULL if self._is_full else None
        if any(len(each) >= each.most for each in address.and_around()):
            refusal = RefusedFor.ADDRESS_FULL
        if refusal is None:
            address.add(connection)
        elif self._told[address.name] >= _REFUSALS_PER_ADDRESS or self._told.total() >= _REFUSALS:
            probe("a connection is cut without an answer")
            self.refused[refusal] += 1
            return False
        else:
            self._told[address.name] += 1
            probe("a connection is refused because there are too many")
        self._open[connection] = None
        connection.address, connection.refusal = address, refusal
        return True

    def _uncount(self, connection: SharingConnection) -> None:
        address, connection.address = connection.address, None
        self._open.pop(connection, None)
        if address is None:
            return  # it has been cut
        if connection.refusal is None:
            address.remove(connection)
        else:
            self._told -= Counter([address.name])

    @property
    def _is_full(self) -> bool:
        return len(self._open) - self._told.total() >= self.limits.connections

    def _address(self, networks: Networks, most: int) -> AddressConnections:
        """Return an address with the networks around it, new ones if nobody is connected from there."""
        address: AddressConnections | None = None
        for network, share in reversed(shares(networks, most, self.limits.connections)):
            beside = self._widest if address is None else address.inside
            if (found := beside.get(network)) is None:
                times = share / most  # what one address may send
                burst, rate = times * self.limits.burst_per_address, times * self.limits.rate_per_address
                frames = FairRate(burst, rate, None if address is None else address.frames)
                found = AddressConnections(network, beside, address, share, frames)
            address = found
        assert address is not None  # noqa: S101 - it counts as something
        return address

    def _make_room(self, address: AddressConnections) -> None:
        """Cut a connection that another one from `address` may take the place of, if that is needed."""
        full = next((each for each in address.and_around() if len(each) >= each.most), None)
        if full is None:
            if not self._is_full:
                return
            *_, own = address.and_around()
            crowd = max(self._widest.values(), key=lambda each: each.without_seat)
            if crowd.without_seat <= own.without_seat + 1:
                return
        crowded = (full or crowd).most_crowded()
        # Who has many connections does not keep others out by always opening new ones.
        if (cut := crowded.dispensable(at_once=full is None)) is not None:
            probe("a connection makes room for another one")
            self._uncount(cut)
            cut.network.abort()  # now, because its place is taken now

    async def response(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return the HTTP answer to a request that opens no websocket here, None if it may open one."""
        connection = cast("SharingConnection", connection)
        if (
            connection.address is not None
            and (named := self._named_by_proxy(connection, request)) is not None
        ):
            self.admit_client(connection, named)
        counted = connection.address is not None  # otherwise there was no room, or it has gone
        if not _asks_for_websocket(request):
            # Not by way of a proxy, which would show them to everybody.
            by_proxy = connection.forwarded or (connection.proxies and _FORWARDED_FOR in request.headers)
            direct = counted and not by_proxy
            page = self.pages.get(request.path.partition("?")[0]) if direct else None
            if page is not None:
                response = page_response(connection, await page())
            elif self.site is not None and counted:
                asked = page_request(connection, request)
                response = page_response(connection, await self.site.page(asked))
            else:
                response = upgrade_required(connection, request)
            if request.method == "HEAD":
                response.body = b""
            return response
        refusal = self._refusal(connection)
        if refusal is not None:
            self.refused[refusal] += 1
        if refusal is not None or not counted:
            return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, FULL)
        if self.site is not None and "Origin" in request.headers:
            asked = page_request(connection, request)
            connection.protocol.origins = None if await self.site.admits(asked) else [None]
        return None

    def _refusal(self, connection: SharingConnection) -> RefusedFor | None:
        if (address := connection.address) is None:  # a refusal has been counted already
            return None
        # What a proxy sends without a name is its own.
        if connection.proxies is not None and len(address) > self.limits.connections_per_address:
            return RefusedFor.ADDRESS_FULL
        return connection.refusal

    def _named_by_proxy(self, connection: SharingConnection, request: Request) -> RemoteEnd | None:
        """Return the client that a trusted proxy names in a request, None if it names none."""
        if connection.proxies is None:
            return None
        named = connection.proxies.client(request.headers.get_all(_FORWARDED_FOR))
        if named is None and _asks_for_websocket(request):
            self._complain(connection.remote, _FORWARDED_FOR)
        return named

    def no_proxy_header(self, connection: SharingConnection) -> None:
        """Record that a trusted proxy's connection does not begin with the header it should."""
        probe("a proxy sends no header")
        self.refused[RefusedFor.PROXY_HEADER] += 1
        self._complain(connection.remote, "PROXY")

    def _complain(self, proxy: RemoteEnd, header: str) -> None:
        if header not in self._complaints:  # otherwise every connection would be a line in the log
            self._complaints.add(header)
            log.warning(
                "a trusted proxy sends no such header", extra=about(address=proxy.name, header=header)
            )

    def stop(self) -> None:
        """Cut connections without a request so far, and all to come: a stopping server waits for none."""
        self._stopping = True
        for connection in self._open:
            if connection.protocol.state is State.CONNECTING:
                connection.network.abort()


def page_request(connection: SharingConnection, request: Request) -> PageRequest:
    """Return what a browser asks for, and how its request came."""
    path, _, query = request.path.partition("?")
    host, port = (connection.network.get_extra_info("sockname") or ("localhost", 0))[:2]
    return PageRequest(
        request.method,
        path,
        query,
        request.headers,
        secure=over_tls(connection.transport),
        proxied=connection.forwarded or connection.proxies is not None,
        local=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        near=connection.remote.near(host),
        counted_as=connection.remote.counted_as,
    )


def _asks_for_websocket(request: Request) -> bool:
    return "websocket" in (value.lower() for value in request.headers.get_all("Upgrade"))


def give_memory_back() -> None:
    """Return to the system what connections that have ended have freed.

    The GNU C library keeps what is freed below anything still in use: 17 MB after 400 TLS connections.
    """
    import ctypes  # noqa: PLC0415 - 0.3 MiB

    with contextlib.suppress(AttributeError, OSError, TypeError):  # another library has no such function
        ctypes.CDLL(None).malloc_trim(0)

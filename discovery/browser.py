"""Hearing of the servers on the network, live."""

import asyncio
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from zeroconf import Error, IPVersion, ServiceListener, Zeroconf
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from discovery.interfaces import MULTICAST_VARIABLE, Interface, own_interfaces, switched_off
from discovery.multicast import NoMulticast, multicast
from discovery.service import SERVICE_TYPE, Heard, heard

MOST_SERVERS: Final = 16  # that are reported: the first ones heard
_MOST_NAMES: Final = 64  # that are resolved; nobody has this many servers, but anybody can announce them
_AT_ONCE: Final = 8
_MOST_UNANSWERED: Final = 4  # names that are asked for again; fewer than at once, so that new ones get a turn
_ANSWER_MILLISECONDS: Final = 3000.0
_SECONDS_BETWEEN_LOOKS: Final = 5.0  # at the interfaces of this computer
_SECONDS_UNTIL_ASKED_AGAIN: Final = 5.0  # a server that has not answered: its answer may have been lost


@dataclass(frozen=True, slots=True)
class Hearing:
    """The servers heard of; `deaf` is the reason if there is no multicast, empty if there is no network."""

    servers: tuple[Heard, ...] = ()
    deaf: str | None = None


async def listen(tell: Callable[[Hearing], None]) -> None:
    """Call `tell` whenever servers appear or disappear, until cancelled.

    If the network changes, the search starts again.
    """
    while True:
        if switched_off():
            tell(Hearing(deaf=f"{MULTICAST_VARIABLE}=none"))
            await asyncio.Event().wait()
        own = own_interfaces()
        if not own:
            tell(Hearing(deaf=""))
            await _until_changed(own)
            continue
        # Apart, so that nobody outside can announce a loopback address.
        loopback = tuple(each for each in own if each.ip.is_loopback)
        outside = tuple(each for each in own if not each.ip.is_loopback)
        parts = [part for part in (outside, loopback) if part]
        ears = _Ears(tell, len(parts))
        async with asyncio.TaskGroup() as tasks:
            hearing = [tasks.create_task(ears.listen(part, on_loopback=part is loopback)) for part in parts]
            await _until_changed(own)
            for each in hearing:
                each.cancel()


async def _until_changed(own: tuple[Interface, ...]) -> None:
    while True:
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        if own_interfaces() != own:
            return


class _Ears:
    """What is heard on all interfaces together."""

    def __init__(self, tell: Callable[[Hearing], None], parts: int) -> None:
        self._tell = tell
        self._parts = parts
        self._found: dict[tuple[bool, str], Heard] = {}
        self._deaf: dict[bool, str] = {}

    async def listen(self, interfaces: tuple[Interface, ...], *, on_loopback: bool) -> None:
        """Listen on these interfaces until cancelled."""

        def failed(error: OSError) -> None:
            self._fails(error.strerror or str(error), on_loopback=on_loopback)

        try:
            async with multicast(interfaces, failed) as zeroconf, asyncio.TaskGroup() as tasks:
                await zeroconf.async_add_service_listener(
                    SERVICE_TYPE, _Names(self, zeroconf, tasks, interfaces, on_loopback=on_loopback)
                )
                self._tell_all()
                await asyncio.Event().wait()
        except NoMulticast as error:
            self._fails(str(error), on_loopback=on_loopback)

    def found(self, full_name: str, server: Heard | None, *, on_loopback: bool) -> None:
        """Take in what is known of a server; None if it has gone."""
        key = (on_loopback, full_name)
        if server is None:
            self._found.pop(key, None)
        else:
            self._found[key] = server
            self._deaf.pop(on_loopback, None)
        self._tell_all()

    def _fails(self, reason: str, *, on_loopback: bool) -> None:
        self._deaf[on_loopback] = reason
        self._tell_all()

    def _tell_all(self) -> None:
        deaf = next(iter(self._deaf.values())) if len(self._deaf) == self._parts else None
        self._tell(Hearing(_different(self._found.values()), deaf))


def _different(servers: Iterable[Heard]) -> tuple[Heard, ...]:
    """Return the first servers, one for each address."""
    by_url: dict[str, Heard] = {}
    for server in servers:
        by_url.setdefault(server.urls[0], server)
    return tuple(itertools.islice(by_url.values(), MOST_SERVERS))


class _Names(ServiceListener):
    """Asks for address and port of every name that is announced, within limits."""

    def __init__(
        self,
        ears: _Ears,
        zeroconf: AsyncZeroconf,
        tasks: asyncio.TaskGroup,
        interfaces: tuple[Interface, ...],
        *,
        on_loopback: bool,
    ) -> None:
        self._ears = ears
        self._zeroconf = zeroconf
        self._tasks = tasks
        self._interfaces = interfaces
        self._on_loopback = on_loopback
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._unanswered: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(_AT_ONCE)

    def add_service(self, zc: Zeroconf, type_: str, name: str) -> None:  # noqa: ARG002 - the library's own
        self._ask(name)

    def update_service(self, zc: Zeroconf, type_: str, name: str) -> None:  # noqa: ARG002
        self._ask(name)

    def remove_service(self, zc: Zeroconf, type_: str, name: str) -> None:  # noqa: ARG002
        if (waiting := self._unanswered.pop(name, None)) is not None:
            waiting.cancel()
        if (asking := self._asking.pop(name, None)) is not None:
            asking.cancel()
            self._ears.found(name, None, on_loopback=self._on_loopback)

    def _ask(self, name: str) -> None:
        if (waiting := self._unanswered.pop(name, None)) is not None:
            waiting.cancel()
        if (before := self._asking.get(name)) is not None:
            before.cancel()
        elif len(self._asking) >= _MOST_NAMES:
            return
        self._asking[name] = self._tasks.create_task(self._look_into(name))

    async def _look_into(self, name: str) -> None:
        try:
            server = await self._resolve(name)
        except Error:  # a name or an answer that is not one
            server = None
        self._ears.found(name, server, on_loopback=self._on_loopback)
        if server is None:
            del self._asking[name]  # so that others are looked into instead
            if len(self._unanswered) < _MOST_UNANSWERED:
                self._unanswered[name] = self._tasks.create_task(self._ask_again(name))

    async def _ask_again(self, name: str) -> None:
        await asyncio.sleep(_SECONDS_UNTIL_ASKED_AGAIN)
        del self._unanswered[name]
        self._ask(name)

    async def _resolve(self, name: str) -> Heard | None:
        info = AsyncServiceInfo(SERVICE_TYPE, name)
        async with self._slots:
            if not await info.async_request(self._zeroconf.zeroconf, _ANSWER_MILLISECONDS):
                return None
        return heard(
            name,
            info.port,
            info.properties,
            info.parsed_scoped_addresses(IPVersion.All),
            self._interfaces,
            on_loopback=self._on_loopback,
        )

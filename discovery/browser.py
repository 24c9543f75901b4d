"""Hearing of the servers on the network, live."""

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from zeroconf import Error, IPVersion, ServiceListener, Zeroconf
from zeroconf.asyncio import AsyncServiceInfo

from discovery.interfaces import MULTICAST_VARIABLE, Interface, own_interfaces, switched_off
from discovery.multicast import NoMulticast, multicast
from discovery.service import SERVICE_TYPE, HeardServer, server_in

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

    servers: tuple[HeardServer, ...] = ()
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
        await _listen_on(own, tell)


async def _listen_on(own: tuple[Interface, ...], tell: Callable[[Hearing], None]) -> None:
    """Listen on these interfaces until the computer has others."""
    parts: list[_Part] = []

    def tell_all() -> None:
        by_url: dict[str, HeardServer] = {}
        for server in itertools.chain.from_iterable(part.found.values() for part in parts):
            by_url.setdefault(server.urls[0], server)
        reasons = [part.deaf for part in parts if part.deaf is not None]
        servers = tuple(itertools.islice(by_url.values(), MOST_SERVERS))
        tell(Hearing(servers, reasons[0] if len(reasons) == len(parts) else None))

    # Apart, so that nobody outside can announce a loopback address.
    parts += [
        _Part(tell_all, interfaces, on_loopback=on_loopback)
        for on_loopback in (True, False)
        if (interfaces := tuple(each for each in own if each.ip.is_loopback == on_loopback))
    ]
    async with asyncio.TaskGroup() as tasks:
        hearing = [tasks.create_task(part.listen()) for part in parts]
        await _until_changed(own)
        for each in hearing:
            each.cancel()


async def _until_changed(own: tuple[Interface, ...]) -> None:
    while True:
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        if own_interfaces() != own:
            return


class _Part(ServiceListener):
    """Asks for address and port of every name that is announced on some interfaces, within limits.

    It knows what it has `found`, by full names, and whether it is `deaf`, and why.
    """

    def __init__(
        self, changed: Callable[[], None], interfaces: tuple[Interface, ...], *, on_loopback: bool
    ) -> None:
        self.found: dict[str, HeardServer] = {}
        self.deaf: str | None = None
        self._changed = changed
        self._interfaces = interfaces
        self._on_loopback = on_loopback
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._unanswered: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def listen(self) -> None:
        """Listen until cancelled."""
        try:
            async with (
                multicast(
                    self._interfaces, lambda error: self._fails(error.strerror or str(error))
                ) as library,
                asyncio.TaskGroup() as self._tasks,
            ):
                self._library = library
                await library.async_add_service_listener(SERVICE_TYPE, self)
                self._changed()
                await asyncio.Event().wait()
        except NoMulticast as error:
            self._fails(str(error))

    def _fails(self, reason: str) -> None:
        self.deaf = reason
        self._changed()

    def _learn(self, name: str, server: HeardServer | None) -> None:
        """Take in what is known of a server; None if it has gone."""
        if server is None:
            self.found.pop(name, None)
        else:
            self.found[name] = server
            self.deaf = None
        self._changed()

    def add_service(self, zc: Zeroconf, type_: str, name: str) -> None:  # noqa: ARG002 - the library's own
        self._ask(name)

    update_service = add_service

    def remove_service(self, zc: Zeroconf, type_: str, name: str) -> None:  # noqa: ARG002
        if (waiting := self._unanswered.pop(name, None)) is not None:
            waiting.cancel()
        if (asking := self._asking.pop(name, None)) is not None:
            asking.cancel()
            self._learn(name, None)

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
        self._learn(name, server)
        if server is None:
            del self._asking[name]  # so that others are looked into instead
            if len(self._unanswered) < _MOST_UNANSWERED:
                self._unanswered[name] = self._tasks.create_task(self._ask_again(name))

    async def _ask_again(self, name: str) -> None:
        await asyncio.sleep(_SECONDS_UNTIL_ASKED_AGAIN)
        del self._unanswered[name]
        self._ask(name)

    async def _resolve(self, name: str) -> HeardServer | None:
        info = AsyncServiceInfo(SERVICE_TYPE, name)
        async with self._slots:
            if not await info.async_request(self._library.zeroconf, _ANSWER_MILLISECONDS):
                return None
        return server_in(
            name,
            info.port,
            info.properties,
            info.parsed_scoped_addresses(IPVersion.All),
            self._interfaces,
            on_loopback=self._on_loopback,
        )

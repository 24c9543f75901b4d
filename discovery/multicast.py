"""The library's sockets: opened on chosen interfaces, guarded, and closed whatever happens."""

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Callable
from typing import Final

from zeroconf import Error, IPVersion
from zeroconf.asyncio import AsyncZeroconf

from discovery.guard import Guard
from discovery.interfaces import Interface

_START_SECONDS: Final = 3.0
_GOODBYE_SECONDS: Final = 1.0  # how long closing takes at most; the goodbyes themselves take a quarter

# What it logs has words of strangers in it; what matters to us is raised, or told by the guard.
logging.getLogger("zeroconf").setLevel(logging.CRITICAL)


class NoMulticast(Exception):
    """Multicast cannot be used on these interfaces, for the reason in the text, which is the system's."""


@contextlib.asynccontextmanager
async def multicast(
    interfaces: tuple[Interface, ...], failed: Callable[[OSError], None]
) -> AsyncIterator[AsyncZeroconf]:
    """Use multicast on these interfaces while the context lasts; says goodbye for what was registered.

    `failed` is called with the reason if nothing can be sent on any of them. Raises NoMulticast.
    """
    addresses = [str(each.ip) for each in interfaces]
    try:
        zeroconf = AsyncZeroconf(interfaces=list(addresses), ip_version=_version(interfaces))
    except (OSError, RuntimeError, Error) as error:
        raise NoMulticast(_reason(error)) from error
    try:
        await _wait_until_started(zeroconf, interfaces, failed)
        yield zeroconf
    finally:
        with contextlib.suppress(TimeoutError, OSError, Error):
            async with asyncio.timeout(_GOODBYE_SECONDS):
                await zeroconf.async_close()
        zeroconf.zeroconf.close()  # without a wait: what a goodbye cut short has left open


async def _wait_until_started(
    zeroconf: AsyncZeroconf, interfaces: tuple[Interface, ...], failed: Callable[[OSError], None]
) -> None:
    engine = zeroconf.zeroconf.engine
    try:
        await zeroconf.zeroconf.async_wait_for_start(_START_SECONDS)
    except (OSError, RuntimeError, Error) as error:
        raise NoMulticast(_reason(error)) from error
    clock = asyncio.get_running_loop().time
    mute: set[int] = set()

    def cannot_send(socket: int, error: OSError) -> None:
        mute.add(socket)
        if len(mute) >= len(engine.senders):
            failed(error)

    for at, (reader, behind) in enumerate(zip(engine.readers, engine.protocols, strict=True)):
        guard = Guard(behind, interfaces, clock, functools.partial(cannot_send, at))
        reader.transport.set_protocol(guard)
    if not engine.senders:
        raise NoMulticast("no interface takes part in multicast")


def _version(interfaces: tuple[Interface, ...]) -> IPVersion:
    versions = {each.version for each in interfaces}
    if len(versions) > 1:
        return IPVersion.All
    return IPVersion.V6Only if versions == {6} else IPVersion.V4Only


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__

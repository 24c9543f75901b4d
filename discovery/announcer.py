"""Announcing a server by multicast DNS."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable

from zeroconf import Error
from zeroconf.asyncio import AsyncServiceInfo

from discovery.interfaces import Interface
from discovery.multicast import NoMulticast, multicast
from discovery.service import SERVICE_TYPE, Service


@contextlib.asynccontextmanager
async def announce(
    service: Service, interfaces: tuple[Interface, ...], failed: Callable[[OSError], None]
) -> AsyncIterator[str]:
    """Announce a server on these interfaces while the context lasts; yield the name that it has there.

    Another name is used if it is taken: `attic` becomes `attic-2`. The end is announced with a goodbye, for
    at most a second. Raises NoMulticast; `failed` is called if nothing can be sent.
    """
    unsent: list[OSError] = []
    tell: Callable[[OSError], None] = unsent.append  # until the first announcement is out

    def fails(error: OSError) -> None:
        tell(error)

    async with multicast(interfaces, fails) as zeroconf:
        info = AsyncServiceInfo(
            SERVICE_TYPE,
            f"{service.name}.{SERVICE_TYPE}",
            port=service.port,
            properties=service.properties,
            # Not the computer's own name, for which another program may answer differently.
            server=f"palatinus-{secrets.token_hex(6)}.local.",
            parsed_addresses=[str(each.ip).partition("%")[0] for each in interfaces],
        )
        try:
            telling = await zeroconf.async_register_service(info, allow_name_change=True)
        except Error as error:
            raise NoMulticast(str(error) or type(error).__name__) from error
        if unsent:
            raise NoMulticast(unsent[0].strerror or str(unsent[0]))
        tell = failed
        again = asyncio.ensure_future(telling)
        try:
            yield info.name.removesuffix(f".{SERVICE_TYPE}")
        finally:
            again.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await again

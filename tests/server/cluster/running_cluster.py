"""Several servers that share a database, for the tests."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final

from server.app import Running, running
from server.config import Config

LONG_LEASE: Final = 120.0  # longer than a busy machine keeps any process from renewing it


@contextlib.asynccontextmanager
async def cluster(url: str, *names: str, **options: Any) -> AsyncIterator[list[Running]]:
    async with contextlib.AsyncExitStack() as stack:
        configs = [Config(database=url, node=name, lease_seconds=LONG_LEASE, **options) for name in names]
        yield [await stack.enter_async_context(running(config)) for config in configs]

"""Several servers that share a database, for the tests."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from server.app import Running, running
from server.config import Config


@contextlib.asynccontextmanager
async def house(url: str, *names: str, **options: Any) -> AsyncIterator[list[Running]]:
    """Run servers with these names that share a database."""
    async with contextlib.AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                running(Config(database=url, node=name, lease_seconds=3, **options))
            )
            for name in names
        ]

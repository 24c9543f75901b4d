"""The host's end of the admin socket, for tests: requests as JSON, and bytes that are none."""

import asyncio
import json
from pathlib import Path
from typing import Any

from server.admin.endpoint import SOCKET_NAME
from tests.server.peer import TIMEOUT


async def raw_answer(path: Path, *parts: bytes, end: bool = False) -> bytes:
    """Send bytes to the socket, and nothing more if `end`; return everything that comes back."""
    async with asyncio.timeout(TIMEOUT):
        reader, writer = await asyncio.open_unix_connection(str(path))
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            if end:
                writer.write_eof()
            return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.transport.abort()


async def answer(data: Path, do: str, **fields: Any) -> Any:
    """Ask the server with this data folder; return what is `ok`, or fail."""
    whole = await whole_answer(data, do, **fields)
    assert "error" not in whole, whole
    return whole["ok"]


async def failure_of(data: Path, do: str, **fields: Any) -> dict[str, Any]:
    """Ask the server with this data folder for something that it does not do; return why."""
    error: dict[str, Any] = (await whole_answer(data, do, **fields))["error"]
    return error


async def whole_answer(data: Path, do: str, **fields: Any) -> Any:
    request = json.dumps({"v": 1, "ask": {"do": do, **fields}}).encode() + b"\n"
    found = json.loads((await raw_answer(data / SOCKET_NAME, request)).partition(b"\n")[0])
    assert found["v"] == 1
    return found

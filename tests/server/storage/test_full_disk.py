"""A disk that is full, and free again: what the health page and the log say, whether or not anybody plays."""

import asyncio
import random
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from protocol.codes import Code
from protocol.messages import OpenTable
from server.failures import RepeatedFailure
from tests.server.admin.admin_peer import answer
from tests.server.peer import TIMEOUT, connected, game, http_get, play_on
from tests.server.process import Serving, serving

if sys.platform == "win32":
    pytest.skip("no process can limit what another one writes", allow_module_level=True)
import resource

# No file may grow beyond it: too little for a page of the journal, but enough for the small file beside it.
SMALL = 3000


@contextmanager
def full_disk(server: Serving) -> Iterator[None]:
    """Let the system refuse what the server writes, as a full disk does."""
    unlimited = resource.RLIM_INFINITY
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (SMALL, unlimited))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))


async def becomes(port: int, status: int) -> None:
    """Ask for the health page until it has this status; nobody moves in the meantime."""
    async with asyncio.timeout(TIMEOUT):
        while (await http_get(port, "/healthz"))[0] != status:  # noqa: ASYNC110 - it does not announce this
            await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_health_follows_the_disk_while_nobody_plays(tmp_path: Path) -> None:
    """It is asked before and after, and nothing else happens."""
    async with serving("--data", str(tmp_path)) as server, game(server.port, 2) as peers:
        for _ in range(2):
            with full_disk(server):
                await becomes(server.port, 503)
            await becomes(server.port, 200)
        await play_on(peers, random.Random(1), moves=2)


async def test_the_host_and_the_metrics_see_that_a_disk_is_free_again(tmp_path: Path) -> None:
    """Even if nothing has been stored since, and nobody has asked for the health page."""
    async with serving("--data", str(tmp_path)) as server, connected(server.port) as peer:
        with full_disk(server):
            await peer.refused(OpenTable(1, 2, "Anna"))
            assert (await answer(tmp_path, "status"))["journal_failing"]
            assert "palatinus_storing 0.0" in (await http_get(server.port, "/metrics"))[1]
        async with asyncio.timeout(TIMEOUT):
            while (await answer(tmp_path, "status"))["journal_failing"]:  # noqa: ASYNC110 - nor does this
                await asyncio.sleep(0.05)
        assert "palatinus_storing 1.0" in (await http_get(server.port, "/metrics"))[1]


async def test_a_server_that_starts_on_a_full_disk_says_so_at_once(tmp_path: Path) -> None:
    """The first answer of the health page is right."""
    async with serving("--data", str(tmp_path)) as server, game(server.port, 2):
        pass
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, hard))  # which the server inherits
    try:
        process = serving("--data", str(tmp_path), imported=False)
        server = await process.__aenter__()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    try:
        assert (await http_get(server.port, "/healthz"))[0] == 503
    finally:
        await process.__aexit__(None, None, None)


async def test_a_crowd_that_asks_for_the_health_page_writes_little(tmp_path: Path) -> None:
    """Strangers may ask, so the journal is written to once a second at most."""
    async with serving("--data", str(tmp_path)) as server:
        log = tmp_path / "palatinus.sqlite3-wal"
        assert (await http_get(server.port, "/healthz"))[0] == 200
        before = log.stat().st_size
        began = asyncio.get_running_loop().time()
        for _ in range(20):
            answers = await asyncio.gather(*(http_get(server.port, "/healthz") for _ in range(10)))
            assert {status for status, _ in answers} == {200}
        seconds = asyncio.get_running_loop().time() - began
        assert log.stat().st_size - before <= (seconds + 2) * 5000


async def test_a_client_cannot_fill_the_log_through_a_full_disk(tmp_path: Path) -> None:
    """The first failure is logged with its reason, the others are counted until storing works again."""
    async with serving("--data", str(tmp_path)) as server:
        async with connected(server.port) as peer, connected(server.port) as other:
            with full_disk(server):
                for number in range(30):
                    refused = await (peer, other)[number % 2].refused(OpenTable(number, 2, "Anna"))
                    assert refused.code == Code.NOT_STORED
            await peer.open(2)
        server.process.terminate()
        _, _, err = await server.ended()
    first, last = err.splitlines()
    assert re.search(r" ERROR not stored: failures=1 reason=.*disk", first)
    assert last.endswith(" WARNING stored again: failures=30")


def test_a_repeated_failure_is_logged_once_a_minute() -> None:
    """Each line counts the failures since the line before, and the last line all of them."""
    now = 0.0
    failure = RepeatedFailure(lambda: now)
    assert failure.works() == 0
    assert [failure.failed(), failure.failed(), failure.failed(4)] == [1, 0, 0]
    now = 60.0
    assert failure.failed() == 6
    assert failure.failed() == 0
    assert failure.works() == 8
    assert failure.works() == 0
    for _ in range(5):
        assert failure.failed() == 0
        assert failure.works() == 0
    now = 120.0
    assert failure.failed() == 6
    assert failure.works() == 6
    assert failure.count == 14

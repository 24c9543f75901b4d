"""Today's program beside that of the version before, in real processes."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.server.process import TODAY, ServerProcess, output, program
from trials.upgrade import PREVIOUS, check_records, games, make_moves, source, upgrade

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the source of the version before."""
    try:
        return source(PREVIOUS, tmp_path_factory.mktemp("previous"))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the history of the repository is missing")


async def test_a_server_is_upgraded_in_the_middle_of_ten_games(previous: Path, tmp_path: Path) -> None:
    """It is killed: whatever it has told anybody is in its journal."""
    await upgrade(previous, 10, tmp_path, signal.SIGKILL)


@pytest.mark.parametrize("newer", ["server", "client"])
async def test_each_version_plays_on_a_server_of_the_other(
    previous: Path, tmp_path: Path, newer: str
) -> None:
    serves, plays = (TODAY, previous) if newer == "server" else (previous, TODAY)
    async with ServerProcess("--data", tmp_path, "--records", tmp_path / "records") as server:
        await server.start(serves)
        await output(await program(plays, "bot", "--players", "3", "--seats", "3", server.url))
        await server.end(signal.SIGTERM)
    await check_records(tmp_path / "records", 1)


async def test_nodes_are_upgraded_one_after_the_other(previous: Path, tmp_path: Path, database: str) -> None:
    """Tables go from old nodes to new ones and back, and from a killed one; an old one no longer starts."""
    records = ("--records", tmp_path / "records")
    first, second, late = (
        ServerProcess("--database", database, "--node", name, "--data", tmp_path / name, *records)
        for name in ("first", "second", "late")
    )
    async with first, second, late:
        await first.start(previous)
        await second.start(previous)
        async with games(previous, first.url, 2) as at_first, games(TODAY, second.url, 2) as at_second:
            await first.end(signal.SIGTERM)
            await first.start(TODAY)
            await make_moves([*at_first, *at_second], 2)
            async with games(previous, first.url, 2) as at_new:
                await first.end(signal.SIGTERM)
                await make_moves(at_new, 2)
                with pytest.raises(
                    RuntimeError, match=r"was written by a newer Palatinus .* Update Palatinus"
                ):
                    await late.start(previous)
                await first.start(TODAY)
                await second.end(signal.SIGKILL)
                await make_moves([*at_first, *at_second, *at_new], 2)
                await second.start(TODAY)
                tables = await output(await program(TODAY, "admin", "--data", tmp_path / "second", "tables"))
                assert tables.count("first") + tables.count("second") == 6
        for node in (first, second):
            await node.end(signal.SIGTERM)
    await check_records(tmp_path / "records", 6)

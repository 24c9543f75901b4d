"""What a release consists of: everything works from the wheel, the zipapp and the executable."""

import asyncio
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

import pexpect
import psutil
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from build_lock import LOCKS, needed
from client.network.connection import open_connection
from protocol.messages import NEW, OpenTable, SeatBot
from tests.gateway.visitor import visiting
from tests.server.peer import http_get
from trials.upgrade import UpgradedPlayer, make_moves

ROOT = Path(__file__).parents[1]
SECONDS = 300.0
FOREIGN = ("server", "client", "engine")


def test_the_locks_have_what_the_project_needs_and_nothing_without_a_hash() -> None:
    """If a requirement has changed since, `python -m build_lock` makes them again."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = needed(project)
    assert {f"{name}.txt" for name in wanted} == {file.name for file in LOCKS.iterdir()}
    versions: dict[str, set[str]] = {}
    for name, (_, requirements) in wanted.items():
        lock = (LOCKS / f"{name}.txt").read_text(encoding="utf-8")
        assert "://" not in lock  # an index is for whoever installs to choose
        blocks = re.split(r"\n(?=\S)", lock)[1:]
        assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)
        locked = {canonicalize_name(block.partition("==")[0]): block.split()[0] for block in blocks}
        for package, found in locked.items():
            versions.setdefault(package, set()).add(found)
        for requirement in map(Requirement, requirements):
            chosen = locked[canonicalize_name(requirement.name)].partition("==")[2]
            assert requirement.specifier.contains(chosen), requirement
    for shared in ("msgpack", "asyncssh", "pyinstaller"):
        assert len(versions[canonicalize_name(shared)]) == 1


def test_the_container_downloads_only_what_is_locked() -> None:
    """As the builds of releases do, which refuse everything else themselves."""
    text = (ROOT / "docs/examples/Containerfile").read_text(encoding="utf-8")
    for command in re.findall(r"pip (?:install|wheel) [^&\n]*", text):
        assert "--require-hashes" in command or "--no-index" in command, command


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no OpenSSH here")
@pytest.mark.parametrize("changed", [False, True])
def test_a_release_is_signed_and_verified_as_documented(tmp_path: Path, changed: bool) -> None:
    """Whoever changes a file has to change the sums, and cannot sign them."""
    text = (ROOT / "docs/releases.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    verify, sign = (block for block in blocks if "ssh-keygen -Y" in block)
    (dist := tmp_path / "dist").mkdir()

    def run(script: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-ec", script], cwd=tmp_path, capture_output=True, text=True, check=check
        )

    run("ssh-keygen -q -t ed25519 -N '' -f release-key")
    file = dist / "palatinus-1.0.0.tar.gz"
    file.write_bytes(b"content")
    (dist / "SHA256SUMS").write_text(f"{hashlib.sha256(b'content').hexdigest()}  {file.name}\n")
    run(sign)
    if changed:
        file.write_bytes(b"other")
        (dist / "SHA256SUMS").write_text(f"{hashlib.sha256(b'other').hexdigest()}  {file.name}\n")
    for name in ("SHA256SUMS", "SHA256SUMS.sig", file.name):
        shutil.copy(dist / name, tmp_path)
    found = run(verify, check=False)
    assert (found.returncode == 0) is not changed, found.stderr
    assert ("Good" in found.stdout) is not changed


@pytest.mark.slow
async def test_everything_works_from_each_artefact(tmp_path: Path, database: str) -> None:
    tools = (
        "argparse_manpage",
        "build",
        "check_wheel_contents",
        "cyclonedx_py",
        "mypyc",
        "PyInstaller",
        "shiv",
    )
    for tool in (*tools, "twine"):
        pytest.importorskip(tool, reason="the tools are missing: pip install -r locks/release.txt")
    folder = tmp_path / "release"
    await output([sys.executable, str(ROOT / "build_release.py"), str(folder)])

    sums = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    assert sums == [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}"
        for file in sorted(folder.iterdir())
        if file.name != "SHA256SUMS"
    ]
    for bill in folder.glob("*.cdx.json"):
        components = json.loads(bill.read_bytes())["components"]
        assert {"msgpack", "zeroconf"} < {each["name"] for each in components}
        assert all(each["licenses"] for each in components if each["type"] == "library")

    if shutil.which("lintian"):
        for package in folder.glob("*.deb"):
            await output(["lintian", "--allow-root", "--fail-on", "error,warning", str(package)])
            contents = await output(["dpkg-deb", "--contents", str(package)])
            for file in ("CHANGELOG.md.gz", "docs/public-server.md", "docs/examples/Containerfile"):
                assert f"/usr/share/doc/palatinus/{file}" in contents

    (wheel,), (zipapp,) = folder.glob("*-none-any.whl"), folder.glob("*.pyz")
    for each in (zipapp, *folder.glob("*-linux_*.whl")):
        with zipfile.ZipFile(each) as archive:
            assert any(fnmatch(name, "*/client/bots/search/tree.*.so") for name in archive.namelist())
    executable = zipapp.with_name(zipapp.name.partition("-python")[0])
    nowhere = {**os.environ, "SHIV_ROOT": os.devnull}
    process = await asyncio.create_subprocess_exec(zipapp, "--version", env=nowhere, stderr=PIPE)
    _, errors = await process.communicate()
    assert re.fullmatch(r"palatinus: cannot unpack .*SHIV_ROOT.*\n", errors.decode())
    await output([sys.executable, "-m", "venv", str(tmp_path / "venv")])
    python = tmp_path / "venv/bin/python"
    await output([str(python), "-m", "pip", "install", "-q", f"{wheel}[ssh,cluster]"])
    (packages,) = (tmp_path / "venv/lib").glob("*/site-packages")
    for name in FOREIGN:  # packages of somebody else's
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text("raise SystemExit('not ours')", encoding="utf-8")
    for number, program in enumerate((python.with_name("palatinus"), zipapp, executable)):
        (home := tmp_path / f"home-{number}").mkdir()
        await check(str(program), home, f"{database}_{number}")


async def check(program: str, home: Path, database: str) -> None:
    """Use everything that starts a process, reads a file of ours or needs an extra."""
    assert "gebruik" in await output([program, "--lang", "nl", "--help"], home)
    assert not re.search(r"async\w+ +not installed", await output([program, "doctor"], home))
    options = f"--host 127.0.0.1 --port 0 --no-config --data {home}/data --records {home}/records".split()
    more = ("--ssh", "0", "--web", "--metrics", "--bots-pace", "quick", "--database", database)
    server = await asyncio.create_subprocess_exec(
        program, "serve", *options, *more, stdout=PIPE, stderr=PIPE, env=environment(home)
    )
    assert server.stdout is not None
    try:
        ports: list[tuple[str, str]] = []
        async with asyncio.timeout(SECONDS):
            while len(ports) < 3:  # for players, browsers and guests
                line = (await server.stdout.readline()).decode()
                assert line, await server.communicate()
                ports += re.findall(r":(\d+)/?$|-p (\d+)", line)
        port, ssh = int(ports[0][0]), int(ports[2][1])
        for page in ("/", "/metrics"):
            assert (await http_get(port, page))[0] == 200
        async with visiting(ssh) as guest:
            await guest.until("A new table")
        url = f"ws://127.0.0.1:{port}"
        bots = ("--players", "2", "--seats", "2", "--random-layout", "--brain", "search:100,greedy")
        assert "draws checked" in await output([program, "bot", url, *bots], home)
        async with open_connection(url) as connection:
            await connection.ask(OpenTable(NEW, 2, "Anna", random_layout=True))
            await connection.ask(SeatBot(NEW, "senator"))
            await make_moves([UpgradedPlayer(connection, 1)], 100)
            started = [each.cmdline() for each in psutil.Process(server.pid).children(recursive=True)]
        assert any("server.thinking.worker" in command for command in started)
    finally:
        server.terminate()
        _, errors = await server.communicate()
    assert "WARNING" not in errors.decode()
    records = [*(home / "records").iterdir()]
    assert len(records) == 2
    assert "a finished game" in await output([program, "check", str(records[0])], home)
    arena = ("search:100", "random", "--games", "2", "-j", "2")
    assert "random" in await output([program, "arena", *arena], home)
    await asyncio.to_thread(open_start_screen, program, home)


def open_start_screen(program: str, home: Path) -> None:
    terminal = pexpect.spawn(program, env=environment(home), timeout=SECONDS, dimensions=(24, 80))
    terminal.expect("Learn")
    terminal.send("q")
    terminal.expect(pexpect.EOF)


async def output(command: Sequence[str], home: Path | None = None) -> str:
    """Return what a command prints; it has to end well."""
    around = None if home is None else environment(home)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, cwd=home, env=around)
    async with asyncio.timeout(1200):
        out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return out.decode()


def environment(home: Path) -> dict[str, str]:
    """Return an environment in which nobody's settings and seats are found."""
    own = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"), str(home))
    return {**os.environ, **own, "TERM": "xterm-256color"}

"""The examples of docs/public-server.md, docs/operator-reference.md and docs/examples work."""

import asyncio
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import tomllib
from asyncio.subprocess import DEVNULL
from pathlib import Path
from typing import get_args

import pytest
import trustme
from websockets.asyncio.client import connect

from protocol.messages import Stage
from server.app import running
from server.config import Config
from server.net.connections.address import RefusedFor
from server.storage.sqlite.journal_file import FILE_NAME
from tests.server.peer import TIMEOUT, Peer, connected, http_get
from tests.server.process import serving

ROOT = Path(__file__).parent.parent
UNIT = ROOT / "docs" / "examples" / "palatinus.service"
CONTAINERFILE = (ROOT / "docs" / "examples" / "Containerfile").read_text(encoding="utf-8")
RECIPE = (ROOT / "docs" / "public-server.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "operator-reference.md").read_text(encoding="utf-8")

HERE = ("--host", "127.0.0.1", "--port", "0")


def executed(text: str) -> list[str]:
    """Return the words of the last command line in a unit, without the program and `serve`."""
    program, command, *options = shlex.split(re.findall(r"^ExecStart=(.+)$", text, re.MULTILINE)[-1])
    assert (program, command) == ("/opt/palatinus/bin/palatinus", "serve")
    return options


def instruction(name: str) -> list[str]:
    """Return the words of an instruction of the last stage in the Containerfile."""
    found = re.findall(rf"^{name} .*?(\[.*\])$", CONTAINERFILE, re.MULTILINE)
    words: list[str] = json.loads(found[-1])
    return words


@pytest.mark.slow
async def test_the_unit_serves(tmp_path: Path) -> None:
    """With its own command line, in another folder: the journal is in the folder named, private and alone."""
    options = [word.replace("%S", str(tmp_path)) for word in executed(UNIT.read_text(encoding="utf-8"))]
    async with serving(*options, *HERE) as server:
        assert (tmp_path / "palatinus" / FILE_NAME).exists()
        assert (tmp_path / "palatinus" / "records").is_dir()
        server.process.terminate()
        code, _, _ = await server.ended()
        assert code == 0


async def test_the_unit_with_tls_and_a_password_serves(tmp_path: Path) -> None:
    authority = trustme.CA()
    made = authority.issue_cert("127.0.0.1")
    made.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    made.private_key_pem.write_to_path(tmp_path / "key.pem")
    (tmp_path / "password").write_text("seven hills\n")
    (change,) = re.findall(r"```ini\n(.*?)```", RECIPE, re.DOTALL)
    handed = re.findall(r"^LoadCredential=(\S+):/", change, re.MULTILINE)
    options = executed(change)
    assert handed == [word.removeprefix("%d/") for word in options if word.startswith("%d/")]
    options = [word.replace("%S", str(tmp_path)).replace("%d", str(tmp_path)) for word in options]
    async with serving(*options, *HERE) as server:
        assert "wss://" in server.announced[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")
@pytest.mark.parametrize("abstract", [False, True])
async def test_systemd_is_told_when_the_server_is_ready_reloads_and_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abstract: bool
) -> None:
    """As the unit's Type=notify asks for; a server that is not asked tells nobody."""
    assert "Type=notify\n" in UNIT.read_text(encoding="utf-8")
    name = f"palatinus-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    file = tmp_path / "serve.toml"
    file.write_text("verbose = true\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}" if abstract else name)
        manager.setblocking(False)

        async def told() -> dict[str, str]:
            async with asyncio.timeout(TIMEOUT):
                message = await asyncio.get_running_loop().sock_recv(manager, 4096)
            return dict(line.split("=", 1) for line in message.decode().split("\n"))

        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}" if abstract else name)
        async with serving("--config", str(file), "--memory") as server:
            listening = {"READY": "1", "STATUS": f"listening on port {server.port}"}
            assert await told() == listening
            asked = time.monotonic_ns() // 1000
            server.process.send_signal(signal.SIGHUP)
            reloading = await told()
            assert reloading["RELOADING"] == "1"
            assert int(reloading["MONOTONIC_USEC"]) >= asked
            assert await told() == listening
            file.write_text('port = "x"\nhost = 1\n')
            server.process.send_signal(signal.SIGHUP)
            assert (await told())["RELOADING"] == "1"
            failed = await told()
            assert failed["READY"] == "1"
            assert "the last reload failed" in failed["STATUS"]
            server.process.terminate()
            assert await told() == {"STOPPING": "1", "STATUS": "stopping"}
            assert (await server.ended())[0] == 0


async def test_a_service_manager_that_does_not_listen_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nothing"))
    async with serving("--memory") as server, connected(server.port) as peer:
        await peer.open(2)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8").replace("/opt/palatinus/bin/palatinus", sys.executable)
    unit.write_text(text, encoding="utf-8")
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert (found.returncode, [line for line in found.stderr.splitlines() if unit.name in line]) == (0, [])


async def test_the_container_serves(tmp_path: Path) -> None:
    """Its command line, with options added, and its folder replaced."""
    program, command, *options = [*instruction("ENTRYPOINT"), *instruction("CMD")]
    assert (program, command) == ("/opt/palatinus/bin/palatinus", "serve")
    assert "/data" in options
    assert f"-o palatinus {options[options.index('--data') + 1]}" in CONTAINERFILE
    options = [word.replace("/data", str(tmp_path)) for word in options]
    async with serving(*options, "--rate", "30", *HERE) as server:
        assert await http_get(server.port, "/healthz") == (200, "ok\n")
        assert (tmp_path / FILE_NAME).exists()


def test_the_container_is_built_of_what_there_is() -> None:
    """All packages are copied, and the locks that are installed exist; the version is the program's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    copied = [
        source
        for sources in re.findall(r"^COPY (?!--)(.+) \S+$", CONTAINERFILE, re.MULTILINE)
        for source in sources.split()
    ]
    assert all((ROOT / source).exists() for source in copied)
    needed = {pattern.rstrip("*") for pattern in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    needed |= {f"{name}.py" for name in project["tool"]["setuptools"]["py-modules"]}
    needed |= {"build_catalogues.py", "locks", "pyproject.toml", "setup.py", project["project"]["readme"]}
    assert needed == set(copied)
    assert all((ROOT / lock).exists() for lock in re.findall(r"-r (\S+)", CONTAINERFILE))


async def healthy(port: int) -> bool:
    """Ask as the container's health check does."""
    asked = "'127.0.0.1', 7733"
    program, *words = instruction("HEALTHCHECK")
    assert program == "/opt/palatinus/bin/python"
    assert asked in words[-1]
    words[-1] = words[-1].replace(asked, f"'127.0.0.1', {port}")
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stderr=DEVNULL)
    async with asyncio.timeout(TIMEOUT):
        return await process.wait() == 0


@pytest.mark.slow
async def test_the_health_check_tells_whether_there_is_a_server() -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        nobody = taken.getsockname()[1]
    async with running(Config(watched=True)) as well, running(Config()) as silent:
        healths = await asyncio.gather(healthy(well.port), healthy(silent.port), healthy(nobody))
    assert tuple(healths) == (True, False, False)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl here")
async def test_the_documents_own_authority_is_trusted(tmp_path: Path) -> None:
    """Also by versions of Python that check more strictly, as they do from 3.13 on."""
    (commands,) = (
        block for block in re.findall(r"```sh\n(.*?)```", REFERENCE, re.DOTALL) if "openssl req" in block
    )
    process = await asyncio.create_subprocess_exec(
        "sh", "-ec", commands.replace("192.0.2.7", "127.0.0.1"), cwd=tmp_path, stderr=DEVNULL
    )
    assert await process.wait() == 0
    trusting = ssl.create_default_context(cafile=tmp_path / "authority.pem")
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    async with running(Config(tls_cert=tmp_path / "cert.pem", tls_key=tmp_path / "key.pem")) as server:
        # With a path, as behind a proxy: it leads to the same game.
        url = f"wss://127.0.0.1:{server.port}/palatinus"
        async with connect(url, ssl=trusting, proxy=None) as client:
            await Peer(client).hello()


EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"
DASHBOARD = json.loads((EXAMPLES / "palatinus-dashboard.json").read_text(encoding="utf-8"))
RULES = (EXAMPLES / "palatinus-alerts.yml").read_text(encoding="utf-8")
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
NAME = r"\b(?:palatinus|process)_\w+"

promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="there is no promtool here")


async def shown_metrics(folder: Path | None = None, database: str | None = None) -> str:
    """Return the metrics of a server that has everything there is a metric of."""
    config = Config(data=folder, database=database, watched=True)
    async with running(config) as server, connected(server.port) as peer:
        await peer.open(2)
        status, text = await http_get(server.port, "/metrics")
        assert status == 200
    return text


def names_in(text: str) -> set[str]:
    return set(re.findall(rf"^(?:# TYPE )?({NAME})", text, re.MULTILINE))


async def test_every_metric_that_is_watched_exists(tmp_path: Path, database: str) -> None:
    """In the dashboard's queries and in the alerts; the one that needs TLS has a test of its own."""
    names = names_in(await shown_metrics(tmp_path)) | {"palatinus_certificate_expires_timestamp_seconds"}
    watched = set(re.findall(NAME, "\n".join([*QUERIES, *re.findall("expr: (.*)", RULES)])))
    assert watched - names == {"palatinus_lease_held"}
    assert "palatinus_lease_held" in names_in(await shown_metrics(database=database))
    assert {name for name in watched if name.startswith("palatinus")} >= {
        name for name in names if name.startswith("palatinus") and not name.endswith(("_bucket", "seconds"))
    } - {"palatinus_commit_seconds"}


def test_labels_that_are_asked_for_exist() -> None:
    asked = "\n".join([*QUERIES, RULES])
    for reasons in re.findall(r'reason=~?"([^"]+)"', asked):
        assert set(reasons.split("|")) <= {reason.value for reason in RefusedFor}
    for stage in re.findall(r'stage="(\w+)"', asked):
        assert stage in get_args(Stage)


@promtool
def test_the_queries_of_the_dashboard_are_promql(tmp_path: Path) -> None:
    """As rules that record them, for promtool reads nothing else."""
    rules = {
        "groups": [
            {
                "name": "dashboard",
                "rules": [
                    {"record": f"query_{number}", "expr": query.replace("$instance", ".*")}
                    for number, query in enumerate(QUERIES)
                ],
            }
        ]
    }
    (tmp_path / "rules.yml").write_text(json.dumps(rules), encoding="utf-8")
    command = ["promtool", "check", "rules", str(tmp_path / "rules.yml")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr + found.stdout


@promtool
@pytest.mark.parametrize(
    "words",
    [["check", "rules", "palatinus-alerts.yml"], ["test", "rules", "palatinus-alerts-test.yml"]],
    ids=["rules", "tests"],
)
def test_the_alerts_fire_when_they_should(words: list[str]) -> None:
    """And not for a server that is well; every alert has both cases."""
    found = subprocess.run(["promtool", *words], cwd=EXAMPLES, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr + found.stdout
    tests = (EXAMPLES / "palatinus-alerts-test.yml").read_text(encoding="utf-8")
    for alert in re.findall(r"alert: (\w+)", RULES):
        assert len(re.findall(rf"alertname: {alert}\b", tests)) >= 2, alert


@promtool
async def test_prometheus_can_read_the_metrics(tmp_path: Path) -> None:
    text = await shown_metrics(tmp_path)
    command = ["promtool", "check", "metrics"]
    found = await asyncio.to_thread(
        subprocess.run, command, input=text, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr + found.stdout

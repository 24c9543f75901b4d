"""The dashboard and the alert rules of docs/examples use what a server really shows."""

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import get_args

import pytest

from protocol.messages import Stage
from server.app import running
from server.config import Config
from server.net.connections.connection_limits import RefusedFor
from tests.server.peer import connected, http_get

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
    """Reasons and stages by their names."""
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
    """And has nothing to find fault with."""
    text = await shown_metrics(tmp_path)
    command = ["promtool", "check", "metrics"]
    found = await asyncio.to_thread(
        subprocess.run, command, input=text, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr + found.stdout

"""The documents say what the code does."""

import json
import re
import statistics
import typing
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from bench.__main__ import TARGETS, aim, shown
from build_reference import FOLDER, PAGES, page_text, type_of
from engine.components import DEALS, LAUREL_WORTH, SPRINGS
from engine.final import scored_line
from engine.pieces import FACES
from protocol import absence, messages, settings
from protocol.codes import CloseCode, CloseReason
from protocol.events import EVENT_TAGS
from server.admin.metrics import node_metrics
from server.storage.journal import NodeState
from simulation.broken import MISTAKES
from tests.test_hosting import shown_metrics
from trials.mutation_list import MUTATIONS, mutations

ROOT = Path(__file__).parent.parent
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
METRICS = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
MESSAGES = (ROOT / "docs" / "reference" / "messages.md").read_text(encoding="utf-8")
PROMISES = (ROOT / "docs" / "reference" / "promises.md").read_text(encoding="utf-8")
TESTING = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [
    path.relative_to(ROOT).as_posix()
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/**/*.md")])
]
RULES = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")

CODE = (
    *(
        "bench",
        "client",
        "commands",
        "engine",
        "environment",
        "gateway",
        "hosting",
        "pages",
        "past_games",
        "protocol",
    ),
    *("server", "tests"),
)
RULE = r"\bR[1-9]\d*(?:\.\d+)?\b"  # the number of a section of the rules

FROM_CLIENT = typing.get_args(messages.ClientMessage)
FROM_SERVER = typing.get_args(messages.ServerMessage)


def tag(message: type[msgspec.Struct]) -> str:
    return str(message.__struct_config__.tag)


def section(title: str, text: str) -> str:
    """Return the text under a heading, up to the next heading of any level."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"there is no section {title!r}"
    return found[1]


def first_column(text: str, table: int = 0) -> list[str]:
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [row.split("|")[1].strip().strip("`") for row in tables[table].splitlines()[2:]]


def part(heading: str) -> str:
    found = re.search(rf"^## {heading}\n.*?(?=^## |\Z)", MESSAGES, re.MULTILINE | re.DOTALL)
    assert found
    return found[0]


def test_every_message_is_documented_field_by_field() -> None:
    for heading, known in (("From client to server", FROM_CLIENT), ("From server to client", FROM_SERVER)):
        assert set(re.findall(r"^### (.*)$", part(heading), re.MULTILINE)) == {tag(each) for each in known}
        for message in known:
            documented = first_column(section(tag(message), part(heading)))
            assert documented == list(message.__struct_fields__), tag(message)


def test_a_new_field_is_documented_with_its_type() -> None:
    """In the words that the page has for the same type elsewhere; by hand it may say more."""
    for heading, known in (("From client to server", FROM_CLIENT), ("From server to client", FROM_SERVER)):
        for message in known:
            rows = section(tag(message), part(heading)).splitlines()
            for field in msgspec.structs.fields(message):
                row = next(row for row in rows if row.startswith(f"| {field.name} |"))
                kind = row.split(" | ")[1]
                if kind.startswith(("boolean", "integer", "seat", "table code", "field", "piece")):
                    assert type_of(field).startswith(kind.split(",")[0]), (tag(message), field.name)


def test_the_maps_inside_messages_are_documented() -> None:
    assert first_column(section("tables", part("From server to client")), 1) == list(
        messages.TableSummary.__struct_fields__
    )
    assert first_column(section("table", part("From server to client")), 1) == list(
        messages.SeatSummary.__struct_fields__
    )
    assert first_column(section("table", part("From server to client")), 3) == list(
        messages.PauseSummary.__struct_fields__
    )
    assert first_column(section("table", part("From server to client")), 4) == list(
        messages.Asked.__struct_fields__
    )
    for number, kind in ((1, messages.PlannedMove), (2, messages.Condition)):
        asked = section("plan", part("From client to server"))
        assert first_column(asked, number) == list(kind.__struct_fields__)
    assert first_column(section("planned", part("From server to client")), 1) == list(
        messages.PlanPlayed.__struct_fields__
    )
    assert first_column(section("table", part("From server to client")), 2) == list(
        messages.SpectatorSummary.__struct_fields__
    )
    assert first_column(section("set", part("From client to server")), 1) == [
        tag(each) for each in typing.get_args(settings.Setting)
    ]
    for setting in typing.get_args(settings.Setting):
        (field,) = setting.__struct_encode_fields__
        assert f"| `{tag(setting)}` | `{field}` " in section("set", part("From client to server"))
    policies = [tag(policy) for policy in typing.get_args(absence.Absence)]
    assert first_column(section("Absence", PROTOCOL)) == policies
    for legal in (messages.Lays, messages.Places):
        assert f"`{tag(legal)}`" in part("Legal moves")
        for name in legal.__struct_fields__:
            assert f"| {name} |" in part("Legal moves")


def test_every_event_is_documented_with_its_fields() -> None:
    rows = {
        row.split("|")[1].strip().strip("`"): row
        for row in part("Events").splitlines()
        if re.match(r"\| `[a-z-]{2,}`", row)
    }
    assert list(rows) == list(EVENT_TAGS)
    for name, event in EVENT_TAGS.items():
        text = rows["fled"] + rows[name] if name == "captured" else rows[name]
        for field in event.__dataclass_fields__:
            assert f"`{field}`" in text, f"{field} of {name} is not documented"


@pytest.mark.parametrize("name", PAGES)
def test_the_reference_is_what_the_code_makes(name: str) -> None:
    """And whatever is only known by its name is explained."""
    text = page_text(name)
    assert (FOLDER / name).read_text(encoding="utf-8") == text, "run python build_reference.py"
    for row in text.splitlines():
        cells = row.split(" | ")
        assert not row.endswith("|  |") or cells[1] == "info", f"nothing explains {cells[0]} in {name}"


def test_every_close_code_is_documented() -> None:
    """Each that the server uses is explained, with its reasons."""
    rows = dict(re.findall(r"^\| (\d+) \|(.*?)\|", section("Close codes", PROTOCOL), re.MULTILINE))
    assert {str(code.value) for code in CloseCode} <= rows.keys()
    reasons = re.findall(r"`(.+?)`", "".join(rows.values()))
    assert sorted(reasons) == sorted(reason.value for reason in CloseReason)


def test_the_readme_shows_the_board_as_it_looks() -> None:
    screen = (
        (ROOT / "tests/client/ui/screens/placing-80x24.txt").read_text(encoding="utf-8").splitlines()[:24]
    )
    picture = "\n".join(line.rstrip("|").rstrip() for line in screen)
    assert f"```\n{picture}\n```" in README, "copy tests/client/ui/screens/placing-80x24.txt into README.md"


def test_ci_runs_the_readmes_test_command() -> None:
    commands = re.findall(r"```sh\n(python3 .*)\n```", README)
    assert [command.split()[-1] for command in commands] == ["play", ".venv/bin/pytest"]
    assert commands[1] in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()


def test_the_example_of_a_final_position_can_be_scored() -> None:
    found = re.search(r"```json\n(.*)\n```", (ROOT / "docs/client.md").read_text(encoding="utf-8"))
    assert found
    assert '"winners"' in scored_line(found[1])


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings: lower case, hyphens, no punctuation."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    path = ROOT / document
    for target in re.findall(r"\]\((?!https?:)([^)]+)", path.read_text(encoding="utf-8")):
        file, _, anchor = target.partition("#")
        linked = path.parent / file if file else path
        assert linked.exists(), f"{document} links to {file}"
        assert not anchor or anchor in anchors(linked), f"{document} links to {target}"


class OfANode(Collector):
    """The metrics that only a server with a database has."""

    def collect(self) -> Iterator[Metric]:
        yield from node_metrics(NodeState("first"))


async def test_every_metric_is_documented_with_its_kind(tmp_path: Path) -> None:
    """By the names that Prometheus uses; the one that needs TLS has a test of its own."""
    text = await shown_metrics(tmp_path)
    text += "# TYPE palatinus_certificate_expires_timestamp_seconds gauge\n"
    text += generate_latest(OfANode()).decode()
    known = re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE)
    documented = re.findall(r"^\| `(\w+)` \| (\w+) \|", section("Metrics", METRICS), re.MULTILINE)
    assert sorted(documented) == sorted(known)


def test_every_rule_that_is_cited_exists() -> None:
    """Whether code, tests or documents cite it: a heading, an item, or a row of the rulings."""
    known = re.findall(rf"^(?:## |- \*\*|\| )({RULE})", RULES, re.MULTILINE)
    assert len(known) == len(set(known))
    code = [file for folder in CODE for kind in ("py", "txt") for file in (ROOT / folder).rglob(f"*.{kind}")]
    for file in (ROOT / "palatinus.py", *code, *ROOT.glob("*.md"), *ROOT.glob("docs/*.md")):
        cited = {*re.findall(RULE, file.read_text(encoding="utf-8"))}
        assert not cited - {*known}, file


def test_the_rules_tell_what_is_in_the_box() -> None:
    """R1.2, R1.6 and R3.5 as the engine's table of components has them."""
    box = section("R1 Components", RULES)
    springs = zip(
        *(row.split("|")[2:-1] for row in re.findall(r"^  \| (?:tile|springs) .*", box, re.MULTILINE)),
        strict=True,
    )
    assert {tile.strip(): tuple(map(int, fields.split(","))) for tile, fields in springs} == SPRINGS
    named = re.search(r"^\| R9\.11 \| .*", RULES, re.MULTILINE)
    assert named
    assert re.findall(r"([A-Z][a-z]+) (\d)", named[0]) == [
        (laurel.value, str(worth)) for laurel, worth in LAUREL_WORTH.items()
    ]
    hands = {
        int(players): [sum(map(int, re.findall(r"\d+", cell))) for cell in row.split("|")]
        for players, row in re.findall(
            r"^  \| (\d) \| (.*) \|$", section("R3 Before the game", RULES), re.MULTILINE
        )
    }
    for players, deal in DEALS.items():
        faces = [deal.own.get(face, 0) + deal.second.get(face, 0) for face in FACES]
        assert hands[players] == [*faces, sum(faces), deal.soldierless_at]


def test_the_rulebooks_example_is_reproduced_where_the_rules_say() -> None:
    """R8 names the tests that do so."""
    documented = section("R8 An example from the rulebooks", RULES)
    tests = (ROOT / "tests/engine/test_scoring.py").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+)`", documented)
    assert len(named) == 2
    assert all(f"def {name}()" in tests for name in named)


def test_each_promise_names_what_would_break_it() -> None:
    rows = re.findall(r"^\|(.*)\|(.*)\|(.*)\|$", section("Which test would break", PROMISES), re.MULTILINE)[
        2:
    ]
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    written = set(re.findall(r"^(?:async )?def (test_\w+)\(", sources, re.MULTILINE))
    broken: list[str] = []
    for promise, tests, mistakes in rows:
        named = re.findall(r"`(\w+)`", tests)
        assert named, promise
        assert written >= set(named), set(named) - written
        broken += re.findall(r"`([\w-]+)`", mistakes)
    assert sorted(broken) == sorted(MISTAKES)


def test_every_broken_server_can_still_be_made() -> None:
    for each in MISTAKES.values():
        each.mutation.applied((ROOT / each.mutation.path).read_text(encoding="utf-8"))


def test_the_figures_of_performance_are_those_measured() -> None:
    """The first line counts the goals, and the table has all of them."""
    text = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    measured = json.loads((ROOT / "bench/results/figures.json").read_text(encoding="utf-8"))
    rows = re.findall(r"^\| (.+) \| (\S+) \| (.*?) ?\|$", section("The figures", text), re.MULTILINE)
    for name, median, goal in rows:
        assert (median, goal) == (shown(statistics.median(measured[name])), aim(name, measured[name])), name
    assert {name for name, _median, goal in rows if goal} == set(TARGETS)
    met, missed = (sum(goal.endswith(end) for *_, goal in rows) for end in (": met", ": missed"))
    assert f"Of {len(TARGETS)} goals, {met} are met and {missed} are missed" in text


def test_the_mutations_are_counted() -> None:
    found = list(mutations(MUTATIONS.read_text(encoding="utf-8")))
    assert f"All {len(found)} are noticed" in TESTING

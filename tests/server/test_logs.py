"""Log lines for people and for programs."""

import io
import json
import logging
import os
from collections.abc import Iterator
from datetime import datetime

import pytest

from server.logs import about, log_to

log = logging.getLogger("server.somewhere")


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def written(*, as_json: bool, verbose: bool = True) -> list[str]:
    out = io.StringIO()
    log_to(out, verbose=verbose, as_json=as_json)
    log.info("took seat", extra=about(table="KXQT", seat=2, address="192.0.2.1:4711"))
    log.error("sent away", extra=about(reason='a "very"\n\x1b[31mred line'))
    try:
        os.environ["NO SUCH VARIABLE"]
    except KeyError:
        log.exception("table failed and is closed", extra=about(table="KXQT"))
    return out.getvalue().splitlines()


def test_people_read_one_line_an_event() -> None:
    took, sent, failed = (line.partition(" ")[2] for line in written(as_json=False))
    assert took == "INFO took seat: table=KXQT seat=2 address=192.0.2.1:4711"
    assert sent == 'ERROR sent away: reason="a \\"very\\"\\n\\u001b[31mred line"'
    assert failed.startswith(
        "ERROR table failed and is closed: table=KXQT  KeyError: 'NO SUCH VARIABLE' at __getitem__:"
    )


def test_programs_read_one_object_a_line() -> None:
    took, sent, failed = (json.loads(line) for line in written(as_json=True))
    assert datetime.fromisoformat(took.pop("time")).tzinfo is not None
    assert took == {
        "level": "info",
        "logger": "server.somewhere",
        "event": "took seat",
        "table": "KXQT",
        "seat": 2,
        "address": "192.0.2.1:4711",
    }
    assert sent["reason"] == 'a "very"\n\x1b[31mred line'
    assert failed["error"].startswith("KeyError: 'NO SUCH VARIABLE' at __getitem__:")


def test_who_comes_and_goes_is_told_only_when_asked() -> None:
    assert [json.loads(line)["event"] for line in written(as_json=True, verbose=False)] == [
        "sent away",
        "table failed and is closed",
    ]

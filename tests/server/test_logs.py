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
def _restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def log_lines(*, as_json: bool, verbose: bool = True) -> list[str]:
    out = io.StringIO()
    log_to(out, verbose=verbose, as_json=as_json)
    log.info("took seat", extra=about(table="KXQT", seat=2, address="192.0.2.1:4711"))
    log.error("sent away", extra=about(reason='a "very"\n\x1b[31mred line'))
    try:
        os.environ["NO SUCH VARIABLE"]
    except KeyError:
        log.exception("table failed and is closed", extra=about(table="KXQT"))
    return out.getvalue().splitlines()


def test_each_event_is_one_line_of_text() -> None:
    """A traceback is shortened to the error and where it was raised."""
    took_seat, sent_away, failed = (line.partition(" ")[2] for line in log_lines(as_json=False))
    assert took_seat == "INFO took seat: table=KXQT seat=2 address=192.0.2.1:4711"
    assert sent_away == 'ERROR sent away: reason="a \\"very\\"\\n\\u001b[31mred line"'
    assert failed.startswith(
        "ERROR table failed and is closed: table=KXQT  KeyError: 'NO SUCH VARIABLE' at __getitem__:"
    )


def test_each_event_is_one_json_object() -> None:
    """It has the time, level, logger, event and all facts."""
    took_seat, sent_away, failed = (json.loads(line) for line in log_lines(as_json=True))
    assert datetime.fromisoformat(took_seat.pop("time")).tzinfo is not None
    assert took_seat == {
        "level": "info",
        "logger": "server.somewhere",
        "event": "took seat",
        "table": "KXQT",
        "seat": 2,
        "address": "192.0.2.1:4711",
    }
    assert sent_away["reason"] == 'a "very"\n\x1b[31mred line'
    assert failed["error"].startswith("KeyError: 'NO SUCH VARIABLE' at __getitem__:")


def test_info_lines_are_logged_only_if_verbose() -> None:
    """Warnings and errors are always logged."""
    assert [json.loads(line)["event"] for line in log_lines(as_json=True, verbose=False)] == [
        "sent away",
        "table failed and is closed",
    ]

"""Log lines for people and for programs."""

import io
import json
import logging
import re
from datetime import datetime
from pathlib import Path

import pytest

from server.monitoring.logs import about, log_to

log = logging.getLogger("server.somewhere")
pytestmark = pytest.mark.usefixtures("restored_logging")


def log_lines(*, as_json: bool, verbose: bool = True) -> list[str]:
    out = io.StringIO()
    log_to(out, verbose=verbose, as_json=as_json)
    log.info("took seat", extra=about(table="KXQT", seat=2, address="192.0.2.1:4711"))
    log.error("sent away", extra=about(reason='a "very"\n\x1b[31mred line'))
    hand: dict[str, int] = {}
    try:
        hand["Em*"]
    except KeyError:
        log.exception("table failed and is closed", extra=about(table="KXQT"))
    try:
        Path("/nowhere").read_bytes()
    except OSError:
        log.exception("not read")
    return out.getvalue().splitlines()


def test_each_event_is_one_line_of_text() -> None:
    """A traceback is shortened to the error and its origin; only errors of the system keep their text."""
    took_seat, sent_away, failed, not_read = (line.partition(" ")[2] for line in log_lines(as_json=False))
    assert took_seat == "INFO took seat: table=KXQT seat=2 address=192.0.2.1:4711"
    assert sent_away == 'ERROR sent away: reason="a \\"very\\"\\n\\u001b[31mred line"'
    assert re.fullmatch(r"ERROR table failed and is closed: table=KXQT  KeyError at log_lines:\d+", failed)
    assert "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere' at " in not_read


def test_each_event_is_one_json_object() -> None:
    """It has the time, level, logger, event and all facts."""
    took_seat, sent_away, failed, _ = (json.loads(line) for line in log_lines(as_json=True))
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
    assert failed["error"].startswith("KeyError at log_lines:")


def test_info_lines_are_logged_only_if_verbose() -> None:
    """Warnings and errors are always logged."""
    assert [json.loads(line)["event"] for line in log_lines(as_json=True, verbose=False)] == [
        "sent away",
        "table failed and is closed",
        "not read",
    ]

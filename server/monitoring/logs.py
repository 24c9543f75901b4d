"""Log lines: an event and its fields, for people or, one JSON object a line, for programs.

Fields never hold what players wrote, tokens or pieces: a log is read by more people than may see a hand.
"""

import json
import logging
import time
from datetime import UTC, datetime
from typing import Final, TextIO, TypeAlias

Field: TypeAlias = str | int

_FIELDS: Final = "palatinus_fields"  # the attribute of a log record


def about(**fields: Field) -> dict[str, dict[str, Field]]:
    """Return the fields of an event, as the `extra` of a log call."""
    return {_FIELDS: fields}


def describe(record: logging.LogRecord) -> str:
    """Return a log record as people read it: the event, then `name=value` for each field."""
    fields = " ".join(f"{name}={_shown(value)}" for name, value in _fields_of(record).items())
    return f"{record.getMessage()}: {fields}" if fields else record.getMessage()


class HumanFormatter(logging.Formatter):
    """Lines for people: `12:03:44 INFO seat taken: table=KXQT seat=2`."""

    def format(self, record: logging.LogRecord) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        cause = _cause(record)
        return f"{clock} {record.levelname} {describe(record)}" + (f"  {cause}" if cause else "")


class JsonFormatter(logging.Formatter):
    """Lines for programs: `time` (RFC 3339, UTC), `level`, `logger`, `event`, then the event's fields."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Field] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **_fields_of(record),
        }
        if cause := _cause(record):
            line["error"] = cause
        return json.dumps(line)


def log_to(stream: TextIO, *, verbose: bool, as_json: bool = False) -> None:
    """Send the server's log lines to `stream`: warnings and errors, with `verbose` all others too."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if as_json else HumanFormatter())
    logging.basicConfig(handlers=[handler], force=True)
    set_verbose(on=verbose)
    logging.getLogger("palatinus.wire").setLevel(logging.WARNING)


def set_verbose(*, on: bool) -> None:
    """Log warnings and errors alone, or all lines."""
    logging.getLogger().setLevel(logging.INFO if on else logging.WARNING)


def _fields_of(record: logging.LogRecord) -> dict[str, Field]:
    fields: dict[str, Field] = getattr(record, _FIELDS, {})
    return fields


def _shown(value: Field) -> str:
    text = str(value)
    plain = text and all(letter.isprintable() and letter not in ' "=' for letter in text)
    return text if plain else json.dumps(text)


def _cause(record: logging.LogRecord) -> str:
    """Return an exception's type and origin, without the traceback.

    Its message may name a hidden piece (`KeyError: 'Em*'`); only the system's own are known not to.
    """
    error, trace = (None, None) if record.exc_info is None else record.exc_info[1:]
    if error is None:
        return ""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" at {trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
    message = f": {error}" if isinstance(error, OSError) else ""
    return f"{type(error).__name__}{message}{where}"

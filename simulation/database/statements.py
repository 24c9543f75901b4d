"""The statements that nodes send to their database, in SQLite's words."""

import functools
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

from server.storage.postgresql.database import Signal
from server.storage.postgresql.schema import FENCING, LOST
from simulation.database.rows import Answer, Lock, Rows, Transaction, refusal

_WORDS: Final = {  # as patterns, one after the other
    r"::\w+(\[\])?": "",
    r"= ANY \(\$(\d+)\)": r"IN (SELECT item(\1, value) FROM json_each(places(\1)))",
    r"extract\(epoch FROM (.+?\(\))\)": r"(\1)",
    r"\bgreatest\(": "max(",
    r"\bstrpos\(": "instr(",
    r"IS DISTINCT FROM": "IS NOT",
    r"SELECT FROM": "SELECT 1 FROM",
    r"LIMIT (\$\d+)": r"LIMIT coalesce(\1, -1)",
    r"(ORDER BY (?:(?!ORDER BY).)+) FOR UPDATE SKIP LOCKED": r"AND fits(code) \1",
    r" FOR (KEY SHARE|UPDATE)$": "",
    r"\$(\d+)": r"?\1",
}
_UNNEST: Final = re.compile(r"unnest\(([?\d, ]+)\) AS (\w+) \(([\w, ]+)\)")
_LOCKING: Final = re.compile(r" FROM (\w+) .* FOR (KEY SHARE|UPDATE)$")
_FUNCTION: Final = re.compile(r"SELECT (append_entries|tell)\(")
_CHANGING: Final = re.compile(r"WITH (\w+) AS \( (.*) \) SELECT (.*) FROM \1$")


def carry_out(here: Transaction, text: str, arguments: Sequence[Any]) -> Answer:
    """Return the rows that a statement returns; raises Blocked, or what the library raises."""
    text = " ".join(text.split())
    if text.startswith("CREATE SCHEMA"):  # it is there from the beginning
        return []
    if (function := _FUNCTION.match(text)) is not None:
        _FUNCTIONS[function[1]](here, *arguments)
        return []
    if (changing := _CHANGING.match(text)) is not None:
        changed = carry_out(here, changing[2], arguments)
        return [row for _ in changed for row in carry_out(here, f"SELECT {changing[3]}", ())]
    statement, needed = _translated(text)
    here.arguments = arguments
    found: Answer = here.rows.database.execute(statement, [*map(_plain, arguments[:needed])]).fetchall()
    if (locking := _LOCKING.search(text)) is not None:
        for key, *_ in found:
            here.lock(locking[1], (key,), Lock.SHARE if "SHARE" in locking[2] else Lock.DELETE)
    return found


def _plain(argument: Any) -> Any:
    """Return an argument as SQLite takes it; of an array it knows only that there is one."""
    if isinstance(argument, timedelta):
        return argument.total_seconds()
    return isinstance(argument, list | tuple) or argument


@functools.cache
def _translated(text: str) -> tuple[str, int]:
    """Return a statement for SQLite, and how many arguments it needs as they are."""
    for pattern, words in _WORDS.items():
        text = re.sub(pattern, words, text)
    text = _UNNEST.sub(_unnested, text)
    return text, max(map(int, re.findall(r"\?(\d+)", text)), default=0)


def _unnested(found: re.Match[str]) -> str:
    """Return the words for a table whose columns are arrays."""
    numbers = re.findall(r"\d+", found[1])
    items = zip(numbers, found[3].split(", "), strict=True)
    columns = ", ".join(f"item({number}, value) AS {column}" for number, column in items)
    return f"(SELECT {columns} FROM json_each(places({numbers[0]}))) AS {found[2]}"


def define_functions(rows: Rows) -> None:
    """Have SQLite know the functions that statements use."""

    def here() -> Transaction:
        assert rows.changing is not None
        return rows.changing

    def places(number: int) -> str:
        return json.dumps([*range(len(here().arguments[number - 1] or ()))])

    rows.define("item", lambda number, place: here().arguments[number - 1][place])
    rows.define("places", places)
    rows.define("fits", lambda code: here().fits("game_table", (code,)))
    rows.define("pg_postmaster_start_time", lambda: here().started)
    rows.define("pg_notify", lambda *note: here().notes.update({note: None}))
    rows.define("pg_advisory_xact_lock", lambda key: here().lock("advisory", key))
    rows.define("hashtextextended", lambda text, _seed: text)
    rows.define("to_regnamespace", lambda _name: 1)
    rows.define("current_schema", lambda: "palatinus")
    rows.define("md5", lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest())


# -- the functions of the schema --------------------------------------------------------------------------


_OWNED: Final = "SELECT code FROM game_table WHERE code = ANY ($1) AND term = $2"


def _append_entries(  # noqa: PLR0917 - as the function in the schema
    here: Transaction,
    term: int,
    new: Sequence[str],
    known: Sequence[str],
    lengths: Sequence[int],
    ends: Sequence[bytes],
    codes: Sequence[str],
    numbers: Sequence[int],
    bodies: Sequence[str],
    links: Sequence[bytes],
    now: int,
    forgotten: Sequence[str],
    finished: Sequence[str],
    ended: Sequence[int],
) -> None:
    _check_fence(here, term, known, lengths, ends)
    do = functools.partial(carry_out, here)
    for table in ("entry", "game_table"):
        do(f"DELETE FROM {table} WHERE code IN ({_OWNED})", (forgotten, term))
    for code in new:
        do("INSERT INTO game_table (code, term) VALUES ($1, $2)", (code, term))
    for code, number, body, link in zip(codes, numbers, bodies, links, strict=True):
        row = code, number, body, now, link
        do("INSERT INTO entry (code, number, body, time, chain) VALUES ($1, $2, $3, $4, $5)", row)
    for due in zip(finished, ended, strict=True):
        do("INSERT INTO record_due VALUES ($1, $2) ON CONFLICT (code) DO UPDATE SET ended = $2", due)


def _check_fence(
    here: Transaction, term: int, known: Sequence[str], lengths: Sequence[int], ends: Sequence[bytes]
) -> None:
    last = "SELECT code FROM entry WHERE code = $1 AND number = $2 - 1 AND chain = $3"
    if not carry_out(here, "SELECT term FROM node WHERE term = $1 FOR KEY SHARE", (term,)):
        raise refusal("PL001", FENCING["PL001"])
    if len(carry_out(here, f"{_OWNED} AND place = '='", (known, term))) < len(known):
        raise refusal("PL002", FENCING["PL002"])
    if not all(carry_out(here, last, before) for before in zip(known, lengths, ends, strict=True)):
        raise refusal(LOST, FENCING[LOST])


_TELL: Final = """
INSERT INTO told (term, number, key, target, body) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (term, key) DO UPDATE SET number = EXCLUDED.number, body = EXCLUDED.body, time = EXCLUDED.time
    WHERE told.number < EXCLUDED.number
"""


def _tell(here: Transaction, term: int, *columns: Sequence[Any]) -> None:
    for line in zip(*columns, strict=True):
        carry_out(here, _TELL, (term, *line))
    here.notes[Signal.TOLD.channel("palatinus"), str(term)] = None


_FUNCTIONS: Final[dict[str, Callable[..., None]]] = {"append_entries": _append_entries, "tell": _tell}

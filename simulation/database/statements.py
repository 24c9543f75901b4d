"""Every statement that nodes send to their database, and what it does there.

A statement that is not here is an error of the simulation: whoever changes one in the product says here what
the new one does.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeAlias

from server.storage.postgresql.database import Signal
from server.storage.stored_tables import COLUMNS
from simulation.database.rows import Lock, Row, Transaction, refusal

_Answer: TypeAlias = list[tuple[Any, ...]]
_Statement: TypeAlias = Callable[..., _Answer | None]
_STATEMENTS: Final[dict[str, _Statement]] = {}
_COLUMNS: Final = {table: tuple(columns.split(", ")) for table, columns in COLUMNS.items()}


class Unknown(Exception):
    """A statement has no counterpart here."""


def carry_out(transaction: Transaction, text: str, arguments: Sequence[Any]) -> _Answer:
    """Return the rows that a statement returns; raises Blocked, or what the library raises, or Unknown."""
    if (statement := _STATEMENTS.get(_plain(text))) is None:
        raise Unknown(f"simulation/database/statements.py does not have the statement {_plain(text)}")
    return statement(transaction, *arguments) or []


def _plain(text: str) -> str:
    return " ".join(text.split())


def _sql(*texts: str) -> Callable[[_Statement], _Statement]:
    """Return what enters a function as what these statements do."""

    def entered(statement: _Statement) -> _Statement:
        _STATEMENTS.update((_plain(text), statement) for text in texts)
        return statement

    return entered


def _picked(rows: Sequence[Row], columns: Sequence[str]) -> _Answer:
    return [tuple(row[column] for column in columns) for row in rows]


def _chosen(here: Transaction, table: str, codes: Sequence[str] | None) -> list[Row]:
    return [row for row in here.all(table) if codes is None or row["code"] in codes]


def _age(here: Transaction, row: Row, most: timedelta) -> bool:
    return bool(row["time"] < here.now() - most.total_seconds())


# -- the schema, which is there from the beginning ------------------------------------------------------


@_sql("SELECT pg_advisory_xact_lock(hashtextextended('palatinus ' || $1, 0))")
def _lock_schema(here: Transaction, schema: str) -> None:
    here.lock("advisory", schema)


@_sql('CREATE SCHEMA IF NOT EXISTS "palatinus"')
def _make_schema(_here: Transaction) -> None:
    pass


@_sql("SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'")
def _relations(_here: Transaction, _schema: str) -> _Answer:
    return [("journal",), ("game_table",)]


@_sql("SELECT version FROM journal")
def _version(_here: Transaction) -> _Answer:
    return [(4,)]


# -- leases ---------------------------------------------------------------------------------------------


@_sql("SELECT term FROM node WHERE name = $1")
def _term_of(here: Transaction, name: str) -> _Answer:
    return _picked(here.all("node", name=name), ["term"])


@_sql("SELECT term FROM node WHERE term = $1 FOR KEY SHARE")
def _prove_term(here: Transaction, term: int) -> _Answer:
    here.lock("node", term, Lock.SHARE)
    return _picked(here.all("node", term=term), ["term"])


@_sql("DELETE FROM node WHERE term = $1")
def _end_lease(here: Transaction, term: int) -> None:
    for row in here.all("node", term=term):
        here.delete("node", row)


@_sql("DELETE FROM node WHERE term = $1 AND expires < clock_timestamp() RETURNING term")
def _end_expired(here: Transaction, term: int) -> _Answer:
    gone = [row for row in here.all("node", term=term) if row["expires"] < here.now()]
    for row in gone:
        here.delete("node", row)
    return _picked(gone, ["term"])


@_sql(f"SELECT {Signal.TABLES_WAIT.notify}")
def _notify_tables_wait(here: Transaction) -> None:
    here.notes[Signal.TABLES_WAIT.channel("palatinus"), ""] = None


@_sql(f"SELECT {Signal.TOLD.notify}")
def _notify_told(here: Transaction) -> None:
    here.notes[Signal.TOLD.channel("palatinus"), ""] = None


@_sql("INSERT INTO node (name, address, expires) VALUES ($1, $2, clock_timestamp() + $3) RETURNING term")
def _begin_lease(here: Transaction, name: str, address: str, seconds: timedelta) -> _Answer:
    term, expires = here.rows.next_number("node"), here.now() + seconds.total_seconds()
    row = {"term": term, "name": name, "address": address, "expires": expires, "leaving": False}
    here.insert("node", row)
    return [(term,)]


@_sql("UPDATE node SET expires = clock_timestamp() + $2 WHERE term = $1 RETURNING term")
def _renew(here: Transaction, term: int, seconds: timedelta) -> _Answer:
    expires = here.now() + seconds.total_seconds()
    return _picked(
        [here.update("node", row, expires=expires) for row in here.all("node", term=term)], ["term"]
    )


@_sql(
    "SELECT term, name FROM node WHERE expires < clock_timestamp()"
    " AND pg_postmaster_start_time() < clock_timestamp() - $1::interval"
)
def _expired(here: Transaction, seconds: timedelta) -> _Answer:
    if here.started >= here.now() - seconds.total_seconds():
        return []
    return _picked([row for row in here.all("node") if row["expires"] < here.now()], ["term", "name"])


@_sql(
    "SELECT game_table.term, coalesce(address, ''), place = '=',"
    " coalesce(greatest(extract(epoch FROM expires - clock_timestamp()), 0), 0)::float8"
    " FROM game_table LEFT JOIN node ON node.term = game_table.term WHERE code = $1"
)
def _owner(here: Transaction, code: str) -> _Answer:
    if (row := here.get("game_table", code)) is None:
        return []
    node = here.get("node", row["term"])
    address, left = ("", 0.0) if node is None else (node["address"], max(0.0, node["expires"] - here.now()))
    return [(row["term"], address, row["place"] == "=", left)]


def _waiting(here: Transaction, term: int) -> list[Row]:
    rows = here.all("game_table", place="=")
    return [row for row in rows if row["term"] is None or row["offered"] == term]


@_sql("SELECT EXISTS (SELECT FROM game_table WHERE (term IS NULL OR offered = $1) AND place = '=')")
def _tables_wait(here: Transaction, term: int) -> _Answer:
    return [(bool(_waiting(here, term)),)]


@_sql(
    "UPDATE game_table SET term = $1, offered = NULL WHERE code IN (SELECT code FROM game_table"
    " WHERE (term IS NULL OR offered = $1) AND place = '='"
    " ORDER BY code = ANY ($3) DESC, offered IS NULL, opened LIMIT $2 FOR UPDATE SKIP LOCKED)"
    " RETURNING code"
)
def _take_up(here: Transaction, term: int, most: int | None, wanted: Sequence[str]) -> _Answer:
    rows = [row for row in _waiting(here, term) if here.fits("game_table", row["code"])]
    rows.sort(key=lambda row: (row["code"] not in wanted, row["offered"] is None, row["opened"]))
    for row in rows[:most]:
        here.update("game_table", row, term=term, offered=None)
    return _picked(rows[:most], ["code"])


@_sql("SELECT term FROM node WHERE name = $1 AND term > $2")
def _replaced(here: Transaction, name: str, term: int) -> _Answer:
    return _picked([row for row in here.all("node", name=name) if row["term"] > term], ["term"])


# -- commits ---------------------------------------------------------------------------------------------


@_sql("SELECT append_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)")
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
    for table in ("entry", "game_table") if forgotten else ():
        owners = {row["code"]: row["term"] for row in _chosen(here, "game_table", forgotten)}
        _delete_all(here, table, [code for code in forgotten if owners.get(code) == term])
    for code in new:
        _open(here, code, term)
    for code, number, body, link in zip(codes, numbers, bodies, links, strict=True):
        _insert_row("entry", here, code, number, body, now, link)
    for code, at in zip(finished, ended, strict=True):
        if (due := here.get("record_due", code)) is not None:
            here.update("record_due", due, ended=at)
        else:
            here.insert("record_due", {"code": code, "ended": at})


def _check_fence(
    here: Transaction, term: int, known: Sequence[str], lengths: Sequence[int], ends: Sequence[bytes]
) -> None:
    if not _prove_term(here, term):
        raise refusal("PL001", "the lease is lost")
    rows = [here.get("game_table", code) for code in known]
    if any(row is None or row["term"] != term or row["place"] != "=" for row in rows):
        raise refusal("PL002", "another server has taken it up")
    for code, length, link in zip(known, lengths, ends, strict=True):
        last = here.get("entry", (code, length - 1))
        if last is None or last["chain"] != link:
            raise refusal("PL003", "the database has lost changes")


@_sql(
    "SELECT count(*) FROM unnest($1::text[], $2::integer[], $3::bytea[]) AS sent (code, number, chain)"
    " JOIN entry USING (code, number, chain)"
)
def _stored(here: Transaction, *columns: Sequence[Any]) -> _Answer:
    rows = [(here.get("entry", (code, number)), link) for code, number, link in zip(*columns, strict=True)]
    return [(sum(row is not None and row["chain"] == link for row, link in rows),)]


def _open(here: Transaction, code: str, term: int | None, place: str = "=") -> None:
    opened = here.rows.next_number("game_table")
    here.insert("game_table", {"code": code, "place": place, "opened": opened, "term": term, "offered": None})


def _insert_row(table: str, here: Transaction, *values: Any) -> None:
    row = dict(zip(_COLUMNS[table], values, strict=True))
    if table == "archive":
        row["rank"] = here.rows.next_number(table)
    here.insert(table, row)


def _delete_all(here: Transaction, table: str, codes: Sequence[str]) -> None:
    for row in _chosen(here, table, codes):
        here.delete(table, row)


# -- tables ---------------------------------------------------------------------------------------------


@_sql(
    "SELECT code, number, body, time, chain FROM entry JOIN game_table USING (code)"
    " WHERE place = '=' AND ($1::text[] IS NULL OR code = ANY ($1)) ORDER BY opened, number"
)
def _in_use(here: Transaction, codes: Sequence[str] | None) -> _Answer:
    opened = {row["code"]: row["opened"] for row in _chosen(here, "game_table", codes) if row["place"] == "="}
    rows = [row for row in here.all("entry") if row["code"] in opened]
    rows.sort(key=lambda row: (opened[row["code"]], row["number"]))
    return _picked(rows, _COLUMNS["entry"])


@_sql("SELECT code, origin, played FROM archive ORDER BY rank")
def _archive_index(here: Transaction) -> _Answer:
    return _picked(sorted(here.all("archive"), key=lambda row: row["rank"]), ["code", "origin", "played"])


@_sql("SELECT count(*), coalesce(max(rank), 0) FROM archive")
def _archive_state(here: Transaction) -> _Answer:
    ranks = [row["rank"] for row in here.all("archive")]
    return [(len(ranks), max(ranks, default=0))]


def _has_rows(table: str, order: str, key: Callable[[Row], Any]) -> None:
    columns = _COLUMNS[table]

    @_sql(
        f"SELECT {COLUMNS[table]} FROM {table} WHERE ($1::text[] IS NULL OR code = ANY ($1)) ORDER BY {order}"
    )
    def _select(here: Transaction, codes: Sequence[str] | None) -> _Answer:
        return _picked(sorted(_chosen(here, table, codes), key=key), columns)

    _rows_change(table)

    @_sql(f"SELECT code FROM {table} WHERE ($1::text[] IS NULL OR code = ANY ($1))")
    def _codes(here: Transaction, codes: Sequence[str] | None) -> _Answer:
        return _picked(_chosen(here, table, codes), ["code"])


def _rows_change(table: str) -> None:
    marks = ", ".join(f"${number}" for number in range(1, len(_COLUMNS[table]) + 1))
    _sql(f"INSERT INTO {table} ({COLUMNS[table]}) VALUES ({marks})")(partial(_insert_row, table))

    @_sql(f"DELETE FROM {table} WHERE code = ANY ($1)")
    def _delete(here: Transaction, codes: Sequence[str]) -> None:
        _delete_all(here, table, codes)


_rows_change("entry")
_has_rows("archive", "rank", lambda row: row["rank"])
_has_rows("set_aside", "since DESC, code", lambda row: (-row["since"], row["code"]))
_has_rows("record_due", "ended, code", lambda row: (row["ended"], row["code"]))


@_sql("DELETE FROM game_table WHERE code = ANY ($1)")
def _delete_tables(here: Transaction, codes: Sequence[str]) -> None:
    _delete_all(here, "game_table", codes)


@_sql(
    "SELECT code, place = '=' AND term IS DISTINCT FROM $2 FROM game_table"
    " WHERE code = ANY ($1) ORDER BY code FOR UPDATE"
)
def _claim_tables(here: Transaction, codes: Sequence[str], term: int) -> _Answer:
    rows = sorted(_chosen(here, "game_table", codes), key=lambda row: str(row["code"]))
    for row in rows:
        here.lock("game_table", row["code"])
    return [(row["code"], row["place"] == "=" and row["term"] != term) for row in rows]


@_sql(
    "INSERT INTO game_table (code, place, term) VALUES ($1, $2, $3)"
    " ON CONFLICT (code) DO UPDATE SET place = EXCLUDED.place, term = EXCLUDED.term"
)
def _move(here: Transaction, code: str, place: str, term: int | None) -> None:
    if (row := here.get("game_table", code)) is None:
        _open(here, code, term, place)
    else:
        here.update("game_table", row, place=str(place), term=term)


@_sql(
    "SELECT code, min(time), max(time) FROM entry WHERE ($1::text[] IS NULL OR code = ANY ($1)) GROUP BY code"
)
def _times(here: Transaction, codes: Sequence[str]) -> _Answer:
    found = defaultdict(list)
    for row in _chosen(here, "entry", codes):
        found[row["code"]].append(row["time"])
    return [(code, min(times), max(times)) for code, times in found.items()]


@_sql(
    "SELECT code, ended FROM record_due LEFT JOIN game_table USING (code)"
    " WHERE term IS NULL OR term = $1 ORDER BY ended, code"
)
def _records_due(here: Transaction, term: int) -> _Answer:
    owners = {row["code"]: row["term"] for row in here.all("game_table")}
    due = [row for row in here.all("record_due") if owners.get(row["code"]) in {None, term}]
    return _picked(sorted(due, key=lambda row: (row["ended"], row["code"])), ["code", "ended"])


# -- handing over ---------------------------------------------------------------------------------------


@_sql("UPDATE node SET leaving = true WHERE term = $1")
def _leave(here: Transaction, term: int) -> None:
    for row in here.all("node", term=term):
        here.update("node", row, leaving=True)


@_sql(
    "SELECT term, address, (SELECT count(*) FROM game_table WHERE game_table.term = node.term) FROM node"
    " WHERE expires > clock_timestamp() AND NOT leaving AND address <> ''"
)
def _staying(here: Transaction) -> _Answer:
    return [
        (row["term"], row["address"], len(here.all("game_table", term=row["term"])))
        for row in here.all("node", leaving=False)
        if row["expires"] > here.now() and row["address"]
    ]


@_sql(
    f"""
    WITH offer AS (
        UPDATE game_table SET offered = $3 WHERE code = $1 AND term = $2 AND place = '=' RETURNING code
    ) SELECT {Signal.TABLES_WAIT.notify} FROM offer
    """
)
def _offer(here: Transaction, code: str, term: int, to: int) -> None:
    for row in here.all("game_table", code=code, term=term, place="="):
        here.update("game_table", row, offered=to)
        _notify_tables_wait(here)


@_sql("SELECT term FROM game_table WHERE code = $1")
def _term_of_table(here: Transaction, code: str) -> _Answer:
    return _picked(here.all("game_table", code=code), ["term"])


@_sql("UPDATE game_table SET offered = NULL WHERE code = $1 AND term = $2 RETURNING code")
def _withdraw(here: Transaction, code: str, term: int) -> _Answer:
    rows = here.all("game_table", code=code, term=term)
    return _picked([here.update("game_table", row, offered=None) for row in rows], ["code"])


# -- what nodes tell each other -------------------------------------------------------------------------


@_sql("SELECT tell($1, $2, $3, $4, $5)")
def _tell(here: Transaction, term: int, *columns: Sequence[Any]) -> None:
    for number, key, _target, body in zip(*columns, strict=True):
        row = {"term": term, "number": number, "key": key, "body": body, "time": here.now()}
        if not (known := here.all("told", term=term, key=key)):
            here.insert("told", row)
        elif known[0]["number"] < number:
            here.update("told", known[0], **row)
    here.notes[Signal.TOLD.channel("palatinus"), str(term)] = None


@_sql(
    "SELECT term, number, key, body"
    " FROM told LEFT JOIN unnest($2::bigint[], $3::bigint[]) AS seen (term, last) USING (term)"
    " WHERE term <> $1 AND number > coalesce(last, 0) AND key IS NOT NULL ORDER BY term, number LIMIT $4"
)
def _news(here: Transaction, mine: int, terms: Sequence[int], lasts: Sequence[int], most: int) -> _Answer:
    seen = dict(zip(terms, lasts, strict=True))
    rows = [
        (row["term"], row["number"], row["key"], row["body"])
        for row in here.all("told")
        if row["term"] != mine and row["number"] > seen.get(row["term"], 0)
    ]
    return sorted(rows, key=lambda row: row[:2])[:most]


@_sql("SELECT term, name, address, expires > clock_timestamp(), leaving FROM node ORDER BY name")
def _nodes(here: Transaction) -> _Answer:
    rows = sorted(here.all("node"), key=lambda row: str(row["name"]))
    return [(r["term"], r["name"], r["address"], r["expires"] > here.now(), r["leaving"]) for r in rows]


@_sql("DELETE FROM told WHERE term = $1 AND body IS NULL AND time < clock_timestamp() - $2::interval")
def _forget(here: Transaction, term: int, seconds: timedelta) -> None:
    for row in here.all("told", term=term):
        if row["body"] is None and _age(here, row, seconds):
            here.delete("told", row)

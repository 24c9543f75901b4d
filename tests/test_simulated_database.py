"""The database of the simulation answers every statement of the product as PostgreSQL does."""

import ast
import asyncio
import functools
import inspect
import itertools
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from types import ModuleType
from typing import Any, Final, TypeAlias

import asyncpg
import pytest

from server.storage.postgresql import hand_over, lease, telling
from server.storage.postgresql import rows as product
from server.storage.postgresql.database import Database, Signal
from server.storage.postgresql.schema import prepare
from server.storage.stored_tables import COLUMNS
from simulation.database.rows import Rows, Transaction
from simulation.database.server import DatabaseServer
from simulation.database.statements import carry_out, define_functions
from simulation.machine.loop import Clock, Process
from simulation.machine.network import Network, Weather
from simulation.server import begin
from simulation.trace import Trace

Answer: TypeAlias = list[tuple[Any, ...]] | str  # rows, or the state of an error

CODES: Final = ["AAAA", "BBBB", "CCCC"]
_SILENT: Final = ("append_entries(", "tell(", "pg_notify(")  # whose rows say nothing
_STATEMENT: Final = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH) .*[a-z$]", re.DOTALL)


def statements(module: ModuleType) -> Iterator[str]:
    """Yield the statements in a module's source, those with a table's name for each table."""
    for table, columns in COLUMNS.items():
        marks = ", ".join(f"${number}" for number in range(1, len(columns.split(", ")) + 1))
        for signal in Signal:
            known = {"rows": table, "columns": columns, "marks": marks, "signal": signal, **vars(module)}
            for text in _texts_in(ast.parse(inspect.getsource(module))):
                with suppress(NameError):
                    found = eval(compile(ast.Expression(text), "", "eval"), known)  # noqa: S307 - our own source
                    if _STATEMENT.match(found):
                        yield found


def _texts_in(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts_in(child)


class Arguments:
    """Random ones, few enough to meet again."""

    def __init__(self, chance: random.Random, rows: Rows) -> None:
        self._chance = chance
        self._rows = rows
        self._number = 0
        self._told: tuple[Any, ...] = ([], [], [], [])
        one_of = functools.partial(functools.partial, chance.choice)
        self._makes: dict[str, Callable[[], Any]] = {
            **dict.fromkeys(("term", "offered"), self._term),
            "codes": self._codes,
            "code": one_of(CODES),
            "name": one_of(["first", "second", "third"]),
            "address": one_of(["", "10.0.0.1:7000"]),
            "seconds": one_of([timedelta(hours=1), timedelta(hours=-1)]),
            "most": one_of([1, 2, 50]),
            "number": one_of([0, 1, 2, 3]),
            "place": one_of(["=", "~", "!"]),
            "time": one_of([1, 2, 3]),
            **dict.fromkeys(("version", "needs"), one_of([5, 6])),
            "terms": lambda: [self._term()],
            "lasts": lambda: [chance.randrange(5)],
        }

    def of(self, text: str) -> tuple[Any, ...]:
        """Return arguments for a statement, by the words around them."""
        if "append_entries(" in text:
            return self._appended()
        if "tell(" in text:
            return self._term(), *self._tell()
        if "AS sent (" in text:
            codes = self._codes()
            return codes, [self._chance.randrange(4) for _ in codes], [self._link() for _ in codes]
        numbers = range(1, max(map(int, re.findall(r"\$(\d+)", text)), default=0) + 1)
        return tuple(self._argument(text, number) for number in numbers)

    def _argument(self, text: str, number: int) -> Any:
        this = rf"\${number}\b"
        for words, what in {
            rf"\(\) [+-] {this}": "seconds",
            rf"LIMIT {this}": "most",
            rf"ANY \({this}": "codes",
            rf"{this}::bigint\[\],": "terms",
            rf"{this}::bigint\[\]\)": "lasts",
        }.items():
            if re.search(words, text):
                return self._makes[what]()
        if re.search(rf"strpos\(.*, {this}\)", text):
            return self._column("body")
        if (compared := re.search(rf"(\w+) (?:[=<>]+|IS DISTINCT FROM) {this}", text)) is not None:
            return self._column(compared[1])
        inserted = re.match(r"\s*INSERT INTO \w+ \(([^)]*)\)", text)
        assert inserted is not None, (text, number)
        return self._column(inserted[1].split(", ")[number - 1])

    def _column(self, column: str) -> Any:
        if column in {"chain", "entries", "seal"}:
            return self._link()
        if column in {"body", "origin", "reason", "contents"}:
            return self._chance.choice(["x", "y"])
        return self._makes.get(column, self._makes["number"])()

    def _term(self) -> int:
        return int(self._chance.choice([*(node["term"] for node in self._rows.all("node")), 99]))

    def _codes(self) -> list[str]:
        return self._chance.sample(CODES, self._chance.randint(0, 2))

    def _link(self) -> bytes:
        return self._chance.choice([b"1", b"2"])

    def _tell(self) -> tuple[Any, ...]:
        """Return something new, or what was told last, as after a lost connection."""
        if self._chance.random() < 0.8:
            keys = self._chance.choice([["a"], ["b", "a"]])
            self._number += len(keys)
            numbers = [*range(self._number - len(keys) + 1, self._number + 1)]
            self._told = numbers, keys, [None] * len(keys), [self._chance.choice([None, b"x"]) for _ in keys]
        return self._told

    def _appended(self) -> tuple[Any, ...]:
        """Return what follows on the entries that are there, mostly at the node that owns them."""
        tables = {row["code"]: row for row in self._rows.all("game_table")}
        entries = {(row["code"], row["number"]): row for row in self._rows.all("entry")}
        codes = self._codes()
        known = [code for code in codes if code in tables]
        lengths = {code: sum(each == code for each, _ in entries) for code in codes}
        ends = [entries.get((code, lengths[code] - 1), {}).get("chain", b"1") for code in known]
        if known and self._chance.random() < 0.1:
            ends[0] = b"3"
        owners = [tables[code]["term"] for code in known if tables[code]["term"] is not None]
        term = owners[0] if owners and self._chance.random() < 0.8 else self._term()
        new = [code for code in codes if code not in known]
        added = codes if self._chance.random() < 0.8 else []
        return (
            *(term, new, known, [lengths[code] for code in known], ends),
            *(added, [lengths[code] for code in added], ["x"] * len(added), [self._link() for _ in added]),
            *(1, self._codes() if self._chance.random() < 0.2 else [], added[:1], [5] * len(added[:1])),
        )


def plain(text: str, rows: Sequence[Sequence[Any]]) -> Answer:
    """Return rows as they can be compared: times in hours, and in an order if the statement says none."""
    if any(word in text for word in _SILENT):
        return []
    found = [
        tuple(round(value / 3600) if isinstance(value, float) else value for value in row) for row in rows
    ]
    return found if text.startswith("SELECT") and "ORDER BY" in text else sorted(found, key=repr)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
async def test_the_same_statements_have_the_same_answers(database: str, seed: int) -> None:
    """Alone and several in a transaction; each statement at least once without an error."""
    chance = random.Random(seed)
    rows = Rows(lambda *_: None)
    define_functions(rows)
    arguments = Arguments(chance, rows)
    started = time.time()
    texts = [
        *dict.fromkeys(text for module in (lease, hand_over, telling, product) for text in statements(module))
    ]
    answered: set[str] = set()
    url = Database(database)
    connection = await url.connect()
    try:
        await prepare(connection, url)
        for _ in range(700):
            here = Transaction(rows, time.time, started, synchronous=True)
            block = connection.transaction()
            await block.start()
            for text in chance.choices(texts, k=chance.choice([1, 1, 3])):
                given = arguments.of(text)
                expected = await answer_of_postgresql(connection, text, given)
                found = answer_of_simulation(here, text, given)
                assert found == expected, (text, given)
                if isinstance(expected, str):
                    break
                answered.add(text)
            else:
                await block.commit()
                here.commit()
                continue
            await block.rollback()
            here.end()
    finally:
        await connection.close()
    assert answered == set(texts)


async def answer_of_postgresql(connection: Any, text: str, arguments: Sequence[Any]) -> Answer:
    try:
        return plain(text, await connection.fetch(text, *arguments))
    except asyncpg.PostgresError as error:
        return str(error.sqlstate)


def answer_of_simulation(here: Transaction, text: str, arguments: Sequence[Any]) -> Answer:
    try:
        return plain(text, here.attempt(lambda: carry_out(here, text, arguments)))
    except asyncpg.PostgresError as error:
        return str(error.sqlstate)


def test_a_wait_for_a_lock_ends_in_time_at_a_busy_database() -> None:
    """However often others commit while it lasts, so that the statement is tried again."""
    chance = random.Random(0)
    clock = Clock(chance, Trace())
    database = DatabaseServer(clock, chance, Weather(stalled=0), Counter())
    process = Process(clock, Network(clock, chance, Weather()), "node", "10.0.0.1", chance)
    assert 4.9 < clock.run(begin(process, _seconds_for_a_lock(database))) < 5.5


async def _seconds_for_a_lock(database: DatabaseServer) -> float:
    """Return how long a statement waits for a lock that another connection has."""
    settings = {"synchronous_commit": "on"}
    holder, waiter, busy = [await database.connect("", server_settings=settings) for _ in range(3)]
    insert = "INSERT INTO game_table (code) VALUES ($1)"

    async def commit() -> None:
        for number in itertools.count():
            await busy.execute(insert, str(number))

    await holder.execute("BEGIN")
    await holder.execute(insert, "AAAA")
    others = asyncio.create_task(commit())
    now = asyncio.get_running_loop().time
    began = now()
    with pytest.raises(asyncpg.LockNotAvailableError):
        await waiter.execute(insert, "AAAA")
    others.cancel()
    return now() - began

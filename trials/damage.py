"""Trials of damage: a journal as a kill leaves it is damaged at random, and a server starts with it.

    python -m trials.damage [--trials N] [--seed WORD]

No start may say nothing when a game is shorter than what was told to its players or different, hold up other
tables, raise a traceback, or change the files that it was given without keeping them. If several files are
damaged, it must report every table of which any of them still holds more than is left in play.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import random
import re
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, cast

from salvage.page_scan import rows_in
from salvage.repair import repair
from server.app import Running, running
from server.config import Config, Limits
from server.errors import JournalError
from server.monitoring.logs import describe
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.commit_list import known_commits
from server.storage.sqlite.journal import SqliteJournal
from server.storage.sqlite.journal_file import FILE_NAME
from server.storage.stored_tables import Condition
from server.tables.registry.table_registry import chances, kept_tables
from tests.server.peer import connected
from tests.server.playing import game, play_on

LOG_NAME: Final = f"{FILE_NAME}-wal"
GIVEN: Final = (FILE_NAME, LOG_NAME, LIST_NAME)

Games: TypeAlias = Mapping[str, tuple[Entry, ...]]  # the entries of every table
Damage: TypeAlias = Callable[[Path, Path, random.Random], None]  # of a folder; another one has older files


@dataclass(frozen=True, slots=True)
class Case:
    """A data folder as a kill leaves it, the same some time before, and what was told by then."""

    killed: Path
    earlier: Path
    told: Games


def copy_files(data: Path, to: Path) -> None:
    to.mkdir(mode=0o700)
    for name in GIVEN:
        if (data / name).exists():
            shutil.copyfile(data / name, to / name)


async def case_in(folder: Path, seed: int = 0) -> Case:
    """Play games in a new data folder, and copy it as a kill would leave it at two moments."""
    chooser = random.Random(seed)
    data, earlier, killed = folder / "data", folder / "earlier", folder / "killed"
    config = Config(data=data, seed=seed, limits=Limits())
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(running(config))
        for number in range(3):
            async with game(server.port, 2 + number % 2) as peers:
                await play_on(peers, chooser, moves=8 + 3 * number)
        async with game(server.port, 2) as over:
            await play_on(over, chooser)
        await _archive(server, over[0].code)
        await _set_aside_and_restore(server, peers[0].code)
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(running(config))
        for number in range(3):
            async with game(server.port, 2) as peers:
                await play_on(peers, chooser, moves=4 + number)
            if number == 0:
                copy_files(data, earlier)
                await _checkpoint(server)
        async with game(server.port, 3) as over:
            await play_on(over, chooser, moves=12)
        await _archive(server, over[0].code)
        async with game(server.port, 2) as closed:
            await play_on(closed, chooser, moves=6)
        await server.lobby.registry.close(closed[0].code, None)
        peer = await stack.enter_async_context(connected(server.port))
        await peer.open(4)
        copy_files(data, killed)
    copy_files(killed, folder / "told")
    told, _ = await games_in(folder / "told")
    return Case(killed, earlier, told)


async def _archive(server: Running, code: str) -> None:
    table = server.lobby.tables[code]
    await server.lobby.journal.archive(code, ArchivedGame(code, played=True))
    table.stop()
    del server.lobby.tables[code]


async def _checkpoint(server: Running) -> None:
    checkpoints = cast("SqliteJournal", server.lobby.journal)._checkpoints
    checkpoints.begin()
    assert checkpoints._at_work is not None
    await checkpoints._at_work


async def _set_aside_and_restore(server: Running, code: str) -> None:
    journal = server.lobby.journal
    entries = len(await journal.entries(code))
    await journal.set_aside(code, entries, "it may be damaged")
    await journal.restore(code, entries)


def contents(data: Path) -> dict[str, bytes]:
    """Return all files in a folder by their names."""
    return {path.name: path.read_bytes() for path in data.iterdir()}


async def games_in(data: Path) -> tuple[dict[str, tuple[Entry, ...]], set[str]]:
    """Start on a folder; return the entries of every table that can be played on, and what is set aside."""
    journal = SqliteJournal(data)
    try:
        await kept_tables(journal, (await journal.kept()).tables, chances(0))
        games: dict[str, tuple[Entry, ...]] = {
            code: tuple(entries) for code, entries in (await journal.kept()).tables.items()
        }
        for code in list(journal.archived):
            with contextlib.suppress(JournalError):
                games[code] = tuple(await journal.archived_entries(code))
        return games, set(journal.codes_set_aside)
    finally:
        await journal.close()


# -- damage ------------------------------------------------------------------------------------------


def changed(name: str, change: Callable[[bytearray, random.Random], None]) -> Damage:
    """Return what changes the content of a file."""

    def damage(data: Path, _earlier: Path, chance: random.Random) -> None:
        content = bytearray((data / name).read_bytes())
        change(content, chance)
        (data / name).write_bytes(content)

    return damage


def flipped(bits: int, content: bytearray, chance: random.Random) -> None:
    for _ in range(bits):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def cut(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


def zeroed(block: int, content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(0, len(content), block)
    end = min(len(content), start + block * chance.randint(1, 3))
    content[start:end] = bytes(end - start)


def emptied(content: bytearray, _chance: random.Random) -> None:
    content.clear()


def deleted(name: str) -> Damage:
    return lambda data, _earlier, _chance: (data / name).unlink()


def of_earlier(*names: str) -> Damage:
    def damage(data: Path, earlier: Path, _chance: random.Random) -> None:
        for name in names:
            shutil.copyfile(earlier / name, data / name)

    return damage


def rows_swapped(data: Path, _earlier: Path, chance: random.Random) -> None:
    """Swap the texts of two entries, which merges the log into the main file as well."""
    with contextlib.closing(sqlite3.connect(data / FILE_NAME)) as database:
        rows = database.execute("SELECT id, body FROM entry").fetchall()
        (first, one), (second, other) = chance.sample(rows, 2)
        database.execute("UPDATE entry SET body = ? WHERE id = ?", (other, first))
        database.execute("UPDATE entry SET body = ? WHERE id = ?", (one, second))
        database.commit()


DAMAGES: Final[Mapping[str, Damage]] = {
    "log: one bit flipped": changed(LOG_NAME, partial(flipped, 1)),
    "log: 20 bits flipped": changed(LOG_NAME, partial(flipped, 20)),
    "log: cut": changed(LOG_NAME, cut),
    "log: zeroed": changed(LOG_NAME, partial(zeroed, 4096)),
    "log: deleted": deleted(LOG_NAME),
    "log: of another day": of_earlier(LOG_NAME),
    "main file: one bit flipped": changed(FILE_NAME, partial(flipped, 1)),
    "main file: 200 bits flipped": changed(FILE_NAME, partial(flipped, 200)),
    "main file: cut": changed(FILE_NAME, cut),
    "main file: pages zeroed": changed(FILE_NAME, partial(zeroed, 4096)),
    "main file: deleted": deleted(FILE_NAME),
    "main file: emptied": changed(FILE_NAME, emptied),
    "main file: of another day": of_earlier(FILE_NAME),
    "main file and log: of another day": of_earlier(FILE_NAME, LOG_NAME),
    "main file: rows swapped": rows_swapped,
    "commit list: one bit flipped": changed(LIST_NAME, partial(flipped, 1)),
    "commit list: cut": changed(LIST_NAME, cut),
    "commit list: zeroed": changed(LIST_NAME, partial(zeroed, 512)),
    "commit list: deleted": deleted(LIST_NAME),
    "commit list: of another day": of_earlier(LIST_NAME),
}


def several(chance: random.Random) -> tuple[str, Damage]:
    """Return damage to two or three files at once, and what it is."""
    kinds: dict[str, list[str]] = {}
    for name in DAMAGES:
        kinds.setdefault(name.split(":")[0], []).append(name)
    del kinds["main file and log"]
    chosen = [chance.choice(kinds[file]) for file in chance.sample(sorted(kinds), chance.randint(2, 3))]
    chosen.sort(key="main file: rows swapped".__ne__)  # SQLite has to open the files for that

    def damage(data: Path, earlier: Path, chance: random.Random) -> None:
        for name in chosen:
            with contextlib.suppress(FileNotFoundError):  # swapping rows deletes the log
                DAMAGES[name](data, earlier, chance)

    return " and ".join(chosen), damage


# -- a trial -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def logged() -> Iterator[list[str]]:
    """Collect the warnings and errors of the storage."""
    lines: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(describe(record))

    handler = Collector(logging.WARNING)
    source = logging.getLogger("server")
    source.addHandler(handler)
    try:
        yield lines
    finally:
        source.removeHandler(handler)


async def trial(
    case: Case, damage: Damage, data: Path, chance: random.Random, *, to_several: bool = False
) -> tuple[str, list[str]]:
    """Start with damaged files, salvage, and start again; return what came of it, and what is wrong.

    If the damage is `to_several` files, nothing need be said of entries that none of them holds any more.
    """
    copy_files(case.killed, data)
    damage(data, case.earlier, chance)
    given = contents(data)
    left = _lengths_left(given) if to_several else None
    wrong: list[str] = []
    with logged() as lines:
        try:
            games, set_aside = await games_in(data)
        except JournalError as error:
            if contents(data) != given:
                return "refused", [f"refused ({error}), but files have changed"]
            if "palatinus tables salvage" not in str(error):
                return "refused", []
            outcome = "refused"
        else:
            words = "\n".join(lines)
            outcome, wrong = _compare(case, games, set_aside, words, left)
            if to_several and "the journal is damaged" in words:  # a salvage finds more
                wrong = [each for each in wrong if "another game" in each]
        try:
            findings, _ = repair(data)
        except JournalError:
            return "refused", wrong
        games, set_aside = await games_in(data)
    words = "\n".join(lines) + " ".join(
        table.code for table in findings.tables if table.condition is not Condition.WHOLE
    )
    after, more = _compare(case, games, set_aside, words, left)
    wrong += more
    if outcome == "refused" or any(
        line.partition(":")[0] != "the commit list lacked the last commits" for line in lines
    ):
        kept = [content for name, content in contents(data).items() if "ed-2" in name]
        wrong += [f"{name} is not kept" for name, content in given.items() if content not in kept]
    return f"{outcome}, then {after}", wrong


def _compare(
    case: Case, games: Games, set_aside: set[str], words: str, left: Mapping[str, int] | None
) -> tuple[str, list[str]]:
    """Return what came of the games in a word, and what is wrong with that.

    `words` is everything that was said, and `left` how many entries of each table several files still held.
    """
    outcomes, wrong = set(), []
    for code, entries in case.told.items():
        found = games.get(code, ())
        if found == entries:
            continue
        outcomes.add("set aside" if code in set_aside else "shorter")
        if left is not None and left.get(code, 0) <= len(found) and found == entries[: len(found)]:
            continue
        if code not in words:
            wrong.append(f"nothing was said of table {code} ({len(found)} of {len(entries)} entries)")
        if code not in games and code not in set_aside:
            wrong.append(f"table {code} is gone")
        if found != entries[: len(found)] and found[: len(entries)] != entries:
            wrong.append(f"table {code} is another game")
    return " and ".join(sorted(outcomes)) or "whole", wrong


def _lengths_left(given: Mapping[str, bytes]) -> dict[str, int]:
    """Return how many entries the files show at least that tables had.

    Not the pages of a last transaction that is not complete: a kill leaves that, and it was told to nobody.
    """
    lengths: dict[str, int] = {}
    log = given.get(LOG_NAME, b"")
    commits = [
        start + 4120
        for start in range(32, len(log) - 4119, 4120)
        if any(log[start + 4 : start + 8]) and log[start + 8 : start + 16] == log[16:24]
    ]
    for row in rows_in(given.get(FILE_NAME, b""), log[: max(commits, default=len(log))]):
        match row:
            case [None, str(code), int(number), *_]:
                lengths[code] = max(lengths.get(code, 0), number + 1)
            case [str(code), int(), bytes(), str(), int(), int(length), *_]:
                lengths[code] = max(lengths.get(code, 0), length)
            case [str(code)]:
                lengths.setdefault(code, 1)
    content = given.get(LIST_NAME, b"")
    for code in re.findall(r"\b[A-Z]{4}\b(?!-)", content.decode("latin-1")):
        lengths.setdefault(code, 1)
    for code, standing in known_commits(content).tables.items():
        lengths[code] = max(lengths.get(code, 0), standing.length)
    return lengths


async def trials(number: int, seed: str) -> tuple[dict[str, Counter[str]], list[str]]:
    """Try every kind of damage so many times; return the outcomes and everything that is wrong."""
    counts: dict[str, Counter[str]] = {}
    failures = []
    with tempfile.TemporaryDirectory(prefix="palatinus-damage-") as folder:
        case = await case_in(Path(folder), seed=len(seed))
        data = Path(folder) / "trial"
        for name, damage in DAMAGES.items():
            counts[name] = Counter()
            for attempt in range(number):
                outcome, wrong = await trial(case, damage, data, random.Random(f"{seed} {name} {attempt}"))
                counts[name][outcome] += 1
                failures += [f"{name}, attempt {attempt}: {each}" for each in wrong]
                shutil.rmtree(data)
        counts["several files"] = Counter()
        for attempt in range(10 * number):
            chance = random.Random(f"{seed} {attempt}")
            name, damage = several(chance)
            outcome, wrong = await trial(case, damage, data, chance, to_several=True)
            counts["several files"][outcome] += 1
            failures += [f"{name}, attempt {attempt}: {each}" for each in wrong]
            shutil.rmtree(data)
    return counts, failures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=50, help="of each kind of damage")
    parser.add_argument("--seed", default="ledger")
    options = parser.parse_args()
    logging.lastResort = None
    counts, failures = asyncio.run(trials(options.trials, options.seed))
    sys.stdout.write(json.dumps(counts, indent=2) + "\n" + "".join(f"{each}\n" for each in failures))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

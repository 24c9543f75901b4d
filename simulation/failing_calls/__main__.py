"""Every system call of the journal fails once, in turn, in a real process.

The calls are those that concern files in the data folder. Each fails in five ways: with an error, for want
of space, after half of what was to be read or written, by the end of the process (half of a write is done
then), and with an error after which the process ends as soon as it has refused something. Whatever happens,
what was acknowledged is there afterwards, what was refused is not, nothing is set aside as damaged, and the
journal goes on working. SQLite is tested in this way (https://www.sqlite.org/testing.html). Linux only;
needs a C compiler.
"""

import argparse
import asyncio
import ctypes
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, TypeVar

from server.errors import JournalError
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry, Forgotten, Freed, Hosted, Opened
from server.storage.sqlite.journal import SqliteJournal
from simulation.knobs import turn

T = TypeVar("T")

WAYS: Final = ("error", "no space", "half", "end", "error, then the end")
_SECONDS: Final = 600  # for one trial, which takes a fraction of one: then it waits for ever
_ENDS_REFUSED: Final = 5  # of the ways; the others are the C source's
_ENDED: Final = 137  # the exit status of a process that was to end
_OPENED: Final = Opened(2, random_layout=True, starting=None)
_GAME: Final = ArchivedGame("home", played=True)

# One checkpoint, after which the log is begun anew and cut off.
turn(
    {
        "checkpoints._ENTRIES_BETWEEN": 1000,
        "checkpoints._ENTRY_BYTES": 64,
        "checkpoints._MOST_BYTES": 128 * 1024,
    }
)

# Where each table is, and how many entries it has.
State: TypeAlias = dict[str, str]
Work: TypeAlias = Callable[[SqliteJournal], Awaitable[object]]


class Step(NamedTuple):
    """A change of the journal, and what it makes of one table; None removes it."""

    work: Work
    code: str
    becomes: str | None

    def apply(self, state: State) -> State:
        """Return the state after this step."""
        after = {code: kept for code, kept in state.items() if code != self.code}
        return after if self.becomes is None else after | {self.code: self.becomes}


def _entries(number: int) -> list[Entry]:
    return [Freed(1) if place % 3 else Hosted(0) for place in range(number)]


def _open_table(code: str) -> Step:
    return Step(lambda journal: journal.append(code, 0, [_OPENED, *_entries(3)]), code, "in use, 4")


_STEPS: Final = (
    *map(_open_table, ("ONCE", "THEN", "LAST", "GONE", "HURT")),
    Step(lambda journal: journal.append("ONCE", 4, _entries(2)), "ONCE", "in use, 6"),
    Step(lambda journal: journal.append("THEN", 4, _entries(1), 1_000), "THEN", "in use, 5"),
    Step(lambda journal: journal.record_written("THEN"), "THEN", "in use, 5"),
    Step(lambda journal: journal.archive("THEN", _GAME), "THEN", "archived, 5"),
    Step(lambda journal: journal.archive("LAST", _GAME), "LAST", "archived, 4"),
    Step(lambda journal: journal.set_aside("HURT", 3, "a trial"), "HURT", "set aside, 3"),
    Step(lambda journal: journal.append("GONE", 4, [Forgotten()]), "GONE", None),
    # Enough for a checkpoint, which goes on beside the next steps.
    Step(lambda journal: journal.append("ONCE", 6, _entries(1100)), "ONCE", "in use, 1106"),
    Step(lambda journal: journal.bring_back("THEN"), "THEN", "in use, 5"),
    Step(lambda journal: journal.append("THEN", 5, _entries(2)), "THEN", "in use, 7"),
    Step(lambda journal: journal.shorten("ONCE", lambda _: [*range(10)]), "ONCE", "in use, 10"),
    Step(lambda journal: journal.restore("HURT", 3), "HURT", "in use, 3"),
    Step(lambda journal: journal.remove("LAST"), "LAST", None),
)
_RESTART: Final = 11  # the step before which the journal is closed and opened


async def _retry(work: Callable[[], Awaitable[T]]) -> T:
    """Do `work`, a second time if it fails: only one call does."""
    try:
        return await work()
    except JournalError:
        return await work()


class _Trial:
    """All steps in a process of its own, in which the call with this number fails."""

    def __init__(self, folder: Path, number: int, way: int) -> None:
        self._data = folder / "data"
        self._backup = folder / "backup"
        self._number = number
        self._way = way

    def run(self) -> tuple[str, bool]:
        """Return what is wrong, nothing if all is well, and whether the process made so many calls."""
        shutil.rmtree(self._data, ignore_errors=True)
        status, said = _in_process(lambda say: asyncio.run(self._take_steps(say)))
        state: State = {}
        trying: Step | None = None
        for line in said:
            word, _, rest = line.partition(" ")
            if word == "try":
                trying = _STEPS[int(rest)]
            elif word == "done" and trying is not None:
                state, trying = trying.apply(state), None
            elif word == "refused":
                trying = None
        last = said[-1] if said else ""
        if status not in (0, _ENDED):
            return f"ended with {status}: {last}", True
        allowed = [state] if trying is None else [state, trying.apply(state)]
        found = _in_process(lambda say: asyncio.run(self._read(say)))[1]
        if found not in [sorted(f"{code}: {kept}" for code, kept in one.items()) for one in allowed]:
            return f"found {found}, not {allowed}", True
        return "", status == _ENDED or int(last.removeprefix("calls ")) >= self._number

    async def _take_steps(self, say: Callable[[str], None]) -> None:
        library = ctypes.CDLL(None)
        library.fail_call(os.fsencode(self._data), self._number, self._way)
        journal = await _retry(self._open)
        for number, step in enumerate(_STEPS):
            if number == _RESTART:
                self._backup.unlink(missing_ok=True)
                await _retry(lambda: journal.copy(self._backup, exact=False))  # noqa: B023 - awaited before the next turn
                await journal.close()
                journal = await _retry(self._open)

            async def take(number: int = number, work: Work = step.work, on: SqliteJournal = journal) -> None:
                say(f"try {number}")
                try:
                    await work(on)
                except JournalError:
                    say("refused")
                    if self._way == _ENDS_REFUSED:
                        os._exit(_ENDED)
                    raise
                say("done")

            await _retry(take)
        await journal.close()
        say(f"calls {library.calls_made()}")

    async def _open(self) -> SqliteJournal:
        return SqliteJournal(self._data, durable="full" if self._number % 2 else "normal")

    async def _read(self, say: Callable[[str], None]) -> None:
        journal = await self._open()
        found = [f"{code}: in use, {len(entries)}" for code, entries in (await journal.kept()).tables.items()]
        for code in [*journal.archived]:
            found += [f"{code}: archived, {len(await journal.archived_entries(code))}"]
        aside = await journal.tables_set_aside([*journal.codes_set_aside])
        found += [f"{table.code}: set aside, {len(table.entries)}" for table in aside]
        await journal.close()
        for line in sorted(found):
            say(line)


def _in_process(work: Callable[[Callable[[str], None]], None]) -> tuple[int, list[str]]:
    """Do `work` in a process, and return its exit status and what it said, its error last."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        signal.alarm(_SECONDS)
        status = 0

        def say(line: str) -> None:
            os.write(writer, line.encode() + b"\n")

        try:
            work(say)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is what the trial has found
            say(f"{type(error).__name__}: {error}".replace("\n", " "))
            status = 1
        os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as lines:
        said = lines.read().splitlines()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def _try_all(every: int) -> int:
    """Let each call fail in each way, and return how many trials found something."""
    logging.disable(logging.CRITICAL)
    trials = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for way, name in enumerate(WAYS, 1):
            number, there = 0, True
            while there:
                fault, there = _Trial(Path(folder), number, way).run()
                trials += 1
                if fault:
                    wrong += 1
                    print(f"call {number}, {name}: {fault}")
                number += every
            print(f"{name}: {number} calls", flush=True)
    print(f"{trials} trials, {wrong} wrong")
    return wrong


def main() -> int:
    """Build the library that makes calls fail, and begin again with it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--every", type=int, default=1, metavar="NUMBER", help="try one call of so many")
    options = parser.parse_args()
    if "failing_calls" in os.environ.get("LD_PRELOAD", ""):
        return min(_try_all(options.every), 1)
    if (compiler := shutil.which("cc")) is None or sys.platform != "linux":
        print("The calls of the journal cannot be made to fail: this needs Linux and a C compiler.")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "failing_calls.so"
        source = Path(__file__).with_name("calls.c")
        subprocess.run([compiler, "-w", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        command = [sys.executable, "-m", "simulation.failing_calls", "--every", str(options.every)]
        return subprocess.run(command, env=os.environ | {"LD_PRELOAD": str(library)}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

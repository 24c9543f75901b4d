"""`palatinus` in a process of its own, for a small part of what its start costs.

Nearly all of a start is importing. Here a process that has imported everything forks itself for each program,
so that a test can stop, interrupt and kill it. That the program starts from nothing is shown by the tests in
terminals, and by all that say `imported=False`.
"""

import asyncio
import contextlib
import functools
import io
import multiprocessing
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import TextIO, TypeAlias

from client.language import speak
from client.player.preferences import Preferences, remember
from palatinus import main
from tests.server.peer import TIMEOUT

PROGRAM = Path(__file__).parents[1] / "palatinus.py"
# What servers, bots and the commands beside a server import when they need it.
_IMPORTED = [
    *("palatinus", "server.process", "server.admin.client", "server.admin.service"),
    *("server.storage.sqlite.ready", "server.storage.sqlite.data_folder", "pages.serving.site"),
    *("client.bots.brains", "client.bots.runner", "client.ui.game", "client.ui.program"),
    *("client.ui.search", "client.ui.lessons.course", "pages.drawing.pages"),
    *("past_games.history_screen", "commands.playing.start_screen", "uvloop"),
]
# A module that is None cannot be imported: the program runs as it would without uvloop.
_WITHOUT_UVLOOP = (
    "import runpy, sys; sys.modules['uvloop'] = None; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
)


def let_bots_move_at_once(state: Path) -> None:
    """Keep that in the folder where the program remembers things, unless it remembers something there."""
    if not (file := state / "palatinus" / "preferences.json").exists():
        remember(file, Preferences(human_pace=False))


class ForkedProgram:
    """A running program, with the methods of asyncio's `Process` that tests use."""

    def __init__(
        self, process: ForkServerProcess, stdout: asyncio.StreamReader, stderr: asyncio.StreamReader
    ) -> None:
        self._process = process
        self.stdout = stdout
        self.stderr = stderr

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    async def wait(self) -> int:
        """Wait for the end; return the exit code, or less than 0 for the signal that ended the program."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._process.sentinel, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self._process.sentinel)
        assert self.returncode is not None
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        """Wait for the end; return the rest of the output and of the errors."""
        out, err, _ = await asyncio.gather(self.stdout.read(), self.stderr.read(), self.wait())
        return out, err

    def send_signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Program: TypeAlias = Process | ForkedProgram


async def started(
    *words: str | Path,
    environment: Mapping[str, str] | None = None,
    imported: bool = True,
    uvloop: bool = True,
) -> Program:
    """Start the program with these arguments; nothing is typed, and what it prints is to be read.

    Unless `imported`, it is started from nothing, as it is by a user. It runs on uvloop if that is installed
    and not forbidden.
    """
    given = dict(os.environ if environment is None else environment)
    # uvloop closes the pipes of a program some turns after its end, when a test's loop may have ended.
    forks = imported and isinstance(asyncio.get_running_loop(), asyncio.SelectorEventLoop)
    context = _fork_server() if forks else None
    if context is None:
        begin = (str(PROGRAM),) if uvloop else ("-c", _WITHOUT_UVLOOP, str(PROGRAM))
        return await asyncio.create_subprocess_exec(
            *(sys.executable, *begin, *map(str, words)), stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=given
        )
    (out, to_out), (err, to_err) = context.Pipe(duplex=False), context.Pipe(duplex=False)
    start = _Start([str(word) for word in words], given, Path.cwd(), (None, to_out, to_err), uvloop=uvloop)
    process = context.Process(target=start.main)
    process.start()
    for connection in (to_out, to_err):
        connection.close()
    return ForkedProgram(process, await _reader(out), await _reader(err))


def started_in_terminal(
    words: Sequence[str], device: str, environment: Mapping[str, str], folder: Path | None
) -> ForkServerProcess:
    """Start the program in the terminal at this path, whose first program it has to be."""
    context = _fork_server()
    assert context is not None
    start = _Start(list(words), dict(environment), folder or Path.cwd(), device)
    process = context.Process(target=start.main)
    process.start()
    return process


def started_in_lines(
    words: Sequence[str], environment: Mapping[str, str]
) -> tuple[ForkServerProcess, TextIO, TextIO]:
    """Start the program; what it reads and what it prints are files of text here."""
    context = _fork_server()
    assert context is not None
    (typed, to_type), (out, to_out) = context.Pipe(duplex=False), context.Pipe(duplex=False)
    start = _Start(list(words), dict(environment), Path.cwd(), (typed, to_out, None))
    process = context.Process(target=start.main)
    process.start()
    with typed, to_type, out, to_out:
        typing, reading = os.dup(to_type.fileno()), os.dup(out.fileno())
        return process, os.fdopen(typing, "w", encoding="utf-8"), os.fdopen(reading, encoding="utf-8")


async def ran(*words: str | Path, environment: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Run the program to its end; return the exit code, the output and the errors.

    It has a process of its own only if it has an environment of its own.
    """
    if environment is None:
        printed = io.BytesIO(), io.BytesIO()
        to_out, to_err = (io.TextIOWrapper(each, "utf-8", write_through=True) for each in printed)
        with contextlib.redirect_stdout(to_out), contextlib.redirect_stderr(to_err):
            code = await asyncio.to_thread(_main, [str(word) for word in words])
        return code, printed[0].getvalue().decode(), printed[1].getvalue().decode()
    process = await started(*words, environment=environment)
    async with asyncio.timeout(TIMEOUT):
        out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


def _main(words: list[str]) -> int:
    try:
        return main(words)
    except SystemExit as ending:  # argparse's own
        return int(ending.code or 0)
    finally:
        speak("en")


@functools.cache
def _fork_server() -> ForkServerContext | None:
    """Return what forks, None where no process can."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return None
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    return context


async def _reader(connection: Connection) -> asyncio.StreamReader:
    """Return what reads from a pipe; the connection is closed."""
    reader = asyncio.StreamReader()
    pipe = os.fdopen(os.dup(connection.fileno()), "rb", buffering=0)
    connection.close()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


@dataclass(frozen=True)
class _Start:
    """What a process needs that has been forked to be the program."""

    words: list[str]
    environment: dict[str, str]
    folder: Path
    streams: tuple[Connection | None, ...] | str  # for input, output and errors; or a terminal's path for all
    uvloop: bool = True

    def main(self) -> None:
        """Be the program."""
        if isinstance(self.streams, str):
            self._take_terminal(self.streams)
        else:
            self._take_pipes(*self.streams)
        lines = 1 if os.isatty(1) else -1
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", lines, encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
        os.environ.clear()
        os.environ.update(self.environment)
        time.tzset()
        os.chdir(self.folder)
        if not self.uvloop:
            sys.modules["uvloop"] = None  # type: ignore[assignment]
        sys.argv = [str(PROGRAM), *self.words]
        sys.exit(main())

    @staticmethod
    def _take_terminal(device: str) -> None:
        import fcntl  # Windows has neither, and does not fork
        import termios

        os.setsid()
        terminal = os.open(device, os.O_RDWR)
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        for number in range(3):
            os.dup2(terminal, number)
        os.close(terminal)

    @staticmethod
    def _take_pipes(*streams: Connection | None) -> None:
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        for number, stream in enumerate(streams):
            if stream is not None:
                with stream:
                    os.dup2(stream.fileno(), number)

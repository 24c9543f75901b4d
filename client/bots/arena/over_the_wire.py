"""Games on a server, whose players are programs and brains that connect to it."""

import asyncio
import contextlib
import io
import math
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from anyio import CapacityLimiter

from client.bots.arena.games import GameOutcome, Pairing, Schedule, outcome_of, seat_names
from client.bots.arena.lending import LentSeat, lent_seat
from client.bots.brain import BrainFailed, Forfeit
from client.bots.processes import ProcessesLost, in_process
from client.bots.runner import BotOptions, run_bots
from client.language import _, current_language, describe_reason, speaking
from client.network.transport import RequestRefused, ServerAddress
from engine.events import GameEnded
from protocol import messages
from protocol.messages import NEW
from protocol.text import printable

_SECONDS_TO_JOIN: Final = 30.0
_SECONDS_TO_END: Final = 2.0  # after the game, before a player is stopped
_ERRORS_KEPT: Final = 4096  # bytes of what a program last wrote to stderr
SERVER, TABLE, SEED = "{server}", "{table}", "{seed}"  # in a program's words
# What of the environment a program gets, besides LC_*: what most need to run, and no passwords or keys.
_VARIABLES: Final = frozenset(
    {
        *("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"),
        *("APPDATA", "COMSPEC", "LOCALAPPDATA", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP"),
        *("USERNAME", "USERPROFILE", "WINDIR"),
        *("JAVA_HOME", "LD_LIBRARY_PATH", "NODE_PATH", "PYTHONPATH", "SSL_CERT_DIR", "SSL_CERT_FILE"),
        "VIRTUAL_ENV",
    }
)
_LIMITED: Final = (sys.executable, "-I", str(Path(__file__).with_name("limited_program.py")))


class OverTheWire:
    """Plays games at tables of the server at `address`, each with seats that its players connect to.

    `programs` are the words that start each program, by name; the other names are brains. `opening` is the
    game whose table is opened now.
    """

    def __init__(
        self,
        schedule: Schedule,
        programs: Mapping[str, Sequence[str]],
        address: ServerAddress,
        *,
        records: bool = False,
    ) -> None:
        self._schedule, self._programs, self._address = schedule, programs, address
        self._records = records
        self.opening = next(schedule.pairings())
        self._one_opens = asyncio.Lock()
        self._limiter = CapacityLimiter(math.inf)  # there are as many processes as seats at a time

    async def play(self, pairing: Pairing) -> list[GameOutcome]:
        """Return the outcome of the game; raises ConnectFailed and RequestRefused."""
        limit = self._schedule.move_seconds
        assert limit is not None  # noqa: S101 - a league has one
        names = [self._schedule.names[entrant] for entrant in pairing.seating]
        async with contextlib.AsyncExitStack() as stack:
            lent = [
                await stack.enter_async_context(lent_seat(name, self._address, limit))
                for name in seat_names(names)
            ]
            host, *others = seats = [seat for seat, _url in lent]
            async with self._one_opens:
                self.opening = pairing
                layout = self._schedule.random_layout
                opened = messages.OpenTable(
                    NEW, len(seats), host.name, random_layout=layout, starting=0, program=True
                )
                table = await host.take(opened)
            for number, seat in enumerate(others, 1):
                await seat.take(messages.JoinTable(NEW, table, seat.name, number, program=True))
            for number, (name, (seat, url)) in enumerate(zip(names, lent, strict=True)):
                seed = self._schedule.chance_of(pairing, number).getrandbits(31)
                await stack.enter_async_context(self._playing(name, seat, (url, table, str(seed))))
            result, failed, record = None, None, None
            try:
                result = await _result(seats)
                if self._records:
                    record = (await host.ask(messages.GetRecord(NEW), messages.Record)).text
            except BrainFailed as error:
                failed = error
                with contextlib.suppress(RequestRefused):  # it may not have begun
                    await host.ask(messages.EndGame(NEW), messages.Done)
            times = [seat.times for seat in seats]
            return [outcome_of(pairing.number, pairing.seating, times, result, failed, record=record)]

    @contextlib.asynccontextmanager
    async def _playing(self, name: str, seat: LentSeat, about: tuple[str, str, str]) -> AsyncIterator[None]:
        """Run a player for as long as the game lasts, and a little longer if it has reached its end."""
        if (words := self._programs.get(name)) is None:
            player = asyncio.create_task(self._run_brain(name, seat, about))
        else:
            player = asyncio.create_task(_run_program(seat, _fill_words(words, about)))
        try:
            yield
            if seat.result.done() and seat.result.exception() is None:
                await asyncio.wait([player], timeout=_SECONDS_TO_END)
        finally:
            player.cancel()
            await asyncio.wait([player])

    async def _run_brain(self, name: str, seat: LentSeat, about: tuple[str, str, str]) -> None:
        url, table, seed = about
        options = BotOptions(url, table, (name,), seed=int(seed), traces=True)
        try:
            told = await in_process(_play_with_brain, options, current_language(), limiter=self._limiter)
        except ProcessesLost:
            told = _("The process of {name} keeps dying.").format(name=name)
        text, _line, trace = told.strip().partition("\n")
        seat.forfeit(text, Forfeit.FAILED, trace)


def _play_with_brain(options: BotOptions, language: str) -> str:
    """Play a game, in a process of its own; return what went wrong."""
    errors = io.StringIO()
    with speaking(language):
        asyncio.run(run_bots(options, io.StringIO(), errors))
    return errors.getvalue()


async def _result(seats: Sequence[LentSeat]) -> GameEnded:
    """Start the game when all players have joined, and return its result.

    Raises BrainFailed of the player that forfeits it, ConnectFailed and RequestRefused.
    """
    results = [seat.result for seat in seats]
    joining = asyncio.create_task(_all_joined(seats))
    waiting: set[asyncio.Future[Any]] = {joining, *results}
    await asyncio.wait(waiting, timeout=_SECONDS_TO_JOIN, return_when=asyncio.FIRST_COMPLETED)
    joining.cancel()
    absent = [seat for seat in seats if not seat.joined.is_set()]
    if absent and not any(result.done() for result in results):
        text = _("{name} did not connect within {seconds} s.")
        absent[0].forfeit(text.format(name=absent[0].name, seconds=f"{_SECONDS_TO_JOIN:g}"), Forfeit.ABSENT)
    elif not absent:
        await seats[0].ask(messages.StartGame(NEW), messages.Events)
    done, _others = await asyncio.wait(results, return_when=asyncio.FIRST_COMPLETED)
    for number, result in enumerate(results):
        if result in done:
            try:
                ended = result.result()
            except BrainFailed as error:
                error.seat = number
                raise
            await asyncio.wait(results, timeout=_SECONDS_TO_END)  # everybody hears of the end
            return ended
    raise AssertionError("one of them is done")


async def _all_joined(seats: Sequence[LentSeat]) -> None:
    for seat in seats:
        await seat.joined.wait()


async def _run_program(seat: LentSeat, words: Sequence[str]) -> None:
    """Run the program of a seat, which forfeits the game if it ends before that."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name.upper() in _VARIABLES or name.startswith("LC_")
    }
    try:
        process = await asyncio.create_subprocess_exec(
            *(() if sys.platform == "win32" else _LIMITED),
            *words,
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the league
        )
    except OSError as error:
        text = _("{name} cannot be started: {reason}.")
        return seat.forfeit(text.format(name=seat.name, reason=describe_reason(error)), Forfeit.ABSENT)
    errors = bytearray()
    reading = asyncio.create_task(_keep_last(process, errors))
    try:
        code = await process.wait()
        await asyncio.wait([reading], timeout=_SECONDS_TO_END)  # a child of it may have stderr still
    finally:
        reading.cancel()
        _kill(process)
    text = _("{name} exited before the end of the game, with exit code {code}.")
    if code < 0:
        text = _("{name} was killed by signal {signal} before the end of the game.")
    trace = "\n".join(map(printable, errors.decode(errors="replace").strip().splitlines()))
    kind = Forfeit.FAILED if seat.joined.is_set() else Forfeit.ABSENT
    return seat.forfeit(text.format(name=seat.name, code=code, signal=-code), kind, trace)


async def _keep_last(process: Process, errors: bytearray) -> None:
    assert process.stderr is not None  # noqa: S101 - it is a pipe
    while some := await process.stderr.read(_ERRORS_KEPT):
        errors += some
        del errors[:-_ERRORS_KEPT]


def _kill(process: Process) -> None:
    """End the program, with what it has started."""
    with contextlib.suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _fill_words(words: Sequence[str], about: tuple[str, str, str]) -> list[str]:
    """Return the words that start a program, with where it plays and its seed in their places."""
    if not any(TABLE in word for word in words):
        words = [*words, SERVER, TABLE]
    for place, what in zip((SERVER, TABLE, SEED), about, strict=True):
        words = [word.replace(place, what) for word in words]
    return list(words)

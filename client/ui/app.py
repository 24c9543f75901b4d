"""The terminal client as a program: a thin shell around state, update and drawing."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from typing import Final

from prompt_toolkit.application import Application
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.output import ColorDepth

from client.connection import ConnectFailed, Connection, Refusal, connected
from client.table import TableChanged
from client.ui import news, requests
from client.ui.control import Screen, bindings
from client.ui.frame import Frame
from client.ui.keys import Action
from client.ui.look import STYLE, Look, look_for
from client.ui.requests import Request
from client.ui.screen import drawn
from client.ui.state import Ui
from client.ui.update import Outcome, pressed, updated
from engine.events import LayTile, Place
from engine.view import Phase
from protocol.limits import NAME_LENGTH
from protocol.messages import TableState
from protocol.text import unsafe

_ESCAPE_SECONDS: Final = 0.05  # how long Esc may be the start of another key's sequence
# Terminals that know this mode show what lies between in one go; the others pass over it.
_HOLD: Final = "\x1b[?2026h"
_LET_GO: Final = "\x1b[?2026l"
_LOBBY_SECONDS: Final = 3.0
_FAREWELL_SECONDS: Final = 1.0

Opened = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Options:
    """How the client starts.

    With `table` it joins that table, or watches it; with `players` it opens a table for so many; else it
    shows the lobby. `opened` is awaited with the code of a table opened at the start. With `auto_start`
    the host's game starts by itself when every seat is taken.
    """

    url: str
    name: str
    table: str | None = None
    watch: bool = False
    players: int | None = None
    random_layout: bool = False
    auto_start: bool = False
    ascii: bool = False
    colours: ColorDepth | None = None
    opened: Opened | None = None


async def run(options: Options) -> int:
    """Run the client until its player quits; return the exit code, and leave the terminal as it was."""
    if (fault := _fault_of(options.name)) is not None:
        return _failed(fault, 2)
    try:
        async with connected(options.url) as connection:
            await Client(options, connection).run()
    except ConnectFailed as error:
        return _failed(str(error), 1)
    except Exception as error:  # noqa: BLE001 - people are owed one sentence, whatever it is
        cause = _first_of(error)
        return _failed(f"The client stopped: {type(cause).__name__}: {cause}. Please report this.", 1)
    return 0


def _fault_of(name: str) -> str | None:
    """Return what is wrong with a player's name."""
    if len(name) > NAME_LENGTH:
        return f"The name is too long: at most {NAME_LENGTH} characters."
    reason = unsafe(name)
    return None if reason is None else f"The name cannot be used: {reason}."


def _failed(sentence: str, code: int) -> int:
    sys.stderr.write(f"palatinus: {sentence}\n")
    return code


def _first_of(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class Client:
    """Holds the UI state and carries news, keys and clicks to the functions that know what to do."""

    def __init__(self, options: Options, connection: Connection) -> None:
        self._options = options
        self._connection = connection
        self._look = _look(options)
        self._ui = Ui(name=options.name, address=options.url)
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._app: Application[None] = Application(
            layout=Layout(Window(Screen(self._frame, self._press, self._act), always_hide_cursor=True)),
            key_bindings=bindings(self._press, self._act),
            style=STYLE,
            color_depth=_colours(options),
            full_screen=True,
            mouse_support=True,
            before_render=lambda app: app.output.write_raw(_HOLD),
            after_render=_let_go,
        )
        self._app.ttimeoutlen = _ESCAPE_SECONDS

    async def run(self) -> None:
        """Show the screen until the player quits."""
        async with self._group:
            self._begin(self._listen())
            self._begin(self._attend())
            with _ending_on_signals(self._quit):
                await self._app.run_async(set_exception_handler=False)
            await self._farewell()
            for task in self._tasks:
                task.cancel()  # a request may wait for a connection that is not coming back

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _frame(self, width: int, height: int) -> Frame:
        with self._guarded():
            return drawn(self._ui, self._connection.model, self._look, width, height)
        return Frame(())

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """End the program with an error raised here, which would be lost in the event loop otherwise."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - it is raised again where the program ends
            if self._app.is_running and not self._app.is_done:
                self._app.exit(exception=error)

    # -- what comes in ------------------------------------------------------------------------------

    def _press(self, name: str) -> None:
        with self._guarded():
            self._take(pressed(self._ui, name, self._connection.model))

    def _act(self, action: Action) -> None:
        with self._guarded():
            self._take(updated(self._ui, action, self._connection.model))

    def _take(self, outcome: Outcome) -> None:
        ui, request = outcome
        self._show(ui)
        if isinstance(request, requests.Quit):
            self._quit()
        elif request is not None:
            self._begin(self._ask(request))

    def _show(self, ui: Ui) -> None:
        self._ui = ui
        self._app.invalidate()

    def _quit(self) -> None:
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    async def _listen(self) -> None:
        """Take in the news until the connection is gone for good."""
        async for update in self._connection.updates():
            self._show(news.heard(self._ui, update, self._connection.model))
            if isinstance(update, TableChanged) and self._options.auto_start and self._fills(update):
                self._begin(self._ask(requests.Start()))

    def _fills(self, update: TableChanged) -> bool:
        """Tell whether the last free seat of this host's table has just been taken."""
        state, before = update.state, update.before
        return (
            state.stage == "gathering"
            and state.host == self._connection.model.seat
            and _full(state)
            and (before is None or not _full(before))
        )

    async def _attend(self) -> None:
        """Go where the options say, and keep the lobby's list of tables fresh."""
        await self._enter()
        while True:
            if self._connection.model.table is None and self._connection.online:
                await self._ask(requests.Refresh())
            await asyncio.sleep(_LOBBY_SECONDS)

    async def _enter(self) -> None:
        options = self._options
        if options.players is not None:
            await self._ask(requests.Open(options.players, options.random_layout))
            table = self._connection.model.table
            if table is not None and options.opened is not None:
                await options.opened(table)
        elif options.table is not None:
            await self._ask(requests.Watch(options.table) if options.watch else requests.Join(options.table))

    # -- what goes out ------------------------------------------------------------------------------

    async def _ask(self, request: Request) -> None:
        """Ask the server, and show what it refuses."""
        try:
            await self._put(request)
        except (Refusal, ConnectFailed) as failure:
            self._show(news.refused(self._ui, str(failure)))
        else:
            if not isinstance(request, requests.Refresh):
                self._show(replace(self._ui, busy=False))

    async def _put(self, request: Request) -> None:
        connection = self._connection
        match request:
            case LayTile() | Place():
                await connection.play(request)
            case requests.Refresh():
                self._show(news.listed(self._ui, await connection.list_tables()))
            case requests.Open(players, random_layout):
                await connection.open_table(players, self._options.name, random_layout=random_layout)
            case requests.Join(table):
                await connection.join(table, self._options.name)
            case requests.Watch(table):
                await connection.watch(table)
            case requests.Start():
                await connection.start()
            case requests.Say(text):
                await connection.say(text)
            case requests.Leave():
                await connection.leave()
                self._show(Ui(name=self._ui.name, address=self._ui.address, typed=self._ui.typed))
                self._show(news.listed(self._ui, await connection.list_tables()))
            case requests.Quit():
                self._quit()

    async def _farewell(self) -> None:
        """Leave a table where nothing is lost by it; in a running game the seat is kept."""
        model = self._connection.model
        running = model.view is not None and model.view.phase is not Phase.OVER
        if model.table is None or running or not self._connection.online:
            return
        with contextlib.suppress(Refusal, ConnectFailed, TimeoutError):
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self._connection.leave()


def _full(state: TableState) -> bool:
    return all(seat.name is not None for seat in state.seats)


def _let_go(app: Application[None]) -> None:
    app.output.write_raw(_LET_GO)
    app.output.flush()


def _look(options: Options) -> Look:
    return look_for(sys.stdout.encoding or "ascii", os.environ.get("TERM", ""), ascii_wanted=options.ascii)


def _colours(options: Options) -> ColorDepth | None:
    """Return the depth that was asked for, or what the environment tells; None leaves it to the terminal."""
    if options.colours is not None:
        return options.colours
    if os.environ.get("NO_COLOR"):
        return ColorDepth.DEPTH_1_BIT
    if os.environ.get("COLORTERM") in {"truecolor", "24bit"}:
        return ColorDepth.DEPTH_24_BIT
    return None


@contextlib.contextmanager
def _ending_on_signals(quit_: Callable[[], None]) -> Iterator[None]:
    """End the program in good order when it is told to stop, so that the terminal is restored."""
    loop = asyncio.get_running_loop()
    # Windows has no SIGHUP, and its event loop takes no handlers.
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    with contextlib.suppress(NotImplementedError):
        for number in numbers:
            loop.add_signal_handler(number, quit_)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)

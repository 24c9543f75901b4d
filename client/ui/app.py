"""The terminal client as a program: a thin shell around state, update and drawing."""

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Final

from prompt_toolkit.output import ColorDepth

from client.connection import ConnectFailed, Connection, Refusal, connected
from client.language import _
from client.names import default_name
from client.refusals import unsafe_told
from client.seats import Seats
from client.table import TableChanged, TableModel
from client.ui import news, requests, texts
from client.ui.frame import Frame
from client.ui.keeping import Keeper
from client.ui.keys import Action
from client.ui.requests import Request
from client.ui.screen import drawn
from client.ui.shell import Shell, look_here, stopped_by
from client.ui.state import Ui
from client.ui.update import Outcome, pressed, updated
from engine.events import LayTile, Place
from engine.view import Phase
from protocol.codes import Code
from protocol.limits import NAME_LENGTH
from protocol.messages import TableState
from protocol.text import unsafe

_LOBBY_SECONDS: Final = 3.0
_FAREWELL_SECONDS: Final = 1.0

Opened = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Options:
    """How the client starts.

    With `table` it joins that table, or watches it; with `players` it opens a table for so many; else it
    shows the lobby. `opened` is awaited with the code of a table opened at the start. With `auto_start`
    the host's game starts by itself when every seat is taken. In `seats` a seat is kept for another time;
    without them it is lost with the client.
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
    seats: Seats | None = None


async def run(options: Options) -> int:
    """Run the client until its player quits; return the exit code, and leave the terminal as it was."""
    if (fault := _fault_of(options.name)) is not None:
        return _failed(fault, 2)
    try:
        async with connected(options.url) as connection:
            parting = await Client(options, connection).run()
    except ConnectFailed as error:
        return _failed(str(error), 1)
    except Exception as error:  # noqa: BLE001 - people are owed one sentence, whatever it is
        return _failed(stopped_by(error), 1)
    if parting is not None:
        with contextlib.suppress(OSError):  # the terminal may be gone
            sys.stdout.write(f"{parting}\n")
            sys.stdout.flush()
    return 0


def _fault_of(name: str) -> str | None:
    """Return what is wrong with a player's name."""
    if len(name) > NAME_LENGTH:
        return _("The name is too long: at most {most} characters.").format(most=NAME_LENGTH)
    reason = unsafe(name)
    return (
        None if reason is None else _("The name cannot be used: {reason}.").format(reason=unsafe_told(reason))
    )


def _failed(sentence: str, code: int) -> int:
    sys.stderr.write(f"palatinus: {sentence}\n")
    return code


class Client:
    """Holds the UI state and carries news, keys and clicks to the functions that know what to do."""

    def __init__(self, options: Options, connection: Connection) -> None:
        self._options = options
        self._connection = connection
        self._look = look_here(ascii_wanted=options.ascii)
        self._ui = Ui(name=options.name, address=options.url)
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._shell = Shell(self._frame, self._press, self._act, options.colours)
        self._keeper = Keeper(options.seats, self._log)

    async def run(self) -> str | None:
        """Show the screen until the player quits; return what there is to say when it is gone."""
        try:
            async with self._group:
                self._begin(self._listen())
                self._begin(self._attend())
                if await self._shell.run():  # else the terminal was closed: its player may come back
                    await self._farewell()
                for task in self._tasks:
                    task.cancel()  # a request may wait for a connection that is not coming back
            return self._parting()
        finally:
            self._keeper.release()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _frame(self, width: int, height: int) -> Frame:
        return drawn(self._ui, self._connection.model, self._look, width, height)

    # -- what comes in ------------------------------------------------------------------------------

    def _press(self, name: str) -> None:
        self._take(pressed(self._ui, name, self._connection.model))

    def _act(self, action: Action) -> None:
        self._take(updated(self._ui, action, self._connection.model))

    def _take(self, outcome: Outcome) -> None:
        ui, request = outcome
        self._show(ui)
        if isinstance(request, requests.Quit):
            self._shell.quit()
        elif request is not None:
            self._begin(self._ask(request))

    def _show(self, ui: Ui) -> None:
        self._ui = ui
        self._shell.redraw()

    def _log(self, sentence: str) -> None:
        self._show(news.logged(self._ui, [sentence]))

    async def _listen(self) -> None:
        """Take in the news until the connection is gone for good."""
        async for update in self._connection.updates():
            if _over(self._connection.model):
                self._keeper.forget()
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
                await self._list()
            case requests.Open(players, random_layout):
                name = self._options.name
                seated = await connection.open_table(players, name, random_layout=random_layout)
                self._keeper.keep(seated, name)
            case requests.Join(table):
                await self._join(table)
            case requests.Watch(table):
                await connection.watch(table)
            case requests.Start():
                await connection.start()
            case requests.Say(text):
                await connection.say(text)
            case requests.Leave():
                await self._leave()
                self._show(Ui(name=self._options.name, address=self._ui.address, typed=self._ui.typed))
                await self._list()
            case requests.Quit():
                self._shell.quit()

    async def _list(self) -> None:
        tables = await self._connection.list_tables()
        held = self._keeper.tables()  # before the state is looked at: what goes wrong there is told in it
        self._show(news.listed(self._ui, tables, held))

    async def _join(self, table: str) -> None:
        """Take the seat that is kept at the table, or else a free one."""
        name = self._options.name
        # From a table nobody goes to another: the server says so below.
        while self._connection.model.table is None and (held := self._keeper.take(table, name)) is not None:
            try:
                await self._connection.resume(table, held.token)
            except Refusal as refusal:
                if refusal.code not in {Code.BAD_TOKEN, Code.NO_SUCH_TABLE}:
                    self._keeper.release()
                    raise
                self._keeper.forget()
                self._log(texts.seat_lost(table))
            except BaseException:
                self._keeper.release()
                raise
            else:
                self._show(replace(self._ui, name=held.name))
                self._log(texts.back_in_seat(held.name))
                return
        self._keeper.keep(await self._connection.join(table, name), name)

    async def _leave(self) -> None:
        """Leave the table; the seat of a running game stays kept."""
        running = _running(self._connection.model)
        await self._connection.leave()
        if running:
            self._keeper.release()
        else:
            self._keeper.forget()

    async def _farewell(self) -> None:
        """Leave a table where nothing is lost by it; in a running game the seat is kept."""
        model = self._connection.model
        if model.table is None or _running(model) or not self._connection.online:
            return
        with contextlib.suppress(Refusal, ConnectFailed, TimeoutError):
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self._leave()

    def _parting(self) -> str | None:
        """Return how to come back to a game that goes on."""
        model = self._connection.model
        if model.table is None or not _running(model) or not self._keeper.keeps:
            return None
        name = self._ui.name
        return texts.how_to_come_back(
            self._options.url, model.table, None if name == default_name() else name
        )


def _running(model: TableModel) -> bool:
    return model.view is not None and model.view.phase is not Phase.OVER


def _over(model: TableModel) -> bool:
    return model.view is not None and model.view.phase is Phase.OVER


def _full(state: TableState) -> bool:
    return all(seat.name is not None for seat in state.seats)

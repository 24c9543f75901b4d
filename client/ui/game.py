"""The program that plays on a server: it connects the state, its updates and its drawing."""

import asyncio
import contextlib
import math
import sys
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Final

from client.network.connection import ConnectFailed, Connection, RequestRefused, Timeouts, connected
from client.network.transport import PasswordWanted
from client.tables.news import HeardInLobby, OnlineChanged
from client.tables.table import TableChanged, TableClosed, TableModel
from client.typed.names import default_name, fault_of
from client.ui import requests
from client.ui.actions import Action
from client.ui.frame import Frame, in_ascii
from client.ui.online.asking import Listing, Requests, Shown, running
from client.ui.online.kept_seat import SEAT_LOST, SeatKeeper
from client.ui.online.visit import Options, Visit
from client.ui.replaying import Replaying, Workshop
from client.ui.requests import Request
from client.ui.screens import autoplay, news
from client.ui.screens.autoplay import counting
from client.ui.screens.dispatch import pressed, updated
from client.ui.screens.news import Occasion, occasions
from client.ui.screens.screen import drawn, window_title
from client.ui.state import Hosting, Notice, Outcome, Ui
from client.ui.terminal.device import own_device
from client.ui.terminal.shell import Shell, describe_failure
from client.ui.texts.kept import how_to_come_back
from engine.view import Phase
from protocol.messages import NEW, ListTables, Refused, StartGame, TableState

_LOBBY_SECONDS: Final = 3.0
_FAREWELL_SECONDS: Final = 1.0
_PRESENT_SECONDS: Final = 5.0  # how long after a key somebody is taken to be at the screen
_TIMEOUTS: Final = Timeouts(keep_trying=math.inf)  # a person sees the title line, and decides


async def run(options: Options) -> int:
    """Run the client until its player quits; return the exit code, and leave the terminal as it was."""
    return report(await visit(options))


def report(visited: Visit) -> int:
    """Print what there is to say about a visit, and return its exit code."""
    with contextlib.suppress(OSError):  # the terminal may be gone
        if visited.code:
            sys.stderr.write(f"palatinus: {visited.sentence}\n")
        elif visited.sentence:
            sys.stdout.write(f"{visited.sentence}\n")
            sys.stdout.flush()
    return visited.code


async def visit(options: Options) -> Visit:
    """Run the client until its player quits or goes home, and leave the terminal as it was."""
    if (fault := fault_of(options.name)) is not None:
        return Visit(2, fault)
    try:
        async with connected(options.url, timeouts=_TIMEOUTS, access=options.access) as connection:
            if options.asks and connection.unconfirmed:
                return Visit(hosts=connection.unconfirmed)
            return await Client(options, connection).run()
    except PasswordWanted as error:
        return Visit(1, str(error), password_wanted=True)
    except ConnectFailed as error:
        return Visit(1, str(error))
    except Exception as error:  # noqa: BLE001 - people are owed one sentence, whatever it is
        return Visit(1, describe_failure(error))


class Client:
    """Has the UI state updated by news, keys and clicks, and what they ask for carried out."""

    def __init__(self, options: Options, connection: Connection) -> None:
        self._options = options
        self._connection = connection
        device = options.device or own_device()
        self._glyphs = device.glyphs(ascii_wanted=options.ascii)
        hosting = Hosting(
            private=options.filled,
            levels=connection.levels,
            hints=options.suggest is not None,
            looks_back=options.looking_back is not None,
            lists_games=options.looking_back is not None and options.looking_back.lists,
            analyses=options.looking_back is not None and options.looking_back.analyse is not None,
            lobby=connection.has_lobby,
            saves=options.looking_back is not None and options.looking_back.folder is not None,
            home=options.home,
            addresses=options.addresses,
            way_in=options.way_in,
            other_ways=options.other_ways,
        )
        self._review: Replaying | None = None  # of the finished game, over the table's page
        ui = Ui(
            options.name,
            options.url,
            hosting,
            now=_clock(),
            new_table=requests.Open(options.players or 3, hints=options.filled),
            confirms=options.confirms,
            log=options.news,
        )
        self._goes_home = self._looks_back = False
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._hint: asyncio.Task[None] | None = None  # the last one asked for
        self._shell = Shell(self._frame, self._press, self._act, device)
        self._shown = Shown(ui, self._shell.redraw, self._shell.redraw_later)
        self._keeper = SeatKeeper(options.seats, self._shown.log, options.reminder)
        self._listing = Listing(
            options.name, connection, self._shown, self._keeper, wanted=not options.filled
        )
        self._requests = Requests(
            options,
            connection,
            self._shown,
            self._keeper,
            self._listing,
            review=self._review_game,
            end=self._end,
        )
        self._occasions: frozenset[Occasion] = frozenset()
        self._recorded: str | None = None  # the table whose record was kept last
        self._touched = _clock()

    async def run(self) -> Visit:
        """Show the screen until the player quits; return how that ended."""
        try:
            async with self._group:
                self._begin(self._listen())
                self._begin(self._attend())
                self._begin(self._tick())
                if self._options.bots_failures is not None:
                    self._begin(self._tell(self._options.bots_failures))
                if await self._shell.run():  # else the terminal was closed: its player may come back
                    await self._farewell()
                for task in self._tasks:
                    task.cancel()  # a request may wait for a connection that is not coming back
            parting, name = self._parting(), self._listing.name
            return Visit(sentence=parting, home=self._goes_home, looks_back=self._looks_back, name=name)
        finally:
            self._keeper.release()

    def _begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _frame(self, width: int, height: int) -> Frame:
        if self._review is not None:
            return self._review.frame(width, height)
        return drawn(self._shown.ui, self._connection.model, self._glyphs, width, height)

    # -- what comes in ------------------------------------------------------------------------------

    def _press(self, name: str, last_top: int) -> None:
        self._touched = _clock()
        if self._review is not None:
            self._look(self._review.press(name, last_top))
            return
        self._take(pressed(replace(self._shown.ui, last_top=last_top), name, self._connection.model))

    def _act(self, action: Action) -> None:
        self._touched = _clock()
        if self._review is not None:
            self._look(self._review.act(action))
            return
        self._take(updated(self._shown.ui, action, self._connection.model))

    def _take(self, outcome: Outcome) -> None:
        ui, request = outcome
        self._shown.show(ui)
        if self._hint is not None and not ui.ponders:
            self._hint.cancel()
        if isinstance(request, requests.Quit):
            self._end(home=False)
        elif isinstance(request, requests.GoHome):
            self._end(home=True)
        elif isinstance(request, requests.LookBack):
            self._looks_back = True
            self._end(home=False)
        elif isinstance(request, requests.Hint):
            self._hint = self._begin(self._requests.hint())
        elif request is not None:
            self._begin(self._requests.ask(request))

    def _look(self, request: Request | None) -> None:
        """Go on in the review, or back to the table."""
        if request is not None and self._review is not None:
            self._review.end()
            self._review = None
        self._shell.redraw()

    def _end(self, *, home: bool) -> None:
        self._goes_home = home
        self._shell.quit()

    def _review_game(self, ui: Ui, *, analysed: bool) -> None:
        looking_back = self._options.looking_back
        analyse = None if looking_back is None else looking_back.analyse
        self._review = Replaying(ui, self._glyphs, Workshop(analyse, self._begin, self._shell.redraw))
        if analysed:
            self._review.analyse()
        self._shell.redraw()

    async def _listen(self) -> None:
        """Handle the news until the connection is closed for good."""
        async for update in self._connection.updates():
            if _over(self._connection.model):
                self._keeper.forget()
                self._keep_record(self._connection.model)
            self._keeper.keep_call(self._connection.model.draws.call)
            match update:
                case TableClosed(Refused(code)) if code in SEAT_LOST:
                    self._keeper.forget()
                case TableClosed():
                    self._keeper.release()  # a table that failed, or one of another journal, may come back
            # After a lost connection the server may be another version.
            connection = self._connection
            hosting = replace(self._shown.ui.hosting, levels=connection.levels, lobby=connection.has_lobby)
            ui = replace(self._shown.ui, now=_clock(), hosting=hosting)
            ui = news.heard(ui, update, self._connection.model)
            if isinstance(update, OnlineChanged | HeardInLobby):
                self._shown.show_later(ui)
            else:
                self._shown.show(ui)
            self._call()
            if isinstance(update, TableChanged) and self._options.filled and self._fills(update):
                self._begin(self._requests.ask(StartGame(NEW)))

    def _keep_record(self, model: TableModel) -> None:
        """Keep the finished game at the table, once, if the player played it."""
        looking_back = self._options.looking_back
        if looking_back is None or looking_back.keep is None or model.seat is None or model.table is None:
            return
        if model.table != self._recorded:
            self._recorded = model.table
            self._begin(self._requests.keep_record(model.table, looking_back.keep))

    async def _tell(self, failures: asyncio.Queue[str]) -> None:
        """Show why bots of this program have failed, until the next key, and in the log."""
        while True:
            failure = await failures.get()
            self._shown.log(failure)
            self._shown.show(replace(self._shown.ui, notice=Notice(failure, refusal=True)))

    async def _tick(self) -> None:
        """Update the times on the screen, and take the next step of a walk that goes on by itself."""
        while True:
            await asyncio.sleep(autoplay.TICK_SECONDS)
            if self._review is not None and self._review.runs:
                self._review.tick()
                self._shell.redraw()
            if counting(self._shown.ui, self._connection.model):
                self._shown.show(
                    autoplay.ticked(replace(self._shown.ui, now=_clock()), self._connection.model)
                )

    def _call(self) -> None:
        """Call the player for what has come up, unless somebody is at the screen."""
        now = occasions(self._connection.model)
        before = frozenset(each for each in self._occasions if now and each.table == now[0].table)
        new = [each for each in now if each not in before]
        self._occasions = before.union(now)
        if new and not self._present():
            texts = window_title(self._connection.model), new[0].sentence
            self._shell.call(*(map(in_ascii, texts) if self._glyphs.ascii else texts))

    def _present(self) -> bool:
        focused = self._shell.focused
        return _clock() - self._touched < _PRESENT_SECONDS if focused is None else focused

    def _fills(self, update: TableChanged) -> bool:
        """Return whether the last free seat of this host's table has just been taken."""
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
            if self._connection.online:
                await self._listing.keep_up()
                if self._connection.model.table is None:
                    await self._requests.ask(ListTables(NEW))
            if self._options.found_as is not None:
                hosting = replace(self._shown.ui.hosting, found_as=self._options.found_as())
                self._shown.show(replace(self._shown.ui, hosting=hosting))
            await asyncio.sleep(_LOBBY_SECONDS)

    async def _enter(self) -> None:
        options = self._options
        if options.players is not None:
            await self._requests.ask(
                requests.Open(
                    options.players,
                    options.random_layout,
                    options.starting,
                    hints=options.filled,
                    people=options.people,
                )
            )
        elif options.table is not None:
            await self._requests.ask(
                requests.Watch(options.table) if options.watch else requests.Join(options.table)
            )

    async def _farewell(self) -> None:
        """Leave the table if nothing is lost by that; in a running game the seat is kept."""
        model = self._connection.model
        if model.table is None or running(model) or not self._connection.online:
            return
        with contextlib.suppress(RequestRefused, ConnectFailed, TimeoutError):
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self._requests.leave()

    def _parting(self) -> str:
        """Return how to come back to a running game; empty if there is none."""
        model = self._connection.model
        if model.table is None or not running(model) or not self._keeper.keeps:
            return ""
        if self._options.parting:
            return self._options.parting
        name = self._shown.ui.name
        return how_to_come_back(self._options.url, model.table, None if name == default_name() else name)


def _over(model: TableModel) -> bool:
    return model.view is not None and model.view.phase is Phase.OVER


def _full(state: TableState) -> bool:
    return all(seat.name is not None and not seat.kept for seat in state.seats)


def _clock() -> float:
    return time.monotonic()

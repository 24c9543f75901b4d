"""The program that plays on a server: it connects the state, its updates and its drawing."""

import asyncio
import contextlib
import math
import shlex
import sys
import time
from dataclasses import replace
from typing import Final

from client.language import _
from client.network.connection import Connection, open_connection
from client.network.transport import ConnectFailed, PasswordWanted, RequestRefused, Timeouts
from client.tables.table import TableChanged, TableClosed, TableModel
from client.typed_text import default_name, fault_of
from client.ui import requests
from client.ui.asking import SEAT_LOST, ServerSession, running
from client.ui.program import Program
from client.ui.requests import Request
from client.ui.screens import news
from client.ui.screens.news import Occasion, occasions
from client.ui.screens.screen import window_title
from client.ui.session import Services
from client.ui.state import Outcome, Ui
from client.ui.terminal.shell import describe_failure
from client.ui.visit import Options, Visit
from engine.view import Phase
from protocol.messages import NEW, Evening, ListTables, Online, Refused, SaidInLobby, StartGame, TableState

_LOBBY_SECONDS: Final = 3.0
_FAREWELL_SECONDS: Final = 1.0
_TIMEOUTS: Final = Timeouts(keep_trying=math.inf)  # a person sees the title line, and decides


async def run(options: Options) -> int:
    """Run the client until its player quits; return the exit code, and leave the terminal as it was."""
    return report(await visit(options))


def report(visited: Visit) -> int:
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
        async with open_connection(options.url, timeouts=_TIMEOUTS, access=options.access) as connection:
            if options.asks and connection.unconfirmed:
                return Visit(hosts=connection.unconfirmed)
            client = Client(options, connection)
            try:
                await Program(client, options.device).run()
                return client.result()
            finally:
                client.release()
    except PasswordWanted as error:
        return Visit(1, str(error), password_wanted=True)
    except ConnectFailed as error:
        return Visit(1, str(error))
    except Exception as error:  # noqa: BLE001 - people are owed one sentence, whatever it is
        return Visit(1, describe_failure(error))


class Client(ServerSession):
    """A visit to a server: applies the server's news to the state, and sends the player's requests."""

    def __init__(self, options: Options, connection: Connection) -> None:
        looking_back, first = options.looking_back, options.first
        capabilities = replace(
            options.capabilities,
            private=options.bots is not None,
            levels=connection.levels,
            notices=connection.notices,
            hints=options.suggest is not None,
            looks_back=looking_back is not None,
            lists_games=looking_back is not None and looking_back.lists,
            analyses=looking_back is not None and looking_back.analyse is not None,
            lobby=connection.has_lobby,
            saves=looking_back is not None and looking_back.folder is not None,
        )
        ui = Ui(
            options.name,
            options.url,
            capabilities,
            now=time.monotonic(),
            new_table=first if isinstance(first, requests.Open) else requests.Open(3),
            confirms=options.confirms,
            log=options.news,
        )
        super().__init__(options, connection, ui)
        self._hint: asyncio.Task[None] | None = None  # the last one asked for
        self._occasions: frozenset[Occasion] = frozenset()
        self._called: str | None = None  # to a table of the evening
        self._recorded: str | None = None  # the table whose record was kept last

    def start(self, program: Services) -> None:
        super().start(program)
        self._program.begin(self._listen())
        self._program.begin(self._attend())
        if self._options.bots is not None:
            self._program.begin(self._tell(self._options.bots.failures))

    def result(self) -> Visit:
        return replace(self._end, sentence=self._parting(), name=self._name)

    def release(self) -> None:
        self._keeper.release()
        self._evening_seat.release()

    def take(self, outcome: Outcome) -> None:
        if self._hint is not None and not outcome[0].ponders:
            self._hint.cancel()
        super().take(outcome)

    def carry_out(self, request: Request) -> None:
        match request:
            case requests.Errand.QUIT:
                self.end()
            case requests.Errand.GO_HOME:
                self.end_as(Visit(home=True))
            case requests.Errand.TAKE_BACK:
                self.end_as(Visit(takes_back=self.model.seat))
            case requests.PlayOn():
                self.end_as(Visit(plays_on=request))
            case requests.Errand.LOOK_BACK:
                self.end_as(Visit(looks_back=True))
            case requests.Errand.HINT:
                self._hint = self._program.begin(self.hint())
            case _:
                self._program.begin(self.ask(request))

    async def _listen(self) -> None:
        """Handle the news until the connection is closed for good."""
        async for update in self._connection.updates():
            if self.model.view is not None and self.model.view.phase is Phase.OVER:
                self._keeper.forget()
                self._keep_record(self.model)
            self._keeper.keep_call(self.model.draws.call)
            match update:
                case TableClosed(Refused(code)) if code in SEAT_LOST:
                    self._keeper.forget()
                case TableClosed():
                    self._keeper.release()  # a table that failed, or one of another journal, may come back
            # After a lost connection the server may be another version.
            connection = self._connection
            levels, notices, lobby = connection.levels, connection.notices, connection.has_lobby
            capabilities = replace(self.ui.capabilities, levels=levels, notices=notices, lobby=lobby)
            ui = replace(self.ui, now=time.monotonic(), capabilities=capabilities)
            was = ui.evening
            if (
                isinstance(update, Evening)
                and was is not None
                and (update.name != was.name or update.round < was.round or update.over < was.over)
            ):  # it is another evening
                connection.follows_evening, ui = False, replace(ui, person=None)
            ui = news.after_update(ui, update, self.model)
            (self.show_later if isinstance(update, Online | SaidInLobby) else self.show)(ui)
            if isinstance(update, Evening):
                called, self._called = self._called, news.called_to(ui, self.model)
                if self._called not in {called, None}:
                    self._program.call(window_title(self.model), self._called)
            self._call_player()
            if self._together is not None:
                self._together.look()
            if isinstance(update, TableChanged) and self._options.bots and self._fills(update):
                self._program.begin(self.ask(StartGame(NEW)))

    def _keep_record(self, model: TableModel) -> None:
        keep = None if self._options.looking_back is None else self._options.looking_back.keep
        study = model.state is not None and model.state.study  # which counts for nothing
        if keep is None or model.seat is None or model.table in {None, self._recorded} or study:
            return
        self._recorded = model.table
        self._program.begin(self.keep_record(model.table, keep))

    async def _tell(self, failures: asyncio.Queue[str]) -> None:
        """Show why bots of this program have failed, until the next key, and in the log."""
        while True:
            failure = await failures.get()
            self.log(failure)
            self.show(self.ui.with_notice(failure, refusal=True))

    def _call_player(self) -> None:
        now = occasions(self.model)
        before = frozenset(each for each in self._occasions if now and each.table == now[0].table)
        new = [each for each in now if each not in before]
        self._occasions = before.union(now)
        if new:
            self._program.call(window_title(self.model), new[0].sentence)

    def _fills(self, update: TableChanged) -> bool:
        """Return whether the last free seat of this host's table has just been taken."""
        state, before = update.state, update.before
        hosts = state.stage == "gathering" and state.host == self.model.seat
        return hosts and _full(state) and (before is None or not _full(before))

    async def _attend(self) -> None:
        """Go where the options say, and keep the lobby's list of tables fresh."""
        if self._options.first is not None:
            self.show(replace(self.ui, busy=True))
            await self.ask(self._options.first)
        while True:
            if self._connection.online:
                await self.keep_listed()
                await self.keep_evening()
                if self.model.table is None:
                    await self.ask(ListTables(NEW))
            if self._options.found_as is not None:
                capabilities = replace(self.ui.capabilities, found_as=self._options.found_as())
                self.show(replace(self.ui, capabilities=capabilities))
            await asyncio.sleep(_LOBBY_SECONDS)

    async def farewell(self) -> None:
        """Leave the table if nothing is lost by that; in a running game the seat is kept."""
        model = self.model
        if model.table is None or running(model) or not self._connection.online:
            return
        with contextlib.suppress(RequestRefused, ConnectFailed, TimeoutError):
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self.leave()

    def _parting(self) -> str:
        """Return how to come back to a running game; empty if there is none."""
        model = self.model
        if model.table is None or not running(model) or not self._keeper.keeps:
            return ""
        if self._options.parting:
            return self._options.parting
        named = "" if self.ui.name == default_name() else f" --name {shlex.quote(self.ui.name)}"
        told_first = _("The game goes on, and your seat is kept. Come back with")
        return f"{told_first}\n  palatinus join {self._options.url} {model.table}{named}"


def _full(state: TableState) -> bool:
    return all(seat.name is not None and not seat.kept for seat in state.seats)

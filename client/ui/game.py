"""The program that plays on a server: it connects the state, its updates and its drawing."""

import asyncio
import contextlib
import math
import secrets
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from msgspec import structs

from client.network.connection import ConnectFailed, Connection, RequestRefused, Timeouts, connected
from client.network.transport import FREE_ACCESS, Access, PasswordWanted
from client.player.seats import Seats
from client.records.recording import Recording
from client.suggestion import Suggestion
from client.tables.table import TableChanged, TableClosed, TableModel
from client.typed.names import default_name, fault_of
from client.ui.draw.frame import Frame, in_ascii
from client.ui.draw.screen import drawn, window_title
from client.ui.export.file import saved
from client.ui.kept_seat import SeatKeeper
from client.ui.replaying import Replaying
from client.ui.table_requests import put_about_table
from client.ui.terminal.device import Device, own_device
from client.ui.terminal.shell import Shell, describe_failure
from client.ui.texts.kept import (
    back_in_seat,
    bad_record,
    how_to_come_back,
    not_saved,
    nothing_saved_here,
    saved_as,
    seat_lost,
)
from client.ui.update import autoplay, news, requests
from client.ui.update.actions import Action
from client.ui.update.autoplay import counting
from client.ui.update.calls import Occasion, occasions
from client.ui.update.dispatch import Outcome, pressed, updated
from client.ui.update.pages.replay import opened
from client.ui.update.requests import Request
from client.ui.update.state import Company, Hosting, Notice, Ui, hints_allowed
from engine.errors import DamagedRecord
from engine.events import LayTile, Place
from engine.legal import Legal
from engine.pieces import People, Seat
from engine.redaction import snapshot
from engine.view import Phase, View
from protocol.codes import Code
from protocol.messages import Refused, TableState

_LOBBY_SECONDS: Final = 3.0
_FAREWELL_SECONDS: Final = 1.0
_PRESENT_SECONDS: Final = 5.0  # how long after a key somebody is taken to be at the screen
_OF_NAMES: Final = "name-"  # what the codes of refused names begin with
_TIMEOUTS: Final = Timeouts(keep_trying=math.inf)  # a person sees the title line, and decides

SeatBots = Callable[[str, int], None]
Suggest = Callable[[View, Legal], Suggestion]


@dataclass(frozen=True, slots=True)
class LookingBack:
    """What it takes to look back at a finished game.

    `read_record` makes a recording of a record's text; it raises DamagedRecord. Files are saved in `folder`;
    without one, none are.
    """

    read_record: Callable[[str], Recording]
    folder: Path | None


@dataclass(frozen=True, slots=True)
class Options:
    """How the client starts.

    With `table` it joins or watches that table; with `players` it opens a table for that many, where the seat
    `starting` starts, or one drawn at random, and the player plays `people`, or one that is left; otherwise
    it shows the lobby. `bots` seats a number of bots of this program at a table; what makes them fail
    comes from `bots_failures`. With `filled` they take all other seats of every table that is opened, and
    the game starts by itself when everybody is there. `suggest` gives hints where the table allows them.
    With `home` there is a start screen to go back to. `addresses` are those that others join with, and
    `found_as` returns the name under which they find the server, empty as long as they do not. In
    `seats` the seat is kept for another time; without them it is lost with the client. With `confirms`
    every move has to be confirmed. With `looking_back` finished games can be reviewed and saved. `news`
    are the first lines of the log; `parting` says how to come back to the seat, if that is not by
    joining, and `reminder` says so at every seat that is taken. `way_in` is the command that others type to
    join, if it is another one, `device` the player's terminal, if it is not this program's.
    """

    url: str
    name: str
    table: str | None = None
    watch: bool = False
    players: int | None = None
    random_layout: bool = False
    starting: Seat | None = None
    people: People | None = None
    filled: bool = False
    ascii: bool = False
    bots: SeatBots | None = None
    bots_failures: asyncio.Queue[str] | None = None
    suggest: Suggest | None = None
    access: Access = FREE_ACCESS
    home: bool = False
    addresses: tuple[str, ...] = ()
    found_as: Callable[[], str] | None = None
    seats: Seats | None = None
    confirms: bool = False
    looking_back: LookingBack | None = None
    news: tuple[str, ...] = ()
    parting: str = ""
    reminder: str = ""
    way_in: str = ""
    device: Device | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """How a visit to a server ended: exit code, what there is to say, whether the start screen follows."""

    code: int = 0
    sentence: str = ""
    home: bool = False
    password_wanted: bool = False


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
            return await Client(options, connection).run()
    except PasswordWanted as error:
        return Visit(1, str(error), password_wanted=True)
    except ConnectFailed as error:
        return Visit(1, str(error))
    except Exception as error:  # noqa: BLE001 - people are owed one sentence, whatever it is
        return Visit(1, describe_failure(error))


class Client:
    """Holds the UI state, has it updated by news, keys and clicks, and carries out the requests."""

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
            lobby=connection.has_lobby,
            saves=options.looking_back is not None and options.looking_back.folder is not None,
            home=options.home,
            addresses=options.addresses,
            way_in=options.way_in,
        )
        self._review: Replaying | None = None  # of the finished game, over the table's page
        self._ui = Ui(
            options.name,
            options.url,
            hosting,
            now=_clock(),
            new_table=requests.Open(options.players or 3, hints=options.filled),
            confirms=options.confirms,
            log=options.news,
        )
        self._name = options.name
        self._lobby_token = secrets.token_urlsafe()  # after a lost connection it proves whose the name is
        self._listed = False  # among those who are online, at any time
        self._goes_home = False
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._shell = Shell(self._frame, self._press, self._act, device)
        self._keeper = SeatKeeper(options.seats, self._log, options.reminder)
        self._occasions: frozenset[Occasion] = frozenset()
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
            return Visit(sentence=self._parting(), home=self._goes_home)
        finally:
            self._keeper.release()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _frame(self, width: int, height: int) -> Frame:
        if self._review is not None:
            return self._review.frame(width, height)
        return drawn(self._ui, self._connection.model, self._glyphs, width, height)

    # -- what comes in ------------------------------------------------------------------------------

    def _press(self, name: str) -> None:
        self._touched = _clock()
        if self._review is not None:
            self._look(self._review.press(name))
            return
        self._take(pressed(self._ui, name, self._connection.model))

    def _act(self, action: Action) -> None:
        self._touched = _clock()
        if self._review is not None:
            self._look(self._review.act(action))
            return
        self._take(updated(self._ui, action, self._connection.model))

    def _take(self, outcome: Outcome) -> None:
        ui, request = outcome
        self._show(ui)
        if isinstance(request, requests.Quit):
            self._shell.quit()
        elif isinstance(request, requests.GoHome):
            self._go_home()
        elif request is not None:
            self._begin(self._ask(request))

    def _look(self, request: Request | None) -> None:
        """Go on in the review, or back to the table."""
        if request is not None:
            self._review = None
        self._shell.redraw()

    def _show(self, ui: Ui) -> None:
        self._ui = ui
        self._shell.redraw()

    def _go_home(self) -> None:
        self._goes_home = True
        self._shell.quit()

    def _log(self, sentence: str) -> None:
        self._show(news.logged(self._ui, [sentence]))

    async def _listen(self) -> None:
        """Handle the news until the connection is closed for good."""
        async for update in self._connection.updates():
            if _over(self._connection.model):
                self._keeper.forget()
            match update:
                case TableClosed(Refused(Code.TABLE_CLOSED)):
                    self._keeper.release()  # a table that failed is there again after a restart
                case TableClosed():
                    self._keeper.forget()
            # After a lost connection the server may be another version.
            connection = self._connection
            hosting = replace(self._ui.hosting, levels=connection.levels, lobby=connection.has_lobby)
            ui = replace(self._ui, now=_clock(), hosting=hosting)
            self._show(news.heard(ui, update, self._connection.model))
            self._call()
            if isinstance(update, TableChanged) and self._options.filled and self._fills(update):
                self._begin(self._ask(requests.Start()))

    async def _tell(self, failures: asyncio.Queue[str]) -> None:
        """Show why bots of this program have failed, until the next key, and in the log."""
        while True:
            failure = await failures.get()
            self._log(failure)
            self._show(replace(self._ui, notice=Notice(failure, refusal=True)))

    async def _tick(self) -> None:
        """Update the times on the screen, and take the next step of a walk that goes on by itself."""
        while True:
            await asyncio.sleep(autoplay.TICK_SECONDS)
            if self._review is not None and self._review.runs:
                self._review.tick()
                self._shell.redraw()
            if counting(self._ui, self._connection.model):
                self._show(autoplay.ticked(replace(self._ui, now=_clock()), self._connection.model))

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
            if self._connection.online:
                await self._be_listed()
                if self._connection.model.table is None:
                    await self._ask(requests.Refresh())
            if self._options.found_as is not None:
                hosting = replace(self._ui.hosting, found_as=self._options.found_as())
                self._show(replace(self._ui, hosting=hosting))
            await asyncio.sleep(_LOBBY_SECONDS)

    async def _be_listed(self) -> None:
        """Enter the server's lobby under the player's name, once the player has been there.

        A name that somebody else has is tried again, in case they go.
        """
        connection = self._connection
        if not connection.has_lobby or self._options.filled or connection.listed_as == self._name:
            return
        if connection.model.table is None or self._listed:
            try:
                await self._enter_lobby(self._name)
            except RequestRefused as refusal:
                self._show(replace(self._ui, company=Company(fault=str(refusal))))
            except ConnectFailed:
                pass  # the news says so

    async def _enter_lobby(self, name: str) -> None:
        await self._connection.enter_lobby(name, (self._lobby_token, *self._keeper.tokens(name)))
        self._listed = True
        if self._ui.company is None or self._ui.company.fault:
            self._show(replace(self._ui, company=Company()))

    async def _enter(self) -> None:
        options = self._options
        if options.players is not None:
            await self._ask(
                requests.Open(
                    options.players,
                    options.random_layout,
                    options.starting,
                    hints=options.filled,
                    people=options.people,
                )
            )
        elif options.table is not None:
            await self._ask(requests.Watch(options.table) if options.watch else requests.Join(options.table))

    # -- what goes out ------------------------------------------------------------------------------

    async def _ask(self, request: Request) -> None:
        """Send the request, and show what the server refuses."""
        try:
            await self._put(request)
        except (RequestRefused, ConnectFailed) as failure:
            again = request.then if isinstance(request, requests.Rename) else request
            of_name = isinstance(failure, RequestRefused) and failure.code.startswith(_OF_NAMES)
            if of_name and isinstance(again, requests.Open | requests.Join | requests.Watch | None):
                ui = replace(self._ui, name=self._name) if again is None else self._ui
                self._show(news.name_refused(ui, str(failure), again))
            else:
                self._show(news.refused(self._ui, str(failure)))
        except DamagedRecord as error:
            self._show(news.refused(self._ui, bad_record(error)))
        else:
            if not isinstance(request, requests.Refresh):
                self._show(replace(self._ui, busy=False, sent=None))

    async def _put(self, request: Request) -> None:
        connection, talk = self._connection, self._ui.talk
        if isinstance(request, requests.TableRequest):
            await put_about_table(connection, request)
            return
        match request:
            case LayTile() | Place():
                await connection.play(request)
            case requests.Refresh():
                await self._list()
            case requests.Open():
                await self._open(request)
            case requests.Join(table):
                await self._join(table)
            case requests.Watch(table):
                await connection.watch(table, self._name)
            case requests.WatchNext(table):
                await connection.leave()
                await connection.watch(table, self._name)
                self._show(news.at_next_table(self._ui, connection.model, talk))
            case requests.Rematch():
                seated = await connection.rematch()
                self._show(news.at_next_table(self._ui, connection.model, talk))
                self._keeper.keep(structs.replace(seated, token=connection.model.token), self._ui.name)
            case requests.Vote(seat, agree):
                await connection.vote(seat, agree=agree)
            case requests.Rename():
                await self._rename(request)
            case requests.Start():
                await connection.start()
            case requests.Hint():
                await self._hint()
            case requests.SaveRecord() | requests.SavePicture() if not self._ui.hosting.saves:
                self._show(news.refused(self._ui, nothing_saved_here()))
            case requests.Review() | requests.SaveRecord() | requests.SavePicture():
                if self._options.looking_back is not None:
                    await self._look_back(request, self._options.looking_back)
            case requests.Say(text):
                await connection.say(text)
            case requests.SayInLobby(text):
                await connection.say_in_lobby(text)
            case requests.Leave():
                await self._leave()
                if self._options.filled:
                    self._go_home()
                    return
                left = news.gone_on(self._ui, connection.model)
                self._show(replace(left, name=self._name, log=()))
                await self._list()
            case requests.GoHome():
                self._go_home()
            case requests.Quit():
                self._shell.quit()

    async def _rename(self, request: requests.Rename) -> None:
        """Take another name, and ask again what was refused under the old one."""
        connection = self._connection
        if request.then is None and connection.has_lobby and connection.model.table is None:
            await self._enter_lobby(request.name)
        self._name = request.name
        self._show(replace(self._ui, name=request.name))
        if request.then is not None:
            await self._put(request.then)

    async def _open(self, request: requests.Open) -> None:
        name, players = self._name, request.players
        seated = await self._connection.open_table(
            players,
            name,
            random_layout=request.random_layout,
            starting=request.starting,
            absence=request.absence,
            private=request.private,
            hints=request.hints,
        )
        self._keeper.keep(seated, name)
        if request.people is not None:
            await self._connection.choose_people(request.people)
        if self._options.filled and self._options.bots is not None:
            self._options.bots(seated.table, players - 1)

    async def _list(self) -> None:
        tables = await self._connection.list_tables()
        kept = self._keeper.tables()  # before the state is read: what goes wrong here is logged in it
        self._show(news.listed(self._ui, tables, self._connection.model, kept))

    async def _hint(self) -> None:
        """Suggest a move, unless the game has gone on meanwhile, or the host allows no more hints."""
        model, suggest = self._connection.model, self._options.suggest
        if suggest is None or model.view is None or model.legal is None:
            return
        seen_at = model.seq
        # In a thread, and on a copy: the screen and the connection go on.
        view = snapshot(model.view, model.view.eyes)
        suggestion = await asyncio.to_thread(suggest, view, model.legal)
        if model.seq == seen_at and hints_allowed(self._ui, model):
            self._show(news.suggested(self._ui, suggestion, model))

    async def _look_back(
        self, request: requests.Review | requests.SaveRecord | requests.SavePicture, looking_back: LookingBack
    ) -> None:
        """Show or save the finished game; raises DamagedRecord if the server sends no record."""
        table, text = self._connection.model.table, await self._connection.record()
        recording = looking_back.read_record(text)
        everything = recording.all_eyes
        match request:
            case requests.Review():
                self._review = Replaying(opened(recording, 0, everything), self._glyphs)
                self._shell.redraw()
            case requests.SaveRecord():
                self._save(looking_back, f"palatinus-{table}.txt", text)
            case requests.SavePicture():
                from client.ui.export.moment import as_svg  # noqa: PLC0415 - the screen appears sooner without

                picture = as_svg(recording, recording.end, everything)
                self._save(looking_back, f"palatinus-{table}.svg", picture)

    def _save(self, looking_back: LookingBack, name: str, content: str) -> None:
        if looking_back.folder is None:
            return  # refused before
        path = looking_back.folder / name
        try:
            path = saved(path, content)
        except OSError as error:
            self._show(news.refused(self._ui, not_saved(path, error)))
        else:
            self._show(replace(self._ui, notice=Notice(saved_as(path))))

    async def _join(self, table: str) -> None:
        """Take the seat that is kept at the table, or a free one."""
        name = self._name
        # A client at a table cannot join another: the server says so below.
        while self._connection.model.table is None and (held := self._keeper.take(table, name)) is not None:
            try:
                await self._connection.resume(table, held.token)
            except RequestRefused as refusal:
                if refusal.code not in {Code.BAD_TOKEN, Code.NO_SUCH_TABLE, Code.TABLE_CLOSED}:
                    self._keeper.release()
                    raise
                self._keeper.forget()
                self._log(seat_lost(table))
            except BaseException:
                self._keeper.release()
                raise
            else:
                self._show(replace(self._ui, name=held.name))
                self._log(back_in_seat(held.name))
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
        """Leave the table if nothing is lost by that; in a running game the seat is kept."""
        model = self._connection.model
        if model.table is None or _running(model) or not self._connection.online:
            return
        with contextlib.suppress(RequestRefused, ConnectFailed, TimeoutError):
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self._leave()

    def _parting(self) -> str:
        """Return how to come back to a running game; empty if there is none."""
        model = self._connection.model
        if model.table is None or not _running(model) or not self._keeper.keeps:
            return ""
        if self._options.parting:
            return self._options.parting
        name = self._ui.name
        return how_to_come_back(self._options.url, model.table, None if name == default_name() else name)


def _running(model: TableModel) -> bool:
    return model.view is not None and model.view.phase is not Phase.OVER


def _over(model: TableModel) -> bool:
    return model.view is not None and model.view.phase is Phase.OVER


def _full(state: TableState) -> bool:
    return all(seat.name is not None and not seat.kept for seat in state.seats)


def _clock() -> float:
    return time.monotonic()

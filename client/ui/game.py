"""The program that plays on a server: it connects the state, its updates and its drawing."""

import asyncio
import contextlib
import math
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from msgspec import structs

from client.connection import ConnectFailed, Connection, RequestRefused, Timeouts, connected
from client.names import default_name, fault_of
from client.recording import Recording
from client.refusals import describe_refusal
from client.seats import Seats
from client.suggestion import Suggestion
from client.table import TableChanged, TableClosed, TableModel
from client.transport import FREE_ACCESS, Access, PasswordWanted
from client.ui.draw.frame import Frame, in_ascii
from client.ui.draw.screen import drawn, window_title
from client.ui.export.file import saved
from client.ui.export.moment import as_svg
from client.ui.kept_seat import SeatKeeper
from client.ui.replaying import Replaying
from client.ui.terminal.shell import Shell, describe_failure, glyphs_here
from client.ui.texts import sentences
from client.ui.update import autoplay, news, requests
from client.ui.update.actions import Action
from client.ui.update.autoplay import counting
from client.ui.update.calls import Occasion, occasions
from client.ui.update.dispatch import Outcome, pressed, updated
from client.ui.update.pages.replay import opened
from client.ui.update.requests import Request
from client.ui.update.state import Hosting, Notice, Ui
from client.ui.update.talk import Talk
from engine.errors import DamagedRecord
from engine.events import LayTile, Place
from engine.legal import Legal
from engine.pieces import Seat
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

    `read_record` makes a recording of a record's text; it raises DamagedRecord. Files are saved in `folder`.
    """

    read_record: Callable[[str], Recording]
    folder: Path


@dataclass(frozen=True, slots=True)
class Options:
    """How the client starts.

    With `table` it joins or watches that table; with `players` it opens a table for that many, where the seat
    `starting` starts, or one drawn at random; otherwise it shows the lobby. `bots` seats a number of bots of
    this program at a table; with `filled` they take all other seats of every table that is opened, and the
    game starts by itself when everybody is there. `suggest` gives hints where the table allows
    them. With `home` there is
    a start screen to go back to. `addresses` are those that others join with. In `seats` the seat is kept for
    another time; without them it is lost with the client. With `confirms` every move has to be confirmed.
    With `looking_back` finished games can be reviewed and saved.
    `news` are the first lines of the log; `parting` says how to come back to the seat, if that is not by
    joining.
    """

    url: str
    name: str
    table: str | None = None
    watch: bool = False
    players: int | None = None
    random_layout: bool = False
    starting: Seat | None = None
    filled: bool = False
    ascii: bool = False
    bots: SeatBots | None = None
    suggest: Suggest | None = None
    access: Access = FREE_ACCESS
    home: bool = False
    addresses: tuple[str, ...] = ()
    seats: Seats | None = None
    confirms: bool = False
    looking_back: LookingBack | None = None
    news: tuple[str, ...] = ()
    parting: str = ""


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
        self._glyphs = glyphs_here(ascii_wanted=options.ascii)
        hosting = Hosting(
            private=options.filled,
            levels=connection.levels,
            hints=options.suggest is not None,
            looks_back=options.looking_back is not None,
            home=options.home,
            addresses=options.addresses,
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
        self._goes_home = False
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._shell = Shell(self._frame, self._press, self._act)
        self._keeper = SeatKeeper(options.seats, self._log)
        self._occasions: frozenset[Occasion] = frozenset()
        self._touched = _clock()

    async def run(self) -> Visit:
        """Show the screen until the player quits; return how that ended."""
        try:
            async with self._group:
                self._begin(self._listen())
                self._begin(self._attend())
                self._begin(self._tick())
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
            hosting = replace(self._ui.hosting, levels=self._connection.levels)
            ui = replace(self._ui, now=_clock(), hosting=hosting)
            self._show(news.heard(ui, update, self._connection.model))
            self._call()
            if isinstance(update, TableChanged) and self._options.filled and self._fills(update):
                self._begin(self._ask(requests.Start()))

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
            if self._connection.model.table is None and self._connection.online:
                await self._ask(requests.Refresh())
            await asyncio.sleep(_LOBBY_SECONDS)

    async def _enter(self) -> None:
        options = self._options
        if options.players is not None:
            await self._ask(
                requests.Open(options.players, options.random_layout, options.starting, hints=options.filled)
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
            if of_name and isinstance(again, requests.Open | requests.Join | requests.Watch):
                self._show(news.name_refused(self._ui, str(failure), again))
            else:
                self._show(news.refused(self._ui, str(failure)))
        except DamagedRecord as error:
            self._show(news.refused(self._ui, sentences.bad_record(error)))
        else:
            if not isinstance(request, requests.Refresh):
                self._show(replace(self._ui, busy=False, sent=None))

    async def _put(self, request: Request) -> None:
        connection = self._connection
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
                self._show(news.gone_on(self._ui, connection.model))
            case requests.Rematch():
                seated = await connection.rematch()
                self._show(news.gone_on(self._ui, connection.model))
                self._keeper.keep(structs.replace(seated, token=connection.model.token), self._ui.name)
            case requests.Vote(seat, agree):
                await connection.vote(seat, agree=agree)
            case requests.Rename():
                await self._rename(request)
            case (
                requests.SayReady()
                | requests.ChangeSeat()
                | requests.AskPause()
                | requests.Set()
                | requests.SeatBot()
                | requests.Remove()
                | requests.Dismiss()
                | requests.HandOver()
                | requests.Arrange()
                | requests.Substitute()
                | requests.EndGame()
            ):
                await self._put_about_table(request)
            case requests.Start():
                await connection.start()
            case requests.Hint():
                await self._hint()
            case requests.Review() | requests.SaveRecord() | requests.SavePicture():
                if self._options.looking_back is not None:
                    await self._look_back(request, self._options.looking_back)
            case requests.Say(text):
                await connection.say(text)
            case requests.Leave():
                await self._leave()
                if self._options.filled:
                    self._go_home()
                    return
                left = news.gone_on(self._ui, connection.model)
                self._show(replace(left, name=self._name, log=(), talk=Talk()))
                await self._list()
            case requests.GoHome():
                self._go_home()
            case requests.Quit():
                self._shell.quit()

    async def _rename(self, request: requests.Rename) -> None:
        """Take another name, and ask again what was refused under the old one."""
        self._name = request.name
        self._show(replace(self._ui, name=request.name))
        if request.then is not None:
            await self._put(request.then)

    async def _put_about_table(self, request: requests.TableRequest) -> None:
        connection = self._connection
        match request:
            case requests.SayReady(on):
                await connection.say_ready(on=on)
            case requests.ChangeSeat(seat):
                await connection.change_seat(seat)
            case requests.AskPause(on):
                await connection.ask_pause(on=on)
            case requests.Set(setting):
                await connection.change(setting)
            case requests.SeatBot(level):
                await connection.seat_bot(self._level(level))
            case requests.Remove(seat):
                await connection.remove(seat)
            case requests.Dismiss(spectator):
                await connection.dismiss(spectator)
            case requests.HandOver(seat):
                await connection.hand_over(seat)
            case requests.Arrange(order):
                await connection.arrange(order)
            case requests.Substitute(seat):
                await connection.substitute(seat)
            case requests.EndGame():
                await connection.end_game()

    def _level(self, wanted: str | None) -> str:
        """Return the level of the bot that is wanted, the best unless one is named; raises RequestRefused."""
        levels = self._connection.levels
        if not levels:
            raise RequestRefused(Code.NO_BOTS, describe_refusal(Refused(Code.NO_BOTS, "")))
        if wanted is None:
            return levels[-1]
        if wanted not in levels:
            about = {"level": wanted, "levels": ", ".join(levels)}
            refused = Refused(Code.NO_SUCH_LEVEL, "", about=about)
            raise RequestRefused(refused.code, describe_refusal(refused))
        return wanted

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
        if self._options.filled and self._options.bots is not None:
            self._options.bots(seated.table, players - 1)

    async def _list(self) -> None:
        tables = await self._connection.list_tables()
        kept = self._keeper.tables()  # before the state is read: what goes wrong here is logged in it
        self._show(news.listed(self._ui, tables, self._connection.model, kept))

    async def _hint(self) -> None:
        """Suggest a move, unless the game has gone on meanwhile."""
        model, suggest = self._connection.model, self._options.suggest
        if suggest is None or model.view is None or model.legal is None:
            return
        seen_at = model.seq
        # In a thread, and on a copy: the screen and the connection go on.
        view = snapshot(model.view, model.view.eyes)
        suggestion = await asyncio.to_thread(suggest, view, model.legal)
        if model.seq == seen_at:
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
                self._save(looking_back.folder / f"palatinus-{table}.txt", text)
            case requests.SavePicture():
                picture = as_svg(recording, recording.end, everything)
                self._save(looking_back.folder / f"palatinus-{table}.svg", picture)

    def _save(self, path: Path, content: str) -> None:
        try:
            path = saved(path, content)
        except OSError as error:
            self._show(news.refused(self._ui, sentences.not_saved(path, error)))
        else:
            self._show(replace(self._ui, notice=Notice(sentences.saved_as(path))))

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
                self._log(sentences.seat_lost(table))
            except BaseException:
                self._keeper.release()
                raise
            else:
                self._show(replace(self._ui, name=held.name))
                self._log(sentences.back_in_seat(held.name))
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
        return sentences.how_to_come_back(
            self._options.url, model.table, None if name == default_name() else name
        )


def _running(model: TableModel) -> bool:
    return model.view is not None and model.view.phase is not Phase.OVER


def _over(model: TableModel) -> bool:
    return model.view is not None and model.view.phase is Phase.OVER


def _full(state: TableState) -> bool:
    return all(seat.name is not None and not seat.kept for seat in state.seats)


def _clock() -> float:
    return time.monotonic()

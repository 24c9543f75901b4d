"""Carries out the player's requests on a server, and keeps the seat for another time."""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from msgspec import structs

from client.language import N_, _, describe_reason
from client.levels import usual_level
from client.network.connection import Connection
from client.network.refusals import describe_refusal
from client.network.transport import ConnectFailed, RequestRefused
from client.player.seats import EVENING, HeldSeat, Seats
from client.records import Recording
from client.tables.draws import Call
from client.tables.table import PAST_FROM, TableModel
from client.ui import requests
from client.ui.export.moment import describe_not_saved, describe_saved, save
from client.ui.program import Replaying
from client.ui.requests import Request
from client.ui.screens import news
from client.ui.session import Activity
from client.ui.state import OnlineList, Ui, hints_allowed
from client.ui.texts.tables import names_at
from client.ui.together import Together
from client.ui.visit import LookingBack, Options, Visit
from engine.errors import DamagedRecord
from engine.events import LayTile, Place
from engine.redaction import snapshot
from engine.view import Phase
from protocol import messages
from protocol.codes import Code
from protocol.events import move_message
from protocol.limits import TOKENS_SHOWN
from protocol.messages import NEW
from protocol.text import printable

# Why a client was sent away from its table for good; after other reasons its seat may be there again.
SEAT_LOST: Final = frozenset({Code.BAD_TOKEN, Code.CLOSED_BY_SERVER, Code.REMOVED, Code.REMOVED_BY_SERVER})


_NOT_READ: Final = N_("The seats saved on this computer cannot be read ({error}).")
_NOT_KEPT: Final = N_("Your seat cannot be saved for later ({error}): stay until the game is over.")


class SeatKeeper:
    """Keeps the client's seat in `seats`, if given, and reports failures to the player.

    `reminder`, if given, is shown for every seat that is kept.
    """

    def __init__(self, seats: Seats | None, tell: Callable[[str], None], reminder: str = "") -> None:
        self._seats, self._tell, self._reminder = seats, tell, reminder
        self._held: HeldSeat | None = None
        self._told: set[str] = set()

    @property
    def keeps(self) -> bool:
        return self._held is not None

    def tables(self) -> frozenset[str]:
        with self._reporting(_NOT_READ):
            return frozenset() if self._seats is None else self._seats.tables()
        return frozenset()

    def tokens(self, name: str) -> tuple[str, ...]:
        """Return the tokens of kept seats under `name`, which prove that it is the player's own."""
        with self._reporting(_NOT_READ):  # with one of the client's own
            return () if self._seats is None else self._seats.tokens(name, TOKENS_SHOWN - 1)
        return ()

    def take(self, table: str, name: str) -> HeldSeat | None:
        """Return the seat kept at `table`, now taken; None if there is none."""
        with self._reporting(_NOT_READ):
            self._held = None if self._seats is None else self._seats.take(table, name)
            return self._held
        return None

    def keep(self, seated: messages.Seated, name: str, cluster: Sequence[str]) -> None:
        if self._seats is None or seated.token is None:
            return
        with self._reporting(_NOT_KEPT, again=True):
            self._held = self._seats.keep(seated.table, seated.seat, name, seated.token, cluster)
            if self._reminder:
                self._tell(self._reminder)

    def keep_call(self, call: Call | None) -> None:
        """Keep the share that the client has shown with the seat, so that it can be looked for later."""
        held = self._held
        if self._seats is None or held is None or call is None or call.shown is None or call == held.call:
            return
        with self._reporting(_NOT_KEPT):
            self._seats.keep_call(held, call)

    def release(self) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None

    def forget(self) -> None:
        if self._held is not None and self._seats is not None:
            with self._reporting(_NOT_READ):
                self._seats.forget(self._held)
        self.release()

    @contextlib.contextmanager
    def _reporting(self, form: str, *, again: bool = False) -> Iterator[None]:
        """Report each file that cannot be read once; a folder that cannot be used too, unless `again`."""
        sentences = []
        try:
            yield
        except OSError as error:
            sentences.append(_(form).format(error=describe_reason(error)))
            if again:
                self._told.discard(sentences[0])
        damaged = () if self._seats is None else self._seats.damaged
        form = _("A seat saved on this computer cannot be read and is ignored: {path}")
        sentences += [form.format(path=path) for path in damaged]
        for sentence in sentences:
            if sentence not in self._told:
                self._told.add(sentence)
                self._tell(sentence)


def _refusal(code: Code, **about: str) -> RequestRefused:
    """Return what the server would answer."""
    return RequestRefused(code, describe_refusal(messages.Refused(code, "", about=about)))


def _level(levels: Sequence[str], wanted: str) -> str:
    """Return the level of the bot that is wanted: one for beginners, unless one is named."""
    if not levels:
        raise _refusal(Code.NO_BOTS)
    if wanted and wanted not in levels:
        raise _refusal(Code.NO_SUCH_LEVEL, level=wanted, levels=", ".join(levels))
    return wanted or usual_level(tuple(levels))


_OF_NAMES: Final = "name-"  # what the codes of refused names begin with


def running(model: TableModel) -> bool:
    ended = model.state is not None and model.state.ended
    return model.view is not None and model.view.phase is not Phase.OVER and not ended


class ServerSession(Activity):
    """A visit to a server, as far as the player's requests go; their names and seats are the player's own."""

    def __init__(self, options: Options, connection: Connection, ui: Ui) -> None:
        super().__init__(ui, connection.model)
        self._options, self._connection = options, connection
        self._keeper = SeatKeeper(options.seats, self.log, options.reminder)
        self._evening_seat = SeatKeeper(options.seats, self.log)
        self._ticket: tuple[str, str] | None = None  # name and token in the evening
        self._name = options.name
        self._token = secrets.token_urlsafe()  # after a lost connection it proves whose the name is
        self._listed = False  # at any time
        self._together: Together | None = None  # the record of the table's game, once it has been opened
        self._end = Visit()

    def end_as(self, how: Visit) -> None:
        self._end = how
        self.end()

    async def keep_listed(self) -> None:
        """Enter the server's lobby under the player's name, once the player has been there.

        A name that somebody else has is tried again, in case they go.
        """
        connection, wanted = self._connection, self._options.bots is None
        if not connection.has_lobby or not wanted or connection.listed_as == self._name:
            return
        if self.model.table is None or self._listed:
            try:
                await self._enter(self._name)
            except RequestRefused as refusal:
                self.show(replace(self.ui, company=OnlineList(fault=str(refusal))))
            except ConnectFailed:
                pass  # the news says so

    async def _enter(self, name: str) -> None:
        """Enter the server's lobby under a name; raises RequestRefused or ConnectFailed."""
        await self._connection.ask(messages.EnterLobby(NEW, name, [self._token, *self._keeper.tokens(name)]))
        self._listed = True
        if self.ui.company is None or self.ui.company.fault:
            self.show(replace(self.ui, company=OnlineList()))

    async def ask(self, request: Request) -> None:
        try:
            await self._put(request)
        except (RequestRefused, ConnectFailed) as failure:
            if isinstance(request, messages.ListTables):  # another request, its line closed, may be under way
                self.show(self.ui.with_notice(str(failure), refusal=True))
                return
            again = request.then if isinstance(request, requests.Rename) else request
            of_name = isinstance(failure, RequestRefused) and failure.code.startswith(_OF_NAMES)
            if of_name and isinstance(again, requests.Open | requests.Join | requests.WatchTable | None):
                ui = replace(self.ui, name=self._name) if again is None else self.ui
                self.show(news.with_name_refusal(ui, str(failure), again))
            else:
                code = failure.code if isinstance(failure, RequestRefused) else ""
                self.show(news.with_refusal(self.ui, str(failure), code, request))
        except DamagedRecord as error:
            text = _("The server sent a record that cannot be read: {reason}.")
            said = text.format(reason=_(error.text).format(**error.about))
            self.show(news.with_refusal(self.ui, said))
        else:
            if not isinstance(request, messages.ListTables):
                self.show(replace(self.ui, busy=False, sent=None))

    async def _put(self, request: Request) -> None:
        connection, talk = self._connection, self.ui.talk
        match request:
            case LayTile() | Place():
                await connection.ask(move_message(NEW, request))
            case messages.ListTables():
                await self._list()
            case requests.Open():
                await self._open(request)
            case requests.Join(table):
                await self._join(table)
            case requests.WatchTable(table):
                await connection.ask(messages.Watch(NEW, table, name=self._name))
            case requests.WatchNext(table):
                await connection.ask(messages.Leave(NEW))
                await connection.ask(messages.Watch(NEW, table, name=self._name))
                self.show(news.at_next_table(self.ui, self.model, talk))
            case messages.Study() | requests.JoinStudy():
                await self._go_to_study(request)
            case messages.Rematch():
                seated = await connection.ask(request)
                self.show(news.at_next_table(self.ui, self.model, talk))
                seated = structs.replace(seated, token=self.model.token)
                self._keeper.keep(seated, self.ui.name, connection.cluster)
            case requests.Rename():
                await self._rename(request)
            case messages.SeatBot(level=level):
                await connection.ask(messages.SeatBot(NEW, _level(connection.levels, level)))
            case messages.CallMe() | messages.ConfirmCall() if not connection.notices:
                raise _refusal(Code.NO_NOTICES)
            case requests.Errand.SEE_MOVES:
                await self._see_moves()
            case requests.Errand() if not self.ui.capabilities.saves:
                text = _("You are playing on another computer's screen, so no files can be saved for you.")
                self.show(news.with_refusal(self.ui, text))
            case requests.Review() | requests.Errand():  # the program has carried out all other errands
                if self._options.looking_back is not None:
                    await self._look_back(request, self._options.looking_back)
            case messages.Leave():
                await self.leave()
                if self._options.bots is not None:
                    self.end_as(Visit(home=True))
                    return
                left = news.at_other_table(self.ui, self.model)
                self.show(replace(left, name=self._name, log=()))
                await self._list()
            case messages.TakePart():
                await self._take_part(request)
            case requests.TakeSeat(table):
                await self._take_seat(table)
            case _ if isinstance(request, messages.InLobby | messages.AtTable):
                await connection.ask(request)

    async def keep_evening(self) -> None:
        """Follow the server's evening, as the person that the player was there, if they were."""
        connection = self._connection
        if not connection.has_evening or connection.follows_evening or self._options.bots is not None:
            return
        if self._ticket is None and (held := self._evening_seat.take(EVENING, self._name)) is not None:
            self._ticket = held.name, held.token
        with contextlib.suppress(ConnectFailed, RequestRefused):  # the news says so
            if self._ticket is not None:
                with contextlib.suppress(RequestRefused):  # it was another evening
                    await self._sign_up(*self._ticket, back=True)
                    return
            await connection.ask(messages.AskEvening(NEW))

    async def _take_part(self, request: messages.TakePart) -> None:
        """Carry out how the player takes part in the evening; whoever has not signed up does so."""
        if self.ui.person is None and request.how == "play":
            token = secrets.token_urlsafe(32) if self._ticket is None else self._ticket[1]
            await self._sign_up(self._name, token)
        else:
            await self._connection.ask(request)

    async def _sign_up(self, name: str, token: str, *, back: bool = False) -> None:
        if self._ticket is None:  # before it can be needed
            self._evening_seat.keep(messages.Seated(NEW, EVENING, 0, token), name, self._connection.cluster)
        self._ticket = name, token
        answer = await self._connection.ask(messages.SignUp(NEW, name, token, back))
        self.show(replace(self.ui, person=answer.person))

    async def _take_seat(self, table: str) -> None:
        """Go to the player's seat at a table of the evening."""
        if self._ticket is None:
            return
        name, token = self._ticket
        people = () if self.ui.evening is None else self.ui.evening.people
        name = next((each.name for each in people if each.person == self.ui.person), name)
        if self.model.table is not None:
            await self.leave()
        seated = await self._connection.ask(messages.Resume(NEW, table, token))
        if self.ui.evening is not None and self.ui.evening.same_draws:
            rounds = {each.table: each.round for each in self.ui.evening.tables}
            self.model.draws.promised = self.ui.evening.commitments[rounds[table] - 1]
        self.show(replace(news.at_other_table(self.ui, self.model), name=name))
        self._keeper.keep(structs.replace(seated, token=token), name, self._connection.cluster)

    async def _rename(self, request: requests.Rename) -> None:
        connection = self._connection
        if request.then is None and connection.has_lobby and self.model.table is None:
            await self._enter(request.name)
        self._name = request.name
        self.show(replace(self.ui, name=request.name))
        if request.then is not None:
            await self._put(request.then)

    async def _open(self, request: requests.Open) -> None:
        opening = structs.asdict(request) | {"id": NEW, "name": self._name}
        del opening["people"]
        seated = await self._connection.ask(messages.OpenTable(**opening))
        self._keeper.keep(seated, self._name, self._connection.cluster)
        if request.people is not None:
            await self._connection.ask(messages.ChoosePeople(NEW, request.people))
        if self._options.bots is not None:
            self._options.bots.seat(seated.table, request.players - 1)

    async def _list(self) -> None:
        tables = (await self._connection.ask(messages.ListTables(NEW))).tables
        kept = self._keeper.tables()  # before the state is read: what goes wrong here is logged in it
        self.show_later(news.with_tables(self.ui, tables, self.model, kept))

    async def hint(self) -> None:
        """Suggest a move, unless the game has moved on or the host no longer allows hints."""
        model, suggest = self.model, self._options.suggest
        if suggest is None or model.view is None or model.legal is None:
            return
        seen_at = model.seq
        # Of a copy: the screen and the connection go on.
        suggestion = await suggest(snapshot(model.view, model.view.eyes), model.legal)
        ui = replace(self.ui, ponders=False, notice=None)
        if model.seq == seen_at and hints_allowed(ui, model):
            ui = news.with_suggestion(ui, suggestion, model)
        self.show(ui)

    async def _look_back(self, request: requests.Review | requests.Errand, looking_back: LookingBack) -> None:
        """Show or save the finished game; raises DamagedRecord if the server sends no record."""
        table = self.model.table
        text = (await self._connection.ask(messages.GetRecord(NEW))).text
        recording = looking_back.read_record(text)
        everything = recording.all_eyes
        match request:
            case requests.Review():
                connection = None if self.ui.capabilities.private else self._connection
                self._together = Together(recording, self, connection, looking_back, request)
                self._program.open(self._together)
            case requests.Errand.SAVE_RECORD:
                self._save(looking_back, f"palatinus-{table}.txt", text)
            case requests.Errand.SAVE_PICTURE:
                from client.ui.export.moment import as_svg  # noqa: PLC0415 - the screen appears sooner without

                picture = as_svg(recording, recording.end, everything)
                self._save(looking_back, f"palatinus-{table}.svg", picture)

    async def _see_moves(self) -> None:
        """Show the moves of the running game, as this seat or spectator has seen them."""
        model = self._connection.model
        await self._connection.ask(messages.Sync(NEW, PAST_FROM - 1))
        if model.view is not None and model.past:
            names, eyes = dict(enumerate(names_at(model))), model.view.eyes
            recording = Recording.of(model.past, names, eyes)
            self._program.open(Replaying(recording, recording.end, eyes, None, analysed=False))

    async def keep_record(self, table: str, keep: Callable[[str, str], None]) -> None:
        """Keep the record of the finished game at the table with `keep`; report what goes wrong."""
        try:
            record = await self._connection.ask(messages.GetRecord(NEW))
            await asyncio.to_thread(keep, table, record.text)
        except (RequestRefused, ConnectFailed) as failure:
            self.log(str(failure))
        except OSError as error:
            self.log(describe_not_saved(Path(error.filename or table), error))

    def _save(self, looking_back: LookingBack, name: str, content: str) -> None:
        if looking_back.folder is None:
            return  # refused before
        path = looking_back.folder / name
        try:
            self.show(self.ui.with_notice(describe_saved(save(path, content))))
        except OSError as error:
            self.show(news.with_refusal(self.ui, describe_not_saved(path, error)))

    async def _join(self, table: str) -> None:
        """Take the seat that is kept at the table, or a free one."""
        name = self._name
        # A client at a table cannot join another: the server says so below.
        while self.model.table is None and (held := self._keeper.take(table, name)) is not None:
            try:
                await self._connection.ask(messages.Resume(NEW, table, held.token), call=held.call)
            except RequestRefused as refusal:
                if refusal.code not in {Code.BAD_TOKEN, Code.NO_SUCH_TABLE, Code.TABLE_CLOSED}:
                    self._keeper.release()
                    raise
                self._keeper.forget()
                self.log(str(_refusal(Code.BAD_TOKEN, table=table)))
            except BaseException:
                self._keeper.release()
                raise
            else:
                self.show(replace(self.ui, name=held.name))
                self.log(_("You are back in your seat, as {name}.").format(name=held.name))
                return
        seated = await self._connection.ask(messages.JoinTable(NEW, table, name))
        self._keeper.keep(seated, name, self._connection.cluster)
        if seated.taken_over is not None:
            self.log(_("You take over the seat of {gone}.").format(gone=printable(seated.taken_over)))

    async def _go_to_study(self, request: messages.Study | requests.JoinStudy) -> None:
        """Leave this table for the study that is opened here, or has been."""
        if isinstance(request, messages.Study):
            await self._connection.ask(request)
        state = self.model.state
        if state is None or state.studied is None:
            text = _("No study was opened here. In the record of the game (v), B opens one.")
            self.show(news.with_refusal(self.ui, text))
            return
        await self.leave()
        await self._join(state.studied.table)
        self.show(replace(news.at_other_table(self.ui, self.model), name=self._name))

    async def leave(self) -> None:
        """Leave the table; the seat of a running game stays kept."""
        kept = running(self.model)
        await self._connection.ask(messages.Leave(NEW))
        if kept:
            self._keeper.release()
        else:
            self._keeper.forget()

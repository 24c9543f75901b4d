"""A visit to a server: its news is applied to the state, and the player's requests are carried out."""

import asyncio
import contextlib
import math
import secrets
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import structs

from client.language import _, current_language, listed
from client.levels import usual_level
from client.network.connection import Connection, new_token, open_connection
from client.network.refusals import describe_refusal
from client.network.transport import ConnectFailed, PasswordWanted, RequestRefused, Timeouts
from client.player.seats import EVENING, proof_of
from client.records import Recording
from client.tables.table import PAST_FROM, TableChanged, TableClosed, TableModel
from client.typed_text import fault_of, login_name
from client.ui import requests
from client.ui.export.moment import describe_not_saved, describe_saved, save
from client.ui.interaction import Interaction, StandaloneService
from client.ui.program import Replaying
from client.ui.requests import Request
from client.ui.screens import news
from client.ui.screens.actions import AGAIN, SIT
from client.ui.screens.news import Occasion, occasions
from client.ui.screens.scoring import to_tell
from client.ui.screens.screen import window_title
from client.ui.seat_keeper import Keeping, SeatKeeper
from client.ui.state import FinishedGames, Notice, Offers, OnlineList, Ui, hints_allowed
from client.ui.terminal.shell import describe_failure
from client.ui.texts import games, tables
from client.ui.texts.tables import names_of
from client.ui.together import Together
from client.ui.visit import Destination, LookingBack, Player, SeatedBots, Stay, Visit
from engine.errors import DamagedRecord
from engine.events import LayTile, Place
from engine.redaction import snapshot
from engine.view import Phase
from protocol import messages
from protocol.codes import Code
from protocol.events import move_message
from protocol.messages import NEW, TableState
from protocol.text import printable

_IN_LOBBY: Final = Stay()
_LOBBY_SECONDS: Final = 3.0
_FAREWELL_SECONDS: Final = 1.0
_TIMEOUTS: Final = Timeouts(keep_trying=math.inf)  # a person sees the title line, and decides

# Why a client was sent away from its table for good; after other reasons its seat may be there again.
SEAT_LOST: Final = frozenset({Code.BAD_TOKEN, Code.CLOSED_BY_SERVER, Code.REMOVED, Code.REMOVED_BY_SERVER})

# With these refusals of a seat, the table can still be watched.
_TOO_LATE: Final = frozenset({Code.TABLE_FULL, Code.GAME_RUNNING})

# With these refusals of a seat, an earlier attempt may have been carried out by a server that did not answer.
_SEAT_IN_DOUBT: Final = frozenset({Code.NOT_STORED, Code.TABLE_ELSEWHERE})


async def run(player: Player, there: Destination, stay: Stay = _IN_LOBBY) -> int:
    """Run the client until its player quits; return the exit code, and leave the terminal as it was."""
    return report(await visit(player, there, stay))


def report(visited: Visit) -> int:
    with contextlib.suppress(OSError):  # the terminal may be gone
        if visited.code:
            sys.stderr.write(f"palatinus: {visited.sentence}\n")
        elif visited.sentence:
            sys.stdout.write(f"{visited.sentence}\n")
            sys.stdout.flush()
    return visited.code


async def visit(player: Player, there: Destination, stay: Stay = _IN_LOBBY) -> Visit:
    """Run the client until its player quits or goes home, and leave the terminal as it was."""
    if (fault := fault_of(player.name)) is not None:
        return Visit(2, fault)
    try:
        async with open_connection(there.url, timeouts=_TIMEOUTS, access=there.access) as connection:
            if there.asks and connection.unconfirmed:
                return Visit(hosts=connection.unconfirmed)
            client = Client(player, there, stay, connection)
            try:
                return client.result(await player.show(client))
            finally:
                client.release()
    except PasswordWanted as error:
        return Visit(1, str(error), password_wanted=True)
    except ConnectFailed as error:
        return Visit(1, str(error))
    except Exception as error:  # noqa: BLE001 - people are owed one sentence, whatever it is
        return Visit(1, describe_failure(error))


class Left(NamedTuple):
    """The seat at a finished game that its player has left, and may take again in the next one."""

    seated: messages.Seated
    name: str
    told: bool  # that the others play again


class Client(StandaloneService):
    """A visit to a server: applies the server's news to the state, and sends the player's requests."""

    def __init__(self, player: Player, there: Destination, stay: Stay, connection: Connection) -> None:
        first = stay.first
        ui = Ui(
            player.name,
            there.url,
            there.ways,
            _offered(connection, there.bots),
            _finished_games(player.looking_back),
            now=time.monotonic(),
            new_table=first if isinstance(first, requests.Open) else requests.FOR_WHOEVER_COMES,
            confirms=player.confirms,
            explains=None if player.explaining is None else player.explaining.what,
            log=stay.news,
            busy=first is not None,
            notice=Notice(" ".join(stay.news)) if stay.news else None,
        )
        super().__init__(ui, connection.model)
        self._player, self._there, self._connection = player, there, connection
        self._explains = ui.explains  # in later games, as is remembered
        self._first, self._parting = first, stay.keeping.parting
        self._keeper = SeatKeeper(stay.keeping, self.log)
        self._evening_seat = SeatKeeper(Keeping(stay.keeping.seats), self.log)
        self._ticket: tuple[str, str] | None = None  # name and token in the evening
        self._name = player.name
        self._token = secrets.token_urlsafe()  # after a lost connection it proves whose the name is
        self._together: Together | None = None  # the record of the table's game, once it has been opened
        self._hint: asyncio.Task[None] | None = None  # the last one asked for
        self._occasions: frozenset[Occasion] = frozenset()
        self._called: str | None = None  # to a table of the evening
        self._recorded: str | None = None  # the table whose record was kept last
        self._left: Left | None = None  # until it is known whether the others play again
        self._leads = False  # through the scoring, as far as this player wants that
        self._walk_told: messages.Show | messages.Seen | None = None  # what the others were told last
        self._telling = False

    @property
    def behind(self) -> bool:
        return self._connection.behind

    def start(self, interaction: Interaction) -> None:
        super().start(interaction)
        self.begin(self._listen())
        self.begin(self._attend())
        if self._there.bots is not None:
            self.begin(self._tell(self._there.bots.failures))

    def result(self, request: Request) -> Visit:
        """Return how the visit ended if its player has asked for this last."""
        return Visit(sentence=self._way_back(), request=request, name=self._name)

    def release(self) -> None:
        self._keeper.release()
        self._evening_seat.release()

    def settled(self, ui: Ui) -> Ui:
        self._keep_explanations()
        if self._hint is not None and not ui.ponders:
            self._hint.cancel()
            self._hint = None
        if not self._telling and self._news_of_walk(ui) is not None:
            self._telling = True
            self.begin(self._tell_walk())
        return ui

    def _news_of_walk(self, ui: Ui) -> messages.Show | messages.Seen | None:
        """Return what the others are to be told of where this player is in the scoring; None if they know."""
        found = to_tell(ui.page, self.model)
        if isinstance(found, messages.Show) and not self._leads:
            found = None  # the table does not yet know that the player leads no more
        if found is None:
            self._walk_told = None
        return None if found == self._walk_told else found

    async def _tell_walk(self) -> None:
        while self.interaction.service is self and (found := self._news_of_walk(self.ui)) is not None:
            self._walk_told = found
            with contextlib.suppress(RequestRefused, ConnectFailed):  # the news says so
                await self._connection.ask(found)
        self._telling = False

    def carry_out(self, request: Request) -> None:
        match request:
            case requests.Errand.QUIT | requests.Errand.GO_HOME | requests.TakeBack() | requests.PlayOn():
                super().carry_out(request)
            case requests.Errand.LOOK_BACK:
                self.begin(self._list_games())
            case requests.Errand.HINT:
                self._hint = self.begin(self.hint())
            case messages.Show(step=step):
                self._leads = step is not None
                self.begin(self.ask(request))
            case _:
                self.begin(self.ask(request))

    async def _listen(self) -> None:
        """Handle the news until the connection is closed for good."""
        async for update in self._connection.updates():
            if self.model.view is not None and self.model.view.phase is Phase.OVER:
                self._keeper.forget()
                self._keep_record(self.model)
            self._keeper.keep_call(self.model.draws.call)
            match update:
                case TableClosed(messages.Refused(code)) if code in SEAT_LOST:
                    self._keeper.forget()
                case TableClosed():
                    self._keeper.release()  # a table that failed, or one of another journal, may come back
            # After a lost connection the server may be another version.
            connection = self._connection
            ui = replace(self.ui, now=time.monotonic(), offers=_offered(connection, self._there.bots))
            was = ui.evening
            if (
                isinstance(update, messages.Evening)
                and was is not None
                and (update.name != was.name or update.round < was.round or update.over < was.over)
            ):  # it is another evening
                connection.follows_evening, ui = False, replace(ui, person=None)
            before, ui = ui, news.after_update(ui, update, self.model)
            (self.show_later if isinstance(update, messages.Online | messages.SaidInLobby) else self.show)(ui)
            if isinstance(update, messages.Evening):
                called, self._called = self._called, news.called_to(ui, self.model)
                if self._called not in {called, None}:
                    self.call(window_title(self.model), self._called)
            if (sentence := news.heard_from_lobby(before, ui)) is not None:
                self.call(window_title(self.model), sentence)
            if isinstance(update, TableChanged) and news.seat_freed(update, self.model):
                self.call(window_title(self.model), _(news.SEAT_FREE))
            self._keep_explanations()
            self._call_player()
            if self._together is not None:
                self._together.look()
            if isinstance(update, TableChanged) and self._there.bots and self._fills(update):
                self.begin(self.ask(messages.StartGame(NEW)))

    def _keep_record(self, model: TableModel) -> None:
        looking_back = self._player.looking_back
        keep = None if looking_back is None else looking_back.keep
        if keep is None or model.seat is None or model.table in {None, self._recorded}:
            return
        if _is_study(model):  # which counts for nothing
            return
        self._recorded = model.table
        self.begin(self.keep_record(model.table, keep))

    def _keep_explanations(self) -> None:
        """Remember what is still to be explained in later games."""
        what, view = self.ui.explains, self.model.view
        if what is None or self._player.explaining is None:
            return
        if view is not None and view.phase is Phase.OVER and self.model.seat is not None:
            what = structs.replace(what, wanted=False)
        if what != self._explains:
            self._explains = what
            self._player.explaining.remember(what)

    async def _tell(self, failures: asyncio.Queue[str]) -> None:
        """Show why bots of this program have failed, until the next key, and in the log."""
        while True:
            failure = await failures.get()
            self.log(failure)
            self.show(self.ui.with_notice(failure, refusal=True))

    def _call_player(self) -> None:
        now = [*occasions(self.model)]
        before = frozenset(each for each in self._occasions if now and each.table == now[0].table)
        new = [each for each in now if each not in before]
        self._occasions = before.union(now)
        if new:
            self.call(window_title(self.model), new[0].sentence)

    def _fills(self, update: TableChanged) -> bool:
        """Return whether somebody has just come with whom this host's game can begin."""
        state, before = update.state, update.before
        hosts = state.stage == "gathering" and state.host == self.model.seat
        more = before is None or _here(state) > _here(before)
        return hosts and state.can_start and more

    async def _attend(self) -> None:
        """Go where the visit begins, and keep the lobby's list of tables fresh."""
        if self._first is not None:
            await self.ask(self._first)
        while True:
            if self._connection.online:
                await self.keep_listed()
                await self.keep_evening()
                await self.hear_of_next_game()
                if self.model.table is None:
                    await self.ask(messages.ListTables(NEW))
            if self._there.found_as is not None:
                ways = structs.replace(self.ui.ways, found_as=self._there.found_as())
                self.show(replace(self.ui, ways=ways))
            await asyncio.sleep(_LOBBY_SECONDS)

    async def farewell(self) -> None:
        """Leave the table unless the player may come back: to a running game, or as the terminal is gone."""
        model, returns = self.model, not self.interaction.by_player
        if returns or model.table is None or running(model) or not self._connection.online:
            return
        with contextlib.suppress(RequestRefused, ConnectFailed, TimeoutError):
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self.leave()

    def _way_back(self) -> str:
        """Return how to come back to a running game; empty if there is none."""
        model = self.model
        if model.table is None or not running(model) or not self._keeper.keeps:
            return ""
        if self._parting:
            return self._parting
        named = "" if self.ui.name == login_name() else f" --name {shlex.quote(self.ui.name)}"
        told_first = _("The game continues, and your seat is kept. Come back with")
        return f"{told_first}\n  palatinus join {self._there.url} {model.table}{named}"

    async def keep_listed(self) -> None:
        """Enter the server's lobby under the player's name, even on the way to a table.

        A name that is taken is tried again in the lobby, because it may have become free.
        """
        connection, company = self._connection, self.ui.company
        name = self._name if self.model.table is None else self.ui.name
        if not connection.has_lobby or self._there.bots is not None or connection.listed_as == name:
            return
        if self.model.table is not None and company is not None and company.fault:
            return
        try:
            await self._enter(name)
        except RequestRefused as refusal:
            self.show(replace(self.ui, company=OnlineList(fault=str(refusal))))
        except ConnectFailed:
            pass  # the news says so

    async def _enter(self, name: str) -> None:
        """Enter the server's lobby under a name; raises RequestRefused or ConnectFailed."""
        by = self._player.comes_by if self._connection.has_invitations else None
        tokens = [self._token, *self._keeper.tokens(name)]
        await self._connection.ask(messages.EnterLobby(NEW, name, tokens, by))
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
                self.show(news.with_refusal(self.ui, str(failure), code, request, self.model))
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
                await self._sit_or_watch(table)
            case requests.WatchTable(table):
                await connection.ask(messages.Watch(NEW, table, name=self._name))
            case requests.SitOrWatch(table):
                await connection.ask(messages.Leave(NEW))
                await self._sit_or_watch(table)
                self.show(news.at_next_table(self.ui, self.model, talk))
            case messages.Study() | requests.JoinStudy():
                await self._go_to_study(request)
            case messages.Rematch():
                seated = await connection.ask(request)
                self.show(news.at_next_table(self.ui, self.model, talk))
                self._keep(seated, self.ui.name)
            case requests.Rename():
                await self._rename(request)
            case messages.SeatBot(level=level):
                await connection.ask(messages.SeatBot(NEW, _level(connection.levels, level)))
            case messages.Invite() | messages.Plan(piece=None, plans=()):
                await self._ask_and_tell(request)
            case messages.CallMe() | messages.ConfirmCall() if not connection.notices:
                raise _refusal(Code.NO_NOTICES)
            case messages.CallMe(to=str()):
                await connection.ask(structs.replace(request, language=current_language()))
            case requests.Errand.SEE_MOVES:
                await self._see_moves()
            case requests.Errand() if (
                self._player.looking_back is None or not self._player.looking_back.saves
            ):
                text = _("You are playing on another computer's screen, so no files can be saved for you.")
                self.show(news.with_refusal(self.ui, text))
            case requests.Review() | requests.Errand():  # the program has carried out all other errands
                if self._player.looking_back is not None:
                    await self._look_back(request, self._player.looking_back)
            case messages.Leave():
                await self._leave_for_lobby()
            case messages.TakePart():
                await self._take_part(request)
            case requests.TakeSeat(table):
                await self._take_seat(table)
            case _ if isinstance(request, messages.InLobby | messages.AtTable):
                await connection.ask(request)

    async def _ask_and_tell(self, request: messages.Invite | messages.Plan) -> None:
        """Ask for something of which the table shows nothing, and say that it has been done."""
        told = _("No move is planned for your turn.")
        if isinstance(request, messages.Invite):
            names = listed(each.name for each in self.ui.guests)
            told = _("Invited to this table: {names}.").format(names=names)
        await self._connection.ask(request)
        self.show(self.ui.with_notice(told))

    async def keep_evening(self) -> None:
        """Follow the server's evening, as the person that the player was there, if they were."""
        connection = self._connection
        if not connection.has_evening or connection.follows_evening or self._there.bots is not None:
            return
        if self._ticket is None and (held := self._evening_seat.take(EVENING, self._name)) is not None:
            self._ticket = held.name, held.token
        with contextlib.suppress(ConnectFailed, RequestRefused):  # the news says so
            if self._ticket is not None:
                with contextlib.suppress(RequestRefused):  # it was another evening
                    await self._sign_up(*self._ticket, back=True)
                    return
            await connection.ask(messages.AskEvening(NEW))

    async def hear_of_next_game(self) -> None:
        """Hear whether the players of the game that was left play again; the seat with them is kept then."""
        connection, busy = self._connection, running(self.model) and not _is_study(self.model)
        if self._left is None or busy or not connection.tells_turns:
            return
        seated, name, told = self._left
        asking = messages.AskTurn(NEW, seated.table, proof_of(seated.token or ""))
        try:
            turn = await connection.ask(asking)
        except RequestRefused:  # the table has gone
            self._left = None
        except ConnectFailed:
            pass  # the news says so
        else:
            if turn.archived or turn.next is not None:
                self._left = None
            if turn.next is not None:
                self._keeper.keep_for_later(
                    structs.replace(seated, table=turn.next), name, connection.cluster
                )
                said = games.describe_next_game(turn)
                self.show(news.with_log(self.ui, [said]).with_notice(said))
                if not told:
                    self.call(window_title(self.model), said)

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
        self._keep(seated, name)

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
        if self.model.table is not None and self.model.seat is None:  # another table than the one watched
            await self._connection.ask(messages.Leave(NEW))
        if request.grows and not self._connection.opens_growing:
            opening |= {"players": _SEATS_WITHOUT_GROWING, "grows": False}
        seated = await self._connection.ask(messages.OpenTable(**opening))
        self._keep(seated, self._name)
        if request.people is not None:
            await self._connection.ask(messages.ChoosePeople(NEW, request.people))
        if self._there.bots is not None:
            self._there.bots.seat(seated.table, request.players - 1)

    async def _list(self) -> None:
        tables = (await self._connection.ask(messages.ListTables(NEW))).tables
        kept = self._keeper.tables()  # before the state is read: what goes wrong here is logged in it
        self.show_later(news.with_tables(self.ui, tables, self.model, kept))

    async def hint(self) -> None:
        """Suggest a move, unless the game has moved on or the host no longer allows hints."""
        model = self.model
        if model.view is None or model.legal is None:
            return
        seen_at = model.seq
        # Of a copy: the screen and the connection go on.
        suggestion = await self._player.suggest(snapshot(model.view, model.view.eyes), model.legal)
        self._hint = None
        ui = replace(self.ui, ponders=False, notice=None)
        if model.seq == seen_at and hints_allowed(model):
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
                connection = None if self._there.bots is not None else self._connection
                self._leads = False  # the record does
                self._together = Together(recording, connection, looking_back, request, self.model.seat)
                self.open(self._together)
            case requests.Errand.SAVE_RECORD:
                self._save(looking_back, f"palatinus-{table}.txt", text)
            case requests.Errand.SAVE_PICTURE:
                from client.ui.export.moment import as_svg  # noqa: PLC0415 - the screen appears sooner without

                picture = as_svg(recording, recording.end, everything)
                self._save(looking_back, f"palatinus-{table}.svg", picture)

    async def _list_games(self) -> None:
        """Open the page of the games that the player has finished here."""
        if (looking_back := self._player.looking_back) is not None and looking_back.games is not None:
            self.open(await looking_back.games(looking_back))

    async def _see_moves(self) -> None:
        """Show the moves of the running game, as this seat or spectator has seen them."""
        model = self._connection.model
        await self._connection.ask(messages.Sync(NEW, PAST_FROM - 1))
        if model.view is not None and model.past:
            names, eyes = dict(enumerate(names_of(model.state, 5))), model.view.eyes
            recording = Recording.of(model.past, names, eyes)
            self.open(Replaying(recording, recording.end, eyes, None, own=model.seat))

    async def keep_record(self, table: str, keep: Callable[[str, str], None]) -> None:
        """Store the record of the table's finished game with `keep`; report failures."""
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

    async def _join(self, table: str, name: str | None = None) -> None:
        """Take the seat that is kept at the table, or a free one, under the player's name or another."""
        name = self._name if name is None else name
        if self._left is not None and self._left.seated.table == table and await self._come_back(self._left):
            return
        # A client at a table cannot join another: the server says so below.
        while self.model.table is None and (held := self._keeper.take(table, name)) is not None:
            try:
                back = messages.Resume(NEW, table, held.token)
                seated = await self._connection.ask(back, call=held.call)
            except RequestRefused as refusal:
                if refusal.code not in {Code.BAD_TOKEN, Code.NO_SUCH_TABLE, Code.TABLE_CLOSED}:
                    self._keeper.release()
                    raise
                self._keeper.forget()
                if not held.asked:
                    self.log(str(_refusal(Code.BAD_TOKEN, table=table)))
            except BaseException:
                self._keeper.release()
                raise
            else:
                if held.asked:
                    self._keep(seated, held.name)
                self.show(replace(self.ui, name=held.name))
                if self._there.bots is None:  # nobody else has waited
                    self.log(_("You are back in your seat, as {name}.").format(name=held.name))
                return
        seated = await self._take_new_seat(table, name)
        self._keep(seated, name)
        if seated.taken_over == name:  # as in a study
            self.log(_("You are back in your seat, as {name}.").format(name=name))
        elif seated.taken_over is not None:
            self.log(_("You take over the seat of {gone}.").format(gone=printable(seated.taken_over)))

    async def _come_back(self, left: Left) -> bool:
        """Take the seat at a finished game again that was left on this visit; return whether it is there."""
        if self.model.table is not None:
            return False
        try:
            await self._connection.ask(messages.Resume(NEW, left.seated.table, left.seated.token or ""))
        except RequestRefused:
            return False
        self._left = None
        self.show(replace(self.ui, name=left.name))
        self.log(_("You are back in your seat, as {name}.").format(name=left.name))
        return True

    async def _sit_or_watch(self, table: str) -> None:
        """Take a seat as `_join` does; latecomers watch, and are shown how to play later."""
        try:
            await self._join(table)
        except RequestRefused as refusal:
            if self.model.table is not None or refusal.code not in _TOO_LATE:
                raise
            try:
                await self._connection.ask(messages.Watch(NEW, table, name=self._name))
            except RequestRefused:
                raise refusal from None
            begun = refusal.code == Code.GAME_RUNNING
            (key,) = (AGAIN if begun else SIT).keys
            self.log(tables.describe_too_late(key.names[0], begun=begun))

    async def _take_new_seat(self, table: str, name: str) -> messages.Seated:
        """Take a seat with a token that is stored first: it may be taken even if no answer comes."""
        request = messages.JoinTable(NEW, table, name, token=new_token())
        if self.model.table is not None:  # the server refuses it
            return await self._connection.ask(request)
        self._keeper.prepare(request, self._connection.cluster)
        try:
            seated = await self._connection.ask(request)
        except RequestRefused as refusal:
            if refusal.code in _SEAT_IN_DOUBT:
                self._keeper.release()
            else:
                self._keeper.forget()
            raise
        except BaseException:
            self._keeper.release()
            raise
        if seated.token != request.token:  # an older server has made one
            self._keeper.forget()
        return seated

    def _keep(self, seated: messages.Seated, name: str) -> None:
        """Keep the seat in which the client sits now for another time."""
        seated = structs.replace(seated, token=self.model.token)
        self._keeper.keep(seated, name, self._connection.cluster)

    async def _go_to_study(self, request: messages.Study | requests.JoinStudy) -> None:
        """Leave this table for the study that is opened here, or has been."""
        if isinstance(request, messages.Study):
            await self._connection.ask(request)
        state = self.model.state
        if state is None or state.studied is None:
            text = _(
                "No study was opened here. On a server, B in the record of a finished game (v) opens one."
            )
            self.show(news.with_refusal(self.ui, text))
            return
        name = self._name if self.model.seat is None else self.ui.name  # a study gives the seat of that name
        await self.leave()
        self.show(replace(self.ui, log=()))  # which says how to come along
        await self._join(state.studied.table, name)
        self.show(replace(news.at_other_table(self.ui, self.model), name=name))

    async def _leave_for_lobby(self) -> None:
        await self.leave()
        if self._there.bots is not None:
            super().carry_out(requests.Errand.GO_HOME)
        else:
            self.show(replace(news.at_other_table(self.ui, self.model), name=self._name, log=()))
            await self._list()

    async def leave(self) -> None:
        """Leave the table; the seat of a running game stays kept."""
        model, kept = self.model, running(self.model)
        over = model.state is not None and model.state.stage == "over" and not model.state.study
        if over and self._there.bots is None and model.table is not None and model.seat is not None:
            seated = messages.Seated(NEW, model.table, model.seat, model.token)
            told = model.state is not None and model.state.next is not None
            self._left = Left(seated, self.ui.name, told)
        await self._connection.ask(messages.Leave(NEW))
        if kept:
            self._keeper.release()
        else:
            self._keeper.forget()


def _offered(connection: Connection, bots: SeatedBots | None) -> Offers:
    return Offers(
        connection.levels,
        connection.notices,
        connection.has_lobby,
        connection.has_invitations,
        private=bots is not None,
        takes_back=bots is not None and bots.takes_back,
    )


def _finished_games(back: LookingBack | None) -> FinishedGames | None:
    return None if back is None else FinishedGames(back.games is not None, back.analyses, back.saves)


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


def _is_study(model: TableModel) -> bool:
    return model.state is not None and model.state.study


def _here(state: TableState) -> int:
    return sum(seat.name is not None and not seat.kept for seat in state.seats)


_SEATS_WITHOUT_GROWING: Final = 3  # of a table at an older server

"""The connection to a server: requests, their answers, and reconnecting when it breaks."""

import asyncio
import contextlib
import random
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, get_args, overload

from msgspec import structs
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from client.language import _
from client.network import transport
from client.network.refusals import describe_refusal
from client.network.transport import RequestRefused, RequestUnanswered
from client.tables import table
from client.tables.draws import Call
from engine.draws import Share, pledge_of
from protocol import messages
from protocol.codec import BadMessage, encode
from protocol.codes import Code
from protocol.limits import LARGEST_ID
from protocol.text import printable

_UPDATES_KEPT: Final = 1024
# Refusals of a seat that is kept all the same.
_TRY_AGAIN: Final = {
    Code.TOO_SOON,
    Code.TOO_MANY_GUESSES,
    Code.TOO_MANY_TABLES,
    Code.SERVER_STOPPING,
    Code.NOT_STORED,
}
_NewSeat: TypeAlias = messages.OpenTable | messages.JoinTable
# What answers a request, unless that is Done.
_ANSWERS: Final[Mapping[type[messages.ClientRequest], type[messages.ServerAnswer]]] = {
    messages.SignUp: messages.SignedUp,
    **dict.fromkeys(get_args(messages.Seating), messages.Seated),
    messages.Watch: messages.Watching,
    messages.ListTables: messages.Tables,
    messages.AskTurn: messages.Turn,
    messages.GetRecord: messages.Record,
    messages.Ping: messages.Pong,
}
_FIRST_IDS: Final = 2**30  # far enough below the largest one to count up from


@contextlib.asynccontextmanager
async def open_connection(
    url: str,
    *,
    client: str = "palatinus",
    timeouts: transport.Timeouts | None = None,
    access: transport.ServerAccess = transport.FREE_ACCESS,
) -> AsyncIterator["Connection"]:
    """Connect to the server at `url` for the length of the context.

    Raises ConnectFailed if there is none. `client` tells the server about this program.
    """
    address, timeouts = transport.ServerAddress(url, client, access), timeouts or transport.Timeouts()
    websocket, welcome = await transport.open_websocket(address, timeouts)
    connection = Connection(address, timeouts, websocket, welcome)
    # Not a TaskGroup, which would wrap the body's own exceptions in a group.
    keeper = asyncio.create_task(connection.keep_open(websocket), name=f"connection to {url}")
    try:
        await asyncio.sleep(0)  # it starts here, so that it ends properly however short the body is
        yield connection
    finally:
        keeper.cancel()
        await asyncio.wait((keeper,))
        if not keeper.cancelled():
            keeper.result()


@dataclass(slots=True)
class Waiting:
    """A request that has not been answered yet; its alarm is set only while there is a connection."""

    message: messages.ClientRequest
    answer: asyncio.Future[messages.ServerAnswer]
    alarm: asyncio.TimerHandle | None = None
    sent_on_until: float | None = None  # a server has told where the table is: it is looked for until then
    undone: bool = False  # it was refused there, and not sent since

    def silence(self) -> None:
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None

    def settle(self, answer: messages.ServerAnswer) -> None:
        """Hand the answer to the caller, unless it has given up."""
        self.silence()
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        """Raise an error in the caller, unless it has given up."""
        self.silence()
        if not self.answer.done():
            self.answer.set_exception(error)

    def refuse(self, message: messages.Refused) -> None:
        """Raise the server's refusal in the caller."""
        text = describe_refusal(message)
        about = message.about or {}
        if self.sent_on_until is not None and message.code == Code.TABLE_ELSEWHERE:
            text = _("Table {table} cannot be reached at {address} now. Try again in a moment.").format(
                table=printable(about.get("table", "")), address=printable(about.get("address", ""))
            )
        seconds = about.get("seconds", "")
        # At least 1, so that a client never hammers.
        retry_in = max(1, int(seconds)) if seconds.isdecimal() and len(seconds) < 5 else None
        self.fail(RequestRefused(message.code, text, message.rule, retry_in))


def new_token() -> str:
    """Return a token for a seat, as hard to guess as the server's."""
    return secrets.token_urlsafe(32)


def _seat_in_doubt() -> RequestUnanswered:
    text = _("The connection was lost before the server answered. Check the list of tables, then try again.")
    return RequestUnanswered(text)


def _without_token(waiting: Waiting) -> None:
    """Have a server that takes no tokens sent none; a request that may be carried out already fails."""
    message = waiting.message
    if isinstance(message, _NewSeat) and message.token is not None:
        if not waiting.undone:
            waiting.fail(_seat_in_doubt())
        waiting.message = structs.replace(message, token=None)


class Connection:
    """One client's connection to a server; made by `connected`.

    `model` is what is known of the table, always up to date: `updates` tells when to look at it. `levels` are
    those of the bots that the server seats, `has_lobby` tells whether people can be listed and talk in its
    lobby, `has_invitations` whether they can invite each other, `has_evening` whether there is an evening,
    `listed_as` under which name this client is, `follows_evening` whether it is told of that on this line,
    `unconfirmed` to which other hosts the server would send it on if the player let it. The requests raise
    RequestRefused if the server says no, and ConnectFailed if it says nothing. While the connection is lost
    they wait for it; a move is made once, and a seat taken once, however often that has to be asked for.
    """

    def __init__(
        self,
        address: transport.ServerAddress,
        timeouts: transport.Timeouts,
        websocket: ClientConnection,
        welcome: messages.Welcome,
    ) -> None:
        self.address = address  # the one that was given
        self._addresses = transport.ServerAddresses(address)
        self._read_welcome(welcome)
        self.model = table.TableModel()
        self.listed_as: str | None = None
        self.follows_evening = False
        self.closed: table.Closed | None = None
        self._timeouts = timeouts
        self._websocket: ClientConnection | None = websocket  # None while the connection is lost
        self._waiting: dict[int, Waiting] = {}
        # By the ids of unanswered requests for a seat.
        self._tokens_sent: dict[int, tuple[str, Call | None]] = {}
        self._share = Share(secrets.token_hex(32))  # secret until the server calls for it
        self._last_id = random.randrange(_FIRST_IDS)
        self._watches_as: str | None = None
        self._syncing: int | None = None
        self._sync_due: float | None = None
        self._updates: asyncio.Queue[table.Update] = asyncio.Queue(_UPDATES_KEPT)

    @property
    def online(self) -> bool:
        return self._websocket is not None

    @property
    def cluster(self) -> tuple[str, ...]:
        """Return the addresses at which this client's seat is known, as far as it has been told."""
        return self._addresses.known

    # -- requests -----------------------------------------------------------------------------------

    @overload
    async def ask(self, message: messages.Seating, *, call: Call | None = None) -> messages.Seated: ...
    @overload
    async def ask(self, message: messages.Watch) -> messages.Watching: ...
    @overload
    async def ask(self, message: messages.ListTables) -> messages.Tables: ...
    @overload
    async def ask(self, message: messages.AskTurn) -> messages.Turn: ...
    @overload
    async def ask(self, message: messages.GetRecord) -> messages.Record: ...
    @overload
    async def ask(self, message: messages.Ping) -> messages.Pong: ...
    @overload
    async def ask(self, message: messages.SignUp) -> messages.SignedUp: ...
    @overload
    async def ask(
        self, message: messages.InLobby | messages.AskEvening | messages.TakePart | messages.AtTable
    ) -> messages.Done: ...
    async def ask(
        self, message: messages.ClientRequest, *, call: Call | None = None
    ) -> messages.ServerAnswer:
        """Send a request under an id of its own, with a pledge where one belongs; return its answer.

        A request for a new seat has a token, if the server takes one: a new one, unless the caller has made
        and stored it. The answer has it in any case.

        To resume a seat is to be told the `call` in which a share was shown there.
        """
        message = structs.replace(message, id=self._next_id())
        if isinstance(message, messages.Seating):
            message = structs.replace(message, pledge=self._pledge)
        if isinstance(message, _NewSeat):
            token = (message.token or new_token()) if self._takes_tokens else None
            message = structs.replace(message, token=token)
        if isinstance(message, messages.Resume | _NewSeat) and message.token is not None:
            self._tokens_sent[message.id] = message.token, call
        if self.closed is not None:
            raise transport.ConnectFailed(self.closed.reason, final=True, code=self.closed.code)
        waiting = Waiting(message, asyncio.get_running_loop().create_future())
        self._waiting[message.id] = waiting
        try:
            if self._websocket is not None:
                await self._put(self._websocket, waiting)
            answer = await waiting.answer
        finally:
            waiting.silence()
            self._waiting.pop(message.id, None)
        if isinstance(message, messages.EnterLobby):
            self.listed_as = message.name
        elif isinstance(message, messages.AskEvening | messages.SignUp):
            self.follows_evening = True
        elif isinstance(message, messages.Watch):
            self._watches_as = message.name
        return answer

    async def updates(self) -> AsyncIterator[table.Update]:
        """Yield what changes, for one reader; the last update is Closed.

        A reader that falls far behind misses updates and gets Refreshed instead.
        """
        while self.closed is None or not self._updates.empty():
            yield await self._updates.get()

    @property
    def behind(self) -> bool:
        """Return whether the model knows more than `updates` has yielded."""
        return not self._updates.empty()

    # -- asking and being answered ------------------------------------------------------------------

    def _read_welcome(self, welcome: messages.Welcome) -> None:
        self.server, self.levels = printable(welcome.server), tuple(welcome.levels)
        self.has_lobby, self.notices = welcome.lobby, tuple(welcome.notices)
        self.has_evening = welcome.evening
        self._takes_tokens = welcome.own_tokens
        self.opens_growing, self.tells_turns = welcome.growing, welcome.turns
        self.has_invitations = welcome.invitations
        self._stopping = False  # whether this server has said when it stops
        self._addresses.learn(welcome.addresses)
        told = (url for url in welcome.addresses if not transport.may_follow(url, self.address))
        self.unconfirmed = tuple(
            sorted({host for url in told if (host := transport.host_told(url, self.address))})
        )

    def _next_id(self) -> int:
        self._last_id = (self._last_id + 1) % (LARGEST_ID + 1)
        return self._last_id

    @property
    def _pledge(self) -> str:
        return pledge_of(self._share)

    async def _put(self, websocket: ClientConnection, waiting: Waiting) -> None:
        """Send a request and set its alarm; if the websocket breaks meanwhile, the keeper task handles it."""
        seconds = self._timeouts.answer
        text = _("The server did not answer within {seconds} s. Try again.")
        error = RequestUnanswered(text.format(seconds=f"{seconds:g}"))
        waiting.silence()
        waiting.undone = False
        waiting.alarm = asyncio.get_running_loop().call_later(seconds, waiting.fail, error)
        with contextlib.suppress(ConnectionClosed):
            await self._send(websocket, waiting.message)

    async def _send(self, websocket: ClientConnection, message: messages.FromClient) -> None:
        try:
            async with asyncio.timeout(self._timeouts.answer):
                await websocket.send(encode(message))
        except TimeoutError:
            websocket.transport.abort()  # it accepts nothing more: a proper close would wait too

    async def _take(self, websocket: ClientConnection, message: messages.ServerMessage) -> None:
        """Handle one message: as an answer, as news for the model, or both."""
        if (
            isinstance(message, messages.Moved)
            and (there := transport.elsewhere(message, self.address)) is not None
        ):
            raise there
        if (news := table.news_of_server(message)) is not None:
            self.has_evening = self.has_evening or isinstance(news, messages.Evening)
            self._stopping = isinstance(news, messages.Stopping) or self._stopping
            self._tell(news)
        if isinstance(message, messages.DrawBegins):
            model, share = self.model, self._share
            if model.draws.share_called(message, model.state, model.seat, share):
                self._share = Share(secrets.token_hex(32))  # for the next draw
                shown = messages.AddShare(self._next_id(), message.commitment, share, self._pledge)
                with contextlib.suppress(ConnectionClosed):
                    await self._send(websocket, shown)
        try:
            for update in self.model.take(message):
                self._tell(update)
        except table.Gap as gap:
            if self._syncing is None:
                self._syncing = self._next_id()
                self._sync_due = asyncio.get_running_loop().time() + self._timeouts.answer
                with contextlib.suppress(ConnectionClosed):
                    await self._send(websocket, messages.Sync(self._syncing, gap.after))
        if (answered := getattr(message, "id", None)) is not None:
            self._answer(answered, message)

    def _answer(self, answered: int, message: messages.ServerMessage) -> None:
        if isinstance(message, messages.Events):  # with an id, they say that a move was made
            message = messages.Done(answered)
        if answered == self._syncing:
            self._syncing = self._sync_due = None
            if isinstance(message, messages.Refused):
                text = _("The server did not send the missing moves: {reason}")
                raise transport.ConnectFailed(text.format(reason=describe_refusal(message)))
        waiting = self._waiting.get(answered)
        if waiting is not None and isinstance(message, messages.Refused):
            there = transport.elsewhere(message, self.address)
            now, until = asyncio.get_running_loop().time(), waiting.sent_on_until
            if there is not None and (until is None or now < until) and self._follows(waiting, message):
                waiting.silence()
                waiting.undone = True
                waiting.sent_on_until = now + self._timeouts.sent_on if until is None else until
                raise there
        token, call = self._tokens_sent.pop(answered, (None, None))
        if token is not None and isinstance(message, messages.Seated):
            if waiting is not None and isinstance(waiting.message, _NewSeat):
                message = structs.replace(message, token=message.token or token)
            # The seat is this client's also if the caller has given up meanwhile.
            self.model.token = message.token or token
            self.model.draws.call = self.model.draws.call or call
        if waiting is None:
            return  # the caller has given up
        waiting.silence()
        if isinstance(message, messages.Refused):
            if message.code == Code.NOT_IN_LOBBY:  # the name has been taken over
                self.listed_as = None
            waiting.refuse(message)
        elif not isinstance(message, _ANSWERS.get(type(waiting.message), messages.Done)):
            raise BadMessage(f"{type(message).__name__} is not an answer to {type(waiting.message).__name__}")
        else:
            if isinstance(waiting.message, messages.Leave):
                self.model.clear()
            waiting.settle(message)

    def _follows(self, waiting: Waiting, refused: messages.Refused) -> bool:
        """Return whether a request is repeated elsewhere; to play again is to take the seat kept there."""
        model = self.model
        if isinstance(waiting.message, messages.AskTurn):  # to ask is not to go there
            return False
        if model.table is None:
            return True
        next_table = (refused.about or {}).get("table")
        if not isinstance(waiting.message, messages.Rematch) or model.token is None or next_table is None:
            return False
        waiting.message = messages.Resume(waiting.message.id, next_table, model.token, 0, self._pledge)
        self._tokens_sent[waiting.message.id] = model.token, None
        model.clear()
        return True

    def _tell(self, update: table.Update) -> None:
        if self._updates.full():
            # The reader has fallen behind. The model is up to date, so one update can stand for all.
            while not self._updates.empty():
                self._updates.get_nowait()
            self._updates.put_nowait(table.Refreshed())
        self._updates.put_nowait(update)

    # -- keeping the connection ---------------------------------------------------------------------

    async def keep_open(self, websocket: ClientConnection) -> None:
        """Serve `websocket` and those that replace it, until cancelled or closed for good."""
        end = transport.ConnectFailed(_("This client closed the connection."), final=True)
        pauses = self._timeouts.pauses()
        clock = asyncio.get_running_loop().time
        try:
            while True:
                since = clock()
                failure = await self._serve(websocket)
                if clock() - since > self._timeouts.longest_pause:  # else it breaks as soon as it is open
                    pauses = self._timeouts.pauses()
                    self._addresses.note_lasting()
                websocket = await self._restore(failure, pauses)
        except transport.ConnectFailed as error:
            end = error
        finally:
            self.closed = table.Closed(end.code, str(end))
            for waiting in list(self._waiting.values()):
                waiting.fail(end)
            self._tell(self.closed)

    async def _serve(self, websocket: ClientConnection) -> transport.ConnectFailed:
        """Handle what arrives on `websocket` and return why it ended."""
        try:
            while True:
                async with asyncio.timeout_at(self._sync_due):
                    message = await transport.receive(websocket)
                await self._take(websocket, message)
        except (ConnectionClosed, BadMessage) as error:
            return transport.why_not(self._addresses.at.url, error)
        except TimeoutError:
            return transport.ConnectFailed(_("The server did not send the missing moves."))
        except transport.ConnectFailed as error:
            if isinstance(error, transport.Elsewhere):
                websocket.transport.abort()  # to go on at once, not after goodbyes
            return error
        finally:
            self._websocket = self._syncing = self._sync_due = self.listed_as = None
            self.follows_evening = False
            await websocket.close()

    async def _restore(self, failure: transport.ConnectFailed, pauses: Iterator[float]) -> ClientConnection:
        """Return a new websocket, to any server of the cluster; raises ConnectFailed if none answers."""
        share = self._addresses.turn(failure)
        self._suspend_requests(all_undone=isinstance(failure, transport.Elsewhere) and failure.all_undone)
        clock = asyncio.get_running_loop().time
        until = clock() + self._timeouts.keep_trying
        pause = 0.0
        while True:
            if share == transport.NEXT_ROUND:
                pause = next(pauses)
            wait = share * pause
            if clock() + wait > until:
                gave_up = _("Gave up after {seconds} s.").format(seconds=f"{self._timeouts.keep_trying:g}")
                text = f"{failure} {gave_up}"
                raise transport.ConnectFailed(text, final=True, code=failure.code)
            if share != transport.AT_ONCE:
                self._tell(table.ConnectionLost(str(failure), wait))
                await asyncio.sleep(wait)
            try:
                return await self._reopen()
            except transport.ConnectFailed as error:
                failure = error
            share = self._addresses.turn(failure)

    def _suspend_requests(self, *, all_undone: bool) -> None:
        """Keep the requests that can be repeated on another websocket, and fail the rest."""
        for waiting in list(self._waiting.values()):
            waiting.silence()
            match waiting.message:
                case messages.OpenTable() | messages.JoinTable() if all_undone or waiting.undone:
                    waiting.undone = True
                case messages.OpenTable(token=None) | messages.JoinTable(token=None):
                    waiting.fail(_seat_in_doubt())
                case messages.SayInLobby():
                    text = _("The connection was lost: the others may not have heard what you said.")
                    waiting.fail(RequestUnanswered(text))
                case messages.Leave(id=leaving):
                    # A client that is gone has left; reconnecting to say so would only take the seat again.
                    self.model.clear()
                    waiting.settle(messages.Done(leaving))

    async def _reopen(self) -> ClientConnection:
        """Return a websocket on which this client is back at its table or lobby; raises ConnectFailed."""
        try:
            websocket, welcome = await transport.open_websocket(self._addresses.at, self._timeouts)
        except transport.ConnectFailed as error:
            error.only_here = True  # it may let nobody in, speak another version or be something else
            raise
        self._read_welcome(welcome)
        try:
            await self._return_to_table(websocket)
            self._addresses.note_arrival()
            self._websocket = websocket
            self._tell(table.Back(self._stopping))
            for waiting in list(self._waiting.values()):
                if not self._takes_tokens:
                    _without_token(waiting)
                if not waiting.answer.done():
                    await self._put(websocket, waiting)
        except BaseException:
            self._websocket = self._syncing = self._sync_due = None
            websocket.transport.abort()
            raise
        return websocket

    async def _return_to_table(self, websocket: ClientConnection) -> None:
        model = self.model
        if model.table is None:
            return
        back: messages.Resume | messages.Watch
        if model.token is None:
            back = messages.Watch(self._next_id(), model.table, model.seq, self._watches_as)
        else:
            back = messages.Resume(self._next_id(), model.table, model.token, model.seq, self._pledge)
        try:
            async with asyncio.timeout(self._timeouts.answer):
                await websocket.send(encode(back))
                answer = None
                while answer != back.id:
                    message = await transport.receive(websocket)
                    await self._take(websocket, message)
                    answer = getattr(message, "id", None)
        except (ConnectionClosed, TimeoutError, BadMessage) as error:
            raise transport.why_not(self._addresses.at.url, error) from error
        if isinstance(message, messages.Refused):
            if (there := transport.elsewhere(message, self.address)) is not None:
                raise there
            if message.code in _TRY_AGAIN:
                raise transport.ConnectFailed(describe_refusal(message))
            model.clear()
            self._tell(table.TableClosed(message))  # there is still the lobby
            for waiting in list(self._waiting.values()):
                if isinstance(
                    waiting.message, messages.AtTable | messages.Rematch | messages.GetRecord
                ):  # it may have been carried out
                    waiting.fail(RequestUnanswered(describe_refusal(message)))

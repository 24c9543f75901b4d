"""A seat at a server's table that the league holds, and lends to the player that connects to it here.

The league takes the seat before the player comes, so it decides who sits where, and it sees every message:
how long a move takes, and whether it is legal. Otherwise server and player talk as they would without it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final, TypeVar

from msgspec import structs
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from client.bots.arena.games import too_slow
from client.bots.brain import BrainFailed, Forfeit
from client.language import _
from client.network import transport
from client.network.refusals import describe_refusal
from engine.events import GameEnded
from protocol import messages
from protocol.codec import BadMessage, decode_client, decode_server, encode
from protocol.codes import CloseCode, Code, refusal_template, sentence
from protocol.events import event_of
from protocol.limits import CLIENT_FRAME_BYTES, LARGEST_ID, VERSIONS

_Wanted = TypeVar("_Wanted", bound=messages.FromServer)

_ENDED: Final = "ended"  # the event of a game that is over
_LATER: Final = {Code.TOO_SOON, Code.NOT_STORED, Code.TOO_MANY_TABLES}  # if the server says when
_THIS_COMPUTER: Final = "127.0.0.1"


class LentSeat:
    """A seat, with its connection to the server and that of its player; made by `lent_seat`.

    `result` is the game's, or raises BrainFailed if the player forfeits it, and ConnectFailed if the server
    is lost. `times` are those of its moves in seconds.
    """

    def __init__(
        self, name: str, server: ClientConnection, welcome: messages.Welcome, move_seconds: float
    ) -> None:
        self.name, self.times = name, list[float]()
        self.joined = asyncio.Event()
        self.result: asyncio.Future[GameEnded] = asyncio.get_running_loop().create_future()
        self._server, self._limit = server, move_seconds
        self._welcome = structs.replace(welcome, addresses=[])
        self._seated = messages.Seated(0, "", 0)
        self._started = False
        self._player: ServerConnection | None = None
        self._asked: dict[int, asyncio.Future[messages.ServerMessage]] = {}
        self._last_id = LARGEST_ID  # players count up, from far below
        self._lost: Exception | None = None  # why the server is no longer heard
        self._legal = False
        self._moves = set[int]()  # the ids of those that the server has answered, or is about to
        self._clock: asyncio.TimerHandle | None = None  # while the player thinks

    # -- the league's own requests ------------------------------------------------------------------

    async def take(self, message: messages.OpenTable | messages.JoinTable) -> str:
        """Take a seat, and return the table's code; raises RequestRefused and ConnectFailed."""
        self._seated = await self.ask(message, messages.Seated)
        return self._seated.table

    async def ask(self, message: messages.ClientRequest, kind: type[_Wanted]) -> _Wanted:
        """Return the answer to a request, made again if the server says when; raises as `take` does."""
        while True:
            if self._lost is not None:
                raise self._lost
            self._last_id -= 1
            answered = self._asked[self._last_id] = asyncio.get_running_loop().create_future()
            request = structs.replace(message, id=self._last_id)
            await self._send(request)
            answer = await answered
            if isinstance(answer, kind):
                return answer
            if not isinstance(answer, messages.Refused):
                raise transport.ConnectFailed(_("The connection to the server was lost."), final=True)
            seconds = (answer.about or {}).get("seconds", "")
            if answer.code not in _LATER or not seconds.isdecimal():
                raise transport.RequestRefused(answer.code, describe_refusal(answer), answer.rule)
            await asyncio.sleep(max(1, int(seconds)))

    async def _send(self, message: messages.ClientRequest) -> None:
        with contextlib.suppress(ConnectionClosed):  # which `hear_server` reports
            await self._server.send(encode(message))

    def fail(self, error: Exception) -> None:
        """End the game for this seat, unless it has ended."""
        self._stop_clock()
        if not self.result.done():
            self.result.set_exception(error)

    def forfeit(self, text: str, kind: Forfeit, trace: str = "") -> None:
        """Lose the game for the player, unless it has ended."""
        self.fail(BrainFailed(text, kind, trace))

    # -- what the server says -----------------------------------------------------------------------

    async def hear_server(self) -> None:
        """Pass what the server says on to the player, until the connection ends."""
        lost: Exception = transport.ConnectFailed(_("The connection to the server was lost."), final=True)
        try:
            async for frame in self._server:
                await self._take_in(frame)
        except ConnectionClosed as error:
            lost = transport.ending(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the game must not wait for it
            lost = error
        self._lost = lost
        self.fail(lost)
        for answered in self._asked.values():
            answered.set_exception(lost)

    async def _take_in(self, frame: str | bytes) -> None:
        try:
            message = decode_server(frame if isinstance(frame, bytes) else b"")
        except BadMessage:  # from a newer server, perhaps
            return await self._tell(frame)
        if (answered := self._asked.pop(getattr(message, "id", None) or 0, None)) is not None:
            answered.set_result(message)
            if not isinstance(message, messages.Events):  # the start of the game, which is for the player too
                return None
            message = structs.replace(message, id=None)
            frame = encode(message)
        match message:
            case messages.TableState(stage="gathering"):
                return None  # the game begins when the players are here, and none of them has to start it
            case messages.Events():
                self._started = True
                if message.events and message.events[-1]["t"] == _ENDED and not self.result.done():
                    ended = event_of(message.events[-1])
                    assert isinstance(ended, GameEnded)  # noqa: S101 - its tag says so
                    self.result.set_result(ended)
            case messages.Moved() | messages.Stopping():
                return None  # the league alone decides where it plays
            case messages.Refused(rule=None, id=number) if self._legal:
                if self._clock is None:  # as when the server cannot store the move
                    self._moves -= {number}
                    self._start_clock()
            case messages.Refused() if self._legal:
                text = _("{name} made a move that is not allowed: {reason}")
                reason = describe_refusal(message)
                self.forfeit(text.format(name=self.name, reason=reason), Forfeit.ILLEGAL)
        await self._tell(frame)
        if isinstance(message, messages.Events):
            self._legal = message.legal is not None
            if self._legal and self._clock is None:  # not again because the player has come back
                self._start_clock()
        return None

    async def _tell(self, frame: str | bytes) -> None:
        if self._player is not None:
            with contextlib.suppress(ConnectionClosed):  # it can come back and ask what it has missed
                await self._player.send(frame)

    # -- what the player says -----------------------------------------------------------------------

    async def hear_player(self, player: ServerConnection) -> None:
        """Pass what the player says on to the server, as far as it concerns its moves."""
        with contextlib.suppress(ConnectionClosed):
            async for frame in player:
                try:
                    message = decode_client(frame if isinstance(frame, bytes) else b"")
                except BadMessage as error:
                    text = _("{name} sent what is not a message: {reason}")
                    self.forfeit(text.format(name=self.name, reason=error), Forfeit.ILLEGAL)
                    break
                if (answer := await self._answer(player, message)) is not None:
                    await player.send(encode(answer))

    async def _answer(
        self, player: ServerConnection, message: messages.ClientMessage
    ) -> messages.ServerMessage | None:
        """Return the answer to what the player says, unless the server gives it."""
        match message:
            case messages.Hello(versions):
                if set(versions).isdisjoint(VERSIONS):
                    text = _("{name} does not speak version {version} of the protocol.")
                    self.forfeit(text.format(name=self.name, version=VERSIONS[-1]), Forfeit.ABSENT)
                return self._welcome
            case messages.OpenTable() | messages.JoinTable() | messages.Resume():
                # A connection that the player had before ends, as at a server.
                before, self._player = self._player, player
                if before is not None and before is not player:
                    await before.close(CloseCode.TAKEN_OVER)
                await player.send(encode(structs.replace(self._seated, id=message.id)))
                self.joined.set()
                if self._started:
                    after = message.after if isinstance(message, messages.Resume) else 0
                    await self.ask(messages.Sync(0, after), messages.Done)
                return None
            case messages.Leave() if player is self._player:
                self._player = None
                return messages.Done(message.id)
            case _ if player is not self._player:
                return _refusal(message, "join the table first")
            case messages.Lay() | messages.PlacePiece():
                if message.id not in self._moves:  # else it is repeated, and another turn may have begun
                    self._moves.add(message.id)
                    self._stop_clock()
            case messages.Sync() | messages.Ping() | messages.GetRecord():
                pass
            case _:
                return _refusal(message, "in the arena, players only make moves")
        await self._send(message)
        return None

    # -- how long a move takes ----------------------------------------------------------------------

    def _start_clock(self) -> None:
        self._clock = asyncio.get_running_loop().call_later(self._limit, self._time_is_up)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            began = self._clock.when() - self._limit
            self.times.append(asyncio.get_running_loop().time() - began)
            self._clock = None

    def _time_is_up(self) -> None:
        late = too_slow(self.name, self._limit)
        if self._player is None or self._player.close_code is not None:
            text = _("{name} closed its connection and did not come back.")
            late = BrainFailed(text.format(name=self.name), Forfeit.SILENT)
        self.fail(late)


def _refusal(message: messages.ClientMessage, reason: str) -> messages.Refused:
    text = sentence(refusal_template(Code.BAD_MESSAGE, {}), {"reason": reason})
    return messages.Refused(Code.BAD_MESSAGE, text, getattr(message, "id", None), about={"reason": reason})


@contextlib.asynccontextmanager
async def lent_seat(
    name: str, address: transport.ServerAddress, move_seconds: float
) -> AsyncIterator[tuple[LentSeat, str]]:
    """Return a seat still to be taken, and the URL where its player finds it; raises ConnectFailed."""
    server, welcome = await transport.open_websocket(address, transport.Timeouts())
    seat = LentSeat(name, server, welcome, move_seconds)
    hearing = asyncio.create_task(seat.hear_server())
    try:
        async with serve(
            seat.hear_player,
            _THIS_COMPUTER,
            0,
            compression=None,
            max_size=CLIENT_FRAME_BYTES,
            close_timeout=1.0,
        ) as listening:
            try:
                yield seat, f"ws://{_THIS_COMPUTER}:{next(iter(listening.sockets)).getsockname()[1]}"
            finally:
                listening.close(code=CloseCode.POLICY_VIOLATION)  # there is no use in coming back
    finally:
        hearing.cancel()
        server.transport.abort()
        seat.fail(transport.ConnectFailed("", final=True))
        seat.result.exception()  # asked for here, in case nobody else has

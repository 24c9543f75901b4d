"""A connection from hello to goodbye: what a client may say when, at what pace, and what it is answered."""

import asyncio
import logging
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from protocol.codec import BadMessage, decode_client, tables_frame
from protocol.codes import CloseCode, Code
from protocol.limits import VERSIONS
from protocol.messages import (
    AtTable,
    ClientMessage,
    Hello,
    JoinTable,
    Leave,
    ListTables,
    OpenTable,
    Ping,
    Pong,
    Refused,
    Rematch,
    Resume,
    Watch,
    Welcome,
)
from server.config import Config
from server.errors import JournalError
from server.logs import about
from server.net.rate_limits import Pace
from server.net.session import Session, in_frame
from server.net.tokens import password_fits
from server.tables.lobby import Lobby
from server.tables.requests import Departed, Entrance, Refusal, Request, not_stored
from server.tables.table import Table
from server.version import SERVER_NAME

log = logging.getLogger(__name__)

_WEIGHT_OF_A_WRONG_TOKEN: Final = 2  # in malformed messages: nobody mistypes a token


class Goodbye(Exception):
    """The connection ends here, with a code and a reason for the client."""

    def __init__(self, code: CloseCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Conversation:
    """What one client says and is answered, until its connection ends."""

    def __init__(self, connection: ServerConnection, session: Session, lobby: Lobby, config: Config) -> None:
        self._connection = connection
        self._session = session
        self._lobby = lobby
        self._limits = limits = config.limits
        self._password = config.password
        self._pace = Pace(limits.burst, limits.rate)
        self._bad_messages = 0

    async def run(self) -> None:
        """Serve the client until it leaves or is sent away."""
        log.info("connected", extra=about(address=self._session.name))
        try:
            await self._greeted()
            while True:
                await self._hear()
        except Goodbye as goodbye:
            log.info("sent away", extra=about(address=self._session.name, reason=str(goodbye)))
            await self._connection.close(goodbye.code, str(goodbye))
        except ConnectionClosed:
            pass
        finally:
            log.info("disconnected", extra=about(address=self._session.name))
            if self._session.table is not None:
                await self._session.table.requests.put(Request(self._session, Departed()))

    async def _greeted(self) -> None:
        try:
            async with asyncio.timeout(self._limits.hello_seconds):
                message = await self._received()
        except TimeoutError:
            raise Goodbye(CloseCode.POLICY_VIOLATION, "no hello in time") from None
        except BadMessage as error:
            self._session.refuse(Code.BAD_MESSAGE, f"Not understood: {error}.", error.id)
            raise Goodbye(CloseCode.POLICY_VIOLATION, "hello must come first") from None
        if not isinstance(message, Hello):
            text = "The first message must be hello, with the versions you speak."
            self._session.refuse(Code.HELLO_FIRST, text, getattr(message, "id", None))
            raise Goodbye(CloseCode.POLICY_VIOLATION, "hello must come first")
        common = set(message.versions) & set(VERSIONS)
        if not common:
            spoken = ", ".join(map(str, VERSIONS))
            text = f"This server speaks protocol version {spoken}. Update the client or the server."
            self._session.send(Refused(Code.NO_COMMON_VERSION, text, versions=list(VERSIONS)))
            raise Goodbye(CloseCode.POLICY_VIOLATION, "no common protocol version")
        await self._let_in(message.password)
        self._session.send(Welcome(max(common), SERVER_NAME))

    async def _let_in(self, password: str | None) -> None:
        if self._password is None:
            return
        if password is None:
            self._session.refuse(Code.PASSWORD_NEEDED, "This server wants a password. Ask the host for it.")
            raise Goodbye(CloseCode.POLICY_VIOLATION, "no password")
        if not password_fits(password, self._password):
            await asyncio.sleep(self._limits.wrong_password_seconds)
            self._session.refuse(Code.BAD_PASSWORD, "That is not this server's password.")
            raise Goodbye(CloseCode.POLICY_VIOLATION, "wrong password")

    async def _hear(self) -> None:
        """Take in one message; nothing that it holds or causes ends the conversation but Goodbye."""
        if (wait := self._pace.wait(asyncio.get_running_loop().time())) > 0:
            await asyncio.sleep(wait)
        try:
            message = await self._received()
            self._session.counts.messages += 1
        except BadMessage as error:
            self._bad_messages += 1
            self._session.refuse(Code.BAD_MESSAGE, f"Not understood: {error}.", error.id)
            if self._bad_messages >= self._limits.bad_messages:
                raise Goodbye(CloseCode.POLICY_VIOLATION, "too many malformed messages") from None
            return
        try:
            await self._answered(message)
        except Refusal as refusal:
            self._session.send(refusal.answer(getattr(message, "id", None)))
        except JournalError as error:
            log.error("not stored", extra=about(address=self._session.name, reason=str(error)))  # noqa: TRY400 - one line says it
            self._session.send(not_stored().answer(getattr(message, "id", None)))

    async def _received(self) -> ClientMessage:
        if self._session.table is not None:
            frame = await self._connection.recv()
        else:
            try:
                async with asyncio.timeout(self._limits.lobby_idle_seconds):
                    frame = await self._connection.recv()
            except TimeoutError:
                raise Goodbye(CloseCode.NORMAL, "nothing was asked for a long time") from None
        if isinstance(frame, str):
            raise Goodbye(CloseCode.UNSUPPORTED_DATA, "text frames are not spoken here; send binary msgpack")
        return decode_client(frame)

    async def _answered(self, message: ClientMessage) -> None:
        session = self._session
        match message:
            case Hello():
                session.refuse(Code.HELLO_TWICE, "Hello was said already.")
            case Ping():
                session.send(Pong(message.id))
            case ListTables():
                session.post(in_frame(tables_frame(message.id, self._lobby.listed())))
            case OpenTable():
                self._must_be_in_lobby()
                await self._lobby.open(session, message)
            case JoinTable() | Watch():
                self._must_be_in_lobby()
                await asked(self._lobby.table(message.table), session, message, wait=True)
            case Resume():
                self._must_be_in_lobby()
                await self._back(message)
            case _:
                if session.table is None:
                    text = "You are not at a table. Open or join one first."
                    raise Refusal(Code.NOT_AT_A_TABLE, text)
                # After leaving, the next message must find the session in the lobby, or at its next table.
                await asked(session.table, session, message, wait=isinstance(message, Leave | Rematch))

    def _must_be_in_lobby(self) -> None:
        if self._session.table is not None:
            raise Refusal(Code.AT_A_TABLE, "You are at a table. Leave it first.")

    async def _back(self, message: Resume) -> None:
        try:
            while True:
                table = await self._lobby.table_of_seat(message)
                await asked(table, self._session, message, wait=True)
                if self._session.table is not None or not table.archived:
                    break  # else it was put away just when its player came
        except Refusal as refusal:
            if refusal.code != Code.BAD_TOKEN:
                raise
            self._session.send(refusal.answer(message.id))
        if self._session.table is None:
            self._bad_messages += _WEIGHT_OF_A_WRONG_TOKEN
            if self._bad_messages >= self._limits.bad_messages:
                raise Goodbye(CloseCode.POLICY_VIOLATION, "too many wrong tokens")


async def asked(table: Table, session: Session, message: AtTable | Rematch | Entrance, *, wait: bool) -> None:
    """Put the message into the table's queue, and wait for its outcome if told to."""
    handled = asyncio.get_running_loop().create_future() if wait else None
    await table.requests.put(Request(session, message, handled))
    if handled is not None:
        await handled

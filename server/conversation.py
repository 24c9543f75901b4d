"""A connection from hello to its end: what a client may say when, how fast, and how it is answered."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Final, cast

from websockets.exceptions import ConnectionClosed

from protocol import messages
from protocol.codec import BadMessage, decode_client
from protocol.codes import REFUSAL_TEXTS, CloseCode, CloseReason, Code, sentence
from protocol.limits import VERSIONS
from protocol.text import printable
from server.errors import JournalError, TableLost
from server.monitoring.logs import about
from server.net.session import AttendedTable, Session, UnreadText
from server.net.tokens import password_fits
from server.parts import Running
from server.probes import probe
from server.refusal import Refusal, not_stored
from server.version import SERVER_NAME

log = logging.getLogger(__name__)

_WEIGHT_OF_A_WRONG_TOKEN: Final = 2  # in malformed messages: nobody mistypes a token


class CloseConnection(Exception):
    """The connection ends here, with a code and a reason for the client."""

    def __init__(self, code: CloseCode, reason: CloseReason) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@dataclass(slots=True, eq=False, repr=False)
class Conversation:
    """What one client sends and receives, until its connection ends."""

    server: Running
    session: Session
    _bad_messages: int = 0

    async def run(self) -> None:
        """Serve the client until it leaves or its connection is closed."""
        session, server = self.session, self.server
        log.info("connected", extra=about(address=session.name))
        assert session.connection.request is not None  # noqa: S101 - which has been answered
        session.connection.request.headers.clear()  # 2 KiB that nobody reads any more
        session.connection.response = None
        try:
            await self._greet()
            await self._answer_all()
        except CloseConnection as close:
            log.info("closed", extra=about(address=session.name, reason=close.reason))
            await session.connection.close(close.code, close.reason)
        except ConnectionClosed:
            pass
        finally:
            log.info("disconnected", extra=about(address=session.name))
            server.clients.remove(session)
            server.lobby.disconnect(session)
            if session.table is not None:
                await session.table.disconnect(session)

    async def _greet(self) -> None:
        server = self.server
        try:
            async with asyncio.timeout(server.config.limits.hello_seconds):
                while (message := self._read(await self._next_frame())) is None:
                    pass
        except TimeoutError:
            raise CloseConnection(CloseCode.POLICY_VIOLATION, CloseReason.NO_HELLO) from None
        except BadMessage as error:
            self._refuse(Refusal(Code.BAD_MESSAGE, reason=error), error.id)
            raise CloseConnection(CloseCode.POLICY_VIOLATION, CloseReason.HELLO_FIRST) from None
        if not isinstance(message, messages.Hello):
            self._refuse(Refusal(Code.HELLO_FIRST), getattr(message, "id", None))
            raise CloseConnection(CloseCode.POLICY_VIOLATION, CloseReason.HELLO_FIRST)
        common = set(message.versions) & set(VERSIONS)
        if not common:
            facts = {"versions": ", ".join(map(str, VERSIONS))}
            text = sentence(REFUSAL_TEXTS[Code.NO_COMMON_VERSION], facts)
            versions = list(VERSIONS)
            self.session.send(messages.Refused(Code.NO_COMMON_VERSION, text, versions=versions, about=facts))
            raise CloseConnection(CloseCode.POLICY_VIOLATION, CloseReason.NO_COMMON_VERSION)
        await self._check_password(message.password)
        self.session.client = printable(message.client)
        self.session.send(
            messages.Welcome(
                max(common),
                SERVER_NAME,
                list(server.config.brains),
                addresses=server.other_addresses(),
                turns=True,
                notices=server.lobby.notice_kinds,
                own_tokens=True,
                growing=True,
                **server.lobby.welcomed(),
            )
        )
        server.clients.add(self.session)

    async def _check_password(self, password: str | None) -> None:
        wanted = self.server.access.password
        if wanted is None:
            return
        if password is None:
            probe("a client gives no password")
            self._refuse(Refusal(Code.PASSWORD_NEEDED))
            raise CloseConnection(CloseCode.POLICY_VIOLATION, CloseReason.NO_PASSWORD)
        if not password_fits(password, wanted):
            probe("a client gives a wrong password")
            with contextlib.suppress(TimeoutError):  # unless it has gone, it gets its answer late
                async with asyncio.timeout(self.server.config.limits.wrong_password_seconds):
                    await self.session.connection.wait_closed()
            self._refuse(Refusal(Code.BAD_PASSWORD))
            raise CloseConnection(CloseCode.POLICY_VIOLATION, CloseReason.WRONG_PASSWORD)

    async def _answer_all(self) -> None:
        """Answer each message; nothing that it holds or causes ends the conversation but CloseConnection."""
        session = self.session
        while True:
            try:
                message = self._read(await self._next_frame())
            except BadMessage as error:
                self._refuse(Refusal(Code.BAD_MESSAGE, reason=error), error.id)
                self._count_bad_messages(1, CloseReason.TOO_MANY_BAD_MESSAGES)
                continue
            if message is None:
                continue
            if session.moved:
                probe("a client that was sent on asks for something")
                continue
            session.counts.messages += 1
            session.answering = True
            try:
                if isinstance(message, messages.MOVES):  # first, because most messages are
                    await self._table().handle(session, message)
                else:
                    await self._answer(message)
            except Refusal as refusal:
                self._refuse(refusal, getattr(message, "id", None))
                if refusal.code is Code.BAD_TOKEN:
                    self._count_bad_messages(_WEIGHT_OF_A_WRONG_TOKEN, CloseReason.TOO_MANY_WRONG_TOKENS)
            except TableLost:
                probe("somebody asks for something at a table that was given up")
                raise CloseConnection(CloseCode.SERVICE_RESTART, CloseReason.TABLE_MOVED) from None
            except JournalError as error:
                session.counts.journal_failed(error)
                self._refuse(not_stored(error), getattr(message, "id", None))
            finally:
                session.answering = False
            session.move_from_lobby()

    def _refuse(self, refusal: Refusal, id: int | None = None) -> None:  # noqa: A002 - the wire's own word
        self.session.send(refusal.message(id))

    def _count_bad_messages(self, weight: int, reason: CloseReason) -> None:
        self._bad_messages += weight
        if self._bad_messages >= self.server.config.limits.bad_messages:
            probe("a client sends too many bad messages")
            raise CloseConnection(CloseCode.POLICY_VIOLATION, reason)

    def _next_frame(self) -> Coroutine[Any, Any, str | bytes]:
        # At a table no coroutine is around the one that waits: each would take a quarter of a KiB.
        return self._next_in_lobby() if self.session.table is None else self.session.connection.recv()

    async def _next_in_lobby(self) -> str | bytes:
        try:
            async with asyncio.timeout(self.server.config.limits.lobby_idle_seconds):
                return await self.session.connection.recv()
        except TimeoutError:
            probe("a client in the lobby says nothing for too long")
            raise CloseConnection(CloseCode.NORMAL, CloseReason.IDLE) from None

    def _read(self, frame: str | bytes) -> messages.ClientMessage | None:
        """Return the message in a frame, None if it asks for nothing; raises BadMessage."""
        if not isinstance(frame, str):
            return decode_client(frame)
        try:
            return self.session.read_text(frame)
        except UnreadText:
            raise CloseConnection(CloseCode.UNSUPPORTED_DATA, CloseReason.TEXT_FRAME) from None

    async def _answer(self, message: messages.ClientMessage) -> None:
        session, lobby = self.session, self.server.lobby
        if isinstance(message, messages.Seating):
            session.pledge = message.pledge
        if isinstance(name := getattr(message, "name", None), str):
            self.server.bans.check_name(name)
        match message:
            case messages.Hello():
                raise Refusal(Code.HELLO_TWICE)
            case messages.Ping():
                session.send(messages.Pong(message.id))
            case messages.OpenTable():
                self._check_in_lobby()
                await lobby.open(session, message)
            case messages.JoinTable() | messages.Watch():
                self._check_in_lobby()
                await lobby.enter(session, message)
            case messages.Resume():
                self._check_in_lobby()
                await lobby.resume(session, message)
            case messages.AskTurn():
                await lobby.tell_turn(session, message)
            case _ if (part := lobby.part_for(message)) is not None:
                await part.answer(session, message)
            case _:  # what no part answers is for a table
                await self._table().handle(session, cast("messages.AtTable", message))

    def _check_in_lobby(self) -> None:
        if self.session.table is not None:
            raise Refusal(Code.AT_A_TABLE)

    def _table(self) -> AttendedTable:
        if self.session.table is None:
            raise Refusal(Code.NOT_AT_A_TABLE)
        return self.session.table

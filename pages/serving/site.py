"""The pages for browsers, whole as answers to HTTP requests and live over websockets."""

import asyncio
import contextlib
import gzip
import http
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from pages.serving import routes
from pages.serving.host import HostDesk, HostedEvening
from pages.serving.live_page import MOVED, LivePage, PageSession, PageSubject, Parts, PlayerSession
from pages.serving.subjects import PlayedTable, TableList, WatchedTable
from pages.serving.television import Television
from pages.shared import NoPage, Pages
from protocol.codes import Code
from protocol.messages import Refused, Watch
from server.errors import JournalError
from server.limits.fair_thread import FairThread
from server.limits.networks import Networks
from server.limits.rate_limits import PerMinuteLimit
from server.monitoring.logs import about
from server.net.addresses import name_of, only_here, reachable
from server.net.connections.connection_limits import page_request
from server.net.connections.limited_connection import LimitedConnection
from server.net.connections.plain_http import Page, PageRequest
from server.net.session import Session
from server.parts import Running
from server.probes import probe
from server.refusal import Refusal

log = logging.getLogger(__name__)

T = TypeVar("T")

_HTML: Final = "text/html; charset=utf-8"
_PLAIN: Final = "text/plain; charset=utf-8"
_METHODS: Final = ("GET", "HEAD")
_TOO_LATE: Final = frozenset({Code.TABLE_FULL, Code.GAME_RUNNING, Code.GAME_FINISHED})  # to take a seat
_SLOW_DOWN: Final = "Too many pages from this address within a minute. Try again later.\n"


@dataclass(eq=False, repr=False)
class Site:
    """What browsers are shown of a server; `pages` draws it, in a thread of its own."""

    server: Running
    pages: Pages

    def __post_init__(self) -> None:
        self.lobby, self.tasks, self.limits = self.server.lobby, self.server.tasks, self.server.config.limits
        # Under which browsers may ask for it, beside those that only its network knows.
        self._names = {urlsplit(self.server.config.address).hostname or "", socket.gethostname().lower()}
        self._thread: FairThread[Any] = FairThread("pages", self.limits.pages_cpu)
        self._asked_by_address = PerMinuteLimit(self.limits.pages_per_address)
        self._list = self._page_about(TableList(self.lobby.public, self.pages), routes.TABLES)
        self._live = {routes.TABLES: self._list}  # by paths
        self._name_of: dict[str, str] = {}  # by this machine's addresses, as DNS tells it
        self._headers = {
            "Content-Security-Policy": self.pages.security_policy,
            "Vary": "Accept-Encoding",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
        }

    def close(self) -> None:
        self._thread.close()

    async def page(self, asked: PageRequest) -> Page:
        if asked.method not in _METHODS:
            allowed = {"Allow": ", ".join(_METHODS)}
            return Page(http.HTTPStatus.METHOD_NOT_ALLOWED, _PLAIN, "Only GET and HEAD.\n", allowed)
        if (wait := self._count_request(asked)) > 0:
            later = {"Retry-After": str(wait)}
            return Page(http.HTTPStatus.TOO_MANY_REQUESTS, _PLAIN, _SLOW_DOWN, later)
        pages, public, locked = self.pages, self.lobby.public, self.server.access.password is not None
        language = pages.language(routes.languages(asked.query, asked.headers))
        address = await self._address(asked)
        code, seat_of = routes.table_asked(asked.path), routes.seat_asked(asked.path)

        async def show(draw: Callable[[], str], status: http.HTTPStatus = http.HTTPStatus.OK) -> Page:
            def compressed() -> tuple[str, bytes | None]:
                text = draw()  # which holds no secret that its length could betray
                return text, gzip.compress(text.encode(), mtime=0) if routes.reads_gzip(
                    asked.headers
                ) else None

            text, short = await self._draw(compressed, asked.counted_as)
            return Page(status, _HTML, text, self._headers, short)

        async def absent(why: NoPage, status: http.HTTPStatus) -> Page:
            return await show(partial(pages.absent, language, routes.way_home(asked.path), why), status)

        if not await self._is_own_name(asked):
            return await absent(NoPage.NAME, http.HTTPStatus.MISDIRECTED_REQUEST)
        if asked.path == routes.FRONT:
            parts = None if locked else await self._tables(language, asked.counted_as)
            evening = self.lobby.evenings.is_known
            return await show(partial(pages.front, language, address, parts, evening=evening))
        if asked.path == routes.HOST:
            return await show(partial(pages.host, language))
        if pages.plays and seat_of is not None:
            return await show(partial(pages.play, language, seat_of, locked=locked))
        if locked and (code is not None or asked.path == routes.TV):
            return await absent(NoPage.PASSWORD, http.HTTPStatus.FORBIDDEN)
        if asked.path == routes.TV:
            return await show(partial(pages.tv, language, address))
        if code is not None:
            if public.open_to_all(code) is not None:
                return await show(partial(pages.watch, language, address, code))
            with contextlib.suppress(Refusal):  # the page says nothing either way
                self.lobby.count_code(asked.counted_as, code)
            if (there := public.address_of(code)) is not None:
                location = {"Location": routes.page_at(there, asked.path, asked.query)}
                return Page(http.HTTPStatus.TEMPORARY_REDIRECT, _PLAIN, "", location)
        return await absent(NoPage.NOTHING, http.HTTPStatus.NOT_FOUND)

    async def _address(self, asked: PageRequest) -> str:
        """Return the address of the front page; asked for at home, that of this machine in its network."""
        address, own = routes.address_asked(asked), self.server.config.host
        if asked.proxied or asked.secure or only_here(own) or not only_here(routes.host_asked(asked)):
            return address
        best, *_others = await asyncio.to_thread(reachable, own)  # it may ask the network
        return routes.address_at(address, best)

    async def _is_own_name(self, asked: PageRequest) -> bool:
        """Return whether it is this server that a browser asks for, as far as that can be told.

        Otherwise a page from anywhere could have its own name lead here, from inside this network, and would
        be taken for one of this server's (DNS rebinding). TLS, or a trusted proxy, has checked the name.
        """
        host = routes.host_asked(asked)
        if asked.secure or asked.proxied or not asked.near or not routes.leads_elsewhere(host):
            return True
        here = urlsplit(f"//{asked.local}").hostname or ""
        if host not in self._names and here not in self._name_of:
            self._name_of[here] = await name_of(here)
        return host in self._names or host == self._name_of[here]

    async def admits(self, asked: PageRequest) -> bool:
        """Return whether a browser may open a websocket here: one of our own pages asks for it."""
        watches = asked.path in {routes.TABLES, routes.TV} or routes.table_asked(asked.path) is not None
        # Players give the password, if there is one, and the host has a key.
        plays = self.pages.plays and routes.seat_asked(asked.path) is not None
        return (
            (plays or asked.path == routes.HOST or (watches and self.server.access.password is None))
            and routes.from_own_page(asked)
            and self._count_request(asked) == 0
            and await self._is_own_name(asked)
        )

    async def serve(
        self, connection: LimitedConnection, converse: Callable[[Session], Awaitable[None]]
    ) -> None:
        """Show a browser what it asked for, as it changes, until its connection ends.

        Where somebody plays, `converse` answers what the player asks for.
        """
        request = connection.request
        assert request is not None  # noqa: S101 - it has been answered
        path, _, query = request.path.partition("?")
        query, again = routes.asked_again(query)
        language = self.pages.language(routes.languages(query, request.headers))
        if routes.seat_asked(path) is not None:
            await self._serve_player(connection, language, converse)
            return
        code = routes.table_asked(path)
        with self._live_page(path if code is None else f"{routes.TABLES}/{code}", code) as page:
            session = PageSession(
                connection,
                self.server.clients,
                page_at=lambda there: routes.page_at(there, routes.FRONT if code is None else path, query),
            )
            log.info("connected", extra=about(address=session.name))
            self.server.clients.add(session)
            try:
                if path == routes.HOST:
                    await self._serve_host(session, page, language)
                elif code is None or await self._let_in(session, code, language, again=again):
                    page.add(session, language)
                await connection.recv()
                await connection.close(CloseCode.POLICY_VIOLATION)  # a page has nothing to say
            except ConnectionClosed:
                pass
            finally:
                log.info("disconnected", extra=about(address=session.name))
                page.remove(session)
                self.server.clients.remove(session)
                if session.table is not None:
                    await session.table.disconnect(session)

    async def _serve_player(
        self, connection: LimitedConnection, language: str, converse: Callable[[Session], Awaitable[None]]
    ) -> None:
        """Let a browser's player talk as any client does, and show what the seat may see beside that."""
        request = connection.request
        assert request is not None  # noqa: S101 - it has been answered
        address = await self._address(page_request(connection, request))

        async def device(place: str) -> str:
            return await self._draw(partial(self.pages.device, language, address, place), session.address)

        def refusal(refused: Refused) -> Parts:
            table = (refused.about or {}).get("table", "")
            late = session.table is None and refused.code in _TOO_LATE
            if late and self.lobby.public.open_to_all(table) is not None:
                return {MOVED: f"../{routes.TABLES.lstrip('/')}/{table}"}
            return {"refusal": self.pages.refusal(language, refused)}

        news = partial(self.pages.news, language)
        session = PlayerSession(connection, self.server.clients, refusal=refusal, news=news, device=device)
        subject = PlayedTable(session, self.server, self.pages, address)
        probe("somebody plays at a page")
        with self._page_about(subject, routes.PLAY, session.address, silent=True).keep_up_to_date() as page:
            page.add(session, language)
            await converse(session)

    async def _serve_host(self, session: PageSession, page: LivePage, language: str) -> None:
        """Do what the host of the evening asks for, and show the evening to nobody else."""
        request = session.connection.request
        assert request is not None  # noqa: S101 - it has been answered
        address = await self._address(page_request(session.connection, request))
        draw = partial(self._draw, asker=session.address)
        desk, shown = HostDesk(session, self.server, self.pages, language, address, draw), False
        try:
            await desk.answer_next()
            while desk.open:
                if not shown:
                    page.add(session, language)
                    shown = True
                await desk.answer_next()
        except TimeoutError:
            session.end(CloseCode.POLICY_VIOLATION)

    async def _let_in(self, session: PageSession, code: str, language: str, *, again: bool) -> bool:
        """Make a browser a spectator of a table that is open to all; otherwise send it a note, and close.

        A table that was shown just now may be on its way to another server. The answer is the same for all
        codes that nobody lists, so it says nothing of private tables.
        """
        try:
            if self.lobby.public.open_to_all(code) is not None:
                await self.lobby.enter(session, Watch(0, code))
                return True
            if (there := self.lobby.public.address_of(code)) is not None:
                session.move(there)
                probe("a browser asks for a table of another server")
                return False
        except Refusal as refusal:
            if refusal.code is Code.SPECTATORS_FULL:
                probe("a table has no room for a browser")
                session.end(CloseCode.TRY_AGAIN_LATER, self.pages.full(language))
                return False
        except JournalError as error:  # another server may have the table
            probe("a browser asks for a table that may be another server's")
            self.server.counts.journal_failed(error)
            session.end(CloseCode.TRY_AGAIN_LATER)
            return False
        if again and self.lobby.public.shared:
            session.end(CloseCode.TRY_AGAIN_LATER)
            return False
        session.end(CloseCode.NORMAL_CLOSURE, self.pages.nothing(language))
        return False

    @contextlib.contextmanager
    def _live_page(self, name: str, code: str | None) -> Iterator[LivePage]:
        """Keep the live page of a table, the list, a television or a host up to date in the context."""
        if name not in self._live:
            public = self.lobby.public
            subject: PageSubject
            if code is not None:
                subject = WatchedTable(code, public, self.pages)
            elif name == routes.HOST:
                subject = HostedEvening(self.lobby, self.pages)
            else:
                subject = Television(self.lobby, self.pages)
            self._live[name] = self._page_about(subject, name)
        page = self._live[name]
        try:
            with page.keep_up_to_date():
                yield page
        finally:
            if not page.users and page is not self._list:
                del self._live[name]

    def _page_about(
        self, subject: PageSubject, name: str, asker: Networks | None = None, *, silent: bool = False
    ) -> LivePage:
        draw = partial(self._draw, asker=asker or (name,))
        return LivePage(name, subject, self.tasks, draw, self.pages.nothing, silent)

    async def _tables(self, language: str, asker: Networks) -> Parts:
        sight = self._list.subject.sight()
        assert sight is not None  # noqa: S101 - there always is a list
        # In the asker's turn, so that no one who asks often delays others.
        drawn = await self._list.draw_in({language}, sight, partial(self._draw, asker=asker))
        return drawn[language][0]

    async def _draw(self, draw: Callable[[], T], asker: Networks) -> T:
        """Return what `draw` returns, when it is the asker's turn."""
        drawn: T = await self._thread.do(draw, asker)
        return drawn

    def _count_request(self, asked: PageRequest) -> int:
        """Count a request; return how many seconds its address has to wait first, 0 for none."""
        now = asyncio.get_running_loop().time()
        if (wait := self._asked_by_address.wait(asked.counted_as, now)) == 0:
            self._asked_by_address.count(asked.counted_as, now)
        return wait

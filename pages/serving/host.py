"""The page of an evening's host: it shows the evening, and asks for what the admin socket does."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import msgspec
from websockets.frames import CloseCode

from pages.serving.live_page import Drawn, PageSession, Parts, Sight, page_frame
from pages.shared import Pages
from protocol import admin
from server.admin.evening_service import EveningService
from server.admin.failures import FailureCode, failure
from server.admin.listener import Answer, answer_to
from server.net.session import Session
from server.parts import Running
from server.probes import probe
from server.tables.lobby import Lobby

_SECONDS_BETWEEN_LOOKS: Final = 1.0
_SECONDS_COUNTED: Final = 10  # the page counts them itself in between
_WHERE: Final = "the host's page"  # in the log


@dataclass(eq=False, repr=False)
class HostedEvening:
    """The server's evening, if there is one, as its host sees it."""

    lobby: Lobby
    pages: Pages

    def sight(self) -> Sight:
        held = self.lobby.evenings.running
        shown = None if held is None else held.shown()

        def draw(language: str) -> Drawn:
            return self.pages.hosted(language, shown), None

        key = None if shown is None else replace(shown, seconds=shown.seconds // _SECONDS_COUNTED)
        return Sight(key, None, draw, _SECONDS_BETWEEN_LOOKS)

    def advance(self) -> None:
        """Do nothing: there are no steps."""


@dataclass(eq=False, repr=False)
class HostDesk:
    """Where a browser asks for what the evening's host can do, each time with the key of the host's link.

    It is `open` once that has fitted. The front page is at `address`; `draw` draws in the browser's turn.
    """

    session: PageSession
    server: Running
    pages: Pages
    language: str
    address: str
    draw: Callable[[Callable[[], Parts]], Awaitable[Parts]]

    def __post_init__(self) -> None:
        self._service = EveningService(self.server)
        self._handed: Parts = {}
        self.open = False

    async def answer_next(self) -> None:
        """Carry out the next request and show what came of it; a browser without the key is sent away.

        Raises ConnectionClosed, and TimeoutError if nothing comes from somebody who may have no key.
        """
        session, key = self.session, self.server.lobby.evenings.host_key
        async with asyncio.timeout(None if self.open else self.server.config.limits.hello_seconds):
            line = await session.connection.recv()
        line = line.encode() if isinstance(line, str) else line
        self._handed = {}
        answer, _file = await answer_to(line, self._do, _WHERE, key.fits, by=f"page={session.name}")
        error = msgspec.json.decode(answer, type=admin.Answered).error
        if not self.open or (error is not None and error.code == FailureCode.BAD_ADMIN_TOKEN):
            self.open = False
            session.end(
                CloseCode.NORMAL_CLOSURE, await self.draw(partial(self.pages.not_host, self.language))
            )
            return
        told = await self.draw(partial(self.pages.told_host, self.language, self.address, error))
        Session.post(session, page_frame({**told, **self._handed}))

    async def _do(self, request: admin.Request) -> Answer:
        self.open = True
        if not isinstance(request, admin.AtHostPage):
            raise failure(FailureCode.BAD_REQUEST, reason="it is not for the host's page")
        report = await self._service.do(request)
        probe("the host of an evening asks for something at a page")
        if isinstance(request, admin.HandOverPerson) and isinstance(report, admin.LinkReport):
            *_address, place = report.link.split("/")
            handed = partial(self.pages.handed_over, self.language, self.address, request.name, place)
            self._handed = await self.draw(handed)
        return report, None

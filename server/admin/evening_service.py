"""What the host can ask of the server's evening, over the admin socket or at a page."""

import asyncio
from dataclasses import dataclass
from typing import assert_never

from protocol import admin
from protocol.pages import EVENING
from server.admin.failures import FailureCode, failure
from server.net.addresses import websocket_urls
from server.parts import Running


@dataclass(eq=False, repr=False)
class EveningService:
    """Carries out requests; raises AdminFailure, Refusal, JournalError or OSError for what cannot be done."""

    server: Running

    async def do(self, request: admin.OfEvening) -> object:
        """Carry out a request; return what to answer."""
        evenings = self.server.lobby.evenings
        match request:
            case admin.ShowEvening():
                return evenings.here().message()
            case admin.OpenEvening(plan):
                await evenings.begin(plan)
                self.server.clients.broadcast(evenings.here().message())
            case admin.DrawRound():
                evenings.here().draw_now()
            case admin.RemovePerson(name):
                if not await evenings.here().remove(name):
                    raise failure(FailureCode.NO_SUCH_PERSON, name=name)
            case admin.HandOverPerson(name):
                evening = evenings.here()
                self._check_pages()
                if (token := await evening.hand_over_person(name)) is None:
                    raise failure(FailureCode.NO_SUCH_PERSON, name=name)
                return await self._link(f"play/{EVENING}#{token}")
            case admin.HostEvening():
                evenings.here()
                self._check_pages()
                return await self._link(f"host#{await evenings.host_key.renew()}")
            case admin.CloseEvening():
                await evenings.here().close()
            case _:
                assert_never(request)
        return None

    def _check_pages(self) -> None:
        """Raise AdminFailure if no browser could open a link."""
        if self.server.config.pages is None:
            raise failure(FailureCode.NO_PAGES)

    async def _link(self, page: str) -> admin.LinkReport:
        config = self.server.config
        address, *_others = await asyncio.to_thread(websocket_urls, config, self.server.port)
        address = config.address.rstrip("/") or address
        return admin.LinkReport(f"{address.replace('ws', 'http', 1)}/{page}")

"""The search for servers on the network, until the player chooses one."""

import asyncio
from dataclasses import replace
from typing import Final

from client.finding.found import Found, SeatAnswer, Silent
from client.finding.search import follow_seat
from client.language import describe_reason
from client.network.transport import ServerAccess
from client.player.seats import KeptSeat
from client.ui.interaction import Interaction, Service
from client.ui.screens.search import Search, seat_stands, with_found
from client.ui.state import Ui

_PATIENCE: Final = 5.0  # seconds without a server after which the screen says what may be the reason


class Searching(Service):
    """The player's seats and the servers found, live, until the player chooses."""

    def __init__(
        self,
        name: str,
        access: ServerAccess,
        seats: tuple[KeptSeat, ...],
        stopped: frozenset[KeptSeat] = frozenset(),
    ) -> None:
        at_first = (seats[0].server, seats[0].table) if seats else None
        super().__init__(Ui(name, screens=(Search(chosen=at_first, seats=seats, stopped=stopped),)))
        self._access, self._seats = access, seats

    def start(self, interaction: Interaction) -> None:
        super().start(interaction)
        for work in (self._look(), self._give_up_hope(), *map(self._follow, self._seats)):
            self.begin(work)

    def _show_found(self, now: Found) -> None:
        self.show(with_found(self.ui, now))

    async def _give_up_hope(self) -> None:
        await asyncio.sleep(_PATIENCE)
        if isinstance(self.ui.page, Search):
            self.show(self.ui.with_page(replace(self.ui.page, waited=True)))

    async def _look(self) -> None:
        from client.finding.search import search  # noqa: PLC0415 - the screen appears before the library is loaded

        try:
            await search(self._show_found, self._access)
        except Exception as error:  # noqa: BLE001 - whatever fails there, an address can be typed
            self._show_found(Found(deaf=describe_reason(error) or type(error).__name__))

    async def _follow(self, seat: KeptSeat) -> None:
        def stands(answer: SeatAnswer) -> None:
            self.show(seat_stands(self.ui, seat, answer))

        try:
            await follow_seat(seat.server, seat.table, seat.proof, self._access, stands)
        except Exception as error:  # noqa: BLE001 - whatever fails there, the seat can be taken
            stands(Silent(describe_reason(error) or type(error).__name__))

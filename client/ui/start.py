"""The start screen, from which everything else is opened."""

import asyncio

from client.finding.found import SeatAnswer, Silent
from client.language import describe_reason
from client.player.seats import KeptSeat
from client.ui.interaction import Service
from client.ui.screens.start import seat_stands, with_seats
from client.ui.state import Ui


class Starting(Service):
    """The start screen, kept up to date with whose turn it is where the player has a seat."""

    def __init__(self, ui: Ui) -> None:
        super().__init__(ui)
        self._following: list[asyncio.Task[None]] = []

    def follow(self, seats: tuple[KeptSeat, ...]) -> None:
        """Follow the games at these seats, and no others."""
        self.follow_none()
        self.show(with_seats(self.ui, seats))
        self._following = [self.begin(self._follow(seat)) for seat in seats]

    def follow_none(self) -> None:
        for task in self._following:
            task.cancel()

    async def _follow(self, seat: KeptSeat) -> None:
        # The screen appears before these are loaded.
        from client.finding.search import follow_seat  # noqa: PLC0415
        from client.network.transport import FREE_ACCESS  # noqa: PLC0415

        def stands(answer: SeatAnswer) -> None:
            self.show_later(seat_stands(self.ui, seat, answer))

        try:
            await follow_seat(seat.server, seat.table, seat.proof, FREE_ACCESS, stands)
        except Exception as error:  # noqa: BLE001 - whatever fails there, the seat can be taken
            stands(Silent(describe_reason(error) or type(error).__name__))

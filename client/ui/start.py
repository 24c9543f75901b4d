"""The program that shows the start screen until the player chooses where to go."""

from dataclasses import replace

from client.finding.found import SeatAnswer, Silent
from client.language import describe_reason
from client.player.seats import KeptSeat
from client.ui.interaction import Interaction, Service
from client.ui.program import Program
from client.ui.requests import Request
from client.ui.screens.start import seat_stands, with_seats
from client.ui.state import Ui


async def run(ui: Ui, seats: tuple[KeptSeat, ...]) -> tuple[Ui, Request]:
    """Show the start screen, with the player's games at these seats; return its last state and the choice."""
    starting = _Starting(with_seats(ui, seats), seats)
    request = await Program(starting).run()
    return replace(starting.ui, notice=None), request


class _Starting(Service):
    """The start screen, kept up to date with whose turn it is where the player has a seat."""

    def __init__(self, ui: Ui, seats: tuple[KeptSeat, ...]) -> None:
        super().__init__(ui)
        self._seats = seats

    def start(self, interaction: Interaction) -> None:
        super().start(interaction)
        for seat in self._seats:
            interaction.begin(self._follow(seat))

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

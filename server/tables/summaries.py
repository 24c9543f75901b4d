"""What everybody is told of a table: its line in the list, and who sits where."""

from engine.pieces import Seat
from protocol.messages import SeatLine, TableLine, TableState
from server.tables.absence import Steward
from server.tables.audience import Audience
from server.tables.state import Seating


def table_line(code: str, seating: Seating) -> TableLine:
    """Return the table's line in the list of tables."""
    player = None if seating.host is None else seating.players[seating.host]
    return TableLine(
        code,
        "" if player is None else player.name,
        len(seating.players),
        sum(player is not None for player in seating.players),
        seating.stage,
        seating.options.random_layout,
        seating.absence,
    )


def table_state(code: str, seating: Seating, audience: Audience, steward: Steward | None) -> TableState:
    """Return who sits where and who is here."""
    seats = []
    for number, player in enumerate(seating.players):
        seat = Seat(number)
        line = SeatLine()
        if player is not None:
            here = seat in audience.seated
            line = SeatLine(player.name, here, kept=player.kept, again=seat in audience.gone_on)
            line = line if steward is None else steward.line(seat, line)
        seats.append(line)
    return TableState(
        code,
        seating.stage,
        seats,
        seating.host or 0,
        seating.options.random_layout,
        len(audience.spectators),
        seating.absence,
        seating.next,
    )

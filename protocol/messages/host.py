"""What only the host of a table may ask."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from protocol.messages.bases import FromClient
from protocol.messages.fields import CommandId, Level, SeatNumber, SpectatorNumber
from protocol.settings import Setting


class ChangeSetting(FromClient, frozen=True, tag="set"):
    """Change a setting of the table (host only); answered by Done."""

    id: CommandId
    setting: Setting


class SeatBot(FromClient, frozen=True, tag="bot"):
    """Seat a bot of the server before the game (host only); answered by Done.

    It takes a free seat, the first one unless `seat` names it, and plays at one of the levels in Welcome.
    """

    id: CommandId
    level: Level
    seat: SeatNumber | None = None


class Remove(FromClient, frozen=True, tag="remove"):
    """Remove the player of a seat, or a bot (host only); answered by Done.

    In a running game only a player who is away: somebody else may then take the seat over.
    """

    id: CommandId
    seat: SeatNumber


class Dismiss(FromClient, frozen=True, tag="dismiss"):
    """Remove a spectator (host only); answered by Done."""

    id: CommandId
    spectator: SpectatorNumber


class HandOver(FromClient, frozen=True, tag="host"):
    """Make the player of a seat the host (host only); answered by Done."""

    id: CommandId
    seat: SeatNumber


class Arrange(FromClient, frozen=True, tag="arrange"):
    """Give the seats in another order before the game (host only); answered by Done.

    Seat i goes to the player of seat `order[i]`; None has the server shuffle them.
    """

    id: CommandId
    order: Annotated[list[SeatNumber], Meta(min_length=2, max_length=5)] | None = None


class SubstituteNow(FromClient, frozen=True, tag="stand-in"):
    """Make the stand-in play for a player who has been away for a while (host only); answered by Done."""

    id: CommandId
    seat: SeatNumber


class EndGame(FromClient, frozen=True, tag="end"):
    """End the running game without a result (host only); answered by Done."""

    id: CommandId


HostRequest: TypeAlias = (
    ChangeSetting | SeatBot | Remove | Dismiss | HandOver | Arrange | SubstituteNow | EndGame
)

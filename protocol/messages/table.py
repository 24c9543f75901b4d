"""What players ask at a table, besides playing, and how everybody there sees it."""

from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from protocol.absence import WAIT, Absence
from protocol.limits import CHAT_LENGTH
from protocol.messages.bases import FromClient, FromServer
from protocol.messages.fields import (
    CommandId,
    Count,
    Level,
    Milliseconds,
    PeopleName,
    RemarkNumber,
    SeatNumber,
    Seconds,
    SpectatorNumber,
    Stage,
    TableCode,
    TableTitle,
)


class Say(FromClient, frozen=True, tag="say"):
    """Send a chat message to everybody at the table; answered by Done.

    At a `quiet` table, what spectators say while a game runs goes to spectators only.
    """

    id: CommandId
    text: Annotated[str, Meta(min_length=1, max_length=CHAT_LENGTH)]


class Vote(FromClient, frozen=True, tag="vote"):
    """Vote for a bot to play for `seat` until its player returns, or withdraw the vote; answered by Done."""

    id: CommandId
    seat: SeatNumber
    agree: bool


class SayReady(FromClient, frozen=True, tag="ready"):
    """Say before the game that you are ready, or take that back; answered by Done."""

    id: CommandId
    on: bool


class ChangeSeat(FromClient, frozen=True, tag="seat"):
    """Move to a free seat before the game; answered by Reseated and Done."""

    id: CommandId
    seat: SeatNumber


class ChoosePeople(FromClient, frozen=True, tag="people"):
    """Choose the people that you play before the game; None takes that back. Answered by Done."""

    id: CommandId
    people: PeopleName | None


class AskPause(FromClient, frozen=True, tag="pause"):
    """Ask for a pause of the game, or agree to one; or end it, or take that back. Answered by Done."""

    id: CommandId
    on: bool


PlayerRequest: TypeAlias = SayReady | ChangeSeat | ChoosePeople


class Standing(Struct, frozen=True, omit_defaults=True):
    """What a player has reached in consecutive games: shared victories count for every winner."""

    games: Count = 0
    wins: Count = 0
    points: Count = 0


NEWCOMER: Final = Standing()


class SeatSummary(Struct, frozen=True, omit_defaults=True):
    """A seat as others see it: no name while it is free; `here` tells whether its player is connected.

    `bot` tells whether the stand-in plays for it. From the absence policy come the seconds until it acts, the
    seats that vote for a bot, how many votes are needed, and the milliseconds that the seat has left in this
    game, all at the time of sending. A `kept` seat waits for a player of the previous game; `again` tells
    whether its player has moved to the table's `next`. The `standing` counts the games that this player and
    others have played one after another, with this one once it is over. The player of a `vacant` seat was
    removed from the running game: somebody else may take it over. Before the game, `ready` tells whether the
    player has said so, or is a program. Then `people` is the seat's own people as the choices stand, and
    `chosen` tells whether the player has chosen it.
    `level` is that of a bot of the server, which is always `here`. In a running game, `removable_in` is in
    how many seconds the host may remove the player, who is away, or have a bot play instead. `removed` tells
    of a free seat before the game that its last player was removed, and did not leave.
    """

    name: str | None = None
    here: bool = False
    bot: bool = False
    seconds_left: Seconds | None = None
    votes: list[SeatNumber] = []
    votes_needed: int = 0
    clock: Milliseconds | None = None
    kept: bool = False
    again: bool = False
    standing: Standing = NEWCOMER
    vacant: bool = False
    ready: bool = False
    level: Level | None = None
    people: PeopleName | None = None
    chosen: bool = False
    removable_in: Seconds | None = None
    removed: bool = False


class SpectatorSummary(Struct, frozen=True, omit_defaults=True):
    """A spectator as others see them; no other spectator of the table ever has the same number."""

    number: SpectatorNumber
    name: str | None = None


class PauseSummary(Struct, frozen=True):
    """Who has paused the game, for how many seconds so far, and in how many it goes on by itself."""

    seat: SeatNumber
    seconds: Seconds
    seconds_left: Seconds


class TableState(FromServer, frozen=True, tag="table"):
    """Who sits where, sent whenever it changes; `host` is the host's seat.

    `next` is the table where the players of a finished game play again, once one of them has asked to.
    `starting` is the seat that the host has chosen to start, None for a draw. `ended` tells that the host has
    ended the game, so that it has no result. While the game is `paused`, nobody may move; `pause_asked` has
    the seats that want a pause, first the one that asked. Until a clock comes with the next round,
    `turn_limit` is how long a turn takes at most.
    """

    table: TableCode
    stage: Stage
    seats: list[SeatSummary]
    host: SeatNumber
    random_layout: bool = False
    spectators: int = 0
    absence: Absence = WAIT
    next: TableCode | None = None
    title: TableTitle = ""
    private: bool = False
    no_spectators: bool = False
    starting: SeatNumber | None = None
    watching: list[SpectatorSummary] = []
    ended: bool = False
    hints: bool = False
    paused: PauseSummary | None = None
    pause_asked: list[SeatNumber] = []
    quiet: bool = False
    turn_limit: Seconds | None = None


class Said(FromServer, frozen=True, tag="said"):
    """A chat message, from a seat or from the spectator with this number.

    By its own `number` it is recognised if it is sent again in SaidBefore.
    """

    text: str
    seat: SeatNumber | None = None
    spectator: SpectatorNumber | None = None
    number: RemarkNumber | None = None


class TableRemark(Struct, frozen=True, omit_defaults=True):
    """A chat message as it was sent in Said, with the name that its speaker had then."""

    number: RemarkNumber
    text: str
    seat: SeatNumber | None = None
    spectator: SpectatorNumber | None = None
    name: str | None = None


class SaidBefore(FromServer, frozen=True, tag="said-before"):
    """The last chat messages that you were allowed to read, sent when you come to the table."""

    remarks: list[TableRemark]

"""What a server and the pages for browsers that it shows have in common."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from engine.events import Command, Place
from engine.legal import Legal
from engine.pieces import Seat
from protocol import messages

MOST_MOMENTS: Final = 1000  # more than a game and its scoring have
EVENING: Final = "EVENING"  # the page of the evening, in place of a table's code: none has vowels
SMALL_TABLES: Final = 10  # that a page for a television has room for, beside the code to join


class NoPage(enum.Enum):
    """Why a page shows nothing: there is nothing, a password is needed, or the server's name is unknown."""

    NOTHING = enum.auto()
    PASSWORD = enum.auto()
    NAME = enum.auto()


class MoveChoice(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a player has chosen for the next move so far, as JSON in a page's text frame.

    It is no message, and asks for nothing: the page is shown what would come of it. `moment` is what the
    player looks at instead of the present (0): a running game after so many events; of a finished one a step,
    the first is 1. Who wants to `follow` sees the step of whoever leads. Who wants a `hint` has a move
    suggested. `device` comes alone: the page is shown a code with which another device opens this place with
    this token.
    """

    piece: messages.PieceName | None = None
    field: messages.FieldName | None = None
    position: messages.PositionNumber | None = None
    orientation: messages.OrientationNumber | None = None
    moment: Annotated[int, Meta(ge=0, le=MOST_MOMENTS)] | None = None
    follow: bool | None = None
    hint: bool | None = None
    device: Annotated[str, Meta(pattern=r"\A[A-Z]{4,8}#[A-Za-z0-9_-]{43}\Z")] | None = None


@dataclass(frozen=True, slots=True)
class PlayerHand:
    """What a page shows a player beyond what it shows everybody: the seat, and what it may do now.

    `levels` are those of the server's bots. The `notices` while the player is away can go to addresses of
    these `kinds`. The player looks back if a `moment` of so many is not the last.
    Of the latest events that are shown, counted from 0, the player has `missed` some, and a bot made some for
    a player. After a game `of_evening` there is no rematch. The front page is at this `address`. A move is
    `planned` for when it is the player's turn. If there are `hints`, one may be `suggested`.
    """

    seat: Seat
    legal: Legal | None
    choice: MoveChoice
    levels: Sequence[str]
    moments: int = 0
    missed: frozenset[int] = frozenset()
    by_bot: frozenset[int] = frozenset()
    of_evening: bool = False
    notices: messages.Notices = messages.Notices("none")  # noqa: RUF009 - it is frozen
    kinds: Sequence[messages.NoticeKind] = ()
    address: str = ""
    planned: Place | None = None
    hints: bool = False
    suggested: Command | None = None

    @property
    def moment(self) -> int | None:
        """Return after how many events the player looks at the game, None for the present."""
        chosen = self.choice.moment
        return chosen if chosen and chosen < self.moments else None


# What everybody in an evening waits for: that games begin, that the round's time is up, or the next draw.
Awaited: TypeAlias = Literal["begin", "end", "draw"]


@dataclass(frozen=True, slots=True)
class EveningShown:
    """How an `evening` stands, for a room that looks at it.

    What is `awaited` comes within so many `seconds`. Some people have `come` to the tables to which they were
    called. `before` has the place and the score of each person before the round.
    """

    evening: messages.Evening
    awaited: Awaited | None = None
    seconds: int = 0
    come: frozenset[messages.PersonNumber] = frozenset()
    before: Mapping[messages.PersonNumber, tuple[int, int]] = field(default_factory=dict)

    @property
    def calls(self) -> bool:
        """Return whether people are called to their tables; without rounds, only if nobody plays."""
        stages = {table.stage for table in self.evening.tables}
        return "gathering" in stages and (self.evening.rounds > 0 or "playing" not in stages)


@dataclass(frozen=True, slots=True)
class OnTelevision:
    """What a television shows: the parts of a table's page, large, and other running tables drawn small.

    So many `more` tables are running. Without a `large` one, it shows the tables `waiting` for their games,
    and how the evening stands.
    """

    large: Mapping[str, str]
    small: Sequence[str]
    more: int
    waiting: Sequence[messages.TableState]
    evening: EveningShown | None

"""What a server knows of its pages, and how they are asked to draw it."""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Protocol

from msgspec import Meta, Struct

from engine.events import Command, SeenEvent
from engine.legal import Legal
from engine.pieces import Seat
from engine.view import View
from protocol import messages
from protocol.admin import FailureReport
from protocol.messages import Evening, News, PersonNumber, Refused, TableState, TableSummary
from protocol.pages import EveningShown

MOST_MOMENTS: Final = 1000  # more than a game and its scoring have
SMALL_TABLES: Final = 10  # that a page for a television has room for, beside the code to join


class NoPage(enum.Enum):
    """Why a page shows nothing: there is nothing, a password is needed, or the server's name is unknown."""

    NOTHING = enum.auto()
    PASSWORD = enum.auto()
    NAME = enum.auto()


class SeatLater(enum.Enum):
    """When a spectator may have a seat if none is free: never, once one is, or in the next game."""

    NEVER = enum.auto()
    ONCE_FREE = enum.auto()
    NEXT_GAME = enum.auto()


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
    a player. After a game `of_evening` there is no rematch. The front page is at this `address`. The player
    has `plans`, or has just moved by one. If there are `hints`, one may be `suggested`. Before the game,
    people who are online may be `guests`.
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
    plans: Sequence[messages.PlannedMove] = ()
    plan_played: messages.PlanPlayed | None = None
    hints: bool = False
    suggested: Command | None = None
    guests: Sequence[messages.PersonOnline] = ()

    @property
    def moment(self) -> int | None:
        """Return after how many events the player looks at the game, None for the present."""
        chosen = self.choice.moment
        return chosen if chosen and chosen < self.moments else None


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


class Pages(Protocol):
    """How pages for browsers are drawn, whole or in parts: HTML by the ids of the elements that it fills.

    What is drawn can be shown to anybody, unless a `hand` is drawn. The methods may be called in any thread.
    """

    @property
    def security_policy(self) -> str:
        """Return what the header Content-Security-Policy says of all pages."""

    @property
    def plays(self) -> bool:
        """Return whether people may play in a browser, and not only watch."""

    def language(self, wanted: Iterable[str]) -> str:
        """Return the language for a reader who wants these, the best first."""

    def front(self, language: str, address: str, tables: Mapping[str, str] | None, *, evening: bool) -> str:
        """Return the page at `address`, with the tables; None if a password is needed to see them.

        If there is an `evening`, it leads there.
        """

    def watch(self, language: str, address: str, code: str) -> str:
        """Return the page of a table without its parts; `address` is that of the front page."""

    def play(self, language: str, code: str, *, locked: bool) -> str:
        """Return the page where somebody plays at a table, the same for all codes but for the code itself.

        With the code "" it opens a table.
        It asks for the server's password if that is `locked`.
        """

    def call(self, language: str, evening: Evening, person: PersonNumber, at: str | None) -> str:
        """Return as HTML how an evening stands for somebody `at` a table, and where they are called."""

    def refusal(self, language: str, refused: Refused) -> str:
        """Return as HTML why something that a player at a page asked for was not done."""

    def absent(self, language: str, home: str, why: NoPage) -> str:
        """Return the page where nothing is shown; `home` leads to the front page."""

    def tables(self, language: str, tables: Sequence[TableSummary]) -> Mapping[str, str]:
        """Return the parts of the front page."""

    def table(
        self,
        language: str,
        state: TableState,
        view: View | None,
        events: Sequence[SeenEvent],
        step: int | None,
        *,
        hand: PlayerHand | None = None,
        within: float | None = None,
        later: SeatLater = SeatLater.NEVER,
    ) -> tuple[Mapping[str, str], float | None]:
        """Return the parts of a table's page, and in how many seconds the scoring's next step is due.

        `events` are the last ones, `step` how far the walk through the scoring is, None for its end. With a
        `hand`, the page is its player's. The scoring is told in brief if it is to take place `within` so many
        seconds.
        """

    def news(self, language: str, news: News) -> str:
        """Return what the server tells."""

    def device(self, language: str, address: str, place: str) -> str:
        """Return how another device opens this place and token, at the server with the front page there."""

    def host(self, language: str) -> str:
        """Return the page of an evening's host without its parts."""

    def hosted(self, language: str, shown: EveningShown | None) -> Mapping[str, str]:
        """Return the parts of the host's page that show the evening, if there is one."""

    def told_host(self, language: str, address: str, error: FailureReport | None) -> Mapping[str, str]:
        """Return the parts of the host's page that say why something was not done, or how others come.

        The front page is at this `address`.
        """

    def handed_over(self, language: str, address: str, name: str, place: str) -> Mapping[str, str]:
        """Return the parts of the host's page that show how another device goes on as somebody."""

    def not_host(self, language: str) -> Mapping[str, str]:
        """Return the parts of the host's page for a browser that has no key, or an old one."""

    def tv(self, language: str, address: str) -> str:
        """Return the page for a television without its parts; `address` is that of the front page."""

    def small(self, language: str, state: TableState, view: View, leader: Seat | None) -> str:
        """Return a running table as HTML, drawn small, with its leader if there is one."""

    def on_tv(self, language: str, shown: OnTelevision) -> Mapping[str, str]:
        """Return the parts of the page for a television."""

    def full(self, language: str) -> Mapping[str, str]:
        """Return the parts of a table's page when the table has no room for a spectator."""

    def nothing(self, language: str) -> Mapping[str, str]:
        """Return the parts of a table's page when there is nothing to be seen."""

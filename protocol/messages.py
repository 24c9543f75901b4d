"""Every message as a class; the field types are the schema that both sides enforce strictly.

A frame is one msgpack map with the message's tag under `t`. docs/protocol.md describes the messages and what
each field means; a test checks it against this module.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, TypedDict

from msgspec import Meta, Struct
from msgspec.structs import asdict

from engine.board import FIELDS
from engine.pieces import NOTATIONS
from protocol import limits
from protocol.absence import WAIT, Absence, LongClock
from protocol.settings import USUAL, ChosenSwitches, Setting, Switches

# What all messages have in common: a tag, the treatment of unknown fields, and a repr without secrets.

_SECRETS = frozenset({"token", "tokens", "new_token", "password", "proof", "share", "to", "digits"})


def hiding_secrets(struct: Struct) -> str:
    """Return the repr of a struct without its secrets, in case it ends up in a log or a traceback."""
    values = asdict(struct).items()
    shown = (f"{name}={'...' if name in _SECRETS and value else repr(value)}" for name, value in values)
    return f"{type(struct).__name__}({', '.join(shown)})"


class FromClient(Struct, frozen=True, tag_field="t", forbid_unknown_fields=True, omit_defaults=True):
    """A client's message; default values are left out, because older servers refuse unknown fields."""

    def __repr__(self) -> str:
        return hiding_secrets(self)


class FromServer(Struct, frozen=True, tag_field="t", omit_defaults=True):
    """A message from a server: unknown fields are ignored, so that a newer server can add some."""

    def __repr__(self) -> str:
        return hiding_secrets(self)


# The types of the messages' fields.

CommandId: TypeAlias = Annotated[int, Meta(ge=0, le=limits.LARGEST_ID)]
NEW: Final = 0  # a placeholder: the connection replaces this id when it sends the message
Seq: TypeAlias = Annotated[int, Meta(ge=0, le=limits.LARGEST_ID)]
if TYPE_CHECKING:
    PieceName: TypeAlias = str
    FieldName: TypeAlias = str
else:  # looked up in a sixth of the time that a pattern takes, and always the same text
    PieceName = Literal[tuple(sorted(NOTATIONS))]
    FieldName = Literal[FIELDS]
SeatNumber: TypeAlias = Annotated[int, Meta(ge=0, le=4)]
_FEWEST_SEATS: Final = 2
_MOST_SEATS: Final = 5
PositionNumber: TypeAlias = Annotated[int, Meta(ge=1, le=6)]
OrientationNumber: TypeAlias = Annotated[int, Meta(ge=0, le=5)]
PeopleName: TypeAlias = Annotated[str, Meta(pattern=r"^[ESLMA]\Z")]
TileName: TypeAlias = Annotated[str, Meta(pattern=r"^[A-G]\Z")]
_CODE: Final = rf"^[A-Z]{{{limits.CODE_LENGTH},{limits.PRIVATE_CODE_LENGTH}}}\Z"
TableCode: TypeAlias = Annotated[str, Meta(pattern=_CODE)]
Token: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.TOKEN_LENGTH)]
# One that a client has made: 32 random bytes in base64 for URLs, as the server makes them.
_OWN_TOKEN: Final = rf"^[A-Za-z0-9_-]{{{limits.TOKEN_LENGTH}}}\Z"
OwnToken: TypeAlias = Annotated[str, Meta(pattern=_OWN_TOKEN)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.NAME_LENGTH)]
_LEVEL: Final = rf"^[a-z][a-z0-9-]{{0,{limits.LEVEL_LENGTH - 1}}}\Z"
Level: TypeAlias = Annotated[str, Meta(pattern=_LEVEL)]  # of a bot
TableTitle: TypeAlias = Annotated[str, Meta(max_length=limits.TITLE_LENGTH)]
RemarkNumber: TypeAlias = Annotated[int, Meta(ge=1, le=limits.LARGEST_ID)]
PersonNumber: TypeAlias = Annotated[int, Meta(ge=1, le=limits.LARGEST_ID)]  # in an evening
SpectatorNumber: TypeAlias = Annotated[int, Meta(ge=1, le=limits.LARGEST_ID)]
Seconds: TypeAlias = Annotated[int, Meta(ge=0)]
Milliseconds: TypeAlias = Annotated[int, Meta(ge=0)]
UnixTime: TypeAlias = Annotated[int, Meta(ge=0, lt=2**32)]  # seconds since 1970
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Substitute: TypeAlias = Literal["bot", "clock"]  # why the stand-in moved: it holds the seat, or time was up
Hex32: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]  # 32 bytes
FieldSet: TypeAlias = Annotated[int, Meta(ge=0, lt=2**42)]  # bit i: field i of A1..A6, B1..B6, ... G6
WhySkipped: TypeAlias = Literal["condition", "illegal"]  # a plan, when its turn came
Stage: TypeAlias = Literal["gathering", "playing", "over"]  # of a table
StepNumber: TypeAlias = Annotated[int, Meta(ge=0, le=255)]  # of a finished game, counted as in `Show`
Whereabouts: TypeAlias = Literal["lobby", "playing", "watching"]
CameBy: TypeAlias = Literal["terminal", "text", "ssh", "browser"]  # how somebody reaches the server
NoticeKind: TypeAlias = Literal["mail", "url"]  # where notices go

SCHEMA_NAMES: Final = "#/$defs/{name}"  # where JSON Schema finds a class: see build_schema.py
EVENT_SCHEMA: Final = "Event"
# An event's own map; `protocol.events` checks it.
EventMap: TypeAlias = Annotated[
    dict[str, Any], Meta(extra_json_schema={"$ref": SCHEMA_NAMES.format(name=EVENT_SCHEMA)})
]


class ClientRequest(FromClient, frozen=True):
    """A message of a client with an id, which its answer repeats."""

    id: CommandId


class ServerAnswer(FromServer, frozen=True):
    """The answer to the request with this id."""

    id: CommandId


# What opens a conversation, keeps it up, and answers any request.


class Hello(FromClient, frozen=True, tag="hello"):
    """Open the conversation and offer protocol versions; answered by Welcome.

    A server with a password refuses the conversation without it.
    """

    versions: Annotated[list[int], Meta(min_length=1, max_length=limits.VERSIONS_OFFERED)]
    client: Annotated[str, Meta(max_length=limits.CLIENT_NAME_LENGTH)]
    password: Annotated[str, Meta(max_length=limits.PASSWORD_LENGTH)] | None = None


class Ping(ClientRequest, frozen=True, tag="ping"):
    """Check the connection; answered by Pong."""


class Welcome(FromServer, frozen=True, tag="welcome"):
    """The protocol version to use from now on, and what this server offers.

    `addresses` are those of other servers in the cluster, which take over the tables if this one stops. With
    `own_tokens`, clients may send tokens that they have made; with `growing`, open tables that grow; with
    `invitations`, invite people, and say how they came.
    """

    version: int
    server: str
    levels: Annotated[list[Level], Meta(max_length=limits.LEVELS)] = []
    lobby: bool = False
    addresses: Annotated[
        list[Annotated[str, Meta(max_length=limits.ADDRESS_LENGTH)]], Meta(max_length=limits.ADDRESSES_TOLD)
    ] = []
    turns: bool = False
    evening: bool = False
    notices: list[NoticeKind] = []
    own_tokens: bool = False
    growing: bool = False
    invitations: bool = False


class Done(ServerAnswer, frozen=True, tag="done"):
    """The request with this id has been carried out and stored."""


class Refused(FromServer, frozen=True, tag="refused"):
    """The request was not carried out, and nothing has changed.

    `about` holds the facts in `text` by name, for clients that show it in another language.
    """

    code: str
    text: str
    id: CommandId | None = None
    rule: str | None = None
    versions: list[int] | None = None
    about: dict[str, str] | None = None


class Announced(FromServer, frozen=True, tag="announced"):
    """A message from the operators to everybody on the server or at a table."""

    text: Annotated[str, Meta(min_length=1, max_length=limits.ANNOUNCEMENT_LENGTH)]


class Stopping(FromServer, frozen=True, tag="stopping"):
    """The server stops in this many seconds and opens no more tables; nil means that it does not stop."""

    seconds: Seconds | None = None


class Moved(FromServer, frozen=True, tag="moved"):
    """The server is about to stop; the one at `address` has the client's table, or its place in the lobby."""

    address: str


class Pong(ServerAnswer, frozen=True, tag="pong"):
    """The server is there."""


# The server's lobby: its tables, who is online, and its chat.


class ListTables(ClientRequest, frozen=True, tag="tables"):
    """Ask for the tables that can be joined or watched; answered by Tables."""


class EnterLobby(ClientRequest, frozen=True, tag="lobby"):
    """Appear in the list of who is online, and receive the lobby chat; with None, leave it. Answered by Done.

    The name may belong to a seat whose token is among `tokens`, or to another connection that sent one of
    these. Others see that you came `by` a terminal, in text mode, over ssh or in a browser.
    """

    name: Name | None = None
    tokens: Annotated[list[Token], Meta(max_length=limits.TOKENS_SHOWN)] = []
    by: CameBy | None = None


class SayInLobby(ClientRequest, frozen=True, tag="lobby-say"):
    """Send a chat message to everybody in the lobby; answered by Done."""

    text: Annotated[str, Meta(min_length=1, max_length=limits.CHAT_LENGTH)]


class Invite(ClientRequest, frozen=True, tag="invite"):
    """Invite everybody in the lobby to your table, which waits for players; answered by Done.

    They get a LobbyRemark that names the table.
    """


InLobby: TypeAlias = EnterLobby | SayInLobby | Invite


class TableSummary(Struct, frozen=True, omit_defaults=True):
    """A table in the list. `long_clock` is the policy in force, `absence` the closest for older clients."""

    table: TableCode
    host: str
    players: int
    taken: int
    stage: Stage
    random_layout: bool = False
    absence: Absence = WAIT
    title: TableTitle = ""
    switches: Switches = USUAL
    vacant: int = 0
    bots: int = 0
    deserted: bool = False
    elsewhere: bool = False
    long_clock: LongClock | None = None
    holidays: Count = 0
    study: bool = False

    @property
    def policy(self) -> Absence:
        """Return the absence policy in force."""
        return self.long_clock or self.absence


class Tables(ServerAnswer, frozen=True, tag="tables"):
    """The tables, newest first, deserted ones last."""

    tables: list[TableSummary]


class PersonOnline(Struct, frozen=True, omit_defaults=True):
    """Somebody who is online; anyone at a private table is `playing`, without the table's code."""

    name: str
    at: Whereabouts = "lobby"
    table: TableCode | None = None
    by: CameBy | None = None


class Online(FromServer, frozen=True, tag="online"):
    """The people online, those in the lobby first; `more` counts those who are not in the list.

    It is sent to those who are in the list, in the lobby and at tables that wait for players.
    """

    people: Annotated[list[PersonOnline], Meta(max_length=limits.PEOPLE_LISTED)]
    more: Count = 0


class LobbyRemark(Struct, frozen=True, omit_defaults=True):
    """A chat message in the lobby; no two have the same number.

    With a `table`, it is an invitation to take a seat there. If it was `said_at` a table, that one is in the
    list and waits for players.
    """

    number: RemarkNumber
    name: str
    text: str
    table: TableCode | None = None
    said_at: TableCode | None = None


class SaidInLobby(FromServer, frozen=True, tag="lobby-said"):
    """Chat messages in the lobby, latest last.

    It is sent to those in the lobby and, as far as it concerns no table, at tables in the list that wait for
    players.
    """

    remarks: list[LobbyRemark]


# An evening: people sign up in the lobby, and the server draws who plays with whom.


TakesPart: TypeAlias = Literal["play", "pause", "leave"]  # in an evening


class AskEvening(ClientRequest, frozen=True, tag="evening"):
    """Ask for the server's evening; answered by Done, after an Evening, and another one at each change."""


class SignUp(ClientRequest, frozen=True, tag="sign-up"):
    """Take part in the evening under this name; answered by SignedUp, and followed as by AskEvening.

    The `token` is one that the client has made up. It holds the seat at each of the evening's tables: go
    there with Resume. Whoever signs up again with it is the same person, under the name of before. From then
    on, `new_token` holds the person's place and seats instead, if there is one.
    """

    name: Name
    token: Token
    back: bool = False
    new_token: OwnToken | None = None


class TakePart(ClientRequest, frozen=True, tag="take-part"):
    """Say whether you play in the next rounds, pause, or leave the evening; answered by Done."""

    how: TakesPart


InEvening: TypeAlias = AskEvening | SignUp | TakePart


class SignedUp(ServerAnswer, frozen=True, tag="signed-up"):
    """You are `person` in the evening."""

    person: PersonNumber


class EveningPerson(Struct, frozen=True, omit_defaults=True):
    """Somebody in an evening, with a place in its standings; several share it if they are `tied`.

    `score` is the sum of all games, which decides the place, in hundredths of a percent, and `average` that
    of a game. `against` has for each person met at a table: their number, the games together, and in how
    many of these one finished ahead, and behind.
    """

    person: PersonNumber
    name: str
    takes_part: TakesPart = "play"
    here: bool = False
    place: Count = 0
    tied: bool = False
    average: Count = 0
    games: Count = 0
    wins: Count = 0
    points: Count = 0
    against: list[tuple[PersonNumber, Count, Count, Count]] = []
    score: Count = 0


class EveningTable(Struct, frozen=True, omit_defaults=True):
    """A table of the evening, and who sits where, None for a bot; those who have not come are called."""

    table: TableCode
    round: Count
    stage: Stage
    people: list[PersonNumber | None]


class Evening(FromServer, frozen=True, tag="evening"):
    """The evening's present status: `people` in the order of the standings, and the current `tables`.

    If each table of a round has the `same_draws`, `commitments` are those of the rounds so far and the next
    one.
    """

    name: str
    round: Count = 0
    rounds: Count = 0
    minutes: Count = 0
    seconds: Seconds | None = None
    same_draws: bool = False
    over: bool = False
    people: Annotated[list[EveningPerson], Meta(max_length=limits.EVENING_PEOPLE)] = []
    tables: list[EveningTable] = []
    commitments: list[Hex32] = []
    closed: bool = False


# How clients come to a table, as players or spectators, and leave it.


class OpenTable(ClientRequest, frozen=True, tag="open"):
    """Open a table and take its seat 0 as host; answered by Seated. For `program` see JoinTable.

    The `pledge`, as in JoinTable, Resume and Rematch, is the hash of the share that this client will add to
    the game's draws (see DrawBegins). For `token` see JoinTable, too: the same request sent again leads to
    the same table. If the table `grows`, it has a seat for whoever comes, up to five, until the host starts
    the game; `players` is then how many it has at least.
    """

    players: Annotated[int, Meta(ge=2, le=5)]
    name: Name
    random_layout: bool = False
    starting: SeatNumber | None = None
    absence: Absence = WAIT
    program: bool = False
    switches: ChosenSwitches = ChosenSwitches()
    pledge: Hex32 | None = None
    token: OwnToken | None = None
    grows: bool = False


class JoinTable(ClientRequest, frozen=True, tag="join"):
    """Take a free seat, the first one unless `seat` names it; answered by Seated.

    A `program` does not vote on absent players, and the stand-in plays for it the moment it is away. The
    `token`, which the client has made for this seat alone, will hold it; whoever sends it again has the seat
    already, and gets it back.
    """

    table: TableCode
    name: Name
    seat: SeatNumber | None = None
    program: bool = False
    pledge: Hex32 | None = None
    token: OwnToken | None = None


class Resume(ClientRequest, frozen=True, tag="resume"):
    """Come back to a seat with its token; answered by Seated and everything since event `after`.

    From then on, `new_token` holds the seat instead, if the client sends one that it has made.
    """

    table: TableCode
    token: Token
    after: Seq = 0
    pledge: Hex32 | None = None
    new_token: OwnToken | None = None


class AskTurn(ClientRequest, frozen=True, tag="turn"):
    """Ask for the state of the game at a table where you have a seat, without going there; answered by Turn.

    The `proof` is the SHA-256 hash of the seat's token, so anyone who intercepts it cannot take the seat.
    """

    table: TableCode
    proof: Hex32


class Watch(ClientRequest, frozen=True, tag="watch"):
    """Watch a table as a spectator; answered by Watching and everything since event `after`."""

    table: TableCode
    after: Seq = 0
    name: Name | None = None


class Leave(ClientRequest, frozen=True, tag="leave"):
    """Leave the table; answered by Done. A seat in a running game is kept for its token."""


class Rematch(ClientRequest, frozen=True, tag="rematch"):
    """Play again with the same players after a game; answered by Seated at a new table."""

    pledge: Hex32 | None = None


class Seated(ServerAnswer, frozen=True, tag="seated"):
    """The seat is yours; `token`, sent only once, lets you come back to it.

    `left_at` is the number of the last event when you left, if the game has gone on since.
    """

    table: TableCode
    seat: SeatNumber
    token: Token | None = None
    taken_over: str | None = None
    left_at: Seq | None = None


class Turn(ServerAnswer, frozen=True, tag="turn"):
    """The state of a game where you have a seat; of an `archived` table, only the stage is known."""

    stage: Stage
    seat: SeatNumber | None = None
    turn: SeatNumber | None = None
    name: str | None = None
    clock: Milliseconds | None = None
    archived: bool = False
    planned: bool = False
    paused: bool = False
    paused_until: UnixTime | None = None
    next: TableCode | None = None
    again: list[Name] = []


class Reseated(FromServer, frozen=True, tag="reseated"):
    """You now have this seat at the table; its token is unchanged."""

    seat: SeatNumber


class Watching(ServerAnswer, frozen=True, tag="watching"):
    """You are a spectator of the table."""

    table: TableCode


# Requests at a table other than moves, and the state of the table that everybody there sees.


class Say(ClientRequest, frozen=True, tag="say"):
    """Send a chat message to everybody at the table; answered by Done.

    While a table in the list waits for players, the lobby hears it, too, if you have entered the lobby.
    """

    text: Annotated[str, Meta(min_length=1, max_length=limits.CHAT_LENGTH)]


class Vote(ClientRequest, frozen=True, tag="vote"):
    """Vote for a bot to play for `seat` until its player returns, or withdraw the vote; answered by Done."""

    seat: SeatNumber
    agree: bool


class SayReady(ClientRequest, frozen=True, tag="ready"):
    """Say before the game that you are ready, or take that back; answered by Done."""

    on: bool


class ChangeSeat(ClientRequest, frozen=True, tag="seat"):
    """Move to a free seat before the game; answered by Reseated and Done."""

    seat: SeatNumber


class ChoosePeople(ClientRequest, frozen=True, tag="people"):
    """Choose the people to play, before the game; None withdraws the choice. Answered by Done."""

    people: PeopleName | None


class AskPause(ClientRequest, frozen=True, tag="pause"):
    """Ask for a pause or agree to one; or end it, or withdraw or refuse the request. Answered by Done.

    With `until`, all other people must agree, and the pause ends at that moment.
    """

    on: bool
    until: UnixTime | None = None


Wish: TypeAlias = Literal["pause", "take-back", "more-time"]


class Ask(ClientRequest, frozen=True, tag="ask"):
    """Ask the others for something that TableState.may_ask lists, or agree; or withdraw or refuse it."""

    what: Wish
    on: bool


class TakeHoliday(ClientRequest, frozen=True, tag="holiday"):
    """Stop your clock for days that SeatSummary.holidays still has, or end that; answered by Done."""

    on: bool


class Condition(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a plan depends on: there is a piece on the field by then, of this seat if one is named.

    With `unless`, it depends on the opposite.
    """

    field: FieldName
    seat: SeatNumber | None = None
    unless: bool = False


class PlannedMove(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A placement for your next turn, maybe on a condition."""

    piece: PieceName
    field: FieldName
    condition: Condition | None = None


class Plan(ClientRequest, frozen=True, tag="plan"):
    """Have a piece placed when your turn comes, if that is legal then; answered by Planned and Done.

    Of several `plans`, the first is made whose condition holds and which is legal. One without condition is
    sent as piece and field, as older servers know it. Without any, all plans are removed, as by any move of
    yours.
    """

    piece: PieceName | None = None
    field: FieldName | None = None
    plans: Annotated[tuple[PlannedMove, ...], Meta(max_length=limits.MOST_PLANS)] = ()

    @property
    def moves(self) -> tuple[PlannedMove, ...]:
        return moves_planned(self.piece, self.field, self.plans)


class PlanPlayed(Struct, frozen=True, omit_defaults=True):
    """Your plans up to the one that was played, the last, with why each before it was `skipped`."""

    tried: tuple[PlannedMove, ...]
    skipped: tuple[WhySkipped, ...] = ()


class Planned(FromServer, frozen=True, tag="planned"):
    """Your plans in the form of Plan, or what was `played` from them; sent to you alone."""

    piece: PieceName | None = None
    field: FieldName | None = None
    plans: tuple[PlannedMove, ...] = ()
    played: PlanPlayed | None = None

    @property
    def moves(self) -> tuple[PlannedMove, ...]:
        return moves_planned(self.piece, self.field, self.plans)


def moves_planned(
    piece: str | None, field: str | None, plans: Sequence[PlannedMove]
) -> tuple[PlannedMove, ...]:
    """Return the plans in a message or an entry, where one without condition is a piece and a field."""
    if piece is None or field is None:
        return tuple(plans)
    return (PlannedMove(piece, field),)


class PlanFields(TypedDict, total=False):
    """The fields of plans in a message or an entry."""

    piece: str
    field: str
    plans: tuple[PlannedMove, ...]


def plan_fields(moves: Sequence[PlannedMove]) -> PlanFields:
    """Return plans as the fields that `moves_planned` reads."""
    match moves:
        case [PlannedMove(piece, field, None)]:
            return {"piece": piece, "field": field}
        case _:
            return {"plans": tuple(moves)} if moves else {}


class Show(ClientRequest, frozen=True, tag="show"):
    """Lead through the finished game: those who follow go to this step too. Answered by Done.

    Step n is the game after n moves: tiles laid and pieces placed. Then come the steps of the scoring: one
    for each event, and before a hill is scored one for each of its pieces. With None, stop leading.
    """

    step: StepNumber | None = None


class Seen(ClientRequest, frozen=True, tag="seen"):
    """Say that you have seen the finished game up to this step, counted as in Show; answered by Done."""

    step: StepNumber


class Study(ClientRequest, frozen=True, tag="study"):
    """Open a new table where the finished game goes on from this step; answered by Done.

    All its seats are vacant: anybody may take them over, also whoever asked. TableState.studied names it.
    """

    step: StepNumber


class CallMe(ClientRequest, frozen=True, tag="call-me"):
    """Leave an e-mail address or a URL for notices while you are away, or None; answered by Done.

    The server sends a confirmation code there, in this language, and reports it in Notices.
    """

    to: Annotated[str, Meta(min_length=1, max_length=limits.ADDRESS_LENGTH)] | None = None
    language: Annotated[str, Meta(pattern=r"^[a-z]{2}\Z")] = "en"


class ConfirmCall(ClientRequest, frozen=True, tag="confirm-call"):
    """Confirm the address left in CallMe with the code that was sent there; answered by Done."""

    digits: Annotated[str, Meta(pattern=rf"^[0-9]{{{limits.NOTICE_CODE_LENGTH}}}\Z")]


class Notices(FromServer, frozen=True, tag="notices"):
    """Where your notices go, sent to you alone when it changes and when you come to the table."""

    state: Literal["none", "unconfirmed", "unreachable", "confirmed"]
    kind: NoticeKind | None = None


class Standing(Struct, frozen=True, omit_defaults=True):
    """A player's totals over consecutive games; a shared victory counts for every winner."""

    games: Count = 0
    wins: Count = 0
    points: Count = 0


NEWCOMER: Final = Standing()


class SeatSummary(Struct, frozen=True, omit_defaults=True):
    """A seat as others see it, at the time of sending: no name while it is free.

    `seconds_left`, `votes`, `votes_needed` and `clock` follow from the absence policy. The player of a
    `vacant` seat was removed from the running game, and somebody else may take the seat over.
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
    holidays: Count = 0
    holiday_until: UnixTime | None = None


class SpectatorSummary(Struct, frozen=True, omit_defaults=True):
    """A spectator as others see them; the number is unique at this table, even among past spectators."""

    number: SpectatorNumber
    name: str | None = None


class PauseSummary(Struct, frozen=True, omit_defaults=True):
    """Who paused the game, how many seconds ago, and in how many seconds it resumes automatically."""

    seat: SeatNumber
    seconds: Seconds
    seconds_left: Seconds
    until: UnixTime | None = None


class Asked(Struct, frozen=True, omit_defaults=True):
    """The request of the first of `seats`, and the seats that agree; `refused` is the seat that refused.

    If that is the first seat itself, the request was withdrawn. `granted` marks a request that was agreed to.
    """

    what: Wish
    seats: list[SeatNumber]
    refused: SeatNumber | None = None
    granted: bool = False
    until: UnixTime | None = None

    @property
    def open(self) -> bool:
        return self.refused is None and not self.granted


class Shown(Struct, frozen=True, omit_defaults=True):
    """The step of the finished game to which a player or a spectator leads the others.

    `seen` are the seats of the others whose players have said that they have seen it.
    """

    step: StepNumber
    seat: SeatNumber | None = None
    spectator: SpectatorNumber | None = None
    seen: list[SeatNumber] = []


class Studied(Struct, frozen=True):
    """The last study that was opened here: at which table, and from which step, by the player of the seat."""

    table: TableCode
    step: StepNumber
    seat: SeatNumber


class TableState(FromServer, frozen=True, tag="table"):
    """Who sits where, sent whenever it changes; of the `long_clock` see TableSummary.

    `ended` says that the host ended the game, which then has no result. While the game is `paused`, nobody
    may move. `turn_limit` is the maximum length of a turn until a clock starts with the next round. A table
    that `grows` adds a seat for whoever comes. `still_asked` are the seats whose consent the request lacks.
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
    switches: Switches = USUAL
    starting: SeatNumber | None = None
    watching: list[SpectatorSummary] = []
    ended: bool = False
    paused: PauseSummary | None = None
    pause_asked: list[SeatNumber] = []
    turn_limit: Seconds | None = None
    long_clock: LongClock | None = None
    asked: Asked | None = None
    may_ask: list[Wish] = []
    shown: Shown | None = None
    holidays: Count = 0
    study: bool = False
    studied: Studied | None = None
    grows: bool = False
    still_asked: list[SeatNumber] = []

    @property
    def policy(self) -> Absence:
        """Return the absence policy in force."""
        return self.long_clock or self.absence

    @property
    def taken(self) -> int:
        """Return how many seats have a player, or are kept for one."""
        return sum(each.name is not None for each in self.seats)

    @property
    def room(self) -> int:
        """Return for how many more players there is a seat."""
        return (_MOST_SEATS if self.grows else len(self.seats)) - self.taken

    @property
    def has_seat(self) -> bool:
        """Return whether a newcomer gets a seat before the game: bots make room for people."""
        return self.room > 0 or any(each.level is not None for each in self.seats)

    @property
    def can_start(self) -> bool:
        """Return whether all players that the game needs are here."""
        enough = self.taken >= _FEWEST_SEATS if self.grows else not self.room
        return enough and not any(each.kept for each in self.seats)


class Said(FromServer, frozen=True, tag="said"):
    """A chat message, from a seat or a spectator, with the `number` that it has in SaidBefore."""

    text: str
    seat: SeatNumber | None = None
    spectator: SpectatorNumber | None = None
    number: RemarkNumber | None = None


class TableRemark(Struct, frozen=True, omit_defaults=True):
    """A chat message as it was sent in Said, with its speaker's name at the time.

    If you have come back to your seat, those that you `missed` came while you were away.
    """

    number: RemarkNumber
    text: str
    seat: SeatNumber | None = None
    spectator: SpectatorNumber | None = None
    name: str | None = None
    missed: bool = False


class SaidBefore(FromServer, frozen=True, tag="said-before"):
    """The last chat messages that you were allowed to read, sent when you come to the table."""

    remarks: list[TableRemark]


# Requests that only the host of a table may make.


class ChangeSetting(ClientRequest, frozen=True, tag="set"):
    """Change a setting of the table (host only); answered by Done."""

    setting: Setting


class SeatBot(ClientRequest, frozen=True, tag="bot"):
    """Seat a bot of the server before the game (host only); answered by Done.

    It takes `seat`, or the first free seat, and plays at one of the levels in Welcome.
    """

    level: Level
    seat: SeatNumber | None = None


class Remove(ClientRequest, frozen=True, tag="remove"):
    """Remove the player of a seat, or a bot (host only); answered by Done.

    In a running game, the player must be away; somebody else may then take the seat over.
    """

    seat: SeatNumber


class Dismiss(ClientRequest, frozen=True, tag="dismiss"):
    """Remove a spectator (host only); answered by Done."""

    spectator: SpectatorNumber


class HandOver(ClientRequest, frozen=True, tag="host"):
    """Make the player of a seat the host (host only); answered by Done."""

    seat: SeatNumber


class Arrange(ClientRequest, frozen=True, tag="arrange"):
    """Rearrange the players before the game (host only); answered by Done.

    Seat i goes to the player of seat `order[i]`; with None, the server shuffles them.
    """

    order: Annotated[tuple[SeatNumber, ...], Meta(min_length=2, max_length=5)] | None = None


class SubstituteNow(ClientRequest, frozen=True, tag="stand-in"):
    """Let the stand-in play for a player who has been away for a while (host only); answered by Done."""

    seat: SeatNumber


class EndGame(ClientRequest, frozen=True, tag="end"):
    """End the running game without a result (host only); answered by Done."""


# The game: its draws, its moves, what happened, and its record.


class StartGame(ClientRequest, frozen=True, tag="start"):
    """Start the game when every seat is taken; only the host may. Answered by Events with the id."""


class AddShare(ClientRequest, frozen=True, tag="share"):
    """Reveal the pledged share, in reply to DrawBegins with this commitment; answered by Done.

    The new `pledge` is for the next draw at this table, in case this one is aborted.
    """

    commitment: Hex32
    share: Hex32
    pledge: Hex32


class Lay(ClientRequest, frozen=True, tag="lay"):
    """Lay the tile just drawn; answered by Events with the id."""

    position: PositionNumber
    orientation: OrientationNumber


class PlacePiece(ClientRequest, frozen=True, tag="place"):
    """Place a piece from the hand; answered by Events with the id."""

    piece: PieceName
    field: FieldName


class Sync(ClientRequest, frozen=True, tag="sync"):
    """Ask for the events after `after`; answered by Events or a Snapshot, and Done."""

    after: Seq = 0


class GetRecord(ClientRequest, frozen=True, tag="record"):
    """Ask for the record of the table's finished game; answered by Record."""


class Lays(Struct, frozen=True, tag_field="t", tag="lay"):
    """Any of these positions with any of these orientations may be laid."""

    positions: Annotated[list[PositionNumber], Meta(min_length=1)]
    orientations: Annotated[list[OrientationNumber], Meta(min_length=1)]


class Places(Struct, frozen=True, tag_field="t", tag="place"):
    """Any of these pieces may be placed on any of these fields."""

    pieces: Annotated[list[PieceName], Meta(min_length=1)]
    fields: FieldSet


LegalMoves: TypeAlias = Lays | Places


class DrawBegins(FromServer, frozen=True, tag="draw"):
    """The game is about to start: the server is committed to its seed, and the clients to these shares.

    A client that finds its pledge at its seat answers with AddShare (see docs/fairness.md).
    """

    commitment: Hex32
    pledges: list[Hex32 | None]


class Snapshot(FromServer, frozen=True, tag="snapshot"):
    """The game as you may know it after event `seq`; `legal` only if it is your turn.

    `stood_in` lists the numbers of the events in which the stand-in moved for a player's seat. `missed` has
    the events until `seq` that you lack, if a move was taken back among them: older clients do not know that.
    """

    seq: Seq
    phase: Literal["laying", "placing", "over"]
    started: EventMap
    tiles: Annotated[list[tuple[TileName, OrientationNumber] | None], Meta(min_length=7, max_length=7)]
    laurels: dict[TileName, str]
    placed: list[tuple[SeatNumber, str, FieldName]]
    turn: SeatNumber | None = None
    drawn: TileName | None = None
    hand: dict[PieceName, int] | None = None
    scoring: list[EventMap] = []
    legal: LegalMoves | None = None
    clock: Milliseconds | None = None
    stood_in: list[Seq] = []
    missed: list[EventMap] = []
    laid_by: Annotated[list[SeatNumber | None], Meta(max_length=7)] = []


class Events(FromServer, frozen=True, tag="events"):
    """What happened: the first of `events` has the number `seq`. With `id`, this also answers your move.

    `by` says why the stand-in made the move; when several moves are sent again, `stood_in` has the numbers of
    those that it made. `clock` is what the seat whose turn it is had left when the message was sent.
    """

    seq: Seq
    events: list[EventMap]
    turn: SeatNumber | None = None
    legal: LegalMoves | None = None
    id: CommandId | None = None
    by: Substitute | None = None
    clock: Milliseconds | None = None
    stood_in: list[Seq] = []


class Record(ServerAnswer, frozen=True, tag="record"):
    """The record of the table's finished game (docs/record.md), line by line."""

    lines: list[str]

    @property
    def text(self) -> str:
        """Return the record as the text of a file."""
        return "".join(f"{line}\n" for line in self.lines)


# Who sends what.

MOVES: Final = (PlacePiece, Lay)  # most messages: for isinstance, as Python's `match` makes a set each time

_AtGame: TypeAlias = StartGame | AddShare | Plan | Sync | Show | Seen | Study
_Beside: TypeAlias = Say | Vote | AskPause | Ask | TakeHoliday | CallMe | ConfirmCall | Leave
_BeforeGame: TypeAlias = SayReady | ChangeSeat | ChoosePeople
_OfHost: TypeAlias = ChangeSetting | SeatBot | Remove | Dismiss | HandOver | Arrange | SubstituteNow | EndGame
BesideMoves: TypeAlias = _AtGame | _Beside | _BeforeGame | _OfHost
AtTable: TypeAlias = Lay | PlacePiece | BesideMoves
Seating: TypeAlias = OpenTable | JoinTable | Resume | Rematch  # answered by Seated
_ToTable: TypeAlias = OpenTable | JoinTable | Resume | AskTurn | Watch | Rematch
ClientMessage: TypeAlias = Hello | Ping | ListTables | InLobby | InEvening | _ToTable | AtTable | GetRecord

News: TypeAlias = Announced | Stopping  # what every client tells its player in a sentence
_ToAnybody: TypeAlias = Welcome | Pong | Done | Refused | News | Moved
_ToLobby: TypeAlias = Tables | Online | SaidInLobby | Evening | SignedUp
_OfTable: TypeAlias = Seated | Reseated | Turn | Watching | TableState | Planned | Said | SaidBefore | Notices
_OfGame: TypeAlias = DrawBegins | Snapshot | Events | Record
ServerMessage: TypeAlias = _ToAnybody | _ToLobby | _OfTable | _OfGame

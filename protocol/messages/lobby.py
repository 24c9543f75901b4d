"""The server's lobby: its tables, who is online, and what is said there."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from protocol.absence import WAIT, Absence
from protocol.limits import CHAT_LENGTH, PEOPLE_LISTED, TOKENS_SHOWN
from protocol.messages.bases import FromClient, FromServer, hiding_secrets
from protocol.messages.fields import (
    CommandId,
    Count,
    Name,
    RemarkNumber,
    Stage,
    TableCode,
    TableTitle,
    Token,
    Whereabouts,
)


class ListTables(FromClient, frozen=True, tag="tables"):
    """Ask for the tables that can be joined or watched; answered by Tables."""

    id: CommandId


class EnterLobby(FromClient, frozen=True, tag="lobby"):
    """Be listed among those who are online, under a name of one's own, and hear the lobby; answered by Done.

    None takes that back. The name may be that of a seat whose token is among `tokens`, or of another
    connection that has given one of these.
    """

    id: CommandId
    name: Name | None = None
    tokens: Annotated[list[Token], Meta(max_length=TOKENS_SHOWN)] = []

    def __repr__(self) -> str:
        return hiding_secrets(self)


class SayInLobby(FromClient, frozen=True, tag="lobby-say"):
    """Send a chat message to everybody who hears the lobby, from there; answered by Done."""

    id: CommandId
    text: Annotated[str, Meta(min_length=1, max_length=CHAT_LENGTH)]


InLobby: TypeAlias = EnterLobby | SayInLobby


class TableSummary(Struct, frozen=True, omit_defaults=True):
    """A table in the list: `stage` is gathering, playing or over.

    `vacant` counts the seats of a running game that somebody may take over, `bots` those of the taken seats
    that are held by bots of the server: before the game, people may take them. A table is `deserted` while
    none of its players is connected, and `elsewhere` if it is at another server of the same house.
    """

    table: TableCode
    host: str
    players: int
    taken: int
    stage: Stage
    random_layout: bool = False
    absence: Absence = WAIT
    title: TableTitle = ""
    no_spectators: bool = False
    vacant: int = 0
    bots: int = 0
    hints: bool = False
    deserted: bool = False
    elsewhere: bool = False


class Tables(FromServer, frozen=True, tag="tables"):
    """The tables, newest first; deserted ones come after all others."""

    id: CommandId
    tables: list[TableSummary]


class PersonOnline(Struct, frozen=True, omit_defaults=True):
    """Somebody who is online; at a private table always `playing`, and without the table's code."""

    name: str
    at: Whereabouts = "lobby"
    table: TableCode | None = None


class Online(FromServer, frozen=True, tag="online"):
    """Who is online, first those in the lobby; `more` counts those for whom the list has no room."""

    people: Annotated[list[PersonOnline], Meta(max_length=PEOPLE_LISTED)]
    more: Count = 0


class LobbyRemark(Struct, frozen=True):
    """What somebody said in the lobby; no two remarks have the same number."""

    number: RemarkNumber
    name: str
    text: str


class SaidInLobby(FromServer, frozen=True, tag="lobby-said"):
    """What was said in the lobby, the latest last."""

    remarks: list[LobbyRemark]

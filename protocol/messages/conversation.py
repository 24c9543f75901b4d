"""What opens a conversation, keeps it up, and answers any request."""

from typing import Annotated

from msgspec import Meta

from protocol.limits import (
    ADDRESS_LENGTH,
    ADDRESSES_TOLD,
    ANNOUNCEMENT_LENGTH,
    CLIENT_NAME_LENGTH,
    LEVELS,
    PASSWORD_LENGTH,
    VERSIONS_OFFERED,
)
from protocol.messages.bases import FromClient, FromServer, hiding_secrets
from protocol.messages.fields import CommandId, Level, Seconds


class Hello(FromClient, frozen=True, tag="hello"):
    """Open the conversation with the protocol versions spoken; answered by Welcome.

    A server that has a password refuses the conversation without it.
    """

    versions: Annotated[list[int], Meta(min_length=1, max_length=VERSIONS_OFFERED)]
    client: Annotated[str, Meta(max_length=CLIENT_NAME_LENGTH)]
    password: Annotated[str, Meta(max_length=PASSWORD_LENGTH)] | None = None

    def __repr__(self) -> str:
        return hiding_secrets(self)


class Ping(FromClient, frozen=True, tag="ping"):
    """Check the connection; answered by Pong."""

    id: CommandId


class Welcome(FromServer, frozen=True, tag="welcome"):
    """The protocol version to use from here on, and the levels of the bots that the server seats, if any.

    The levels are in the order in which a menu should offer them, the weakest first. `lobby` tells whether
    the server has a list of who is online, and a chat in the lobby. `addresses` are those of other servers of
    the same house: what is here is there, too, if this one is gone. `turns` tells whether the server answers
    AskTurn.
    """

    version: int
    server: str
    levels: Annotated[list[Level], Meta(max_length=LEVELS)] = []
    lobby: bool = False
    addresses: Annotated[
        list[Annotated[str, Meta(max_length=ADDRESS_LENGTH)]], Meta(max_length=ADDRESSES_TOLD)
    ] = []
    turns: bool = False


class Done(FromServer, frozen=True, tag="done"):
    """The request with this id has been carried out and stored."""

    id: CommandId


class Refused(FromServer, frozen=True, tag="refused"):
    """The request was not carried out and nothing has changed.

    `rule` is the section of the rules that forbids it.
    `about` holds the facts in `text` by name, for clients that show it in another language.
    """

    code: str
    text: str
    id: CommandId | None = None
    rule: str | None = None
    versions: list[int] | None = None
    about: dict[str, str] | None = None


class Announced(FromServer, frozen=True, tag="announced"):
    """What the people who run the server have to say to everybody on it, or to everybody at a table."""

    text: Annotated[str, Meta(min_length=1, max_length=ANNOUNCEMENT_LENGTH)]


class Stopping(FromServer, frozen=True, tag="stopping"):
    """The server stops in so many seconds, and opens no more tables; nil takes that back."""

    seconds: Seconds | None = None


class Moved(FromServer, frozen=True, tag="moved"):
    """The server is about to stop; the client's table, or place in the lobby, is at the one at `address`."""

    address: str


class Pong(FromServer, frozen=True, tag="pong"):
    """The server is there."""

    id: CommandId

"""What a connection tells the program that uses it, and what a bot suggests to a player."""

from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from client.tables.table import TableUpdate
from engine.events import Command
from protocol.messages import (
    Announced,
    LobbyRemark,
    Online,
    PersonOnline,
    SaidInLobby,
    ServerMessage,
    Stopping,
)
from protocol.text import printable


class Suggestion(Struct, frozen=True):
    """The move, and in words why; the reason is empty where what the move brings says enough."""

    command: Command
    reason: str = ""


class Lost(Struct, frozen=True):
    """The connection broke; another attempt follows in `retry_in` seconds."""

    reason: str
    retry_in: float


class Back(Struct, frozen=True):
    """The connection and the place at the table are back."""


class Closed(Struct, frozen=True):
    """The connection is closed for good; `code` is the server's close code, if it sent one."""

    code: int | None
    reason: str


class Announcement(Struct, frozen=True):
    """What the people who run the server have to say; the text is safe to show."""

    text: str


class ServerStops(Struct, frozen=True):
    """The server stops in so many seconds; None takes that back."""

    seconds: int | None


class OnlineChanged(Struct, frozen=True):
    """Who is online, as far as the list has room, and how many more are; the names are safe to show."""

    people: tuple[PersonOnline, ...]
    more: int


class HeardInLobby(Struct, frozen=True):
    """What was said in the lobby, the latest last; names and texts are safe to show."""

    remarks: tuple[LobbyRemark, ...]


Update: TypeAlias = (
    TableUpdate | Lost | Back | Closed | Announcement | ServerStops | OnlineChanged | HeardInLobby
)


def news_of_server(message: ServerMessage) -> tuple[Update, ...]:
    """Return what a message tells that is not about a table; all is safe to show."""
    match message:
        case Announced(text):
            return (Announcement(printable(text)),)
        case Stopping(seconds):
            return (ServerStops(seconds),)
        case Online(people, more):
            return (OnlineChanged(tuple(map(_safe_person, people)), more),)
        case SaidInLobby(remarks):
            return (HeardInLobby(tuple(map(_safe_remark, remarks))),)
        case _:
            return ()


def _safe_person(person: PersonOnline) -> PersonOnline:
    return replace(person, name=printable(person.name))


def _safe_remark(remark: LobbyRemark) -> LobbyRemark:
    return replace(remark, name=printable(remark.name), text=printable(remark.text))

"""Every message, as a class; the fields' types are the schema that both sides check strictly.

A frame is one msgpack map with the message's tag under `t`. docs/protocol.md describes them
and is checked against this package.
"""

from typing import TypeAlias

from protocol.messages.bases import hiding_secrets
from protocol.messages.conversation import (
    Announced,
    Done,
    Hello,
    Moved,
    Ping,
    Pong,
    Refused,
    Stopping,
    Welcome,
)
from protocol.messages.fields import (
    EVENT_SCHEMA,
    SCHEMA_NAMES,
    CommandId,
    Count,
    EventMap,
    FieldName,
    FieldSet,
    Hex32,
    Level,
    Milliseconds,
    Name,
    OrientationNumber,
    PeopleName,
    PieceName,
    PositionNumber,
    RemarkNumber,
    SeatNumber,
    Seconds,
    Seq,
    SpectatorNumber,
    Stage,
    Substitute,
    TableCode,
    TableTitle,
    TileName,
    Token,
    Whereabouts,
)
from protocol.messages.game import (
    AddShare,
    DrawBegins,
    Events,
    GetRecord,
    Lay,
    Lays,
    LegalMoves,
    PlacePiece,
    Places,
    Record,
    Snapshot,
    StartGame,
    Sync,
)
from protocol.messages.host import (
    Arrange,
    ChangeSetting,
    Dismiss,
    EndGame,
    HandOver,
    HostRequest,
    Remove,
    SeatBot,
    SubstituteNow,
)
from protocol.messages.lobby import (
    EnterLobby,
    InLobby,
    ListTables,
    LobbyRemark,
    Online,
    PersonOnline,
    SaidInLobby,
    SayInLobby,
    Tables,
    TableSummary,
)
from protocol.messages.seats import (
    AskTurn,
    JoinTable,
    Leave,
    OpenTable,
    Rematch,
    Reseated,
    Resume,
    Seated,
    Turn,
    Watch,
    Watching,
)
from protocol.messages.table import (
    NEWCOMER,
    AskPause,
    ChangeSeat,
    ChoosePeople,
    PauseSummary,
    PlayerRequest,
    Said,
    SaidBefore,
    Say,
    SayReady,
    SeatSummary,
    SpectatorSummary,
    Standing,
    TableRemark,
    TableState,
    Vote,
)

__all__ = [
    "EVENT_SCHEMA",
    "NEWCOMER",
    "SCHEMA_NAMES",
    "AddShare",
    "Announced",
    "Arrange",
    "AskPause",
    "AskTurn",
    "AtTable",
    "ChangeSeat",
    "ChangeSetting",
    "ChoosePeople",
    "ClientMessage",
    "CommandId",
    "Count",
    "Dismiss",
    "Done",
    "DrawBegins",
    "EndGame",
    "EnterLobby",
    "EventMap",
    "Events",
    "FieldName",
    "FieldSet",
    "GetRecord",
    "HandOver",
    "Hello",
    "Hex32",
    "HostRequest",
    "InLobby",
    "JoinTable",
    "Lay",
    "Lays",
    "Leave",
    "LegalMoves",
    "Level",
    "ListTables",
    "LobbyRemark",
    "Milliseconds",
    "Moved",
    "Name",
    "Online",
    "OpenTable",
    "OrientationNumber",
    "PauseSummary",
    "PeopleName",
    "PersonOnline",
    "PieceName",
    "Ping",
    "PlacePiece",
    "Places",
    "PlayerRequest",
    "Pong",
    "PositionNumber",
    "Record",
    "Refused",
    "RemarkNumber",
    "Rematch",
    "Remove",
    "Reseated",
    "Resume",
    "Said",
    "SaidBefore",
    "SaidInLobby",
    "Say",
    "SayInLobby",
    "SayReady",
    "SeatBot",
    "SeatNumber",
    "SeatSummary",
    "Seated",
    "Seconds",
    "Seq",
    "ServerMessage",
    "Snapshot",
    "SpectatorNumber",
    "SpectatorSummary",
    "Stage",
    "Standing",
    "StartGame",
    "Stopping",
    "Substitute",
    "SubstituteNow",
    "Sync",
    "TableCode",
    "TableRemark",
    "TableState",
    "TableSummary",
    "TableTitle",
    "Tables",
    "TileName",
    "Token",
    "Turn",
    "Vote",
    "Watch",
    "Watching",
    "Welcome",
    "Whereabouts",
    "hiding_secrets",
]

AtTable: TypeAlias = (
    StartGame
    | AddShare
    | Lay
    | PlacePiece
    | Sync
    | Say
    | Vote
    | AskPause
    | PlayerRequest
    | HostRequest
    | Leave
)
ClientMessage: TypeAlias = (
    Hello
    | ListTables
    | InLobby
    | OpenTable
    | JoinTable
    | Resume
    | AskTurn
    | Watch
    | AtTable
    | Rematch
    | GetRecord
    | Ping
)
ServerMessage: TypeAlias = (
    Welcome
    | Tables
    | Seated
    | Reseated
    | Turn
    | Watching
    | TableState
    | DrawBegins
    | Snapshot
    | Events
    | Done
    | Refused
    | Record
    | Said
    | SaidBefore
    | Online
    | SaidInLobby
    | Announced
    | Stopping
    | Moved
    | Pong
)

"""Stable codes: why a message was refused, and why a connection was closed."""

import enum
from typing import Final


class Code(enum.StrEnum):
    """Why the server refused a message. The engine's `Fault` values come beside these."""

    BAD_MESSAGE = "bad-message"
    NO_COMMON_VERSION = "no-common-version"
    HELLO_FIRST = "hello-first"
    HELLO_TWICE = "hello-twice"
    PASSWORD_NEEDED = "password-needed"
    BAD_PASSWORD = "bad-password"
    ID_REUSED = "id-reused"
    NAME_UNPRINTABLE = "name-unprintable"
    NAME_TOO_MANY_MARKS = "name-too-many-marks"
    NAME_BLANK = "name-blank"
    NAME_NOT_COMPOSED = "name-not-composed"
    NAME_MIXED_ALPHABETS = "name-mixed-alphabets"
    NAME_TAKEN = "name-taken"
    NAME_IN_USE = "name-in-use"
    TEXT_UNPRINTABLE = "text-unprintable"
    TEXT_TOO_MANY_MARKS = "text-too-many-marks"
    TEXT_BLANK = "text-blank"
    TEXT_NOT_COMPOSED = "text-not-composed"
    TOO_MUCH_CHAT = "too-much-chat"
    NO_LOBBY_CHAT = "no-lobby-chat"
    NOT_IN_LOBBY = "not-in-lobby"
    TOO_MANY_TABLES = "too-many-tables"
    TOO_MANY_SEATS = "too-many-seats"
    TOO_SOON = "too-soon"
    SERVER_STOPPING = "server-stopping"
    NO_SUCH_TABLE = "no-such-table"
    TABLE_ELSEWHERE = "table-elsewhere"
    TABLE_DAMAGED = "table-damaged"
    TOO_MANY_GUESSES = "too-many-guesses"
    TABLE_CLOSED = "table-closed"
    CLOSED_BY_SERVER = "closed-by-server"
    REMOVED_BY_SERVER = "removed-by-server"
    TABLE_FULL = "table-full"
    SPECTATORS_FULL = "spectators-full"
    NO_SPECTATORS = "no-spectators"
    REMOVED = "removed"
    REMOVED_NEARBY = "removed-nearby"
    KNOWS_ANOTHER_HAND = "knows-another-hand"
    NO_SUCH_SEAT = "no-such-seat"
    SEAT_TAKEN = "seat-taken"
    NO_FREE_SEAT = "no-free-seat"
    PEOPLE_TAKEN = "people-taken"
    BAD_TOKEN = "bad-token"
    AT_A_TABLE = "at-a-table"
    NOT_AT_A_TABLE = "not-at-a-table"
    LEFT_THE_TABLE = "left-the-table"
    NOT_A_PLAYER = "not-a-player"
    NOT_THE_HOST = "not-the-host"
    NOT_YOURSELF = "not-yourself"
    NOBODY_THERE = "nobody-there"
    NO_SUCH_SPECTATOR = "no-such-spectator"
    NO_BOTS = "no-bots"
    NO_SUCH_LEVEL = "no-such-level"
    NOT_A_PERSON = "not-a-person"
    SEATS_EMPTY = "seats-empty"
    SEAT_KEPT = "seat-kept"
    ALREADY_STARTED = "already-started"
    GAME_RUNNING = "game-running"
    GAME_FINISHED = "game-finished"
    NOT_STARTED = "not-started"
    PAUSED = "paused"
    NOT_PAUSED = "not-paused"
    NO_PAUSES_LEFT = "no-pauses-left"
    PAUSE_GOES_ON = "pause-goes-on"
    TIME_UP = "time-up"
    NO_VOTE = "no-vote"
    PROGRAMS_DO_NOT_VOTE = "programs-do-not-vote"
    BOT_PLAYS_ALREADY = "bot-plays-already"
    NOT_OVER = "not-over"
    NOT_AWAY = "not-away"
    TOO_EARLY = "too-early"
    NOT_STORED = "not-stored"


# Without the id of a request, they say that the client is at its table no longer.
SENT_AWAY: Final = frozenset(
    {
        Code.TABLE_CLOSED,
        Code.CLOSED_BY_SERVER,
        Code.REMOVED_BY_SERVER,
        Code.REMOVED,
        Code.NO_SPECTATORS,
        Code.SPECTATORS_FULL,
    }
)


class CloseCode(enum.IntEnum):
    """Why the server closed the connection (RFC 6455, 7.4; the IANA registry for 1012 and 1013)."""

    NORMAL = 1000
    GOING_AWAY = 1001
    UNSUPPORTED_DATA = 1003
    POLICY_VIOLATION = 1008
    SERVICE_RESTART = 1012  # another server may have the table: connect again
    TAKEN_OVER = 4000  # the same seat token came in on another connection


class CloseReason(enum.StrEnum):
    """The reason that comes with a close code."""

    IDLE = "idle"
    STOPPING = "stopping"
    TEXT_FRAME = "text-frame"
    NO_HELLO = "no-hello"
    HELLO_FIRST = "hello-first"
    NO_COMMON_VERSION = "no-common-version"
    NO_PASSWORD = "no-password"
    WRONG_PASSWORD = "wrong-password"
    TOO_MANY_BAD_MESSAGES = "too-many-bad-messages"
    TOO_MANY_WRONG_TOKENS = "too-many-wrong-tokens"
    TAKEN_OVER = "taken-over"
    TABLE_MOVED = "table-moved"

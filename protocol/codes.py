"""Stable codes: why a message was refused, and why a connection was closed."""

import enum


class Code(enum.StrEnum):
    """Why the server refused a message. The engine's `Fault` values come beside these."""

    BAD_MESSAGE = "bad-message"
    NO_COMMON_VERSION = "no-common-version"
    HELLO_FIRST = "hello-first"
    HELLO_TWICE = "hello-twice"
    PASSWORD_NEEDED = "password-needed"
    BAD_PASSWORD = "bad-password"
    ID_REUSED = "id-reused"
    BAD_NAME = "bad-name"
    NAME_TAKEN = "name-taken"
    BAD_TEXT = "bad-text"
    TOO_MANY_TABLES = "too-many-tables"
    TOO_SOON = "too-soon"
    NO_SUCH_TABLE = "no-such-table"
    TABLE_FULL = "table-full"
    SEAT_TAKEN = "seat-taken"
    BAD_TOKEN = "bad-token"
    AT_A_TABLE = "at-a-table"
    NOT_AT_A_TABLE = "not-at-a-table"
    NOT_A_PLAYER = "not-a-player"
    NOT_THE_HOST = "not-the-host"
    SEATS_EMPTY = "seats-empty"
    ALREADY_STARTED = "already-started"
    NOT_STARTED = "not-started"
    TIME_UP = "time-up"
    NO_VOTE = "no-vote"
    NOT_OVER = "not-over"
    NOT_AWAY = "not-away"
    TOO_EARLY = "too-early"
    NOT_STORED = "not-stored"


class CloseCode(enum.IntEnum):
    """Why the server closed the connection (RFC 6455, 7.4; the IANA registry for 1012 and 1013)."""

    NORMAL = 1000
    GOING_AWAY = 1001
    UNSUPPORTED_DATA = 1003
    POLICY_VIOLATION = 1008
    TAKEN_OVER = 4000  # the same seat token came in on another connection

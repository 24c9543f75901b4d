"""What cannot be done, in words: the command line has the same sentences, and translates them."""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from engine.errors import Template
from server.errors import HostError


class FailureCode(enum.StrEnum):
    """Why a request over the admin socket was not carried out; the codes of refusals come beside these."""

    BAD_REQUEST = "bad-request"
    OTHER_VERSION = "other-version"
    BAD_TOKEN = "bad-admin-token"
    BUSY = "busy"
    JOURNAL = "journal"
    FAILED = "failed"
    NOTHING_STORED = "nothing-stored"
    BACKUP_RUNS = "backup-runs"
    SEAT_FREE = "seat-free"
    NOTHING_LEFT = "nothing-left"
    NO_SUCH_NODE = "no-such-node"
    NODE_SILENT = "node-silent"
    NODE_EXPIRED = "node-expired"
    NODE_UNREACHABLE = "node-unreachable"
    AT_NODE = "at-node"
    NODE_CLOSED = "node-closed"
    NODE_OTHER_VERSION = "node-other-version"


FAILURE_TEXTS: Final[Mapping[str, Template]] = MappingProxyType(
    {
        FailureCode.BAD_REQUEST: Template("the server did not understand the request: {reason}"),
        FailureCode.OTHER_VERSION: Template(
            "this server's admin socket speaks version {version}: use the palatinus that it runs with"
        ),
        FailureCode.BAD_TOKEN: Template("the token in {file} is not the running server's. Try again"),
        FailureCode.BUSY: Template("too many admin commands are running at this server. Try again"),
        FailureCode.FAILED: Template("the server failed to do that: {reason}"),
        FailureCode.NOTHING_STORED: Template(
            "this server keeps nothing on disk, so there is nothing to copy"
        ),
        FailureCode.BACKUP_RUNS: Template("another backup or check is running. Try again when it has ended"),
        FailureCode.SEAT_FREE: Template("nobody has seat {seat} at table {table}"),
        FailureCode.NO_SUCH_NODE: Template("there is no node {node}. See palatinus admin nodes"),
        FailureCode.NODE_SILENT: Template(
            "the node {node} does not answer. If it has ended, other nodes take over its tables automatically"
        ),
        FailureCode.NODE_EXPIRED: Template(
            "the lease of the node {node} has expired: it has ended, or cannot reach the database"
        ),
        FailureCode.NODE_UNREACHABLE: Template(
            "the node {node} cannot be asked, because the database does not answer. Run the"
            " command on its own machine, through its own admin socket"
        ),
        FailureCode.AT_NODE: Template(
            "table {table} is at the node {node}. Ask there, or use palatinus tables with --database"
        ),
        FailureCode.NODE_OTHER_VERSION: Template("the node {node} runs another version of Palatinus"),
        FailureCode.NODE_CLOSED: Template(
            "the node {node} accepts no commands: it was started with --no-admin"
        ),
        FailureCode.NOTHING_LEFT: Template("table {table} cannot be restored at all"),
    }
)


class AdminFailure(HostError):
    """A request over the admin socket was not carried out."""

    def __init__(self, code: str, text: str, **about: object) -> None:
        super().__init__(text, **about)
        self.code = code


def failure(code: FailureCode, **about: object) -> AdminFailure:
    """Return the error with this code."""
    return AdminFailure(code, FAILURE_TEXTS[code], **about)

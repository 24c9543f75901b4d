"""What cannot be done, in words: the command line has the same sentences, and translates them."""

from engine.errors import CodeWithText, Template
from server.errors import HostError


class FailureCode(CodeWithText):
    """Why a request over the admin socket was not carried out; the codes of refusals come beside these."""

    BAD_REQUEST = "bad-request", Template("the server did not understand the request: {reason}")
    OTHER_VERSION = (
        "other-version",
        Template("this server's admin socket speaks version {version}: use the palatinus that it runs with"),
    )
    BAD_TOKEN = "bad-admin-token", Template("the token in {file} is not the running server's. Try again")
    BUSY = "busy", Template("too many admin commands are running at this server. Try again")
    JOURNAL = "journal"  # whose sentence comes with it
    FAILED = "failed", Template("the server failed to do that: {reason}")
    NOTHING_STORED = (
        "nothing-stored",
        Template("this server keeps nothing on disk, so there is nothing to copy"),
    )
    BACKUP_RUNS = "backup-runs", Template("another backup or check is running. Try again when it has ended")
    SEAT_FREE = "seat-free", Template("nobody has seat {seat} at table {table}")
    NOTHING_LEFT = "nothing-left", Template("table {table} cannot be restored at all")
    NO_SUCH_NODE = "no-such-node", Template("there is no node {node}. See palatinus admin nodes")
    NODE_SILENT = (
        "node-silent",
        Template(
            "the node {node} does not answer. If it has ended, other nodes take over its tables automatically"
        ),
    )
    NODE_EXPIRED = (
        "node-expired",
        Template("the lease of the node {node} has expired: it has ended, or cannot reach the database"),
    )
    NODE_UNREACHABLE = (
        "node-unreachable",
        Template(
            "the node {node} cannot be asked, because the database does not answer. "
            "Run the command on its own machine, through its own admin socket"
        ),
    )
    AT_NODE = (
        "at-node",
        Template("table {table} is at the node {node}. Ask there, or use palatinus tables with --database"),
    )
    NODE_CLOSED = (
        "node-closed",
        Template("the node {node} accepts no commands: it was started with --no-admin"),
    )
    NODE_OTHER_VERSION = "node-other-version", Template("the node {node} runs another version of Palatinus")


class AdminFailure(HostError):
    """A request over the admin socket was not carried out."""

    def __init__(self, code: str, text: str, **about: object) -> None:
        super().__init__(text, **about)
        self.code = code


def failure(code: FailureCode, **about: object) -> AdminFailure:
    """Return the error with this code."""
    return AdminFailure(code, code.text, **about)

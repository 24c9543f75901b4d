"""What cannot be done, in words: the command line has the same sentences, and translates them."""

from engine.errors import CodeWithText, Template
from server.errors import HostError


class FailureCode(CodeWithText):
    """Why a request over the admin socket was not carried out; the codes of refusals come beside these."""

    BAD_REQUEST = Template("the server did not understand the request: {reason}")
    OTHER_VERSION = Template(
        "this server's admin socket speaks version {version}: use the palatinus that it runs with"
    )
    BAD_ADMIN_TOKEN = Template("the token in {file} is not the running server's. Try again")
    BUSY = Template("too many admin commands are running at this server. Try again")
    JOURNAL = "journal"  # whose sentence comes with it
    FAILED = Template("the server failed to do that: {reason}")
    NOTHING_STORED = Template("this server keeps nothing on disk, so there is nothing to copy")
    BACKUP_RUNS = Template("another backup or check is running. Try again when it has ended")
    SEAT_FREE = Template("nobody has seat {seat} at table {table}")
    NO_SUCH_PERSON = Template("nobody in the evening is called {name}")
    NO_PAGES = Template("this server shows no pages to browsers. Start it with --web")
    NOTHING_LEFT = Template("table {table} cannot be restored at all")
    NO_SUCH_BAN = Template("{what} is not banned. See palatinus admin bans")
    TOO_MANY_BANS = Template("there are {most} bans, and no room for more. Lift some, or ban wider networks")
    NO_SUCH_NODE = Template("there is no node {node}. See palatinus admin nodes")
    NODE_SILENT = Template(
        "the node {node} does not answer. If it has ended, other nodes take over its tables automatically"
    )
    NODE_EXPIRED = Template(
        "the lease of the node {node} has expired: it has ended, or cannot reach the database"
    )
    NODE_UNREACHABLE = Template(
        "the node {node} cannot be asked, because the database does not answer. "
        "Run the command on its own machine, through its own admin socket"
    )
    AT_NODE = Template(
        "table {table} is at the node {node}. Ask there, or use palatinus tables with --database"
    )
    NODE_CLOSED = Template("the node {node} accepts no commands: it was started with --no-admin")
    NODE_OTHER_VERSION = Template("the node {node} runs another version of Palatinus")


class AdminFailure(HostError):
    """A request over the admin socket was not carried out."""

    def __init__(self, code: str, text: str, **about: object) -> None:
        super().__init__(text, **about)
        self.code = code


def failure(code: FailureCode, **about: object) -> AdminFailure:
    """Return the error with this code."""
    return AdminFailure(code, code.text, **about)

"""What a running server says of itself, as text for its host."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

from prompt_toolkit.utils import get_cwidth

from client.language import N_, _
from client.ui.frame import padded
from client.ui.texts.set_up import describe_stage
from client.ui.texts.times import clock_time
from protocol.messages import Stage
from protocol.text import printable

_KIB = 1024


class Status(Protocol):
    """How a server is: sizes in bytes, times in seconds."""

    @property
    def version(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def uptime(self) -> int: ...
    @property
    def port(self) -> int: ...
    @property
    def connections(self) -> int: ...
    @property
    def players(self) -> int: ...
    @property
    def spectators(self) -> int: ...
    @property
    def tables(self) -> Mapping[str, int]: ...
    @property
    def archived(self) -> int: ...
    @property
    def damaged(self) -> int: ...
    @property
    def data(self) -> str | None: ...
    @property
    def journal_bytes(self) -> int | None: ...
    @property
    def log_bytes(self) -> int | None: ...
    @property
    def journal_failing(self) -> bool: ...
    @property
    def stops_in(self) -> int | None: ...
    @property
    def log_level(self) -> str: ...
    @property
    def node(self) -> str: ...


class Node(Protocol):
    """A server that shares a database with others; if it has not answered, `code` says why."""

    @property
    def name(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def report(self) -> Status | None: ...
    @property
    def code(self) -> str: ...


class Seat(Protocol):
    """A seat as everybody at its table sees it."""

    @property
    def seat(self) -> int: ...
    @property
    def name(self) -> str | None: ...
    @property
    def here(self) -> bool: ...
    @property
    def bot(self) -> bool: ...


class Table(Protocol):
    """A table; `left` is how many seconds ago the last of its people left, if nobody is there."""

    @property
    def table(self) -> str: ...
    @property
    def stage(self) -> Stage: ...
    @property
    def moves(self) -> int: ...
    @property
    def seats(self) -> Sequence[Seat]: ...
    @property
    def spectators(self) -> int: ...
    @property
    def left(self) -> int | None: ...
    @property
    def node(self) -> str: ...


class Client(Protocol):
    """A client: from where, with which program, since how many seconds, and where it is."""

    @property
    def address(self) -> str: ...
    @property
    def program(self) -> str: ...
    @property
    def seconds(self) -> int: ...
    @property
    def table(self) -> str | None: ...
    @property
    def seat(self) -> int | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def node(self) -> str: ...


def status_lines(status: Status) -> list[str]:
    """Return how the server is, one subject a line."""
    counts = {
        **{_stage(stage): number for stage, number in status.tables.items()},
        _("archived"): status.archived,
    }
    rows = [
        *([(_("node"), printable(status.node))] if status.node else []),
        (_("version"), printable(status.version)),
        (_("process"), str(status.pid)),
        (_("port"), str(status.port)),
        (_("uptime"), clock_time(status.uptime)),
        (_("tables"), ", ".join(f"{name} {number}" for name, number in counts.items())),
        (_("connections"), str(status.connections)),
        (_("players here"), str(status.players)),
        (_("spectators"), str(status.spectators)),
        (_("data folder"), _data(status)),
    ]
    if status.journal_bytes is not None:
        size = _("{size} KiB, and {log} KiB in its log").format(
            size=-(-status.journal_bytes // _KIB), log=-(-(status.log_bytes or 0) // _KIB)
        )
        rows.append((_("journal"), _("it cannot be written") if status.journal_failing else size))
    elif status.node and status.journal_failing:
        rows.append((_("journal"), _("it cannot be written")))
    if status.damaged:
        rows.append((_("damaged tables"), str(status.damaged)))
    rows += [(_("stops"), _stops(status)), (_("logs from level"), status.log_level)]
    width = max(get_cwidth(name) for name, _value in rows) + 2
    return [f"{padded(name, width)}{value}" for name, value in rows]


def _data(status: Status) -> str:
    if status.data is not None:
        return status.data
    return _("none: games are in the database") if status.node else _("none: nothing is kept on disk")


def _stops(status: Status) -> str:
    return _("no") if status.stops_in is None else _("in {time}").format(time=clock_time(status.stops_in))


def node_lines(nodes: Sequence[Node]) -> list[str]:
    """Return a heading and a line for each server, or one line that says that there is only one."""
    if not any(node.name for node in nodes):
        return [_("This server is not part of a cluster.")]
    heading = (
        _("NODE"),
        _("TABLES"),
        _("CONNECTIONS"),
        _("UPTIME"),
        _("STATE"),
        _("VERSION"),
        _("ADDRESS"),
    )
    return _columns(heading, [_node(node) for node in nodes])


def _node(node: Node) -> tuple[str, ...]:
    status, name, address = node.report, printable(node.name), printable(node.address)
    if status is None:
        return (
            name,
            "",
            "",
            "",
            _(_SILENT[node.code]) if node.code in _SILENT else _("no answer"),
            "",
            address,
        )
    tables = str(sum(status.tables.values()))
    return (
        name,
        tables,
        str(status.connections),
        clock_time(status.uptime),
        _state(status),
        printable(status.version),
        address,
    )


# Why a server has not answered, by the codes of the admin socket.
_SILENT: Final = MappingProxyType(
    {
        "node-unreachable": N_("not asked"),
        "node-expired": N_("lease ran out"),
        "node-closed": N_("accepts no commands"),
        "node-other-version": N_("other version"),
    }
)


def _state(status: Status) -> str:
    if status.journal_failing:
        return _("cannot store")
    if status.stops_in is not None:
        return _("stops in {time}").format(time=clock_time(status.stops_in))
    return _("runs")


def table_lines(found: Sequence[Table]) -> list[str]:
    """Return a heading and a line for each table, or one line that says that there are none."""
    rows = [
        (
            table.table,
            _stage(table.stage),
            str(table.moves),
            str(table.spectators),
            "" if table.left is None else clock_time(table.left),
            ", ".join(map(_seat, table.seats)),
        )
        for table in found
    ]
    heading = (_("TABLE"), _("STAGE"), _("MOVES"), _("WATCHING"), _("EMPTY FOR"), _("SEATS"))
    return _columns(*_with_nodes(heading, rows, found)) if rows else [_("There are no tables.")]


def client_lines(found: Sequence[Client]) -> list[str]:
    """Return a heading and a line for each client, or one line that says that there are none."""
    rows = [
        (
            client.address,
            clock_time(client.seconds),
            client.table or _("the lobby"),
            _where(client),
            printable(client.program),
        )
        for client in found
    ]
    heading = (_("ADDRESS"), _("FOR"), _("TABLE"), _("SEAT"), _("PROGRAM"))
    return _columns(*_with_nodes(heading, rows, found)) if rows else [_("There are no clients.")]


def _with_nodes(
    heading: Sequence[str], rows: Sequence[Sequence[str]], found: Sequence[Table | Client]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Put before each row at which of several servers it is."""
    if not any(each.node for each in found):
        return heading, rows
    named = [(printable(each.node), *row) for each, row in zip(found, rows, strict=True)]
    return (_("NODE"), *heading), named


def _columns(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(get_cwidth(row[at]) for row in (heading, *rows)) for at in range(len(heading) - 1)]
    return [
        "  ".join([*(padded(word, width) for word, width in zip(row, widths, strict=False)), row[-1]])
        for row in (heading, *rows)
    ]


def _stage(stage: str) -> str:
    known: dict[str, Stage] = {"gathering": "gathering", "playing": "playing", "over": "over"}
    return describe_stage(known[stage]) if stage in known else stage


def _seat(seat: Seat) -> str:
    if seat.name is None:
        return _("(free)")
    note = _("bot") if seat.bot else "" if seat.here else _("away")
    name = printable(seat.name)
    return f"{name} ({note})" if note else name


def _where(client: Client) -> str:
    if client.table is None:
        return ""
    if client.seat is None:
        return _("watching")
    return f"{client.seat + 1} {printable(client.name or '')}".strip()

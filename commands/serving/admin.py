"""`palatinus admin`: the host of a running server looks at it, and tells it what to do."""

import argparse
import functools
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias
from unicodedata import normalize

import msgspec

from client.language import WrongUse, _, counted
from client.ui.draw.page import qr_rows
from client.ui.export.tables import (
    ban_lines,
    client_lines,
    evening_lines,
    node_lines,
    status_lines,
    table_lines,
)
from client.ui.texts.times import clock_time
from commands.arguments import network, table_code
from commands.parsing import add_command, print_lines, shows_pictures
from commands.serving import running_server
from commands.serving.options import checked_plan, serve_options
from protocol import admin
from protocol.limits import ANNOUNCEMENT_LENGTH
from protocol.messages import Evening
from protocol.text import printable_json
from server.storage.entries import whole_events

_TABLES: Final = (admin.ListLiveTables(), list[admin.TableReport])  # what is asked for, and its answer
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}
_OFF: Final = "off"
_EVENING: Final = ("show", "open", "draw", "remove", "hand-over", "host", "close")
_WITH_NAME: Final = frozenset({"open", "remove", "hand-over"})
_OF_EVENING: Final = "evening-"  # the options of palatinus serve

Answer: TypeAlias = tuple[Any, Sequence[str]]  # for programs, and for people
Act: TypeAlias = Callable[[Path, argparse.Namespace], Answer]


def add_admin(command: argparse.ArgumentParser) -> None:
    _add_where(command, data=None, as_json=False)
    running_server.add_node(command, None)
    actions = command.add_subparsers(title=_("commands"), metavar=_("COMMAND"), required=True)

    def add(name: str, act: Act, meaning: str, *, node: bool = False, code: bool = False) -> Any:
        action = add_command(actions, name, meaning, functools.partial(_run, act, node))
        _add_where(action, data=argparse.SUPPRESS, as_json=argparse.SUPPRESS)
        if node:
            running_server.add_node(action, argparse.SUPPRESS)
        if code:
            action.add_argument("code", type=table_code, metavar="CODE", help=_("a table's code"))
        return action

    add("nodes", _nodes, _("show the servers that share the database"))
    add("status", _status, _("show the server's status"), node=True)
    add("tables", _tables, _("show the tables, and who is at them"), node=True)
    add("who", _who, _("list the clients: address, program and where each one is"), node=True)
    announce = add("announce", _announce, _("send an announcement to everybody"), node=True)
    announce.add_argument("text", metavar="TEXT", help=_("text of the announcement"))
    close = add("close", _close, _("close a table for good"), code=True)
    close.add_argument("--reason", metavar="TEXT", help=_("reason to show to the people at the table"))
    remove = add("remove", _remove, _("remove a player from a seat"), code=True)
    remove.add_argument("player", metavar="SEAT|NAME", help=_("a seat, counted from 1, or a player's name"))
    for ban in (
        add("ban", _ban, _("shut out an address, a network or a name until the ban is lifted"), node=True),
        add("unban", _unban, _("lift a ban"), node=True),
    ):
        banned = ban.add_mutually_exclusive_group(required=True)
        banned.add_argument(
            "address",
            nargs="?",
            type=network,
            metavar="ADDRESS",
            help=_("an address (192.0.2.7) or a network (192.0.2.0/24)"),
        )
        banned.add_argument(
            "--name",
            metavar="NAME",
            help=_("a player's name instead; names that look like it count as the same"),
        )
    add("bans", _bans, _("list the bans"), node=True)
    backup = add("backup", _backup, _("copy the journal while the server runs"))
    backup.add_argument(
        "file", type=Path, metavar="FILE", help=_("file to write; an existing file is overwritten")
    )
    running_server.add_record(add("export", _export, _("write a game's record"), code=True))
    drain = add("drain", _drain, _("take no new tables, and stop after a while"), node=True)
    drain.add_argument(
        "time",
        nargs="?",
        type=_time,
        default="10m",
        metavar="TIME",
        help=_("30s, 10m or 2h; off cancels the drain (default: %(default)s)"),
    )
    evening = add(
        "evening",
        _evening,
        _("show, open, draw or close the evening, remove or hand over a person, or host in a browser"),
    )
    evening.add_argument(
        "act", nargs="?", choices=_EVENING, default="show", help=_("what to do (default: %(default)s)")
    )
    meant = _("name of the evening to open, or of the person to remove or hand over")
    evening.add_argument("name", nargs="?", metavar="NAME", help=meant)
    for option in serve_options():
        if option.key.startswith(_OF_EVENING):
            replace(option, key=option.key.removeprefix(_OF_EVENING)).add_to(evening)
    level = add("log-level", _log_level, _("log more or less from now on"), node=True)
    level.add_argument("level", choices=("info", "warning", "error"), help=_("lowest level to log"))


def _add_where(command: argparse.ArgumentParser, *, data: Any, as_json: Any) -> None:
    running_server.add_server(command, default=data)
    command.add_argument(
        "--json", action="store_true", default=as_json, help=_("print the server's answer as JSON")
    )


def _time(text: str) -> int | None:
    """Return a length of time in seconds, None for `off`; raises ArgumentTypeError."""
    written = re.fullmatch(r"([0-9]{1,6})([smh]?)", text)
    seconds = 0 if written is None else int(written[1]) * _UNITS[written[2]]
    if text != _OFF and not 0 < seconds <= admin.LONGEST_DRAIN:
        form = _("{word} is not a time: write 30s, 10m or 2h, up to 168h, or off")
        raise argparse.ArgumentTypeError(form.format(word=repr(text)))
    return seconds or None


def _run(act: Act, takes_node: bool, arguments: argparse.Namespace) -> int:
    if arguments.node is not None and not takes_node:
        raise WrongUse(_("unrecognized arguments: %s") % "--node")
    report, lines = act(running_server.socket_of(arguments), arguments)
    gathered = report if isinstance(report, running_server.Gathered) else running_server.Gathered((), report)
    if arguments.json:
        print(printable_json(msgspec.json.encode(gathered.reports).decode()))
    else:
        print_lines(lines)
    print_lines((f"palatinus admin: {reason}" for reason in gathered.failures), sys.stderr)
    return 1 if gathered.failures else 0


def _send(request: admin.Request, path: Path) -> None:
    running_server.ask_server(path, request, type(None))


# -- what there is to see -------------------------------------------------------------------------


def _status(path: Path, arguments: argparse.Namespace) -> Answer:
    report = running_server.of_node(path, admin.ShowStatus(), admin.StatusReport, arguments.node)
    return report, status_lines(report)


def _nodes(path: Path, _arguments: argparse.Namespace) -> Answer:
    found = running_server.of_nodes(path, admin.ShowStatus(), admin.StatusReport, None)
    return found, node_lines(found.nodes)


def _tables(path: Path, arguments: argparse.Namespace) -> Answer:
    found = running_server.list_of_nodes(path, *_TABLES, arguments.node)
    return found, table_lines(found.reports)


def _who(path: Path, arguments: argparse.Namespace) -> Answer:
    request, kind = admin.ListClients(), list[admin.ClientReport]
    found = running_server.list_of_nodes(path, request, kind, arguments.node)
    return found, client_lines(found.reports)


# -- what there is to do --------------------------------------------------------------------------


def _announce(path: Path, arguments: argparse.Namespace) -> Answer:
    found = running_server.of_nodes(
        path, admin.SendAnnouncement(_check_text(arguments.text)), admin.ToldReport, arguments.node
    )
    clients = sum(report.clients for report in found.reports)
    form = counted("{n} client was told.", "{n} clients were told.", clients)
    return running_server.Gathered(found.nodes, admin.ToldReport(clients)), [form.format(n=clients)]


def _check_text(text: str) -> str:
    """Return the text on one line, without blanks around it; raises WrongUse unless it can be shown."""
    said = normalize("NFC", " ".join(text.split()))
    if not 0 < len(said) <= ANNOUNCEMENT_LENGTH:
        raise WrongUse(_("an announcement has 1 to {most} characters").format(most=ANNOUNCEMENT_LENGTH))
    if not said.isprintable():
        raise WrongUse(_("an announcement cannot contain control characters"))
    return said


def _close(path: Path, arguments: argparse.Namespace) -> Answer:
    reason = None if arguments.reason is None else _check_text(arguments.reason)
    _send(admin.CloseTables([arguments.code], reason), path)
    return None, [_("Table {code} is closed.").format(code=arguments.code)]


def _remove(path: Path, arguments: argparse.Namespace) -> Answer:
    seat = _seat(path, arguments.code, arguments.player)
    _send(admin.RemovePlayer(arguments.code, seat), path)
    text = _("Seat {seat} at table {code} no longer has a player.")
    return None, [text.format(seat=seat + 1, code=arguments.code)]


def _ban(path: Path, arguments: argparse.Namespace) -> Answer:
    request = admin.Ban(*_banned(arguments))
    found = running_server.of_nodes(path, request, admin.BannedReport, arguments.node)
    closed = sum(report.closed for report in found.reports)
    if not found.reports:
        return found, ()
    form = counted(
        "{what} is banned, and {n} connection was closed.",
        "{what} is banned, and {n} connections were closed.",
        closed,
    )
    report = admin.BannedReport(found.reports[0].what, closed)
    return running_server.Gathered(found.nodes, report), [form.format(what=report.what, n=closed)]


def _unban(path: Path, arguments: argparse.Namespace) -> Answer:
    kind, what = _banned(arguments)
    found = running_server.of_nodes(path, admin.LiftBan(kind, what), type(None), arguments.node)
    lines = [_("{what} is no longer banned.").format(what=what)] if found.reports else []
    return running_server.Gathered(found.nodes, None), lines


def _banned(arguments: argparse.Namespace) -> tuple[admin.BanKind, str]:
    if arguments.name is None:
        return "network", str(arguments.address)
    return "name", normalize("NFC", arguments.name)


def _bans(path: Path, arguments: argparse.Namespace) -> Answer:
    found = running_server.list_of_nodes(path, admin.ListBans(), list[admin.BanReport], arguments.node)
    return found, ban_lines(found.reports)


def _seat(path: Path, code: str, player: str) -> int:
    """Return the seat that its number or its player's name stands for; raises WrongUse."""
    if len(player) == 1 and player in "12345":
        return int(player) - 1
    everywhere = running_server.list_of_nodes(path, *_TABLES, None)
    tables = {table.table: table for table in everywhere.reports}
    if code not in tables:
        raise WrongUse(_("there is no table {code}").format(code=code))
    names: list[int] = [seat.seat for seat in tables[code].seats if seat.name == player]
    if len(names) != 1:
        raise WrongUse(_("nobody at table {code} is called {name}").format(code=code, name=repr(player)))
    return names[0]


def _backup(path: Path, arguments: argparse.Namespace) -> Answer:
    report = running_server.back_up(path, arguments.file)
    return report, [_("{file}: {size} bytes, complete.").format(file=arguments.file, size=report.size)]


def _export(path: Path, arguments: argparse.Namespace) -> Answer:
    report = running_server.ServedTables(path, path.parent).with_game(arguments.code)
    file = running_server.export_record(report.table, whole_events(report.events), arguments.file)
    return {"table": report.table, "file": None if file is None else str(file)}, ()


def _drain(path: Path, arguments: argparse.Namespace) -> Answer:
    report = running_server.of_node(path, admin.SetDrain(arguments.time), admin.DrainReport, arguments.node)
    text = _("The server takes no new tables, and will stop in {time}, or as soon as no game is running.")
    if report.stops_in is None:
        text = _("The server keeps running.")
    elif report.stops_in == 0:  # a server without clients does not wait
        text = _("Nobody is connected, so the server stops now.")
    return report, [text.format(time=clock_time(report.stops_in or 0))]


def _evening(path: Path, arguments: argparse.Namespace) -> Answer:
    if (arguments.act in _WITH_NAME) != (arguments.name is not None):
        raise WrongUse(
            _("open takes the name of the evening, remove and hand-over take that of a person, others none")
        )
    match arguments.act:
        case "open":
            chosen = {"rounds": arguments.rounds, "minutes": arguments.minutes, "bots": arguments.bots}
            given = {name: value for name, value in chosen.items() if value is not None}
            plan = admin.EveningPlan(arguments.name, same_draws=bool(arguments.same_draws), **given)
            _send(admin.OpenEvening(checked_plan(plan)), path)
        case "draw":
            _send(admin.DrawRound(), path)
        case "remove":
            _send(admin.RemovePerson(arguments.name), path)
        case "hand-over":
            request = admin.HandOverPerson(arguments.name)
            told = _("The browser that opens this link continues as {name}. It works once:")
            return _link(path, request, told.format(name=arguments.name))
        case "host":
            told = _("Anyone who opens this link can host the evening. Earlier links no longer work:")
            return _link(path, admin.HostEvening(), told)
        case "close":
            _send(admin.CloseEvening(), path)
    report = running_server.ask_server(path, admin.ShowEvening(), Evening)
    return report, evening_lines(report)


def _link(path: Path, request: admin.HandOverPerson | admin.HostEvening, told: str) -> Answer:
    report = running_server.ask_server(path, request, admin.LinkReport)
    rows = (report.link, *(qr_rows(report.link) if shows_pictures() else ()))
    return report, [told, *(f"  {row}" for row in rows)]


def _log_level(path: Path, arguments: argparse.Namespace) -> Answer:
    running_server.of_node(path, admin.SetLogLevel(arguments.level), type(None), arguments.node)
    return None, [_("The server logs events of level {level} and above.").format(level=arguments.level)]

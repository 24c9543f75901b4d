"""Tables of text: a running server's reports, the tables that it keeps, finished games and standings."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from client.language import N_, _, counted, listed
from client.levels import describe_level
from client.records import PEOPLE, Ladder, Looked, LostOn, OwnResult, PastGame, Recording
from client.ui.frame import columns
from client.ui.texts.evenings import describe_round, standings_rows
from client.ui.texts.games import describe_points, describe_result
from client.ui.texts.habits import rank_of
from client.ui.texts.tables import describe_stage
from client.ui.texts.times import clock_time, local_time
from engine.view import Eyes
from protocol.admin import (
    BanReport,
    ClientReport,
    NodeAnswer,
    SeatReport,
    StatusReport,
    StoredReport,
    TableReport,
)
from protocol.messages import Evening, Stage, Standing
from protocol.text import printable


def _table(
    heading: Sequence[str],
    rows: Sequence[Sequence[object]],
    none: str,
    found: Sequence[TableReport | ClientReport | BanReport] = (),
) -> list[str]:
    """Return a heading and a line for each row, or one line that says that there are none.

    If the rows are of what was `found` on several servers, each begins with the server.
    """
    if any(each.node for each in found):
        heading = (_("NODE"), *heading)
        rows = [(printable(each.node), *row) for each, row in zip(found, rows, strict=True)]
    return columns([heading, *([str(cell) for cell in row] for row in rows)]) if rows else [none]


def listing(tables: Iterable[StoredReport]) -> list[str]:
    """Return the tables that a server keeps."""
    rows = [
        (
            *(each.code, _stored_stage(each), each.moves, _moment(each.opened), _moment(each.changed)),
            ", ".join(printable(name) or _("(free)") for name in each.names),
        )
        for each in tables
    ]
    heading = (_("TABLE"), _("STAGE"), _("MOVES"), _("OPENED"), _("CHANGED"), _("PLAYERS"))
    return _table(heading, rows, _("There are no tables."))


def summary(table: StoredReport) -> list[str]:
    """Return the public facts of a table, except its board."""
    seats = [
        _("Seat {number}: {name}").format(number=seat, name=printable(name) or _("free"))
        for seat, name in enumerate(table.names, start=1)
    ]
    return [
        _("Table {code}: {stage}").format(code=table.code, stage=_stored_stage(table)),
        _("Opened {opened}, changed {changed}").format(
            opened=_moment(table.opened), changed=_moment(table.changed)
        ),
        *seats,
    ]


def progress(recording: Recording, eyes: Eyes) -> str:
    """Return the state of a game in one line: its result, or its progress."""
    view = recording.view(recording.end, eyes)
    if view.result is not None:
        return describe_result(view.result, recording.names)
    form = counted("{n} piece still to place.", "{n} pieces still to place.", view.to_place)
    return form.format(n=view.to_place)


def _stored_stage(table: StoredReport) -> str:
    if table.lost:
        return _("lost")
    stage = describe_stage(table.stage, full=all(table.names))
    if table.damaged:
        return _("{stage}, damaged").format(stage=stage)
    return _("{stage}, archived").format(stage=stage) if table.archived else stage


def _moment(seconds: int | None) -> str:
    return "?" if seconds is None else local_time(seconds)


def games_listing(games: Sequence[PastGame]) -> list[str]:
    """Return finished games, numbered."""
    rows = [
        (number, local_time(game.ended), game.table, describe_points(game))
        for number, game in enumerate(games, start=1)
    ]
    heading = ("#", _("ENDED"), _("TABLE"), _("PLAYERS AND POINTS"))
    return _table(heading, rows, _("No finished games are kept here."))


def standings_listing(standings: Iterable[tuple[str, Standing]]) -> list[str]:
    rows = [(describe_level(name), each.games, each.wins, each.points) for name, each in standings]
    heading = (_("PLAYER"), _("GAMES"), _("WINS"), _("POINTS"))
    return _table(heading, rows, _("No finished games are kept here."))


_LOST_ON: Final[Mapping[LostOn, str]] = MappingProxyType(
    {
        "hill": N_("hills that you won less often"),
        "rival": N_("hills that others won more often"),
        "captives": N_("pieces of others that you did not capture"),
        "soldiers": N_("your own pieces that were captured"),
        "all": N_("a little of everything"),
    }
)


def statistics_listing(results: Sequence[OwnResult], looked: Sequence[Looked]) -> list[str]:
    """Return a player's results by opponents, and the cost of the moves."""
    rows = [
        (
            listed(_("humans") if level == PEOPLE else describe_level(level) for level in each.against),
            *(each.players, each.games, each.wins, f"{each.points / each.games:.1f}"),
            f"{100 * each.lost / each.moves:.1f}" if each.moves else "",
        )
        for each in results
    ]
    heading = (_("AGAINST"), _("PLAYERS"), _("GAMES"), _("WINS"), _("POINTS A GAME"), _("LOST A MOVE"))
    lines = _table(heading, rows, _("No finished games of this player are kept here."))
    if lost := _lost_on(looked):
        parts = [(_(_LOST_ON[what]), f"{cost / lost.total():.0%}") for what, cost in lost.most_common()]
        lines += ["", *_table((_("LOST ON"), _("PART")), parts, "")]
    if results:
        text = _(
            "Lost per move: how many fewer of 100 games it wins than the best move, where that is clear."
        )
        lines += ["", text]
    left = sum(each.games for each in results) - len(looked)
    if left > 0:
        form = counted(
            "{n} game has not been looked through: palatinus problems does that.",
            "{n} games have not been looked through: palatinus problems does that.",
            left,
        )
        lines.append(form.format(n=left))
    return lines


def rivals_listing(ladder: Ladder) -> list[str]:
    """Return the bots' levels as rivals, the weakest first."""
    rows = [
        (describe_level(each.name), rank_of(ladder, at), each.played, each.won, listed(each.lately))
        for at, each in enumerate(ladder.bots)
    ]
    return _table((_("RIVAL"), "", _("PLAYED"), _("WON"), _("LATELY")), rows, "")


def describe_losses(looked: Sequence[Looked]) -> str:
    """Return a sentence on the cost of a player's moves and where most was lost; empty without losses."""
    if not (lost := _lost_on(looked)):
        return ""
    text = _(
        "Your moves cost {cost} of 100 games each, most of it: {what}. More: palatinus history statistics."
    )
    cost = lost.total() / 10 / sum(each.moves for each in looked)
    return text.format(cost=f"{cost:.1f}", what=_(_LOST_ON[lost.most_common(1)[0][0]]))


def _lost_on(looked: Iterable[Looked]) -> Counter[LostOn]:
    """Return what was lost on what, in thousandths of games."""
    lost = Counter[LostOn]()
    for each in looked:
        for fault in each.faults:
            lost[fault.lost_on] += round(1000 * fault.gain)
    return lost


_KIB = 1024


def status_lines(status: StatusReport) -> list[str]:
    counts = {
        **{_stage(stage): number for stage, number in status.tables.items()},
        _("archived"): status.archived,
    }
    nowhere = _("none: games are in the database") if status.node else _("none: nothing is kept on disk")
    stops = _("no") if status.stops_in is None else _("in {time}").format(time=clock_time(status.stops_in))
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
        (_("data folder"), status.data or nowhere),
    ]
    if status.journal_bytes is not None:
        text = _("{size} KiB, and {log} KiB in its log")
        size = text.format(size=-(-status.journal_bytes // _KIB), log=-(-(status.log_bytes or 0) // _KIB))
        rows.append((_("journal"), _("it cannot be written") if status.journal_failing else size))
    elif status.node and status.journal_failing:
        rows.append((_("journal"), _("it cannot be written")))
    if status.damaged:
        rows.append((_("damaged tables"), str(status.damaged)))
    rows += [(_("stopping"), stops), (_("logs from level"), status.log_level)]
    return columns(rows)


def ban_lines(bans: Sequence[BanReport]) -> list[str]:
    rows = [(printable(ban.what), local_time(ban.since)) for ban in bans]
    return _table((_("BANNED"), _("SINCE")), rows, _("Nobody is banned."), bans)


def node_lines(nodes: Sequence[NodeAnswer]) -> list[str]:
    """Return a heading and a line for each server, or one line that says that there is only one."""
    if not any(node.node for node in nodes):
        return [_("This server is not part of a cluster.")]
    words = _("NODE"), _("TABLES"), _("CONNECTIONS"), _("UPTIME"), _("STATE"), _("VERSION"), _("ADDRESS")
    return columns([words, *map(_node, nodes)])


def _node(node: NodeAnswer) -> tuple[str, ...]:
    name, address = printable(node.node), printable(node.address)
    if node.error is not None:
        code = node.error.code
        return (name, "", "", "", _(_SILENT[code]) if code in _SILENT else _("no answer"), "", address)
    status: StatusReport = node.ok
    state = _("running")
    if status.journal_failing:
        state = _("cannot store")
    elif status.stops_in is not None:
        state = _("stops in {time}").format(time=clock_time(status.stops_in))
    tables, uptime = sum(status.tables.values()), clock_time(status.uptime)
    return (name, str(tables), str(status.connections), uptime, state, printable(status.version), address)


# Why a server has not answered, by the codes of the admin socket.
_SILENT: Final = MappingProxyType(
    {
        "node-unreachable": N_("not asked"),
        "node-expired": N_("lease ran out"),
        "node-closed": N_("accepts no commands"),
        "node-other-version": N_("other version"),
    }
)


def table_lines(found: Sequence[TableReport]) -> list[str]:
    """Return the tables of a running server."""
    rows = [
        (
            *(table.table, _stage(table.stage), table.moves, table.spectators),
            "" if table.left is None else clock_time(table.left),
            ", ".join(map(_seat, table.seats)),
        )
        for table in found
    ]
    heading = (_("TABLE"), _("STAGE"), _("MOVES"), _("WATCHING"), _("EMPTY FOR"), _("SEATS"))
    return _table(heading, rows, _("There are no tables."), found)


def client_lines(found: Sequence[ClientReport]) -> list[str]:
    """Return the clients of a running server."""
    rows = [
        (
            *(client.address, clock_time(client.seconds), client.table or _("the lobby")),
            *(_where(client), printable(client.program)),
        )
        for client in found
    ]
    heading = (_("ADDRESS"), _("FOR"), _("TABLE"), _("SEAT"), _("PROGRAM"))
    return _table(heading, rows, _("There are no clients."), found)


def _stage(stage: str) -> str:
    known: dict[str, Stage] = {"gathering": "gathering", "playing": "playing", "over": "over"}
    return describe_stage(known[stage]) if stage in known else stage


def _seat(seat: SeatReport) -> str:
    if seat.name is None:
        return _("(free)")
    note = _("bot") if seat.bot else "" if seat.here else _("away")
    name = printable(seat.name)
    return f"{name} ({note})" if note else name


def _where(client: ClientReport) -> str:
    if client.table is None:
        return ""
    if client.seat is None:
        return _("watching")
    return f"{client.seat + 1} {printable(client.name or '')}".strip()


def evening_lines(evening: Evening) -> list[str]:
    """Return an evening as its host sees it."""
    nobody = _("Nobody has signed up yet.")
    people = columns(standings_rows(evening)) if evening.people else [nobody]
    return [printable(evening.name), describe_round(evening), "", *people]

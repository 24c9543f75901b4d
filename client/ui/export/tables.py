"""The tables of a server, finished games and standings, as text."""

from collections.abc import Iterable, Sequence

from client.language import _, counted
from client.records import PastGame, Recording
from client.ui.frame import columns
from client.ui.texts.scoring import describe_points, describe_result
from client.ui.texts.set_up import describe_stage
from client.ui.texts.times import local_time
from engine.view import Eyes
from protocol.admin import StoredReport
from protocol.messages import Standing
from protocol.text import printable


def listing(tables: Iterable[StoredReport]) -> list[str]:
    """Return a heading and a line for each table, or one line that says that there are none."""
    rows = [
        (
            table.code,
            _stage(table),
            str(table.moves),
            _moment(table.opened),
            _moment(table.changed),
            ", ".join(_names(table)),
        )
        for table in tables
    ]
    if not rows:
        return [_("There are no tables.")]
    heading = (_("TABLE"), _("STAGE"), _("MOVES"), _("OPENED"), _("CHANGED"), _("PLAYERS"))
    return columns([heading, *rows])


def summary(table: StoredReport) -> list[str]:
    """Return all that everybody may know of a table, except its board."""
    seats = [
        _("Seat {number}: {name}").format(number=seat, name=printable(name) or _("free"))
        for seat, name in enumerate(table.names, start=1)
    ]
    return [
        _("Table {code}: {stage}").format(code=table.code, stage=_stage(table)),
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


def _names(table: StoredReport) -> list[str]:
    return [printable(name) or _("(free)") for name in table.names]


def _stage(table: StoredReport) -> str:
    if table.lost:
        return _("lost")
    stage = describe_stage(table.stage, full=all(table.names))
    if table.damaged:
        return _("{stage}, damaged").format(stage=stage)
    return _("{stage}, archived").format(stage=stage) if table.archived else stage


def _moment(seconds: int | None) -> str:
    return "?" if seconds is None else local_time(seconds)


def games_listing(games: Sequence[PastGame]) -> list[str]:
    """Return a heading and a numbered line for each game, or one line that says that there are none."""
    if not games:
        return [_("No finished games are kept here.")]
    heading = ("#", _("ENDED"), _("TABLE"), _("PLAYERS AND POINTS"))
    return columns(
        [
            heading,
            *(
                (str(number), local_time(game.ended), game.table, describe_points(game))
                for number, game in enumerate(games, start=1)
            ),
        ]
    )


def standings_listing(standings: Iterable[tuple[str, Standing]]) -> list[str]:
    """Return a heading and a line for each player, or one line that says that there are none."""
    rows = [(name, str(each.games), str(each.wins), str(each.points)) for name, each in standings]
    if not rows:
        return [_("No finished games are kept here.")]
    return columns([(_("PLAYER"), _("GAMES"), _("WINS"), _("POINTS")), *rows])

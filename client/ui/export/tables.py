"""The tables in a host's data folder, as text."""

import time
from collections.abc import Iterable, Sequence
from typing import Protocol

from client.language import _, counted
from client.recording import Recording
from client.ui.draw.lines import padded
from client.ui.texts.sentences import describe_result, describe_stage
from engine.view import Eyes
from protocol.messages import Stage
from protocol.text import printable


class Table(Protocol):
    """What is shown of a table; times are seconds since 1970."""

    @property
    def code(self) -> str: ...
    @property
    def stage(self) -> Stage: ...
    @property
    def archived(self) -> bool: ...
    @property
    def names(self) -> Sequence[str]: ...
    @property
    def moves(self) -> int: ...
    @property
    def opened(self) -> int | None: ...
    @property
    def changed(self) -> int | None: ...


def listing(tables: Iterable[Table]) -> list[str]:
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
    widths = [max(len(row[column]) for row in (heading, *rows)) for column in range(len(heading) - 1)]
    return [
        "  ".join([*(padded(word, width) for word, width in zip(row, widths, strict=False)), row[-1]])
        for row in (heading, *rows)
    ]


def summary(table: Table) -> list[str]:
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
    """Return how a game stands in one line: its result, or how far it is."""
    view = recording.view(recording.end, eyes)
    if view.result is not None:
        return describe_result(view.result, recording.names)
    form = counted("{n} piece still to place.", "{n} pieces still to place.", view.to_place)
    return form.format(n=view.to_place)


def _names(table: Table) -> list[str]:
    return [printable(name) or _("(free)") for name in table.names]


def _stage(table: Table) -> str:
    stage = describe_stage(table.stage)
    return _("{stage}, archived").format(stage=stage) if table.archived else stage


def _moment(seconds: int | None) -> str:
    return "?" if seconds is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))

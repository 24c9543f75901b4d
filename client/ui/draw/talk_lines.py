"""What was said at the table or in the lobby: the latest above the log, and all of it on its own page."""

from client.language import _
from client.ui.draw.frame import Block
from client.ui.draw.lines import EMPTY, Line, begun, beside, chips, line, stacked, width_of, wrapped
from client.ui.texts.people import describe_online
from client.ui.update.state import TalkPage, Ui, in_lobby
from client.ui.update.talk import Remark

_LEAST = 2  # lines below a page with fewer are for moves and questions
_SPARE = 6  # with as many, what has been read stays above the log


def latest_talk(ui: Ui, width: int, room: int) -> list[Line]:
    """Return the latest remarks for a part of `room` lines above the log: unread ones wherever possible.

    So is what the player has just said: the line that was typed must not vanish as if it were lost.
    """
    if room < _LEAST or not (ui.talk.unread or ui.talk.echoed or room >= _SPARE):
        return []
    most = max(room // 3, 1)
    lines: list[Line] = []
    for remark in reversed(ui.talk.remarks[-most:]):
        rows = _rows(remark, width, most if not lines else most - len(lines), whole=bool(lines))
        if not rows:
            break
        lines = [*rows, *lines]
    return lines


def lobby_talk(ui: Ui, width: int, height: int) -> list[Line]:
    """Return the latest remarks in the lobby, as many as there is room for."""
    lines: list[Line] = []
    for remark in reversed(ui.talk.remarks):
        rows = _rows(remark, width)
        if len(lines) + len(rows) > height:
            break
        lines = [*rows, *lines]
    return lines


def talk_block(ui: Ui, page: TalkPage, width: int, height: int) -> tuple[Block, int]:
    """Return what is seen of all that was said, and the last line that it can begin with.

    In the lobby, who is online comes before it.
    """
    words = _("SAID IN THE LOBBY") if in_lobby(ui) else _("SAID AT THE TABLE")
    heading = line(f" {words}", "class:heading")
    rows = [row for remark in ui.talk.remarks for row in _rows(remark, width)]
    if not rows:
        rows = [line(f" {row}", "class:faint") for row in wrapped(_("Nobody has said anything."), width - 2)]
    if in_lobby(ui) and ui.company is not None and ui.company.people:
        told = wrapped(describe_online(ui.company.people, ui.company.more), width - 2)
        rows = [*(line(f" {row}", "class:faint") for row in told), EMPTY, *rows]
    last_top = max(len(rows) + 1 - height, 0)
    top = last_top if page.top is None else min(page.top, last_top)
    return Block(tuple(stacked([heading, *rows[top:]], width, height))), last_top


def _rows(remark: Remark, width: int, most: int | None = None, *, whole: bool = False) -> list[Line]:
    """Return a remark with its speaker, in `most` lines; none of it if `whole` does not fit."""
    sign = EMPTY if remark.people is None else beside(chips([remark.people]), line(" "))
    speaker = f"{remark.speaker}:"
    indent = width_of(sign)
    rows = wrapped(f"{speaker} {remark.text}", width - 4 - indent)
    if most is not None and len(rows) > most:
        if whole:
            return []
        rows = begun(rows, most, width - 4 - indent)
    first, *more = rows
    named = speaker if first.startswith(speaker) else first
    start = beside(line(" "), sign, line(named, "class:mine"), line(first[len(named) :], "class:talk"))
    return [start, *(line(f"{'':{indent + 3}}{row}", "class:talk") for row in more)]

"""The lines below a page: what was said, the end of the log, and what is asked or refused now."""

from typing import Final

from client.language import _, labelled
from client.ui.frame import (
    EMPTY,
    READ_ON,
    Block,
    Line,
    begun,
    beside,
    chips,
    fitted,
    line,
    stacked,
    width_of,
    wrapped,
)
from client.ui.state import Lesson, Playing, Quitting, Replay, TalkPage, Ui, in_lobby
from client.ui.talk import Remark
from client.ui.texts.people import describe_online
from protocol.messages import Leave

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
    text = labelled(remark.speaker, remark.text)
    speaker = text.removesuffix(remark.text).rstrip(" ")
    indent = width_of(sign)
    rows = wrapped(text, width - 4 - indent)
    if most is not None and len(rows) > most:
        if whole:
            return []
        rows = begun(rows, most, width - 4 - indent)
    first, *more = rows
    named = speaker if first.startswith(speaker) else first
    start = beside(line(" "), sign, line(named, "class:mine"), line(first[len(named) :], "class:talk"))
    return [start, *(line(f"{'':{indent + 3}}{row}", "class:talk") for row in more)]


LOG_LINES: Final = 3  # with fewer than these below the board, the log stands in the panel


def with_news(
    page: Block, ui: Ui, width: int, height: int, sentence: str = "", *, most: int = LOG_LINES
) -> Block:
    """Return the page with the latest news below it, in at `most` so many lines."""
    news = news_lines(ui, width, most, sentence)
    lines = [*stacked(page.lines, width, height - len(news)), *news]
    return Block(tuple(lines), page.targets)


def lines_wanted(ui: Ui, width: int, sentence: str) -> int:
    """Return how many lines the latest news takes, and what should be read now."""
    words, _style = _now(ui, sentence)
    latest = wrapped(ui.log[-1], width - 4) if ui.log else []
    return len(wrapped(words, width - 2)) + len(latest) + bool(ui.talk.unread)


def news_lines(ui: Ui, width: int, height: int, sentence: str) -> list[Line]:
    """Return the latest talk, the last lines of the log, and below them what should be read now."""
    in_lesson = isinstance(ui.page, Lesson)  # where the log says what to do
    now = words_now(ui, width, height, sentence)
    talk = latest_talk(ui, width, max(height - len(now), 0))
    room_left = max(height - len(now) - len(talk), 0)
    entries = [wrapped(text, width - 4) for text in ui.log[: len(ui.log) - ui.scroll][-height:]]
    if not in_lesson and entries and len(entries[-1]) > room_left:
        entries[-1] = begun(entries[-1], room_left, width - 4, _dots(ui))
    first = len(entries)  # no sentence is shown without its beginning, unless it is the only one
    while first and sum(map(len, entries[first - 1 :])) <= room_left:
        first -= 1
    shown = entries[min(first, len(entries) - 1) :] if entries else []
    older = [f"{'   ' if at else ' '}{row}" for rows in shown for at, row in enumerate(rows)]
    style = "class:info" if in_lesson else ""
    log = [line(row, style) for row in older[len(older) - min(room_left, len(older)) :]]
    return [*stacked(talk, width, len(talk)), *stacked(log, width, room_left), *now]


def words_now(ui: Ui, width: int, height: int, sentence: str = "") -> list[Line]:
    """Return what should be read now, in at most `height` lines."""
    words, style = _now(ui, sentence)
    marked = style == "class:refusal" or ui.notice is not None  # over the whole width
    return [
        fitted(line(f" {row}", style), width, style if marked else "")
        for row in begun(wrapped(words, width - 2), height, width - 2, _dots(ui))
    ]


def _dots(ui: Ui) -> str:
    """Return what stands for the rest of a text: with the key that shows it, if there is one."""
    return READ_ON if isinstance(ui.page, Playing | Replay) and ui.overlay is None else "..."


def _now(ui: Ui, sentence: str) -> tuple[str, str]:
    """Return what should be read now, and its style."""
    if isinstance(ui.overlay, Quitting):
        if isinstance(ui.overlay.request, Leave):
            asks = _("Leave the table, and give up your seat? {yes}: leave, n: stay")
        elif isinstance(ui.page, Playing):
            asks = _("The game is still running. Quit? {yes}: quit, n: stay")
        else:
            asks = _("Quit Palatinus? {yes}: quit, n: stay")
        return asks.format(yes=_("y")), "class:refusal"
    if ui.notice is not None:
        return ui.notice.text, "class:refusal" if ui.notice.refusal else "class:info"
    return sentence, "class:info"

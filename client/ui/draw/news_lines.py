"""The lines below a page: chat, the end of the log, and the current question or refusal."""

from typing import Final

from client.language import labelled
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
from client.ui.state import Ui
from client.ui.talk import Remark

_LEAST = 2  # lines below a page with fewer are for moves and questions
_SPARE = 6  # with as many, what has been read stays above the log


def latest_talk(ui: Ui, width: int, room: int) -> list[Line]:
    """Return the latest remarks for a part of `room` lines above the log: unread ones wherever possible.

    The player's own latest remark is included: a line just typed must not vanish as if it were lost.
    """
    if room < _LEAST or not (ui.talk.unread or ui.talk.echoed or room >= _SPARE):
        return []
    most = max(room // 3, 1)
    lines: list[Line] = []
    for remark in reversed(ui.talk.remarks[-most:]):
        rows = remark_rows(remark, width, most if not lines else most - len(lines), whole=bool(lines))
        if not rows:
            break
        lines = [*rows, *lines]
    return lines


def lobby_talk(ui: Ui, width: int, height: int) -> list[Line]:
    """Return the latest remarks in the lobby, as many as there is room for."""
    lines: list[Line] = []
    for remark in reversed(ui.talk.remarks):
        rows = remark_rows(remark, width)
        if len(lines) + len(rows) > height:
            break
        lines = [*rows, *lines]
    return lines


def remark_rows(remark: Remark, width: int, most: int | None = None, *, whole: bool = False) -> list[Line]:
    """Return a remark with its speaker, in at most `most` lines; with `whole`, nothing if it does not fit."""
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
    """Return the page with the latest news below it, in at most `most` lines."""
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
    now = words_now(ui, width, height, sentence)
    talk = latest_talk(ui, width, max(height - len(now), 0))
    room_left = max(height - len(now) - len(talk), 0)
    entries = [wrapped(text, width - 4) for text in ui.log[: len(ui.log) - ui.scroll][-height:]]
    if not ui.page.log_style and entries and len(entries[-1]) > room_left:
        entries[-1] = begun(entries[-1], room_left, width - 4, _dots(ui))
    first = len(entries)  # no sentence is shown without its beginning, unless it is the only one
    while first and sum(map(len, entries[first - 1 :])) <= room_left:
        first -= 1
    shown = entries[min(first, len(entries) - 1) :] if entries else []
    older = [f"{'   ' if at else ' '}{row}" for rows in shown for at, row in enumerate(rows)]
    log = [line(row, ui.page.log_style) for row in older[len(older) - min(room_left, len(older)) :]]
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
    return READ_ON if ui.page.reads_on and ui.overlay is None else "..."


def _now(ui: Ui, sentence: str) -> tuple[str, str]:
    """Return what should be read now, and its style."""
    if ui.overlay is not None and (asked := ui.overlay.question(ui)):
        return asked, "class:refusal"
    if ui.notice is not None:
        return ui.notice.text, "class:refusal" if ui.notice.refusal else "class:info"
    return sentence, "class:info"

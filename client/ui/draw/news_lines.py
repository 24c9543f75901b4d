"""The lines below a page: the end of the log, and what is asked or refused now."""

from typing import Final

from client.language import _
from client.ui.draw.frame import Block
from client.ui.draw.lines import READ_ON, Line, begun, fitted, line, stacked, wrapped
from client.ui.draw.talk_lines import latest_talk
from client.ui.update.requests import Leave
from client.ui.update.state import Lesson, Playing, Quitting, Replay, Ui

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

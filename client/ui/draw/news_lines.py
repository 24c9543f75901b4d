"""The lines below a page: the end of the log, and what is asked or refused now."""

from typing import Final

from client.language import _
from client.ui.draw.frame import Block
from client.ui.draw.lines import Line, begun, fitted, line, stacked, wrapped
from client.ui.update.state import Lesson, Quitting, Ui

LOG_LINES: Final = 3  # with fewer than these below the board, the log stands in the panel


def with_news(page: Block, ui: Ui, width: int, height: int, sentence: str = "") -> Block:
    """Return the page with the latest news below it."""
    news = news_lines(ui, width, LOG_LINES, sentence)
    lines = [*stacked(page.lines, width, height - len(news)), *news]
    return Block(tuple(lines), page.targets)


def news_lines(ui: Ui, width: int, height: int, sentence: str) -> list[Line]:
    """Return the last lines of the log, and below them what should be read now."""
    in_lesson = isinstance(ui.page, Lesson)  # where the log says what to do
    words, style = sentence, "class:info"
    if isinstance(ui.overlay, Quitting):
        asks = _("The game is still running. Quit? {yes}: quit, n: stay")
        words, style = asks.format(yes=_("y")), "class:refusal"
    elif ui.notice is not None:
        words, style = ui.notice.text, "class:refusal" if ui.notice.refusal else "class:info"
    marked = style == "class:refusal" or ui.notice is not None  # over the whole width
    now = [
        fitted(line(f" {row}", style), width, style if marked else "")
        for row in begun(wrapped(words, width - 2), height, width - 2)
    ]
    room_left = max(height - len(now), 0)
    shown = [wrapped(text, width - 4) for text in ui.log[: len(ui.log) - ui.scroll][-height:]]
    if not in_lesson and shown and len(shown[-1]) > room_left:
        shown = [begun(shown[-1], room_left, width - 4)]
    older = [f"{'   ' if at else ' '}{row}" for rows in shown for at, row in enumerate(rows)]
    style = "class:info" if in_lesson else ""
    log = [line(row, style) for row in older[len(older) - min(room_left, len(older)) :]]
    return [*stacked(log, width, room_left), *now]

"""Building blocks of screens: titles, lists, scrollable texts, settings with their keys."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from client.language import _
from client.tables.table import TableModel
from client.ui.actions import Act, Action, ChooseLine, Way
from client.ui.draw.clocks import countdown
from client.ui.draw.news_lines import LOG_LINES, news_lines, with_news
from client.ui.draw.table_layout import shortened
from client.ui.frame import EMPTY, Block, Drawing, Line, beside, ends, line, padded, plain, stacked, wrapped
from client.ui.state import Ui
from client.ui.texts.events import describe_turn
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.people import names_at

_LINES: Final = 4  # no more than the smallest window shows, or some would never be seen
_SETTING: Final = 10  # columns before the words of a setting


def line_chosen(action: Action, chosen: int, lines: int) -> int | None:
    """Return the line of a list that a key or a click leads to; None if it leads to no other line."""
    match action:
        case Way():
            return min(max(chosen + (1 if action is Way.DOWN else -1), 0), lines - 1)
        case ChooseLine(number) if number != chosen:
            return min(number, lines - 1)
        case _:
            return None


def lines_around(chosen: int, lines: int, room: int) -> range:
    """Return the lines of a list for which there is room, the chosen one among them."""
    room = max(room, 1)
    first = min(max(chosen - room + 1, 0), max(lines - room, 0))
    return range(first, min(first + room, lines))


def choice(text: str, glyphs: GlyphSet, width: int, *, chosen: bool, style: str = "") -> Line:
    """Return a line of a list."""
    if chosen:
        return line(padded(f"{glyphs.pointer} {text}", width), "class:chosen")
    return line(f"  {text}", style)


def scrolled(rows: Sequence[Line], top: int, width: int, height: int) -> tuple[Block, int]:
    """Return a text from line `top` on, and the last line that it can begin with."""
    last_top = max(len(rows) - height, 0)
    return Block(tuple(stacked(rows[min(top, last_top) :], width, height))), last_top


def scrolled_to(action: Action, top: int, last_top: int) -> int:
    """Return the first line of a text after a key that scrolls it."""
    if action is Act.PAGE_DOWN:
        return min(top + _LINES, last_top)
    return max(min(top, last_top) - _LINES, 0) if action is Act.PAGE_UP else top


def settings(keys_and_words: Iterable[tuple[str, str]], width: int, style: str = "") -> list[Line]:
    """Return settings with the keys that change them."""
    rows = []
    for keys, words in keys_and_words:
        first, *others = wrapped(words, width - _SETTING - 2)
        rows.append(beside(line(f"    {keys:<6}", "class:key"), line(first, style)))
        rows += [line(f"{'':{_SETTING}}{other}", style) for other in others]
    return rows


_AROUND_A_LIST: Final = 9  # lines of a whole page that a short list leaves out, at most


class _Page(Struct, frozen=True):
    """What is no text to scroll through."""

    def last_top(self, width: int, height: int) -> int:
        return 0


class ServerPage(_Page, frozen=True):
    """What pages at a server have in common: their title names the table, the stage and the player."""

    ui: Ui
    model: TableModel
    glyphs: GlyphSet

    @property
    def stage(self) -> str:
        return describe_turn(self.model, names_at(self.model))

    @property
    def place(self) -> str:
        return self.stage

    def title(self, width: int) -> Line:
        model, dot = self.model, self.glyphs.dot
        style = "class:title-turn" if on_turn(model) else "class:title"
        table = "" if model.table is None else f" {dot} {model.table}"
        left = line(f" Palatinus{table} {dot} {self.stage}", style)
        watches = model.table is not None and model.seat is None
        who = _("watching") if watches else self.ui.name
        stops = countdown(self.ui)
        who = f"{stops} {dot} {who}" if stops else who
        return ends(left, line(f"  {who} ", style), width, style)


class AroundGame(_Page, frozen=True):
    """What pages around a game that is not at a server have in common: `table` draws the game."""

    table: Drawing
    glyphs: GlyphSet

    @property
    def stage(self) -> str:
        return self.table.stage

    @property
    def place(self) -> str:
        return self.stage

    def body(self, width: int, height: int) -> Block:
        return self.table.body(width, height)


class ListPage(_Page, frozen=True):
    """A list outside any server: `block` draws it in the given columns and lines."""

    ui: Ui
    place: str
    heading: str
    block: Callable[[int, int], Block]
    stage: str = ""

    def title(self, width: int) -> Line:
        return ends(line(f" {self.heading}", "class:title"), EMPTY, width, "class:title")

    def body(self, width: int, height: int) -> Block:
        return with_news(self.block(width, height), self.ui, width, height)

    def small_body(self, width: int, height: int) -> Block:
        return short_list(self.ui, self.block(width, height + _AROUND_A_LIST), width, height)


def on_turn(model: TableModel) -> bool:
    """Return whether it is the player's own turn."""
    return model.seat is not None and model.view is not None and model.view.turn == model.seat


def short_list(ui: Ui, page: Block, width: int, height: int) -> Block:
    """Return the part of a list around its chosen line, and the latest news below it."""
    told = news_lines(ui, width, min(LOG_LINES, height // 3), "")
    told = [content for content in told if plain(content).strip()]
    page = shortened(page, width, height - len(told))
    return Block((*stacked(page.lines, width, height - len(told)), *told), page.targets)

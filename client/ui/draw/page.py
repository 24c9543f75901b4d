"""Building blocks of screens: titles, lists, texts to scroll, settings, and a board with its panel."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from prompt_toolkit.utils import get_cwidth

from client.language import _
from client.tables.table import TableModel
from client.ui.at_table import HEX_POSITIONS
from client.ui.draw.board import HUGE, LARGE, MEDIUM, SMALL, Marks, Scale, drawn_board
from client.ui.draw.news_lines import LOG_LINES, countdown, lines_wanted, news_lines, with_news
from client.ui.frame import (
    EMPTY,
    Block,
    Line,
    Target,
    beside,
    ends,
    fitted,
    line,
    padded,
    plain,
    side_by_side,
    stacked,
    without,
    wrapped,
)
from client.ui.keys import Act, Action, ChooseLine, PointAt, Way
from client.ui.state import Pane, Screen
from client.ui.texts.games import describe_turn
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.tables import named, names_at
from engine.board import HILLS, Hex
from engine.view import View


def around(board: Block, cell: Hex, width: int, height: int) -> Block:
    """Return as much of the small board as there is room for, with `cell` as near the middle as possible."""
    width, height = min(width, SMALL.width), min(height, SMALL.height)
    column, row = SMALL.body_of(cell)
    left = _first_shown(column + SMALL.across // 2 - 1, width, SMALL.width)
    top = _first_shown(row, height, SMALL.height)
    lines = tuple(fitted(without(content, left), width) for content in board.lines[top : top + height])
    return _within(Block(lines, tuple(target.moved(-left, -top) for target in board.targets)), width)


def _first_shown(middle: int, room: int, whole: int) -> int:
    return min(max(middle - room // 2, 0), whole - room)


def _within(block: Block, width: int) -> Block:
    seen = []
    for target in block.targets:
        left, right = max(target.column, 0), min(target.column + target.width, width)
        if left < right and 0 <= target.line < len(block.lines):
            seen.append(Target(left, target.line, right - left, target.action))
    return Block(block.lines, tuple(seen))


def shortened(page: Block, width: int, height: int) -> Block:
    """Return the part of a page around the chosen line, without empty lines."""
    kept = [at for at, content in enumerate(page.lines) if plain(content).strip()]
    chosen = [
        row for row, at in enumerate(kept) if any("class:chosen" in style for style, _text in page.lines[at])
    ]
    middle = chosen[0] + len(chosen) // 2 if chosen else 0
    first = _first_shown(middle, height, max(len(kept), height))
    shown = kept[first : first + height]
    targets = [
        target.moved(0, shown.index(target.line) - target.line)
        for target in page.targets
        if target.line in shown
    ]
    lines = tuple(_dotted(page.lines[at], width) for at in shown)
    return _within(Block(lines, tuple(targets)), width)


def _dotted(content: Line, width: int) -> Line:
    if get_cwidth(plain(content).rstrip()) <= width:
        return content
    return beside(fitted(content, width - 3), line("..."))


_PANEL_WIDTH: Final = 30
_PANEL_MOST: Final = 56  # wider, numbers would stand far from the names that they belong to

PanelOf = Callable[[Pane], Block]


def table_block(pane: Pane, board: tuple[View, Marks], panel: PanelOf, sentence: str) -> Block:
    """Return board and panel, and the log below them or, where the board needs the height, in the panel."""
    width, height = pane.width, pane.height
    scale = next(
        scale
        for scale in (HUGE, LARGE, MEDIUM, SMALL)
        if scale is SMALL or (scale.width + 1 + _PANEL_WIDTH <= width and scale.height <= height)
    )
    margin = min(2, width - scale.width - 1 - _PANEL_WIDTH)
    left_width = margin + scale.width + 1
    panel_width = min(width - left_width, _PANEL_MOST)
    left = Block(
        tuple(beside(line(" " * margin), content) for content in drawn_board(*board, pane.glyphs, scale)),
        tuple(target.moved(margin, 0) for target in _hexes(scale)),
    )
    below = height - scale.height
    if below >= LOG_LINES:
        right = panel(pane.sized(panel_width, scale.height))
        both = side_by_side(left, right, left_width, panel_width, scale.height)
        return Block((*both.lines, *news_lines(pane.ui, width, below, sentence)), both.targets)
    wanted = max(lines_wanted(pane.ui, panel_width, sentence), LOG_LINES)
    right = panel(pane.sized(panel_width, height - wanted))
    room_left = max(height - len(right.lines) - 1, wanted)
    lines = stacked(right.lines, panel_width, height - room_left)
    right = Block((*lines, *news_lines(pane.ui, panel_width, room_left, sentence)), right.targets)
    return side_by_side(left, right, left_width, panel_width, height)


def small_table_block(
    pane: Pane, board: tuple[View, Marks], panel: PanelOf | None, sentence: str, *, hand: Line, below: int
) -> Block:
    """Return the board around the cursor, the hand in one line, and `below` lines of text."""
    width, height = pane.width, pane.height
    marks = board[1]
    asks = sentence if pane.ui.notice is None else pane.ui.notice.text
    below = max(min(below, LOG_LINES, height - SMALL.height), min(below, len(wrapped(asks, width - 2))), 1)
    rows = height - below - bool(hand)
    left = Block(tuple(drawn_board(*board, pane.glyphs, SMALL)), tuple(_hexes(SMALL)))
    shown = around(left, HILLS[0] if marks.cursor is None else marks.cursor, width, rows)
    told = news_lines(pane.ui, width, below, sentence)
    board_width = min(SMALL.width, width) + 1
    if panel is not None and width - board_width >= _PANEL_WIDTH - 1:
        right = panel(pane.sized(min(width - board_width, _PANEL_MOST), rows))
        shown = side_by_side(shown, right, board_width, width - board_width, rows)
    lines = [*stacked(shown.lines, width, rows), *([hand] if hand else ()), *told]
    return Block(tuple(lines), shown.targets)


def _hexes(scale: Scale) -> list[Target]:
    return [
        Target(column, top + row, scale.across - 1, PointAt(cell))
        for cell in HEX_POSITIONS
        for column, top in [scale.body_of(cell)]
        for row in range(scale.body)
    ]


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
    if chosen:
        return line(padded(f"{glyphs.pointer} {text}", width), "class:chosen")
    return line(f"  {text}", style)


def scrolled(rows: Sequence[Line], top: int, width: int, height: int) -> tuple[Block, int]:
    """Return a text from line `top` on, and the last line that it can begin with."""
    last_top = max(len(rows) - height, 0)
    return Block(tuple(stacked(rows[min(top, last_top) :], width, height))), last_top


def scrolled_to(action: Action, top: int, last_top: int) -> int:
    if action is Act.PAGE_DOWN:
        return min(top + _LINES, last_top)
    return max(min(top, last_top) - _LINES, 0) if action is Act.PAGE_UP else top


def settings(keys_and_words: Iterable[tuple[str, str]], width: int, style: str = "") -> list[Line]:
    rows = []
    for keys, words in keys_and_words:
        first, *others = wrapped(words, width - _SETTING - 2)
        rows.append(beside(line(f"    {keys:<6}", "class:key"), line(first, style)))
        rows += [line(f"{'':{_SETTING}}{other}", style) for other in others]
    return rows


_AROUND_A_LIST: Final = 9  # lines of a whole page that a short list leaves out, at most


class ServerScreen(Screen):
    """What screens at a server have in common: their title names the table, the stage and the player."""

    __slots__ = ()
    at_server = True

    def stage(self, model: TableModel) -> str:
        return describe_turn(model, names_at(model))

    def place(self, pane: Pane) -> str:
        return self.stage(pane.model)

    def title(self, pane: Pane) -> Line:
        model, dot = pane.model, pane.glyphs.dot
        style = "class:title-turn" if on_turn(model) else "class:title"
        table = "" if model.table is None else f" {dot} {named(model.table, model.state)}"
        left = line(f" Palatinus{table} {dot} {self.stage(model)}", style)
        watches = model.table is not None and model.seat is None
        who = _("watching") if watches else pane.ui.name
        stops = countdown(pane.ui)
        who = f"{stops} {dot} {who}" if stops else who
        return ends(left, line(f"  {who} ", style), pane.width, style)


class ListScreen(Screen):
    """A list outside any server: `block` draws it."""

    __slots__ = ()

    def block(self, pane: Pane) -> Block:
        raise NotImplementedError

    def heading(self, pane: Pane) -> str:
        return f"Palatinus {pane.glyphs.dot} {self.place(pane)}"

    def title(self, pane: Pane) -> Line:
        return ends(line(f" {self.heading(pane)}", "class:title"), EMPTY, pane.width, "class:title")

    def body(self, pane: Pane) -> Block:
        return with_news(self.block(pane), pane)

    def small_body(self, pane: Pane) -> Block:
        return short_list(pane, self.block(pane.sized(pane.width, pane.height + _AROUND_A_LIST)))


def on_turn(model: TableModel) -> bool:
    return model.seat is not None and model.view is not None and model.view.turn == model.seat


def short_list(pane: Pane, page: Block) -> Block:
    """Return the part of a list around its chosen line, and the latest news below it."""
    width, height = pane.width, pane.height
    told = news_lines(pane.ui, width, min(LOG_LINES, height // 3), "")
    told = [content for content in told if plain(content).strip()]
    page = shortened(page, width, height - len(told))
    return Block((*stacked(page.lines, width, height - len(told)), *told), page.targets)

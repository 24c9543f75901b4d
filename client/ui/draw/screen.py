"""The whole screen, drawn from what is known and the UI state by one pure function."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from client.language import _
from client.table import TableModel
from client.ui.draw import small
from client.ui.draw.board import Marks, drawn_board
from client.ui.draw.clocks import describe_outage, vote_question
from client.ui.draw.frame import Block, Frame, Target, framed, side_by_side
from client.ui.draw.grid import LARGE, MEDIUM, SMALL, Scale
from client.ui.draw.lesson import above, lesson_number, lesson_text, pointed_out, shown_below
from client.ui.draw.lines import (
    EMPTY,
    Line,
    begun,
    beside,
    ends,
    fitted,
    line,
    plain,
    stacked,
    width_of,
    wrapped,
)
from client.ui.draw.pages.counts import counts_page
from client.ui.draw.pages.lobby import lobby, room
from client.ui.draw.pages.reading import help_page, rules_page
from client.ui.draw.pages.result import result_page
from client.ui.draw.pages.start import start_page
from client.ui.draw.panel import Panel
from client.ui.draw.replay import describe_eyes, describe_place, describe_turn_replayed
from client.ui.draw.scene import scene
from client.ui.lessons.pages import Shown
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.sentences import describe_rematch, describe_turn, names_at
from client.ui.update import selection
from client.ui.update.actions import Act, Action, PointAt
from client.ui.update.cursor import HEX_POSITIONS
from client.ui.update.entry import Asked, Entry
from client.ui.update.keys import key_name
from client.ui.update.offered_keys import offered
from client.ui.update.scoring_steps import hill_of, last_step, steps
from client.ui.update.state import Overlay, Ui, Where, at_result, page_count, where
from client.ui.update.typed_commands import completions
from engine.board import HILLS
from engine.legal import LegalLays
from engine.view import Phase, View

LEAST_WIDTH: Final = 80
LEAST_HEIGHT: Final = 24
_PANEL_WIDTH: Final = 30
_PANEL_MOST: Final = 56  # wider, numbers would stand far from the names that they belong to
_LASTING: Final = (Act.HELP, Act.QUIT)  # what the function bar shows however narrow it is
_LOG_LINES: Final = 3  # with fewer than these below the board, the log stands in the panel


def drawn(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int, height: int) -> Frame:
    """Return the screen: exactly `height` lines, each exactly `width` cells wide."""
    if width < LEAST_WIDTH or height < LEAST_HEIGHT:
        frame = _small(ui, model, glyphs, width, height)
    else:
        body = _body(ui, model, glyphs, width, height - 2)
        blocks = (Block((_title(ui, model, glyphs, width),)), body, _foot(ui, model, glyphs, width))
        frame = framed(blocks, width, height, ascii_only=glyphs.ascii)
    return frame if ui.rest is None else replace(frame, targets=_anywhere(frame, Act.RUN))


def _anywhere(frame: Frame, action: Action) -> tuple[Target, ...]:
    return tuple(Target(0, at, width_of(content), action) for at, content in enumerate(frame.lines))


def _small(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int, height: int) -> Frame:
    """Return what has room in a window that is too small for the whole screen."""
    reading = where(replace(ui, entry=None), model) is Where.READING
    too_small = width < small.LEAST_WIDTH or height < small.LEAST_HEIGHT
    if too_small or reading or ui.lesson is not None or ui.overlay is Overlay.QUIT:
        return _too_small(ui, model, glyphs, width, height)
    told = describe_outage(ui.lost, ui.now, width - 1) if ui.lost is not None else _describe_place(ui, model)
    mine = model.seat is not None and model.view is not None and model.view.turn == model.seat
    style = "class:refusal" if ui.lost is not None else "class:title-turn" if mine else "class:title"
    title = Block((fitted(line(f" {told}", style), width, style),))
    body = _small_body(ui, model, glyphs, width, height - 2)
    return framed([title, body, _foot(ui, model, glyphs, width)], width, height, ascii_only=glyphs.ascii)


def _describe_place(ui: Ui, model: TableModel) -> str:
    if ui.start is not None:
        return "Palatinus"
    if ui.replay is not None:
        return ", ".join((describe_place(ui.replay), _stage(ui, model)))
    return _stage(ui, model)


def _small_body(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int, height: int) -> Block:
    """Return a part of the board with the hand below it, or of a list what is around the line chosen."""
    view = model.view
    if view is not None and not (view.result is not None and at_result(ui, view)):
        return _small_table(ui, model, view, glyphs, (width, height))
    if view is not None and view.result is not None:
        page = small.short_result(view, view.result, names_at(model), width)
    elif ui.start is not None:
        page = start_page(ui, ui.start, glyphs, width)
    elif model.table is None:
        page = lobby(ui, glyphs, width, LEAST_HEIGHT - 2)
    else:
        page = room(ui, model, glyphs, width)
    told = _tell(ui, width, min(_LOG_LINES, height // 3), "")
    told = [content for content in told if plain(content).strip()]
    page = small.shortened(page, width, height - len(told))
    return Block((*stacked(page.lines, width, height - len(told)), *told), page.targets)


def _small_table(ui: Ui, model: TableModel, view: View, glyphs: GlyphSet, size: tuple[int, int]) -> Block:
    """Return the board around the cursor, the hand in a line, and what is to be read now."""
    width, height = size
    if view.phase is Phase.OVER:
        shown = scene(view, min(ui.step, last_step(view)), names_at(model))
        drawing, marks, sentence, below = shown.board, shown.marks, shown.sentence, height // 2
        hand = EMPTY
    else:
        drawing, marks, sentence, below = view, _marks(ui, model), vote_question(model), height // 4
        hand = small.in_hand(ui, model, glyphs, width)
    asks = sentence if ui.notice is None else ui.notice.text
    below = max(min(below, _LOG_LINES, height - SMALL.height), min(below, len(wrapped(asks, width - 2))), 1)
    rows = height - below - bool(hand)
    left = Block(tuple(drawn_board(drawing, marks, glyphs, SMALL)), tuple(_hexes(SMALL)))
    board = small.around(left, HILLS[0] if marks.cursor is None else marks.cursor, width, rows)
    told = _tell(ui, width, below, sentence)
    board_width = min(SMALL.width, width) + 1
    if view.phase is not Phase.OVER and width - board_width >= _PANEL_WIDTH - 1:
        panel = Panel(ui, model, view, glyphs, min(width - board_width, _PANEL_MOST)).of_game(rows)
        board = side_by_side(board, panel, board_width, width - board_width, rows)
    lines = [*stacked(board.lines, width, rows), *([hand] if hand else ()), *told]
    return Block(tuple(lines), board.targets)


def _too_small(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int, height: int) -> Frame:
    """Return what has room in a small window: that it is small, what goes on, and the line being typed.

    What is typed and asked is seen there, and answered; the keys of a page that is not seen are not heard.
    """
    words = _("The window is too small: {size} or larger, please. q: quit").format(
        size=f"{LEAST_WIDTH}x{LEAST_HEIGHT}"
    )
    if ui.overlay is Overlay.QUIT:
        told = _tell(ui, width, height, "")[-height:] if height else []
        return framed([Block(tuple(told))], width, height, ascii_only=glyphs.ascii)
    asked = Block((_typing(ui, model, width),) if ui.entry is not None else ())
    room_left = max(height - len(asked.lines), 0)
    rows = [line(row) for row in wrapped(words, width)]
    if ui.start is None and len(rows) + 1 < room_left:
        rows += [line(row, "class:heading") for row in wrapped(_stage(ui, model), width)]
    told = _tell(ui, width, room_left - len(rows), "") if len(rows) < room_left else []
    small_page = Block(tuple(stacked([*rows, *told], width, room_left)))
    frame = framed([small_page, asked], width, height, ascii_only=glyphs.ascii)
    return replace(frame, seen=ui.entry is not None)


def _title(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int) -> Line:
    if ui.lost is not None:
        told = describe_outage(ui.lost, ui.now, width - 2)
        return fitted(line(f" {told}", "class:refusal"), width, "class:refusal")
    if ui.replay is not None:
        parts = (_("Replay"), describe_place(ui.replay), _stage(ui, model))
        place = " " + f" {glyphs.dot} ".join(parts)
        eyes = f"  {describe_eyes(ui.replay)} "
        return ends(line(place, "class:title"), line(eyes, "class:title"), width, "class:title")
    if ui.lesson is not None:
        left = line(f" Palatinus {glyphs.dot} {lesson_number(ui.lesson)}", "class:title")
        return ends(left, line(f"  {ui.name} ", "class:title"), width, "class:title")
    if ui.start is not None:
        title = line(" " + _("Palatinus: the seven hills of Rome"), "class:title")
        return ends(title, EMPTY, width, "class:title")
    mine = model.seat is not None and model.view is not None and model.view.turn == model.seat
    style = "class:title-turn" if mine else "class:title"
    table = "" if model.table is None else f" {glyphs.dot} {model.table}"
    left = line(f" Palatinus{table} {glyphs.dot} {_stage(ui, model)}", style)
    watches = model.table is not None and model.seat is None
    who = _("watching") if watches else ui.name
    return ends(left, line(f"  {who} ", style), width, style)


def _stage(ui: Ui, model: TableModel) -> str:
    """Return where the game is, or the walk through its scoring."""
    view = model.view
    if view is None or view.phase is not Phase.OVER:
        if view is not None and ui.replay is not None:
            return describe_turn_replayed(view, names_at(model))
        return describe_turn(model, names_at(model))
    step = steps(view)[min(ui.step, last_step(view))]
    hill = hill_of(view.scoring[step.event])
    if hill is not None:
        return _("scoring hill {hill}").format(hill=hill)
    return _("the scoring") if ui.step == 0 else _("the result")


def _foot(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int) -> Block:
    """Return the line being typed, or the function bar, where a click is as good as the key."""
    if ui.entry is not None:
        return Block((_typing(ui, model, width),))
    if ui.rest is not None:
        return Block(
            (fitted(line(" " + _("Running by itself; any key or click stops it."), "class:info"), width),)
        )
    keys = list(offered(ui, model))
    hints = [
        beside(line(key_name(key.names[0], glyphs), "class:key"), line(f" {_(key.short)}  ")) for key in keys
    ]
    while len(hints) > len(_LASTING) and sum(map(width_of, hints)) > width:  # the last gap is not seen
        at = max(at for at, key in enumerate(keys) if key.action not in _LASTING)
        del hints[at], keys[at]
    ends_at = list(accumulate(map(width_of, hints), initial=1))
    targets = (
        Target(column, 0, end - column - 1, key.action)
        for key, column, end in zip(keys, ends_at, ends_at[1:], strict=False)
    )
    return Block((fitted(beside(line(" "), *hints), width),), tuple(targets))


def _typing(ui: Ui, model: TableModel, width: int) -> Line:
    entry = ui.entry
    if entry is None:
        return EMPTY
    prompt = line(f" {_prompt(entry)} ", "class:key")
    before, at, after = (
        entry.text[: entry.at],
        entry.text[entry.at : entry.at + 1],
        entry.text[entry.at + 1 :],
    )
    while before and width_of(line(prompt[0][1] + before)) > width - 2:
        before = before[1:]
    typed = beside(
        prompt, line(before, "class:typing"), line(at or " ", "class:cursor"), line(after, "class:typing")
    )
    ways = () if not entry.command else completions(entry.text, model, ui.replay)
    return fitted(beside(typed, line("   " + "  ".join(ways), "class:faint")), width)


def _prompt(entry: Entry) -> str:
    match entry.asks:
        case Asked.NAME:
            return _("your name:")
        case Asked.ADDRESS:
            return _("the host's address:")
        case None:
            return _("say:") if entry.chat else ":"


def _body(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int, height: int) -> Block:
    if where(replace(ui, entry=None), model) is Where.READING:
        return _indented(_page(ui, model, glyphs, width - 4), width, height)
    if ui.start is not None:
        return _with_tell(start_page(ui, ui.start, glyphs, width), ui, width, height)
    if model.table is None:
        return _with_tell(lobby(ui, glyphs, width, height), ui, width, height)
    if model.view is None:
        return _with_tell(room(ui, model, glyphs, width), ui, width, height)
    if model.view.result is not None and at_result(ui, model.view):
        lines = result_page(model.view, model.view.result, names_at(model), glyphs, width)
        if ui.lesson is not None:
            told = lesson_text(ui.lesson, glyphs, width - 4)
            lines += [EMPTY, *(beside(line("  "), content) for content in told)]
        again = "" if model.state is None else describe_rematch(model.state, model.seat)
        return _with_tell(Block(tuple(lines)), ui, width, height, again)
    return _table(ui, model, model.view, glyphs, (width, height))


def _page(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int) -> list[Line]:
    """Return the page being read, of help or of the rules."""
    if ui.overlay is Overlay.COUNTS and model.view is not None:
        return counts_page(model.view, names_at(model), width)
    below = where(replace(ui, overlay=None, entry=None), model)
    rules = ui.overlay is Overlay.RULES
    lines = (
        rules_page(ui.page, width)
        if rules
        else help_page(ui.page, below, glyphs, width, lesson=ui.lesson is not None)
    )
    number = line(
        _("page {number} of {last}").format(number=ui.page + 1, last=page_count(ui.overlay)), "class:faint"
    )
    return [ends(EMPTY, number, width), *lines]


def _indented(lines: Sequence[Line], width: int, height: int) -> Block:
    return Block(tuple(stacked([beside(line("  "), content) for content in lines], width, height)))


def _with_tell(page: Block, ui: Ui, width: int, height: int, sentence: str = "") -> Block:
    """Return the page with the latest news below it."""
    news = _tell(ui, width, _LOG_LINES, sentence)
    lines = [*stacked(page.lines, width, height - len(news)), *news]
    return Block(tuple(lines), page.targets)


def _tell(ui: Ui, width: int, height: int, sentence: str) -> list[Line]:
    """Return the last lines of the log, and below them what is to be read now."""
    words, style = sentence, "class:info"
    if ui.overlay is Overlay.QUIT:
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
    if ui.lesson is None and shown and len(shown[-1]) > room_left:
        shown = [begun(shown[-1], room_left, width - 4)]
    older = [f"{'   ' if at else ' '}{row}" for rows in shown for at, row in enumerate(rows)]
    style = "" if ui.lesson is None else "class:info"  # there it tells what to do
    log = [line(row, style) for row in older[len(older) - min(room_left, len(older)) :]]
    return [*stacked(log, width, room_left), *now]


def _table(ui: Ui, model: TableModel, view: View, glyphs: GlyphSet, size: tuple[int, int]) -> Block:
    """Return board and panel, and the log below them or, where the board needs the height, in the panel."""
    width, height = size
    scale = next(
        scale
        for scale in (LARGE, MEDIUM, SMALL)
        if scale is SMALL or (scale.width + 1 + _PANEL_WIDTH <= width and scale.height <= height)
    )
    margin = min(2, width - scale.width - 1 - _PANEL_WIDTH)
    left_width = margin + scale.width + 1
    panel_width = min(width - left_width, _PANEL_MOST)
    if view.phase is Phase.OVER:
        number = min(ui.step, last_step(view))
        shown = scene(view, number, names_at(model))
        step = _("step {number} of {last}").format(number=number + 1, last=last_step(view) + 1)
        board = drawn_board(shown.board, shown.marks, glyphs, scale)
        panel = Panel(ui, model, view, glyphs, panel_width).of_scoring(shown, step)
        if ui.lesson is not None:
            panel = above(lesson_text(ui.lesson, glyphs, panel_width), panel, scale.height)
        sentence = shown.sentence
    else:
        board = drawn_board(view, _marks(ui, model), glyphs, scale)
        panel = _panel(Panel(ui, model, view, glyphs, panel_width), scale.height)
        sentence = vote_question(model)
    left = Block(
        tuple(beside(line(" " * margin), content) for content in board),
        tuple(target.moved(margin, 0) for target in _hexes(scale)),
    )
    below = height - scale.height
    if below >= _LOG_LINES:
        both = side_by_side(left, panel, left_width, panel_width, scale.height)
        return Block((*both.lines, *_tell(ui, width, below, sentence)), both.targets)
    room_left = max(height - len(panel.lines) - 1, _LOG_LINES)
    lines = stacked(panel.lines, panel_width, height - room_left)
    panel = Block((*lines, *_tell(ui, panel_width, room_left, sentence)), panel.targets)
    return side_by_side(left, panel, left_width, panel_width, height)


def _panel(panel: Panel, height: int) -> Block:
    """Return the panel while the game runs: of the whole game, or of a lesson and what it is about."""
    if (lesson := panel.ui.lesson) is None:
        return panel.of_game(height)
    text = lesson_text(lesson, panel.glyphs, panel.width)
    match shown_below(lesson):
        case Shown.HAND:
            return above(text, panel.of_hand(height - len(text)), height)
        case Shown.TILE:
            return above(text, panel.of_tile(), height)
        case Shown.FIELD:
            return above(text, panel.of_field(), height)
        case _:
            return Block(tuple(text))


def _hexes(scale: Scale) -> list[Target]:
    """Return what a click on each hex means."""
    return [
        Target(column, top + row, scale.across - 1, PointAt(cell))
        for cell in HEX_POSITIONS
        for column, top in [scale.body_of(cell)]
        for row in range(scale.body)
    ]


def _marks(ui: Ui, model: TableModel) -> Marks:
    """Return what the board points at while the game runs."""
    aimed = selection.preview(ui, model)
    if aimed is not None and isinstance(model.legal, LegalLays):
        return Marks(cursor=HILLS[aimed[0]], preview=aimed, choices=model.legal.positions)
    marks = Marks(cursor=ui.cursor, last=ui.last)
    return marks if ui.lesson is None else pointed_out(marks, ui.lesson)

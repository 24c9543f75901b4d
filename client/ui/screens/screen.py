"""The whole screen, drawn by one pure function from the UI state and what is known of the table."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate
from typing import Final, assert_never

from msgspec import Struct, structs

from client.language import _
from client.tables.table import TableModel
from client.ui.actions import Act, Action
from client.ui.draw import table_layout
from client.ui.draw.clocks import describe_outage
from client.ui.draw.news_lines import news_lines, talk_block, words_now
from client.ui.draw.page import PageDrawing, on_turn
from client.ui.frame import (
    Block,
    Frame,
    Line,
    Target,
    beside,
    fitted,
    framed,
    in_ascii,
    line,
    stacked,
    width_of,
    wrapped,
)
from client.ui.keys import Key, key_name
from client.ui.lessons.lesson import (
    LessonDrawing,
    LessonPlayingDrawing,
    LessonResultDrawing,
    LessonScoringDrawing,
)
from client.ui.screens.autoplay import SPEEDS
from client.ui.screens.gathering import GatheringDrawing
from client.ui.screens.history import history_page
from client.ui.screens.lobby import LobbyDrawing
from client.ui.screens.menu import menu_block, small_menu
from client.ui.screens.offered import offered
from client.ui.screens.overlays import announcements_block
from client.ui.screens.playing import EndedDrawing, PlayingDrawing
from client.ui.screens.reading import reading_block, small_reading
from client.ui.screens.replay import ReplayDrawing, ReplayedDrawing
from client.ui.screens.scoring import ResultDrawing, ScoringDrawing, step_of
from client.ui.screens.search import search_page
from client.ui.screens.start import start_page
from client.ui.screens.typed_line import ways_on
from client.ui.state import (
    Announcements,
    Asked,
    Ended,
    Entry,
    Gathering,
    History,
    Lesson,
    Lobby,
    Playing,
    Quitting,
    Reading,
    Replay,
    Result,
    Scoring,
    Search,
    Start,
    TableMenu,
    TalkPage,
    Ui,
    followed,
)
from client.ui.texts.events import describe_turn
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.people import names_at
from engine.view import View

_LASTING: Final = (Act.HELP, Act.QUIT)  # which the function bar shows however narrow it is


def foot(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int) -> Block:
    """Return the line being typed, or the function bar, whose keys can be clicked."""
    if ui.entry is not None:
        return Block((typed_line(ui, ui.entry, model, width),))
    if ui.ticks_left is not None:
        form = _("Playing automatically, speed {speed} of {speeds}. r: next speed; any other key stops it.")
        words = form.format(speed=ui.speed + 1, speeds=SPEEDS)
        return Block((fitted(line(f" {words}", "class:info"), width),))
    keys = list(offered(ui, model))
    hints = [_hint(key, ui, glyphs) for key in keys]
    lasting = (*_LASTING, Act.TALK) if ui.talk.unread else _LASTING
    # The last gap is invisible.
    while any(key.action not in lasting for key in keys) and sum(map(width_of, hints)) > width:
        at = max(at for at, key in enumerate(keys) if key.action not in lasting)
        del hints[at], keys[at]
    ends_at = list(accumulate(map(width_of, hints), initial=1))
    targets = (
        Target(column, 0, end - column - 1, key.action)
        for key, column, end in zip(keys, ends_at, ends_at[1:], strict=False)
    )
    return Block((fitted(beside(line(" "), *hints), width),), tuple(targets))


def _hint(key: Key, ui: Ui, glyphs: GlyphSet) -> Line:
    """Return a key with its word, and how many remarks it would show that have not been read."""
    name = line(key_name(key.names[0], glyphs), "class:key")
    if key.action is Act.TALK and ui.talk.unread:
        return beside(name, line(" "), line(f"{_(key.short)} ({ui.talk.unread})", "class:unread"), line("  "))
    return beside(name, line(f" {_(key.short)}  "))


def typed_line(ui: Ui, entry: Entry, model: TableModel, width: int) -> Line:
    """Return the line being typed, and how it could go on."""
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
    ways = ways_on(ui, entry, model) if entry.command else ()
    return fitted(beside(typed, line("   " + "  ".join(ways), "class:faint")), width)


def _prompt(entry: Entry) -> str:
    match entry.asks:
        case Asked.NAME:
            return _("your name:")
        case Asked.TITLE:
            return _("name of the table:")
        case Asked.ADDRESS:
            return _("the host's address:")
        case None:
            if entry.lobby:
                return _("say in the lobby:")
            return _("say:") if entry.chat else ":"


LEAST_WIDTH: Final = 80
LEAST_HEIGHT: Final = 24
_LEAST_PAGE: Final = 3  # lines; less of a page than that tells nothing


def drawn(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int, height: int) -> Frame:
    """Return the screen: exactly `height` lines, each exactly `width` cells wide."""
    screen = _Screen(followed(ui, model), model, glyphs)
    if width < LEAST_WIDTH or height < LEAST_HEIGHT:
        frame = screen.small(width, height)
    else:
        frame = screen.whole(width, height)
    title = window_title(model)
    frame = replace(frame, window=in_ascii(title) if glyphs.ascii else title)
    return frame if ui.ticks_left is None else replace(frame, targets=_anywhere(frame, Act.NEXT))


def window_title(model: TableModel) -> str:
    """Return the title of the terminal's window: whether it is the player's turn, and at which table."""
    place = "Palatinus" if model.table is None else f"Palatinus {model.table}"
    return f"{describe_turn(model, names_at(model))} - {place}" if on_turn(model) else place


def _anywhere(frame: Frame, action: Action) -> tuple[Target, ...]:
    return tuple(Target(0, at, width_of(content), action) for at, content in enumerate(frame.lines))


class _Screen(Struct, frozen=True):
    """What a screen is drawn from."""

    ui: Ui
    model: TableModel
    glyphs: GlyphSet

    def whole(self, width: int, height: int) -> Frame:
        page, reading, last_top = self.page(), self.ui.overlay, 0
        title = self._outage(width, width - 2) or page.title(width)
        if isinstance(reading, Announcements):
            body = announcements_block(reading, width, height - 2)
        elif isinstance(reading, Reading):
            body = reading_block(self.ui, reading, self.model, self.glyphs, (width, height - 2))
        elif isinstance(reading, TableMenu):
            body = menu_block(self.ui, reading, self.model, self.glyphs, (width, height - 2))
        elif isinstance(reading, TalkPage):
            body, last_top = talk_block(self.ui, reading, width, height - 2)
        else:
            body = page.body(width, height - 2)
        parts = (Block((title,)), body, foot(self.ui, self.model, self.glyphs, width))
        return replace(self._framed(parts, width, height), last_top=last_top)

    def small(self, width: int, height: int) -> Frame:
        """Return what fits in a window that is too small for the whole screen."""
        page, over_it, last_top = self.page(), self.ui.overlay, 0
        if width < table_layout.LEAST_WIDTH or height < table_layout.LEAST_HEIGHT:
            return self._too_small(page, width, height)
        if isinstance(over_it, Announcements):
            body = announcements_block(over_it, width, height - 2)
        elif isinstance(over_it, Reading):
            body, last_top = small_reading(self.ui, over_it, self.model, self.glyphs, (width, height - 2))
        elif isinstance(over_it, TableMenu):
            body = small_menu(self.ui, over_it, self.model, self.glyphs, (width, height - 2))
        elif isinstance(over_it, TalkPage):
            body, last_top = talk_block(self.ui, over_it, width, height - 2)
        elif isinstance(over_it, Quitting):
            body = self._small_question(width, height - 2)
        else:
            body = page.small_body(width, height - 2)
            last_top = page.last_top(width, height - 2) if isinstance(page, LessonDrawing) else 0
        style = "class:title-turn" if on_turn(self.model) else "class:title"
        title = self._outage(width, width - 1) or fitted(line(f" {page.place}", style), width, style)
        parts = (Block((title,)), body, foot(self.ui, self.model, self.glyphs, width))
        return replace(self._framed(parts, width, height), last_top=last_top)

    def _small_question(self, width: int, height: int) -> Block:
        """Return the question whether to quit, and above it as much of the page as there is room for."""
        asked = words_now(self.ui, width, height)
        room_left = height - len(asked)
        if room_left < _LEAST_PAGE:
            return Block(tuple(asked))
        screen = structs.replace(self, ui=replace(self.ui, overlay=None))
        page = screen.page().small_body(width, room_left)
        return Block((*page.lines, *asked), page.targets)

    def _too_small(self, page: PageDrawing, width: int, height: int) -> Frame:
        """Return that the window is too small for anything, what goes on, and the line being typed.

        What is typed and asked is seen there, and answered; a page that is not seen hears no keys.
        """
        ui = self.ui
        words = _("The window is too small: {size} or larger, please. q: quit").format(
            size=f"{table_layout.LEAST_WIDTH}x{table_layout.LEAST_HEIGHT}"
        )
        if isinstance(ui.overlay, Quitting):
            told = news_lines(ui, width, height, "")[-height:] if height else []
            return self._framed([Block(tuple(told))], width, height)
        asked = Block(() if ui.entry is None else (typed_line(ui, ui.entry, self.model, width),))
        room_left = max(height - len(asked.lines), 0)
        rows = [line(row) for row in wrapped(words, width)]
        if page.stage and len(rows) + 1 < room_left:
            rows += [line(row, "class:heading") for row in wrapped(page.stage, width)]
        told = news_lines(ui, width, room_left - len(rows), "") if len(rows) < room_left else []
        said = Block(tuple(stacked([*rows, *told], width, room_left)))
        return replace(self._framed([said, asked], width, height), seen=ui.entry is not None)

    def _framed(self, blocks: Iterable[Block], width: int, height: int) -> Frame:
        return framed(blocks, width, height, ascii_only=self.glyphs.ascii)

    def _outage(self, width: int, room: int) -> Line | None:
        """Return the title while there is no connection: why, in `room` cells if possible."""
        if self.ui.lost is None:
            return None
        told = describe_outage(self.ui.lost, self.ui.now, room)
        return fitted(line(f" {told}", "class:refusal"), width, "class:refusal")

    # -- which page it is ---------------------------------------------------------------------------

    def page(self) -> PageDrawing:
        """Return the page that is on the screen, ready to be drawn."""
        page, view, shared = self.ui.page, self.model.view, (self.ui, self.model, self.glyphs)
        match page:
            case Start():
                return start_page(self.ui, page, self.glyphs)
            case Search():
                return search_page(self.ui, page, self.glyphs)
            case History():
                return history_page(self.ui, page, self.glyphs)
            case Lobby():
                return LobbyDrawing(*shared, page)
            case Gathering():
                return GatheringDrawing(*shared)
            case Playing() | Ended() | Scoring() | Result() | Replay() | Lesson() if view is None:
                return GatheringDrawing(*shared)  # its game is not known yet
            case Playing():
                return PlayingDrawing(*shared, page, view)
            case Ended():
                return EndedDrawing(*shared, Playing(last=next(reversed(view.placed), None)), view)
            case Scoring() | Result():
                return self._over(page, view)
            case Replay():
                return ReplayDrawing(self._replayed(page, view), self.glyphs, page)
            case Lesson():
                return LessonDrawing(self._taught(page, view), self.glyphs, page, self.ui.name, self.ui.log)
            case _:
                assert_never(page)

    def _over(self, table: Scoring | Result, view: View) -> ScoringDrawing | ResultDrawing:
        if isinstance(table, Result) and view.result is not None:
            return ResultDrawing(self.ui, self.model, self.glyphs, view.result, view)
        return ScoringDrawing(self.ui, self.model, self.glyphs, step_of(table, view), view)

    def _replayed(self, replay: Replay, view: View) -> PageDrawing:
        if isinstance(replay.table, Playing):
            return ReplayedDrawing(self.ui, self.model, self.glyphs, replay.table, view, replay)
        return self._over(replay.table, view)

    def _taught(self, lesson: Lesson, view: View) -> PageDrawing:
        table, shared = lesson.table, (self.ui, self.model, self.glyphs)
        if isinstance(table, Playing):
            return LessonPlayingDrawing(*shared, table, view, lesson)
        if isinstance(table, Result) and view.result is not None:
            return LessonResultDrawing(*shared, view.result, view, lesson)
        return LessonScoringDrawing(*shared, step_of(table, view), view, lesson)

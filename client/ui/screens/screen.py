"""The screen, drawn by one pure function from the UI state and the known state of the table."""

from dataclasses import replace
from typing import Final

from msgspec import structs
from prompt_toolkit.utils import get_cwidth

from client.language import _
from client.tables.table import TableModel
from client.ui.draw.page import describe_outage, is_called, latest_sign, news_lines, words_now
from client.ui.frame import (
    EMPTY,
    Frame,
    Line,
    clickable,
    cut,
    dotted,
    fitted,
    in_ascii,
    line,
    stacked,
    width_of,
    wrapped,
)
from client.ui.keys import Act, Key, key_name
from client.ui.screens.dispatch import SPEEDS, keys_now, ways_on
from client.ui.screens.news import at_table_page
from client.ui.screens.search import where_to
from client.ui.state import LinePrompt, Pane, TypedLine, Ui, closed_for_good
from client.ui.texts.games import describe_turn
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.tables import names_at, table_name

_LASTING: Final = (Act.HELP, Act.QUIT)  # which the function bar shows however narrow it is


# What can still be done there when the connection is closed for good: reading, and going.
_WALKING: Final = (Act.NEXT, Act.BACK, Act.NEXT_HILL, Act.FIRST, Act.SKIP, Act.SKIP_UNSEEN, Act.RUN)
_READING: Final = (Act.COUNTS, Act.WHOLE, Act.TALK, Act.RULES)
_WITHOUT_SERVER: Final = frozenset({*_WALKING, *_READING, Act.LEAVE, *_LASTING})


def keys_offered(ui: Ui, model: TableModel, last_top: int = 0) -> tuple[Key, ...]:
    """Return the keys that have an effect now: the function bar shows them if there is room for all.

    `last_top` is how far the page can be scrolled.
    """
    here = ui.top
    if ui.entry is not None:
        return tuple(key for key in keys_now(ui, model) if key.short)
    shown = (key for key in here.offered_keys(replace(ui, last_top=last_top), model) if key.short)
    if ui.offers.private:  # nobody else is there to talk to, and the table is the player's own
        shown = (key for key in shown if key.action not in {Act.MENU, Act.CHAT})
    if closed_for_good(ui) and here.at_server:
        return tuple(key for key in shown if key.action in _WITHOUT_SERVER)
    return tuple(shown)


def foot(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int, last_top: int) -> Line:
    """Return the line being typed, or the function bar, whose keys can be clicked."""
    if ui.entry is not None:
        return typed_line(ui, ui.entry, model, width)
    if ui.ticks_left is not None:
        form = _("Playing automatically, speed {speed} of {speeds}.")
        pressed = _(">: next speed; any other key stops it.")
        words = f" {form.format(speed=ui.speed + 1, speeds=SPEEDS)} {pressed}"
        if get_cwidth(words) > width:
            words = dotted(f" {pressed}", width)
        return fitted(line(words, "class:info"), width)
    keys = list(keys_offered(ui, model, last_top))
    hints = [_hint(key, ui, glyphs) for key in keys]
    lasting = (*_LASTING, Act.TALK) if ui.talk.unread else _LASTING
    # The last gap is invisible.
    while any(key.action not in lasting for key in keys) and sum(map(width_of, hints)) > width:
        at = max(at for at, key in enumerate(keys) if key.action not in lasting)
        del hints[at], keys[at]
    return fitted(line(" ") + sum(hints, EMPTY), width)


def _hint(key: Key, ui: Ui, glyphs: GlyphSet) -> Line:
    """Return a key with its word, and how many remarks it would show that have not been read."""
    name = line(key_name(key.names[0], glyphs), "class:key")
    if key.action is Act.TALK and ui.talk.unread:
        words = line(" ") + line(f"{_(key.short)} ({ui.talk.unread})", "class:unread") + line(" ")
    else:
        words = line(f" {_(key.short)} ")
    return clickable(name + words, key.action) + line(" ")


def typed_line(ui: Ui, entry: TypedLine, model: TableModel, width: int) -> Line:
    prompt = line(cut(f" {_(entry.prompt.value)}", width - _LEAST_TYPED) + " ", "class:key")
    text = "*" * len(entry.text) if entry.prompt is LinePrompt.PASSWORD else entry.text
    before, at, after = text[: entry.at], text[entry.at :][:1], text[entry.at + 1 :]
    while before and width_of(line(prompt[0][1] + before)) > width - 2:
        before = before[1:]
    typed = (
        prompt + line(before, "class:typing") + line(at or " ", "class:cursor") + line(after, "class:typing")
    )
    beside = "  ".join(ways_on(ui, entry, model)) if entry.command else where_to(ui, entry)
    return fitted(typed + line(f"   {beside}", "class:faint"), width)


_LEAST_TYPED: Final = 10  # cells of a line being typed that its question leaves, and one between them
LEAST_WIDTH: Final = 80
LEAST_HEIGHT: Final = 24
SMALLEST_WIDTH, SMALLEST_HEIGHT = 20, 8  # of a window that shows anything
_LEAST_PAGE: Final = 3  # lines; less of a page than that tells nothing


def drawn(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int, height: int) -> Frame:
    """Return the screen: exactly `height` lines, each exactly `width` cells wide."""
    pane = Pane(at_table_page(ui, model), model, glyphs, width, height)
    fits = width >= SMALLEST_WIDTH and height >= SMALLEST_HEIGHT
    lines, last_top = _page(pane) if fits else (_too_small(pane), 0)
    lines, title = stacked(lines, width, height), window_title(model)
    if glyphs.ascii:
        title = in_ascii(title)
        lines = [tuple((style, in_ascii(text), act) for style, text, act in each) for each in lines]
    seen = fits or ui.entry is not None or _asks(pane.ui)
    anywhere = None if ui.ticks_left is None else Act.NEXT
    return Frame(tuple(lines), seen, title, last_top, anywhere)


_MUCH_LATER: Final = 1e9  # seconds, in which all that counts down has run out


def changes_with_time(
    frame: Frame, ui: Ui, model: TableModel, glyphs: GlyphSet, size: tuple[int, int]
) -> bool:
    """Return whether time alone changes the screen of this state, which was drawn as `frame`."""
    return frame != drawn(replace(ui, now=ui.now + _MUCH_LATER), model, glyphs, *size)


def window_title(model: TableModel) -> str:
    """Return the title of the terminal's window: whether it is the player's turn, and at which table."""
    place = "Palatinus" if model.table is None else f"Palatinus {table_name(model.table, model.state)}"
    return f"{describe_turn(model, names_at(model))} - {place}" if is_called(model) else place


def _asks(ui: Ui) -> bool:
    """Return whether there is a question below the page."""
    return ui.overlay is not None and bool(ui.overlay.question(ui))


def _page(pane: Pane) -> tuple[list[Line], int]:
    """Return title, page and function bar, and how far the page can be scrolled."""
    ui, width, height = pane.ui, pane.width, pane.height
    small = width < LEAST_WIDTH or height < LEAST_HEIGHT
    room = structs.replace(pane, height=height - 2, small=small)
    if small and _asks(ui):
        body, last_top = _small_question(room), 0
    else:
        body, last_top = (ui.page if _asks(ui) else ui.top).block(room)
    title = None
    if ui.lost is not None and ui.page.at_server:  # why, and when the next attempt is due
        outage = describe_outage(ui.lost, ui.now, width - (1 if small else 2))
        title = fitted(line(f" {outage}", "class:refusal"), width, "class:refusal")
    elif small:
        style = "class:title-turn" if is_called(pane.model) else "class:title"
        words = latest_sign(ui, pane.model) or ui.page.place(pane)
        title = fitted(line(dotted(f" {words}", width), style), width, style)
    below = foot(ui, pane.model, pane.glyphs, width, last_top)
    return [title or ui.page.title(pane), *body, below], last_top


def _small_question(pane: Pane) -> list[Line]:
    """Return the question whether to quit, and above it as much of the page as there is room for."""
    asked = words_now(pane.ui, pane.width, pane.height)
    room_left = pane.height - len(asked)
    if room_left < _LEAST_PAGE:
        return asked
    without = structs.replace(pane, ui=pane.ui.without(), height=room_left)
    return pane.ui.page.block(without)[0] + asked


def _too_small(pane: Pane) -> list[Line]:
    """Return that the window is too small for anything, what goes on, and the line being typed.

    What is typed and asked is seen there, and answered; a page that is not seen hears no keys.
    """
    ui, width, height = pane.ui, pane.width, pane.height
    text = _("The window is too small: {size} or larger, please. q: quit")
    words = text.format(size=f"{SMALLEST_WIDTH}x{SMALLEST_HEIGHT}")
    if _asks(ui):
        return news_lines(ui, width, height, "")[-height:] if height else []
    asked = [] if ui.entry is None else [typed_line(ui, ui.entry, pane.model, width)]
    room_left = max(height - len(asked), 0)
    rows = [line(row) for row in wrapped(words, width)]
    if (stage := ui.page.stage(pane.model)) and len(rows) + 1 < room_left:
        rows += [line(row, "class:heading") for row in wrapped(stage, width)]
    told = news_lines(ui, width, room_left - len(rows), "") if len(rows) < room_left else []
    return stacked([*rows, *told], width, room_left) + asked

"""The last line of the screen: the line being typed, or the function bar."""

from itertools import accumulate
from typing import Final

from client.language import _
from client.tables.table import TableModel
from client.ui.draw.frame import Block, Target
from client.ui.draw.lines import Line, beside, fitted, line, width_of
from client.ui.texts.glyphs import GlyphSet
from client.ui.update.actions import Act
from client.ui.update.autoplay import SPEEDS
from client.ui.update.entry import Asked, Entry
from client.ui.update.keys.names import key_name
from client.ui.update.keys.offered import offered
from client.ui.update.keys.table import Key
from client.ui.update.state import Ui
from client.ui.update.typed_line import ways_on

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

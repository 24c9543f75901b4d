"""The menu of a table."""

from typing import Final

from client.language import N_, _
from client.tables.table import TableModel
from client.ui.draw.frame import Block, block_of
from client.ui.draw.lines import EMPTY, Line, beside, chips, line, padded, paragraphs, width_of, wrapped
from client.ui.draw.news_lines import with_news
from client.ui.draw.page import short_list
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.people import names_of
from client.ui.update.actions import Action, ChooseLine
from client.ui.update.state import MenuPage, TableMenu, Ui
from client.ui.update.table.menu import choices

_HEADINGS: Final = {
    MenuPage.MAIN: N_("The table"),
    MenuPage.STARTING: N_("Who starts"),
    MenuPage.ABSENCE: N_("What happens when a player is away or slow"),
    MenuPage.SEAT: N_("Your seat"),
    MenuPage.PEOPLE: N_("Your people"),
    MenuPage.BOT: N_("Bot level"),
    MenuPage.SWAP: N_("Swap two seats"),
    MenuPage.REMOVE: N_("Remove a player"),
    MenuPage.HAND_OVER: N_("New host"),
    MenuPage.SUBSTITUTE: N_("Player a bot plays for"),
    MenuPage.SPECTATORS: N_("Remove a spectator"),
    MenuPage.MUTE: N_("Muted players"),
    MenuPage.END: N_("End the game for everybody?"),
}


def menu_block(ui: Ui, menu: TableMenu, model: TableModel, glyphs: GlyphSet, size: tuple[int, int]) -> Block:
    """Return the menu with the line that the player is on."""
    width, height = size
    rows: list[tuple[Line, Action | None]] = [
        (EMPTY, None),
        (line(f"  {_(_HEADINGS[menu.page])}", "class:heading"), None),
        (EMPTY, None),
    ]
    lines = choices(menu.page, model, ui.hosting.levels, ui.talk)
    about = lines[menu.chosen].about if menu.chosen < len(lines) else ""
    below = wrapped(about or _who_may(menu, model), width - 4)
    room = max(height - 6 - max(len(below), 1), 1)
    first = min(max(menu.chosen - room + 1, 0), max(len(lines) - room, 0))
    for at, choice in enumerate(lines[first : first + room], start=first):
        sign = EMPTY if choice.people is None else beside(chips([choice.people]), line(" "))
        if at == menu.chosen:
            said = line(padded(choice.text, width - 4 - width_of(sign)), "class:chosen")
            text = beside(line(f"  {glyphs.pointer} ", "class:chosen"), sign, said)
        else:
            said = line(choice.text, "" if choice.effect is not None else "class:faint")
            text = beside(line("    "), sign, said)
        rows.append((text, ChooseLine(at)))
    if below:
        rows += [(EMPTY, None), *((line(f"  {row}", "class:faint"), None) for row in below)]
    return with_news(block_of(rows, width), ui, width, height)


def small_menu(ui: Ui, menu: TableMenu, model: TableModel, glyphs: GlyphSet, size: tuple[int, int]) -> Block:
    """Return the part of the menu around the line that the player is on, for a small window."""
    width, height = size
    rows: list[tuple[Line, Action | None]] = [
        (line(row, "class:heading"), None) for row in wrapped(_(_HEADINGS[menu.page]), width)
    ]
    for at, choice in enumerate(choices(menu.page, model, ui.hosting.levels, ui.talk)):
        chosen = at == menu.chosen
        style = "class:chosen" if chosen else "" if choice.effect is not None else "class:faint"
        for part, words in enumerate(wrapped(choice.text, width - 2)):
            sign = glyphs.pointer if chosen and not part else " "
            rows.append((line(padded(f"{sign} {words}", width), style), ChooseLine(at)))
        if chosen:
            about = wrapped(choice.about, width - 4)
            rows += [(line(f"    {words}", "class:faint"), ChooseLine(at)) for words in about]
    rows += [(each, None) for each in paragraphs([_who_may(menu, model)], width, "class:faint")]
    return short_list(ui, block_of(rows, width), width, height)


def _who_may(menu: TableMenu, model: TableModel) -> str:
    """Return what to tell players who are not the host; empty for the host, and on pages for everybody."""
    if menu.page is not MenuPage.MAIN or model.state is None or model.seat == model.state.host:
        return ""
    host = names_of(model.state, 0)[model.state.host]
    return _("Only the host, {name}, can change the table's settings.").format(name=host)

"""The menu of a table."""

from typing import Final

from client.language import N_, _
from client.table import TableModel
from client.ui.draw.frame import Block, block_of
from client.ui.draw.lines import EMPTY, Line, line, padded, paragraphs
from client.ui.draw.news_lines import with_news
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.sentences import names_of
from client.ui.update.actions import Action, ChooseLine
from client.ui.update.state import MenuPage, TableMenu, Ui
from client.ui.update.table.menu import choices

_HEADINGS: Final = {
    MenuPage.MAIN: N_("The table"),
    MenuPage.STARTING: N_("Who starts"),
    MenuPage.ABSENCE: N_("What happens when a player is away or slow"),
    MenuPage.SEAT: N_("Which seat you take"),
    MenuPage.BOT: N_("At which level the bot plays"),
    MenuPage.SWAP: N_("Which seats are swapped"),
    MenuPage.REMOVE: N_("Who is removed"),
    MenuPage.HAND_OVER: N_("Who is to be host"),
    MenuPage.SUBSTITUTE: N_("For whom a bot is to play"),
    MenuPage.SPECTATORS: N_("Which spectator is removed"),
    MenuPage.MUTE: N_("Whom you hear"),
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
    room = max(height - 7, 1)
    first = min(max(menu.chosen - room + 1, 0), max(len(lines) - room, 0))
    for at, choice in enumerate(lines[first : first + room], start=first):
        if at == menu.chosen:
            text = line(padded(f"  {glyphs.pointer} {choice.text}", width), "class:chosen")
        else:
            text = line(f"    {choice.text}", "" if choice.effect is not None else "class:faint")
        rows.append((text, ChooseLine(at)))
    if model.state is not None and model.seat != model.state.host:
        host = names_of(model.state, 0)[model.state.host]
        words = _("{name} is the host, and alone can change how the table is set up.").format(name=host)
        rows += [
            (EMPTY, None),
            *((each, None) for each in paragraphs([f"  {words}"], width - 2, "class:faint")),
        ]
    return with_news(block_of(rows, width), ui, width, height)

"""The list of finished games, and what the players have reached in them."""

from dataclasses import replace
from typing import Final

from prompt_toolkit.utils import get_cwidth

from client.language import _
from client.records.recording import PastGame, standings
from client.ui import requests
from client.ui.actions import Act, Action, ChooseLine, Way
from client.ui.draw.page import ListPage
from client.ui.frame import EMPTY, Block, Line, beside, block_of, cut, line, padded, paragraphs
from client.ui.requests import Request
from client.ui.state import History, Notice, Ui
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.scoring import describe_points, list_standings
from client.ui.texts.times import local_time

_STEPS: Final = {Way.UP: -1, Way.DOWN: 1, Act.PAGE_UP: -10, Act.PAGE_DOWN: 10}


def acted(ui: Ui, history: History, action: Action) -> tuple[Ui, Request | None]:
    """Return the UI state after a key or a click, and what is to be done with a game, if anything."""
    here = replace(history, removing=False)
    if action is Act.LEAVE:
        return ui, requests.GoHome()
    if not history.games:
        return ui, None
    game = history.games[history.chosen]
    match action:
        case Way() | Act.PAGE_UP | Act.PAGE_DOWN if action in _STEPS:
            there = min(max(history.chosen + _STEPS[action], 0), len(history.games) - 1)
            return replace(ui, page=replace(here, chosen=there)), None
        case ChooseLine(number) if number != history.chosen:
            return replace(ui, page=replace(here, chosen=number)), None
        case Act.CONFIRM | ChooseLine():
            return replace(ui, page=here), requests.ShowGame(game.file)
        case Act.ANALYSE if ui.hosting.analyses:
            return replace(ui, page=here), requests.ShowGame(game.file, analysed=True)
        case Act.SAVE_RECORD | Act.SAVE_PICTURE if ui.hosting.saves:
            picture = action is Act.SAVE_PICTURE
            return replace(ui, page=here), requests.SaveGame(game.file, picture=picture)
        case Act.REMOVE if history.removing:
            return replace(ui, page=here), requests.RemoveGame(game.file)
        case Act.REMOVE:
            text = _("Press x again to remove the game at table {table} for good.")
            asked = replace(history, removing=True)
            return replace(ui, page=asked, notice=Notice(text.format(table=game.table))), None
        case _:
            return replace(ui, page=here), None


_WHEN = 18  # columns
_OTHERS = 9  # lines that are no games in a window of any size
_PLAYERS_SHOWN = 8  # in the standings


def history_page(ui: Ui, history: History, glyphs: GlyphSet) -> ListPage:
    place = _("Past games")
    heading = f"Palatinus {glyphs.dot} {place}"
    return ListPage(ui, place, heading, lambda width, height: history_block(history, glyphs, width, height))


def history_block(history: History, glyphs: GlyphSet, width: int, height: int) -> Block:
    """Return the games around the chosen one, and what their players have reached in all of them."""
    games, chosen = history.games, history.chosen
    if not games:
        none = _("No finished games are kept here.")
        return block_of([(EMPTY, None), (line(f"  {none}", "class:faint"), None)], width)
    table = _("TABLE")
    for_codes = max(get_cwidth(table) + 1, *(len(game.table) + 2 for game in games))
    heading = padded(_("ENDED"), _WHEN) + padded(table, for_codes) + _("PLAYERS AND POINTS")
    rows: list[tuple[Line, Action | None]] = [
        (EMPTY, None),
        (line(f"  {heading}", "class:heading"), None),
    ]
    room = max(height - _OTHERS, 1)
    first = min(max(chosen - room + 1, 0), max(len(games) - room, 0))
    for at, game in enumerate(games[first : first + room], start=first):
        words = _row(game, for_codes, width - 2)
        if at == chosen:
            row = line(padded(f"{glyphs.pointer} {words}", width), "class:chosen")
        else:
            row = line(f"  {words}")
        rows.append((row, ChooseLine(at)))
    rows.append((EMPTY, None))
    best = list_standings(standings(games)[:_PLAYERS_SHOWN])
    rows += [(beside(line("  "), content), None) for content in paragraphs([best], width - 4, "class:faint")]
    return block_of(rows, width)


def _row(game: PastGame, for_codes: int, width: int) -> str:
    room = width - _WHEN - for_codes
    players = describe_points(game)
    if game.names and get_cwidth(players) > room:  # points matter more than the ends of long names
        for_points = 6 * len(game.names)
        each = max((room - for_points) // len(game.names), 1)
        players = describe_points(game, [cut(name, each) for name in game.names])
    return padded(local_time(game.ended), _WHEN) + padded(game.table, for_codes) + players

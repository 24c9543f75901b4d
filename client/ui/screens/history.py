"""The list of finished games, with the players' results."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from prompt_toolkit.utils import get_cwidth

from client.language import N_, _
from client.levels import describe_level
from client.records import PastGame, player_standings
from client.tables.table import TableModel
from client.ui import requests
from client.ui.draw.page import ListScreen, choice, line_chosen, rows_around
from client.ui.frame import EMPTY, Line, clickable, cut, indented, line, padded
from client.ui.keys import ON_EVERY_PAGE, Act, Action, ChooseLine, ChooseUnseen, Key, Way
from client.ui.screens import actions
from client.ui.state import Choices, ListLine, Notice, Outcome, Pane, Ui
from client.ui.texts.games import describe_points, list_standings
from client.ui.texts.times import local_time


def _saves(history: "HistoryPage", _ui: Ui, _model: TableModel) -> bool:
    return history.saves


_OF_A_GAME: Final = (
    *actions.ANALYSE.keys_elsewhere(Act.ANALYSE, lambda history, _ui, _model: history.analyses),
    *actions.SAVE.keys_elsewhere(Act.SAVE_RECORD, _saves),
    *actions.PICTURE.keys_elsewhere(Act.SAVE_PICTURE, _saves),
)


def _remove(history: "HistoryPage", ui: Ui, _model: TableModel) -> Outcome:
    if not history.games:
        return ui, None
    game = history.games[history.chosen]
    if history.removing:
        return ui.with_page(replace(history, removing=False)), requests.RemoveGame(game.file)
    text = _("Press x again to remove the game at table {table} for good.")
    asked = replace(history, removing=True)
    return replace(ui.with_page(asked), notice=Notice(text.format(table=game.table))), None


_KEYS: Final = (
    Key(("up", "k", "scroll-up"), Way.UP, N_("the game above")),
    Key(("down", "j", "scroll-down"), Way.DOWN, N_("the game below")),
    Key(("pageup",), Act.PAGE_UP, N_("ten games up"), typed=("last page",)),
    Key(("pagedown",), Act.PAGE_DOWN, N_("ten games down"), typed=("next page",)),
    Key(("enter", " ", "v"), Act.CONFIRM, N_("replay the game with everything revealed"), N_("review")),
    *_OF_A_GAME,
    Key(
        ("tab",),
        lambda history, ui, _model: (ui, requests.Errand.SEE_RIVALS if history.rivals else None),
        N_("your rivals among the bots, and your habits"),
        N_("rivals"),
        when=lambda history, _ui, _model: history.rivals,
        typed=("rivals",),
    ),
    Key(("x", "delete"), _remove, N_("remove the game for good; press twice"), N_("remove")),
    Key(("escape",), Act.LEAVE, N_("back to where you came from"), N_("leave"), typed=("back",)),
    *ON_EVERY_PAGE,
)


@dataclass(frozen=True, slots=True)
class HistoryPage(ListScreen):
    """The list of finished games, the latest first; `chosen` is the line that the player is on.

    `removing` if asking again removes that game. `own` says what the player's own moves cost. It `analyses`
    and `saves` games, and leads to the player's `rivals`, if that is possible here.
    """

    games: tuple[PastGame, ...]
    chosen: int = 0
    removing: bool = False
    own: str = ""
    analyses: bool = False
    saves: bool = False
    rivals: bool = False

    own_keys = _KEYS
    own_log = ()

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        here = replace(self, removing=False)
        if action is Act.LEAVE:
            return ui, requests.Errand.GO_HOME
        if not self.games:
            return ui, None
        game, analysed = self.games[self.chosen], action is Act.ANALYSE
        if (there := line_chosen(action, self.chosen, len(self.games))) is not None:
            return ui.with_page(replace(here, chosen=there)), None
        match action:
            case Act.PAGE_UP | Act.PAGE_DOWN:
                there = self.chosen + (_PAGE if action is Act.PAGE_DOWN else -_PAGE)
                return ui.with_page(replace(here, chosen=min(max(there, 0), len(self.games) - 1))), None
            case Act.CONFIRM | ChooseLine() | Act.ANALYSE if self.analyses or not analysed:
                return ui.with_page(here), requests.ReplayGame(game.file, analysed)
            case Act.SAVE_RECORD | Act.SAVE_PICTURE if self.saves:
                picture = action is Act.SAVE_PICTURE
                return ui.with_page(here), requests.SaveGame(game.file, picture=picture)
            case _:
                return ui.with_page(here), None

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        return [*filter(None, (_best(self.games), self.own))] if self.games else [_(_NONE)]

    def choices(self, ui: Ui, model: TableModel) -> Choices:
        told = ((local_time(game.ended), f"{game.table}, {describe_points(game)}") for game in self.games)
        return Choices([ListLine(*each) for each in told], self.chosen)

    def place(self, pane: Pane) -> str:
        return _("Past games")

    def rows(self, pane: Pane) -> list[Line]:
        """Return the games around the chosen one, and the standings over all of them."""
        games, chosen, width = self.games, self.chosen, pane.width
        if not games:
            return [EMPTY, line(f"  {_(_NONE)}", "class:faint")]
        table = _("TABLE")
        for_codes = max(get_cwidth(table) + 1, *(len(game.table) + 2 for game in games))
        heading = padded(_("ENDED"), _WHEN) + padded(table, for_codes) + _("PLAYERS AND POINTS")
        rows = [EMPTY, line(f"  {heading}", "class:heading")]
        best = indented(_best(games), width, "class:faint")
        own = indented(self.own, width, "class:faint") if self.own else []
        points = describe_points(games[chosen])
        shown = cut(_row(games[chosen], for_codes, width - 2), width - 2)
        below = [] if points in shown else indented(points, width)
        others = _OTHERS + max(len(best), _LEAST_BEST) + len(own) + len(below)
        first, end = max(chosen - pane.height, 0), min(chosen + pane.height, len(games))  # more are not seen
        listed = [clickable(EMPTY, ChooseUnseen(first - 1, first), width)] if first else []
        for at in range(first, end):
            row = choice(_row(games[at], for_codes, width - 2), pane.glyphs, width, chosen=at == chosen)
            listed.append(clickable(row, ChooseLine(at), width))
            listed += (clickable(row, ChooseLine(at)) for row in (below if at == chosen else ()))
        if end < len(games):
            listed.append(clickable(EMPTY, ChooseUnseen(end, len(games) - end), width))
        rows += rows_around(listed, chosen, pane.height - others + len(below), pane.glyphs)
        return [*rows, EMPTY, *best, *own]


_PAGE: Final = 10  # games
_NONE: Final = N_("No finished games are kept here.")
_WHEN = 18  # columns
_OTHERS = 6  # lines that are neither games nor standings in a window of any size
_LEAST_BEST = 3  # lines for the standings, so that the list has the same place when there are few
_PLAYERS_SHOWN = 8  # in the standings


def _best(games: Sequence[PastGame]) -> str:
    best = player_standings(games)[:_PLAYERS_SHOWN]
    return list_standings([(describe_level(name), standing) for name, standing in best])


def _row(game: PastGame, for_codes: int, width: int) -> str:
    room = width - _WHEN - for_codes
    players = describe_points(game)
    if game.names and get_cwidth(players) > room:  # points matter more than the ends of long names
        for_points = 6 * len(game.names)
        each = max((room - for_points) // len(game.names), 1)
        players = describe_points(game, [cut(name, each) for name in game.names])
    return padded(local_time(game.ended), _WHEN) + padded(game.table, for_codes) + players

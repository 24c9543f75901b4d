"""The list of finished games, and what the players have reached in them."""

from msgspec import Struct
from prompt_toolkit.utils import get_cwidth

from client.language import _
from client.past_games import PastGame, standings
from client.ui.draw.frame import Block, block_of
from client.ui.draw.lines import EMPTY, Line, beside, cut, ends, line, padded, paragraphs
from client.ui.draw.news_lines import with_news
from client.ui.draw.page import short_list
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.sentences import describe_points, list_standings, local_time
from client.ui.update.actions import Action, ChooseLine
from client.ui.update.state import History, Ui

_WHEN, _TABLE = 18, 6  # columns
_OTHERS = 9  # lines that are no games in a window of any size
_PLAYERS_SHOWN = 8  # in the standings


class HistoryDrawing(Struct, frozen=True):
    """The list of finished games."""

    ui: Ui
    history: History
    glyphs: GlyphSet

    @property
    def stage(self) -> str:
        return ""

    @property
    def place(self) -> str:
        return _("Past games")

    def title(self, width: int) -> Line:
        return ends(
            line(f" Palatinus {self.glyphs.dot} {self.place}", "class:title"), EMPTY, width, "class:title"
        )

    def body(self, width: int, height: int) -> Block:
        return with_news(self._block(width, height), self.ui, width, height)

    def small_body(self, width: int, height: int) -> Block:
        return short_list(self.ui, self._block(width, _OTHERS + height), width, height)

    def _block(self, width: int, height: int) -> Block:
        games, chosen = self.history.games, self.history.chosen
        if not games:
            none = _("No finished games are kept here.")
            return block_of([(EMPTY, None), (line(f"  {none}", "class:faint"), None)], width)
        heading = padded(_("ENDED"), _WHEN) + padded(_("TABLE"), _TABLE) + _("PLAYERS AND POINTS")
        rows: list[tuple[Line, Action | None]] = [
            (EMPTY, None),
            (line(f"  {heading}", "class:heading"), None),
        ]
        room = max(height - _OTHERS, 1)
        first = min(max(chosen - room + 1, 0), max(len(games) - room, 0))
        for at, game in enumerate(games[first : first + room], start=first):
            rows.append((self._row(game, width, chosen=at == chosen), ChooseLine(at)))
        rows.append((EMPTY, None))
        best = list_standings(standings(games)[:_PLAYERS_SHOWN])
        rows += [
            (beside(line("  "), content), None) for content in paragraphs([best], width - 4, "class:faint")
        ]
        return block_of(rows, width)

    def _row(self, game: PastGame, width: int, *, chosen: bool) -> Line:
        room = width - 2 - _WHEN - _TABLE
        players = describe_points(game)
        if game.names and get_cwidth(players) > room:  # points matter more than the ends of long names
            for_points = 6 * len(game.names)
            each = max((room - for_points) // len(game.names), 1)
            players = describe_points(game, [cut(name, each) for name in game.names])
        words = padded(local_time(game.ended), _WHEN) + padded(game.table, _TABLE) + players
        if chosen:
            return line(padded(f"{self.glyphs.pointer} {words}", width), "class:chosen")
        return line(f"  {words}")

"""The page of a running game: board, panel and log."""

from client.language import _
from client.tables.table import TableModel
from client.ui.draw.board import Marks
from client.ui.draw.clocks import pause_question, vote_question
from client.ui.draw.frame import Block
from client.ui.draw.lines import EMPTY, Line, beside, line, people_style, width_of
from client.ui.draw.page import ServerPage
from client.ui.draw.panel import Panel
from client.ui.draw.table_layout import small_table_block, table_block
from client.ui.texts.glyphs import GlyphSet
from client.ui.update.state import Playing
from client.ui.update.table import selection
from engine.board import HILLS
from engine.legal import LegalLays
from engine.view import View


class PlayingDrawing(ServerPage, frozen=True):
    """A running game."""

    playing: Playing
    view: View

    def body(self, width: int, height: int) -> Block:
        return table_block(
            self.ui,
            (self.view, self.marks()),
            self.glyphs,
            (width, height),
            panel=self.panel_block,
            sentence=self.sentence(),
        )

    def small_body(self, width: int, height: int) -> Block:
        return small_table_block(
            self.ui,
            (self.view, self.marks()),
            self.glyphs,
            (width, height),
            panel=self.panel_block,
            hand=self.hand_line(width),
            below=height // 4,
            sentence=self.sentence(),
        )

    def sentence(self) -> str:
        """Return what the player should read now, if there is nothing more urgent."""
        return pause_question(self.ui, self.model) or vote_question(self.model)

    def panel_block(self, width: int, height: int) -> Block:
        return self.panel(width).of_game(height)

    def panel(self, width: int) -> Panel:
        return Panel(
            self.ui, self.playing, self.model, self.view, self.glyphs, width, hand_title=self.hand_title()
        )

    def hand_line(self, width: int) -> Line:
        return in_hand(self.playing, self.model, self.glyphs, width)

    def hand_title(self) -> str:
        return _("YOUR HAND")

    def marks(self) -> Marks:
        """Return what the board points at."""
        aimed = selection.preview(self.playing, self.model)
        if aimed is not None and isinstance(self.model.legal, LegalLays):
            return Marks(cursor=HILLS[aimed[0]], preview=aimed, choices=self.model.legal.positions)
        return Marks(cursor=self.playing.cursor, last=self.playing.last)


def in_hand(playing: Playing, model: TableModel, glyphs: GlyphSet, width: int) -> Line:
    """Return in one line what is to be laid or placed: of the hand the chosen piece and those after it."""
    if isinstance(model.legal, LegalLays) and model.view is not None:
        at = selection.selected_position(playing, model.legal)
        words = _("TILE {tile}").format(tile=model.view.drawn)
        return line(f" {words}: lay {at} {playing.orientation}", "class:mine")
    pieces = [(number, each) for number, each in enumerate(selection.hand(model), start=1) if each.count]
    chosen = selection.selected_piece(playing, model)
    first = next((at for at, (_number, each) in enumerate(pieces) if each.piece == chosen), 0)
    told = EMPTY
    for number, each in (*pieces[first:], *pieces[:first]):
        mark = glyphs.pointer if each.piece == chosen else " "
        part = beside(
            line(f"{mark}{number} ", "class:key"),
            line(str(each.piece), people_style(each.piece.people) if each.legal else "class:off"),
            line(f"{glyphs.times}{each.count} "),
        )
        if width_of(told) + width_of(part) > width:
            break
        told = beside(told, part)
    return told

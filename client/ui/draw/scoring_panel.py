"""The panel beside the board while the scoring is walked through."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from client.language import _
from client.ui.draw.board import notation
from client.ui.draw.frame import Block, block_of
from client.ui.draw.lines import Line, beside, chips, ends, line, people_style, width_of, wrapped
from client.ui.draw.panel import BLANK, Row, heading, pointer
from client.ui.draw.scene import Scene
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.scoring import sum_of
from engine.board import Field
from engine.events import Captured, HillScored, Influence, SoldierFled
from engine.pieces import Seat
from engine.view import View


class ScoringPanel(Struct, frozen=True):
    """What the panel of a step of the scoring is drawn from."""

    scene: Scene
    view: View
    names: Sequence[str]
    glyphs: GlyphSet
    width: int

    def block(self, number: str) -> Block:
        """Return the hill being scored: its soldiers, the influence counted so far, the points so far."""
        rows: list[Row] = []
        scene = self.scene
        if scene.hill is not None:
            laurel = self.view.laurels[scene.hill].value
            rows.append(heading(_("HILL {hill}").format(hill=scene.hill), self.width, laurel))
            for act in scene.acts:
                rows += [(row, None) for row in self._act(act, current=act is scene.event)]
            rows += [(self._influence(each, current=each is scene.counting), None) for each in scene.counted]
            rows.append(BLANK)
        rows.append(heading(_("SO FAR"), self.width, _("influence").rjust(9) + _("points").rjust(8)))
        rows += [(self._points(Seat(seat)), None) for seat in range(self.view.seats)]
        return block_of([*rows, BLANK, (line(number, "class:faint"), None)], self.width)

    def _act(self, act: SoldierFled | Captured, *, current: bool) -> Iterable[Line]:
        """Return what a soldier does; captives that do not fit go on the next line."""
        if isinstance(act, SoldierFled):
            words = _("flees ({merchants} m, {farmers} f)").format(
                merchants=len(act.merchants), farmers=len(act.farmers)
            )
        else:
            words = _("takes {fields}").format(fields=", ".join((*act.taken, *act.shared)))
        sign = pointer(self.glyphs, shown=current)
        who = beside(sign, line(f"{act.field} "), self._piece_on(act.field), line(" "))
        indent = line(" " * width_of(who))
        rows = wrapped(words, self.width - width_of(who))
        return (
            beside(indent if at else who, line(row, "class:mine" if current else ""))
            for at, row in enumerate(rows)
        )

    def _influence(self, piece: Influence, *, current: bool) -> Line:
        left = beside(
            pointer(self.glyphs, shown=current), line(f"{piece.field} "), self._piece_on(piece.field)
        )
        return ends(left, line(f" {sum_of(piece)}", "class:mine" if current else ""), self.width)

    def _points(self, seat: Seat) -> Line:
        scene = self.scene
        leads = isinstance(scene.event, HillScored) and scene.counting is None and seat in scene.event.leaders
        style = "class:mine" if leads else ""
        influence = sum(each.amount for each in scene.counted if each.seat == seat)
        left = beside(
            pointer(self.glyphs, shown=leads),
            chips(self.view.start.peoples[seat]),
            line(f" {self.names[seat]}", style),
        )
        return ends(left, line(f" {influence or '':>4}{scene.points[seat]:>8}", style), self.width)

    def _piece_on(self, field: Field) -> Line:
        piece = self.view.placed[field]
        return line(f"{notation(piece):<3}", people_style(piece.people))

"""The panel beside the board: players, hand, the tile drawn, the field pointed at, the scoring."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from client.language import _, counted
from client.table import TableModel
from client.ui.draw.board import notation
from client.ui.draw.clocks import seat_note
from client.ui.draw.frame import Block, block_of
from client.ui.draw.lines import EMPTY, Line, beside, ends, line, people_style, width_of, wrapped
from client.ui.draw.pages.counts import bounds_text
from client.ui.draw.scene import Scene
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.sentences import kind_words, names_at, piece_words, sum_of
from client.ui.update import selection
from client.ui.update.actions import Act, Action, Hold, Pick
from client.ui.update.state import Ui
from engine.board import Field, Tile, has_spring, tile_of
from engine.events import Captured, HillScored, Influence, SoldierFled
from engine.knowledge import beside as around
from engine.knowledge import hill_influence
from engine.legal import LegalLays
from engine.pieces import People, Seat
from engine.view import View

Row: TypeAlias = tuple[Line, Action | None]

_BLANK: Final[Row] = (EMPTY, None)


def chips(peoples: Sequence[People]) -> Line:
    """Return the signs of peoples: each letter on its colour."""
    return tuple((people_style(people), f" {people} ") for people in peoples)


@dataclass(frozen=True, slots=True)
class Panel:
    """What a panel is drawn from."""

    ui: Ui
    model: TableModel
    view: View
    glyphs: GlyphSet
    width: int

    def of_game(self, height: int) -> Block:
        """Return the panel while the game runs; where `height` is short, without its empty lines."""
        rows = [*self._players(), _BLANK]
        if isinstance(self.model.legal, LegalLays):
            rows += self._laying(self.model.legal)
        else:
            rows += [*self._hand(), _BLANK] if self.model.seat is not None else []
            rows += self._field()
        if len(rows) > height:
            rows = [row for row in rows if row is not _BLANK]
        if len(rows) > height and not isinstance(self.model.legal, LegalLays):
            brief = self._field(brief=True)
            rows = [*rows[: len(rows) - len(self._field())], *brief]
        return block_of(rows, self.width)

    def of_hand(self, height: int) -> Block:
        """Return the hand, and the hex under the cursor if there is room for both."""
        hand, here = self._hand(), [_BLANK, *self._field(brief=True)]
        return block_of(hand if len(hand) + len(here) > height else [*hand, *here], self.width)

    def of_tile(self) -> Block:
        """Return the tile to be laid, if this seat is to lay one."""
        legal = self.model.legal
        return block_of(self._laying(legal) if isinstance(legal, LegalLays) else [], self.width)

    def of_field(self) -> Block:
        """Return what is to be known of the hex under the cursor."""
        return block_of(self._field(brief=True), self.width)

    def of_scoring(self, scene: Scene, number: str) -> Block:
        """Return the hill being scored: its soldiers, the influence counted so far, the points so far."""
        rows: list[Row] = []
        if scene.hill is not None:
            rows.append(
                self._heading(_("HILL {hill}").format(hill=scene.hill), self.view.laurels[scene.hill].value)
            )
            for act in scene.acts:
                rows += [(row, None) for row in self._act(act, current=act is scene.event)]
            rows += [(self._influence(each, current=each is scene.counting), None) for each in scene.counted]
            rows.append(_BLANK)
        rows.append(self._heading(_("SO FAR"), _("influence").rjust(9) + _("points").rjust(8)))
        rows += [(self._standing(scene, Seat(seat)), None) for seat in range(self.view.seats)]
        return block_of([*rows, _BLANK, (line(number, "class:faint"), None)], self.width)

    def _heading(self, left: str, right: str = "") -> Row:
        return ends(line(left, "class:heading"), line(right, "class:faint"), self.width), None

    def _sign(self, *, shown: bool) -> Line:
        return line(f"{self.glyphs.pointer if shown else ' '} ", "class:mine")

    def _piece_on(self, field: Field) -> Line:
        piece = self.view.placed[field]
        return line(f"{notation(piece):<3}", people_style(piece.people))

    # -- while the game runs --------------------------------------------------------------------------

    def _players(self) -> list[Row]:
        """Return who plays, with what peoples, who is on turn or away, and how many pieces each has left."""
        return [
            self._heading(_("PLAYERS"), _("to place")),
            *((self._player(Seat(seat)), None) for seat in range(self.view.seats)),
        ]

    def _player(self, seat: Seat) -> Line:
        mine = "class:mine" if seat == self.model.seat else ""
        left = beside(
            self._sign(shown=seat == self.view.turn),
            chips(self.view.start.peoples[seat]),
            line(f" {names_at(self.model)[seat]}", mine),
        )
        note = seat_note(self.ui, self.model, seat)
        away = line(f" {note}", "class:away") if note else EMPTY
        return ends(left, beside(away, line(f" {self.view.remaining[seat]:>2}", mine)), self.width)

    def _hand(self) -> list[Row]:
        """Return the hand, numbered; what may not be placed now is grey."""
        pieces = selection.hand(self.model)
        left = sum(each.count for each in pieces)
        return [
            self._heading(self._whose_hand(), str(left)),
            *((self._held(number, each), Hold(each.piece)) for number, each in enumerate(pieces, start=1)),
        ]

    def _whose_hand(self) -> str:
        if self.ui.replay is None or self.model.seat is None:
            return _("YOUR HAND")
        return _("HAND OF {name}").format(name=names_at(self.model)[self.model.seat])

    def _held(self, number: int, each: selection.HandPiece) -> Line:
        chosen = each.piece == selection.selected_piece(self.ui, self.model)
        style = "class:chosen" if chosen else "" if each.legal else "class:off"
        left = beside(
            line(f"{self.glyphs.pointer if chosen else ' '} {number} ", style),
            line(f"{each.piece:<3}", people_style(each.piece.people) if each.legal else style),
            line(f" {kind_words(each.piece)}", style),
        )
        held = f"{self.glyphs.times}{each.count}" if each.legal else _("not now")
        count = held if each.count else _("none")
        return ends(left, line(f" {count}", style), self.width, style)

    def _laying(self, legal: LegalLays) -> list[Row]:
        """Return the tile drawn, where and how it would lie, and where else it may."""
        at = selection.selected_position(self.ui, legal)
        rows = [
            self._heading(_("TILE {tile}").format(tile=self.view.drawn), f"lay {at} {self.ui.orientation}"),
            _BLANK,
        ]
        for position in legal.positions:
            chosen = position == at
            form = _("position {position}, turned {turns}") if chosen else _("position {position}")
            words = form.format(position=position, turns=self.ui.orientation)
            content = beside(self._sign(shown=chosen), line(words, "class:chosen" if chosen else ""))
            rows.append((content, Act.CONFIRM if chosen else Pick(position)))
        return rows

    def _field(self, *, brief: bool = False) -> list[Row]:
        """Return what is known of the hex pointed at; `brief` leaves out what scoring would bring."""
        layout, cell = self.view.layout, self.ui.hovered or self.ui.cursor
        field = layout.fields.get(cell)
        if field is None:
            hill = next((tile for tile, at in layout.hills.items() if at == cell), None)
            if hill is None:
                return [self._heading(_("NO TILE YET"))]
            laurel = self.view.laurels.get(hill)
            return [
                self._heading(_("HILL {hill}").format(hill=hill), "" if laurel is None else laurel.value),
                *(self._on_hill(hill) if laurel is not None and not brief else ()),
                *self._told(_("A hill holds no pieces.")),
            ]
        piece = self.view.board.get(field)
        words = _("Empty.")
        if piece is not None:
            owner = names_at(self.model)[self.view.owners[field]]
            words = _("{name}'s {piece}.").format(piece=piece_words(piece), name=owner)
            words = words if brief else f"{words} {self._gives(field)} {self._age(field)}"
        near = ", ".join(map(self._neighbour, layout.adjacent(field)))
        return [
            self._heading(_("FIELD {field}").format(field=field), _("a spring") if has_spring(field) else ""),
            *self._told(words, _("Beside it: {around}.").format(around=near)),
        ]

    def _on_hill(self, hill: Tile) -> list[Row]:
        """Return the influence on a hill as far as it is known, of those who have some."""
        rows: list[Row] = [(line(_("Influence now:"), "class:faint"), None)]
        for seat, bounds in enumerate(hill_influence(self.view, hill).seats):
            if bounds.most:
                who = beside(chips(self.view.start.peoples[seat]), line(f" {names_at(self.model)[seat]}"))
                rows.append((ends(beside(line("  "), who), line(bounds_text(bounds)), self.width), None))
        return rows if len(rows) > 1 else []

    def _gives(self, field: Field) -> str:
        """Return what the piece on a field would do if its hill were scored now."""
        given = hill_influence(self.view, tile_of(field)).fields.get(field)
        if given is not None:
            return _("Gives {amount} now.").format(amount=bounds_text(given))
        found = around(self.view, field)
        text = _("Beside it: {merchants} m, {farmers} f, {wolves} ?*.")
        return text.format(merchants=found.merchants, farmers=found.farmers, wolves=found.wolves)

    def _age(self, field: Field) -> str:
        """Return how long ago the piece on a field was placed."""
        later = len(self.view.placed) - list(self.view.placed).index(field) - 1
        if not later:
            return _("The last piece placed.")
        return counted("Placed {number} turn ago.", "Placed {number} turns ago.", later).format(number=later)

    def _neighbour(self, field: Field) -> str:
        piece = self.view.board.get(field)
        spring = self.glyphs.spring if has_spring(field) else ""
        return f"{field}{spring}" if piece is None else f"{field}{spring} {notation(piece)}"

    def _told(self, *texts: str) -> Iterable[Row]:
        return [(line(f"  {row}"), None) for text in texts for row in wrapped(text, self.width - 2)]

    # -- the scoring ----------------------------------------------------------------------------------

    def _act(self, act: SoldierFled | Captured, *, current: bool) -> Iterable[Line]:
        """Return what a soldier does; more captives than have room go on in the next line."""
        if isinstance(act, SoldierFled):
            words = _("flees ({merchants} m, {farmers} f)").format(
                merchants=len(act.merchants), farmers=len(act.farmers)
            )
        else:
            words = _("takes {fields}").format(fields=", ".join((*act.taken, *act.shared)))
        who = beside(self._sign(shown=current), line(f"{act.field} "), self._piece_on(act.field), line(" "))
        indent = line(" " * width_of(who))
        rows = wrapped(words, self.width - width_of(who))
        return (
            beside(indent if at else who, line(row, "class:mine" if current else ""))
            for at, row in enumerate(rows)
        )

    def _influence(self, piece: Influence, *, current: bool) -> Line:
        left = beside(self._sign(shown=current), line(f"{piece.field} "), self._piece_on(piece.field))
        return ends(left, line(f" {sum_of(piece)}", "class:mine" if current else ""), self.width)

    def _standing(self, scene: Scene, seat: Seat) -> Line:
        leads = isinstance(scene.event, HillScored) and scene.counting is None and seat in scene.event.leaders
        style = "class:mine" if leads else ""
        influence = sum(each.amount for each in scene.counted if each.seat == seat)
        left = beside(
            self._sign(shown=leads),
            chips(self.view.start.peoples[seat]),
            line(f" {names_at(self.model)[seat]}", style),
        )
        return ends(left, line(f" {influence or '':>4}{scene.points[seat]:>8}", style), self.width)

"""The panel beside the board while a game runs: players, hand, the tile drawn, the field pointed at."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from client.language import N_, _, counted, listed, parted
from client.ui import at_table
from client.ui.draw.page import name_or_sign, seat_note, spectators_sign
from client.ui.frame import (
    EMPTY,
    Line,
    chips,
    clickable,
    ends,
    first_rows,
    fitted,
    line,
    people_style,
    width_of,
    wrapped,
)
from client.ui.keys import Act, Hold, Pick
from client.ui.leads import describe_foreseen, describe_needed, describe_soldiers_to_act, hill_leads
from client.ui.spots import FieldSpot, HillSpot, OpenSpot, spots
from client.ui.state import Pane
from client.ui.texts.games import bounds_text, turned
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.names import by, called
from client.ui.texts.pieces import PEOPLES, kind_words, piece_sign, piece_words
from client.ui.texts.tables import describe_spectators, names_at, players_at
from engine.board import Field, Tile, neighbours, tile_of
from engine.knowledge import beside as around
from engine.knowledge import hill_influence
from engine.legal import LegalLays
from engine.pieces import Seat


def heading(left: str, width: int, right: str = "") -> Line:
    return ends(line(left, "class:heading"), line(right, "class:faint"), width)


def pointer(glyphs: GlyphSet, *, shown: bool) -> Line:
    """Return the sign before a row that is active, chosen or being counted, or a space of the same width."""
    return line(f"{glyphs.pointer if shown else ' '} ", "class:mine")


_NO_PIECES: Final = N_("A hill holds no pieces.")
_TALL: Final = 30  # lines in which the hills always fit: they must not come and go with the cursor
_LEADER: Final = 11  # columns for who leads, and by how much
_MINE: Final = 6
_ROOM_FOR_NAMES: Final = 36


class Panel(Struct, frozen=True):
    """The panel of a running game; `hand_title` says whose hand it shows.

    With `foresees`, it shows what a chosen piece would do on the field pointed at.
    """

    pane: Pane
    chosen: at_table.Selection
    hand_title: str
    foresees: bool = True

    def of_game(self) -> list[Line]:
        """Return the panel while the game runs; where there is little room, without its empty lines."""
        height = self.pane.height
        spectators = self._spectators()  # instead of an empty line
        rows = [*self.players(), spectators]

        def closed_up(whole: list[Line]) -> list[Line]:
            return whole if len(whole) <= height else [row for row in whole if row and row is not spectators]

        if isinstance(self.pane.model.legal, LegalLays):
            rows += self._laying(self.pane.model.legal)
        else:
            hand = [*self.hand(), EMPTY] if self.pane.model.seat is not None else []
            hills, soldiers, here = self.hills(), self._soldiers_to_act(), self.field()
            if height >= _TALL and len(rows) + len(hand) + len(here) + len(hills) < height:
                whole = closed_up([*rows, *hand, *here, EMPTY, *hills, *soldiers])
                return whole if len(whole) <= height else [*rows, *hand, *here, EMPTY, *hills]
            if self._points_at_hill:  # where there is no hand to choose from
                whole = closed_up([*rows, *hills, *soldiers, EMPTY, *here])
                fits = len(whole) <= height
                return whole if fits else whole[: -len(self._paragraphs(_(_NO_PIECES)))][:height]
            rows += [*hand, *here]
        rows = closed_up(rows)
        if len(rows) > height and not isinstance(self.pane.model.legal, LegalLays):
            brief = self.field(brief=True)
            rows = [*rows[: len(rows) - len(self.field())], *brief]
        return rows

    @property
    def _points_at_hill(self) -> bool:
        cell = self.chosen.hovered or self.chosen.cursor
        return bool(self.pane.view.laurels) and isinstance(spots(self.pane.view)[cell], HillSpot)

    def of_hand(self, height: int, *, field_wanted: bool) -> list[Line]:
        """Return the hand, and the hex under the cursor if there is room for both.

        With `field_wanted`, pieces of which none is left make room for it.
        """
        hand, here = self.hand(), self.field(brief=True)
        ways = [[*hand, EMPTY, *here], [*hand, *here]]
        ways += [[*self.hand(all_kinds=False), *here]] if field_wanted else []
        return next((rows for rows in ways if len(rows) <= height), hand)

    def of_tile(self) -> list[Line]:
        legal = self.pane.model.legal
        return self._laying(legal) if isinstance(legal, LegalLays) else []

    def _heading(self, left: str, right: str = "") -> Line:
        return heading(left, self.pane.width, right)

    def players(self) -> list[Line]:
        """Return the players: their peoples, turn and absence, and how many pieces each has left."""
        return [
            self._heading(_("PLAYERS"), _("to place")),
            *(self._player(Seat(seat)) for seat in range(self.pane.view.seats)),
        ]

    def _spectators(self) -> Line:
        """Return a row with the spectators, empty without any."""
        state, room = self.pane.model.state, self.pane.width - 2
        if sign := spectators_sign(self.pane.ui.signs):
            return line(f"  {first_rows(wrapped(sign, room), 1, room)[0]}", "class:talk")
        told = "" if state is None else describe_spectators(state)
        return line(f"  {first_rows(wrapped(told, room), 1, room)[0]}", "class:faint") if told else EMPTY

    def _player(self, seat: Seat) -> Line:
        mine = "class:mine" if seat == self.pane.model.seat else ""
        peoples, name = self.pane.view.start.peoples[seat], called(players_at(self.pane.model)[seat])
        if self.pane.glyphs.aloud:
            who = line(f"{name}, {listed(_(PEOPLES[people]) for people in peoples)}")
        else:
            who = chips(peoples) + name_or_sign(self.pane.ui.signs, seat, name, mine)
        left = pointer(self.pane.glyphs, shown=seat == self.pane.view.turn) + who
        note = seat_note(self.pane.ui, self.pane.model, seat)
        away = line(f" {note}", "class:away") if note else EMPTY
        left_to_place = line(f" {self.pane.view.remaining[seat]:>2}", mine)
        signs = any(each.seat == seat for each in self.pane.ui.signs)
        if signs and width_of(left + away + left_to_place) > self.pane.width:
            away = EMPTY  # for some seconds
        return ends(left, away + left_to_place, self.pane.width)

    def hand(self, *, all_kinds: bool = True) -> list[Line]:
        """Return the hand with its numbers; pieces that may not be placed now are grey."""
        pieces = at_table.hand(self.pane.model)
        left = sum(each.count for each in pieces)
        return [
            self._heading(self.hand_title, str(left)),
            *(
                clickable(self._hand_row(number, each), Hold(each.piece))
                for number, each in enumerate(pieces, start=1)
                if each.count or all_kinds
            ),
        ]

    def _hand_row(self, number: int, each: at_table.HandPiece) -> Line:
        chosen = each.piece == at_table.selected_piece(self.chosen, self.pane.model)
        style = "class:chosen" if chosen else "" if each.legal else "class:off"
        left = (
            line(f"{self.pane.glyphs.pointer if chosen else ' '} {number} ", style)
            + line(f"{piece_sign(each.piece):<3}", people_style(each.piece.people) if each.legal else style)
            + line(f" {kind_words(each.piece)}", style)
        )
        held = f"{self.pane.glyphs.times}{each.count}" if each.legal else _("not now")
        count = held if each.count else _("none")
        return ends(left, line(f" {count}", style), self.pane.width, style)

    def hills(self) -> list[Line]:
        """Return each hill's leader, `?` if uncertain, and one's own influence; nothing without laurels."""
        view, me = self.pane.view, self.pane.model.seat
        if not view.laurels:
            return []
        right = _("leads").ljust(_LEADER) + ("" if me is None else _("you").rjust(_MINE))
        rows = [self._heading(_("HILLS"), right)]
        for each in hill_leads(view):
            left = f"  {each.hill} {each.worth} "
            if self.pane.width >= _ROOM_FOR_NAMES:
                left += f" {each.laurel.value}"
            leads = line(f"{' -':<{_LEADER}}", "class:faint")
            if each.leaders:
                first = each.leaders[0]
                sure = each.tied or each.leader is not None
                amount = bounds_text(each.influence[first]) + ("" if sure else "?")
                who = line(" = ", "class:faint") if each.tied else chips(view.start.peoples[first][:1])
                leads = fitted(
                    who + line(f" {amount}", "class:mine" if me is not None and each.leader == me else ""),
                    _LEADER,
                )
            mine = EMPTY if me is None else line(f"{bounds_text(each.influence[me]):>{_MINE}}")
            rows.append(ends(line(left), leads + mine, self.pane.width))
        return rows

    def _soldiers_to_act(self) -> list[Line]:
        return self._paragraphs(*describe_soldiers_to_act(self.pane.view), style="class:faint")

    def _laying(self, legal: LegalLays) -> list[Line]:
        """Return the tile drawn, where and how it would lie, and where else it may."""
        at = at_table.selected_position(self.chosen, legal)
        text = _("TILE {tile}")
        rows = [
            self._heading(text.format(tile=self.pane.view.drawn)),
            EMPTY,
        ]
        for position in legal.positions:
            chosen = position == at
            form = _("position {position}, {turned}") if chosen else _("position {position}")
            words = form.format(position=position, turned=turned(self.chosen.orientation))
            content = pointer(self.pane.glyphs, shown=chosen) + line(words, "class:chosen" if chosen else "")
            rows.append(clickable(content, Act.CONFIRM if chosen else Pick(position), self.pane.width))
        return rows

    def field(self, *, brief: bool = False) -> list[Line]:
        """Return the facts about the hex pointed at, and the effects of placing the chosen piece there.

        `brief` leaves out the score of a piece that is already there.
        """
        board, cell = spots(self.pane.view), self.chosen.hovered or self.chosen.cursor
        match board[cell]:
            case OpenSpot():
                return [self._heading(_("NO TILE YET"))]
            case HillSpot(tile=hill, laurel=laurel):
                return [
                    self._heading(_("HILL {hill}").format(hill=hill), "" if laurel is None else laurel.value),
                    *(self._on_hill(hill) if laurel is not None and not brief else ()),
                    *self._paragraphs(_(_NO_PIECES)),
                ]
            case FieldSpot() as spot:
                beside = [each for each in map(board.get, neighbours(cell)) if isinstance(each, FieldSpot)]
                return self._on_field(spot, beside, brief=brief)

    def _on_field(self, spot: FieldSpot, beside: Iterable[FieldSpot], *, brief: bool) -> list[Line]:
        words = _("Empty.")
        if spot.piece is not None:
            owner = names_at(self.pane.model)[self.pane.view.owners[spot.name]]
            form = by(owner, _("{name}'s {piece}."), _("Your {piece}."))
            words = form.format(piece=piece_words(spot.piece), name=owner)
            words = words if brief else f"{words} {self._gives(spot.name)} {self._age(spot.name)}"
        near, aloud = [], self.pane.glyphs.aloud
        for each in beside:
            name = f"{each.name}{self.pane.glyphs.spring if each.spring else ''}"
            sign = piece_words if aloud else piece_sign
            near.append(name if each.piece is None else f"{name} {sign(each.piece)}")
        beside_it = parted(near) if aloud else ", ".join(near)
        told = (describe_foreseen(self.chosen, self.pane.model) if self.foresees else []) or [words]
        return [
            self._heading(_("FIELD {field}").format(field=spot.name), _("a spring") if spot.spring else ""),
            *self._paragraphs(*told, _("Beside it: {around}.").format(around=beside_it)),
        ]

    def _on_hill(self, hill: Tile) -> list[Line]:
        """Return the influence on a hill, as far as it is known, of the players who have some."""
        rows = [line(_("Influence now:"), "class:faint")]
        for seat, bounds in enumerate(hill_influence(self.pane.view, hill).seats):
            if bounds.most:
                who = line(f" {called(players_at(self.pane.model)[seat])}")
                if not self.pane.glyphs.aloud:
                    who = chips(self.pane.view.start.peoples[seat]) + who
                amount = bounds_text(bounds, in_words=self.pane.glyphs.aloud)
                rows.append(ends(line("  ") + who, line(amount), self.pane.width))
        needed = (
            []
            if self.pane.model.seat is None
            else describe_needed(self.pane.view, hill, self.pane.model.seat, in_words=self.pane.glyphs.aloud)
        )
        return [*self._paragraphs(*needed), *(rows if len(rows) > 1 else [])]

    def _gives(self, field: Field) -> str:
        """Return what the piece on a field would do if its hill were scored now."""
        given = hill_influence(self.pane.view, tile_of(field)).fields.get(field)
        if given is not None:
            return _("Gives {amount} now.").format(amount=bounds_text(given, in_words=True))
        found = around(self.pane.view, field)
        near = (
            (found.merchants, counted("{n} merchant", "{n} merchants", found.merchants)),
            (found.farmers, counted("{n} farmer", "{n} farmers", found.farmers)),
            (found.wolves, counted("{n} wolf of unknown kind", "{n} wolves of unknown kind", found.wolves)),
        )
        prey = ", ".join(words.format(n=number) for number, words in near if number)
        return _("Within its reach: {prey}.").format(prey=prey) if prey else _("Nothing is within its reach.")

    def _age(self, field: Field) -> str:
        later = len(self.pane.view.placed) - list(self.pane.view.placed).index(field) - 1
        if not later:
            return _("The last piece placed.")
        return counted("Placed {number} turn ago.", "Placed {number} turns ago.", later).format(number=later)

    def _paragraphs(self, *texts: str, style: str = "") -> list[Line]:
        return [line(f"  {row}", style) for text in texts for row in wrapped(text, self.pane.width - 2)]

"""Pictures as SVG: text, paths and chips, and the board with its pieces."""

import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple
from xml.etree import ElementTree as ET

from prompt_toolkit.utils import get_cwidth

from client.language import _, counted, labelled
from client.player.terminal import Colours
from client.ui.at_table import HEX_POSITIONS
from client.ui.frame import wrapped
from client.ui.spots import NOBODY, FieldSpot, HillSpot, Marks, OpenSpot, describe_field, spots
from client.ui.terminal.painter import PEOPLE_COLOURS
from client.ui.texts.pieces import NAMED_SIGNS, kind_words, piece_sign
from engine.board import CENTRE, DIRECTIONS, HILLS, Hex, neighbours
from engine.components import LAUREL_WORTH
from engine.events import Tally
from engine.pieces import Kind, People, Piece, Seat, Wolf
from engine.view import View

INK: Final = "#222222"  # of letters, unless they stand on a piece
NOTHING: Final[Mapping[Hex, str]] = MappingProxyType({})


def style_sheet(*names: str) -> str:
    """Return the CSS rules in the files of these names, in this folder."""
    here = Path(__file__).parent
    return "\n" + "".join((here / f"{name}.css").read_text(encoding="utf-8") for name in names)


def document(title: str, style: str, width: int) -> ET.Element:
    """Return a self-contained picture on white: no external fonts, pictures or scripts."""
    root = ET.Element("svg", xmlns="http://www.w3.org/2000/svg", width=str(width), role="img", fill=INK)
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "style").text = style
    ET.SubElement(root, "rect", width="100%", height="100%", fill="#ffffff")
    return root


def to_text(root: ET.Element, height: int) -> str:
    """Return the picture as text, so high."""
    root.set("viewBox", f"0 0 {root.get('width')} {height}")
    root.set("height", str(height))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def group_at(parent: ET.Element, x: float, y: float, more: str = "") -> ET.Element:
    return ET.SubElement(parent, "g", transform=f"translate({x:.1f} {y:.1f}){more}")


def write(
    parent: ET.Element, x: float, y: float, size: float, words: str, *, classes: str = ""
) -> ET.Element:
    element = ET.SubElement(parent, "text", {"x": f"{x:g}", "y": f"{y:g}", "font-size": f"{size:g}"})
    if classes:
        element.set("class", classes)
    element.text = words
    return element


def draw_path(parent: ET.Element, shape: str, classes: str) -> ET.Element:
    return ET.SubElement(parent, "path", {"d": shape, "class": classes})


def draw_line(parent: ET.Element, start: tuple[float, float], end: tuple[float, float], classes: str) -> None:
    places = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    ET.SubElement(
        parent, "line", {"class": classes} | {name: f"{place:.1f}" for name, place in places.items()}
    )


def draw_chip(parent: ET.Element, people: People, radius: float) -> None:
    colours = PEOPLE_COLOURS[Colours.TRUE][people]
    ET.SubElement(parent, "circle", {"r": f"{radius:g}", "class": "piece", "fill": colours.background})
    letter = write(parent, 0, radius * 0.45, radius * 1.3, people.value, classes="c b")
    letter.set("fill", colours.foreground)


_TITLE: Final = "Palatinus"
_SIZE: Final = 44.0  # from a hex's middle to its corners
_ACROSS: Final = _SIZE * math.sqrt(3)
_MARGIN: Final = 24.0
_LEGEND: Final = 320.0
_LEGEND_GAP: Final = 36.0
_MIDDLE: Final = (_MARGIN + 4 * _ACROSS, _MARGIN + 7 * _SIZE)  # of the board
BOARD_VIEW: Final = f"0 0 {2 * _MIDDLE[0]:.0f} {2 * _MIDDLE[1]:.0f}"
_WIDTH: Final = 2 * _MIDDLE[0] + _LEGEND_GAP + _LEGEND - _MARGIN
_HEIGHT: Final = 2 * _MIDDLE[1]
_ROUND_THE_CENTRE: Final = ("#e1e7cb", "#e7e0ea")  # outer tiles in turn: no two that touch are alike
_CENTRE_TILE: Final = "#f6e6bb"
BOARD_STYLE: Final = style_sheet("text", "board")

# Each kind has a shape beside its letter: a coin, a field, a shield; a wolf has ears.
_SHAPES: Final = {
    Kind.MERCHANT: "M-19 0A19 19 0 1 1 19 0A19 19 0 1 1 -19 0Z",
    Kind.FARMER: "M-17 -17H17V17H-17Z",
    Kind.SOLDIER: "M-18 -17H18V1C18 12 9 18 0 22C-9 18 -18 12 -18 1Z",
}
_EARS: Final = "M-18 -8L-17 -26L-4 -16ZM18 -8L17 -26L4 -16Z"
_FACE_DOWN: Final = "M-19 -26L-8 -15H8L19 -26V3L0 22L-19 3Z"
_WAVES: Final = "M-9 -3q4.5 -5 9 0t9 0M-9 4q4.5 -5 9 0t9 0"
_WREATH: Final = "M-5 -11A12 12 0 0 0 -5 11M5 -11A12 12 0 0 1 5 11"
_ARROW: Final = "M-7 -2.5H0V-7L8 0L0 7V2.5H-7Z"


class Moment(NamedTuple):
    """A board, what is marked on it, and what is `told` of it in the text beside it."""

    view: View
    marks: Marks
    told: tuple[str, ...]

    @property
    def rows(self) -> list[str]:
        return [row for text in self.told for row in wrapped(text, 46)]


class Drawing(NamedTuple):
    """The parts of a picture from back to front, in the same order whatever the board, and its height."""

    title: str
    parts: list[ET.Element]
    height: int


def drawing(moment: Moment, names: Sequence[str], rows: int = 0) -> Drawing:
    """Return a picture of a moment, with room for so many rows of what is told of it."""
    board = _BoardDrawing(moment.view, moment.marks)
    parts = [ET.Element("g")]
    board.draw_ground(parts[0])
    for cell in HEX_POSITIONS:
        parts.append(ET.Element("g"))
        board.draw_standing(parts[-1], cell)
    legend = _Legend(moment, names, rows)
    height = max(round(_HEIGHT), round(legend.draw() + 2 * _MARGIN))
    return Drawing(labelled(_TITLE, moment.told[0]), [*parts, *legend.parts], height)


def in_document(drawn: Drawing, style: str = "") -> str:
    """Return a picture as an SVG document."""
    root = document(drawn.title, BOARD_STYLE + style, round(_WIDTH))
    root.extend(drawn.parts)
    return to_text(root, drawn.height)


def board_parts(view: View, marks: Marks, touch: Mapping[Hex, str] = NOTHING) -> list[str]:
    """Return the board without a legend, as the contents of stacked SVG groups.

    First the ground, then each hex's contents, always in the same order, so that a move changes only a few.
    They fit into an SVG element with the view box BOARD_VIEW and the rules of BOARD_STYLE. What is said when
    a hex is touched stands in `data-choose`.
    """
    board = _BoardDrawing(view, marks)
    ground = ET.Element("g")
    board.draw_ground(ground)
    parts = [ground]
    for cell in HEX_POSITIONS:
        parts.append(ET.Element("g"))
        board.draw_standing(parts[-1], cell)
        if cell in touch:
            over = {"points": _points(_corners(*_middle(cell), _SIZE)), "data-choose": touch[cell]}
            name = {"aria-label": board.name_of(cell)}
            look = {"class": "touch", "role": "button", "tabindex": "-1"}
            ET.SubElement(parts[-1], "polygon", over | name | look)
    return [_contents(part) for part in parts]


def _contents(group: ET.Element) -> str:
    """Return what is in a group without attributes."""
    text = ET.tostring(group, encoding="unicode")
    return text.removeprefix("<g>").removesuffix("</g>") if len(group) else ""


def _middle(cell: Hex) -> tuple[float, float]:
    q, r = cell
    return _MIDDLE[0] + _ACROSS * (q + r / 2), _MIDDLE[1] + 1.5 * _SIZE * r


@functools.cache  # there are few hexes, and few sizes of each
def _corners(x: float, y: float, size: float) -> tuple[tuple[float, float], ...]:
    """Return the corners of a hex, the first two those of its side to the east, then clockwise."""
    angles = (math.radians(60 * turn - 30) for turn in range(6))
    return tuple((x + size * math.cos(angle), y + size * math.sin(angle)) for angle in angles)


@functools.cache
def _points(corners: tuple[tuple[float, float], ...]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _draw_piece(parent: ET.Element, piece: Piece | Wolf) -> None:
    """Draw a piece around the parent's origin: shape and letters say all that its colour says."""
    colours = PEOPLE_COLOURS[Colours.TRUE][piece.people]
    if isinstance(piece, Wolf):
        draw_path(parent, _FACE_DOWN, "piece").set("fill", colours.background)
    else:
        if piece.wolf:
            draw_path(parent, _EARS, "piece").set("fill", colours.background)
        draw_path(parent, _SHAPES[piece.kind], "piece").set("fill", colours.background)
    text = piece_sign(piece)
    size, length = (17, "short") if len(text) < 3 else (14, "long")
    write(parent, 0, 6, size, text, classes=f"c b {length}").set("fill", colours.foreground)


def _draw_ring(parent: ET.Element, look: str) -> None:
    """Draw a line inside the hex around the parent's origin, on a lighter one that sets it off."""
    inside = _points(_corners(0, 0, _SIZE * 0.88))
    for classes in ("under", look):
        ET.SubElement(parent, "polygon", {"points": inside, "class": classes})


class _BoardDrawing:
    """The board being drawn: the ground with the lines between tiles first, then what stands on it."""

    def __init__(self, view: View, marks: Marks) -> None:
        self._spots = spots(view, marks)

    def draw_ground(self, parent: ET.Element) -> None:
        """Draw the hexes of all tiles, and the outer sides of those that are laid."""
        for cell, position in HEX_POSITIONS.items():
            hexagon = ET.SubElement(parent, "polygon", points=_points(_corners(*_middle(cell), _SIZE)))
            if self._is_open(cell):
                hexagon.set("class", "open")
            else:
                hexagon.set("class", "field")
                hexagon.set("fill", _CENTRE_TILE if position == CENTRE else _ROUND_THE_CENTRE[position % 2])
        for cell, position in HEX_POSITIONS.items():
            corners = _corners(*_middle(cell), _SIZE)
            for side, beside in enumerate(neighbours(cell)):
                other = HEX_POSITIONS.get(beside)
                if self._is_open(cell) or other == position:
                    continue
                # Between two tiles, the line is drawn once.
                if other is None or self._is_open(beside) or other > position:
                    draw_line(parent, corners[side], corners[(side + 1) % 6], "tile")

    def _is_open(self, cell: Hex) -> bool:
        return isinstance(self._spots[cell], OpenSpot)

    def draw_standing(self, parent: ET.Element, cell: Hex) -> None:
        match self._spots[cell]:
            case FieldSpot() as spot:
                self._draw_field(parent, cell, spot)
            case HillSpot() as hill:
                self._draw_hill(parent, cell, hill)
            case OpenSpot(position, middle=True):
                write(group_at(parent, *_middle(cell)), 0, 8, 22, str(position), classes="c faint")

    def name_of(self, cell: Hex) -> str:
        """Return what is on a field, in words, or else the number of the position of a hex."""
        if isinstance(spot := self._spots[cell], FieldSpot):
            return describe_field(spot)
        return _("position {position}").format(position=HEX_POSITIONS[cell])

    def _draw_field(self, parent: ET.Element, cell: Hex, spot: FieldSpot) -> None:
        group = group_at(parent, *_middle(cell))
        ET.SubElement(group, "title").text = describe_field(spot)
        if spot.recent:
            _draw_ring(group, "last")
        if spot.arrow:
            hill = HILLS[HEX_POSITIONS[cell]]
            turn = 60 * DIRECTIONS.index((cell[0] - hill[0], cell[1] - hill[1]))
            draw_path(group_at(group, 0, 0, f" rotate({turn}) translate(-30 0)"), _ARROW, "arrow")
        if spot.spring:
            draw_path(group_at(group, 0, 31), _WAVES, "spring")
        if spot.piece is None:
            write(group, 0, 6, 16, spot.name, classes="c spot")
        else:
            write(group, 0, -27, 10, spot.name, classes="c faint minor")
            stone = {"class": f"stone of-{spot.piece.people}"}
            _draw_piece(ET.SubElement(group_at(group, 0, 1), "g", stone), spot.piece)
        if spot.pointed_at:
            _draw_ring(group, "now")
        if spot.captive:
            _draw_ring(group, "captive")
        if spot.note:
            badge = group_at(group, 22, -20)
            ET.SubElement(badge, "circle", {"r": "13", "class": "note"})
            write(badge, 0, 5, 15, spot.note, classes="c b gain").set("fill", INK)

    def _draw_hill(self, parent: ET.Element, cell: Hex, hill: HillSpot) -> None:
        ET.SubElement(
            parent, "polygon", {"points": _points(_corners(*_middle(cell), _SIZE * 0.86)), "class": "hill"}
        )
        group = group_at(parent, *_middle(cell))
        if hill.pointed_at:
            _draw_ring(group, "now")
        if hill.laurel is None:
            write(group, 0, 9, 26, hill.tile, classes="c b")
            return
        text = _("hill {tile}: {laurel}, worth {worth}")
        ET.SubElement(group, "title").text = text.format(tile=hill.tile, laurel=hill.laurel, worth=hill.worth)
        write(group, 0, -12, 20, hill.tile, classes="c b")
        write(group, 0, 1, 9, f"{hill.laurel} {hill.worth}", classes="c minor")
        token = group_at(group, 0, 17)
        if hill.winner is None:
            draw_path(token, _WREATH, "laurel")
            write(token, 0, 5, 13, str(hill.worth), classes="c b worth")
        elif hill.winner == NOBODY:
            write(token, 0, 5, 10, _("no one"), classes="c faint")
        else:
            won = ET.SubElement(token, "g", {"class": f"won of-{hill.winner}"})
            draw_path(won, _WREATH, "laurel")
            draw_chip(won, People(hill.winner), 9)


class _Legend:
    """The text beside the board, written from top to bottom."""

    def __init__(self, moment: Moment, names: Sequence[str], rows: int) -> None:
        self._view, self._names = moment.view, names
        self._told = [*moment.rows, *[""] * (rows - len(moment.rows))]
        self._y = 18.0
        self.parts = list[ET.Element]()

    def _part(self) -> ET.Element:
        """Return a new part, in which the text is written."""
        part = group_at(ET.Element("g"), 2 * _MIDDLE[0] - _MARGIN + _LEGEND_GAP, _MARGIN)
        self.parts.append(part)
        return part

    def draw(self) -> float:
        write(self._part(), 0, self._y, 22, _TITLE, classes="b")
        for row in self._told:
            self._y += 20
            write(self._part(), 0, self._y, 13, row)
        self._y += 38
        result = self._view.result
        self._heading(_("Players"), _("to place") if result is None else _("points"))
        for seat in map(Seat, range(self._view.seats)):
            self._draw_player(seat)
        self._y += 36
        self._heading(_("Signs"))
        self._y += 6
        self._draw_signs()
        return self._y

    def _heading(self, left: str, right: str = "") -> None:
        write(self._part(), 0, self._y, 13, left, classes="b")
        write(self._part(), _LEGEND, self._y, 11, right, classes="e faint")
        ends = {"x1": "0", "x2": f"{_LEGEND:g}", "y1": f"{self._y + 6:g}", "y2": f"{self._y + 6:g}"}
        ET.SubElement(self._part(), "line", {"class": "field"} | ends)

    def _draw_player(self, seat: Seat) -> None:
        """Draw a player's peoples, name and points, or pieces to place and the hand as far as it is known."""
        view, result = self._view, self._view.result
        self._y += 32
        peoples = view.start.peoples[seat]
        for at, people in enumerate(peoples):
            draw_chip(group_at(self._part(), 11 + 24 * at, self._y - 5), people, 10)
        stands_out = seat == view.turn if result is None else seat in result.winners
        sign = "" if not stands_out else " ◄" if result is None else " ★"
        name, left, classes = self._names[seat], 6 + 24 * len(peoples), "b" if stands_out else ""
        width = get_cwidth(name)
        size = 14 if width <= 16 else 11 if width <= 24 else 8  # so that it keeps clear of the points
        write(self._part(), left, self._y, size, f"{name}{sign}", classes=classes)
        amount = view.remaining[seat] if result is None else result.tallies[seat].points
        write(self._part(), _LEGEND, self._y, 14, str(amount), classes="e b")
        hand = "  ".join(f"{piece_sign(piece)} ×{count}" for piece, count in view.hands.get(seat, {}).items())
        if below := hand if result is None else _tally(result.tallies[seat]):
            self._y += 17
            write(self._part(), 0, self._y, 10.5, below, classes="faint")

    def _draw_signs(self) -> None:
        over = self._view.result is not None
        people = self._view.start.peoples[0][0]
        pieces: list[tuple[Piece | Wolf, str]] = [
            *((piece, kind_words(piece)) for piece in (Piece.of(people, kind) for kind in Kind)),
            (
                Piece.of(people, Kind.FARMER, wolf=True),
                _("with the wolf: ears and {wolf}").format(**NAMED_SIGNS),
            ),
        ]
        if not over:
            pieces.append((Wolf.of(people), _("wolf face down: merchant or farmer")))
        for piece, words in pieces:
            _draw_piece(self._sign(words), piece)
        draw_path(self._sign(_("spring")), _WAVES, "spring")
        draw_path(self._sign(_("field 1 of its tile")), _ARROW, "arrow")
        laurel = self._sign(_("laurel: who took it") if over else _("laurel: what it is worth"))
        draw_path(laurel, _WREATH, "laurel")
        if over:
            draw_chip(laurel, people, 9)
        else:
            inside = {"points": _points(_corners(0, 0, 20)), "class": "last"}
            ET.SubElement(self._sign(_("the last piece placed")), "polygon", inside)

    def _sign(self, words: str) -> ET.Element:
        """Write what a sign means, and return where it is to be drawn."""
        self._y += 29
        icon = ET.SubElement(self._part(), "g", transform=f"translate(16 {self._y - 4:g}) scale(0.58)")
        write(self._part(), 42, self._y, 12, words)
        return icon


def _tally(tally: Tally) -> str:
    laurels = sum(LAUREL_WORTH[laurel] for laurel in tally.laurels)
    return ", ".join(
        (
            counted("{n} captive", "{n} captives", tally.captives).format(n=tally.captives),
            counted("{n} disc worth 1", "{n} discs worth 1", tally.ones).format(n=tally.ones),
            counted("{n} disc worth 2", "{n} discs worth 2", tally.twos).format(n=tally.twos),
            _("laurels {n}").format(n=laurels),
        )
    )

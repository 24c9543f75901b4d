"""A running game: laying a tile, placing a piece, looking at the board; and one that its host has ended."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from client.language import N_, _, labelled
from client.tables.table import TableModel
from client.ui import at_table
from client.ui.at_table import HEX_POSITIONS, step
from client.ui.draw.page import (
    LOG_LINES,
    Board,
    ServerScreen,
    asked_question,
    is_paused,
    on_turn,
    request_box,
    request_question,
    vote_question,
)
from client.ui.draw.panel import Panel
from client.ui.first_game import explain
from client.ui.frame import EMPTY, Line, line, people_style, width_of, wrapped
from client.ui.keys import AT_TABLE, COUNTS, ON_EVERY_PAGE, Act, Action, Hold, Key, Pick, PointAt, Way
from client.ui.screens.actions import AGAIN, LEAVE, answers, keys_at
from client.ui.spots import Marks, just_placed, placed_there
from client.ui.state import Outcome, Pane, Screen, Ui, with_game
from client.ui.texts.games import describe_event, describe_rematch, describe_turn, turned
from client.ui.texts.pieces import piece_sign
from client.ui.texts.plans import describe_plans
from client.ui.texts.tables import describe_ended, names_at
from engine.board import HILLS
from engine.errors import Fault
from engine.events import LayTile, Place
from engine.legal import LegalLays
from engine.view import Phase
from protocol.codes import Code, sentence
from protocol.messages import NEW, Leave


def _moves(_screen: object, _ui: Ui, model: TableModel) -> bool:
    return model.legal is not None


def _places(_screen: object, _ui: Ui, model: TableModel) -> bool:
    return model.seat is not None and model.view is not None and model.view.phase is Phase.PLACING


_BOARD: Final = (
    *keys_at("playing"),
    COUNTS,
    Key(("m",), Act.WHOLE, N_("the log in full, with what ends in dots; by lines")),
    Key(("pageup",), Act.PAGE_UP, N_("the log in full, with what ends in dots; by lines")),
    Key(("pagedown",), Act.PAGE_DOWN, N_("the log in full, with what ends in dots; by lines")),
)
LAYING_KEYS: Final = (
    *(Key((str(n),), Pick(n), N_("choose the position with that number")) for n in range(1, 7)),
    Key(("right", "down", "l", "j", "n", "b"), Way.EAST, N_("the next position clockwise")),
    Key(("left", "up", "h", "k", "y", "u"), Way.WEST, N_("the next position anticlockwise")),
    Key(("r", "]", "scroll-down"), Act.ROTATE, N_("turn the tile clockwise"), N_("turn")),
    Key(("R", "[", "scroll-up"), Act.ROTATE_BACK, N_("turn the tile anticlockwise")),
    Key(("enter", " "), Act.CONFIRM, N_("lay the tile"), N_("lay"), when=_moves),
    Key(("escape", "backspace"), Act.CANCEL, N_("put the tile back as it was drawn")),
    *AT_TABLE,
    *_BOARD,
    *ON_EVERY_PAGE,
)
PLACING_KEYS: Final = (
    Key(("left", "h"), Way.WEST, N_("west, east")),
    Key(("right", "l"), Way.EAST, N_("west, east")),
    Key(("up", "k"), Way.UP, N_("up, down")),
    Key(("down", "j"), Way.DOWN, N_("up, down")),
    Key(("y",), Way.NORTHWEST, N_("north-west, north-east, south-west, south-east")),
    Key(("u",), Way.NORTHEAST, N_("north-west, north-east, south-west, south-east")),
    Key(("b",), Way.SOUTHWEST, N_("north-west, north-east, south-west, south-east")),
    Key(("n",), Way.SOUTHEAST, N_("north-west, north-east, south-west, south-east")),
    *(Key((str(n),), Pick(n), N_("pick that piece from your hand")) for n in range(1, 10)),
    Key(("enter", " "), Act.CONFIRM, N_("place the piece on the field"), N_("place"), when=_moves),
    Key(("tab", "scroll-down"), Act.NEXT_PIECE, N_("the next piece in your hand"), N_("piece"), when=_places),
    Key(("s-tab", "scroll-up"), Act.LAST_PIECE, N_("the previous piece")),
    Key(("escape", "backspace"), Act.CANCEL, N_("put the piece back; leave, if you are watching")),
    *AT_TABLE,
    *_BOARD,
    *ON_EVERY_PAGE,
)
_ENDED_KEYS: Final = (*AGAIN.keys_offered(), *LEAVE.keys, *AT_TABLE, *ON_EVERY_PAGE)


class _GameScreen(at_table.Selection, ServerScreen):
    """The board with a panel, where the player points and chooses."""

    __slots__ = ()

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        sentence, panel = self.sentence(pane), self.panel_block
        share = 2 if request_question(pane.model) else 4
        marks, box = self.marks(pane.model), request_box
        board = Board(pane.view, marks, panel, sentence, self.hand_line, panel, share, box)
        told = sentence if pane.ui.notice is None else pane.ui.notice.on_screen
        room = 1 if pane.small else LOG_LINES - len(wrapped(told, pane.width))
        ui = pane.ui if pane.height >= _ROOM_FOR_ALL else _with_round_in_brief(pane, room)
        return board.laid_out(structs.replace(pane, ui=ui)), 0

    def sentence(self, pane: Pane) -> str:
        model = pane.model
        return asked_question(pane.ui, model) or vote_question(model) or describe_plans(model)

    def panel_block(self, pane: Pane) -> list[Line]:
        return self.panel(pane).of_game()

    def panel(self, pane: Pane) -> Panel:
        return Panel(pane, self, _("YOUR HAND"))

    def hand_line(self, pane: Pane) -> Line:
        """Return in one line the tile to lay, or the chosen piece and those after it in the hand."""
        model = pane.model
        if isinstance(model.legal, LegalLays):
            at = at_table.selected_position(self, model.legal)
            words = _("TILE {tile}").format(tile=pane.view.drawn)
            lies = _("position {position}, {turned}").format(position=at, turned=turned(self.orientation))
            return line(" " + labelled(words, lies), "class:mine")
        pieces = [(number, each) for number, each in enumerate(at_table.hand(model), start=1) if each.count]
        chosen = at_table.selected_piece(self, model)
        first = next((at for at, (_number, each) in enumerate(pieces) if each.piece == chosen), 0)
        told = EMPTY
        for number, each in (*pieces[first:], *pieces[:first]):
            mark = pane.glyphs.pointer if each.piece == chosen else " "
            part = (
                line(f"{mark}{number} ", "class:key")
                + line(piece_sign(each.piece), people_style(each.piece.people) if each.legal else "class:off")
                + line(f"{pane.glyphs.times}{each.count}")
            )
            if width_of(told) + width_of(part) > pane.width:
                break
            told = told + part
        return told

    def marks(self, model: TableModel) -> Marks:
        aimed = at_table.preview(self, model)
        if aimed is not None and isinstance(model.legal, LegalLays):
            return Marks(cursor=HILLS[aimed[0]], preview=aimed, choices=model.legal.positions)
        recent = () if model.view is None else just_placed(model.view, model.seat)
        return Marks(cursor=self.cursor, recent=recent)


@dataclass(frozen=True, slots=True)
class Playing(_GameScreen):
    """A running game, with the player's cursor and choices for the next move.

    A `hint` stays below the board until the game goes on; who asks again is told `why`. `ready_after` is
    after how many placements the turn began for which a piece and a field were chosen: from then on they are
    the player's.
    """

    hint: str = ""
    why: str = ""
    ready_after: int | None = None
    reads_on = True

    def keys(self, model: TableModel) -> tuple[Key, ...]:
        return (*answers(model), *(LAYING_KEYS if isinstance(model.legal, LegalLays) else PLACING_KEYS))

    def sentence(self, pane: Pane) -> str:
        return _GameScreen.sentence(self, pane) or self.hint or explain(pane.ui.explains, pane.model)

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        if action in {Act.PAGE_UP, Act.PAGE_DOWN}:
            scroll = ui.scroll + (_LOG_LINES if action is Act.PAGE_UP else -_LOG_LINES)
            return replace(ui, scroll=min(max(scroll, 0), max(len(ui.log) - 1, 0))), None
        if action is Act.CANCEL and model.seat is None:
            return ui, Leave(NEW)
        if isinstance(model.legal, LegalLays):
            return _laying(ui, self, action, model.legal)
        return _placing(ui, self, action, model)

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        turn, asked = f"{describe_turn(model, names_at(model))}.", request_question(model)
        logged = next((told for told in ui.log if told and asked.startswith(told)), "")  # and told with it
        answers = asked.removeprefix(logged).strip()
        explained = explain(ui.explains, model, keys=False)
        return tuple(filter(None, (turn, answers, vote_question(model), describe_plans(model), explained)))

    @property
    def game(self) -> Screen:
        return self


@dataclass(frozen=True, slots=True)
class Ended(_GameScreen):
    """A game that its host has ended without a result."""

    own_keys = _ENDED_KEYS

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        return ui, Leave(NEW) if action is Act.LEAVE else None

    def stage(self, model: TableModel) -> str:
        return _("ended")

    def sentence(self, pane: Pane) -> str:
        state = pane.model.state
        again = "" if state is None else describe_rematch(state, pane.model.seat)
        said = pane.ui.log[-1:] == (describe_ended(),) and not pane.small  # just above, where there is room
        return again if said else f"{describe_ended()} {again}".strip()

    def marks(self, model: TableModel) -> Marks:
        return Marks(recent=() if model.view is None else just_placed(model.view))

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        return (describe_ended(),)


_ROOM_FOR_ALL: Final = 30  # lines of a window that shows each move of a round


def _with_round_in_brief(pane: Pane, room: int) -> Ui:
    """Return the state with what others have placed since the player's turn in one line of the log.

    It is as it was if there is `room` for a line for each, or if the player reads older lines. In a small
    window the colours of the pieces have to say whose they are.
    """
    ui, model, view, names = pane.ui, pane.model, pane.view, names_at(pane.model)
    if model.seat is None or ui.scroll:
        return ui
    moves = [field for field in just_placed(view, model.seat) if view.owners[field] != model.seat]
    sentences = [describe_event(placed_there(view, field), names) for field in moves]
    if len(moves) <= room or len(moves) < 2 or sentences[0] not in ui.log:
        return ui
    at = max(number for number, told in enumerate(ui.log) if told == sentences[0])
    others = tuple(told for told in ui.log[at:] if told not in sentences)
    placed = {field: f"{piece_sign(view.placed[field])} {field}" for field in moves}
    who = {field: "" if pane.small else f"{names[view.owners[field]]} " for field in moves}
    brief = _("Since your turn: {moves}.").format(moves=", ".join(who[each] + placed[each] for each in moves))
    return replace(ui, log=(*ui.log[:at], *others, brief))


_LOG_LINES: Final = 2  # no more than the smallest window shows, or some would never be seen


def _laying(ui: Ui, playing: Playing, action: Action, legal: LegalLays) -> Outcome:
    aimed = at_table.selected_position(playing, legal)
    match action:
        case Way():
            position = at_table.next_position(playing, legal, action)
            return with_game(ui, replace(playing, position=position)), None
        case Act.ROTATE | Act.ROTATE_BACK:
            orientation = (playing.orientation + (1 if action is Act.ROTATE else -1)) % 6
            return with_game(ui, replace(playing, orientation=orientation)), None
        case Act.CONFIRM:
            return ui, LayTile(legal.seat, aimed, playing.orientation)
        case PointAt(cell) if HEX_POSITIONS[cell] == aimed:
            return ui, LayTile(legal.seat, aimed, playing.orientation)
        case Pick() | PointAt():
            position = action.number if isinstance(action, Pick) else HEX_POSITIONS[action.cell]
            if position in legal.positions:
                return with_game(ui, replace(playing, position=position)), None
            free = ", ".join(map(str, legal.positions))
            text = _("The tile cannot go there. Free positions: {free}.")
            return ui.with_notice(text.format(free=free)), None
        case Act.CANCEL:
            return with_game(ui, replace(playing, position=None, orientation=0)), None
        case _:
            return ui, None


def _placing(ui: Ui, playing: Playing, action: Action, model: TableModel) -> Outcome:
    match action:
        case Way():
            return with_game(ui, replace(playing, cursor=step(playing.cursor, action))), None
        case PointAt(cell) if cell != playing.cursor:
            return with_game(ui, replace(playing, cursor=cell)), None
        case Act.CONFIRM | PointAt():
            return _place(ui, playing, model)
        case Act.NEXT_PIECE | Act.LAST_PIECE:
            piece = at_table.next_piece(playing, model, 1 if action is Act.NEXT_PIECE else -1)
            return with_game(ui, replace(playing, piece=piece)), None
        case Pick(number):
            pieces = at_table.hand(model)
            return (_pick(ui, playing, pieces[number - 1], model) if number <= len(pieces) else ui), None
        case Hold(piece):
            chosen = next(each for each in at_table.hand(model) if each.piece == piece)
            return _pick(ui, playing, chosen, model), None
        case Act.CANCEL:
            return with_game(ui, replace(playing, piece=None)), None
        case _:
            return ui, None


def _pick(ui: Ui, playing: Playing, chosen: at_table.HandPiece, model: TableModel) -> Ui:
    if chosen.count:
        picked = with_game(ui, replace(playing, piece=chosen.piece))
        return picked if chosen.legal else picked.with_notice(soldier_due(model))
    return ui.with_notice(_("There is no {piece} left in your hand.").format(piece=piece_sign(chosen.piece)))


def soldier_due(model: TableModel) -> str:
    """Return why only a soldier may be placed now (R4.3)."""
    soldiers = ", ".join(piece_sign(each.piece) for each in at_table.hand(model) if each.legal)
    limit = 0 if model.view is None else model.view.start.soldierless_at
    return sentence(_(Fault.SOLDIER_DUE.text), {"limit": str(limit), "soldiers": soldiers})


def _place(ui: Ui, playing: Playing, model: TableModel) -> Outcome:
    """Ask to place the chosen piece at the cursor; the server decides whether that is legal."""
    piece, field = at_table.selected_piece(playing, model), at_table.field_at(model, playing.cursor)
    if model.seat is None:
        return ui.with_notice(_(Code.NOT_A_PLAYER.text)), None
    if is_paused(model):
        return ui.with_notice(_(Code.PAUSED.text), refusal=True), None
    if model.view is not None and model.view.phase is Phase.LAYING:
        return ui.with_notice(_(Fault.NOT_YOUR_TURN.text), refusal=True), None
    if piece is None and not any(each.count for each in at_table.hand(model)):
        return ui.with_notice(_("All your pieces are placed.")), None
    if piece is None and not on_turn(model):
        plan = _("To plan your placement, pick a piece: press its number, or Tab.")
        return ui.with_notice(f"{describe_turn(model, names_at(model))}. {plan}"), None
    if piece is None:
        return ui.with_notice(_("Pick a piece from your hand first: press its number, or Tab.")), None
    if field is None:
        return ui.with_notice(_("A hill holds no pieces. Choose one of the fields around it.")), None
    return ui, Place(model.seat, piece, field)

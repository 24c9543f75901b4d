"""The lessons, page by page: what is told and asked, and at which moment of the example."""

import enum
from dataclasses import dataclass, field
from typing import Final

from client.language import N_
from client.ui.lessons.example import MOVES
from client.ui.lessons.goals import (
    BeRefused,
    Catch,
    Earn,
    Goal,
    Lay,
    PlaceAny,
    PlaceOn,
    PlaceSoldier,
    PointTo,
    Read,
    Walk,
)
from engine.board import Field, Tile
from engine.errors import Fault
from engine.pieces import Kind, Seat

PUPIL: Final = Seat(0)
_LAID: Final = 6  # the moves that lay the land; the pupil, of three players, places last in every round


class Shown(enum.Enum):
    """What the panel shows below the text."""

    NOTHING = enum.auto()
    FIELD = enum.auto()
    HAND = enum.auto()
    TILE = enum.auto()
    SCORING = enum.auto()


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its text, what is to be done, what is said when it is, and the moment it shows.

    In the texts `{field}`, `{least}`, `{spring}` and `{arrow}` stand for the goal's and the glyphs'.
    """

    title: str
    text: tuple[str, ...]
    task: str
    moves: int
    goal: Goal = field(default_factory=Read)
    done: str = ""
    shown: Shown = Shown.NOTHING
    eyes: Seat = PUPIL
    cursor: Field | None = None


def _turn(number: int) -> int:
    """Return how many moves were made when the pupil's turn of that number comes."""
    return _LAID + 3 * number - 1


PAGES: Final = (
    Page(
        N_("The land"),
        (
            N_(
                "Seven tiles are the land of Rome. In the middle of each stands a hill, like (E 6) here"
                " in the centre, and around it lie six fields, E1 to E6. Thick lines part the tiles."
            ),
            N_(
                "You play for the hills. Whoever has the most influence on a hill in the end takes its"
                " laurel: the number on the hill is what it is worth, 3 to 6 points."
            ),
        ),
        N_(
            "Enter: the next page. PgDn and PgUp turn pages at any time. ? explains keys and signs, q leaves."
        ),
        _LAID,
    ),
    Page(
        N_("Fields and springs"),
        (
            N_(
                "Pieces stand on fields, never on a hill. {spring} marks a spring: every tile has two."
                " {arrow} only marks field 1."
            ),
            N_("Beside a field are the fields that touch it, on other tiles too. A hill is beside nothing."),
        ),
        N_("Move the cursor to {field} with the arrow keys, or click it."),
        _LAID,
        PointTo(Field("B3")),
        N_("A spring. Below the text you read what lies beside the field under the cursor."),
        Shown.FIELD,
    ),
    Page(
        N_("Laying the land"),
        (
            N_(
                "Before anything else the players lay the land. In turn each draws a tile and lays it"
                " around the centre, beside one that lies there, turned as they like."
            ),
        ),
        N_("Choose a position with the arrow keys, turn the tile with r, and lay it with Enter."),
        2,
        Lay(),
        N_(
            "Laid. When all seven lie, each hill gets its laurel by chance; only the 6 is always in"
            " the centre."
        ),
        Shown.TILE,
    ),
    Page(
        N_("Your people"),
        (
            N_(
                "You lead the Etruscans, E. Three players have twelve pieces each: merchants m, farmers"
                " f, soldiers s. On your turn place one on any empty field. You must, and there it stays."
            ),
        ),
        N_("Press 1 for a merchant, go to an empty field with the arrow keys, and place it with Enter."),
        _turn(1),
        PlaceAny(),
        N_(
            "Placed. S are Livia's Sabines, L Marco's Latins; they play next. The next page shows a later"
            " moment of an example game, where your piece may stand on another field."
        ),
        Shown.HAND,
    ),
    Page(
        N_("Merchants"),
        (
            N_(
                "A merchant lives on who is beside it, friend or foe: 1 influence for each merchant, 2"
                " for each farmer, 3 for each soldier."
            ),
        ),
        N_("Place a merchant where it gives {least} or more."),
        _turn(2),
        Earn(Kind.MERCHANT, 5),
        N_("Well placed."),
        Shown.HAND,
    ),
    Page(
        N_("Farmers"),
        (
            N_(
                "A farmer wants room and water: 2 for each empty field beside it, 2 for each spring"
                " beside it, taken or not, and 2 for a spring under it. Neighbours take its room."
            ),
        ),
        N_("Place a farmer where it gives {least} or more."),
        _turn(3),
        Earn(Kind.FARMER, 10),
        N_("Well placed."),
        Shown.HAND,
    ),
    Page(
        N_("Soldiers"),
        (
            N_(
                "A soldier gives no influence. When its hill is scored it counts merchants and farmers"
                " beside it. As many of both, or none: it flees. Else it captures all of the larger group,"
                " yours too, 1 point each."
            ),
        ),
        N_("Place a soldier where it would now capture {least} pieces of the others and none of yours."),
        _turn(4),
        Catch(2),
        N_("Well placed, as it stands now."),
        Shown.HAND,
    ),
    Page(
        N_("The wolf"),
        (
            N_(
                "A piece with a * bears the wolf: until the scoring the others see that it is yours, but"
                " not whether merchant or farmer. You do see it. Soldiers never bear the wolf."
            ),
        ),
        N_("Place a piece with the wolf: 2 or 4 picks one."),
        _turn(5),
        PlaceAny(wolf=True),
        N_("To you it shows what it is. Turn the page and see what Livia sees."),
        Shown.HAND,
    ),
    Page(
        N_("Through Livia's eyes"),
        (
            N_(
                "This is the example as Livia sees it. She sees a wolf of yours on E5, E?*, and must"
                " guess: merchant or farmer?"
            ),
            N_(
                "How many pieces you have left she sees too, but not which. Before the scoring all wolves"
                " are turned up."
            ),
        ),
        N_("Enter: the next page."),
        _turn(5) + 1,
        shown=Shown.FIELD,
        eyes=Seat(1),
        cursor=Field("E5"),
    ),
    Page(
        N_("What is refused"),
        (
            N_(
                "You need not fear mistakes: what the rules forbid is refused, with the reason, and"
                " nothing has happened. Only what is placed is placed for good."
            ),
        ),
        N_("Try to place any piece on {field}, where one stands already."),
        _turn(6),
        BeRefused(Fault.FIELD_TAKEN, Field("D4")),
        N_("Refused, for the reason below. It is still your turn, and you choose another field."),
        Shown.HAND,
    ),
    Page(
        N_("No soldier to the last"),
        (
            N_(
                "Soldiers cannot be kept to the end. Among the last 4 pieces in your hand, with four or"
                " five players the last 3, there may be none. You hold 5, and one is a soldier: it is due."
            ),
        ),
        N_("Try to place another piece all the same."),
        _turn(8),
        BeRefused(Fault.SOLDIER_DUE),
        N_("It has to be the soldier. What may not be placed is grey in your hand."),
        Shown.HAND,
    ),
    Page(
        N_("The soldier is due"),
        (
            N_(
                "A soldier among many pieces may find a large group at the end, or as many of both and"
                " nothing. Others who see it may add a piece to make it flee."
            ),
        ),
        N_("Place the soldier where you like: 5 picks it."),
        _turn(8),
        PlaceSoldier(),
        N_("Placed. Four turns are left, and they are for merchants and farmers alone."),
        Shown.HAND,
    ),
    Page(
        N_("The last piece"),
        (
            N_(
                "All others have placed everything, and you hold one farmer. As soon as it stands, all"
                " wolves are turned up and the hills are scored."
            ),
        ),
        N_("Place your last piece on {field}."),
        MOVES - 1,
        PlaceOn(Field("A6")),
        N_("Every hand is empty. On the next page the scoring begins."),
        Shown.HAND,
    ),
    Page(
        N_("Scoring: the soldiers"),
        (
            N_(
                "The hills are scored one by one, A to G. First all soldiers of the hill act at once. Who"
                " is captured or flees is gone for all later hills."
            ),
        ),
        N_("Enter or right arrow: a step on. Left arrow: a step back."),
        MOVES,
        Walk(Tile("A"), influence=False),
        N_("The soldiers of hill A are done. Enter: the next page."),
        Shown.SCORING,
    ),
    Page(
        N_("Scoring: the influence"),
        (
            N_(
                "Then each merchant and farmer left on the six fields gives influence. They look at all"
                " fields beside them; the notes show what each adds."
            ),
        ),
        N_("Enter: a step on, until the hill is settled."),
        MOVES,
        Walk(Tile("A"), soldiers=False),
        N_("The hill is settled. Enter: the next page."),
        Shown.SCORING,
    ),
    Page(
        N_("Scoring: ties"),
        (
            N_(
                "Hill D has both kinds of tie. Two soldiers capture the same piece: one takes it, the"
                " other gets a disc worth 1. And two players have the same influence."
            ),
        ),
        N_("Enter: a step on."),
        MOVES,
        Walk(Tile("D")),
        N_("The hill is settled. Enter: the next page."),
        Shown.SCORING,
    ),
    Page(
        N_("The end"),
        (
            N_(
                "Captives count 1 point each, discs 1 or 2, laurels 3 to 6. The most points win. If tied,"
                " the most captives, discs and laurels counted together; if still tied, the victory is"
                " shared."
            ),
        ),
        N_("Enter: the last page."),
        MOVES,
        shown=Shown.SCORING,
    ),
    Page(
        N_("Now you"),
        (
            N_(
                "That is the whole game. Press i at any time to read the rules in short, and ? to see the"
                " keys and signs."
            ),
            N_(
                "With two players each leads a second people as well, and its pieces are theirs too. With"
                " four or five hands are smaller."
            ),
        ),
        N_("Enter: play against two bots now. q: leave. Later start a game with: palatinus play"),
        _LAID,
    ),
)

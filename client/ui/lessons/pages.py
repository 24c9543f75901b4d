"""The pages of the lessons, and the game that they show."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from client.language import N_, _
from client.ui.lessons import goals
from client.ui.texts.glyphs import GlyphSet
from engine.board import Field, Tile
from engine.errors import Fault
from engine.pieces import Kind, Seat

NAMES: Final = ("Livia", "Marco")  # the pupil's opponents, seats 1 and 2
MOVES: Final = 42

_EXAMPLE: Final = Path(__file__).with_name("example.txt").read_text("utf-8")  # a record


def record_at(moves: int) -> str:
    """Return the record of the example game after that many moves (tiles laid and pieces placed)."""
    kept: list[str] = []
    made = 0
    for line in _EXAMPLE.splitlines():
        made += " lays " in line or " places " in line
        if made > moves:
            return "\n".join((*kept, "unfinished\n"))
        kept.append(line)
    return _EXAMPLE


PUPIL: Final = Seat(0)
_LAID: Final = 6  # the moves that lay the land; the pupil, of three players, places last in every round


@dataclass(frozen=True, slots=True)
class LessonPage:
    """A page: its text, its goal, the comment when that is reached, and the moment it shows.

    In the texts `{field}`, `{least}`, `{spring}` and `{arrow}` stand for the goal's and the glyphs'.
    """

    title: str
    text: str  # paragraphs, with an empty line between them
    task: str
    moves: int
    goal: goals.Goal = field(default_factory=goals.Read)
    done: str = ""
    eyes: Seat = PUPIL
    cursor: Field | None = None

    def fill(self, text: str, glyphs: GlyphSet) -> str:
        """Return one of the page's texts in the language in use, with its places filled."""
        field, least = (getattr(self.goal, name, None) or "" for name in ("field", "least"))
        return _(text).format(field=field, least=least, spring=glyphs.spring, arrow=glyphs.arrow)


def _turn(number: int) -> int:
    """Return how many moves were made when the pupil's turn of that number comes."""
    return _LAID + 3 * number - 1


PAGES: Final = (
    LessonPage(
        N_("The land"),
        N_(
            "Seven tiles make up the land of Rome. In the middle of each is a hill, like (E=6) here in"
            " the centre, and around it are six fields, E1 to E6. Thick lines separate the tiles."
            "\n\nYou play for the hills. At the end, whoever has the most influence on a hill takes its"
            " laurel. The number on the hill is what it is worth, 3 to 6 points."
        ),
        N_(
            "Enter: the next page. PgDn and PgUp turn pages at any time. ? explains keys and signs, q leaves."
        ),
        _LAID,
    ),
    LessonPage(
        N_("Fields and springs"),
        N_(
            "Pieces are placed on fields, never on a hill. {spring} marks a spring: every tile has two."
            " {arrow} only marks field 1."
            "\n\nBeside a field are the fields that touch it, on other tiles too. A hill is beside nothing."
        ),
        N_("Move the cursor to {field} with the arrow keys, or click it."),
        _LAID,
        goals.PointTo(Field("B3")),
        N_("A spring. Below the text you can read what lies beside the field under the cursor."),
    ),
    LessonPage(
        N_("Laying the land"),
        N_(
            "First the players lay out the land. In turn each draws a tile and lays it next to the"
            " centre tile and another one already there, turned any way they like. Livia was drawn to"
            " begin, so she laid the first."
        ),
        N_("Choose a position with the arrow keys, turn the tile with r, and lay it with Enter."),
        2,
        goals.LayAnywhere(),
        N_(
            "Laid. Once all seven tiles are there, each hill gets its laurel at random; only the 6 is always"
            " in the centre."
        ),
    ),
    LessonPage(
        N_("Your people"),
        N_(
            "You lead the Etruscans, E. With three players, each has twelve pieces: merchants m,"
            " farmers f, soldiers s. Livia began; now it is your turn. Place a piece on any empty field."
            " You must, and there it stays."
        ),
        N_("Press 1 for a merchant, go to an empty field with the arrow keys, and place it with Enter."),
        _turn(1),
        goals.PlaceOne(),
        N_(
            "Placed. S are Livia's Sabines, L Marco's Latins; they play next. The next page shows a later"
            " moment of an example game, where your piece may be on another field."
        ),
    ),
    LessonPage(
        N_("Merchants"),
        N_(
            "A merchant lives off the pieces beside it, anybody's, those of its own colour too: 1"
            " influence for each merchant, 2 for each farmer, 3 for each soldier."
        ),
        N_("Place a merchant where it gives {least} or more."),
        _turn(2),
        goals.PlaceOne(Kind.MERCHANT, least=5),
        N_("Well placed."),
    ),
    LessonPage(
        N_("Farmers"),
        N_(
            "A farmer wants room and water: 2 for each empty field beside it, 2 for each spring"
            " beside it, taken or not, and 2 for a spring on its own field. Neighbours use up its room."
        ),
        N_("Place a farmer where it gives {least} or more."),
        _turn(3),
        goals.PlaceOne(Kind.FARMER, least=10),
        N_("Well placed."),
    ),
    LessonPage(
        N_("Soldiers"),
        N_(
            "A soldier gives no influence: it takes captives. When its hill is scored, it counts the"
            " merchants and the farmers beside it, whoever they belong to. Soldiers do not count."
            "\n\nIf there are as many of one as of the other, or none at all, it flees and is out of the"
            " game."
            "\n\nOtherwise it captures the whole larger group, yours too, for 1 point each. It stays on its"
            " field."
        ),
        N_("Enter: see it on the next two pages."),
        _turn(4),
    ),
    LessonPage(
        N_("A soldier captures"),
        N_(
            "If hill D were scored now, what would Livia's soldier on D1 do? Count the merchants and the"
            " farmers beside it, then look."
        ),
        N_("Move the cursor to {field} to see what the soldier there would do."),
        _turn(4),
        goals.PointTo(Field("D1")),
        N_("More merchants than farmers: it takes them all and stays on its field."),
    ),
    LessonPage(
        N_("A soldier flees"),
        N_(
            "Marco's soldier on D5 is beside the same merchant, D6. The soldiers of a hill all act at the"
            " same time, so it counts that merchant, too, although D1 takes it. What else is beside it?"
        ),
        N_("Move the cursor to {field} to see what the soldier there would do."),
        _turn(4),
        goals.PointTo(Field("D5")),
        N_("As many merchants as farmers: it takes nothing and leaves the game."),
    ),
    LessonPage(
        N_("Your soldier"),
        N_(
            "A soldier is worth most beside many pieces of one kind. But until the scoring anybody may"
            " place another beside it, and one piece can turn a capture into a flight."
        ),
        N_("Place a soldier where it would now capture {least} of the others' pieces and none of yours."),
        _turn(4),
        goals.PlaceOne(Kind.SOLDIER, least=2),
        N_("Well placed, as things stand."),
    ),
    LessonPage(
        N_("The wolf"),
        N_(
            "A piece with a * bears the wolf: until the scoring the others see that it is yours, but"
            " not whether it is a merchant or a farmer. You do. Soldiers never bear the wolf."
        ),
        N_("Place a piece with the wolf: press 2 or 4 to pick one."),
        _turn(5),
        goals.PlaceOne(wolf=True),
        N_("You see what it is. Turn the page to see what Livia sees."),
    ),
    LessonPage(
        N_("Through Livia's eyes"),
        N_(
            "This is the example as Livia sees it. She sees a wolf of yours on E5, E?*, and must"
            " guess: merchant or farmer?"
            "\n\nShe also sees how many pieces you have left, but not which. Before the scoring all wolves"
            " are turned up."
        ),
        N_("Enter: the next page."),
        _turn(5) + 1,
        eyes=Seat(1),
        cursor=Field("E5"),
    ),
    LessonPage(
        N_("What is refused"),
        N_(
            "Don't worry about mistakes: what the rules forbid is refused, with the reason, and nothing"
            " changes. But a placed piece stays."
        ),
        N_("Try to place any piece on {field}, where there is one already."),
        _turn(6),
        goals.BeRefused(Fault.FIELD_TAKEN, Field("D4")),
        N_("Refused, for the reason below. It is still your turn: choose another field."),
    ),
    LessonPage(
        N_("No soldier at the end"),
        N_(
            "You cannot keep soldiers to the end. There may be none among the last 4 pieces in your hand "
            "(the last 3 with four or five players). You hold 5, and one is a soldier: it has to go now."
        ),
        N_("Try placing another piece anyway."),
        _turn(8),
        goals.BeRefused(Fault.SOLDIER_DUE),
        N_("It has to be the soldier. Pieces you cannot place are grey in your hand."),
    ),
    LessonPage(
        N_("Time for the soldier"),
        N_(
            "A soldier placed early has more fields to choose from. One placed late leaves the others"
            " fewer turns to change what is beside it. Later than now is not allowed."
        ),
        N_("Place the soldier where you like: press 5 to pick it."),
        _turn(8),
        goals.PlaceOne(Kind.SOLDIER),
        N_("Placed. Four turns are left, and they are for merchants and farmers alone."),
    ),
    LessonPage(
        N_("The last piece"),
        N_(
            "The others have placed everything, and you hold one farmer. As soon as it is placed, all"
            " wolves are turned up and the hills are scored."
        ),
        N_("Place your last piece on {field}."),
        MOVES - 1,
        goals.PlaceOne(field=Field("A6")),
        N_("Every hand is empty. On the next page the scoring begins."),
    ),
    LessonPage(
        N_("Scoring: the soldiers"),
        N_(
            "The hills are scored one by one, A to G, first the soldiers, all at the same time. Captured"
            " pieces and fled soldiers leave the board at once and for good: their fields are empty."
        ),
        N_("Enter or right arrow: one step forward. Left arrow: one step back."),
        MOVES,
        goals.Walk(Tile("A"), influence=False),
        N_("A2 stays; A1, A3 and A4 are empty now. Enter: the next page."),
    ),
    LessonPage(
        N_("Scoring: the influence"),
        N_(
            "Then the merchants and farmers left on the six fields give influence. Pieces that have gone"
            " no longer count. The numbers show what each field adds."
        ),
        N_("Enter: one step forward, until the hill is settled."),
        MOVES,
        goals.Walk(Tile("A"), soldiers=False),
        N_("The farmer on A6 has half of its 8 from A1, which is empty now. Enter: the next page."),
    ),
    LessonPage(
        N_("Scoring: ties"),
        N_(
            "Hill D has both kinds of tie. Two soldiers capture the same piece: one takes it, the"
            " other brings a disc worth 1. And two players have the same influence."
        ),
        N_("Enter: one step forward."),
        MOVES,
        goals.Walk(Tile("D")),
        N_("The hill is settled. Enter: the next page."),
    ),
    LessonPage(
        N_("The end"),
        N_(
            "If nobody has influence on a hill, its laurel is discarded, and there are no discs."
            "\n\nCaptives count 1 point each, discs 1 or 2, laurels 3 to 6. Most points wins. If players are"
            " tied, most captives, discs and laurels together wins; if they are still tied, they share"
            " the victory."
        ),
        N_("Enter: the last page."),
        MOVES,
    ),
    LessonPage(
        N_("Now you"),
        N_(
            "That is the whole game. Press i at any time to read the rules in short, and ? to see the"
            " keys and signs."
            "\n\nWith two players, each also leads a second people, a different one for each, whose pieces"
            " are theirs too. With four or five, hands are smaller."
        ),
        N_(
            "Enter: play against two bots now. q: leave. Later, choose a level:"
            " palatinus play --brain citizen"
        ),
        _LAID,
    ),
)

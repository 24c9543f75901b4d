"""The rules in short, page by page."""

import enum
from typing import Final

from client.language import N_


class Table(enum.Enum):
    """What stands between the paragraphs of the rules as a table."""

    HANDS = enum.auto()


RULES: Final[tuple[tuple[str | Table, ...], ...]] = (
    (
        N_("THE GAME"),
        N_(
            "You send merchants, farmers and soldiers to the seven hills of Rome. A hill lies in the "
            "middle of a tile, with six fields around it. When every piece stands, the hills are scored "
            "one by one: whoever has the most influence on a hill takes its laurel, worth 3 to 6 points, "
            "and soldiers take captives, worth 1 point each."
        ),
        N_("THE LAND"),
        N_(
            "One tile lies in the centre. In turn each player draws a tile and lays it around that one, "
            "turned as they like: the first anywhere, the others beside an outer tile that lies there "
            "already. A table can also have the tiles laid at random."
        ),
        N_(
            "The centre has the laurel Palatinus, worth 6. The others, worth 5, 5, 4, 4, 3 and 3, are "
            "dealt to the hills by chance."
        ),
        N_(
            "Fields that touch are beside each other, on one tile or on two; every tile has two with a "
            "spring. A hill is no field: nothing is placed on it, and it is beside nothing."
        ),
    ),
    (
        N_("THE HANDS"),
        N_("What everybody starts with is known to all. What is left of it is not."),
        Table.HANDS,
        N_(
            "With two players each leads a second people as well, the number after the plus. Its pieces "
            "are the player's own in every way."
        ),
    ),
    (
        N_("A TURN"),
        N_(
            "Clockwise, each player in turn places one piece from the hand on any empty field. Nobody "
            "may pass, and a placed piece stays."
        ),
        N_(
            "Pieces with the wolf lie face down: until the scoring the others see whose they are, but "
            "not whether merchant or farmer. Soldiers never bear the wolf."
        ),
        N_(
            "Soldiers cannot be kept to the last: of the last 4 pieces in your hand (3 with four or five "
            "players) none may be a soldier. When it is time, the game lets you place nothing else."
        ),
        N_("When every hand is empty, all wolves are turned up and the hills are scored."),
    ),
    (
        N_("THE SCORING, HILL BY HILL FROM A TO G"),
        N_(
            "First the soldiers of the hill, all at once. Each counts the merchants and the farmers on "
            "the fields beside it, whoever they belong to. As many of one as of the other, or none at "
            "all: it flees. Otherwise it captures all of the larger group, its owner's own too: 1 point "
            "for each. If several soldiers capture the same piece, one takes it, and the others a disc "
            "worth 1 point. Who is captured or has fled is gone for all later hills."
        ),
        N_("Then the influence of the pieces left on the hill's six fields:"),
        N_("- A merchant gives 1 for each merchant beside it, 2 for each farmer, 3 for each soldier."),
        N_(
            "- A farmer gives 2 for each empty field beside it, 2 for each spring beside it, taken or "
            "not, and 2 for a spring on its own field."
        ),
        N_("- A soldier gives none."),
    ),
    (
        N_("THE LAURELS"),
        N_(
            "The most influence on a hill takes its laurel. On a tie the laurel is lost, and each of "
            "the tied takes a disc worth 2 points. Where nobody has influence, the laurel is lost as "
            "well."
        ),
        N_("Influence is counted from zero on each hill, and is no points."),
        N_("THE END"),
        N_(
            "Captives count 1 point each, discs 1 or 2, laurels 3 to 6. Whoever has the most points "
            "wins; if tied, the most captives, discs and laurels counted together; if still tied, they "
            "share the victory."
        ),
    ),
)

"""The rules in short, page by page."""

from typing import Final

from client.language import N_

HANDS: Final = "{hands}"  # where the table of hands stands
RULES: Final = (
    (
        N_("THE GAME"),
        N_(
            "You send merchants, farmers and soldiers to the seven hills of Rome. A hill is in the middle "
            "of a tile, with six fields around it. Once every piece is placed, the hills are scored one by "
            "one: whoever has the most influence on a hill takes its laurel, worth 3 to 6 points, and "
            "soldiers take captives, worth 1 point each."
        ),
        N_("WHO BEGINS"),
        N_(
            "Whoever opens the table chooses who begins, or leaves it to a draw. That player lays the first "
            "tile, and later places the first piece. The others follow clockwise."
        ),
        N_("BESIDE A FIELD"),
        N_(
            "Fields that touch are beside each other, on one tile or on two; every tile has two with a "
            "spring. A hill is not a field: nothing is placed on it, and it is beside nothing."
        ),
    ),
    (
        N_("THE LAND"),
        N_(
            "One tile lies in the centre. In turn each player draws a tile and lays it against that one, "
            "turned any way they like: the first on any side, the others also touching an outer tile "
            "already laid. With four or five players, some lay more tiles than others."
        ),
        N_("A table can also have the tiles laid at random."),
        N_(
            "The centre has the laurel Palatinus, worth 6. The others, worth 5, 5, 4, 4, 3 and 3, are "
            "dealt to the other hills at random once all tiles are laid."
        ),
        N_(
            "You need not take the draws on trust: they are made from random numbers chosen by "
            "the server and by every player's program. When the game is over, each program "
            "checks them, and the result page reports the outcome."
        ),
    ),
    (
        N_("THE HANDS"),
        N_("Everybody knows what each player starts with, but not what is left of it."),
        HANDS,
        N_(
            "With two players, each also leads a second people, a different one for each: the number after "
            "the plus. Its pieces are the player's own in every way."
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
            "not whether they are merchants or farmers. Soldiers never bear the wolf."
        ),
        N_(
            "Soldiers cannot be kept to the end: none of the last 4 pieces in your hand (3 with four or "
            "five players) may be a soldier. When it is time, the game lets you place nothing else."
        ),
        N_("When every hand is empty, all wolves are turned up and the hills are scored."),
    ),
    (
        N_("THE SCORING, HILL BY HILL FROM A TO G: SOLDIERS"),
        N_(
            "First the soldiers on the hill's six fields act, all at the same time. Each counts the "
            "merchants and the farmers beside it, on other tiles too, whoever they belong to. Soldiers do "
            "not count."
        ),
        N_("- If there are as many of one as of the other, or none at all, it flees and is out of the game."),
        N_(
            "- Otherwise it captures the whole larger group, its own player's pieces too, for 1 point "
            "each. It stays on its field."
        ),
        N_(
            "If several soldiers capture the same piece, one takes it, and each of the others brings a disc "
            "worth 1 point."
        ),
        N_(
            "Captured pieces and fled soldiers leave the board at once. They no longer count for this hill's "
            "influence or on any later hill, and their fields are empty, which helps farmers."
        ),
    ),
    (
        N_("THEN THE INFLUENCE"),
        N_("Pieces left on the hill's six fields count what is beside them, on other tiles too:"),
        N_(
            "- A merchant gives 1 for each merchant, 2 for each farmer, 3 for each soldier, whoever they "
            "belong to: pieces of its own colour count as well."
        ),
        N_(
            "- A farmer gives 2 for each empty field, 2 for each spring, taken or not, and 2 for a spring "
            "on its own field."
        ),
        N_("- A soldier gives none."),
        N_(
            "Whoever has the most influence on a hill takes its laurel. In a tie the laurel is discarded, "
            "and each tied player takes a disc worth 2 points. If nobody has influence, the laurel is "
            "discarded, and there are no discs."
        ),
        N_("Influence starts from zero on each hill, and is not worth points."),
    ),
    (
        N_("THE END"),
        N_("Captives count 1 point each, discs 1 or 2, laurels 3 to 6. Most points wins."),
        N_(
            "If players are tied, most captives, discs and laurels together wins; if they are still tied, "
            "they share the victory."
        ),
    ),
)

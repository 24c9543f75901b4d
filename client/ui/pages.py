"""The pages to read: the keys, the signs and commands, and the rules in short."""

import enum
from collections.abc import Iterable
from typing import Final

from client.language import N_, _
from client.ui.keys import key_name, keys_at
from client.ui.lines import EMPTY, Line, beside, line, padded, paragraphs, wrapped
from client.ui.look import Look, people_style
from client.ui.state import Overlay, Where
from client.ui.texts import PEOPLES, kind_words
from engine.components import DEALS, Deal
from engine.pieces import FACES, People, Piece

_KEYS_WIDTH: Final = 22
_LABEL_WIDTH: Final = 32


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

COMMANDS: Final = (
    ("m* C4", N_("place a merchant with the wolf (m m* f f* s) on C4")),
    ("Lm* C4", N_("the same of your second people (with two players)")),
    ("lay 3 2", N_("lay the tile at position 3, turned twice")),
    ("say hello", N_("say something to the table")),
    ("vote yes, vote no Bob", N_("whether a bot moves for who is away")),
    ("leave", N_("leave the table; a running game keeps your seat")),
    ("open 3, open 3 random", N_("open a table; with the tiles laid at random")),
    ("open 4 random vote:2m", N_("or wait, move-clock:60, game-clock:30m, bot:60s")),
    ("join KXQT, watch KXQT", N_("join, or watch, the table with that code")),
    ("help, rules, quit", N_("what they say")),
)


REPLAY_COMMANDS: Final = (
    ("go 12, 12", N_("go to move 12")),
    ("go start, go end", N_("go to the start, to the end")),
    ("go scoring", N_("go to the first step of the scoring")),
    ("eyes 1, eyes Ann", N_("see what that seat saw")),
    ("eyes all, eyes none", N_("see everything; what who watched saw")),
    ("help, rules, quit", N_("what they say")),
)


def page_count(overlay: Overlay | None) -> int:
    if overlay is Overlay.COUNTS:
        return 1
    return len(RULES) if overlay is Overlay.RULES else 3


def rules_page(number: int, width: int) -> list[Line]:
    """Return a page of the rules in short."""
    lines: list[Line] = []
    for part in RULES[number]:
        if part is Table.HANDS:
            lines += [*hands_table(), EMPTY]
        elif (paragraph := _(part)).isupper():
            lines.append(line(paragraph, "class:heading"))
        else:
            lines += [*paragraphs([paragraph], width), EMPTY]
    return lines


def hands_table() -> list[Line]:
    """Return what the hands start with, for each number of players (R3.5)."""

    def row(words: str, cells: Iterable[str], style: str = "") -> Line:
        return line(padded(f"  {words}", _LABEL_WIDTH) + "".join(f"{cell:>8}" for cell in cells), style)

    deals = DEALS.values()
    rows = [row(_("players"), map(str, DEALS), "class:heading")]
    for face in FACES:
        words = f"{face:<3} {kind_words(Piece(f'{People.ETRUSCANS}{face}'))}"
        rows.append(row(words, (_dealt(deal, face) for deal in deals)))
    rows.append(row(_("turns"), (str(sum((*deal.own.values(), *deal.second.values()))) for deal in deals)))
    rows.append(row(_("no soldier among the last"), (str(deal.soldierless_at) for deal in deals)))
    return rows


def _dealt(deal: Deal, face: str) -> str:
    second = deal.second.get(face)
    return f"{deal.own.get(face, 0)}" if second is None else f"{deal.own.get(face, 0)}+{second}"


def help_page(number: int, here: Where, look: Look, width: int, *, lesson: bool = False) -> list[Line]:
    """Return a page of help: the keys that work here, the signs, the commands."""
    if number == 0:
        return _keys_page(here, look, width, lesson=lesson)
    if number == 1:
        return _signs_page(look, width)
    return _commands_page(look, REPLAY_COMMANDS if here is Where.REPLAY else COMMANDS, width)


def key_rows(here: Where, look: Look, *, lesson: bool = False) -> list[tuple[str, str]]:
    """Return the keys that work there, and what each does; number keys that do the same in one row."""
    rows: list[tuple[str, str]] = []
    for key in keys_at(here, lesson=lesson):
        names = ", ".join(key_name(name, look) for name in key.names)
        if rows and rows[-1][1] == _(key.help):
            rows[-1] = (f"{rows[-1][0].partition('-')[0]}-{names}", _(key.help))
        else:
            rows.append((names, _(key.help)))
    return rows


def _keys_page(here: Where, look: Look, width: int, *, lesson: bool) -> list[Line]:
    rows = ((_few(names), words) for names, words in key_rows(here, look, lesson=lesson))
    return [line(_("KEYS"), "class:heading"), *_rows(rows, width)]


def _few(names: str) -> str:
    """Return as many of a key's names as have room."""
    while len(names) > _KEYS_WIDTH:
        names = names.rpartition(", ")[0]
    return names


def _row(names: str, words: str) -> Line:
    return beside(line(f"{padded(names, _KEYS_WIDTH)} ", "class:key"), line(words))


def _rows(table: Iterable[tuple[str, str]], width: int) -> list[Line]:
    """Return signs or commands with what they mean, wrapped beside them."""
    lines: list[Line] = []
    for sign, words in table:
        first, *more = wrapped(words, width - _KEYS_WIDTH - 1)
        lines += [_row(sign, first), *(_row("", row) for row in more)]
    return lines


def _signs_page(look: Look, width: int) -> list[Line]:
    """Return the legend: every sign that can stand on the board."""
    left, right = look.cursor
    board = [
        ("C4", _("an empty field: its tile's letter and its number")),
        ("Em Ef Es", _("a merchant, a farmer, a soldier of the Etruscans")),
        ("Em* Ef*", _("with the wolf: one of yours, or turned up")),
        ("E?*", _("another player's wolf: merchant or farmer, who knows")),
        ("(C 5)", _("the hill of tile C, and its laurel's worth")),
        ("( C ) (C ?)", _("a hill without laurel yet, a tile that is being laid")),
        ("2 [2]", _("a position without tile, and one where a tile may lie")),
        (look.spring, _("a spring")),
        (look.arrow, _("the arrow: field 1 of its tile")),
        (look.last, _("the last piece placed")),
        (f"{left}C4 {right}", _("the cursor")),
    ]
    scoring = [
        ("+2", _("what a field adds to the piece being counted")),
        (look.captive, _("a piece being captured")),
        ("(C:E) (C:-)", _("the Etruscans took the laurel of C; nobody did")),
    ]
    peoples = (
        beside(line(f" {people} ", people_style(people)), line(f" {_(PEOPLES[people])}  "))
        for people in People
    )
    return [
        line(_("SIGNS ON THE BOARD"), "class:heading"),
        *_rows(board, width),
        beside(*peoples),
        EMPTY,
        line(_("IN THE SCORING"), "class:heading"),
        *_rows(scoring, width),
    ]


def _commands_page(look: Look, commands: Iterable[tuple[str, str]], width: int) -> list[Line]:
    panel = [
        (look.turn, _("on turn, chosen, being counted, or in the lead")),
        (f"{look.times}3", _("so many are left in the hand")),
    ]
    return [
        line(_("SIGNS BESIDE THE BOARD"), "class:heading"),
        *_rows(panel, width),
        EMPTY,
        line(_("COMMANDS, AFTER A COLON"), "class:heading"),
        *_rows(((command, _(words)) for command, words in commands), width),
    ]

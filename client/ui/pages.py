"""The pages to read: the keys, the signs and commands, and the rules in short."""

from collections.abc import Iterable
from typing import Final

from client.language import N_, _
from client.ui.keys import key_name, keys_at
from client.ui.lines import EMPTY, Line, beside, line, padded, paragraphs
from client.ui.look import Look, people_style
from client.ui.state import Overlay, Where
from client.ui.texts import PEOPLES
from engine.pieces import People

_KEYS_WIDTH: Final = 22

RULES: Final = (
    (
        N_("THE GAME"),
        N_(
            "You send merchants, farmers and soldiers to the seven hills of Rome. Each hill is a tile "
            "with six fields around it. When every piece stands, the hills are scored one by one, and "
            "whoever has the most influence on a hill takes its laurel, worth 3 to 6 points."
        ),
        N_("A TURN"),
        N_(
            "Place one piece from your hand on any empty field. You must place, and a placed piece "
            "stays. Pieces with the wolf lie face down: until the scoring the others see whose they "
            "are, but not whether merchant or farmer."
        ),
        N_(
            "Soldiers never bear the wolf, and they cannot be kept to the last: of the last 4 pieces in "
            "your hand (3 with four or five players) none may be a soldier. When it is time, the game "
            "lets you place nothing else."
        ),
        N_("BEFORE IT"),
        N_(
            "The tiles are laid at random, or the players draw and lay them in turn: around the one in "
            "the centre, beside a tile laid before, turned as they like."
        ),
    ),
    (
        N_("THE SCORING, HILL BY HILL FROM A TO G"),
        N_(
            "First the soldiers of the hill, all at once. Each counts the merchants and the farmers on "
            "the fields beside it, whoever they belong to. As many of one as of the other, or none at "
            "all: it flees. Otherwise it captures all of the larger group, its owner's own too: 1 point "
            "for each. If several soldiers capture the same piece, one takes it, and the others a disc "
            "worth 1 point."
        ),
        N_("Then the influence of the pieces left on the hill's six fields. A hill itself is no field."),
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
        N_(
            "Soldiers act before influence is counted. What they capture is gone for all later hills, "
            "and its field is empty."
        ),
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
    ("leave", N_("leave the table; a running game keeps your seat")),
    ("open 3, open 3 random", N_("open a table; with the tiles laid at random")),
    ("join KXQT, watch KXQT", N_("join, or watch, the table with that code")),
    ("help, rules, quit", N_("what they say")),
)


REPLAY_COMMANDS: Final = (
    ("go 12, 12", N_("go to move 12")),
    ("go start, go end", N_("go to the start, to the end")),
    ("go scoring", N_("go to the first step of the scoring")),
    ("eyes 0, eyes Ann", N_("see what that seat saw")),
    ("eyes all, eyes none", N_("see everything; what who watched saw")),
    ("help, rules, quit", N_("what they say")),
)


def page_count(overlay: Overlay | None) -> int:
    return len(RULES) if overlay is Overlay.RULES else 2


def rules_page(number: int, width: int) -> list[Line]:
    """Return a page of the rules in short."""
    lines: list[Line] = []
    for paragraph in map(_, RULES[number]):
        if paragraph.isupper():
            lines.append(line(paragraph, "class:heading"))
        else:
            lines += [*paragraphs([paragraph], width), EMPTY]
    return lines


def help_page(number: int, here: Where, look: Look, *, lesson: bool = False) -> list[Line]:
    """Return a page of help: the keys that work here, or signs and commands."""
    if number == 0:
        return _keys_page(here, look, lesson=lesson)
    return _signs_page(look, REPLAY_COMMANDS if here is Where.REPLAY else COMMANDS)


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


def _keys_page(here: Where, look: Look, *, lesson: bool) -> list[Line]:
    rows = [_row(_few(names), words) for names, words in key_rows(here, look, lesson=lesson)]
    return [line(_("KEYS"), "class:heading"), *rows]


def _few(names: str) -> str:
    """Return as many of a key's names as have room."""
    while len(names) > _KEYS_WIDTH:
        names = names.rpartition(", ")[0]
    return names


def _row(names: str, words: str) -> Line:
    return beside(line(f"{padded(names, _KEYS_WIDTH)} ", "class:key"), line(words))


def _signs_page(look: Look, commands: Iterable[tuple[str, str]]) -> list[Line]:
    signs = [
        ("C4", _("an empty field: its tile's letter and its number")),
        ("Em Ef Es", _("a merchant, a farmer, a soldier of the Etruscans")),
        ("Em* Ef*", _("with the wolf: one of yours, or turned up")),
        ("E?*", _("another player's wolf: merchant or farmer, who knows")),
        ("(C 5)", _("a hill, its laurel's worth; (C:E) the Etruscans took it")),
        (look.spring, _("a spring")),
        (look.arrow, _("the arrow: field 1 of its tile")),
        (look.last, _("the last piece placed")),
    ]
    lines = [line(_("SIGNS"), "class:heading"), *(_row(sign, words) for sign, words in signs)]
    peoples = (
        beside(line(f" {people} ", people_style(people)), line(f" {_(PEOPLES[people])}  "))
        for people in People
    )
    lines += [beside(*peoples), EMPTY, line(_("COMMANDS, AFTER A COLON"), "class:heading")]
    return lines + [_row(command, _(words)) for command, words in commands]

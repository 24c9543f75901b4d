"""The pages to read: keys, signs and commands, rules, counts, whole texts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Final

from prompt_toolkit.utils import get_cwidth

from client.language import N_, _, counted, labelled, prose
from client.tables.draws import describe_draws
from client.tables.table import TableModel
from client.ui.draw.page import Section, broken, paged, sections
from client.ui.frame import (
    EMPTY,
    WIDE,
    Line,
    chips,
    ends,
    fitted,
    line,
    padded,
    paragraphs,
    plain,
    stacked,
    wrapped,
)
from client.ui.keys import Act, Action, Key, key_name
from client.ui.screens.menu import At
from client.ui.screens.replay import Replay, told_of_move
from client.ui.screens.settings import OF_HOST, OWN
from client.ui.screens.start import Start
from client.ui.screens.typed_commands import help_on_commands, help_on_hosting
from client.ui.state import Outcome, Overlay, Pane, Screen, Ui
from client.ui.texts.games import bounds_text
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.names import called
from client.ui.texts.pieces import (
    NAMED_SIGNS,
    PEOPLES,
    UNKNOWN_WOLF,
    count_words,
    face_sign,
    kind_words,
    piece_sign,
)
from client.ui.texts.tables import names_at
from engine.board import TILES
from engine.components import DEALS
from engine.knowledge import hill_influences, holdings
from engine.pieces import FACES, People, Piece, Wolf
from engine.view import View

_READING: Final = (
    Key(
        ("right", "down", "j", " ", "pagedown", "scroll-down"),
        Act.PAGE_DOWN,
        N_("the next page"),
        N_("next page"),
        when=lambda reading, ui, _model: reading.number < ui.last_top,
    ),
    Key(
        ("left", "up", "k", "pageup", "scroll-up"),
        Act.PAGE_UP,
        N_("the previous page"),
        N_("back"),
        when=lambda reading, _ui, _model: reading.number > 0,
    ),
    Key(("?", "f1"), Act.HELP, N_("the help"), N_("help")),
    Key(("i", "f2"), Act.RULES, N_("the rules in short"), N_("rules")),
    Key(("escape", "enter", "q"), Act.CANCEL, N_("back to the table"), N_("close")),
    Key(("c-c",), Act.QUIT, N_("quit")),
)


_KEY: Final = "class:key"
_KEYS_WIDTH: Final = 22
_COLUMNS: Final = 72  # in narrower texts, keys and signs stand before what they mean, not beside it
_LABEL_WIDTH: Final = 32


(RULES,) = prose(Path(__file__).with_name("rules.txt"))  # in short
HANDS: Final = "{hands}"  # where the table of hands stands in them


@dataclass(frozen=True, slots=True)
class Reading(Overlay):
    """A text that is open over the page, at its page of this number: what this key shows.

    How many pages there are depends on the window. `told` is the notice that there was no room for.
    """

    topic: Act
    number: int = 0
    told: str = ""

    own_keys = _READING

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        if action is Act.CANCEL:
            return ui.closed(), None
        turned = (action is Act.PAGE_DOWN) - (action is Act.PAGE_UP)
        number = min(max(min(self.number, ui.last_top) + turned, 0), ui.last_top)
        return (ui.changed(replace(self, number=number)) if turned else ui), None

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        margin = 1 if pane.small else 2
        width, height = pane.width - 2 * margin, pane.height
        text = _text(self, pane.sized(width, height))
        pages = paged(text, height)
        if len(pages) > 1:
            pages = paged(text, height - 1)
            form = _("page {number} of {last}")
            for number, page in enumerate(pages, 1):
                told = line(form.format(number=number, last=len(pages)), "class:faint")
                page.insert(0, ends(EMPTY, told, width))
        last = len(pages) - 1
        shown = [line(" " * margin) + each for each in pages[min(self.number, last)]]
        return stacked(shown, pane.width, height), last


def _text(reading: Reading, pane: Pane) -> list[Section]:
    ui, model, width, small = pane.ui, pane.model, pane.width, pane.small
    match reading.topic:
        case Act.RULES:
            return rules(width)
        case Act.COUNTS if model.view is None:
            return []
        case Act.COUNTS:
            names = list(map(called, names_at(model)))
            page = counts_page(pane.view, names, WIDE if small else width, brief=small)
        case Act.WHOLE if small:  # the latest first: it is what ended in dots
            page = _whole_texts(ui, model, reading, WIDE, WIDE, latest_first=True)
        case Act.WHOLE:
            page = _whole_texts(ui, model, reading, width, pane.height)
        case _:
            return _help(ui.closed().top, pane)
    return sections(page, width)


def _whole_texts(
    ui: Ui, model: TableModel, reading: Reading, width: int, height: int, *, latest_first: bool = False
) -> list[Line]:
    """Return what ended in dots: a notice, or what is told of a record's move; and the log's last lines.

    After a game, the check of its draws is above them.
    """
    told = [reading.told] if reading.told else []
    if (check := model.draws.check()) is not None:
        told.append(describe_draws(check, names_at(model), plays=model.seat is not None))
    if isinstance(ui.page, Replay) and ui.page.analysis is not None:
        told += told_of_move(ui.page, ui.page.analysis)
    above = [*paragraphs(told, width), EMPTY] if told else []
    rows: list[str] = []
    for sentence in reversed(ui.log_here):
        entry = [f"{'  ' if at else ''}{row}" for at, row in enumerate(wrapped(sentence, width - 2))]
        if len(above) + 1 + len(entry) + len(rows) > height:
            break
        rows = [*rows, *entry] if latest_first else [*entry, *rows]
    log = [line(_("LOG"), "class:heading"), *map(line, rows)] if rows else []
    return [*above, *log] or [line(_("There is nothing to read here."), "class:faint")]


def rules(width: int) -> list[Section]:
    """Return the rules in short: the text below each heading."""
    told: list[Section] = []
    for part in RULES:
        piece = tuple(hands_table(width) if part == HANDS else paragraphs([_(part)], width))
        if part.isupper():
            told.append(Section(tuple(line(plain(row), "class:heading") for row in piece), ()))
        else:
            heading, pieces = told[-1].heading, told[-1].pieces
            told[-1] = Section(heading, (*pieces, (EMPTY, *piece) if pieces else piece))
    return told


def hands_table(width: int = WIDE) -> list[Line]:
    rows = list[Line]()
    for at, (words, *cells) in enumerate(hands_rows()):
        style = "class:heading" if at == 0 else ""
        if width < _COLUMNS:
            rows += paragraphs([labelled(words, " ".join(cells))], width, style)
        else:
            rows.append(
                line(padded(f"  {words}", _LABEL_WIDTH) + "".join(f"{cell:>8}" for cell in cells), style)
            )
    return rows


_BY_FACE: Final = {face: Piece(f"{People.ETRUSCANS}{face}") for face in FACES}


def hands_rows() -> Iterator[list[str]]:
    """Yield the hands at the start, for each number of players (R3.5), after a heading."""
    deals = DEALS.values()
    yield [_("players"), *map(str, DEALS)]
    for face, piece in _BY_FACE.items():
        words = f"{face_sign(piece):<3} {kind_words(piece)}"
        held = ((deal.own.get(face, 0), deal.second.get(face)) for deal in deals)
        yield [words, *(f"{own}" if more is None else f"{own}+{more}" for own, more in held)]
    yield [_("turns"), *(str(sum((*deal.own.values(), *deal.second.values()))) for deal in deals)]
    yield [_("no soldier among the last"), *(str(deal.soldierless_at) for deal in deals)]


def _help(screen: Screen, pane: Pane) -> list[Section]:
    """Return the help: the keys that work on the screen, the signs, the commands that can be typed there."""
    ui, model, glyphs, width = pane.ui, pane.model, pane.glyphs, pane.width
    without = {*(() if ui.evening else [Act.EVENING]), *([Act.SIGN] if ui.offers.private else ())}
    keys = [key for key in screen.shown_keys(model) if key.action not in without]
    panel = [
        (glyphs.pointer, _("to move, chosen, being counted, or in the lead")),
        (f"{glyphs.times}3", _("how many are left in the hand")),
    ]
    board, scoring = _signs(glyphs)
    on_board = _section(_("SIGNS ON THE BOARD"), board, width)
    peoples = sum((chips([people]) + line(f" {_(PEOPLES[people])}  ") for people in People), EMPTY)
    if isinstance(ui.page, Start):
        rows = {row.name: row.help for row in (*OWN, *OF_HOST)}
        settings = [(_(name), words) for name, words in rows.items()]
        return [_section(_("KEYS"), key_rows(keys, glyphs), width), _section(_("SETTINGS"), settings, width)]
    return [
        _section(_("KEYS"), key_rows(keys, glyphs), width),
        Section(on_board.heading, (*on_board.pieces, broken(peoples, width))),
        _section(_("IN THE SCORING"), scoring, width),
        _section(_("SIGNS BESIDE THE BOARD"), panel, width),
        *(_section(heading, rows, width) for heading, rows in _commands(ui, model) if rows),
    ]


def _commands(ui: Ui, model: TableModel) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
    if any(key.action is Act.COMMAND for key in ui.page.keys(model)):
        yield _("COMMANDS, AFTER A COLON"), help_on_commands(At(ui, model))
        yield _("COMMANDS OF A TABLE'S HOST"), help_on_hosting(At(ui, model))


def key_rows(keys: Iterable[Key], glyphs: GlyphSet) -> list[tuple[str, str]]:
    """Return the names of keys with their effects; keys with the same effect share a row."""
    rows: list[tuple[str, str]] = []
    for key in keys:
        names = ", ".join(key_name(name, glyphs) for name in key.names)
        if rows and rows[-1][1] == key.words:
            before = rows[-1][0]
            together = f"{before.partition('-')[0]}-{names}" if names.isdigit() else f"{before}, {names}"
            rows[-1] = (together, key.words)
        else:
            rows.append((names, key.words))
    return rows


def _section(heading: str, table: Iterable[tuple[str, str]], width: int) -> Section:
    """Return keys, signs or commands with their meanings wrapped beside them, or after them if narrow."""
    return Section(
        tuple(paragraphs([heading], width, "class:heading")),
        tuple(tuple(_explained(sign, _(words), width)) for sign, words in table),
    )


def _explained(sign: str, words: str, width: int) -> Iterator[Line]:
    if width < _COLUMNS:
        yield from paragraphs([labelled(sign, words)], width, _KEY)
        return
    beside = zip_longest(wrapped(sign, _KEYS_WIDTH), wrapped(words, width - _KEYS_WIDTH - 1), fillvalue="")
    for part, row in beside:
        yield line(f"{padded(part, _KEYS_WIDTH)} ", _KEY) + line(row)


def _signs(glyphs: GlyphSet) -> tuple[Sequence[tuple[str, str]], Sequence[tuple[str, str]]]:
    """Return the signs on the board, and those of the scoring, with their meanings."""
    left, right = glyphs.cursor
    pieces = _BY_FACE.values()
    plain_pieces, wolves = ([each for each in pieces if each.wolf == wolf] for wolf in (False, True))
    board = [
        ("C4", _("an empty field: its tile's letter and its number")),
        (" ".join(map(piece_sign, plain_pieces)), _("a merchant, a farmer, a soldier of the Etruscans")),
        (" ".join(map(piece_sign, wolves)), _("with the wolf: one of yours, or turned up")),
        (piece_sign(Wolf.of(People.ETRUSCANS)), _("another player's wolf: a merchant or a farmer")),
        ("(C=5)", _("the hill of tile C, and its laurel's worth")),
        ("( C ) (C=?)", _("a hill without a laurel yet, a tile being laid")),
        ("2 [2]", _("a position without a tile; one where a tile may lie")),
        (glyphs.spring, _("a spring")),
        (glyphs.arrow, _("the arrow: field 1 of its tile")),
        (glyphs.last, _("placed since your last piece, or last")),
        (f"{left}C4 {right}", _("the cursor")),
    ]
    scoring = [
        ("+2", _("what a field adds to the piece being counted")),
        (glyphs.captive, _("a piece being captured")),
        ("(C:E) (C:-)", _("the Etruscans took the laurel of C; nobody did")),
    ]
    return board, scoring


_NAME: Final = 24
_COLUMN: Final = 6
_HILL: Final = 7
_FACE_SIGNS: Final = (*map(face_sign, _BY_FACE.values()), UNKNOWN_WOLF)


def counts_page(view: View, names: Sequence[str], width: int, *, brief: bool = False) -> list[Line]:
    """Return the pieces that everybody may still hold, and the influence on the board as it is now.

    If `brief`, each row names its numbers, because narrow windows have no columns.
    """
    to_place = "  " + _("to place")
    hands = [] if brief else [_row_of_counts(EMPTY, (*_FACE_SIGNS, to_place), _COLUMN, "class:faint")]
    for each in holdings(view):
        left = {count.piece[1:]: bounds_text(count.left) for count in each.counts}
        counts = [*(left.get(face, "") for face in FACES), str(each.wolves or "")]  # of unknown kind
        own = each.people == view.start.peoples[each.seat][0]  # and no second people
        name, total = (names[each.seat], str(view.remaining[each.seat])) if own else ("", "")
        if brief:
            told = _("{n} to place").format(n=total)
            who = f"{each.people} {name} ({told})" if own else f"{each.people}"
            hands.append(_amounts_line(who, _FACE_SIGNS, counts))
        else:
            people = chips([each.people]) + line(f" {name}" if own else "")
            counts.append(total.rjust(get_cwidth(to_place)))
            hands.append(_row_of_counts(people, counts, _COLUMN))
    hills = [] if brief else [_row_of_counts(EMPTY, TILES, _HILL, "class:faint")]
    influences = [each.seats for each in hill_influences(view, TILES)] if None not in view.tiles else []
    for seat, bounds in enumerate(zip(*influences, strict=True)):
        player = chips(view.start.peoples[seat][:1]) + line(f" {names[seat]}")
        amounts = list(map(bounds_text, bounds))
        row = _row_of_counts(player, amounts, _HILL)
        hills.append(_amounts_line(plain(player).strip(), TILES, amounts) if brief else row)
    return _explain_counts(hands, hills if influences else [], width)


def counts_in_words(view: View, names: Sequence[str]) -> Iterator[str]:
    """Yield what the page of counts shows, for a listener."""
    yield _("STILL IN HAND, AS FAR AS CAN BE KNOWN")
    for each in holdings(view):
        told = [
            count_words(count.piece, bounds_text(count.left, in_words=True), count.left.most)
            for count in each.counts
            if count.left.most
        ]
        if each.wolves:
            form = counted("{n} wolf of unknown kind", "{n} wolves of unknown kind", each.wolves)
            told.append(_("{wolves} on the board").format(wolves=form.format(n=each.wolves)))
        who = _(PEOPLES[each.people])
        if each.people == view.start.peoples[each.seat][0]:
            left = _("{n} to place").format(n=view.remaining[each.seat])
            who = f"{names[each.seat]} ({who}, {left})"
        yield labelled(who, ", ".join(told) or _("none"))
    if None in view.tiles:
        return
    yield _("INFLUENCE, IF COUNTED NOW")
    influences = [each.seats for each in hill_influences(view, TILES)]
    for name, bounds in zip(names, zip(*influences, strict=True), strict=False):
        amounts = (
            f"{hill} {bounds_text(each, in_words=True)}" for hill, each in zip(TILES, bounds, strict=True)
        )
        yield labelled(name, ", ".join(amounts))
    yield _("Before any soldier acts. What is not certain depends on what the wolf pieces are.")


def _explain_counts(hands: Sequence[Line], hills: Sequence[Line], width: int) -> list[Line]:
    """Return both counts with what is to be known of them; there are no hills before all tiles lie."""
    told = _(
        "{merchant} merchant, {farmer} farmer, {soldier} soldier, {wolf} with the wolf. 1-3: at least one, "
        "at most three. {unknown_wolf}: wolves on the board whose kind you do not know."
    )
    lines = [line(_("STILL IN HAND, AS FAR AS CAN BE KNOWN"), "class:heading"), *hands]
    lines += [EMPTY, *paragraphs([told.format(**NAMED_SIGNS)], width, "class:faint")]
    if not hills:
        return lines
    lines += [EMPTY, line(_("INFLUENCE, IF COUNTED NOW"), "class:heading"), *hills]
    told = _("By hill, before any soldier acts. 4-6: depends on what the wolf pieces are.")
    return [*lines, EMPTY, *paragraphs([told], width, "class:faint")]


def _amounts_line(who: str, counted: Iterable[str], amounts: Iterable[str]) -> Line:
    told = (f"{each}={amount}" for each, amount in zip(counted, amounts, strict=True) if amount)
    return line(labelled(who, ", ".join(told)))


def _row_of_counts(who: Line, words: Iterable[str], column: int, style: str = "") -> Line:
    cells = "".join(" " * (column - get_cwidth(word)) + word for word in words)
    return fitted(who, _NAME) + line(cells, style)

"""The pages to read: the keys, the signs and commands, and the rules in short."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, assert_never

from client.language import N_, _, labelled
from client.tables.table import TableModel
from client.ui.draw.chances import told_of_move
from client.ui.frame import (
    EMPTY,
    Block,
    Line,
    beside,
    ends,
    line,
    padded,
    paragraphs,
    people_style,
    plain,
    stacked,
    wrapped,
)
from client.ui.keys import Key, KeyContext, context_of, key_name, keys_at, watches
from client.ui.screens.counts import counts_page, short_counts
from client.ui.screens.table_commands import help_rows
from client.ui.state import Lesson, Reading, Replay, Topic, Ui
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.people import PEOPLES, kind_words, names_at
from client.ui.texts.rules import RULES, RulesTable
from engine.components import DEALS, Deal
from engine.pieces import FACES, People, Piece

_KEYS_WIDTH: Final = 22
_UNWRAPPED: Final = 1000  # columns: the width of a page before a small window wraps its paragraphs
_LABEL_WIDTH: Final = 32


COMMANDS: Final = (
    ("m* C4", N_("place a merchant with the wolf (m m* f f* s) on C4")),
    ("Lm* C4", N_("the same of your second people (with two players)")),
    ("lay 3 2", N_("lay the tile at position 3, turned twice")),
    ("say hello", N_("say something to the table, or in the lobby")),
    ("mute Bob, spectators", N_("mute them; unmute: hear them again")),
    ("vote yes, vote no Bob", N_("whether a bot plays for an absent player")),
    *help_rows(host=False),
    ("leave", N_("leave the table; a running game keeps your seat")),
    ("open 3, open 3 random", N_("open a table; with the tiles laid at random")),
    ("open 4 random vote:2m", N_("or wait, move-clock:60, game-clock:30m, bot:60s")),
    ("open 3 starts:2", N_("seat 2 starts; starts:me, or starts:random for a draw")),
    ("join KXQT, watch KXQT", N_("join or watch the table with that code")),
    ("help, rules, quit", N_("open help or rules, or quit")),
)


LOBBY_COMMANDS: Final = (
    ("name Ann", N_("change the name others see")),
    ("open 3 private", N_("open a table that is not in the list")),
)


HOST_COMMANDS: Final = help_rows(host=True)


REPLAY_COMMANDS: Final = (
    ("go 12, 12", N_("go to move 12")),
    ("go start, go end", N_("go to the start, to the end")),
    ("go scoring", N_("go to the first step of the scoring")),
    ("eyes 1, eyes Ann", N_("see what that seat saw")),
    ("eyes all, eyes none", N_("see everything; see what spectators saw")),
    ("help, rules, quit", N_("open help or rules, or quit")),
)


def reading_block(
    ui: Ui, reading: Reading, model: TableModel, glyphs: GlyphSet, size: tuple[int, int]
) -> Block:
    """Return the open page of a text."""
    width, height = size
    lines = stacked(
        [beside(line("  "), content) for content in _page(ui, reading, model, glyphs, (width - 4, height))],
        width,
        height,
    )
    return Block(tuple(lines))


def small_reading(
    ui: Ui, reading: Reading, model: TableModel, glyphs: GlyphSet, size: tuple[int, int]
) -> tuple[Block, int]:
    """Return what a small window shows of the open page, and the last line that it can begin with."""
    width, height = size
    rows: list[Line] = []
    if reading.topic is Topic.COUNTS and model.view is not None:
        page = short_counts(model.view, names_at(model), _UNWRAPPED)
    else:
        page = _page(ui, reading, model, glyphs, (_UNWRAPPED, _UNWRAPPED))
    for content in page:
        key_and_use = re.split(" {4,}", plain(content).strip(), maxsplit=1)
        words = labelled(*key_and_use) if len(key_and_use) > 1 else key_and_use[0]
        style = next((style for style, text in content if text.strip()), "")
        rows += [line(f" {row}", style) for row in wrapped(words, width - 2)] or [EMPTY]
    last_top = max(len(rows) - height, 0)
    top = min(reading.top, last_top)
    return Block(tuple(stacked(rows[top:], width, height))), last_top


def _page(ui: Ui, reading: Reading, model: TableModel, glyphs: GlyphSet, size: tuple[int, int]) -> list[Line]:
    width, height = size
    match reading.topic:
        case Topic.WHOLE:
            return _whole_texts(ui, reading, width, height)
        case Topic.COUNTS:
            return [] if model.view is None else counts_page(model.view, names_at(model), width)
        case Topic.RULES:
            lines = rules_page(reading.number, width)
        case Topic.HELP:
            here = context_of(replace(ui, overlay=None, entry=None), model)
            keys = keys_at(here, lesson=isinstance(ui.page, Lesson), watching=watches(ui, model))
            lines = help_page(reading.number, keys, glyphs, width, record=here is KeyContext.REPLAY)
        case _:
            assert_never(reading.topic)
    number = _("page {number} of {last}").format(number=reading.number + 1, last=reading.pages)
    return [ends(EMPTY, line(number, "class:faint"), width), *lines]


def _whole_texts(ui: Ui, reading: Reading, width: int, height: int) -> list[Line]:
    """Return what ended in dots: a notice, or what is told of a record's move; and the log's last lines."""
    told = [reading.told] if reading.told else []
    if isinstance(ui.page, Replay) and ui.page.analysis is not None:
        told += told_of_move(ui.page, ui.page.analysis)
    above = [*paragraphs(told, width), EMPTY] if told else []
    rows: list[str] = []
    for sentence in reversed(ui.log):
        entry = [f"{'  ' if at else ''}{row}" for at, row in enumerate(wrapped(sentence, width - 2))]
        if len(above) + 1 + len(entry) + len(rows) > height:
            break
        rows = [*entry, *rows]
    log = [line(_("LOG"), "class:heading"), *map(line, rows)] if rows else []
    return [*above, *log] or [line(_("There is nothing to read here."), "class:faint")]


def rules_page(number: int, width: int) -> list[Line]:
    """Return a page of the rules in short."""
    lines: list[Line] = []
    for part in RULES[number]:
        if part is RulesTable.HANDS:
            lines += [*hands_table(), EMPTY]
        elif (paragraph := _(part)).isupper():
            lines.append(line(paragraph, "class:heading"))
        else:
            lines += [*paragraphs([paragraph], width), EMPTY]
    return lines


def hands_table() -> list[Line]:
    """Return the hands at the start, for each number of players (R3.5)."""

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


def help_page(number: int, keys: Sequence[Key], glyphs: GlyphSet, width: int, *, record: bool) -> list[Line]:
    """Return a page of help: the keys that work here, the signs, the commands, those at a `record` if so."""
    if number == 0:
        return _keys_page(keys, glyphs, width)
    if number == 1:
        return _signs_page(glyphs, width)
    if number == 2:
        return _commands_page(glyphs, REPLAY_COMMANDS if record else COMMANDS, width)
    return _host_page(width)


def key_rows(keys: Iterable[Key], glyphs: GlyphSet) -> list[tuple[str, str]]:
    """Return the names of the keys, and what each does; keys that do the same share a row."""
    rows: list[tuple[str, str]] = []
    for key in keys:
        names = ", ".join(key_name(name, glyphs) for name in key.names)
        if rows and rows[-1][1] == _(key.help):
            before = rows[-1][0]
            together = f"{before.partition('-')[0]}-{names}" if names.isdigit() else f"{before}, {names}"
            rows[-1] = (together, _(key.help))
        else:
            rows.append((names, _(key.help)))
    return rows


def _keys_page(keys: Iterable[Key], glyphs: GlyphSet, width: int) -> list[Line]:
    rows = ((_few(names), words) for names, words in key_rows(keys, glyphs))
    return [line(_("KEYS"), "class:heading"), *_rows(rows, width)]


def _few(names: str) -> str:
    """Return as many of a key's names as there is room for."""
    while len(names) > _KEYS_WIDTH:
        names = names.rpartition(", ")[0]
    return names


def _row(names: str, words: str) -> Line:
    return beside(line(f"{padded(names, _KEYS_WIDTH)} ", "class:key"), line(words))


def _rows(table: Iterable[tuple[str, str]], width: int) -> list[Line]:
    """Return signs or commands with their meanings wrapped beside them."""
    lines: list[Line] = []
    for sign, words in table:
        first, *more = wrapped(words, width - _KEYS_WIDTH - 1)
        lines += [_row(sign, first), *(_row("", row) for row in more)]
    return lines


def _signs_page(glyphs: GlyphSet, width: int) -> list[Line]:
    """Return the legend: every sign that can stand on the board."""
    left, right = glyphs.cursor
    board = [
        ("C4", _("an empty field: its tile's letter and its number")),
        ("Em Ef Es", _("a merchant, a farmer, a soldier of the Etruscans")),
        ("Em* Ef*", _("with the wolf: one of yours, or turned up")),
        ("E?*", _("another player's wolf: a merchant or a farmer")),
        ("(C=5)", _("the hill of tile C, and its laurel's worth")),
        ("( C ) (C=?)", _("a hill without a laurel yet, a tile being laid")),
        ("2 [2]", _("a position without a tile; one where a tile may lie")),
        (glyphs.spring, _("a spring")),
        (glyphs.arrow, _("the arrow: field 1 of its tile")),
        (glyphs.last, _("the last piece placed")),
        (f"{left}C4 {right}", _("the cursor")),
    ]
    scoring = [
        ("+2", _("what a field adds to the piece being counted")),
        (glyphs.captive, _("a piece being captured")),
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


def _commands_page(glyphs: GlyphSet, commands: Iterable[tuple[str, str]], width: int) -> list[Line]:
    panel = [
        (glyphs.pointer, _("on turn, chosen, being counted, or in the lead")),
        (f"{glyphs.times}3", _("how many are left in the hand")),
    ]
    return [
        line(_("SIGNS BESIDE THE BOARD"), "class:heading"),
        *_rows(panel, width),
        EMPTY,
        line(_("COMMANDS, AFTER A COLON"), "class:heading"),
        *_rows(((command, _(words)) for command, words in commands), width),
    ]


def _host_page(width: int) -> list[Line]:
    """Return what only the host of a table can type, as in its menu, and what goes in the lobby."""
    return [
        line(_("COMMANDS OF A TABLE'S HOST"), "class:heading"),
        *_rows(((command, _(words)) for command, words in HOST_COMMANDS), width),
        EMPTY,
        line(_("COMMANDS IN THE LOBBY"), "class:heading"),
        *_rows(((command, _(words)) for command, words in LOBBY_COMMANDS), width),
    ]

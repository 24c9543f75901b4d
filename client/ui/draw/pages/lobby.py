"""The lobby: the list of tables, and how a new one would be."""

from client.language import _, counted
from client.ui.draw.frame import Block, block_of
from client.ui.draw.lines import EMPTY, Line, beside, line, padded
from client.ui.draw.news_lines import with_news
from client.ui.draw.page import ServerPage, short_list
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.sentences import (
    describe_hints,
    describe_policy,
    describe_private,
    describe_spectators,
    describe_stage,
    your_seat,
)
from client.ui.update.actions import Action, ChooseLine
from client.ui.update.requests import Open
from client.ui.update.state import Lobby, Ui
from engine.pieces import Seat
from protocol.absence import Wait
from protocol.messages import TableSummary
from protocol.text import printable

_WHOLE = 23  # lines that a list takes in a window of the least size
_DETAILS = 2  # lines below the list about how the chosen table is set up

_COLUMNS = (8, 22, 8)  # a table's code, its host, its seats
_STAGE = 24


class LobbyDrawing(ServerPage, frozen=True):
    """The lobby."""

    lobby: Lobby

    def body(self, width: int, height: int) -> Block:
        page = lobby_block(self.ui, self.lobby, self.glyphs, width, height)
        return with_news(page, self.ui, width, height)

    def small_body(self, width: int, height: int) -> Block:
        whole = lobby_block(self.ui, self.lobby, self.glyphs, width, _WHOLE)
        return short_list(self.ui, whole, width, height)


def lobby_block(ui: Ui, lobby: Lobby, glyphs: GlyphSet, width: int, height: int) -> Block:
    """Return the list of tables, with a last line for a new one."""
    words = (_("TABLE"), _("HOST"), _("SEATS"))
    heading = "".join(padded(word, cells) for word, cells in zip(words, _COLUMNS, strict=True))
    rows: list[tuple[Line, Action | None]] = [(EMPTY, None), (line(f"  {heading}", "class:heading"), None)]
    room = max(height - 14 - _DETAILS, 1)
    first = min(max(lobby.chosen - room + 1, 0), max(len(lobby.tables) - room, 0))
    for at, table in enumerate(lobby.tables[first : first + room], start=first):
        rows.append((_chosen(lobby, glyphs, at, _table_text(table, lobby.kept_seats), width), ChooseLine(at)))
    if lobby.tables:
        rows += [(content, None) for content in _details(lobby)]
    else:
        nothing = _("No tables are open. Open one, and others can join.")
        rows.append((line(f"  {nothing}", "class:faint"), None))
    rows += [
        (EMPTY, None),
        (_chosen(lobby, glyphs, len(lobby.tables), _("A new table"), width), ChooseLine(len(lobby.tables))),
    ]
    rows += [(content, None) for content in _set_up(ui.new_table)]
    return block_of(rows, width)


def _details(lobby: Lobby) -> list[Line]:
    """Return how the chosen table is set up; the same number of empty lines for the new one."""
    if lobby.chosen >= len(lobby.tables):
        return [EMPTY] * _DETAILS
    table = lobby.tables[lobby.chosen]
    layout = _describe_layout(at_random=table.random_layout)
    closed = f"; {describe_spectators(allowed=False)}" if table.no_spectators else ""
    helped = f"; {describe_hints(allowed=True)}" if table.hints else ""
    named = f"{printable(table.title)}: " if table.title else ""
    words = (f"{named}{layout}{closed}{helped}", describe_policy(table.absence))
    return [line(f"  {'':8}{each}", "class:faint") for each in words]


def _describe_layout(*, at_random: bool) -> str:
    return _("the tiles are laid at random") if at_random else _("the players lay the tiles")


def _describe_starting(seat: Seat | None) -> str:
    if seat is None:
        return _("a draw decides who starts")
    return _("you start") if seat == 0 else _("seat {number} starts").format(number=seat + 1)


def _set_up(table: Open) -> list[Line]:
    """Return how a new table would be: on each line the keys, and the setting that they change."""
    keys_and_words = (
        ("2-5", counted("{n} player", "{n} players", table.players).format(n=table.players)),
        ("x", _describe_layout(at_random=table.random_layout)),
        ("p", describe_private(private=table.private)),
        ("h", describe_hints(allowed=table.hints)),
        ("s", _describe_starting(table.starting)),
        ("a", describe_policy(table.absence)),
        *(() if isinstance(table.absence, Wait) else (("+, -", _("more or less time")),)),
    )
    return [beside(line(f"    {keys:<6}", "class:key"), line(words)) for keys, words in keys_and_words]


def _table_text(table: TableSummary, kept: frozenset[str]) -> str:
    seats = _("{taken} of {seats}").format(taken=table.taken, seats=table.players)
    cells = zip((table.table, printable(table.host), seats), _COLUMNS, strict=True)
    stage = padded(_describe_stage(table), _STAGE)
    note = your_seat() if table.table in kept else _("a seat is free") if table.vacant else ""
    return "".join((*(padded(*cell) for cell in cells), stage, note))


def _describe_stage(table: TableSummary) -> str:
    stage = describe_stage(table.stage)
    return _("playing, all away") if table.deserted and table.stage == "playing" else stage


def _chosen(lobby: Lobby, glyphs: GlyphSet, at: int, text: str, width: int) -> Line:
    if at != lobby.chosen:
        return line(f"  {text}")
    return line(padded(f"{glyphs.pointer} {text}", width), "class:chosen")

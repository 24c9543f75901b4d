"""The servers found on the network, with their open tables, and a last line to type an address."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

from client.finding.found import (
    NOTHING,
    Asking,
    Found,
    FoundServer,
    Gone,
    Listed,
    Locked,
    SeatAnswer,
    Silent,
    server_listing,
    server_named,
)
from client.language import N_, _, counted, describe_reason, labelled, parted
from client.player.seats import KeptSeat
from client.tables.table import TableModel
from client.typed_text import BadText, invitation, not_found, table_code
from client.ui import requests
from client.ui.draw.page import ListScreen, choice, line_chosen, rows_around
from client.ui.frame import EMPTY, Line, clickable, indented, padded
from client.ui.keys import LINES, ON_EVERY_PAGE, Act, Action, ChooseLine, Key
from client.ui.screens.lobby import TakingOver, describe_free_seat, has_free_seat, table_cells, table_in_words
from client.ui.state import Choices, LinePrompt, ListLine, Outcome, Pane, TypedLine, Ui
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.times import brief_day_and_time, clock_time
from protocol.messages import TableSummary, Turn
from protocol.text import printable


def _ask_address(search: "Search", ui: Ui, _model: TableModel) -> Outcome:
    return replace(_at_line(ui, search, None), entry=TypedLine(LinePrompt.ADDRESS)), None


def _watch(search: "Search", ui: Ui, _model: TableModel) -> Outcome:
    if search.chosen is not None and search.chosen[1]:
        return ui, requests.GoTo(*search.chosen, watch=True)
    return ui.with_notice(_("Use the arrow keys to choose a table to watch.")), None


_KEYS: Final = (
    *LINES,
    Key(
        ("enter", " "), Act.CONFIRM, N_("sit down at the table, or see all tables of the server"), N_("join")
    ),
    Key(
        ("w",),
        _watch,
        N_("watch the table"),
        N_("watch"),
        when=lambda search, _ui, _model: search.chosen is not None and bool(search.chosen[1]),
    ),
    Key(("a",), _ask_address, N_("type the host's address"), N_("address")),
    Key(("escape",), Act.LEAVE, N_("back to the start screen, or quit"), N_("leave"), typed=("back",)),
    *ON_EVERY_PAGE,
)

Spot: TypeAlias = tuple[str, str]  # the URL of a server that was found, and one of its tables or none


@dataclass(frozen=True, slots=True)
class Search(ListScreen):
    """The servers found on the network, and their open tables; `chosen` is None at the line for an address.

    The first table that waits for players is chosen, unless the player has `moved`; `waited` if nothing was
    found for long. Before all that come the tables where the player's `seats` are kept, with the `answers` of
    their servers. The server of those that have `stopped` is this program's own, and can be hosted again.
    """

    found: Found = NOTHING
    chosen: Spot | None = None
    moved: bool = False
    waited: bool = False
    seats: tuple[KeptSeat, ...] = ()
    stopped: frozenset[KeptSeat] = frozenset()
    answers: Mapping[KeptSeat, SeatAnswer] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[Spot | None, ...]:
        kept = ((seat.server, seat.table) for seat in self.seats)
        found: list[Spot] = []
        for server in self.found.servers:
            found += ((server.url, ""), *((server.url, table.table) for table in server.listed.tables))
        return (*dict.fromkeys((*kept, *found)), None)

    def summary_at(self, spot: Spot) -> TableSummary | None:
        """Return the summary of the table at this line, unless a seat of the player is kept there."""
        listed = (
            table
            for server in self.found.servers
            if server.url == spot[0]
            for table in server.listed.tables
            if table.table == spot[1]
        )
        return None if spot in {seat[:2] for seat in self.seats} else next(listed, None)

    def has_stopped(self, seat: KeptSeat) -> bool:
        """Return whether the table can be hosted again: no other program has begun to since."""
        return seat in self.stopped and isinstance(self.answers.get(seat), Silent | None)

    asks_to_quit = True

    own_keys = _KEYS

    def meant(self, text: str) -> requests.GoTo:
        """Return where a text leads that a friend may have sent; raises BadText.

        A name is a server's that was found, or a table's code where a seat is kept or that a server lists.
        """
        there = invitation(text)
        if there.url:
            return requests.GoTo(there.url, there.table)
        if (server := server_named(self.found, there.name)) is not None:
            return requests.GoTo(server.url)
        name, _space, last = there.name.rpartition(" ")
        code = None
        with contextlib.suppress(BadText):
            code = table_code(last)
        if name and code is not None and (server := server_named(self.found, name)) is not None:
            return requests.GoTo(server.url, code)
        if code is not None and not name:
            for seat in self.seats:
                if seat.table == code:
                    return requests.GoTo(seat.server, code)
            if (server := server_listing(self.found, code)) is not None:
                return requests.GoTo(server.url, code)
        names = [each.name for each in self.found.servers if each.name]
        why = not_found(there.name, None if name else code, names)
        if name:
            raise why
        hint = _("If it is a computer's name, write ws://{name}").format(name=last)
        raise BadText(f"{why}. {hint}")

    def go(self, ui: Ui, request: requests.GoTo) -> Outcome:
        """Go there; ask first if that would take over a seat that somebody has left."""
        own = next((seat for seat in self.stopped if seat[:2] == (request.url, request.table)), None)
        if own is not None and self.has_stopped(own):
            return ui, requests.HostOn(own.server, own.table)
        summary = None if request.table is None else self.summary_at((request.url, request.table))
        if summary is not None and summary.vacant:
            return ui.opened(TakingOver(summary, request)), None
        return ui, request

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        lines = self.lines
        at = lines.index(self.chosen)
        if (there := line_chosen(action, at, len(lines))) is not None:
            return _at_line(ui, self, lines[there]), None
        match action:
            case Act.CONFIRM | ChooseLine() if self.chosen is None:
                return replace(ui, entry=TypedLine(LinePrompt.ADDRESS)), None
            case Act.CONFIRM | ChooseLine() if self.chosen is not None:
                url, table = self.chosen
                return self.go(ui, requests.GoTo(url, table or None))
            case Act.LEAVE:
                return ui, requests.Errand.GO_HOME
            case _:
                return ui, None

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        return [_words(self)]

    def choices(self, ui: Ui, model: TableModel) -> Choices:
        rows = {row.number: row for row in reversed(_rows(self))}  # what is known of a seat comes first
        lines = [ListLine(rows[number].words) for number in range(len(self.lines))]
        return Choices(lines, self.lines.index(self.chosen))

    def place(self, pane: Pane) -> str:
        return _("Join a game")

    def rows(self, pane: Pane) -> list[Line]:
        """Return the lines around the chosen one, the line for an address, and the messages."""
        *listed, address = _rows(self)
        chosen, width = self.lines.index(self.chosen), pane.width
        numbers = [row.number for row in listed]
        at_row = numbers.index(chosen) if chosen in numbers else len(listed)  # a kept seat's comes first
        drawn = [_row(row, pane.glyphs, width, chosen=at == at_row) for at, row in enumerate(listed)]
        last = max((number for number in numbers if number is not None), default=0)
        rows = [EMPTY, *rows_around(drawn, min(chosen, last), pane.height - _OTHERS, pane.glyphs)]
        if listed:
            rows.append(EMPTY)
        rows.append(_row(address, pane.glyphs, width, chosen=self.chosen is None))
        return [*rows, EMPTY, *indented(_words(self), width, "class:faint")]


def where_to(ui: Ui, entry: TypedLine) -> str:
    """Return the destination of the text being typed, empty without one or if it says the same."""
    search = ui.page
    if entry.prompt is not LinePrompt.ADDRESS or not isinstance(search, Search):
        return ""
    try:
        goal = search.meant(entry.text)
    except BadText:
        return ""
    server = next((each for each in search.found.servers if each.url == goal.url), None)
    where = goal.url if server is None or not server.name else server.name
    if goal.table is None:
        return "" if where == entry.text.strip() else where
    summary = search.summary_at((goal.url, goal.table))
    return labelled(where, goal.table if summary is None else table_in_words(summary))


def with_found(ui: Ui, now: Found) -> Ui:
    """Return the UI state with the current findings; the choice stays if it is still there."""
    if not isinstance(ui.page, Search):
        return ui
    page = replace(ui.page, found=now)
    return ui.with_page(replace(page, chosen=_still_chosen(page)))


def seat_stands(ui: Ui, seat: KeptSeat, answer: SeatAnswer) -> Ui:
    """Return the UI state with the state of the game at the table of a kept seat."""
    if not isinstance(ui.page, Search):
        return ui
    return ui.with_page(replace(ui.page, answers={**ui.page.answers, seat: answer}))


def _still_chosen(page: Search) -> Spot | None:
    chosen, there = page.chosen, [spot for spot in page.lines if spot is not None]
    at_table = chosen is not None and chosen[1] and chosen in there
    if not page.moved and not at_table:
        tables = ((spot, page.summary_at(spot)) for spot in there)
        inviting = (spot for spot, table in tables if table is not None and has_free_seat(table))
        return next(inviting, there[0] if there else None)
    if chosen is None or chosen in there:
        return chosen
    server = (chosen[0], "")
    return server if server in there else None


def _at_line(ui: Ui, page: Search, spot: Spot | None) -> Ui:
    return ui.with_page(replace(page, chosen=spot, moved=True))


_OTHERS = 11  # lines that are not of the list in a window of any size
_NAME = 26  # columns
_SEAT = (10, 28, 20)  # a table's code, how the game stands, the player's name


class _Row(NamedTuple):
    """A row of the list as it is drawn and as it is read aloud; its line has a number if it can be chosen."""

    number: int | None
    text: str
    words: str


def _rows(search: Search) -> list[_Row]:
    numbers = {spot: number for number, spot in enumerate(search.lines)}
    rows = [_Row(numbers[seat.server, seat.table], *_seat_texts(seat, search)) for seat in search.seats]
    for server in search.found.servers:
        rows.append(_Row(numbers[server.url, ""], *_server_texts(server)))
        rows += [
            _Row(numbers[server.url, table.table], f"  {_table_text(table)}", table_in_words(table))
            for table in server.listed.tables
        ]
        if more := server.listed.more:
            form = counted("and {n} more table", "and {n} more tables", more)
            rows.append(_Row(None, f"  {form.format(n=more)}", ""))
    words = _("Type an address, a name or a code")
    return [*rows, _Row(numbers[None], words, words)]


def _row(row: _Row, glyphs: GlyphSet, width: int, *, chosen: bool) -> Line:
    if row.number is None:
        return choice(row.text, glyphs, width, chosen=chosen, style="class:faint")
    return clickable(choice(row.text, glyphs, width, chosen=chosen), ChooseLine(row.number), width)


def _words(search: Search) -> str:
    """Return what there is to say about the search, or about the server that is chosen."""
    found, chosen = search.found, search.chosen
    if found.deaf is not None:
        return _deaf(found.deaf)
    for seat, answer in search.answers.items():
        if chosen == seat[:2] and isinstance(answer, Silent):
            if search.has_stopped(seat):
                return _("This program hosted the table. Enter: host on, and the others come back.")
            return printable(answer.reason)
    for server in found.servers:
        if chosen is not None and server.url == chosen[0] and isinstance(server.answer, Silent):
            return printable(server.answer.reason)
    if found.servers or not search.waited:
        return _(
            "Looking for servers on this network. They appear here when found, and disappear when they stop."
        )
    return _(
        "No server has been found yet. Some networks do not let servers be found: guest networks, VPNs, "
        "strict firewalls. Then ask the host for the address on their screen, and type it here: "
        "ws://HOST:PORT."
    )


def _deaf(reason: str) -> str:
    if not reason:
        return _(
            "This computer is not connected to a network. Once it is, servers found there will appear here."
        )
    text = _(
        "This computer cannot look for servers ({reason}). Ask the host for the address on their screen, and "
        "type it here: ws://HOST:PORT."
    )
    return text.format(reason=printable(describe_reason(reason)))


def _seat_texts(seat: KeptSeat, search: Search) -> tuple[str, str]:
    answer = search.answers.get(seat)
    stands = _("stopped") if search.has_stopped(seat) else describe_turn(answer)
    words = (seat.table, stands, _("you are {name}").format(name=seat.name))
    text = "".join((*(padded(*cell) for cell in zip(words, _SEAT, strict=True)), seat.server))
    return text, parted((*words, seat.server))


def describe_turn(answer: SeatAnswer | None) -> str:
    """Return the status of the game at the table of a seat, as far as its server has sent it."""
    match answer:
        case Turn(stage="over"):
            return _("the game is over")
        case Turn(archived=True):
            return _("nobody is there")
        case Turn(stage="gathering"):
            return _("not started yet")
        case Turn(turn=int()):
            mine = answer.turn == answer.seat
            words = _("your turn") if mine else _("{name}'s turn").format(name=printable(answer.name or ""))
            words = _("{turn}, move planned").format(turn=words) if answer.planned and not mine else words
            if answer.paused_until is not None:
                return _("paused until {moment}").format(moment=brief_day_and_time(answer.paused_until))
            if answer.paused:
                return _("the game is paused")
            return words if answer.clock is None else f"{words}, {clock_time(answer.clock / 1000)}"
        case Gone():
            return _("no longer yours")
        case Locked():
            return _("needs a password")
        case Silent():
            return _("unavailable")
        case _:
            return _("your seat")


def _server_texts(server: FoundServer) -> tuple[str, str]:
    name, note = server.name or _("(no name)"), _describe(server)
    text = f"{padded(name, _NAME - 1)} {server.url}" + (f"  {note}" if note else "")
    return text, parted(filter(None, (name, server.url, note)))


def _describe(server: FoundServer) -> str:
    match server.answer:
        case Asking():
            return "..."
        case Listed(tables):
            return "" if tables else _("no open table")
        case Locked():
            return _("needs a password")
        case Silent():
            return _("unavailable")


def _table_text(table: TableSummary) -> str:
    study = _("a study") if table.study else ""
    notes = filter(None, (study, describe_free_seat(table) or printable(table.title)))
    return table_cells(table) + parted(notes)

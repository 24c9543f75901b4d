"""The lobby: the list of tables, the settings of a new one, who is online, and the chat."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from msgspec import structs
from prompt_toolkit.utils import get_cwidth

from client.language import N_, _, counted, labelled, parted
from client.tables.table import TableModel
from client.typed_text import describe_found_as
from client.ui import requests
from client.ui.draw.page import (
    LOG_LINES,
    ServerScreen,
    choice,
    line_chosen,
    lines_wanted,
    rows_around,
    settings,
    short_list,
    talk_lines,
    with_news,
)
from client.ui.frame import EMPTY, Line, clickable, first_rows, line, padded, side_by_side, spoken, wrapped
from client.ui.keys import (
    COMMAND,
    EVENING,
    ON_EVERY_PAGE,
    YES,
    Act,
    Action,
    ChooseLine,
    Handler,
    Key,
    Pick,
    Way,
)
from client.ui.requests import Open, Request
from client.ui.screens.menu import At, Form, MenuLine, Page
from client.ui.state import LinePrompt, OnlineList, Outcome, Overlay, Pane, TalkLog, TypedLine, Ui
from client.ui.texts import tables
from engine.components import DEALS
from engine.pieces import Seat
from protocol.absence import WAIT, ByBot, ByVote, GameClock, MoveClock, Wait, move_clock
from protocol.messages import NEW, ListTables, TableSummary
from protocol.text import printable


def _at_a_table(lobby: "LobbyPage", _ui: Ui, _model: TableModel) -> bool:
    """Return whether a table is chosen, not the line that opens a new one."""
    return lobby.chosen < len(lobby.tables)


def _has_talk(_lobby: object, ui: Ui, _model: TableModel) -> bool:
    return bool(ui.talk.remarks or (ui.company is not None and ui.company.people))


# The first of each is the default.
_SECONDS: Final[dict[type[MoveClock | GameClock | ByVote | ByBot], tuple[int, ...]]] = {
    MoveClock: (60, 120, 300, 600, 43_200, *(day * 86_400 for day in (1, 2, 3, 5, 7, 14, 30)), 15, 30),
    GameClock: (900, 1800, 3600, 7200, 300, 600),
    ByVote: (60, 120, 300, 600, 0, 30),
    ByBot: (60, 120, 300, 600, 0, 30),
}
_KINDS: Final = tuple(_SECONDS)


def _watch(lobby: "LobbyPage", ui: Ui, _model: TableModel) -> Outcome:
    if lobby.chosen < len(lobby.tables):
        return ui, requests.WatchTable(lobby.tables[lobby.chosen].table)
    return ui.with_notice(_("Use the arrow keys to choose a table to watch.")), None


def _open_form(lobby: "LobbyPage", ui: Ui, _model: TableModel) -> Outcome:
    return _at_line(ui, lobby, len(lobby.tables)).opened(Form(NEW_TABLE)), None


def _refresh(_lobby: object, ui: Ui, _model: TableModel) -> Outcome:
    return ui, ListTables(NEW)


def ask_name(_lobby: object, ui: Ui, _model: TableModel) -> Outcome:
    return replace(ui, entry=TypedLine(LinePrompt.NAME).filled(ui.name)), None


def _set_up(change: Callable[[Open, int], Open], by: int = 1) -> Handler:
    """Return what changes the table to be opened, and leads to the line that opens it."""

    def changed(lobby: "LobbyPage", ui: Ui, _model: TableModel) -> Outcome:
        return replace(_at_line(ui, lobby, len(lobby.tables)), new_table=change(ui.new_table, by)), None

    return changed


def _for_players(table: Open, number: int) -> Open:
    """Return the table with so many seats; if it has them already, with one for whoever comes."""
    grows = table.players == number and not table.grows
    players = requests.FOR_WHOEVER_COMES.players if grows else number
    starting = None if table.starting is None or table.starting >= players else table.starting
    return structs.replace(table, players=players, starting=starting, grows=grows)


def _with_next_number(table: Open, by: int) -> Open:
    numbers = (0, *DEALS)  # 0 for whoever comes
    at = numbers.index(0 if table.grows else table.players)
    return _for_players(table, numbers[(at + by) % len(numbers)] or table.players)


def _with_other_layout(table: Open, _by: int) -> Open:
    return structs.replace(table, random_layout=not table.random_layout)


def _switched(switch: str) -> Callable[[Open, int], Open]:
    """Return what turns a setting of the table to be opened on or off."""

    def turned(table: Open, _by: int) -> Open:
        on = getattr(table.switches, switch)
        return structs.replace(table, switches=structs.replace(table.switches, **{switch: not on}))

    return turned


def _with_next_to_start(table: Open, by: int) -> Open:
    seats = (None, *map(Seat, range(table.players)))  # None for a draw
    return structs.replace(table, starting=seats[(seats.index(table.starting) + by) % len(seats)])


def _with_next_policy(table: Open, by: int) -> Open:
    at = next((at for at, each in enumerate(_KINDS, 1) if isinstance(table.absence, each)), 0)
    if not (following := (at + by) % (len(_KINDS) + 1)):
        return structs.replace(table, absence=WAIT)
    kind = _KINDS[following - 1]
    return structs.replace(table, absence=kind(_SECONDS[kind][0]))


def _with_more_time(table: Open, by: int) -> Open:
    """Return the table with the nearest time of its policy that is longer, or shorter, if there is one."""
    if isinstance(policy := table.absence, Wait):
        return table
    kind = next(each for each in _KINDS if isinstance(policy, each))
    further = [each for each in _SECONDS[kind] if (each - policy.seconds) * by > 0]
    seconds = min(further, key=lambda each: abs(each - policy.seconds), default=policy.seconds)
    return structs.replace(table, absence=move_clock(seconds) if kind is MoveClock else kind(seconds))


def _lists_games(_lobby: object, ui: Ui, _model: TableModel) -> bool:
    return ui.finished_games is not None and ui.finished_games.listed


def _look_back(lobby: object, ui: Ui, model: TableModel) -> Outcome:
    return ui, requests.Errand.LOOK_BACK if _lists_games(lobby, ui, model) else None


_KEYS: Final = (
    Key(("up", "k", "scroll-up"), Way.UP, N_("the table above or below")),
    Key(("down", "j", "scroll-down"), Way.DOWN, N_("the table above or below")),
    Key(
        ("enter",),
        Act.CONFIRM,
        N_("join, return to your seat, or watch; last line: open"),
        N_("join"),
        when=_at_a_table,
    ),
    EVENING,
    Key(("w",), _watch, N_("watch the table"), N_("watch"), when=_at_a_table),
    Key(("o",), _open_form, N_("a new table: how it is set up; open it"), N_("new table")),
    Key(
        ("t",),
        Act.CHAT,
        N_("talk in the lobby; read what was said, who is online"),
        N_("say"),
        when=lambda _lobby, ui, _model: ui.offers.lobby,
    ),
    Key(
        ("T",),
        Act.TALK,
        N_("talk in the lobby; read what was said, who is online"),
        N_("read"),
        when=_has_talk,
    ),
    Key(("n",), ask_name, N_("change the name others see"), N_("name")),
    Key(
        ("v",),
        _look_back,
        N_("your past games, if you are here over ssh"),
        N_("past games"),
        when=_lists_games,
    ),
    *(
        Key(
            (str(n),),
            Pick(n),
            N_("new table: how many seats; again: one for all who join"),
            typed=(f"players {n}",),
        )
        for n in range(2, 6)
    ),
    Key(
        ("x",),
        _set_up(_with_other_layout),
        N_("new table: lay the tiles, or have them laid at random"),
        N_("layout"),
    ),
    Key(("s",), _set_up(_with_next_to_start), N_("new table: who starts"), N_("who starts")),
    Key(
        ("a",),
        _set_up(_with_next_policy),
        N_("new table: what happens when a player is away or slow"),
        N_("absence"),
    ),
    Key(("+", "="), _set_up(_with_more_time), N_("new table: more or less time before it happens")),
    Key(
        ("-",),
        _set_up(_with_more_time, -1),
        N_("new table: more or less time before it happens"),
    ),
    *(
        Key(
            (row.key,),
            _set_up(_switched(row.name)),
            row.help,
            form=N_("new table: {text}"),
        )
        for row in tables.WHEN_OPENED
    ),
    Key(("f5",), _refresh, N_("refresh the list"), N_("refresh")),
    Key(("escape",), Act.LEAVE, N_("back to the start screen, or quit"), typed=("back",)),
    COMMAND,
    *ON_EVERY_PAGE,
)


@dataclass(frozen=True, slots=True)
class LobbyPage(ServerScreen):
    """The list of tables; `kept_seats` are those where a seat is kept, `chosen` the line the player is on.

    It is `listed` once the server has said which tables there are.
    """

    tables: tuple[TableSummary, ...] = ()
    kept_seats: frozenset[str] = frozenset()
    chosen: int = 0
    listed: bool = False
    asks_to_quit = True

    own_keys = _KEYS

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        last = len(self.tables)  # the line that opens a new table
        if (there := line_chosen(action, self.chosen, last + 1)) is not None:
            return _at_line(ui, self, there), None
        match action:
            case Act.CONFIRM | ChooseLine():
                if self.chosen >= last:
                    return ui, ui.new_table
                chosen = self.tables[self.chosen]
                if chosen.table in self.kept_seats or chosen.stage == "gathering":
                    return ui, requests.Join(chosen.table)
                if chosen.vacant:
                    return ui.opened(TakingOver(chosen, requests.Join(chosen.table))), None
                return ui, requests.WatchTable(chosen.table)
            case Act.LEAVE:
                return ui, requests.Errand.GO_HOME
            case Pick(number):
                table = _for_players(ui.new_table, number)
                return replace(_at_line(ui, self, last), new_table=table), None
            case _:
                return ui, None

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        ui, width, height = pane.ui, pane.width, pane.height
        if pane.small:
            online = [] if ui.company is None else online_lines(ui.company, width)
            return short_list(pane, lobby_block(self, pane, width, _WHOLE) + online), 0
        if ui.company is None:
            return with_news(lobby_block(self, pane, width, height), pane), 0
        silent = structs.replace(pane, ui=replace(ui, talk=TalkLog()))  # what is said has its own place
        column, room = width - _WIDTH, height - LOG_LINES
        if column >= _LEAST_COLUMN:
            company = company_column(ui, ui.company, column - 1, room)
            page = side_by_side(lobby_block(self, pane, _WIDTH, height), company, _WIDTH, column, room)
            return with_news(page, silent), 0
        online = online_lines(ui.company, width)
        page = lobby_block(self, pane, width, height - len(online))
        lines = [*page, *online, EMPTY]
        news = min(lines_wanted(silent.ui, width, ""), LOG_LINES)
        lines += talk_lines(ui.talk, width, height - news - len(lines))
        return with_news(lines, silent, most=news), 0

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        if ui.offers.private:
            return ()
        here = _("You are in the lobby. Type tables for the list, join and a table's code, or open.")
        new = labelled(_("A new table"), parted(words for _keys, words in _describe_set_up(ui.new_table)))
        return [*spoken(_above(ui)), here, new]


def _after_answer(ui: Ui, action: Action, wanted: Request) -> Outcome:
    if action is Act.QUIT:
        return ui, requests.Errand.QUIT
    return ui.closed(), wanted if action is Act.CONFIRM else None


_TAKING_OVER: Final = (
    Key((YES,), Act.CONFIRM, N_("take the seat"), N_("yes")),
    Key(("n", "escape"), Act.CANCEL, N_("choose something else"), N_("no")),
    Key(("c-c",), Act.QUIT, N_("quit")),
)


@dataclass(frozen=True, slots=True)
class TakingOver(Overlay):
    """The question whether to take a vacant seat in a running game; `request` takes it."""

    table: TableSummary
    request: Request

    own_keys = _TAKING_OVER

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        return _after_answer(ui, action, self.request)

    def question(self, ui: Ui) -> str:
        if self.table.study:
            asks = _("{table} is a study of a game that others have played. Take a seat? {yes}: yes, n: no")
        else:
            asks = _("A player has left the game at {table}. Take over the seat? {yes}: yes, n: no")
        return asks.format(table=self.table.table, yes=_("y"))


_INVITED: Final = (
    Key(("enter", YES), Act.CONFIRM, N_("take a seat there"), N_("join")),
    Key(("n", "escape"), Act.CANCEL, N_("stay in the lobby"), N_("stay")),
    Key(("c-c",), Act.QUIT, N_("quit")),
)


@dataclass(frozen=True, slots=True)
class Invited(Overlay):
    """The question whether to accept the invitation of `name` to a table."""

    name: str
    table: str

    own_keys = _INVITED

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        return _after_answer(ui, action, requests.Join(self.table))

    @property
    def sentence(self) -> str:
        return _("{name} invites you to table {table}.").format(name=printable(self.name), table=self.table)

    def question(self, ui: Ui) -> str:
        ways = _("Enter: take a seat, n: stay here")
        return f"{self.sentence} {ways}"


def has_free_seat(table: TableSummary) -> bool:
    """Return whether people can sit down before the game; bots make room for them."""
    return table.stage == "gathering" and table.taken - table.bots < table.players


def _at_line(ui: Ui, lobby: LobbyPage, number: int) -> Ui:
    return ui.with_page(replace(lobby, chosen=number))


_WHOLE = 23  # lines that a list takes in a window of the least size
_DETAILS = 2  # lines below the list about how the chosen table is set up
_INDENT = 10  # of these lines

_WIDTH = 76  # that the tables take beside who is online
_LEAST_COLUMN = 34
_ONLINE = 2  # lines about who is online below the tables

_AROUND_TABLES = 4 + LOG_LINES  # lines besides the tables, what is said of the chosen one, and the settings
_COLUMNS = (8, 22, 8)  # a table's code, its host, its seats
_STAGE = 24


def online_lines(company: OnlineList, width: int) -> list[Line]:
    """Return the people online in few lines, or the reason why the player is not listed."""
    if not company.fault and not company.people:
        return []
    words = company.fault or tables.describe_online(company.people, company.more)
    rows = first_rows(wrapped(words, width - 4), _ONLINE, width - 4)
    return [EMPTY, *(line(f"  {row}", "class:refusal" if company.fault else "class:faint") for row in rows)]


def company_column(ui: Ui, company: OnlineList, width: int, height: int) -> list[Line]:
    """Return a column with the people online, and below it the latest chat."""
    if company.fault:
        lines = [line(f" {row}", "class:refusal") for row in wrapped(company.fault, width - 2)]
    else:
        many, most = len(company.people) + company.more, max(height // 2 - 3, 2)
        shown = company.people if many <= most else company.people[: most - 1]
        heading = _("ONLINE ({n})").format(n=many)
        lines = [line(f" {heading}", "class:heading")]
        lines += [line(f" {tables.describe_person(each)}") for each in shown]
        if more := many - len(shown):
            lines.append(line(f" {tables.describe_more(more)}", "class:faint"))
    lines = [EMPTY, *lines, EMPTY]
    if said := talk_lines(ui.talk, width, height - len(lines) - 1):
        words = _("SAID IN THE LOBBY")
        lines += [line(f" {words}", "class:heading"), *said]
    return lines


def lobby_block(lobby: LobbyPage, pane: Pane, width: int, height: int) -> list[Line]:
    ui, glyphs = pane.ui, pane.glyphs
    words = (_("TABLE"), _("HOST"), _("SEATS"))
    heading = "".join(padded(word, cells) for word, cells in zip(words, _COLUMNS, strict=True))
    others = _above(ui)
    rows = [EMPTY, *others, line(f"  {heading}", "class:heading")]
    details = _details(lobby, width)
    set_up = settings(_describe_set_up(ui.new_table), width)
    room = height - _AROUND_TABLES - len(others) - len(details) - len(set_up)
    listed = []
    for at, table in enumerate(lobby.tables):
        row = choice(_row_of_table(lobby, table), glyphs, width, chosen=at == lobby.chosen)
        listed.append(clickable(row, ChooseLine(at), width))
    rows += rows_around(listed, min(lobby.chosen, len(listed) - 1), room, glyphs)
    if lobby.tables:
        rows += details
    else:
        nothing = _("No tables are open. Open one, and others can join.") if lobby.listed else ""
        rows.append(line(f"  {nothing}", "class:faint"))
    new = choice(_("A new table"), glyphs, width, chosen=lobby.chosen >= len(lobby.tables))
    rows += [EMPTY, clickable(new, ChooseLine(len(lobby.tables)), width)]
    return rows + set_up


def _row_of_table(lobby: LobbyPage, table: TableSummary) -> str:
    stage, note = _stage_and_seat(lobby, table)
    return f"{table_cells(table)}{padded(stage, _STAGE)}{note}".rstrip()


def _stage_and_seat(lobby: LobbyPage, table: TableSummary) -> tuple[str, str]:
    return tables.describe_listed_stage(table), _describe_seat(table, lobby.kept_seats)


def tables_in_words(ui: Ui, lobby: LobbyPage) -> list[str]:
    """Return the open tables, each with how it is set up, and how others join the server."""
    rows = [table_in_words(table, lobby.kept_seats) for table in lobby.tables]
    none = _("No tables are open. Open one, and others can join.")
    return [*spoken(_above(ui)), *(rows or [none])]


def table_in_words(table: TableSummary, kept: frozenset[str] = frozenset()) -> str:
    host = _("{name} is the host").format(name=printable(table.host))
    seats = _("seats taken: {taken} of {seats}").format(taken=table.taken, seats=table.players)
    stage, note = tables.describe_listed_stage(table), _describe_seat(table, kept)
    told = (printable(table.title), host, seats, stage, note, *_describe_table(table))
    return labelled(table.table, parted(filter(None, told)))


def _above(ui: Ui) -> list[Line]:
    """Return the server's evening, and how others join it if this program hosts it; often neither."""
    lines = [
        line("  " + _("Others join with"), "class:faint") + line(f" palatinus join {address}")
        for address in ui.ways.addresses[:1]
    ]
    lines += [line(f"      {each}") for each in ui.ways.other_ways]
    if ui.ways.pages:
        words = _("on a television: {address}").format(address=f"{ui.ways.pages}tv")
        lines.append(line(f"      {words}"))
    if ui.ways.found_as:
        lines.append(line(f"  {describe_found_as(ui.ways.found_as)}", "class:faint"))
    if ui.evening is not None:
        words = _("Evening: {name}. E: sign up, pause, standings")
        lines.append(line(f"  {words.format(name=printable(ui.evening.name))}"))
    return [*lines, EMPTY] if lines else []


def _details(lobby: LobbyPage, width: int) -> list[Line]:
    """Return how the chosen table is set up, or as many empty lines as this usually takes.

    In a small window this begins with what its row has no room for.
    """
    if lobby.chosen >= len(lobby.tables):
        return [EMPTY] * _DETAILS
    table = lobby.tables[lobby.chosen]
    *set_up, absence = _describe_table(table)
    named = labelled(printable(table.title), parted(set_up)) if table.title else parted(set_up)
    cut = get_cwidth(_row_of_table(lobby, table)) > width - 2  # beside the pointer
    stage = parted(filter(None, _stage_and_seat(lobby, table))) if cut else ""
    rows = [row for each in filter(None, (stage, named, absence)) for row in wrapped(each, width - _INDENT)]
    return [line(f"{'':{_INDENT}}{row}", "class:faint") for row in rows]


def _describe_table(table: TableSummary) -> list[str]:
    """Return how a table is set up; last, what happens when a player is away."""
    layout = tables.describe_layout(at_random=table.random_layout)
    return [layout, *tables.describe_unusual(table.switches), tables.describe_absence(table)]


class _Row(NamedTuple):
    """A setting of a table to be opened: its words, empty while there is none, and what changes it."""

    keys: str
    words: Callable[[Open], str]
    turned: Callable[[Open, int], Open]
    help: str = ""


def _describe_number(table: Open) -> str:
    number = counted("{n} player", "{n} players", table.players).format(n=table.players)
    return _("a seat for all who join") if table.grows else number


def _describe_start(table: Open) -> str:
    starts = _("you start") if table.starting == 0 else _("seat {number} starts")
    if table.starting is None:
        starts = _("a draw decides who starts")
    return starts.format(number=(table.starting or 0) + 1)


def _row_of(row: tables.Row) -> _Row:
    def words(table: Open) -> str:
        return row.describe(on=row.is_on(table.switches))

    return _Row(row.key, words, _switched(row.name), row.help)


_ROWS: Final = (
    _Row("2-5", _describe_number, _with_next_number),
    _Row("x", lambda table: tables.describe_layout(at_random=table.random_layout), _with_other_layout),
    *map(_row_of, tables.ROWS),
    _Row("s", _describe_start, _with_next_to_start),
    _Row("a", lambda table: tables.describe_policy(table.absence), _with_next_policy),
    _Row(
        "+, -",
        lambda table: "" if isinstance(table.absence, Wait) else _("more or less time"),
        _with_more_time,
    ),
)


def _describe_set_up(table: Open) -> list[tuple[str, str]]:
    """Return how a new table would be: the keys, and the setting that they change, where there are any."""
    return [(row.keys, words) for row in _ROWS if row.keys and (words := row.words(table))]


def _lines_of_new_table(at: At) -> Iterator[MenuLine]:
    yield MenuLine(_("Open the table"), at.ui.new_table)
    for row in _ROWS:
        if words := row.words(at.ui.new_table):
            about = _(row.help) if row.help else ""
            yield MenuLine(words, about=about, turned=functools.partial(_turned, row))


def _turned(row: _Row, ui: Ui, by: int) -> Ui:
    return replace(ui, new_table=row.turned(ui.new_table, by))


NEW_TABLE: Final = Page(N_("A new table"), _lines_of_new_table, elsewhere=True)


def table_cells(table: TableSummary) -> str:
    cells = zip((table.table, printable(table.host), tables.describe_seats(table)), _COLUMNS, strict=True)
    return "".join(padded(*cell) for cell in cells)


def _describe_seat(table: TableSummary, kept: frozenset[str]) -> str:
    return _("your seat") if table.table in kept else describe_free_seat(table)


def describe_free_seat(table: TableSummary) -> str:
    """Return that a seat of a game under way can be taken over, if one can."""
    return _("a seat is free") if table.vacant else ""

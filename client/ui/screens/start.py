"""The start screen: where to go, and the forms with what its player prefers."""

import enum
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from msgspec import Struct, structs

from client.finding.found import SeatAnswer, is_turn
from client.language import N_, _, counted, listed, parted
from client.levels import describe_level
from client.player.preferences import Preferences
from client.player.seats import KeptSeat
from client.records import NONE_SOLVED, Solved
from client.tables.table import TableModel
from client.typed_text import BadText, fault_of
from client.ui import requests
from client.ui.draw.page import List, ListScreen, line_chosen
from client.ui.frame import Line
from client.ui.keys import LINES, ON_EVERY_PAGE, Act, Action, ChooseLine, Key
from client.ui.screens.lobby import ask_name
from client.ui.screens.menu import At, Form, MenuLine, Page
from client.ui.screens.search import Search, describe_turn
from client.ui.screens.settings import OF_HOST, OWN, Row
from client.ui.state import Choices, LinePrompt, ListLine, Outcome, Pane, TypedLine, Ui
from client.ui.texts.habits import describe_solved
from client.ui.texts.times import clock_time
from protocol.admin import EveningPlan
from protocol.limits import TITLE_LENGTH
from protocol.messages import NEW, ChangeSetting, Turn
from protocol.settings import Title
from protocol.text import printable


class StartLine(enum.Enum):
    """A choice that is always on the start screen: title, meaning."""

    LEARN = N_("Learn the game"), N_("a guided first game")
    PLAY = N_("Play against bots"), N_("{players}; bots: {level}")
    HOST = N_("Host a game"), N_("for others on your network")
    JOIN = N_("Join a game"), N_("on your network, or at an address")
    PROBLEMS = N_("Problems"), N_("find the best move: the problem of the day, and more")
    HISTORY = N_("Past games"), N_("those you have played or hosted")
    SETTINGS = N_("Settings"), N_("name, bots, bell, notifications")


class LeftGame(Struct, frozen=True):
    """A game against bots that can be continued: its name, for how many players it is, when it was left."""

    name: str
    players: int
    when: str


class StoppedTable(Struct, frozen=True):
    """A table of the server that this program hosts and that is not running."""

    seat: KeptSeat
    turn: Turn
    others: tuple[str, ...]
    when: str


Choice: TypeAlias = KeptSeat | StoppedTable | LeftGame | StartLine | str  # a string is a server joined before


def _lines_of(rows: Iterable[Row], at: At) -> Iterator[MenuLine]:
    """Yield the rows of a form about what the player of the start screen prefers."""
    start = at.ui.page
    assert isinstance(start, Start)  # noqa: S101 - no other screen opens these forms
    now = structs.replace(start.preferences, name=at.ui.name)
    for row in rows:
        if row.when(now):
            turned = functools.partial(_turned, row)
            yield MenuLine(_(row.name), about=row.about(now), value=row.value(now), turned=turned)


def _turned(row: Row, ui: Ui, by: int) -> Ui:
    start = ui.page
    assert isinstance(start, Start)  # noqa: S101 - no other screen opens these forms
    if row.prompt is None:
        return start.with_preferences(ui, row.turned(start.preferences, by))
    now = structs.replace(start.preferences, name=ui.name)
    return replace(ui, entry=TypedLine(row.prompt).filled(row.typed(now)))


def _lines_of_host(at: At) -> Iterator[MenuLine]:
    about = N_("Your server runs in this program. Others on your network find it.")
    yield MenuLine(_("Start hosting"), requests.Errand.HOST, about=_(about))
    yield from _lines_of(OF_HOST, at)


SETTINGS: Final = Page(N_("Settings"), functools.partial(_lines_of, OWN), elsewhere=True)
HOSTING: Final = Page(N_("Host a game"), _lines_of_host, elsewhere=True)
LEADS_TO: Final[Mapping[StartLine, requests.Errand | Page]] = {
    StartLine.LEARN: requests.Errand.LEARN,
    StartLine.PLAY: requests.Errand.PLAY,
    StartLine.HOST: HOSTING,
    StartLine.JOIN: requests.Errand.SEARCH,
    StartLine.PROBLEMS: requests.Errand.SOLVE,
    StartLine.HISTORY: requests.Errand.LOOK_BACK,
    StartLine.SETTINGS: SETTINGS,
}


def _open_settings(_start: "Start", ui: Ui, _model: TableModel) -> Outcome:
    return ui.opened(Form(SETTINGS)), None


_KEYS: Final = (
    *LINES,
    Key(("enter", " "), Act.CONFIRM, N_("choose this line"), N_("go")),
    Key(("o",), _open_settings, N_("your settings: name, bots, bell, notifications"), N_("settings")),
    Key(("n",), ask_name, N_("change the name others see"), N_("name")),
    Key(("escape",), Act.LEAVE, N_("quit"), typed=("back",)),
    *ON_EVERY_PAGE,
)


@dataclass(frozen=True, slots=True)
class Start(ListScreen):
    """The start screen, with what its player prefers; the name is that of the state.

    `left` are the games that can be continued, `chosen` is the line that the player is on. `waiting` are the
    games under way where the player has a seat, as their servers say; one where it is the player's turn is
    chosen, unless the player has `moved`. So is the first of the `stopped` tables, at which others wait.
    `solved` are the problems that the player has solved.
    """

    preferences: Preferences
    left: tuple[LeftGame, ...] = ()
    chosen: Choice = StartLine.LEARN
    waiting: Mapping[KeptSeat, Turn] = field(default_factory=dict)
    moved: bool = False
    stopped: tuple[StoppedTable, ...] = ()
    solved: Solved = NONE_SOLVED

    @property
    def lines(self) -> tuple[Choice, ...]:
        games = sorted(self.waiting, key=lambda seat: not is_turn(self.waiting[seat]))
        return (*self.to_host_on, *games, *self.left, *StartLine, *self.preferences.servers)

    @property
    def to_host_on(self) -> tuple[StoppedTable, ...]:
        """Return the stopped tables that no other program has begun to host since."""
        return tuple(each for each in self.stopped if each.seat not in self.waiting)

    asks_to_quit = True

    own_keys = _KEYS

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        lines = self.lines
        if (there := line_chosen(action, lines.index(self.chosen), len(lines))) is not None:
            return ui.with_page(replace(self, chosen=lines[there], moved=True)), None
        match action:
            case Act.CONFIRM | ChooseLine():
                leads = _where(self.chosen)
                return (ui.opened(Form(leads)), None) if isinstance(leads, Page) else (ui, leads)
            case _:
                return ui, None

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        return [_welcome(self, ui)]

    def choices(self, ui: Ui, model: TableModel) -> Choices:
        lines = self.lines
        return Choices([_line_of(each, self) for each in lines], lines.index(self.chosen))

    def named_evening(self, ui: Ui, name: str) -> Ui:
        """Return the state with an evening of this name to be held, none if it is empty."""
        plan = self.preferences.evening or EveningPlan(name, _USUAL_ROUNDS)
        evening = structs.replace(plan, name=name) if name else None
        return self.with_preferences(ui, structs.replace(self.preferences, evening=evening))

    def with_preferences(self, ui: Ui, preferences: Preferences) -> Ui:
        return ui.with_page(replace(self, preferences=preferences))

    def place(self, pane: Pane) -> str:
        return "Palatinus"

    def heading(self, pane: Pane) -> str:
        return _("Palatinus: the seven hills of Rome")

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        choices = self.choices(pane.ui, pane.model)
        return List(_welcome(self, pane.ui), choices, _TITLE_WIDTH, below=False).laid_out(pane), 0


def with_seats(ui: Ui, seats: Collection[KeptSeat]) -> Ui:
    """Return the state with the games at these seats alone: others are over, or given up."""
    start = ui.page
    if not isinstance(start, Start):
        return ui
    return _with_waiting(ui, start, {seat: start.waiting[seat] for seat in seats if seat in start.waiting})


def seat_stands(ui: Ui, seat: KeptSeat, answer: SeatAnswer) -> Ui:
    """Return the state with the status of a seat's game; a game that is not under way is not listed."""
    start = ui.page
    if not isinstance(start, Start):
        return ui
    waiting = {each: turn for each, turn in start.waiting.items() if each != seat}
    if isinstance(answer, Turn) and answer.stage == "playing" and not answer.archived:
        waiting[seat] = answer
    return _with_waiting(ui, start, waiting)


def with_stopped(ui: Ui, stopped: Sequence[StoppedTable]) -> Ui:
    """Return the state with the stopped tables; the first is chosen if the player was there or hosted."""
    start = ui.page
    if not isinstance(start, Start):
        return ui
    hosted = start.chosen is StartLine.HOST or isinstance(start.chosen, StoppedTable)
    start = replace(start, stopped=tuple(stopped))
    if hosted or not start.moved:
        usual = StartLine.HOST if hosted else start.chosen
        start = replace(start, chosen=next(iter(start.to_host_on), usual))
    return ui.with_page(start)


def with_solved(ui: Ui, solved: Solved) -> Ui:
    """Return the state with the problems that are solved."""
    start = ui.page
    return ui.with_page(replace(start, solved=solved)) if isinstance(start, Start) else ui


def with_left(ui: Ui, left: Sequence[LeftGame]) -> Ui:
    """Return the state with the games that can be continued, the latest first; a new one is chosen."""
    start = ui.page
    if not isinstance(start, Start):
        return ui
    known, chosen = {each.name for each in start.left}, start.chosen
    new = (each for each in left if each.name not in known)
    if isinstance(chosen, LeftGame):  # which may have been left again since, or be over
        chosen = next((each for each in left if each.name == chosen.name), StartLine.PLAY)
    return ui.with_page(replace(start, left=tuple(left), chosen=next(new, chosen)))


def _with_waiting(ui: Ui, start: Start, waiting: Mapping[KeptSeat, Turn]) -> Ui:
    start = replace(start, waiting=waiting)
    first = start.lines[0]
    if not start.moved and isinstance(first, KeptSeat) and is_turn(waiting[first]):
        start = replace(start, chosen=first)
    if start.chosen not in start.lines:  # a game that is not there any more
        start = replace(start, chosen=StartLine.JOIN)
    return ui.with_page(start)


def _where(chosen: Choice) -> requests.Request | Page:
    match chosen:
        case StartLine():
            return LEADS_TO[chosen]
        case LeftGame(name):
            return requests.Continue(name)
        case StoppedTable(KeptSeat(server, table)):
            return requests.HostOn(server, table)
        case KeptSeat(server, table):
            return requests.GoTo(server, table)
        case server:
            return requests.GoTo(server)


def accept_answer(ui: Ui, asked: LinePrompt, text: str) -> Outcome:
    """Accept typed input: a name, a title of a table or an evening, or an address to join."""
    if asked is LinePrompt.TITLE:
        if len(text) <= TITLE_LENGTH:
            return ui, ChangeSetting(NEW, Title(text))
        too_long = _("The name is too long: at most {most} characters.").format(most=TITLE_LENGTH)
        return ui.with_notice(too_long, refusal=True), None
    if asked is LinePrompt.EVENING and isinstance(ui.page, Start):
        if text and (fault := fault_of(text, TITLE_LENGTH)) is not None:
            return ui.with_notice(fault, refusal=True), None
        return ui.page.named_evening(ui, text), None
    if asked is LinePrompt.NAME:
        if (fault := fault_of(text)) is not None:
            return ui.with_notice(fault, refusal=True), None
        if isinstance(ui.page, Start):
            return replace(ui, name=text), None
        return replace(ui, name=text, retry=None), requests.Rename(text, ui.retry)
    assert isinstance(ui.page, Search)  # noqa: S101 - nothing else asks for an address
    try:
        return ui.page.go(ui, ui.page.meant(text))
    except BadText as error:
        said = str(error)
        return ui.with_notice(f"{said[:1].upper()}{said[1:]}.", refusal=True), None


_TITLE_WIDTH = 22
_USUAL_ROUNDS: Final = 4


def _welcome(start: Start, ui: Ui) -> str:
    """Return how the player is greeted: with the table that has stopped, if any has."""
    stopped = map(_describe_stop, start.to_host_on[:1])
    return " ".join((_("Welcome, {name}.").format(name=ui.name), *stopped))


def _describe_stop(table: StoppedTable) -> str:
    turn = table.turn
    text = _("Your table {table} stopped at {moment}: {turn}.")
    if turn.turn is not None and not turn.paused:
        text = _("Your table {table} stopped at {moment}; it is {name}'s turn.")
        if is_turn(turn):
            text = _("Your table {table} stopped at {moment}; it is your turn.")
    name = printable(turn.name or "")
    return text.format(table=table.seat.table, moment=table.when, name=name, turn=describe_turn(turn))


def _describe_others(table: StoppedTable) -> str:
    if not table.others:
        return table.seat.table
    form = counted("{names} comes back", "{names} come back", len(table.others))
    return parted([table.seat.table, form.format(names=listed(map(printable, table.others)))])


def _line_of(chosen: Choice, start: Start) -> ListLine:
    title, words = _describe(chosen, start)
    if isinstance(chosen, str):  # which of them it is has to be seen everywhere
        return ListLine(title, words)
    turn = start.waiting.get(chosen) if isinstance(chosen, KeptSeat) else None
    return ListLine(title, about=words, style="" if turn is None or not is_turn(turn) else "class:mine")


def _describe(chosen: Choice, start: Start) -> tuple[str, str]:
    if isinstance(chosen, StoppedTable):
        return _("Host on"), _describe_others(chosen)
    if isinstance(chosen, KeptSeat):
        return _describe_game(chosen, start.waiting[chosen])
    if isinstance(chosen, LeftGame):
        bots = chosen.players - 1
        words = counted("your game of {when} against {n} bot", "your game of {when} against {n} bots", bots)
        return _("Continue"), words.format(n=bots, when=chosen.when)
    if not isinstance(chosen, StartLine):
        return _("Join again"), chosen
    title, words = chosen.value
    now = start.preferences
    if chosen is StartLine.PLAY:
        players = counted("{n} player", "{n} players", now.players).format(n=now.players)
        return _(title), _(words).format(players=players, level=describe_level(now.brain))
    if chosen is StartLine.HOST and (plan := now.evening) is not None:
        words = _("the evening {name}, without rounds")
        if plan.rounds:
            words = counted("the evening {name}, {n} round", "the evening {name}, {n} rounds", plan.rounds)
        return _(title), words.format(name=plan.name, n=plan.rounds)
    if chosen is StartLine.PROBLEMS and (start.solved.count or start.solved.in_a_row):
        return _(title), _describe_solved(start.solved)
    return _(title), _(words)


def _describe_solved(solved: Solved) -> str:
    """Return how many problems are solved, and whether that of the day is."""
    days = solved.in_a_row
    if solved.today:
        form = counted("today's is solved", "today's is solved, {n} days in a row", days)
    elif days:
        form = counted("yesterday's is solved", "those of the last {n} days are solved", days)
    else:
        form = _("today's is not")
    return parted((describe_solved(solved), form.format(n=days)))


def _describe_game(seat: KeptSeat, turn: Turn) -> tuple[str, str]:
    you = _("you are {name}").format(name=seat.name)
    if not is_turn(turn):
        return _("Your game"), parted([seat.table, describe_turn(turn), you, seat.server])
    time = "" if turn.clock is None else _("{time} left").format(time=clock_time(turn.clock / 1000))
    return _("Your turn"), parted(filter(None, [seat.table, time, you, seat.server]))

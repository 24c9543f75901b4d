"""The start screen: where to go, and how a game against bots would be."""

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self, TypeAlias, TypeVar

from msgspec import Struct, structs

from client.finding.found import SeatAnswer, is_turn
from client.language import N_, _, counted, labelled, listed, parted
from client.levels import describe_level, describe_temper
from client.player.preferences import Preferences, WaysIn
from client.player.seats import KeptSeat
from client.player.terminal import DesktopNotices
from client.records import DaysSolved
from client.tables.table import TableModel
from client.typed_text import BadText, fault_of
from client.ui import requests
from client.ui.draw.page import LOG_LINES, ListScreen, choice, line_chosen, rows_around, settings
from client.ui.frame import EMPTY, Line, clickable, dotted, indented, line, padded, paragraphs
from client.ui.keys import LINES, ON_EVERY_PAGE, Act, Action, ChooseLine, Handler, Key, Pick
from client.ui.screens.lobby import ask_name
from client.ui.screens.search import Search, describe_turn
from client.ui.state import LinePrompt, Outcome, Pane, TypedLine, Ui
from client.ui.texts.pieces import PEOPLES
from client.ui.texts.tables import describe_layout
from client.ui.texts.times import clock_time
from engine.pieces import People
from protocol.admin import EveningPlan
from protocol.limits import TITLE_LENGTH
from protocol.messages import NEW, ChangeSetting, Turn
from protocol.settings import Title
from protocol.text import printable

T = TypeVar("T")


class StartLine(enum.Enum):
    """A choice that is always on the start screen: title, meaning, errand."""

    LEARN = N_("Learn the game"), N_("a guided first game; takes a few minutes"), requests.Errand.LEARN
    PLAY = N_("Play against bots"), N_("right away, with nothing to set up"), requests.Errand.PLAY
    HOST = N_("Host a game"), N_("on this computer, for others on your network"), requests.Errand.HOST
    JOIN = N_("Join a game"), N_("found on your network, or at an address"), requests.Errand.SEARCH
    PROBLEMS = (
        N_("Problems"),
        N_("find the best move: the problem of the day, and more"),
        requests.Errand.SOLVE,
    )
    HISTORY = (
        N_("Past games"),
        N_("look through the games you have played or hosted"),
        requests.Errand.LOOK_BACK,
    )


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


def _setting(line: StartLine | None, change: Callable[["Start"], Mapping[str, object]]) -> Handler:
    """Return what changes the preferences, at the line that they are about, if they are about one."""

    def changed(start: "Start", ui: Ui, _model: TableModel) -> Outcome:
        return start.with_preferences(ui, line or start.chosen, **change(start)), None

    return changed


def _name_evening(start: "Start", ui: Ui, _model: TableModel) -> Outcome:
    evening = start.preferences.evening
    name = "" if evening is None else evening.name
    return replace(ui, entry=TypedLine(LinePrompt.EVENING).filled(name)), None


def _one_round_more(start: "Start", ui: Ui, _model: TableModel) -> Outcome:
    if (evening := start.preferences.evening) is None:
        return ui, None
    longer = structs.replace(evening, rounds=(evening.rounds + 1) % (_MOST_ROUNDS + 1))
    return start.with_preferences(ui, StartLine.HOST, evening=longer), None


_KEYS: Final = (
    *LINES,
    Key(("enter", " "), Act.CONFIRM, N_("choose this line"), N_("go")),
    *(
        Key((str(n),), Pick(n), N_("how many players, bots included"), typed=(f"players {n}",))
        for n in range(2, 6)
    ),
    Key(
        ("x",),
        _setting(StartLine.PLAY, lambda start: {"random_layout": not start.preferences.random_layout}),
        N_("lay the tiles, or have them laid at random"),
        N_("layout"),
    ),
    Key(
        ("p",),
        _setting(StartLine.PLAY, lambda start: {"people": _after(start.preferences.people, (None, *People))}),
        N_("choose the people that you play"),
        N_("people"),
    ),
    Key(
        ("a",),
        _setting(StartLine.PLAY, lambda start: {"human_pace": not start.preferences.human_pace}),
        N_("have the bots move at once, or take their time like people"),
    ),
    Key(
        ("s",),
        _setting(StartLine.PLAY, lambda start: {"brain": _after(start.preferences.brain, start.levels)}),
        N_("change the bots' strength"),
        N_("strength"),
    ),
    Key(
        ("w",),
        _setting(StartLine.HOST, lambda start: {"ways_in": _after(start.preferences.ways_in, tuple(WaysIn))}),
        N_("open the games you host to browsers and ssh, or not"),
    ),
    Key(("e",), _name_evening, N_("host an evening: the server decides who plays whom")),
    Key(
        ("r",),
        _one_round_more,
        N_("how many rounds the evening has"),
        when=lambda start, _ui, _model: start.preferences.evening is not None,
    ),
    Key(("n",), ask_name, N_("change the name others see"), N_("name")),
    Key(
        ("b",),
        _setting(None, lambda start: {"bell": not start.preferences.bell}),
        N_("ring when it is your turn, or not"),
    ),
    Key(
        ("t",),
        _setting(None, lambda start: {"title": not start.preferences.title}),
        N_("show your turn in the window's title, or not"),
    ),
    Key(
        ("d",),
        _setting(None, lambda start: {"notices": _after(start.preferences.notices, tuple(DesktopNotices))}),
        N_("desktop notifications: where the terminal is known, OSC 9, OSC 777, none"),
    ),
    Key(("escape",), Act.LEAVE, N_("quit"), typed=("back",)),
    *ON_EVERY_PAGE,
)


_NONE_SOLVED: Final = DaysSolved(today=False, in_a_row=0)


@dataclass(frozen=True, slots=True)
class Start(ListScreen):
    """The start screen: the levels of bots, and what its player prefers; the name is that of the state.

    `left` are the games that can be continued, `chosen` is the line that the player is on. `waiting` are the
    games under way where the player has a seat, as their servers say; one where it is the player's turn is
    chosen, unless the player has `moved`. So is the first of the `stopped` tables, at which others wait.
    `solved` are the days whose problems the player has solved.
    """

    levels: tuple[str, ...]
    preferences: Preferences
    left: tuple[LeftGame, ...] = ()
    chosen: Choice = StartLine.LEARN
    waiting: Mapping[KeptSeat, Turn] = field(default_factory=dict)
    moved: bool = False
    stopped: tuple[StoppedTable, ...] = ()
    solved: DaysSolved = _NONE_SOLVED

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
                return ui, _where(self.chosen)
            case Pick(number):
                return self.with_preferences(ui, StartLine.PLAY, players=number), None
            case _:
                return ui, None

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        welcome = _welcome(self, ui)
        (numbers, players), *others = _set_up(self, temper=True)  # in lines, a number alone is a choice
        return [welcome, *(labelled(*each) for each in ((f"players {numbers}", players), *others))]

    def options(self, ui: Ui, model: TableModel) -> Sequence[str]:
        return [labelled(*_describe(each, self)) for each in self.lines]

    def at_option(self, number: int) -> Self:
        return replace(self, chosen=self.lines[number], moved=True)

    def named_evening(self, ui: Ui, name: str) -> Ui:
        """Return the state with an evening of this name to be held, none if it is empty."""
        plan = self.preferences.evening or EveningPlan(name, _USUAL_ROUNDS)
        evening = structs.replace(plan, name=name) if name else None
        return self.with_preferences(ui, StartLine.HOST, evening=evening)

    def with_preferences(self, ui: Ui, line: Choice, **changes: object) -> Ui:
        """Return the state with changed preferences, at the line that they are about."""
        now = structs.replace(self.preferences, **changes)
        return ui.with_page(replace(self, preferences=now, chosen=line, moved=True))

    def place(self, pane: Pane) -> str:
        return "Palatinus"

    def heading(self, pane: Pane) -> str:
        return _("Palatinus: the seven hills of Rome")

    def rows(self, pane: Pane) -> list[Line]:
        """Return the lines to choose from, and the set-up below; where there is little room, the shorter."""
        if pane.small:
            return self._few_rows(pane)
        width = pane.width
        welcome = indented(_welcome(self, pane.ui), width, "class:heading")
        above = [EMPTY, *welcome, EMPTY]
        listed = []
        for at, line_here in enumerate(self.lines):
            title, words = _describe(line_here, self)
            title = padded(title, _TITLE_WIDTH)
            words = dotted(words, width - 2 - _TITLE_WIDTH)
            row = choice(f"{title}{words}", pane.glyphs, width, chosen=True)
            if line_here != self.chosen:
                mine = isinstance(line_here, KeptSeat) and is_turn(self.waiting[line_here])
                row = line(f"  {title}", "class:mine" if mine else "") + line(words, "class:faint")
            listed.append(clickable(row, ChooseLine(at), width))
        room = pane.height - LOG_LINES
        set_up = [EMPTY, *_set_up_lines(self, width, temper=True)]
        if len(above) + len(listed) + len(set_up) > room:
            above, set_up = [row for row in above if row], set_up[1:]
        if len(above) + len(listed) + len(set_up) > room:
            set_up = _set_up_lines(self, width, temper=False)
        room -= len(above) + len(set_up)
        return [*above, *rows_around(listed, self.lines.index(self.chosen), room, pane.glyphs), *set_up]

    def _few_rows(self, pane: Pane) -> list[Line]:
        """Return the titles, and below the chosen one what it means and how it is set up."""
        width = pane.width
        rows = indented(_welcome(self, pane.ui), width, "class:heading")
        *of_bots, calls, of_host = _set_up(self, temper=False)
        set_up = {StartLine.PLAY: of_bots, StartLine.HOST: [of_host]}
        for at, each in enumerate(self.lines):
            title, words = _describe(each, self)
            text, more = (words, title) if isinstance(each, str) else (title, words)
            row = choice(text, pane.glyphs, width, chosen=each == self.chosen)
            rows.append(clickable(row, ChooseLine(at), width))
            if each == self.chosen:
                told = paragraphs([more], width - 4, "class:faint")
                rows += [clickable(line("    ") + row, ChooseLine(at), width) for row in told]
                rows += settings(set_up.get(each, ()) if isinstance(each, StartLine) else (), width)
        return rows + settings([calls], width)


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


def with_solved(ui: Ui, solved: DaysSolved) -> Ui:
    """Return the state with the days whose problems are solved."""
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


def _where(chosen: Choice) -> requests.Request:
    match chosen:
        case StartLine():
            return chosen.value[2]
        case LeftGame(name):
            return requests.Continue(name)
        case StoppedTable(KeptSeat(server, table)):
            return requests.HostOn(server, table)
        case KeptSeat(server, table):
            return requests.GoTo(server, table)
        case server:
            return requests.GoTo(server)


def _after(one: T, every: Sequence[T]) -> T:
    """Return the next of them, after the last the first."""
    return every[(every.index(one) + 1) % len(every)]


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
_MOST_ROUNDS: Final = 8  # that the key leads to; after them, as many as people like


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
    title, words, _errand = chosen.value
    if chosen is StartLine.HOST and (plan := start.preferences.evening) is not None:
        words = _("the evening {name}, without rounds")
        if plan.rounds:
            words = counted("the evening {name}, {n} round", "the evening {name}, {n} rounds", plan.rounds)
        return _(title), words.format(name=plan.name, n=plan.rounds)
    if chosen is StartLine.PROBLEMS and (days := start.solved.in_a_row):
        if start.solved.today:
            words = counted(
                "the problem of the day is solved",
                "the problem of the day is solved, {n} days in a row",
                days,
            )
        else:
            words = counted(
                "the problem of the day; yesterday's is solved",
                "the problem of the day; the last {n} are solved",
                days,
            )
        return _(title), words.format(n=days)
    return _(title), _(words)


def _describe_game(seat: KeptSeat, turn: Turn) -> tuple[str, str]:
    you = _("you are {name}").format(name=seat.name)
    if not is_turn(turn):
        return _("Your game"), parted([seat.table, describe_turn(turn), you, seat.server])
    time = "" if turn.clock is None else _("{time} left").format(time=clock_time(turn.clock / 1000))
    return _("Your turn"), parted(filter(None, [seat.table, time, you, seat.server]))


_NOTICES: Final = {
    DesktopNotices.AUTO: N_("desktop notifications"),
    DesktopNotices.OSC9: N_("desktop notifications (OSC 9)"),
    DesktopNotices.OSC777: N_("desktop notifications (OSC 777)"),
    DesktopNotices.NONE: N_("no notifications"),
}


_WAYS_IN: Final = {
    WaysIn.NONE: N_("games you host: with Palatinus alone"),
    WaysIn.WEB: N_("games you host: in browsers too"),
    WaysIn.SSH: N_("games you host: over ssh too, with nothing installed"),
    WaysIn.BOTH: N_("games you host: over ssh and in browsers too"),
}


def _set_up_lines(start: Start, width: int, *, temper: bool) -> list[Line]:
    style = "" if start.chosen is StartLine.PLAY else "class:faint"
    heading = [line("  " + _("A game against bots"), "class:heading")] if temper else []
    return [*heading, *settings(_set_up(start, temper=temper), width, style)]


def _set_up(start: Start, *, temper: bool) -> tuple[tuple[str, str], ...]:
    """Return how a game against bots would be, and how the player is called, with the keys that change it."""
    now = start.preferences
    bots = _("bots: {level}, moves {pace}. {temper}").format(
        level=describe_level(now.brain),
        pace=_("with some delay") if now.human_pace else _("at once"),
        temper=describe_temper(now.brain) if temper else "",
    )
    people = _("whichever is left") if now.people is None else _(PEOPLES[now.people])
    bell = _("bell") if now.bell else _("no bell")
    title = _("title") if now.title else _("no title")
    ways = ", ".join((bell, title, _(_NOTICES[now.notices])))
    return (
        ("2-5", counted("{n} player", "{n} players", now.players).format(n=now.players)),
        ("x", describe_layout(at_random=now.random_layout)),
        ("p", _("your people: {people}").format(people=people)),
        ("s,a", bots),
        ("b,t,d", _("your turn: {ways}").format(ways=ways)),
        ("w,e,r", parted([_(_WAYS_IN[now.ways_in]), *([] if now.evening else [_("no evening")])])),
    )

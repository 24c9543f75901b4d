"""The start screen: where to go, and how a game against bots would be."""

import enum
from dataclasses import dataclass, replace
from typing import Final

from msgspec import Struct, structs

from client.finding.found import named
from client.language import N_, _, counted
from client.levels import describe_level, describe_temper
from client.player.preferences import WaysIn
from client.player.terminal import Calling, Notices
from client.tables.table import TableModel
from client.typed_text import BadText, fault_of, server_url
from client.ui import requests
from client.ui.draw.news_lines import LOG_LINES
from client.ui.draw.page import ListScreen, choice, line_chosen, settings
from client.ui.frame import EMPTY, Block, Line, Row, beside, block_of, line, padded
from client.ui.keys import ON_EVERY_PAGE, Act, Action, ChooseLine, Key, Pick, Way
from client.ui.screens.search import Search
from client.ui.state import Asked, Entry, Notice, Outcome, Pane, Ui
from client.ui.texts.pieces import PEOPLES
from engine.pieces import People
from protocol.limits import TITLE_LENGTH
from protocol.messages import NEW, ChangeSetting
from protocol.settings import Title

_KEYS: Final = (
    Key(("up", "k", "scroll-up"), Way.UP, N_("the line above")),
    Key(("down", "j", "scroll-down"), Way.DOWN, N_("the line below")),
    Key(("enter", " "), Act.CONFIRM, N_("choose this line"), N_("go")),
    *(Key((str(n),), Pick(n), N_("how many players, bots included")) for n in range(2, 6)),
    Key(("x",), Act.LAYOUT, N_("lay the tiles, or have them laid at random"), N_("layout")),
    Key(("p",), Act.PEOPLE, N_("choose the people that you play"), N_("people")),
    Key(("a",), Act.PACE, N_("have the bots move at once, or take their time like people")),
    Key(("s",), Act.BRAIN, N_("change the bots' strength"), N_("strength")),
    Key(("w",), Act.WAYS_IN, N_("open the games you host to browsers and ssh, or not")),
    Key(("n",), Act.NAME, N_("change the name others see"), N_("name")),
    Key(("b",), Act.BELL, N_("ring when it is your turn, or not")),
    Key(("t",), Act.WINDOW_TITLE, N_("show it in the window's title, or not")),
    Key(("d",), Act.NOTICES, N_("desktop notices: where the terminal is known, OSC 9, OSC 777, none")),
    Key(("escape",), Act.LEAVE, N_("quit")),
    *ON_EVERY_PAGE,
)
_AS_USUAL: Final = Calling()


class StartLine(enum.Enum):
    """A choice on the start screen, other than the servers joined before: its title, and what it means."""

    CONTINUE = N_("Continue"), ""
    LEARN = N_("Learn the game"), N_("a guided first game; takes a few minutes")
    PLAY = N_("Play against bots"), N_("right away, with nothing to set up")
    HOST = N_("Host a game"), N_("on this computer, for others on your network")
    JOIN = N_("Join a game"), N_("found on your network, or at an address")
    HISTORY = N_("Past games"), N_("look through the games you have played or hosted")


_ERRANDS: Final = {
    StartLine.CONTINUE: requests.Errand.CONTINUE,
    StartLine.LEARN: requests.Errand.LEARN,
    StartLine.HOST: requests.Errand.HOST,
    StartLine.JOIN: requests.Errand.SEARCH,
    StartLine.HISTORY: requests.Errand.LOOK_BACK,
}


class LeftGame(Struct, frozen=True):
    """A game against bots that can be continued: for how many players, and when it was left."""

    players: int
    when: str


@dataclass(frozen=True, slots=True)
class Start(ListScreen):
    """The start screen: the levels of bots, one of them chosen, and the servers joined before.

    With `human_pace` bots take their time for a move. `left` is the game that can be continued, `calling`
    how the player is called, `ways_in` how others reach a game that is hosted. `chosen` is the line that the
    player is on.
    """

    levels: tuple[str, ...]
    level: int = 0
    human_pace: bool = False
    servers: tuple[str, ...] = ()
    left: LeftGame | None = None
    calling: Calling = _AS_USUAL
    ways_in: WaysIn = WaysIn.NONE
    chosen: StartLine | str = StartLine.LEARN

    @property
    def lines(self) -> tuple[StartLine | str, ...]:
        every = tuple(line for line in StartLine if line is not StartLine.CONTINUE or self.left is not None)
        return (*every, *self.servers)

    asks_to_quit = True

    own_keys = _KEYS

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        lines, table = self.lines, ui.new_table
        at = lines.index(self.chosen)
        if (there := line_chosen(action, at, len(lines))) is not None:
            return _at_line(ui, self, lines[there]), None
        match action:
            case Act.CONFIRM | ChooseLine():
                return _chosen(ui, self)
            case Pick(number):
                return replace(
                    _at_line(ui, self, StartLine.PLAY), new_table=structs.replace(table, players=number)
                ), None
            case Act.LAYOUT:
                other = structs.replace(table, random_layout=not table.random_layout)
                return replace(_at_line(ui, self, StartLine.PLAY), new_table=other), None
            case Act.PEOPLE:
                every = (None, *People)
                people = every[(every.index(table.people) + 1) % len(every)]
                chosen = structs.replace(table, people=people)
                return replace(_at_line(ui, self, StartLine.PLAY), new_table=chosen), None
            case Act.BRAIN:
                level = (self.level + 1) % len(self.levels)
                return _at_line(ui, replace(self, level=level), StartLine.PLAY), None
            case Act.PACE:
                return _at_line(ui, replace(self, human_pace=not self.human_pace), StartLine.PLAY), None
            case Act.WAYS_IN:
                every_way = tuple(WaysIn)
                ways_in = every_way[(every_way.index(self.ways_in) + 1) % len(every_way)]
                return _at_line(ui, replace(self, ways_in=ways_in), StartLine.HOST), None
            case Act.BELL | Act.WINDOW_TITLE | Act.NOTICES:
                return replace(ui, page=replace(self, calling=_called(self.calling, action))), None
            case Act.NAME:
                return replace(ui, entry=Entry(asks=Asked.NAME).filled(ui.name)), None
            case _:
                return ui, None

    def place(self, pane: Pane) -> str:
        return "Palatinus"

    def heading(self, pane: Pane) -> str:
        return _("Palatinus: the seven hills of Rome")

    def block(self, pane: Pane) -> Block:
        """Return the lines to choose from, and the set-up below; where there is little room, the shorter."""
        welcome, width = _("Welcome, {name}.").format(name=pane.ui.name), pane.width
        rows: list[Row] = [(EMPTY, None), (line(f"  {welcome}", "class:heading"), None), (EMPTY, None)]
        for at, line_here in enumerate(self.lines):
            title, words = _describe(line_here, self)
            title = padded(title, _TITLE_WIDTH)
            row = choice(f"{title}{words}", pane.glyphs, width, chosen=True)
            if line_here != self.chosen:
                row = beside(line(f"  {title}"), line(words, "class:faint"))
            rows.append((row, ChooseLine(at)))
        rows.append((EMPTY, None))
        room = pane.height - LOG_LINES
        set_up = _set_up(pane.ui, self, width, temper=True)
        if len(rows) + len(set_up) > room:
            rows = [row for row in rows if row[0] is not EMPTY]
        if len(rows) + len(set_up) > room:
            set_up = _set_up(pane.ui, self, width, temper=False)
        return block_of([*rows, *((row, None) for row in set_up)], width)


def _called(calling: Calling, action: Act) -> Calling:
    if action is Act.BELL:
        return replace(calling, bell=not calling.bell)
    if action is Act.WINDOW_TITLE:
        return replace(calling, title=not calling.title)
    every = tuple(Notices)
    return replace(calling, notices=every[(every.index(calling.notices) + 1) % len(every)])


def _at_line(ui: Ui, start: Start, chosen: StartLine | str) -> Ui:
    return replace(ui, page=replace(start, chosen=chosen))


def _chosen(ui: Ui, start: Start) -> Outcome:
    match start.chosen:
        case StartLine.PLAY:
            level, table = start.levels[start.level], ui.new_table
            return ui, requests.PlayBots(table.players, level, table.random_layout, table.people)
        case StartLine() as chosen:
            return ui, _ERRANDS[chosen]
        case server:
            return ui, requests.GoTo(server)


def typed(ui: Ui, asked: Asked, text: str) -> Outcome:
    """Accept typed input: a name, a table's title, or the address of a server to join.

    A server found on the network can also be given by its name.
    """
    if asked is Asked.TITLE:
        if len(text) > TITLE_LENGTH:
            too_long = _("The name is too long: at most {most} characters.").format(most=TITLE_LENGTH)
            return replace(ui, notice=Notice(too_long, refusal=True)), None
        return ui, ChangeSetting(NEW, Title(text))
    if asked is Asked.NAME:
        if (fault := fault_of(text)) is not None:
            return replace(ui, notice=Notice(fault, refusal=True)), None
        if isinstance(ui.page, Start):
            return replace(ui, name=text), None
        return replace(ui, name=text, retry=None), requests.Rename(text, ui.retry)
    if isinstance(ui.page, Search) and (server := named(ui.page.found, text)) is not None:
        return ui, requests.GoTo(server.url)
    try:
        return ui, requests.GoTo(server_url(text))
    except BadText as error:
        return replace(ui, notice=Notice(f"{error}.", refusal=True)), None


_TITLE_WIDTH = 22


def _describe(chosen: StartLine | str, start: Start) -> tuple[str, str]:
    if not isinstance(chosen, StartLine):
        return _("Join again"), chosen
    title, words = chosen.value
    if chosen is StartLine.CONTINUE and start.left is not None:
        return _(title), _describe_left(start.left)
    return _(title), _(words)


def _describe_left(left: LeftGame) -> str:
    form = counted(
        "your game of {when} against {n} bot", "your game of {when} against {n} bots", left.players - 1
    )
    return form.format(n=left.players - 1, when=left.when)


_NOTICES: Final = {
    Notices.AUTO: N_("desktop notices"),
    Notices.OSC9: N_("desktop notices (OSC 9)"),
    Notices.OSC777: N_("desktop notices (OSC 777)"),
    Notices.NONE: N_("no notices"),
}


_WAYS_IN: Final = {
    WaysIn.NONE: N_("games you host: with Palatinus alone"),
    WaysIn.WEB: N_("games you host: shown in browsers too"),
    WaysIn.SSH: N_("games you host: over ssh too, with nothing installed"),
    WaysIn.BOTH: N_("games you host: over ssh too, and shown in browsers"),
}


def _describe_calling(calling: Calling) -> str:
    ways = (
        _("bell") if calling.bell else _("no bell"),
        _("title") if calling.title else _("no title"),
        _(_NOTICES[calling.notices]),
    )
    return _("your turn: {ways}").format(ways=", ".join(ways))


def _describe_people(people: People | None) -> str:
    name = _("whichever is left") if people is None else _(PEOPLES[people])
    return _("your people: {people}").format(people=name)


def _set_up(ui: Ui, start: Start, width: int, *, temper: bool) -> list[Line]:
    """Return how a game against bots would be, and how the player is called, with the keys that change it."""
    level = start.levels[start.level]
    style = "" if start.chosen is StartLine.PLAY else "class:faint"
    bots = _("bots: {level}, moves {pace}. {temper}").format(
        level=describe_level(level),
        pace=_("with some delay") if start.human_pace else _("at once"),
        temper=describe_temper(level) if temper else "",
    )
    keys_and_words = (
        ("2-5", counted("{n} player", "{n} players", ui.new_table.players).format(n=ui.new_table.players)),
        (
            "x",
            _("the tiles are laid at random")
            if ui.new_table.random_layout
            else _("the players lay the tiles"),
        ),
        ("p", _describe_people(ui.new_table.people)),
        ("s,a", bots),
        ("b,t,d", _describe_calling(start.calling)),
        ("w", _(_WAYS_IN[start.ways_in])),
    )
    return [line("  " + _("A game against bots"), "class:heading"), *settings(keys_and_words, width, style)]

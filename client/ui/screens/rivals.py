"""The bots' levels as rivals, from the weakest to the strongest, and the player's habits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from prompt_toolkit.utils import get_cwidth

from client.language import N_, _, counted, listed
from client.levels import describe_level, describe_temper
from client.records import Habits, Ladder
from client.tables.table import TableModel
from client.ui import requests
from client.ui.draw.page import ListScreen, choice, line_chosen, rows_around
from client.ui.frame import EMPTY, Line, clickable, cut, dotted, indented, line, padded
from client.ui.keys import ON_EVERY_PAGE, Act, Action, ChooseLine, Key, Way
from client.ui.state import Choices, ListLine, Outcome, Pane, Ui
from client.ui.texts.habits import describe_habits, rank_of

_KEYS: Final = (
    Key(("up", "k", "scroll-up"), Way.UP, N_("the rival above")),
    Key(("down", "j", "scroll-down"), Way.DOWN, N_("the rival below")),
    Key(("enter", " "), Act.CONFIRM, N_("play against this rival"), N_("play")),
    Key(("escape", "tab"), Act.LEAVE, N_("back to where you came from"), N_("leave"), typed=("back",)),
    *ON_EVERY_PAGE,
)


@dataclass(frozen=True, slots=True)
class Rivals(ListScreen):
    """The rivals, of whom one is chosen, and the habits as soon as they are known."""

    ladder: Ladder
    chosen: int
    habits: Habits | None = None

    own_keys = _KEYS
    own_log = ()

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        if (there := line_chosen(action, self.chosen, len(self.ladder.bots))) is not None:
            return ui.with_page(replace(self, chosen=there)), None
        match action:
            case Act.CONFIRM | ChooseLine():
                return ui, requests.Challenge(self.ladder.bots[self.chosen].name)
            case Act.LEAVE:
                return ui, requests.Errand.GO_HOME
            case _:
                return ui, None

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        return [self._next(), describe_temper(self.ladder.bots[self.chosen].name), *self._habits()]

    def choices(self, ui: Ui, model: TableModel) -> Choices:
        bots = enumerate(self.ladder.bots)
        lines = [ListLine(describe_level(each.name), about=self._told_of(at)) for at, each in bots]
        return Choices(lines, self.chosen)

    def place(self, pane: Pane) -> str:
        return _("Your rivals")

    def rows(self, pane: Pane) -> list[Line]:
        """Return the ladder with its next rival, and below it the chosen rival and the habits."""
        bots, width = self.ladder.bots, pane.width
        names = [describe_level(each.name) for each in bots]
        states = [rank_of(self.ladder, at) for at in range(len(bots))]
        widths = [max(map(get_cwidth, column)) + 2 for column in ([_("RIVAL"), *names], states)]
        numbers = [get_cwidth(_("PLAYED")), get_cwidth(_("WON"))]
        heading = padded(_("RIVAL"), sum(widths)) + f"{_('PLAYED')}  {_('WON')}  {_('LATELY')}"
        listed_rows = []
        for at, each in enumerate(bots):
            counts = f"{each.played:>{numbers[0]}}  {each.won:>{numbers[1]}}"
            text = padded(names[at], widths[0]) + padded(states[at], widths[1]) + counts
            text = dotted(f"{text}  {listed(each.lately)}".rstrip(), width - 2)
            style = "class:faint" if at > self.ladder.beaten else ""
            row = choice(text, pane.glyphs, width, chosen=at == self.chosen, style=style)
            listed_rows.append(clickable(row, ChooseLine(at)))
        rows = [EMPTY, line(f"  {cut(heading, width - 2)}", "class:heading")]
        rows += rows_around(listed_rows, self.chosen, pane.height - len(rows), pane.glyphs)
        if not pane.small:
            rows += [EMPTY, *indented(describe_temper(bots[self.chosen].name), width, "class:faint"), EMPTY]
        for at, sentence in enumerate(self._habits()):
            rows += indented(sentence, width, "" if at else "class:heading")
        return rows

    def _next(self) -> str:
        """Return the next rival, in a sentence."""
        if self.ladder.beaten == len(self.ladder.bots):
            return _("You have beaten them all.")
        rival = describe_level(self.ladder.bots[self.ladder.beaten].name)
        return _("Of your rivals, {level} is next. But play whomever you like.").format(level=rival)

    def _habits(self) -> list[str]:
        """Return a heading and the habits; that they are not known yet, or nothing if there are none."""
        if self.habits is None:
            return [_("Your habits: one moment ...")]
        return describe_habits(self.habits, self.ladder.people)

    def _told_of(self, at: int) -> str:
        """Return a rival's rank, and how the games with that rival ended."""
        rival, rank = self.ladder.bots[at], rank_of(self.ladder, at)
        told = [rank] if rank else []
        if not rival.played:
            return ", ".join((*told, _("not played yet")))
        played = counted("{n} game", "{n} games", rival.played).format(n=rival.played)
        lately = _("lately {names}").format(names=listed(rival.lately))
        return ", ".join((*told, played, _("{n} won").format(n=rival.won), lately))

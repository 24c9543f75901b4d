"""The menu of a table: pages of lines, each of which does something or tells how the table is set up."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, Self, TypeAlias

from msgspec import Struct

from client.language import N_, _, labelled
from client.tables.table import TableModel
from client.ui.draw.page import MARK, line_chosen, rows_around, short_list, with_news
from client.ui.frame import EMPTY, Line, chips, clickable, line, padded, paragraphs, width_of, wrapped
from client.ui.keys import HELP, LINES, Act, Action, ChooseLine, Key
from client.ui.requests import Request
from client.ui.state import Mute, Notice, Outcome, Overlay, Pane, TypedLine, Ui
from client.ui.texts import tables
from engine.pieces import People
from protocol.messages import TableState


class At(NamedTuple):
    """Where a player asks for something, or could: the state of the screen, and the table."""

    ui: Ui
    model: TableModel

    @property
    def state(self) -> TableState:
        """Return the table: only what is asked for at one needs it."""
        assert self.model.state is not None  # noqa: S101 - else nothing of a table is offered
        return self.model.state


class MenuLine(Struct, frozen=True):
    """A line of the menu, with the sign of a people if it is about one; without an effect, it only informs.

    `about` appears below the menu while the player is on the line. The same effect can be `typed` after a
    command's verb.
    """

    text: str
    effect: "Effect | None" = None
    people: People | None = None
    about: str = ""
    typed: str | None = None


class Page(Struct, frozen=True):
    """A page of the menu: what it lists of a table, and what it says below while no line says more."""

    heading: str
    lists: Callable[[At], Iterable[MenuLine]]
    says: Callable[[At], str] = lambda _at: ""

    def lines(self, at: At) -> list[MenuLine]:
        return [] if at.model.state is None else [*self.lists(at)]

    def about(self, at: At) -> str:
        return "" if at.model.state is None else self.says(at)


Effect: TypeAlias = Request | TypedLine | Page | Mute | Literal[Act.CANCEL]


_KEYS: Final = (
    HELP,
    *LINES,
    Key(("enter", " "), Act.CONFIRM, N_("choose this line"), N_("choose")),
    Key(("escape", "backspace", "left", "q"), Act.CANCEL, N_("back"), N_("back")),
    Key(("o",), Act.MENU, N_("close the menu"), N_("close")),
    Key(("c-c",), Act.QUIT, N_("quit")),
)


@dataclass(frozen=True, slots=True)
class TableMenu(Overlay):
    """The menu of a table at one of its pages; `chosen` is the line that the player is on."""

    page: Page
    chosen: int = 0

    own_keys = _KEYS

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        lines = self.page.lines(At(ui, model))
        if (there := line_chosen(action, self.chosen, len(lines))) is not None:
            return ui.changed(replace(self, chosen=there)), None
        match action:
            case Act.CONFIRM | ChooseLine() if self.chosen < len(lines):
                return self._do(ui, lines[self.chosen].effect)
            case Act.CANCEL:
                return self._do(ui, action)
            case Act.MENU:
                return ui.without(TableMenu), None
            case _:
                return ui, None

    def _do(self, ui: Ui, effect: Effect | None) -> Outcome:
        match effect:
            case None:
                return ui, None
            case Act.CANCEL:
                return ui.closed(), None
            case TypedLine():
                return replace(ui.without(TableMenu), entry=effect), None
            case Mute():
                return with_mute(ui.without(TableMenu), effect), None
            case Page():
                return ui.opened(TableMenu(effect)), None
            case request:
                return ui.without(TableMenu), request

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        return (_small_menu if pane.small else _menu_block)(self, pane), 0

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        return (_(self.page.heading), *filter(None, [self.page.about(At(ui, model))]))

    def options(self, ui: Ui, model: TableModel) -> Sequence[str]:
        lines = self.page.lines(At(ui, model))
        return [labelled(each.text, each.about) if each.about else each.text for each in lines]

    def at_option(self, number: int) -> Self:
        return replace(self, chosen=number)


def with_mute(ui: Ui, mute: Mute) -> Ui:
    told = Notice(tables.describe_mute(mute.name, on=mute.on))
    return replace(ui, talk=ui.talk.after(mute), notice=told)


def _menu_block(menu: TableMenu, pane: Pane) -> list[Line]:
    ui, model, width = pane.ui, pane.model, pane.width
    rows = [EMPTY, line(f"  {_(menu.page.heading)}", "class:heading"), EMPTY]
    lines = menu.page.lines(At(ui, model))
    about = lines[menu.chosen].about if menu.chosen < len(lines) else ""
    below = wrapped(about or menu.page.about(At(ui, model)), width - 4)
    listed = []
    for at, choice in enumerate(lines):
        sign = EMPTY if choice.people is None else chips([choice.people]) + line(" ")
        if at == menu.chosen:
            said = line(padded(choice.text, width - 4 - width_of(sign)), "class:chosen")
            text = line(f"  {pane.glyphs.pointer} ", "class:chosen") + sign + said
        else:
            said = line(choice.text, "" if choice.effect is not None else "class:faint")
            text = line("    ") + sign + said
        listed.append(clickable(text, ChooseLine(at), width))
    rows += rows_around(listed, menu.chosen, pane.height - 6 - max(len(below), 1), pane.glyphs)
    if below:
        rows += [EMPTY, *(line(f"  {row}", "class:faint") for row in below)]
    return with_news(rows, pane)


def _small_menu(menu: TableMenu, pane: Pane) -> list[Line]:
    """Return the part of the menu around the line that the player is on, for a small window."""
    ui, model, width = pane.ui, pane.model, pane.width
    rows = [line(row, "class:heading") for row in wrapped(_(menu.page.heading), width)]
    for at, choice in enumerate(menu.page.lines(At(ui, model))):
        chosen = at == menu.chosen
        style = "class:chosen" if chosen else "" if choice.effect is not None else "class:faint"
        for part, words in enumerate(wrapped(choice.text, width - 2 - MARK)):
            sign = pane.glyphs.pointer if chosen and not part else " "
            rows.append(clickable(line(padded(f"{sign} {words}", width), style), ChooseLine(at)))
        if chosen:
            about = wrapped(choice.about, width - 4)
            rows += [clickable(line(f"    {words}", "class:faint"), ChooseLine(at), width) for words in about]
    return short_list(pane, rows + paragraphs([menu.page.about(At(ui, model))], width, "class:faint"))

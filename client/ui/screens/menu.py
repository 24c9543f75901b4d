"""Menus: pages of lines, each of which does something, has a value to change, or tells how things are."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from client.language import N_, _
from client.tables.table import TableModel
from client.ui.draw.page import List, line_chosen
from client.ui.frame import Line
from client.ui.keys import HELP, LINES, Act, Action, ChooseLine, Handler, Key
from client.ui.requests import Request
from client.ui.state import Choices, ListLine, Mute, Notice, Outcome, Overlay, Pane, TypedLine, Ui
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
    command's verb. A line with a `value` is a row of a form: `turned` leads so many values on, or back.
    """

    text: str
    effect: "Effect | None" = None
    people: People | None = None
    about: str = ""
    typed: str | None = None
    value: str = ""
    turned: Callable[[Ui, int], Ui] | None = None

    def as_listed(self) -> ListLine:
        changes = self.effect is not None or self.turned is not None
        return ListLine(self.text, self.value, self.about, "" if changes else "class:faint", self.people)


class Page(Struct, frozen=True):
    """A page of the menu: what it lists, and what it says below while no line says more.

    It is that of a table unless it is `elsewhere`.
    """

    heading: str
    lists: Callable[[At], Iterable[MenuLine]]
    says: Callable[[At], str] = lambda _at: ""
    elsewhere: bool = False

    def lines(self, at: At) -> list[MenuLine]:
        return [*self.lists(at)] if self.elsewhere or at.model.state is not None else []

    def about(self, at: At) -> str:
        return "" if at.model.state is None else self.says(at)


Effect: TypeAlias = Request | TypedLine | Page | Mute | Literal[Act.CANCEL]


_CLOSING: Final = (
    Key(("o",), Act.MENU, N_("close the menu"), N_("close")),
    Key(("c-c",), Act.QUIT, N_("quit")),
)
_KEYS: Final[tuple[Key, ...]] = (
    HELP,
    *LINES,
    Key(("enter", " "), Act.CONFIRM, N_("choose this line"), N_("choose")),
    Key(("escape", "backspace", "left", "q"), Act.CANCEL, N_("back"), N_("back")),
    *_CLOSING,
)


@dataclass(frozen=True, slots=True)
class Menu(Overlay):
    """A menu at one of its pages; `chosen` is the line that the player is on."""

    page: Page
    chosen: int = 0

    own_keys = _KEYS

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        lines = self.page.lines(At(ui, model))
        if (there := line_chosen(action, self.chosen, len(lines))) is not None:
            return ui.changed(replace(self, chosen=there)), None
        match action:
            case Act.CONFIRM | ChooseLine() if self.chosen < len(lines):
                turned = lines[self.chosen].turned
                return self._do(ui, lines[self.chosen].effect) if turned is None else (turned(ui, 1), None)
            case Act.CANCEL:
                return self._do(ui, action)
            case Act.MENU:
                return ui.without(Menu), None
            case _:
                return ui, None

    def _do(self, ui: Ui, effect: Effect | None) -> Outcome:
        match effect:
            case None:
                return ui, None
            case Act.CANCEL:
                return ui.closed(), None
            case TypedLine():
                return replace(ui.without(Menu), entry=effect), None
            case Mute():
                return with_mute(ui.without(Menu), effect), None
            case Page():
                return ui.opened(Menu(effect)), None
            case request:
                return ui.without(Menu), request

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        choices, about = self.choices(pane.ui, pane.model), self.page.about(At(pane.ui, pane.model))
        return List(_(self.page.heading), choices, _VALUES_AT, about).laid_out(pane), 0

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        return (_(self.page.heading), *filter(None, [self.page.about(At(ui, model))]))

    def choices(self, ui: Ui, model: TableModel) -> Choices:
        return Choices([each.as_listed() for each in self.page.lines(At(ui, model))], self.chosen)


def _turn(by: int) -> Handler:
    """Return what leads to another value of the row that the player is on."""

    def turned(form: "Form", ui: Ui, model: TableModel) -> Outcome:
        row = form.page.lines(At(ui, model))[form.chosen]
        return (ui if row.turned is None else row.turned(ui, by)), None

    return turned


_OF_FORM: Final[tuple[Key, ...]] = (
    HELP,
    *LINES,
    Key(("enter", " "), Act.CONFIRM, N_("the next value, or do what the line says"), N_("choose")),
    Key(("right", "+"), _turn(1), N_("the next value"), N_("next")),
    Key(("left", "-"), _turn(-1), N_("the value before"), N_("before")),
    Key(("escape", "backspace", "q"), Act.CANCEL, N_("back"), N_("back")),
    *_CLOSING,
)


class Form(Menu):
    """A menu whose lines have values to change."""

    __slots__ = ()

    own_keys = _OF_FORM


def with_mute(ui: Ui, mute: Mute) -> Ui:
    told = Notice(tables.describe_mute(mute.name, on=mute.on))
    return replace(ui, talk=ui.talk.after(mute), notice=told)


_VALUES_AT: Final = 24  # columns after the beginning of a line

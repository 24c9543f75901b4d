"""Overlays on any page: chat, announcements, and the question whether to quit."""

from dataclasses import dataclass
from typing import Final

from client.language import N_, _
from client.tables.table import TableModel
from client.ui.draw.page import remark_rows, scrolled, scrolled_to
from client.ui.frame import EMPTY, NO_BREAK, Line, first_rows, fitted, line, stacked, wrapped
from client.ui.keys import HELP, YES, Act, Action, Key, Pick
from client.ui.requests import Consent, Errand
from client.ui.state import Outcome, Overlay, Pane, Ui
from client.ui.texts.signs import SIGNS
from client.ui.texts.tables import describe_online
from protocol.messages import NEW, Leave, Say

_QUITTING: Final = (
    Key((YES, "q", "c-c"), Act.CONFIRM, N_("quit, or leave the table"), N_("yes")),
    Key(("n", "escape"), Act.CANCEL, N_("stay"), N_("stay")),
)
_CONSENTING: Final = (
    Key((YES,), Act.CONFIRM, N_("let the server send you to others"), N_("yes")),
    Key(("n", "escape", "c-c"), Act.CANCEL, N_("choose something else"), N_("no")),
)
_SIGNING: Final = (
    *(Key((str(n),), Pick(n), words) for n, words in enumerate(SIGNS.values(), start=1)),
    Key(("escape", "backspace", "n", "q", "!", "c-c"), Act.CANCEL, N_("back"), N_("back")),
)
_ANNOUNCEMENT: Final = (
    Key(("escape", "enter"), Act.CANCEL, N_("close the announcement"), N_("close")),
    Key(("c-c",), Act.QUIT, N_("quit")),
)
_TALK: Final = (
    HELP,
    Key(
        ("up", "k", "pageup", "scroll-up"),
        Act.PAGE_UP,
        N_("earlier lines"),
        N_("earlier"),
        when=lambda talk, ui, _model: talk.first_line(ui) > 0,
    ),
    Key(
        ("down", "j", "pagedown", "scroll-down"),
        Act.PAGE_DOWN,
        N_("later lines"),
        N_("later"),
        when=lambda talk, ui, _model: talk.first_line(ui) < ui.last_top,
    ),
    Key(("t",), Act.CHAT, N_("say something"), N_("say")),
    Key(("escape", "enter", "q", "T"), Act.CANCEL, N_("back to the table, or to the lobby"), N_("close")),
    Key(("c-c",), Act.QUIT, N_("quit")),
)


def hosts_others(ui: Ui, model: TableModel) -> bool:
    """Return whether this program hosts the server, and others are there: online, or at the table."""
    company, state = ui.company, model.state
    seats = () if state is None else enumerate(state.seats)
    seated = any(each.here and each.level is None and seat != model.seat for seat, each in seats)
    return bool(ui.ways.addresses) and (seated or (company is not None and len(company.people) > 1))


@dataclass(frozen=True, slots=True)
class Quitting(Overlay):
    """The question whether to quit, which may be a running game, or to leave a table and so the seat.

    If this program `hosts` others, their server stops with it.
    """

    request: Errand | Leave = Errand.QUIT
    hosts: bool = False
    gives_up_seat: bool = False
    running: bool = False

    own_keys = _QUITTING

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        if action is Act.CONFIRM:
            return ui.without(), self.request
        return ui.closed(), None

    def question(self, ui: Ui) -> str:
        if self.gives_up_seat:
            asks = _("Leave the table, and give up your seat? {yes}: leave, n: stay")
        elif self.hosts:
            asks = _("The others have to wait until you host again. Quit? {yes}: quit, n: stay")
        elif self.running:
            asks = _("The game is still running. Quit? {yes}: quit, n: stay")
        else:
            asks = _("Quit Palatinus? {yes}: quit, n: stay")
        return asks.format(yes=_("y"))


@dataclass(frozen=True, slots=True)
class Consenting(Overlay):
    """The question whether the server that the player is on the way to may send them to others."""

    asked: str

    own_keys = _CONSENTING

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        return ui.closed(), Consent(action is Act.CONFIRM)

    def question(self, ui: Ui) -> str:
        return self.asked


@dataclass(frozen=True, slots=True)
class Signing(Overlay):
    """The choice of a sign, which leaves the board in sight."""

    own_keys = _SIGNING

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        if isinstance(action, Pick):
            return ui.closed(), Say(NEW, tuple(SIGNS)[action.number - 1])
        return ui.closed(), None

    def question(self, ui: Ui) -> str:
        signs = (f"{number} {_(words)}" for number, words in enumerate(SIGNS.values(), start=1))
        return f"{NO_BREAK} ".join(each.replace(" ", NO_BREAK) for each in signs)


@dataclass(frozen=True, slots=True)
class Announcements(Overlay):
    """Announcements from the server's operators, oldest first, until the player closes them."""

    texts: tuple[str, ...]

    own_keys = _ANNOUNCEMENT

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        return (ui.closed() if action is Act.CANCEL else ui), None

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        width, height = pane.width, pane.height
        heading = _("ANNOUNCEMENT BY THE HOST OF THE SERVER")
        lines: list[Line] = [
            fitted(line(f" {row}", "class:refusal"), width, "class:refusal")
            for row in first_rows(wrapped(heading, width - 2), 2, width - 2)
        ]
        for text in reversed(self.texts):
            rows = [line(f"  {row}", "class:info") for row in wrapped(text, width - 4)]
            if len(lines) + len(rows) + 1 > height and len(lines) > 2:
                break
            lines += [EMPTY, *rows] if len(rows) + len(lines) < height else rows
        return stacked(lines, width, height), 0


@dataclass(frozen=True, slots=True)
class TalkPage(Overlay):
    """All that was said at the table, from line `top` on; without one, as far as the latest."""

    top: int | None = None

    own_keys = _TALK

    def first_line(self, ui: Ui) -> int:
        return ui.last_top if self.top is None else self.top

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        if action is Act.CANCEL:
            return ui.closed(), None
        top = scrolled_to(action, self.first_line(ui), ui.last_top)
        return ui.changed(TalkPage(None if top >= ui.last_top else top)), None

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        ui, width = pane.ui, pane.width
        in_lobby = ui.talk.table is None
        words = _("SAID IN THE LOBBY") if in_lobby else _("SAID AT THE TABLE")
        heading = line(f" {words}", "class:heading")
        rows = [row for remark in ui.talk.remarks for row in remark_rows(remark, width)]
        nothing = wrapped(_("Nobody has said anything."), width - 2)
        rows = rows or [line(f" {row}", "class:faint") for row in nothing]
        if in_lobby and ui.company is not None and ui.company.people:
            told = wrapped(describe_online(ui.company.people, ui.company.more), width - 2)
            rows = [*(line(f" {row}", "class:faint") for row in told), EMPTY, *rows]
        said, last_top = scrolled(rows, len(rows) if self.top is None else self.top, width, pane.height - 1)
        return [heading, *said], last_top

"""The evening: how the player takes part, where they are called to, the standings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from client.language import N_, _
from client.tables.table import TableModel
from client.ui.draw.page import qr_code, scrolled, scrolled_to
from client.ui.frame import EMPTY, Line, columns, cut, line, wrapped
from client.ui.keys import HELP, Act, Action, Handler, Key, When
from client.ui.requests import TakeSeat
from client.ui.state import Outcome, Overlay, Pane, Ui
from client.ui.texts.evenings import describe_part, describe_round, rivals_lines, standings_rows, table_of
from protocol.messages import NEW, Evening, TakePart, TakesPart
from protocol.text import printable


def _can_sign_up(_page: object, ui: Ui, _model: TableModel) -> bool:
    return _goes_on(ui) and _part(ui) != "play"


def _can_pause(_page: object, ui: Ui, _model: TableModel) -> bool:
    return _part(ui) == "play"


def _can_withdraw(_page: object, ui: Ui, _model: TableModel) -> bool:
    return _part(ui) not in {None, "leave"}


def go_to_table(_page: object, ui: Ui, model: TableModel) -> Outcome:
    """Return the request to take the seat at the table where the player is expected, if there is one."""
    if (table := _called_to(ui, model)) is None:
        return ui, None
    return ui.closed(), TakeSeat(table)


def _taking_part(how: TakesPart, when: When) -> Handler:
    return lambda page, ui, model: (ui, TakePart(NEW, how) if when(page, ui, model) else None)


def _key_to_take_part(name: str, how: TakesPart, when: When, words: str, short: str) -> Key:
    return Key((name,), _taking_part(how, when), words, short, when=when)


_KEYS: Final = (
    Key(
        ("enter",),
        go_to_table,
        N_("go to your table"),
        N_("go there"),
        typed=("",),
        when=lambda _page, ui, model: _called_to(ui, model) is not None,
    ),
    _key_to_take_part("s", "play", _can_sign_up, N_("sign up, or play again after a pause"), N_("sign up")),
    _key_to_take_part("p", "pause", _can_pause, N_("pause: you are not in the next rounds"), N_("pause")),
    _key_to_take_part("x", "leave", _can_withdraw, N_("leave the evening"), N_("leave")),
    Key(
        ("up", "k", "pageup", "scroll-up"),
        Act.PAGE_UP,
        N_("earlier lines"),
        when=lambda page, _ui, _model: page.top > 0,
    ),
    Key(
        ("down", "j", "pagedown", "scroll-down"),
        Act.PAGE_DOWN,
        N_("later lines"),
        N_("later"),
        when=lambda page, ui, _model: page.top < ui.last_top,
    ),
    Key(("escape", "q", "E"), Act.CANCEL, N_("back to the table, or to the lobby"), N_("close")),
    HELP,
    Key(("c-c",), Act.QUIT, N_("quit")),
)


@dataclass(frozen=True, slots=True)
class EveningPage(Overlay):
    """The evening, from line `top` on."""

    top: int = 0

    own_keys = _KEYS

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        if action is Act.CANCEL:
            return ui.closed(), None
        return ui.changed(EveningPage(scrolled_to(action, self.top, ui.last_top))), None

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        width = pane.width
        rows: list[Line] = [EMPTY]
        for at, text in enumerate(self._lines(pane.ui, pane.model)):
            style = "class:heading" if at == 0 else ""
            broken = in_columns if "  " in text else wrapped
            rows += [line(f"  {row}", style) for row in broken(text, width - 4) or [""]]
        if (pages := pane.ui.ways.pages) and not pane.glyphs.ascii:
            rows += [EMPTY, line("  " + _("Play on a phone:"), "class:faint")]
            rows += [line("  ") + row for row in qr_code(pages)]
        return scrolled(rows, self.top, width, pane.height)

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        return tuple(filter(None, self._lines(ui, model)))

    def _lines(self, ui: Ui, model: TableModel) -> list[str]:
        if (evening := ui.evening) is None:
            return [_("There is no evening on this server.")]
        part = describe_part(evening, ui.person, model.table)
        people = columns(standings_rows(evening)) if evening.people else [_("Nobody has signed up yet.")]
        lines = [printable(evening.name), describe_round(evening), part, "", *people]
        if rivals := list(rivals_lines(evening, ui.person)):
            lines += ["", _("YOU AND THE OTHERS"), *rivals]
        return [*lines, *_for_host(ui.ways.pages, evening)]


def _for_host(pages: str, evening: Evening) -> Iterator[str]:
    """Yield how the evening is led, if this program hosts it with pages at this address."""
    if not pages:
        return
    yield ""
    yield _("A television leads everybody through the games at {address}").format(address=f"{pages}tv")
    if evening.rounds:
        yield _("Each round of the evening is drawn automatically, or immediately with this command:")
        yield "  palatinus admin evening draw"
    yield _("Or host the evening in a browser, with the link that this command prints:")
    yield "  palatinus admin evening host"


def in_columns(row: str, width: int) -> list[str]:
    """Return a row of the standings, whose columns stay below each other; those without room come below."""
    first = cut(row, width)
    if first == row:
        return [row]
    first = first.rpartition("  ")[0].rstrip() or first
    return [first, *in_columns(f"    {row[len(first) :].lstrip()}", width)]


def _goes_on(ui: Ui) -> bool:
    return ui.evening is not None and not (ui.evening.closed or ui.evening.over)


def _part(ui: Ui) -> TakesPart | None:
    """Return how the player takes part in an evening that goes on, None if not at all."""
    people = ui.evening.people if ui.evening is not None and _goes_on(ui) else ()
    return next((each.takes_part for each in people if each.person == ui.person), None)


def _called_to(ui: Ui, model: TableModel) -> str | None:
    """Return the code of the table where the player is expected."""
    table = table_of(ui.evening, ui.person)
    return None if table is None or table.table == model.table else table.table

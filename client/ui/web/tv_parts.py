"""What a page for a television has beside the large table: the other tables, small, and who plays next."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from client.language import _, counted
from client.tables.table import safe_to_show
from client.ui.draw.board import Marks
from client.ui.export.picture import board_parts
from client.ui.texts.evenings import describe_place, describe_round, in_percent, table_of
from client.ui.texts.games import describe_standings
from client.ui.texts.tables import names_of
from client.ui.web.html import EMPTY, element, join
from client.ui.web.seat_parts import button
from client.ui.web.table_parts import board_of
from engine.view import View
from protocol.messages import NEW, Evening, EveningPerson, PersonNumber, TableState, TakePart, TakesPart
from protocol.pages import SMALL_TABLES
from protocol.text import printable

SMALL: Final = tuple(f"small{number}" for number in range(SMALL_TABLES))  # ids of elements


def small_table(state: TableState, view: View) -> Markup:
    """Return a running table: the board, its code, and who plays."""
    state = safe_to_show(state)
    last = next(reversed(view.placed), None)
    # No titles: nobody points at anything.
    drawn = map(Markup, board_parts(view, Marks(last=last)))
    board = board_of(drawn, _("Table {code}").format(code=state.table))
    names = ", ".join(names_of(state, len(state.seats)))
    return join(board, element("p", element("strong", state.table), " ", element("bdi", names)))


def between_games(waiting: Sequence[TableState], evening: Evening | None) -> Markup:
    """Return what is shown between the games: who plays next, and the standings."""
    if evening is None:
        if not waiting:
            return element("h2", _("No game is being played."))
        return join(element("h2", _("Next games")), element("ul", *map(_waiting, waiting)))
    names = {each.person: printable(each.name) for each in evening.people}
    content = [element("h2", printable(evening.name)), element("p", describe_round(evening))]
    for stage, words in (("gathering", _("Next games")), ("playing", _("Playing now"))):
        tables = [each for each in evening.tables if each.stage == stage]
        if tables:
            rows = []
            for each in tables:
                people = ", ".join(_("bot") if one is None else names.get(one, "?") for one in each.people)
                rows.append(element("li", element("strong", each.table), " ", element("bdi", people)))
            content += [element("h2", words), element("ul", *rows)]
    own = {each.table for each in evening.tables}
    content.append(element("ul", *(_waiting(state) for state in waiting if state.table not in own)))
    if evening.people:
        content += [element("h2", _("Standings")), element("ol", *map(_person, evening.people))]
    return join(*content)


def call(evening: Evening, person: PersonNumber, at: str | None) -> Markup:
    """Return how the evening stands for somebody who is `at` a table, and where they are called."""
    table, goes = table_of(evening, person), EMPTY
    if table is not None and table.table != at:
        words = _("Go to your table: {code}").format(code=table.table)
        goes = element("button", words, type="button", class_="main", data_go=table.table)
    if at is not None:
        return goes
    part = next((each.takes_part for each in evening.people if each.person == person), "leave")
    no_more = evening.closed or evening.over
    if no_more:
        said = _("Thank you for playing.")
    elif part == "play":
        said = "" if goes else _("You are signed up, and will be called here.")
    else:
        said = _("You do not play now.")
    ways: tuple[tuple[TakesPart, str], ...] = (
        ("play", _("Play again")),
        ("pause", _("Pause")),
        ("leave", _("Leave the evening")),
    )
    buttons = [
        button(words, TakePart(NEW, how)) for how, words in ways if (how == "play") != (part == "play")
    ]
    return join(goes, element("p", said), *([] if no_more else buttons), between_games([], evening))


def _person(person: EveningPerson) -> Markup:
    name = element("bdi", printable(person.name))
    if not person.games:
        return element("li", name)
    average = element("small", _("average {n}").format(n=in_percent(person.average)), class_="faint")
    reached = element("span", in_percent(person.score), " ", average, class_="amount")
    return element("li", element("span", f"{describe_place(person)}. ", name), reached)


def _waiting(state: TableState) -> Markup:
    state = safe_to_show(state)
    names = ", ".join(each.name for each in state.seats if each.name is not None)
    free = sum(each.name is None for each in state.seats)
    said = [element("strong", state.table), " ", element("bdi", names)]
    if state.title:
        said[1:1] = [" ", element("bdi", state.title), " ·"]
    if free:
        said += [" · ", counted("{n} seat is free.", "{n} seats are free.", free).format(n=free)]
    if standings := describe_standings(state):
        said.append(element("div", standings, class_="faint"))
    return element("li", *said)

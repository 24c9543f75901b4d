"""What a player's page says of the evening: where they are called, how they take part, and the standings."""

from markupsafe import Markup

from client.language import _
from client.ui.texts.evenings import describe_place, describe_round, in_percent, table_of
from pages.drawing.html import EMPTY, element, join
from pages.drawing.seat_parts import button
from protocol.messages import NEW, Evening, EveningPerson, PersonNumber, TakePart, TakesPart
from protocol.text import printable


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
        said = "" if goes else _("Thank you for playing.")
    elif part == "play":
        said = "" if goes else _("You are signed up. You will be notified here.")
    else:
        said = _("You are not playing now.")
    ways: tuple[tuple[TakesPart, str], ...] = (
        ("play", _("Play again")),
        ("pause", _("Pause")),
        ("leave", _("Leave the evening")),
    )
    buttons = [
        button(words, TakePart(NEW, how)) for how, words in ways if (how == "play") != (part == "play")
    ]
    return join(goes, element("p", said), *([] if no_more else buttons), _evening(evening, person))


def _evening(evening: Evening, own: PersonNumber) -> Markup:
    """Return how the evening stands, with oneself marked."""
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
    everybody = (_person(each, own=each.person == own) for each in evening.people)
    return join(*content, element("h2", heading_of_people(evening)), element("ol", *everybody))


def heading_of_people(evening: Evening) -> str:
    return _("Standings") if any(each.games for each in evening.people) else _("Signed up")


def _person(person: EveningPerson, *, own: bool) -> Markup:
    name = element("bdi", printable(person.name))
    if own:
        name = element("strong", name, aria_current="true")
    if not person.games:
        return element("li", element("span", name))
    average = element("small", _("average {n}").format(n=in_percent(person.average)), class_="faint")
    reached = element("span", in_percent(person.score), " ", average, class_="amount")
    return element("li", element("span", f"{describe_place(person)}. ", name), reached)

"""What the host of an evening is shown, and can do there."""

import msgspec
from markupsafe import Markup

from client.language import _, parted
from client.ui.texts.evenings import describe_place, describe_round, describe_where, in_percent
from pages.drawing.evening_parts import heading_of_people
from pages.drawing.html import EMPTY, element, join
from pages.drawing.tv_parts import card, countdown
from protocol import admin
from protocol.messages import Evening, EveningPerson
from protocol.pages import EveningShown
from protocol.text import printable


def hosted(shown: EveningShown | None) -> Markup:
    """Return the evening: how far it is, who has come to which table, everybody, and what the host can do."""
    if shown is None:
        return element("p", _("There is no evening on this server."))
    evening = shown.evening
    told = element("p", describe_round(evening), " ", countdown(shown))
    content = [element("h2", printable(evening.name)), told, *_ways_on(shown)]
    tables = [each for each in evening.tables if each.stage != "over"]
    if tables:
        content += [element("h2", _("Tables")), element("ul", *(card(each, shown) for each in tables))]
    people = (_person(evening, each) for each in evening.people)
    return join(*content, element("h2", heading_of_people(evening)), element("ol", *people))


def _ways_on(shown: EveningShown) -> list[Markup]:
    evening, ways = shown.evening, list[Markup]()
    if evening.closed or evening.over:
        return ways
    if evening.rounds and shown.awaited in {None, "draw"}:
        ways.append(order(_("Draw the next round now"), admin.DrawRound(), main=True))
    sure = _("Draw no more tables? The evening ends with the games that are running.")
    ways.append(order(_("End the evening after these games"), admin.CloseEvening(), sure=sure))
    return ways


def _person(evening: Evening, person: EveningPerson) -> Markup:
    name = printable(person.name)
    hand_over = _("Give {name}'s place to another device? The device that has it now is signed out.")
    remove = _("Remove {name} from the evening? Results stay, and a running game continues.")
    ways = element(
        "details",
        element("summary", element("bdi", name)),
        order(
            _("Another device for {name}").format(name=name),
            admin.HandOverPerson(person.name),
            sure=hand_over.format(name=name),
        ),
        order(
            _("Remove {name}").format(name=name),
            admin.RemovePerson(person.name),
            sure=remove.format(name=name),
        ),
    )
    score = f"{describe_place(person)}. {in_percent(person.score)}" if person.games else ""
    told = parted(filter(None, (describe_where(evening, person), score)))
    return element("li", ways, element("span", told, class_="amount") if told else EMPTY)


def order(words: str, request: admin.AtHostPage, *, sure: str = "", main: bool = False) -> Markup:
    """Return a button that asks for something, if the host is `sure`."""
    asks = {"data_ask": msgspec.json.encode(admin.Envelope(admin.VERSION, request)).decode()}
    asks |= {"data_sure": sure} if sure else {}
    asks |= {"class_": "main"} if main else {}
    return element("button", words, type="button", **asks)

"""What a page for a television has beside the large table: the other tables, small, and the evening."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from markupsafe import Markup, escape

from client.language import _, counted, labelled, listed, parted
from client.tables.table import safe_to_show
from client.ui.export.picture import board_parts
from client.ui.spots import Marks, just_placed
from client.ui.texts.evenings import describe_place, describe_round, in_percent
from client.ui.texts.games import describe_standings
from client.ui.texts.tables import names_of
from engine.pieces import Seat
from engine.view import View
from pages.drawing.html import EMPTY, element, join
from pages.drawing.table_parts import board_of
from pages.shared import SMALL_TABLES, OnTelevision
from protocol.messages import (
    Evening,
    EveningPerson,
    EveningTable,
    PersonNumber,
    TableState,
)
from protocol.pages import EveningShown
from protocol.text import printable

SMALL: Final = tuple(f"small{number}" for number in range(SMALL_TABLES))  # ids of elements


_SHORT_SENTENCE: Final = 130  # letters that fit into two lines of the largest type
_LONG_SENTENCE: Final = 200
_LETTERS: Final = 40  # of names in the strip
_STEPS: Final = ("first", "second", "third")  # of the podium
_LARGE_NAMES: Final = 2  # on one of them
_BEHIND: Final = 36  # people below the podium
_MOST_CARDS: Final = 12  # of tables, with room for standings below
_BEST: Final = 12  # people who are shown there


def scene_of(shown: OnTelevision, *, scored: bool) -> str:
    """Return the classes of the page's body, by which it is laid out."""
    scene = ["tv"]
    if shown.large:
        scene.append("games")
    elif shown.evening is not None and shown.evening.evening.over:
        scene.append("podium")
    else:
        scene.append("between")
    if shown.large and scored:
        scene.append("scored")
    if shown.evening is not None:
        scene.append("evening")
    return " ".join((*scene, f"tables-{_how_many(len(shown.small), 1, 3, 8)}"))


def sized(sentence: str) -> str:
    """Return a sentence in type so large that it takes two lines."""
    size = _how_many(len(sentence), 1, _SHORT_SENTENCE, _LONG_SENTENCE)
    return str(element("span", Markup(sentence), class_=f"words-{size}"))  # noqa: S704 - it is a part


def _how_many(number: int, *least: int) -> str:
    """Return a word for a number: from how many on it is few, some and many."""
    words = ("no", "few", "some", "many")
    return words[sum(number >= each for each in least)]


def small_table(state: TableState, view: View, leader: Seat | None) -> Markup:
    """Return a running table: the board, its code, whose turn it is, and who leads."""
    state = safe_to_show(state)
    # No titles: nobody points at anything.
    drawn = map(Markup, board_parts(view, Marks(recent=just_placed(view))))
    board = board_of(drawn, _("Table {code}").format(code=state.table))
    names = names_of(state, len(state.seats))
    lines = [element("p", element("strong", state.table))]
    for sign, seat, words in (("▸", view.turn, _("has the turn")), ("★", leader, _("leads"))):
        if seat is not None:
            people = view.start.peoples[seat][0].value
            chip = element("span", people, class_=f"people people-{people}")
            name = element("bdi", names[seat])
            lines.append(element("p", element("span", sign), chip, name, title=words))
    return join(board, *lines)


def strip_of(shown: EveningShown) -> Markup:
    """Return one line about the evening: how far it is, the time left, and who plays next."""
    evening = shown.evening
    said = [element("strong", printable(evening.name)), element("span", describe_round(evening))]
    if due := countdown(shown):
        said.append(element("span", due))
    plays = any(each.stage == "playing" for each in evening.tables)
    if plays and not shown.calls and (told := _who_plays_next(evening)):
        said.append(element("span", told, class_="next"))
    return join(*said)


def countdown(shown: EveningShown) -> Markup:
    """Return what comes next and in what time, which the page counts; empty if nothing does."""
    if shown.awaited is None:
        return EMPTY
    form = {
        "begin": _("The games begin within {time}."),
        "end": _("{time} left in this round."),
        "draw": _("The next round is drawn in {time}."),
    }[shown.awaited]
    minutes, seconds = divmod(shown.seconds, 60)
    left = element("b", f"{minutes}:{seconds:02}", data_left=str(shown.seconds))
    return escape(form).format(time=left)


def _who_plays_next(evening: Evening) -> str:
    """Return who is called while others play, or else who waits; empty if nobody is and does."""
    names = _names(evening)
    called = [
        labelled(each.table, ", ".join(names.get(one, "?") for one in each.people if one is not None))
        for each in evening.tables
        if each.stage == "gathering"
    ]
    if called:
        return parted(called)
    at_tables = {one for each in evening.tables if each.stage != "over" for one in each.people}
    wait = [
        names[each.person]
        for each in evening.people
        if each.here and each.takes_part == "play" and each.person not in at_tables
    ]
    if not wait or evening.closed or evening.over:
        return ""
    fit = sum(total <= _LETTERS for total in accumulate(len(each) + 2 for each in wait))
    listed_names = ", ".join(wait[:fit])
    if more := len(wait[fit:]):
        listed_names = parted([listed_names, _("and {n} more").format(n=more)])
    return labelled(_("Next round") if evening.rounds else _("Waiting for a table"), listed_names)


def _names(evening: Evening) -> dict[PersonNumber, str]:
    return {each.person: printable(each.name) for each in evening.people}


def between_games(waiting: Sequence[TableState], shown: EveningShown | None) -> Markup:
    """Return what is shown between the games: who plays where, who has come there, and the standings."""
    if shown is None:
        if not waiting:
            return element("h2", _("No game is being played."))
        return join(element("h2", _("Next games")), element("ul", *map(_waiting, waiting)))
    evening = shown.evening
    if evening.over and any(each.games for each in evening.people):
        return _podium(shown)
    called = [each for each in evening.tables if each.stage == "gathering"]
    tables = called or [each for each in evening.tables if each.stage == "playing"]
    own = {each.table for each in evening.tables}
    others = [_waiting(state) for state in waiting if state.table not in own]
    content, room = [], len(evening.people)
    if tables:
        cards = [card(each, shown) for each in tables]
        heading = _("To your tables!") if called else _("Playing now")
        content += [element("h2", heading), element("ul", *cards, class_=_cards(len(cards)))]
        room = 0 if len(cards) > _MOST_CARDS else _BEST
    if others:
        content += [element("h2", _("Next games")), element("ul", *others)]
    begun = any(each.games for each in evening.people)
    if evening.people and room and (begun or not tables):
        best = _standings(evening.people[:room], shown)
        content.append(
            element(
                "section",
                element("h2", _("Standings") if begun else _("Signed up")),
                best,
                class_="standings",
            )
        )
    return join(*content)


def _cards(number: int) -> str:
    return f"cards {_how_many(number, 1, 5, 10)}"


def card(table: EveningTable, shown: EveningShown) -> Markup:
    """Return a table, and who plays there; of one to which people are called, who has come."""
    names, gathers = _names(shown.evening), table.stage == "gathering"
    people = []
    for one in table.people:
        name = element("bdi", _("bot") if one is None else names.get(one, "?"))
        come = not gathers or one is None or one in shown.come
        people.append(element("li", "✓ " if gathers and come else "", name, class_="" if come else "faint"))
    expected = [one for one in table.people if one is not None]
    content = [element("strong", table.table)]
    if gathers:
        number = sum(one in shown.come for one in expected)
        content.append(element("span", f"✓ {number}/{len(expected)}", class_="amount"))
    return element("li", *content, element("ul", *people))


def _standings(people: Sequence[EveningPerson], shown: EveningShown) -> Markup:
    """Return these people's places, with what the last round has changed."""
    return element(
        "ol", *(_standing(each, shown) for each in people), class_=_how_many(len(people), 1, 13, 25)
    )


def _standing(person: EveningPerson, shown: EveningShown) -> Markup:
    name = element("bdi", printable(person.name))
    if not person.games:
        return element("li", name)
    place, score = shown.before.get(person.person, (0, 0))
    moved = place - person.place if any(before for _place, before in shown.before.values()) else 0
    change = f"▲{moved}" if moved > 0 else f"▼{-moved}" if moved < 0 else ""
    gained = person.score - score
    return element(
        "li",
        element("span", f"{describe_place(person)}. ", name),
        element("span", change, class_="up" if moved > 0 else "down"),
        element("span", f"+{in_percent(gained)}" if gained else "", class_="gained faint"),
        element("b", in_percent(person.score)),
        element("span", _("average {n}").format(n=in_percent(person.average)), class_="average faint"),
    )


def _podium(shown: EveningShown) -> Markup:
    """Return the first three places on their steps, and the others below."""
    people, steps = shown.evening.people, []
    for place, step in enumerate(_STEPS, start=1):
        names = [printable(each.name) for each in people if each.games and each.place == place]
        if names:
            size = "many" if len(names) > _LARGE_NAMES else ""
            told = element("p", element("bdi", listed(names)), class_=size)
            score = next(each.score for each in people if each.place == place)
            stands = element("div", element("b", str(place)), element("p", in_percent(score)))
            steps.append(element("div", told, stands, class_=f"step {step}"))
    behind = [each for each in people if not each.games or each.place > len(_STEPS)]
    others = [_standings(behind[:_BEHIND], shown)]
    if more := len(behind[_BEHIND:]):
        others.append(element("p", _("and {n} more").format(n=more)))
    size = _how_many(len(behind), 1, 7, 17)
    return join(
        element("div", *steps, class_=f"steps {size}"), element("section", *others, class_="standings")
    )


def _waiting(state: TableState) -> Markup:
    state = safe_to_show(state)
    names = ", ".join(each.name for each in state.seats if each.name is not None)
    free = state.room
    said = [element("strong", state.table), " ", element("bdi", names)]
    if state.title:
        said[1:1] = [" ", element("bdi", state.title), " ·"]
    if free:
        said += [" · ", counted("{n} seat is free.", "{n} seats are free.", free).format(n=free)]
    if standings := describe_standings(state):
        said.append(element("div", standings, class_="faint"))
    return element("li", *said)

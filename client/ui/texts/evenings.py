"""An evening in words: the round, who plays where, and the standings."""

from collections.abc import Iterator, Sequence

from client.language import _, counted, labelled, parted
from protocol.messages import Evening, EveningPerson, EveningTable, PersonNumber
from protocol.text import printable


def describe_round(evening: Evening) -> str:
    """Return how far the evening is."""
    if evening.over:
        return _("The evening is over.")
    if evening.closed and evening.round and evening.rounds:
        return _("Round {n} is the last one: the evening ends with its games.").format(n=evening.round)
    if evening.closed:
        return _("No more tables are drawn: the evening ends with these games.")
    if not evening.rounds:
        told = _("A table begins as soon as enough people are waiting.")
    elif evening.round:
        told = _("Round {n} of {rounds}.").format(n=evening.round, rounds=evening.rounds)
    else:
        form = counted("There will be {n} round.", "There will be {n} rounds.", evening.rounds)
        told = form.format(n=evening.rounds)
    if evening.seconds is not None:
        minutes = max(1, -(-evening.seconds // 60))
        form = counted(
            "The next one is drawn within {n} minute.", "The next one is drawn within {n} minutes.", minutes
        )
        told = f"{told} {form.format(n=minutes)}"
    return told


def table_of(evening: Evening | None, person: PersonNumber | None) -> EveningTable | None:
    """Return the table to which a person belongs at present."""
    if evening is None or person is None:
        return None
    return next((each for each in evening.tables if each.stage != "over" and person in each.people), None)


def is_of_evening(evening: Evening | None, table: str | None) -> bool:
    """Return whether the table with this code is one of the evening's."""
    return evening is not None and any(each.table == table for each in evening.tables)


def describe_part(evening: Evening, person: PersonNumber | None, at: str | None) -> str:
    """Return a person's part in the evening, seen from the table `at`, and what they can do."""
    own = next((each for each in evening.people if each.person == person), None)
    if own is None:
        return "" if evening.closed or evening.over else _("You have not signed up. s: sign up")
    if (table := table_of(evening, person)) is not None and table.table != at:
        return _("Your table {code} is ready. Enter: go there").format(code=table.table)
    playing = "" if table is None else _("You are playing at table {code}.").format(code=table.table)
    if playing and (own.takes_part == "play" or evening.closed):
        return playing
    if evening.closed or evening.over:
        return _("Thank you for playing.")
    way = _("You have left the evening. s: play again")
    if own.takes_part == "pause":
        way = _("You have paused. s: play again, x: leave the evening")
    elif own.takes_part == "play" and evening.rounds:
        way = _("You are in the next round, and will be notified. p: pause, x: leave the evening")
    elif own.takes_part == "play":
        way = _("You will be notified when a table is ready for you. p: pause, x: leave the evening")
    return f"{playing} {way}".strip()


def standings_rows(evening: Evening) -> list[Sequence[str]]:
    """Return the standings with a heading, the best first; shared places are marked."""
    heading = ("", _("NAME"), _("SCORE"), _("AVERAGE"), _("GAMES"), _("WINS"), _("POINTS"), "")
    rows = [
        (
            describe_place(each),
            printable(each.name),
            in_percent(each.score) if each.games else "",
            in_percent(each.average) if each.games else "",
            str(each.games),
            str(each.wins),
            str(each.points),
            describe_where(evening, each),
        )
        for each in evening.people
    ]
    return [heading, *rows]


def describe_place(person: EveningPerson) -> str:
    """Return a person's place in the standings, empty for people who have not played."""
    return f"{'=' if person.tied else ''}{person.place}" if person.games else ""


def in_percent(hundredths: int) -> str:
    """Return a score or an average as a number of percent."""
    return f"{hundredths / 100:.1f}"


def describe_where(evening: Evening, person: EveningPerson) -> str:
    """Return a person's table, or the reason for having none; empty for those who wait."""
    if (table := table_of(evening, person.person)) is not None:
        return table.table
    away = "" if person.here or evening.over else _("away")
    return {"play": away, "pause": _("paused"), "leave": _("has left")}[person.takes_part]


def rivals_lines(evening: Evening, person: PersonNumber | None) -> Iterator[str]:
    """Yield a person's results against each opponent they have met."""
    names = {each.person: printable(each.name) for each in evening.people}
    own = next((each for each in evening.people if each.person == person), None)
    for other, games, ahead, behind in [] if own is None else own.against:
        told = [counted("{n} game", "{n} games", games).format(n=games)]
        told += [_("{n} ahead").format(n=ahead), _("{n} behind").format(n=behind)]
        yield labelled(names.get(other, "?"), parted(told))

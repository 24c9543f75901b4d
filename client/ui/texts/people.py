"""What people are called at a table and in the lobby."""

from collections.abc import Sequence

from client.language import _, counted, listed
from client.tables.table import TableModel
from protocol.messages import PersonOnline, TableState


def names_of(state: TableState | None, seats: int) -> tuple[str, ...]:
    """Return the players' names by seat."""
    named = [None] * seats if state is None else [summary.name for summary in state.seats]
    named += [None] * (seats - len(named))
    return tuple(name or _("Seat {number}").format(number=seat + 1) for seat, name in enumerate(named))


def names_at(model: TableModel) -> tuple[str, ...]:
    return names_of(model.state, 5)


def describe_mute(name: str | None, *, on: bool) -> str:
    """Return what it means for the player that somebody was muted, or all spectators for None."""
    if name is None:
        return _("You no longer hear spectators.") if on else _("You hear spectators again.")
    form = _("You no longer hear {name}.") if on else _("You hear {name} again.")
    return form.format(name=name)


def describe_person(person: PersonOnline) -> str:
    """Return who is online, and where."""
    match person.at, person.table:
        case "lobby", _table:
            return person.name
        case "watching", str(table):
            return _("{name} (watching {table})").format(name=person.name, table=table)
        case _, str(table):
            return _("{name} (playing at {table})").format(name=person.name, table=table)
        case _:
            return _("{name} (playing)").format(name=person.name)


def describe_online(people: Sequence[PersonOnline], more: int) -> str:
    """Return in a sentence who is online."""
    names = [describe_person(each) for each in people]
    if more:
        names.append(describe_more(more))
    return _("Online: {names}.").format(names=listed(names))


def describe_more(people: int) -> str:
    """Return how many people there is no room for."""
    return counted("{n} more", "{n} more", people).format(n=people)


def spectator_name(number: int | None, name: str | None) -> str:
    """Return what a spectator is called, by the number or name that the server told."""
    if name is not None:
        return name
    return _("A spectator") if number is None else _("spectator {number}").format(number=number)


def watching_name(called: str, name: str | None) -> str:
    """Return what a spectator is called among players: without a name, it says so by itself."""
    return called if name is None else _("{name} (spectator)").format(name=called)

"""How players, spectators, peoples and pieces are called."""

from collections.abc import Sequence
from typing import Final

from client.language import N_, _, counted, listed
from client.tables.table import TableModel
from engine.pieces import Kind, People, Piece, Wolf
from protocol.messages import PersonOnline, TableState


def names_of(state: TableState | None, seats: int) -> tuple[str, ...]:
    named = [None] * seats if state is None else [summary.name for summary in state.seats]
    named += [None] * (seats - len(named))
    return tuple(name or _("Seat {number}").format(number=seat + 1) for seat, name in enumerate(named))


def names_at(model: TableModel) -> tuple[str, ...]:
    return names_of(model.state, 5)


def describe_mute(name: str | None, *, on: bool) -> str:
    """Return the effect of muting somebody, or all spectators for None, in words for the player."""
    if name is None:
        return _("You no longer hear spectators.") if on else _("You hear spectators again.")
    form = _("You no longer hear {name}.") if on else _("You hear {name} again.")
    return form.format(name=name)


def describe_person(person: PersonOnline) -> str:
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
    names = [describe_person(each) for each in people]
    if more:
        names.append(describe_more(more))
    return _("Online: {names}.").format(names=listed(names))


def describe_more(people: int) -> str:
    return counted("{n} more", "{n} more", people).format(n=people)


def spectator_name(number: int | None, name: str | None) -> str:
    if name is not None:
        return name
    return _("A spectator") if number is None else _("spectator {number}").format(number=number)


def watching_name(called: str, name: str | None) -> str:
    """Return a spectator's name among players; without one, the text says that it is a spectator."""
    return called if name is None else _("{name} (spectator)").format(name=called)


KINDS: Final = {Kind.MERCHANT: N_("merchant"), Kind.FARMER: N_("farmer"), Kind.SOLDIER: N_("soldier")}
_WOLVES: Final = {Kind.MERCHANT: N_("wolf merchant"), Kind.FARMER: N_("wolf farmer")}
_A_KIND: Final = {Kind.MERCHANT: N_("a merchant"), Kind.FARMER: N_("a farmer"), Kind.SOLDIER: N_("a soldier")}
_A_WOLF: Final = {Kind.MERCHANT: N_("a merchant with the wolf"), Kind.FARMER: N_("a farmer with the wolf")}
PEOPLES: Final = {
    People.ETRUSCANS: N_("Etruscans"),
    People.SABINES: N_("Sabines"),
    People.LATINS: N_("Latins"),
    People.MARSI: N_("Marsi"),
    People.ARCADIANS: N_("Arcadians"),
}
_PEOPLES_OF: Final = {
    People.ETRUSCANS: N_("Etruscan"),
    People.SABINES: N_("Sabine"),
    People.LATINS: N_("Latin"),
    People.MARSI: N_("Marsian"),
    People.ARCADIANS: N_("Arcadian"),
}
_OF_A_PEOPLE: Final = {
    Kind.MERCHANT: N_("{people} merchant"),
    Kind.FARMER: N_("{people} farmer"),
    Kind.SOLDIER: N_("{people} soldier"),
}
_WOLF_OF_A_PEOPLE: Final = {
    Kind.MERCHANT: N_("{people} merchant with the wolf"),
    Kind.FARMER: N_("{people} farmer with the wolf"),
}


def people_named(text: str) -> People | None:
    """Return the people with that letter, or with that name in the player's language."""
    wanted = text.casefold()
    named = (people for people in People if wanted in {people.casefold(), _(PEOPLES[people]).casefold()})
    return next(named, None)


def piece_words(piece: Piece | Wolf) -> str:
    """Return a piece in words: `Etruscan merchant with the wolf`."""
    if isinstance(piece, Wolf):
        form = _("{people} wolf, kind unknown")
    else:
        form = _((_WOLF_OF_A_PEOPLE if piece.wolf else _OF_A_PEOPLE)[piece.kind])
    return form.format(people=_(_PEOPLES_OF[piece.people]))


def kind_words(piece: Piece) -> str:
    return _((_WOLVES if piece.wolf else KINDS)[piece.kind])


def kind_sentence(piece: Piece) -> str:
    return _((_A_WOLF if piece.wolf else _A_KIND)[piece.kind])

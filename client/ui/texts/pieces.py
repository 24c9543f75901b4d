"""The peoples and their pieces in words."""

from typing import Final

from client.language import N_, _
from engine.pieces import Kind, People, Piece, Wolf

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

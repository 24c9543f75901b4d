"""The peoples and their pieces in words."""

from typing import Final

from client.language import N_, _
from engine.pieces import People, Piece, Wolf

# By a piece's face: its kind, the same with an article, and with its people.
_KINDS: Final = {
    "m": (N_("merchant"), N_("a merchant"), N_("{people} merchant")),
    "m*": (N_("wolf merchant"), N_("a merchant with the wolf"), N_("{people} merchant with the wolf")),
    "f": (N_("farmer"), N_("a farmer"), N_("{people} farmer")),
    "f*": (N_("wolf farmer"), N_("a farmer with the wolf"), N_("{people} farmer with the wolf")),
    "s": (N_("soldier"), N_("a soldier"), N_("{people} soldier")),
}
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


def people_named(text: str) -> People | None:
    """Return the people with that letter, or with that name in the player's language."""
    wanted = text.casefold()
    named = (people for people in People if wanted in {people.casefold(), _(PEOPLES[people]).casefold()})
    return next(named, None)


def piece_words(piece: Piece | Wolf) -> str:
    """Return a piece in words: `Etruscan merchant with the wolf`."""
    form = N_("{people} wolf, kind unknown") if isinstance(piece, Wolf) else _KINDS[piece[1:]][2]
    return _(form).format(people=_(_PEOPLES_OF[piece.people]))


def kind_words(piece: Piece) -> str:
    return _(_KINDS[piece[1:]][0])


def kind_sentence(piece: Piece) -> str:
    return _(_KINDS[piece[1:]][1])

"""The peoples and their pieces, by their signs and in words."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from client.language import N_, _, counted
from engine.pieces import Kind, People, Piece, Wolf

# People see a piece by its people's letter and these signs. The notation of commands and records does not
# depend on them.
KIND_SIGNS: Final = {Kind.MERCHANT: "m", Kind.FARMER: "f", Kind.SOLDIER: "s"}
WITH_WOLF: Final = "*"
UNKNOWN_WOLF: Final = f"?{WITH_WOLF}"
NAMED_SIGNS: Final[Mapping[str, str]] = MappingProxyType(  # as texts that explain signs name them
    {kind.name.lower(): each for kind, each in KIND_SIGNS.items()}
    | {"wolf": WITH_WOLF, "unknown_wolf": UNKNOWN_WOLF}
)

# By a piece's face: its kind, the same with an article, and with its people.
_KINDS: Final = {
    "m": (N_("merchant"), N_("a merchant"), N_("{people} merchant")),
    "m*": (N_("wolf merchant"), N_("a merchant with the wolf"), N_("{people} merchant with the wolf")),
    "f": (N_("farmer"), N_("a farmer"), N_("{people} farmer")),
    "f*": (N_("wolf farmer"), N_("a farmer with the wolf"), N_("{people} farmer with the wolf")),
    "s": (N_("soldier"), N_("a soldier"), N_("{people} soldier")),
}
# The same with their people and an article: in English, the people decides which article it is.
_WITH_ARTICLE: Final = {
    "m": N_("{a_people} merchant"),
    "m*": N_("{a_people} merchant with the wolf"),
    "f": N_("{a_people} farmer"),
    "f*": N_("{a_people} farmer with the wolf"),
    "s": N_("{a_people} soldier"),
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
_A_PEOPLE: Final = {
    People.ETRUSCANS: N_("an Etruscan"),
    People.SABINES: N_("a Sabine"),
    People.LATINS: N_("a Latin"),
    People.MARSI: N_("a Marsian"),
    People.ARCADIANS: N_("an Arcadian"),
}


def people_named(text: str) -> People | None:
    """Return the people with that letter, or with that name in the player's language."""
    wanted = text.casefold()
    named = (people for people in People if wanted in {people.casefold(), _(PEOPLES[people]).casefold()})
    return next(named, None)


def piece_sign(piece: Piece | Wolf) -> str:
    """Return the sign of a piece; of others' wolves the kind is unknown (R4.2)."""
    if isinstance(piece, Wolf):
        return f"{piece.people}{UNKNOWN_WOLF}"
    return f"{piece.people}{face_sign(piece)}"


def face_sign(piece: Piece) -> str:
    """Return the sign of a piece without its people's letter."""
    return f"{KIND_SIGNS[piece.kind]}{WITH_WOLF if piece.wolf else ''}"


def piece_words(piece: Piece | Wolf) -> str:
    """Return a piece in words: `Etruscan merchant with the wolf`."""
    form = N_("{people} wolf, kind unknown") if isinstance(piece, Wolf) else _KINDS[piece[1:]][2]
    return _(form).format(people=_(_PEOPLES_OF[piece.people]))


def a_piece(piece: Piece | Wolf) -> str:
    """Return a piece in words, within a sentence: `an Etruscan merchant with the wolf`."""
    form = N_("{a_people} wolf") if isinstance(piece, Wolf) else _WITH_ARTICLE[piece[1:]]
    return _(form).format(a_people=_(_A_PEOPLE[piece.people]))


def kind_words(piece: Piece) -> str:
    return _(_KINDS[piece[1:]][0])


def count_words(piece: Piece, number: str, most: int) -> str:
    """Return so many pieces in words: `2 to 3 farmers`, with the most that there may be."""
    match piece[1:]:
        case "m":
            form = counted("{n} merchant", "{n} merchants", most)
        case "m*":
            form = counted("{n} wolf merchant", "{n} wolf merchants", most)
        case "f":
            form = counted("{n} farmer", "{n} farmers", most)
        case "f*":
            form = counted("{n} wolf farmer", "{n} wolf farmers", most)
        case _:
            form = counted("{n} soldier", "{n} soldiers", most)
    return form.format(n=number)


def kind_sentence(piece: Piece) -> str:
    return _(_KINDS[piece[1:]][1])


def a_kind(kind: Kind) -> str:
    """Return a kind in a word, with its article: `a merchant`."""
    return _(_KINDS[kind][1])


def board_word(piece: Piece | Wolf) -> str:
    """Return a piece in one word with its sign for the wolf, for a board with room for it."""
    return _(_UNKNOWN) if isinstance(piece, Wolf) else _board_word(piece[1:])


def board_words() -> list[str]:
    """Return all words that can appear on the board."""
    return [_(_UNKNOWN), *map(_board_word, _KINDS)]


def _board_word(face: str) -> str:
    kind, wolf = face[0], face[1:]  # as notation has them
    return f"{_(_KINDS[kind][0])}{WITH_WOLF if wolf else ''}"


_UNKNOWN: Final = N_("wolf?")

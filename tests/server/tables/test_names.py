"""Names: nobody passes for somebody else, and the names of the world are welcome."""

import pytest

from protocol.codes import Code
from server.refusal import Refusal
from server.tables.names import alike, check_name


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Roma", "Rоma"),  # a Cyrillic o
        ("Ass", "Аѕѕ"),  # all Cyrillic
        ("ΑΝΝΑ", "Anna"),  # all Greek
        ("Tom", "ΤΟΜ"),
        ("Вова", "вова"),
        ("ВОВА", "BOBA"),
        ("Iris", "lris"),
        ("Bo10", "Bolo"),
        ("Bernd", "Bemd"),
        ("Straße", "STRASSE"),
        ("ﬁona", "Fiona"),
    ],
)
def test_look_alikes(name: str, other: str) -> None:
    """Letters of other alphabets, digits for letters, case and ligatures deceive nobody."""
    assert alike(name, other)
    assert alike(other, name)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Anna", "Anne"),
        ("Ольга", "Олег"),
        ("Zoë", "Zoe"),
        ("Bot 1", "Bot 2"),
        ("花子", "太郎"),
        ("Νίκος", "Νίκη"),
    ],
)
def test_different_names(name: str, other: str) -> None:
    """Names that can be told apart may sit at one table."""
    assert not alike(name, other)


@pytest.mark.parametrize("name", ["Annа", "Νina", "Օlga", "Ꭺnna", "Ѕam"])
def test_alphabets_that_look_alike_are_not_mixed(name: str) -> None:
    """A name whose letters are not what they seem is refused, whoever else is there."""
    with pytest.raises(Refusal, match="mixes letters") as refusal:
        check_name(name)
    assert refusal.value.code == Code.NAME_MIXED_ALPHABETS


@pytest.mark.parametrize(
    "name", ["Иван 2", "Γιώργος", "花子 Hanako", "Ани", "Nino ♥", "दीपा", "Łukasz", "محمد"]
)
def test_names_of_the_world_pass(name: str) -> None:
    """One alphabet beside digits, signs, or scripts that nobody mistakes for it."""
    check_name(name)

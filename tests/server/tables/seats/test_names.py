"""Names: nobody can impersonate another player, and names in all scripts are welcome."""

import importlib.resources
import itertools
import json

import pytest

from protocol.codes import Code
from server.refusal import Refusal
from server.tables.names import alike, check_name
from tests.cases import cases

DOTTED = ("ı\u0307vo", "ivo", "a dotless i with a dot")
INVISIBLE = [(f"Anna{sign}", "Anna", "a sign that nobody sees") for sign in "\ufe0f\u180b"]


@pytest.mark.parametrize(("name", "other", "_why"), [*cases(__file__, "look_alikes"), DOTTED, *INVISIBLE])
def test_look_alikes_are_alike(name: str, other: str, _why: str) -> None:
    assert alike(name, other)
    assert alike(other, name)


@pytest.mark.parametrize(("name", "other"), cases(__file__, "different"))
def test_different_names_are_not_alike(name: str, other: str) -> None:
    assert not alike(name, other)


def test_all_look_alikes_in_unicodes_list_are_alike() -> None:
    groups = confusables()
    assert len(groups) > 1000
    pairs = 0
    for group in groups:
        usable = [text for text in group if can_be_a_name(text)]
        for name, other in itertools.combinations(usable, 2):
            assert alike(f"{name}nna", f"{other}nna"), f"{name} and {other}"
            pairs += 1
    assert pairs > 10_000


def confusables() -> list[set[str]]:
    """Return the groups of texts that look alike."""
    path = importlib.resources.files("homoglyphs_fork") / "confusables.json"
    listed: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    groups = [{text, *others} for text, others in listed.items() if len(others) > 1 or text < others[0]]
    return [{text.replace("\u200e", "") for text in group} for group in groups]


def can_be_a_name(text: str) -> bool:
    try:
        check_name(text)
    except Refusal:
        return False
    return True


@pytest.mark.parametrize("name", ["Annа", "Νina", "Օlga", "Ꭺnna", "Ѕam", "ᗅnna"])
def test_alphabets_that_look_alike_are_not_mixed(name: str) -> None:
    with pytest.raises(Refusal, match="mixes look-alike letters") as refusal:
        check_name(name)
    assert refusal.value.code == Code.NAME_MIXED_ALPHABETS


@pytest.mark.parametrize(
    "name", ["Иван 2", "Γιώργος", "花子 Hanako", "Ани", "Nino ♥", "दीपा", "Łukasz", "محمد"]
)
def test_names_in_all_scripts_are_accepted(name: str) -> None:
    """One alphabet may be mixed with digits, signs and scripts that nobody confuses with it."""
    check_name(name)


@pytest.mark.parametrize("character", ["\ufdfa", "\ufdfb"])
def test_names_that_are_slow_to_compare_are_refused(character: str) -> None:
    """A name of 20 characters that stand for 18 letters each took 0.5 ms, and whoever asked could send it."""
    with pytest.raises(Refusal, match=f"U\\+{ord(character):04X}") as refusal:
        check_name(f"Ali {character}")
    assert refusal.value.code == Code.NAME_UNPRINTABLE

"""Names and chat: what a terminal might act on, or what could deceive a reader, does not pass."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.text import printable, unsafe

NAMES = "Anna, Zoë, Łukasz, Ἀχιλλεύς, Ольга, 李小龙, さくら, שלום, नमस्ते, Anna & Ben, Well played! 🎲"
INVISIBLE = "\n\t\x1b\x9b\x00\x7f\u202e\u2066\u200b\ufeff\u2028\u2029"


def test_names_of_the_world_pass() -> None:
    """Letters, marks, digits, signs and single emoji of any script."""
    assert [name for name in NAMES.split(", ") if unsafe(name)] == []


@pytest.mark.parametrize("character", INVISIBLE + "\ud800\ue000\u0378\u3164\U000e0041\U00016fe4\U0001d159")
def test_what_deceives_is_refused_by_its_code_point(character: str) -> None:
    """Controls, escape sequences, invisible and direction characters, and those of nobody."""
    found = unsafe(f"An{character}na")
    assert found
    assert found.about.get("character") == f"U+{ord(character):04X}"


@pytest.mark.parametrize("text", ["", " ", " Anna", "Anna\u3000", "\ufe0f", "\u0301nna"])
def test_blanks_are_refused(text: str) -> None:
    """At the ends as well, where nobody sees them."""
    found = unsafe(text)
    assert found
    assert found.fault == "blank"


def test_marks_that_pile_up_and_other_forms_are_refused() -> None:
    found = [unsafe(text) for text in ("a\u0301\u0302\u0303\u0304", "Zoe\u0308")]
    assert [each and each.fault for each in found] == ["too-many-marks", "not-composed"]


@given(st.text(max_size=30))
def test_what_passes_is_harmless(text: str) -> None:
    """Nothing that passes has a control or format character, or changes when composed."""
    if unsafe(text) is None:
        assert all(unicodedata.category(character)[0] != "C" for character in text)
        assert unicodedata.normalize("NFC", text) == text == text.strip() != ""


@given(st.text(max_size=30))
def test_an_escaped_text_shows_all_and_does_nothing(text: str) -> None:
    """What is logged or shown of a stranger's text has no character that a terminal acts on."""
    shown = printable(text)

    def acts(character: str) -> bool:
        return unicodedata.category(character)[0] == "C" or character in "\u2028\u2029"

    assert not any(map(acts, shown))
    assert any(map(acts, text)) or shown == text


def test_an_escape_tells_which_character_it_was() -> None:
    """Two different characters are escaped differently."""
    assert printable("\x1b[0m") == "\\x1b[0m"
    assert printable("\u202e") != printable("\u202d")

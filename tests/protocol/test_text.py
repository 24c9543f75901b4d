"""Names and chat: what a terminal might act on, or what could deceive a reader, does not pass."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.text import printable, unsafe

NAMES = "Anna, Zoë, Łukasz, Ἀχιλλεύς, Ольга, 李小龙, さくら, שלום, नमस्ते, Anna & Ben, Well played! 🎲"


@pytest.mark.parametrize("text", NAMES.split(", "))
def test_names_of_the_world_pass(text: str) -> None:
    """Letters, marks, digits, signs and single emoji of any script."""
    assert unsafe(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "blank"),
        (" ", "blank"),
        (" Anna", "blank"),
        ("Anna\u3000", "blank"),
        ("An\nna", "U+000A"),
        ("An\tna", "U+0009"),
        ("\x1b[2J", "U+001B"),
        ("\x9b2J", "U+009B"),
        ("An\x00na", "U+0000"),
        ("An\x7fna", "U+007F"),
        ("An\u202ena", "U+202E"),
        ("An\u2066na", "U+2066"),
        ("An\u200bna", "U+200B"),
        ("\ufeffAnna", "U+FEFF"),
        ("An\u2028na", "U+2028"),
        ("An\u2029na", "U+2029"),
        ("An\ud800na", "U+D800"),
        ("An\ue000na", "U+E000"),
        ("An\u0378na", "U+0378"),
        ("\u3164", "U+3164"),
        ("An\U000e0041na", "U+E0041"),
        ("\ufe0f", "blank"),
        ("\u0301nna", "blank"),
        ("Anna\U00016fe4", "U+16FE4"),
        ("\U0001d159", "U+1D159"),
        ("a" + "\u0301\u0302\u0303\u0304", "too-many-marks"),
        ("Zoe\u0308", "not-composed"),
    ],
)
def test_what_deceives_is_refused_with_its_reason(text: str, reason: str) -> None:
    """Controls, escape sequences, invisible and direction characters, piles of marks, look-alike forms."""
    found = unsafe(text)
    assert found
    assert reason in (found.fault, found.about.get("character"))


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

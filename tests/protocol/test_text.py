"""What strangers wrote is shown so that no terminal acts on it."""

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocol.text import printable, printable_json

# The beginning of a control sequence, a line that goes the other way, letters that show nothing, a tag.
ACTIVE = "a\x1b[31m\x9b2J\x7f\u202e\u2066\u200b\ufeff\U000e0041z\n\t"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=()), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


def is_active(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(VALUES, st.sampled_from([None, 2]))
@example([ACTIVE, {ACTIVE: "é 猫 \U0001f43a"}], 2)
def test_json_for_people_has_nothing_that_a_terminal_acts_on(value: object, indent: int | None) -> None:
    """It means the same, and what can be read stays readable."""
    told = printable_json(json.dumps(value, ensure_ascii=False, indent=indent))
    assert json.loads(told) == value
    assert not any(map(is_active, told.replace("\n", "")))
    assert printable_json('"é 猫 \U0001f43a"') == '"é 猫 \U0001f43a"'


@pytest.mark.parametrize("character", [each for each in ACTIVE if is_active(each)])
def test_texts_for_people_have_nothing_that_a_terminal_acts_on(character: str) -> None:
    assert printable(f"a{character}z").isprintable()

"""What bots are called."""

from hypothesis import given
from hypothesis import strategies as st

from protocol.bot_names import PERSONS, level_of, name_bot, person_of, source_of_names
from protocol.limits import LEVEL_LENGTH, NAME_LENGTH
from protocol.text import unsafe

LEVELS = st.from_regex(rf"[a-z][a-z0-9-]{{0,{LEVEL_LENGTH - 1}}}", fullmatch=True)


@given(LEVELS, st.sets(st.sampled_from(PERSONS), max_size=len(PERSONS)), st.integers())
def test_a_bot_has_the_name_of_a_person_whom_nobody_is_called_and_its_level(
    level: str, taken: set[str], seed: int
) -> None:
    """Where there is none, or no room for the level, it has a number."""
    name = name_bot(level, taken.__contains__, source_of_names(seed))
    assert 1 <= len(name) <= NAME_LENGTH
    assert unsafe(name) is None
    assert level_of(name) == level
    free = {person for person in PERSONS if len(person) + len(level) + 3 <= NAME_LENGTH} - taken
    assert person_of(name) in (free or {f"{level}-1"})


def test_other_names_are_nobody_elses() -> None:
    for name in ("Ann", "Bob (mobile)", "Livia", "Livia (consul) 2", ""):
        assert (person_of(name), level_of(name)) == (name, "")

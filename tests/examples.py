"""How many examples a property is tried with: some examples are costly, and some rarely show anything."""

from typing import Final

from hypothesis import settings

USUAL: Final = 15


def examples(count: int) -> settings:
    """Return the setting for so many examples; the profile `thorough` has ten times as many."""
    assert settings.default is not None
    return settings(max_examples=count * settings.default.max_examples // USUAL)

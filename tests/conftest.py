"""What all tests share."""

import os
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings

# Whatever language the computer speaks, what the tests read is English.
os.environ["LANGUAGE"] = "en"
from client.language import speak

# No deadline: on a busy machine time says nothing about the code.
settings.register_profile(
    "palatinus", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("palatinus")


@pytest.fixture
def in_language() -> Iterator[Callable[[str], None]]:
    """Return what changes the language of all texts, until the test is over."""
    yield speak
    speak("en")

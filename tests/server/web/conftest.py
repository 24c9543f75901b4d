"""What the tests of pages share."""

import pytest

from server.web import live_page, subjects, television


@pytest.fixture(autouse=True)
def quick_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages change as often as what they show does."""
    monkeypatch.setattr(live_page, "_SECONDS_BETWEEN_DRAWINGS", 0.001)
    monkeypatch.setattr(subjects, "_SECONDS_BETWEEN_LOOKS", 0.001)
    monkeypatch.setattr(television, "_SECONDS_BETWEEN_LOOKS", 0.001)

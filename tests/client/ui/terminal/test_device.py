"""What is known of this program's own terminal."""

import os
import subprocess
import sys

import pytest

_SHOWS_ASCII = (
    "from client.ui.terminal.device import own_device; print(own_device().glyphs(ascii_wanted=False).ascii)"
)


@pytest.mark.parametrize(
    ("locale", "ascii_only"),
    [
        ({"LANG": "C"}, True),  # in whose place Python puts C.UTF-8
        ({"LANG": "en_GB.UTF-8", "LC_ALL": "POSIX"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),
        ({}, False),
    ],
)
def test_a_terminal_in_a_plain_locale_is_drawn_in_ascii(locale: dict[str, str], *, ascii_only: bool) -> None:
    """In another interpreter, because Python looks at the locale when it starts."""
    chosen = {name: value for name, value in os.environ.items() if not name.startswith(("LANG", "LC_"))}
    command = [sys.executable, "-c", _SHOWS_ASCII]
    run = subprocess.run(command, env={**chosen, **locale}, capture_output=True, text=True, check=True)
    assert run.stdout == f"{ascii_only}\n"

"""The server uses uvloop if and only if it is installed."""

import importlib.util

from server.event_loop import new_loop


def test_uvloop_is_used_where_it_is_installed() -> None:
    loop = new_loop()
    try:
        installed = importlib.util.find_spec("uvloop") is not None
        assert type(loop).__module__.startswith("uvloop") == installed
    finally:
        loop.close()

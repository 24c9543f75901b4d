"""The event loop of `palatinus serve`."""

import asyncio


def new_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's event loop, which takes less CPU a move, if it is installed; or else Python's own."""
    try:
        import uvloop  # noqa: PLC0415 - it may not be there
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop

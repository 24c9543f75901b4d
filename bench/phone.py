"""How long a phone takes from the address in a QR code to its first move on the board, in s.

    python -m bench.phone

A real Chromium, of a phone's size and with nothing stored, opens the page, takes a seat, and touches a piece,
a field and the button as soon as they are there: whatever people take to type a name and to think comes on
top. A slow phone has a quarter of this computer's speed, and a network of 1.6 Mbit/s with 300 ms.
Server, host and browser are on one computer. 10 games each.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.__main__ import table
from pages.drawing.pages import WebPages
from protocol.messages import StartGame
from server.app import running
from server.config import Config
from tests.browser import Tab, browser, tab
from tests.server.peer import connected

_PHONES: Final = 10
_TOUCHES: Final = ("#hand button:enabled", ".board .touch", "#ask .main")


async def _first_move(port: int, page: Tab) -> tuple[float, float]:
    """Return after how many seconds the phone has a seat, and its first move is on the board."""
    async with connected(port) as host:
        code = (await host.open(2, "Host", starting=1, random_layout=True)).table
        began = time.perf_counter()
        await page.go(f"http://127.0.0.1:{port}/play/{code}")
        await page.until("!document.querySelector('#join').hidden")
        await page.value("document.querySelector('#join input').value = 'Anna'")
        await page.value("document.querySelector('#join button').click()")
        await page.until("document.querySelector('#menu button')")
        seated = time.perf_counter() - began
        await host.done(StartGame(host.next_id()))
        for each in _TOUCHES:
            await page.until(f"document.querySelector('{each}')")
            click = "dispatchEvent(new MouseEvent('click', {bubbles: true}))"
            await page.value(f"document.querySelector('{each}').{click}")
        await page.until("document.querySelector('.board .piece')")
        return seated, time.perf_counter() - began


async def figures() -> dict[str, list[float]]:
    """Return the seconds for phones as fast as this computer, and for slow ones."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as where:
        async with running(Config(pages=WebPages())) as server:
            for name, slow in (("phone", False), ("slow phone", True)):
                times = []
                for _ in range(_PHONES):
                    async with tab(where) as page:
                        if slow:
                            await page.slow_down()
                        times.append(await _first_move(server.port, page))
                for what, each in zip(("seat", "first move"), zip(*times, strict=True), strict=True):
                    found[f"{name}: {what}"] = list(each)
    return found


def main() -> None:
    print(table(asyncio.run(figures())))


if __name__ == "__main__":
    main()

"""A real browser without a window, of a phone's size, driven over the DevTools protocol."""

import asyncio
import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.server.peer import TIMEOUT

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS: Final = (
    "--headless",
    "--no-sandbox",  # which containers lack; the only pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
_KEYS: Final = {"Enter": 13, " ": 32, "Tab": 9}
PHONE: Final = (390, 844)


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[str]:
    """Run a browser with its profile in `folder`, and yield where it is driven; skips if there is none."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip("there is no Chromium here")
    where = folder / "DevToolsActivePort"
    command = [program, *_OPTIONS, f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + TIMEOUT
        while not where.exists() or where.read_text().count("\n") < 1:
            assert process.poll() is None, "the browser has ended"
            assert time.monotonic() < until, "the browser does not start"
            time.sleep(0.02)
        port, path = where.read_text().split("\n")[:2]
        yield f"ws://127.0.0.1:{port}{path}"
    finally:
        process.terminate()
        process.wait()


# What a browser says of a question that it cannot answer, as the page it was asked in is being replaced.
_REPLACED: Final = (
    "Inspected target navigated or closed",
    "Cannot find default execution context",
    "Cannot find context with specified id",
    "Execution context was destroyed.",
)


class _PageReplaced(Exception):
    """The page has been left for another one before it could answer."""


class Tab:
    """A page in the browser; `complaints` are what its console says of errors and refused content."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._session: str | None = None
        self._ids = itertools.count(1)
        self.complaints: list[str] = []

    async def open(self, *, scripts: bool, dark: bool, language: str) -> None:
        own = await self._do("Target.createBrowserContext", disposeOnDetach=True)  # with storage of its own
        target = await self._do("Target.createTarget", url="about:blank", **own)
        attached = await self._do("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        width, height = PHONE
        await self._do("Page.enable")
        await self._do("Runtime.enable")
        await self._do("Log.enable")
        await self.resize(width, height)
        await self._do("Emulation.setScriptExecutionDisabled", value=not scripts)
        await self.prefer(dark=dark)
        agent = await self.value("navigator.userAgent")
        await self._do("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage=language)

    async def resize(self, width: int, height: int) -> None:
        await self._do(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=True
        )

    async def prefer(self, *, dark: bool = False, still: bool = False) -> None:
        """Have the reader prefer a dark theme, or that nothing moves."""
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
        await self._do("Emulation.setEmulatedMedia", features=features)

    async def press(self, key: str) -> None:
        """Press a key where the focus is, as a keyboard does."""
        text = {"Enter": "\r", " ": " "}.get(key)
        pressed = {
            "key": key,
            "code": "Space" if key == " " else key,
            "windowsVirtualKeyCode": _KEYS.get(key, 0),
        }
        typed = {} if text is None else {"text": text}
        await self._do("Page.bringToFront")
        await self._do("Input.dispatchKeyEvent", type="keyDown", **pressed, **typed)
        await self._do("Input.dispatchKeyEvent", type="keyUp", **pressed)

    async def slow_down(self) -> None:
        """Be as slow as an old phone on a bad network."""
        await self._do("Emulation.setCPUThrottlingRate", rate=4)
        await self._do("Network.enable")
        network = {"latency": 300, "downloadThroughput": 200_000, "uploadThroughput": 100_000}
        await self._do("Network.emulateNetworkConditions", offline=False, **network)

    async def go(self, url: str) -> None:
        await self.value("window.left = true")
        told = await self._do("Page.navigate", url=url)
        if "loaderId" in told:  # another page, not another place in this one
            await self.until("!window.left")
        await self.until("document.readyState === 'complete'")

    async def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; if the page is just being replaced, of the next one.

        What leads to another page is clicked (`click`): here it could happen twice.
        """
        async with asyncio.timeout(TIMEOUT):
            while True:
                with contextlib.suppress(_PageReplaced):
                    return await self._value(expression)
                await asyncio.sleep(0.02)

    async def click(self, selector: str) -> None:
        """Click the first element that matches; it may lead to another page before that is answered."""
        with contextlib.suppress(_PageReplaced):
            await self._value(f"document.querySelector({json.dumps(selector)}).click()")

    async def _value(self, expression: str) -> Any:
        told = await self._do("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def text(self, selector: str) -> str:
        """Return the text of an element, as it is seen."""
        return str(await self.value(f"document.querySelector({json.dumps(selector)}).innerText"))

    async def until(self, condition: str) -> None:
        """Wait until a JavaScript condition holds."""
        async with asyncio.timeout(TIMEOUT):
            while not await self.value(f"Boolean({condition})"):  # noqa: ASYNC110 - it runs elsewhere
                await asyncio.sleep(0.02)

    async def screenshot(self) -> bytes:
        """Return what the page looks like, all of it, as a PNG file."""
        await self._do("Page.bringToFront")
        shot = await self._do("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    async def _do(self, method: str, **parameters: object) -> dict[str, Any]:
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        await self._socket.send(json.dumps(message))
        async with asyncio.timeout(TIMEOUT):
            while True:
                heard = json.loads(await self._socket.recv())
                self._take(heard)
                if heard.get("id") == number:
                    if heard.get("error", {}).get("message") in _REPLACED:
                        raise _PageReplaced
                    assert "error" not in heard, heard
                    result: dict[str, Any] = heard["result"]
                    return result

    def _take(self, heard: dict[str, Any]) -> None:
        match heard.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(str(heard["params"]["exceptionDetails"]))
            case "Log.entryAdded" if heard["params"]["entry"]["level"] == "error":
                self.complaints.append(str(heard["params"]["entry"]["text"]))


@contextlib.asynccontextmanager
async def tab(
    where: str, *, scripts: bool = True, dark: bool = False, language: str = "en"
) -> AsyncIterator[Tab]:
    """Open a page in the browser that is driven at `where`."""
    async with connect(where, max_size=None, compression=None) as socket:
        opened = Tab(socket)
        await opened.open(scripts=scripts, dark=dark, language=language)
        yield opened
        await opened._do("Page.close")

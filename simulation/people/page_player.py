"""Somebody who plays in a browser, against a bot of the server, and goes on to the next game."""

import asyncio
import itertools
import random
import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Final

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.typing import Origin

from client.bots.brains import at_random
from client.tables.table import TableModel
from pages.shared import MoveChoice
from protocol.codec import as_json, decode_server, encode
from protocol.events import move_message
from protocol.limits import VERSIONS
from protocol.messages import ClientMessage, Events, Hello, OpenTable, Rematch, SeatBot, Seated, StartGame
from protocol.settings import ChosenSwitches

_WOLF: Final = re.compile(r"\b([ESLMA])[mf]\*")
_LONGEST: Final = 60.0  # seconds at a page
_PAUSE: Final = 60.0  # ... before the next one
_LATE: Final = 10.0  # seconds for which the end of the game before may still be drawn
_CHOOSES: Final = 0.5  # of the moves


async def play_on_pages(
    address: str, password: str | None, rng: random.Random, counts: Counter[str]
) -> AsyncIterator[str]:
    """Go on until cancelled; yield what the player should not have been shown."""
    while True:
        await asyncio.sleep(rng.uniform(0.0, _PAUSE))
        try:
            async with connect(
                f"ws://{address}/play/",
                origin=Origin(f"http://{address}"),
                compression=None,
                proxy=None,
            ) as page:
                async with asyncio.timeout(rng.uniform(0.0, _LONGEST)):
                    async for seen in _play(page, password, rng, counts):
                        yield seen
        except (OSError, TimeoutError, WebSocketException):
            counts["pages of players that ended"] += 1


async def _play(
    page: ClientConnection, password: str | None, rng: random.Random, counts: Counter[str]
) -> AsyncIterator[str]:
    model, ids, moved_at, since = TableModel(), itertools.count(1), -1, 0.0

    async def ask(message: ClientMessage) -> None:
        await page.send(as_json(encode(message)).decode())

    await ask(Hello(list(VERSIONS), "page", password))
    token = f"{rng.getrandbits(120):043d}"
    await ask(
        OpenTable(next(ids), 2, "Page", token=token, switches=ChosenSwitches(private=rng.random() < 0.5))
    )
    async for frame in page:
        content = msgspec.json.decode(frame)
        if "t" not in content:
            counts["pages of players drawn"] += 1
            if asyncio.get_running_loop().time() > since + _LATE and _shows_a_secret(model, str(content)):
                yield f"{model.table}: a player's page shows the kind of another's wolf: {frame!r}"
            continue
        message = decode_server(msgspec.msgpack.encode(content))
        model.take(message)
        if isinstance(message, Seated):
            moved_at, since = -1, asyncio.get_running_loop().time()
            await ask(SeatBot(next(ids), "random"))
            await ask(StartGame(next(ids)))
        elif isinstance(message, Events) and model.view is not None and model.view.result is not None:
            await ask(Rematch(next(ids)))
        elif model.legal is not None and model.view is not None and model.seq != moved_at:
            moved_at = model.seq
            if rng.random() < _CHOOSES:
                choice = MoveChoice(moment=rng.choice([0, 0, 1, model.seq]))
                await page.send(msgspec.json.encode(choice).decode())
            await asyncio.sleep(rng.uniform(0.0, 0.5))
            await ask(move_message(next(ids), at_random(model.view, model.legal, rng)))
            counts["moves on pages"] += 1


def _shows_a_secret(model: TableModel, parts: str) -> bool:
    """Return whether a page names the kind of another player's wolf before the scoring."""
    view = model.view
    if view is None or view.started is None or model.seat is None or view.scoring or view.result is not None:
        return False
    own = {str(people) for people in view.start.peoples[model.seat]}
    return any(people not in own for people in _WOLF.findall(parts))

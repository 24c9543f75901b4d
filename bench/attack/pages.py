"""Attacks on the pages for browsers: asked for in floods, and watched without being read."""

import asyncio
import itertools
from typing import Any, Final

from bench.attack.client import AttackClient, Mode, Target, begun_game, connected, groups
from bench.attack.connections import repeated
from bench.load.wire import framed, page_handshake
from engine.board import FIELDS

_LANGUAGES: Final = ("en", "it", "fr", "nl")
_PATHS: Final = ("/", "/watch/ABCD", "/x")
_VIEWERS: Final = 27  # of each table
_TEXT: Final = 0x81
_PLAYING: Final = page_handshake("/play/ABCD")
_numbers: Final = itertools.count()


async def pages(target: Target) -> None:
    """Ask for a page under a name that nobody has asked for before, which takes a new QR code."""
    reader, writer = await connected(target)
    number = next(_numbers)
    lines = f"Host: h{number}\r\nAccept-Language: {_LANGUAGES[number % 4]}\r\n"
    writer.write(f"GET {_PATHS[number % 3]} HTTP/1.1\r\n{lines}\r\n".encode())
    await reader.read()
    writer.close()


async def viewers(clients: list[AttackClient]) -> None:
    """Rename a table endlessly while browsers that never read are watching it."""
    (host,) = clients
    code = (await host.ask("open", players=5, name="w" * 20))["table"]
    watching = [await _watching(host.target, code) for _ in range(_VIEWERS)]

    titles = ({"t": "title", "text": f"{number:040}"} for number in itertools.count())
    try:
        await host.flood([{"t": "set", "setting": title}] for title in titles)
    finally:
        for writer in watching:
            writer.transport.abort()


async def choices(clients: list[AttackClient]) -> None:
    """Let players in browsers choose a piece and a field without end, and read nothing that is drawn."""
    await begun_game(clients)

    fields = (field.encode() for field in sorted(FIELDS))
    chosen = [[framed(b'{"piece":"Em","field":"%s"}' % field, _TEXT)] for field in fields]
    await asyncio.gather(*(client.flood(itertools.cycle(chosen)) for client in clients))


async def _watching(target: Target, code: Any) -> asyncio.StreamWriter:
    """Open a live page, and read nothing but the handshake's first line."""
    reader, writer = await connected(target)
    writer.write(page_handshake(f"/watch/{code}"))
    await reader.readuntil(b"\r\n")
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    return writer


MODES: Final = (
    Mode(
        "pages",
        "pages for browsers, under ever new names",
        repeated(pages),
        50,
        options=("--web",),
    ),
    Mode(
        "viewers",
        "browsers that watch tables renamed without end, and read nothing",
        groups(viewers, 1),
        8,
        options=("--web",),
    ),
    Mode(
        "choices",
        "players in browsers who choose pieces and fields without end, and read nothing",
        groups(choices, 2, _PLAYING),
        options=("--web",),
    ),
)

"""An ssh client with a screen, and a door for it to come in by."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh
import pyte

from client.bots.greedy import greedy
from client.network.transport import ServerAccess
from gateway.gateway import GameServer, Gateway
from gateway.kept_seats import GuestBook
from gateway.limits import GuestLimits
from gateway.running import host_key
from server.app import Running, running
from server.config import Config, Limits
from server.net.listener import listening_socket
from tests.server.peer import TIMEOUT, eventually

LIMITS = GuestLimits(guests_per_address=100)
QUICK = Limits(stand_in_seconds=0.01, wrong_password_seconds=0.01)


@dataclass
class House:
    """A door, and the folder with its key and the guests' seats."""

    port: int
    folder: Path
    server: Running | None = None

    @property
    def seats(self) -> list[Path]:
        """The files of all guests' seats."""
        return sorted((self.folder / "seats").glob("*/*.json"))


@contextlib.asynccontextmanager
async def door(
    folder: Path, server: GameServer, limits: GuestLimits = LIMITS, book: GuestBook | None = None
) -> AsyncIterator[House]:
    """Open a door to a server for the length of the context."""
    key = host_key(folder / "host_key")
    opened = Gateway(key, book or GuestBook(folder / "seats"), server, limits)
    with listening_socket(Config()) as listener:
        async with opened.open(listener):
            yield House(listener.getsockname()[1], folder)


@contextlib.asynccontextmanager
async def house(
    folder: Path, limits: GuestLimits = LIMITS, *, password: str | None = None, book: GuestBook | None = None
) -> AsyncIterator[House]:
    """Run a server in memory with a door for guests, for the length of the context."""
    told: list[GameServer] = []

    def gateway(url: str, token: str) -> None:
        access = ServerAccess(headers={"Authorization": f"Bearer {token}"})
        told.append(GameServer(url, "ws://localhost", access))

    config = Config(gateway=gateway, password=password, brains={"greedy": greedy}, limits=QUICK, seed=7)
    async with running(config) as server, door(folder, told[0], limits, book) as opened:
        opened.server = server
        yield opened


@dataclass
class Visitor:
    """A guest's program: what the door sends is on `screen`, and `raw` has all of it."""

    connection: asyncssh.SSHClientConnection
    process: asyncssh.SSHClientProcess[bytes]
    screen: pyte.Screen
    raw: bytearray = field(default_factory=bytearray)

    async def read(self) -> None:
        """Keep the screen up to date until there is no more to read."""
        stream = pyte.ByteStream(self.screen)
        while data := await self.process.stdout.read(65536):
            self.raw += data
            with contextlib.suppress(TypeError):  # the emulator knows some sequences only without their marks
                stream.feed(data.replace(b"\x1b[?2026h", b"").replace(b"\x1b[?2026l", b""))

    @property
    def shown(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    async def until(self, *texts: str) -> None:
        """Wait until all these texts are on the screen."""

        def arrived() -> bool:
            shown = self.shown
            return all(text in shown for text in texts)

        try:
            await eventually(arrived)
        except TimeoutError:
            raise AssertionError(f"{texts} is not on the screen:\n{self.shown}") from None

    def type(self, keys: str) -> None:
        self.process.stdin.write(keys.encode())

    async def ended(self) -> int | None:
        """Wait for the end; return the exit code."""
        async with asyncio.timeout(TIMEOUT):
            await self.process.wait_closed()
        return self.process.exit_status

    def vanish(self) -> None:
        """Be gone without a word, like a window that is closed."""
        self.connection.abort()


class Answering(asyncssh.SSHClient):
    """A program that answers what it is asked, as ssh does: with nothing if it is asked nothing."""

    def kbdint_auth_requested(self) -> str:
        return ""

    def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str]:
        del name, instructions, lang
        return ["" for _prompt in prompts]


async def connection(
    port: int, name: str = "anna", key: asyncssh.SSHKey | None = None, **options: Any
) -> asyncssh.SSHClientConnection:
    """Return a connection that has logged in, with a key or without one."""
    async with asyncio.timeout(TIMEOUT):
        return await asyncssh.connect(
            "127.0.0.1",
            port,
            username=name,
            known_hosts=None,
            config=None,
            agent_path=None,
            client_keys=[] if key is None else [key],
            **{"client_factory": Answering, "preferred_auth": "publickey,keyboard-interactive", **options},
        )


@contextlib.asynccontextmanager
async def visiting(
    port: int,
    name: str = "anna",
    key: asyncssh.SSHKey | None = None,
    *,
    term: str | None = "xterm-256color",
    size: tuple[int, int] = (80, 24),
    environment: Mapping[str, str] | None = None,
    command: str | None = None,
    **options: Any,
) -> AsyncIterator[Visitor]:
    """Be a guest for the length of the context."""
    connected = await connection(port, name, key, **options)
    try:
        process: asyncssh.SSHClientProcess[bytes] = await connected.create_process(
            command, term_type=term, term_size=size, env=environment or {}, encoding=None
        )
        visitor = Visitor(connected, process, pyte.Screen(*(min(each, 300) for each in size)))
        reading = asyncio.create_task(visitor.read())
        try:
            yield visitor
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, asyncssh.Error):
                await reading
    finally:
        connected.abort()
        await connected.wait_closed()


def new_key() -> asyncssh.SSHKey:
    """Return a key as ssh-keygen makes it."""
    return asyncssh.generate_private_key("ssh-ed25519")

"""Five friends in one room, for real: two terminals, ssh, a phone, text mode, and a sixth who comes later.

    python -m trials.friends [--seed N]

The host opens the room with two keys from the start screen. The others come one by one, each by what the
host's screen shows for them, and nobody types a code. A sixth comes in the middle of the game and watches.
A seventh opens another table in the same lobby. After the game the host leads the others through it; one of
the five goes home, the others play again, and the sixth has a seat. The host's program is killed, *Host on*
opens the table again, and everybody comes back.

Each step is printed with what was seen. If one is not seen, it prints everybody's screens and ends with 1.
Without Chromium nobody has a phone; where there are no network namespaces, nobody is found on the network.
"""

import argparse
import asyncio
import contextlib
import os
import re
import signal
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pexpect
import pytest

from tests.browser import Tab, browser, tab
from tests.client.ui.pty_terminal import KEYS, RUN, Terminal
from tests.discovery.network import own_network
from tests.line import line_to
from tests.server.process import TODAY, environment
from trials.evening import AtTerminal, InLines, OnPhone, OverSsh, TrialPerson

_SECONDS: Final = 30.0  # until a step counts as not seen
_GAME_SECONDS: Final = 300.0
_PAUSE: Final = 0.2  # seconds between two looks
_JOIN: Final = r"palatinus join (ws://\S+):(\d+) (\w{4})"
_DOWN, _UP, _ESCAPE = KEYS["down"], KEYS["up"], KEYS["escape"]


class NotSeen(Exception):
    """Somebody has not seen what the step is about."""


_FAILURES: Final = (NotSeen, TimeoutError, AssertionError, ExceptionGroup, pexpect.EOF)


@dataclass(frozen=True, slots=True)
class Friend:
    """Somebody in the room: what they read, how they press a key, and what they see when a game is over.

    On a phone, what is pressed is a button with these words.
    """

    person: TrialPerson
    read: Callable[[], Awaitable[str]]
    press: Callable[[str], Awaitable[None]]
    end: str = "POINTS"

    @property
    def name(self) -> str:
        return self.person.name

    async def sees(self, pattern: str) -> str:
        """Wait until what this friend reads has the pattern; return the line with it. Raises NotSeen."""
        until = time.monotonic() + _SECONDS
        while (found := re.search(rf".*({pattern}).*", await self.read())) is None:
            if time.monotonic() > until:
                raise NotSeen(f"{self.name} does not see {pattern!r}")
            await asyncio.sleep(_PAUSE)
        return " ".join(found[0].split())


def _at_screen(person: AtTerminal | OverSsh) -> Friend:
    return Friend(person, person.seen, person.press)


def _on_phone(person: OnPhone, page: Tab) -> Friend:
    async def read() -> str:
        return str(await page.value("document.body?.innerText ?? ''"))

    async def press(words: str) -> None:
        button = (
            f"[...document.querySelectorAll('button, a')].find(each => each.innerText.trim() === {words!r})"
        )
        await page.until(button)
        await page.value(f"setTimeout(() => {button}.click()); 0")

    return Friend(person, read, press, "Play again|turn up")


def _in_lines(person: InLines, process: asyncio.subprocess.Process) -> Friend:
    async def press(line: str) -> None:
        assert process.stdin is not None
        process.stdin.write(f"{line}\n".encode())

    return Friend(person, person.seen, press, "The scoring begins")


class Room:
    """The friends, and the steps of their evening."""

    def __init__(self) -> None:
        self.friends: list[Friend] = []
        self.elsewhere: list[Friend] = []  # at another table
        self._step = 0
        self._began = time.monotonic()

    def _tell(self, what: str, *seen: str) -> None:
        self._step += 1
        print(f"{self._step:2}. {time.monotonic() - self._began:4.0f} s  {what}", flush=True)
        for each in seen:
            print(f"            {each}", flush=True)

    async def see(self, what: str, pattern: str, friends: Sequence[Friend]) -> None:
        """Wait until all these friends see the pattern, and print what each of them sees."""
        self._tell(what, *[f"{each.name}: {await each.sees(pattern)}" for each in friends])

    async def play(self, what: str, done: Callable[[Friend], Awaitable[bool]]) -> None:
        """Have everybody look and move until all are done."""
        waiting, before = {*self.friends}, {each: each.person.moves for each in self.friends}

        async def act(friend: Friend) -> None:
            while waiting:
                await friend.person.look()
                if await done(friend):
                    waiting.discard(friend)
                await asyncio.sleep(_PAUSE)

        try:
            async with asyncio.timeout(_GAME_SECONDS), asyncio.TaskGroup() as tasks:
                for friend in self.friends:
                    tasks.create_task(act(friend))
        except TimeoutError:
            names = ", ".join(each.name for each in waiting)
            raise NotSeen(f"{what}: not after {_GAME_SECONDS:.0f} s, for {names}") from None
        moves = ", ".join(f"{each.name} {each.person.moves - then}" for each, then in before.items())
        self._tell(what, f"moves: {moves}")

    async def screens(self) -> str:
        shown = list[str]()
        for friend in (*self.friends, *self.elsewhere):
            try:
                shown.append(f"---- {friend.name}\n{await friend.read()}")
            except _FAILURES as failure:
                shown.append(f"---- {friend.name}: {failure!r}")
        return "\n".join(shown)


async def _sees_the_end(friend: Friend) -> bool:
    return re.search(friend.end, await friend.read()) is not None


class Evening:
    """The evening, step by step; `where` a browser is driven, if there is one."""

    def __init__(
        self, folder: Path, seed: int, multicast: str, where: str | None, stack: contextlib.AsyncExitStack
    ) -> None:
        self.room = Room()
        self._folder, self._seed, self._multicast, self._where = folder, seed, multicast, where
        self._stack = stack
        self._host, self._port, self._code = "", 0, ""  # as the host's screen shows them
        self._ssh = 0
        self._terminals: dict[str, Terminal] = {}

    def _start(self, name: str, *words: str) -> Friend:
        """Start the program in a terminal of its own, where its user is called so."""
        own = ("XDG", "HOME", "LANGUAGE")
        home = {key: each for key, each in environment(self._folder / name).items() if key.startswith(own)}
        home |= {"LOGNAME": name, "PALATINUS_MULTICAST": self._multicast}
        terminal = Terminal(*words, environment=home, size=(100, 30), script=RUN)
        self._terminals[name] = self._stack.enter_context(terminal)
        return _at_screen(AtTerminal(name, self._seed, terminal))

    async def hold(self) -> None:
        await self.come()
        await self.play()
        await self.play_again()
        await self.come_back()

    async def come(self) -> None:
        """Have the five come one by one, each in another way."""
        room, see = self.room, self.room.see
        ann = self._start("Ann")
        room.friends.append(ann)
        await ann.sees("► Learn the game")
        await ann.press(f"{_DOWN}{_DOWN}\r")
        await ann.sees("► Start hosting")
        await ann.press("\r")
        await see("Ann opens the room with two keys", _JOIN, [ann])
        shown = await ann.sees(_JOIN)
        found = re.search(_JOIN, shown)
        assert found is not None
        self._host, self._port, self._code = found[1], int(found[2]), found[3]
        self._ssh = int((await ann.sees(r"ssh -p \d+")).split("ssh -p ")[1].split()[0])
        if self._multicast == "none":
            bob = self._start("Bob", "join", f"{self._host}:{self._port}", self._code)
        else:
            await ann.sees("finds this")
            bob = self._start("Bob")
            await bob.sees("► Learn the game")
            await bob.press(f"{_DOWN}{_DOWN}{_DOWN}\r")
            await bob.sees(f"► +{self._code} +Ann")
            await bob.press("\r")
        room.friends.append(bob)
        await see("Bob finds the table on the network, and sits down", r"\d +\S +Bob", room.friends)
        person = OverSsh("Gino", self._seed, self._ssh)
        self._stack.push_async_callback(person.leave)
        gino = _at_screen(person)
        room.friends.append(gino)
        await gino.sees(f"{self._code} +Ann")
        await gino.press(f"{_UP}{_UP}\r")
        await see("Gino comes by ssh, and finds the table in the lobby", r"\d +\S +gino", room.friends)
        ida = await self._come_in_text_mode("Ida")
        await ida.sees("lobby")
        await see("Ann hears that Ida is in the lobby", "Ida", [ann])
        await ann.press("i")
        await see("Ida is invited", "invites you", [ida])
        await ida.press("")
        await see("Ida sits down by an empty line", r"\d +\S +Ida", room.friends)
        if self._where is not None:
            dora = await self._come_by_phone("Dora", self._where)
            await see("Dora comes by the QR code", "Dora", [*room.friends[:-1], dora])

    async def _come_in_text_mode(self, name: str) -> Friend:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "palatinus", "join", "--plain", f"{self._host}:{self._port}"),
            cwd=TODAY,
            env={**environment(self._folder / name), "LOGNAME": name},
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
        )
        self._stack.callback(process.kill)
        friend = _in_lines(InLines(name, self._seed, process), process)
        self.room.friends.append(friend)
        return friend

    async def _come_by_phone(self, name: str, where: str) -> Friend:
        """Go where the QR code on the host's screen leads, and ask for a seat."""
        page = await self._stack.enter_async_context(tab(where))
        line = await self._stack.enter_async_context(line_to(self._port))
        friend = _on_phone(OnPhone(name, self._seed, page, line), page)
        self.room.friends.append(friend)
        await page.go(f"http://127.0.0.1:{self._port}/play/{self._code}")
        await page.value(f"document.querySelector('#join input').value = {name!r}; 0")
        await page.click("#join button")
        return friend

    def _have_moved(self, moves: int) -> Callable[[Friend], Awaitable[bool]]:
        before = {friend: friend.person.moves for friend in self.room.friends}

        async def done(friend: Friend) -> bool:
            return friend.person.moves - before[friend] >= moves

        return done

    async def play(self) -> None:
        """Play a game, to which somebody comes in the middle."""
        room = self.room
        ann, *_others = room.friends
        await ann.press("\r")
        await room.play("The game has begun, and each has moved", self._have_moved(1))
        if self._where is None:
            kim = self._start("Kim", "join", f"{self._host}:{self._port}", self._code)
            room.friends.append(kim)
        else:
            kim = await self._come_by_phone("Kim", self._where)
        await room.see(
            "Kim comes in the middle, and is told when to play", "so you watch it|take a seat", [kim]
        )
        await room.see("The others see that somebody watches", r"1 spectator|spectators: Kim", [ann])
        leo = self._start("Leo", "join", f"{self._host}:{self._port}", self._code)
        room.elsewhere.append(leo)
        await room.see("Leo comes, too, and is told how to play now", "type open", [leo])
        await leo.press(":open\r")
        await room.see("Leo opens another table in the same lobby", "Everyone who joins gets a seat", [leo])
        await room.play("The game is played to its end", _sees_the_end)

    async def play_again(self) -> None:
        """Have one of them go home, and the others play with the one who has watched."""
        room = self.room
        ann, bob, gino, ida, *phones, kim = room.friends
        await ann.press("f")
        await room.see("Ann leads through the game once more", "Ann (is leading|leads)", [bob, gino])
        await gino.press("f")
        await room.see("Gino follows", "you follow Ann", [gino])
        await ann.press("f")
        await room.see("Ann leads no more", "Ann has stopped leading", [bob])
        await gino.press(_ESCAPE)
        await ann.press(_ESCAPE)
        await ann.sees(ann.end)
        await ann.press("g")
        others = [bob, gino, ida, *phones]
        await room.see("Ann plays again, and all hear it", "Ann (plays|wants to play) again", others)
        await bob.press(_ESCAPE)
        await room.see("Bob goes to the lobby instead, and his seat is kept", "Your seat is kept", [bob])
        await room.see("Bob sees the other table in the lobby", "Leo +1 of 5", [bob])
        room.friends.remove(bob)
        await asyncio.to_thread(self._terminals[bob.name].press, "q", "y", shows="exit 0")
        await gino.press("g")
        await ida.press("again")
        for dora in phones:
            await dora.press("Play again")
        await room.see("They wait for Bob, who has gone home", "Waiting for Bob", [ann, gino, ida])
        await room.see("Ann is told how to go on without him", "Type remove Bob", [ann])
        await ann.press(":remove Bob\r")
        if phones:
            await kim.press("Take a seat in the next game")
            await kim.press("Take a seat")
        else:
            await kim.press("g")
        await room.see("Kim has a seat in the next game", "Kim", [ann, gino, ida, *phones])
        await ann.sees("Everybody is here|Press Enter to start")
        await ann.press("\r")
        await room.play("They play again, and each has moved", self._have_moved(1))

    async def come_back(self) -> None:
        """Kill the host's program, and have everybody come back."""
        room = self.room
        self._terminals["Ann"].end(signal.SIGKILL)
        ann = self._start("Ann")
        room.friends[0] = ann
        await room.see("Ann's program was killed; the start screen says so", "► Host on", [ann])
        await ann.press("\r")
        await room.see("Ann hosts on", r"· (Your|\w+'s) turn", [ann])
        await room.play("All come back, and each has moved", self._have_moved(1))


@contextlib.contextmanager
def _network() -> Iterator[str]:
    """Be in a network of our own, if that is allowed; yield where servers may be looked for."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(own_network())
        except pytest.skip.Exception as why:
            print(f"nobody is found on the network: {why}", flush=True)
            yield "none"
        else:
            yield ""


async def _hold(folder: Path, seed: int, multicast: str) -> int:
    profile = folder / "browser"
    profile.mkdir()
    async with contextlib.AsyncExitStack() as stack:
        where: str | None = None
        try:
            where = stack.enter_context(browser(profile))
        except pytest.skip.Exception as why:
            print(f"nobody has a phone: {why}", flush=True)
        evening = Evening(folder, seed, multicast, where, stack)
        try:
            await evening.hold()
        except _FAILURES as error:
            print(f"not seen: {error!r}\n{await evening.room.screens()}")
            return 1
    print("everybody has seen what friends should see")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m trials.friends",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ["LANGUAGE"] = "en"
    with tempfile.TemporaryDirectory(prefix="palatinus-friends-") as folder, _network() as multicast:
        return asyncio.run(_hold(Path(folder), options.seed, multicast))


if __name__ == "__main__":
    sys.exit(main())

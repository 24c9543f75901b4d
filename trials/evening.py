"""An evening of ten, for real: four phones, a tablet, two terminals, ssh, text mode, and a television.

    python -m trials.evening [--screens FOLDER] [--seed N] [--restless] [--mishaps]

They sign up and play two rounds at a real server, which is killed in the middle of the first, stopped in the
middle of the second, and started again each time. A phone hosts, and draws the rounds. Everybody has to be
called to their tables, to come back to their seats, to move before and after, and to be shown the same
standings as the host and the television, which is on all evening. What they see goes to the folder.

If they are restless, two pause in the first round, two others leave in its middle for good, and bots play on
for them when their time is up; all tables of a round have the same draws.

With mishaps, a phone sleeps for two minutes in the first round, and the line of the tablet stalls, which has
to say so in time. One of the phones comes before the second round, and in that a phone is lost: the host
gives its place to another one, in the middle of the game.
"""

import argparse
import asyncio
import contextlib
import json
import random
import re
import signal
import socket
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from asyncssh import Error as SshError

from protocol.messages import TakesPart
from tests.browser import PHONE, Tab, browser, tab
from tests.client.ui.pty_terminal import Terminal
from tests.client.ui.test_journey import empty_hexes, text_on
from tests.gateway.visitor import Visitor, new_key, visiting
from tests.line import Line, line_to
from tests.server.process import TODAY, ServerProcess, environment, output, program
from tests.test_browser import TURN, go_to_table, sign_up

_SECONDS: Final = 180.0  # for a round
_PAUSE: Final = 0.3  # seconds between two looks
_ASLEEP: Final = 120.0  # seconds
_AWAKE: Final = 20.0  # seconds until a phone that wakes up has the table again
_NOTICED: Final = 15.0  # seconds until a page says that its line is dead
_TABLET: Final = (820, 1180)
_CALLED: Final = re.compile(r"Your table (\w+) is ready")
_PIECE: Final = re.compile(r"\d (\w\w\*?) .*×\d")
_STEP: Final = re.compile(r"step (\d+) of (\d+)")
_LAY: Final = re.compile(r"You may lay the tile at position (\d+)")
_PLACE: Final = re.compile(r"You may place ([\w*]+).* on ([A-G]\d)")
_KEYS: Final[Mapping[TakesPart, str]] = {"play": "s", "pause": "p", "leave": "x"}
_SAID: Final[Mapping[TakesPart, str]] = {
    "play": "You are in the next round",
    "pause": "You have paused",
    "leave": "You have left the evening",
}
_STANDS: Final = re.compile(r"=?(\d+)\.?\s+([A-Za-z]+)\s+(\d+\.\d)")  # in the standings: place, name, score

_MAKES_MOVE: Final = "document.querySelector('#ask .main:enabled')"
_CHANGES: Final = re.compile(r"[▲▼]\d+|\+\d+\.\d")  # which a television shows between the name and the score


class TrialPerson(ABC):
    """Somebody who looks at what they are shown, and does what there is to do."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.chooser = name, random.Random(f"{name} {seed}")
        self.moves, self.calls = 0, set[str]()

    @abstractmethod
    async def sign_up(self) -> None: ...

    @abstractmethod
    async def take_part(self, how: TakesPart) -> None:
        """Pause, leave the evening, or play again, and see that said."""

    @abstractmethod
    async def look(self) -> None:
        """Do one thing, if there is one to do."""

    @abstractmethod
    async def standings(self) -> str:
        """Return a text that has the standings."""

    @abstractmethod
    async def seen(self) -> str | bytes:
        """Return what the person sees now: a text, or a picture."""


class AtScreen(TrialPerson):
    """A person at a screen of 80x24; `lines` has what is on it."""

    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @abstractmethod
    async def press(self, keys: str) -> None: ...

    @abstractmethod
    async def fresh(self) -> None:
        """Bring `lines` up to date."""

    async def until(self, seen: Callable[[], object], seconds: float = 20.0) -> None:
        async with asyncio.timeout(seconds):
            await self.fresh()
            while not seen():
                await asyncio.sleep(_PAUSE)
                await self.fresh()

    async def sign_up(self) -> None:
        await self.until(lambda: "E evening" in self.text)
        await self.press("E")
        await self.until(lambda: "You have not signed up" in self.text)
        await self.press("s")
        await self.until(lambda: _SAID["play"] in self.text)

    async def take_part(self, how: TakesPart) -> None:
        await self.standings()
        await self.press(_KEYS[how])
        await self.until(lambda: _SAID[how] in self.text)

    async def look(self) -> None:
        await self.fresh()
        before, step = self.text, _STEP.search(self.text)
        if called := _CALLED.search(before):
            self.calls.add(called[1])
            await self.press("\r")
        elif "Your turn: lay tile" in before:
            self.moves += 1
            await self.press("\r")
        elif "Your turn: place" in before and (pieces := _PIECE.findall(before)):
            fields = re.findall(r"[A-G][1-6]", text_on(self, self.chooser.choice(empty_hexes(self))))  # type: ignore[arg-type]
            self.moves += 1
            await self.press(f":{self.chooser.choice(pieces)} {fields[0]}\r")
        elif step is not None and step[1] != step[2]:
            await self.press("\r")
        else:
            return
        with contextlib.suppress(TimeoutError):
            await self.until(lambda: self.text != before, 3)

    async def standings(self) -> str:
        await self.fresh()
        if "SCORE" not in self.text:
            await self.press("E")
        await self.until(lambda: "SCORE" in self.text)
        return self.text

    async def seen(self) -> str:
        await self.fresh()
        return self.text


class AtTerminal(AtScreen):
    def __init__(self, name: str, seed: int, terminal: Terminal) -> None:
        super().__init__(name, seed)
        self._terminal = terminal

    async def press(self, keys: str) -> None:
        self._terminal.press(keys)

    async def fresh(self) -> None:
        await asyncio.to_thread(self._terminal.settle)
        self.lines = self._terminal.lines


class OverSsh(AtScreen):
    """A guest over ssh, who connects again with the same key when the connection has ended."""

    def __init__(self, name: str, seed: int, port: int) -> None:
        super().__init__(name, seed)
        self._port, self._key, self._visit = port, new_key(), contextlib.AsyncExitStack()
        self._visitor: Visitor | None = None

    async def press(self, keys: str) -> None:
        assert self._visitor is not None
        self._visitor.type(keys)

    async def fresh(self) -> None:
        if self._visitor is not None and self._visitor.process.stdout.at_eof():
            await self.leave()
        if self._visitor is None:
            with contextlib.suppress(OSError, SshError):
                coming = visiting(self._port, self.name.lower(), self._key)
                self._visitor = await self._visit.enter_async_context(coming)
        self.lines = [] if self._visitor is None else self._visitor.shown.split("\n")

    async def leave(self) -> None:
        self._visitor = None
        with contextlib.suppress(OSError, SshError):
            await self._visit.aclose()


class InLines(TrialPerson):
    """A person in text mode, who asks what may be done when it is their turn."""

    def __init__(self, name: str, seed: int, process: asyncio.subprocess.Process) -> None:
        super().__init__(name, seed)
        self._process, self.told = process, list[str]()
        self._read = 0
        self._reading = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self.told.append(line.decode().rstrip())

    def _type(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())

    async def _ask(self, line: str, pattern: str) -> None:
        before = len(self.told)
        self._type(line)
        async with asyncio.timeout(60):
            while not any(re.search(pattern, each) for each in self.told[before:]):  # noqa: ASYNC110 - a stream
                await asyncio.sleep(_PAUSE)

    async def sign_up(self) -> None:
        await self._ask("evening", "You have not signed up")
        await self._ask("s", _SAID["play"])

    async def take_part(self, how: TakesPart) -> None:
        await self._ask("evening", "SCORE")
        await self._ask(_KEYS[how], _SAID[how])

    async def look(self) -> None:
        new, self._read = self.told[self._read :], len(self.told)
        for line in new:
            if called := _CALLED.search(line):
                self.calls.add(called[1])
                self._type("")
            elif place := _PLACE.search(line):
                self.moves += 1
                self._type(f"{place[1]} {place[2]}")
            elif lay := _LAY.search(line):
                self.moves += 1
                self._type(f"lay {lay[1]} 0")
        if any("Your turn" in line for line in new):
            self._type("moves")

    async def standings(self) -> str:
        before = len(self.told)
        await self._ask("evening", "SCORE")
        await asyncio.sleep(1)
        return "\n".join(self.told[before:])

    async def seen(self) -> str:
        return "\n".join(self.told[-24:])


class OnPhone(TrialPerson):
    """A person who came by the code on the television."""

    def __init__(self, name: str, seed: int, page: Tab, line: Line) -> None:
        super().__init__(name, seed)
        self._page, self._line = page, line
        self._port = line.port

    def sleep(self) -> None:
        """Carry nothing more, and say nothing of that, as a phone in a pocket does."""
        self._line.dead = True

    async def wake(self) -> None:
        self._line.dead = False
        async with asyncio.timeout(_AWAKE):
            await self._page.until("line === 'here' && document.querySelector('.board .hill, .board .open')")

    async def stall(self) -> None:
        """Have the line carry nothing, though it stays open, until the page says that it is lost."""
        self._line.dead = True
        async with asyncio.timeout(_NOTICED):
            await self._page.until("!document.getElementById('lost').hidden")
        assert await self._page.value("document.querySelector('.board .hill, .board .open') !== null")

    async def take_over(self, page: Tab, link: str) -> None:
        """Go on with another phone, by the link that the host has printed."""
        place = link.partition("/play/")[2]
        await page.go(f"http://127.0.0.1:{self._port}/play/{place}")
        await page.until("document.querySelector('#link') && !document.querySelector('#link').hidden")
        await page.click("#link .main")
        await page.until("document.querySelector('#call [data-go]')")
        lost, self._page = self._page, page
        await lost.until("document.querySelector('#refusal').innerText.includes('another device')")

    async def sign_up(self) -> None:
        await sign_up(self._page, self._port, self.name)

    async def take_part(self, how: TakesPart) -> None:
        await self.standings()
        await self._page.click(f'#call [data-do*="{how}"]')
        said = "will be notified here" if how == "play" else "You are not playing now"
        await self._page.until(f"document.querySelector('#call').innerText.includes('{said}')")

    async def look(self) -> None:
        if await self._page.value("document.querySelector('#call [data-go]') !== null"):
            self.calls.add(await go_to_table(self._page))
        elif await self._page.value(f"{TURN} && document.title.startsWith('* ')"):
            # At once: the button may be gone a moment later.
            if await self._page.value(f"(button => button && !button.click())({_MAKES_MOVE})"):
                self.moves += 1
                return
            for choices in ("#hand button:enabled", ".board .touch"):
                touched = f"[...document.querySelectorAll('{choices}')].at({self.chooser.random()} * -9)"
                await self._page.value(
                    f"{touched}?.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
                )

    async def standings(self) -> str:
        await self._page.go(f"http://127.0.0.1:{self._port}/play/EVENING")
        await self._page.until("document.querySelector('#call ol')")
        return await self._page.text("#call ol")

    async def seen(self) -> bytes:
        return await self._page.screenshot()


class TrialHost:
    """The host, who has the link from the server's computer on a phone."""

    def __init__(self, page: Tab) -> None:
        self._page = page

    async def open(self, port: int, data: Path) -> None:
        told = await output(await program(TODAY, "admin", "--data", data, "evening", "host"))
        _address, _, key = told.splitlines()[1].strip().partition("#")
        await self._page.go(f"http://127.0.0.1:{port}/host#{key}")

    async def draw(self) -> None:
        await self._press("[data-ask*=draw]")

    async def hand_over(self, name: str) -> str:
        """Return the link with which another phone goes on as somebody."""
        await self._press(f"[data-ask*=hand-over][data-ask*={name}]")
        await self._page.until("document.querySelector('#device .qr')")
        return await self._page.text("#device code")

    async def _press(self, button: str) -> None:
        await self._page.until(f"line === 'here' && document.querySelector('#evening {button}')")
        await self._page.value("window.confirm = () => true; 0")
        await self._page.click(f"#evening {button}")

    async def seen(self) -> bytes:
        return await self._page.screenshot()


async def admin(data: Path) -> Any:
    """Return the evening as the server's host is told of it."""
    return json.loads(await output(await program(TODAY, "admin", "--json", "--data", data, "evening")))


async def _has_passed(moment: float) -> bool:
    return time.monotonic() >= moment


def find_standings(text: str) -> list[tuple[str, ...]]:
    """Return the places, names and scores in a text."""
    return sorted(_STANDS.findall(text))


class TrialEvening:
    """The ten, their server, and the folder for what they see."""

    def __init__(
        self,
        people: Sequence[TrialPerson],
        television: Tab,
        host: TrialHost,
        server: ServerProcess,
        *,
        data: Path,
        screens: Path,
    ) -> None:
        self._people, self._server, self._data, self._screens = [*people], server, data, screens
        self._television, self._host = television, host
        self._asleep = set[TrialPerson]()
        self._expected: list[tuple[str, ...]] = []  # the standings, as the host is told
        self._parts: dict[TrialPerson, TakesPart] = dict.fromkeys(people, "play")

    async def shot(self, what: str) -> None:
        for person in self._people:
            seen = await person.seen()
            path = self._screens / f"{what}-{person.name}"
            if isinstance(seen, bytes):
                path.with_suffix(".png").write_bytes(seen)
            else:
                path.with_suffix(".txt").write_text(seen + "\n", encoding="utf-8")
        (self._screens / f"{what}-host.png").write_bytes(await self._host.seen())
        (self._screens / f"{what}-television.png").write_bytes(await self._television.screenshot())

    async def play(self, what: str, done: Callable[[], Awaitable[bool]]) -> None:
        """Have everybody look and act until it is done."""
        began, over = time.monotonic(), asyncio.Event()

        async def act(person: TrialPerson) -> None:
            while not over.is_set():
                await person.look()
                await asyncio.sleep(_PAUSE)

        try:
            async with asyncio.timeout(_SECONDS), asyncio.TaskGroup() as tasks:
                for person in self._playing:
                    tasks.create_task(act(person))
                while not await done():  # noqa: ASYNC110 - seen on screens, of which nobody is told
                    await asyncio.sleep(1)
                over.set()
        except BaseException:
            await self.shot("failed")
            raise
        moves = {person.name: person.moves for person in self._people}
        print(f"{what}: {time.monotonic() - began:.0f} s, moves {moves}", flush=True)
        await self.shot(what)

    @property
    def _playing(self) -> list[TrialPerson]:
        awake = (person for person in self._people if person not in self._asleep)
        return [person for person in awake if self._parts[person] == "play"]

    async def come_late(self, person: TrialPerson) -> None:
        await person.sign_up()
        self._people.append(person)
        self._parts[person] = "play"

    async def nap(self, phone: OnPhone) -> None:
        """A phone is in a pocket for a while, and the others play as far as they can without it."""
        phone.sleep()
        self._asleep.add(phone)
        until = time.monotonic() + _ASLEEP
        await self.play("asleep", lambda: _has_passed(until))
        self._asleep.remove(phone)
        await phone.wake()
        await self.shot("awake")

    async def stall(self, tablet: OnPhone) -> None:
        """A line goes dead without a word, and comes back."""
        await tablet.stall()
        await self.shot("stalled")
        await tablet.wake()
        await self.shot("flowing")

    async def lose(self, phone: OnPhone, other: Tab) -> None:
        """A phone is lost, and the host gives its place to another one."""
        await phone.take_over(other, await self._host.hand_over(phone.name))
        await self.shot("found")

    async def take_part(self, people: Sequence[TrialPerson], how: TakesPart) -> None:
        for person in people:
            self._parts[person] = how
            await person.take_part(how)

    async def round(
        self,
        number: int,
        how: signal.Signals,
        leavers: Sequence[TrialPerson] = (),
        mishap: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Play a round, with a restart in its middle; some leave before it, and there may be a mishap."""
        calls = {person: len(person.calls) for person in self._playing}
        await self._host.draw()
        before = {person: person.moves for person in self._playing}
        await self.play(f"{number}-playing", lambda: self._have_moved(number, before, 3))
        await self.take_part(leavers, "leave")
        if mishap is not None:
            await mishap()
        await self._server.end(how)
        await self.shot(f"{number}-server-gone")
        await self._server.start()
        before = {person: person.moves for person in self._playing}
        await self.play(f"{number}-back", lambda: self._have_moved(number, before, 1))
        await self.play(f"{number}-over", self._round_over)
        called = {person.name: len(person.calls) - before for person, before in calls.items()}
        assert set(called.values()) == {1}, f"calls: {called}"
        told = await admin(self._data)
        parts = {person["name"].title(): person.get("takes_part", "play") for person in told["people"]}
        assert parts == {person.name: part for person, part in self._parts.items()}, parts
        assert all(person["here"] for person in told["people"]), told

    async def _have_moved(self, number: int, before: Mapping[TrialPerson, int], moves: int) -> bool:
        """Return whether all these people have made so many moves, or their games in the round are over."""
        told = await admin(self._data)
        tables = [table for table in told.get("tables", ()) if table["round"] == number]
        names = {person["person"]: person["name"].title() for person in told["people"]}
        over = {names.get(each) for table in tables if table["stage"] == "over" for each in table["people"]}
        return bool(tables) and all(
            person.name in over or person.moves - then >= moves for person, then in before.items()
        )

    async def _round_over(self) -> bool:
        return all(table["stage"] == "over" for table in (await admin(self._data)).get("tables", ()))

    async def compare_standings(self) -> None:
        """Raise AssertionError unless everybody is shown what the host is told."""
        self._expected = find_standings(
            await output(await program(TODAY, "admin", "--data", self._data, "evening"))
        )
        assert len(self._expected) == len(self._people), self._expected
        await self.shot("over")
        for person in self._people:
            shown = find_standings(await person.standings())
            assert shown == self._expected, f"{person.name}: {shown}"
        await self.shot("standings")

    async def compare_television(self) -> None:
        television = self._television
        await television.until("document.querySelector('.steps')")
        best, behind = await television.text(".steps"), await television.text("#waiting ol")
        shown = find_standings(_CHANGES.sub("", behind))
        assert shown == [each for each in self._expected if int(each[0]) > 3], f"television: {behind}"
        missing = [name for place, name, _score in self._expected if int(place) <= 3 and name not in best]
        assert not missing, f"television: {best}"


def _terminal(folder: Path, url: str, name: str) -> Terminal:
    home = environment(folder)
    own = {key: value for key, value in home.items() if key.startswith(("XDG", "HOME"))}
    return Terminal("join", url, "--name", name, environment=own)


async def _lines(folder: Path, url: str, name: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "palatinus", "join", "--plain", url, "--name", name),
        cwd=TODAY,
        env=environment(folder),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
    )


async def hold_evening(folder: Path, screens: Path, seed: int, *, restless: bool, mishaps: bool) -> None:
    """Hold the evening; raises AssertionError if it is not as it should be."""
    data = folder / "data"
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        port, ssh = one.getsockname()[1], other.getsockname()[1]
    options = ("--data", data, "--web", "--ssh", str(ssh), "--evening", "Friday", "--evening-rounds", "2")
    server = ServerProcess(
        *options, *(("--evening-same-draws", "--evening-minutes", "5") if restless else ())
    )
    server.port = port  # from the beginning: guests' seats are kept for it
    profile = folder / "browser"
    profile.mkdir()
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(server)
        await server.start()
        where = stack.enter_context(browser(profile))
        people: list[TrialPerson] = []
        for name in ("Ann", "Bob"):
            terminal = stack.enter_context(_terminal(folder / name, server.url, name))
            people.append(AtTerminal(name, seed, terminal))

        async def on_page(name: str, page: Tab) -> OnPhone:
            return OnPhone(name, seed, page, await stack.enter_async_context(line_to(server.port)))

        async def own_tab(width: int, height: int) -> Tab:
            page = await stack.enter_async_context(tab(where))
            await page.resize(width, height)
            return page

        dora, ella, fred, kim = [
            await on_page(name, await own_tab(*PHONE)) for name in ("Dora", "Ella", "Fred", "Kim")
        ]
        lena = await on_page("Lena", await own_tab(*_TABLET))
        gino = OverSsh("Gino", seed, ssh)
        stack.push_async_callback(gino.leave)
        process = await _lines(folder / "Ida", server.url, "Ida")
        stack.callback(process.kill)
        people += [dora, ella, fred, lena, gino, InLines("Ida", seed, process)]
        people += [] if mishaps else [kim]
        television, host = await own_tab(1920, 1080), TrialHost(await own_tab(*PHONE))
        await television.go(f"http://127.0.0.1:{server.port}/tv")
        await host.open(server.port, data)
        scene = TrialEvening(people, television, host, server, data=data, screens=screens)
        try:
            for person in people:
                await person.sign_up()
        finally:
            await scene.shot("signed-up")
        if mishaps:
            await hold_unlucky(scene, dora, lena, kim, (ella, await own_tab(*PHONE)))
        elif restless:
            await hold_restless(scene, random.Random(seed).sample(people, 4))
        else:
            await scene.round(1, signal.SIGKILL)
            await scene.round(2, signal.SIGTERM)
        await scene.compare_standings()
        await scene.compare_television()


async def hold_unlucky(
    scene: TrialEvening, asleep: OnPhone, stalled: OnPhone, late: OnPhone, lost: tuple[OnPhone, Tab]
) -> None:
    """Play both rounds; of the phone that is lost, another one takes the place."""

    async def first_mishaps() -> None:
        await scene.nap(asleep)
        await scene.stall(stalled)

    await scene.round(1, signal.SIGKILL, mishap=first_mishaps)
    await scene.come_late(late)
    await scene.round(2, signal.SIGTERM, mishap=partial(scene.lose, *lost))


async def hold_restless(scene: TrialEvening, people: Sequence[TrialPerson]) -> None:
    """Play both rounds; two of these people pause in the first one, the others leave in its middle."""
    pausing, leaving = people[:2], people[2:]
    await scene.take_part(pausing, "pause")
    await scene.round(1, signal.SIGKILL, leaving)
    await scene.take_part(pausing, "play")
    await scene.round(2, signal.SIGTERM)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trials.evening", description=__doc__)
    parser.add_argument("--screens", type=Path, default=Path("evening"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--restless", action="store_true")
    parser.add_argument("--mishaps", action="store_true")
    options = parser.parse_args()
    if options.restless and options.mishaps:
        parser.error("who is restless may be the one with the mishap")
    options.screens.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="palatinus-evening-") as folder:
        evening = hold_evening(
            Path(folder), options.screens, options.seed, restless=options.restless, mishaps=options.mishaps
        )
        asyncio.run(evening)
    print("everybody has played, and all are shown the same standings")


if __name__ == "__main__":
    main()

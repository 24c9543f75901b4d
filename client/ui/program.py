"""The client's one program: a stack of sessions on a screen, the loop that runs them, and a record as one."""

import asyncio
import contextlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import replace
from threading import Thread
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from client.language import _, labelled, yes_letters
from client.records import Analyse, Analysis, Recording
from client.tables.table import TableModel
from client.ui import requests
from client.ui.draw.page import on_turn
from client.ui.facts import answer
from client.ui.frame import Frame, in_ascii
from client.ui.keys import Act, Action, Insert
from client.ui.requests import Errand, Request
from client.ui.screens import replay
from client.ui.screens.dispatch import TICK_SECONDS, counting, keys_now, pressed, ticked, updated
from client.ui.screens.menu import TableMenu
from client.ui.screens.news import followed, logged
from client.ui.screens.playing import Ended, Playing
from client.ui.screens.replay import Replay
from client.ui.screens.scoring import Result, Scoring
from client.ui.screens.screen import drawn, prompt_of
from client.ui.state import Entry, Notice, Outcome, Ui, with_game
from client.ui.terminal.device import Device, own_device
from client.ui.terminal.shell import Shell, describe_failure, on_stop_signals
from client.ui.texts.glyphs import ASCII, UNICODE
from engine.board import Field
from engine.view import Eyes

_PRESENT_SECONDS: Final = 5.0  # how long after a key somebody is taken to be at the screen


class Session:
    """What the player is doing: choosing on a page, watching a record, taking lessons, visiting a server.

    `ui` is its state, `model` the known state of the table. When it is `over`, the one below it continues.
    """

    def __init__(self, ui: Ui, model: TableModel) -> None:
        self.ui, self.model = ui, model
        self.over = False
        self._changed: Callable[[], None] = _nothing
        self._changed_later: Callable[[], None] = _nothing

    def start(self, program: "Program") -> None:
        """Start the background work."""
        self._changed, self._changed_later = program.changed, program.changed_later

    def carry_out(self, request: Request) -> None:
        """Carry out the player's request."""
        raise NotImplementedError

    async def farewell(self) -> None:
        """End properly, as its player has quit."""

    def press(self, name: str) -> None:
        self.take(pressed(self.ui, name, self.model))

    def act(self, action: Action) -> None:
        self.take(updated(self.ui, action, self.model))

    def tick(self) -> None:
        """Update the times on the screen, and take the next step of an automatic walk."""
        if counting(self.ui, self.model):
            self.show(ticked(replace(self.ui, now=time.monotonic()), self.model))

    def take(self, outcome: Outcome) -> None:
        """Show the next state, and carry out its request."""
        ui, request = outcome
        self.show(ui)
        if request is not None:
            self.carry_out(request)

    def show(self, ui: Ui) -> None:
        self.ui = ui
        self._changed()

    def show_later(self, ui: Ui) -> None:
        """Show this state from now on, which nobody waits for; the same one is not drawn again."""
        if ui != self.ui:
            self.ui = ui
            self._changed_later()

    def log(self, sentence: str) -> None:
        self.show(logged(self.ui, [sentence]))

    def end(self) -> None:
        """Go back to the session below, or end the program."""
        self.over = True
        self._changed()


class Program:
    """Shows the session on top of the stack, and hands it keys and clicks, until the last one is over."""

    def __init__(self, session: Session, *, ascii_wanted: bool = False, device: Device | None = None) -> None:
        device = device or own_device()
        self.glyphs = device.glyphs(ascii_wanted=ascii_wanted)
        self._stack = [session]
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._shell: Shell | LineShell
        if device.plain:
            self._shell = LineShell(lambda: self._stack[-1])
        else:
            self._shell = Shell(self._frame, self._press, self._act, device)
        self._touched = time.monotonic()
        self._last_top = 0
        self.changed_later = self._shell.redraw_later

    async def run(self) -> None:
        first = self._stack[0]
        async with self._group:
            self.begin(self._tick())
            first.start(self)
            if await self._shell.run():  # else the terminal was closed: its player may come back
                await first.farewell()
            for task in self._tasks:
                task.cancel()  # a request may wait for a connection that is not coming back

    def begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def open(self, session: Session) -> None:
        self._stack.append(session)
        session.start(self)
        self.changed()

    def changed(self) -> None:
        """Redraw, with the next session on top if one is over."""
        while len(self._stack) > 1 and self._stack[-1].over:
            self._stack.pop()
        if self._stack[-1].over or self._stack[0].over:
            self._shell.quit()
        else:
            self._shell.redraw()

    def call(self, title: str, sentence: str) -> None:
        """Call the player, unless somebody is at the screen."""
        focused = self._shell.focused
        present = time.monotonic() - self._touched < _PRESENT_SECONDS if focused is None else focused
        if not present:
            texts = title, sentence
            self._shell.call(*(map(in_ascii, texts) if self.glyphs.ascii else texts))

    def _frame(self, width: int, height: int) -> Frame:
        top = self._stack[-1]
        frame = drawn(top.ui, top.model, self.glyphs, width, height)
        self._last_top = frame.last_top
        return frame

    def _press(self, name: str) -> None:
        self._touch().press(name)

    def _act(self, action: Action) -> None:
        self._touch().act(action)

    def _touch(self) -> Session:
        """Return the session on top, which somebody uses, with how far it can be scrolled as it is drawn."""
        self._touched = time.monotonic()
        top = self._stack[-1]
        top.ui = replace(top.ui, last_top=self._last_top)
        return top

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            for session in self._stack:
                session.tick()


_POINTERS: Final = f"{UNICODE.pointer}{ASCII.pointer} "
_WORDS: Final[Mapping[str, frozenset[Act]]] = {
    "": frozenset({Act.NEXT, Act.START}),
    "b": frozenset({Act.SEAT_BOT}),
    "next": frozenset({Act.NEXT}),
    "back": frozenset({Act.BACK}),
    "next hill": frozenset({Act.NEXT_HILL, Act.PAGE_DOWN}),
    "result": frozenset({Act.SKIP}),
    "next page": frozenset({Act.PAGE_DOWN}),
    "last page": frozenset({Act.PAGE_UP}),
    "analyse": frozenset({Act.ANALYSE}),
    "decisive": frozenset({Act.DECIDING}),
}
_ANYWHERE: Final[Mapping[str, Act]] = {"hint": Act.HINT, "v": Act.VOTE, "p": Act.PAUSE, "menu": Act.MENU}
_REPLIES: Final[Mapping[str, Act]] = {"": Act.CONFIRM, "yes": Act.CONFIRM, "no": Act.CANCEL, "n": Act.CANCEL}


class Told(NamedTuple):
    """What has been printed of a session: a line of any of these is not printed again as long as it stays."""

    log: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    now: tuple[str, ...] = ()

    def without(self, earlier: "Told") -> Iterator[str]:
        for lines, before in zip(self, earlier, strict=True):
            printed = Counter(before)
            for text in lines:
                if printed[text]:
                    printed[text] -= 1
                else:
                    yield text


class LineShell:
    """Shows sessions without a screen: what is new is printed line by line, what is typed is read so.

    Lines that are typed while the server has not answered the last one wait. At the end of the input, the
    program ends as if its player had quit.
    """

    focused = True  # whoever hears every line need not be called

    def __init__(self, top: Callable[[], Session]) -> None:
        self._top = top
        self._told: WeakKeyDictionary[Session, Told] = WeakKeyDictionary()
        self._change = asyncio.Event()
        self._done = asyncio.Event()
        self._by_player = True
        self._typed: asyncio.Queue[str | None] = asyncio.Queue()

    async def run(self) -> bool:
        """Read and print until the end; return whether the player ended it, not a closed output."""
        loop = asyncio.get_running_loop()
        Thread(target=_read_lines, args=(loop, self._typed), daemon=True).start()
        self._say([_("Type help for what you can ask and do, and quit to leave.")])
        with on_stop_signals(self._stop):
            async with asyncio.TaskGroup() as group:
                work = [group.create_task(each) for each in (self._report(), self._obey())]
                await self._done.wait()
                for task in work:
                    task.cancel()
        if self._by_player:
            self._tell()
        return self._by_player

    def redraw(self) -> None:
        self._change.set()
        self._change = asyncio.Event()

    redraw_later = redraw
    quit = property(lambda self: self._done.set)

    def call(self, title: str, sentence: str) -> None:
        """Do nothing: what calls a player has been printed."""

    def _stop(self) -> None:
        self._by_player = False
        self._done.set()

    async def _report(self) -> None:
        while True:
            change = self._change
            self._tell()
            await change.wait()

    def _tell(self) -> None:
        """Print what is new."""
        top = self._top()
        ui = top.ui = followed(top.ui, top.model)
        shown = ui.page if ui.overlay is None else ui.overlay
        words = *ui.page.words(ui, top.model), *(shown.words(ui, top.model) if shown is not ui.page else ())
        remarks = tuple(labelled(each.speaker, each.text) for each in ui.talk.remarks)
        asked = "" if ui.overlay is None else ui.overlay.question(ui)
        outage = "" if ui.lost is None else ui.lost.reason
        notice = "" if ui.notice is None else ui.notice.text
        name = "" if ui.entry is None else prompt_of(ui.entry)
        log = () if isinstance(ui.page, Replay) else ui.log  # a record tells its own moves
        now = Told(log, remarks, words, tuple(filter(None, (outage, notice, asked, name))))
        self._say(now.without(self._told.get(top, Told())))
        self._told[top] = now

    def _say(self, texts: Iterable[str]) -> None:
        try:
            sys.stdout.writelines(f"{text.lstrip(_POINTERS)}\n" for text in texts)
            sys.stdout.flush()
        except OSError:  # nobody reads any more
            self._stop()

    async def _obey(self) -> None:
        while (text := await self._typed.get()) is not None:
            await self._answered()
            self._tell()
            if text == "wait":
                await self._awaited()
            else:
                self._carry_out(text)
                self._tell()
        await self._answered()
        self._done.set()

    async def _answered(self) -> None:
        """Wait until the server has answered, or cannot."""
        while (ui := self._top().ui).lost is None and (ui.busy or ui.ponders):
            await self._change.wait()

    async def _awaited(self) -> None:
        """Wait until something is asked of the player, or the game is over."""
        while not (self._asks() or on_turn(self._top().model)):
            if (ui := self._top().ui).lost is not None or isinstance(ui.page.game, Scoring | Result | Ended):
                return
            await self._change.wait()

    def _asks(self) -> bool:
        ui = self._top().ui
        return ui.asked is not None or (ui.overlay is not None and bool(ui.overlay.question(ui)))

    def _carry_out(self, text: str) -> None:
        """Answer a question, or do what is typed."""
        top = self._top()
        ui, model, word = top.ui, top.model, text.lower()
        if ui.entry is not None:
            top.ui = replace(ui, entry=ui.entry.filled(""))
            top.act(Insert(text))
            top.act(Act.CONFIRM)
        elif self._asks() and (word in _REPLIES or word in yes_letters()):
            top.act(_REPLIES.get(word, Act.CONFIRM))
        elif isinstance(ui.overlay, TableMenu) and (word.isdecimal() or word == "back"):
            self._choose(top, ui.overlay, word)
        elif (told := answer(text, ui, model)) is not None:
            self._say(told)
            _point(top, word)
            return
        elif word in _ANYWHERE:
            top.act(_ANYWHERE[word])
        elif here := [key.action for key in keys_now(ui, model) if key.action in _WORDS.get(word, ())]:
            top.act(here[0])
        elif word:
            top.ui = replace(ui, entry=Entry())
            top.act(Insert(text))  # no more than can be typed
            top.act(Act.CONFIRM)
            if top.ui.entry is not None and top.ui.entry.asks is None:  # it was not understood
                top.show(replace(top.ui, entry=None))
        self._told[top] = self._told.get(top, Told())._replace(now=())  # a refusal is told each time

    def _choose(self, top: Session, menu: TableMenu, word: str) -> None:
        if word == "back":
            top.act(Act.CANCEL)
            return
        top.ui = replace(top.ui, overlay=replace(menu, chosen=int(word) - 1))
        top.act(Act.CONFIRM)


def _point(top: Session, word: str) -> None:
    """Point at a field that was asked about, as with the cursor: lessons ask for that."""
    playing, field = top.ui.page.game, Field(word.rsplit(maxsplit=1)[-1].upper())
    view = top.model.view
    if isinstance(playing, Playing) and view is not None and field in view.layout.hexes:
        top.take((with_game(top.ui, replace(playing, cursor=view.layout.hexes[field])), None))


def _read_lines(loop: asyncio.AbstractEventLoop, typed: "asyncio.Queue[str | None]") -> None:
    """Pass on what is typed, line by line, and None at its end."""
    with contextlib.suppress(RuntimeError):  # the program has ended
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone
            for text in sys.stdin:
                loop.call_soon_threadsafe(typed.put_nowait, text.strip())
        loop.call_soon_threadsafe(typed.put_nowait, None)


class Choosing(Session):
    """A page without a server, until the player chooses what to do: `request`."""

    def __init__(self, ui: Ui) -> None:
        super().__init__(ui, TableModel())
        self.request: Request = Errand.QUIT

    def carry_out(self, request: Request) -> None:
        self.request = request
        self.end()


async def choose(ui: Ui, *, ascii_wanted: bool = False, device: Device | None = None) -> tuple[Ui, Request]:
    """Show a page to choose from; return its last state and the player's choice."""
    choosing = Choosing(ui)
    await Program(choosing, ascii_wanted=ascii_wanted, device=device).run()
    return replace(choosing.ui, notice=None), choosing.request


def _nothing() -> None:
    """Do nothing, as long as nobody looks."""


async def run(
    recording: Recording,
    stop: int,
    eyes: Eyes,
    *,
    ascii_wanted: bool = False,
    analyse: Analyse | None = None,
    analysed: bool = False,
    device: Device | None = None,
) -> int:
    """Show the record from `stop` on until the player quits; return the exit code.

    `analyse` analyses it on request, or immediately if `analysed`. Failures on a `device` other than this
    program's own terminal are raised.
    """
    session = Replaying(recording, stop, eyes, analyse, analysed=analysed)
    try:
        await Program(session, ascii_wanted=ascii_wanted, device=device).run()
    except Exception as error:
        if device is not None:
            raise
        # People are owed one sentence, whatever it is.
        sys.stderr.write(f"palatinus: {describe_failure(error)}\n")
        return 1
    return 0


class Replaying(Session):
    """A record, with the table as it was at the stop that is shown; whatever else is asked for ends it."""

    def __init__(
        self, recording: Recording, stop: int, eyes: Eyes, analyse: Analyse | None, *, analysed: bool
    ) -> None:
        ui = replay.open_record(recording, stop, eyes, can_analyse=analyse is not None)
        super().__init__(ui, replay.seen_in(ui))
        self._recording, self._analyse, self._analysed = recording, analyse, analysed
        self._work: asyncio.Task[None] | None = None

    def start(self, program: Program) -> None:
        super().start(program)
        self._begin = program.begin
        if self._analysed:
            self._judge()

    def show(self, ui: Ui) -> None:
        self.model = replay.seen_in(ui)
        super().show(ui)

    def carry_out(self, request: Request) -> None:
        match request:
            case requests.Errand.ANALYSE:
                self._judge()
            case requests.Errand.STOP_ANALYSIS:
                self._stop()
                self.show(replay.stopped(self.ui))
            case _:
                self._stop()
                self.end()

    def _judge(self) -> None:
        if self._analyse is not None and self._work is None:
            self._work = self._begin(self._analysing(self._analyse))

    def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            self._work = None

    async def _analysing(self, analyse: Analyse) -> None:
        failure = await analyse(self._recording, self._told)
        self._work = None
        ui = replay.stopped(self.ui)
        self.show(replace(ui, notice=Notice(failure, refusal=True)) if failure else ui)

    def _told(self, analysis: Analysis) -> None:
        self.show(replay.analysed(self.ui, analysis))

"""The client in lines of text: what is new is printed, and what is typed is answered or carried out."""

import asyncio
import contextlib
import functools
import io
import queue
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from threading import Thread
from typing import Final, NamedTuple, TextIO
from weakref import WeakKeyDictionary

from client.language import _, labelled, yes_letters
from client.ui.draw.page import on_turn
from client.ui.facts import answer
from client.ui.keys import Act, Insert
from client.ui.screens.dispatch import keys_now
from client.ui.screens.menu import TableMenu
from client.ui.screens.news import followed
from client.ui.screens.overlays import Announcements
from client.ui.screens.playing import Ended, Playing
from client.ui.screens.replay import Replay
from client.ui.screens.scoring import Result, Scoring
from client.ui.screens.screen import prompt_of
from client.ui.session import Session
from client.ui.state import Entry, with_game
from client.ui.terminal.shell import on_stop_signals
from engine.board import Field
from protocol.text import printable

_TYPED_AHEAD: Final = 100  # lines that wait to be carried out; whoever types more waits
_LINES: Final = {str(number): number - 1 for number in range(1, 100)}  # of a menu
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

    async def run(self) -> bool:
        """Read and print until the end; return whether the player ended it, not a closed output."""
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

    def quit(self) -> None:
        self._done.set()

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
        ui = followed(top.ui, top.model)
        if isinstance(ui.overlay, Announcements):
            ui = replace(ui, overlay=None)  # the log has it, too
        top.ui = ui
        shown = ui.page if ui.overlay is None else ui.overlay
        words = *ui.page.words(ui, top.model), *(shown.words(ui, top.model) if shown is not ui.page else ())
        words = tuple(each for each in words if each not in ui.log or isinstance(ui.page, Replay))
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
            sys.stdout.writelines(f"{printable(text)}\n" for text in texts)
            sys.stdout.flush()
        except OSError:  # nobody reads any more
            self._stop()

    async def _obey(self) -> None:
        typed = _typed_lines(sys.stdin)
        while not self._done.is_set() and (text := await typed.next()) is not None:
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
            if (ui := self._top().ui).lost is not None or isinstance(
                ui.page.game or ui.page, Scoring | Result | Ended
            ):
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
        elif isinstance(ui.overlay, TableMenu) and word in _LINES:
            top.ui = replace(ui, overlay=replace(ui.overlay, chosen=_LINES[word]))
            top.act(Act.CONFIRM)
        elif isinstance(ui.overlay, TableMenu) and word == "back":
            top.act(Act.CANCEL)
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


def _point(top: Session, word: str) -> None:
    """Point at a field that was asked about, as with the cursor: lessons ask for that."""
    playing, field = top.ui.page.game, Field(word.rsplit(maxsplit=1)[-1].upper())
    view = top.model.view
    if isinstance(playing, Playing) and view is not None and field in view.layout.hexes:
        top.take((with_game(top.ui, replace(playing, cursor=view.layout.hexes[field])), None))


class TypedLines:
    """What is typed, line by line: read by one thread for all shells that follow one another."""

    def __init__(self, typed: TextIO) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue(_TYPED_AHEAD)
        self._typed = typed
        self._call: Callable[[], object] = _nothing
        Thread(target=self._read, daemon=True).start()

    async def next(self) -> str | None:
        """Return the next line, None at the end of the input."""
        loop, typed = asyncio.get_running_loop(), asyncio.Event()
        self._call = functools.partial(loop.call_soon_threadsafe, typed.set)
        while True:
            with contextlib.suppress(queue.Empty):
                return self._lines.get_nowait()
            await typed.wait()
            typed.clear()

    def _read(self) -> None:
        if isinstance(self._typed, io.TextIOWrapper):
            self._typed.reconfigure(errors="replace")
        with contextlib.suppress(OSError):  # the terminal is gone
            for text in self._typed:
                self._put(text.strip())
        self._put(None)

    def _put(self, text: str | None) -> None:
        self._lines.put(text)
        with contextlib.suppress(RuntimeError):  # the shell has ended, and the next one looks by itself
            self._call()


_typed_lines = functools.cache(TypedLines)


def _nothing() -> None:
    """Do nothing, as long as nobody reads."""

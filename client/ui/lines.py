"""The client in lines of text: what is new is printed, and what is typed is answered or carried out."""

import asyncio
import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from client.language import _, labelled, yes_letters
from client.tables.table import TableModel
from client.ui.activity import Activity
from client.ui.at_table import request_to_answer
from client.ui.draw.page import on_turn
from client.ui.facts import answer, numbered
from client.ui.frame import in_ascii
from client.ui.keys import Act, Action, InsertText, Pick
from client.ui.screens.dispatch import keys_now, letters
from client.ui.screens.gathering import Gathering
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.news import at_table_page
from client.ui.screens.overlays import Announcements
from client.ui.screens.playing import Playing
from client.ui.screens.replay import Replay
from client.ui.state import Overlay, Screen, TypedLine, Ui, with_game
from client.ui.terminal.device import LineTerminal, Remote
from client.ui.terminal.shell import on_stop_signals
from engine.board import Field
from engine.components import DEALS
from protocol.text import printable

_NUMBER: Final = re.compile("[0-9]{1,6}")
_OPTIONS_TOLD: Final = 20  # of a list, unless all are asked for
_WORDS: Final[Mapping[str, frozenset[Action]]] = {
    "": frozenset({Act.NEXT, Act.START, Act.TAKE_SEAT}),
    "next": frozenset({Act.NEXT}),
    "back": frozenset({Act.BACK, Act.LEAVE}),
    **{f"players {number}": frozenset({Pick(number)}) for number in DEALS},
    "next hill": frozenset({Act.NEXT_HILL, Act.PAGE_DOWN}),
    "result": frozenset({Act.SKIP}),
    "next page": frozenset({Act.PAGE_DOWN}),
    "last page": frozenset({Act.PAGE_UP}),
    "analyse": frozenset({Act.ANALYSE}),
    "decisive": frozenset({Act.DECIDING}),
    "play on": frozenset({Act.PLAY_ON}),
}
_AT_TABLES: Final[Mapping[str, Act]] = {
    "hint": Act.HINT,
    "v": Act.VOTE,
    "V": Act.REFUSE,
    "p": Act.PAUSE,
    "menu": Act.MENU,
}


class Told(NamedTuple):
    """What has been printed of an activity: no line of any of these is printed again as long as it stays."""

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
    """Shows activities without a screen: what is new is printed line by line, what is typed is read so.

    Lines that are typed while the server has not answered the last one wait. At the end of the input, the
    program ends as if its player had quit.
    """

    focused = True  # whoever hears every line need not be called

    def __init__(
        self, top: Callable[[], Activity], terminal: LineTerminal, remote: Remote | None = None
    ) -> None:
        self._top, self._terminal, self._remote = top, terminal, remote
        self._told: WeakKeyDictionary[Activity, Told] = WeakKeyDictionary()
        self._change = asyncio.Event()
        self._done = asyncio.Event()
        self._by_player = True

    async def run(self) -> bool:
        """Read and print until the end; return whether the player ended it, not a closed output."""
        if not self._terminal.greeted:
            self._terminal.greeted = True
            self._say([_("Type help for what you can ask and do, and quit to leave.")])
        if self._remote is not None:
            self._remote.attach(self.redraw)
        with on_stop_signals(self._stop) if self._remote is None else contextlib.nullcontext():
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
        """Print what is new, if there is room for it; otherwise it is printed when there is."""
        if not self._has_room():
            return
        top = self._top()
        ui = at_table_page(top.ui, top.model)
        if isinstance(ui.overlay, Announcements):
            ui = replace(ui, overlay=None)  # the log has it, too
        if ui.entry is not None and ui.entry.command and not ui.entry.text.endswith(" "):
            ui = replace(ui, entry=None)  # a refused line cannot be corrected here, only typed again
        top.ui = ui
        screens = (ui.page,) if ui.overlay is None else (ui.page, ui.overlay)
        words = [each for screen in screens for each in _words(screen, ui, top.model)]
        remarks = tuple(labelled(each.speaker, each.text) for each in ui.talk.remarks)
        asked = "" if ui.overlay is None else ui.overlay.question(ui)
        outage = "" if ui.lost is None or ui.lost.reason in ui.log[-1:] else ui.lost.reason
        notice = "" if ui.notice is None else ui.notice.text
        name = "" if ui.entry is None else f"{_(ui.entry.prompt.value)} {_begun(ui.entry)}".rstrip()
        log = () if isinstance(ui.page, Replay) else ui.log  # a record tells its own moves
        new = tuple(each for each in words if each not in log)
        now = Told(log, remarks, new, tuple(filter(None, (outage, notice, asked, name))))
        self._say(now.without(self._told.get(top, Told())))
        self._told[top] = now

    def _say(self, texts: Iterable[str]) -> None:
        try:
            self._terminal.print(map(printable, texts))
        except OSError:  # nobody reads any more
            self._stop()

    async def _obey(self) -> None:
        while await self._wait_for_answer() and (typed := await self._terminal.line()) is not None:
            await self._wait_for_answer()
            text = typed.strip()
            self._tell()
            if text == "wait":  # until something is asked of the player, or nothing more is to come
                while not self._asks() and self._goes_on():
                    await self._change.wait()
                continue
            began, cpu = time.perf_counter(), time.thread_time()
            self._carry_out(text)
            self._tell()
            if self._remote is not None:
                taken = time.thread_time() - cpu, time.perf_counter() - began
                await asyncio.sleep(self._remote.painted(*taken))
        await self._wait_for_answer()
        self._by_player = self._remote is None  # who has gone from far away may come back
        self._done.set()

    async def _wait_for_answer(self) -> bool:
        """Wait until the server has answered, or cannot, and all is printed; return whether to go on."""
        while not self._done.is_set() and (self._pending() or not self._has_room()):
            await self._change.wait()
        return not self._done.is_set()

    def _pending(self) -> bool:
        top = self._top()
        ui = at_table_page(top.ui, top.model)
        taking_seat = isinstance(ui.page, Gathering) and top.model.state is None
        unlisted = isinstance(ui.page, LobbyPage) and not ui.page.listed
        return ui.lost is None and (ui.busy or ui.ponders or taking_seat or unlisted)

    def _has_room(self) -> bool:
        return self._remote is None or self._remote.may_paint()

    def _goes_on(self) -> bool:
        """Return whether something comes by itself: others play, or a record is being analysed."""
        ui = self._top().ui
        if isinstance(ui.page, Replay):
            return ui.page.judging
        return ui.lost is None and isinstance(ui.page, Gathering | Playing) and not on_turn(self._top().model)

    def _asks(self) -> bool:
        ui = self._top().ui
        return ui.asked is not None or (ui.overlay is not None and bool(ui.overlay.question(ui)))

    def _carry_out(self, text: str) -> None:
        """Answer a question, or do what is typed."""
        top = self._top()
        ui, model, word = top.ui, top.model, text.lower()
        if ui.entry is not None:
            begun = _begun(ui.entry)
            _type(top, ui.entry.filled(begun), text.removeprefix(begun))
        elif self._asks() and (reply := _reply(word)) is not None:
            top.act(reply)
        elif (chosen := _choose_line(word, ui, model)) is not None:
            top.ui, action = chosen
            top.act(action)
        elif word in (keys := letters(ui, model)):
            top.act(keys[word].action)
        elif ui.overlay is not None and word == "back":
            top.act(Act.CANCEL)
        elif here := [key.action for key in keys_now(ui, model) if key.action in _WORDS.get(word, ())]:
            top.act(here[0])
        elif (told := answer(text, ui, model)) is not None:
            self._say(told)
            _point(top, word)
            return
        elif (act := _at_tables(ui).get(text, _at_tables(ui).get(word))) is not None:
            top.act(act)
        elif word and (reply := _reply(word)) is not None and request_to_answer(model, on=False) is not None:
            top.act(Act.VOTE if reply is Act.CONFIRM else Act.REFUSE)
        elif word:
            _type(top, TypedLine(), text.removeprefix(":"))
            if top.ui.overlay is not None:  # what is asked for again is told again
                before, below = self._told.get(top, Told()), _words(top.ui.page, top.ui, top.model)
                self._told[top] = before._replace(words=tuple(each for each in before.words if each in below))
        self._told[top] = self._told.get(top, Told())._replace(now=())  # a refusal is told each time


def _at_tables(ui: Ui) -> Mapping[str, Act]:
    """Return the words for a table; only one is for a problem, and none for a list, a record or a lesson."""
    if ui.page.at_server:
        return _AT_TABLES
    return {"hint": Act.HINT} if ui.capabilities.hints else {}


def _begun(entry: TypedLine) -> str:
    """Return the beginning of a command that a menu has typed for the player: what is typed completes it."""
    return entry.text if entry.command else ""


def _type(top: Activity, entry: TypedLine, text: str) -> None:
    """Type no more into the line than there is room for, and send it; close it if it is not understood."""
    top.ui = replace(top.ui, entry=entry)
    top.act(InsertText(text))
    top.act(Act.CONFIRM)
    if top.ui.entry is not None and top.ui.entry.command:
        top.show(replace(top.ui, entry=None))


def _reply(word: str) -> Act | None:
    """Return what a word answers to a question of yes or no, in the language in use or in English."""
    if word in {"", "yes", _("yes"), in_ascii(_("yes")), *yes_letters()}:
        return Act.CONFIRM
    return Act.CANCEL if word in {"no", "n", _("no")} else None


def _words(screen: Screen, ui: Ui, model: TableModel) -> tuple[str, ...]:
    """Return what is told of a screen: of a list, its first lines."""
    if (options := screen.options(ui, model)) is None:
        return tuple(screen.words(ui, model))
    lines = numbered(options)
    more = (_("There are more lines: type list."),) if len(lines) > _OPTIONS_TOLD else ()
    hint = _("Type a number, or back.")
    return (*screen.words(ui, model), *lines[:_OPTIONS_TOLD], *more, hint)


def _choose_line(word: str, ui: Ui, model: TableModel) -> tuple[Ui, Action] | None:
    """Return the state with the line of a list chosen, and what is to be done with it; None for other words.

    It is what Enter does, or the letter before the number.
    """
    here, (*letter, number) = ui.overlay or ui.page, word.split() or [""]
    options = here.options(ui, model) or ()
    key = letters(ui, model).get(" ".join(letter))
    if not _NUMBER.fullmatch(number) or not 0 < int(number) <= len(options) or (letter and key is None):
        return None
    there, action = here.at_option(int(number) - 1), Act.CONFIRM if key is None else key.action
    return (replace(ui, overlay=there) if isinstance(there, Overlay) else replace(ui, page=there), action)


def _point(top: Activity, word: str) -> None:
    """Point at a field that was asked about, as with the cursor: lessons ask for that."""
    playing, field = top.ui.page.game, Field(word.rsplit(maxsplit=1)[-1].upper())
    view = top.model.view
    if isinstance(playing, Playing) and view is not None and field in view.layout.hexes:
        top.take((with_game(top.ui, replace(playing, cursor=view.layout.hexes[field])), None))

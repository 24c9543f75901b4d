"""A pupil's way through the lessons: the open page, and the game to practise on."""

import enum
import sys
from collections.abc import Callable
from dataclasses import replace

from client.language import _
from client.network.refusals import describe_refusal
from client.tables.table import TableModel
from client.ui import requests
from client.ui.lessons import lesson
from client.ui.lessons.lesson import Practice
from client.ui.lessons.pages import PAGES, record_at
from client.ui.program import Program
from client.ui.requests import Request
from client.ui.session import Session
from client.ui.state import Notice, Outcome, Ui
from client.ui.terminal.device import own_device
from client.ui.terminal.shell import describe_failure
from client.ui.texts.glyphs import GlyphSet
from engine.errors import IllegalCommand
from engine.events import LayTile, Place
from protocol.messages import Refused

Replayed = Callable[[str], Practice]


class LessonExit(enum.Enum):
    LEFT = enum.auto()
    PLAY = enum.auto()  # to play a game now


class Course(Session):
    """The lessons as one pupil goes through them; `parting` is set when the pupil leaves."""

    def __init__(self, name: str, replayed: Replayed, glyphs: GlyphSet, page: int = 0) -> None:
        """Open a page; `replayed` turns a record into a game that can be continued."""
        self._name, self._replayed, self._glyphs, self._page = name, replayed, glyphs, page
        self.parting: LessonExit | None = None
        super().__init__(Ui(name), TableModel())
        self._open(page)

    def take(self, outcome: Outcome) -> None:
        ui, request = outcome
        super().take((lesson.judged(ui, self.model, self._glyphs), request))

    def carry_out(self, request: Request) -> None:
        match request:
            case requests.Errand.QUIT:
                self._part(LessonExit.LEFT)
            case requests.TurnPage(pages):
                self._turn(self._page + pages)
            case LayTile() | Place():
                self._try(request)
            case _:
                text = _("These are lessons: nobody else is here.")
                self.show(replace(self.ui, busy=False, notice=Notice(text)))

    def _part(self, parting: LessonExit) -> None:
        self.parting = parting
        self.end()

    def _turn(self, page: int) -> None:
        if page == len(PAGES):
            self._part(LessonExit.PLAY)
        elif page >= 0:
            self._open(page)

    def _open(self, page: int) -> None:
        self._page = page
        self._set_up()
        self.show(lesson.open_page(page, self._name, self.model, self._glyphs))

    def _set_up(self) -> None:
        self._practice = self._replayed(record_at(PAGES[self._page].moves))
        self.model = lesson.seen(self._practice, PAGES[self._page], self._name)

    def _try(self, command: LayTile | Place) -> None:
        """Make the move in the page's game; a move that the page does not ask for is taken back."""
        try:
            self._practice.apply(command)
        except IllegalCommand as error:
            # A server passes a refusal on in the same way.
            sentence = describe_refusal(Refused(error.fault, str(error), rule=error.rule, about=error.about))
            self.show(lesson.refused(self.ui, error, sentence, command, self._glyphs))
            return
        model = lesson.seen(self._practice, PAGES[self._page], self._name)
        if (after := lesson.after_move(self.ui, command, model, self._glyphs)) is None:
            self._set_up()
            self.show(lesson.strayed(self.ui, command, model))
        else:
            self.model = model
            self.show(after)


async def run(name: str, replayed: Replayed) -> LessonExit | None:
    """Give the lessons; return how the pupil left them, or None if they failed, which has been reported."""
    try:
        course = Course(name, replayed, own_device().glyphs())
        await Program(course).run()
    except Exception as error:  # noqa: BLE001 - people are owed one sentence, whatever it is
        sys.stderr.write(f"palatinus: {describe_failure(error)}\n")
        return None
    return course.parting or LessonExit.LEFT

"""A pupil's way through the lessons: the open page, and the game to practise on."""

import enum
from collections.abc import Callable

from client.network.refusals import describe_refusal
from client.ui import requests
from client.ui.actions import Action
from client.ui.lessons import lesson
from client.ui.lessons.example import record_at
from client.ui.lessons.lesson import Practice
from client.ui.lessons.pages import PAGES
from client.ui.screens.dispatch import pressed, updated
from client.ui.state import Outcome
from client.ui.texts.glyphs import GlyphSet
from engine.errors import IllegalCommand
from engine.events import LayTile, Place
from protocol.messages import Refused

Replayed = Callable[[str], Practice]


class Parting(enum.Enum):
    """How a pupil leaves the lessons."""

    LEFT = enum.auto()
    PLAY = enum.auto()  # to play a game now


class Course:
    """The lessons as one pupil goes through them.

    `ui` and `model` are what the screen shows, `parting` is set when the pupil leaves.
    """

    def __init__(self, name: str, replayed: Replayed, glyphs: GlyphSet, page: int = 0) -> None:
        """Open a page; `replayed` turns a record into a game that can be continued."""
        self._name, self._replayed, self._glyphs = name, replayed, glyphs
        self.parting: Parting | None = None
        self._open(page)

    def press(self, name: str) -> None:
        self._take(pressed(self.ui, name, self.model))

    def act(self, action: Action) -> None:
        self._take(updated(self.ui, action, self.model))

    def _take(self, outcome: Outcome) -> None:
        ui, request = outcome
        self.ui = lesson.judged(ui, self.model, self._glyphs)
        match request:
            case requests.Quit():
                self.parting = Parting.LEFT
            case requests.TurnPage(pages):
                self._turn(self._page + pages)
            case LayTile() | Place():
                self._try(request)
            case None:
                pass
            case _:
                self.ui = lesson.out_of_place(self.ui)

    def _turn(self, page: int) -> None:
        if page == len(PAGES):
            self.parting = Parting.PLAY
        elif page >= 0:
            self._open(page)

    def _open(self, page: int) -> None:
        self._page = page
        self._set_up()
        self.ui = lesson.opened(page, self._name, self.model, self._glyphs)

    def _set_up(self) -> None:
        """Set up the page's game at its moment of the example."""
        self._practice = self._replayed(record_at(PAGES[self._page].moves))
        self.model = lesson.seen(self._practice, PAGES[self._page], self._name)

    def _try(self, command: LayTile | Place) -> None:
        """Make the move in the page's game; a move that the page does not ask for is taken back."""
        try:
            self._practice.apply(command)
        except IllegalCommand as error:
            # A server passes a refusal on in the same way.
            sentence = describe_refusal(Refused(error.fault, str(error), rule=error.rule, about=error.about))
            self.ui = lesson.refused(self.ui, error, sentence, command, self._glyphs)
            return
        model = lesson.seen(self._practice, PAGES[self._page], self._name)
        if (after := lesson.after_move(self.ui, command, model, self._glyphs)) is None:
            self._set_up()
            self.ui = lesson.strayed(self.ui, command, model)
        else:
            self.model, self.ui = model, after

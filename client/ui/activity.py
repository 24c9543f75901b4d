"""What the player is doing, as a state and what changes it; the program around it shows it."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from client.tables.table import TableModel
from client.ui.keys import Action
from client.ui.requests import Errand, Request
from client.ui.screens.dispatch import after_key, after_tick, counting, updated
from client.ui.screens.news import with_log
from client.ui.state import Outcome, Ui


class Services(NamedTuple):
    """What a program does for an activity: redraw, now or later; run work; open another; call the player."""

    changed: Callable[[], None]
    changed_later: Callable[[], None]
    begin: Callable[[Coroutine[None, None, None]], asyncio.Task[None]]
    open: Callable[["Activity"], None]
    call: Callable[[str, str], None]


class Activity:
    """What the player is doing: choosing on a page, watching a record, taking lessons, visiting a server.

    `ui` is its state, `model` the known state of the table. When it is `over`, the one below it continues;
    `request` is what the player asked for then.
    """

    def __init__(self, ui: Ui) -> None:
        self.ui, self.model = ui, TableModel()
        self.over = False
        self.request: Request = Errand.QUIT
        self._changed: Callable[[], None] = _nothing
        self._changed_later: Callable[[], None] = _nothing
        self._program: Services

    def start(self, program: Services) -> None:
        self._program = program
        self._changed, self._changed_later = program.changed, program.changed_later

    def resume(self, request: Request) -> None:
        """Continue after what was above this: its player has asked for something there that ended it."""

    def carry_out(self, request: Request) -> None:
        """Carry out the player's request: one that is not about the page ends it."""
        self.request = request
        self.end()

    @property
    def behind(self) -> bool:
        """Return whether the model knows news that the state does not have yet."""
        return False

    async def farewell(self) -> None:
        """End properly, as its player has quit."""

    def press(self, name: str) -> None:
        self.take(after_key(self._at_this_moment(), name, self.model))

    def act(self, action: Action) -> None:
        self.take(updated(self._at_this_moment(), action, self.model))

    def _at_this_moment(self) -> Ui:
        return replace(self.ui, today=datetime.now())  # noqa: DTZ005 - local time

    def tick(self) -> None:
        """Update the times on the screen, and take the next step of an automatic walk."""
        if counting(self.ui, self.model):
            self.show(after_tick(replace(self.ui, now=time.monotonic()), self.model))

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
        """Show this state from now on without waiting; redraw only if it differs."""
        if ui != self.ui:
            self.ui = ui
            self._changed_later()

    def log(self, sentence: str) -> None:
        self.show(with_log(self.ui, [sentence]))

    def end(self) -> None:
        """Go back to the activity below, or end the program."""
        self.over = True
        self._changed()


class Stack(list[Activity]):
    """The activities of a program: the player sees the last one."""

    @property
    def top(self) -> Activity:
        return self[-1]

    def settle(self) -> bool:
        """Return to the activity below those that are over; return whether one is left to go on with."""
        while len(self) > 1 and self.top.over:
            over = self.pop()
            self.top.resume(over.request)
        return not (self.top.over or self[0].over)


def _nothing() -> None:
    """Do nothing, as long as nobody looks."""

"""What a player sees and does: the state, what changes it, and the services behind its pages."""

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


def _nothing(*_told: str) -> None:
    """Do nothing, as long as nobody looks."""


class Surroundings(NamedTuple):
    """What a program does for an interaction: redraw, now or later; run work; call the player."""

    changed: Callable[[], None] = _nothing
    changed_later: Callable[[], None] = _nothing
    begin: Callable[[Coroutine[None, None, None]], asyncio.Task[None]] = asyncio.create_task
    call: Callable[[str, str], None] = _nothing


class Service:
    """What carries out the requests made on a page: a visit to a server, a record's analysis, lessons.

    `model` is the table that the page shows. The service of the first page is there as long as the program;
    that of a page above it, as long as the page.
    """

    def __init__(self, ui: Ui, model: TableModel | None = None) -> None:
        self.model = TableModel() if model is None else model
        self.interaction = Interaction(ui, self)

    def start(self, interaction: "Interaction") -> None:
        """Begin to work for this interaction: the service's own, or the one that its page is opened in."""
        self.interaction = interaction

    @property
    def ui(self) -> Ui:
        """Return the state, for the service of the first page as it is below a page that covers that."""
        ui = self.interaction.ui
        return ui.uncovered if self is self.interaction.first else ui

    def show(self, ui: Ui) -> None:
        self.interaction.show(self._covered(ui))

    def show_later(self, ui: Ui) -> None:
        """Show this state from now on without waiting; redraw only if it differs."""
        self.interaction.show_later(self._covered(ui))

    def _covered(self, ui: Ui) -> Ui:
        return self.interaction.ui.with_uncovered(ui) if self is self.interaction.first else ui

    def log(self, sentence: str) -> None:
        self.show(with_log(self.ui, [sentence]))

    def settled(self, ui: Ui) -> Ui:
        """Return the state to be shown after a change on the page."""
        return ui

    def carry_out(self, request: Request) -> None:
        """Carry out the player's request: one that is not about the page ends the program."""
        self.interaction.end(request)

    @property
    def behind(self) -> bool:
        """Return whether the model knows news that the state does not have yet."""
        return False

    async def farewell(self) -> None:
        """End properly, as its player has quit."""


class Interaction:
    """A stack of screens, which change with keys, clicks and time, and the services of its pages.

    `first` is the service of the first page. When all is `over`, the player has asked for `request`.
    """

    def __init__(self, ui: Ui, first: Service) -> None:
        self.ui, self.first = ui, first
        self.over = False
        self.request: Request = Errand.QUIT
        self._around = Surroundings()

    def start(self, around: Surroundings) -> None:
        self._around = around
        self.first.start(self)

    def begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        return self._around.begin(work)

    def call(self, title: str, sentence: str) -> None:
        """Call the player; a page that covers the first one says why, too."""
        if len(self.ui.pages) > 1:
            self.show(self.ui.with_notice(sentence))
        self._around.call(title, sentence)

    @property
    def service(self) -> Service:
        """Return what carries out the requests made on the page."""
        service = self.ui.page.service
        return service if isinstance(service, Service) else self.first

    @property
    def model(self) -> TableModel:
        """Return the table that the page shows."""
        return self.service.model

    def press(self, name: str) -> None:
        self.take(after_key(self._at_this_moment(), name, self.model))

    def act(self, action: Action) -> None:
        self.take(updated(self._at_this_moment(), action, self.model))

    def _at_this_moment(self) -> Ui:
        return replace(self.ui, today=datetime.now())  # noqa: DTZ005 - local time

    def tick(self) -> None:
        """Update the times on the screen, and take the next step of an automatic walk."""
        if counting(self.ui, self.model) or counting(self.ui, self.first.model):
            self.show(after_tick(replace(self.ui, now=time.monotonic()), self.model))

    def take(self, outcome: Outcome) -> None:
        """Show the next state, and carry out its request."""
        ui, request = outcome
        self.show(ui)
        if request is not None:
            self.service.carry_out(request)

    def show(self, ui: Ui) -> None:
        self.ui = ui
        self.ui = self.service.settled(ui)
        self._around.changed()

    def show_later(self, ui: Ui) -> None:
        if ui != self.ui:
            self.ui = ui
            self._around.changed_later()

    def open(self, service: Service) -> None:
        """Open the page of a service above this one."""
        self.ui = self.ui.with_page_above(service.ui.page)
        service.start(self)
        self._around.changed()

    def close(self, request: Request) -> None:
        """Go back to the page below, whose service carries out what else is asked for; without one, end."""
        if len(self.ui.pages) == 1:
            self.end(request)
            return
        self.show(self.ui.without_page())
        if request is not Errand.QUIT:
            self.service.carry_out(request)

    def end(self, request: Request) -> None:
        self.over, self.request = True, request
        self._around.changed()

"""What a player sees and does: the state, what changes it, and the services behind its pages."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from client.player.terminal import Calling
from client.tables.table import TableModel
from client.ui.keys import Action
from client.ui.requests import Errand, Request
from client.ui.screens.dispatch import after_key, after_tick, updated
from client.ui.screens.news import with_log
from client.ui.state import Outcome, Ui


def _nothing(*_told: object) -> None:
    """Do nothing, as long as nobody looks."""


class Surroundings(NamedTuple):
    """The services of a program for an interaction: redrawing, background work, and alerts."""

    changed: Callable[[], None] = _nothing
    changed_later: Callable[[], None] = _nothing
    begin: Callable[[Coroutine[None, None, None]], asyncio.Task[None]] = asyncio.create_task
    call: Callable[[str, str], None] = _nothing
    call_like: Callable[[Calling], None] = _nothing


class Service:
    """Carries out the requests made on a page: a visit to a server, a record's analysis, lessons.

    `model` is the table that the page shows. The service is there as long as its page. When it is `left`, the
    page is seen only until something else is.
    """

    def __init__(self, ui: Ui, model: TableModel | None = None) -> None:
        self.model = TableModel() if model is None else model
        self.interaction = Interaction(ui, self)
        self.left = False
        self._then: Callable[[Request], None] | None = None  # without it, leaving ends the program
        self._group: asyncio.TaskGroup | None = None  # without it, its work is the program's
        self._work: set[asyncio.Task[None]] = set()

    def prepare(self, then: Callable[[Request], None], group: asyncio.TaskGroup | None = None) -> None:
        """Prepare for a page opened on top; `then` receives the request with which that page is left."""
        self._then, self._group = then, group

    def start(self, interaction: "Interaction") -> None:
        """Begin to work for this interaction: the service's own, or the one that its page is opened in."""
        self.interaction = interaction

    @property
    def ui(self) -> Ui:
        """Return the state below the pages that cover this service's."""
        return self.interaction.ui.down_to(self._page_number)

    def show(self, ui: Ui) -> None:
        self.interaction.show(self._covered(ui))

    def show_later(self, ui: Ui) -> None:
        """Show this state from now on without waiting; redraw only if it differs."""
        self.interaction.show_later(self._covered(ui))

    def _covered(self, ui: Ui) -> Ui:
        return self.interaction.ui.with_down_to(self._page_number, ui)

    @property
    def _page_number(self) -> int:
        """Return the number of the service's page in the stack."""
        return self.interaction.services.index(self)

    def log(self, sentence: str) -> None:
        self.show(with_log(self.ui, [sentence]))

    def call(self, title: str, sentence: str) -> None:
        """Call the player; a page that covers this one says why, too."""
        if self.interaction.services[-1] is not self:
            self.interaction.show(self.interaction.ui.with_notice(sentence))
        self.interaction.call(title, sentence)

    def settled(self, ui: Ui) -> Ui:
        """Return the state to be shown after a change on the page."""
        return ui

    def above(self, below: Ui) -> Ui:
        """Return the state with the service's page above those that there are."""
        return replace(below.with_page_above(self.ui.page), notice=self.ui.notice)

    def closed(self, ui: Ui) -> Ui:
        """Return the state without the service's page, which is the last one."""
        return ui.without_page()

    def carry_out(self, request: Request) -> None:
        """Carry out the player's request: one that is not about the page leaves it."""
        self.leave_page(request)

    def begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Begin work that ends with the page."""
        begin = self.interaction.begin if self._group is None else self._group.create_task
        task = begin(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    def stop(self) -> None:
        for task in self._work:
            task.cancel()  # a request may wait for a connection that is not coming back

    def open(self, service: "Service") -> None:
        """Open another service's page on top; a request with which it is left is carried out here."""

        def back(request: Request) -> None:
            self.interaction.back_to(self)
            if request is not Errand.GO_HOME:
                self.carry_out(request)

        service.prepare(back)
        self.interaction.open(service, self)

    async def shown(self, service: "Service") -> Request:
        """Show another service's page above this one until it is left; return what was asked for then.

        It is seen until something else is. Raises an ExceptionGroup if any of its work fails.
        """
        left: asyncio.Future[Request] = asyncio.get_running_loop().create_future()

        def leave(request: Request) -> None:
            self.interaction.show(replace(self.interaction.ui, busy=True))
            left.set_result(request)

        async with asyncio.TaskGroup() as group:
            service.prepare(leave, group)
            self.interaction.open(service, self)
            request = await left
            await service.farewell()
            service.stop()
        return request

    def leave_page(self, request: Request) -> None:
        """Leave the page; to quit leaves those below it, too."""
        if self._then is None or request is Errand.QUIT:
            self.interaction.end(request)
        else:
            self.give_up(request)

    def give_up(self, request: Request) -> None:
        """Leave the page unless that has been done."""
        if not self.left and self._then is not None:
            self.left = True
            self._then(request)

    @property
    def behind(self) -> bool:
        """Return whether the model knows news that the state does not have yet."""
        return False

    async def farewell(self) -> None:
        """End properly, as the page has been left."""


class StandaloneService(Service):
    """A service whose page has a state of its own: when it closes, that of the page below is there again."""

    _below: Ui

    def above(self, below: Ui) -> Ui:
        self._below = below
        return self.ui.above(below)

    def closed(self, ui: Ui) -> Ui:
        return replace(self._below, screens=ui.without_page().screens, notice=None)


class Interaction:
    """A stack of screens, which change with keys, clicks and time, and the services of its pages.

    When all is `over`, the player has asked for `request`, or not `by_player` if the terminal is gone.
    """

    def __init__(self, ui: Ui, first: Service) -> None:
        self.ui, self.services = ui, [first]
        self.over, self.by_player = False, True
        self.request: Request = Errand.QUIT
        self._around = Surroundings()

    def start(self, around: Surroundings) -> None:
        self._around = around
        self.services[0].start(self)

    def begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Begin work that ends with the program."""
        return self._around.begin(work)

    def call(self, title: str, sentence: str) -> None:
        self._around.call(title, sentence)

    def call_like(self, calling: Calling) -> None:
        """Call the player in these ways from here on."""
        self._around.call_like(calling)

    @property
    def service(self) -> Service:
        """Return the service of the last page, or of one below if that has been left."""
        return next((each for each in reversed(self.services) if not each.left), self.services[0])

    @property
    def model(self) -> TableModel:
        """Return the table that the page shows."""
        return self.services[-1].model

    def press(self, name: str) -> None:
        self.take(after_key(self._at_this_moment(), name, self.model))

    def act(self, action: Action) -> None:
        self.take(updated(self._at_this_moment(), action, self.model))

    def _at_this_moment(self) -> Ui:
        return replace(self.ui, today=datetime.now(), now=time.monotonic())  # noqa: DTZ005 - local time

    def tick(self) -> None:
        """Note the time, and show the state if that changes it: an automatic walk goes on, a sign goes."""
        self.ui = replace(self.ui, now=time.monotonic())
        if (later := after_tick(self.ui, self.model)) != self.ui:
            self.show(later)

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

    def open(self, service: Service, below: Service) -> None:
        """Open the page of a service above that of another one."""
        self._uncover(below)
        self.ui = service.above(self.ui)
        self.services.append(service)
        service.start(self)
        self._around.changed()

    def back_to(self, service: Service) -> None:
        """Close the pages above that of a service."""
        self._uncover(service)
        self.show(self.ui)

    def _uncover(self, service: Service) -> None:
        while self.services[-1] is not service:
            self.ui = self.services[-1].closed(self.ui)
            self.services.pop().stop()

    def end(self, request: Request) -> None:
        self.over, self.request = True, request
        self._around.changed()

    async def finish(self, *, by_player: bool) -> None:
        """Leave all pages, as the program ends."""
        self.by_player = by_player
        for service in reversed(self.services[1:]):
            service.give_up(self.request)
        await self.services[0].farewell()

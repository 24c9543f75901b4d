"""A player's way through problems: one after the other, with more to come while games are looked through."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace

from client.language import _
from client.records import Better, Problem
from client.ui import requests
from client.ui.activity import Activity, Services
from client.ui.program import Program
from client.ui.requests import Request
from client.ui.screens import problem as page
from client.ui.state import Notice
from engine.events import Place
from engine.view import View, eyes_of


@dataclass(frozen=True, slots=True)
class Problems:
    """The problems there are and those to come, how two moves compare, and who is told of a solved one."""

    known: Sequence[Problem]
    more: AsyncIterator[Problem]
    compare: Callable[[View, Place, Place], Awaitable[Better | None]]
    solved: Callable[[Problem], None]


class Solving(Activity):
    """The problems, of which one is open; whatever else is asked for ends it."""

    def __init__(self, problems: Problems) -> None:
        self._problems, self._every, self._at = problems, list(problems.known), 0
        self._tried: Place | None = None
        self._work: asyncio.Task[None] | None = None
        super().__init__(page.open_problem(self._every[0], 1, len(self._every)))
        self.model = page.model_of(self._every[0])

    def start(self, program: Services) -> None:
        super().start(program)
        program.begin(self._look())

    async def _look(self) -> None:
        """Add what is found in the meantime after the open problem: it is new, and the player's own."""
        async for found in self._problems.more:
            self._every.insert(self._at + 1, found)
            if isinstance(here := self.ui.page, page.ProblemPage):
                self.show(replace(self.ui, page=replace(here, count=len(self._every))))

    def carry_out(self, request: Request) -> None:
        here = self._every[self._at]
        match request:
            case requests.TurnPage(pages):
                self._open((self._at + pages) % len(self._every))
            case requests.Errand.HINT:
                self._ponder(self._show(here, self._tried or here.other, right=False))
            case Place(piece=piece, field=field):
                if (text := page.describe_forbidden(here, self.model, request)) is not None:
                    self.show(self.ui.with_notice(text, refusal=True))
                elif (piece.kind, field) == (here.best.piece.kind, here.best.field):
                    self._problems.solved(here)
                    self._ponder(self._show(here, here.other, right=True))
                else:
                    self._tried = request
                    self._ponder(self._judge(here, request))
            case _:
                super().carry_out(request)

    def _open(self, at: int) -> None:
        self._stop()
        self._at, self._tried = at, None
        here = self._every[at]
        self.model = page.model_of(here)
        self.show(page.open_problem(here, at + 1, len(self._every)))

    def _ponder(self, work: Coroutine[None, None, None]) -> None:
        self._stop()
        self.show(replace(self.ui, ponders=True, notice=Notice(_("One moment ..."))))
        self._work = self._program.begin(work)

    def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()

    async def _judge(self, here: Problem, given: Place) -> None:
        found = await self._compare(here, given)
        if found is None:
            self._problems.solved(here)
        self.show(page.with_judgement(self.ui, given, found))

    async def _show(self, here: Problem, other: Place, *, right: bool) -> None:
        found = await self._compare(here, other)
        self.show(page.with_solution(self.ui, self.model, other, found, right=right))

    async def _compare(self, here: Problem, other: Place) -> Better | None:
        view = here.recording.view(here.stop, eyes_of(here.legal.seat))
        return await self._problems.compare(view, here.best, other)


async def run(problems: Problems) -> Request:
    """Show the problems until the player asks for something else, which is returned."""
    return await Program(Solving(problems)).run()

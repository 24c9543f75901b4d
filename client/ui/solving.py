"""Problems: moments of games at which one move is clearly the best, to be found one after the other."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from client.language import N_, _, counted
from client.records import Better, Problem, Solved
from client.tables.table import TableModel
from client.ui import requests
from client.ui.interaction import Interaction, StandaloneService
from client.ui.keys import COMMAND, COUNTS, ON_EVERY_PAGE, Act, Action, Key
from client.ui.requests import Request
from client.ui.screens.actions import suggest
from client.ui.screens.playing import PLACING_KEYS, Playing, soldier_due
from client.ui.state import GamePage, Notice, Outcome, Pane, Ui
from client.ui.texts.advice import describe_placement, describe_reasons, in_100
from client.ui.texts.habits import describe_solved
from client.ui.texts.names import in_sentences, marked
from engine.errors import Fault
from engine.events import Place
from engine.view import View, eyes_of
from protocol.codes import sentence
from protocol.messages import SeatSummary, TableState
from protocol.settings import Switches

_OTHERWISE: Final = {Act.PAGE_UP, Act.PAGE_DOWN}  # these keys lead from one problem to the next
_ELSEWHERE: Final = {COMMAND, COUNTS, *ON_EVERY_PAGE}
_KEYS: Final = (
    *(
        key
        for key in PLACING_KEYS
        if not key.with_others and key.action not in _OTHERWISE and key not in _ELSEWHERE
    ),
    Key(("s",), suggest, N_("show the solution"), N_("solution"), typed=("hint",)),
    Key(("pagedown",), Act.NEXT, N_("the next problem"), N_("next problem"), typed=("", "next")),
    Key(("pageup",), Act.BACK, N_("the previous problem"), typed=("back",)),
    Key(("p",), Act.PLAY_ON, N_("play on from here, against bots"), N_("play on"), typed=("play on",)),
    COMMAND,
    COUNTS,
    *ON_EVERY_PAGE,
)


@dataclass(frozen=True, slots=True)
class ProblemPage(GamePage):
    """A problem, with the table as its player saw it, and what its solver has `solved`."""

    problem: Problem
    solved: Solved

    commands = frozenset({"place", "hint", "leave", "count"})
    own_keys = _KEYS

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        match action:
            case Act.NEXT | Act.BACK:
                return ui, requests.TurnPage(1 if action is Act.NEXT else -1)
            case Act.PLAY_ON:
                here = self.problem
                return ui, requests.PlayOn(here.recording, here.stop, here.legal.seat)
            case Act.CANCEL if isinstance(self.table, Playing) and self.table.piece is None:
                return ui, requests.Errand.GO_HOME
            case _:
                return self.table.act(ui, action, model)

    def place(self, pane: Pane) -> str:
        return self._title

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        return (f"{self._title}.",)

    @property
    def _title(self) -> str:
        here = self.problem
        if here.own:
            form = _("Your game {table}")
        elif here.day:
            form = _("Problem of the day, grade {grade}")
        else:
            form = _("Problem {number} of {count}, grade {grade}")
        title = form.format(table=here.table, number=here.number, count=self.solved.of, grade=here.grade)
        return _("{title}, solved").format(title=title) if here.key in self.solved.keys else title


_TABLE: Final = "problem"


def model_of(problem: Problem) -> TableModel:
    """Return the table at the problem's moment, for the player to move."""
    recording, seat = problem.recording, problem.legal.seat
    seats = [SeatSummary(name, here=True) for name in recording.names]
    state = TableState(_TABLE, "playing", seats, 0, switches=Switches(hints=True))
    view = recording.view(problem.stop, eyes_of(seat))
    return TableModel(_TABLE, seat, state=state, view=view, legal=problem.legal)


def open_problem(problem: Problem, solved: Solved) -> Ui:
    """Return the UI state of a problem that has just been opened."""
    name = problem.recording.names[problem.legal.seat]
    if problem.own:
        text = _("Move {move} of your game {table}: you missed a clearly better move. Find it.")
    else:
        text = _("{name} is to move, and one move is clearly the best. Find it.")
    task = text.format(name=name, move=problem.stop + 1, table=problem.table)
    if not problem.own and solved.count:
        task = f"{task} {describe_solved(solved)}."
    return Ui(name, screens=(ProblemPage(problem, solved, table=Playing()),), log=(task,))


def describe_forbidden(problem: Problem, model: TableModel, move: Place) -> str | None:
    """Return why the rules forbid a move, None if they allow it (R4.1, R4.3)."""
    view, seat = model.view, problem.legal.seat
    if view is None or (move.piece in problem.legal.pieces and move.field in problem.legal.fields):
        return None
    if move.piece in problem.legal.pieces:
        return sentence(_(Fault.FIELD_TAKEN.text), {"field": move.field})
    if move.piece in view.hands[seat]:
        return soldier_due(model)
    about = {"piece": move.piece, "hand": ", ".join(sorted(view.hands[seat]))}
    return sentence(_(Fault.NOT_IN_HAND.text), about)


def with_judgement(ui: Ui, given: Place, found: Better | None) -> Ui:
    """Return the UI state after a try; `found` is by how much the solution is better, if it is.

    Otherwise the problem is solved.
    """
    if found is None:
        text = _("{move} is about as good as the solution. PgDn: the next problem.")
    else:
        text = _(
            "{move} wins about {n} of 100 games, the solution {m}. Try another move, or s: the solution."
        )
    n, m = (0, 0) if found is None else (in_100(found.instead_of), in_100(found.chance))
    told = text.format(move=describe_placement(given), n=n, m=m)
    days = _describe_days(ui) if found is None else ()
    return replace(ui, ponders=False, notice=Notice(" ".join((told, *days))))


def _describe_days(ui: Ui) -> Iterator[str]:
    """Yield that the problem of the day is solved, if it is open."""
    if isinstance(page := ui.page, ProblemPage) and page.problem.day:
        form = counted(
            "The problem of the day is solved.",
            "The problem of the day is solved, {n} days in a row.",
            page.solved.in_a_row,
        )
        yield form.format(n=page.solved.in_a_row)


def with_solution(
    ui: Ui,
    model: TableModel,
    compared_with: Place,
    found: Better | None,
    *,
    right: bool,
) -> Ui:
    """Return the UI state with the solution, and why it is better than another move."""
    if not isinstance(page := ui.page, ProblemPage) or model.view is None:
        return ui
    best = page.problem.best
    told = [
        *(_describe_days(ui) if right else ()),
        (_("Right: {move}.") if right else _("The solution: {move}.")).format(move=describe_placement(best)),
    ]
    if found is not None:
        form = _("It wins about {n} of 100 games, {other} about {m}.")
        n, m = in_100(found.chance), in_100(found.instead_of)
        told.append(form.format(n=n, m=m, other=describe_placement(compared_with)))
        names = in_sentences(marked(page.problem.recording.names, model.seat))
        told += describe_reasons(model.view, found, compared_with, names)
    return replace(ui, ponders=False, notice=Notice(" ".join(told)))


@dataclass(frozen=True, slots=True)
class Problems:
    """The problems there are and those to come, how two moves compare, and who is told of a solved one.

    That returns what is solved then; `so_far` is what is solved before.
    """

    known: Sequence[Problem]
    more: AsyncIterator[Problem]
    compare: Callable[[View, Place, Place], Awaitable[Better | None]]
    solved: Callable[[Problem], Solved]
    so_far: Solved


class Solving(StandaloneService):
    """The list of problems with the open one; any other request leaves it."""

    def __init__(self, problems: Problems) -> None:
        self._problems, self._every, self._at = problems, list(problems.known), 0
        self._solved = problems.so_far
        self._tried: Place | None = None
        self._pondering: asyncio.Task[None] | None = None
        first = self._every[0]
        super().__init__(open_problem(first, self._solved), model_of(first))

    def start(self, interaction: Interaction) -> None:
        super().start(interaction)
        self.begin(self._look())

    async def _look(self) -> None:
        """Add what is found in the meantime after the open problem: it is new, and the player's own."""
        async for found in self._problems.more:
            self._every.insert(self._at + 1, found)

    def carry_out(self, request: Request) -> None:
        here = self._every[self._at]
        match request:
            case requests.TurnPage(pages):
                self._open((self._at + pages) % len(self._every))
            case requests.Errand.HINT:
                self._ponder(self._show(here, self._tried or here.other, right=False))
            case Place(piece=piece, field=field):
                if (text := describe_forbidden(here, self.model, request)) is not None:
                    self.show(self.ui.with_notice(text, refusal=True))
                elif (piece.kind, field) == (here.best.piece.kind, here.best.field):
                    self._note_solved(here)
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
        self.model = model_of(here)
        self.show(open_problem(here, self._solved).in_place_of(self.ui))

    def _note_solved(self, here: Problem) -> None:
        self._solved = self._problems.solved(here)
        if isinstance(page := self.ui.page, ProblemPage):
            self.show(self.ui.with_page(replace(page, solved=self._solved)))

    def _ponder(self, work: Coroutine[None, None, None]) -> None:
        self._stop()
        self.show(replace(self.ui, ponders=True, notice=Notice(_("One moment ..."))))
        self._pondering = self.begin(work)

    def _stop(self) -> None:
        if self._pondering is not None:
            self._pondering.cancel()

    async def _judge(self, here: Problem, given: Place) -> None:
        found = await self._compare(here, given)
        if found is None:
            self._note_solved(here)
        self.show(with_judgement(self.ui, given, found))

    async def _show(self, here: Problem, other: Place, *, right: bool) -> None:
        found = await self._compare(here, other)
        self.show(with_solution(self.ui, self.model, other, found, right=right))

    async def _compare(self, here: Problem, other: Place) -> Better | None:
        view = here.recording.view(here.stop, eyes_of(here.legal.seat))
        return await self._problems.compare(view, here.best, other)

"""Problems: what a try and the solution lead to, the way from one to the next, and new ones that come."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from client.records import NONE_SOLVED, Better, Contest, Problem, Recording, Solved
from client.ui import requests
from client.ui.interaction import Interaction, Surroundings
from client.ui.screens.dispatch import after_key
from client.ui.screens.menu import At
from client.ui.screens.typed_commands import completions, help_on_commands
from client.ui.solving import Problems, Solving, model_of, open_problem
from engine.board import Tile
from engine.events import Place
from engine.game import GameOptions
from engine.legal import LegalPlaces
from engine.pieces import Piece
from engine.view import View
from tests.client.ui.analysed import NAMES
from tests.client.ui.seen import after, assert_screen, at_home, notice_of, request_after, screen_of, typed
from tests.games import played
from tests.server.peer import eventually

MOVES = 20


def problem(key: str, table: str = "", number: int = 1) -> Problem:
    """Return a problem whose solution is the first legal move, and the last one is second best."""
    game = played(GameOptions(2, random_layout=True), 5, MOVES)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    moves = list(legal.commands())
    return Problem(
        key, Recording.of(game.events, NAMES), MOVES, legal, moves[0], moves[-1], table, number, grade=2
    )


def test_quitting_is_asked_where_there_is_a_start_screen_to_go_back_to() -> None:
    """Escape leads there, and q may be pressed by mistake for it."""
    shown, model = at_home(open_problem(problem("a"), NONE_SOLVED)), model_of(problem("a"))
    asked = after(shown, model, "q")
    assert "Quit Palatinus? y: quit, n: stay" in screen_of(asked, model)
    assert request_after(asked, model, "y") is requests.Errand.QUIT
    assert after(asked, model, "n") == shown
    assert request_after(shown, model, "escape") is requests.Errand.GO_HOME
    assert request_after(open_problem(problem("a"), NONE_SOLVED), model, "q") is requests.Errand.QUIT


@pytest.mark.parametrize(
    ("line", "why"),
    [
        *((line, "You are not at a table.") for line in ("pause", "plan m C4", "plans", "menu")),
        *((line, "in the lobby of a server or at a table") for line in ("say hello", "join KXQT")),
    ],
)
def test_what_is_typed_for_a_table_leaves_no_problem(line: str, why: str) -> None:
    """Nor is it in the help or offered while it is typed."""
    ui, model = at_home(open_problem(problem("a"), NONE_SOLVED)), model_of(problem("a"))
    told, request = after_key(after(ui, model, *typed(line)[:-1]), "enter", model)
    assert request is None
    assert why in notice_of(told)
    assert told.overlay is None
    verb, at = line.split(maxsplit=1)[0], At(ui, model)
    assert verb not in {word.split()[0] for row, _meaning in help_on_commands(at) for word in row.split(", ")}
    assert completions(verb[:2], at) == ()


def test_a_problem_is_solved_or_left_by_typed_lines() -> None:
    ui, model = at_home(open_problem(problem("a"), NONE_SOLVED)), model_of(problem("a"))
    assert request_after(ui, model, *typed("hint")) is requests.Errand.HINT
    assert request_after(ui, model, *typed("leave")) is requests.Errand.GO_HOME
    best = problem("a").best
    assert request_after(ui, model, *typed(f"{best.piece} {best.field}")) == best


SOLVED = Solved(frozenset({"old"}), 1, 40)


class Solver:
    """Somebody who solves problems; all moves are worse than the solution, except those that are `equal`."""

    def __init__(self, *known: Problem) -> None:
        self.solved: list[str] = []
        self.equal: set[Place] = set()
        self.found: asyncio.Queue[Problem] = asyncio.Queue()
        self.shown = Solving(Problems(known, self._more(), self._compare, self._note, SOLVED)).interaction
        self._tasks: list[asyncio.Task[None]] = []

    def _note(self, problem: Problem) -> Solved:
        self.solved.append(problem.key)
        keys = SOLVED.keys | {*self.solved}
        return Solved(keys, len(keys), SOLVED.of, today=True, in_a_row=3)

    def start(self) -> None:
        def begin(work: object) -> asyncio.Task[None]:
            self._tasks.append(asyncio.ensure_future(work))  # type: ignore[call-overload]
            return self._tasks[-1]

        self.shown.start(Surroundings(begin=begin))

    async def press(self, *keys: str) -> None:
        """Press the keys, and wait until there is an answer."""
        for key in keys:
            self.shown.press(key)
            await asyncio.sleep(0)
        await eventually(lambda: not self.shown.ui.ponders)

    async def place(self, move: Place) -> str:
        await self.press(*typed(f"{move.piece} {move.field}"))
        return notice_of(self.shown.ui)

    @property
    def screen(self) -> str:
        return screen_of(self.shown.ui, self.shown.model)

    def end(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _more(self) -> AsyncIterator[Problem]:
        while True:
            yield await self.found.get()

    async def _compare(self, _view: View, best: Place, other: Place) -> Better | None:
        reason = Contest(Tile("D"), 5, best.seat, None, 0.6, 0.3)
        return None if other in self.equal else Better(best, 0.5, 0.41, (reason,))


async def test_a_try_does_not_give_the_solution_away() -> None:
    one = problem("one")
    wrong, equal = list(one.legal.commands())[1:3]
    solver = Solver(one)
    solver.equal = {equal}
    solver.start()
    told = await solver.place(wrong)
    assert f"{wrong.piece} on {wrong.field} wins about 41 of 100 games, the solution 50" in told
    assert one.best.field not in told.replace(wrong.field, "")
    assert solver.solved == []
    await solver.press("s")
    told = notice_of(solver.shown.ui)
    assert told.startswith(f"The solution: {one.best.piece} on {one.best.field}. It wins about 50 of 100")
    assert f"{wrong.piece} on {wrong.field} about 41" in told
    assert "better for hill D" in told
    assert "you win it in 60 of 100 games" in told
    assert solver.solved == []
    assert "as good as the solution" in await solver.place(equal)
    assert solver.solved == ["one"]
    told = await solver.place(one.best)
    assert told.startswith("Right: ")
    assert f"{one.other.piece} on {one.other.field} about 41" in told
    solver.end()


async def test_the_problem_of_the_day_is_told_from_others() -> None:
    """Whether it is solved by the solution or by a move that is as good, but not when that is shown."""
    one = replace(problem("one"), day="2026-11-29")
    equal = list(one.legal.commands())[1]
    solver = Solver(one, problem("two", number=12))
    solver.equal = {equal}
    solver.start()
    assert "Problem of the day, grade 2 " in solver.screen
    await solver.press("s")
    assert "problem of the day" not in notice_of(solver.shown.ui)
    assert "solved " not in solver.screen
    for move in (equal, one.best):
        assert "The problem of the day is solved, 3 days in a row." in await solver.place(move)
    await solver.press("pagedown")
    assert "Problem 12 of 40, grade 2 " in solver.screen
    assert "of the day" not in await solver.place(one.best)
    solver.end()


async def test_it_is_said_which_problems_are_solved_and_how_many() -> None:
    """On the screen and, in the same words, in text mode; of a problem that is solved now, too."""
    solver = Solver(replace(problem("old"), number=3), problem("one", number=12), problem("mine", "KXQT"))
    solver.start()
    assert "Problem 3 of 40, grade 2, solved" in solver.screen
    assert "1 of 40 solved." in solver.screen
    await solver.press("pagedown")
    shown, model = solver.shown.ui, solver.shown.model
    assert "Problem 12 of 40, grade 2 " in solver.screen
    assert shown.page.words(shown, model) == ("Problem 12 of 40, grade 2.",)
    await solver.place(problem("one").best)
    assert "Problem 12 of 40, grade 2, solved" in solver.screen
    assert "2 of 40 solved." not in solver.screen
    await solver.press("pagedown")
    assert "Your game KXQT " in solver.screen
    assert "of 40" not in solver.screen
    await solver.press("pagedown")
    assert "2 of 40 solved." in solver.screen
    solver.end()


async def test_a_move_that_the_rules_forbid_is_none() -> None:
    """It is refused with the reason, as a game would (R4.1, R4.3); only soldiers may be placed here."""
    one = problem("one")
    seat, best, view = one.legal.seat, one.best, one.recording.view(one.stop, frozenset({one.legal.seat}))
    taken = next(iter(view.placed))
    solver = Solver(one)
    solver.start()
    assert f"{taken} is taken" in await solver.place(Place(seat, best.piece, taken))
    assert "There is no Sm in your hand" in await solver.place(Place(seat, Piece("Sm"), best.field))
    due = f"Place a soldier now: {best.piece}"
    assert due in await solver.place(Place(seat, Piece("Sf*"), best.field))
    await solver.press("4")
    assert due in notice_of(solver.shown.ui)
    solver.end()


async def test_problems_are_turned_and_more_come() -> None:
    solver = Solver(problem("one"), problem("two", number=2))
    solver.start()
    assert "Problem 1 of 40" in solver.screen
    for size in ((80, 24), (40, 12)):
        columns, lines = size
        assert_screen(f"problem-{columns}x{lines}", screen_of(solver.shown.ui, solver.shown.model, *size))
    solver.found.put_nowait(problem("mine", "KXQT"))
    await eventually(solver.found.empty)
    await solver.press("pagedown")
    assert "of your game KXQT" in " ".join(solver.screen.split())
    await solver.press("pagedown", "pagedown")
    assert "Problem 1 of 40" in solver.screen
    await solver.press("pageup")
    assert "Problem 2 of 40" in solver.screen
    solver.end()


async def test_ways_out_of_the_problems() -> None:
    one = problem("one")
    for keys, wanted in (
        (("2", "escape", "escape"), requests.Errand.GO_HOME),
        (("q",), requests.Errand.QUIT),
        (("p",), requests.PlayOn(one.recording, one.stop, one.legal.seat)),
    ):
        solver = Solver(one)
        solver.start()
        await solver.press(*keys[:-1])
        assert not solver.shown.over
        await solver.press(keys[-1])
        shown: Interaction = solver.shown
        assert shown.over
        assert solver.shown.request == wanted
        solver.end()

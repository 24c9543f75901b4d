"""Bots at a table: each seat is a brain with a connection of its own, like a person's."""

import asyncio
import contextlib
import os
import random
import sys
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TextIO, TypeVar

from anyio import CapacityLimiter

from client.bots.brain import (
    Brain,
    BrainFailed,
    brain_after,
    brain_failure,
    brain_in_game,
    checked_command,
    forbidden_choice,
)
from client.bots.brains import NamedBrain, brain_named
from client.bots.processes import ATTEMPTS, ProcessesLost, in_process, tasks_failing_alike
from client.bots.results import Results
from client.bots.search.brain import SearchBrain, seed_from
from client.language import WrongUse, _
from client.network import transport
from client.network.connection import Connection, open_connection
from client.network.refusals import describe_refusal
from client.player.seats import HeldSeat, Seats
from client.tables.draws import describe_fault
from client.tables.table import Closed, TableClosed
from engine.components import DEALS
from engine.errors import Fault
from engine.events import Command, GameEnded
from engine.legal import Legal, LegalPlaces
from engine.pieces import Seat
from engine.redaction import snapshot
from engine.view import View
from protocol import messages
from protocol.absence import WAIT, Absence
from protocol.bot_names import numbered
from protocol.bot_pace import seconds_to_move
from protocol.codes import Code
from protocol.events import move_message
from protocol.messages import NEW

T = TypeVar("T")

_PACE: Final = random.SystemRandom()
_NAMES_TRIED: Final = 50
_REMATCH_SECONDS: Final = 600.0  # how long bots wait for somebody who wants to play again
_NOT_TO_BE_STARTED: Final = {Code.SEATS_EMPTY, Code.SEAT_KEPT, Code.ALREADY_STARTED, Code.NOT_THE_HOST}
_LATER: Final = {Code.TOO_SOON, Code.NOT_STORED}  # if the server says when to ask again
_NOT_NOW: Final = {Code.PAUSED, Code.TIME_UP, Fault.NOT_YOUR_TURN, Fault.GAME_OVER}


class UnfairDraws(Exception):
    """The server's draws do not fit what it had committed itself to; the text says what."""


@dataclass(frozen=True, slots=True)
class BotOptions:
    """The options of `palatinus bot`; its seats get the `brains` in turn.

    Without a `table` the bots open their own, where the seat `starting` starts, or one that is drawn. With
    `rematch` they play again when others at the table do. The seats of bots are kept in `kept_in` for
    another time. The seats have these `names`, or are called for their brains. A search uses so many `cores`.
    At a `human_pace` a move takes some seconds. A brain's failure is followed by its traceback if `traces`.
    """

    url: str
    table: str | None = None
    brains: tuple[str, ...] = ("greedy",)
    players: int = 2
    seats: int = 1
    games: int = 1
    seed: int | None = None
    random_layout: bool = False
    starting: Seat | None = None
    rematch: bool = False
    absence: Absence = WAIT
    access: transport.ServerAccess = transport.FREE_ACCESS
    timeouts: transport.Timeouts = field(default_factory=transport.Timeouts)
    kept_in: Seats | None = None
    cores: int = 1
    as_json: bool = False
    human_pace: bool = False
    names: tuple[str, ...] = ()
    traces: bool = False

    def check(self) -> None:
        """Raise WrongUse unless the options make sense."""
        if self.players not in DEALS:
            text = _("Palatinus is for {least} to {most} players, not {n}.")
            raise WrongUse(text.format(n=self.players, least=min(DEALS), most=max(DEALS)))
        if self.seats < 1 or (self.table is None and self.seats > self.players):
            text = _("Bots cannot take {n} seats. Choose 1 to {most}.")
            raise WrongUse(text.format(n=self.seats, most=self.players))
        if self.games < 1:
            raise WrongUse(_("Cannot play {n} games. Choose 1 or more.").format(n=self.games))
        most = os.cpu_count() or 1
        if not 1 <= self.cores <= most:
            text = _("Bots cannot use {n} cores. Choose 1 to {most}.")
            raise WrongUse(text.format(n=self.cores, most=most))
        if self.table is not None and self.games > 1:
            text = _("A table plays only one game. To play more, let the bots open their own tables.")
            raise WrongUse(text)


async def run_bots(options: BotOptions, out: TextIO, errors: TextIO | None = None) -> int:
    """Play as the options say, with the codes of new tables and results on `out`; return the exit code.

    A failure is one sentence on `errors`, by default stderr; the exit code is then 1 if the server is to
    blame, 2 if the options are.
    """
    errors = errors or sys.stderr
    try:
        options.check()
        brains = [brain_named(name) for name in options.brains]
        async with contextlib.AsyncExitStack() as stack:
            bots = []
            for seat in range(options.seats):
                line = open_connection(
                    options.url, client="palatinus bot", timeouts=options.timeouts, access=options.access
                )
                connection = await stack.enter_async_context(line)
                rng = random.Random(None if options.seed is None else f"{options.seed} {seat}")
                bot = _Bot(connection, brains[seat % len(brains)], rng, seat + 1, options)
                stack.callback(bot.release_seat)
                bots.append(bot)
            results = Results(out, as_json=options.as_json)
            for number in range(1, options.games + 1):
                await _play_game(bots, options, number, results)
            results.all_over()
    except WrongUse as error:
        print(error, file=errors)
        return 2
    except transport.PasswordWanted as error:
        print(transport.password_wanted(str(error)), file=errors)
        return 1
    except (transport.ConnectFailed, transport.RequestRefused, BrainFailed, UnfairDraws) as error:
        print(error, file=errors)
        if options.traces and isinstance(error, BrainFailed) and error.trace:
            print(error.trace, file=errors)
        return 1
    return 0


async def _play_game(bots: list["_Bot"], options: BotOptions, number: int, results: Results) -> None:
    """Take seats at a table, play its game, and more if others want to, and leave."""
    table, joining = options.table, bots
    if table is None:
        table, joining = await bots[0].open(), bots[1:]
        results.table_opened(table)
    for bot in joining:
        await bot.join(table)
    await _play_to_the_end(bots, number, results)
    while options.rematch and await _play_again(bots):
        await _play_to_the_end(bots, number, results)
    for bot in bots:
        await bot.connection.ask(messages.Leave(NEW))


async def _play_again(bots: list["_Bot"]) -> bool:
    """Follow the players who play again to the next table; return False if there are none."""
    if not await bots[0].others_play_again({bot.connection.model.seat for bot in bots}):
        return False
    try:
        for bot in bots:
            await bot.connection.ask(messages.Rematch(NEW))
            bot.keep_seat()
    except transport.RequestRefused:  # too late
        return False
    return True


async def _play_to_the_end(bots: list["_Bot"], number: int, results: Results) -> None:
    async with tasks_failing_alike() as tasks:
        playing = [tasks.create_task(bot.play()) for bot in bots]
    state = bots[0].connection.model.state
    assert state is not None  # noqa: S101 - a game that was played had a table
    checks = [check for bot in bots if (check := bot.connection.model.draws.check()) is not None]
    results.game_over(number, state, playing[0].result(), checks)
    for check in checks:
        if check.fault is not None:
            raise UnfairDraws(describe_fault(check.fault))


class _Bot:
    """A seat: its connection, its brain, and its source of randomness."""

    def __init__(
        self, connection: Connection, brain: NamedBrain, rng: random.Random, number: int, options: BotOptions
    ) -> None:
        self.connection, self._brain, self._rng, self._number = connection, brain, rng, number
        self._options = options
        self._name = next(iter(options.names[number - 1 :]), numbered(brain.name, number))
        self._choose: Brain = brain.choose
        self._begun = False  # whether the brain is that of the game under way
        self._known: list[str | None] = []  # the players whom the brain knows, by seat
        self._held: HeldSeat | None = None

    async def open(self) -> str:
        self._known = []
        opened = messages.OpenTable(
            NEW,
            self._options.players,
            self._name,
            random_layout=self._options.random_layout,
            starting=self._options.starting,
            absence=self._options.absence,
            program=True,
        )
        return (await self._ask_until_stored(partial(self.connection.ask, opened))).table

    async def join(self, table: str) -> None:
        """Join the table, with the next number if another bot there has this one's name.

        If a seat is kept for this bot, it is taken again.
        """
        self._known = []
        if self._options.kept_in is not None:
            with contextlib.suppress(OSError):
                self._held = self._options.kept_in.take(table, self._name)
        if self._held is not None:
            back = messages.Resume(NEW, table, self._held.token)
            await self._ask_until_stored(partial(self.connection.ask, back))
            return
        first = self._number + 1
        others = [numbered(self._brain.name, number) for number in range(first, first + _NAMES_TRIED)]
        for name in (self._name, *others):
            try:
                message = messages.JoinTable(NEW, table, name, program=True)
                await self._ask_until_stored(partial(self.connection.ask, message))
            except transport.RequestRefused as refusal:
                if refusal.code != Code.NAME_TAKEN:
                    raise
            else:
                self.keep_seat()
                return
        text = _("All names like {name} are taken.")
        raise transport.RequestRefused(Code.NAME_TAKEN, text.format(name=self._name))

    def keep_seat(self) -> None:
        """Keep this bot's seat for another time, and no longer the one that it had before."""
        model, seats = self.connection.model, self._options.kept_in
        if seats is None or model.table is None or model.seat is None or model.token is None:
            return
        with contextlib.suppress(OSError):  # without its seat, a stand-in plays for this bot from then on
            if self._held is not None:
                seats.forget(self._held)
            self._held = seats.keep(model.table, model.seat, self._name, model.token, self.connection.cluster)

    def release_seat(self) -> None:
        if self._held is not None:
            self._held.release()

    async def play(self) -> GameEnded | None:
        """Start the game if this is the host, make every move of the seat, and return the result, if any."""
        model, self._begun = self.connection.model, False
        async for update in self.connection.updates():
            if isinstance(update, Closed):
                raise transport.ConnectFailed(update.reason, final=True, code=update.code)
            if isinstance(update, TableClosed):
                raise transport.ConnectFailed(describe_refusal(update.refused), final=True)
            if model.view is not None and model.view.result is not None:
                # The brain learns from the end of a game for the next one with the same players.
                after = asyncio.to_thread(brain_after, self._brain.name, self._choose, self._seen())
                self._choose = await after
                self._known = self._names()
                return model.view.result
            if model.state is not None and model.state.ended:
                return None
            if _may_start(model.state, model.seat):
                try:
                    await self._ask_until_stored(partial(self.connection.ask, messages.StartGame(NEW)))
                except transport.RequestRefused as refusal:
                    if refusal.code not in _NOT_TO_BE_STARTED:
                        raise  # else somebody left or was quicker, as the table's next state shows
            if model.legal is not None:
                await self._make_move()
        raise transport.ConnectFailed("The connection was closed.", final=True)

    async def _make_move(self) -> None:
        """Choose and move, unless the table's clock was up before."""
        model, due = self.connection.model, _now() + self._pause()
        await self._begin_game()
        if model.legal is None:
            return
        seen_at = model.seq
        command = await self._choose_command(model.legal)
        # How long it thought tells nothing, even if it thought for longer than its pace.
        await asyncio.sleep(left if (left := due - _now()) > 0 else self._pause())
        if model.seq == seen_at:
            await self._send_move(command)

    def _pause(self) -> float:
        view = self.connection.model.view
        if not self._options.human_pace or view is None:
            return 0.0
        return seconds_to_move(view, _PACE)

    async def others_play_again(self, ours: Container[int | None]) -> bool:
        """Wait until it is known whether anyone wants a rematch, and return it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REMATCH_SECONDS):
                while (state := self.connection.model.state) is not None:
                    if state.next is not None:
                        return True
                    others = [line for at, line in enumerate(state.seats) if at not in ours]
                    # Bots of the server never ask to play again.
                    if not any(line.here and line.level is None for line in others):
                        return False
                    if isinstance(await anext(self.connection.updates()), Closed):
                        return False
        return False

    async def _send_move(self, command: Command) -> None:
        """Make the move, unless it is too late, or the game is paused: what comes next will show that."""
        try:
            await self._ask_until_stored(partial(self.connection.ask, move_message(NEW, command)))
        except transport.RequestRefused as refusal:
            if refusal.code in _NOT_NOW:
                return
            if refusal.rule is not None:
                raise forbidden_choice(self._brain.name, command, str(refusal)) from refusal
            raise

    async def _ask_until_stored(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Return the answer to a request, made again as long as the server says when: bots can wait."""
        until = _now() + self._options.timeouts.keep_trying
        while True:
            try:
                return await ask()
            except transport.RequestRefused as refusal:
                if refusal.code not in _LATER or refusal.retry_in is None:
                    raise
                if _now() + refusal.retry_in > until:
                    raise
                await asyncio.sleep(refusal.retry_in)

    def _names(self) -> list[str | None]:
        state = self.connection.model.state
        return [] if state is None else [line.name for line in state.seats]

    def _seen(self) -> View:
        """Return a copy of what the seat sees, for a brain in a thread or a process.

        A slow brain must not hold up its connection, which changes the view.
        """
        view = self.connection.model.view
        assert view is not None  # noqa: S101 - a bot's brain is asked in a game
        return snapshot(view, view.eyes)

    async def _begin_game(self) -> None:
        """Have the brain be that of the game under way, and of these players."""
        if self._known != self._names():  # what it has learned is of other players
            self._choose, self._known, self._begun = self._brain.choose, self._names(), False
        if not self._begun:
            begun = asyncio.to_thread(brain_in_game, self._brain.name, self._choose, self._seen())
            self._choose, self._begun = await begun, True

    async def _choose_command(self, legal: Legal) -> Command:
        view, choose = self._seen(), self._choose
        try:
            if isinstance(choose, SearchBrain):
                return await search_move(choose, view, legal, self._rng, self._options.cores)
            returned = await asyncio.to_thread(choose, view, legal, self._rng)
        except ProcessesLost as error:
            text = _("The brain {name} failed: {error}.")
            raise BrainFailed(text.format(name=self._brain.name, error=error)) from error
        except (Exception, SystemExit) as error:  # whatever the brain's own code raises
            raise brain_failure(self._brain.name, choose, error) from error
        return checked_command(self._brain.name, returned)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _may_start(state: messages.TableState | None, seat: int | None) -> bool:
    if state is None or state.stage != "gathering" or state.host != seat:
        return False
    return all(line.name is not None and not line.kept for line in state.seats)


_SPARE_SECONDS: Final = 30.0  # to start a process, and to notice that the time is up, on a busy machine


async def search_move(
    brain: SearchBrain, view: View, legal: Legal, rng: random.Random, cores: int = 1
) -> Command:
    """Return the command of the brain, found with a search on each of so many cores.

    On one core it is the same command as without a process. The processes stay for the next search, and end
    with the event loop; those of a cancelled search end at once. Raises ProcessesLost.
    """
    if not isinstance(legal, LegalPlaces):
        return brain(view, legal, rng)
    seeds = [seed_from(rng) for _ in range(cores)]
    limiter, seconds = CapacityLimiter(cores), brain.seconds + _SPARE_SECONDS
    try:
        async with tasks_failing_alike() as tasks:
            searches = [
                tasks.create_task(in_process(brain.search, view, seed, limiter=limiter, seconds=seconds))
                for seed in seeds
            ]
    except ProcessesLost as error:
        text = _("a process of the search ended or did not answer, {n} times in a row")
        raise ProcessesLost(text.format(n=ATTEMPTS)) from error
    return brain.choose_place(view, legal, [search.result() for search in searches], rng)

"""`palatinus` alone: the start screen, and where it leads.

What it leads to is imported when it is chosen: the menu appears sooner without servers and connections.
"""

import argparse
import asyncio
import io
import os
import random
import sys
from collections.abc import Coroutine
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from client.language import _, listed
from client.levels import LEVELS, usual_level
from client.player.folders import data_folder
from client.player.preferences import Preferences, prefer_as_remembered, preferences_file, remember
from client.player.seats import KeptSeat, kept_seats, seats_folder
from client.player.terminal import chosen_calling, prefer_calling
from client.typed_text import login_name
from client.ui import requests
from client.ui.interaction import Interaction, Service
from client.ui.lessons.course import Course
from client.ui.program import show
from client.ui.screens.overlays import Consenting
from client.ui.screens.start import (
    LeftGame,
    Start,
    StartLine,
    StoppedTable,
    with_left,
    with_solved,
    with_stopped,
)
from client.ui.start import Starting
from client.ui.state import LinePrompt, Notice, TypedLine, Ui
from client.ui.terminal.device import own_device
from client.ui.terminal.shell import describe_failure
from client.ui.texts.times import local_time
from commands.parsing import need_terminal
from engine.game import Game, RandomChance
from engine.record import replayed
from hosting.kept_games import KeptGame, kept_games
from past_games.solved import known_games
from server.monitoring.logs import log_to

if TYPE_CHECKING:
    from client.network.transport import ServerAccess
    from client.ui.visit import Visit

_SEATS: Final = 5  # those taken last; servers that are gone for good would fill the list
_SECONDS_TO_END: Final = 3.0  # for a visit, when its player has quit

T = TypeVar("T")


def run_logged(game: Coroutine[Any, Any, T]) -> T:
    """Run a game, and keep the log of the server in this process until the screen is free again."""
    log = io.StringIO()
    log_to(log, verbose=False)
    try:
        return asyncio.run(game)
    finally:
        sys.stderr.write(log.getvalue())


def at_start_screen(arguments: argparse.Namespace) -> int:
    need_terminal()
    known = prefer_as_remembered()
    line = StartLine.LEARN if known is None else StartLine.PLAY
    return run_logged(at_home(known or Preferences(), line, arguments))


async def at_home(preferences: Preferences, line: StartLine, arguments: argparse.Namespace) -> int:
    """Show the start screen, and above it where it leads, until the player quits; return the exit code."""
    home = _Home(preferences, line, arguments)
    if await show(home) is None:
        return 1
    if home.visited is None:
        return 0
    from client.ui.game import report

    return report(home.visited)


class _Home(Starting):
    """The start screen; what is chosen there is opened above it, and closed when its player comes back.

    The program ends with a visit if it was its player's last wish to quit there; `visited` says how.
    """

    def __init__(self, preferences: Preferences, line: StartLine, arguments: argparse.Namespace) -> None:
        levels = tuple(level.name for level in LEVELS)
        if preferences.brain not in levels:
            preferences = msgspec.structs.replace(preferences, brain=usual_level(levels))
        start = Start(preferences, chosen=line)
        super().__init__(Ui(preferences.name or login_name(), screens=(start,)))
        self.visited: Visit | None = None
        self._arguments = arguments
        self._failed: set[str] = set()  # kept games that could not be continued
        self._kept: dict[str, KeptGame] = {}  # the games that can be continued, by their names
        self._looking: asyncio.Task[None] | None = None  # for tables that have stopped
        self._going: asyncio.Task[None] | None = None
        self._answer: asyncio.Future[object] | None = None  # to what the player is asked on the way

    def start(self, interaction: Interaction) -> None:
        super().start(interaction)
        self._at_home()

    def carry_out(self, request: requests.Request) -> None:
        match request:
            case requests.Errand.QUIT:
                super().carry_out(request)
            case requests.Password(answer) | requests.Consent(answer):
                if self._answer is not None and not self._answer.done():
                    # At once, so that nothing that is typed ahead comes before what follows.
                    self.interaction.show(replace(self.interaction.ui, busy=True, notice=None))
                    self._answer.set_result(answer)
            case _ if self._going is None:
                self.show(replace(self.ui, busy=True, notice=None))
                self._going = self.begin(self._go(request))

    async def farewell(self) -> None:
        """Keep what the player prefers, or wait until what is above has ended properly."""
        if self._going is None:
            self._remember(self._start.preferences)
            return
        if self._answer is not None or len(self.interaction.services) == 1:  # it is still on the way
            self._going.cancel()
        await asyncio.wait({self._going}, timeout=_SECONDS_TO_END)

    @property
    def _start(self) -> Start:
        start = self.ui.page
        assert isinstance(start, Start)  # noqa: S101 - it stays on its page
        return start

    def _at_home(self) -> None:
        """Show what there is to continue, and where it is the player's turn."""
        kept = kept_games()
        self._kept = {game.folder.name: game for game in kept.games if game.folder.name not in self._failed}
        left = [LeftGame(name, game.players, local_time(game.left_at)) for name, game in self._kept.items()]
        today = datetime.now().date()  # noqa: DTZ005 - the player's own day
        ui = with_solved(with_left(self.ui, left), known_games().until(today))
        if kept.damaged and ui.notice is None:
            text = _("A saved game cannot be read, and was left untouched: {folders}")
            ui = ui.with_notice(text.format(folders=listed(map(str, kept.damaged))), refusal=True)
        self.show(ui)
        seats = kept_seats(seats_folder())[:_SEATS]
        self.follow(seats)
        self._looking = self.begin(self._look_for_stopped(seats))

    async def _look_for_stopped(self, seats: tuple[KeptSeat, ...]) -> None:
        """Show at which tables the game can go on if this program hosts it again."""
        own_first = sorted(seats, key=lambda seat: seat.name != self.ui.name)
        stopped = await asyncio.to_thread(_stopped, own_first) if seats else ()
        self.show_later(with_stopped(self.ui, stopped))

    def _remember(self, preferences: Preferences) -> Preferences:
        preferences = msgspec.structs.replace(preferences, name=self.ui.name)
        prefer_calling(preferences.calling)
        self.interaction.call_like(chosen_calling().resolved(os.environ))
        remember(preferences_file(), preferences)
        return preferences

    async def _go(self, request: requests.Request) -> None:
        """Go where the player has chosen to, and come back unless the player quits there."""
        preferences = self._remember(self._start.preferences)
        self.follow_none()
        if self._looking is not None:  # it has the folder to itself
            await self._looking
        try:
            request = await self._further(request)
            visited = await self._visit(request, preferences)
        except Exception as error:  # noqa: BLE001 - people are owed one sentence, whatever it is
            from client.ui.visit import Visit

            visited = Visit(1, describe_failure(error))
        if visited.request is not requests.Errand.GO_HOME and not visited.code:
            self.visited = visited
            self.interaction.end(requests.Errand.QUIT)
            return
        if isinstance(request, requests.Continue) and visited.code:
            self._failed.add(request.game)
        if isinstance(request, requests.GoTo) and not visited.code:
            preferences = preferences.joined(request.url)
            remember(preferences_file(), preferences)
        self._going = None
        self.interaction.back_to(self)
        self.show(
            replace(
                self.ui.with_page(replace(self._start, preferences=preferences)),
                name=visited.name or self.ui.name,
                busy=False,
                notice=Notice(visited.sentence, refusal=True) if visited.code else None,
            )
        )
        self._at_home()

    async def _further(self, request: requests.Request) -> requests.Request:
        """Return where lessons and the search for servers lead to; anything else leads there itself."""
        if request is requests.Errand.LEARN:
            asked = await self.shown(Course(self.ui.name, practice, own_device().glyphs()))
            return request if asked is requests.Errand.PLAY else asked
        if request is requests.Errand.SEARCH:
            from client.network.transport import FREE_ACCESS

            stopped = frozenset(table.seat for table in self._start.stopped)
            return await self.shown(searching(self.ui.name, FREE_ACCESS, stopped))
        return request

    async def _visit(self, request: requests.Request, preferences: Preferences) -> "Visit":
        from client.ui.visit import Visit

        if request in (requests.Errand.QUIT, requests.Errand.GO_HOME):
            return Visit(request=request)
        from commands.playing.visiting import Asking, Home, go_where_chosen

        if told := _on_the_way(request):
            self.show(self.ui.with_notice(told))
            await asyncio.sleep(0)  # it is seen before all that is loaded
        home = Home(self._arguments, self.shown, Asking(self._consent, self._password))
        return await go_where_chosen(request, preferences, self._kept, home)

    async def _consent(self, told: str, question: str) -> bool:
        asked = Consenting(f"{told} {question} [{_('y')}/N]")
        return bool(await self._answered(self.interaction.ui.opened(asked)))

    async def _password(self, told: str) -> str | None:
        asked = replace(self.interaction.ui, entry=TypedLine(LinePrompt.PASSWORD))
        answer = await self._answered(asked.with_notice(told, refusal=True))
        return answer if isinstance(answer, str) else None

    async def _answered(self, asked: Ui) -> object:
        """Ask the player, and return the answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self.interaction.show(replace(asked, busy=False))
        answer = await self._answer
        self._answer = None
        return answer


def _on_the_way(request: requests.Request) -> str:
    match request:
        case requests.GoTo(url):
            return _("Connecting to {url} ...").format(url=url)
        case requests.HostOn(table=table):
            return _("Opening table {table} again ...").format(table=table)
        case _:
            return ""


def _stopped(seats: list[KeptSeat]) -> tuple[StoppedTable, ...]:
    from hosting.stopped_tables import stopped_tables  # with the server, once the screen is there

    return stopped_tables(data_folder(), seats)


def searching(name: str, access: "ServerAccess", stopped: frozenset[KeptSeat] = frozenset()) -> Service:
    """Return the page of the servers and tables that are found, with those that can be hosted again."""
    from client.ui.search import Searching

    return Searching(name, access, kept_seats(seats_folder())[:_SEATS], stopped)


def practice(record: str) -> Game:
    return Game(replayed(record).events, RandomChance(random.Random()))

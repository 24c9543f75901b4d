"""`palatinus` alone: the start screen, and where it leads.

What it leads to is imported when it is chosen: the menu appears sooner without servers and connections.
"""

import argparse
import asyncio
import io
import random
import sys
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from client.language import _, listed
from client.levels import LEVELS, usual_level
from client.player.preferences import Preferences, prefer_as_remembered, preferences_file, remember
from client.player.seats import kept_seats, seats_folder
from client.player.terminal import prefer_calling
from client.typed_text import login_name
from client.ui import requests
from client.ui.lessons.course import run as run_lessons
from client.ui.screens.start import LeftGame, Start, StartLine
from client.ui.start import run
from client.ui.state import Notice, Ui, Ways
from client.ui.texts.times import local_time
from commands.parsing import need_terminal
from engine.game import Game, RandomChance
from engine.record import replayed
from hosting.kept_games import KeptGame, kept_games
from server.monitoring.logs import log_to

if TYPE_CHECKING:
    from client.network.transport import ServerAccess

_SEATS: Final = 5  # those taken last; servers that are gone for good would fill the list

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
    """Show the start screen, go where it leads, and come back to it, until the player quits."""
    levels = tuple(level.name for level in LEVELS)
    if preferences.brain not in levels:
        preferences = msgspec.structs.replace(preferences, brain=usual_level(levels))
    ui = Ui(preferences.name or login_name(), screens=(Start(levels, preferences, chosen=line),))
    failed: set[Path] = set()
    while True:
        kept = kept_games()
        left = next((game for game in kept.games if game.folder not in failed), None)
        ui = _with_left(ui, left)
        if kept.damaged and ui.notice is None:
            text = _("A saved game cannot be read, and was left untouched: {folders}")
            told = text.format(folders=listed(map(str, kept.damaged)))
            ui = replace(ui, notice=Notice(told, refusal=True))
        ui, request = await run(ui, kept_seats(seats_folder())[:_SEATS])
        start = ui.page
        assert isinstance(start, Start)  # noqa: S101 - it stays on its page
        preferences = msgspec.structs.replace(start.preferences, name=ui.name)
        prefer_calling(preferences.calling)
        remember(preferences_file(), preferences)
        if request is requests.Errand.SEARCH:
            from client.network.transport import FREE_ACCESS

            request = await choose_server(ui.name, FREE_ACCESS, home=True)
        if request is requests.Errand.QUIT:
            return 0
        if request is requests.Errand.GO_HOME:
            continue
        if request is requests.Errand.LEARN and (
            await run_lessons(ui.name, practice) is not requests.Errand.PLAY
        ):
            ui = replace(ui, notice=None)
            continue
        from client.ui.game import report
        from commands.playing.visiting import go_where_chosen

        visited = await go_where_chosen(request, preferences, left, arguments)
        if request is requests.Errand.CONTINUE and left is not None and visited.code:
            failed.add(left.folder)
        if isinstance(request, requests.GoTo) and not visited.code:
            preferences = preferences.joined(request.url)
            remember(preferences_file(), preferences)
        if visited.request is not requests.Errand.GO_HOME and not visited.code:
            return report(visited)
        ui = replace(
            ui.with_page(replace(start, preferences=preferences)),
            name=visited.name or ui.name,
            notice=Notice(visited.sentence, refusal=True) if visited.code else None,
        )


def _with_left(ui: Ui, game: KeptGame | None) -> Ui:
    """Return the start screen with the game that can be continued; one just left is chosen."""
    start = ui.page
    assert isinstance(start, Start)  # noqa: S101 - it stays on its page
    if game is None:
        away = replace(start, chosen=StartLine.PLAY) if start.chosen is StartLine.CONTINUE else start
        return ui.with_page(replace(away, left=None))
    when = local_time(game.left_at)
    chosen = StartLine.CONTINUE if start.left is None else start.chosen
    return ui.with_page(replace(start, left=LeftGame(game.players, when), chosen=chosen))


async def choose_server(name: str, access: "ServerAccess", *, home: bool) -> requests.Request:
    """Show the servers and tables that are found until the player chooses; return where the player goes.

    With `home` there is a start screen to go back to.
    """
    from client.ui.search import run as run_search

    ui, seats = Ui(name, ways=Ways(home=home)), kept_seats(seats_folder())[:_SEATS]
    return await run_search(ui, access=access, seats=seats)


def practice(record: str) -> Game:
    return Game(replayed(record).events, RandomChance(random.Random()))

"""`palatinus` alone: the start screen, and where it leads."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from client.language import _
from commands.access import visit_asking
from commands.display_options import prefer_as_remembered
from commands.finished_games.history_screen import look_back
from commands.finished_games.past_games import keep_record, kept_here
from commands.hints import suggested
from commands.looking_back import looking_back
from commands.parsing import need_terminal
from commands.playing.hosting import against_bots, going_on, hosted, log_for_later
from commands.playing.lessons import taught

if TYPE_CHECKING:
    from client.player.preferences import Preferences, WaysIn
    from client.ui.online.visit import Options, Visit
    from client.ui.update.requests import Request
    from client.ui.update.state import StartLine, Ui
    from commands.playing.kept_games import KeptGame
    from server.config import Config


def at_start_screen(arguments: argparse.Namespace) -> int:
    need_terminal()
    from client.player.preferences import Preferences
    from client.ui.update.state import StartLine

    known = prefer_as_remembered()
    line = StartLine.LEARN if known is None else StartLine.PLAY
    with log_for_later():
        return at_home(
            known or Preferences(),
            line,
            ascii_wanted=arguments.ascii,
            confirms=arguments.confirm,
            announced=arguments.announced,
        )


def at_home(
    preferences: "Preferences", line: "StartLine", *, ascii_wanted: bool, confirms: bool, announced: bool
) -> int:
    """Show the start screen, go where it leads, and come back to it, until the player quits.

    What is hosted there is found on the network if it is to be `announced`.
    """
    import asyncio

    import msgspec

    from client.levels import LEVELS, usual_level
    from client.player.calling import prefer_calling
    from client.player.preferences import preferences_file, remember
    from client.typed.names import default_name
    from client.ui.start import run
    from client.ui.texts.kept import games_damaged
    from client.ui.update import requests
    from client.ui.update.state import Notice, Start, Ui
    from commands.playing.kept_games import kept_games

    levels = tuple(level.name for level in LEVELS)
    chosen = preferences.brain if preferences.brain in levels else usual_level(levels)
    ui = Ui(
        preferences.name or default_name(),
        page=Start(
            levels,
            levels.index(chosen),
            preferences.human_pace,
            preferences.servers,
            calling=preferences.calling,
            ways_in=preferences.ways_in,
            chosen=line,
        ),
        new_table=requests.Open(preferences.players, preferences.random_layout, people=preferences.people),
    )
    failed: set[Path] = set()
    while True:
        kept = kept_games()
        left = next((game for game in kept.games if game.folder not in failed), None)
        ui = _with_left(ui, left)
        if kept.damaged and ui.notice is None:
            ui = replace(ui, notice=Notice(games_damaged(kept.damaged), refusal=True))
        ui, request = asyncio.run(run(ui, ascii_wanted=ascii_wanted))
        start = ui.page
        assert isinstance(start, Start)  # noqa: S101 - it stays on its page
        brain = levels[start.level]
        preferences = msgspec.structs.replace(
            preferences,
            name=ui.name,
            players=ui.new_table.players,
            random_layout=ui.new_table.random_layout,
            people=ui.new_table.people,
            brain=brain,
            human_pace=start.human_pace,
            bell=start.calling.bell,
            title=start.calling.title,
            notices=start.calling.notices,
            ways_in=start.ways_in,
        )
        prefer_calling(preferences.calling)
        remember(preferences_file(), preferences)
        if isinstance(request, requests.Search):
            request = _chosen_server(ui.name, ascii_wanted=ascii_wanted)
        if isinstance(request, requests.Quit):
            return 0
        if isinstance(request, requests.GoHome):
            continue
        from client.ui.game import report  # the menu appears sooner without the network's libraries
        from client.ui.online.visit import Options

        options = Options(
            "",
            ui.name,
            ascii=ascii_wanted,
            suggest=suggested,
            confirms=confirms,
            looking_back=looking_back(),
        )
        config = replace(kept_here(), human_pace=start.human_pace)
        visited = _gone_where(
            request, options, brain, left, config, ways_in=start.ways_in, announced=announced
        )
        if isinstance(request, requests.Continue) and left is not None and visited.code:
            failed.add(left.folder)
        if isinstance(request, requests.GoTo) and not visited.code:
            preferences = preferences.joined(request.url)
            remember(preferences_file(), preferences)
        if not visited.home and not visited.code:
            return report(visited)
        ui = replace(
            ui,
            name=visited.name or ui.name,
            page=replace(start, servers=preferences.servers),
            notice=Notice(visited.sentence, refusal=True) if visited.code else None,
        )


def _chosen_server(name: str, *, ascii_wanted: bool) -> "Request":
    from client.network.transport import FREE_ACCESS
    from commands.playing.finding import chosen_server

    return chosen_server(name, FREE_ACCESS, ascii_wanted=ascii_wanted, home=True)


def _with_left(ui: "Ui", game: "KeptGame | None") -> "Ui":
    """Return the start screen with the game that can be continued; one just left is chosen."""
    import time

    from client.ui.update.state import LeftGame, Start, StartLine

    start = ui.page
    assert isinstance(start, Start)  # noqa: S101 - it stays on its page
    if game is None:
        away = replace(start, chosen=StartLine.PLAY) if start.chosen is StartLine.CONTINUE else start
        return replace(ui, page=replace(away, left=None))
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(game.left_at))
    chosen = StartLine.CONTINUE if start.left is None else start.chosen
    return replace(ui, page=replace(start, left=LeftGame(game.players, when), chosen=chosen))


def _gone_where(
    request: "Request",
    options: "Options",
    brain: str,
    left: "KeptGame | None",
    config: "Config",
    *,
    ways_in: "WaysIn",
    announced: bool,
) -> "Visit":
    """Go where the start screen leads; return how that ended. `config` is for games against bots."""
    import asyncio

    from client.player.seats import Seats, seats_folder
    from client.ui.lessons.course import Parting
    from client.ui.online.visit import Visit
    from client.ui.update import requests

    match request:
        case requests.Learn() if taught(options.name, ascii_wanted=options.ascii) is not Parting.PLAY:
            return Visit(home=True)
        case requests.Learn():
            game = against_bots(options, (brain,), players=3, random_layout=False, config=config)
        case requests.PlayBots(players, brain, random_layout, people):
            there = replace(options, people=people)
            game = against_bots(there, (brain,), players=players, random_layout=random_layout, config=config)
        case requests.Continue() if left is not None:
            game = going_on(options, left, config)
        case requests.Host():
            game = hosted(options, ways_in, announced=announced)
        case requests.LookBack():
            return Visit(home=look_back(ascii_wanted=options.ascii))
        case requests.GoTo(url, table, watch):
            print(_("Connecting to {url} ...").format(url=url), flush=True)
            there = replace(options, url=url, table=table, watch=watch, seats=Seats(seats_folder(), url))
            there = replace(there, looking_back=replace(looking_back(), keep=keep_record))
            game = visit_asking(replace(there, home=True))
        case _:
            return Visit()
    return asyncio.run(game)

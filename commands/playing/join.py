"""`palatinus join`: the terminal client, connected to a server."""

import argparse
import asyncio
from dataclasses import replace

from msgspec import structs

from client.language import WrongUse, _
from client.player import preferences
from client.ui.game import report
from client.ui.requests import GoTo
from commands.access import access_of, add_access
from commands.arguments import table_code
from commands.display_options import add_display_options
from commands.finished_games.records import keep_record, kept_here
from commands.parsing import need_terminal
from commands.playing.finding import chosen_server, goal_of
from commands.playing.start_screen import run_logged
from commands.playing.visiting import options_of, play_on_after, visit_server


def add_join(join: argparse.ArgumentParser) -> None:
    meaning = _(
        "the address on the host's screen, ws://HOST:PORT, or the server's name, or just a table's code; "
        "without one, choose from your seats and what is found on this network"
    )
    join.add_argument("server", nargs="?", help=meaning)
    meaning = _("a table's code; without one, choose a table in the lobby")
    join.add_argument("table", nargs="?", type=table_code, help=meaning)
    how = join.add_mutually_exclusive_group()
    how.add_argument("--watch", action="store_true", help=_("watch the table instead of playing"))
    meaning = _("join as a new player, even where a seat is kept for you")
    how.add_argument("--new", action="store_true", help=meaning)
    add_access(join)
    add_display_options(join)
    join.set_defaults(run=_join)


def _join(arguments: argparse.Namespace) -> int:
    no_table = WrongUse(_("to watch, give a TABLE, or leave out --watch and choose one in the lobby"))
    if arguments.watch and arguments.server is None:
        raise no_table
    access, known = access_of(arguments), preferences.prefer_as_remembered() or preferences.Preferences()
    name = preferences.name_of_player(arguments.name)
    if arguments.server is None:
        need_terminal()
        request = asyncio.run(chosen_server(name, access, home=False))
        if not isinstance(request, GoTo):
            return 0
        goal = request
    else:
        url, table = goal_of(arguments.server, arguments.table, access)
        if arguments.watch and table is None:
            raise no_table
        goal = GoTo(url, table, arguments.watch)
        need_terminal()
    there = replace(options_of(goal.url, name, arguments, keep_record), access=access)
    game = visit_server(there, goal, new=arguments.new)
    game = play_on_after(game, options_of("", name, arguments), (known.brain,), kept_here())
    visited = run_logged(game)
    if not visited.code:
        known = structs.replace(known, name=visited.name or name)
        preferences.remember(preferences.preferences_file(), known.joined(goal.url))
    return report(visited)

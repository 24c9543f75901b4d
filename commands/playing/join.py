"""`palatinus join`: the terminal client, connected to a server, which may be found by its name."""

import argparse
import asyncio
import contextlib
import socket
from typing import Final

from msgspec import structs

from client.finding.found import Found
from client.finding.search import locate
from client.language import WrongUse, _
from client.network.transport import ServerAccess
from client.player import preferences
from client.player.seats import kept_seats, seats_folder
from client.typed_text import BadText, invitation, not_found, server_url
from client.typed_text import table_code as code_of
from client.ui.game import report
from client.ui.program import shown_alone
from client.ui.requests import GoTo
from client.ui.visit import Destination
from commands.arguments import access_of
from commands.finished_games.records import kept_here
from commands.parsing import need_terminal
from commands.playing.start_screen import run_logged, searching
from commands.playing.visiting import play_on_after, player_of, visit_server
from past_games.records import keep_record

_SECONDS: Final = 2.5  # for a server to answer to its name


def run_join(arguments: argparse.Namespace) -> int:
    no_table = WrongUse(_("to watch, give a TABLE, or leave out --watch and choose one in the lobby"))
    if arguments.watch and arguments.server is None:
        raise no_table
    access, known = access_of(arguments), preferences.prefer_as_remembered() or preferences.Preferences()
    name = preferences.name_of_player(arguments.name)
    if arguments.server is None:
        need_terminal()
        request = asyncio.run(shown_alone(searching(name, access)))
        if not isinstance(request, GoTo):
            return 0
        goal = request
    else:
        url, table = goal_of(arguments.server, arguments.table, access)
        if arguments.watch and table is None:
            raise no_table
        goal = GoTo(url, table, arguments.watch)
        need_terminal()
    player = player_of(name, arguments, keep_record)
    game = visit_server(player, goal, Destination(goal.url, access), new=arguments.new)
    game = play_on_after(game, player_of(name, arguments), (known.brain,), kept_here())
    visited = run_logged(game)
    if not visited.code:
        known = structs.replace(known, name=visited.name or name)
        preferences.remember(preferences.preferences_file(), known.joined(goal.url))
    return report(visited)


def goal_of(server: str, table: str | None, access: ServerAccess) -> tuple[str, str | None]:
    """Return the address and the table that are meant: a name is a server's on this network if it is found.

    Without a table it can also be the code of one, where a seat is kept or on this network; otherwise it is
    that of a computer. Raises BadText.
    """
    if (there := invitation(server)).url:
        return there.url, table or there.table
    code = None
    with contextlib.suppress(BadText):
        code = code_of(server) if table is None else None
    for seat in kept_seats(seats_folder()):
        if seat.table == code:
            return seat.server, code

    print(_("Looking for {name} on this network ...").format(name=server), flush=True)
    heard: list[Found] = []
    found = asyncio.run(locate(server, access, _SECONDS, code, heard.append))
    if found is not None:
        return found.url, table if found.name.casefold() == server.casefold() else code
    try:
        url = server_url(server)
    except BadText:
        text = _(
            "no server called {name} was found on this network. "
            "Write its address, ws://HOST:PORT, as shown on the host's screen"
        )
        raise BadText(text.format(name=repr(server))) from None
    if "." not in server and not _has_address(server):
        names = [each.name for each in (heard[-1].servers if heard else ()) if each.name]
        raise not_found(server, code, names)
    return url, table


def _has_address(name: str) -> bool:
    try:
        return bool(socket.getaddrinfo(name, None))
    except OSError:
        return False

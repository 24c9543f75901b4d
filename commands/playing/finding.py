"""Servers on the network: chosen from those that are found, or found by their names."""

import asyncio
import socket
from typing import Final

from client.finding.search import locate
from client.language import _
from client.network.transport import ServerAccess
from client.player.seats import kept_seats, seats_folder
from client.typed_text import BadText, server_url, table_code
from client.ui.requests import Request
from client.ui.search import run
from client.ui.state import Capabilities, Ui
from discovery.names import usable

_SEATS: Final = 5  # those taken last; servers that are gone for good would fill the list
_SECONDS: Final = 2.5  # for a server to answer to its name


async def chosen_server(name: str, access: ServerAccess, *, home: bool) -> Request:
    """Show the servers and tables that are found until the player chooses; return where the player goes.

    With `home` there is a start screen to go back to.
    """
    ui, seats = Ui(name, capabilities=Capabilities(home=home)), kept_seats(seats_folder())[:_SEATS]
    return await run(ui, access=access, seats=seats)


def goal_of(server: str, table: str | None, access: ServerAccess) -> tuple[str, str | None]:
    """Return the address and the table that are meant: a name is a server's on this network if it is found.

    Without a table it can also be the code of one, where a seat is kept or on this network; otherwise it is
    that of a computer. Raises BadText.
    """
    if not usable(server) or server.lower() == "localhost":
        return server_url(server), table
    code = _code_in(server) if table is None else None
    for seat in kept_seats(seats_folder()):
        if seat.table == code:
            return seat.server, code

    print(_("Looking for {name} on this network ...").format(name=server), flush=True)
    found = asyncio.run(locate(server, access, _SECONDS, code))
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
    if code is not None and not _has_address(server):
        text = _(
            "no server called {name} and no table {code} in a server's list was found on this network. "
            "A private table is in no list: write its server before the code"
        )
        raise BadText(text.format(name=repr(server), code=code))
    return url, table


def _code_in(text: str) -> str | None:
    """Return the table code that a text can be; None if it cannot be one."""
    try:
        return table_code(text)
    except BadText:
        return None


def _has_address(name: str) -> bool:
    try:
        return bool(socket.getaddrinfo(name, None))
    except OSError:
        return False

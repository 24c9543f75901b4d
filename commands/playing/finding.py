"""Servers on the network: chosen from those that are found, or found by their names."""

from typing import TYPE_CHECKING, Final

from client.language import _
from client.typed.address import BadAddress, server_url

if TYPE_CHECKING:
    from client.network.transport import Access
    from client.ui.update.requests import Request

_SECONDS: Final = 2.5  # for a server to answer to its name


def chosen_server(name: str, access: "Access", *, ascii_wanted: bool, home: bool) -> "Request":
    """Show the servers and tables that are found until the player chooses; return where the player goes.

    With `home` there is a start screen to go back to.
    """
    import asyncio

    from client.ui.search import run
    from client.ui.update.state import Hosting, Ui

    ui = Ui(name, hosting=Hosting(home=home))
    _ui, request = asyncio.run(run(ui, access=access, ascii_wanted=ascii_wanted))
    return request


def url_of(server: str, access: "Access") -> str:
    """Return the address that is meant: a name is one on this network if it is found, otherwise a computer's.

    Raises BadAddress.
    """
    import asyncio

    from discovery.names import usable

    if not usable(server) or server.lower() == "localhost":
        return server_url(server)
    from client.finding.search import located

    print(_("Looking for {name} on this network ...").format(name=server), flush=True)
    found = asyncio.run(located(server, access, _SECONDS))
    if found is not None:
        return found.url
    try:
        return server_url(server)
    except BadAddress:
        text = _(
            "no server called {name} was found on this network. "
            "Write its address, ws://HOST:PORT, as shown on the host's screen"
        )
        raise BadAddress(text.format(name=repr(server))) from None

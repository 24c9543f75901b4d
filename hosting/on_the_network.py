"""A server in this process for others on the network, and its player's own visit to it."""

import contextlib
import functools
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from client.language import WrongUse, _, current_language
from client.network.refusals import describe_refusal
from client.player.folders import data_folder
from client.player.preferences import Preferences, WaysIn
from client.player.seats import Seats, seats_folder
from client.typed_text import DEFAULT_PORT
from client.ui.game import visit
from client.ui.requests import FOR_WHOEVER_COMES, HostOn
from client.ui.seat_keeper import Keeping
from client.ui.state import Ways
from client.ui.visit import Destination, Player, Stay, Visit, at_table
from discovery.interfaces import switched_off
from discovery.names import default_name
from gateway.process import SSH_PORT, GatewayProcess, need_asyncssh
from hosting.errors import describe_host_error, describe_unkept
from hosting.levels import with_bots
from protocol.codes import Code
from server.admin.endpoint import SOCKET_NAME
from server.app import Running, running
from server.config import Announce, Config
from server.errors import JournalError, JournalInUse, StartError
from server.net.addresses import reachable
from server.refusal import Refusal
from server.storage.sqlite.journal_file import FILE_NAME
from server.tables.names import check_name

_EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - a LAN host
_CALLED: Final = f"ws://127.0.0.1:{DEFAULT_PORT}"  # where guests' seats are kept: the same at any port


async def host_game(
    player: Player, config: Config, preferences: Preferences, *, announced: bool, again: HostOn | None = None
) -> Visit:
    """Serve for the network and play there too; any port will do, because the screen shows it.

    `config` says where finished games are kept. To host on is to serve `again`, at the same port.
    """
    data, found_as = data_folder(), [""]
    ways_in, evening = preferences.ways_in, preferences.evening
    gateway: GatewayProcess | None = None
    news: tuple[str, ...] = ()
    announce = Announce(default_name(), found_as.append) if announced and not switched_off() else None
    config = replace(config, host=_EVERYWHERE, data=data, announce=announce, admin=data / SOCKET_NAME)
    config = replace(config, evening=evening)
    try:
        if evening is not None:
            check_name(evening.name)
        if ways_in.ssh:
            gateway = _start_gateway(data)
    except Refusal as refusal:
        return Visit(1, describe_refusal(refusal.message(None)))
    except WrongUse as error:
        if not ways_in.web:  # else guests come in browsers, and the host reads what ssh lacks
            return Visit(1, f"{error}.")
        news = (f"{error}.",)
    if ways_in.web:
        from pages.drawing.pages import WebPages

        config = replace(config, pages=WebPages(ssh_port=None if gateway is None else gateway.port))
    if gateway is not None:
        config = replace(config, gateway=functools.partial(gateway.let_in, called=_CALLED))
    with contextlib.closing(gateway) if gateway is not None else contextlib.nullcontext():
        for port in (DEFAULT_PORT if again is None else _port_of(again), 0):
            config = replace(config, port=port)
            try:
                async with running(with_bots(config)) as server:
                    there = _destination(server, gateway, ways_in)
                    there = replace(there, found_as=lambda: found_as[-1])
                    if evening and (held := server.lobby.evenings.running) and held.plan.name != evening.name:
                        goes_on = Refusal(Code.EVENING_RUNS, name=held.plan.name)
                        news = (*news, describe_refusal(goes_on.message(None)))
                    if again is not None:
                        stay = _stay_again(again, there, news)
                    else:
                        # Who has played here before finds those tables first.
                        first = None if evening or server.lobby.tables else FOR_WHOEVER_COMES
                        stay = Stay(first, _keeping(there.url), news)
                    visited = await visit(player, there, stay)
            except JournalInUse:
                used = _(
                    "Another server on this computer is using the games in {folder}. "
                    "Join it, or stop it first."
                )
                return Visit(1, used.format(folder=data))
            except JournalError as error:
                return Visit(1, _unusable(error))
            except StartError as error:
                failure = error
            else:
                with contextlib.suppress(OSError):
                    (data / FILE_NAME).touch()  # which says when the tables stopped
                return visited
    return Visit(1, f"{describe_host_error(failure)}.")


def _destination(server: Running, gateway: GatewayProcess | None, ways_in: WaysIn) -> Destination:
    """Return the way to this program's own server, with those that others take."""
    outside = [each for each in reachable(_EVERYWHERE) if each != "127.0.0.1"]
    host = next(iter(outside), "127.0.0.1")
    other_ways = [] if gateway is None else [f"ssh -p {gateway.port} {host}"]
    address = f"http://{host}:{server.port}/" if ways_in.web else ""
    if address:
        other_ways.append(_("in a browser: {address}").format(address=address))
    ways = Ways(
        addresses=tuple(f"ws://{each}:{server.port}" for each in outside),
        other_ways=tuple(other_ways),
        pages=address,
    )
    return Destination(f"ws://127.0.0.1:{server.port}", ways=ways)


def _port_of(again: HostOn) -> int:
    return urlsplit(again.server).port or DEFAULT_PORT


def _stay_again(again: HostOn, there: Destination, news: tuple[str, ...]) -> Stay:
    """Return the stay at a table that is hosted again: the others look for it at the port of before."""
    if urlsplit(there.url).port != _port_of(again):
        text = _(
            "Another program has taken port {port}, where the others look for this game. Send them the new "
            "address: {address}"
        )
        address = next(iter(there.ways.addresses), there.url)
        news = (*news, text.format(port=_port_of(again), address=address))
    return Stay(at_table(again.table), _keeping(again.server), news)


def _keeping(url: str) -> Keeping:
    kept_for_all = _("All seats are kept. Host on from the start screen:")
    return Keeping(Seats(seats_folder(), url), f"{kept_for_all}\n  palatinus")


def _start_gateway(data: Path) -> GatewayProcess:
    """Return the way in over ssh, which lets nobody in yet, at any port. Raises WrongUse."""
    need_asyncssh()
    options = ("--host", _EVERYWHERE, "--data", str(data), "--lang", current_language())
    try:
        gateway = GatewayProcess(SSH_PORT, options, silent=True)
        gateway.start()
    except WrongUse:
        gateway = GatewayProcess(0, options, silent=True)
        gateway.start()
    return gateway


def _unusable(error: JournalError) -> str:
    """Return why the games of this computer cannot be hosted, with advice for a screen without options."""
    if "version" in error.about:
        return _("A newer Palatinus has used the games of this computer. Update this one to host them.")
    unusable = _(
        "The games of this computer cannot be hosted: {reason}. After quitting, {command} says more."
    )
    return unusable.format(reason=describe_unkept(error), command="palatinus tables check")

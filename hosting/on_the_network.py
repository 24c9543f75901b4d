"""A server in this process for others on the network, and its player's own visit to it."""

import contextlib
import functools
from dataclasses import replace
from pathlib import Path

from client.language import WrongUse, _, current_language
from client.network.refusals import describe_refusal
from client.player.folders import data_folder
from client.player.preferences import Preferences
from client.player.seats import Seats, seats_folder
from client.typed_text import DEFAULT_PORT
from client.ui.game import visit
from client.ui.requests import FOR_WHOEVER_COMES
from client.ui.seat_keeper import Keeping
from client.ui.state import Ways
from client.ui.visit import Destination, Player, Stay, Visit
from discovery.interfaces import switched_off
from discovery.names import default_name
from gateway.process import SSH_PORT, GatewayProcess, need_asyncssh
from hosting.errors import describe_host_error, describe_unkept
from hosting.levels import with_bots
from protocol.codes import Code
from server.admin.endpoint import SOCKET_NAME
from server.app import running
from server.config import Announce, Config
from server.errors import JournalError, JournalInUse, StartError
from server.net.addresses import reachable
from server.refusal import Refusal
from server.tables.names import check_name


async def host_game(player: Player, config: Config, preferences: Preferences, *, announced: bool) -> Visit:
    """Serve for the network and play there too; any port will do, because the screen shows it.

    `config` says where finished games are kept.
    """
    data, found_as = data_folder(), [""]
    ways_in, evening = preferences.ways_in, preferences.evening
    gateway: GatewayProcess | None = None
    news: tuple[str, ...] = ()
    announce = Announce(default_name(), found_as.append) if announced and not switched_off() else None
    config = replace(config, host="0.0.0.0", data=data, announce=announce, admin=data / SOCKET_NAME)  # noqa: S104 - a LAN host
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
    with contextlib.closing(gateway) if gateway is not None else contextlib.nullcontext():
        for port in (DEFAULT_PORT, 0):
            config = replace(config, port=port)
            if gateway is not None:
                let_in = functools.partial(gateway.let_in, called=f"ws://127.0.0.1:{port}")
                config = replace(config, gateway=let_in)
            try:
                async with running(with_bots(config)) as server:
                    url = f"ws://127.0.0.1:{server.port}"
                    outside = [each for each in reachable(config.host) if each != "127.0.0.1"]
                    host = next(iter(outside), "127.0.0.1")
                    other_ways = [] if gateway is None else [f"ssh -p {gateway.port} {host}"]
                    address = f"http://{host}:{server.port}/" if ways_in.web else ""
                    if address:
                        other_ways.append(_("in a browser: {address}").format(address=address))
                    if evening and (held := server.lobby.evenings.running) and held.plan.name != evening.name:
                        goes_on = Refusal(Code.EVENING_RUNS, name=held.plan.name)
                        news = (*news, describe_refusal(goes_on.message(None)))
                    there = Destination(
                        url,
                        ways=Ways(
                            addresses=tuple(f"ws://{each}:{server.port}" for each in outside),
                            other_ways=tuple(other_ways),
                            pages=address,
                        ),
                        found_as=lambda: found_as[-1],
                    )
                    # Who has played here before finds those tables first.
                    first = None if evening or server.lobby.tables else FOR_WHOEVER_COMES
                    stay = Stay(first, Keeping(Seats(seats_folder(), url)), news)
                    return await visit(player, there, stay)
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
    return Visit(1, f"{describe_host_error(failure)}.")


def _start_gateway(data: Path) -> GatewayProcess:
    """Return the way in over ssh, which lets nobody in yet, at any port. Raises WrongUse."""
    need_asyncssh()
    options = ("--host", "0.0.0.0", "--data", str(data), "--lang", current_language())  # noqa: S104 - a LAN host
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

"""A server in this process: for a game against bots, or for others on the network."""

import asyncio
import contextlib
import functools
import io
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from client.bots.runner import BotOptions, run_bots
from client.language import WrongUse, _, current_language, describe_reason
from client.network.refusals import describe_refusal
from client.player.folders import data_folder
from client.player.preferences import Preferences
from client.player.seats import Seats, seats_folder
from client.typed_text import DEFAULT_PORT
from client.ui.game import visit
from client.ui.requests import Join, Open, PlayOn, TakeBack
from client.ui.state import Ways
from client.ui.visit import Options, SeatedBots, Visit, at_table
from commands.arguments import SSH_PORT
from commands.finished_games.records import kept_here
from commands.levels import with_bots
from commands.parsing import describe_host_error
from commands.playing.kept_games import KeptGame, hold_game, new_game
from commands.playing.played_on import fill
from discovery.interfaces import switched_off
from discovery.names import default_name
from gateway.process import GatewayProcess, need_asyncssh
from protocol.codes import Code
from protocol.settings import ChosenSwitches
from server.admin.endpoint import SOCKET_NAME
from server.app import running
from server.config import Announce, Config
from server.errors import JournalError, JournalInUse, StartError
from server.net.addresses import reachable
from server.refusal import Refusal
from server.storage.sqlite.data_folder import DataFolder
from server.tables.names import check_name


async def against_bots(options: Options, brains: tuple[str, ...], opening: Open, config: Config) -> Visit:
    """Play a new game against bots, which is kept if the player leaves it."""
    there = replace(options, first=structs.replace(opening, switches=ChosenSwitches(hints=True)))
    with contextlib.ExitStack() as held:
        try:
            game = held.enter_context(new_game(brains, opening.players))
        except OSError as error:
            reason = _reason(error)
        else:
            try:
                return await _at_game(there, game, config)
            except JournalError as error:
                reason = _reason(error)
    there = replace(there, news=(_("This game cannot be kept for later ({reason}).").format(reason=reason),))
    return await _against_bots(there, brains, config, opening.players - 1)


async def playing_on(
    options: Options, played: PlayOn, brains: tuple[str, ...], config: Config, *, redraw: bool = True
) -> Visit:
    """Play a recorded game on against bots; with `redraw` the others' wolves are what they may be."""
    try:
        with new_game(brains, len(played.recording.names)) as new:
            game = fill(new, played, options.name, redraw=redraw)
            return await _at_game(replace(options, first=at_table(game.table)), game, config)
    except (OSError, JournalError) as error:
        return Visit(1, _("The game cannot be played on ({reason}).").format(reason=_reason(error)))


async def going_on(options: Options, game: KeptGame, config: Config) -> Visit:
    try:
        with hold_game(game):
            return await _at_game(replace(options, first=at_table(game.table)), game, config)
    except (OSError, JournalError) as error:
        text = _("The game in {folder} cannot be continued ({reason}). It was left untouched.")
        return Visit(1, text.format(folder=game.folder, reason=_reason(error)))


def _reason(error: OSError | JournalError) -> str:
    """Return why a game cannot be kept, without the advice for those who run palatinus serve."""
    if isinstance(error, OSError):
        return describe_reason(error)
    return describe_reason(error.about.get("reason", _("its journal cannot be read")))


def _unusable(error: JournalError) -> str:
    """Return why the games of this computer cannot be hosted, with advice for a screen without options."""
    if "version" in error.about:
        return _("A newer Palatinus has used the games of this computer. Update this one to host them.")
    unusable = _(
        "The games of this computer cannot be hosted: {reason}. After quitting, {command} says more."
    )
    return unusable.format(reason=_reason(error), command="palatinus tables check")


async def _at_game(options: Options, game: KeptGame, config: Config) -> Visit:
    told_first = _("The game is kept. Continue it on the start screen, or with")
    parting = f"{told_first}\n  palatinus play --continue"
    there = replace(options, seats=game.seat, parting=parting)
    config = replace(config, data=game.folder)
    while True:
        visited = await _against_bots(there, game.brains, config, game.players - 1, game.bots)
        if not isinstance(visited.request, TakeBack):
            return visited
        table = min(game.seat.tables())
        with DataFolder(game.folder) as tables:
            taken_back = tables.take_back(table, visited.request.seat)
        news = _("Your last move is taken back, with all that the bots have done since.")
        if not taken_back:
            news = _("There is no move to take back.")
        there = replace(there, first=at_table(table), news=(news,))


async def _against_bots(
    options: Options, brains: tuple[str, ...], config: Config, others: int, bots_seats: Seats | None = None
) -> Visit:
    """Play against so many bots on a server in this process; they keep their seats in `bots_seats`."""
    limits = replace(config.limits, tables_per_connection=config.limits.tables)  # no limit on playing again
    config = replace(config, limits=limits, lobby_chat=False)  # there is nobody else
    failures: asyncio.Queue[str] = asyncio.Queue()
    seated: list[asyncio.Task[None]] = []

    async def play(bots: BotOptions) -> None:
        errors = io.StringIO()
        if await run_bots(bots, io.StringIO(), errors):
            failures.put_nowait(errors.getvalue().strip())

    async with running(with_bots(config)) as server, asyncio.TaskGroup() as tasks:
        url = f"ws://127.0.0.1:{server.port}"
        usual = BotOptions(
            url,
            brains=brains,
            seed=config.seed,
            rematch=True,
            kept_in=bots_seats,
            human_pace=config.human_pace,
        )

        def seat_bots(table: str, seats: int) -> None:
            seated.append(tasks.create_task(play(replace(usual, table=table, seats=seats))))

        if isinstance(options.first, Join):  # a game to continue: the bots take their seats again
            seat_bots(options.first.table, others)
        bots = SeatedBots(seat_bots, failures, takes_back=bots_seats is not None)
        visited = await visit(replace(options, url=url, bots=bots))
        for task in seated:
            task.cancel()
    return visited


async def host_game(options: Options, preferences: Preferences, *, announced: bool) -> Visit:
    """Serve for the network and play there too; any port will do, because the screen shows it."""
    data, found_as = data_folder(), [""]
    ways_in, evening = preferences.ways_in, preferences.evening
    announce = Announce(default_name(), found_as.append) if announced and not switched_off() else None
    config = replace(kept_here(), host="0.0.0.0", data=data, announce=announce, admin=data / SOCKET_NAME)  # noqa: S104 - a LAN host
    config = replace(config, evening=evening)
    try:
        if evening is not None:
            check_name(evening.name)
        gateway = _start_gateway(data) if ways_in.ssh else None
    except Refusal as refusal:
        return Visit(1, describe_refusal(refusal.message(None)))
    except WrongUse as error:
        return Visit(1, f"{error}.")
    if ways_in.web:
        from client.ui.web.pages import WebPages

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
                    news = options.news
                    if evening and (held := server.lobby.evenings.running) and held.plan.name != evening.name:
                        goes_on = Refusal(Code.EVENING_RUNS, name=held.plan.name)
                        news = (*news, describe_refusal(goes_on.message(None)))
                    there = replace(
                        options,
                        url=url,
                        news=news,
                        seats=Seats(seats_folder(), url),
                        ways=Ways(
                            home=True,
                            addresses=tuple(f"ws://{each}:{server.port}" for each in outside),
                            other_ways=tuple(other_ways),
                            pages=address,
                        ),
                        found_as=lambda: found_as[-1],
                    )
                    return await visit(there)
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

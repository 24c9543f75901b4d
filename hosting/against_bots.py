"""Games against bots on a server in this process, kept for later if their player leaves them."""

import asyncio
import contextlib
import io
import itertools
from dataclasses import replace

from msgspec import structs

from client.bots.brains import brain_named
from client.bots.runner import BotOptions, run_bots
from client.language import _
from client.player.seats import Seats
from client.ui.game import visit
from client.ui.requests import Join, Open, PlayOn, TakeBack
from client.ui.seat_keeper import Keeping
from client.ui.visit import Destination, Player, SeatedBots, Stay, Visit, at_table
from hosting.errors import describe_unkept
from hosting.kept_games import KeptGame, hold_game, new_game
from hosting.levels import with_bots
from hosting.played_on import fill
from protocol.bot_names import source_of_names
from protocol.settings import ChosenSwitches
from server.app import running
from server.config import Config
from server.errors import JournalError
from server.storage.sqlite.data_folder import DataFolder
from server.tables.names import name_for_bot


async def against_bots(
    player: Player, brains: tuple[str, ...], opening: Open, config: Config, news: tuple[str, ...] = ()
) -> Visit:
    """Play a new game against bots, which is kept if the player leaves it; its log begins with `news`."""
    stay = Stay(structs.replace(opening, switches=ChosenSwitches(hints=True)), news=news)
    names = _names_for(brains, opening.players - 1, player.name, config.seed)
    with contextlib.ExitStack() as held:
        try:
            game = held.enter_context(new_game(brains, opening.players, names))
        except OSError as error:
            reason = describe_unkept(error)
        else:
            try:
                return await _at_game(player, stay, game, config)
            except JournalError as error:
                reason = describe_unkept(error)
    stay = replace(stay, news=(_("This game cannot be kept for later ({reason}).").format(reason=reason),))
    return await _against_bots(player, stay, brains, config, names, others=opening.players - 1)


def _names_for(brains: tuple[str, ...], seats: int, name: str, seed: int | None) -> tuple[str, ...]:
    """Return what the bots in so many seats are called in a game with the player of that name."""
    names, rng = [name], source_of_names(seed)
    for brain in itertools.islice(itertools.cycle(brains), seats):
        names.append(name_for_bot(brain_named(brain).name, names, rng))
    return tuple(names[1:])


async def playing_on(
    player: Player, played: PlayOn, brains: tuple[str, ...], config: Config, *, redraw: bool = True
) -> Visit:
    """Play a recorded game on against bots; with `redraw` the others' wolves are what they may be."""
    try:
        with new_game(brains, len(played.recording.names)) as new:
            game = fill(new, played, player.name, redraw=redraw)
            return await _at_game(player, Stay(at_table(game.table)), game, config)
    except (OSError, JournalError) as error:
        return Visit(1, _("The game cannot be played on ({reason}).").format(reason=describe_unkept(error)))


async def going_on(player: Player, game: KeptGame, config: Config) -> Visit:
    try:
        with hold_game(game):
            return await _at_game(player, Stay(at_table(game.table)), game, config)
    except (OSError, JournalError) as error:
        text = _("The game in {folder} cannot be continued ({reason}). It was left untouched.")
        return Visit(1, text.format(folder=game.folder, reason=describe_unkept(error)))


async def _at_game(player: Player, stay: Stay, game: KeptGame, config: Config) -> Visit:
    told_first = _("The game is kept. Continue it on the start screen, or with")
    parting = f"{told_first}\n  palatinus play --continue"
    stay = replace(stay, keeping=Keeping(game.seat, parting))
    config = replace(config, data=game.folder)
    while True:
        visited = await _against_bots(
            player, stay, game.brains, config, game.names, others=game.players - 1, bots_seats=game.bots
        )
        if not isinstance(visited.request, TakeBack):
            return visited
        table = min(game.seat.tables())
        with DataFolder(game.folder) as tables:
            taken_back = tables.take_back(table, visited.request.seat)
        news = _("Your last move is taken back, with all that the bots have done since.")
        if not taken_back:
            news = _("There is no move to take back.")
        stay = replace(stay, first=at_table(table), news=(news,))


async def _against_bots(
    player: Player,
    stay: Stay,
    brains: tuple[str, ...],
    config: Config,
    names: tuple[str, ...],
    *,
    others: int,
    bots_seats: Seats | None = None,
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
            names=names,
        )

        def seat_bots(table: str, seats: int) -> None:
            seated.append(tasks.create_task(play(replace(usual, table=table, seats=seats))))

        if isinstance(stay.first, Join):  # a game to continue: the bots take their seats again
            seat_bots(stay.first.table, others)
        bots = SeatedBots(seat_bots, failures, takes_back=bots_seats is not None)
        visited = await visit(player, Destination(url, bots=bots), stay)
        for task in seated:
            task.cancel()
    return visited

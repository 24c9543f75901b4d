"""A visit to a server, here or elsewhere, with what the client needs of the rest of the program."""

import argparse
import getpass
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from client.bots.analysis import Analyses
from client.bots.hints import suggest_move
from client.language import _, yes_letters
from client.network.transport import password_wanted
from client.player.preferences import (
    Clusters,
    Preferences,
    at_random,
    clusters_file,
    explanations,
    explanations_file,
    kept_in,
    remember,
)
from client.player.seats import Seats, seats_folder
from client.player.terminal import plain_chosen
from client.typed_text import login_name
from client.ui import requests
from client.ui.export.tables import describe_losses
from client.ui.game import visit
from client.ui.program import shown_alone
from client.ui.seat_keeper import Keeping
from client.ui.terminal.device import own_lines
from client.ui.visit import Destination, Explaining, LookingBack, Player, Show, Stay, Visit, at_table
from commands.finished_games.records import kept_here
from commands.parsing import confirm
from hosting.against_bots import against_bots, going_on, playing_on
from hosting.kept_games import KeptGame
from hosting.on_the_network import host_game
from past_games.history_screen import looking_at_games
from past_games.own_games import solving
from past_games.records import keep_record, recording_of, records_folder
from past_games.solved import known_games
from protocol.messages import CameBy
from server.config import Config


def player_of(
    name: str,
    arguments: argparse.Namespace,
    keep: Callable[[str, str], None] | None = None,
    show: Show = shown_alone,
) -> Player:
    """Return who visits: files are saved in the current folder, and `keep` keeps records."""
    explaining = Explaining(explanations(), lambda what: remember(explanations_file(), what))
    comes_by: CameBy = "text" if plain_chosen(os.environ) else "terminal"
    looking_back = _looking_back(keep)
    return Player(name, suggest_move, looking_back, arguments.confirm, explaining, show, comes_by)


def _looking_back(keep: Callable[[str, str], None] | None = None) -> LookingBack:
    return LookingBack(recording_of, Path.cwd(), Analyses(), keep, plays_on=True)


class Asking(NamedTuple):
    """How the player is asked on the way to a server; None is an answer to stay away."""

    consent: Callable[[str, str], Awaitable[bool]]
    password: Callable[[str], Awaitable[str | None]]


async def visit_server(
    player: Player,
    goal: requests.GoTo,
    there: Destination,
    asking: Asking | None = None,
    *,
    new: bool = False,
) -> Visit:
    """Visit a server; ask for its password if it wants one, and whether it may send the player elsewhere."""
    asking = Asking(ask_here, _password) if asking is None else asking
    stay = Stay(at_table(goal.table, watch=goal.watch), Keeping(Seats(seats_folder(), goal.url, new=new)))
    clusters = kept_in(clusters_file(), Clusters) or Clusters()
    host = urlsplit(there.url).hostname or ""
    hosts = (there.access.hosts or frozenset()) | clusters.hosts_with(host)
    there = replace(there, access=replace(there.access, hosts=hosts), asks=sys.stdin.isatty())
    while True:
        visited = await visit(player, there, stay)
        if visited.hosts:
            text = _("This server is one of several. If it stops, your game continues at one of: {hosts}")
            question = _("Go there then? Your seat and your password go with you.")
            if await asking.consent(text.format(hosts=", ".join(visited.hosts)), question):
                remember(clusters_file(), clusters.confirmed(host, visited.hosts))
                there = replace(there, access=replace(there.access, hosts=hosts.union(visited.hosts)))
            there = replace(there, asks=False)
            continue
        if not visited.password_wanted:
            return visited
        if not sys.stdin.isatty():
            return replace(visited, sentence=password_wanted(visited.sentence))
        if (password := await asking.password(visited.sentence)) is None:
            return replace(visited, sentence=password_wanted(visited.sentence))
        there = replace(there, access=replace(there.access, password=password))


# In text mode, nobody else may read the terminal.


async def ask_here(told: str, question: str) -> bool:
    """Ask a question of yes or no before anything is shown; raises WrongUse without a terminal."""
    if not plain_chosen(os.environ):
        return confirm([told], question)
    own_lines().print([told, f"{question} [{_('y')}/N]"])
    return (await own_lines().line() or "").strip().casefold() in yes_letters()


async def _password(told: str) -> str | None:
    print(told, flush=True)
    if plain_chosen(os.environ):
        lines = own_lines()
        lines.show_typing(shown=False)
        try:
            lines.print([_("Password: ")])
            return await lines.line()
        finally:
            lines.show_typing(shown=True)
    try:
        return getpass.getpass(_("Password: "))
    except EOFError:
        return None


async def play_on_after(
    visit: Awaitable[Visit], player: Player, brains: tuple[str, ...], config: Config
) -> Visit:
    """Play on what the player chose to in the visit, and in later ones; return how the last one ended."""
    visited = await visit
    while isinstance(visited.request, requests.PlayOn):
        visited = await playing_on(player, visited.request, brains, config)
    return visited


class Home(NamedTuple):
    """What the start screen does for a visit: its options, where it is seen, how its player is asked."""

    arguments: argparse.Namespace
    show: Show
    asking: Asking


async def go_where_chosen(
    request: requests.Request,
    preferences: Preferences,
    kept: Mapping[str, KeptGame],
    home: Home,
) -> Visit:
    """Go where the start screen leads; return how that ended."""
    name, brains = preferences.name or login_name(), (preferences.brain,)
    if request is requests.Errand.LOOK_BACK:
        own = describe_losses(list(known_games().looked.values()))
        request = await home.show(await looking_at_games(records_folder(), _looking_back(), own, name))
    elif request is requests.Errand.SOLVE:
        request = await home.show(await solving(records_folder(), name))
    player = player_of(name, home.arguments, show=home.show)
    config = replace(kept_here(), human_pace=preferences.human_pace)
    layout = at_random(preferences.random_layout)
    match request:
        case requests.Errand.LEARN:  # the lessons lead to a first game
            game = against_bots(player, brains, requests.Open(3, layout), config)
        case requests.Errand.PLAY | requests.Challenge():
            if isinstance(request, requests.Challenge):
                brains = (request.level,)
            opening = requests.Open(preferences.players, layout, people=preferences.people)
            game = against_bots(player, brains, opening, config)
        case requests.PlayOn():
            game = playing_on(player, request, brains, config)
        case requests.Continue(name) if name in kept:
            game = going_on(player, kept[name], config)
        case requests.Errand.HOST:
            game = host_game(player, kept_here(), preferences, announced=home.arguments.announced)
        case requests.HostOn():
            game = host_game(
                player, kept_here(), preferences, announced=home.arguments.announced, again=request
            )
        case requests.GoTo(url):
            guest = player_of(name, home.arguments, keep_record, home.show)
            game = visit_server(guest, request, Destination(url), home.asking)
        case _:
            return Visit(request=request)
    return await play_on_after(game, player, brains, config)

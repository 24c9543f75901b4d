"""`palatinus play`: a game against bots, with server and player in one process; `palatinus problems`."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final, TypeAlias

import msgspec

from client.bots.brains import brain_named
from client.language import WrongUse, _, listed
from client.levels import FOR_BEGINNERS
from client.player import preferences
from client.typed_text import seat_to_start, seats_meant
from client.ui.game import report
from client.ui.program import shown_alone
from client.ui.requests import Errand, Open, PlayOn, Request
from client.ui.screens.start import StartLine
from client.ui.texts.pieces import people_named
from client.ui.texts.times import local_time
from client.ui.visit import Player, Visit
from commands.finished_games.records import file_of, folder_of, kept_here, recording_in
from commands.parsing import need_terminal
from commands.playing.start_screen import at_home, run_logged
from commands.playing.visiting import ask_here, play_on_after, player_of
from engine.pieces import People, Seat
from hosting.against_bots import against_bots, going_on, playing_on
from hosting.kept_games import kept_games
from past_games.own_games import solving
from server.config import Config

# What plays a game, and what the start screen remembers of it.
_Game: TypeAlias = tuple[Callable[[Player, Config], Coroutine[Any, Any, Visit]], dict[str, Any]]

_USUAL: Final[dict[str, Any]] = {"players": 3, "brain": FOR_BEGINNERS, "starts": "random"}


def run_play(arguments: argparse.Namespace) -> int:
    """Play against bots until the player quits; return the exit code."""
    need_terminal()
    preferences.prefer_as_remembered()
    of_record = arguments.at is not None or arguments.seat is not None or arguments.as_recorded
    if of_record and arguments.game is None:
        raise WrongUse(_("--at, --seat and --as-recorded need --from"))
    goes_on = arguments.go_on or (_leaves_open(arguments) and _wants_to_continue())
    for name, usual in _USUAL.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, usual)
    choose = _recorded_game if arguments.game is not None else _left_game if goes_on else _new_game
    return run_logged(_play(*choose(arguments), arguments))


def _leaves_open(arguments: argparse.Namespace) -> bool:
    """Return whether no option says which game is meant, or what a new one is like."""
    named = (*_USUAL, "game", "seed", "random_layout", "people")
    return all(getattr(arguments, name) is None for name in named)


def _wants_to_continue() -> bool:
    """Ask whether to continue a game that is half played; scripts, which cannot be asked, begin a new one."""
    if not sys.stdin.isatty() or not (kept := kept_games().games):
        return False
    text = _("Your game of {when} is half played. It is kept if you begin a new one.")
    return asyncio.run(ask_here(text.format(when=local_time(kept[0].left_at)), _("Continue it?")))


async def _play(
    play: Callable[[Player, Config], Coroutine[Any, Any, Visit]],
    chosen: dict[str, Any],
    arguments: argparse.Namespace,
) -> int:
    """Play the game, and go on to the start screen if the player leaves it for that; return the exit code."""
    player = player_of(preferences.name_of_player(arguments.name), arguments)
    config = Config() if arguments.no_history else kept_here(arguments.records)
    known = _known()
    human_pace = known.human_pace if arguments.pace is None else arguments.pace == "human"
    config = replace(config, seed=arguments.seed, human_pace=human_pace)
    visited = await play_on_after(play(player, config), player, (chosen["brain"],), config)
    if visited.request is not Errand.GO_HOME:
        return report(visited)
    name = arguments.name or known.name
    set_up = msgspec.structs.replace(known, name=name, human_pace=human_pace, **chosen)
    return await at_home(set_up, StartLine.PLAY, arguments)


def _known() -> preferences.Preferences:
    return preferences.read_preferences(preferences.preferences_file()) or preferences.Preferences()


def _new_game(arguments: argparse.Namespace) -> _Game:
    """Return a new game; raises WrongUse."""
    brains = _brains(arguments)
    starting = seat_to_start(arguments.starts, arguments.players)
    chosen = {"players": arguments.players, "brain": brains[0]}
    if arguments.random_layout is not None:
        chosen["random_layout"] = arguments.random_layout
    layout = preferences.at_random(chosen.get("random_layout", _known().random_layout))
    opening = Open(arguments.players, layout, starting)
    if arguments.people is not None:
        chosen["people"] = people = people_named(arguments.people)
        if people is None:
            hint = _("there is no people {text!r}. Write one of {peoples}")
            raise WrongUse(hint.format(text=arguments.people, peoples=", ".join(People)))
        opening = msgspec.structs.replace(opening, people=people)

    def play(player: Player, config: Config) -> Coroutine[Any, Any, Visit]:
        return against_bots(player, brains, opening, config, half_played())

    return play, chosen


def half_played() -> tuple[str, ...]:
    """Return that there is a game to go on with, if there is: a new one must not hide it."""
    if not (kept := kept_games().games):
        return ()
    text = _("Your game of {when} is half played. To continue it: {command}")
    return (text.format(when=local_time(kept[0].left_at), command="palatinus play --continue"),)


def _recorded_game(arguments: argparse.Namespace) -> _Game:
    """Return a recorded game from one of its moves on; raises WrongUse."""
    brains = _brains(arguments)
    recording, stop = recording_in(file_of(arguments)), arguments.at or 0
    if stop > recording.last_turn:
        hint = _("there is nothing to play after move {number}. Choose 0 to {last}")
        raise WrongUse(hint.format(number=stop, last=recording.last_turn))
    seat = recording.view(stop, recording.all_eyes).turn
    if arguments.seat:
        named = seats_meant(arguments.seat, recording.names)
        if (seat := next(map(Seat, named), None)) is None:
            hint = _("nobody is called {name} there: {names}")
            raise WrongUse(hint.format(name=arguments.seat, names=listed(recording.names)))
    assert seat is not None  # noqa: S101 - a game that is not over is somebody's turn
    played = PlayOn(recording, stop, seat)
    redraw, chosen = not arguments.as_recorded, {"players": len(recording.names), "brain": brains[0]}
    return (lambda player, config: playing_on(player, played, brains, config, redraw=redraw)), chosen


def _brains(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the brains that the bots play with; raises NoSuchBrain."""
    brains = tuple(arguments.brain.split(","))
    for brain in brains:
        brain_named(brain)
    return brains


def _left_game(_arguments: argparse.Namespace) -> _Game:
    """Return the game that was left last; raises WrongUse."""
    if not (kept := kept_games().games):
        raise WrongUse(_("there is no game to continue"))
    chosen = {"players": kept[0].players, "brain": kept[0].brains[0]}
    return (lambda player, config: going_on(player, kept[0], config)), chosen


def run_problems(arguments: argparse.Namespace) -> int:
    need_terminal()
    known = preferences.prefer_as_remembered() or preferences.Preferences()
    name = preferences.name_of_player(arguments.name)
    request = asyncio.run(_solve(arguments, name))
    if not isinstance(request, PlayOn):
        return 0
    player, brains, config = player_of(name, arguments), (known.brain,), kept_here()
    game = playing_on(player, request, brains, config)
    return report(run_logged(play_on_after(game, player, brains, config)))


async def _solve(arguments: argparse.Namespace, name: str) -> Request:
    return await shown_alone(await solving(folder_of(arguments), name))

"""`palatinus replay`, `export` and `show`: the boards of a game, on the screen or in a file."""

import argparse
import asyncio

from client.bots.analysis import analyse
from client.language import _
from client.player.preferences import prefer_as_remembered
from client.records import Recording
from client.tables.draws import describe_recorded_draws
from client.ui.export.moment import as_json, as_svg, as_text, points_of
from client.ui.export.tables import progress
from client.ui.program import run
from commands.arguments import move_number
from commands.display_options import add_ascii, add_drawing, prints_ascii
from commands.finished_games.past_games import add_game, file_of
from commands.finished_games.records import recording_in, write_out
from commands.parsing import WrongUse, need_terminal
from engine.fairness import sources_of
from engine.pieces import Seat
from engine.view import SPECTATOR, Eyes, eyes_of


def add_replay(replay: argparse.ArgumentParser) -> None:
    add_game(replay)
    _add_stop(replay, _("start at this move (default: 0)"))
    _add_eyes(replay)
    add_drawing(replay)
    replay.set_defaults(run=_replay)


def _replay(arguments: argparse.Namespace) -> int:
    recording = recording_in(file_of(arguments))
    stop, eyes = _stop(arguments.at, recording, default=0), _eyes(arguments.eyes, recording)
    need_terminal()
    prefer_as_remembered()
    return asyncio.run(run(recording, stop, eyes, ascii_wanted=arguments.ascii, analyse=analyse))


def add_export(export: argparse.ArgumentParser) -> None:
    add_game(export)
    _add_stop(
        export, _("the board after this move (default: the end; for a finished game, after the scoring)")
    )
    _add_eyes(export)
    form = export.add_mutually_exclusive_group(required=True)
    form.add_argument(
        "--svg", metavar="OUT", help=_("write an SVG picture to this file, or - for standard output")
    )
    form.add_argument("--text", metavar="OUT", help=_("write the board as text"))
    form.add_argument("--json", metavar="OUT", help=_("write everything that the viewer may know as JSON"))
    add_ascii(export, _("with --text: ASCII characters only"))
    export.set_defaults(run=_export)


def _export(arguments: argparse.Namespace) -> int:
    recording = recording_in(file_of(arguments))
    stop, eyes = _stop(arguments.at, recording, default=recording.end), _eyes(arguments.eyes, recording)
    if arguments.svg is not None:
        out, content = arguments.svg, as_svg(recording, stop, eyes)
    elif (out := arguments.text) is not None:
        ascii_only = prints_ascii(arguments) if out == "-" else arguments.ascii
        content = as_text(recording, stop, eyes, ascii_only=ascii_only)
    else:
        out, content = arguments.json, as_json(recording, stop, eyes)
    write_out(out, content)
    return 0


def _add_stop(command: argparse.ArgumentParser, at: str) -> None:
    command.add_argument("--at", type=move_number, metavar="NUMBER", help=at)


def _add_eyes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--eyes",
        metavar="SEAT|all|none",
        default="all",
        help=_("whose view: a seat's (from 1), all (default: everything is open), none (a spectator's)"),
    )


def _stop(at: int | None, recording: Recording, *, default: int) -> int:
    if at is None:
        return default
    if at > recording.moves:
        raise WrongUse(
            _("there is no move {number}: --at takes 0 to {last}").format(number=at, last=recording.moves)
        )
    return at


def _eyes(text: str, recording: Recording) -> Eyes:
    if text == "all":
        return recording.all_eyes
    if text == "none":
        return SPECTATOR
    numbers = [str(seat + 1) for seat in recording.seats]
    if text not in numbers:
        template = _("{eyes} is not a view: --eyes takes {seats}, all or none")
        raise WrongUse(template.format(eyes=repr(text), seats=", ".join(numbers)))
    return eyes_of(Seat(numbers.index(text)))


def add_show(show: argparse.ArgumentParser) -> None:
    add_game(show)
    add_ascii(show, _("draw with ASCII characters only"))
    show.set_defaults(run=_shown)


def _shown(arguments: argparse.Namespace) -> int:
    recording = recording_in(file_of(arguments))
    ascii_only = prints_ascii(arguments)
    print(points_of(recording, ascii_only=ascii_only) or progress(recording, recording.all_eyes))
    print(describe_recorded_draws(sources_of(recording.events), over=recording.over))
    print(as_text(recording, recording.end, recording.all_eyes, ascii_only=ascii_only), end="")
    return 0

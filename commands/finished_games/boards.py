"""`palatinus replay` and `palatinus export`: the boards of a game, on the screen or in a file."""

import argparse
import asyncio

from client.bots.analysis.analyst import analyse
from client.language import _
from client.player.preferences import prefer_as_remembered
from client.records.recording import Recording
from client.ui.export.moment import as_json, as_svg, as_text
from client.ui.replay import run
from commands.arguments import move_number
from commands.display_options import add_ascii, add_drawing
from commands.finished_games.records import recording_in, write_out
from commands.parsing import WrongUse, need_terminal
from engine.pieces import Seat
from engine.view import SPECTATOR, Eyes, eyes_of


def add_replay(replay: argparse.ArgumentParser) -> None:
    _add_file(replay)
    add_stop(replay, _("start at this move (default: 0)"))
    add_eyes(replay)
    add_drawing(replay)
    replay.set_defaults(run=_replay)


def _replay(arguments: argparse.Namespace) -> int:
    return replay_record(arguments.file, arguments)


def replay_record(file: str, arguments: argparse.Namespace) -> int:
    """Show a record, where and as seen by whom the arguments say; return the exit code."""
    recording = recording_in(file)
    stop, eyes = _stop(arguments.at, recording, default=0), _eyes(arguments.eyes, recording)
    need_terminal()
    prefer_as_remembered()
    return asyncio.run(run(recording, stop, eyes, ascii_wanted=arguments.ascii, analyse=analyse))


def add_export(export: argparse.ArgumentParser) -> None:
    _add_file(export)
    add_stop(
        export, _("the board after this move (default: the end; for a finished game, after the scoring)")
    )
    add_eyes(export)
    add_form(export)
    export.set_defaults(run=_export)


def add_form(export: argparse.ArgumentParser) -> None:
    """Add the options that say what to write, and where."""
    form = export.add_mutually_exclusive_group(required=True)
    form.add_argument(
        "--svg", metavar="OUT", help=_("write an SVG picture to this file, or - for standard output")
    )
    form.add_argument("--text", metavar="OUT", help=_("write the board as text"))
    form.add_argument("--json", metavar="OUT", help=_("write everything that the viewer may know as JSON"))
    add_ascii(export, _("with --text: ASCII characters only"))


def _export(arguments: argparse.Namespace) -> int:
    return export_record(arguments.file, arguments)


def export_record(file: str, arguments: argparse.Namespace) -> int:
    """Write a record's board as the arguments say; return the exit code."""
    recording = recording_in(file)
    stop, eyes = _stop(arguments.at, recording, default=recording.end), _eyes(arguments.eyes, recording)
    if arguments.svg is not None:
        out, content = arguments.svg, as_svg(recording, stop, eyes)
    elif arguments.text is not None:
        out, content = arguments.text, as_text(recording, stop, eyes, ascii_only=arguments.ascii)
    else:
        out, content = arguments.json, as_json(recording, stop, eyes)
    write_out(out, content)
    return 0


def _add_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help=_("a record, or - for standard input"))


def add_stop(command: argparse.ArgumentParser, at: str) -> None:
    command.add_argument("--at", type=move_number, metavar="N", help=at)


def add_eyes(command: argparse.ArgumentParser) -> None:
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

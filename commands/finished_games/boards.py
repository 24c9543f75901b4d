"""The commands of `palatinus record` that show, replay, export and analyse a game."""

import argparse
import asyncio
import os
import shutil
import sys
from typing import Final

from client.bots.analysis import SIMULATIONS, USUAL_SIMULATIONS, Analyses, Effort, run_analysis
from client.bots.processes import ProcessesLost
from client.language import WrongUse, _
from client.player.preferences import prefer_as_remembered
from client.records import Analysis, Recording
from client.tables.draws import describe_recorded_draws
from client.ui.export import tables
from client.ui.export.analysis import analysis_json, analysis_svg, analysis_text
from client.ui.export.animation import as_animation
from client.ui.export.moment import as_json, as_svg, as_text, points_of
from client.ui.program import Replaying, show
from commands.arguments import move_number, positive, whole_number
from commands.finished_games.records import add_game, file_of, need_writable, recording_in
from commands.parsing import add_ascii, add_drawing, need_terminal, prints_ascii, progress_bar, write_out
from engine.events import Placed
from engine.fairness import sources_of
from engine.pieces import Seat
from engine.view import SPECTATOR, Eyes, eyes_of


def add_replay(replay: argparse.ArgumentParser) -> None:
    add_game(replay)
    _add_view(replay, _("start at this move (default: 0)"))
    add_drawing(replay)


def run_replay(arguments: argparse.Namespace) -> int:
    recording = recording_in(file_of(arguments))
    stop, eyes = _read_view(arguments, recording, stop=0)
    need_terminal()
    prefer_as_remembered()
    shown = asyncio.run(show(Replaying(recording, stop, eyes, Analyses())))
    return 1 if shown is None else 0


def add_export(export: argparse.ArgumentParser) -> None:
    add_game(export)
    meaning = _("the board after this move (default: the end; for a finished game, after the scoring)")
    _add_view(export, meaning)
    form = export.add_mutually_exclusive_group(required=True)
    form.add_argument(
        "--svg", metavar="OUT", help=_("write an SVG picture to this file, or - for standard output")
    )
    form.add_argument(
        "--animation",
        metavar="OUT",
        help=_("write an SVG picture that plays the game to this file, or - for standard output"),
    )
    form.add_argument(
        "--text",
        nargs="?",
        const="-",
        metavar="OUT",
        help=_("print the board as text, or write it to this file"),
    )
    form.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="OUT",
        help=_("print everything that the viewer may know as JSON, or write it to this file"),
    )
    add_ascii(export, _("with --text: ASCII characters only"))


def run_export(arguments: argparse.Namespace) -> int:
    recording = recording_in(file_of(arguments))
    stop, eyes = _read_view(arguments, recording, stop=recording.end)
    if arguments.svg is not None:
        out, content = arguments.svg, as_svg(recording, stop, eyes)
    elif arguments.animation is not None:
        out, content = arguments.animation, as_animation(recording, stop, eyes)
    elif (out := arguments.text) is not None:
        ascii_only = prints_ascii(arguments) if out == "-" else arguments.ascii
        content = as_text(recording, stop, eyes, ascii_only=ascii_only)
    else:
        out, content = arguments.json, as_json(recording, stop, eyes)
    write_out(out, content)
    return 0


def _add_view(command: argparse.ArgumentParser, at: str) -> None:
    command.add_argument("--at", type=move_number, metavar="NUMBER", help=at)
    command.add_argument(
        "--eyes",
        metavar="SEAT|all|none",
        default="all",
        help=_("whose view: a seat's (from 1), all (default: everything is open), none (a spectator's)"),
    )


def _read_view(arguments: argparse.Namespace, recording: Recording, stop: int) -> tuple[int, Eyes]:
    """Return the stop to show, by default `stop`, and who sees it; raises WrongUse."""
    if arguments.at is not None and (stop := arguments.at) > recording.moves:
        text = _("there is no move {number}: --at takes 0 to {last}")
        raise WrongUse(text.format(number=stop, last=recording.moves))
    seats = {str(seat + 1): eyes_of(Seat(seat)) for seat in recording.seats}
    eyes = {**seats, "all": recording.all_eyes, "none": SPECTATOR}.get(arguments.eyes)
    if eyes is None:
        text = _("{eyes} is not a view: --eyes takes {seats}, all or none")
        raise WrongUse(text.format(eyes=repr(arguments.eyes), seats=", ".join(seats)))
    return stop, eyes


def add_show(show: argparse.ArgumentParser) -> None:
    add_game(show)
    add_ascii(show)


def run_show(arguments: argparse.Namespace) -> int:
    recording = recording_in(file_of(arguments))
    ascii_only = prints_ascii(arguments)
    print(points_of(recording, ascii_only=ascii_only) or tables.progress(recording, recording.all_eyes))
    print(describe_recorded_draws(sources_of(recording.events), over=recording.over))
    print(as_text(recording, recording.end, recording.all_eyes, ascii_only=ascii_only), end="")
    return 0


_INTERRUPTED: Final = 130
_WIDEST: Final = 100  # columns of text that are read with ease


def add_analyse(analyse: argparse.ArgumentParser) -> None:
    add_game(analyse)
    analyse.add_argument(
        "--simulations",
        type=positive,
        metavar="NUMBER",
        default=None,
        help=_("games played out to estimate each position (default: 1000); more take longer"),
    )
    analyse.add_argument(
        "--seed",
        type=whole_number,
        metavar="NUMBER",
        default=0,
        help=_("another number gives slightly different estimates"),
    )
    analyse.add_argument(
        "-j",
        "--cores",
        type=positive,
        metavar="NUMBER",
        default=1,
        help=_("processor cores to use (default: 1)"),
    )
    analyse.add_argument(
        "--svg",
        metavar="OUT",
        help=_("write the curves as an SVG picture to this file, or - for standard output"),
    )
    analyse.add_argument("--json", action="store_true", help=_("print JSON"))


def run_analyse(arguments: argparse.Namespace) -> int:
    """Analyse a game as the arguments say; return the exit code.

    Ctrl-C stops the analysis, and what there is of it is written.
    """
    effort, file = _effort(arguments), file_of(arguments)
    recording = recording_in(file)
    if not recording.over:
        text = _("{file}: the game is not finished: only a finished game can be analysed")
        raise WrongUse(text.format(file=file))
    if arguments.svg is not None:
        need_writable(arguments.svg)  # rather than to find that after the work
    found: Analysis | None = None
    code = 0
    moments = 1 + sum(isinstance(event, Placed) for event in recording.events)
    with progress_bar(_("Moves"), moments) as bar:

        def show_progress(analysis: Analysis) -> None:
            nonlocal found
            bar.update(analysis.judged - (0 if found is None else found.judged))
            found = analysis

        try:
            asyncio.run(run_analysis(recording, effort, show_progress))
        except KeyboardInterrupt:
            code = _INTERRUPTED
        except ProcessesLost as error:
            print(f"palatinus: {error}", file=sys.stderr)
            code = 1
    if found is not None and found.judged:
        _write(recording, found, arguments)
    return code


def _effort(arguments: argparse.Namespace) -> Effort:
    simulations: int = arguments.simulations or USUAL_SIMULATIONS
    if simulations not in SIMULATIONS:
        text = _("--simulations takes {least} to {most}, not {n}")
        raise WrongUse(text.format(n=simulations, least=SIMULATIONS[0], most=SIMULATIONS[-1]))
    if arguments.cores > (most := os.cpu_count() or 1):
        text = _("cannot use {n} cores: choose 1 to {most}")
        raise WrongUse(text.format(n=arguments.cores, most=most))
    return Effort(simulations, arguments.seed, arguments.cores)


def _write(recording: Recording, analysis: Analysis, arguments: argparse.Namespace) -> None:
    """Write the picture, if it is wanted, and the rest on standard output, if that is free for it."""
    if arguments.svg is not None:
        write_out(arguments.svg, analysis_svg(recording, analysis))
        if arguments.svg == "-":
            return
    if arguments.json:
        content = analysis_json(recording, analysis)
    else:
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        content = analysis_text(recording, analysis, width)
    write_out("-", content)

"""`palatinus analyse`: everybody's chances of winning move by move, and the moves that decided a game."""

import argparse
import asyncio
import os
import shutil
import sys
from typing import Final

from client.bots.analysis import SIMULATIONS, USUAL_SIMULATIONS, AnalysisFailed, Effort, analysed
from client.language import _
from client.records import Analysis, Recording
from client.ui.export.analysis import analysis_json, analysis_svg, analysis_text
from commands.arguments import positive, whole_number
from commands.finished_games.past_games import add_game, file_of
from commands.finished_games.records import need_writable, recording_in, write_out
from commands.parsing import WrongUse
from commands.progress import progress
from engine.events import Placed

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
    analyse.set_defaults(run=_analyse)


def _analyse(arguments: argparse.Namespace) -> int:
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
    with progress(_("Moves"), moments) as bar:

        def told(analysis: Analysis) -> None:
            nonlocal found
            for _moment in range(analysis.judged - (0 if found is None else found.judged)):
                bar.update()
            found = analysis

        try:
            asyncio.run(analysed(recording, effort, told))
        except KeyboardInterrupt:
            code = _INTERRUPTED
        except AnalysisFailed as error:
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

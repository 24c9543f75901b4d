"""`palatinus check`, `replay` and `export`: the commands for records."""

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from client.language import _, counted, listed
from commands.analysing import analyse
from commands.display_options import add_ascii, add_drawing, prefer_as_remembered
from commands.parsing import Commands, WrongUse, move_number, need_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from client.records.recording import Recording
    from engine.fairness import Sources
    from engine.game import Game
    from engine.view import Eyes


def add_check(commands: Commands) -> None:
    check = commands.add_parser("check", help=_("replay a game's record, and check its draws"))
    check.add_argument("file", help=_("a record, or - for standard input"))
    check.add_argument("--json", action="store_true", help=_("print JSON"))
    check.set_defaults(run=_check)


def _check(arguments: argparse.Namespace) -> int:
    from client.records.recording import Recording
    from client.tables.fairness import describe_recorded_draws
    from engine.fairness import sources_of
    from engine.record import names_in

    game, text = _replayed(arguments.file)
    result, sources = game.view.result, sources_of(game.events)
    if arguments.json:
        _print_check(game, Recording.of(game.events, names_in(text)).names, sources)
        return int(sources.mismatch is not None)
    if result is None:
        left = game.view.to_place
        form = counted(
            "{file}: a running game of {players} players, {left} piece still to place",
            "{file}: a running game of {players} players, {left} pieces still to place",
            left,
        )
        print(form.format(file=arguments.file, players=game.view.seats, left=left))
    else:
        names = Recording.of(game.events, names_in(text)).names
        points = ", ".join(
            f"{name} {tally.points}" for name, tally in zip(names, result.tallies, strict=True)
        )
        winners = [names[seat] for seat in result.winners]
        template = _("{file}: a finished game; points: {points}; won by {winners}")
        print(template.format(file=arguments.file, points=points, winners=listed(winners)))
    draws = describe_recorded_draws(sources, over=game.over)
    if sources.mismatch is not None:
        print(draws, file=sys.stderr)
        return 1
    print(draws)
    return 0


def _print_check(game: "Game", names: "Sequence[str]", sources: "Sources") -> None:
    """Print what the check of a record has found, as one JSON object."""
    import json

    result, draws = game.view.result, sources.draws
    if draws is None or result is None:
        finding = "unknown"
    else:
        finding = "right" if sources.mismatch is None else "wrong"
    told = {
        "version": 1,
        "names": names,
        "over": game.over,
        "points": [] if result is None else [tally.points for tally in result.tallies],
        "winners": [] if result is None else result.winners,
        "draws": finding,
        "mismatch": sources.mismatch,
        "commitment": None if draws is None else draws.commitment,
        "shares": [] if draws is None else draws.shares,
        "seed": sources.seed,
    }
    print(json.dumps(told, ensure_ascii=False, indent=2))


def _replayed(file: str) -> "tuple[Game, str]":
    """Return the game of a record, and its text; raises WrongUse if the record cannot be read or replayed."""
    from engine.errors import DamagedRecord
    from engine.record import replayed

    content = b""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        text = content.decode()
        return replayed(text), text
    except OSError as error:
        raise WrongUse(_("cannot read {file}: {reason}").format(file=file, reason=error.strerror)) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise WrongUse(
            _("{file}: line {number}: it is not UTF-8 text").format(file=file, number=line)
        ) from error
    except DamagedRecord as error:
        reason = _(error.text).format(**error.about)
        template = _("{file}: line {number}: {reason}")
        raise WrongUse(template.format(file=file, number=error.line, reason=reason)) from error


def add_replay(commands: Commands) -> None:
    replay = commands.add_parser("replay", help=_("step through a game's record"))
    _add_file(replay)
    add_stop(replay, _("start at this move (default: 0)"))
    add_eyes(replay)
    add_drawing(replay)
    replay.set_defaults(run=_replay)


def _replay(arguments: argparse.Namespace) -> int:
    return replay_record(arguments.file, arguments)


def replay_record(file: str, arguments: argparse.Namespace) -> int:
    """Show a record, where and as seen by whom the arguments say; return the exit code."""
    import asyncio

    from client.ui.replay import run

    recording = recording_in(file)
    stop, eyes = _stop(arguments.at, recording, default=0), _eyes(arguments.eyes, recording)
    need_terminal()
    prefer_as_remembered()
    return asyncio.run(run(recording, stop, eyes, ascii_wanted=arguments.ascii, analyse=analyse))


def add_export(commands: Commands) -> None:
    export = commands.add_parser(
        "export", help=_("write the board from a game's record as a picture, text or JSON")
    )
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
    from client.ui.export.moment import as_json, as_svg, as_text

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


def write_out(out: str, content: str) -> None:
    """Write to this file, or - for standard output; raises WrongUse if the file cannot be written."""
    if out == "-":
        sys.stdout.buffer.write(content.encode())
        sys.stdout.flush()
        return
    with _writing(out):
        Path(out).write_bytes(content.encode())


def need_writable(out: str) -> None:
    """Raise WrongUse if the file cannot be written; what stands in it stays."""
    if out != "-":
        with _writing(out), Path(out).open("ab"):
            pass


@contextlib.contextmanager
def _writing(out: str) -> "Iterator[None]":
    try:
        yield
    except OSError as error:
        text = _("cannot write {file}: {reason}").format(file=out, reason=error.strerror)
        raise WrongUse(text) from error


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


def recording_in(file: str) -> "Recording":
    """Return the recording of a record; raises WrongUse if it cannot be read or replayed."""
    from client.records.recording import Recording
    from engine.record import names_in

    game, text = _replayed(file)
    return Recording.of(game.events, names_in(text))


def _stop(at: int | None, recording: "Recording", *, default: int) -> int:
    if at is None:
        return default
    if at > recording.moves:
        raise WrongUse(
            _("there is no move {number}: --at takes 0 to {last}").format(number=at, last=recording.moves)
        )
    return at


def _eyes(text: str, recording: "Recording") -> "Eyes":
    from engine.pieces import Seat
    from engine.view import SPECTATOR, eyes_of

    if text == "all":
        return recording.all_eyes
    if text == "none":
        return SPECTATOR
    numbers = [str(seat + 1) for seat in recording.seats]
    if text not in numbers:
        template = _("{eyes} is not a view: --eyes takes {seats}, all or none")
        raise WrongUse(template.format(eyes=repr(text), seats=", ".join(numbers)))
    return eyes_of(Seat(numbers.index(text)))

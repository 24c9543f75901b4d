"""Records of games: how they are read and checked, and what is made of them is written."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from client.language import _, counted, listed
from client.records import Recording
from client.tables.draws import describe_recorded_draws
from commands.parsing import CANNOT_READ, CANNOT_WRITE, WrongUse, using_file
from engine.errors import DamagedRecord
from engine.fairness import Sources, sources_of
from engine.game import Game
from engine.record import names_in, replayed


def add_check(check: argparse.ArgumentParser) -> None:
    check.add_argument("file", help=_("a record, or - for standard input"))
    check.add_argument("--json", action="store_true", help=_("print JSON"))
    check.set_defaults(run=_check)


def _check(arguments: argparse.Namespace) -> int:
    game, recording = _replayed(arguments.file)
    result, sources = game.view.result, sources_of(game.events)
    if arguments.json:
        _print_check(game, recording.names, sources)
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
        names = recording.names
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


def _print_check(game: Game, names: Sequence[str], sources: Sources) -> None:
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


def _replayed(file: str) -> tuple[Game, Recording]:
    """Return the game of a record, and its recording; raises WrongUse if it cannot be read or replayed."""
    with using_file(CANNOT_READ, file):
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        text = content.decode()
        game = replayed(text)
        return game, Recording.of(game.events, names_in(text))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise WrongUse(
            _("{file}: line {number}: it is not UTF-8 text").format(file=file, number=line)
        ) from error
    except DamagedRecord as error:
        reason = _(error.text).format(**error.about)
        template = _("{file}: line {number}: {reason}")
        raise WrongUse(template.format(file=file, number=error.line, reason=reason)) from error


def write_out(out: str, content: str) -> None:
    """Write to this file, or - for standard output; raises WrongUse if the file cannot be written."""
    if out == "-":
        sys.stdout.buffer.write(content.encode())
        sys.stdout.flush()
        return
    with using_file(CANNOT_WRITE, out):
        Path(out).write_bytes(content.encode())


def need_writable(out: str) -> None:
    """Raise WrongUse if the file cannot be written; what stands in it stays."""
    if out != "-":
        with using_file(CANNOT_WRITE, out), Path(out).open("ab"):
            pass


def recording_in(file: str) -> Recording:
    """Return the recording of a record; raises WrongUse if it cannot be read or replayed."""
    return _replayed(file)[1]


def recording_of(text: str) -> Recording:
    """Return the recording of a record; raises DamagedRecord if it cannot be read or replayed."""
    return Recording.of(replayed(text).events, names_in(text))

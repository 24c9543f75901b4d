"""Records of games: which one is meant, whether games are kept, and `palatinus record check`."""

import argparse
import functools
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from client.language import (
    CANNOT_READ,
    CANNOT_WRITE,
    WrongUse,
    _,
    counted,
    describe_reason,
    listed,
    using_file,
)
from client.records import PastGame, Recording
from client.tables.draws import describe_recorded_draws
from commands.arguments import add_folder
from engine.errors import DamagedRecord
from engine.fairness import Sources, sources_of
from engine.game import Game
from engine.record import names_in, replayed
from past_games.records import past_games, records_folder
from protocol.text import printable_json
from server.config import Config
from server.storage.records import MOST_KEPT, prepare_folder


def kept_here(folder: Path | None = None) -> Config:
    """Return a server's configuration that keeps finished games: all in `folder`, or the latest here.

    If they cannot be kept here, that is said, and no game is held up by it.
    """
    if folder is not None:
        return Config(records=folder)
    try:
        prepare_folder(records_folder())
    except OSError as error:
        text = _("finished games are not kept: cannot write into {folder}: {reason}")
        _warn(f"palatinus: {text.format(folder=records_folder(), reason=describe_reason(error))}")
        return Config()
    return Config(records=records_folder(), shared_records=True, most_records=MOST_KEPT)


@functools.cache
def _warn(text: str) -> None:
    """Print a warning, once in the life of this program."""
    print(text, file=sys.stderr)


def folder_of(arguments: argparse.Namespace) -> Path:
    return arguments.records or records_folder()


def games_of(arguments: argparse.Namespace) -> list[PastGame]:
    folder = folder_of(arguments)
    with using_file(CANNOT_READ, folder):
        return past_games(folder)


def find_game(games: list[PastGame], wanted: str) -> PastGame:
    if wanted.isascii() and wanted.isdigit() and 0 < int(wanted[:9]) <= len(games):
        return games[int(wanted) - 1]
    for game in games:
        if wanted.upper() == game.table or wanted in {game.file, game.file.removesuffix(".txt")}:
            return game
    raise WrongUse(_("there is no game {game}: see palatinus history list").format(game=repr(wanted)))


def add_game(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "game",
        metavar="GAME",
        help=_("a record, - for standard input, or a game's number, code or file name in palatinus history"),
    )
    add_folder(command, default=None)


def file_of(arguments: argparse.Namespace) -> str:
    """Return the file of the game that is meant, `-` for standard input; raises WrongUse.

    What looks like a file's name is one, whether or not there is such a file.
    """
    game: str = arguments.game
    if game == "-" or Path(game).is_file() or Path(game).name != game:
        return game
    try:
        return str(folder_of(arguments) / find_game(games_of(arguments), game).file)
    except WrongUse:
        if Path(game).suffix:
            return game  # that it cannot be read says more
        raise


def add_check(check: argparse.ArgumentParser) -> None:
    check.add_argument("file", help=_("a record, or - for standard input"))
    check.add_argument("--json", action="store_true", help=_("print JSON"))


def run_check(arguments: argparse.Namespace) -> int:
    game, recording = _replay_file(arguments.file)
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
    print(printable_json(json.dumps(told, ensure_ascii=False, indent=2)))


def _replay_file(file: str) -> tuple[Game, Recording]:
    """Return the game of a record, and its recording; raises WrongUse if it cannot be read or replayed."""
    with using_file(CANNOT_READ, file):
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        text = content.decode()
        game = replayed(text)
        return game, Recording.of(game.events, names_in(text))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        form = _("{file}: line {number}: it is not UTF-8 text")
        raise WrongUse(form.format(file=file, number=line)) from error
    except DamagedRecord as error:
        reason = _(error.text).format(**error.about)
        template = _("{file}: line {number}: {reason}")
        raise WrongUse(template.format(file=file, number=error.line, reason=reason)) from error


def need_writable(out: str) -> None:
    """Raise WrongUse if the file cannot be written; what stands in it stays."""
    if out != "-":
        with using_file(CANNOT_WRITE, out), Path(out).open("ab"):
            pass


def recording_in(file: str) -> Recording:
    """Return the recording of a record; raises WrongUse if it cannot be read or replayed."""
    return _replay_file(file)[1]

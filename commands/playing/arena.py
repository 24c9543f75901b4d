"""`palatinus arena`: brains play each other, and a table says how strong each is."""

import argparse
import asyncio
import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from client.bots.arena.games import LEAST_ENTRANTS, GameFailed, GameOutcome, Schedule, play_all
from client.bots.arena.standings import as_json, standings, tables
from client.bots.brains import NoSuchBrain, brain_named
from client.bots.processes import ProcessesLost
from client.language import _, describe_reason
from client.ui.frame import columns
from commands.arguments import positive, whole_number
from commands.parsing import WrongUse
from commands.progress import progress

_INTERRUPTED: Final = 130


def add_arena(arena: argparse.ArgumentParser) -> None:
    arena.description = _(
        "Have brains play each other on this computer, each equally often in every seat and "
        "with the same draws, and show how strong each is. The same seed gives the same "
        "games on any number of cores, unless a search runs out of time."
    )
    meaning = _("two brains or more; see palatinus bot --help")
    arena.add_argument("brains", nargs="+", metavar="BRAIN", help=meaning)
    meaning = _("number of players in a game (default: 2)")
    arena.add_argument("--players", type=positive, choices=range(2, 6), default=2, help=meaning)
    meaning = _(
        "games for each combination of brains (default: 100); a few more if needed to give "
        "every brain each seat equally often"
    )
    arena.add_argument("--games", type=positive, default=100, metavar="NUMBER", help=meaning)
    meaning = _("the first brain has one seat in every game, and another brain has all the others")
    arena.add_argument("--alone", action="store_true", help=meaning)
    meaning = _("games that the same brains play in a row, so that they can learn (default: 1)")
    arena.add_argument("--series", type=positive, default=1, metavar="NUMBER", help=meaning)
    meaning = _("games to play at the same time, each on a core of its own (default: all cores)")
    arena.add_argument("-j", "--cores", type=positive, metavar="NUMBER", help=meaning)
    meaning = _("seed of the draws and the brains, to repeat the games (default: 1)")
    arena.add_argument("--seed", type=whole_number, default=1, help=meaning)
    meaning = _("lay the tiles at random instead of letting the players lay them")
    arena.add_argument("--random-layout", action="store_true", help=meaning)
    meaning = _("write the record of every game to this folder")
    arena.add_argument("--records", type=Path, metavar="FOLDER", help=meaning)
    arena.add_argument("--json", action="store_true", help=_("print JSON"))
    meaning = _("omit move times, the only thing that differs between runs with the same seed")
    arena.add_argument("--no-times", dest="times", action="store_false", help=meaning)
    arena.set_defaults(run=_arena)


def _arena(arguments: argparse.Namespace) -> int:
    schedule = _schedule(arguments)
    games = _Games(schedule, arguments.records)
    code = games.play(min(arguments.cores or os.cpu_count() or 1, schedule.games))
    if code == _INTERRUPTED:
        print(_("Interrupted."), file=sys.stderr)
    _print_table(arguments, games)
    if games.failure:
        print(f"palatinus: {games.failure}", file=sys.stderr)
    return code


def _schedule(arguments: argparse.Namespace) -> Schedule:
    """Return which games to play; raises WrongUse."""
    names = tuple(arguments.brains)
    if len(names) < LEAST_ENTRANTS:
        raise WrongUse(_("an arena needs two brains or more"))
    for name in names:
        if names.count(name) > 1:
            raise WrongUse(_("the brain {name} is named twice").format(name=name))
        try:
            brain_named(name)
        except NoSuchBrain as error:
            raise WrongUse(str(error)) from error
    rounds = -(-arguments.games // (arguments.players * arguments.series))
    return Schedule(
        names,
        arguments.players,
        rounds,
        arguments.seed,
        alone=arguments.alone,
        random_layout=arguments.random_layout,
        series=arguments.series,
    )


@dataclass(slots=True)
class _Games:
    """The games as they are played, and why they have ended before the last, if they have."""

    schedule: Schedule
    folder: Path | None
    outcomes: list[GameOutcome] = field(default_factory=list)
    failure: str = ""

    def play(self, processes: int) -> int:
        """Play the games until the last, a failure or Ctrl-C; return the exit code."""
        self._make_folder()
        with progress(_("Games"), self.schedule.games) as bar:

            def finished(outcome: GameOutcome) -> None:
                self._keep(outcome.number, outcome.record)
                self.outcomes.append(outcome)
                bar.update()

            try:
                asyncio.run(
                    play_all(self.schedule, processes, finished, _say_lost, records=self.folder is not None)
                )
            except KeyboardInterrupt:
                return _INTERRUPTED
            except GameFailed as error:
                self.failure = _("game {number}: {reason}").format(number=error.number, reason=error.text)
                with suppress(OSError):  # what the brain's author has to know is the failure
                    self._keep(error.number, error.record)
                return 1
            except ProcessesLost as error:
                self.failure = str(error)
                return 1
            except OSError as error:
                self.failure = _cannot_write(error)
                return 1
        return 0

    def _make_folder(self) -> None:
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if any(self.folder.iterdir()):
                raise WrongUse(_("{folder} is not empty: name a new folder").format(folder=self.folder))
        except OSError as error:
            raise WrongUse(_cannot_write(error)) from error

    def _keep(self, number: int, record: str | None) -> None:
        if self.folder is not None and record is not None:
            digits = len(str(self.schedule.games))
            file = self.folder / f"game-{number:0{digits}}.txt"
            file.write_text(record, encoding="utf-8", newline="\n")


def _cannot_write(error: OSError) -> str:
    return _("cannot write {file}: {reason}").format(file=error.filename, reason=describe_reason(error))


def _say_lost(number: int) -> None:
    text = _("The process that played game {number} ended: the game is played again.")
    print(text.format(number=number), file=sys.stderr)


def _print_table(arguments: argparse.Namespace, games: _Games) -> None:
    schedule, played = games.schedule, len(games.outcomes)
    found = standings(schedule.names, schedule.players, games.outcomes)
    if arguments.json:
        told = as_json(schedule, played, found, times=arguments.times)
        print(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        for number, (above, rows) in enumerate(tables(schedule, played, found, times=arguments.times)):
            print(
                *([""] if number else []), *([above] if above else []), *columns(rows, numbers=True), sep="\n"
            )

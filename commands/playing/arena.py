"""`palatinus arena`: brains and programs play each other, and a table says how strong each is."""

import argparse
import asyncio
import errno
import json
import os
import re
import shlex
import shutil
import sys
from contextlib import AbstractAsyncContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from anyio import CapacityLimiter

from client.bots.arena import games
from client.bots.arena.sequential import SequentialTest, TestVerdict
from client.bots.arena.standings import brain_standings, standings_json, tables
from client.bots.brains import brain_named
from client.bots.processes import ProcessesLost
from client.bots.shares import WinShare
from client.language import CANNOT_WRITE, WrongUse, _, using_file
from client.network.transport import ConnectFailed, RequestRefused
from client.typed_text import server_url
from client.ui.frame import columns
from commands.arguments import access_of, add_access, positive, seconds, whole_number
from commands.parsing import progress_bar
from protocol.text import printable_json

_INTERRUPTED: Final = 130
_GAMES: Final = 100
_GAMES_OF_A_TEST: Final = 10_000  # at most
_MOVE_SECONDS: Final = 10.0  # on a server
_RESULTS: Final = 1  # the version of the file


def add_arena(arena: argparse.ArgumentParser) -> None:
    arena.description = _(
        "Have brains, and programs in any language, play each other, each equally often in every seat and "
        "with the same draws, and show how strong each is. Programs play on a server. Brains alone need "
        "none, and the same seed gives them the same games on any number of cores, unless a search runs out "
        "of time. A player that crashes, moves illegally or takes too long loses the game."
    )
    arena.add_argument(
        "players",
        nargs="+",
        metavar="PLAYER",
        help=_(
            "two or more: a brain (see palatinus bot --help), or the command that starts a program, such as "
            "'node bot.js' or NAME='./bot {server} {table} {seed}'; without "
            "{table}, the server's address and the table's code come last"
        ),
    )
    _add_schedule(arena)
    arena.add_argument(
        "--alone",
        action="store_true",
        help=_("the first brain has one seat in every game, and another brain has all the others"),
    )
    arena.add_argument(
        "--series",
        type=positive,
        default=1,
        metavar="NUMBER",
        help=_("games that the same brains play in a row, so that they can learn (default: 1)"),
    )
    meaning = _("a move that takes longer loses the game (default: {usual} on a server, otherwise no limit)")
    arena.add_argument(
        "--move-time", type=seconds, metavar="SECONDS", help=meaning.format(usual=f"{_MOVE_SECONDS:g}")
    )
    arena.add_argument(
        "--server",
        metavar="ws://HOST:PORT",
        help=_("play on this server, which makes its own draws (default: start one for programs)"),
    )
    add_access(arena)


def _add_schedule(arena: argparse.ArgumentParser) -> None:
    arena.add_argument(
        "--players",
        dest="seats",
        type=positive,
        choices=range(2, 6),
        default=2,
        help=_("number of players in a game (default: 2)"),
    )
    arena.add_argument(
        "--games",
        type=positive,
        metavar="NUMBER",
        help=_(
            "games for each combination of brains (default: 100); a few more if needed to "
            "give every brain each seat equally often"
        ),
    )
    arena.add_argument(
        "--better-by",
        type=positive,
        metavar="ELO",
        help=_(
            "play until it is clear whether the first of two brains is better than the "
            "second by this many Elo (for example 35), with an error of 5 per cent"
        ),
    )
    arena.add_argument(
        "-j",
        "--cores",
        type=positive,
        metavar="NUMBER",
        help=_("games to play at the same time, each on a core of its own (default: all cores)"),
    )
    arena.add_argument(
        "--seed",
        type=whole_number,
        default=1,
        help=_("seed of the draws and the brains, to repeat the games (default: 1)"),
    )
    arena.add_argument(
        "--random-layout",
        action="store_true",
        help=_("lay the tiles at random instead of letting the players lay them"),
    )
    arena.add_argument(
        "--results",
        type=Path,
        metavar="FILE",
        help=_("write each result to this file, and skip games that it already has"),
    )
    arena.add_argument(
        "--records", type=Path, metavar="FOLDER", help=_("write the record of every game to this folder")
    )
    arena.add_argument("--json", action="store_true", help=_("print JSON"))
    arena.add_argument(
        "--no-times",
        dest="times",
        action="store_false",
        help=_("omit move times, the only thing that differs between runs with the same seed"),
    )


def run_arena(arguments: argparse.Namespace) -> int:
    players = [_program(player) for player in arguments.players]
    programs = {name: words for name, words in players if words}
    names = tuple(name for name, _words in players)
    for name in names:
        if name not in programs:
            brain_named(name)  # raises NoSuchBrain
        elif names.count(name) > 1:
            text = _("two players are called {name}: give one of them another name, as in {example}")
            raise WrongUse(text.format(name=name, example=f"old='{arguments.players[names.index(name)]}'"))
    if not programs and arguments.server is None:
        schedule = _make_schedule(arguments, names, None)
        return _play_schedule(arguments, schedule, nullcontext(_playing_brains(arguments, schedule)))
    if arguments.series > 1:
        raise WrongUse(_("--series is for brains alone, without a server"))
    schedule = _make_schedule(arguments, names, _MOVE_SECONDS)
    url = None if arguments.server is None else server_url(arguments.server)
    access = access_of(arguments)
    from commands.playing.league import playing  # brains alone need no server

    brains, records = _playing_brains(arguments, schedule), arguments.records is not None
    league = playing(schedule, programs, brains, url, access, records=records)
    return _play_schedule(arguments, schedule, league, (programs, url))


def _program(player: str) -> tuple[str, list[str]]:
    """Return a player's name, and what starts it if it is a program; raises WrongUse."""
    name, named, command = player.partition("=")
    if not (named and re.fullmatch(r"[\w.:-]+", name)):
        name, command = "", player
    if not name and not set(" /\\") & set(command):
        return player, []  # a brain
    try:
        words = shlex.split(command, posix=sys.platform != "win32")
    except ValueError as error:
        raise WrongUse(
            _("{command} cannot be read: {reason}").format(command=command, reason=error)
        ) from error
    if not words or shutil.which(words[0]) is None:
        raise WrongUse(_("there is no program {name}").format(name=repr(words[0] if words else "")))
    file = next((word for word in words[1:] if Path(word).is_file()), words[0])
    return name or Path(file).name, words


def _playing_brains(arguments: argparse.Namespace, schedule: games.Schedule) -> games.PlaySeries:
    """Return what plays brains in processes of their own."""
    limiter = CapacityLimiter(_cores_of(arguments, schedule))
    return partial(games.play_in_process, schedule, limiter, _say_lost, arguments.records is not None)


def _make_schedule(
    arguments: argparse.Namespace, names: tuple[str, ...], usual_move_seconds: float | None
) -> games.Schedule:
    """Return which games to play; raises WrongUse."""
    if len(names) < games.LEAST_ENTRANTS:
        raise WrongUse(_("an arena needs two brains or more"))
    if arguments.better_by is not None and len(names) > games.LEAST_ENTRANTS:
        raise WrongUse(_("--better-by compares two brains"))
    for name in names:
        if names.count(name) > 1:
            raise WrongUse(_("the brain {name} is named twice").format(name=name))
    wanted = arguments.games or (_GAMES if arguments.better_by is None else _GAMES_OF_A_TEST)
    return games.Schedule(
        names,
        arguments.seats,
        -(-wanted // (arguments.seats * arguments.series)),
        arguments.seed,
        alone=arguments.alone,
        random_layout=arguments.random_layout,
        series=arguments.series,
        move_seconds=arguments.move_time or usual_move_seconds,
    )


def _cores_of(arguments: argparse.Namespace, schedule: games.Schedule) -> int:
    """Return how many games are played at the same time."""
    return min(arguments.cores or os.cpu_count() or 1, schedule.games)


def _play_schedule(
    arguments: argparse.Namespace,
    schedule: games.Schedule,
    playing: AbstractAsyncContextManager[games.PlaySeries],
    about: tuple[object, ...] = (),
) -> int:
    """Play the games with what `playing` returns, and print the table; return the exit code.

    `about` is what else makes the games those that they are.
    """
    test = None if arguments.better_by is None else SequentialTest(schedule, arguments.better_by)
    played = _Games(schedule, arguments.records, arguments.results, about, test)
    code = played.play(playing, _cores_of(arguments, schedule))
    if code == _INTERRUPTED:
        print(_("Interrupted."), file=sys.stderr)
    _print_table(arguments, played)
    if played.failure:
        print(f"palatinus: {played.failure}", file=sys.stderr)
    return code


@dataclass(slots=True)
class _Games:
    """The games as they are played, and why they have ended before the last, if they have."""

    schedule: games.Schedule
    folder: Path | None
    results: Path | None
    about: tuple[object, ...]
    test: SequentialTest | None
    outcomes: list[games.GameOutcome] = field(default_factory=list)
    failure: str = ""
    _file: BinaryIO | None = None
    _first: WinShare = field(default_factory=WinShare)  # of the first player
    _shown: set[object] = field(default_factory=set)  # failures that have been printed

    @property
    def verdict(self) -> TestVerdict | None:
        return None if self.test is None else self.test.verdict

    def play(self, playing: AbstractAsyncContextManager[games.PlaySeries], at_once: int) -> int:
        """Play the games until the last, an error or Ctrl-C; return the exit code."""
        with ExitStack() as stack:
            self._make_folder()
            earlier = self._open_results(stack)
            already = {outcome.number for outcome in earlier}
            bar = stack.enter_context(progress_bar(_("Games"), self.schedule.games))

            def count(outcome: games.GameOutcome) -> None:
                if outcome.number not in already:
                    self._keep(outcome)
                self.outcomes.append(outcome)
                for seat in outcome.seats:
                    if seat.entrant == 0:
                        self._first.add(seat.share)
                if outcome.failure is not None and (
                    shown := self._shown_once(outcome.number, outcome.failure)
                ):
                    bar.write(shown, file=sys.stderr)
                ended = self.test is not None and self.test.add(outcome)
                bar.set_postfix_str(self._so_far(), refresh=False)
                bar.update()
                if ended:
                    raise games.Decided

            try:
                for outcome in earlier:
                    count(outcome)

                async def play() -> None:
                    async with playing as play_series:
                        await games.play_all(self.schedule, at_once, count, play_series, already)

                asyncio.run(play())
            except games.Decided:
                pass
            except KeyboardInterrupt:
                return _INTERRUPTED
            except (ProcessesLost, ConnectFailed, RequestRefused, WrongUse) as error:
                self.failure = str(error)
        if self.test is not None and self.test.decided:
            # Games that ended after the ones that decide: which ones depends on the cores.
            last = self.test.last_game
            self.outcomes = [outcome for outcome in self.outcomes if outcome.number <= last]
        return int(bool(self.failure) or any(outcome.failure for outcome in self.outcomes))

    def _make_folder(self) -> None:
        """Make the folder for the records; raises WrongUse."""
        if self.folder is None:
            return
        with using_file(CANNOT_WRITE, self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            full = any(self.folder.iterdir())
        if full and self.results is None:
            raise WrongUse(_("{folder} is not empty: name a new folder").format(folder=self.folder))

    def _open_results(self, stack: ExitStack) -> list[games.GameOutcome]:
        """Open the file for results, and return those that it has; raises WrongUse.

        A line without an end, which was being written when the arena was stopped, does not count.
        """
        if self.results is None:
            return []
        no_results = WrongUse(_("{file} has no results of games: name a new file").format(file=self.results))
        # What the games are; more rounds of them may be played.
        told = {"version": _RESULTS, "schedule": replace(self.schedule, rounds=0), "about": self.about}
        wanted = msgspec.json.encode(told) + b"\n"
        with using_file(CANNOT_WRITE, self.results):
            if self.results.exists() and not self.results.is_file():
                raise no_results
            self._file = stack.enter_context(self.results.open("a+b", buffering=0))
            self._file.seek(0)
            content = self._file.read()
            self._file.truncate(content.rfind(b"\n") + 1)
            head, *lines = content.splitlines(keepends=True) or [b""]
            if not head.endswith(b"\n"):
                self._file.write(wanted)
                return []
        if head != wanted:
            text = _("{file} has the results of other games: name a new file, or repeat its options")
            raise WrongUse(text.format(file=self.results))
        try:
            found = [
                msgspec.json.decode(line, type=games.GameOutcome) for line in lines if line.endswith(b"\n")
            ]
        except msgspec.DecodeError as error:
            raise no_results from error
        # The games of a series that is not complete are played again.
        ended, series = {outcome.number: outcome for outcome in found}, self.schedule.series
        return [ended[each] for each in sorted(ended) if (each - 1) // series * series + series in ended]

    def _keep(self, outcome: games.GameOutcome) -> None:
        """Write the game's record and result; raises WrongUse."""
        if self.folder is not None and outcome.record is not None:
            digits = len(str(self.schedule.games))
            file = self.folder / f"game-{outcome.number:0{digits}}.txt"
            with using_file(CANNOT_WRITE, file):
                file.write_text(outcome.record, encoding="utf-8", newline="\n")
        if self._file is not None:
            line = msgspec.json.encode(replace(outcome, record=None)) + b"\n"
            with using_file(CANNOT_WRITE, self.results):
                if self._file.write(line) < len(line):  # the part of the line does not count
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _shown_once(self, number: int, failure: games.PlayerFailure) -> str:
        """Return why a game was forfeited, the first time that it happens in this way; then nothing."""
        way = failure.entrant, failure.kind, failure.trace.rpartition("\n")[0]
        if way in self._shown:
            return ""
        self._shown.add(way)
        text = _("game {number}: {reason}").format(number=number, reason=failure.text)
        return "\n".join(filter(None, (text, failure.trace)))

    def _so_far(self) -> str:
        """Return how the first player is doing."""
        if self.verdict is not None:
            return f"{self.verdict.difference:+.0f} Elo ({self.verdict.ratio:+.2f}/{self.verdict.bound:.2f})"
        return f"{self.schedule.names[0]} {self._first.share:.0%}" if self._first.games else ""


def _say_lost(number: int) -> None:
    text = _("The process that played game {number} ended: the game is played again.")
    print(text.format(number=number), file=sys.stderr)


def _print_table(arguments: argparse.Namespace, ended: _Games) -> None:
    schedule, played = ended.schedule, len(ended.outcomes)
    found = brain_standings(schedule.names, schedule.players, ended.outcomes)
    if arguments.json:
        told = standings_json(schedule, played, found, times=arguments.times)
        verdict = ended.verdict
        told["test"] = verdict and {**msgspec.to_builtins(verdict), "better": verdict.better}
        print(printable_json(json.dumps(told, ensure_ascii=False, indent=2)))
        return
    for number, (above, rows) in enumerate(tables(schedule, played, found, times=arguments.times)):
        print(*([""] if number else []), *([above] if above else []), *columns(rows, numbers=True), sep="\n")
    if ended.verdict is not None:
        print("", *_verdict_lines(schedule, ended.verdict), sep="\n")


def _verdict_lines(schedule: games.Schedule, found: TestVerdict) -> list[str]:
    match found.better:
        case True:
            text = _("Yes: {first} is better than {second}.")
        case False:
            text = _("No: {first} is not better than {second} by {elo} Elo.")
        case _:
            text = _("Undecided: more games would show whether {first} is better than {second} by {elo} Elo.")
    first, second = schedule.names
    low, high = found.interval
    numbers = _("{difference} Elo [{low}, {high}] in {deals} deals; log-likelihood ratio {ratio} of {bound}.")
    return [
        text.format(first=first, second=second, elo=f"{found.elo:g}"),
        numbers.format(
            difference=f"{found.difference:+.0f}",
            low=f"{low:+.0f}",
            high=f"{high:+.0f}",
            deals=found.deals,
            ratio=f"{found.ratio:+.2f}",
            bound=f"±{found.bound:.2f}",
        ),
    ]

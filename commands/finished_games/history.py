"""`palatinus history`: the finished games that were played or hosted on this computer."""

import argparse
from typing import Final

from msgspec.structs import asdict

from client.language import N_, WrongUse, _, counted, using_file
from client.player.preferences import name_of_player
from client.records import ladder_of, own_results, player_standings
from client.ui.export.tables import (
    evening_lines,
    games_listing,
    rivals_listing,
    standings_listing,
    statistics_listing,
)
from client.ui.texts.habits import describe_habits
from commands.arguments import add_folder, positive
from commands.finished_games.records import find_game, folder_of, games_of
from commands.parsing import add_command, confirm, print_found
from past_games.habits import habits_in
from past_games.records import past_evenings
from past_games.solved import known_games
from protocol.messages import Evening, EveningPerson
from server.tables.evening.rounds import standings as evening_standings

_LATEST: Final = 20


def add_history(history: argparse.ArgumentParser) -> None:
    many = _("how many games (default: %(default)s)") % {"default": _LATEST}
    before = argparse.SUPPRESS  # an option before the action counts as well
    add_folder(history, default=None)
    history.add_argument("--last", type=positive, metavar="NUMBER", help=many)
    history.add_argument("--json", action="store_true", help=_("print JSON"))
    actions = history.add_subparsers(title=_("commands"), metavar=_("COMMAND"))
    vars(actions)["moved"] = ("show", "replay", "export", "analyse", "check")
    listing = add_command(actions, "list", _("list the latest games (the default)"), run_history)
    listing.add_argument("--last", type=positive, metavar="NUMBER", default=before, help=many)
    standings = add_command(actions, "standings", _("games, wins and points by player"), _print_standings)
    standings.add_argument(
        "--evening",
        action="store_true",
        help=_(
            "standings of the evenings held here, by person instead of by name; --last then counts evenings"
        ),
    )
    own = add_command(
        actions, "statistics", _("your results by opponents, and what your moves cost"), _own_games
    )
    own.add_argument("--name", help=_("whose results (default: the name on the start screen)"))
    for action in (standings, own):
        action.add_argument(
            "--last",
            type=positive,
            metavar="NUMBER",
            default=before,
            help=_("count only the latest games (default: all)"),
        )
    for action in (listing, standings, own):
        action.add_argument("--json", action="store_true", default=before, help=_("print JSON"))
    removal = add_command(actions, "remove", _("remove games for good"), _remove_games)
    removal.add_argument("--yes", action="store_true", help=_("do not ask for confirmation"))
    removal.add_argument(
        "games",
        nargs="+",
        metavar="GAME",
        help=_("a game: its number in the list, its table's code, or its file's name"),
    )
    for action in (listing, standings, own, removal):
        add_folder(action, default=before)


def run_history(arguments: argparse.Namespace) -> int:
    games = games_of(arguments)
    latest = games[: arguments.last or _LATEST]
    lines = games_listing(latest)
    if left := len(games) - len(latest):
        form = counted("{n} more game: see --last.", "{n} more games: see --last.", left)
        lines = [*lines, form.format(n=left)]
    return print_found(arguments, latest, lines)


def _print_standings(arguments: argparse.Namespace) -> int:
    if arguments.evening:
        return _print_evenings(arguments)
    best_first = player_standings(games_of(arguments)[: arguments.last])
    found = [{"name": name, **asdict(standing)} for name, standing in best_first]
    return print_found(arguments, found, standings_listing(best_first))


def _print_evenings(arguments: argparse.Namespace) -> int:
    evenings = past_evenings(folder_of(arguments))[: arguments.last]
    names = {key: name for each in reversed(evenings) for key, name in each.people.items()}
    keys = list(names)
    results = [
        [(keys.index(key), points, items) for key, points, items in result]
        for each in evenings
        for result in each.results
    ]
    people = [
        EveningPerson(
            each.person + 1,
            names[keys[each.person]],
            place=each.place,
            tied=each.tied,
            score=round(each.score * 10_000),
            average=round(each.average * 10_000),
            games=each.games,
            wins=each.wins,
            points=each.points,
        )
        for each in evening_standings(range(len(keys)), results)
        if each.games
    ]
    none = _("No evenings are recorded here. {command} holds one.")
    lines = [none.format(command="palatinus serve --evening NAME")]
    if evenings:
        told = counted("{n} evening", "{n} evenings", len(evenings)).format(n=len(evenings))
        heading, _round, *lines = evening_lines(Evening(told, over=True, people=people))
        lines = [heading, *lines]
    return print_found(arguments, people, lines)


def _own_games(arguments: argparse.Namespace) -> int:
    name, known = name_of_player(arguments.name), known_games().looked
    games = games_of(arguments)[: arguments.last]
    results = own_results(name, games, known)
    looked = [known[game.file] for game in games if name in game.names and game.file in known]
    faults = [fault for each in looked for fault in each.faults]
    ladder, habits = ladder_of(name, games), habits_in(folder_of(arguments), name, games)
    found = {
        "name": name,
        "looked_through": len(looked),
        "results": results,
        "faults": faults,
        "rivals": ladder,
        "habits": habits,
    }
    lines = statistics_listing(results, looked)
    if results:
        lines += ["", *rivals_listing(ladder), "", *describe_habits(habits, ladder.people)]
    return print_found(arguments, found, lines)


def _remove_games(arguments: argparse.Namespace) -> int:
    if arguments.json or arguments.last is not None:
        raise WrongUse(_("unrecognized arguments: %s") % ("--json" if arguments.json else "--last"))
    known = games_of(arguments)
    games = list(dict.fromkeys(find_game(known, wanted) for wanted in arguments.games))
    if not arguments.yes:
        form = counted("Remove {n} game for good?", "Remove {n} games for good?", len(games))
        if not confirm(games_listing(games), form.format(n=len(games))):
            return 1
    for game in games:
        with using_file(N_("cannot remove {file}: {reason}"), game.file):
            (folder_of(arguments) / game.file).unlink(missing_ok=True)
    return 0

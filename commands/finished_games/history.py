"""`palatinus history`: the finished games that were played or hosted on this computer."""

import argparse
from pathlib import Path

import msgspec
from msgspec.structs import asdict

from client.language import _, counted
from client.records.past_games import PastGame, standings
from client.tables.fairness import describe_recorded_draws
from client.ui.export.history import games_listing, standings_listing
from client.ui.export.moment import as_text, points_of
from client.ui.export.tables import progress
from commands.arguments import positive
from commands.confirmation import confirmed
from commands.display_options import add_ascii, add_drawing
from commands.finished_games.analysis import add_effort, analyse_record
from commands.finished_games.boards import add_eyes, add_form, add_stop, export_record, replay_record
from commands.finished_games.past_games import past_games, records_folder
from commands.finished_games.records import recording_in
from commands.parsing import WrongUse, add_language, need_terminal
from engine.fairness import sources_of


def add_history(history: argparse.ArgumentParser) -> None:
    _add_folder(history, default=None)
    history.set_defaults(run=_listed, last=20, json=False)
    actions = history.add_subparsers(title=_("commands"), metavar=_("COMMAND"))
    listing = actions.add_parser("list", help=_("list the latest games (the default)"))
    listing.set_defaults(run=_listed)
    standings = actions.add_parser("standings", help=_("games, wins and points by player"))
    standings.set_defaults(run=_standings)
    show = actions.add_parser("show", help=_("print a game's result and final board"))
    add_ascii(show, _("draw with ASCII characters only"))
    show.set_defaults(run=_shown)
    replay = actions.add_parser("replay", help=_("step through a game"))
    add_stop(replay, _("start at this move (default: 0)"))
    add_eyes(replay)
    add_drawing(replay)
    replay.set_defaults(run=_replayed)
    export = actions.add_parser("export", help=_("write a game's board as a picture, text or JSON"))
    add_stop(export, _("the board after this move (default: the end, after the scoring)"))
    add_eyes(export)
    add_form(export)
    export.set_defaults(run=_exported)
    analyse = actions.add_parser(
        "analyse", help=_("show who was likely to win, move by move, and what decided the game")
    )
    add_effort(analyse)
    analyse.set_defaults(run=_analysed)
    removal = actions.add_parser("remove", help=_("remove games for good"))
    removal.add_argument("--yes", action="store_true", help=_("do not ask for confirmation"))
    removal.set_defaults(run=_removed)
    listing.add_argument(
        "--last", type=positive, metavar="N", default=20, help=_("how many games (default: %(default)s)")
    )
    standings.add_argument(
        "--last",
        type=positive,
        metavar="N",
        default=None,
        help=_("count only the latest games (default: all)"),
    )
    for action in (listing, standings):
        action.add_argument("--json", action="store_true", help=_("print JSON"))
    which = _("a game: its number in the list, its table's code, or its file's name")
    for action in (show, replay, export, analyse):
        action.add_argument("game", metavar="GAME", help=which)
    removal.add_argument("games", nargs="+", metavar="GAME", help=which)
    for action in (listing, standings, show, replay, export, analyse, removal):
        _add_folder(action, default=argparse.SUPPRESS)  # an option before the action counts as well
        add_language(action)


def _add_folder(command: argparse.ArgumentParser, default: str | None) -> None:
    help_text = _("folder with the records (default: the one for games on this computer)")
    command.add_argument("--records", type=Path, metavar="DIR", default=default, help=help_text)


def _folder(arguments: argparse.Namespace) -> Path:
    return arguments.records or records_folder()


def _games(arguments: argparse.Namespace) -> list[PastGame]:
    folder = _folder(arguments)
    try:
        return past_games(folder)
    except OSError as error:
        text = _("cannot read {file}: {reason}").format(file=folder, reason=error.strerror)
        raise WrongUse(text) from error


def _found(games: list[PastGame], wanted: str) -> PastGame:
    """Return the game that is wanted: the latest one with that code."""
    if wanted.isascii() and wanted.isdigit() and 0 < int(wanted[:9]) <= len(games):
        return games[int(wanted) - 1]
    for game in games:
        if wanted.upper() == game.table or wanted in {game.file, game.file.removesuffix(".txt")}:
            return game
    raise WrongUse(_("there is no game {game}: see palatinus history list").format(game=repr(wanted)))


def _path(arguments: argparse.Namespace) -> str:
    return str(_folder(arguments) / _found(_games(arguments), arguments.game).file)


def _listed(arguments: argparse.Namespace) -> int:
    games = _games(arguments)
    latest = games[: arguments.last]
    if arguments.json:
        _print_json(latest)
        return 0
    print(*games_listing(latest), sep="\n")
    if left := len(games) - len(latest):
        form = counted("{n} more game: see --last.", "{n} more games: see --last.", left)
        print(form.format(n=left))
    return 0


def _standings(arguments: argparse.Namespace) -> int:
    best_first = standings(_games(arguments)[: arguments.last])
    if arguments.json:
        _print_json([{"name": name, **asdict(standing)} for name, standing in best_first])
    else:
        print(*standings_listing(best_first), sep="\n")
    return 0


def _print_json(values: object) -> None:
    content = msgspec.json.format(msgspec.json.encode(values), indent=1)
    print(content.decode())


def _shown(arguments: argparse.Namespace) -> int:
    recording = recording_in(_path(arguments))
    print(points_of(recording, ascii_only=arguments.ascii) or progress(recording, recording.all_eyes))
    print(describe_recorded_draws(sources_of(recording.events), over=recording.over))
    print(as_text(recording, recording.end, recording.all_eyes, ascii_only=arguments.ascii), end="")
    return 0


def _replayed(arguments: argparse.Namespace) -> int:
    need_terminal()
    return replay_record(_path(arguments), arguments)


def _exported(arguments: argparse.Namespace) -> int:
    return export_record(_path(arguments), arguments)


def _analysed(arguments: argparse.Namespace) -> int:
    return analyse_record(_path(arguments), arguments)


def _removed(arguments: argparse.Namespace) -> int:
    known = _games(arguments)
    games = list(dict.fromkeys(_found(known, wanted) for wanted in arguments.games))
    if not arguments.yes:
        form = counted("Remove {n} game for good?", "Remove {n} games for good?", len(games))
        if not confirmed(games_listing(games), form.format(n=len(games))):
            return 1
    for game in games:
        try:
            (_folder(arguments) / game.file).unlink(missing_ok=True)
        except OSError as error:
            text = _("cannot remove {file}: {reason}").format(file=game.file, reason=error.strerror)
            raise WrongUse(text) from error
    return 0

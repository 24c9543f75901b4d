"""The command line; only this module and `commands/` know both server and client."""

import argparse
import functools
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

# With -m, Python looks in the current folder first, where a folder may have the name of a package of ours.
if __name__ == "__main__" and not sys.flags.safe_path and sys.path[0] != str(Path(__file__).parent):
    del sys.path[0]

from client.language import LANGUAGES, N_, _, language_of, speak
from client.player.calling import CallingOptions, Notices, choose_calling
from client.player.colouring import Colouring, Colours, Theme, choose_colouring
from commands.display_options import add_calling, add_confirm, add_drawing, set_display_defaults
from commands.finished_games.analysis import add_analyse
from commands.finished_games.history import add_history
from commands.finished_games.records import add_check, add_export, add_replay
from commands.finished_games.score import add_score
from commands.guests.command import add_guests
from commands.parsing import Parser, Version, WrongUse, add_language, crashed, wrong_use
from commands.playing.arena import add_arena
from commands.playing.bot import add_bot
from commands.playing.join import add_join
from commands.playing.learn import add_learn
from commands.playing.play import add_play
from commands.playing.start_screen import at_start_screen
from commands.serving.admin import add_admin
from commands.serving.serve import add_serve
from commands.serving.tables import add_tables

# What is loaded at the start stays: searching it for cycles at Python's usual 700 takes a tenth of the time.
_OBJECTS_BETWEEN_COLLECTIONS = 20_000
_OURS = frozenset({"commands", "engine", "protocol", "server", "client"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 for a failure on the way, 2 for wrong use."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    words = sys.argv[1:] if argv is None else argv
    speak(_language(words))
    try:
        arguments = _parser().parse_args(words)
        choose_colouring(Colouring(Theme(arguments.theme), Colours(arguments.colours)))
        notices = None if arguments.notices is None else Notices(arguments.notices)
        choose_calling(CallingOptions(arguments.bell, arguments.title, notices))
        code: int = arguments.run(arguments)
    except WrongUse as error:
        return wrong_use(str(error))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in _OURS:
            return crashed(error)
        return wrong_use(
            _("the package {name} is missing: run {setup} once, then {program}").format(
                name=error.name,
                setup="python3 -m venv .venv && .venv/bin/pip install -e .",
                program=".venv/bin/palatinus",
            )
        )
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has closed the output
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the rest of the buffer
        return 1
    except Exception as error:  # noqa: BLE001 - people are owed one line, whatever it is
        return crashed(error)
    return code


# argparse's own texts, marked for the catalogues: argparse passes them to gettext.
_ARGPARSE = (
    N_("usage: "),
    N_("options"),
    N_("positional arguments"),
    N_("show this help message and exit"),
    N_("unrecognized arguments: %s"),
    N_("the following arguments are required: %s"),
    N_("one of the arguments %s is required"),
    N_("not allowed with argument %s"),
    N_("expected one argument"),
    N_("invalid choice: %(value)r (choose from %(choices)s)"),
    N_("argument %(argument_name)s: %(message)s"),
    N_("invalid %(type)s value: %(value)r"),
    N_("ignored explicit argument %r"),
)


def _language(words: Sequence[str]) -> str:
    """Return the language to use; it is looked up before anything else, because the help is in it too."""
    asked = Parser(add_help=False, exit_on_error=False)
    asked.add_argument("--lang", choices=LANGUAGES)
    try:
        found: str | None = asked.parse_known_args(words)[0].lang
    except argparse.ArgumentError:  # reported by the command's own parser
        found = None
    return found or language_of()


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="palatinus",
        description=_("Palatinus: the seven hills of Rome, over the network and in the terminal."),
    )
    add_language(parser)
    add_confirm(parser)
    add_calling(parser)
    add_drawing(parser)
    set_display_defaults(parser)
    parser.add_argument(
        "--no-announce",
        dest="announced",
        action="store_false",
        help=_("do not announce servers hosted by this program, including from the start screen"),
    )
    parser.add_argument("-V", "--version", action=Version)
    parser.set_defaults(run=at_start_screen)
    commands = parser.add_subparsers(
        title=_("commands"), metavar=_("COMMAND"), description=_("without a command, the start screen opens")
    )
    for add in (
        add_learn,
        add_play,
        add_serve,
        add_guests,
        add_tables,
        add_admin,
        add_history,
        add_join,
        add_bot,
        add_arena,
        add_replay,
        add_export,
        add_analyse,
        add_score,
        add_check,
    ):
        add(commands)
    shown = commands.add_parser("help", help=_("show this help, or a command's"))
    shown.add_argument(
        "words", nargs="*", metavar=_("COMMAND"), help=_("the command, for example: tables export")
    )
    shown.set_defaults(run=functools.partial(_help, parser))
    for command in commands.choices.values():
        add_language(command)
    return parser


def _help(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> NoReturn:
    parser.parse_args([*arguments.words, "--help"])
    raise AssertionError  # argparse has exited


if __name__ == "__main__":
    sys.exit(main())

"""The command line; only this module, `commands/` and the rooms below them know both server and client."""

import argparse
import codecs
import functools
import gc
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

# With -m, Python looks in the current folder first, where a folder may have the name of a package of ours.
if __name__ == "__main__" and not sys.flags.safe_path and sys.path[0] != str(Path(__file__).parent):
    del sys.path[0]
# Another installed package may have such a name too. Where a wheel puts ours: setup.py.
sys.path.insert(0, str(next(filter(Path.is_dir, map(Path(__file__).parent.joinpath, ("_palatinus", ""))))))

from client.language import LANGUAGES, N_, WrongUse, _, language_of, speak
from client.player.terminal import Colouring, Colours, DesktopNotices, DisplayOptions, Theme, choose_display
from commands.parsing import (
    Command,
    Parser,
    PrintCompletion,
    add_command,
    add_drawing,
    add_language,
    report_crash,
    set_display_defaults,
    wrong_use,
)
from server.errors import HostError
from server.version import VERSION

# Each command, the module that is imported when it is chosen, and what it is for; a group has no module.
_COMMANDS = (
    ("learn", "playing.learn", N_("learn the game in a few minutes, by playing")),
    ("play", "playing.play", N_("play against bots on this computer")),
    ("join", "playing.join", N_("play on a server, or watch")),
    ("games", "playing.games", N_("list your games on servers, and whose turn it is")),
    ("problems", "playing.play", N_("find the best move, in your games and in others")),
    ("serve", "serving.serve", N_("host games, on this network or on the internet")),
    ("guests", "serving.guests", N_("let people play over ssh, with nothing installed")),
    ("tables", "serving.tables", N_("list, show, check, export or remove the games a server keeps")),
    ("admin", "serving.admin", N_("inspect and control a running server")),
    ("history", "finished_games.history", N_("list or remove finished games, and print standings")),
    ("record", "", N_("show, replay, export, analyse or check the record of a game")),
    ("record show", "finished_games.boards", N_("print a game's result and final board")),
    ("record replay", "finished_games.boards", N_("step through a game")),
    ("record export", "finished_games.boards", N_("write a game's board as a picture, text or JSON")),
    (
        "record analyse",
        "finished_games.boards",
        N_("everybody's chances of winning move by move, better moves, and what decided a game"),
    ),
    ("record check", "finished_games.records", N_("replay a game's record, and check its draws")),
    ("score", "finished_games.score", N_("score final positions, one JSON object per line")),
    ("bot", "playing.bot", N_("run bots on a server")),
    ("arena", "playing.arena", N_("have bots in any language play each other, to see how strong they are")),
    ("doctor", "doctor", N_("print what a bug report needs: versions, terminal, folders")),
)
_HEADINGS = {  # above the command and those that follow
    "learn": N_("Play"),
    "serve": N_("Host"),
    "history": N_("Records"),
    "bot": N_("Bots"),
    "doctor": N_("Help"),
}

# The module that declares the options of these: their help needs no game.
_OPTIONS = dict.fromkeys(("learn", "play", "join", "problems"), "playing.options")

# What is loaded at the start stays: searching it for cycles at Python's usual 700 takes a tenth of the time.
_OBJECTS_BETWEEN_COLLECTIONS = 20_000
_OURS = frozenset(
    {"commands", "hosting", "gateway", "pages", "past_games", "engine", "protocol", "server", "client"}
)


# How outputs that do not speak Unicode are written to: the name of an error handler.
_IN_ASCII = "palatinus-ascii"


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    from client.ui.frame import in_ascii

    if not isinstance(error, UnicodeEncodeError):
        raise error
    return in_ascii(error.object[error.start : error.end]), error.end


codecs.register_error(_IN_ASCII, _in_ascii)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 for a failure on the way, 2 for wrong use."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed: the next file that is opened gets its number
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - it stays open
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_IN_ASCII)
    words = sys.argv[1:] if argv is None else argv
    if os.path.expanduser("~") == "~":  # noqa: PTH111 - as a service of systemd, which has no home folder
        os.environ["HOME"] = "/"
    speak(_language(words))
    try:
        arguments = build_parser().parse_args(words)
        given, colouring = arguments, Colouring(Theme(arguments.theme), Colours(arguments.colours))
        notices = None if given.notices is None else DesktopNotices(given.notices)
        choose_display(DisplayOptions(given.ascii, given.plain, colouring, given.bell, given.title, notices))
        code: int = arguments.run(arguments)
    except WrongUse as error:
        return wrong_use(str(error))
    except HostError as error:
        from hosting.errors import describe_host_error

        return wrong_use(describe_host_error(error))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in _OURS:
            return report_crash(error)
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
        return report_crash(error)
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


def build_parser() -> Parser:
    parser = Parser(
        prog="palatinus",
        description=_("Palatinus: the seven hills of Rome, over the network and in the terminal."),
    )
    add_language(parser)
    add_drawing(parser, playing=True)
    set_display_defaults(parser)
    meaning = _("do not announce servers hosted by this program, including from the start screen")
    parser.add_argument("--no-announce", dest="announced", action="store_false", help=meaning)
    meaning = _("show the version and exit")
    parser.add_argument("-V", "--version", action="version", version=f"palatinus {VERSION}", help=meaning)
    meaning = _("print a script that makes this shell complete commands, options and files, and exit")
    shells = ("bash", "zsh", "fish")
    parser.add_argument("--print-completion", action=PrintCompletion, choices=shells, help=meaning)
    parser.set_defaults(run=_open_start_screen)
    commands = parser.add_subparsers(title=_("commands"), metavar=_("COMMAND"), parser_class=Command)
    vars(commands)["headings"] = _HEADINGS
    groups = {"": commands}
    for words, module, meaning in _COMMANDS:
        group, _space, name = words.rpartition(" ")
        command = add_command(groups[group], name, _(meaning))
        command.declared_in, command.carried_out_in = _OPTIONS.get(words, module), module
        if group:
            commands.choices[name] = command  # its old name, which stays in 1.x
        elif not module:
            add_language(command)
            groups[words] = command.add_subparsers(
                prog=command.prog, title=_("commands"), metavar=_("COMMAND"), required=True
            )
    commands.choices["league"] = commands.choices["arena"]  # an old name, too
    shown = add_command(
        commands, "help", _("show this help, or a command's"), functools.partial(_help, parser)
    )
    meaning = _("the command, for example: tables export")
    shown.add_argument("words", nargs="*", metavar=_("COMMAND"), help=meaning)
    return parser


def _open_start_screen(arguments: argparse.Namespace) -> int:
    from commands.playing.start_screen import at_start_screen

    return at_start_screen(arguments)


def _help(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> NoReturn:
    parser.parse_args([*arguments.words, "--help"])
    raise AssertionError  # argparse has exited


if __name__ == "__main__":
    sys.exit(main())

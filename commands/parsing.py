"""What the commands' parsers share, options of those that draw among it, and errors of one line."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from client.language import CANNOT_WRITE, LANGUAGES, WrongUse, _, using_file, yes_letters
from client.player.terminal import WITHOUT_SCREEN, Colours, DesktopNotices, Theme, plain_chosen
from client.ui.texts.glyphs import speaks_unicode
from commands.help import HELP, RARE, CommandHelp

if TYPE_CHECKING:
    from tqdm import tqdm


class _HelpAll(argparse.Action):
    def __call__(self, parser: Any, *_rest: object) -> None:
        print(parser.format_help(full=True), end="")
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser that takes options in full only, and whose error is one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})
        if self.add_help:
            meaning = _("show all options and exit")
            self.add_argument("--help-all", action=_HelpAll, nargs=0, help=meaning, default=argparse.SUPPRESS)

    def format_help(self, *, full: bool = False) -> str:
        """Return what the command does, its everyday options or all of them, and examples."""
        help_shown = HELP.get(self.prog.partition(" ")[2], CommandHelp())
        any_options = _("OPTIONS")
        formatter = self.formatter_class(prog=f"{self.prog} [{any_options}]")
        choices = [group for group in self._mutually_exclusive_groups if group.required]
        needed = {id(action) for group in choices for action in group._group_actions}  # noqa: SLF001
        needed |= {id(action) for action in self._actions if action.required or not action.option_strings}
        formatter.add_usage(None, [action for action in self._actions if id(action) in needed], choices)
        formatter.add_text(self.description)
        for title, about, arguments in self._sections(None if full else help_shown.everyday, full=full):
            formatter.start_section(title)
            formatter.add_text(about)
            formatter.add_arguments(arguments)
            formatter.end_section()
        formatter.add_text(self.epilog)
        formatter.start_section(_("examples"))
        formatter.add_arguments(
            [argparse.Action([], "", metavar=words, help=_(text)) for words, text in help_shown.examples]
        )
        formatter.end_section()
        return formatter.format_help()

    def _sections(
        self, everyday: frozenset[str] | None, *, full: bool
    ) -> Iterator[tuple[str | None, str | None, list[argparse.Action]]]:
        """Yield headings, each with a description and what is below it: commands first."""
        groups = [
            (group.title, group.description, group._group_actions)  # noqa: SLF001 - nothing else lists them
            for group in self._action_groups
        ]
        for title, about, actions in groups:
            for action in actions:
                if isinstance(action.choices, dict):
                    yield from _commands_by_heading(title, about, action)
        named = [action for action in self._actions if not action.option_strings]
        yield _("positional arguments"), None, [each for each in named if not isinstance(each.choices, dict)]
        options = [
            (title, about, [action for action in actions if action.option_strings])
            for title, about, actions in groups
        ]
        if full:
            yield from options
            return
        usual = {"--help", "--help-all"}
        yield (
            _("options"),
            None,
            [
                action
                for _title, _about, actions in options
                for action in actions
                if not RARE.issuperset(action.option_strings)
                if everyday is None or (everyday | usual).intersection(action.option_strings)
            ],
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse an unknown command with what may be meant instead of all that there are."""
        known = action.choices
        if not isinstance(known, dict) or value in known:  # only commands' names have parsers
            super()._check_value(action, value)
            return
        if value in vars(action).get("moved", ()):
            text = _("{word} is for a single game: write palatinus record {word} GAME").format(word=value)
            raise argparse.ArgumentError(None, text)
        from difflib import get_close_matches

        option = next((each.option_strings[0] for each in self._actions if each.metavar == "FOLDER"), None)
        if option is not None and Path(value).is_dir():
            text = _("{word} is a folder: write {option} {word}").format(word=value, option=option)
        elif close := get_close_matches(value, known, 1):
            form = _("there is no command {word}: do you mean {command}?")
            command = known[close[0]].prog.removeprefix(f"{self.prog} ")  # of an old name, the new one
            text = form.format(word=repr(value), command=command)
        else:
            text = _("there is no command {word}").format(word=repr(value))
        raise argparse.ArgumentError(None, text)

    def all_arguments(self) -> Iterator[Any]:
        for argument in self._actions:
            yield argument
            if isinstance(argument.choices, dict):
                for command in argument.choices.values():
                    yield from command.all_arguments()

    def error(self, message: str) -> NoReturn:
        hint = _("(see {command} --help)").format(command=self.prog)
        self.exit(2, f"{self.prog}: {message} {hint}\n")


def _commands_by_heading(
    title: str | None, about: str | None, commands: Any
) -> Iterator[tuple[str | None, str | None, list[argparse.Action]]]:
    """Yield the commands below the headings that they have been given, otherwise below the title."""
    headings, found = vars(commands).get("headings", {}), commands._get_subactions()  # noqa: SLF001
    starts = [at for at, action in enumerate(found) if action.dest in headings] or [0]
    for start, end in zip(starts, [*starts[1:], len(found)], strict=True):
        heading = headings.get(found[start].dest)
        yield _(heading) if heading else title, about, found[start:end]


class Command(Parser):
    """A command with the modules, imported when it is chosen, that declare its options and carry it out.

    Their functions for that are `add_NAME`, unless there are no options, and `run_NAME`, unless all is done
    by actions of the command.
    """

    declared_in = carried_out_in = ""

    def declare(self) -> None:
        """Import the module, unless that has been done, and declare the options."""
        if self.declared_in:
            name = self.prog.rpartition(" ")[2]
            module = import_module(f"commands.{self.declared_in}")
            self.set_defaults(run=getattr(module, f"run_{name}", self._run))
            if (add := getattr(module, f"add_{name}", None)) is not None:
                add(self)
            add_language(self)
            self.declared_in = ""

    def _run(self, arguments: argparse.Namespace) -> int:
        module = import_module(f"commands.{self.carried_out_in}")
        code: int = getattr(module, f"run_{self.prog.rpartition(' ')[2]}")(arguments)
        return code

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments: unknown ones are an error of this command, whose help lists those it takes."""
        self.declare()
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(_("unrecognized arguments: %s") % " ".join(unknown))
        return found, unknown

    def all_arguments(self) -> Iterator[Any]:
        self.declare()
        return super().all_arguments()


def write_out(out: str, content: str, *, new: bool = False) -> None:
    """Write to this file, or - for standard output; raises WrongUse if it cannot be done, or is not `new`."""
    data = content.encode()
    if out == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    with using_file(CANNOT_WRITE, out), Path(out).open("xb" if new else "wb") as file:
        file.write(data)


def add_command(
    commands: Any, name: str, meaning: str, run: Callable[[argparse.Namespace], int] | None = None
) -> Any:
    """Add a command to others, and return its parser; without `run` its module declares it."""
    command = commands.add_parser(name, help=meaning, description=f"{meaning[:1].upper()}{meaning[1:]}.")
    if run is not None:
        command.set_defaults(run=run)
        add_language(command)
    return command


def add_language(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lang", choices=LANGUAGES, help=_("the language to use (default: the system's)"))


def add_display_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--name",
        help=_(
            "your name, as others see it (default: the one on the start screen, otherwise your login name)"
        ),
    )
    add_drawing(command, playing=True)


def add_ascii(command: Any, meaning: str = "") -> None:
    meaning = meaning or _("draw with ASCII characters only")
    command.add_argument("--ascii", action="store_true", default=argparse.SUPPRESS, help=meaning)


def prints_ascii(arguments: argparse.Namespace) -> bool:
    """Return whether standard output gets ASCII characters only, as asked for or as it takes no others."""
    return arguments.ascii or not speaks_unicode(sys.stdout.encoding or "")


def add_drawing(command: argparse.ArgumentParser, *, playing: bool = False) -> None:
    """Add the options of a command that shows a screen.

    They may come before a command as well as after it: a command keeps what was given before it.
    """
    group = command.add_argument_group(_("screen"), argument_default=argparse.SUPPRESS)
    group.add_argument(
        "--plain",
        action="store_true",
        help=_(
            "describe everything in sentences and read typed commands: for screen readers, slow connections "
            "and scripts"
        ),
    )
    if playing:
        group.add_argument("--confirm", action="store_true", help=_("ask for confirmation before every move"))
        group.add_argument(
            "--no-bell", dest="bell", action="store_false", help=_("do not ring when it is your turn")
        )
        group.add_argument(
            "--no-title", dest="title", action="store_false", help=_("leave the window's title alone")
        )
        group.add_argument(
            "--notices",
            choices=[notices.value for notices in DesktopNotices],
            help=_(
                "how the terminal shows desktop notifications (default: as set on the start screen; "
                "initially auto)"
            ),
        )
    add_ascii(group)
    group.add_argument(
        "--theme",
        choices=[theme.value for theme in Theme],
        help=_(
            "the terminal's background (default: as the terminal reports; otherwise colours that suit both)"
        ),
    )
    group.add_argument(
        "--colours",
        choices=[colours.value for colours in Colours],
        help=_("how many colours the terminal has (default: as the terminal reports)"),
    )


def set_display_defaults(parser: argparse.ArgumentParser) -> None:
    """Set the defaults of the options that are given neither before nor after a command."""
    parser.set_defaults(
        confirm=False,
        plain=False,
        ascii=False,
        theme=Theme.AUTO.value,
        colours=Colours.AUTO.value,
        bell=None,
        title=None,
        notices=None,
    )


def need_terminal() -> None:
    """Raise WrongUse unless there is a terminal that can show the screen, or text mode is chosen."""
    if plain_chosen(os.environ):
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise WrongUse(_("this needs a terminal; without one, use --plain"))
    if (term := os.environ.get("TERM", "")) in WITHOUT_SCREEN and sys.platform != "win32":
        text = _(
            "a terminal of type {term} cannot show the game: use another one, set TERM correctly, or use "
            "--plain"
        )
        raise WrongUse(text.format(term=term or '""'))


def progress_bar(label: str, total: int) -> "tqdm[Any]":
    """Return a bar on stderr, unless that is no terminal; call `update` after each of `total` steps."""
    from tqdm import tqdm

    form = "{desc} {bar} {n_fmt}/{total_fmt} " + _("time left") + " {remaining}{postfix}"
    return tqdm(desc=label, total=total, bar_format=form, leave=False, disable=None)


def print_found(arguments: argparse.Namespace, found: object, lines: Iterable[str]) -> int:
    """Print what a command has found: in lines, or as JSON if that is asked for; return the exit code."""
    from protocol.text import printable_json

    if arguments.json:
        import msgspec

        print(printable_json(msgspec.json.format(msgspec.json.encode(found), indent=1).decode()))
    else:
        print_lines(lines)
    return 0


def print_lines(lines: Iterable[str], file: TextIO | None = None) -> None:
    """Print lines in which there may be texts of strangers: no terminal acts on these."""
    from protocol.text import printable

    for line in lines:
        print(printable(line), file=file)


def shows_pictures() -> bool:
    """Return whether somebody reads what is printed, on a terminal that can show a QR code."""
    return sys.stdout.isatty() and sys.stdout.encoding.lower() == "utf-8"


def wrong_use(text: str) -> int:
    sys.stdout.flush()  # so that earlier output comes before the error
    print_lines(f"palatinus: {text}".split("\n"), sys.stderr)
    return 2


def report_crash(error: BaseException) -> int:
    """Say in one line that the program itself has failed, and where; a log gets the traceback as well."""
    import traceback

    from protocol.text import printable

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if not sys.stderr.isatty():
        traceback.print_exception(error)
    folder = Path(__file__).parents[1]
    frames = traceback.extract_tb(error.__traceback__)
    found = [(Path(frame.filename), frame.lineno) for frame in frames]
    ours = [(file.relative_to(folder), line) for file, line in found if file.is_relative_to(folder)]
    file, line = next((each for each in reversed(ours) if "site-packages" not in each[0].parts), ("?", 0))
    text = _(
        "Palatinus failed in {file}, line {line}: {error}. "
        "Please report this with what palatinus doctor prints."
    )
    said = printable(f"{type(error).__name__}: {error}")
    print(f"palatinus: {text.format(file=file, line=line, error=said)}", file=sys.stderr)
    return 1


class PrintCompletion(argparse.Action):
    """Prints a script with which a shell completes commands, options, their values, and files."""

    def __call__(self, parser: Any, _names: object, shell: Any, *_rest: object) -> None:
        import shtab

        kinds = {"FILE": shtab.FILE, "GAME": shtab.FILE, "OUT": shtab.FILE, "FOLDER": shtab.DIRECTORY}
        for argument in parser.all_arguments():
            if argument.metavar in kinds:
                argument.complete = kinds[argument.metavar]
            if isinstance(argument.choices, dict):  # old names are not in the help, but completed
                shown = argument._get_subactions()  # noqa: SLF001 - nothing else lists them
                old = argument.choices.keys() - {each.dest for each in shown}
                shown += [
                    argparse.Action([], name, help=argument.choices[name].description) for name in sorted(old)
                ]
        print(shtab.complete(parser, shell))
        parser.exit()


def confirm(lines: Iterable[str], question: str) -> bool:
    """Show what it is about and ask; raises WrongUse without a terminal."""
    if not sys.stdin.isatty():
        raise WrongUse(_("cannot ask for confirmation without a terminal: add --yes to remove without it"))
    print_lines(lines)
    yes = _("y")
    try:
        answer = input(f"{question} [{yes}/N] ")
    except EOFError:
        answer = ""
    return answer.strip().casefold() in yes_letters()

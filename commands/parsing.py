"""What the commands' parsers share: errors of one line, and arguments of more than one command."""

import argparse
import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from client.language import LANGUAGES, _

if TYPE_CHECKING:
    from server.config import Network
    from server.errors import HostError

WITHOUT_SCREEN: Final = frozenset({"", "dumb", "unknown"})  # types of terminals

_LEAST_SHARE: Final = 0.01  # of a processor: some eight moves a second of all bots together
_MOST_SHARE: Final = 64  # processors

Commands: TypeAlias = "argparse._SubParsersAction[Any]"  # noqa: SLF001 - it has no public name


class WrongUse(Exception):
    """The command cannot be carried out, for the reason in its one line."""


class Parser(argparse.ArgumentParser):
    """A parser that takes options in full only, and whose error is one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse an unknown command with what may be meant instead of all that there are."""
        known = action.choices
        if not isinstance(known, dict) or value in known:  # only commands' names have parsers
            super()._check_value(action, value)
            return
        option = next((each.option_strings[0] for each in self._actions if each.metavar == "DIR"), None)
        if option is not None and Path(value).is_dir():
            text = _("{word} is a folder: write {option} {word}").format(word=value, option=option)
        elif close := difflib.get_close_matches(value, known, 1):
            text = _("there is no command {word}: do you mean {command}?").format(
                word=repr(value), command=close[0]
            )
        else:
            text = _("there is no command {word}").format(word=repr(value))
        raise argparse.ArgumentError(None, text)

    def error(self, message: str) -> NoReturn:
        hint = _("(see {command} --help)").format(command=self.prog)
        self.exit(2, f"{self.prog}: {message} {hint}\n")


def add_language(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lang", choices=LANGUAGES, help=_("the language to use (default: the system's)"))


def describe_host_error(error: "HostError") -> str:
    """Return the host's error in the current language, without a full stop."""
    return _(error.text).format(**error.about)


def need_terminal() -> None:
    """Raise WrongUse unless there is a terminal that can show the screen."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise WrongUse(_("this needs a terminal; see palatinus --help for commands that work without one"))
    if (term := os.environ.get("TERM", "")) in WITHOUT_SCREEN and sys.platform != "win32":
        text = _(
            "a terminal of the type {term} cannot show the game: use another one, set TERM to what it is, "
            "or see palatinus --help for commands that work without one"
        )
        raise WrongUse(text.format(term=term or '""'))


def data_folder() -> Path:
    import platformdirs

    return platformdirs.user_data_path("palatinus", appauthor=False)


class DefaultFolder(os.PathLike[str]):
    """The default data folder, looked up only when it is shown or used, because that imports a package."""

    def __fspath__(self) -> str:
        return str(data_folder())

    __str__ = __fspath__


class UsualConfiguration(os.PathLike[str]):
    """Where the server's configuration is looked for, found out as late as the default data folder."""

    def __fspath__(self) -> str:
        import platformdirs

        return str(platformdirs.user_config_path("palatinus", appauthor=False) / "serve.toml")

    __str__ = __fspath__


def wrong_use(text: str) -> int:
    sys.stdout.flush()  # so that earlier output comes before the error
    print(f"palatinus: {text}", file=sys.stderr)
    return 2


def crashed(error: BaseException) -> int:
    """Say in one line that the program itself has failed, and where; a log gets the traceback as well."""
    import traceback

    from protocol.text import printable

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if not sys.stderr.isatty():
        traceback.print_exception(error)
    folder = Path(__file__).parents[1]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if _is_ours(Path(frame.filename), folder)]
    file, line = (Path(ours[-1].filename).relative_to(folder), ours[-1].lineno) if ours else ("?", 0)
    text = _("Palatinus failed in {file}, line {line}: {error}. Please report this.")
    said = printable(f"{type(error).__name__}: {error}")
    print(f"palatinus: {text.format(file=file, line=line, error=said)}", file=sys.stderr)
    return 1


def _is_ours(file: Path, folder: Path) -> bool:
    return file.is_relative_to(folder) and "site-packages" not in file.relative_to(folder).parts


def move_number(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 4:
        return int(text)
    raise argparse.ArgumentTypeError(_("{word} is not a move number: count from 0").format(word=repr(text)))


def table_code(text: str) -> str:
    from client.typed.address import BadCode
    from client.typed.address import table_code as code_of

    try:
        return code_of(text)
    except BadCode as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def port_number(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(_("{word} is not a port: choose 0 to 65535").format(word=repr(text)))


def positive(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(_("{word} is not a number above zero").format(word=repr(text)))


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if _LEAST_SHARE <= value <= _MOST_SHARE:
        return value
    said = _("{word} is not a share: choose {least} to {most}")
    raise argparse.ArgumentTypeError(said.format(word=repr(text), least=_LEAST_SHARE, most=_MOST_SHARE))


def server_name(text: str) -> str:
    from discovery.names import usable
    from protocol.limits import SERVER_NAME_LENGTH

    if usable(text):
        return text
    said = _(
        "{word} cannot be the name of a server: at most {most} letters, digits and spaces, "
        "from a single alphabet"
    )
    raise argparse.ArgumentTypeError(said.format(word=repr(text), most=SERVER_NAME_LENGTH))


def network(text: str) -> "Network":
    import ipaddress

    try:
        return ipaddress.ip_network(text)
    except ValueError:
        said = _("{word} is not an address or a network: write it as 192.0.2.7 or 192.0.2.0/24")
        raise argparse.ArgumentTypeError(said.format(word=repr(text))) from None


class Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=_("show the version and exit"))

    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> None:
        from server.version import installed_version

        version = installed_version() or _("not installed")
        print(f"palatinus {version}")
        parser.exit()

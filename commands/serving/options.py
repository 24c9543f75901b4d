"""The options of `palatinus serve`: from the command line, else from a TOML file, else the defaults.

Parser, configuration file and documentation come from `ServeOptions`.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

from client.language import CANNOT_READ, N_, WrongUse, _, labelled, using_file
from client.network.refusals import describe_refusal
from client.player.folders import data_folder
from client.typed_text import DEFAULT_PORT
from commands import arguments
from gateway.process import SSH_PORT
from hosting.levels import STAND_IN
from protocol.admin import LEAST_MINUTES, MOST_MINUTES, MOST_ROUNDS, EveningPlan
from protocol.limits import TITLE_LENGTH
from protocol.text import printable
from server.config import Limits, Network
from server.refusal import Refusal
from server.tables.names import check_name

# The files with passwords, and the variables of the environment that may have them instead.
_PASSWORDS: Final[Mapping[str, str]] = {
    "password-file": arguments.PASSWORD_VARIABLE,
    "smtp-password-file": arguments.SMTP_PASSWORD_VARIABLE,
}
# What the help calls a word, and how it is read: for types, and for some options.
_WORDS: Final[Mapping[Any, tuple[str, Callable[[str], Any]]]] = {
    int: ("NUMBER", arguments.positive),
    Path: ("FILE", Path),
}
Address: TypeAlias = Annotated[str, "ADDRESS", str]
Folder: TypeAlias = Annotated[Path, "FOLDER", Path]
Level: TypeAlias = Annotated[str, "LEVEL", arguments.level_name]
Name: TypeAlias = Annotated[str, "NAME", str]
Port: TypeAlias = Annotated[int, "PORT", arguments.port_number]
Url: TypeAlias = Annotated[str, "URL", str]


class _Switch(argparse.BooleanOptionalAction):
    """An option that is on or off, or one word: `--web`, `--no-web`, `--web=watch`."""

    def __init__(self, *args: Any, choices: Sequence[str], **options: Any) -> None:
        super().__init__(*args, **options)
        self.nargs, self.choices = "?", choices

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        off = str(option_string).startswith("--no-")
        if off and values:
            parser.error(_("{option} takes no value").format(option=option_string))
        setattr(namespace, self.dest, False if off else values or True)


@dataclass(frozen=True, slots=True)
class Option:
    """An option: what the help says of it, and what follows from its field in `ServeOptions`.

    `kind` is bool, int, float, str, Path or list; `convert` returns what a word means, or raises
    ArgumentTypeError. A switch may be the `word` instead of on or off.
    """

    key: str
    help: str
    default: Any
    kind: type
    choices: tuple[str, ...]
    word: str
    metavar: str | None
    convert: Callable[[str], Any]

    @property
    def name(self) -> str:
        return self.key.replace("-", "_")

    @property
    def only(self) -> str:
        return _EXCLUSIVE.get(self.key, "")

    @property
    def heading(self) -> str:
        return _HEADINGS.get(self.key, "")

    def describe(self) -> str:
        """Return what the help says; `%(default)s` stands for the default."""
        text, variable = _(self.help), _PASSWORDS.get(self.key)
        if variable is not None:
            text = f"{text} ({_(arguments.PASSWORD_HELP)})"
        return text.format(port=SSH_PORT, variable=variable)

    def add_to(self, group: Any) -> argparse.Action:
        """Add the option to a parser's group; what is not given is None."""
        names = ["-v"] if self.key == "verbose" else []
        more: dict[str, Any] = {"action": argparse.BooleanOptionalAction}
        if self.word:
            more = {"action": _Switch, "choices": (self.word,)}
        elif self.choices:
            more = {"choices": self.choices}
        elif self.kind is not bool:
            action = "append" if self.kind is list else "store"
            more = {"action": action, "type": self.convert, "metavar": self.metavar}
            if self.key == "ssh":
                more |= {"nargs": "?", "const": SSH_PORT}
        added: argparse.Action = group.add_argument(*names, f"--{self.key}", help=self.describe(), **more)
        show_default(added, self.default)
        return added


# Of the options with the same word here, one can be in use.
_EXCLUSIVE: Final = {"data": "data", "memory": "data", "records": "records", "history": "records"}
_HEADINGS: Final[Mapping[str, str]] = {  # of the help, above the option and those that follow
    "host": N_("where"),
    "data": N_("storage"),
    "password-file": N_("who gets in"),
    "max-tables": N_("limits"),
    "bots": N_("bots"),
    "ssh": N_("guests and pages"),
    "notify": N_("notifications"),
    "evening": N_("an evening for many"),
    "verbose": N_("logs and control"),
}


def _option(default: Any, meaning: str) -> Any:
    """Return a field of the options, with its help."""
    about = {_HELP: meaning}
    if callable(default):
        return field(default_factory=default, metadata=about)
    return field(default=default, metadata=about)


_HELP: Final = "help"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What is chosen, and by default; None if nothing is, or something that excludes it."""

    host: Address = _option("0.0.0.0", N_("address to listen on (default: all)"))  # noqa: S104 - a LAN host
    port: Port = _option(DEFAULT_PORT, N_("port to listen on (default: %(default)s)"))
    announce: bool | None = _option(
        None, N_("announce the server to palatinus join (default: unless --host is a loopback address)")
    )
    name: Annotated[str, "NAME", arguments.server_name] | None = _option(
        None, N_("name under which others find the server (default: this computer's name)")
    )
    data: Folder | None = _option(data_folder, N_("folder where games are kept (default: %(default)s)"))
    memory: bool | None = _option(False, N_("keep nothing on disk: all games end when the server stops"))
    durable: Literal["normal", "full"] = _option(
        "normal",
        N_(
            "full: every move waits for the disk, so that not even a power cut loses one (default: "
            "%(default)s)"
        ),
    )
    records: Folder | None = _option(
        None,
        N_("write the record of every finished game to this folder (default: the folder records of --data)"),
    )
    history: bool | None = _option(
        None, N_("keep the records of finished games for palatinus history (default: yes)")
    )
    records_kept: int | None = _option(
        None,
        N_(
            "keep only the latest records, so many (default: 10,000 in the folder records of --data, "
            "all in --records)"
        ),
    )
    records_days: Annotated[int, "DAYS", arguments.positive] | None = _option(
        None, N_("remove records after so many days (default: never)")
    )
    archive: int = _option(
        Limits().archived_tables,
        N_("games to keep in the archive, for players who come back (default: %(default)s)"),
    )
    database: Url | None = _option(
        None, N_("keep games in this PostgreSQL database, which several servers share, not in --data")
    )
    node: Name | None = _option(
        None, N_("the name of this server among those that share the database (default: host and port)")
    )
    address: Url | None = _option(
        None,
        N_(
            "public address of this server, for clients redirected by other servers and as a name that web "
            "pages accept (default: as shown at startup)"
        ),
    )
    lease: Annotated[int, "SECONDS", arguments.positive] = _option(
        6,
        N_(
            "seconds for which an unresponsive server keeps its tables in the database (default: %(default)s)"
        ),
    )
    password_file: Path | None = _option(None, N_("require the password on the first line of this file"))
    tls_cert: Path | None = _option(None, N_("certificate chain (PEM), to serve wss://"))
    tls_key: Path | None = _option(None, N_("private key, if it is not in the --tls-cert file"))
    trust_proxy: list[Annotated[Network, "ADDRESS", arguments.network]] | None = _option(
        None,
        N_("trust this proxy, or network of proxies, to report its clients' addresses (can be repeated)"),
    )
    proxy_protocol: bool = _option(
        False, N_("trusted proxies report addresses with the PROXY protocol instead of X-Forwarded-For")
    )
    max_tables: int = _option(500, N_("maximum number of tables at once (default: %(default)s)"))
    tables_per_minute: int | None = _option(
        None,
        N_(
            "maximum number of tables opened per minute from one address (default: 120, and 30 from "
            "one connection)"
        ),
    )
    max_connections: int = _option(1000, N_("maximum number of connections at once (default: %(default)s)"))
    connections_per_address: int = _option(
        250, N_("maximum number of connections at once from one address (default: %(default)s)")
    )
    rate: int = _option(20, N_("messages per second read from one client (default: %(default)s)"))
    bots: bool = _option(True, N_("seat bots at tables whose hosts ask for them (default: yes)"))
    bots_cpu: Annotated[float, "SHARE", arguments.share] = _option(
        0.5, N_("CPU cores that all bots together may use for thinking (default: %(default)s)")
    )
    bots_pace: Literal["human", "quick"] = _option(
        "human",
        N_(
            "human: with people at the table, bots take 0.8 to 4 seconds for a move; quick: 1 second "
            "(default: %(default)s)"
        ),
    )
    stand_in: Level = _option(
        STAND_IN, N_("the level of the bot that plays for absent players (default: %(default)s)")
    )
    ssh: Port | None = _option(None, N_("let people play over ssh, with nothing installed (port: {port})"))
    max_guests: int = _option(200, N_("maximum number of guests over ssh at once (default: %(default)s)"))
    guests_per_address: int = _option(
        50, N_("maximum number of guests at once from one address (default: %(default)s)")
    )
    web: bool | Literal["watch"] = _option(
        False, N_("let people play in browsers, and watch public tables there; with --web=watch, only watch")
    )
    lobby_chat: bool = _option(
        True, N_("let people in the lobby see who is online, and talk there (default: yes)")
    )
    notify: list[Annotated[str, "WHERE", arguments.notices_allowed]] | None = _option(
        None,
        N_(
            "notify absent players at addresses they register: mail, url, mail:DOMAIN or url:HOST; a named "
            "host may be on your own network (can be repeated)"
        ),
    )
    smtp: Annotated[str, "URL", arguments.smtp_server] | None = _option(
        None, N_("send e-mail through this server: smtp://user@host:587, or smtps://user@host:465")
    )
    smtp_from: Address | None = _option(None, N_("the sender of the e-mail"))
    smtp_password_file: Path | None = _option(
        None, N_("read the password for --smtp from the first line of this file")
    )
    evening: Name | None = _option(
        None, N_("hold an evening: people sign up, and the server draws who plays with whom")
    )
    evening_rounds: int | None = _option(
        None, N_("number of rounds (default: none; a table opens when enough people are waiting)")
    )
    evening_minutes: int = _option(
        60, N_("minutes for a game, shared equally by its players (default: %(default)s)")
    )
    evening_same_draws: bool = _option(
        False, N_("all tables of a round have the same tiles and laurels; nobody can watch them")
    )
    evening_bots: Level | None = _option(
        None, N_("fill tables of fewer than three people with bots of this level")
    )
    verbose: bool = _option(False, N_("also log connections, seats taken and departures"))
    log_json: bool = _option(False, N_("log one JSON object per line"))
    metrics: bool | None = _option(
        None, N_("serve /healthz and /metrics (default: only on a loopback address)")
    )
    admin: bool | None = _option(
        None, N_("accept palatinus admin commands (default: yes, unless --memory is given)")
    )
    admin_socket: Path | None = _option(
        None, N_("listen for palatinus admin there (default: admin.sock in the data folder)")
    )


def serve_options() -> list[Option]:
    usual, hints = ServeOptions(), get_type_hints(ServeOptions, include_extras=True)
    return [
        Option(
            each.name.replace("_", "-"),
            each.metadata[_HELP],
            getattr(usual, each.name),
            **_read_hint(hints[each.name]),
        )
        for each in fields(ServeOptions)
    ]


def _read_hint(hint: Any) -> dict[str, Any]:
    """Return what the type of an option says of it."""
    first, *others = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    many = get_origin(first) is list
    each = get_args(first)[0] if many else first
    kind, *words = get_args(each) if get_origin(each) is Annotated else (each, *_WORDS.get(each, (None, str)))
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    word = next((get_args(other)[0] for other in others if get_origin(other) is Literal), "")
    kind = list if many else str if choices else kind
    return {"kind": kind, "choices": choices, "word": word, "metavar": words[0], "convert": words[1]}


def add_serve_options(serve: argparse.ArgumentParser) -> None:
    group: Any = serve
    exclusive: dict[str, Any] = {}
    for option in serve_options():
        if option.heading:
            group = serve.add_argument_group(_(option.heading))
        if option.only and option.only not in exclusive:
            exclusive[option.only] = group.add_mutually_exclusive_group()
        option.add_to(exclusive.get(option.only, group))


def show_default(action: argparse.Action, default: object) -> None:
    """Make the help show a default that the parser leaves out, so that what is given can be told from it."""
    action.help = str(action.help).replace("%(default)s", "%(usual)s")
    vars(action)["usual"] = default


_MOST_BYTES: Final = 64 * 1024
_WHERE: Final = re.compile(r"(?s)(.*) \(at (?:line (\d+), column \d+|end of document)\)")
_NOT_OF_ITS_KIND: Final[Mapping[type, str]] = {
    bool: N_("{key} is either true or false, not {value}"),
    int: N_("{key} needs a whole number without quotation marks, not {value}"),
    float: N_("{key} needs a number without quotation marks, not {value}"),
    str: N_("{key} needs a string in quotation marks, not {value}"),
    Path: N_("{key} needs a string in quotation marks, not {value}"),
    list: N_("{key} needs a list of strings in square brackets, not {value}"),
}

_IN_FILES: Final[Mapping[type, Any]] = {Path: str, list: list[str]}


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of an option, None if it has none, and where it comes from."""

    option: Option
    value: Any
    source: str

    def excludes(self, other: "Setting") -> bool:
        """Return whether only one of both can be in use; a switch left off, as by default, excludes none."""
        left_off = any(each.value is False and each.option.default is False for each in (self, other))
        return bool(self.option.only) and self.option.only == other.option.only and not left_off


def read_settings(given: argparse.Namespace, file: Path | None) -> list[Setting]:
    """Return what every option is set to; raises WrongUse with every mistake in the file."""
    options = serve_options()
    chosen = {
        option.key: Setting(option, value, _("from the command line"))
        for option in options
        if (value := getattr(given, option.name)) is not None
    }
    for setting in [] if file is None else _read(file, options):
        if not any(setting.excludes(other) for other in chosen.values()):
            chosen.setdefault(setting.option.key, setting)
    usual = [Setting(option, option.default, _("default")) for option in options]
    return [
        chosen.get(setting.option.key)
        or (replace(setting, value=None) if any(map(setting.excludes, chosen.values())) else setting)
        for setting in usual
    ]


def options_in(found: Sequence[Setting]) -> ServeOptions:
    return ServeOptions(**{setting.option.name: setting.value for setting in found})


def toml_lines(found: Sequence[Setting]) -> Iterator[str]:
    """Yield the lines of a TOML file with these settings; raises WrongUse if one cannot be written."""
    for setting in found:
        key, value = setting.option.key, setting.value
        if value is None:
            yield "# " + _("{key} is not set").format(key=key)
            continue
        if isinstance(value, Path):
            value = value.absolute()  # a relative one would be relative to the new file
        source = setting.source
        line = f"{key} = {_in_toml(value)}  # {source if source.isprintable() else _in_toml(source)}"
        try:
            line.encode()
        except UnicodeEncodeError as error:
            raise WrongUse(_("{key} is set to something that is not Unicode").format(key=key)) from error
        yield line


def _read(file: Path, options: Sequence[Option]) -> list[Setting]:
    """Return what a file sets; raises WrongUse if it cannot be read or is not TOML, or with every mistake."""
    import tomllib

    text = _text_of(file)
    try:
        entries = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise WrongUse(_not_toml(file, text, error)) from error
    known, lines = {option.key: option for option in options}, _lines_of_keys(text)
    found: list[Setting] = []
    mistakes = []
    for key, value in entries.items():
        line = _line(file, lines[key])
        try:
            option = _known_option(key, value, known)
            setting = Setting(option, _convert_value(option, value, file.absolute().parent), line)
            _check_alone(setting, found)
        except ValueError as error:
            said = str(error) if str(error).endswith("?") else f"{error}."
            mistakes.append(printable(labelled(line, said)))
        else:
            found.append(setting)
    if mistakes:
        raise WrongUse("\n".join(mistakes))
    return found


def _line(file: Path, number: int) -> str:
    return _("{file}, line {line}").format(file=file, line=number)


def _check_alone(setting: Setting, others: Iterable[Setting]) -> None:
    """Raise ValueError with a sentence if the setting and one of the others exclude each other."""
    for other in filter(setting.excludes, others):
        text = _("{key} and {other} exclude each other: leave out one of them")
        raise ValueError(text.format(key=setting.option.key, other=other.option.key))


def _convert_value(option: Option, value: Any, folder: Path) -> Any:
    """Return what a value in a file in `folder` means; raises ValueError with a sentence."""
    if option.word and value == option.word:
        return value
    try:
        msgspec.convert(value, _IN_FILES.get(option.kind, option.kind))
    except msgspec.ValidationError:
        words = f'true, false, "{option.word}"'
        text = (
            _("{key} is one of {choices}, not {value}") if option.word else _(_NOT_OF_ITS_KIND[option.kind])
        )
        raise ValueError(text.format(key=option.key, choices=words, value=_in_toml(value))) from None
    if option.kind is list:
        return [_read_word(option, each) for each in value]
    return value if option.kind is bool else _read_word(option, str(value), folder)


def _read_word(option: Option, word: str, folder: Path = Path()) -> Any:
    key = option.key
    if not word or "\0" in word:
        raise ValueError(_("{key} is empty or contains a null character").format(key=key))
    if option.choices and word not in option.choices:
        text = _("{key} is one of {choices}, not {value}")
        choices = ", ".join(option.choices)
        raise ValueError(text.format(key=key, choices=choices, value=_in_toml(word)))
    try:
        return folder / Path(word).expanduser() if option.kind is Path else option.convert(word)
    except (argparse.ArgumentTypeError, RuntimeError) as error:  # RuntimeError: ~ of nobody
        raise ValueError(labelled(key, str(error))) from error


def _known_option(key: str, value: object, known: Mapping[str, Option]) -> Option:
    """Return the option of that name; raises ValueError with a sentence if there is none."""
    if (option := known.get(key)) is not None:
        return option
    from difflib import get_close_matches

    similar = get_close_matches(key.replace("_", "-"), known, 1)
    if isinstance(value, dict):
        text = _(
            "{key} is a section, but sections are not supported: write all options above it, "
            "without a heading"
        )
    elif key == "password":
        text = _(
            "the password belongs in a file of its own: write it there, and set password-file to its path"
        )
    elif similar:
        text = _("{key} is not an option. Did you mean {similar}?")
    else:
        text = _("{key} is not an option. See palatinus serve --help")
    raise ValueError(text.format(key=key, similar="".join(similar)))


def _in_toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case list():
            return f"[{', '.join(map(_in_toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{_in_toml(key)} = {_in_toml(each)}' for key, each in value.items())}}}"
    return printable(json.dumps(str(value), ensure_ascii=False), _escape)  # JSON's escapes are TOML's


def _escape(character: str) -> str:
    """Return TOML's escape of a character; it has none for half a pair of surrogates."""
    return character if "\ud800" <= character <= "\udfff" else f"\\U{ord(character):08x}"


def _text_of(file: Path) -> str:
    with using_file(CANNOT_READ, file), file.open("rb") as opened:
        data = opened.read(_MOST_BYTES + 1)
        if len(data) <= _MOST_BYTES:
            return data.decode("utf-8")
    reason = _("it is longer than {most} bytes").format(most=_MOST_BYTES)
    raise WrongUse(_(CANNOT_READ).format(file=file, reason=reason))


def _not_toml(file: Path, text: str, error: Exception) -> str:
    at = _WHERE.fullmatch(str(error))
    where, reason = str(file), str(error)
    if at is not None:
        where, reason = _line(file, int(at[2] or len(text.rstrip().splitlines()))), at[1]
    return _("{where}: this is not TOML: {reason}").format(where=where, reason=reason) + "."


def _lines_of_keys(text: str) -> dict[str, int]:
    """Return the line of each key in valid TOML; tomllib does not tell."""
    import tomllib

    lines: dict[str, int] = {}
    in_section = False
    for began, statement in _statements(text):
        heading = statement.lstrip().startswith("[")
        if heading or not in_section:
            for key in tomllib.loads(statement):
                lines.setdefault(key, began)
        in_section |= heading
    return lines


# Strings, comments, brackets, ends of lines, and what is between them.
_TOKEN: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|'
    r"'''.*?'{3,5}|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'[^'\n]*'|"
    r"#[^\n]*|[\[\]{}\n]|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line of valid TOML, or several that belong together, with the number of the first."""
    began, number, start, depth = 1, 1, 0, 0
    for token in _TOKEN.finditer(text):
        number += token[0].count("\n")
        depth += (token[0] in "[{") - (token[0] in "]}")
        if token[0] == "\n" and not depth:
            yield began, text[start : token.end()]
            began, start = number, token.end()
    yield began, text[start:]


def checked_plan(plan: EveningPlan) -> EveningPlan:
    """Return the plan of an evening if there can be such a one; raises WrongUse."""
    if plan.same_draws and not plan.rounds:
        raise WrongUse(_("--evening-same-draws needs --evening-rounds"))
    try:
        checked: EveningPlan = msgspec.convert(msgspec.to_builtins(plan), EveningPlan)
        check_name(checked.name)
    except msgspec.ValidationError:
        limits = _(
            "the name of an evening has at most {most} characters; rounds: {rounds}; minutes: {minutes}"
        )
        rounds, minutes = f"1-{MOST_ROUNDS}", f"{LEAST_MINUTES}-{MOST_MINUTES}"
        raise WrongUse(limits.format(most=TITLE_LENGTH, rounds=rounds, minutes=minutes)) from None
    except Refusal as refusal:
        raise WrongUse(describe_refusal(refusal.message(None)).rstrip(".")) from None
    return checked

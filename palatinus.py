"""The command line: the one place that knows both server and client."""

import argparse
import contextlib
import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from client.address import DEFAULT_PORT
from client.colouring import Colouring, Colours, Theme, want
from client.language import LANGUAGES, N_, _, counted, language_of, listed, speak

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from client.line import Access
    from client.preferences import Preferences
    from client.recording import Recording
    from client.ui.app import Options, SeatBots, Visit
    from client.ui.learn.course import Parting
    from client.ui.requests import Request
    from engine.game import Game
    from engine.view import Eyes
    from server.config import Config
    from server.data_folder import DataFolder, StoredTable

    Commands: TypeAlias = argparse._SubParsersAction[Any]  # noqa: SLF001 - it has no public name


# What a start loads stays: to look it through for cycles at Python's usual 700 takes a tenth of its time.
_OBJECTS_BETWEEN_COLLECTIONS = 20_000


_OURS = frozenset({"engine", "protocol", "server", "client"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 for a failure on the way, 2 for wrong use."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    words = sys.argv[1:] if argv is None else argv
    speak(_language(words))
    arguments = _parser().parse_args(words)
    want(Colouring(Theme(arguments.theme), Colours(arguments.colours)))
    try:
        code: int = arguments.run(arguments)
    except _WrongUse as error:
        return _wrong_use(str(error))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in _OURS:
            raise
        return _wrong_use(
            _("the package {name} is missing; {setup} sets everything up, and then it is {program}").format(
                name=error.name,
                setup="python3 -m venv .venv && .venv/bin/pip install -e .",
                program=".venv/bin/palatinus",
            )
        )
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still in the buffer
        return 1
    return code


# What argparse says by itself, for the catalogues: it asks gettext for these.
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
    N_("ambiguous option: %(option)s could match %(matches)s"),
    N_("ignored explicit argument %r"),
)


class _WrongUse(Exception):
    """What was asked for cannot be done, for the reason in its one line."""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        hint = _("(see {command} --help)").format(command=self.prog)
        self.exit(2, f"{self.prog}: {message} {hint}\n")


class _Version(argparse.Action):
    """Prints the version; it is looked up only then."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=_("show the version and exit"))

    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("palatinus")
        except PackageNotFoundError:  # run from its folder, without having been installed
            number = _("not installed")
        parser.exit(message=f"palatinus {number}\n")


def _language(words: Sequence[str]) -> str:
    """Return the language to speak: looked for before anything else, as the help is in it too."""
    asked = _Parser(add_help=False, exit_on_error=False, allow_abbrev=False)
    asked.add_argument("--lang", choices=LANGUAGES)
    try:
        found: str | None = asked.parse_known_args(words)[0].lang
    except argparse.ArgumentError:  # told by the command's own parser
        found = None
    return found or language_of()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="palatinus",
        description=_("Palatinus: the seven hills of Rome, over the network and in the terminal."),
    )
    _add_language(parser)
    _add_drawing(parser)
    parser.add_argument("--version", action=_Version)
    parser.set_defaults(run=_start)
    commands = parser.add_subparsers(
        title=_("commands"), metavar=_("COMMAND"), description=_("without one: the start screen")
    )
    for add in (
        _add_learn,
        _add_play,
        _add_serve,
        _add_tables,
        _add_join,
        _add_bot,
        _add_replay,
        _add_export,
        _add_score,
        _add_check,
    ):
        add(commands)
    for command in commands.choices.values():
        _add_language(command)
    return parser


def _add_language(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--lang", choices=LANGUAGES, help=_("the language of all texts (default: the system's)")
    )


def _need_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise _WrongUse(_("this is played in a terminal; palatinus --help lists what needs none"))


def _start(arguments: argparse.Namespace) -> int:
    _need_terminal()
    from client.preferences import Preferences, preferences_file, remembered
    from client.ui import start

    known = remembered(preferences_file())
    line = start.LEARN if known is None else start.PLAY
    with _log_for_later():
        return _at_home(known or Preferences(), line, ascii_wanted=arguments.ascii)


def _at_home(preferences: "Preferences", line: int, *, ascii_wanted: bool) -> int:
    """Show the start screen, go where it leads, and come back to it, until the player quits."""
    import asyncio

    import msgspec

    from client.bots.brains import BRAINS
    from client.names import default_name
    from client.preferences import preferences_file, remember
    from client.ui import requests, start_app
    from client.ui.app import told
    from client.ui.state import BrainLine, Notice, Start, Ui

    brains = tuple(BrainLine(brain.name, brain.description) for brain in BRAINS.values())
    chosen = next((at for at, brain in enumerate(brains) if brain.name == preferences.brain), 0)
    ui = Ui(
        preferences.name or default_name(),
        players=preferences.players,
        random_layout=preferences.random_layout,
        chosen=line,
        start=Start(brains, chosen, preferences.servers),
    )
    while True:
        ui, request = asyncio.run(start_app.run(ui, ascii_wanted=ascii_wanted))
        assert ui.start is not None  # noqa: S101 - it stays what it is
        brain = brains[ui.start.brain].name
        preferences = msgspec.structs.replace(
            preferences, name=ui.name, players=ui.players, random_layout=ui.random_layout, brain=brain
        )
        remember(preferences_file(), preferences)
        if isinstance(request, requests.Quit):
            return 0
        visited = _gone_where(request, ui.name, brain, ascii_wanted=ascii_wanted)
        if isinstance(request, requests.GoTo) and not visited.code:
            preferences = preferences.joined(request.url)
            remember(preferences_file(), preferences)
        if not visited.home and not visited.code:
            return told(visited)
        ui = replace(
            ui,
            start=replace(ui.start, servers=preferences.servers),
            notice=Notice(visited.sentence, refusal=True) if visited.code else None,
        )


def _gone_where(request: "Request", name: str, brain: str, *, ascii_wanted: bool) -> "Visit":
    """Go where the start screen leads; return how that ended."""
    import asyncio

    from client.seats import Seats, seats_folder
    from client.ui import requests
    from client.ui.app import Options, Visit
    from client.ui.learn.course import Parting
    from server.config import Config

    options = Options("", name, ascii=ascii_wanted)
    match request:
        case requests.Learn() if _taught(name, ascii_wanted=ascii_wanted) is not Parting.PLAY:
            return Visit(home=True)
        case requests.Learn():
            game = _against_bots(options, (brain,), players=3, random_layout=False, config=Config())
        case requests.PlayBots(players, brain, random_layout):
            game = _against_bots(
                options, (brain,), players=players, random_layout=random_layout, config=Config()
            )
        case requests.Host():
            game = _hosted(options, (brain,))
        case requests.GoTo(url):
            print(_("Connecting to {url} ...").format(url=url), flush=True)
            game = _visited(replace(options, url=url, seats=Seats(seats_folder(), url), home=True))
        case _:
            return Visit()
    return asyncio.run(game)


def _add_play(commands: "Commands") -> None:
    play = commands.add_parser("play", help=_("play against bots, here and now"))
    play.add_argument(
        "--players", type=int, choices=range(2, 6), default=3, help=_("you and bots (default: 3)")
    )
    play.add_argument(
        "--brain", default="greedy", metavar="BRAIN[,BRAIN...]", help=_("see palatinus bot --help")
    )
    play.add_argument("--seed", type=int, help=_("play the same game again"))
    play.add_argument("--records", type=Path, metavar="DIR", help=_("write the finished game's record here"))
    play.add_argument(
        "--random-layout", action="store_true", help=_("tiles at random instead of laid by players")
    )
    _add_looks(play)
    play.set_defaults(run=_play)


def _play(arguments: argparse.Namespace) -> int:
    _need_terminal()
    import asyncio

    import msgspec

    from client.bots.brains import NoSuchBrain, brain_named
    from client.preferences import Preferences, preferences_file, remembered
    from client.ui import start
    from client.ui.app import told
    from server.app import StartError
    from server.config import Config

    brains = tuple(arguments.brain.split(","))
    try:
        for brain in brains:
            brain_named(brain)
    except NoSuchBrain as error:
        return _wrong_use(str(error))
    game = _against_bots(
        _options(arguments, ""),
        brains,
        players=arguments.players,
        random_layout=arguments.random_layout,
        config=Config(seed=arguments.seed, records=arguments.records),
    )
    with _log_for_later():
        try:
            visited = asyncio.run(game)
        except StartError as error:
            return _wrong_use(str(error))
        if not visited.home:
            return told(visited)
        known = remembered(preferences_file()) or Preferences()
        set_up = msgspec.structs.replace(
            known,
            name=arguments.name or known.name,
            players=arguments.players,
            random_layout=arguments.random_layout,
            brain=brains[0],
        )
        return _at_home(set_up, start.PLAY, ascii_wanted=arguments.ascii)


@contextlib.contextmanager
def _log_for_later() -> "Iterator[None]":
    """Keep what the server in this process logs until the screen is free again."""
    import io

    from server.logs import log_to

    log = io.StringIO()
    log_to(log, verbose=False)
    try:
        yield
    finally:
        sys.stderr.write(log.getvalue())


async def _against_bots(
    options: "Options", brains: tuple[str, ...], *, players: int, random_layout: bool, config: "Config"
) -> "Visit":
    """Play against bots on a server of one's own."""
    from client.ui.app import visit

    limits = replace(config.limits, tables_per_connection=config.limits.tables)  # play again without end
    async with _house(replace(config, limits=limits), brains) as (port, bots):
        url = f"ws://127.0.0.1:{port}"
        there = replace(options, url=url, players=players, random_layout=random_layout)
        return await visit(replace(there, filled=True, bots=bots))


async def _hosted(options: "Options", brains: tuple[str, ...]) -> "Visit":
    """Serve for the network, and play there oneself; any port will do, as it is shown."""
    import platformdirs

    from client.seats import Seats, seats_folder
    from client.ui.app import Visit, visit
    from server.app import StartError
    from server.command import reachable
    from server.config import Config
    from server.journal_file import JournalError

    data = platformdirs.user_data_path("palatinus", appauthor=False)
    for port in (DEFAULT_PORT, 0):
        config = Config(host="0.0.0.0", port=port, data=data)  # noqa: S104 - a LAN host
        try:
            async with _house(config, brains) as (served, bots):
                url = f"ws://127.0.0.1:{served}"
                outside = [each for each in reachable(config.host) if each != "127.0.0.1"]
                addresses = tuple(f"ws://{each}:{served}" for each in outside)
                there = replace(options, url=url, seats=Seats(seats_folder(), url), addresses=addresses)
                return await visit(replace(there, bots=bots, home=True))
        except JournalError as error:
            return Visit(1, f"{error}.")
        except StartError as error:
            failure = error
    return Visit(1, f"{failure}.")


@contextlib.asynccontextmanager
async def _house(config: "Config", brains: tuple[str, ...]) -> "AsyncIterator[tuple[int, SeatBots]]":
    """Serve in this process; yield the port, and what seats bots at a table there."""
    import asyncio
    import io

    from client.bots.greedy import greedy
    from client.bots.runner import BotOptions, run_bots
    from server.app import running

    told = io.StringIO()
    async with running(replace(config, stand_in=greedy)) as server, asyncio.TaskGroup() as tasks:
        seated: list[asyncio.Task[int]] = []

        def seat_bots(table: str, seats: int) -> None:
            url = f"ws://127.0.0.1:{server.port}"
            options = BotOptions(url, table, brains, seats=seats, seed=config.seed, rematch=True)
            seated.append(tasks.create_task(run_bots(options, told, told)))

        yield server.port, seat_bots
        for bots in seated:
            bots.cancel()


def _add_learn(commands: "Commands") -> None:
    learn = commands.add_parser("learn", help=_("learn the game in a few minutes, by playing"))
    _add_looks(learn)
    learn.set_defaults(run=_learn)


def _learn(arguments: argparse.Namespace) -> int:
    from client.names import default_name
    from client.ui.learn.course import Parting

    _need_terminal()
    name = arguments.name or default_name()
    match _taught(name, ascii_wanted=arguments.ascii):
        case Parting.PLAY:
            looks = vars(arguments)  # as the lessons were given, so the game is played
            return _play(argparse.Namespace(**{**vars(_parser().parse_args(["play"])), **looks}))
        case Parting.LEFT:
            return 0
        case None:
            return 1


def _taught(name: str, *, ascii_wanted: bool) -> "Parting | None":
    """Give the lessons; return how the pupil left them, None if they failed, which has been told."""
    import asyncio

    from client.ui.learn.app import run

    return asyncio.run(run(name, _practice, ascii_wanted=ascii_wanted))


def _practice(record: str) -> "Game":
    """Return the game that a record tells, to be gone on with."""
    import random

    from engine.game import Game, RandomChance
    from engine.record import replayed

    return Game(replayed(record).events, RandomChance(random.Random()))


def _add_join(commands: "Commands") -> None:
    join = commands.add_parser("join", help=_("play on a server, or watch"))
    join.add_argument("server", help=_("as the host's screen shows it: ws://HOST:PORT"))
    join.add_argument(
        "table", nargs="?", type=_table_code, help=_("a table's code; without it, choose in the lobby")
    )
    how = join.add_mutually_exclusive_group()
    how.add_argument("--watch", action="store_true", help=_("watch the table instead of playing"))
    how.add_argument(
        "--new", action="store_true", help=_("join as another player, even where a seat of yours is kept")
    )
    _add_access(join)
    _add_looks(join)
    join.set_defaults(run=_join)


def _join(arguments: argparse.Namespace) -> int:
    import asyncio

    from client.address import BadAddress, server_url
    from client.seats import Seats, seats_folder
    from client.ui.app import told

    if arguments.watch and arguments.table is None:
        return _wrong_use(_("to watch, say which TABLE; or choose one in the lobby, without --watch"))
    try:
        url = server_url(arguments.server)
    except BadAddress as error:
        return _wrong_use(str(error))
    _need_terminal()
    seats = Seats(seats_folder(), url, new=arguments.new)
    options = replace(
        _options(arguments, url),
        table=arguments.table,
        watch=arguments.watch,
        seats=seats,
        access=_access(arguments),
    )
    return told(asyncio.run(_visited(options)))


async def _visited(options: "Options") -> "Visit":
    """Visit a server, and ask for its password if it wants one."""
    import getpass

    from client.ui.app import visit

    while True:
        visited = await visit(options)
        if not visited.password_wanted or not sys.stdin.isatty():
            return visited
        print(visited.sentence, flush=True)
        try:
            password = getpass.getpass(_("Password: "))
        except EOFError:
            return visited
        options = replace(options, access=replace(options.access, password=password))


def _add_access(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--tls-ca",
        type=Path,
        metavar="FILE",
        help=_("with wss://, trust the certificates that this file vouches for"),
    )
    _add_password(command, _("the server's password is this file's first line"))


def _add_password(command: argparse.ArgumentParser, meaning: str) -> None:
    also = _("also: the environment's {variable}").format(variable=_PASSWORD)
    command.add_argument("--password-file", type=Path, metavar="FILE", help=f"{meaning} ({also})")


_PASSWORD = "PALATINUS_PASSWORD"


def _password(arguments: argparse.Namespace) -> str | None:
    """Return the password of the file or the environment; raises _WrongUse if it can be none."""
    from protocol.limits import PASSWORD_LENGTH

    file = arguments.password_file
    if file is None:
        password = os.environ.get(_PASSWORD) or None
    else:
        try:
            password = file.read_text(encoding="utf-8").partition("\n")[0].strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or _("it is not UTF-8 text")
            raise _WrongUse(_("cannot read {file}: {reason}").format(file=file, reason=reason)) from error
        if not password:
            raise _WrongUse(_("{file} holds no password: write one on its first line").format(file=file))
    if password is not None and len(password) > PASSWORD_LENGTH:
        raise _WrongUse(_("the password is too long: at most {most} characters").format(most=PASSWORD_LENGTH))
    return password


def _access(arguments: argparse.Namespace) -> "Access":
    """Return what is needed to be let in; raises _WrongUse if a file does not hold it."""
    import ssl

    from client.line import Access

    tls, file = None, arguments.tls_ca
    if file is not None:
        try:
            tls = ssl.create_default_context(cafile=file)
        except ssl.SSLError as error:
            raise _WrongUse(_("{file} holds no certificate (PEM)").format(file=file)) from error
        except OSError as error:
            raise _WrongUse(
                _("cannot read {file}: {reason}").format(file=file, reason=error.strerror)
            ) from error
    return Access(tls, _password(arguments))


def _add_looks(command: argparse.ArgumentParser) -> None:
    command.add_argument("--name", help=_("what others call you (default: your login name)"))
    _add_drawing(command)


def _add_drawing(command: argparse.ArgumentParser) -> None:
    command.add_argument("--ascii", action="store_true", help=_("draw with ASCII characters only"))
    command.add_argument(
        "--theme",
        choices=[*Theme],
        default=Theme.AUTO,
        help=_("what the terminal draws on (default: as it tells, else colours that fit both)"),
    )
    command.add_argument(
        "--colours",
        choices=[*Colours],
        default=Colours.AUTO,
        help=_("how many colours it has (default: as it tells)"),
    )


def _options(arguments: argparse.Namespace, url: str) -> "Options":
    from client.names import default_name
    from client.preferences import preferences_file, remembered
    from client.ui.app import Options

    known = remembered(preferences_file()) if arguments.name is None else None
    name = arguments.name or (known and known.name) or default_name()
    return Options(url, name, ascii=arguments.ascii)


def _add_bot(commands: "Commands") -> None:
    bot = commands.add_parser("bot", help=_("let bots play on a server"))
    bot.add_argument("server", help=_("ws://HOST:PORT"))
    bot.add_argument("table", nargs="?", type=_table_code, help=_("a table's code; without it they open one"))
    bot.add_argument(
        "--brain",
        default="greedy",
        metavar="BRAIN[,BRAIN...]",
        help=_("random, greedy (default), or your own as module:attribute; several are dealt out in turn"),
    )
    bot.add_argument(
        "--players", type=int, default=2, metavar="N", help=_("players at a new table (default: 2)")
    )
    bot.add_argument("--seats", type=int, default=1, metavar="N", help=_("seats that bots take (default: 1)"))
    bot.add_argument(
        "--games", type=int, default=1, metavar="N", help=_("games to play, one table each (default: 1)")
    )
    bot.add_argument("--seed", type=int, help=_("let the bots choose the same again; the server draws anew"))
    bot.add_argument("--random-layout", action="store_true", help=_("tiles at random at a new table"))
    bot.add_argument("--rematch", action="store_true", help=_("play again when others at the table do"))
    bot.add_argument(
        "--absence",
        default="wait",
        metavar="POLICY",
        help=_(
            "at a new table, who moves for players who are away or slow: wait (default), move-clock:60, "
            "game-clock:30m, vote:2m, bot:60s"
        ),
    )
    _add_access(bot)
    bot.set_defaults(run=_bot)


def _bot(arguments: argparse.Namespace) -> int:
    import asyncio

    from client.absence import BadPolicy, policy_named
    from client.address import BadAddress, server_url
    from client.bots.runner import BotOptions, run_bots

    sys.path.insert(0, str(Path.cwd()))  # a brain of one's own lies where one is
    try:
        url, absence = server_url(arguments.server), policy_named(arguments.absence)
    except (BadAddress, BadPolicy) as error:
        return _wrong_use(str(error))
    options = BotOptions(
        url,
        arguments.table,
        tuple(arguments.brain.split(",")),
        arguments.players,
        arguments.seats,
        arguments.games,
        arguments.seed,
        arguments.random_layout,
        arguments.rematch,
        absence,
        _access(arguments),
    )
    return asyncio.run(run_bots(options, sys.stdout))


def _add_serve(commands: "Commands") -> None:
    serve = commands.add_parser("serve", help=_("host games for the LAN"))
    serve.add_argument("--host", default="0.0.0.0", help=_("address to listen on (default: all)"))  # noqa: S104 - a LAN host
    serve.add_argument("--port", type=_port, default=DEFAULT_PORT, help=_("port (default: %(default)s)"))
    where = serve.add_mutually_exclusive_group()
    where.add_argument("--data", type=Path, metavar="DIR", help=_("where to keep running games"))
    where.add_argument("--memory", action="store_true", help=_("keep nothing: games end with the server"))
    serve.add_argument(
        "--records", type=Path, metavar="DIR", help=_("write every finished game's record here")
    )
    serve.add_argument(
        "--durable",
        choices=("normal", "full"),
        default="normal",
        help=_("full: no move is lost in a power cut either; every move waits for the disk"),
    )
    serve.add_argument("--tls-cert", type=Path, metavar="FILE", help=_("certificate chain, for wss://"))
    serve.add_argument("--tls-key", type=Path, metavar="FILE", help=_("private key, if not in --tls-cert"))
    _add_password(serve, _("let in only who knows the password in this file's first line"))
    serve.add_argument(
        "--max-tables",
        type=_positive,
        metavar="N",
        default=500,
        help=_("tables at once (default: %(default)s)"),
    )
    serve.add_argument(
        "--tables-per-minute",
        type=_positive,
        metavar="N",
        help=_("tables opened from one address in a minute (default: 120, 30 of them from one connection)"),
    )
    serve.add_argument(
        "--max-connections",
        type=_positive,
        metavar="N",
        default=1000,
        help=_("connections at once (default: %(default)s)"),
    )
    serve.add_argument(
        "--connections-per-address",
        type=_positive,
        metavar="N",
        default=250,
        help=_("connections at once from one address (default: %(default)s)"),
    )
    serve.add_argument(
        "--rate",
        type=_positive,
        metavar="N",
        default=20,
        help=_("messages a second from one client (default: %(default)s)"),
    )
    serve.add_argument("-v", "--verbose", action="store_true", help=_("log who comes and goes"))
    serve.add_argument(
        "--metrics",
        action=argparse.BooleanOptionalAction,
        help=_("answer /healthz and /metrics (default: only where no other machine can ask)"),
    )
    serve.add_argument("--log-json", action="store_true", help=_("log one JSON object a line"))
    serve.set_defaults(run=_serve)


def _serve(arguments: argparse.Namespace) -> int:
    from client.bots.greedy import greedy
    from server.command import only_here, serve
    from server.config import Config, Limits
    from server.logs import log_to

    limits = Limits(
        tables=arguments.max_tables,
        connections=arguments.max_connections,
        connections_per_address=arguments.connections_per_address,
        rate=arguments.rate,
    )
    if (most := arguments.tables_per_minute) is not None:
        limits = replace(limits, tables_per_connection=most, tables_per_address=most)
    config = Config(
        host=arguments.host,
        port=arguments.port,
        data=None if arguments.memory else arguments.data or _data_folder(),
        durable=arguments.durable,
        records=arguments.records,
        tls_cert=arguments.tls_cert,
        tls_key=arguments.tls_key,
        password=_password(arguments),
        stand_in=greedy,
        watched=only_here(arguments.host) if arguments.metrics is None else arguments.metrics,
        limits=limits,
    )
    log_to(sys.stderr, verbose=arguments.verbose, as_json=arguments.log_json)
    return serve(config, sys.stdout, sys.stderr)


def _data_folder() -> Path:
    import platformdirs

    return platformdirs.user_data_path("palatinus", appauthor=False)


def _add_tables(commands: "Commands") -> None:
    tables = commands.add_parser("tables", help=_("look at the games a server has kept, or remove them"))
    _add_data(tables, default=None)
    tables.set_defaults(run=_tables_listed)
    actions = tables.add_subparsers(title=_("commands"), metavar=_("COMMAND"))
    listing = actions.add_parser("list", help=_("list all tables (this is done if no command is given)"))
    listing.set_defaults(run=_tables_listed)
    show = actions.add_parser("show", help=_("show one table"))
    show.add_argument("--open", action="store_true", help=_("show what wolf pieces of a running game are"))
    show.add_argument("--ascii", action="store_true", help=_("draw with ASCII characters only"))
    show.set_defaults(run=_table_shown)
    export = actions.add_parser("export", help=_("write a game's record"))
    export.set_defaults(run=_table_exported)
    removal = actions.add_parser("remove", help=_("remove tables for good"))
    removal.add_argument("--yes", action="store_true", help=_("do not ask first"))
    removal.set_defaults(run=_tables_removed)
    for action in (show, export):
        action.add_argument("code", type=str.upper, metavar="CODE", help=_("a table's code"))
    export.add_argument(
        "file", nargs="?", help=_("where to, - for standard output (default: CODE.txt, if there is none yet)")
    )
    removal.add_argument("codes", type=str.upper, nargs="+", metavar="CODE", help=_("a table's code"))
    for action in (listing, show, export, removal):
        _add_data(action, default=argparse.SUPPRESS)  # what stands before the command counts as well
        _add_language(action)


def _add_data(command: argparse.ArgumentParser, default: str | None) -> None:
    help_text = _("where the server keeps games")
    command.add_argument("--data", type=Path, metavar="DIR", default=default, help=help_text)


@contextlib.contextmanager
def _opened(arguments: argparse.Namespace) -> "Iterator[DataFolder]":
    """Open the data folder that is meant; raises _WrongUse if that cannot be."""
    from server.data_folder import DataFolder
    from server.journal_file import JournalError

    try:
        with DataFolder(arguments.data or _data_folder()) as folder:
            yield folder
    except JournalError as error:
        raise _WrongUse(str(error)) from error


def _stored(folder: "DataFolder", code: str) -> "StoredTable":
    if (table := folder.table(code)) is None:
        raise _WrongUse(_("there is no table {code}").format(code=code))
    return table


def _tables_listed(arguments: argparse.Namespace) -> int:
    from client.stored_tables import listing

    with _opened(arguments) as folder:
        print(*listing(folder.tables()), sep="\n")
    return 0


def _table_shown(arguments: argparse.Namespace) -> int:
    from client.recording import Recording
    from client.stored_tables import progress, summary
    from client.ui.export import as_text
    from engine.view import SPECTATOR

    with _opened(arguments) as folder:
        table = _stored(folder, arguments.code)
        events = folder.game(table.code)
    print(*summary(table), sep="\n")
    if events:
        recording = Recording.of(events, dict(enumerate(table.names)))
        everything = arguments.open or table.stage == "over"
        eyes = recording.all_eyes if everything else SPECTATOR
        print(progress(recording, eyes))
        print(as_text(recording, recording.end, eyes, ascii_only=arguments.ascii), end="")
    return 0


def _table_exported(arguments: argparse.Namespace) -> int:
    from engine.record import recorded

    with _opened(arguments) as folder:
        table = _stored(folder, arguments.code)
        events = folder.game(table.code)
    if not events:
        raise _WrongUse(_("the game of table {code} has not begun").format(code=table.code))
    content = recorded(events, table.names).encode()
    file = arguments.file or f"{table.code}.txt"
    if file == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    else:
        try:
            with Path(file).open("wb" if arguments.file else "xb") as out:
                out.write(content)
        except OSError as error:
            text = _("cannot write {file}: {reason}").format(file=file, reason=error.strerror)
            raise _WrongUse(text) from error
    if table.stage == "playing":
        print(_("This game is running: the record tells what all wolf pieces are."), file=sys.stderr)
    return 0


def _tables_removed(arguments: argparse.Namespace) -> int:
    from client.stored_tables import listing

    with _opened(arguments) as folder:
        codes = list(dict.fromkeys(arguments.codes))
        tables = [_stored(folder, code) for code in codes]
        if not arguments.yes:
            if not sys.stdin.isatty():
                raise _WrongUse(_("nobody is here to be asked: add --yes to remove without a question"))
            print(*listing(tables), sep="\n")
            form = counted("Remove {n} table for good?", "Remove {n} tables for good?", len(tables))
            yes = _("y")
            try:
                answer = input(f"{form.format(n=len(tables))} [{yes}/N] ")
            except EOFError:
                answer = ""
            if answer.strip().casefold() != yes:
                return 1
        folder.remove(codes)
    return 0


def _add_score(commands: "Commands") -> None:
    score = commands.add_parser("score", help=_("score final positions, one JSON object a line"))
    score.add_argument("file", help=_("a file of positions, or - for standard input"))
    score.set_defaults(run=_score)


def _score(arguments: argparse.Namespace) -> int:
    from engine.final import scored_line

    try:
        content = sys.stdin.buffer.read() if arguments.file == "-" else Path(arguments.file).read_bytes()
    except OSError as error:
        return _wrong_use(
            _("cannot read {file}: {reason}").format(file=arguments.file, reason=error.strerror)
        )
    if not content.strip():
        return _wrong_use(_("{file} is empty: write one position a line").format(file=arguments.file))
    for number, line in enumerate(content.rstrip().split(b"\n"), start=1):
        try:
            print(scored_line(line.decode()))
        except ValueError as error:
            return _wrong_use(_("line {number}: {reason}").format(number=number, reason=error))
    return 0


def _wrong_use(text: str) -> int:
    sys.stdout.flush()  # so that what went well stands before the complaint
    print(f"palatinus: {text}", file=sys.stderr)
    return 2


def _add_check(commands: "Commands") -> None:
    check = commands.add_parser("check", help=_("replay a game's record and print its result"))
    check.add_argument("file", help=_("a record, or - for standard input"))
    check.set_defaults(run=_check)


def _check(arguments: argparse.Namespace) -> int:
    game = _replayed(arguments.file)[0]
    if (result := game.view.result) is None:
        left = game.view.to_place
        form = counted(
            "{file}: a running game of {players} players, {left} piece still to place",
            "{file}: a running game of {players} players, {left} pieces still to place",
            left,
        )
        print(form.format(file=arguments.file, players=game.view.seats, left=left))
    else:
        seats = [_("seat {number}").format(number=seat) for seat in range(game.view.seats)]
        points = ", ".join(
            f"{seat} {tally.points}" for seat, tally in zip(seats, result.tallies, strict=True)
        )
        winners = [seats[seat] for seat in result.winners]
        told = _("{file}: a finished game; points: {points}; won by {winners}")
        print(told.format(file=arguments.file, points=points, winners=listed(winners)))
    return 0


def _replayed(file: str) -> "tuple[Game, str]":
    """Return the game that a record tells, and its text; raises _WrongUse if there is no such game."""
    from engine.errors import DamagedRecord
    from engine.record import replayed

    content = b""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        text = content.decode()
        return replayed(text), text
    except OSError as error:
        raise _WrongUse(_("cannot read {file}: {reason}").format(file=file, reason=error.strerror)) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _WrongUse(
            _("{file}: line {number}: it is not UTF-8 text").format(file=file, number=line)
        ) from error
    except DamagedRecord as error:
        raise _WrongUse(f"{file}: {error}") from error


def _add_replay(commands: "Commands") -> None:
    replay = commands.add_parser("replay", help=_("look through a game's record"))
    _add_moment(replay, _("start at this move (default: 0)"))
    _add_drawing(replay)
    replay.set_defaults(run=_replay)


def _replay(arguments: argparse.Namespace) -> int:
    import asyncio

    from client.ui.replay_app import run

    recording = _recording(arguments.file)
    stop, eyes = _stop(arguments.at, recording, default=0), _eyes(arguments.eyes, recording)
    _need_terminal()
    return asyncio.run(run(recording, stop, eyes, ascii_wanted=arguments.ascii))


def _add_export(commands: "Commands") -> None:
    export = commands.add_parser("export", help=_("draw the board of a game's record"))
    _add_moment(export, _("the board after this move (default: at the end, when a finished game is scored)"))
    form = export.add_mutually_exclusive_group(required=True)
    form.add_argument("--svg", metavar="OUT", help=_("write a picture to this file, - for standard output"))
    form.add_argument("--text", metavar="OUT", help=_("write the board as text"))
    form.add_argument("--json", metavar="OUT", help=_("write all that is known as JSON"))
    export.add_argument("--ascii", action="store_true", help=_("with --text: ASCII characters only"))
    export.set_defaults(run=_export)


def _export(arguments: argparse.Namespace) -> int:
    from client.ui import export

    recording = _recording(arguments.file)
    stop, eyes = _stop(arguments.at, recording, default=recording.end), _eyes(arguments.eyes, recording)
    if arguments.svg is not None:
        out, content = arguments.svg, export.as_svg(recording, stop, eyes)
    elif arguments.text is not None:
        out, content = arguments.text, export.as_text(recording, stop, eyes, ascii_only=arguments.ascii)
    else:
        out, content = arguments.json, export.as_json(recording, stop, eyes)
    if out == "-":
        sys.stdout.buffer.write(content.encode())
        sys.stdout.flush()
        return 0
    try:
        Path(out).write_bytes(content.encode())
    except OSError as error:
        return _wrong_use(_("cannot write {file}: {reason}").format(file=out, reason=error.strerror))
    return 0


def _add_moment(command: argparse.ArgumentParser, at: str) -> None:
    command.add_argument("file", help=_("a record, or - for standard input"))
    command.add_argument("--at", type=_move, metavar="N", help=at)
    command.add_argument(
        "--eyes",
        metavar="SEAT|all|none",
        default="all",
        help=_("who sees it: a seat from 0, all (default), none"),
    )


def _recording(file: str) -> "Recording":
    from client.recording import Recording
    from engine.record import names_in

    game, text = _replayed(file)
    return Recording.of(game.events, names_in(text))


def _stop(at: int | None, recording: "Recording", *, default: int) -> int:
    if at is None:
        return default
    if at > recording.moves:
        raise _WrongUse(
            _("there is no move {number}: --at takes 0 to {last}").format(number=at, last=recording.moves)
        )
    return at


def _eyes(text: str, recording: "Recording") -> "Eyes":
    from engine.pieces import Seat
    from engine.view import SPECTATOR, eyes_of

    if text == "all":
        return recording.all_eyes
    if text == "none":
        return SPECTATOR
    if text not in map(str, recording.seats):
        told = _("there are no eyes {eyes}: --eyes takes {seats}, all or none")
        raise _WrongUse(told.format(eyes=repr(text), seats=", ".join(map(str, recording.seats))))
    return eyes_of(Seat(int(text)))


def _move(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 4:
        return int(text)
    raise argparse.ArgumentTypeError(_("{word} is no move: count from 0").format(word=repr(text)))


def _table_code(text: str) -> str:
    code = text.upper()
    if re.fullmatch(r"[A-Z]{4}", code) is None:
        raise argparse.ArgumentTypeError(
            _("{text} is no table's code: it has four letters, such as KRTV").format(text=repr(text))
        )
    return code


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(_("{word} is no port: choose 0 to 65535").format(word=repr(text)))


def _positive(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(_("{word} is no number above zero").format(word=repr(text)))


if __name__ == "__main__":
    sys.exit(main())

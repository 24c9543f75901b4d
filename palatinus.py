"""The command line: the one place that knows both server and client."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

DEFAULT_PORT = 7733


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 for a failure on the way, 2 for wrong use."""
    arguments = _parser().parse_args(argv)
    run = arguments.run
    code: int = run(arguments)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="palatinus",
        description="Palatinus: the seven hills of Rome, over the network and in the terminal.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_serve(commands)
    _add_score(commands)
    _add_check(commands)
    return parser


_Commands = argparse._SubParsersAction  # noqa: SLF001 - argparse has no public name for it


def _add_serve(commands: "_Commands[argparse.ArgumentParser]") -> None:
    serve = commands.add_parser("serve", help="host games for the LAN")
    serve.add_argument("--host", default="0.0.0.0", help="address to listen on (default: all)")  # noqa: S104 - a LAN host
    serve.add_argument("--port", type=_port, default=DEFAULT_PORT, help="port (default: %(default)s)")
    where = serve.add_mutually_exclusive_group()
    where.add_argument("--data", type=Path, metavar="DIR", help="where to keep running games")
    where.add_argument("--memory", action="store_true", help="keep nothing: games end with the server")
    serve.add_argument("--records", type=Path, metavar="DIR", help="write every finished game's record here")
    serve.add_argument("--tls-cert", type=Path, metavar="FILE", help="certificate chain, for wss://")
    serve.add_argument("--tls-key", type=Path, metavar="FILE", help="private key, if not in --tls-cert")
    serve.add_argument("--max-tables", type=_positive, metavar="N", help="tables at once")
    serve.add_argument("--max-connections", type=_positive, metavar="N", help="connections at once")
    serve.add_argument("--rate", type=_positive, metavar="N", help="messages a second from one client")
    serve.add_argument("-v", "--verbose", action="store_true", help="log who comes and goes")
    serve.set_defaults(run=_serve)


def _serve(arguments: argparse.Namespace) -> int:
    import platformdirs

    from server.command import log_to, serve
    from server.config import Config, Limits

    data = arguments.data or platformdirs.user_data_path("palatinus", appauthor=False)
    chosen = {
        "tables": arguments.max_tables,
        "connections": arguments.max_connections,
        "connections_per_address": arguments.max_connections,
        "rate": arguments.rate,
    }
    config = Config(
        host=arguments.host,
        port=arguments.port,
        data=None if arguments.memory else data,
        records=arguments.records,
        tls_cert=arguments.tls_cert,
        tls_key=arguments.tls_key,
        limits=Limits(**{name: value for name, value in chosen.items() if value is not None}),
    )
    log_to(sys.stderr, verbose=arguments.verbose)
    return serve(config, sys.stdout, sys.stderr)


def _add_score(commands: "_Commands[argparse.ArgumentParser]") -> None:
    score = commands.add_parser("score", help="score final positions, one JSON object a line")
    score.add_argument("file", help="a file of positions, or - for standard input")
    score.set_defaults(run=_score)


def _score(arguments: argparse.Namespace) -> int:
    from engine.final import scored_line

    try:
        content = sys.stdin.buffer.read() if arguments.file == "-" else Path(arguments.file).read_bytes()
    except OSError as error:
        return _wrong_use(f"cannot read {arguments.file}: {error.strerror}")
    for number, line in enumerate(content.rstrip().split(b"\n"), start=1):
        try:
            print(scored_line(line.decode()))
        except ValueError as error:
            return _wrong_use(f"line {number}: {error}")
    return 0


def _wrong_use(text: str) -> int:
    sys.stdout.flush()  # so that what went well stands before the complaint
    print(f"palatinus: {text}", file=sys.stderr)
    return 2


def _add_check(commands: "_Commands[argparse.ArgumentParser]") -> None:
    check = commands.add_parser("check", help="replay a game's record and print its result")
    check.add_argument("file", help="a record")
    check.set_defaults(run=_check)


def _check(arguments: argparse.Namespace) -> int:
    from engine.record import replayed

    from engine.errors import DamagedRecord

    try:
        game = replayed(Path(arguments.file).read_text(encoding="utf-8"))
    except OSError as error:
        return _wrong_use(f"cannot read {arguments.file}: {error.strerror}")
    except (DamagedRecord, UnicodeDecodeError) as error:
        return _wrong_use(f"{arguments.file}: {error}")
    print(len(game.events))
    return 0


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no port: choose 0 to 65535")


def _positive(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no number above zero")


if __name__ == "__main__":
    sys.exit(main())

"""`palatinus serve`: a server for others."""

import argparse
import contextlib
import functools
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import platformdirs

from client.language import _, spoken
from commands.guests.command import need_asyncssh
from commands.guests.process import DoorProcess, announcement
from commands.parsing import WrongUse, describe_host_error
from commands.serving.configuration import Setting, options_in, printed, settings
from commands.serving.options import ServeOptions, add_serve_options, show_default
from commands.serving.server_config import check, pages, server_config
from commands.serving.start_messages import attendance_printer, print_name, print_start
from server.errors import HostError
from server.logs import log_to
from server.net.addresses import only_here
from server.process import Renewal, serve

_RENEWED: Final = frozenset(
    {"tls-cert", "tls-key", "trust-proxy", "proxy-protocol", "password-file", "lobby-chat", "verbose"}
)  # by SIGHUP


def add_serve(serve: argparse.ArgumentParser) -> None:
    add_serve_options(serve)
    file = serve.add_mutually_exclusive_group()
    meaning = _("read options from this TOML file (default: %(default)s, if it exists)")
    show_default(file.add_argument("--config", type=Path, metavar="FILE", help=meaning), _usual_file())
    file.add_argument("--no-config", action="store_true", help=_("do not read a configuration file"))
    serve.add_argument(
        "--print-config", action="store_true", help=_("print the options in use as a TOML file, and exit")
    )
    serve.set_defaults(run=_serve)


def _serve(arguments: argparse.Namespace) -> int:
    file = _file(arguments)
    found = settings(arguments, file)
    chosen = options_in(found)
    check(chosen)
    if arguments.print_config:
        print("\n".join(printed(found)))
        return 0
    config = server_config(chosen)
    if not arguments.announced:
        config = replace(config, announce=None)
    if config.announce is not None:
        config = replace(config, announce=replace(config.announce, told=print_name))
    if sys.stdout.isatty():
        config = replace(config, attendance=attendance_printer())
    log_to(sys.stderr, verbose=chosen.verbose, as_json=chosen.log_json)

    def read_again() -> Renewal:
        try:
            now = settings(arguments, _file(arguments))
            chosen = options_in(now)
            check(chosen)
            return Renewal(server_config(chosen), chosen.verbose, _waiting(found, now))
        except WrongUse as error:
            raise HostError("{reason}", reason=error) from error

    door = None if chosen.ssh is None else _door(chosen, chosen.ssh)
    open_to_all = not (only_here(config.host) or config.tls_cert or config.password)
    told = []
    if door is not None:
        opened = door.start()
        told = [announcement(chosen.host, opened.port, opened.fingerprint)]
        config = replace(
            config, gateway=functools.partial(door.let_in, called=f"ws://127.0.0.1:{chosen.port}")
        )
        if chosen.web:
            config = replace(config, pages=pages(opened.port))

    def started(addresses: list[str]) -> None:
        print_start(addresses, file, told, web=chosen.web, open_to_all=open_to_all)

    try:
        serve(config, started, read_again)
    except HostError as error:
        raise WrongUse(f"{describe_host_error(error)}.") from error
    finally:
        if door is not None:
            door.close()
    with contextlib.suppress(OSError):  # the terminal that it was started in may be gone
        print(_("Palatinus has stopped."), flush=True)
    return 0


def _waiting(before: Sequence[Setting], now: Sequence[Setting]) -> tuple[str, ...]:
    """Return the names of options that have changed but wait for a restart."""
    return tuple(
        new.option.key
        for old, new in zip(before, now, strict=True)
        if old.value != new.value and new.option.key not in _RENEWED
    )


def _file(arguments: argparse.Namespace) -> Path | None:
    """Return the configuration file to read: the one given, or the usual one if it exists."""
    if arguments.no_config:
        return None
    if arguments.config is not None:
        return Path(arguments.config)
    usual = _usual_file()
    try:
        return usual if usual.exists() else None
    except OSError:  # a home that a service may not look into
        return None


def _usual_file() -> Path:
    return platformdirs.user_config_path("palatinus", appauthor=False) / "serve.toml"


def _door(chosen: ServeOptions, ssh: int) -> DoorProcess:
    """Return the process for guests over ssh; raises WrongUse if it cannot be."""
    need_asyncssh()
    if chosen.memory:
        raise WrongUse(_("--ssh needs a data folder, for its key and the guests' seats: leave out --memory"))
    return DoorProcess(
        ssh,
        (
            *("--host", chosen.host, "--data", str(chosen.data)),
            *("--max-guests", str(chosen.max_guests)),
            *("--guests-per-address", str(chosen.guests_per_address)),
            *(("--verbose",) if chosen.verbose else ()),
            *(("--log-json",) if chosen.log_json else ()),
            *("--lang", spoken()),
        ),
    )

"""`palatinus serve`: a server for others."""

import argparse
import contextlib
import functools
import itertools
import os
import queue
import shlex
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import platformdirs

from client.language import WrongUse, _, current_language
from client.typed_text import describe_found_as, server_url
from commands.arguments import PASSWORD_VARIABLE, password_of
from commands.parsing import shows_pictures
from commands.serving import options
from commands.serving.notices import postman
from discovery.interfaces import switched_off
from discovery.names import default_name
from gateway.process import GatewayProcess, describe_ways_in, need_asyncssh
from hosting.levels import with_bots
from protocol.admin import EveningPlan
from protocol.text import printable
from server.admin.endpoint import SOCKET_NAME
from server.config import Announce, Config, Limits, Website
from server.errors import HostError
from server.monitoring.logs import log_to
from server.net.addresses import only_here
from server.process import Renewal, serve
from server.storage.records import MOST_KEPT


def check_options(chosen: options.ServeOptions) -> None:
    if chosen.password_file is None and (os.environ.get(PASSWORD_VARIABLE) == ""):
        text = _("{variable} is empty: put the password in it, or unset it")
        raise WrongUse(text.format(variable=PASSWORD_VARIABLE))
    if chosen.memory and chosen.durable == "full":
        text = _("--memory keeps nothing on disk, so --durable full has no effect: leave out one of them")
        raise WrongUse(text)
    if chosen.address is not None:
        server_url(chosen.address)
    if chosen.memory and chosen.database is not None:
        raise WrongUse(_("--memory keeps nothing, so --database has no effect: leave out one of them"))
    if chosen.proxy_protocol and not chosen.trust_proxy:
        raise WrongUse(_("--proxy-protocol needs --trust-proxy, with the address of the proxy"))
    if chosen.admin and chosen.memory and chosen.admin_socket is None:
        raise WrongUse(_("--admin with --memory needs --admin-socket: there is no data folder to listen in"))


def server_config(chosen: options.ServeOptions) -> Config:
    """Return the configuration; raises WrongUse if a password cannot be read."""
    data = None if chosen.memory else chosen.data
    records, most_records = chosen.records, chosen.records_kept
    if records is None and data is not None and chosen.history is not False:
        records, most_records = data / "records", chosen.records_kept or MOST_KEPT
    if records is None and (chosen.records_kept or chosen.records_days):
        raise WrongUse(_("no records are kept, so --records-kept and --records-days have no effect"))
    config = Config(
        host=chosen.host,
        port=chosen.port,
        data=data,
        database=chosen.database,
        node=chosen.node,
        address="" if chosen.address is None else server_url(chosen.address),
        lease_seconds=chosen.lease,
        durable=chosen.durable,
        records=records,
        most_records=most_records,
        records_days=chosen.records_days,
        tls_cert=chosen.tls_cert,
        tls_key=chosen.tls_key,
        trusted_proxies=tuple(chosen.trust_proxy or ()),
        proxy_header=chosen.proxy_protocol,
        password=password_of(chosen.password_file),
        announce=_announced_as(chosen),
        admin=_admin_socket(chosen),
        pages=web_pages(chosen) if chosen.web else None,
        watched=only_here(chosen.host) if chosen.metrics is None else chosen.metrics,
        human_pace=chosen.bots_pace == "human",
        postman=postman(chosen),
        lobby_chat=chosen.lobby_chat,
        limits=_limits(chosen),
        evening=evening_plan(chosen),
    )
    return with_bots(config, chosen.stand_in, seated=chosen.bots)


def web_pages(chosen: options.ServeOptions, ssh_port: int | None = None) -> Website:
    """Return what draws the pages for browsers, which say at which port there is ssh."""
    from pages.drawing.pages import WebPages  # a server without them needs nothing that draws

    return WebPages(ssh_port=ssh_port, plays=chosen.web != "watch")


def evening_plan(chosen: options.ServeOptions) -> EveningPlan | None:
    """Return the evening to be held, if there is one; raises WrongUse if there cannot be."""
    if chosen.evening is None:
        return None
    if chosen.database is not None:
        raise WrongUse(_("servers that share a database cannot hold an evening: leave out one of them"))
    if chosen.evening_bots is not None and not chosen.bots:
        raise WrongUse(_("--evening-bots needs bots: leave out --no-bots"))
    rounds, minutes = chosen.evening_rounds or 0, chosen.evening_minutes
    return options.checked_plan(
        EveningPlan(chosen.evening, rounds, minutes, chosen.evening_same_draws, chosen.evening_bots)
    )


def _announced_as(chosen: options.ServeOptions) -> Announce | None:
    """Return how the server is announced: not if only this computer reaches it, unless it is asked for."""
    wanted = not only_here(chosen.host) if chosen.announce is None else chosen.announce
    if not wanted or switched_off():
        return None
    return Announce(chosen.name or default_name(), print_name)


def _admin_socket(chosen: options.ServeOptions) -> Path | None:
    """Return where to listen for `palatinus admin`: without a data folder, nowhere unless told where."""
    if chosen.admin is False:
        return None
    if chosen.admin_socket is not None:
        return chosen.admin_socket
    return None if chosen.memory or chosen.data is None else chosen.data / SOCKET_NAME


def _limits(chosen: options.ServeOptions) -> Limits:
    usual = Limits()
    # Whoever lets more connections come from one address has a proxy, or many people behind it.
    more = max(1.0, chosen.connections_per_address / usual.connections_per_address)
    limits = Limits(
        tables=chosen.max_tables,
        connections=chosen.max_connections,
        connections_per_address=chosen.connections_per_address,
        rate=chosen.rate,
        burst_per_address=round(more * usual.burst_per_address),
        rate_per_address=more * chosen.rate * usual.rate_per_address / usual.rate,
        chat_per_address=round(more * usual.chat_per_address),
        pages_per_address=round(more * usual.pages_per_address),
        bots_cpu=chosen.bots_cpu,
        archived_tables=chosen.archive,
        chat_in_lobby_per_address=round(more * usual.chat_in_lobby_per_address),
        lobby_names_per_address=round(more * usual.lobby_names_per_address),
    )
    if (most := chosen.tables_per_minute) is not None:
        limits = replace(limits, tables_per_connection=most, tables_per_address=most)
    return limits


def describe_evening(config: Config, chosen: options.ServeOptions) -> list[str]:
    """Return how the evening is led, if there is one, and the server listens for the commands."""
    if config.evening is None or config.admin is None:
        return []
    usual = options.ServeOptions()
    where = (
        ("--admin-socket", chosen.admin_socket, usual.admin_socket),
        ("--data", None if chosen.admin_socket else chosen.data, usual.data),
    )
    words = [
        f" {name} {shlex.quote(str(path))}" for name, path, default in where if path not in {None, default}
    ]
    command = f"  palatinus admin{''.join(words)} evening"
    told = []
    if config.evening.rounds:
        told.append(_("Each round of the evening is drawn automatically, or immediately with this command:"))
        told.append(f"{command} draw")
    if chosen.web:
        told.append(_("The evening can be hosted in a browser, with the link that this command prints:"))
        told.append(f"{command} host")
    return told


_LINES_WAITING: Final = 100  # for the terminal


def print_start(
    addresses: list[str],
    file: Path | None,
    more: Sequence[str],
    *,
    web: bool,
    open_to_all: bool,
) -> None:
    """Print how others join at these addresses, and `more`; `open_to_all` adds a warning."""
    texts = [] if file is None else [_("The configuration is from {file}.").format(file=file)]
    texts.append(_("The server is running. Others join with one of these commands; Ctrl-C stops it."))
    texts += [f"  palatinus join {address}" for address in addresses]
    if web:
        texts.append(_("Browsers show the tables at these addresses:"))
        pages = [f"{address.replace('ws', 'http', 1)}/" for address in addresses]
        texts += [f"  {page}" for page in pages]
        form = _("A television leads everybody through the games at {address}")
        texts.append(form.format(address=f"{pages[0]}tv"))
        if shows_pictures():
            from client.ui.draw.page import qr_rows  # a server without it starts sooner

            texts.append(_("On a phone, this code opens the first one:"))
            texts += [f"  {row}" for row in qr_rows(pages[0])]
    texts += more
    if open_to_all:
        form = _(
            "Anyone who can reach this computer can join, and what players send can be read in "
            "transit. On the internet, use --tls-cert and --password-file."
        )
        texts.append(form)
    with contextlib.suppress(BrokenPipeError):  # nobody reads it any more; the server goes on
        for text in texts:
            _print_wrapped(text)
        sys.stdout.flush()


def print_name(name: str) -> None:
    with contextlib.suppress(OSError):  # nobody reads it any more
        print(describe_found_as(name), flush=True)


def attendance_printer() -> Callable[[str, str, bool], None]:
    """Return what prints who comes to a table, and who leaves it.

    The server does not wait for the terminal, which may be stopped: a thread does, and lines are left out.
    """
    lines = queue.Queue[str](_LINES_WAITING)

    def write() -> None:
        with contextlib.suppress(OSError):  # the terminal is gone
            while line := lines.get():
                os.write(sys.stdout.fileno(), f"{line}\n".encode(sys.stdout.encoding, "replace"))

    def queue_line(name: str, table: str, here: bool) -> None:
        form = _("{name} joins table {code}.") if here else _("{name} leaves table {code}.")
        line = f"{time.strftime('%H:%M:%S')} {form.format(name=printable(name), code=table)}"
        with contextlib.suppress(queue.Full):
            lines.put_nowait(line)

    threading.Thread(target=write, name="attendance", daemon=True).start()
    return queue_line


def _print_wrapped(text: str) -> None:
    """Print a text, broken between words where the terminal ends; a pipe gets it as it is."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        lines = (
            [line]  # a command or an address
            if line.startswith(" ")
            else textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
            for line in text.splitlines()
        )
        text = "\n".join(itertools.chain.from_iterable(lines))
    print(text)


_RENEWED: Final = frozenset(
    {"tls-cert", "tls-key", "trust-proxy", "proxy-protocol", "password-file", "lobby-chat", "verbose"}
)  # by SIGHUP


def add_serve(serve: argparse.ArgumentParser) -> None:
    options.add_serve_options(serve)
    file = serve.add_mutually_exclusive_group()
    meaning = _("read options from this TOML file (default: %(default)s, if it exists)")
    options.show_default(file.add_argument("--config", type=Path, metavar="FILE", help=meaning), usual_file())
    file.add_argument("--no-config", action="store_true", help=_("do not read a configuration file"))
    serve.add_argument(
        "--print-config", action="store_true", help=_("print the options in use as a TOML file, and exit")
    )


def run_serve(arguments: argparse.Namespace) -> int:
    file = _file(arguments)
    found = options.read_settings(arguments, file)
    chosen = options.options_in(found)
    check_options(chosen)
    if arguments.print_config:
        print("\n".join(options.toml_lines(found)))
        return 0
    config = server_config(chosen)
    if not arguments.announced:
        config = replace(config, announce=None)
    if sys.stdout.isatty():
        config = replace(config, attendance=attendance_printer())
    log_to(sys.stderr, verbose=chosen.verbose, as_json=chosen.log_json)

    def read_again() -> Renewal:
        try:
            now = options.read_settings(arguments, _file(arguments))
            chosen = options.options_in(now)
            check_options(chosen)
            changed = [new.option.key for old, new in zip(found, now, strict=True) if old.value != new.value]
            waiting = tuple(key for key in changed if key not in _RENEWED)
            return Renewal(server_config(chosen), chosen.verbose, waiting)
        except WrongUse as error:
            raise HostError("{reason}", reason=error) from error

    gateway = None if chosen.ssh is None else _gateway(chosen, chosen.ssh)
    open_to_all = not (only_here(config.host) or config.tls_cert or config.password)
    told = []
    if gateway is not None:
        gateway.start()
        told = [describe_ways_in(chosen.host, gateway.port, gateway.fingerprint)]
        let_in = functools.partial(gateway.let_in, called=f"ws://127.0.0.1:{chosen.port}")
        config = replace(config, gateway=let_in)
        if chosen.web:
            config = replace(config, pages=web_pages(chosen, gateway.port))

    def report_start(addresses: list[str]) -> None:
        more = [*describe_evening(config, chosen), *told]
        print_start(addresses, file, more, web=bool(chosen.web), open_to_all=open_to_all)

    try:
        serve(config, report_start, read_again)
    finally:
        if gateway is not None:
            gateway.close()
    with contextlib.suppress(OSError):  # the terminal that it was started in may be gone
        print(_("Palatinus has stopped."), flush=True)
    return 0


def _file(arguments: argparse.Namespace) -> Path | None:
    """Return the configuration file to read: the one given, or the usual one if it exists."""
    if arguments.no_config:
        return None
    if arguments.config is not None:
        return Path(arguments.config)
    usual = usual_file()
    try:
        return usual if usual.exists() else None
    except OSError:  # a home that a service may not look into
        return None


def usual_file() -> Path:
    return platformdirs.user_config_path("palatinus", appauthor=False) / "serve.toml"


def _gateway(chosen: options.ServeOptions, ssh: int) -> GatewayProcess:
    """Return the process for guests over ssh; raises WrongUse if it cannot be."""
    need_asyncssh()
    if chosen.memory:
        raise WrongUse(_("--ssh needs a data folder, for its key and the guests' seats: leave out --memory"))
    return GatewayProcess(
        ssh,
        (
            *("--host", chosen.host, "--data", str(chosen.data)),
            *("--max-guests", str(chosen.max_guests)),
            *("--guests-per-address", str(chosen.guests_per_address)),
            *(("--verbose",) if chosen.verbose else ()),
            *(("--log-json",) if chosen.log_json else ()),
            *("--lang", current_language()),
        ),
    )

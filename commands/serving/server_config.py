"""The server's configuration, as the options of `palatinus serve` make it."""

from dataclasses import replace
from pathlib import Path

from client.language import _
from client.typed_text import BadText, server_url
from commands.access import PASSWORD_VARIABLE, password_is_empty, password_of
from commands.finished_games.past_games import MOST_KEPT
from commands.levels import with_bots
from commands.parsing import WrongUse
from commands.serving.options import ServeOptions
from discovery.interfaces import switched_off
from discovery.names import default_name
from server.admin.endpoint import SOCKET_NAME
from server.config import Announce, Config, Limits, Pages
from server.net.addresses import only_here


def check(chosen: ServeOptions) -> None:
    """Raise WrongUse for options that make no sense together."""
    if chosen.password_file is None and password_is_empty():
        raise WrongUse(
            _("{variable} is empty: put the password in it, or unset it").format(variable=PASSWORD_VARIABLE)
        )
    if chosen.memory and chosen.durable == "full":
        raise WrongUse(
            _("--memory keeps nothing on disk, so --durable full has no effect: leave out one of them")
        )
    if chosen.address is not None:
        try:
            server_url(chosen.address)
        except BadText as error:
            raise WrongUse(str(error)) from error
    if chosen.memory and chosen.database is not None:
        raise WrongUse(_("--memory keeps nothing, so --database has no effect: leave out one of them"))
    if chosen.proxy_protocol and not chosen.trust_proxy:
        raise WrongUse(_("--proxy-protocol needs --trust-proxy, with the address of the proxy"))
    if chosen.admin and chosen.memory and chosen.admin_socket is None:
        raise WrongUse(_("--admin with --memory needs --admin-socket: there is no data folder to listen in"))


def server_config(chosen: ServeOptions) -> Config:
    """Return the configuration; raises WrongUse if a password cannot be read."""
    data = None if chosen.memory else chosen.data
    records, most_records = chosen.records, None
    if records is None and data is not None and chosen.history is not False:
        records, most_records = data / "records", MOST_KEPT
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
        tls_cert=chosen.tls_cert,
        tls_key=chosen.tls_key,
        trusted_proxies=tuple(chosen.trust_proxy or ()),
        proxy_header=chosen.proxy_protocol,
        password=password_of(chosen.password_file),
        announce=_announced_as(chosen),
        admin=_admin_socket(chosen),
        pages=pages() if chosen.web else None,
        watched=only_here(chosen.host) if chosen.metrics is None else chosen.metrics,
        human_pace=chosen.bots_pace == "human",
        lobby_chat=chosen.lobby_chat,
        limits=_limits(chosen),
    )
    return with_bots(config, chosen.stand_in, seated=chosen.bots)


def pages(ssh_port: int | None = None) -> Pages:
    """Return what draws the pages for browsers, which say at which port there is ssh."""
    from client.ui.web.pages import WebPages  # a server without them needs nothing that draws

    return WebPages(ssh_port=ssh_port)


def _announced_as(chosen: ServeOptions) -> Announce | None:
    """Return how the server is announced: not if only this computer reaches it, unless it is asked for."""
    wanted = not only_here(chosen.host) if chosen.announce is None else chosen.announce
    if not wanted or switched_off():
        return None
    return Announce(chosen.name or default_name())


def _admin_socket(chosen: ServeOptions) -> Path | None:
    """Return where to listen for `palatinus admin`: without a data folder, nowhere unless told where."""
    if chosen.admin is False:
        return None
    if chosen.admin_socket is not None:
        return chosen.admin_socket
    return None if chosen.memory or chosen.data is None else chosen.data / SOCKET_NAME


def _limits(chosen: ServeOptions) -> Limits:
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
        chat_in_lobby_per_address=round(more * usual.chat_in_lobby_per_address),
        lobby_names_per_address=round(more * usual.lobby_names_per_address),
    )
    if (most := chosen.tables_per_minute) is not None:
        limits = replace(limits, tables_per_connection=most, tables_per_address=most)
    return limits

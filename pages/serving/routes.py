"""What a browser asks for: where, in which language, and under which address it found the server."""

import re
from operator import itemgetter
from typing import Final
from urllib.parse import urlsplit

from websockets.datastructures import Headers

from protocol.limits import CODE_LENGTH, PRIVATE_CODE_LENGTH
from server.net.addresses import ip_address_of
from server.net.connections.plain_http import PageRequest

_CODE: Final = rf"([A-Za-z]{{{CODE_LENGTH},{PRIVATE_CODE_LENGTH}}})"
_TABLE: Final = re.compile(f"/watch/{_CODE}")
_SEAT: Final = re.compile(f"/play/{_CODE}?")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?")
_PREFIX: Final = re.compile(r"(?:/[A-Za-z0-9._~-]{1,64}){1,8}/?")
_LANGUAGE: Final = re.compile(r"&lang=([a-z]{2})(?:&|\Z)")
_AGAIN: Final = re.compile(r"(?:\A|&)again=1(?=&|\Z)")
_GZIP: Final = re.compile(r"gzip(;q=(1(\.0*)?|0\.\d*[1-9]\d*))?")
_WEIGHT: Final = re.compile(r"q=([01](?:\.\d{0,3})?)")
_MOST_LANGUAGES: Final = 32
# Nobody can register a name below these, so only the browser's own network says where it leads.
_PRIVATE_NAMES: Final = (
    *(".local", ".localhost", ".lan", ".home", ".home.arpa", ".internal"),
    *(".localdomain", ".intranet", ".private", ".corp"),
)

FRONT: Final = "/"
TABLES: Final = "/watch"
PLAY: Final = "/play"
TV: Final = "/tv"
HOST: Final = "/host"  # of an evening


def table_asked(path: str) -> str | None:
    """Return the code of the table whose page is asked for, None if it is none."""
    return _code(_TABLE.fullmatch(path))


def seat_asked(path: str) -> str | None:
    """Return the code of the table at which somebody wants to play: "" for a new one, None for none."""
    return _code(_SEAT.fullmatch(path))


def _code(found: re.Match[str] | None) -> str | None:
    return None if found is None else (found[1] or "").upper()


def page_at(address: str, path: str, query: str) -> str:
    """Return where another server of the cluster, at a websocket's address, has the page at `path`."""
    # An address of ours begins with ws: or wss:, and our pages are where our websockets are.
    return f"http{address.removeprefix('ws').rstrip('/')}{path}{query and '?'}{query}"


def asked_again(query: str) -> tuple[str, bool]:
    """Return the query of a page without again=1, and whether it had that: it has shown what it asks for."""
    rest = _AGAIN.sub("", query)
    return rest.removeprefix("&"), rest != query


def way_home(path: str) -> str:
    """Return how the front page is reached from the page at `path`, wherever a proxy has put both."""
    return "../" * (path.count("/") - 1) or "./"


def reads_gzip(headers: Headers) -> bool:
    """Return whether the reader can decompress what it is sent (RFC 9110, 12.5.3)."""
    codings = ",".join(headers.get_all("Accept-Encoding")).replace(" ", "").split(",")
    return any(_GZIP.fullmatch(each) for each in codings)


def languages(query: str, headers: Headers) -> list[str]:
    """Return the languages that the reader wants, the best first: one chosen on a page comes first."""
    chosen = _LANGUAGE.search(f"&{query}")
    accepted = []  # RFC 9110, 12.5.4; what makes no sense there weighs all
    for each in ",".join(headers.get_all("Accept-Language")).split(",")[:_MOST_LANGUAGES]:
        language, _, parameter = each.partition(";")
        weight = _WEIGHT.fullmatch(parameter.strip())
        accepted.append((1.0 if weight is None else float(weight[1]), language.strip()))
    accepted.sort(key=itemgetter(0), reverse=True)
    return [*([] if chosen is None else [chosen[1]]), *(language for weight, language in accepted if weight)]


def address_asked(asked: PageRequest) -> str:
    """Return the address of the front page as the browser knows it: only a trusted proxy may say another."""
    scheme, host, prefix = "https" if asked.secure else "http", _one(asked, "Host"), ""
    if asked.proxied:
        if (forwarded := _one(asked, "X-Forwarded-Proto").lower()) in {"http", "https"}:
            scheme = forwarded
        host = _one(asked, "X-Forwarded-Host") or host
        prefix = _one(asked, "X-Forwarded-Prefix")
    if not _is_host(host):
        host = asked.local
    folder = prefix.rstrip("/") if _PREFIX.fullmatch(prefix) else ""
    return f"{scheme}://{host.lower()}{folder}/"


def address_at(address: str, host: str) -> str:
    """Return the address of the front page at another name or IP address of its server."""
    port = urlsplit(address).port
    parts = urlsplit(address)._replace(netloc=host if port is None else f"{host}:{port}")
    return parts.geturl()


def host_asked(asked: PageRequest) -> str:
    """Return the name or IP address under which a browser asks for this server, without the port."""
    try:
        return (urlsplit(f"//{_one(asked, 'Host')}").hostname or "").rstrip(".")
    except ValueError:  # not an IPv6 address
        return "."


def leads_elsewhere(host: str) -> bool:
    """Return whether a stranger may have registered a name, and may have it lead to any address."""
    return "." in host and ip_address_of(host) is None and not host.endswith(_PRIVATE_NAMES)


def from_own_page(asked: PageRequest) -> bool:
    """Return whether a websocket request comes from one of this server's own pages."""
    origin = _one(asked, "Origin").lower()
    scheme, _, host = origin.partition("://")
    hosts = {_one(asked, "Host")} | ({_one(asked, "X-Forwarded-Host")} if asked.proxied else set())
    default = ":443" if scheme == "https" else ":80"
    return scheme in {"http", "https"} and host in {
        each.lower().removesuffix(default) for each in hosts if _is_host(each)
    }


def _is_host(text: str) -> bool:
    """Return whether a text is a host, perhaps with a port, as a URL can have it."""
    try:
        _ = urlsplit(f"//{text}").port
    except ValueError:  # a port out of range, or not an IPv6 address
        return False
    return _HOST.fullmatch(text) is not None


def _one(asked: PageRequest, header: str) -> str:
    """Return the value of a header, the last one where proxies have added theirs."""
    values = asked.headers.get_all(header)
    return values[-1].rpartition(",")[2].strip() if values else ""

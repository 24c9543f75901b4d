"""What users type, wherever they do: names, addresses, table codes, absence policies, who starts."""

import contextlib
import getpass
import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from client.language import WrongUse, _, listed
from client.network.refusals import describe_unsafe_name
from discovery.names import usable
from engine.components import DEALS
from engine.pieces import Seat
from protocol.absence import BOUNDS, LONG_CLOCK_SECONDS, RESERVE_SECONDS, WAIT, Absence, MoveClock, move_clock
from protocol.bot_names import person_of
from protocol.limits import CODE_LENGTH, NAME_LENGTH, PRIVATE_CODE_LENGTH
from protocol.text import unsafe

SEAT_NUMBERS: Final = frozenset(str(seat + 1) for seat in range(max(DEALS)))
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_TIMED: Final = {str(kind.__struct_config__.tag): kind for kind in BOUNDS}
_TIME: Final = r"(?:[0-9]{1,7}[smhd]?)(?:[0-9]{1,3}[smhd])*"  # 60, 30m, 1d12h
_WRITTEN: Final = re.compile(rf"([a-z-]+):({_TIME})(?:\+({_TIME}))?")


class BadText(WrongUse):
    """What was typed means nothing; the message says what to write."""


class Misplaced(BadText):
    """What was typed means nothing where it was typed."""


def policy_named(text: str) -> Absence:
    """Return the policy that `text` names; raises BadText."""
    if text == "wait":
        return WAIT
    written = _WRITTEN.fullmatch(text)
    if written is None or (kind := _TIMED.get(written[1])) is None:
        hint = _(
            "{text!r} is not an absence policy. Write wait, move-clock:60, move-clock:3d+12h, "
            "game-clock:30m, vote:2m or bot:60s."
        )
        raise BadText(hint.format(text=text))
    bounds = LONG_CLOCK_SECONDS if kind is MoveClock else BOUNDS[kind]
    seconds = _within(bounds, written[2], text)
    if kind is MoveClock:
        return move_clock(seconds, _within(RESERVE_SECONDS, written[3] or "0", text))
    if written[3]:
        raise BadText(_("Only a move clock has a reserve, for example {example}.").format(example=_EXAMPLE))
    return kind(seconds)


_EXAMPLE: Final = "move-clock:3d+12h"


def _within(bounds: tuple[int, int], written: str, text: str) -> int:
    """Return a time in seconds; raises BadText, which quotes the `text`, unless it is within the bounds."""
    seconds = sum(int(n) * _UNITS[unit] for n, unit in re.findall(r"([0-9]+)([smhd]?)", written))
    if bounds[0] <= seconds <= bounds[1]:
        return seconds
    hint = _("{text!r} is out of range. Choose {least} to {most}.")
    raise BadText(hint.format(text=text, least=_spell_time(bounds[0]), most=_spell_time(bounds[1])))


def _spell_time(seconds: int) -> str:
    """Return a time as it is typed, in the largest unit that fits."""
    fitting = (unit for unit in _UNITS if seconds and seconds % _UNITS[unit] == 0)
    unit = max(fitting, key=lambda each: (_UNITS[each], each), default="")
    return f"{seconds // _UNITS[unit]}{unit}"


DEFAULT_PORT: Final = 7733


def loopback(url: str) -> bool:
    """Return whether the address leads to this very computer."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def same_server(url: str) -> str:
    """Return one spelling for all addresses that are known to be the same server."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    port = parts.port or DEFAULT_PORT
    host = "localhost" if loopback(url) else (parts.hostname or "").lower().rstrip(".")
    return f"{scheme}://{host}:{port}{parts.path.rstrip('/')}"


def server_url(text: str) -> str:
    """Return the URL of a server given as `ws://host:port`, `host:port` or `host`; raises BadText."""
    text = text.strip()
    url = text if re.match(r"[A-Za-z]+://", text) else f"ws://{text}"
    hint = _not_an_address(text)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadText(hint) from None
    if parts.scheme not in {"ws", "wss"} or not parts.hostname or parts.query or parts.fragment:
        raise BadText(hint)
    if any(map(str.isspace, url)):
        raise BadText(hint)
    if port is not None:
        return url
    return f"{parts.scheme}://{parts.netloc.rstrip(':')}:{DEFAULT_PORT}{parts.path}"


class Invitation(NamedTuple):
    """Where a friend is: the URL of a server, with the code of a table there, if any; or else a `name`.

    What is named is to be looked for on this network: a server, a table's code, or both.
    """

    url: str
    table: str | None = None
    name: str = ""


_COMMAND: Final = re.compile(r"\s*(?:\$\s+)?palatinus\s+join\s+(\S.*)", re.DOTALL)
_PAGE: Final = re.compile(r"(.*?)(?:/(?:play|watch)(?:/([A-Za-z]+))?|/tv)?/?")


def invitation(text: str) -> Invitation:
    """Return what anything says that a friend may have sent; raises BadText.

    That is an address, with or without a table's code, the address of a page, a name, a code, or the command
    that joins.
    """
    command = _COMMAND.fullmatch(text)
    said = text if command is None else command[1]
    words = [word for word in said.split() if not word.startswith("-")]
    if words and re.match("https?://", words[0], re.IGNORECASE):
        found = _of_page(words[0])
    elif words and (not usable(words[0]) or words[0].lower() == "localhost"):
        found = Invitation(server_url(words[0]))
    elif usable(name := " ".join(words)):
        return Invitation("", name=name)
    else:
        raise BadText(_not_an_address(text.strip()))
    match words[1:]:
        case []:
            return found
        case [code]:
            return found._replace(table=table_code(code))
        case _:
            raise BadText(_not_an_address(text.strip()))


def _of_page(address: str) -> Invitation:
    """Return where the server is that has the page: its websockets are there, too."""
    try:
        parts = urlsplit(address)
        secure, port = parts.scheme == "https", parts.port
    except ValueError:
        raise BadText(_not_an_address(address)) from None
    host = parts.netloc.rstrip(":") + ("" if port is not None else ":443" if secure else ":80")
    page = _PAGE.fullmatch(parts.path)
    folder, code = ("", None) if page is None else page.groups()
    table = None
    with contextlib.suppress(BadText):  # the page of an evening is no table's
        table = None if code is None else table_code(code)
    return Invitation(server_url(f"{'wss' if secure else 'ws'}://{host}{folder}"), table)


def not_found(name: str, code: str | None, names: Sequence[str]) -> BadText:
    """Return that no server has the name, nor a table the code; `names` are those of the servers found."""
    if code is not None:
        text = _(
            "no server called {name} and no table {code} in a server's list was found on this network. "
            "A private table is in no list: write its server before the code"
        )
        return BadText(text.format(name=repr(name), code=code))
    text = _("no server called {name} answers here")
    if names:
        text = _("no server called {name} answers here. Found: {names}")
    return BadText(text.format(name=name, names=listed(names)))


def _not_an_address(text: str) -> str:
    form = _("{address} is not a server address: write ws://HOST:PORT, as shown on the host's screen")
    return form.format(address=repr(text))


def describe_found_as(name: str) -> str:
    return _("On this network, palatinus join finds this server as {name}.").format(name=name)


def table_code(text: str) -> str:
    """Return the table code that `text` spells, in capitals; raises BadText."""
    code = text.upper()
    if len(code) not in {CODE_LENGTH, PRIVATE_CODE_LENGTH} or re.fullmatch("[A-Z]+", code) is None:
        hint = _("{text} is not a table code: a code has four letters, such as KRTV, or eight")
        raise BadText(hint.format(text=repr(text)))
    return code


_GUEST_WORD: Final = re.compile(r"(?:[a-z]{4}-){3}[a-z]{4}", re.IGNORECASE)  # as ssh guests are told one


def login_name() -> str:
    """Return the name of this computer's user, or `Player` where that cannot be shown."""
    try:
        name = getpass.getuser()[:NAME_LENGTH].strip()
    except (OSError, KeyError, ImportError):  # no such user, or no such thing as users
        return _("Player")
    return _("Player") if unsafe(name) else name


def fault_of(name: str, most: int = NAME_LENGTH) -> str | None:
    """Return what is wrong with a player's name or another, None if nothing is."""
    if len(name) > most:
        return _("The name is too long: at most {most} characters.").format(most=most)
    if _GUEST_WORD.fullmatch(name):
        return _("That is a secret word to come back with over ssh: as a name, everybody would read it.")
    found = unsafe(name)
    return None if found is None else describe_unsafe_name(found)


def seats_meant(text: str, names: Sequence[str | None]) -> list[int]:
    """Return the seats that a text means, by their numbers or by the names of their players.

    A number that a seat can have means that seat alone: anybody may be called `3`. Bots may be named without
    their levels, unless somebody is called that.
    """
    wanted = text.casefold()
    if wanted in SEAT_NUMBERS:
        return [seat for seat in range(len(names)) if wanted == str(seat + 1)]
    known = [(name or "").casefold() for name in names]
    if wanted not in known:
        known = [person_of(name or "").casefold() for name in names]
    return [seat for seat, name in enumerate(known) if wanted and wanted == name]


def seat_to_start(text: str, players: int) -> Seat | None:
    """Return the seat that starts at a new table (R3.1), None for a draw; raises BadText.

    The player who opens a table has its first seat, and is `me`.
    """
    seats = {str(seat + 1): Seat(seat) for seat in range(players)}
    known = {"random": None, "me": Seat(0), **seats}
    if text not in known:
        hint = _("{text!r} does not say who starts. Write random, me, or a seat from 1 to {last}.")
        raise BadText(hint.format(text=text, last=players))
    return known[text]

"""What users type, wherever they do: names, addresses, table codes, absence policies, who starts."""

import getpass
import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from client.language import WrongUse, _
from client.network.refusals import describe_unsafe_name
from engine.components import DEALS
from engine.pieces import Seat
from protocol.absence import BOUNDS, LONG_CLOCK_SECONDS, RESERVE_SECONDS, WAIT, Absence, MoveClock, move_clock
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
    form = _("{address} is not a server address: write ws://HOST:PORT, as shown on the host's screen")
    hint = form.format(address=repr(text))
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

    A number that a seat can have means that seat alone: anybody may be called `3`.
    """
    wanted = text.casefold()
    if wanted in SEAT_NUMBERS:
        return [seat for seat in range(len(names)) if wanted == str(seat + 1)]
    return [seat for seat, name in enumerate(names) if wanted and wanted == (name or "").casefold()]


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

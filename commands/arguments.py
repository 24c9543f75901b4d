"""What the words of several commands' arguments mean."""

import argparse
import contextlib
import ipaddress
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import platformdirs

from client.language import N_, _
from client.typed_text import BadText
from client.typed_text import table_code as code_of
from discovery.names import usable
from protocol.limits import SERVER_NAME_LENGTH

SSH_PORT: Final = 7722


def data_folder() -> Path:
    """Return where everything is kept unless an option names another folder."""
    return platformdirs.user_data_path("palatinus", appauthor=False)


def table_code(text: str) -> str:
    try:
        return code_of(text)
    except BadText as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _number(least: float, most: float, text: str, kind: Callable[[str], float] = int) -> Callable[[str], Any]:
    """Return what reads a number within these bounds; for anything else it raises an error with the text."""

    def read(word: str) -> float:
        with contextlib.suppress(ValueError):
            if least <= (number := kind(word)) <= most:
                return number
        facts = {"word": repr(word), "number": repr(word), "least": least, "most": most}
        raise argparse.ArgumentTypeError(_(text).format_map(facts))

    return read


_ABOVE_ZERO: Final = N_("{word} is not a number above zero")
positive = _number(1, math.inf, _ABOVE_ZERO)
seconds = _number(sys.float_info.min, sys.float_info.max, _ABOVE_ZERO, float)
whole_number = _number(-math.inf, math.inf, N_("{number} is not a whole number"))
move_number = _number(0, 999, N_("{word} is not a move number: count from 0"))
port_number = _number(0, 65535, N_("{word} is not a port: choose 0 to 65535"))
# Of a processor: some eight moves a second of all bots together are the least.
share = _number(0.01, 64, N_("{word} is not a share: choose {least} to {most}"), float)


def server_name(text: str) -> str:
    if usable(text):
        return text
    said = _(
        "{word} cannot be the name of a server: at most {most} letters, digits and spaces, "
        "from a single alphabet"
    )
    raise argparse.ArgumentTypeError(said.format(word=repr(text), most=SERVER_NAME_LENGTH))


def network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        said = _("{word} is not an address or a network: write it as 192.0.2.7 or 192.0.2.0/24")
        raise argparse.ArgumentTypeError(said.format(word=repr(text))) from None


def notices_allowed(text: str) -> str:
    if re.fullmatch(r"(?i)mail(:[a-z0-9.-]+)?|url(:[a-z0-9.-]+(:[0-9]{1,5})?)?", text):
        return text
    said = _("{word} is none of: {choices}")
    choices = "mail, url, mail:DOMAIN, url:HOST, url:HOST:PORT"
    raise argparse.ArgumentTypeError(said.format(word=repr(text), choices=choices))


def smtp_server(text: str) -> str:
    with contextlib.suppress(ValueError):  # from the port
        url = urlsplit(text)
        fits = url.scheme in {"smtp", "smtps"} and url.hostname and url.port != 0
        if fits and url.password is None and not (url.path.strip("/") or url.query):
            return text
    said = _("{word} is not an SMTP server: write it as smtp://user@mail.example.org:587, without a password")
    shown = repr(re.sub(r":[^/@]*@", ":...@", text))  # it may be there, where it should not be
    raise argparse.ArgumentTypeError(said.format(word=shown))

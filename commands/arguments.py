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


def word_reader(
    kind: Callable[[str], Any], fits: Callable[[Any], object], text: str, **facts: object
) -> Callable[[str], Any]:
    """Return what reads a word as this kind; for one that does not fit it raises an error with the text."""

    def read(word: str) -> Any:
        with contextlib.suppress(ValueError):
            if fits(found := kind(word)):
                return found
        raise argparse.ArgumentTypeError(_(text).format(word=repr(word), number=repr(word), **facts))

    return read


def _number(least: float, most: float, text: str, kind: Callable[[str], float] = int) -> Callable[[str], Any]:
    return word_reader(kind, lambda number: least <= number <= most, text, least=least, most=most)


_ABOVE_ZERO: Final = N_("{word} is not a number above zero")
positive = _number(1, math.inf, _ABOVE_ZERO)
seconds = _number(sys.float_info.min, sys.float_info.max, _ABOVE_ZERO, float)
whole_number = _number(-math.inf, math.inf, N_("{number} is not a whole number"))
move_number = _number(0, 999, N_("{word} is not a move number: count from 0"))
port_number = _number(0, 65535, N_("{word} is not a port: choose 0 to 65535"))
# Of a processor: some eight moves a second of all bots together are the least.
share = _number(0.01, 64, N_("{word} is not a share: choose {least} to {most}"), float)
_NO_SERVER_NAME: Final = N_(
    "{word} cannot be the name of a server: at most {most} letters, digits and spaces, from a single alphabet"
)
server_name = word_reader(str, usable, _NO_SERVER_NAME, most=SERVER_NAME_LENGTH)
_NO_NETWORK: Final = N_("{word} is not an address or a network: write it as 192.0.2.7 or 192.0.2.0/24")
network = word_reader(ipaddress.ip_network, lambda _network: True, _NO_NETWORK)
_NOTICES: Final = re.compile(r"(?i)mail(:[a-z0-9.-]+)?|url(:[a-z0-9.-]+(:[0-9]{1,5})?)?")
_KINDS_OF_NOTICES: Final = "mail, url, mail:DOMAIN, url:HOST, url:HOST:PORT"
notices_allowed = word_reader(
    str, _NOTICES.fullmatch, N_("{word} is none of: {choices}"), choices=_KINDS_OF_NOTICES
)


def smtp_server(text: str) -> str:
    with contextlib.suppress(ValueError):  # from the port
        url = urlsplit(text)
        fits = url.scheme in {"smtp", "smtps"} and url.hostname and url.port != 0
        if fits and url.password is None and not (url.path.strip("/") or url.query):
            return text
    said = _("{word} is not an SMTP server: write it as smtp://user@mail.example.org:587, without a password")
    shown = repr(re.sub(r":[^/@]*@", ":...@", text))  # it may be there, where it should not be
    raise argparse.ArgumentTypeError(said.format(word=shown))

"""What the words of several commands' arguments mean."""

import argparse
import contextlib
import ipaddress
import math
import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import platformdirs

from client.language import N_, _
from client.typed_text import BadText
from client.typed_text import table_code as code_of
from discovery.names import usable
from protocol.limits import SERVER_NAME_LENGTH

_LEAST_SHARE: Final = 0.01  # of a processor: some eight moves a second of all bots together
_MOST_SHARE: Final = 64  # processors

HOST_HELP: Final = N_("address to listen on (default: all)")


def data_folder() -> Path:
    """Return where everything is kept unless an option names another folder."""
    return platformdirs.user_data_path("palatinus", appauthor=False)


def move_number(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 4:
        return int(text)
    raise argparse.ArgumentTypeError(_("{word} is not a move number: count from 0").format(word=repr(text)))


def table_code(text: str) -> str:
    try:
        return code_of(text)
    except BadText as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def port_number(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(_("{word} is not a port: choose 0 to 65535").format(word=repr(text)))


def positive(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(_("{word} is not a number above zero").format(word=repr(text)))


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if 0 < value < math.inf:
        return value
    raise argparse.ArgumentTypeError(_("{word} is not a number above zero").format(word=repr(text)))


def whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        form = _("{number} is not a whole number")
        raise argparse.ArgumentTypeError(form.format(number=repr(text))) from None


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if _LEAST_SHARE <= value <= _MOST_SHARE:
        return value
    said = _("{word} is not a share: choose {least} to {most}")
    raise argparse.ArgumentTypeError(said.format(word=repr(text), least=_LEAST_SHARE, most=_MOST_SHARE))


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

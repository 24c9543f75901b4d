"""`palatinus doctor`: what a bug report needs, and nothing about who sends it; in English, as logs are."""

import argparse
import contextlib
import getpass
import os
import platform
import shutil
import sqlite3
import ssl
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import platformdirs

from client.language import language_of
from client.player.folders import data_folder
from client.player.seats import seats_folder
from client.ui.terminal.device import locale_of, own_device
from client.ui.texts.glyphs import ASCII
from protocol.text import printable

_PACKAGES: Final = ("msgspec", "prompt_toolkit", "websockets", "zeroconf")
_FEATURES: Final = {
    "uvloop": "a faster server",
    "asyncssh": "--ssh",
    "asyncpg": "--database",
    "opentelemetry-sdk": "traces",
}
# What says which terminal this is; of others, only that they are set: they name addresses and files.
_SHOWN: Final = ("TERM", "COLORTERM", "COLORFGBG", "NO_COLOR", "TERM_PROGRAM", "TERM_PROGRAM_VERSION")
_SET: Final = ("TMUX", "STY", "SSH_CONNECTION", "WT_SESSION")


def run_doctor(_arguments: argparse.Namespace) -> int:
    for name, finding in _findings():
        print(f"{name:<20}{printable(finding)}")
    return 0


def _findings() -> Iterator[tuple[str, str]]:
    device, size = own_device(), shutil.get_terminal_size((0, 0))
    yield "palatinus", _version_of("palatinus")
    yield "python", f"{platform.python_implementation()} {platform.python_version()}"
    yield "program", " ".join(_hide_user(Path(word).absolute()) for word in (sys.executable, sys.argv[0]))
    yield "platform", platform.platform()
    yield "sqlite, tls", f"{sqlite3.sqlite_version}, {ssl.OPENSSL_VERSION}"
    terminals = [name for name, stream in (("input", sys.stdin), ("output", sys.stdout)) if stream.isatty()]
    yield "terminal", f"{' and '.join(terminals) or 'none'}, {size.columns}x{size.lines}"
    values = [f"{name}={value}" for name in _SHOWN if (value := os.environ.get(name))]
    yield "variables", " ".join([*values, *(f"{name} is set" for name in _SET if name in os.environ)])
    yield "colours", f"{device.colouring.colours.value}, theme {device.colouring.theme.value}"
    plain = device.glyphs() is ASCII
    yield "encoding", f"{device.encoding}, drawn in {'ASCII' if plain else 'Unicode'}"
    yield "locale", f"{locale_of(os.environ) or 'none'}, language {language_of()}"
    config = platformdirs.user_config_path("palatinus", appauthor=False)
    for name, folder in (("data", data_folder()), ("seats", seats_folder()), ("configuration", config)):
        yield name, f"{_hide_user(folder)}, {_access(folder)}"
    for name in _PACKAGES:
        yield name, _version_of(name)
    for name, purpose in _FEATURES.items():
        yield name, f"{_version_of(name)} ({purpose})"


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _hide_user(path: Path) -> str:
    """Return a path without the name of its user."""
    home, names = Path.home(), {Path.home().name}
    with contextlib.suppress(KeyError, OSError):  # some users have no name
        names.add(getpass.getuser())
    if path.is_relative_to(home):
        return str(Path("~", path.relative_to(home)))
    return str(Path(*("USER" if part in names else part for part in path.parts)))


def _access(folder: Path) -> str:
    """Return whether a folder, or what it would be made in, can be written."""
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    writable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    return ("writable" if writable else "not writable") + ("" if there == folder else ", not made yet")

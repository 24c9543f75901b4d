"""Arguments that several commands declare in the same way."""

import argparse
from pathlib import Path
from typing import TypeAlias

from client.language import _
from commands.parsing import DefaultFolder, positive

# What takes arguments: a command, or a group of its arguments.
Arguments: TypeAlias = argparse._ActionsContainer  # noqa: SLF001 - it has no public name


def add_host(command: Arguments) -> None:
    """Add the option for the address to listen on."""
    command.add_argument("--host", default="0.0.0.0", help=_("address to listen on (default: all)"))  # noqa: S104 - a LAN host


def add_data_folder(command: Arguments, meaning: str) -> None:
    """Add the option for the folder where everything is kept."""
    command.add_argument("--data", type=Path, metavar="DIR", default=DefaultFolder(), help=meaning)


def add_file(command: Arguments, name: str, meaning: str) -> None:
    """Add an option that names a file."""
    command.add_argument(name, type=Path, metavar="FILE", help=meaning)


def add_number(command: Arguments, name: str, default: int | None, meaning: str, metavar: str = "N") -> None:
    """Add an option that is a whole number above zero."""
    command.add_argument(name, type=positive, metavar=metavar, default=default, help=meaning)

"""What `palatinus serve` prints once it runs."""

import contextlib
import itertools
import os
import queue
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from client.language import _
from client.typed_text import describe_found_as
from protocol.text import printable

_LINES_WAITING: Final = 100  # for the terminal


def print_start(
    addresses: list[str], file: Path | None, more: Sequence[str], *, web: bool, open_to_all: bool
) -> None:
    """Print how others join at these addresses, and `more`; `open_to_all` adds a warning."""
    texts = [] if file is None else [_("The configuration is from {file}.").format(file=file)]
    texts.append(_("The server is running. Others join with one of these commands; Ctrl-C stops it."))
    texts += [f"  palatinus join {address}" for address in addresses]
    if web:
        texts.append(_("Browsers show the tables at these addresses:"))
        texts += [f"  {address.replace('ws', 'http', 1)}/" for address in addresses]
    texts += more
    if open_to_all:
        texts.append(
            _(
                "Anyone who can reach this computer can join, and what players send can be read in "
                "transit. On the internet, use --tls-cert and --password-file."
            )
        )
    with contextlib.suppress(BrokenPipeError):  # nobody reads it any more; the server goes on
        for text in texts:
            _say(text)
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

    def told(name: str, table: str, here: bool) -> None:
        form = _("{name} comes to table {code}.") if here else _("{name} leaves table {code}.")
        line = f"{time.strftime('%H:%M:%S')} {form.format(name=printable(name), code=table)}"
        with contextlib.suppress(queue.Full):
            lines.put_nowait(line)

    threading.Thread(target=write, name="attendance", daemon=True).start()
    return told


def _say(text: str) -> None:
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

"""Writing the record of a stored game to a file."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from client.language import _
from commands.parsing import CANNOT_WRITE, WrongUse, using_file
from engine.events import Event, WolvesRevealed
from engine.record import recorded
from protocol.admin import StoredReport


def add_record(command: argparse.ArgumentParser) -> None:
    meaning = _("file to write, or - for standard output (default: CODE.txt, if it does not exist yet)")
    command.add_argument("file", nargs="?", metavar="FILE", help=meaning)


def write_record(table: StoredReport, events: Sequence[Event], file: str | None) -> Path | None:
    """Write the record of a table's game to `file`, `-` for standard output; None is CODE.txt, if it is new.

    Return the file that was written, if one was. Raises WrongUse.
    """
    if not events:
        raise WrongUse(_("the game at table {code} has not begun").format(code=table.code))
    content = recorded(events, table.names).encode()
    path = None if file == "-" else Path(file or f"{table.code}.txt")
    if path is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    else:
        with using_file(CANNOT_WRITE, path), path.open("wb" if file else "xb") as out:
            out.write(content)
    if not any(isinstance(event, WolvesRevealed) for event in events):
        print(_("This game has no result: its record reveals all wolf pieces."), file=sys.stderr)
    return path

"""`palatinus tables check` and `salvage`: what is whole, and what can be got out of the rest."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from client.language import _
from client.ui.export.tables import check_lines, salvage_line
from commands.parsing import WrongUse, describe_host_error
from engine.record import recorded
from server.storage.condition import Check, Salvaged


class Tables(Protocol):
    """What a data folder or a database holds."""

    def check(self) -> Check: ...
    def salvaged(self, codes: Iterable[str]) -> list[Salvaged]: ...


def show_check(tables: Tables) -> int:
    """Print what is whole and what is damaged; return 1 if anything is."""
    found = tables.check()
    for fault in found.faults:
        print(_("Damaged: {reason}.").format(reason=describe_host_error(fault)))
    print(*check_lines(found.tables), sep="\n")
    return 0 if found.whole else 1


def write_salvaged(tables: Tables, codes: Sequence[str], to: Path) -> int:
    """Write the records of all games that can be had to the folder `to`.

    Return 1 if any is incomplete, or none was found.
    """
    found = tables.salvaged(codes)
    if missing := [code for code in codes if code not in {game.code for game in found}]:
        raise WrongUse(_("no trace of table {code} was found").format(code=", ".join(missing)))
    if not found:
        print(_("No game was found."))
        return 1
    complete = True
    for game in found:
        path = to / f"{game.code}.txt"
        complete = complete and game.complete
        if game.events:
            try:
                to.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as out:
                    out.write(recorded(game.events, game.names).encode())
            except OSError as error:
                text = _("cannot write {file}: {reason}").format(file=path, reason=error.strerror)
                raise WrongUse(text) from error
        print(salvage_line(game, str(path)))
    print(_("The records of running games reveal all wolf pieces."), file=sys.stderr)
    return 0 if complete else 1

"""What happened at a table where something is wrong, in the order of the clock, for whoever looks into it."""

import time
from collections.abc import Iterable, Sequence

from server.storage.entries import Entry
from simulation.judging.ownership import Ownership
from simulation.wiretap import Wiretap


def trace(table: str, entries: Sequence[Entry], taps: Iterable[Wiretap], ownership: Ownership | None) -> str:
    """Return a table's entries, its owners, and all that was said on connections that were there."""
    lines: list[tuple[float, str]] = []
    for number, tap in enumerate(taps):
        who = f"{number:4} {tap.server}"
        lines += [(each.time, f"{who} < {each.message}") for each in tap.asked]
        lines += [(each.time, f"{who} > {each.seat} {each.message}") for each in tap.heard]
        lines += [(at, f"{who}   woke") for _, at in tap.marks]
    if ownership is not None:
        for period in ownership.of(table):
            lines.append((period.since, f"     {period.node}   has it"))
            lines.append(
                (period.until, f"     {period.node}   has it no more, with {period.entries} entries")
            )
    told = [f"{_clock(at)} {text}" for at, text in sorted(lines)]
    return "\n".join([*(f"{number:4} {entry}" for number, entry in enumerate(entries)), "", *told]) + "\n"


def _clock(at: float) -> str:
    if at == float("inf"):
        return "the end     "
    return time.strftime("%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03}"

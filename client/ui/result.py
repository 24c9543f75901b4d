"""The result page: every source of points, the winners, and what decided."""

from collections.abc import Sequence

from client.language import N_, _
from client.ui.lines import EMPTY, Line, beside, fitted, line, paragraphs
from client.ui.look import Look
from client.ui.panel import chips
from client.ui.texts import result_told
from engine.components import LAUREL_WORTH
from engine.events import DecidedBy, GameEnded, Tally
from engine.pieces import Seat
from engine.view import View

_COLUMNS = (
    (N_("captives"), N_("1 each")),
    (N_("discs"), N_("1 each")),
    (N_("discs"), N_("2 each")),
    (N_("laurels"), N_("3 to 6")),
    (N_("POINTS"), ""),
)
_COLUMN = 10
_NAME = 26


def result_page(view: View, ended: GameEnded, names: Sequence[str], look: Look, width: int) -> list[Line]:
    """Return the table of points and what decided the game."""
    lines: list[Line] = [EMPTY, line(f"  {result_told(ended, names)}", "class:heading"), EMPTY]
    lines += [
        _row(EMPTY, [_(word) if word else "" for word in words], "class:faint")
        for words in zip(*_COLUMNS, strict=True)
    ]
    order = sorted(
        range(view.seats), key=lambda seat: (-ended.tallies[seat].points, -ended.tallies[seat].items)
    )
    for seat in map(Seat, order):
        won = seat in ended.winners
        sign = line(f"{look.turn if won else ' '} ", "class:mine")
        who = beside(
            sign, chips(view.setup.peoples[seat]), line(f" {names[seat]}", "class:mine" if won else "")
        )
        lines.append(_row(who, _amounts(ended.tallies[seat]), "class:mine" if won else ""))
    lines += [
        EMPTY,
        *(content for seat in map(Seat, order) for content in _laurels(ended, seat, names, width)),
    ]
    if ended.decided_by is not DecidedBy.POINTS:
        lines += [EMPTY, *_indented(_tie(ended, names), width)]
    return lines


def _amounts(tally: Tally) -> list[str]:
    laurels = sum(LAUREL_WORTH[laurel] for laurel in tally.laurels)
    return [str(number) for number in (tally.captives, tally.ones, 2 * tally.twos, laurels, tally.points)]


def _row(who: Line, words: Sequence[str], style: str) -> Line:
    return beside(fitted(who, _NAME), line("".join(f"{word:>{_COLUMN}}" for word in words), style))


def _laurels(ended: GameEnded, seat: Seat, names: Sequence[str], width: int) -> list[Line]:
    laurels = ended.tallies[seat].laurels
    if not laurels:
        return []
    words = ", ".join(f"{laurel} {LAUREL_WORTH[laurel]}" for laurel in laurels)
    return _indented(_("{name} holds {laurels}.").format(name=names[seat], laurels=words), width)


def _tie(ended: GameEnded, names: Sequence[str]) -> str:
    """Return the count that breaks a tie (R7.2)."""
    best = max(tally.points for tally in ended.tallies)
    tied = [seat for seat, tally in enumerate(ended.tallies) if tally.points == best]
    counts = ", ".join(f"{names[seat]} {ended.tallies[seat].items}" for seat in tied)
    return _("The tie: captives, discs and laurels counted together are {counts}.").format(counts=counts)


def _indented(text: str, width: int) -> list[Line]:
    return [beside(line("  "), content) for content in paragraphs([text], width - 4)]

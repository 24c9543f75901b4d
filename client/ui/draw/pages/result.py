"""The result page: every source of points, the winners, and what decided."""

from collections.abc import Sequence

from client.language import N_, _
from client.tables.fairness import describe_draws, describe_fault
from client.ui.draw.frame import Block
from client.ui.draw.lines import (
    EMPTY,
    Line,
    begun,
    beside,
    chips,
    ends,
    fitted,
    line,
    paragraphs,
    stacked,
    wrapped,
)
from client.ui.draw.news_lines import LOG_LINES, news_lines, with_news, words_now
from client.ui.draw.page import ServerPage
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.people import names_at
from client.ui.texts.scoring import describe_rematch, describe_result, describe_standings
from engine.components import LAUREL_WORTH
from engine.events import DecidedBy, GameEnded, Tally
from engine.pieces import Seat
from engine.view import View

COLUMNS = (  # with the room that they take
    (N_("captives"), 10),
    (N_("discs 1"), 9),
    (N_("discs 2"), 9),
    (N_("laurels"), 19),
    (N_("POINTS"), 8),
)
_NAME = 25


class ResultDrawing(ServerPage, frozen=True):
    """The result of a game."""

    ended: GameEnded
    view: View

    @property
    def stage(self) -> str:
        return _("the result")

    def body(self, width: int, height: int) -> Block:
        return with_news(Block(tuple(self.lines(width))), self.ui, width, height, self._again())

    def _again(self) -> str:
        """Return who plays again; empty if nobody does."""
        return "" if self.model.state is None else describe_rematch(self.model.state, self.model.seat)

    def small_body(self, width: int, height: int) -> Block:
        names = names_at(self.model)
        points = short_points(self.view, self.ended, names, width)
        asked = words_now(self.ui, width, max(height // 3, 1), self._again())
        room = max(height - len(points) - len(asked), 0)
        check = self.model.draws.check()
        fault = None if check is None else check.fault
        warning = begun(wrapped(describe_fault(fault), width), room, width) if fault is not None else []
        won = begun(wrapped(describe_result(self.ended, names), width), room - len(warning), width)
        lines = [
            *(line(row, "class:refusal") for row in warning),
            *(line(row, "class:heading") for row in won),
            *points,
        ]
        news = news_lines(self.ui, width, min(height - len(lines), LOG_LINES), self._again())
        return Block((*stacked(lines, width, height - len(news)), *news))

    def lines(self, width: int) -> list[Line]:
        lines = result_lines(self.view, self.ended, names_at(self.model), self.glyphs, width)
        if standings := "" if self.model.state is None else describe_standings(self.model.state):
            lines += [EMPTY, *_indented(standings, width)]
        if (check := self.model.draws.check()) is None:
            return lines
        if check.fault is not None:  # above all else, so that no window cuts it off
            return [EMPTY, *_indented(describe_fault(check.fault), width, "class:refusal"), *lines]
        said = describe_draws(check, names_at(self.model), plays=self.model.seat is not None)
        return [*lines, EMPTY, *_indented(said, width, "class:faint")]


def result_lines(
    view: View, ended: GameEnded, names: Sequence[str], glyphs: GlyphSet, width: int
) -> list[Line]:
    """Return the table of points and what decided the game."""
    lines = [EMPTY, *_indented(describe_result(ended, names), width, "class:heading"), EMPTY]
    lines.append(_row(EMPTY, [_(word) for word, _width in COLUMNS], "class:faint"))
    order = in_order(ended)
    for seat in order:
        won = seat in ended.winners
        sign = line(f"{glyphs.pointer if won else ' '} ", "class:mine")
        who = beside(
            sign, chips(view.start.peoples[seat]), line(f" {names[seat]}", "class:mine" if won else "")
        )
        lines.append(_row(who, amounts_of(ended.tallies[seat]), "class:mine" if won else ""))
    lines += [
        EMPTY,
        *(content for seat in order for content in _laurels(ended, seat, names, width)),
    ]
    if ended.decided_by is not DecidedBy.POINTS:
        lines += [EMPTY, *_indented(_tie(ended, names), width)]
    return lines


def in_order(ended: GameEnded) -> list[Seat]:
    """Return the seats, the winner's first."""
    tallies = ended.tallies
    order = sorted(range(len(tallies)), key=lambda seat: (-tallies[seat].points, -tallies[seat].items))
    return list(map(Seat, order))


def amounts_of(tally: Tally) -> list[str]:
    """Return every source of points as arithmetic: `1x2 = 2`, `3+4 = 7`."""
    twos = 2 * tally.twos
    return [
        str(tally.captives),
        str(tally.ones),
        f"{tally.twos}x2 = {twos}" if twos else "0",
        _sum([LAUREL_WORTH[laurel] for laurel in tally.laurels]),
        str(tally.points),
    ]


def _sum(terms: Sequence[int]) -> str:
    return f"{'+'.join(map(str, terms))} = {sum(terms)}" if len(terms) > 1 else str(sum(terms))


def _row(who: Line, words: Sequence[str], style: str) -> Line:
    cells = (f"{word:>{room}}" for word, (_head, room) in zip(words, COLUMNS, strict=True))
    return beside(fitted(who, _NAME), line("".join(cells), style))


def _laurels(ended: GameEnded, seat: Seat, names: Sequence[str], width: int) -> list[Line]:
    laurels = ended.tallies[seat].laurels
    if not laurels:
        return []
    words = ", ".join(f"{laurel} {LAUREL_WORTH[laurel]}" for laurel in laurels)
    return _indented(_("{name} has {laurels}.").format(name=names[seat], laurels=words), width)


def _tie(ended: GameEnded, names: Sequence[str]) -> str:
    """Return the count that breaks a tie (R7.2)."""
    best = max(tally.points for tally in ended.tallies)
    tied = [seat for seat, tally in enumerate(ended.tallies) if tally.points == best]
    counts = ", ".join(f"{names[seat]} {ended.tallies[seat].items}" for seat in tied)
    return _("The tie-break, captives, discs and laurels together: {counts}.").format(counts=counts)


def _indented(text: str, width: int, style: str = "") -> list[Line]:
    return [beside(line("  "), content) for content in paragraphs([text], width - 4, style)]


def short_points(view: View, ended: GameEnded, names: Sequence[str], width: int) -> list[Line]:
    """Return everybody's points, the best first."""
    order = sorted(map(Seat, range(view.seats)), key=lambda seat: -ended.tallies[seat].points)
    return [
        ends(
            beside(chips(view.start.peoples[seat]), line(f" {names[seat]}")),
            line(f" {ended.tallies[seat].points:>2} "),
            width,
        )
        for seat in order
    ]

"""What bots say about the games they have played: sentences for people, or JSON for programs."""

import json
from collections.abc import Sequence
from typing import Any, Protocol, TextIO

from client.bots.win_shares import WinShares
from client.language import _, listed, parted
from client.tables.draws import DrawsCheck
from client.tables.fairness import draws_in_a_word, note_on_draws
from engine.events import DecidedBy, GameEnded
from protocol.messages import TableState


class Results(Protocol):
    """Where results go."""

    def table_opened(self, table: str) -> None:
        """Report the code of a new table."""

    def game_over(
        self, number: int, state: TableState, result: GameEnded | None, checks: Sequence[DrawsCheck]
    ) -> None:
        """Report how a game ended, and the bots' checks of its draws; without a result, its host ended it."""

    def all_over(self) -> None:
        """Report what everybody has achieved in several games."""


class Sentences:
    """Results for people, in the language in use."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._shares = WinShares()

    def table_opened(self, table: str) -> None:
        self._print(_("Table {table}").format(table=table))

    def game_over(
        self, number: int, state: TableState, result: GameEnded | None, checks: Sequence[DrawsCheck]
    ) -> None:
        if result is None:
            told = _("The host has ended the game: nobody wins.")
        else:
            self._shares.add(_names(state), result)
            told = parted((result_line(state, result), note_on_draws(checks)))
        self._print(_("Game {number}: {result}").format(number=number, result=told))

    def all_over(self) -> None:
        if self._shares.games > 1:
            self._print(*self._shares.lines())

    def _print(self, *lines: str) -> None:
        print(*lines, sep="\n", file=self._out, flush=True)


class JsonLines:
    """Results for programs: one JSON object a line, for each table, each game, and in the end the totals."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._shares = WinShares()

    def table_opened(self, table: str) -> None:
        self._print({"table": table})

    def game_over(
        self, number: int, state: TableState, result: GameEnded | None, checks: Sequence[DrawsCheck]
    ) -> None:
        names = _names(state)
        if result is not None:
            self._shares.add(names, result)
        self._print(
            {
                "game": number,
                "table": state.table,
                "names": names,
                "points": [] if result is None else [tally.points for tally in result.tallies],
                "winners": [] if result is None else list(result.winners),
                "draws": draws_in_a_word(checks),
            }
        )

    def all_over(self) -> None:
        self._print({"games": self._shares.games, "players": self._shares.totals()})

    def _print(self, content: dict[str, Any]) -> None:
        print(json.dumps(content, ensure_ascii=False), file=self._out, flush=True)


def result_line(state: TableState, result: GameEnded) -> str:
    """Return everybody's points and who won."""
    names = _names(state)
    points = ", ".join(f"{name} {tally.points}" for name, tally in zip(names, result.tallies, strict=True))
    winners = [names[seat] for seat in result.winners]
    if len(winners) > 1:
        form = _("{points}; {winners} share the victory")
    elif result.decided_by is DecidedBy.ITEMS:
        form = _("{points}; {winners} wins on captives, discs and laurels")
    else:
        form = _("{points}; {winners} wins")
    return form.format(points=points, winners=listed(winners))


def _names(state: TableState) -> list[str]:
    return [seat.name or _("Seat {number}").format(number=at) for at, seat in enumerate(state.seats, 1)]

"""What bots say about the games they have played, for people or as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO, TypedDict

from client.bots.shares import wilson
from client.language import _, counted, listed, parted
from client.tables.draws import DrawsCheck, draws_in_a_word, note_on_draws
from engine.events import DecidedBy, GameEnded
from protocol.messages import TableState


class Total(TypedDict):
    """What a player has reached: the share of the wins, its 95% interval, and points a game."""

    name: str
    share: float
    interval: tuple[float, float]
    points: float


@dataclass(slots=True)
class WinShares:
    """Everybody's wins and points by name; a shared victory is divided among the winners."""

    games: int = 0
    wins: dict[str, float] = field(default_factory=dict)
    points: dict[str, int] = field(default_factory=dict)

    def add(self, names: list[str], result: GameEnded) -> None:
        self.games += 1
        for seat, (name, tally) in enumerate(zip(names, result.tallies, strict=True)):
            won = 1 / len(result.winners) if seat in result.winners else 0.0
            self.wins[name] = self.wins.get(name, 0.0) + won
            self.points[name] = self.points.get(name, 0) + tally.points

    def totals(self) -> list[Total]:
        best_first = sorted(self.wins, key=lambda each: (-self.wins[each], -self.points[each]))
        return [self._total(name) for name in best_first]

    def lines(self) -> list[str]:
        """Return a heading and a line for each player, the best first."""
        heading = counted(
            "{n} game (in brackets: 95 per cent intervals):",
            "{n} games (in brackets: 95 per cent intervals):",
            self.games,
        )
        form = _("{name}: {share} of the wins ({low} to {high}), {points} points a game")
        lines = [heading.format(n=self.games)]
        for total in self.totals():
            percents = (f"{each:.1%}" for each in (total["share"], *total["interval"]))
            words = dict(zip(("share", "low", "high"), percents, strict=True))
            lines.append(form.format(name=total["name"], points=f"{total['points']:.1f}", **words))
        return lines

    def _total(self, name: str) -> Total:
        share = self.wins[name] / self.games
        interval = wilson(share, self.games)
        return Total(name=name, share=share, interval=interval, points=self.points[name] / self.games)


class Results:
    """Where results go: as sentences in the language in use, or as JSON, one object a line."""

    def __init__(self, out: TextIO, *, as_json: bool) -> None:
        self._out, self._as_json = out, as_json
        self._shares = WinShares()

    def table_opened(self, table: str) -> None:
        self._print({"table": table}, _("Table {table}").format(table=table))

    def game_over(
        self, number: int, state: TableState, result: GameEnded | None, checks: Sequence[DrawsCheck]
    ) -> None:
        """Report how a game ended, and the bots' checks of its draws; without a result, its host ended it."""
        names, told = _names(state), _("The host has ended the game: nobody wins.")
        if result is not None:
            self._shares.add(names, result)
            told = parted((result_line(state, result), note_on_draws(checks)))
        content = {
            "game": number,
            "table": state.table,
            "names": names,
            "points": [] if result is None else [tally.points for tally in result.tallies],
            "winners": [] if result is None else list(result.winners),
            "draws": draws_in_a_word(checks),
        }
        self._print(content, _("Game {number}: {result}").format(number=number, result=told))

    def all_over(self) -> None:
        """Report what everybody has achieved; for people, if it was several games."""
        lines = self._shares.lines() if self._shares.games > 1 else []
        self._print({"games": self._shares.games, "players": self._shares.totals()}, *lines)

    def _print(self, content: dict[str, Any], *lines: str) -> None:
        for line in (json.dumps(content, ensure_ascii=False),) if self._as_json else lines:
            print(line, file=self._out, flush=True)


def result_line(state: TableState, result: GameEnded) -> str:
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

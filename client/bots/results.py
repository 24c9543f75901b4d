"""What bots say about the games they have played, for people or as JSON."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TextIO

from client.bots.shares import WinShare
from client.language import _, counted, listed, parted
from client.tables.draws import NOTES_ON_DRAWS, DrawsCheck, draws_in_a_word
from engine.events import DecidedBy, GameEnded
from protocol.messages import TableState
from protocol.text import printable_json


class Results:
    """Where results go: as sentences in the language in use, or as JSON, one object a line."""

    def __init__(self, out: TextIO, *, as_json: bool) -> None:
        self._out, self._as_json = out, as_json
        self._games = 0
        self._shares: defaultdict[str, WinShare] = defaultdict(WinShare)

    def table_opened(self, table: str) -> None:
        self._print({"table": table}, _("Table {table}").format(table=table))

    def game_over(
        self, number: int, state: TableState, result: GameEnded | None, checks: Sequence[DrawsCheck]
    ) -> None:
        """Report how a game ended, and the bots' checks of its draws; without a result, its host ended it."""
        names, told = _names(state), _("The host has ended the game: nobody wins.")
        draws = draws_in_a_word(checks)
        if result is not None:
            self._games += 1
            for seat, (name, tally) in enumerate(zip(names, result.tallies, strict=True)):
                won = 1 / len(result.winners) if seat in result.winners else 0.0
                self._shares[name].add(won, tally.points)
            told = parted((result_line(state, result), _(NOTES_ON_DRAWS[draws])))
        content = {
            "game": number,
            "table": state.table,
            "names": names,
            "points": [] if result is None else [tally.points for tally in result.tallies],
            "winners": [] if result is None else list(result.winners),
            "draws": draws,
        }
        self._print(content, _("Game {number}: {result}").format(number=number, result=told))

    def all_over(self) -> None:
        """Report what everybody has achieved, the best first; for people, if it was several games."""
        best_first = sorted(self._shares.items(), key=lambda each: (-each[1].wins, -each[1].points))
        heading = counted(
            "{n} game (in brackets: 95 per cent intervals):",
            "{n} games (in brackets: 95 per cent intervals):",
            self._games,
        )
        form = _("{name}: {share} of the wins ({low} to {high}), {points} points a game")
        lines, players = [heading.format(n=self._games)], []
        for name, each in best_first:
            low, high = each.interval
            points = each.mean_points
            players.append({"name": name, "share": each.share, "interval": (low, high), "points": points})
            percents = {"share": f"{each.share:.1%}", "low": f"{low:.1%}", "high": f"{high:.1%}"}
            lines.append(form.format(name=name, points=f"{points:.1f}", **percents))
        self._print({"games": self._games, "players": players}, *(lines if self._games > 1 else ()))

    def _print(self, content: dict[str, Any], *lines: str) -> None:
        if self._as_json:
            lines = (printable_json(json.dumps(content, ensure_ascii=False)),)
        for line in lines:
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

"""`palatinus games`: the player's games that are under way on servers, and whose turn it is in each."""

import argparse
import asyncio
from typing import Final

from client.finding.found import Gone, SeatAnswer, Silent, is_turn
from client.finding.search import follow_seat
from client.language import _
from client.network.transport import ServerAccess
from client.player.seats import KeptSeat, kept_seats, seats_folder
from client.ui.frame import columns
from client.ui.screens.search import describe_turn
from commands.arguments import access_of, add_access
from commands.parsing import print_found
from protocol.messages import Turn

_SECONDS: Final = 5.0  # for all servers, which are asked at the same time
_NOT_YOUR_TURN: Final = 1


def add_games(games: argparse.ArgumentParser) -> None:
    games.epilog = _("The exit code is 0 if it is your turn in any of them, otherwise 1.")
    games.add_argument("--json", action="store_true", help=_("print JSON"))
    add_access(games)


def run_games(arguments: argparse.Namespace) -> int:
    seats = kept_seats(seats_folder())
    answers = asyncio.run(_answers(seats, access_of(arguments)))
    known = [
        (seat, answer) for seat, answer in zip(seats, answers, strict=True) if not isinstance(answer, Gone)
    ]
    heading = _("TABLE"), _("GAME"), _("YOU"), _("SERVER")
    rows = [(seat.table, describe_turn(answer), seat.name, seat.server) for seat, answer in known]
    lines = columns([heading, *rows]) if rows else [_("No seat is kept for you anywhere.")]
    print_found(arguments, [_as_map(seat, answer) for seat, answer in known], lines)
    return 0 if any(is_turn(answer) for _seat, answer in known) else _NOT_YOUR_TURN


async def _answers(seats: tuple[KeptSeat, ...], access: ServerAccess) -> list[SeatAnswer | None]:
    """Return what the servers say of the seats, None for those that do not say it in time."""

    async def ask(seat: KeptSeat) -> SeatAnswer | None:
        answers: list[SeatAnswer] = []

        def show(answer: SeatAnswer) -> None:
            answers.append(answer)
            asking.cancel()

        asking = asyncio.create_task(follow_seat(seat.server, seat.table, seat.proof, access, show))
        await asyncio.wait({asking}, timeout=_SECONDS)
        asking.cancel()
        return answers[0] if answers else None

    return await asyncio.gather(*map(ask, seats))


def _as_map(seat: KeptSeat, answer: SeatAnswer | None) -> dict[str, object]:
    told = {"server": seat.server, "table": seat.table, "name": seat.name, "your_turn": is_turn(answer)}
    match answer:
        case Turn():
            return told | {
                "stage": answer.stage,
                "turn": answer.name,
                "milliseconds": answer.clock,
                "planned": answer.planned,
                "paused": answer.paused,
                "paused_until": answer.paused_until,
            }
        case Silent(reason):
            return told | {"error": reason}
        case _:
            return told | {"error": None}

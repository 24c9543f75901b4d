"""The program that looks for servers on the network until the player chooses one."""

import asyncio
from dataclasses import replace
from typing import Final

from client.finding.found import Found, SeatAnswer, Silent
from client.finding.inquiry import follow_seat
from client.language import describe_reason
from client.network.transport import FREE_ACCESS, Access
from client.player.seats import KeptSeat
from client.ui.requests import Request
from client.ui.screens.search import Search, found, seat_stands
from client.ui.start import PageProgram
from client.ui.state import Ui

_PATIENCE: Final = 5.0  # seconds without a server after which the screen says what may be the reason


async def run(
    ui: Ui, *, access: Access = FREE_ACCESS, ascii_wanted: bool = False, seats: tuple[KeptSeat, ...] = ()
) -> tuple[Ui, Request]:
    """Show where the player's seats are and what is found, live; return the last state and the request."""
    from client.finding.search import search  # noqa: PLC0415 - the screen appears before the library is loaded

    at_first = (seats[0].server, seats[0].table) if seats else None
    program = PageProgram(replace(ui, page=Search(chosen=at_first, seats=seats)), ascii_wanted=ascii_wanted)

    def show(now: Found) -> None:
        program.change(lambda before: found(before, now))

    def give_up_hope(before: Ui) -> Ui:
        return (
            replace(before, page=replace(before.page, waited=True))
            if isinstance(before.page, Search)
            else before
        )

    async def look() -> None:
        try:
            await search(show, access)
        except Exception as error:  # noqa: BLE001 - whatever fails there, an address can be typed
            show(Found(deaf=describe_reason(error) or type(error).__name__))

    async def follow(seat: KeptSeat) -> None:
        def stands(answer: SeatAnswer) -> None:
            program.change(lambda before: seat_stands(before, seat, answer))

        try:
            await follow_seat(seat.server, seat.table, seat.proof, access, stands)
        except Exception as error:  # noqa: BLE001 - whatever fails there, the seat can be taken
            stands(Silent(describe_reason(error) or type(error).__name__))

    tasks = [asyncio.create_task(each) for each in (look(), *map(follow, seats))]
    waiting = asyncio.get_running_loop().call_later(_PATIENCE, program.change, give_up_hope)
    try:
        return await program.run()
    finally:
        waiting.cancel()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

"""What players and the host of a table ask about the table itself, as messages to the server."""

from collections.abc import Sequence

from client.levels import usual_level
from client.network.connection import Connection, RequestRefused
from client.network.refusals import describe_refusal
from client.ui.update import requests
from protocol.codes import Code
from protocol.messages import Refused


async def put_about_table(connection: Connection, request: requests.TableRequest) -> None:
    """Ask the server; raises RequestRefused or ConnectFailed."""
    match request:
        case requests.SayReady(on):
            await connection.say_ready(on=on)
        case requests.ChangeSeat(seat):
            await connection.change_seat(seat)
        case requests.ChoosePeople(people):
            await connection.choose_people(people)
        case requests.AskPause(on):
            await connection.ask_pause(on=on)
        case requests.Set(setting):
            await connection.change(setting)
        case requests.SeatBot(level):
            await connection.seat_bot(_level(connection.levels, level))
        case requests.Remove(seat):
            await connection.remove(seat)
        case requests.Dismiss(spectator):
            await connection.dismiss(spectator)
        case requests.HandOver(seat):
            await connection.hand_over(seat)
        case requests.Arrange(order):
            await connection.arrange(order)
        case requests.Substitute(seat):
            await connection.substitute(seat)
        case requests.EndGame():
            await connection.end_game()


def _level(levels: Sequence[str], wanted: str | None) -> str:
    """Return the level of the bot that is wanted: one for beginners, unless one is named."""
    if not levels:
        raise RequestRefused(Code.NO_BOTS, describe_refusal(Refused(Code.NO_BOTS, "")))
    if wanted is None:
        return usual_level(tuple(levels))
    if wanted not in levels:
        about = {"level": wanted, "levels": ", ".join(levels)}
        refused = Refused(Code.NO_SUCH_LEVEL, "", about=about)
        raise RequestRefused(refused.code, describe_refusal(refused))
    return wanted

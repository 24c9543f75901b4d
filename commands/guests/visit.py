"""A guest's visit: the terminal client, for a player far away."""

import asyncio
from dataclasses import dataclass, field, replace

from client.language import _
from client.network.transport import Access
from client.player.terminal import Calling, Colouring
from client.typed_text import fault_of
from client.ui.game import visit
from client.ui.state import Capabilities
from client.ui.visit import LookingBack, Options, Suggest, Visit, at_table
from commands.finished_games.history_screen import look_back
from commands.finished_games.records import recording_of
from commands.guests.kept_seats import GuestSeats
from commands.guests.limits import GuestLimits
from commands.guests.terminal import GuestTerminal, TerminalClosed
from protocol.limits import NAME_LENGTH


@dataclass(frozen=True, slots=True)
class Server:
    """Where guests play: what it is called in the files of their seats stays the same, unlike the URL."""

    url: str
    called: str
    access: Access


@dataclass(frozen=True, slots=True)
class Guest:
    """Somebody who has come in, with the command that leads here.

    `way_back`, for those whose secret word is new, is the same with that word. Whoever has come by a word has
    no other `name` than the last one, which is kept with their seats, and is not shown the word again.
    """

    name: str
    address: str
    way_in: str
    way_back: str | None = field(repr=False)


async def play(
    guest: Guest,
    terminal: GuestTerminal,
    seats: GuestSeats,
    server: Server,
    limits: GuestLimits,
    *,
    suggest: Suggest,
) -> Visit:
    """Show the game until the guest leaves it; return how that ended."""
    here = terminal.environment
    device = terminal.device(Colouring().resolved(here), Calling().resolved(here))
    back = how_to_come_back(guest)
    looking_back = LookingBack(recording_of, None, keep=seats.keep_game, lists=True)
    options = Options(
        server.url,
        _name(guest.name or seats.name),
        first=at_table(last_table(seats)),
        suggest=suggest,
        access=replace(server.access, headers={**server.access.headers, "X-Forwarded-For": guest.address}),
        seats=seats,
        looking_back=looking_back,
        parting=back,
        reminder=back if guest.way_back is not None else "",
        capabilities=Capabilities(way_in=guest.way_in),
        device=device,
    )
    if guest.way_back is not None:
        terminal.say(back)  # it stays on the terminal below the game
    tries = 0
    while True:
        visited = await visit(options)
        if visited.looks_back:
            if not await look_back(seats.games, looking_back, device=device):
                return Visit()
            options = replace(options, name=visited.name, first=None)
            continue
        if not visited.password_wanted or tries == limits.password_tries:
            return visited
        tries += 1
        terminal.say(visited.sentence)
        terminal.write(_("Password: "))
        try:
            async with asyncio.timeout(limits.password_seconds):
                password = await terminal.line()
        except (TerminalClosed, TimeoutError):
            terminal.say("")
            return visited
        terminal.say("")
        options = replace(options, access=replace(options.access, password=password))


def how_to_come_back(guest: Guest) -> str:
    if guest.way_back is None:
        return _("Your seat is kept: connect again in the same way to return to it.")
    text = _("Your way back to your seat, even from another computer; keep it secret: {command}")
    return text.format(command=guest.way_back)


def _name(wanted: str) -> str:
    """Return the name that a guest plays under: the one wanted, if that will do."""
    name = wanted.strip()[:NAME_LENGTH].strip()
    return name if name and fault_of(name) is None else _("Guest")


def last_table(seats: GuestSeats) -> str | None:
    """Return the table at which a guest last had a seat that is kept and free, None if there is none."""
    try:
        held = seats.latest()
    except OSError:
        return None  # the client will say what is wrong with the folder
    return None if held is None else held.table

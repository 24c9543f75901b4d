"""A screen whose keys a test presses."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from prompt_toolkit.input import PipeInput

from client.bots.hints import suggest_move
from client.player.seats import Seats
from client.tables.table import TableModel
from client.ui.game import Client
from client.ui.requests import Join
from client.ui.screens.lobby import LobbyPage
from client.ui.seat_keeper import Keeping
from client.ui.state import Ui
from client.ui.visit import Destination, Player, Stay
from protocol import messages
from protocol.messages import NEW
from tests.client.scripted import TIMEOUT, Peer


class Keyboard:
    """The keys of a terminal without a display, and the UI state that they lead to."""

    def __init__(self, pipe: PipeInput) -> None:
        self.press = pipe.send_text
        self.changed = asyncio.Event()
        self.client: Client  # once it has shown something

    async def until(self, seen: Callable[[Ui, TableModel], bool]) -> None:
        """Wait until the client's state meets the condition."""
        async with asyncio.timeout(TIMEOUT):
            while not hasattr(self, "client") or not seen(self.client.ui, self.client._connection.model):
                self.changed.clear()
                await self.changed.wait()


def tables_in(ui: Ui) -> tuple[messages.TableSummary, ...]:
    return ui.page.tables if isinstance(ui.page, LobbyPage) else ()


def is_idle(ui: Ui, model: TableModel) -> bool:
    """Tell whether the client is at a table and waits for no answer."""
    return model.table is not None and not ui.busy


def gathering(*names: str | None) -> messages.TableState:
    return messages.TableState(
        "KXQT", "gathering", [messages.SeatSummary(name, name is not None) for name in names], 0
    )


async def greet(peer: Peer, *tables: messages.TableSummary) -> None:
    """Greet the client and send it the list of tables."""
    await peer.answer(messages.ListTables, messages.Tables(NEW, list(tables)))


def kept_seat_files(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.glob("*.json")]


def visit_with_kept_seat(folder: Path, url: str) -> tuple[Player, Destination, Stay]:
    """Return the visit of a player whose seat 1 at KXQT was kept earlier."""
    seats = Seats(folder, url)
    seats.keep("KXQT", 1, "Ann", "old-secret").release()
    return Player("Bob", suggest_move), Destination(url), Stay(Join("KXQT"), Keeping(seats))


async def quit_table(keys: Keyboard, peer: Peer) -> None:
    """Have the program end, and let it leave its table first; before a game it asks."""
    keys.press("q" if keys.client._connection.model.view is not None else "qy")
    await peer.answer(messages.Leave, messages.Done(NEW))


async def greet_with_a_table(keys: Keyboard, peer: Peer) -> None:
    """Greet the client, and wait until it shows a table that can be joined."""
    await greet(peer, messages.TableSummary("KXQT", "Bob", 2, 1, "gathering"))
    await keys.until(lambda ui, _: len(tables_in(ui)) == 1)


async def list_again(keys: Keyboard, peer: Peer) -> None:
    """Have the client ask for the list, rather than wait until it does so by itself, and show a table."""
    keys.press("r")
    await peer.answer(
        messages.ListTables, messages.Tables(NEW, [messages.TableSummary("ABCD", "Bob", 2, 1, "gathering")])
    )
    await keys.until(lambda ui, _: len(tables_in(ui)) == 1)


async def seat(peer: Peer, *others: messages.ServerMessage) -> None:
    """Greet the client, and give it the second seat at the table that it joins or comes back to."""
    await peer.welcome()
    asked = await peer.receive_any()
    assert isinstance(asked, messages.JoinTable | messages.Resume)
    await peer.send(
        messages.Seated(asked.id, "KXQT", 1, "a-secret" if isinstance(asked, messages.JoinTable) else None),
        *others,
    )

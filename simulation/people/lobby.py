"""People who sit in the lobby and talk, some of them on two connections at once."""

import asyncio
import contextlib
import random
from dataclasses import dataclass
from typing import Final

from client.network.transport import ConnectFailed, RequestRefused
from protocol.messages import NEW, EnterLobby, SayInLobby
from simulation.people.visitors import Visitor

_LONGEST_SILENCE: Final = 8.0
_REMARKS: Final = 6  # at most, before somebody enters again


@dataclass(slots=True)
class LobbyGuest(Visitor):
    """Enters the lobby under a name that several share, if they are one person's, who has this `token`."""

    token: str = ""

    async def talk_on(self) -> None:
        """Go on until cancelled."""
        await self.connect()
        while True:
            with contextlib.suppress(ConnectFailed, RequestRefused):
                await self.connection.ask(EnterLobby(NEW, self.name, [self.token]))
                self.counts["times somebody entered the lobby"] += 1
                for _ in range(self.rng.randrange(_REMARKS)):
                    await asyncio.sleep(self.rng.uniform(0, _LONGEST_SILENCE))
                    self.said += 1
                    await self.connection.ask(SayInLobby(NEW, f"{self.name} {self.said}"))
                    self.counts["remarks in the lobby"] += 1
                await self.connection.ask(EnterLobby(NEW))
            await asyncio.sleep(self.rng.uniform(0, _LONGEST_SILENCE))
            if self.connection.closed is not None or self.rng.random() < 0.3:
                await self.disconnect()
                await self.connect()


def lobby_guests(visitor: Visitor, seed: str) -> list[LobbyGuest]:
    """Return two people, the first of them twice, who come the way of a visitor."""
    return [
        LobbyGuest(
            visitor.way,
            random.Random(f"{seed} lobby {number}"),
            visitor.counts,
            f"Talker {person}",
            token=f"{person:043d}",
        )
        for number, person in enumerate((1, 1, 2))
    ]

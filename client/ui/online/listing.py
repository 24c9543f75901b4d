"""The player's name among those who are online in the server's lobby."""

import secrets
from dataclasses import replace

from client.network.connection import ConnectFailed, Connection, RequestRefused
from client.ui.online.kept_seat import SeatKeeper
from client.ui.online.shown import Shown
from client.ui.update.state import Company


class Listing:
    """Keeps the player listed under `name`, which is the player's from now on, if that is `wanted`."""

    def __init__(
        self, name: str, connection: Connection, shown: Shown, keeper: SeatKeeper, *, wanted: bool
    ) -> None:
        self.name = name
        self._connection = connection
        self._shown = shown
        self._keeper = keeper
        self._wanted = wanted
        self._token = secrets.token_urlsafe()  # after a lost connection it proves whose the name is
        self._listed = False  # at any time

    async def keep_up(self) -> None:
        """Enter the server's lobby under the player's name, once the player has been there.

        A name that somebody else has is tried again, in case they go.
        """
        connection = self._connection
        if not connection.has_lobby or not self._wanted or connection.listed_as == self.name:
            return
        if connection.model.table is None or self._listed:
            try:
                await self.enter(self.name)
            except RequestRefused as refusal:
                self._shown.show(replace(self._shown.ui, company=Company(fault=str(refusal))))
            except ConnectFailed:
                pass  # the news says so

    async def enter(self, name: str) -> None:
        """Enter the server's lobby under a name; raises RequestRefused or ConnectFailed."""
        await self._connection.enter_lobby(name, (self._token, *self._keeper.tokens(name)))
        self._listed = True
        if self._shown.ui.company is None or self._shown.ui.company.fault:
            self._shown.show(replace(self._shown.ui, company=Company()))

"""Moves that are suggested to a player at a page, who has no program that could: the server's bots advise."""

import asyncio

from engine.events import Command, LayTile
from engine.game import Game
from pages.serving.live_page import PlayerSession
from pages.shared import MoveChoice
from server.parts import Running
from server.probes import probe
from server.tables.table import Table


class Hints:
    """What the strongest of the server's bots would do in the place of a player, who is shown that as chosen.

    It sees what the player's seat may see, and thinks in the turn of the table, as its bots do.
    """

    def __init__(self, session: PlayerSession, server: Running) -> None:
        self._session, self._server = session, server
        self._asked: tuple[str, int] | None = None  # at which table, and after how many events
        self._thought: asyncio.Future[Command] | None = None

    def suggested(self, table: Table, game: Game) -> Command | None:
        """Return the move that is suggested now; if there is none but wanted, start thinking."""
        now = table.code, len(game.events)
        if self._asked != now:
            self._forget()
        wanted, self._session.wants_hint = self._session.wants_hint, False
        if self._asked is None and wanted:
            probe("a player at a page has a move suggested")
            self._asked = now
            self._thought = self._ask(table.state.opened.origin, game)
        thought = self._thought
        if thought is None or not thought.done() or thought.cancelled() or thought.exception() is not None:
            return None
        return thought.result()

    def _ask(self, origin: str, game: Game) -> asyncio.Future[Command]:
        *_others, level = self._server.config.brains
        thought = self._server.lobby.stand_in.thinks(game, level, origin)
        thought.add_done_callback(self._choose)
        return thought

    def _choose(self, thought: asyncio.Future[Command]) -> None:
        """Show the move as the player's choice, who may choose otherwise."""
        if thought is not self._thought or thought.cancelled() or thought.exception() is not None:
            return
        move = thought.result()
        if isinstance(move, LayTile):
            self._session.choice = MoveChoice(position=move.position, orientation=move.orientation)
        else:
            self._session.choice = MoveChoice(piece=str(move.piece), field=str(move.field))
        self._session.changed()

    def _forget(self) -> None:
        if self._thought is not None:
            self._thought.cancel()
        self._asked = self._thought = None

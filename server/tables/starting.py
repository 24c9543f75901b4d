"""Starting a table's game: who may, and when."""

from engine.events import Event
from engine.game import Game
from engine.pieces import Seat
from protocol.codes import Code
from server.tables.requests import Refusal
from server.tables.state import Seating


def opening(seating: Seating, seat: Seat) -> tuple[Game, tuple[Event, ...]]:
    """Return the game that `seat` starts and what happens first; raises Refusal if it cannot."""
    if seating.game is not None:
        raise Refusal(Code.ALREADY_STARTED, "The game has begun already.")
    if seat != seating.host:
        text = "Only the host, seat {seat}, starts the game."
        raise Refusal(Code.NOT_THE_HOST, text, seat=seating.host)
    empty = sum(player is None for player in seating.players)
    if empty:
        which = "1 seat is empty" if empty == 1 else "{empty} seats are empty"
        raise Refusal(Code.SEATS_EMPTY, f"{which}. Wait for players, or add bots.", empty=empty)
    kept = next((player for player in seating.players if player is not None and player.kept), None)
    if kept is not None:
        text = "A seat is kept for {name}, who has not come yet. Wait until it is taken or free."
        raise Refusal(Code.SEATS_EMPTY, text, name=kept.name)
    game = Game.new(seating.options, seating.chance)
    return game, tuple(game.events)

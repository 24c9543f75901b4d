"""Mistakes in what is sent."""

from collections.abc import Callable
from typing import Any

from engine.draws import Share
from engine.events import Event, SeenEvent
from engine.game import Game
from engine.legal import Legal
from engine.view import Eyes
from protocol.messages import Events
from server.net.session import Session
from server.tables import audience, context
from server.tables.game import game_start
from simulation.broken.making import exchange, mistake


def _catch_up_after(change: Callable[[int], int]) -> None:
    """Have the server take another number for the last event that a client has."""

    def catch_up(right: Any) -> Any:
        def wrong(session: Session, game: Game, after: int, *args: Any, **options: Any) -> None:
            right(session, game, change(after) if after else 0, *args, **options)

        return wrong

    exchange(context, "catch_up", catch_up)


@mistake("one-event-too-many", "sends a returning client the last event that it has once more")
def _send_last_again() -> None:
    _catch_up_after(lambda after: max(1, after - 1))


@mistake("everything-again", "sends everything to a client that lacks some events")
def _send_everything() -> None:
    _catch_up_after(lambda _after: 0)


@mistake("event-left-out", "leaves an event out when a client catches up")
def _leave_an_event_out() -> None:
    def events_message(right: Any) -> Any:
        def wrong(first: int, events: list[Any], *args: Any, **options: Any) -> Events:
            catching_up = "stood_in" in options  # a move is told without
            some = events[1:] if catching_up else events
            message: Events = right(first, some, *args, **options)
            return message

        return wrong

    exchange(audience, "Events", events_message)


@mistake("wolves-shown", "shows everybody what the wolves are")
def _show_wolves() -> None:
    def redacted(event: Event, _eyes: Eyes) -> SeenEvent:
        return event

    exchange(audience, "redacted", lambda _right: redacted)


@mistake("seed-shown", "shows the seed of the draws in place of its hash")
def _show_seed() -> None:
    exchange(game_start, "commitment_to", lambda _right: lambda seed: seed)


@mistake("share-left-out", "draws from another share than the one that a client has shown")
def _leave_share_out() -> None:
    def shared_chance(right: Any) -> Any:
        return lambda seed, shares: right(seed, [Share("0" * 64), *shares[1:]])

    exchange(game_start, "SharedChance", shared_chance)


@mistake("legal-moves-shown", "tells everybody what the player on turn may do")
def _show_legal_moves() -> None:
    def redacted_legal(legal: Legal | None, _eyes: Eyes) -> Legal | None:
        return legal

    exchange(audience, "redacted_legal", lambda _right: redacted_legal)

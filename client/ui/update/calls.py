"""What a player at a table is called to the screen for."""

from collections.abc import Iterator

from msgspec import Struct

from client.language import _
from client.tables.table import TableModel
from client.ui.texts.changes import describe_pause_asked
from client.ui.texts.events import describe_turn
from client.ui.texts.people import names_at
from client.ui.texts.scoring import describe_rematch
from client.ui.update.table.votes import next_vote
from engine.view import Phase


class Occasion(Struct, frozen=True):
    """Something that the player should come for; `what` tells it from every other one of the same table."""

    table: str
    what: str
    sentence: str


def occasions(model: TableModel) -> tuple[Occasion, ...]:
    """Return what there is to come for now, the most important first; a spectator is not called."""
    table = model.table
    if table is None or model.seat is None or model.state is None:
        return ()
    return tuple(Occasion(table, what, sentence) for what, sentence in _reasons(model))


def _reasons(model: TableModel) -> Iterator[tuple[str, str]]:
    view, state = model.view, model.state
    assert state is not None  # noqa: S101 - without one there is nothing to come for
    if view is None:
        here = all(each.name is not None and not each.kept for each in state.seats)
        if here and model.seat == state.host:
            yield "everybody", _("Everybody is here: you can start the game.")
        return
    if view.phase is Phase.OVER:
        if state.seats and any(each.again for each in state.seats) and not _plays_again(model):
            yield "again", describe_rematch(state, model.seat)
        yield "over", _("All pieces are placed: the scoring begins.")
        return
    if view.turn == model.seat:
        laid = sum(tile is not None for tile in view.tiles)
        yield f"turn {laid} {len(view.placed)}", describe_turn(model, names_at(model))
    if (vote := next_vote(model)) is not None and vote.agree:
        name = names_at(model)[vote.seat]
        yield f"vote {vote.seat}", _("{name} is away: vote whether a bot plays.").format(name=name)
    asked = state.pause_asked
    if asked and model.seat not in asked:
        yield f"pause {asked[0]}", describe_pause_asked(names_at(model)[asked[0]])
    yield "begun", _("The game has begun.")


def _plays_again(model: TableModel) -> bool:
    state, seat = model.state, model.seat
    return state is not None and seat is not None and state.seats[seat].again

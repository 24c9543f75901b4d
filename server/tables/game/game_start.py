"""The start of a game: its draws come from the server's seed and the shares of the clients that add one.

docs/fairness.md explains the steps and what they prove.
"""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from engine.components import DEALS
from engine.draws import MISSING, NO_SHARE, OF_ROUND, Bytes32, Share, commitment_to, pledge_of
from engine.game import Chance, Game, SharedChance
from engine.pieces import Seat
from protocol.codes import Code
from protocol.events import event_map
from protocol.limits import LARGEST_ID
from protocol.messages import AddShare, DrawBegins, StartGame
from server.errors import JournalError
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal, not_stored
from server.storage.entries import Entry, GivenToBot, Played
from server.tables.absence.deadlines import Due
from server.tables.context import Draw, TableContext, Then
from server.tables.feature import Happening
from server.tables.game.moves import made
from server.tables.state.persistent_state import PersistentState

_OF_EVENING: Final = StartGame(LARGEST_ID)  # the request of nobody
SHARE_SECONDS: Final = 2.0  # that clients have to show their shares; nobody can delay a start for longer


def break_off(context: TableContext) -> None:
    """Stop waiting for shares; a client whose connection ends now has not withheld its share."""
    context.deadlines.cancel(Due.SHARES)
    context.draw = None


def start(context: TableContext, session: Session, message: StartGame) -> Sequence[Happening]:
    """Begin the game, or the draw that comes before it; the game's first events are the answer."""
    seat, draw = session.player_seat(), context.draw
    _check_start(context.state, seat)
    if draw is None:
        return _close_ranks(context, session, seat, message) or _draw(context, session, seat, message)
    if (draw.seat, draw.message) != (seat, message):
        raise Refusal(Code.ALREADY_STARTED)
    probe("a request to start comes again during the draw")
    draw.starter = session  # it has lost its connection in the meantime
    return ()


def begin_of_evening(context: TableContext, seed: Bytes32 | None) -> Sequence[Happening]:
    """Begin a game of an evening; bots play for people who have not come, until they do.

    With a `seed`, everything is drawn from that alone, as at the other tables of the round.
    """
    state = context.state
    if state.game is not None or context.draw is not None:
        return ()
    seated = context.audience.seated
    absent = sorted(seat for seat in state.people - state.bot_seats if seat not in seated)
    entries: list[Entry] = []
    for seat in absent:
        if (player := state.players[seat]) is not None and player.kept:
            entries += replace(player, kept=False).entries(seat)
        entries.append(GivenToBot(seat))
    host = min(seated, default=Seat(0))
    if seed is None:
        return [*entries, *_draw(context, None, host, _OF_EVENING)]
    shares = [OF_ROUND] * len(state.players)
    context.audience.broadcast(DrawBegins(commitment_to(seed), [None] * len(shares)))
    return [*entries, *_begin(context, None, host, _OF_EVENING, SharedChance(seed, shares))]


def add_share(context: TableContext, session: Session, message: AddShare) -> Sequence[Happening]:
    """Take the share that a client had pledged."""
    session.player_seat()
    session.pledge, draw = message.pledge, context.draw
    if draw is None or draw.commitment != message.commitment or session not in draw.awaited:
        probe("a share comes too late")
        return ()
    seat, pledge = draw.awaited.pop(session)
    share = Share(message.share)
    if pledge_of(share) != pledge:
        raise Refusal(Code.BAD_MESSAGE, reason="the share is not the one that was pledged")
    draw.shares[seat] = share
    return ()


def await_no_share(context: TableContext, draw: Draw) -> Sequence[Happening]:
    """Have the game begin with the shares that are there."""
    if draw is context.draw:
        probe("a share does not come in time")
        draw.awaited.clear()
    return ()


def is_complete(context: TableContext, draw: Draw) -> bool:
    """Return whether the shares of all clients that are connected have arrived."""
    return draw.awaited.keys().isdisjoint(context.audience.seated.values())


def begin(context: TableContext, draw: Draw) -> Sequence[Happening]:
    """Begin the game of a draw, or draw again if it would be another game by now."""
    break_off(context)
    if not context.audience.seated:  # nobody is there to play, or to be answered
        probe("everybody leaves during the draw")
        return ()
    state, seat = context.state, _seat_of(context, draw)
    if draw.starter is not None:
        _check_start(state, seat)
        if closed := _close_ranks(context, draw.starter, seat, draw.message):
            return closed
    if draw.subject == _subject(state):
        return _begin(context, draw.starter, seat, draw.message, SharedChance(draw.seed, draw.shares))
    probe("a game is drawn again because its table has changed")
    return _draw(context, draw.starter, seat, draw.message)


def refuse(context: TableContext, draw: Draw, why: Refusal | JournalError) -> None:
    """Answer the request to start the game of a draw, which cannot begin."""
    if isinstance(why, JournalError):
        probe("a game that was drawn cannot be stored")
        context.lobby.counts.journal_failed(why)
        answer = not_stored(why).message(draw.message.id)
    else:
        answer = why.message(draw.message.id)
        if (player := context.state.players[_seat_of(context, draw)]) is not None:
            player.answers.remember(draw.message, answer)
    if draw.starter is not None:
        draw.starter.send(answer)


def _draw(
    context: TableContext, session: Session | None, seat: Seat, message: StartGame
) -> Sequence[Happening]:
    """Commit to a seed and ask for the shares that were pledged; without any, begin the game."""
    if context.lobby.config.seed is not None:
        return _begin(context, session, seat, message, context.state.chance)
    seated = context.audience.seated
    awaited = {each: (at, each.pledge) for at, each in seated.items() if each.pledge is not None}
    shares = [NO_SHARE] * len(context.state.players)
    pledges: list[str | None] = [None] * len(shares)
    for at, pledge in awaited.values():
        shares[at], pledges[at] = MISSING, pledge
    seed = Bytes32(secrets.token_hex(32))
    draw = Draw(session, seat, message, _subject(context.state), seed, shares, awaited)
    if awaited:
        return [Then(partial(_await_shares, context, draw, pledges))]
    if context.called_for_shares:  # players who have shown their share learn that another draw begins
        _announce(context, draw, pledges)
    return _begin(context, session, seat, message, SharedChance(seed, shares))


def _await_shares(context: TableContext, draw: Draw, pledges: list[str | None]) -> None:
    for each in draw.awaited:
        each.pledge = None  # once shown, a share is no secret in another draw
    context.called_for_shares = True
    _announce(context, draw, pledges)
    context.draw = draw
    context.deadlines.set(Due.SHARES, SHARE_SECONDS, draw)


def _announce(context: TableContext, draw: Draw, pledges: list[str | None]) -> None:
    context.send_changed_state()  # so that everybody knows what the draw is about
    context.audience.broadcast(DrawBegins(draw.commitment, pledges))


def _seat_of(context: TableContext, draw: Draw) -> Seat:
    """Return the seat of the player who asked for the game, who may have moved in the meantime."""
    seated = context.audience.seated.items()
    return next((seat for seat, session in seated if session is draw.starter), draw.seat)


def _begin(
    context: TableContext, session: Session | None, seat: Seat, message: StartGame, chance: Chance
) -> Sequence[Happening]:
    game = Game.new(context.state.options, chance)
    happened = tuple(game.events)
    events = [event_map(event) for event in happened]
    return made(context, Played(seat, message, events, seed=chance.seed()), happened, mover=session)


def _check_start(state: PersistentState, seat: Seat) -> None:
    state.check_gathering()
    if seat != state.host:
        raise Refusal(Code.NOT_THE_HOST)
    if state.free and not (state.grows and len(state.held) >= min(DEALS)):
        raise Refusal(Code.SEATS_EMPTY, free_seats=", ".join(map(str, state.free)))
    for _, player in state.held:
        if player.kept:
            raise Refusal(Code.SEAT_KEPT, name=player.name)


def _close_ranks(
    context: TableContext, session: Session, seat: Seat, message: StartGame
) -> Sequence[Happening]:
    """Take away the seats between the players that others have left, and begin then; nothing without any.

    The players keep their order.
    """
    state = context.state
    if not state.free:
        return ()
    probe("a game begins at a table that others have left")
    order = [*(taken for taken, _ in state.held), *map(Seat, state.free)]
    now = Seat(order.index(seat))

    def begin_then() -> None:
        context.draw = Draw(session, now, message, None, Bytes32(secrets.token_hex(32)), [], awaited={})

    return [*state.rearranged(order), Then(begin_then)]


def _subject(state: PersistentState) -> object:
    """Return what the draws of a game are about: who sits where, and which draws there are."""
    seats = [player and (player.name, player.token_hash, player.level) for player in state.players]
    return state.starting, state.opened.random_layout, seats

"""Joining and leaving a table: seats are taken, resumed, kept for a while, and freed; and who is host."""

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from msgspec import structs

from engine.pieces import Seat
from protocol.codes import CloseCode, CloseReason, Code
from protocol.messages import (
    JoinTable,
    Leave,
    OpenTable,
    Reseated,
    Resume,
    SeatBot,
    Seated,
    Watch,
    Watching,
)
from server.limits.networks import Networks, who_gives_way
from server.monitoring.logs import about
from server.net.session import Session
from server.net.tokens import new_token, token_hash
from server.probes import probe
from server.refusal import Refusal
from server.storage import entries as stored
from server.storage.entries import Entry
from server.tables.absence.deadlines import Due
from server.tables.context import TableContext, Then
from server.tables.feature import Came, Happening, PlayerRemoved, SpectatorRemoved, Went
from server.tables.names import alike, check_name, name_for_bot
from server.tables.state.persistent_state import Player, Rearranged

log = logging.getLogger(__name__)


def join(context: TableContext, session: Session, message: JoinTable) -> Sequence[Happening]:
    """Give the session a free seat, the first one unless it names one."""
    state = context.state
    if state.of_evening:
        raise Refusal(Code.OF_THE_EVENING)
    if again := return_to_seat(context, session, message):
        return again
    session.check_seats_left()
    context.exclusions.check(session, message.name, context.code)
    token = new_token() if message.token is None else None  # otherwise the client knows it
    newcomer = Player(message.name, token_hash(token or message.token or ""), message.program)
    seat, entries = _taken(context, message.seat, newcomer, context.hands_known.get(session))
    gone = dict(state.held).get(seat)
    taken_over = gone.name if gone is not None and gone.vacant else None

    def take_seat() -> None:
        if (player := state.players[seat]) is not None:
            player.took_over = taken_over
        sit(context, session, seat, Seated(message.id, context.code, seat, token, taken_over))
        context.synchronize(session, 0, "came")

    return [*entries, Came(seat, again=False), Then(take_seat)]


def return_to_seat(
    context: TableContext, session: Session, message: JoinTable | OpenTable
) -> Sequence[Happening]:
    """Give the session the seat that this request has taken before; nothing happens if it is new.

    It is sent again if the connection was lost before the answer came.
    """
    state = context.state
    if message.token is None or (seat := state.seat_held(token_hash(message.token))) is None:
        return ()
    player = state.players[seat]
    taken_over = None if player is None else player.took_over
    probe("a request for a seat comes again")
    answer = Seated(message.id, context.code, seat, taken_over=taken_over)
    return [*_come_back(context, session, seat, answer, after=0), Then(context.lobby.counts.resumed)]


def resume(context: TableContext, session: Session, message: Resume) -> Sequence[Happening]:
    """Give the session the seat that its token holds, from now on with another one if it sends that."""
    state, renewed = context.state, list[Happening]()
    seat = state.seat_held(token_hash(message.token))
    if message.new_token is not None:
        new = token_hash(message.new_token)
        if seat is None:
            seat = state.seat_held(new)  # it was renewed before, and the answer was lost
            probe("a request for a new token comes again")
        else:
            renewed += _token_renewed(context, seat, new)
            probe("a token is renewed")
    if seat is None:
        raise Refusal(Code.BAD_TOKEN, table=context.code)
    answer = Seated(message.id, context.code, seat)
    back = _come_back(context, session, seat, answer, message.after, is_seated=bool(renewed))
    return [*renewed, *back, Then(context.lobby.counts.resumed)]


def arrive(context: TableContext, session: Session, id: int, player: Player) -> Sequence[Happening]:  # noqa: A002 - the wire's own word
    """Give a player of the previous game the kept seat, or a free one if it is no longer kept."""
    seat = context.state.seat_held(player.token_hash)
    if seat is None:
        free = player.people if (player.people,) not in context.state.chosen else None
        newcomer = Player(
            player.name, player.token_hash, player.program, standing=player.standing, people=free
        )
        seat, entries = _taken(context, None, newcomer, known=None)
        probe("a player's seat at a rematch is no longer kept")
        answer = Seated(id, context.code, seat)
        return [*entries, *_come_back(context, session, seat, answer, 0, is_seated=True)]
    return _come_back(context, session, seat, Seated(id, context.code, seat), after=0)


def watch(context: TableContext, session: Session, message: Watch) -> Sequence[Happening]:
    context.exclusions.check(session, message.name, context.code)
    if not context.state.switches.spectators:
        raise Refusal(Code.NO_SPECTATORS, table=context.code)
    if message.name is not None:
        check_name(message.name)
        _check_free(context, message.name)
    crowded: Session | None = None
    if len(context.audience.spectators) >= context.limits.spectators:
        probe("a table has as many spectators as it may")
        newest_first = [(each.address, each) for each in reversed(context.audience.spectators)]
        if (crowded := who_gives_way(session.address, newest_first)) is None:
            raise Refusal(Code.SPECTATORS_FULL, table=context.code)

    def begin_watching() -> None:
        if crowded is not None:
            context.send_away(crowded, Refusal(Code.SPECTATORS_FULL, table=context.code))
        context.audience.add_spectator(session, message.name)
        session.sit(context.table, None)
        session.send(Watching(message.id, context.code))
        context.broadcast_state(session)
        context.synchronize(session, message.after, "came")

    return [Then(begin_watching)]


def sit(context: TableContext, session: Session, seat: Seat, answer: Seated) -> None:
    """Give the seat to the session, and send it `answer`."""
    context.audience.seated[seat] = session
    context.away_since.pop(seat, None)
    if seat in context.removed:
        context.removed -= {seat}
    session.sit(context.table, seat)
    log.info("took seat", extra=about(table=context.code, seat=seat, address=session.name))
    session.send(answer)
    context.policy.player_came(seat)
    context.changed()
    context.broadcast_state(session)


def disconnect(context: TableContext, session: Session) -> Sequence[Happening]:
    """Remove a session whose connection was lost; its player keeps the seat, at least for a while."""
    seat = session.seat

    def keep_seat() -> None:
        if seat is None:
            return
        keep_for_a_while(context, seat)
        if (player := context.state.players[seat]) is not None:
            context.last_sessions[player.token_hash] = (session.id, session.address)
        held = {player.token_hash for _, player in context.state.held}
        context.last_sessions = {each: gone for each, gone in context.last_sessions.items() if each in held}

    return [*_gone(context, session), Then(keep_seat)]


def leave(context: TableContext, session: Session, _: Leave) -> Sequence[Happening]:
    """Remove a session that leaves: before the game, its seat is free immediately."""
    seat, state = session.seat, context.state
    freed = seat is not None and state.stage == "gathering" and not state.of_evening
    entries = _freed_entries(context, seat) if seat is not None and freed else []
    return [*entries, *_gone(context, session)]


def free_if_away(context: TableContext, seat: Seat) -> Sequence[Happening]:
    """Free a seat that was kept for long enough, unless its player is back or the game has begun.

    Who is still at the game before keeps the seat if anybody waits here.
    """
    taken = seat in {each for each, _ in context.state.held} - context.state.bots
    if not taken or seat in context.audience.seated or context.state.stage != "gathering":
        return ()
    player, sits_elsewhere = context.state.players[seat], context.lobby.sits_elsewhere
    waited_for = player is not None and player.kept and not player.program and context.audience.seated
    if waited_for and sits_elsewhere(context.code, context.state.holder(seat)):
        probe("a seat stays kept for a player who is at the end of the game before")
        return [Then(lambda: keep_for_a_while(context, seat))]
    probe("a seat is freed because its player is away")
    return _freed_entries(context, seat)


def remove_player(context: TableContext, seat: Seat) -> Sequence[Happening]:
    """Take the seat from its player: before the game it is free, later a bot plays for it to the end.

    Nothing happens if it is free.
    """
    if context.state.players[seat] is None or (seat in context.state.bots and context.state.game):
        return ()
    probe("the server's host removes a player")
    gathering, session = context.state.stage == "gathering", context.audience.seated.get(seat)

    def send_away() -> None:
        if gathering:
            context.removed |= {seat}
        log.warning("player removed by the host", extra=about(table=context.code, seat=seat))
        if session is None:
            context.policy.player_went(seat)
        else:
            session.send(Refusal(Code.REMOVED_BY_SERVER, table=context.code).message())

    entries = _freed_entries(context, seat) if gathering else [stored.TokenRevoked(seat)]
    return [*entries, Then(send_away), *(() if session is None else _gone(context, session))]


def seat_bot(context: TableContext, _: Session, message: SeatBot) -> Sequence[Happening]:
    """Give a free seat to a bot of the server, the first one unless one is wanted."""
    context.state.check_gathering()
    level, wanted = message.level, message.seat
    levels, free = context.lobby.stand_in.levels, context.state.to_be_had
    if not levels:
        raise Refusal(Code.NO_BOTS)
    if level not in levels:
        raise Refusal(Code.NO_SUCH_LEVEL, level=level, levels=", ".join(levels))
    if wanted is not None and wanted not in free:
        context.state.check_seat(wanted)
    if not free:
        raise Refusal(Code.TABLE_FULL, table=context.code)
    seat = choose_seat(wanted, free)
    name = name_for_bot(level, _names_there(context), context.lobby.stand_in.naming)
    return [stored.BotSeated(seat, level, name), *context.state.unready]


def send_player_away(context: TableContext, removed: PlayerRemoved) -> None:
    """End the session of a player whom the host has removed from the seat."""
    gathering = context.state.stage == "gathering"
    if gathering:
        context.removed |= {removed.seat}
    if (session := context.audience.seated.get(removed.seat)) is not None:
        _exclude_and_send_away(context, session, removed.name)
    elif gathering and removed.holder in context.last_sessions:
        probe("somebody is removed who has just gone")
        _exclude(context, *context.last_sessions[removed.holder], removed.name)
    context.policy.player_went(removed.seat)


def send_spectator_away(context: TableContext, removed: SpectatorRemoved) -> None:
    for session, spectator in list(context.audience.spectators.items()):
        if spectator.number == removed.number:
            _exclude_and_send_away(context, session, spectator.name)


def _exclude_and_send_away(context: TableContext, session: Session, name: str | None) -> None:
    """Send a client away that the host removes, and keep it from coming straight back."""
    _exclude(context, session.id, session.address, name)
    seconds = math.ceil(context.limits.removed_seconds)
    context.send_away(session, Refusal(Code.REMOVED, table=context.code, seconds=seconds))


def _exclude(context: TableContext, session: str, address: Networks, name: str | None) -> None:
    """Keep a client that the host removes from coming straight back.

    For less long, nobody new at its address can come. The host may share that, on one machine or behind
    one router, and decides who else comes from there: then it is only the client itself, and the name.
    """
    state = context.state
    host = None if state.host is None else context.audience.seated.get(state.host)
    shared = host is not None and host.address[-1] == address[-1]
    context.exclusions.add(session, address, name, whole_address=not shared)


def reseat(context: TableContext, rearranged: Rearranged) -> None:
    """Have everything that is not stored follow players to other seats."""
    state, audience, order = context.state, context.audience, rearranged.order
    context.removed = frozenset()
    for now, player in zip(state.players, rearranged.players, strict=False):
        if now is not None and player is not None:
            now.answers.others = player.answers.others
    sessions = [audience.seated.pop(seat, None) for seat in order]
    for seat, session in zip(map(Seat, range(len(order))), sessions, strict=True):
        if session is None:
            if order[seat] != seat and seat < len(state.players):
                keep_for_a_while(context, seat)
            continue
        context.deadlines.cancel(Due.SEAT_FREE, seat)
        audience.seated[seat] = session
        if session.seat != seat:
            session.sit(context.table, seat)
            session.send(Reseated(seat))


def _taken(
    context: TableContext, wanted: int | None, newcomer: Player, known: Seat | None
) -> tuple[Seat, Sequence[Entry]]:
    """Return a free seat, and the entries that give it to a newcomer.

    It is the one vacated under this name or the first one, unless one is wanted. `known` is a hand seen
    before.
    """
    code, state = context.code, context.state
    if state.stage == "over":
        raise Refusal(Code.GAME_FINISHED, table=code)
    free = [seat for seat, player in enumerate(state.players) if player is None or player.vacant]
    free.sort(key=lambda seat: not alike(state.names[seat], newcomer.name))
    free += [seat for seat in state.to_be_had if seat not in free]
    bots = [] if state.game is not None or newcomer.program else sorted(state.bots)
    if not free and not bots:
        raise Refusal(Code.TABLE_FULL if state.game is None else Code.GAME_RUNNING, table=code)
    seat = choose_seat(wanted, [*free, *bots])
    if known not in {None, seat}:
        probe("somebody wants a second hand")
        raise Refusal(Code.KNOWS_ANOTHER_HAND)
    check_name(newcomer.name)
    _check_free(context, newcomer.name, seat)
    entries = [*newcomer.entries(seat), *state.unready]
    if seat in state.bot_seats:
        entries.append(stored.Returned(Seat(seat)))
    return Seat(seat), entries


def _check_free(context: TableContext, name: str, seat: int | None = None) -> None:
    if _name_taken(context, name, seat):
        raise Refusal(Code.NAME_TAKEN)


def _name_taken(context: TableContext, name: str, seat: int | None = None) -> bool:
    return any(alike(other, name) for other in _names_there(context, seat))


def _names_there(context: TableContext, but: int | None = None) -> Iterator[str]:
    """Yield the names of players and spectators, without that of the seat `but`."""
    yield from (player.name for at, player in context.state.held if at != but)
    yield from (each.name for each in context.audience.spectators.values() if each.name is not None)


def renew_seat(context: TableContext, *, seat: Seat, renewed: str) -> Sequence[Happening]:
    """Replace the token of a player's seat; the device that uses the old one loses the seat."""
    session = context.audience.seated.get(seat)

    def close() -> None:
        if session is not None:
            probe("a seat of an evening goes to another device")
            session.close(CloseCode.TAKEN_OVER, CloseReason.TAKEN_OVER)

    return [*_token_renewed(context, seat, renewed), Then(close)]


def _token_renewed(context: TableContext, seat: Seat, renewed: str) -> Sequence[Happening]:
    """Have the token with the hash `renewed` hold the seat instead of its own; all else stays as it is."""
    state = context.state
    player = state.players[seat]
    if player is None or state.seat_held(renewed) is not None:
        raise Refusal(Code.BAD_TOKEN, table=context.code)
    same, others = replace(player, token_hash=renewed, kept=False), player.answers.others

    def keep_answers() -> None:
        if (now := state.players[seat]) is not None:
            now.answers.others = others

    return [*state.seated_again(seat, same, seat), Then(keep_answers)]


def _come_back(
    context: TableContext,
    session: Session,
    seat: Seat,
    answer: Seated,
    after: int,
    *,
    is_seated: bool = False,
) -> Sequence[Happening]:
    """Give the session its seat back; `answer` is what it is sent, and where its player left.

    The seat is no longer kept for its player; if it `is_seated`, what happens before has seen to that.
    """
    state, entries = context.state, list[Entry]()
    player = state.players[seat]
    if player is not None and player.kept and not is_seated:
        entries = state.seated_again(seat, replace(player, kept=False), seat)
    events = state.event_count

    def come_back() -> None:
        if (earlier := context.audience.seated.pop(seat, None)) is not None:
            probe("a connection takes a seat over from another one")
            earlier.sit(None, None)
            earlier.close(CloseCode.TAKEN_OVER, CloseReason.TAKEN_OVER)
        left_at = context.left_at.pop(seat, events)
        session.missed = range(left_at + 1, events + 1)
        sit(context, session, seat, structs.replace(answer, left_at=left_at if session.missed else None))
        context.synchronize(session, after, "came")

    return [*entries, Came(seat, again=True), Then(come_back)]


def _gone(context: TableContext, session: Session) -> Sequence[Happening]:
    """Return what happens when a session is no longer at the table."""
    seat, state = session.seat, context.state

    def remove() -> None:
        context.audience.remove(session)
        if seat is not None:
            if state.game is not None:
                context.left_at[seat] = state.event_count
            if state.stage == "playing":
                context.hands_known[session] = seat
            context.policy.player_went(seat)
        context.changed()

    went = [] if seat is None or state.game is None else [Went(seat)]
    return [*went, Then(remove)]


def _freed_entries(context: TableContext, seat: Seat) -> list[Entry]:
    """Return the entries for a player who gives the seat up: the last one closes the table."""
    state = context.state
    if all(player is None for other, player in enumerate(state.players) if other not in {seat, *state.bots}):
        return [stored.Freed(seat), stored.Forgotten()]
    heir = _heir(context, seat) if seat == state.host else None
    return [stored.Freed(seat)] if heir is None else [stored.Freed(seat), stored.Hosted(heir)]


def keep_for_a_while(context: TableContext, seat: Seat) -> None:
    """Keep an absent player's seat for a while, if the game has not begun."""
    context.deadlines.cancel(Due.SEAT_FREE, seat)
    player, limits = context.state.players[seat], context.limits
    if player is None or player.level is not None:  # a bot is always there
        return
    if context.state.stage == "gathering" and not context.state.of_evening:
        kept = player.kept
        seconds = limits.rematch_grace_seconds if kept else limits.waiting_seat_seconds
        wait = context.patience(seconds)
        context.deadlines.set(Due.SEAT_FREE, wait, seat)


def watch_host(context: TableContext) -> None:
    """Start or stop the time after which an absent host is replaced.

    After a game the host is not replaced: the next game has the same one.
    """
    state = context.state
    if state.stage == "over" or (host := state.host) is None or host in context.audience.seated:
        context.deadlines.cancel(Due.HOST_AWAY)
        context.host_overdue = False
    elif context.deadlines.is_set(Due.HOST_AWAY):
        return
    elif not context.host_overdue:
        wait = context.patience(context.limits.host_grace_seconds)
        context.deadlines.set(Due.HOST_AWAY, wait)
    elif _present_heir(context) is not None:
        context.deadlines.set(Due.HOST_AWAY, 0)


def follow_host(context: TableContext) -> Sequence[Happening]:
    """Make a present player host, if the host is still away."""
    context.deadlines.cancel(Due.HOST_AWAY)
    if context.state.host is None or context.state.host in context.audience.seated:
        return ()
    context.host_overdue = True
    probe("a host has been away for too long")
    if (heir := _present_heir(context)) is None:
        return ()
    probe("somebody else becomes host because the host is away")
    return [stored.Hosted(heir)]


def _heir(context: TableContext, leaving: Seat) -> Seat | None:
    """Return who becomes host when a seat's player leaves: people first, then players who are here."""
    state, seated = context.state, context.audience.seated
    others = [seat for seat in state.taken if seat != leaving]
    return min(others, key=lambda seat: (seat in state.programs, seat not in seated, seat), default=None)


def _present_heir(context: TableContext) -> Seat | None:
    """Return which present player becomes host: a person, unless all players are programs."""
    state = context.state
    here = [seat for seat in state.taken if seat in context.audience.seated]
    people = [seat for seat in here if seat not in state.programs]
    programs_only = state.programs.issuperset(state.taken)
    return min(people or (here if programs_only else []), default=None)


def choose_seat(wanted: int | None, to_be_had: list[int]) -> int:
    """Return the requested seat, by default the first; raises Refusal if it cannot be taken."""
    seat = to_be_had[0] if wanted is None else wanted
    if seat not in to_be_had:
        raise Refusal(Code.SEAT_TAKEN, seat=seat, free_seats=", ".join(map(str, sorted(to_be_had))))
    return seat

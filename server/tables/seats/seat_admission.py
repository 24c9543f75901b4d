"""Joining and leaving a table: seats are taken, resumed, kept for a while, and freed; and who is host."""

import itertools
import logging
import math
from dataclasses import replace
from functools import partial
from weakref import WeakKeyDictionary

from engine.pieces import Seat
from protocol.codes import CloseCode, CloseReason, Code
from protocol.messages import JoinTable, Reseated, Resume, Seated, Watch, Watching
from protocol.settings import Starting
from server.limits.networks import Networks, who_gives_way
from server.monitoring.logs import about
from server.net.session import AttendedTable, Session
from server.net.tokens import new_token, token_hash
from server.refusal import Refusal
from server.storage import entries as stored
from server.storage.entries import Entry
from server.tables.absence.deadlines import Due
from server.tables.context import TableContext
from server.tables.seats.exclusions import Exclusions
from server.tables.seats.names import alike, check_name
from server.tables.state.persistent_state import Player

log = logging.getLogger(__name__)


class SeatAdmission:
    """Seats people at `table`; what cannot be done raises Refusal or JournalError and changes nothing."""

    def __init__(self, table: AttendedTable, context: TableContext) -> None:
        self._table = table
        self._context = context
        self._gone: dict[str, tuple[str, Networks]] = {}  # by token hash: players' sessions that have ended
        limits = context.limits
        self._exclusions = Exclusions(
            context.deadlines.time, limits.removed_seconds, limits.removed_address_seconds
        )
        self._hands_known: WeakKeyDictionary[Session, Seat] = WeakKeyDictionary()  # in the running game
        self._host_overdue = False  # the host has been away for long enough, but nobody was here to follow
        self.watch_host()
        for seat, _ in context.state.held:
            self._keep_for_a_while(seat)

    async def join(self, session: Session, message: JoinTable) -> None:
        """Give the session a free seat, the first one unless it names one."""
        if self._context.state.of_evening:
            raise Refusal(Code.OF_THE_EVENING)
        self._exclusions.check(session, message.name, self._context.code)
        token = new_token()
        newcomer = Player(message.name, token_hash(token), message.program)
        before = list(self._context.state.players)
        seat = await self._take(message.seat, newcomer, self._hands_known.get(session))
        gone = before[seat]
        taken_over = gone.name if gone is not None and gone.vacant else None
        self.sit(session, seat, Seated(message.id, self._context.code, seat, token, taken_over))
        self._context.welcome(session, after=0)

    async def resume(self, session: Session, message: Resume) -> None:
        """Give the session the seat that its token holds."""
        if (seat := self._context.state.seat_held(token_hash(message.token))) is None:
            raise Refusal(Code.BAD_TOKEN, table=self._context.code)
        await self._come_back(session, seat, message.id, message.after)
        self._context.counts.resumes += 1

    async def arrive(self, session: Session, id: int, player: Player) -> None:  # noqa: A002 - the wire's own word
        """Give a player of the previous game the kept seat, or a free one if it is no longer kept."""
        seat = self._context.state.seat_held(player.token_hash)
        if seat is None:
            free = player.people if (player.people,) not in self._context.state.chosen else None
            newcomer = Player(
                player.name, player.token_hash, player.program, standing=player.standing, people=free
            )
            seat = await self._take(None, newcomer, known=None)
        await self._come_back(session, seat, id, after=0)

    async def watch(self, session: Session, message: Watch) -> None:
        context = self._context
        self._exclusions.check(session, message.name, context.code)
        if context.state.no_spectators:
            raise Refusal(Code.NO_SPECTATORS, table=context.code)
        if message.name is not None:
            check_name(message.name)
            self._check_free(message.name)
        if len(context.audience.spectators) >= context.limits.spectators:
            newest_first = [(each.address, each) for each in reversed(context.audience.spectators)]
            if (crowded := who_gives_way(session.address, newest_first)) is None:
                raise Refusal(Code.SPECTATORS_FULL, table=context.code)
            self.send_away(crowded, Refusal(Code.SPECTATORS_FULL, table=context.code))
        context.audience.add_spectator(session, message.name)
        session.sit(self._table, None)
        session.send(Watching(message.id, context.code))
        context.broadcast_state(session)
        context.welcome(session, message.after)

    def sit(self, session: Session, seat: Seat, answer: Seated) -> None:
        """Give the seat to the session, and send it `answer`."""
        context = self._context
        context.audience.seated[seat] = session
        context.away_since.pop(seat, None)
        context.removed.discard(seat)
        session.sit(self._table, seat)
        log.info("took seat", extra=about(table=context.code, seat=seat, address=session.name))
        session.send(answer)
        context.policy.player_came(seat)
        self.watch_host()
        context.broadcast_state(session)

    async def disconnect(self, session: Session) -> None:
        """Remove a session whose connection was lost; its player keeps the seat, at least for a while."""
        seat, players = session.seat, self._context.state.players
        await self._remove(session)
        if seat is not None:
            self._keep_for_a_while(seat)
            if (player := players[seat]) is not None:
                self._gone[player.token_hash] = (session.id, session.address)
            held = {player.token_hash for _, player in self._context.state.held}
            self._gone = {each: gone for each, gone in self._gone.items() if each in held}

    async def leave(self, session: Session) -> None:
        """Remove a session that leaves: before the game, its seat is free immediately."""
        seat = session.seat
        state = self._context.state
        if seat is not None and state.stage == "gathering" and not state.of_evening:
            await self._context.store(*self._freed_entries(seat))
        await self._remove(session)

    async def _free_if_away(self, seat: Seat) -> None:
        """Free a seat that was kept for long enough, unless its player is back or the game has begun."""
        context = self._context
        taken = context.state.players[seat] is not None and seat not in context.state.bots
        if taken and seat not in context.audience.seated and context.state.stage == "gathering":
            await context.store(*self._freed_entries(seat))
            context.broadcast_state()

    async def remove_player(self, seat: Seat) -> bool:
        """Take the seat from its player: before the game it is free, later a bot plays for it to the end.

        Return False if it is free.
        """
        context = self._context
        if context.state.players[seat] is None or (seat in context.state.bots and context.state.game):
            return False
        if context.state.stage == "gathering":
            await context.store(*self._freed_entries(seat))
            context.removed.add(seat)
        else:
            await context.store(stored.TokenRevoked(seat))
            context.policy.bot_was_seated()
        log.warning("player removed by the host", extra=about(table=context.code, seat=seat))
        if (session := context.audience.seated.get(seat)) is not None:
            session.send(Refusal(Code.REMOVED_BY_SERVER, table=context.code).message())
            await self._remove(session)
        else:
            context.policy.player_went(seat)
            self.watch_host()
            context.broadcast_state()
        return True

    async def seat_bot(self, level: str, wanted: int | None) -> None:
        """Give a free seat to a bot of the server, the first one unless one is wanted."""
        context = self._context
        levels, free = context.stand_in.levels, context.state.free
        if not levels:
            raise Refusal(Code.NO_BOTS)
        if level not in levels:
            raise Refusal(Code.NO_SUCH_LEVEL, level=level, levels=", ".join(levels))
        if wanted is not None:
            context.state.check_seat(wanted)
        if not free:
            raise Refusal(Code.TABLE_FULL, table=context.code)
        seat = choose_seat(wanted, free)
        names = (f"{level}-{number}" for number in itertools.count(1))
        name = next(name for name in names if not self._name_taken(name))
        await context.store(stored.BotSeated(seat, level, name), *context.nobody_ready())
        context.broadcast_state()

    async def vacate(self, seat: Seat, player: Player) -> None:
        """Free a seat for the host of the table; in a running game it becomes vacant, to be taken over."""
        context = self._context
        if context.state.stage == "gathering":
            await context.store(*self._freed_entries(seat))
            context.removed.add(seat)
        else:
            await context.store(stored.Taken(seat, player.name, "", vacant=True))
        if (session := context.audience.seated.get(seat)) is not None:
            self.exclude(session, player.name)
        elif context.state.stage == "gathering" and player.token_hash in self._gone:
            self._exclude(*self._gone[player.token_hash], player.name)
        context.policy.player_went(seat)
        self.watch_host()
        context.broadcast_state()

    def exclude(self, session: Session, name: str | None) -> None:
        """Send a client away that the host removes, and keep it from coming straight back."""
        self._exclude(session.id, session.address, name)
        seconds = math.ceil(self._context.limits.removed_seconds)
        self.send_away(session, Refusal(Code.REMOVED, table=self._context.code, seconds=seconds))

    def _exclude(self, session: str, address: Networks, name: str | None) -> None:
        """Keep a client that the host removes from coming straight back.

        For less long, nobody new at its address can come. The host may share that, on one machine or behind
        one router, and decides who else comes from there: then it is only the client itself, and the name.
        """
        state = self._context.state
        host = None if state.host is None else self._context.audience.seated.get(state.host)
        shared = host is not None and host.address[-1] == address[-1]
        self._exclusions.add(session, address, name, whole_address=not shared)

    def send_away(self, session: Session, why: Refusal) -> None:
        self._context.audience.remove(session)
        session.send(why.message())

    async def rearrange(self, order: list[Seat]) -> None:
        """Give each seat to the player of the seat in `order`; who starts and who is host stay the same.

        Each player keeps the people that they have chosen.
        """
        context = self._context
        state, audience = context.state, context.audience
        before = list(state.players)
        players = [before[seat] for seat in order]
        entries = context.nobody_ready()
        seated = list[Entry]()
        for seat, player in enumerate(players):
            seated += [stored.Freed(seat)] if player is None else player.entries(seat)
        # Choices come last: in between no two seats have the same people.
        entries += sorted(seated, key=lambda entry: isinstance(entry, stored.PeopleChosen))
        if state.host is not None:
            entries.append(stored.Hosted(order.index(state.host)))
        if state.options.starting is not None:
            entries.append(stored.Changed(Starting(order.index(state.options.starting))))
        await context.store(*entries)
        context.removed.clear()
        for seat, player in enumerate(players):
            now = state.players[seat]
            if now is not None and player is not None:
                now.answers = player.answers
        sessions = [audience.seated.pop(seat, None) for seat in order]
        for seat, session in zip(map(Seat, range(len(order))), sessions, strict=True):
            if session is None:
                if order[seat] != seat:
                    self._keep_for_a_while(seat)
                continue
            context.deadlines.cancel(Due.SEAT_FREE, seat)
            audience.seated[seat] = session
            if session.seat != seat:
                session.sit(self._table, seat)
                session.send(Reseated(seat))
        context.broadcast_state()

    def gone_on(self, session: Session, seat: Seat) -> None:
        audience = self._context.audience
        audience.gone_on.add(seat)
        if audience.seated.get(seat) is session:
            del audience.seated[seat]
        self._context.broadcast_state()

    async def _take(self, wanted: int | None, newcomer: Player, known: Seat | None) -> Seat:
        """Give a free seat away, the one vacated under this name or the first one unless one is wanted.

        `known` is a hand seen before.
        """
        code, state = self._context.code, self._context.state
        if state.stage == "over":
            raise Refusal(Code.GAME_FINISHED, table=code)
        free = [seat for seat, player in enumerate(state.players) if player is None or player.vacant]
        free.sort(key=lambda seat: not self._had(seat, newcomer.name))
        bots = [] if state.game is not None or newcomer.program else sorted(state.bots)
        if not free and not bots:
            raise Refusal(Code.TABLE_FULL if state.game is None else Code.GAME_RUNNING, table=code)
        seat = choose_seat(wanted, [*free, *bots])
        if known not in {None, seat}:
            raise Refusal(Code.KNOWS_ANOTHER_HAND)
        check_name(newcomer.name)
        self._check_free(newcomer.name, seat)
        entries = [*newcomer.entries(seat), *self._context.nobody_ready()]
        if seat in state.bot_seats or seat in state.votes:
            entries.append(stored.Returned(Seat(seat)))
        await self._context.store(*entries)
        return Seat(seat)

    def _had(self, seat: int, name: str) -> bool:
        player = self._context.state.players[seat]
        return player is not None and alike(player.name, name)

    def _check_free(self, name: str, seat: int | None = None) -> None:
        if self._name_taken(name, seat):
            raise Refusal(Code.NAME_TAKEN)

    def _name_taken(self, name: str, seat: int | None = None) -> bool:
        taken = [
            *(player.name for at, player in self._context.state.held if at != seat),
            *(each.name for each in self._context.audience.spectators.values()),
        ]
        return any(other is not None and alike(other, name) for other in taken)

    async def _come_back(self, session: Session, seat: Seat, id: int, after: int) -> None:  # noqa: A002 - the wire's own word
        context = self._context
        player = context.state.players[seat]
        if player is not None and player.kept:
            await context.store(*replace(player, kept=False).entries(seat))
        if seat in context.state.bot_seats or seat in context.state.votes:
            await context.store_or_log(stored.Returned(seat))
            context.check_lease()  # it may have failed for that, and another server may have the table by now
        earlier = context.audience.seated.pop(seat, None)
        if earlier is not None:
            earlier.sit(None, None)
            earlier.close(CloseCode.TAKEN_OVER, CloseReason.TAKEN_OVER)
        events = 0 if context.state.game is None else len(context.state.game.events)
        left_at, remarks = context.left_at.pop(seat, (events, None))
        session.missed = range(left_at + 1, events + 1)
        self.sit(session, seat, Seated(id, context.code, seat, left_at=left_at if session.missed else None))
        context.welcome(session, after, remarks)
        if await context.give_seats_to_bots():  # the player who comes back may have voted
            context.broadcast_state()

    async def _remove(self, session: Session) -> None:
        context, seat = self._context, session.seat
        context.audience.remove(session)
        if seat is not None:
            if context.state.game is not None:
                context.left_at[seat] = len(context.state.game.events), context.talk.count
            if context.state.stage == "playing":
                self._hands_known[session] = seat
            context.policy.player_went(seat)
        await context.give_seats_to_bots()
        self.watch_host()
        context.broadcast_state()

    def _freed_entries(self, seat: Seat) -> list[Entry]:
        """Return the entries for a player who gives the seat up: the last one closes the table."""
        state = self._context.state
        if all(
            player is None for other, player in enumerate(state.players) if other not in {seat, *state.bots}
        ):
            return [stored.Freed(seat), stored.Forgotten()]
        heir = self._heir(seat) if seat == state.host else None
        return [stored.Freed(seat)] if heir is None else [stored.Freed(seat), stored.Hosted(heir)]

    def _keep_for_a_while(self, seat: Seat) -> None:
        """Keep an absent player's seat for a while, if the game has not begun."""
        self._context.deadlines.cancel(Due.SEAT_FREE, seat)
        player, limits = self._context.state.players[seat], self._context.limits
        if player is None or player.level is not None:  # a bot is always there
            return
        if self._context.state.stage == "gathering" and not self._context.state.of_evening:
            kept = player.kept
            seconds = limits.rematch_grace_seconds if kept else limits.seat_grace_seconds
            wait = self._context.patience(seconds)
            self._context.deadlines.set(Due.SEAT_FREE, wait, partial(self._free_if_away, seat), seat)

    # -- who is host --------------------------------------------------------------------------------

    def watch_host(self) -> None:
        """Start or stop the time after which an absent host is followed by somebody else."""
        context, host = self._context, self._context.state.host
        if host is None or host in context.audience.seated:
            context.deadlines.cancel(Due.HOST_AWAY)
            self._host_overdue = False
        elif context.deadlines.is_set(Due.HOST_AWAY):
            return
        elif not self._host_overdue:
            wait = context.patience(context.limits.host_grace_seconds)
            context.deadlines.set(Due.HOST_AWAY, wait, self._follow_host)
        elif self._present_heir() is not None:
            context.deadlines.set(Due.HOST_AWAY, 0, self._follow_host)

    async def _follow_host(self) -> None:
        """Make a present player host, if the host is still away."""
        context = self._context
        context.deadlines.cancel(Due.HOST_AWAY)
        if context.state.host is None or context.state.host in context.audience.seated:
            return
        self._host_overdue = True
        if (heir := self._present_heir()) is None:
            return
        await context.store(stored.Hosted(heir))
        context.broadcast_state()
        self.watch_host()

    def _heir(self, leaving: Seat) -> Seat | None:
        """Return who becomes host when a seat's player leaves: people first, then players who are here."""
        state, seated = self._context.state, self._context.audience.seated
        others = [seat for seat in state.taken if seat != leaving]
        return min(others, key=lambda seat: (seat in state.programs, seat not in seated, seat), default=None)

    def _present_heir(self) -> Seat | None:
        """Return which present player becomes host: a person, unless all players are programs."""
        state = self._context.state
        here = [seat for seat in state.taken if seat in self._context.audience.seated]
        people = [seat for seat in here if seat not in state.programs]
        programs_only = state.programs.issuperset(state.taken)
        return min(people or (here if programs_only else []), default=None)


def choose_seat(wanted: int | None, to_be_had: list[int]) -> int:
    """Return the requested seat, by default the first; raises Refusal if it cannot be taken."""
    seat = to_be_had[0] if wanted is None else wanted
    if seat not in to_be_had:
        raise Refusal(Code.SEAT_TAKEN, seat=seat, free_seats=", ".join(map(str, sorted(to_be_had))))
    return seat

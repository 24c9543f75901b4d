"""Requests from sessions at a table: who may make which, which part of the table handles it, the answers."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Final, assert_never

from engine.errors import IllegalCommand
from engine.game import Game
from engine.pieces import People, Seat
from engine.record import recorded
from protocol import messages
from protocol.codes import Code
from protocol.messages import MOVES
from server.net.session import AttendedTable, Session
from server.refusal import Refusal
from server.storage.entries import Continued, PeopleChosen, SaidReady
from server.tables.context import TableContext
from server.tables.game import consent
from server.tables.game.game_start import GameStart
from server.tables.game.holidays import take_holiday
from server.tables.game.moves import Moves
from server.tables.host_powers import HostPowers
from server.tables.notices import Notices
from server.tables.seats.names import check_text
from server.tables.seats.seat_admission import SeatAdmission, choose_seat
from server.tables.state.persistent_state import Answer

# What nobody decides at a table of an evening: the choice of peoples, too, would be another one for those who
# have heard from another table how the tiles of their round lie.
_OF_THE_EVENING: Final = (
    messages.Arrange
    | messages.ChangeSeat
    | messages.ChangeSetting
    | messages.ChoosePeople
    | messages.EndGame
    | messages.HandOver
    | messages.Rematch
    | messages.Remove
    | messages.SeatBot
    | messages.StartGame
    | messages.Study
)


@dataclass(eq=False, repr=False)
class Requests:
    """Carries out requests from the sessions at `table`, while the table's lock is held."""

    table: AttendedTable
    context: TableContext
    _: KW_ONLY
    admission: SeatAdmission
    game_start: GameStart
    moves: Moves
    notices: Notices

    def __post_init__(self) -> None:
        self._host_powers = HostPowers(self.context, self.admission)
        self._record: list[str] | None = None  # of the finished game, once somebody has asked for it

    async def answer(self, session: Session, message: messages.AtTable) -> None:
        """Carry out the session's request and answer it; raises Refusal or JournalError."""
        self._check_here(session)
        state = self.context.state
        player = None if session.seat is None else state.players[session.seat]
        if player is not None and (known := player.answers.find(message)) is not None:
            session.send(known)  # whoever has the table now: that was stored
            return
        self.context.check_lease()
        try:
            self._check_evening(message)
            if isinstance(message, MOVES):
                await self.moves.play(session, message)  # whose fold remembers the answer
                return
            if not await self._do(session, message):
                return
            answer: Answer = messages.Done(message.id)
        except Refusal as refusal:
            answer = refusal.message(message.id)
        except IllegalCommand as error:
            answer = messages.Refused(
                error.fault, str(error), message.id, error.rule, about=error.about or None
            )
        if player is not None and not isinstance(message, messages.Sync | messages.Leave):
            player.answers.remember(message, answer if isinstance(answer, messages.Refused) else None)
        session.send(answer)

    async def play_again(self, session: Session, message: messages.Rematch) -> None:
        """Open or find the rematch's table, and move the session's player there.

        The lock is held until then: nothing at this table may reach a session that is already at the next.
        """
        self._check_here(session)
        context, state = self.context, self.context.state
        seat = session.player_seat()
        self._check_evening(message)
        if state.stage != "over":
            raise Refusal(Code.NOT_OVER)
        await context.shorten_if_long()
        next_table = await context.owner.table_after(session, context.code, state)
        if next_table.code != state.next_table:
            state.fold(Continued(next_table.code))  # which the lobby has stored with the new table
            context.broadcast_state()
        player = state.players[seat]
        assert player is not None  # noqa: S101 - seats are given up only before a game
        await next_table.arrive(session, message.id, replace(player, standing=state.standing(seat)))
        self.admission.gone_on(session, seat)

    async def send_record(self, session: Session, message: messages.GetRecord) -> None:
        """Send the session the record of the finished game."""
        self._check_here(session)
        game = self._finished_game()
        if self._record is None:
            self._record = recorded(game.events, self.context.state.names).splitlines()
        session.send(messages.Record(message.id, self._record))

    def forget_record(self) -> None:
        """Give up the record's memory: nobody is here who could ask for it."""
        self._record = None

    def _finished_game(self) -> Game:
        """Return the game once it is over; until then, looking back would reveal the hidden pieces."""
        game = self.context.state.game
        if game is None or not game.over:
            raise Refusal(Code.NOT_OVER)
        return game

    def _check_evening(self, message: messages.AtTable | messages.Rematch) -> None:
        if self.context.state.of_evening and isinstance(message, _OF_THE_EVENING):
            raise Refusal(Code.OF_THE_EVENING)

    def _check_here(self, session: Session) -> None:
        if session.table is not self.table:  # it left, or was taken over, while the message waited
            raise Refusal(Code.LEFT_THE_TABLE)

    async def _do(self, session: Session, message: messages.BesideMoves) -> bool:
        """Carry out the request; return whether it is to be answered, rather than by what happens."""
        match message:
            case messages.StartGame():
                await self.game_start.start(session, message)  # which answers when the game begins
                return False
            case messages.Leave():
                await self.admission.leave(session)
            case messages.Sync():
                self.context.synchronize(session, message.after)
            case messages.Say():
                check_text(message.text)
                self.context.rates.count_remark(session, self.context.code)
                self._say(session, message.text)
            case messages.Vote():
                await self.moves.vote(session, message)
            case messages.Plan():
                await self.moves.plan(session, message)
            case messages.AddShare():
                self.game_start.add_share(session, message)
            case messages.AskPause():
                await consent.ask(self.context, session, "pause", on=message.on, until=message.until)
            case messages.Ask():
                await consent.ask(self.context, session, message.what, on=message.on)
            case messages.TakeHoliday():
                await take_holiday(self.context, session, on=message.on)
            case messages.CallMe():
                await self.notices.ask(session, message)
            case messages.ConfirmCall():
                await self.notices.confirm(session, message)
            case messages.Show():
                self._show(session, message.step)
            case messages.Study():
                await self._study(session, message.step)
            case messages.SayReady() | messages.ChangeSeat() | messages.ChoosePeople():
                await self._prepare(session.player_seat(), message)
            case _:
                await self._host_powers.use(session, message)
        return True

    def _show(self, session: Session, step: int | None) -> None:
        """Have the session lead through the finished game, or lead no more."""
        self._finished_game()
        audience = self.context.audience
        if audience.leading is not None and audience.shown is not None and audience.leading[0] is not session:
            raise Refusal(Code.LED_ALREADY)
        audience.leading = None if step is None else (session, step)
        self.context.broadcast_state(session)

    async def _study(self, session: Session, step: int) -> None:
        """Open a table where the finished game goes on from this step, and tell everybody here."""
        seat, context = session.player_seat(), self.context
        self._finished_game()
        table = await context.owner.open_study(session, context.state, step)
        context.audience.studied = messages.Studied(table, step, seat)
        context.broadcast_state(session)

    def _say(self, session: Session, text: str) -> None:
        """Send what the session says to everybody, or a spectator's tips to no player."""
        context, state = self.context, self.context.state
        spectator = context.audience.spectators.get(session)
        name: str | None
        if spectator is None:
            said, name = messages.Said(text, session.seat), state.names[session.player_seat()]
        else:
            said, name = messages.Said(text, spectator=spectator.number), spectator.name
        to_players = spectator is None or not (state.quiet and state.stage == "playing")
        to_spectators = not state.no_spectators
        said = context.talk.add(said, name, to_players=to_players, to_spectators=to_spectators)
        if to_players:
            context.audience.broadcast(said)
        else:
            context.audience.broadcast_to_spectators(said)

    # -- what players decide before the game: who is ready, where they sit, which people they play --------

    async def _prepare(self, own: Seat, request: messages.PlayerRequest) -> None:
        if self.context.state.game is not None:
            raise Refusal(Code.ALREADY_STARTED)
        match request:
            case messages.SayReady(_, on):
                await self._say_ready(own, on=on)
            case messages.ChangeSeat(_, seat):
                await self._change_seat(own, seat)
            case messages.ChoosePeople(_, people):
                await self._choose_people(own, None if people is None else People(people))
            case _:
                assert_never(request)

    async def _say_ready(self, own: Seat, *, on: bool) -> None:
        state = self.context.state
        if own not in state.programs and (own in state.ready) != on:
            await self.context.store(SaidReady(own, on))
            self.context.broadcast_state()

    async def _change_seat(self, own: Seat, wanted: int) -> None:
        state = self.context.state
        state.check_seat(wanted)
        if wanted == own:
            raise Refusal(Code.NOT_YOURSELF)
        if not state.free:
            raise Refusal(Code.NO_FREE_SEAT)
        choose_seat(wanted, state.free)
        order = [Seat(seat) for seat in range(len(state.players))]
        order[own], order[wanted] = Seat(wanted), own
        await self.admission.rearrange(order)

    async def _choose_people(self, own: Seat, wanted: People | None) -> None:
        """Give the player a people that nobody else has chosen, or any that is left."""
        players = self.context.state.players
        chosen = {
            player.people: player.name
            for seat, player in self.context.state.held
            if seat != own and player.people is not None
        }
        if wanted in chosen:
            free = ", ".join(people for people in People if people not in chosen)
            raise Refusal(Code.PEOPLE_TAKEN, people=wanted, name=chosen[wanted], free_peoples=free)
        if (player := players[own]) is not None and player.people != wanted:
            await self.context.store(PeopleChosen(own, wanted))
            self.context.broadcast_state()

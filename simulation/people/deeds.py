"""What people at a table do beside moving, at odd moments: host powers, pauses, seats and peoples."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from client.network.connection import Connection
from client.network.transport import ConnectFailed, RequestRefused
from client.ui import at_table
from engine.pieces import People
from protocol.absence import Absence
from protocol.messages import (
    NEW,
    Arrange,
    Ask,
    AskPause,
    ChangeSeat,
    ChangeSetting,
    ChoosePeople,
    Dismiss,
    EndGame,
    HandOver,
    Leave,
    Remove,
    SayReady,
    SeatBot,
    SeatSummary,
    SubstituteNow,
    TableState,
)
from protocol.settings import AbsenceSetting, Hints, Private, Quiet, Spectators, Starting, Title

# How often something is done, of the times at which a player looks around:
_BEFORE_THE_GAME: Final = 0.4
_DURING_IT: Final = 0.06
_ABOUT_SOMEBODY_AWAY: Final = 0.4
_ENDS_IT: Final = 0.01
_ENDS_A_PAUSE: Final = 0.3
_ANSWERS: Final = 0.9
_PAUSE_SECONDS: Final = 30  # from now to the moment until which a game is paused
_STARTS: Final = 0.3  # though it could do more before

Deed = tuple[str, Callable[[], Awaitable[object]]]  # what it counts as, and how it is done


@dataclass(slots=True)
class Company:
    """The people at one table: who they are, and what may still be done there."""

    before: int  # how many things before the game ...
    during: int  # ... and during it
    may_end: bool  # it may be ended by its host
    policies: tuple[Absence, ...]
    quiet: bool = False  # its host keeps what spectators say from the players
    people: set[str] = field(default_factory=set)  # names of those who play there ...
    guests: set[str] = field(default_factory=set)  # ... and of programs in processes of their own
    closed: bool = False  # or about to be, by those who run the server
    over: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class Deeds:
    """What one player does at its table beside moving; `private` and `once_public` are those of `Route`."""

    company: Company
    rng: random.Random
    counts: Counter[str]
    private: set[str]
    once_public: set[str]
    program: bool = False

    def may_start(self) -> bool:
        """Return whether the host starts the game now that everybody is there."""
        return self.company.before <= 0 or self.rng.random() < _STARTS

    async def done_at(self, connection: Connection, name: str) -> bool:
        """Do something, or nothing; return whether the player called `name` has left for good."""
        state, own = connection.model.state, connection.model.seat
        if state is None or own is None:
            return False
        deed = self._duty(connection, state, own) or self._wish(connection, state, own)
        if deed is None:
            return False
        what, do = deed
        leaves = what == "players who left before the game"
        if leaves:
            self.company.people.discard(name)
        try:
            await do()
            self.counts[what] += 1
        except RequestRefused:
            self.counts["requests of hosts and players refused"] += 1
            if leaves:
                self.company.people.add(name)
            return False
        except ConnectFailed:
            self.counts["requests of hosts and players without an answer"] += 1
        return leaves

    def _duty(self, connection: Connection, state: TableState, own: int) -> Deed | None:
        """Return what somebody has to do, or the game might not go on as it should."""
        if state.paused is not None:
            if own in {state.paused.seat, state.host} and self.rng.random() < _ENDS_A_PAUSE:
                return "pauses ended", lambda: connection.ask(AskPause(NEW, on=False))
            return None
        if state.host != own or state.stage == "over":
            return None
        for seat, summary in enumerate(state.seats):
            known = summary.name in self.company.people | self.company.guests
            # For a person who is away no bot plays with programs alone.
            waits = self._is_away(summary) or summary.kept or (self.program and summary.bot)
            if waits and not known:
                return "seats freed of nobody", lambda seat=seat: connection.ask(Remove(NEW, seat))
        if self.company.quiet and not state.quiet:
            return "settings changed", lambda: connection.ask(ChangeSetting(NEW, Quiet(on=True)))
        return None

    def _wish(self, connection: Connection, state: TableState, own: int) -> Deed | None:
        company, rng = self.company, self.rng
        wishes: list[Deed] = []
        match state.stage:
            case "gathering" if company.before > 0 and rng.random() < _BEFORE_THE_GAME:
                company.before -= 1
                wishes = [*self._as_player(connection, state)]
                if state.host == own:
                    wishes += [*self._settings(connection), *self._as_host(connection, state, own)]
            case "playing" if state.paused is None:
                if (answers := self._answers(connection)) and rng.random() < _ANSWERS:
                    return rng.choice(answers)
                if state.host == own and company.may_end and rng.random() < _ENDS_IT:
                    return "games ended by their hosts", lambda: connection.ask(EndGame(NEW))
                if company.during > 0:
                    wishes = self._wishes_in_the_game(connection, state, own)
                    company.during -= bool(wishes)
        return rng.choice(wishes) if wishes else None

    def _answers(self, connection: Connection) -> list[Deed]:
        """Return the answers to what another player asks for: yes more often than no."""
        yes, no = (at_table.request_to_answer(connection.model, on=on) for on in (True, False))
        if yes is None or no is None or self.program:
            return []
        agreed: Deed = "requests agreed to", partial(connection.ask, yes)
        return [*[agreed] * 4, ("requests refused", partial(connection.ask, no))]

    def _wishes_in_the_game(self, connection: Connection, state: TableState, own: int) -> list[Deed]:
        if state.host == own and self.rng.random() < _ABOUT_SOMEBODY_AWAY:
            about = [*self._about_those_away(connection, state)]
            if about:
                return about
        if self.rng.random() >= _DURING_IT:
            return []
        wishes: list[Deed] = []
        if not self.program:
            until = self.rng.choice([None, int(time.time()) + _PAUSE_SECONDS])
            pause = partial(connection.ask, AskPause(NEW, on=True, until=until))
            wishes.append(("games paused, or pauses asked for", pause))
            what = self.rng.choice([*state.may_ask, "take-back", "take-back"])
            wishes += [(f"asked for: {what}", partial(connection.ask, Ask(NEW, what, on=True)))] * 3
        if state.host == own:
            wishes += self._settings(connection)
            wishes += self._handing_over(connection, state, own)
            for spectator in state.watching:
                removed = partial(connection.ask, Dismiss(NEW, spectator.number))
                wishes.append(("spectators removed", removed))
        return wishes

    def _as_player(self, connection: Connection, state: TableState) -> Iterator[Deed]:
        rng = self.rng
        if not self.program:
            yield "players ready or not", lambda: connection.ask(SayReady(NEW, on=rng.random() < 0.7))
        people = rng.choice([*People, None])
        yield "peoples chosen", lambda: connection.ask(ChoosePeople(NEW, people))
        for seat, summary in enumerate(state.seats):
            if summary.name is None:
                yield "own seats changed", partial(connection.ask, ChangeSeat(NEW, seat))
        others = sum(summary.here and summary.name in self.company.people for summary in state.seats) > 1
        # A guest does nothing as host: nobody could free a seat there.
        if others and (state.host != connection.model.seat or not self.company.guests):
            yield "players who left before the game", lambda: connection.ask(Leave(NEW))

    def _settings(self, connection: Connection) -> Iterator[Deed]:
        rng, model = self.rng, connection.model
        yield (
            "settings changed",
            lambda: connection.ask(ChangeSetting(NEW, Title(rng.choice(["", f"Table {rng.random():.9f}"])))),
        )
        yield "settings changed", lambda: connection.ask(ChangeSetting(NEW, Hints(on=rng.random() < 0.5)))
        yield "settings changed", lambda: connection.ask(ChangeSetting(NEW, Quiet(on=rng.random() < 0.5)))
        yield (
            "settings changed",
            lambda: connection.ask(ChangeSetting(NEW, Spectators(allowed=rng.random() < 0.6))),
        )
        yield (
            "policies changed",
            lambda: connection.ask(ChangeSetting(NEW, AbsenceSetting(rng.choice(self.company.policies)))),
        )
        if model.state is not None and model.state.stage == "gathering":
            starting = rng.choice([None, *range(len(model.state.seats))])
            yield "settings changed", lambda: connection.ask(ChangeSetting(NEW, Starting(starting)))
        yield "tables made private or public", lambda: self._make_private(connection, on=rng.random() < 0.6)

    def _as_host(self, connection: Connection, state: TableState, own: int) -> Iterator[Deed]:
        seats = list(range(len(state.seats)))
        order = tuple(self.rng.sample(seats, len(seats)))
        yield "seats in another order", lambda: connection.ask(Arrange(NEW, self.rng.choice([None, order])))
        for seat, summary in enumerate(state.seats):
            if summary.name is None:
                level = self.rng.choice(connection.levels[:2])
                yield "bots of the server seated", partial(connection.ask, SeatBot(NEW, level))
            elif seat != own and summary.name in self.company.people and not summary.kept:
                yield "players removed before the game", partial(connection.ask, Remove(NEW, seat))
        yield from self._handing_over(connection, state, own)

    def _handing_over(self, connection: Connection, state: TableState, own: int) -> Iterator[Deed]:
        for seat, summary in enumerate(state.seats):
            if seat != own and summary.here and summary.name in self.company.people:
                yield "tables handed over", partial(connection.ask, HandOver(NEW, seat))

    def _about_those_away(self, connection: Connection, state: TableState) -> Iterator[Deed]:
        for seat, summary in enumerate(state.seats):
            if self._is_away(summary) and summary.name in self.company.people:
                yield "players removed from games", partial(connection.ask, Remove(NEW, seat))
                yield "bots seated for absent players", partial(connection.ask, SubstituteNow(NEW, seat))

    async def _make_private(self, connection: Connection, *, on: bool) -> None:
        table = connection.model.table
        assert table is not None
        if not on or table not in self.private:  # a rematch's table, too
            self.once_public.add(table)
        self.private.discard(table)  # until it is known to be so
        await connection.ask(ChangeSetting(NEW, Private(on=on)))
        if on:
            self.private.add(table)

    def _is_away(self, summary: SeatSummary) -> bool:
        """Return whether a person should be in the seat, who is not here."""
        taken = summary.name is not None and not summary.vacant and not summary.kept
        return taken and not summary.here and not summary.bot and summary.level is None

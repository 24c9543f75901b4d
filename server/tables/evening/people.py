"""The people of an evening: who is here, where they come from, and who makes room for others.

Places are shared by address. Those who have least to lose make room first: who never came, then who has not
played. A result stays, and nobody is sent away from a table.
"""

from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import Final

from msgspec.structs import replace

from protocol.codes import Code
from protocol.limits import EVENING_PEOPLE
from server.limits.networks import Networks, Origins, networks_in, who_gives_way
from server.net.session import Session
from server.refusal import Refusal
from server.storage.entries import PersonEntered
from server.tables.evening.rounds import Score
from server.tables.evening.state import EveningState
from server.tables.names import alike

SECONDS_KEPT: Final = 600.0  # the place of somebody who has not played, and whose phone may be in a pocket
MOST_KNOWN: Final = 5 * EVENING_PEOPLE  # people with results, most of whom have left


class People:
    """The people of the evening with this `state`, and the sessions in which they have signed up."""

    def __init__(self, state: EveningState, origins: Origins, now: Callable[[], float]) -> None:
        self._state, self._origins, self._now = state, origins, now
        self._persons: dict[Session, int] = {}
        self._origin_of: dict[int, str] = {}  # of those who were here since this process has run
        self._seen: dict[int, float] = {}  # when their last session ended
        self._since = now()

    def bind(self, session: Session, number: int) -> None:
        self.unbind(session)
        self._persons[session] = number
        self._origin_of[number] = self.origin(session)

    def unbind(self, session: Session) -> bool:
        """Forget the person of a session; return whether there was one."""
        if (number := self._persons.pop(session, None)) is None:
            return False
        if number in self._state.people:
            self._seen[number] = self._now()
        return True

    def person_of(self, session: Session) -> int | None:
        """Return the number of the person in this session, None without one."""
        return self._persons.get(session)

    def dismiss(self, number: int) -> list[Session]:
        """Forget a person; return the sessions in which they had signed up."""
        sessions = [session for session, person in self._persons.items() if person == number]
        for session in sessions:
            del self._persons[session]
        self._seen.pop(number, None)
        self._origin_of.pop(number, None)
        return sessions

    @property
    def here(self) -> set[int]:
        return set(self._persons.values())

    @property
    def at_tables(self) -> set[int]:
        """Return the people who have a seat at a table that is not over."""
        return {number for table in self._state.running.values() for number in table.people}

    def origin(self, session: Session) -> str:
        """Return a pseudonym of the address of a session."""
        return self._origins.of(session.address)

    def origins(self, people: Sequence[int]) -> dict[int, str]:
        """Return pseudonyms of the widest networks from which people come."""
        return {number: self._networks(number)[-1] for number in people}

    def _networks(self, number: int) -> Networks:
        """Return where somebody is, or was when they last signed up; alone there if that is unknown."""
        origin = self._origin_of.get(number) or self._state.people[number].origin
        return networks_in(origin or str(number))

    def listed(self) -> list[Score]:
        """Return the standings as sent: everybody who takes part, and as many of the others as fit.

        People who were removed are listed only with a result, or at a table.
        """
        people, known = self._state.people, self._state.played | self.at_tables
        shown = [
            score
            for score in self._state.scores()
            if score.person in known or not people[score.person].removed
        ]
        if len(shown) <= EVENING_PEOPLE:
            return shown
        first = sorted(shown, key=lambda score: people[score.person].takes_part == "leave")
        fit = {score.person for score in first[:EVENING_PEOPLE]}
        return [score for score in shown if score.person in fit]

    # -- who makes room -----------------------------------------------------------------------------

    def room_for_newcomer(self, session: Session, name: str) -> list[PersonEntered]:
        """Return the entries that make room for a new person of this name; raises Refusal."""
        leaving = self._free_name(name)
        leaving += self.room_for(session, without={entry.person for entry in leaving})
        gone = {entry.person for entry in leaving if not entry.name}
        listed = [number for number in self._state.people if number not in gone]
        if len(listed) >= EVENING_PEOPLE and (forgotten := self._to_be_forgotten(listed)) is not None:
            leaving = [each for each in leaving if each.person != forgotten]
            leaving.append(_forgotten(forgotten))
        return leaving

    def room_for(self, session: Session, *, without: Container[int] = ()) -> list[PersonEntered]:
        """Return the entries that make room for one more person; raises Refusal.

        People in `without` are not counted: they give up their places anyway.
        """
        people, played, at_tables, here = self._state.people, self._state.played, self.at_tables, self.here
        placed = [number for number, person in people.items() if person.takes_part != "leave"]
        placed = [number for number in placed if number not in without]
        if len(placed) < EVENING_PEOPLE:
            return []
        placed.sort(key=lambda number: (number in at_tables, number in played, number in here, -number))
        leaving = next((number for number in placed if self._never_came(number)), None)
        if leaving is None:
            networks = networks_in(self.origin(session))
            leaving = who_gives_way(networks, [(self._networks(number), number) for number in placed])
        if leaving is None or leaving in at_tables:
            raise Refusal(Code.EVENING_FULL)
        return [
            replace(people[leaving], takes_part="leave") if leaving in played else _forgotten(leaving),
        ]

    def _free_name(self, name: str) -> list[PersonEntered]:
        """Return what is to be stored so that a name is free; raises Refusal if it is somebody's."""
        leaving = []
        for number, person in self._state.people.items():
            if person.removed or not alike(name, person.name):
                continue
            if not (self._has_left(number) or self._never_came(number)):
                raise Refusal(Code.NAME_IN_USE)
            leaving.append(_forgotten(number))
        return leaving

    def _never_came(self, number: int) -> bool:
        """Return whether a person who is signed up has never come to a table, and is not expected to."""
        state = self._state
        if number in state.played or number in self.at_tables or number in self.here:
            return False
        missed_it = number in state.called and state.people[number].takes_part == "pause"  # as a game began
        return missed_it or self._now() >= self._seen.get(number, self._since) + SECONDS_KEPT

    def _has_left(self, number: int) -> bool:
        """Return whether somebody has left without having played, and may be forgotten."""
        if number in self._state.played or number in self.at_tables:
            return False
        return self._state.people[number].takes_part == "leave"

    def _to_be_forgotten(self, people: Sequence[int]) -> int | None:
        """Return which of those who have left is to be forgotten for a newcomer, None if nobody need be."""
        known = self._state.people
        left = (number for number in people if self._has_left(number) and not known[number].removed)
        if (found := next(left, None)) is not None or len(people) < MOST_KNOWN:
            return found
        at_tables = self.at_tables
        gone = [each for each in people if known[each].takes_part == "leave" and each not in at_tables]
        crowds = Counter(self._networks(number)[-1] for number in gone)
        return max(gone, key=lambda number: (crowds[self._networks(number)[-1]], -number), default=None)


def _forgotten(number: int) -> PersonEntered:
    return PersonEntered(number, "", "", "leave")

"""What people in the lobby are told: who is online, and what is said there.

They are told in rounds, so that a thousand who come at once do not cost a thousand messages for each of them.
A round has pauses in which everybody else has a turn, and the more people listen, the longer it is until the
next one.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Final

from protocol.codes import Code
from protocol.limits import REMARKS_REPEATED
from protocol.messages import LobbyRemark, Online, SaidInLobby
from protocol.text import unsafe
from server.config import Limits
from server.net.session import Session, framed
from server.net.tokens import token_hash
from server.refusal import Refusal
from server.tables.online.limits import LobbyLimits
from server.tables.online.people import People, Person, Place
from server.tables.seats.names import check_name
from server.timers import Timer, Timers

_KEPT: Final = 200  # remarks: more than are said between two rounds
_REPEATED_SECONDS: Final = 1800.0  # newcomers are not told what was said before that
_LEAST_PAUSE: Final = 0.5  # seconds between two rounds ...
_PAUSE_FOR_EACH: Final = 0.002  # ... and at least so many for each listener
_GROUP: Final = 16  # listeners who are told between two pauses of a round
_FIRST_NUMBERS: Final = 2**30  # at random, so that clients can tell a restarted server's remarks from ours


class LobbyChat:
    """The people who are online, and the chat of those in the lobby.

    `place_of` returns where a session is, as far as everybody may know. `name_held` tells whether a name
    looks like that of a seat which everybody may know, and which neither is the session's nor has a token
    with one of these hashes.
    """

    def __init__(
        self,
        limits: Limits,
        timers: Timers,
        tasks: asyncio.TaskGroup,
        *,
        place_of: Callable[[Session], Place],
        name_held: Callable[[Session, str, Collection[str]], bool],
        seed: int | None,
        is_open: bool,
    ) -> None:
        self.is_open = is_open
        self._timers = timers
        self._tasks = tasks
        self._place_of = place_of
        self._name_held = name_held
        self._limits = LobbyLimits(limits, timers.time)
        self._people = People()
        self._said: deque[tuple[float, LobbyRemark]] = deque(maxlen=_KEPT)
        self._last = random.Random(seed).randrange(_FIRST_NUMBERS)
        self._said_frames: dict[int, bytes] = {}  # by the number before the first remark
        self._list = framed(Online([]))
        self._list_number = 1  # another one for another list
        self._list_outdated = False
        self._next_round: Timer | None = None
        self._not_before = 0.0
        self._in_round = False
        self._changed_since = False
        self._closed = False

    # -- what sessions ask --------------------------------------------------------------------------

    def enter(self, session: Session, name: str, tokens: Sequence[str]) -> None:
        """List the session under the name; raises Refusal and changes nothing."""
        person = self._people.of(session)
        if person is not None and person.name == name:
            return
        check_name(name)
        self._limits.count_name(session)
        proofs = frozenset(map(token_hash, tokens))
        holders = self._people.holders(name, session, proofs)
        if self._name_held(session, name, proofs):
            raise Refusal(Code.NAME_IN_USE)
        for holder in holders:
            self.leave(holder.session)
        if person is not None:
            self._people.rename(person, name, proofs)
        else:
            person = Person(session, name, self._last, proofs)
            self._people.add(person)
            person.heard -= self._repeated()
            session.on_move = lambda: self._moved(session)
        self._begin_soon()
        if self._not_before > self._timers.time():  # else the round begins at once
            self._tell(person)

    def leave(self, session: Session) -> None:
        """Take the session from the list, if it is there."""
        if self._people.remove(session) is not None:
            session.on_move = None
            self._begin_soon()

    def say(self, session: Session, text: str) -> None:
        """Send everybody in the lobby what the session says; raises Refusal."""
        person = self._people.of(session)
        if person is None:
            raise Refusal(Code.NOT_IN_LOBBY)
        if not person.listens:
            raise Refusal(Code.AT_A_TABLE)
        if (reason := unsafe(text)) is not None:
            raise Refusal(Code(f"text-{reason.fault}"), **reason.about)
        self._limits.count_remark(session)
        self._last += 1
        self._said.append((self._timers.time(), LobbyRemark(self._last, person.name, text)))
        self._said_frames.clear()
        self._begin_soon()

    # -- what the lobby asks ------------------------------------------------------------------------

    def open(self, *, on: bool) -> None:
        """Have a list and a chat from now on, or neither: then nobody is shown the others, nor forgotten."""
        if self.is_open != on:
            self.is_open = on
            self._list_outdated = True
            self._begin_soon()

    def hide(self) -> None:
        """Take note that a table has become private, or has ceased to be: nobody is sent the old list."""
        self._list_outdated = True
        self._begin_soon()

    def close(self) -> None:
        """Let there be no more rounds."""
        self._closed = True
        if self._next_round is not None:
            self._next_round.cancel()
            self._next_round = None

    # -- rounds -------------------------------------------------------------------------------------

    def _moved(self, session: Session) -> None:
        """Take note that a session has gone to a table, or has come back and missed something."""
        person = self._people.of(session)
        if person is not None:
            if person.listens:
                person.heard = max(person.heard, self._last - self._repeated())
                self._tell(person)
            self._begin_soon()

    def _repeated(self) -> int:
        """Return how many of the last remarks somebody who comes now is told."""
        since = self._timers.time() - _REPEATED_SECONDS
        latest = list(self._said)[-REMARKS_REPEATED:]
        return sum(time >= since for time, _remark in latest)

    def _begin_soon(self) -> None:
        """Have a round as soon as there may be one."""
        self._changed_since = True
        if self._next_round is None and not self._in_round and not self._closed:
            wait = max(0.0, self._not_before - self._timers.time())
            self._next_round = self._timers.call_later(wait, self._begin)

    def _begin(self) -> None:
        self._next_round, self._in_round = None, True
        self._tasks.create_task(self._round(), name="telling the lobby")

    async def _round(self) -> None:
        """Tell everybody in the lobby what has changed."""
        self._changed_since = False
        self._list_people()
        listeners = [person for person in self._people if person.listens]
        for at, person in enumerate(listeners, start=1):
            if self._people.of(person.session) is person:
                self._tell(person)
            if at % _GROUP == 0:
                await asyncio.sleep(0)
        self._in_round = False
        self._not_before = self._timers.time() + max(_LEAST_PAUSE, _PAUSE_FOR_EACH * len(listeners))
        if self._changed_since:
            self._begin_soon()

    def _tell(self, person: Person) -> None:
        """Send somebody what they lack, if they are in the lobby."""
        if not person.listens:
            return
        if self._list_outdated:
            self._list_people()
        if person.shown != self._list_number:
            person.shown = self._list_number
            person.session.post(self._list)
        if self.is_open and person.heard < self._last:
            frame = self._frame_after(person.heard)
            person.heard = self._last
            person.session.post(frame)

    def _list_people(self) -> None:
        """Make the list of who is online anew; nobody is sent the same one again."""
        self._list_outdated = False
        frame = framed(self._people.listed(self._place_of) if self.is_open else Online([]))
        if frame != self._list:
            self._list, self._list_number = frame, self._list_number + 1

    def _frame_after(self, number: int) -> bytes:
        """Return the frame with all remarks after this number that are kept."""
        if (frame := self._said_frames.get(number)) is None:
            remarks = [remark for _time, remark in self._said if remark.number > number]
            frame = self._said_frames[number] = framed(SaidInLobby(remarks))
        return frame

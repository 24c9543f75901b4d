"""The list of who is online and the chat, as the lobby receives them.

It is sent in rounds, so that a thousand people arriving together do not cost a thousand messages each. A
round pauses to let other work run, and the more people listen, the longer the wait for the next one.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from protocol.codes import Code
from protocol.messages import CameBy, Done, EnterLobby, InLobby, Invite, LobbyRemark, Online, SayInLobby
from server.cluster.messages import PersonElsewhere
from server.net.session import Session, build_frame
from server.net.tokens import token_hash
from server.probes import probe
from server.refusal import Refusal
from server.tables.names import alike, check_name, check_text
from server.tables.online.people import PeopleOnline, Person, Place
from server.tables.online.remarks import Remarks
from server.tables.owner import TableOwner
from server.tables.server_part import ServerPart

if TYPE_CHECKING:
    from server.cluster.channel import Channel

_LEAST_PAUSE: Final = 0.5  # seconds between two rounds ...
_PAUSE_FOR_EACH: Final = 0.002  # ... and at least so many for each listener
_LATER: Final = 0.001  # seconds by which who takes a name over comes later, whatever servers' clocks say
_GROUP: Final = 16  # listeners who are served between two pauses of a round
_INVITES: Final = "Come to table {table}."  # for clients that know no invitations


@dataclass(eq=False, repr=False)
class LobbyChat(ServerPart):
    """The people who are online, and the chat of those in the lobby.

    `place_of` returns where a session is, as far as everybody may know. `name_held` says whether a name looks
    like that of a publicly visible seat that is not the session's and whose token has none of these hashes.
    `host_of_guests` returns the name and the table of a session that may invite people there, `has_room`
    whether everybody may still take a seat at a table, and `is_waiting` whether one in the list has yet to
    begin its game.
    """

    lobby: TableOwner
    place_of: Callable[[Session], Place]
    name_held: Callable[[Session, str, Collection[str]], bool]
    host_of_guests: Callable[[Session], tuple[str, str]]
    has_room: Callable[[str], bool]
    is_waiting: Callable[[str], bool]

    def __post_init__(self) -> None:
        config, self.timers = self.lobby.config, self.lobby.timers
        self.is_open = config.lobby_chat
        self._people = PeopleOnline()
        self._remarks = Remarks(self.timers.time, config.seed, config.limits.chat_in_lobby)
        self._channel: Channel | None = None
        self.listed = Online([])
        self._list = build_frame(self.listed)
        self._list_outdated = False
        self._changed = asyncio.Event()  # since the last round began
        self._not_before = 0.0
        self._rounds = self.lobby.tasks.keep(self._run, "telling the lobby")

    requests = EnterLobby, SayInLobby, Invite

    # -- what sessions ask --------------------------------------------------------------------------

    async def answer(self, session: Session, request: InLobby) -> None:
        """List the session as online, or send its message to the lobby; raises Refusal."""
        if not self.is_open:
            raise Refusal(Code.NO_LOBBY_CHAT)
        match request:
            case EnterLobby(_, str(name), tokens, by):
                self.enter(session, name, tokens, by)
            case EnterLobby():
                self.session_gone(session)
            case SayInLobby(_, text):
                self.say(session, text)
            case Invite():
                self.invite(session)
        session.send(Done(request.id))

    def welcomed(self) -> Mapping[str, Any]:
        return {"lobby": self.is_open, "invitations": self.is_open}

    def enter(self, session: Session, name: str, tokens: Sequence[str], by: CameBy | None = None) -> None:
        """List the session under the name; raises Refusal and changes nothing."""
        person = self._people.of(session)
        if person is not None and person.name == name:
            return
        check_name(name)
        self.lobby.rates.count_name(session)
        proofs = frozenset(map(token_hash, tokens))
        holders = self._people.holders(name, session, proofs)
        if self.name_held(session, name, proofs):
            raise Refusal(Code.NAME_IN_USE)
        for holder in holders:
            probe("somebody enters the lobby again on another connection")
            self.session_gone(holder.session)
        if person is None:
            heard = self._remarks.count - self._remarks.recent_count()
            person = Person(session, name, heard, self._remarks.count, proofs, time.time(), by)
            session.on_move = lambda: self._note_move(session)
        person.name, person.proofs = name, proofs
        self._people.put(person)
        person.since = max(
            [person.since, *(each.since + _LATER for each in self._people.alike_elsewhere(name))]
        )
        self._begin_soon(session)
        if self._not_before > self.timers.time():  # else the round begins immediately
            self._tell(person)

    def session_gone(self, session: Session) -> None:
        if self._people.remove(session) is not None:
            session.on_move = None
            self._begin_soon(session)

    def put_out(self, name: str) -> None:
        """Remove everybody with this name, or one that looks like it, from the lobby."""
        for person in self._people:
            if alike(person.name, name):
                self.session_gone(person.session)

    def say(self, session: Session, text: str) -> None:
        """Send the session's chat message to everybody in the lobby; raises Refusal."""
        person = self._people.of(session)
        if person is None:
            raise Refusal(Code.NOT_IN_LOBBY)
        if not person.listens:
            raise Refusal(Code.AT_A_TABLE)
        check_text(text)
        self.lobby.rates.count_remark_in_lobby(session)
        self._remarks.say(person.name, text)
        self._begin_soon()

    def invite(self, session: Session) -> None:
        """Invite everybody in the lobby to the session's table; raises Refusal."""
        name, table = self.host_of_guests(session)
        self.lobby.rates.count_remark_in_lobby(session)
        self._remarks.say(name, _INVITES.format(table=table), table=table)
        self._begin_soon()

    # -- what the lobby asks ------------------------------------------------------------------------

    def overhear(self, session: Session, text: str) -> None:
        """Send the lobby what somebody there has said at a table, if that is open to it and limits allow it.

        Whoever speaks at a table need not know that too much is said in the lobby.
        """
        person, table = self._people.of(session), session.table
        if not self.is_open or person is None or table is None or not table.talks_with_lobby:
            return
        try:
            self.lobby.rates.count_remark_in_lobby(session)
        except Refusal:
            probe("the lobby does not hear what is said at a table, because too much is said")
            return
        self._remarks.say(person.name, text, said_at=table.code)
        self._begin_soon()

    def open(self, *, on: bool) -> None:
        """Turn list and chat on or off; off hides people from each other, but keeps them known."""
        if self.is_open != on:
            probe("the lobby's chat is opened or closed")
            self.is_open = on
            self.hide()

    def hide(self) -> None:
        """Record that a table has become private or public: nobody is sent the old list."""
        self._list_outdated = True
        self._begin_soon(*(person.session for person in self._people))

    def stop(self) -> None:
        self._rounds.cancel()

    # -- rounds -------------------------------------------------------------------------------------

    def _note_move(self, session: Session) -> None:
        """Record that a session has gone to a table, or has come back to the lobby."""
        person = self._people.of(session)
        if person is not None:
            if person.listens:
                person.heard = max(person.heard, self._remarks.count - self._remarks.recent_count())
                self._tell(person)
            else:
                person.overheard = self._remarks.count
            self._begin_soon(session)

    def _begin_soon(self, *changed: Session) -> None:
        """Begin a round, and tell the other servers of those who have `changed`."""
        self._changed.set()
        if self._channel is None:
            return
        for session in changed:
            if (person := self._people.of(session)) is None:
                self._channel.keep(f"person:{session.id}", None)
            else:
                self._channel.keep_latest(f"person:{session.id}", partial(self._own, person))

    async def _run(self) -> None:
        """Send everybody in the lobby what has changed, in rounds."""
        while True:
            await self._changed.wait()
            if (wait := self._not_before - self.timers.time()) > 0:
                probe("a round of the lobby waits")
                due = asyncio.Event()
                self.timers.call_later(wait, due.set)
                await due.wait()
            self._changed.clear()
            listeners = [person for person in self._people if person.sees_list]
            self._list_people()
            for at, person in enumerate(listeners, start=1):
                if self._people.of(person.session) is person:
                    self._tell(person)
                if at % _GROUP == 0:
                    await asyncio.sleep(0)
            self._not_before = self.timers.time() + max(_LEAST_PAUSE, _PAUSE_FOR_EACH * len(listeners))

    def _tell(self, person: Person) -> None:
        """Send a person the news that they lack, as far as their table hears of it."""
        if not person.sees_list:
            return
        if self._list_outdated:
            self._list_people()
        if person.shown is not self._list:
            person.shown = self._list
            person.session.post(self._list)
        if self.is_open and (frame := self._news_for(person)) is not None:
            person.session.post(frame)

    def _news_for(self, person: Person) -> bytes | None:
        """Return the frame with the remarks that a person lacks, None if there are none."""
        table, count = person.session.table, self._remarks.count
        if table is None:
            position, person.heard = person.heard, count
        else:
            position, person.overheard = person.overheard, count
        if position == count or (table is not None and not table.talks_with_lobby):
            return None
        return self._remarks.frame_after(position, self._holds, at_table=table is not None)

    def _holds(self, remark: LobbyRemark) -> bool:
        """Return whether the table that a remark names is still as it was, for newcomers to it."""
        return (remark.table is None or self.has_room(remark.table)) and (
            remark.said_at is None or self.is_waiting(remark.said_at)
        )

    def _list_people(self) -> None:
        """Rebuild the list of who is online; nobody is sent the same one again."""
        self._list_outdated = False
        listed = self._people.list_online(self.place_of) if self.is_open else Online([])
        if listed != self.listed:
            self.listed, self._list = listed, build_frame(listed)

    # -- the other servers --------------------------------------------------------------------------

    def share(self, channel: "Channel") -> None:
        """Share one list and one chat with the other servers of the database."""
        self._remarks.share(channel, self._begin_soon)
        channel.on_change(PersonElsewhere, lambda: self._learn(channel))
        self._channel = channel
        self.hide()

    def _own(self, person: Person) -> PersonElsewhere | None:
        """Return the message to other servers about a person who is online here."""
        if not self.is_open:
            return None
        place = self.place_of(person.session)
        return PersonElsewhere(person.name, person.since, *place, sorted(person.proofs), person.by)

    def _learn(self, channel: "Channel") -> None:
        """Take in who is online at the other servers.

        Two servers may admit the same name at once, or while neither hears the other: who came first keeps
        it. And who has gone on to another server is there, even if the connection here has not ended yet.
        """
        self._people.learn(channel)
        for person in self._people:
            for other in self._people.alike_elsewhere(person.name):
                is_own = not person.proofs.isdisjoint(other.proofs)
                if person.since < other.since if is_own else person.since > other.since:
                    probe("somebody in the lobby gives way to another server's")
                    self.session_gone(person.session)
                    break
        self._list_outdated = True
        self._begin_soon()

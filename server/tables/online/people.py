"""People with a name in the lobby, until their connections end; no two of their names look alike."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from protocol.codes import Code
from protocol.limits import PEOPLE_LISTED
from protocol.messages import Online, PersonOnline, Whereabouts
from server.cluster.messages import PersonElsewhere
from server.net.session import Session
from server.refusal import Refusal
from server.tables.names import NamesInUse, looks

if TYPE_CHECKING:
    from server.cluster.channel import Channel


_GROUPS: Final[Sequence[Whereabouts]] = ("lobby", "playing", "watching")  # as they are listed

Place: TypeAlias = tuple[Whereabouts, str | None]  # with the code of a table that everybody may know


@dataclass(slots=True, eq=False)
class Person:
    """Somebody who is online; `heard` is the last remark that they were sent, by its position.

    `shown` is the last list. `proofs` are the hashes of the tokens sent with the name, `since` is when they
    came, in s since 1970.
    """

    session: Session
    name: str
    heard: int
    proofs: frozenset[str]
    shown: int = 0
    since: float = field(default_factory=time.time)

    @property
    def listens(self) -> bool:
        """Return whether this person is in the lobby, and not at a table."""
        return self.session.table is None


class PeopleOnline:
    """The people who are online, in the order of their coming."""

    def __init__(self) -> None:
        self._people: dict[str, Person] = {}  # by the ids of their sessions, as are their names
        self._names = NamesInUse()

    def __iter__(self) -> Iterator[Person]:
        return iter(list(self._people.values()))

    def of(self, session: Session) -> Person | None:
        return self._people.get(session.id)

    def holders(self, name: str, session: Session, proofs: frozenset[str]) -> list[Person]:
        """Return those from whom the session takes the name over: its own connections from before.

        Raises Refusal if somebody else has a name that looks the same.
        """
        found = [self._people[each] for each in self._names.places(looks(name)) if each != session.id]
        if any(proofs.isdisjoint(person.proofs) for person in found):
            raise Refusal(Code.NAME_IN_USE)
        return found

    def put(self, person: Person) -> None:
        """Take in somebody whose name is free, or who has changed it."""
        self._people[person.session.id] = person
        self._names.put(person.session.id, (person.name,))

    def remove(self, session: Session) -> Person | None:
        self._names.put(session.id, ())
        return self._people.pop(session.id, None)

    def list_online(
        self, place_of: Callable[[Session], Place], others: Sequence[PersonElsewhere] = ()
    ) -> Online:
        """Return the list of who is online, here and at other servers, as far as there is room.

        If there is not enough room, every address gets an equal share before any gets more.
        """
        people = [
            (person.since, person.session.address[-1], PersonOnline(person.name, *place_of(person.session)))
            for person in self._people.values()
        ]
        if others:
            people += (
                (there.since, there.name, PersonOnline(there.name, there.at, there.table)) for there in others
            )
            people.sort(key=lambda each: each[0])
        people.sort(key=lambda each: _GROUPS.index(each[2].at))
        part = max(1, PEOPLE_LISTED // (len({network for _, network, _ in people}) or 1))
        counts, first, later = Counter[str](), list[int](), list[int]()
        for number, (_, network, _) in enumerate(people):
            counts[network] += 1
            (first if counts[network] <= part else later).append(number)
        shown = sorted([*first, *later][:PEOPLE_LISTED])
        return Online([people[number][2] for number in shown], len(people) - len(shown))


class PeopleElsewhere:
    """What the other servers report about who is online there."""

    def __init__(self) -> None:
        self.people: list[PersonElsewhere] = []
        self._by_name: dict[str, list[PersonElsewhere]] = {}
        self._names = NamesInUse()  # each is its own place

    def share(
        self,
        channel: "Channel",
        own: Callable[[], Mapping[str, PersonElsewhere]],
        changed: Callable[[], None],
    ) -> Callable[[], None]:
        """Send the others what `own` returns, and receive theirs, calling `changed`.

        Return what is to be called when the own ones have changed.
        """

        def learn() -> None:
            self.people = [person for _node, person in channel.holding(PersonElsewhere)]
            for name in self._by_name.keys() - {person.name for person in self.people}:
                self._names.put(name, ())
            self._by_name = {}
            for person in self.people:
                self._by_name.setdefault(person.name, []).append(person)
                self._names.put(person.name, (person.name,))
            changed()

        channel.on_change(PersonElsewhere, learn)
        return channel.keep_all(lambda: {f"person:{name}": person for name, person in own().items()})

    def alike(self, wanted: frozenset[str]) -> Iterator[PersonElsewhere]:
        """Yield those whose names may be mistaken for one of these looks."""
        for place in self._names.places(wanted):
            yield from self._by_name[place]

    def last_to_take(self, name: str) -> float:
        """Return when somebody last came under a name that looks like this one, 0 for never."""
        return max((person.since for person in self.alike(looks(name))), default=0.0)

    def check_name(self, name: str, proofs: frozenset[str]) -> None:
        """Raise Refusal if somebody has a name that looks the same, and none of these proofs."""
        if any(proofs.isdisjoint(person.proofs) for person in self.alike(looks(name))):
            raise Refusal(Code.NAME_IN_USE)

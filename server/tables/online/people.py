"""People with a name in the lobby, until their connections end; no two of their names look alike."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from protocol.codes import Code
from protocol.limits import PEOPLE_LISTED
from protocol.messages import CameBy, Online, PersonOnline, Whereabouts
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
    """A person online; `heard` is the position of the last remark that they were sent in the lobby.

    `overheard` is that of the last one that they were sent at a table, or that was made before they came.
    `shown` is the frame with the last list. `proofs` are the hashes of the tokens sent with the name, `since`
    is when they came, in s since 1970, and `by` how.
    """

    session: Session
    name: str
    heard: int
    overheard: int
    proofs: frozenset[str]
    since: float
    by: CameBy | None = None
    shown: bytes = b""

    @property
    def listens(self) -> bool:
        """Return whether this person is in the lobby, and not at a table."""
        return self.session.table is None

    @property
    def sees_list(self) -> bool:
        """Return whether this person gets the list: in the lobby, or at a table that waits for players."""
        return self.session.table is None or self.session.table.waits_for_players


class PeopleOnline:
    """The people who are online: here, in the order of their coming, and at other servers."""

    def __init__(self) -> None:
        self._here: dict[str, Person] = {}  # by the ids of their sessions
        self._elsewhere: dict[str, PersonElsewhere] = {}  # by their servers' terms and their names
        self._names = NamesInUse()  # by the same keys

    def __iter__(self) -> Iterator[Person]:
        return iter(list(self._here.values()))

    def of(self, session: Session) -> Person | None:
        return self._here.get(session.id)

    def holders(self, name: str, session: Session, proofs: frozenset[str]) -> list[Person]:
        """Return the people whose name the session takes over: earlier connections of its own.

        Raises Refusal if somebody else has a name that looks the same.
        """
        found = [each for each in self._names.places(looks(name)) if each != session.id]
        here = [self._here[each] for each in found if each in self._here]
        holders: list[Person | PersonElsewhere] = [*here, *self.alike_elsewhere(name)]
        if any(proofs.isdisjoint(holder.proofs) for holder in holders):
            raise Refusal(Code.NAME_IN_USE)
        return here

    def put(self, person: Person) -> None:
        """List a person under a free name, or under a new one."""
        self._here[person.session.id] = person
        self._names.put(person.session.id, (person.name,))

    def remove(self, session: Session) -> Person | None:
        self._names.put(session.id, ())
        return self._here.pop(session.id, None)

    def learn(self, channel: "Channel") -> None:
        """Replace the people who are online at other servers."""
        before = self._elsewhere.keys()
        self._elsewhere = {
            f"{node.term} {person.name}": person for node, person in channel.holding(PersonElsewhere)
        }
        for key in before | self._elsewhere.keys():
            self._names.put(key, (self._elsewhere[key].name,) if key in self._elsewhere else ())

    def alike_elsewhere(self, name: str) -> list[PersonElsewhere]:
        """Return those at other servers whose names may be mistaken for this one."""
        found = self._names.places(looks(name))
        return [self._elsewhere[each] for each in found if each in self._elsewhere]

    def list_online(self, place_of: Callable[[Session], Place]) -> Online:
        """Return the list of who is online, here and at other servers, as far as the message has room.

        If there is not enough room, every address gets an equal share before any gets more.
        """
        people = [
            (
                person.since,
                person.session.address[-1],
                PersonOnline(person.name, *place_of(person.session), person.by),
            )
            for person in self._here.values()
        ]
        if self._elsewhere:
            people += (
                (there.since, there.name, PersonOnline(there.name, there.at, there.table, there.by))
                for there in self._elsewhere.values()
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

"""Those who are online at the other servers that share the database."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from protocol.codes import Code
from server.cluster.messages import Person
from server.refusal import Refusal
from server.tables.seats.names import looks

if TYPE_CHECKING:
    from server.cluster.channel import Channel


class PeopleElsewhere:
    """What the other servers tell of who is online there."""

    def __init__(self) -> None:
        self.people: list[Person] = []
        self._by_looks: dict[str, list[Person]] = {}

    def share(
        self, channel: "Channel", own: Callable[[], Mapping[str, Person]], changed: Callable[[], None]
    ) -> Callable[[], None]:
        """Tell the others what `own` returns, and learn of theirs, calling `changed`.

        Return what is to be called when the own ones have changed.
        """

        def learn() -> None:
            self.people = [person for _node, person in channel.holding(Person)]
            self._by_looks = {}
            for person in self.people:
                for look in looks(person.name):
                    self._by_looks.setdefault(look, []).append(person)
            changed()

        channel.on_change(Person, learn)
        return channel.keep_all(lambda: {f"person:{name}": person for name, person in own().items()})

    def alike(self, name: str) -> Iterator[Person]:
        """Yield those whose names look like this one, perhaps several times."""
        for look in looks(name):
            yield from self._by_looks.get(look, ())

    def last_to_take(self, name: str) -> float:
        """Return when somebody last came under a name that looks like this one, 0 for never."""
        return max((person.since for person in self.alike(name)), default=0.0)

    def check_name(self, name: str, proofs: frozenset[str]) -> None:
        """Raise Refusal if somebody has a name that looks the same, and none of these proofs."""
        if any(proofs.isdisjoint(person.proofs) for person in self.alike(name)):
            raise Refusal(Code.NAME_IN_USE)

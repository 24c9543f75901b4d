"""Those who are online at the other servers that share the database."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from protocol.codes import Code
from server.cluster.messages import PersonElsewhere
from server.refusal import Refusal
from server.tables.seats.names import NamesInUse, looks

if TYPE_CHECKING:
    from server.cluster.channel import Channel


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

"""The seam between a server and what it does beside its tables: parts, which the lobby knows as a list."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from protocol.messages import ClientMessage
from server.net.session import Session

if TYPE_CHECKING:
    from server.cluster.channel import Channel


class ServerPart:
    """Something that a server does besides its tables; override only the hooks that it needs."""

    requests: ClassVar[tuple[type[ClientMessage], ...]] = ()  # which it answers, from sessions anywhere

    async def answer(self, session: Session, request: Any) -> None:
        """Carry out a request and answer it; raises Refusal or JournalError and changes nothing."""
        raise NotImplementedError

    def welcomed(self) -> Mapping[str, Any]:
        """Return this part's fields of the welcome message."""
        return {}

    def share(self, channel: "Channel") -> None:
        """Share it with the other servers of the database from now on."""

    def table_changed(self, code: str) -> None:
        """Handle people's arrivals and departures at a table, and changes of its entry in the list."""

    def table_ended(self, code: str) -> None:
        """Take note that a table has ended."""

    def session_gone(self, session: Session) -> None:
        """Take note that a session's connection has ended."""

    def give_up(self) -> None:
        """End without sending anything: another server may have it."""

    def stop(self) -> None:
        """Cancel everything that would fall due."""

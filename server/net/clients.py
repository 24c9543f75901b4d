"""The clients that have been greeted, and what all of them are told."""

from collections.abc import Callable, Iterator

from protocol.messages import ServerMessage
from server.net.session import Session, framed


class Clients:
    """Everybody who has been welcomed; `news` is what a newcomer has to know at once, if anything."""

    def __init__(self, news: Callable[[], ServerMessage | None]) -> None:
        self._news = news
        self._sessions: dict[Session, None] = {}  # in the order of their coming

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions))

    def welcomed(self, session: Session) -> None:
        """Take in a client that has just been welcomed."""
        self._sessions[session] = None
        if (news := self._news()) is not None:
            session.send(news)

    def gone(self, session: Session) -> None:
        """Record that a client's connection has ended, or never got as far as a welcome."""
        self._sessions.pop(session, None)

    def broadcast(self, message: ServerMessage) -> None:
        """Send everybody the same message."""
        frame = framed(message)
        for session in self:
            session.post(frame)

"""Which of a player's requests were answered, so that none is carried out twice."""

import zlib
from collections.abc import Iterable
from typing import Final, TypeAlias, TypeVar

from protocol import messages
from protocol.codec import encode
from protocol.codes import Code
from server.refusal import Refusal

T = TypeVar("T")

KEPT: Final = 64  # ids of a player: more than the moves of any seat in a game

Answer: TypeAlias = messages.Done | messages.Refused


def digest(message: messages.AtTable) -> int:
    """Return a digest that distinguishes a message from others with its id, even after a restart."""
    return zlib.crc32(encode(message))


class Answers:
    """The latest requests of a player, by their ids.

    Those that were carried out and `stored` have digests, which a restart knows, too. The `others` were
    refused or have stored nothing: their answers are kept in memory.
    """

    __slots__ = ("others", "stored")

    def __init__(self) -> None:
        self.stored: dict[int, int] = {}
        self.others: dict[int, tuple[int, Answer]] = {}

    def fold(self, requests: Iterable[tuple[int, int]]) -> None:
        """Take in stored requests, by their ids and digests."""
        for request, content in requests:
            self.others.pop(request, None)  # a game that was drawn for may begin after a refusal
            remember_latest(self.stored, request, content)

    def remember(self, message: messages.AtTable, answer: Answer) -> None:
        """Remember the answer to a request, unless that is stored."""
        if message.id not in self.stored:
            remember_latest(self.others, message.id, (digest(message), answer))

    def find(self, message: messages.AtTable) -> Answer | None:
        """Return the earlier answer to the message, None if it is new.

        Raises Refusal if its id was another message's.
        """
        answer: Answer
        if (asked := self.stored.get(message.id)) is None:
            if (other := self.others.get(message.id)) is None:
                return None
            asked, answer = other
        else:
            answer = messages.Done(message.id)
        if asked != digest(message):
            raise Refusal(Code.ID_REUSED, id=message.id)
        return answer


def remember_latest(remembered: dict[int, T], request: int, what: T) -> None:
    """Remember a request and forget the oldest one beyond the limit."""
    remembered.pop(request, None)
    remembered[request] = what
    if len(remembered) > KEPT:
        del remembered[next(iter(remembered))]

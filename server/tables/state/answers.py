"""The answers to a player's messages: a repeated message is answered again, and not done again."""

from typing import Final, TypeAlias

from protocol.codes import Code
from protocol.messages import AtTable, Done, Refused
from server.refusal import Refusal

_KEPT: Final = 64  # more than the moves of any seat in a game

Answer: TypeAlias = Done | Refused


class Answers:
    """The latest messages of a player, as their hashes, and those that were refused, by message id."""

    def __init__(self) -> None:
        self._asked: dict[int, int] = {}
        self._refused: dict[int, Refused] = {}

    def remember(self, message: AtTable, answer: Answer) -> None:
        self._asked[message.id] = hash(message)
        if isinstance(answer, Refused):
            self._refused[message.id] = answer
        else:
            self._refused.pop(message.id, None)  # a game that was drawn for may begin after all
        if len(self._asked) > _KEPT:
            oldest = next(iter(self._asked))
            del self._asked[oldest]
            self._refused.pop(oldest, None)

    def known(self, message: AtTable) -> Answer | None:
        """Return the earlier answer to the message, None if it is new.

        Raises Refusal if its id was another message's.
        """
        if (asked := self._asked.get(message.id)) is None:
            return None
        if asked != hash(message):
            raise Refusal(Code.ID_REUSED, id=message.id)
        return self._refused.get(message.id, Done(message.id))

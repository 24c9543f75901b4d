"""The answers to a player's messages: a repeated message is answered again, and not done again."""

from collections import OrderedDict
from typing import Final, TypeAlias

from protocol.codes import Code
from protocol.messages import AtTable, Done, Refused
from server.refusal import Refusal

_KEPT: Final = 64  # more than the moves of any seat in a game

Answer: TypeAlias = Done | Refused


class Answers:
    """The latest messages of a player and their answers, by message id."""

    def __init__(self) -> None:
        self._answers: OrderedDict[int, tuple[AtTable, Answer]] = OrderedDict()

    def remember(self, message: AtTable, answer: Answer) -> None:
        self._answers[message.id] = (message, answer)
        if len(self._answers) > _KEPT:
            self._answers.popitem(last=False)

    def known(self, message: AtTable) -> Answer | None:
        """Return the earlier answer to the message, None if it is new.

        Raises Refusal if its id was another message's.
        """
        if (known := self._answers.get(message.id)) is None:
            return None
        asked, answer = known
        if asked != message:
            raise Refusal(Code.ID_REUSED, id=message.id)
        return answer

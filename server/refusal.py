"""The answer to a request that cannot be carried out."""

from protocol.codes import Code
from protocol.messages import Refused
from protocol.refusals import REFUSAL_TEXTS, sentence


class Refusal(Exception):
    """The request breaks no rule of the game but cannot be done here and now; nothing has changed.

    `about` are the facts in the code's sentence, by name; seats count from 0.
    """

    def __init__(self, code: Code, **about: object) -> None:
        self.code = code
        self.about = {name: str(fact) for name, fact in about.items()}
        super().__init__(sentence(REFUSAL_TEXTS[code], self.about))

    def message(self, id: int | None = None) -> Refused:  # noqa: A002 - the wire's own word
        """Return what is sent to the client, under the id of its request."""
        return Refused(self.code, str(self), id, about=self.about or None)

"""The answer to a request that cannot be carried out."""

from typing import Any, Final, Self

from protocol.codes import Code, refusal_template, sentence
from protocol.messages import Refused
from server.errors import JournalError, NotStoredNow

_SECONDS_UNTIL_STORED: Final = 2  # before another attempt, where the journal is expected back


class Refusal(Exception):
    """The request breaks no rule of the game but cannot be done here and now; nothing has changed.

    But what `happens` all the same does, such as a guess that counts. `about` are the facts in the code's
    sentence, by name; seats count from 0.
    """

    happens: tuple[Any, ...] = ()

    def __init__(self, code: Code, **about: object) -> None:
        self.code = code
        self.about = {name: str(fact) for name, fact in about.items()}
        super().__init__(sentence(refusal_template(code, self.about), self.about))

    def after(self, *happens: object) -> Self:
        """Return this refusal of a request that makes this happen nevertheless."""
        self.happens = happens
        return self

    def message(self, id: int | None = None) -> Refused:  # noqa: A002 - the wire's own word
        """Return what is sent to the client, under the id of its request."""
        return Refused(self.code, str(self), id, about=self.about or None)


def not_stored(error: JournalError) -> Refusal:
    """Return the refusal of what the journal could not store."""
    if isinstance(error, NotStoredNow):
        about = {name: fact for name, fact in error.about.items() if name == "address"}
        return Refusal(Code.NOT_STORED, seconds=_SECONDS_UNTIL_STORED, **about)
    return Refusal(Code.NOT_STORED)

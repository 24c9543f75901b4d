"""Requests that wait for their answers, and what becomes of them without one."""

import asyncio
from dataclasses import dataclass

from client.language import _
from client.network.refusals import describe_refusal
from client.network.transport import ConnectFailed
from protocol import messages
from protocol.codes import Code
from protocol.text import printable


class RequestRefused(Exception):
    """The server refused one request, and nothing has changed; the text says why, in the language in use.

    `code` is stable, `rule` the section of the rules that forbids it, if one does; `retry_in` tells how many
    seconds to wait if it may be asked again then.
    """

    def __init__(self, code: str, text: str, rule: str | None = None, retry_in: float | None = None) -> None:
        super().__init__(text)
        self.code, self.rule, self.retry_in = code, rule, retry_in


class NoAnswer(ConnectFailed):
    """The server did not answer a request: it is not known whether it was carried out."""


@dataclass(slots=True)
class Waiting:
    """A request that has not been answered yet; its alarm is set only while there is a connection."""

    message: messages.ClientRequest
    answer: asyncio.Future[messages.ServerAnswer]
    alarm: asyncio.TimerHandle | None = None
    sent_on_until: float | None = None  # a server has told where the table is: it is looked for until then
    undone: bool = False  # it was refused there, and not sent since

    def silence(self) -> None:
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None

    def settle(self, answer: messages.ServerAnswer) -> None:
        """Hand the answer to the caller, unless it has given up."""
        self.silence()
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        """Raise an error in the caller, unless it has given up."""
        self.silence()
        if not self.answer.done():
            self.answer.set_exception(error)

    def refuse(self, message: messages.Refused) -> None:
        """Raise the server's refusal in the caller."""
        text = describe_refusal(message)
        about = message.about or {}
        if self.sent_on_until is not None and message.code == Code.TABLE_ELSEWHERE:
            text = _("Table {table} cannot be reached at {address} now. Try again in a moment.").format(
                table=printable(about.get("table", "")), address=printable(about.get("address", ""))
            )
        seconds = about.get("seconds", "")
        # At least 1, so that a client never hammers.
        retry_in = max(1, int(seconds)) if seconds.isdecimal() and len(seconds) < 5 else None
        self.fail(RequestRefused(message.code, text, message.rule, retry_in))

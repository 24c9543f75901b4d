"""Questions from server to server, over the channel between those that share a database.

A question or an answer may get lost, so whoever asks waits for so long and no longer.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from server.admin.failures import FailureCode
from server.cluster.channel import Channel
from server.cluster.messages import ANSWER_BYTES, ANSWER_PARTS, AnswerPart, NodeQuestion
from server.failures import Tasks
from server.storage.postgresql.telling import Node

SECONDS: Final = 5.0  # for an answer
_AT_ONCE: Final = 16  # questions of others


@dataclass(slots=True)
class _Coming:
    """An answer of which some parts are here."""

    whole: asyncio.Future[bytes]
    parts: dict[int, bytes] = field(default_factory=dict)

    def add(self, answer: AnswerPart) -> None:
        self.parts[answer.part] = answer.line
        if len(self.parts) == answer.parts and not self.whole.done():
            self.whole.set_result(b"".join(line for _, line in sorted(self.parts.items())))


class OtherNodes:
    """Asks the other servers, and has their questions answered: `answer` returns the line for one."""

    def __init__(
        self, channel: Channel, tasks: Tasks, answer: Callable[[str, bytes], Awaitable[bytes]]
    ) -> None:
        self._channel = channel
        self._tasks = tasks
        self._answer = answer
        self._numbers = itertools.count(1)
        self._coming: dict[tuple[int, int], _Coming] = {}
        self._answering: set[asyncio.Task[None]] = set()
        channel.on_message(NodeQuestion, self._asked)
        channel.on_message(AnswerPart, self._take_answer)

    @property
    def nodes(self) -> Mapping[int, Node]:
        """Return all servers, this one too, by their terms."""
        return self._channel.nodes

    def why_silent(self, node: Node) -> FailureCode:
        """Return why a server has not answered, as far as that is known."""
        if not self._channel.hears:
            return FailureCode.NODE_UNREACHABLE
        return FailureCode.NODE_SILENT if node.runs else FailureCode.NODE_EXPIRED

    async def ask(self, line: bytes, nodes: Iterable[Node]) -> dict[int, bytes]:
        """Return the answers of the servers that answer in time, by their terms."""
        number = next(self._numbers)
        loop = asyncio.get_running_loop()
        coming = {node.term: _Coming(loop.create_future()) for node in nodes if node.runs}
        for term, each in coming.items():
            if self._channel.hears and self._channel.send(NodeQuestion(number, line), term):
                self._coming[term, number] = each
        try:
            waited_for = [coming[term].whole for term, asked in self._coming if asked == number]
            if waited_for:
                await asyncio.wait(waited_for, timeout=SECONDS)
        finally:
            for term in coming:
                self._coming.pop((term, number), None)
        return {term: each.whole.result() for term, each in coming.items() if each.whole.done()}

    def close(self) -> None:
        """Answer no more questions."""
        for task in self._answering:
            task.cancel()

    def _take_answer(self, node: Node, answer: AnswerPart) -> None:
        if (coming := self._coming.get((node.term, answer.number))) is not None:
            coming.add(answer)

    def _asked(self, node: Node, question: NodeQuestion) -> None:
        if len(self._answering) < _AT_ONCE:  # else it asks without success
            task = self._tasks.start(self._carry_out(node, question), "admin command")
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def _carry_out(self, node: Node, question: NodeQuestion) -> None:
        line = await self._answer(node.name, question.line)
        parts = [line[start : start + ANSWER_BYTES] for start in range(0, len(line), ANSWER_BYTES)]
        if len(parts) > ANSWER_PARTS:
            return
        for part, each in enumerate(parts):
            self._channel.send(AnswerPart(question.number, part, len(parts), each), node.term)

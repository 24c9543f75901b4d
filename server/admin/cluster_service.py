"""What the host can ask of all servers that share a database, at any one of them.

Questions and answers go over the channel between the servers. They may get lost, so whoever asks waits for so
long and no longer.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, get_args

import msgspec

from protocol.admin import (
    VERSION,
    Answered,
    AskNodes,
    CloseTables,
    DrainReport,
    Envelope,
    Failure,
    NodeAnswer,
    NodeRequest,
    RemovePlayer,
    Request,
    SetDrain,
    ShowGame,
    line_with,
    request_in,
)
from protocol.codec import readable
from server.admin.failures import AdminFailure, FailureCode, failure
from server.admin.listener import Answer, answer_line, carried_out
from server.admin.service import AdminService
from server.cluster.channel import Channel
from server.cluster.messages import ANSWER_BYTES, ANSWER_PARTS, AnswerPart, NodeQuestion
from server.failures import Tasks
from server.storage.postgresql.journal import PostgresJournal
from server.storage.postgresql.telling import Node
from server.tables.lobby import Lobby

SECONDS: Final = 5.0  # for an answer
_AT_ONCE: Final = 16  # questions of others
_FOR_OTHERS: Final = (*get_args(NodeRequest), CloseTables, RemovePlayer)


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


class ClusterService:
    """Carries out requests here, at other servers or at all of them, and those of other servers.

    Raises what AdminService raises. Without a `service` this server does nothing for anybody.
    """

    def __init__(
        self,
        service: AdminService | None,
        channel: Channel,
        journal: PostgresJournal,
        lobby: Lobby,
        tasks: Tasks,
    ) -> None:
        self._service = service
        self._journal = journal
        self._lobby = lobby
        self._others = OtherNodes(channel, tasks, self._answer_line)

    async def do(self, request: Request) -> Answer:
        """Carry out a request of this server's host."""
        match request:
            case AskNodes(asked, name):
                return await self._of_nodes(asked, name), None
            case CloseTables(codes, reason):
                for code in codes:
                    await self._at_its_node(CloseTables([code], reason), code)
                return None, None
            case RemovePlayer(code):
                return await self._at_its_node(request, code)
            case ShowGame(code) if (node := await self._elsewhere(code)) is not None:
                raise failure(FailureCode.AT_NODE, table=code, node=node.name)  # it has hidden pieces
            case _:
                return await self._here(request)

    def close(self) -> None:
        """Carry out nothing more for others."""
        self._others.close()

    async def _here(self, request: Request) -> Answer:
        if self._service is None:
            raise failure(FailureCode.NODE_CLOSED, node=self._journal.node.name)
        return await self._service.do(request)

    # -- asking others ------------------------------------------------------------------------------

    async def _of_nodes(self, asked: NodeRequest, name: str | None) -> list[NodeAnswer]:
        """Return what the servers answer, or the one with this name, in the order of their names."""
        own = self._journal.node.name
        others = [node for node in self._others.nodes.values() if node.name not in (own, "")]
        if name is not None:
            others = [node for node in others if node.name == name]
            if name != own and not others:
                raise failure(FailureCode.NO_SUCH_NODE, node=name)
        answers = []
        if name in (None, own):
            address = next((node.address for node in self._others.nodes.values() if node.name == own), "")
            said, _ = await answer_line(lambda: carried_out(self._here, asked), "")
            answers.append(_node_answer(own, address, said, FailureCode.NODE_SILENT))
        lines = await self._others.ask(line_with(Envelope(VERSION, asked)), others)
        for node in others:
            line = lines.get(node.term)
            if line is None and isinstance(asked, SetDrain) and node.term not in self._others.nodes:
                line = line_with(Answered(VERSION, DrainReport(0)))  # nobody was there: it has stopped
            answers.append(_node_answer(node.name, node.address, line, self._others.why_silent(node)))
        return sorted(answers, key=lambda answer: answer.node)

    async def _at_its_node(self, request: CloseTables | RemovePlayer, code: str) -> Answer:
        """Carry out a request at the server that has the table."""
        if (node := await self._elsewhere(code)) is None:
            return await self._here(request)
        lines = await self._others.ask(line_with(Envelope(VERSION, request)), [node])
        answer = _node_answer(node.name, node.address, lines.get(node.term), self._others.why_silent(node))
        if answer.error is not None:
            raise AdminFailure(answer.error.code, answer.error.text, **answer.error.about)
        return answer.ok, None

    async def _elsewhere(self, code: str) -> Node | None:
        """Return which other server has a table, None if none has it."""
        if code in self._lobby.tables:
            return None
        term = await self._journal.term_of(code)
        return None if term in (None, self._journal.term) else self._others.nodes.get(term or 0)

    # -- asked by others ----------------------------------------------------------------------------

    async def _answer_line(self, node: str, line: bytes) -> bytes:
        """Return the line that answers a question of another server."""

        async def asked() -> Answer:
            try:
                request = request_in(line).ask
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
                raise failure(FailureCode.BAD_REQUEST, reason=readable(error)) from error
            if not isinstance(request, _FOR_OTHERS):  # such as a game with its hidden pieces
                raise failure(FailureCode.BAD_REQUEST, reason="it is not for other servers")
            return await carried_out(self._here, request)

        answer, _ = await answer_line(asked, f"node {node}")
        return answer


def _node_answer(name: str, address: str, line: bytes | None, why_silent: FailureCode) -> NodeAnswer:
    """Return what a server has said, or else why it has not."""
    try:
        if line is not None:
            answered = msgspec.json.decode(line, type=Answered)
            return NodeAnswer(name, address, answered.ok, answered.error)
        silent = failure(why_silent, node=name)
    except msgspec.DecodeError:
        silent = failure(FailureCode.NODE_OTHER_VERSION, node=name)
    return NodeAnswer(name, address, error=Failure(silent.code, silent.text, _facts(silent)))


def _facts(error: AdminFailure) -> dict[str, str]:
    return {name: str(fact) for name, fact in error.about.items()}

"""What the host can ask of all servers that share a database, at any one of them.

Questions and answers go over the channel between the servers. A server may not answer, so whoever asks waits
for so long and no longer.
"""

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Final, get_args

import msgspec

from protocol.admin import (
    VERSION,
    Answered,
    AskNodes,
    CloseTables,
    DrainReport,
    Envelope,
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
from server.admin.listener import Answer, answer_line, answered, carried_out, failed
from server.admin.service import AdminService
from server.cluster.channel import Channel
from server.cluster.messages import ANSWER_BYTES, ANSWER_PARTS, AnswerPart, Message, NodeQuestion
from server.monitoring.failures import Tasks
from server.storage.postgresql.journal import PostgresJournal
from server.storage.postgresql.telling import Node
from server.tables.lobby import Lobby

SECONDS: Final = 5.0  # for an answer
_AT_ONCE: Final = 16  # questions of others
_FOR_OTHERS: Final = (*get_args(NodeRequest), CloseTables, RemovePlayer)


class OtherNodes:
    """Asks the other servers, and answers them: `answer` returns the line for a question.

    A question holds until its answers are here or its time is over, an answer as long as the question does.
    """

    def __init__(
        self, channel: Channel, tasks: Tasks, answer: Callable[[str, bytes], Coroutine[Any, Any, bytes]]
    ) -> None:
        self._channel = channel
        self._tasks = tasks
        self._answer = answer
        self._numbers = itertools.count(1)
        self._asked: dict[int, NodeQuestion] = {}
        self._answers_changed = asyncio.Event()
        self._answering: dict[tuple[int, int], asyncio.Task[bytes]] = {}  # by terms and numbers
        self._tell = channel.keep_all(self._own)
        channel.on_change(NodeQuestion, self._look_at_questions)
        channel.on_change(AnswerPart, self._answers_changed.set)

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
        terms = [node.term for node in nodes if node.runs and self._channel.hears]
        question = NodeQuestion(next(self._numbers), line, self._channel.term, terms)
        self._asked[question.number] = question
        self._tell()
        try:
            async with asyncio.timeout(SECONDS):
                while len(answers := self._answers_to(question)) < len(terms):
                    self._answers_changed.clear()
                    await self._answers_changed.wait()
        except TimeoutError:
            answers = self._answers_to(question)
        finally:
            del self._asked[question.number]
            self._tell()
        return answers

    def close(self) -> None:
        """Answer no more questions."""
        for task in self._answering.values():
            task.cancel()

    def _answers_to(self, question: NodeQuestion) -> dict[int, bytes]:
        """Return the answers that are here as a whole, by the terms of their servers."""
        found: dict[int, dict[int, AnswerPart]] = {}
        for node, each in self._channel.holding(AnswerPart):
            if (each.to, each.number) == (question.by, question.number):
                found.setdefault(node.term, {})[each.part] = each
        return {
            term: b"".join(parts[part].line for part in sorted(parts))
            for term, parts in found.items()
            if len(parts) == next(iter(parts.values())).parts
        }

    def _look_at_questions(self) -> None:
        questions = {
            (node.term, each.number): (node.name, each.line)
            for node, each in self._channel.holding(NodeQuestion)
            if each.by == node.term and self._channel.term in each.to
        }
        for key in self._answering.keys() - questions.keys():  # nobody waits for the answer any more
            del self._answering[key]
        for key in questions.keys() - self._answering.keys():
            if len(self._answering) < _AT_ONCE:  # else it asks without success
                task = self._tasks.start(self._answer(*questions[key]), "admin command")
                task.add_done_callback(lambda _: self._tell())
                self._answering[key] = task
        self._tell()

    def _own(self) -> dict[str, Message]:
        """Return what the other servers receive: questions, and parts of answers."""
        found: dict[str, Message] = {f"question:{number}": each for number, each in self._asked.items()}
        for (term, number), task in self._answering.items():
            line = b"" if not task.done() or task.cancelled() or task.exception() else task.result()
            starts = range(0, len(line), ANSWER_BYTES)
            for part, start in enumerate(starts if len(starts) <= ANSWER_PARTS else ()):
                body = line[start : start + ANSWER_BYTES]
                found[f"answer:{term}:{number}:{part}"] = AnswerPart(term, number, part, len(starts), body)
        return found


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
            said, _ = await answered(lambda: carried_out(self._here, asked), "")
            answers.append(NodeAnswer(own, address, said.ok, said.error))
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

        answer, _ = await answered(asked, f"node {node}")
        return answer_line(answer)


def _node_answer(name: str, address: str, line: bytes | None, why_silent: FailureCode) -> NodeAnswer:
    """Return what another server has said, or else why it has not."""
    try:
        if line is not None:
            said = msgspec.json.decode(line, type=Answered)
            return NodeAnswer(name, address, said.ok, said.error)
    except msgspec.DecodeError:
        why_silent = FailureCode.NODE_OTHER_VERSION
    return NodeAnswer(name, address, error=failed(failure(why_silent, node=name)))

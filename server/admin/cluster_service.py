"""What the host can ask of all servers that share a database, at any one of them.

Questions and answers go over the channel between the servers. A server may not answer, so whoever asks waits
for so long and no longer.
"""

import asyncio
import itertools
from collections.abc import Sequence
from typing import Final, get_args

import msgspec

from protocol import admin
from server.admin.failures import AdminFailure, FailureCode, failure
from server.admin.listener import Answer, answer_to, carry_out, error_line
from server.admin.service import AdminService
from server.cluster.messages import ANSWER_BYTES, ANSWER_PARTS, AnswerPart, NodeQuestion
from server.parts import SharedTables
from server.storage.postgresql.telling import Node

SECONDS: Final = 5.0  # for an answer
_AT_ONCE: Final = 16  # questions of others
_FOR_OTHERS: Final = (*get_args(admin.NodeRequest), admin.CloseTables, admin.RemovePlayer)


class ClusterService:
    """Carries out requests here, at other servers or at all of them, and those of other servers.

    Raises what AdminService raises. Without a `service` this server does nothing for anybody. A question
    holds until its answers are here or its time is over, an answer as long as the question does.
    """

    def __init__(self, service: AdminService | None, shared: SharedTables) -> None:
        self._service = service
        self._channel = shared.channel
        self._journal = shared.journal
        self._lobby = shared.lobby
        self._tasks = shared.server.tasks
        self._numbers = itertools.count(1)
        self._answers_changed = asyncio.Event()
        self._answering: dict[tuple[int, int], asyncio.Task[None]] = {}  # by terms and numbers
        self._channel.on_change(NodeQuestion, self._look_at_questions)
        self._channel.on_change(AnswerPart, self._answers_changed.set)

    async def do(self, request: admin.Request) -> Answer:
        """Carry out a request of this server's host."""
        match request:
            case admin.AskNodes(asked, name):
                return await self._of_nodes(asked, name), None
            case admin.CloseTables(codes, reason):
                for code in codes:
                    await self._at_its_node(admin.CloseTables([code], reason), code)
                return None, None
            case admin.RemovePlayer(code):
                return await self._at_its_node(request, code)
            case admin.ShowGame(code) if (node := await self._elsewhere(code)) is not None:
                raise failure(FailureCode.AT_NODE, table=code, node=node.name)  # it has hidden pieces
            case _:
                return await self._here(request)

    def close(self) -> None:
        """Carry out nothing more for others."""
        for task in self._answering.values():
            task.cancel()

    async def _here(self, request: admin.Request) -> Answer:
        if self._service is None:
            raise failure(FailureCode.NODE_CLOSED, node=self._journal.node.name)
        return await self._service.do(request)

    # -- asking others ------------------------------------------------------------------------------

    async def _of_nodes(self, asked: admin.NodeRequest, name: str | None) -> list[admin.NodeAnswer]:
        """Return what the servers answer, or the one with this name, in the order of their names."""
        own = self._journal.node.name
        nodes = {node.name: node for node in self._channel.nodes.values() if node.name}
        nodes.setdefault(own, Node(0, own, "", runs=True, leaving=False))
        if name is not None and name not in nodes:
            raise failure(FailureCode.NO_SUCH_NODE, node=name)
        return await self._ask(asked, [nodes[each] for each in sorted(nodes) if name in (None, each)])

    async def _at_its_node(self, request: admin.CloseTables | admin.RemovePlayer, code: str) -> Answer:
        """Carry out a request at the server that has the table."""
        if (node := await self._elsewhere(code)) is None:
            return await self._here(request)
        (answer,) = await self._ask(request, [node])
        if answer.error is not None:
            raise AdminFailure(answer.error.code, answer.error.text, **answer.error.about)
        return answer.ok, None

    async def _elsewhere(self, code: str) -> Node | None:
        """Return which other server has a table, None if none has it."""
        if code in self._lobby.tables:
            return None
        term = await self._journal.term_of(code)
        return None if term in (None, self._journal.term) else self._channel.nodes.get(term or 0)

    async def _ask(self, request: admin.Request, nodes: Sequence[Node]) -> list[admin.NodeAnswer]:
        """Return what each of the servers has said, this one too, or else why it has not."""
        line = admin.line_with(admin.Envelope(admin.VERSION, request))
        lines: dict[int, bytes] = {}
        for node in nodes:
            if node.name == self._journal.node.name:
                lines[node.term], _, _ = await carry_out(request, self._here)
        lines |= await self._answers_of([node for node in nodes if node.term not in lines], line)
        for node in nodes:
            if node.term not in lines:
                lines[node.term] = self._line_of_silent(node, request)
        return [_node_answer(node, lines[node.term]) for node in nodes]

    async def _answers_of(self, nodes: Sequence[Node], line: bytes) -> dict[int, bytes]:
        """Return the answers of the servers that answer in time, by their terms."""
        asked = [node.term for node in nodes if node.runs and self._channel.hears]
        question = NodeQuestion(next(self._numbers), line, self._channel.term, asked)
        key = f"question:{question.number}"
        self._channel.keep(key, question)
        try:
            async with asyncio.timeout(SECONDS):
                while len(self._answers_to(question)) < len(asked):
                    self._answers_changed.clear()
                    await self._answers_changed.wait()
        except TimeoutError:
            pass  # the others are silent
        finally:
            self._channel.keep(key, None)
        return self._answers_to(question)

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

    def _line_of_silent(self, node: Node, request: admin.Request) -> bytes:
        """Return what stands for the answer of a server that has sent none."""
        if isinstance(request, admin.SetDrain) and node.term not in self._channel.nodes:
            stopped = admin.DrainReport(0)  # nobody was there
            return admin.line_with(admin.Answered(admin.VERSION, stopped))
        code = FailureCode.NODE_SILENT if node.runs else FailureCode.NODE_EXPIRED
        if not self._channel.hears:
            code = FailureCode.NODE_UNREACHABLE
        return error_line(failure(code, node=node.name))

    # -- asked by others ----------------------------------------------------------------------------

    def _look_at_questions(self) -> None:
        questions = {
            (node.term, each.number): (node.name, each.line)
            for node, each in self._channel.holding(NodeQuestion)
            if each.by == node.term and self._channel.term in each.to
        }
        for key in self._answering.keys() - questions.keys():  # nobody waits for the answer any more
            del self._answering[key]
            for part in range(ANSWER_PARTS):
                self._keep_part(key, part, None)
        for key in questions.keys() - self._answering.keys():
            if len(self._answering) < _AT_ONCE:  # else it asks without success
                self._answering[key] = self._tasks.start(self._answer(key, *questions[key]), "admin command")

    async def _answer(self, key: tuple[int, int], name: str, question: bytes) -> None:
        """Carry out what another server asks, and announce the answer, in parts that the channel takes."""
        answer, _ = await answer_to(question, self._do_for_others, f"node {name}", by=f"node={name}")
        lines = [answer[start : start + ANSWER_BYTES] for start in range(0, len(answer), ANSWER_BYTES)]
        if key in self._answering and len(lines) <= ANSWER_PARTS:
            for part, line in enumerate(lines):
                self._keep_part(key, part, AnswerPart(*key, part, len(lines), line))

    def _keep_part(self, key: tuple[int, int], part: int, answer: AnswerPart | None) -> None:
        term, number = key
        self._channel.keep(f"answer:{term}:{number}:{part}", answer)

    async def _do_for_others(self, request: admin.Request) -> Answer:
        if not isinstance(request, _FOR_OTHERS):  # such as a game with its hidden pieces
            raise failure(FailureCode.BAD_REQUEST, reason="it is not for other servers")
        return await self._here(request)


def _node_answer(node: Node, line: bytes) -> admin.NodeAnswer:
    """Return the answer in a line from a server, of this version or another."""
    try:
        said = msgspec.json.decode(line, type=admin.Answered)
    except msgspec.DecodeError:
        return _node_answer(node, error_line(failure(FailureCode.NODE_OTHER_VERSION, node=node.name)))
    return admin.NodeAnswer(node.name, node.address, said.ok, said.error)

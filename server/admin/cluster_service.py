"""What the host can ask of all servers that share a database, at any one of them."""

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
from server.admin.other_nodes import OtherNodes
from server.admin.service import AdminService
from server.cluster.channel import Channel
from server.failures import Tasks
from server.storage.postgresql.journal import PostgresJournal
from server.storage.postgresql.telling import Node
from server.tables.lobby import Lobby

_FOR_OTHERS: Final = (*get_args(NodeRequest), CloseTables, RemovePlayer)


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

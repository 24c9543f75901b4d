"""What `palatinus admin` asks of all servers that share a database, or of one of them by its name."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from client.language import _
from commands.parsing import WrongUse
from commands.serving.running_server import asked, describe_failure
from protocol.admin import AskNodes, Failure, NodeAnswer, NodeRequest
from server.admin.failures import AdminFailure, FailureCode

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Gathered:
    """What several servers have answered, and why others have not."""

    reports: Any
    failures: Sequence[str]
    nodes: Sequence[NodeAnswer] = ()

    def flat(self) -> "Gathered":
        """Return the lists of all servers as one, in which each says where it is."""
        found = [replace(each, node=node.node) for node in self.nodes for each in node.ok or ()]
        return Gathered(found, self.failures)


def add_node(command: argparse.ArgumentParser) -> None:
    """Add the option that says which of several servers is meant."""
    command.add_argument(
        "--node", metavar="NAME", help=_("name of the server to ask, among those sharing the database")
    )


def of_nodes(path: Path, request: NodeRequest, kind: type[R], node: str | None) -> Gathered:
    """Return what the servers answer, or the one that is called `node`; raises WrongUse."""
    nodes = [_converted(answer, kind) for answer in asked(path, AskNodes(request, node), list[NodeAnswer])]
    failures = [_describe(each.error) for each in nodes if each.error is not None]
    return Gathered([each.ok for each in nodes if each.error is None], failures, nodes)


def of_node(path: Path, request: NodeRequest, kind: type[R], node: str | None) -> R:
    """Return what the server at `path` answers, or the one that is called `node`; raises WrongUse."""
    if node is None:
        return asked(path, request, kind)
    (found,) = of_nodes(path, request, kind, node).nodes
    if found.error is not None:
        raise WrongUse(_describe(found.error))
    report: R = found.ok
    return report


def _converted(answer: NodeAnswer, kind: type[R]) -> NodeAnswer:
    """Return the answer with a report of this kind, or the failure of a server that speaks otherwise."""
    if answer.error is not None:
        return answer
    try:
        return replace(answer, ok=msgspec.convert(answer.ok, kind))
    except msgspec.ValidationError:
        code = FailureCode.NODE_OTHER_VERSION
        error = Failure(code, code.text, {"node": answer.node})
        return replace(answer, ok=None, error=error)


def _describe(error: Failure) -> str:
    return describe_failure(AdminFailure(error.code, error.text, **error.about))

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
from server.admin.failures import AdminFailure, FailureCode, failure
from server.admin.messages import NodeAnswer, NodeRequest, OfNodes

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class AskedNode:
    """A server that was asked; `report` is None if it has not answered: `code` and `reason` say why."""

    name: str
    address: str
    report: Any
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Gathered:
    """What several servers have answered, and why others have not."""

    reports: Any
    failures: Sequence[str]
    nodes: Sequence[AskedNode] = ()

    def flat(self) -> "Gathered":
        """Return the lists of all servers as one, in which each says where it is."""
        found = [replace(each, node=node.name) for node in self.nodes for each in node.report or ()]
        return Gathered(found, self.failures)


def add_node(command: argparse.ArgumentParser) -> None:
    """Add the option that says which of several servers is meant."""
    command.add_argument(
        "--node", metavar="NAME", help=_("name of the server to ask, among those sharing the database")
    )


def of_nodes(path: Path, request: NodeRequest, kind: type[R], node: str | None) -> Gathered:
    """Return what the servers answer, or the one that is called `node`; raises WrongUse."""
    answers = asked(path, OfNodes(request, node), list[NodeAnswer])
    nodes = [_asked_node(answer, kind) for answer in answers]
    return Gathered(
        [each.report for each in nodes if not each.reason],
        [each.reason for each in nodes if each.reason],
        nodes,
    )


def of_node(path: Path, request: NodeRequest, kind: type[R], node: str | None) -> R:
    """Return what the server at `path` answers, or the one that is called `node`; raises WrongUse."""
    if node is None:
        return asked(path, request, kind)
    (found,) = of_nodes(path, request, kind, node).nodes
    if found.reason:
        raise WrongUse(found.reason)
    report: R = found.report
    return report


def _asked_node(answer: NodeAnswer, kind: type[R]) -> AskedNode:
    error: AdminFailure | None = None
    report = None
    if answer.error is not None:
        error = AdminFailure(answer.error.code, answer.error.text, **answer.error.about)
    else:
        try:
            report = msgspec.convert(answer.ok, kind)
        except msgspec.ValidationError:
            error = failure(FailureCode.NODE_OTHER_VERSION, node=answer.node)
    if error is None:
        return AskedNode(answer.node, answer.address, report, "", "")
    return AskedNode(answer.node, answer.address, None, error.code, describe_failure(error))

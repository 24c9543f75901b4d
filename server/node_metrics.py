"""Metrics of a server that shares its journal with others."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric

from server.storage.node import NodeState


def node_metrics(node: NodeState) -> Iterator[Metric]:
    """Yield what is told of a node; its name is in one metric, by which the others can be joined."""
    yield InfoMetricFamily("palatinus_node", "The name of this server.", {"node": node.name})
    for name, what, value in (
        ("lease_held", "1 if the tables are this server's, which may speak for them.", node.seconds_left > 0),
        ("lease_term", "The number of the lease; each has a higher one.", node.term),
        ("lease_left_seconds", "How long the lease still runs.", node.seconds_left),
        ("database_reachable", "1 if the database answered the last time.", node.answers),
        ("database_answer_seconds", "How long the last renewal of the lease took.", node.answer_seconds),
    ):
        yield GaugeMetricFamily(f"palatinus_{name}", what, value)
    for name, what, number in (
        ("leases", "Leases begun: each after the first means that one was lost.", node.leases),
        ("commit_round_trips", "Round trips to the database for commits of moves.", node.round_trips),
        ("tables_taken_up", "Tables taken up that were nobody's.", node.taken_up),
        ("tables_handed_over", "Tables handed over to servers that stay.", node.handed_over),
        ("tables_lost", "Tables given up because the lease was lost.", node.lost),
    ):
        yield CounterMetricFamily(f"palatinus_{name}", what, number)

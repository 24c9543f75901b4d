"""A server among those that share a journal, as it knows itself: for its host's metrics."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeState:
    """The server `name`, whose lease with the number `term` runs for `seconds_left`, 0 if it has none.

    `answers` tells whether the database did, the last time, and `answer_seconds` how long a renewal took. The
    rest counts since the start: leases begun, round trips for commits, and tables taken up, handed over to
    others, and lost with a lease.
    """

    name: str
    term: int
    seconds_left: float
    answers: bool
    answer_seconds: float
    leases: int
    round_trips: int
    taken_up: int
    handed_over: int
    lost: int

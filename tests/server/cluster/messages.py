"""Messages between servers, for the tests."""

from typing import Final, get_args

from hypothesis import strategies as st

from protocol.messages import TableSummary
from protocol.text import unsafe
from server.cluster.messages import (
    AnswerPart,
    Draining,
    Holder,
    Message,
    NodeQuestion,
    PersonElsewhere,
    PublicTable,
    RemarkElsewhere,
)

REMARK: Final = RemarkElsewhere(7, "Anna", "hello", 12.5)


def table(code: str, taken: int = 1) -> PublicTable:
    """Return a table as its server tells of it."""
    return PublicTable(TableSummary(code, "Anna", 5, taken, "gathering"), 1.0, [Holder("Anna", "a" * 64)])


def names() -> st.SearchStrategy[str]:
    return st.text("abZ éß戈Ж😀", min_size=1, max_size=20).filter(lambda name: unsafe(name) is None)


def codes() -> st.SearchStrategy[str]:
    return st.text("ABCD", min_size=4, max_size=4)


def messages() -> st.SearchStrategy[Message]:
    """Return all messages that servers could tell each other."""
    times = st.floats(0, 2**40)
    hashes = st.text("0123456789abcdef", min_size=1, max_size=64)
    counts = st.integers(0, 5)
    tables = st.builds(
        PublicTable,
        st.builds(
            TableSummary,
            codes(),
            names() | st.just(""),
            counts,
            counts,
            st.sampled_from(["gathering", "playing", "over"]),
            deserted=st.booleans(),
        ),
        times,
        st.lists(st.builds(Holder, names(), hashes), max_size=5),
    )
    people = st.builds(
        PersonElsewhere,
        names(),
        times,
        st.sampled_from(["lobby", "playing", "watching"]),
        st.none() | codes(),
        st.lists(hashes, max_size=3),
    )
    remarks = st.builds(RemarkElsewhere, st.integers(1, 2**31 - 1), names(), names(), times)
    numbers = st.integers(1, 2**40)
    questions = st.builds(NodeQuestion, numbers, st.binary(max_size=100), numbers, st.lists(numbers))
    answers = st.builds(
        AnswerPart, numbers, numbers, st.integers(0, 63), st.integers(1, 64), st.binary(max_size=100)
    )
    kinds = tables, people, remarks, st.just(Draining()), questions, answers
    assert len(kinds) == len(get_args(Message))
    return st.one_of(*kinds)

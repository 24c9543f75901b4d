"""How guests share the processor."""

from commands.guests.limits import CpuBudget, Turns
from server.rate_limits import RateLimiter


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_nobody_rests_while_there_is_enough_for_all() -> None:
    clock = Clock()
    house = CpuBudget(0.5, lambda: 0.5, clock)
    one = CpuBudget(0.1, lambda: 0.05, clock, house)
    for _second in range(10):
        clock.now += 1
        assert one.spend(0.4) == 0


def test_who_takes_more_than_a_share_rests_for_the_others() -> None:
    clock = Clock()
    house = CpuBudget(0.5, lambda: 0.5, clock)
    greedy, modest = (CpuBudget(0.1, lambda: 0.05, clock, house) for _ in "12")
    for _second in range(10):
        clock.now += 1
        rest = greedy.spend(1.0)
        assert modest.spend(0.04) == 0
    assert rest == 2.0
    clock.now += rest
    assert greedy.spend(0.0) == 0


def test_screens_that_nobody_waits_for_leave_most_of_the_time_to_others() -> None:
    """The slower they are drawn, the longer each waits; and nobody waits when nothing was drawn lately."""
    clock = Clock()
    turns = Turns(clock)
    for _frame in range(100):
        turns.took(0.01)
    waits = [turns.wait() for _screen in range(100)]
    assert waits == sorted(waits)
    assert 3.5 < waits[-1] <= 4.0
    clock.now += 10
    assert turns.wait() <= 0.04


def test_what_is_refused_does_not_count() -> None:
    bucket = RateLimiter(2, 1.0)
    assert [bucket.take(0.0) for _ in range(100)] == [True, True] + 98 * [False]
    assert bucket.take(1.0)
    assert bucket.used(1.0) == 2
    assert bucket.used(3.0) == 0

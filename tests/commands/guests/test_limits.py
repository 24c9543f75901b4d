"""How guests share the processor."""

from commands.guests.limits import Bucket, CpuBudget


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


def test_what_is_refused_does_not_count() -> None:
    bucket = Bucket(2, 1.0, 0.0)
    assert [bucket.take(0.0) for _ in range(100)] == [True, True] + 98 * [False]
    assert bucket.take(1.0)
    assert not bucket.full(1.0)
    assert bucket.full(3.0)

"""Rare states of the server that simulations have to reach, and the knobs that bring them about."""

import dataclasses
import sys
from collections import Counter
from pathlib import Path

import pytest

from protocol.messages import Refused, TableState, Watch
from server.config import Limits
from server.probes import awaited, probe
from server.storage.entries import Entry, Hosted, Opened, SaidReady, Taken
from simulation.judging.limits import check_guesses, check_spectators
from simulation.judging.shortening import make_the_same_table
from simulation.knobs import KNOBS, constants_of, limits_of
from simulation.probes import all_probes, not_to_be_reached, probes_in
from simulation.verdict import Verdict
from simulation.wiretap import Heard, TappedMessage, Wiretap

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the simulation needs Linux")


@pytest.mark.slow
def test_each_probe_has_a_name_of_its_own() -> None:
    names = Counter(all_probes())
    assert len(names) > 100
    assert [name for name, number in names.items() if number > 1] == []
    assert not_to_be_reached().keys() <= names.keys()


def test_a_probe_must_be_a_literal() -> None:
    assert list(probes_in('if rare:\n    probe("a rare state")\n')) == ["a rare state"]
    with pytest.raises(ValueError, match=r"no literal: probe\(state\)"):
        list(probes_in("probe(state)"))


def test_a_probe_is_awaited_until_it_is_reached() -> None:
    for name in ("one", "other"):
        awaited.add(name)
    try:
        probe("one")
        probe("one")
        assert awaited == {"other"}
    finally:
        awaited.clear()


def test_knobs_are_constants_that_their_modules_read() -> None:
    assert len({knob.name for knob in KNOBS}) == len(KNOBS)
    for knob in KNOBS:
        for module in knob.modules:
            source = Path(str(module.__file__)).read_text(encoding="utf-8")
            assert knob.constant in vars(module)
            assert source.count(knob.constant) > 1, knob.name


def test_each_knob_is_moved_in_some_seeds() -> None:
    moved = [constants_of(seed, over_days=False, moved=True) for seed in range(200)]
    names = {knob.name for knob in KNOBS if knob.values}
    assert names <= {name for settings in moved for name in settings}
    limits = {name for seed in range(200) for name in limits_of(seed)}
    assert limits <= {field.name for field in dataclasses.fields(Limits)}


@pytest.mark.parametrize(("spectators", "found"), [(2, False), (3, True)])
def test_more_spectators_than_a_table_may_have_are_found(spectators: int, *, found: bool) -> None:
    tap, verdict = Wiretap(1), Verdict()
    state = TableState("ROMA", "playing", [], 0, random_layout=False, spectators=spectators)
    tap.heard.append(Heard("ROMA", None, b"", state, 0.0, 0))
    check_spectators([tap], Limits(spectators=2), verdict)
    assert bool(verdict.different) is found


@pytest.mark.parametrize(("seconds", "found"), [(61.0, False), (20.0, True)])
def test_more_guesses_than_are_allowed_within_a_minute_are_found(seconds: float, *, found: bool) -> None:
    tap, verdict = Wiretap(1), Verdict()
    for number in range(3):
        tap.asked.append(TappedMessage(Watch(number, "YYYY"), 0, number * seconds / 2, None, None))
        refused = Refused("no-such-table", "", number)
        tap.heard.append(Heard(None, None, b"", refused, number * seconds / 2, 0))
    check_guesses([tap], ("YYYY",), Limits(wrong_codes_per_address=2), verdict)
    assert bool(verdict.different) is found


def test_a_table_that_loses_its_host_is_another_one() -> None:
    opened = [Opened(2, random_layout=False, starting=None), Taken(0, "Anna", "a"), Taken(1, "Bert", "b")]
    entries: list[Entry] = [*opened, SaidReady(0, on=True), Hosted(1), SaidReady(0, on=False)]
    assert make_the_same_table(entries, [*opened, Hosted(1)])
    assert not make_the_same_table(entries, opened)

"""Settings that are on or off: each has a field, a request that changes it, and words for people."""

from typing import get_args

import msgspec
import pytest

from client.ui.texts.tables import ROWS
from protocol.settings import USUAL, AnySwitch, ChosenSwitches, Setting, Switches, unusual

KINDS: tuple[type[AnySwitch], ...] = get_args(AnySwitch)


def test_every_switch_has_a_setting_that_changes_it_alone() -> None:
    for name, kind in zip(Switches.__struct_fields__, KINDS, strict=True):
        assert kind in get_args(Setting)
        usual = getattr(USUAL, name)
        turned = kind(on=not usual).applied(USUAL)
        assert turned == msgspec.structs.replace(USUAL, **{name: not usual})
        assert unusual(turned) == [kind(on=not usual)]
        assert kind(on=usual).applied(turned) == USUAL
        assert not unusual(USUAL)


def test_every_switch_has_words_for_people() -> None:
    assert [row.kind for row in ROWS] == [*KINDS]


def test_unknown_switches_are_refused_by_servers_and_ignored_by_clients() -> None:
    """A server does not open a table without what the player wants; newer servers may tell of more."""
    sent = msgspec.msgpack.encode({"private": True, "newer": True})
    assert msgspec.msgpack.decode(sent, type=Switches) == Switches(private=True)
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(sent, type=ChosenSwitches)

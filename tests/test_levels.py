"""The levels as the command line gives them to servers and screens."""

import pickle

from client import levels
from client.bots.brains import BRAINS, brain_named
from client.bots.levels import LEVELS
from client.levels import describe_level, describe_temper, usual_level
from commands.levels import STAND_IN, with_bots
from server.config import Config, InProcess


def test_a_server_seats_the_levels_and_has_searches_think_elsewhere() -> None:
    """Those that search are sent to processes as they are; by default none of them stands in."""
    config = with_bots(Config())
    assert list(config.brains) == [level.name for level in levels.LEVELS]
    for level in LEVELS.values():
        brain = config.brains[level.name]
        assert isinstance(brain, InProcess) == level.searches
        assert brain in (level.choose, InProcess(level.choose))
        if isinstance(brain, InProcess):
            assert pickle.loads(pickle.dumps(brain.choose)) == brain.choose  # noqa: S301 - our own
    assert config.stand_in == config.brains[STAND_IN]
    assert not isinstance(config.stand_in, InProcess)


def test_bots_of_older_tables_keep_their_brains() -> None:
    """Also on a server that seats none."""
    config = with_bots(Config(), "consul", seated=False)
    assert not config.brains
    assert config.former_brains["greedy"] is BRAINS["greedy"].choose
    assert config.former_brains["random"] is BRAINS["random"].choose
    assert set(LEVELS) < set(config.former_brains)
    assert config.stand_in == InProcess(LEVELS["consul"].choose)


def test_levels_are_told_with_their_temper() -> None:
    """A level of a server of another time is told by its name."""
    for level in levels.LEVELS:
        assert describe_level(level.name) == level.title
        assert describe_temper(level.name) == brain_named(level.name).description
    assert (describe_level("greedy"), describe_temper("greedy")) == ("greedy", "")


def test_a_level_that_beginners_can_beat_is_offered_first() -> None:
    assert usual_level(tuple(LEVELS)) == "plebeian"
    assert usual_level(("random", "greedy")) == "greedy"

"""The short form of `python -m bench.chaos`: docs/reliability.md tells of the long one."""

from pathlib import Path

from bench.chaos.round import Plan, Round


async def test_games_on_a_bad_network_and_a_killed_server_are_the_ones_that_everybody_saw(
    tmp_path: Path,
) -> None:
    """Nothing is lost, doubled, invented or leaked, and every game ends."""
    played = Round(Plan(seed="short", games=3, kills=3, tables=3, longest_hold=0.2), tmp_path)
    await played.run()
    assert not played.verdict, played.verdict.kinds()
    assert (played.counts["games"], played.counts["kills"]) == (3, 3)
    assert played.counts["cuts"] > 0
    assert played.counts["gaps sent"] > 0

"""The second fold of a table's entries, and the rules for what may be stored after what."""

import sys
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from engine.game import GameOptions
from protocol.absence import ByVote, GameClock
from protocol.messages import Asked, Standing
from protocol.settings import Starting, Title

if sys.platform != "linux":
    pytest.skip("the simulation needs Linux", allow_module_level=True)

from server.storage import entries as e
from server.storage.entries import Entry
from server.tables.clocks import Clocks
from simulation.judging.entry_rules import check_entries
from simulation.judging.table_model import TableModel
from simulation.verdict import Verdict
from tests.games import played

HOSTED: Sequence[Entry] = (
    e.Opened(3, random_layout=False, starting=None, absence=ByVote(0)),
    *(e.Taken(seat, name, name) for seat, name in enumerate(("Anna", "Bruno", "Carla"))),
)
PLAYING = (*HOSTED, *e.played_so_far(played(GameOptions(3), 1, 12).events, 0))
THOUGHT = [replace(each, thought=100) if isinstance(each, e.Played) else each for each in PLAYING[1:]]
TIMED: Sequence[Entry] = (replace(HOSTED[0], absence=GameClock(40)), *THOUGHT)
*MOVES, LAST, SCORING = e.played_so_far(played(GameOptions(3), 1).events, 0)
OVER = (*HOSTED, *MOVES, replace(LAST, events=[*LAST.events, *SCORING.events]))
WINNERS = next(
    each for entry in OVER if isinstance(entry, e.Played) for each in entry.events if each["t"] == "ended"
)
READY = e.SaidReady(1, on=True)
NEWCOMER = (e.Freed(2), e.Taken(2, "Dora", "Dora"))
ASKED = Asked("pause", [0], until=2_000_000_000)
AGREED = replace(ASKED, seats=[0, 1])
PROGRAM = e.Taken(1, "Bruno", "Bruno", program=True)
ALONE = (e.Freed(1), PROGRAM, e.Freed(2), e.Freed(0), e.Hosted(1))  # who stays host when somebody comes
EXCHANGED = (e.Taken(0, "Bruno", "Bruno"), e.Taken(1, "Anna", "Anna"), e.Taken(2, "Carla", "Carla"))


def clocked(*, used: int = 0, turn: int = 0) -> e.Clocked:
    """Return the clocks of TIMED when the turn has used so much."""
    model = TableModel()
    for entry in TIMED:
        model.take(entry)
    assert model.turn is not None
    return e.Clocked([each + used * (seat == model.turn) for seat, each in enumerate(model.used)], turn)


def judged(entries: Sequence[Entry], journal: dict[str, Sequence[Entry]] | None = None) -> Verdict:
    verdict = Verdict()
    check_entries("ROMA", entries, verdict, bots_wanted=(), journal=journal or {})
    return verdict


@pytest.mark.parametrize(
    ("before", "entries"),
    [
        (HOSTED, (READY, *NEWCOMER, e.SaidReady(1, on=False), e.Changed(Title("")))),
        (HOSTED, (e.Changed(Starting(0)), *EXCHANGED, e.Hosted(1), e.Changed(Starting(1)))),
        (HOSTED, (e.Freed(0), e.Hosted(1))),
        (HOSTED, (*ALONE, e.Taken(0, "Dora", "Dora"), e.Freed(0), PROGRAM, NEWCOMER[1], e.Hosted(1))),
        (PLAYING, (e.Wished(Asked("take-back", [0])), e.Wished(Asked("take-back", [0, 1])))),
        (PLAYING, (e.Wished(ASKED), e.Wished(AGREED), e.Wished(ASKED))),
        (PLAYING, (e.Wished(ASKED), e.Wished(AGREED), e.Paused(0, ASKED.until))),
        (PLAYING, (e.Voted(1, 0, agree=True), e.GivenToBot(1), e.Returned(1))),
        (TIMED, (clocked(used=900, turn=900), clocked(used=1000, turn=1000))),
    ],
    ids=lambda _: "",
)
def test_what_is_right_is_not_found(before: Sequence[Entry], entries: Sequence[Entry]) -> None:
    assert not judged((*before, *entries))


@pytest.mark.parametrize(
    ("before", "entries"),
    [
        (HOSTED, (READY, *NEWCOMER, e.Changed(Title("")))),
        (HOSTED, (e.Changed(Starting(0)), *EXCHANGED, e.Hosted(1), e.Changed(Starting(0)))),
        (HOSTED, (e.Freed(1), PROGRAM, e.Freed(0), e.Hosted(1))),
        (HOSTED, (e.Freed(2), e.Taken(2, "Anna", "Dora"))),
        (PLAYING, (e.Changed(Starting(1)),)),
        (PLAYING, (e.Wished(Asked("take-back", [0, 1])),)),
        (PLAYING, (e.Wished(Asked("take-back", [0])), e.Wished(Asked("pause", [0, 1])))),
        (PLAYING, (e.Wished(ASKED), e.Wished(AGREED), e.Wished(replace(AGREED, refused=1)))),
        (PLAYING, (e.Wished(ASKED), e.Paused(0, ASKED.until))),
        (PLAYING, (e.Paused(0, ASKED.until),)),
        (PLAYING, (e.GivenToBot(1),)),
        (PLAYING, (e.OnHoliday(0, 0, on=True),)),
        (TIMED, (clocked(used=-50),)),
        (TIMED, (clocked(used=900, turn=900), clocked(used=900, turn=0))),
    ],
    ids=[
        "who is ready stays so beside a newcomer",
        "the starting seat does not move",
        "a program becomes host before a person",
        "two have the same name",
        "another starts a running game",
        "two ask at first",
        "who agrees asks for something else",
        "who has agreed refuses",
        "one has not agreed to a pause",
        "nobody has agreed to a pause",
        "a bot gets a seat without a vote",
        "a holiday without days",
        "time is given back",
        "a turn begins again",
    ],
)
def test_what_is_wrong_is_found(before: Sequence[Entry], entries: Sequence[Entry]) -> None:
    assert not judged(before)
    assert judged((*before, *entries)).invented


def test_a_wrong_fold_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it is the same each time, and so what it tells agrees with itself."""
    assert not judged(TIMED)
    charge = Clocks.charge
    monkeypatch.setattr(Clocks, "charge", lambda self, seat, time: charge(self, seat, time // 2))
    assert judged(TIMED).different


def test_a_rematch_goes_on_with_all_that_was() -> None:
    starts = next(each["starting"] for each in MOVES[0].events if each["t"] == "started")
    points = [(int(seat in WINNERS["winners"]), WINNERS["tallies"][seat]["points"]) for seat in range(3)]
    kept = [
        replace(e.Kept(seat, name, name), standing=Standing(1, *points[seat]))
        for seat, name in enumerate(("Anna", "Bruno", "Carla"))
    ]
    opened = replace(HOSTED[0], starting=(starts + 1) % 3)
    over = (*OVER, e.Continued("ARNA"))
    assert not judged(over, {"ARNA": [opened, *kept, e.Hosted(0)]})
    for wrong in (
        [replace(opened, starting=starts), *kept, e.Hosted(0)],
        [opened, *kept],
        [opened, *kept[:2], replace(kept[2], standing=Standing()), e.Hosted(0)],
        [opened, *kept, e.Hosted(0), e.NoticesTo(0, "anna@example.org", "en")],
    ):
        assert judged(over, {"ARNA": wrong}).invented

"""The models that the simulation judges with: each finds what it is for, and nothing where all is well."""

import sys
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from engine.pieces import People, Seat
from protocol import messages as m
from protocol.absence import ByBot, ByVote, GameClock, MoveClock
from protocol.settings import Switches

if sys.platform != "linux":
    pytest.skip("the simulation needs Linux", allow_module_level=True)

from server.config import PlayerNotice
from server.storage import entries as e
from server.storage.entries import RoundDrawn
from simulation.judging.clock_model import check_clocks, check_steps
from simulation.judging.evening import wrong_draws, wrong_people, wrong_places
from simulation.judging.notices import is_plain
from simulation.judging.ownership import Ownership
from simulation.judging.protocol_model import check_granted, check_granted_in_time
from simulation.judging.seat_model import (
    check_absence,
    check_agreement,
    check_bots_among_themselves,
    check_followed,
    check_host,
    check_plans,
    check_programs,
    check_removals,
    check_returns,
    check_second_hands,
    check_shown_hands,
)
from simulation.judging.wire_checks import (
    check_answered,
    check_codes_of_addresses,
    check_online,
    check_quiet,
)
from simulation.verdict import Verdict
from simulation.wiretap import Heard, TappedMessage, Wiretap

CODE = "ROMA"
SEATS = [m.SeatSummary(name, here=True, clock=40_000) for name in ("Anna", "Bruno", "Carla")]
PLAYING = m.TableState(CODE, "playing", SEATS, 0, random_layout=False, absence=GameClock(40))


def tapped(seat: int | None, *traffic: tuple[float, Any]) -> Wiretap:
    """Return what a connection has sent and was sent, each with its time."""
    tap = Wiretap(1)
    for time, message in traffic:
        if isinstance(message, get_args(m.ClientMessage)):
            own = None if seat is None else Seat(seat)
            tap.asked.append(TappedMessage(message, len(tap.heard), time, CODE, own))
        else:
            seat = message.seat if isinstance(message, m.Reseated) else seat
            tap.heard.append(Heard(CODE, None if seat is None else Seat(seat), b"", message, time, 0))
    return tap


def found(verdict: Verdict) -> set[str]:
    return {kind for kind, cases in verdict.kinds().items() if cases}


def with_seat(seat: int, state: m.TableState = PLAYING, **changes: Any) -> m.TableState:
    """Return the state with something else about a seat."""
    seats = list(state.seats)
    seats[seat] = replace(seats[seat], **changes)
    return replace(state, seats=seats)


def placed(seq: int, seat: int, turn: int, clock: int, id: int | None = None) -> m.Events:  # noqa: A002
    event = {"t": "placed", "seat": seat, "piece": "Em", "field": "A1"}
    return m.Events(seq, [event], turn, id=id, clock=clock)


@pytest.mark.parametrize(("left", "wrong"), [(38_000, False), (39_000, True), (36_000, True)])
def test_a_turn_takes_as_much_of_a_clock_as_it_has_lasted(left: int, *, wrong: bool) -> None:
    """Between what is known of when the turn began and when the move was asked for: some two seconds."""
    turns = [
        (0.0, PLAYING),
        (9.9, m.PlacePiece(6, "Em", "A1")),
        (10.0, placed(6, 0, 0, 40_000, 6)),
        (12.0, m.PlacePiece(7, "Em", "A1")),
        (12.0, placed(7, 0, 1, 40_000, 7)),
        (13.0, placed(8, 1, 0, left)),
    ]
    verdict = Verdict()
    assert check_clocks(CODE, [tapped(0, *turns)], verdict, stored=True) == 1
    assert bool(verdict.different) == wrong


@pytest.mark.parametrize(("clock", "wrong"), [(30_000, False), (29_000, True)])
def test_clocks_stand_still_in_a_pause(clock: int, *, wrong: bool) -> None:
    paused = replace(with_seat(1, clock=30_000), paused=m.PauseSummary(0, 0, 600))
    tap = tapped(0, (0.0, paused), (1.0, with_seat(1, paused, clock=clock)))
    verdict = Verdict()
    check_clocks(CODE, [tap], verdict, stored=True)
    assert bool(verdict.different) == wrong


@pytest.mark.parametrize(("clock", "wrong"), [(9_000, False), (14_000, True)])
def test_more_time_is_given_once(clock: int, *, wrong: bool) -> None:
    state = replace(PLAYING, absence=MoveClock(5))
    asks, again = m.Ask(1, "more-time", on=True), m.Events(7, [], 0, clock=clock)
    verdict = Verdict()
    check_clocks(
        CODE,
        [tapped(0, (0.0, state), (0.0, placed(6, 1, 0, 5_000)), (1.0, asks), (1.0, again))],
        verdict,
        stored=True,
    )
    assert bool(verdict.different) == wrong


GRANTED = m.Asked("more-time", [0, 1, 2], granted=True)


@pytest.mark.parametrize(
    ("left", "granted", "wrong"),
    [
        (37_000, None, False),
        (40_000, None, True),
        (34_000, None, True),
        (45_000, GRANTED, False),
        (45_000, None, False),  # the next state came after a move
        (41_000, GRANTED, True),
    ],
)
def test_a_clock_goes_as_fast_as_the_time(left: int, granted: m.Asked | None, *, wrong: bool) -> None:
    """Within a turn, unless all others give a fifth of it."""
    again = m.Events(7, [], 1, clock=left)
    after = replace(PLAYING, asked=granted)
    asks = m.Ask(7, "more-time", on=True)
    turn = placed(6, 0, 1, 40_000)
    tap = tapped(0, (0.0, PLAYING), (1.0, turn), (4.0, asks), (4.0, again), (4.0, after), (4.0, m.Done(7)))
    verdict = Verdict()
    assert check_steps(CODE, [tap], verdict) == 1
    assert bool(verdict.different) == wrong


@pytest.mark.parametrize(("left", "wrong"), [(40_000, False), (37_000, True)])
def test_a_clock_that_stands_in_a_pause_shows_the_same_after_it(left: int, *, wrong: bool) -> None:
    paused = replace(PLAYING, paused=m.PauseSummary(0, 0, 600))
    begins, ends = (m.Events(7, [], 1, clock=clock) for clock in (40_000, left))
    turn = placed(6, 0, 1, 40_000)
    tap = tapped(0, (0.0, PLAYING), (1.0, turn), (1.0, begins), (1.0, paused), (4.0, ends), (4.0, PLAYING))
    verdict = Verdict()
    check_steps(CODE, [tap], verdict)
    assert bool(verdict.different) == wrong


def test_a_clock_that_is_up_stands_until_the_stand_in_moves() -> None:
    """And is given more time as any other."""
    seats = [replace(each, clock=None) for each in SEATS]
    state, asks = replace(PLAYING, absence=MoveClock(5), seats=seats), m.Ask(7, "more-time", on=True)
    after, again = replace(state, asked=GRANTED), m.Events(7, [], 1, clock=5_000)
    turn = placed(6, 0, 1, 5_000)
    tap = tapped(0, (0.0, state), (1.0, turn), (6.4, asks), (6.4, after), (6.4, again), (6.4, m.Done(7)))
    verdict = Verdict()
    assert check_steps(CODE, [tap], verdict) == 1
    assert not verdict


@pytest.mark.parametrize(
    ("last", "left", "wrong"),
    [(PLAYING, 37_000, False), (PLAYING, 40_000, True), (m.Online([]), 40_000, False)],
    ids=["it went on", "it began again", "the table was in the archive"],
)
def test_a_turn_does_not_begin_again_for_who_comes_back(
    last: m.ServerMessage, left: int, *, wrong: bool
) -> None:
    left_at = tapped(0, (0.0, PLAYING), (1.0, placed(6, 0, 1, 40_000)), (4.0, last))
    hands = [{"Em": 1}, {"Sm": 1}]
    shown = m.Snapshot(6, "placing", {"hands": hands}, [None] * 7, {}, [], turn=1, clock=left)
    comes = tapped(0, (9.0, m.Seated(1, CODE, 0)), (9.0, PLAYING), (9.0, shown))
    verdict = Verdict()
    check_steps(CODE, [left_at, replaced(comes, number=1)], verdict)
    assert bool(verdict.different) == wrong


def replaced(tap: Wiretap, *, number: int) -> Wiretap:
    tap.number = number
    return tap


AWAY = replace(with_seat(1, here=False, bot=True, clock=None), absence=ByBot(60))
VOTED = replace(with_seat(1, here=False, seconds_left=0, votes=[0], clock=None), absence=ByVote(60))


@pytest.mark.parametrize(
    ("state", "time", "voted", "wrong"),
    [(AWAY, 70.0, 0.0, False), (AWAY, 9.0, 0.0, True), (VOTED, 70.0, 65.0, False), (VOTED, 70.0, 1.0, True)],
    ids=["a bot after a while", "a bot at once", "a vote", "a vote from before"],
)
def test_a_seat_is_given_up_when_it_is_time(
    state: m.TableState, time: float, voted: float, *, wrong: bool
) -> None:
    here = replace(PLAYING, absence=state.absence)
    tap = tapped(0, (3.0, here), (voted, m.Vote(1, 1, agree=True)), (time, state))
    verdict = Verdict()
    check_absence(CODE, [tap], set(), (), verdict)
    assert bool(verdict.invented) == wrong


@pytest.mark.parametrize("here", [False, True])
def test_a_vote_counts_after_a_pause_unless_its_seat_was_there(*, here: bool) -> None:
    waits = with_seat(1, replace(PLAYING, absence=ByVote(2)), here=False, seconds_left=2)
    voted = with_seat(1, waits, seconds_left=0, votes=[0], votes_needed=2)
    paused = with_seat(1, waits, seconds_left=None, here=here)
    paused = replace(paused, paused=m.PauseSummary(0, 0, 600))
    states = (1.0, waits), (4.0, m.Vote(1, 1, agree=True)), (4.0, voted), (5.0, paused), (9.0, waits)
    verdict = Verdict()
    check_absence(CODE, [tapped(0, *states, (12.0, voted))], set(), (), verdict)
    assert bool(verdict.invented) == here


@pytest.mark.parametrize(("until", "wrong"), [(None, False), (500, False), (600, True)])
def test_who_agrees_to_another_moment_does_not_agree(until: int | None, *, wrong: bool) -> None:
    asked = replace(PLAYING, asked=m.Asked("pause", [0, 1], until=500))
    first = tapped(0, (0.0, m.AskPause(1, on=True, until=500)), (2.0, asked))
    verdict = Verdict()
    check_agreement(CODE, [first, tapped(1, (1.0, m.AskPause(1, on=True, until=until)))], set(), verdict)
    assert bool(verdict.invented) == wrong


@pytest.mark.parametrize(("code", "wrong"), [("removed", False), ("seat-taken", True)])
def test_who_was_removed_stays_away(code: str, *, wrong: bool) -> None:
    removed = m.Refused("removed", "You were removed.")
    tap = tapped(1, (0.0, PLAYING), (1.0, removed))
    tap.heard[-1] = tap.heard[-1]._replace(table=None, seat=None)
    visit = tapped(None, (2.0, m.JoinTable(1, CODE, "Bruno", 0)), (2.0, m.Refused(code, "No.", 1)))
    verdict = Verdict()
    assert check_returns(CODE, [tap], [visit], verdict) == 1
    assert bool(verdict.stolen) == wrong


def test_what_spectators_say_at_a_quiet_table_stays_with_them() -> None:
    quiet, said = replace(PLAYING, switches=Switches(quiet=True)), m.Said("a tip", spectator=1, number=1)
    hears = tapped(None, (0.0, quiet), (1.0, said), (2.0, quiet))
    later = m.SaidBefore([m.TableRemark(1, "a tip", None, 1, None)])
    for seat, wrong in ((None, False), (0, True)):
        verdict = Verdict()
        check_quiet(CODE, [hears, tapped(seat, (3.0, later))], verdict)
        assert bool(verdict.leaked) == wrong


@pytest.mark.parametrize(("seconds", "wrong"), [(1.0, False), (9.0, True)])
def test_what_is_agreed_to_is_granted(seconds: float, *, wrong: bool) -> None:
    """If all who have not agreed have left, too."""
    asked = replace(with_seat(1, here=False), asked=m.Asked("pause", [2]))
    state = replace(with_seat(0, asked, here=False), host=0)
    verdict = Verdict()
    check_granted_in_time(CODE, [tapped(2, (0.0, state), (seconds, state))], set(), verdict)
    assert bool(verdict.lost) == wrong


@pytest.mark.parametrize(("seconds", "wrong"), [(30.0, False), (80.0, True)])
def test_somebody_follows_a_host_who_is_away(seconds: float, *, wrong: bool) -> None:
    away = replace(with_seat(0, here=False), absence=ByBot(0))
    verdict = Verdict()
    check_followed(CODE, tapped(1, (0.0, away), (seconds, away)), set(), verdict)
    assert bool(verdict.lost) == wrong


def test_bots_do_not_play_among_themselves() -> None:
    told = m.Events(1, [{"t": "placed", "seat": 0, "piece": "Em", "field": "A1"}], 1)
    tap = tapped(0, (0.0, m.Seated(1, CODE, 0)), (0.0, PLAYING), (0.0, replace(told, events=[])), (1.0, told))
    moves = [e.StoodIn(seat, "bot", [{"t": "placed"}]) for seat in (1, 2, 1)]
    for number, wrong in ((2, False), (3, True)):
        verdict = Verdict()
        check_bots_among_themselves(CODE, [tap], moves[:number], set(), verdict)
        assert bool(verdict.invented) == wrong


def test_every_request_is_answered() -> None:
    asks = m.Vote(7, 1, agree=True)
    for answer, wrong in ((m.Done(7), False), (m.Done(8), True)):
        verdict = Verdict()
        check_answered(tapped(0, (0.0, asks), (1.0, answer), (99.0, PLAYING)), verdict)
        assert bool(verdict.lost) == wrong


@pytest.mark.parametrize(("guesses", "wrong"), [(4, False), (5, True)])
def test_a_code_can_be_guessed_five_times(guesses: int, *, wrong: bool) -> None:
    refused = [(1.0, m.Refused("wrong-code", "No.", 1)) for _ in range(guesses)]
    confirmed = [(2.0, m.ConfirmCall(2, "123456")), (2.0, m.Done(2))]
    verdict = Verdict()
    check_codes_of_addresses(tapped(0, *refused, *confirmed), verdict)
    assert bool(verdict.invented) == wrong


def test_nobody_is_listed_at_a_private_table() -> None:
    verdict = Verdict()
    check_online(tapped(None, (0.0, m.Online([m.PersonOnline("Anna", "playing", CODE)]))), {CODE}, verdict)
    assert verdict.leaked


@pytest.mark.parametrize(
    ("state", "request_made", "code", "wrong"),
    [
        (replace(PLAYING, paused=m.PauseSummary(1, 0, 600)), m.AskPause(1, on=False), "pause-goes-on", True),
        (replace(PLAYING, paused=m.PauseSummary(1, 0, 600)), m.AskPause(1, on=False), "not-paused", True),
        (PLAYING, m.Ask(1, "take-back", on=False), "nothing-asked", False),
        (PLAYING, m.Ask(1, "take-back", on=True), "others-asked", True),
        (
            replace(PLAYING, asked=m.Asked("pause", [1])),
            m.Ask(1, "take-back", on=True),
            "others-asked",
            False,
        ),
        (replace(PLAYING, asked=m.Asked("pause", [1])), m.Ask(1, "take-back", on=True), None, True),
        (PLAYING, m.AskPause(1, on=True, until=1), None, True),
    ],
)
def test_a_request_is_refused_for_a_reason(
    state: m.TableState, request_made: m.ClientMessage, code: str | None, *, wrong: bool
) -> None:
    answer: m.ServerMessage = m.Done(1) if code is None else m.Refused(code, "No.", 1)
    tap = tapped(0, (0.0, state), (1.0, request_made), (1.0, answer), (2.0, state))
    verdict = Verdict()
    assert check_granted(CODE, [tap], verdict) == 1
    assert bool(verdict) == wrong


def test_another_has_chosen_a_people_whatever_seat_the_sender_had() -> None:
    gathering = replace(PLAYING, stage="gathering")
    chosen = with_seat(1, gathering, people="E", chosen=True)
    refused = m.Refused("people-taken", "No.", 1)
    wish = m.ChoosePeople(1, People("E"))
    given = (1.0, m.Reseated(0)), (1.0, chosen)
    verdict = Verdict()
    assert check_granted(
        CODE, [tapped(1, (0.0, gathering), (0.5, wish), *given, (1.0, refused), (2.0, chosen))], verdict
    )
    assert not verdict


def test_only_who_plays_is_drawn_for_an_evening_and_who_does_not_come_pauses() -> None:
    people = [e.PersonEntered(number, f"Guest {number}", f"{number}", "play") for number in (1, 2)]
    rests = replace(people[1], takes_part="pause")
    drawn = RoundDrawn([(CODE, [1, 2])])
    absent: dict[str, list[e.Entry]] = {CODE: [e.GivenToBot(1)]}
    assert not [*wrong_people([*people, drawn], {})]
    assert not [*wrong_people([*people, drawn, rests], absent)]
    assert [*wrong_people([*people, drawn], absent)]
    assert [*wrong_people([*people, rests, drawn], {})]
    assert [*wrong_people([*people, drawn, drawn], {})]


ASKED = m.Asked("more-time", [0, 1, 2], granted=True)
ALL_ASK = [tapped(seat, (0.0, m.Ask(1, "more-time", on=True))) for seat in range(3)]


@pytest.mark.parametrize(
    ("state", "taps", "wrong"),
    [
        (replace(PLAYING, asked=ASKED), ALL_ASK, False),
        (replace(PLAYING, asked=ASKED), ALL_ASK[:2], True),
        (replace(PLAYING, asked=replace(ASKED, seats=[0, 1])), ALL_ASK, True),
        (replace(with_seat(2, vacant=True), asked=ASKED), ALL_ASK, True),
    ],
    ids=["all have agreed", "one has not said so", "not all need to", "one has lost the seat"],
)
def test_all_people_have_to_agree(state: m.TableState, taps: Sequence[Wiretap], *, wrong: bool) -> None:
    verdict = Verdict()
    check_agreement(CODE, [*taps, tapped(0, (1.0, state))], set(), verdict)
    assert bool(verdict.invented) == wrong


@pytest.mark.parametrize(("time", "wrong"), [(70.0, False), (50.0, True)])
def test_nobody_is_removed_before_they_were_away_for_a_while(time: float, *, wrong: bool) -> None:
    away = with_seat(1, here=False)
    host = tapped(0, (0.0, PLAYING), (1.0, away), (time, m.Remove(7, 1)), (time, m.Done(7)))
    verdict = Verdict()
    check_removals(CODE, [host], 60.0, verdict)
    assert bool(verdict.invented) == wrong


@pytest.mark.parametrize(
    ("time", "asks", "wrong"), [(70.0, False, False), (50.0, True, False), (50.0, False, True)]
)
def test_a_host_stays_the_host(time: float, *, asks: bool, wrong: bool) -> None:
    """Unless they are away for long, or hand the table over."""
    asked = [(1.0, m.HandOver(7, 1))] if asks else []
    verdict = Verdict()
    check_host(CODE, [tapped(0, (0.0, PLAYING), *asked, (time, replace(PLAYING, host=1)))], verdict)
    assert bool(verdict.different) == wrong


def test_a_host_is_told_to_one_after_the_other() -> None:
    """Of what is sent at one moment, one connection may have all before another has the first of it."""
    asks, hosted = m.HandOver(7, 1), replace(PLAYING, host=1)
    paused = replace(PLAYING, paused=m.PauseSummary(0, 0, 600))
    verdict = Verdict()
    first = tapped(0, (0.0, PLAYING), (1.0, asks), (1.0, paused), (1.0, hosted))
    check_host(CODE, [first, tapped(1, (0.0, PLAYING), (1.0, paused), (1.0, hosted))], verdict)
    assert found(verdict) == set()


@pytest.mark.parametrize(
    ("bot", "programs", "wrong"), [(True, {"Bruno"}, False), (False, {"Bruno"}, True), (False, set(), False)]
)
def test_a_bot_plays_for_a_program_that_is_away(programs: set[str], *, bot: bool, wrong: bool) -> None:
    verdict = Verdict()
    check_programs(CODE, tapped(0, (0.0, with_seat(1, here=False, bot=bot))), programs, verdict)
    assert bool(verdict.lost) == wrong


@pytest.mark.parametrize(
    ("hand", "wrong"), [({"Es": 1}, False), ({"Em": 1, "Es": 1}, True), ({"Sm": 1}, True)]
)
def test_a_hand_is_what_its_seat_has_left(hand: dict[str, int], *, wrong: bool) -> None:
    hands = [{"Em": 1, "Es": 1}, {"Sm": 1}]
    shown = m.Snapshot(5, "placing", {"hands": hands}, [None] * 7, {}, [(0, "Em", "A1")], hand=hand)
    verdict = Verdict()
    check_shown_hands(CODE, [tapped(0, (0.0, shown))], verdict)
    assert bool(verdict.leaked) == wrong


PLANS = [(1.0, m.Plan(1, "Em", "A1")), (1.0, m.Done(1))]
TOLD = (9.0, m.Planned("Em", "A1"))


@pytest.mark.parametrize(
    ("traffic", "wrong"),
    [
        ([*PLANS, TOLD], False),
        ([TOLD], True),
        ([*PLANS, (2.0, m.Plan(2)), TOLD], False),
        ([*PLANS, (2.0, m.Plan(2)), (2.0, m.Done(2)), TOLD], True),
        ([*PLANS, (2.0, placed(6, 0, 1, 0)), TOLD], True),
        ([*PLANS, (2.0, placed(6, 1, 0, 0)), TOLD], False),
    ],
    ids=["planned", "not planned", "maybe withdrawn", "withdrawn", "moved", "another has moved"],
)
def test_a_plan_is_told_as_long_as_there_is_one(traffic: list[tuple[float, Any]], *, wrong: bool) -> None:
    verdict = Verdict()
    check_plans(CODE, [tapped(0, *traffic)], [], verdict)
    assert bool(verdict.leaked) == wrong


ON_A_CONDITION = m.Plan(1, plans=(m.PlannedMove("Em", "A2", m.Condition("B1", 1)), m.PlannedMove("Em", "A1")))


@pytest.mark.parametrize(
    ("there", "made", "wrong"), [(1, "A2", False), (1, "A1", True), (0, "A1", False), (0, "A2", True)]
)
def test_the_first_possible_plan_is_made(there: int, made: str, *, wrong: bool) -> None:
    before = e.Played(
        there, m.PlacePiece(1, "Em", "B1"), [{"t": "placed", "seat": there, "piece": "Em", "field": "B1"}]
    )
    event = {"t": "placed", "seat": 0, "piece": "Em", "field": made}
    entries = [before, e.Played(0, m.PlacePiece(0, "Em", made), [event], planned=True)]
    tap = tapped(0, (1.0, ON_A_CONDITION), (1.0, m.Done(1)), (2.0, m.Events(2, [event])))
    verdict = Verdict()
    assert check_plans(CODE, [tap], entries, verdict) == 1
    assert bool(verdict.invented) == wrong


@pytest.mark.parametrize(
    ("code", "wrong"), [("knows-another-hand", False), ("game-running", False), ("name-taken", True)]
)
def test_nobody_sees_a_second_hand(code: str, *, wrong: bool) -> None:
    joins = m.JoinTable(7, CODE, "Anna", 1)
    tap = tapped(0, (0.0, m.Leave(6)), (0.0, m.Done(6)), (1.0, joins), (1.0, m.Refused(code, "", 7)))
    verdict = Verdict()
    check_second_hands(CODE, tap, verdict)
    assert bool(verdict.leaked) == wrong


@pytest.mark.parametrize(
    ("second", "wrong"),
    [([[1, 2, 4], [3, 5, 6]], False), ([[1, 2, 3], [4, 5, 6]], True), ([[1, 2]] * 3, True)],
)
def test_people_meet_others_in_the_next_round(second: list[list[int]], *, wrong: bool) -> None:
    drawn = [
        RoundDrawn([(f"T{number}", people) for number, people in enumerate(tables)], None)
        for tables in ([[1, 2, 3], [4, 5, 6]], second)
    ]
    assert bool([*wrong_draws(drawn, set(range(1, 7)))]) == wrong


@pytest.mark.parametrize(
    ("places", "wrong"),
    [([1, 2, 2, 4], False), ([2, 1, 1, 4], True), ([1, 2, 3, 4], True), ([2, 3, 3, 1], True)],
)
def test_places_in_an_evening(places: Sequence[int], *, wrong: bool) -> None:
    """The better score is before the worse, and whoever has not played is behind a score of nothing."""
    scores = [(2, 15000), (1, 0), (3, 0), (0, 0)]
    shown = [
        m.EveningPerson(number, "", place=place, tied=places.count(place) > 1, games=games, score=score)
        for number, (place, (games, score)) in enumerate(zip(places, scores, strict=True))
    ]
    assert bool([*wrong_places(shown)]) == wrong


@pytest.mark.parametrize(
    ("notice", "plain"),
    [
        (PlayerNotice("turn", CODE, "0" * 32, seconds=60), True),
        (PlayerNotice("confirm", CODE, "", "123456"), True),
        (PlayerNotice("turn", CODE, "0" * 32, "Em*"), False),
        (PlayerNotice("over", CODE, "Em*"), False),
    ],
)
def test_a_notice_says_nothing_of_the_game(notice: PlayerNotice, *, plain: bool) -> None:
    assert is_plain(notice) == plain


@pytest.mark.parametrize(
    ("entries", "asked", "wrong"),
    [
        ([e.Taken(0, "Anna", "x"), e.Taken(1, "Bruno", "y")], m.Rematch(7), False),
        ([e.Taken(0, "Anna", "x"), e.Kept(1, "Bruno", "y")], m.Rematch(7), True),
        ([e.Taken(0, "Anna", "x"), e.Taken(1, "Bruno", "y")], m.Resume(7, CODE, "y" * 43), True),
    ],
)
def test_a_node_that_wakes_without_a_table_lets_nobody_in(
    entries: list[e.Entry], asked: m.ClientMessage, *, wrong: bool
) -> None:
    """It may say that it had stored a new seat before; whoever comes back has to go elsewhere."""
    tap = tapped(1, (5.0, asked), (12.0, m.Seated(7, CODE, 1)))
    tap.server = "one"
    tap.marks.append((0, 11.0))  # it woke
    owned = Ownership([(CODE, "one", 0.0, 0), (CODE, "two", 10.0, len(entries))])
    verdict = Verdict()
    owned.check(CODE, entries, [tap], verdict, whole=True)
    assert found(verdict) == ({"leaked"} if wrong else set())

"""The model of a table: events and snapshots lead to the same view, and gaps are noticed."""

from collections.abc import Sequence
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from client.records import Recording
from client.tables.table import (
    PAST_FROM,
    Gap,
    Happened,
    HeardRemark,
    PlanNews,
    Refreshed,
    TableChanged,
    TableClosed,
    TableModel,
)
from engine.board import FIELDS
from engine.events import Placed, WolfPlaced, lasting
from engine.game import Game, GameOptions
from engine.legal import Legal
from engine.pieces import Seat
from engine.redaction import redacted, snapshot
from engine.view import SPECTATOR, Eyes, Phase, eyes_of
from protocol.codec import BadMessage, decode_server, encode
from protocol.events import event_map, legal_message, snapshot_message
from protocol.messages import (
    Condition,
    Done,
    Events,
    Lays,
    Places,
    Planned,
    PlannedMove,
    PlanPlayed,
    Refused,
    Said,
    SaidBefore,
    Seated,
    SeatSummary,
    Snapshot,
    SpectatorSummary,
    TableRemark,
    TableState,
    Watching,
)
from tests.games import games, played

TOKEN = "a-token"
STATE = TableState("ABCD", "gathering", [SeatSummary("ann", here=True), SeatSummary()], host=0)


def eyes(seat: Seat | None) -> Eyes:
    return SPECTATOR if seat is None else eyes_of(seat)


def legal_for(game: Game, seat: Seat | None) -> Legal | None:
    legal = game.legal()
    return legal if legal is not None and legal.seat == seat else None


def events_frame(game: Game, seat: Seat | None, first: int, last: int | None = None) -> Events:
    """Return a frame with the events from number `first` on, decoded as from the wire."""
    last = len(game.events) if last is None else last
    seen = [event_map(redacted(event, eyes(seat))) for event in game.events[first - 1 : last]]
    legal = legal_for(game, seat) if last == len(game.events) else None
    return encoded_and_decoded(
        Events(first, seen, game.view.turn, None if legal is None else legal_message(legal))
    )


def snapshot_frame(game: Game, seat: Seat | None) -> Snapshot:
    """Return the game's snapshot, decoded as from the wire; with its events, if a move was taken back."""
    view, legal = snapshot(game.view, eyes(seat)), legal_for(game, seat)
    missed = (
        [redacted(event, eyes(seat)) for event in game.events] if lasting(game.events) != game.events else []
    )
    return encoded_and_decoded(snapshot_message(view, len(game.events), legal, missed=missed))


M = TypeVar("M", Events, Snapshot)


def encoded_and_decoded(message: M) -> M:
    decoded = decode_server(encode(message))
    assert isinstance(decoded, type(message))
    return decoded


def at_table(seat: Seat | None) -> TableModel:
    """Return the model of a client that has just joined the table."""
    model = TableModel()
    model.take(Watching(1, "ABCD") if seat is None else Seated(1, "ABCD", seat, TOKEN))
    return model


def every_viewer(game: Game) -> list[Seat | None]:
    return [None, *(Seat(seat) for seat in range(game.view.seats))]


def assert_knows(model: TableModel, game: Game) -> None:
    assert model.view == snapshot(game.view, eyes(model.seat))
    assert model.seq == len(game.events)
    assert model.legal == legal_for(game, model.seat)


@given(games())
def test_the_past_of_a_running_game_can_be_looked_at(game: Game) -> None:
    """After it was asked for, as far as it makes sense, and whatever the client knew before."""
    if len(game.events) < PAST_FROM:
        return
    for seat in every_viewer(game):
        model = at_table(seat)
        model.take(snapshot_frame(game, seat))
        frame = events_frame(game, seat, PAST_FROM)
        model.take(frame)
        assert_knows(model, game)
        recording = Recording.of(model.past, {}, eyes(seat))
        assert recording.view(recording.end, eyes(seat)) == model.view
        past = model.past
        with pytest.raises(BadMessage):
            model.take(replace(frame, events=[*frame.events, {"t": "unknown"}]))
        assert model.past == past


@given(games())
def test_a_snapshot_leads_to_the_same_view_as_the_events(game: Game) -> None:
    for seat in every_viewer(game):
        model = at_table(seat)
        frame = snapshot_frame(game, seat)
        (news,) = model.take(frame)
        if frame.missed:
            assert isinstance(news, Happened)
            assert len(news.events) == len(game.events)
        else:
            assert isinstance(news, Refreshed)
            over = game.view.phase is Phase.OVER  # then all kinds are known
            seen = [event if over else redacted(event, eyes(seat)) for event in game.events]
            placed = [(n, event) for n, event in enumerate(seen, 1) if isinstance(event, Placed | WolfPlaced)]
            assert list(enumerate(news.before, news.first)) == placed
        assert_knows(model, game)


@given(games(), st.data())
def test_a_move_taken_back_is_news_to_a_client_that_knows_the_game(game: Game, data: st.DataObject) -> None:
    """It takes what it lacks from the snapshot that older clients need; and nothing is taken back twice."""
    if game.over or not game.view.placed:
        return
    seat = Seat(0)
    known = data.draw(st.integers(1, len(game.events)))
    model = at_table(seat)
    model.take(events_frame(game, seat, 1, known))
    taken_back = game.taken_back(data.draw(st.sampled_from(sorted(set(game.view.owners.values())))))
    game.fold(taken_back)
    missed = [redacted(event, eyes(seat)) for event in game.events[known:]]
    view = snapshot(game.view, eyes(seat))
    frame = snapshot_message(view, len(game.events), legal_for(game, seat), missed=missed)
    (news,) = model.take(encoded_and_decoded(frame))
    assert isinstance(news, Happened)
    assert news.events == tuple(missed)
    assert_knows(model, game)
    with pytest.raises(BadMessage):
        model.take(Events(len(game.events) + 1, [event_map(taken_back)]))


@given(games(), st.data())
def test_events_in_frames_of_any_size_lead_to_the_view(game: Game, data: st.DataObject) -> None:
    """What was known before adds nothing; a gap changes nothing, and says after which event it begins."""
    for seat in every_viewer(game):
        model = at_table(seat)
        while (known := model.seq) < len(game.events):
            if known + 2 <= len(game.events) and data.draw(st.booleans()):
                with pytest.raises(Gap) as gap:
                    model.take(events_frame(game, seat, known + 2))
                assert gap.value.after == known == model.seq
            first = data.draw(st.integers(1, known + 1))
            last = data.draw(st.integers(known + 1, len(game.events)))
            updates = model.take(events_frame(game, seat, first, last))
            news = [(each.seq, len(each.events)) for each in updates if isinstance(each, Happened)]
            assert news == [(last, last - known)]
        assert not any(isinstance(each, Happened) for each in model.take(events_frame(game, seat, first)))
        assert_knows(model, game)


def test_legal_moves_are_those_of_the_last_frame() -> None:
    """An empty one may bring them, as after a return without a gap; an old one does not bring them back."""
    game = played(GameOptions(2, Seat(0)), 1, 0)
    model = at_table(Seat(0))
    old = events_frame(game, Seat(0), 1)
    model.take(old)
    assert model.legal is not None
    model.legal = None
    assert model.take(events_frame(game, Seat(0), len(game.events) + 1)) == (Refreshed(),)
    assert_knows(model, game)
    assert model.take(events_frame(game, Seat(0), len(game.events) + 1)) == ()
    game.apply(next(iter(game.legal_commands())))
    model.take(events_frame(game, Seat(0), model.seq + 1))
    assert model.legal is None
    assert model.take(old) == ()
    assert model.legal is None


def test_resuming_keeps_token_and_view() -> None:
    """They survive a Seated without a token; another seat starts from nothing. No log gives the seat away."""
    game = played(GameOptions(2), 1, 10)
    model = at_table(Seat(0))
    assert TOKEN not in repr(model)
    model.take(snapshot_frame(game, Seat(0)))
    model.take(Seated(2, "ABCD", 0))
    assert (model.token, model.seq) == (TOKEN, len(game.events))
    model.take(Seated(3, "ABCD", 1, "another"))
    assert (model.token, model.seq, model.view) == ("another", 0, None)


def test_messages_of_another_table_are_ignored() -> None:
    game = played(GameOptions(2), 1, 10)
    model = at_table(Seat(1))
    model.take(snapshot_frame(game, Seat(1)))
    model.take(STATE)
    model.clear()
    for message in (STATE, events_frame(game, None, 1), snapshot_frame(game, None), Said("hello"), Done(4)):
        assert model.take(message) == ()
    assert model == TableModel()
    model = at_table(Seat(0))
    model.take(TableState("WXYZ", "gathering", [SeatSummary(), SeatSummary()], host=0))
    assert model.state is None


def test_changes_of_the_table_and_chat_are_updates() -> None:
    model = at_table(Seat(0))
    assert model.take(STATE) == (TableChanged(STATE, None),)
    loud = TableState("ABCD", "gathering", [SeatSummary("\x1b[2J"), SeatSummary()], host=0)
    (changed,) = model.take(loud)
    assert isinstance(changed, TableChanged)
    assert (changed.before, changed.state.seats[0].name) == (STATE, "\\x1b[2J")
    assert model.take(Said("\x07hi", 1)) == (HeardRemark(Seat(1), "\\x07hi"),)
    assert model.take(Said("hi")) == (HeardRemark(None, "hi"),)
    watched = replace(STATE, watching=[SpectatorSummary(3, "Zoe\x1b"), SpectatorSummary(4)])
    model.take(watched)
    assert model.take(Said("hi", spectator=3)) == (HeardRemark(None, "hi", "Zoe\\x1b", 3),)
    assert model.take(Said("hi", spectator=4)) == (HeardRemark(None, "hi", None, 4),)


def test_what_was_said_before_is_told_with_the_names_of_then() -> None:
    """Whoever has their seats by now, and whether or not this player was here."""
    model = at_table(Seat(0))
    model.take(STATE)
    said = [
        TableRemark(4, "\x07hi", 1, name="Zoe\x1b"),
        TableRemark(5, "well", spectator=3, name="Ida", missed=True),
    ]
    assert model.take(SaidBefore(said)) == (
        HeardRemark(Seat(1), "\\x07hi", remark=4, player="Zoe\\x1b", again=True),
        HeardRemark(None, "well", "Ida", 3, remark=5, again=True, missed=True),
    )


def test_a_table_that_was_closed_is_left() -> None:
    """A refusal that answers a request closes nothing, whatever its code."""
    model = at_table(Seat(0))
    assert model.take(Refused("table-closed", "Table WXYZ is closed.", 7)) == ()
    assert model.table == "ABCD"
    closed = Refused("table-closed", "Table ABCD is closed.")
    assert model.take(closed) == (TableClosed(closed),)
    assert model == TableModel()
    assert model.take(closed) == ()


def test_a_plan_is_known_until_a_move_of_ones_own() -> None:
    """It comes after a snapshot, and belongs to a seat."""
    game = played(GameOptions(2, Seat(0), random_layout=True), 1, 4)
    seat = next(Seat(seat) for seat in (0, 1) if seat != game.view.turn)
    model = TableModel("ABCD", seat)
    model.take(snapshot_message(snapshot(game.view, eyes(seat)), len(game.events), None))
    model.take(Planned("Em", "A1"))
    assert model.plans == (PlannedMove("Em", "A1"),)
    while game.view.turn != seat:
        for event in game.apply(game.legal_commands()[0]):
            model.take(Events(len(game.events), [event_map(redacted(event, eyes(seat)))]))
    assert model.plans
    for event in game.apply(game.legal_commands()[0]):
        model.take(Events(len(game.events), [event_map(redacted(event, eyes(seat)))]))
    assert not model.plans
    watching = TableModel("ABCD", None)
    watching.take(Planned("Em", "A1"))
    assert not watching.plans


def test_what_was_played_from_plans_is_news_once() -> None:
    """Every return to the table tells it again, and nobody could act on a seat that is not there."""
    model = at_table(Seat(0))
    model.take(STATE)
    played = PlanPlayed(
        (PlannedMove("Em", "A1", Condition("B1", 1)), PlannedMove("Em", "A2")), ("condition",)
    )
    assert model.take(Planned(played=played)) == (PlanNews(played),)
    assert model.take(Planned(played=played)) == ()
    model.take(Planned("Em", "C1"))
    assert model.take(Planned(played=played)) == (PlanNews(played),)
    for wrong in (
        Planned(plans=(PlannedMove("Em", "A1", Condition("B1", 4)),)),
        Planned(played=PlanPlayed(())),
    ):
        with pytest.raises(BadMessage):
            model.take(wrong)


def test_clocks_and_stand_ins_are_kept() -> None:
    """The clock is that of the newest message, and every field of a seat is kept."""
    game = played(GameOptions(2, Seat(0), random_layout=True), 1, 1)
    model = at_table(Seat(0))
    seats = [SeatSummary("ann", here=True), SeatSummary("bob", bot=True, votes=[0], votes_needed=1, clock=0)]
    model.take(TableState("ABCD", "playing", seats, host=0))
    assert model.state is not None
    assert model.state.seats == seats
    model.take(replace(events_frame(game, Seat(0), 1, len(game.events) - 1), clock=9000))
    assert model.clock == 9000
    last = replace(events_frame(game, Seat(0), len(game.events)), by="clock", clock=8000)
    (happened,) = model.take(last)
    assert isinstance(happened, Happened)
    assert (happened.by, model.clock) == ("clock", 8000)
    assert model.take(replace(last, events=[], seq=last.seq + 1, clock=7000)) == (Refreshed(),)
    assert model.clock == 7000
    model.take(replace(snapshot_frame(game, Seat(0)), clock=6000))
    assert model.clock == 6000
    model.clear()
    assert model == TableModel()


def test_impossible_events_are_bad_messages() -> None:
    game = played(GameOptions(2, Seat(0)), 1)
    assert game.view.phase is Phase.OVER
    placed = next(
        event_map(redacted(event, SPECTATOR)) for event in game.events if "field" in event_map(event)
    )
    laid = {"t": "laid", "seat": 0, "tile": "A", "position": 7, "orientation": 0}
    for content in (placed, laid, {"t": "placed", "seat": 0}, {"t": "?"}):
        with pytest.raises(BadMessage):
            at_table(Seat(0)).take(Events(1, [content]))


@pytest.mark.parametrize(
    "changed",
    [
        replace(STATE, seats=[]),
        replace(STATE, seats=[SeatSummary()] * 6),
        replace(STATE, host=4),
        replace(STATE, seats=[SeatSummary("ann", votes=[4]), SeatSummary()]),
        replace(STATE, seats=[SeatSummary("ann")] * 3),
    ],
    ids=["no seats", "too many seats", "no such host", "no such voter", "other seats than the game"],
)
def test_a_table_that_contradicts_itself_is_refused(changed: TableState) -> None:
    """A hostile server's table cannot be drawn, so it is not taken in."""
    model = at_table(Seat(0))
    model.take(snapshot_frame(played(GameOptions(2, random_layout=True), 1, 5), Seat(0)))
    with pytest.raises(BadMessage):
        model.take(decode_server(encode(changed)))
    assert model.state is None


@pytest.mark.parametrize(
    "legal", [Lays([7], [0]), Lays([1], [6]), Lays([], [0]), Lays([1], []), Places([], 1)], ids=str
)
def test_legal_moves_that_no_game_has_are_refused(legal: Lays | Places) -> None:
    with pytest.raises(BadMessage):
        decode_server(encode(Events(1, [], 0, legal)))


def test_nobody_speaks_from_a_seat_that_the_table_does_not_have() -> None:
    """By the game, or else by the table's state."""
    model, game = at_table(Seat(0)), at_table(Seat(0))
    model.take(STATE)
    game.take(snapshot_frame(played(GameOptions(3, random_layout=True), 1, 5), Seat(0)))
    for table, seats in ((model, 2), (game, 3), (at_table(Seat(0)), 5)):
        assert table.take(Said("hi", seats - 1))
        if seats < 5:
            with pytest.raises(BadMessage):
                table.take(Said("hi", seats))
            with pytest.raises(BadMessage):
                table.take(SaidBefore([TableRemark(1, "hi", seats, name="Zoe")]))


# What no event of the scoring can say in a game of three.
_WRONG: dict[str, Sequence[dict[str, object]]] = {
    "fled": [{"seat": 3}],
    "captured": [{"seat": 3}],
    "scored": [
        {"leaders": [3]},
        {"influence": [1, 2]},
        {"pieces": [["A4", 3, "m", []]]},
    ],
}


def test_a_game_that_contradicts_itself_is_refused() -> None:
    sound = snapshot_frame(played(GameOptions(3, random_layout=True), 1, 9), Seat(0))
    ended = snapshot_frame(played(GameOptions(3, random_layout=True), 1), Seat(0))
    owner, piece, field = next(each for each in sound.placed if each[0] != 0)
    free = [each for each in FIELDS if each not in {placed[2] for placed in sound.placed}]
    hands = [{**hand, "Em": 99} for hand in sound.started["hands"]]
    for changed in (
        replace(sound, started={**sound.started, "hands": hands}),
        replace(sound, started={**sound.started, "starting": 3}),
        replace(sound, placed=[((owner + 1) % 3, piece, field), *sound.placed[1:]]),
        replace(sound, placed=[(0, "E*", name) for name in FIELDS]),
        replace(sound, placed=[*sound.placed, *((owner, piece, name) for name in free[:9])]),
        replace(sound, turn=4),
        replace(sound, laid_by=[None, 3]),
        replace(sound, tiles=[None, *sound.tiles[1:]]),
        replace(sound, tiles=[sound.tiles[1], *sound.tiles[1:]]),
        replace(sound, laurels={}),
        replace(sound, hand={"Em": 1}),
        replace(sound, phase="over"),
        replace(ended, placed=ended.placed[:1]),
        replace(ended, scoring=[*ended.scoring[:-1], {**ended.scoring[-1], "tallies": []}]),
        replace(ended, scoring=[*ended.scoring[:-1], {**ended.scoring[-1], "winners": []}]),
        replace(ended, scoring=[*ended.scoring[:-1], {**ended.scoring[-1], "winners": [3]}]),
        *(
            replace(ended, scoring=[*ended.scoring[:at], {**event, **wrong}, *ended.scoring[at + 1 :]])
            for at, event in enumerate(ended.scoring)
            for wrong in _WRONG.get(event["t"], ())
        ),
    ):
        model = at_table(Seat(0))
        with pytest.raises(BadMessage):
            model.take(encoded_and_decoded(changed))
        assert model.view is None

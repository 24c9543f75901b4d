"""What a player is called for."""

from msgspec.structs import replace

from client.tables.table import TableModel
from client.ui.screens.news import occasions
from client.ui.screens.screen import window_title
from engine.game import GameOptions
from engine.pieces import Seat
from protocol.messages import SeatSummary, TableState
from tests.client.ui.seen import model_of, played_until_turn_of
from tests.games import played


def called_for(model: TableModel) -> list[str]:
    return [each.sentence for each in occasions(model)]


def with_seat(model: TableModel, seat: int, summary: SeatSummary) -> TableModel:
    assert model.state is not None
    seats = list(model.state.seats)
    seats[seat] = summary
    model.state = replace(model.state, seats=seats)
    return model


def test_every_own_turn_is_an_occasion_of_its_own() -> None:
    game = played_until_turn_of(played(GameOptions(3), 1, 1), 1)
    seen = set()
    turns = 0
    while not game.over:
        model = model_of(game, 1)
        if game.view.turn == 1:
            turns += 1
            seen.add(occasions(model)[0])
            assert called_for(model)[0].startswith("Your turn: ")
            assert window_title(model).startswith("Your turn: ")
        else:
            assert called_for(model) == ["The game has begun."]
            assert window_title(model) == "Palatinus KXQT"
        game.apply(game.legal_commands()[0])
    assert len(seen) == turns > 10
    assert called_for(model_of(game, 1)) == ["All pieces are placed: the scoring begins."]
    assert called_for(model_of(game, None)) == []


def test_the_host_is_called_when_everybody_is_there() -> None:
    def model(seat: int | None, *seats: SeatSummary) -> TableModel:
        return TableModel(
            "KXQT",
            None if seat is None else Seat(seat),
            state=TableState("KXQT", "gathering", list(seats), 0),
        )

    ann, bob = SeatSummary("Ann", here=True), SeatSummary("Bob", here=True)
    assert called_for(model(0, ann, bob)) == ["Everybody is here: you can start the game."]
    assert called_for(model(1, ann, bob)) == []
    assert called_for(model(0, ann, SeatSummary())) == []
    assert called_for(model(0, ann, SeatSummary("Bob", kept=True))) == []
    assert called_for(TableModel()) == []


def test_votes_and_another_game() -> None:
    game = played_until_turn_of(played(GameOptions(3, random_layout=True), 1, 6), 1)
    asked = "Cosima is away: vote whether a bot plays."
    away = SeatSummary("Cosima", here=False, votes_needed=2)
    assert asked in called_for(with_seat(model_of(game, 0), 2, away))
    assert asked not in called_for(with_seat(model_of(game, 0), 2, replace(away, votes=[0])))
    over = model_of(played(GameOptions(3, random_layout=True), 1), 0)
    over = with_seat(over, 1, SeatSummary("Bob", here=True, again=True))
    assert called_for(over)[0] == "Bob plays again. Press m to play too."
    over = with_seat(over, 0, SeatSummary("Ann", here=True, again=True))
    assert called_for(over)[0] == "All pieces are placed: the scoring begins."

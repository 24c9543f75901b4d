"""Every page with something on it, for the tests of what is drawn."""

from collections.abc import Callable
from dataclasses import replace

from msgspec import structs

from client import levels
from client.records import Better, Captives, Contest, Habits, Ladder, PastGame, Rival, Suggestion
from client.tables.table import HeardRemark, TableModel
from client.ui.screens.actions import BOT
from client.ui.screens.history import HistoryPage
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.menu import Menu
from client.ui.screens.news import after_update, with_suggestion
from client.ui.screens.planning import PLANS
from client.ui.screens.rivals import Rivals
from client.ui.screens.scoring import last_step
from client.ui.state import FinishedGames, Offers, Ui, Ways
from engine.board import Field, Tile
from engine.events import Place
from engine.game import Game, GameOptions
from engine.pieces import Piece, Seat
from engine.redaction import redacted
from engine.view import SPECTATOR
from protocol import messages
from protocol.messages import Condition, PlannedMove
from protocol.settings import Spectators, Switches
from tests.client.ui import seen
from tests.engine.test_draws import cheated
from tests.games import played

LEVELS = tuple(level.name for level in levels.LEVELS)
SIZES = {"80x24": (80, 24), "120x40": (120, 40)}
TABLES = (
    messages.TableSummary("KXQT", "Bob", 3, 1, "gathering"),
    messages.TableSummary("ABCD", "Eleonora di Toledo", 5, 5, "playing", True),
)


def placing(players: int = 4) -> tuple[Ui, TableModel]:
    """Return a game after some turns, with Ann to place."""
    game = seen.played_until_turn_of(played(GameOptions(players, random_layout=True), 3, 12), 0)
    model = seen.model_of(game, 0, away=players - 1)
    return seen.after(seen.ui_of(game, model), model, "tab", "l", "j"), model


def then(page: Callable[[], tuple[Ui, TableModel]], *keys: str) -> tuple[Ui, TableModel]:
    """Return a page after these keys."""
    ui, model = page()
    return seen.after(ui, model, *keys), model


def counting(players: int) -> tuple[Ui, TableModel]:
    """Return the page about hidden hands and influence."""
    return then(lambda: placing(players), "c")


def foreseeing() -> tuple[Ui, TableModel]:
    """Return a game with a farmer chosen, and a soldier beside the field pointed at."""
    ui, model = placing(3)
    return seen.after(seen.with_cursor(ui, seen.view_of(model).layout.hexes[Field("F2")]), model, "4"), model


def hinted() -> tuple[Ui, TableModel]:
    """Return a game with a move suggested."""
    ui, model = placing()
    seen.change(model, switches=Switches(hints=True))
    command = Place(Seat(0), Piece("Ef*"), Field("E2"))
    return with_suggestion(ui, Suggestion(command), model), model


def advised() -> tuple[Ui, TableModel]:
    """Return a game with a move suggested, and what it is for."""
    ui, model = placing()
    seen.change(model, switches=Switches(hints=True))
    command, other = Place(Seat(0), Piece("Ef*"), Field("E2")), Place(Seat(0), Piece("Em*"), Field("A5"))
    reasons = Contest(Tile("E"), 6, Seat(0), Seat(1), 0.9, 0.56), Captives(Seat(0), Seat(2), 1.4, 0.9)
    suggestion = Suggestion(command, other=other, better=Better(command, 0.53, 0.4, reasons))
    return with_suggestion(replace(ui, log=ui.log[-3:]), suggestion, model), model


def planned() -> tuple[Ui, TableModel]:
    """Return the plans of a player for whom it is not the turn."""
    game = seen.played_until_turn_of(played(GameOptions(3, random_layout=True), 3, 12), 0)
    ui, model = seen.client_of(game, 1)
    conditions = Condition(Field("D6"), Seat(2)), Condition(Field("C1"), unless=True), None
    pieces = ("Sm*", "C4"), ("Ss", "B1"), ("Sf", "D1")
    model.plans = tuple(
        PlannedMove(piece, Field(field), condition)
        for (piece, field), condition in zip(pieces, conditions, strict=True)
    )
    return ui.opened(Menu(PLANS)), model


def laying() -> tuple[Ui, TableModel]:
    game = seen.played_until_turn_of(played(GameOptions(3), 5, 3), 1)
    model = seen.model_of(game, 1)
    return seen.after(seen.ui_of(game, model), model, "r", "r", "right"), model


def over(step: int) -> tuple[Ui, TableModel]:
    """Return a finished game at a step of its scoring, counted from the end if negative."""
    game = played(GameOptions(3, random_layout=True), 11)
    model = seen.model_of(game, 0)
    counted = step if step >= 0 else last_step(seen.view_of(model)) + 1 + step
    return seen.at_scoring_step(seen.ui_of(game, model), model, counted), model


def led() -> tuple[Ui, TableModel]:
    """Return a step of the scoring through which somebody else leads."""
    ui, model = over(6)
    shown = messages.Shown(len(seen.view_of(model).placed) + 1 + 6, seat=1, seen=[2])
    seen.change(model, random_layout=True, shown=shown)
    return replace(ui, finished_games=FinishedGames()), model


def checked(game: Game) -> tuple[Ui, TableModel]:
    """Return the result of a game that this client has followed, and whose draws it has checked."""
    model = seen.model_of(game, None)
    for event in game.events:
        model.draws.fold(redacted(event, SPECTATOR))
    return seen.at_scoring_step(seen.ui_of(game, model), model, last_step(seen.view_of(model))), model


def evening() -> tuple[Ui, TableModel]:
    """Return the result of the third game of three players."""
    ui, model = over(-1)
    assert model.state is not None
    standings = (messages.Standing(3, 1, 55), messages.Standing(3, 2, 61), messages.Standing(2, 0, 30))
    seats = zip(model.state.seats, standings, strict=True)
    seen.change(model, seats=[structs.replace(seat, standing=standing) for seat, standing in seats])
    return replace(ui, finished_games=FinishedGames(saved=True)), model


def history() -> tuple[Ui, TableModel]:
    """Return the list of thirty games, one of which cannot be read."""
    games = []
    for number in range(30):
        seats, ended = 2 + number % 3, 1.79e9 - 3600.0 * number
        results = seen.NAMES[:seats], (14, 12, 9, 7)[:seats], (number % 2,)
        games.append(PastGame(f"{number}.txt", "KXQT", ended, *results))
    games[2] = PastGame("2.txt", "KXQT", 1.79e9 - 7200.0)
    page = HistoryPage(tuple(games), chosen=1, analyses=True, saves=True)
    return Ui("", screens=(page,)), TableModel()


def rivals() -> tuple[Ui, TableModel]:
    """Return the rivals of somebody who has beaten two of them."""
    bots = (
        Rival("slave"),
        Rival("plebeian", 5, 3, ("Livia", "Marco")),
        Rival("citizen", 4, 2, ("Zoe",)),
        Rival("senator", 2, 0, ("Marco", "Livia")),
        Rival("consul"),
    )
    ladder = Ladder(bots, (Rival("Bob", 4, 1), Rival("Zoe", 1, 0)))
    page = Rivals(ladder, 3, Habits(14, 15, 9, 12, 2, 88, 38))
    return Ui("", screens=(page,)), TableModel()


def waiting() -> tuple[Ui, TableModel]:
    ann = messages.SeatSummary("Ann", True, ready=True, people="E")
    bob = messages.SeatSummary("Bob", False, people="A", chosen=True)
    state = messages.TableState("KXQT", "gathering", [ann, bob, messages.SeatSummary(people="L")], 0)
    ui = Ui("Ann", seen.ADDRESS, offers=Offers(levels=LEVELS), log=("Bob takes a seat.", "Bob is away."))
    return ui, TableModel("KXQT", Seat(0), state=state)


def waiting_for_more() -> tuple[Ui, TableModel]:
    """Return a table whose seats follow the people."""
    ui, model = waiting()
    assert model.state is not None
    seen.change(model, seats=model.state.seats[:2], grows=True)
    return replace(ui, ways=Ways(addresses=("ws://10.79.0.1:7733",))), model


def hearing_the_lobby() -> tuple[Ui, TableModel]:
    """Return the same table when somebody has come to the lobby."""
    ui, model = waiting_for_more()
    ui = replace(ui, offers=Offers(levels=LEVELS, lobby=True, invitations=True), log=())
    gina = messages.PersonOnline("gina", by="browser")
    for people in [gina], [gina, messages.PersonOnline("emma", by="ssh")]:
        ui = after_update(ui, messages.Online(people), model)
    return ui, model


def waiting_for_nobody() -> tuple[Ui, TableModel]:
    """Return the same table with a bot of the server in its last seat."""
    ui, model = waiting()
    assert model.state is not None
    model.state.seats[2] = messages.SeatSummary("Livia (senator)", here=True, level="senator", people="L")
    return ui, model


def stopping() -> tuple[Ui, TableModel]:
    """Return a running game on a server that is about to stop."""
    ui, model = placing()
    return after_update(replace(ui, now=1.0), messages.Stopping(300), model), model


def watched() -> tuple[Ui, TableModel]:
    """Return a running game with three spectators, one without a name."""
    ui, model = placing()
    names = "Zoe", None, "Gina Lollobrigida"
    watching = [messages.SpectatorSummary(number, name) for number, name in enumerate(names, start=1)]
    seen.change(model, spectators=3, watching=watching)
    return ui, model


def announced() -> tuple[Ui, TableModel]:
    """Return two announcements over a running game."""
    ui, model = stopping()
    for text in ("Cosima.", "Eleonora di Toledo, Bob. " * 15):
        ui = after_update(ui, messages.Announced(text.strip()), model)
    return ui, model


def talking() -> tuple[Ui, TableModel]:
    """Return a running game at which a player and two spectators have said something."""
    ui, model = placing()
    long = "Shall we have a remark that does not quite fit into the one line that it is given here?"
    said = (
        HeardRemark(Seat(1), long),
        HeardRemark(None, "Lovely.", "Zoe", 1),
        HeardRemark(None, "Indeed.", None, 7),
    )
    for each in said:
        ui = after_update(ui, each, model)
    return ui, model


def ended() -> tuple[Ui, TableModel]:
    """Return a game that its host has ended."""
    ui, model = placing(3)
    seen.change(model, stage="over", ended=True)
    model.legal = None
    return ui, model


def menu() -> tuple[Ui, TableModel]:
    """Return the menu of a table, open for its host before the game."""
    ui, model = waiting()
    watching = [messages.SpectatorSummary(1, "Zoe")]
    seen.change(
        model, title="Friday", switches=Switches(private=True), starting=1, spectators=1, watching=watching
    )
    closed = messages.ChangeSetting(messages.NEW, Spectators(on=False))
    return seen.on_line(closed, ui, model), model


PAGES: dict[str, Callable[[], tuple[Ui, TableModel]]] = {
    "lobby": lambda: (Ui("Ann", seen.ADDRESS, screens=(LobbyPage(TABLES, chosen=1),)), TableModel()),
    "lobby-empty": lambda: (Ui("Ann", seen.ADDRESS, screens=(LobbyPage(listed=True),)), TableModel()),
    "gathering": waiting,
    "gathering-no-bots": lambda: (replace(waiting()[0], offers=Offers()), waiting()[1]),
    "gathering-bot": waiting_for_nobody,
    "gathering-growing": waiting_for_more,
    "gathering-lobby": hearing_the_lobby,
    "menu": menu,
    "menu-bots": lambda: (waiting()[0].opened(Menu(BOT, 1)), waiting()[1]),
    "menu-peoples": lambda: then(waiting, "d", "down"),
    "quitting": lambda: then(placing, "q"),
    "ended": ended,
    "laying": laying,
    "placing": placing,
    "foreseeing": foreseeing,
    "hinted": hinted,
    "advised": advised,
    "compared": lambda: then(advised, "s"),
    "plans": planned,
    "placing-watched": watched,
    "placing-two": lambda: placing(2),
    "counts": lambda: counting(4),
    "counts-two": lambda: counting(2),
    "scoring-wolves": lambda: over(1),
    "scoring-soldier": lambda: over(3),
    "scoring-piece": lambda: over(11),
    "scoring-led": led,
    "result": lambda: over(-1),
    "result-evening": evening,
    "result-right": lambda: checked(played(GameOptions(3, random_layout=True), 11, shared=True)),
    "result-wrong": lambda: checked(cheated("tiles", random_layout=True)),
    "history": history,
    "rivals": rivals,
    "stopping-lobby": lambda: (replace(PAGES["lobby"]()[0], now=1.0, stops_at=300.5), TableModel()),
    "stopping": stopping,
    "announcement": announced,
    "talking": talking,
    "talk": lambda: then(talking, "T"),
}

"""Tables as a client sees them, built from games of the engine, and screens as text, kept in files."""

import importlib
import os
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from msgspec import structs

import client.ui
from client.player.preferences import Preferences
from client.tables.table import Happened, TableChanged, TableModel
from client.ui.frame import Frame, plain
from client.ui.keys import Act, Action, Key
from client.ui.screens.actions import ACTIONS, MENU
from client.ui.screens.dispatch import after_key
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.menu import At, Menu, Page
from client.ui.screens.news import after_update
from client.ui.screens.playing import Playing
from client.ui.screens.reading import Reading
from client.ui.screens.scoring import Result, Scoring, at_step, step_of
from client.ui.screens.screen import changes_with_time, drawn
from client.ui.screens.start import Start
from client.ui.state import Screen, Ui, with_game
from client.ui.texts.glyphs import UNICODE, GlyphSet
from engine.board import Hex
from engine.events import LayTile, Place
from engine.game import Game, GameOptions
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import Seat
from engine.redaction import redacted, snapshot
from engine.view import SPECTATOR, View, eyes_of
from protocol.messages import SeatSummary, TableState
from tests.games import played


def _tables_of_keys() -> dict[str, tuple[Key, ...]]:
    """Return by its name every table of keys in the user interface that is not a part of another."""
    tables = {}
    for module in pkgutil.walk_packages(client.ui.__path__, "client.ui."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, tuple) and value and all(isinstance(each, Key) for each in value):
                tables[value] = f"{module.name.rpartition('.')[2]} {name.strip('_').lower()}"
    return {
        name: table for table, name in tables.items() if not any(map(set(table).__lt__, map(set, tables)))
    }


KEYS = _tables_of_keys()
MENU_PAGES = (MENU, *(page for action in ACTIONS for page in action.pages))
KEY_NAMES = sorted({name for keys in KEYS.values() for key in keys for name in key.names})
NAMES = ("Ann", "Bob", "Cosima", "Dario", "Eleonora di Toledo")
ADDRESS = "ws://127.0.0.1:7733"
SCREENS = Path(__file__).parent / "screens"


def state_of(players: int, *, away: int | None = None) -> TableState:
    """Return a table with a player in every seat, one of them absent if `away` is given."""
    return TableState(
        "KXQT", "playing", [SeatSummary(name, seat != away) for seat, name in enumerate(NAMES[:players])], 0
    )


def model_of(game: Game, seat: int | None, *, away: int | None = None) -> TableModel:
    """Return what `seat`, or a spectator, knows of the table."""
    eyes = SPECTATOR if seat is None else eyes_of(Seat(seat))
    legal = game.legal()
    return TableModel(
        table="KXQT",
        seat=None if seat is None else Seat(seat),
        state=state_of(game.view.seats, away=away),
        view=snapshot(game.view, eyes),
        seq=len(game.events),
        legal=legal if legal is not None and legal.seat == seat else None,
    )


def ui_of(game: Game, model: TableModel) -> Ui:
    """Return the UI state of a client that has followed the whole game."""
    eyes = SPECTATOR if model.seat is None else eyes_of(model.seat)
    events = tuple(redacted(event, eyes) for event in game.events)
    ui = Ui(name=NAMES[model.seat or 0], address=ADDRESS)
    ui = after_update(ui, Happened(events, len(events)), model)
    return with_game(ui, Scoring()) if isinstance(ui.page, Scoring) else ui  # which has begun some time ago


def client_of(game: Game, seat: int | None, *, away: int | None = None) -> tuple[Ui, TableModel]:
    """Return the UI state and the model of a client at this seat that has followed the game."""
    model = model_of(game, seat, away=away)
    return ui_of(game, model), model


def played_until_turn_of(game: Game, seat: int) -> Game:
    """Return the game, played on with the first legal move until `seat` is to move."""
    while not game.over and game.view.turn != seat:
        match game.legal():
            case LegalLays(mover, positions, orientations):
                game.apply(LayTile(mover, positions[0], orientations[0]))
            case LegalPlaces(mover, pieces, fields):
                game.apply(Place(mover, pieces[0], fields[0]))
    return game


def at_home(ui: Ui) -> Ui:
    """Return the UI state of a player who has come from the start screen."""
    return ui.above(Ui(ui.name, screens=(Start(Preferences()),)))


def after(ui: Ui, model: TableModel, *keys: str) -> Ui:
    """Return the UI state after these keys, none of which leads to a request."""
    for key in keys:
        ui, request = after_key(ui, key, model)
        assert request is None, (key, request)
    return ui


def request_after(ui: Ui, model: TableModel, *keys: str) -> object:
    """Return the request that the last of these keys leads to; the keys before it lead to none."""
    _, request = after_key(after(ui, model, *keys[:-1]), keys[-1], model)
    return request


def on_line(effect: object, ui: Ui, model: TableModel, page: Page = MENU) -> Ui:
    """Return what follows when the player opens the menu and goes to the first line with this effect."""
    at = [choice.effect == effect for choice in page.lines(At(ui, model))].index(True)
    return after(ui.opened(Menu(page)), model, *["down"] * at)


def typed(text: str) -> tuple[str, ...]:
    """Return the keys that type a command."""
    return (":", *text, "enter")


def actions_of(frame: Frame) -> list[Action]:
    """Return what clicks on the screen do, from its upper left corner on."""
    return [action for content in frame.lines for *_, action in content if action is not None]


def text_of(frame: Frame) -> str:
    """Return the screen as text, with a bar at the end of each line to show trailing spaces."""
    return "".join(f"{plain(content)}|\n" for content in frame.lines)


def moves(ui: Ui, model: TableModel) -> bool:
    """Return whether time alone changes what is on the screen."""
    frame = drawn(ui, model, UNICODE, *(size := (80, 24)))
    return changes_with_time(frame, ui, model, UNICODE, size)


def screen_of(
    ui: Ui, model: TableModel, width: int = 80, height: int = 24, *, glyphs: GlyphSet = UNICODE
) -> str:
    return text_of(drawn(ui, model, glyphs, width, height))


def change(model: TableModel, **changes: object) -> TableState:
    """Change the table as the model knows it; return it as it was."""
    before = model.state
    assert before is not None
    model.state = structs.replace(before, **changes)
    return before


def assert_screen(name: str, text: str) -> None:
    """Compare with the screen stored as `name`; with SCREENS=new in the environment, store this one."""
    path = SCREENS / f"{name}.txt"
    if os.environ.get("SCREENS") == "new":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        f"the screen differs from {path.name}; SCREENS=new stores it"
    )


def after_change(ui: Ui, model: TableModel, **changes: object) -> Ui:
    """Return the UI state after the news that the table has changed like this."""
    before = change(model, **changes)
    assert model.state is not None
    return after_update(ui, TableChanged(model.state, before), model)


def notice_of(ui: Ui) -> str:
    """Return what the player is told."""
    assert ui.notice is not None
    return ui.notice.text


def is_refused(ui: Ui) -> bool:
    return ui.notice is not None and ui.notice.refusal


def line_of(ui: Ui) -> str:
    """Return the line that is being typed."""
    assert ui.entry is not None
    return ui.entry.text


def playing_of(ui: Ui) -> Playing:
    table = ui.page.game
    assert isinstance(table, Playing)
    return table


def lobby_of(ui: Ui) -> LobbyPage:
    assert isinstance(ui.page, LobbyPage)
    return ui.page


def with_cursor(ui: Ui, cell: Hex) -> Ui:
    """Return the UI state with the cursor on this hex."""
    return with_game(ui, replace(playing_of(ui), cursor=cell))


def view_of(model: TableModel) -> View:
    assert model.view is not None
    return model.view


def shown_step(ui: Ui, model: TableModel) -> int:
    """Return the number of the scoring step that is shown."""
    table = ui.page.game
    assert isinstance(table, Scoring | Result)
    return step_of(table, view_of(model))


def at_scoring_step(ui: Ui, model: TableModel, step: int) -> Ui:
    """Return the UI state at this step of the scoring."""
    return with_game(ui, at_step(view_of(model), step))


def reading_pages(
    ui: Ui, model: TableModel, *topics: Act, size: tuple[int, int] = (80, 24), glyphs: GlyphSet = UNICODE
) -> Iterator[Frame]:
    """Yield every page of these topics over what `ui` shows, in a window of this size."""
    for topic in topics:
        number = last = 0
        while number <= last:
            frame = drawn(ui.opened(Reading(topic, number)), model, glyphs, *size)
            number, last = number + 1, frame.last_top
            yield frame


def kinds_of(kind: type[Screen]) -> Iterator[type[Screen]]:
    """Yield all kinds of screens, or of overlays, that the user interface has."""
    for each in kind.__subclasses__():
        if each.__module__.startswith("client."):
            yield each
        yield from kinds_of(each)


LOBBY = TableModel()


def placing(players: int = 3, seat: int = 0) -> tuple[Ui, TableModel]:
    return client_of(played_until_turn_of(played(GameOptions(players, random_layout=True), 1, 6), seat), seat)


def laying() -> tuple[Ui, TableModel]:
    return client_of(played_until_turn_of(played(GameOptions(3), 1, 1), 1), 1)


def over() -> tuple[Ui, TableModel]:
    return client_of(played(GameOptions(3, random_layout=True), 1), 0)

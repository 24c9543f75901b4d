"""A record on the screen: moving through it, and by whose eyes it is seen."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from client.language import _
from client.records.analysis import Analysis
from client.records.recording import Recording
from client.tables.table import Happened, TableModel
from client.ui import requests
from client.ui.actions import Act, Action, Pick, PointAt
from client.ui.draw.chances import chances_block, chances_line
from client.ui.draw.page import AroundGame
from client.ui.frame import Block, Line, ends, line
from client.ui.requests import Request
from client.ui.screens import news
from client.ui.screens.playing import PlayingDrawing
from client.ui.screens.scoring import at_step, hill_of, next_hill_step, step_of, steps
from client.ui.state import Entry, Notice, Playing, Replay, Result, Scoring, Ui, table_page, with_table_page
from client.ui.texts.analysis import describe_deciding, describe_progress
from client.ui.texts.events import describe_turn
from client.ui.texts.people import names_at
from engine.board import HILLS, Hex
from engine.events import Placed, SeenEvent, TileLaid, WolfPlaced
from engine.pieces import Seat
from engine.view import SPECTATOR, Eyes, Phase, View, eyes_of
from protocol.messages import SeatSummary, TableState

TABLE: Final = "record"


def opened(recording: Recording, stop: int, eyes: Eyes, *, can_analyse: bool = False) -> Ui:
    """Return the UI state when a record is opened there; only a finished game is analysed."""
    page = Replay(recording, stop, eyes, Playing(), can_analyse=can_analyse and recording.over)
    return _at(Ui(name=""), page)


def request(replay: Replay, action: Action) -> Request | None:
    """Return what the program has to do after a key, if anything."""
    match action:
        case Act.ANALYSE if replay.wants_analysis:
            return requests.Analyse()
        case Act.LEAVE:
            return requests.StopAnalysis() if replay.judging else requests.Quit()
        case _:
            return None


def recording_in(ui: Ui) -> Recording | None:
    """Return the recording on the screen."""
    return ui.page.recording if isinstance(ui.page, Replay) else None


def analysed(ui: Ui, analysis: Analysis) -> Ui:
    """Return the UI state with so much of the analysis; more is to come."""
    if not isinstance(ui.page, Replay):
        return ui
    return replace(ui, page=replace(ui.page, analysis=analysis, judging=True))


def stopped(ui: Ui) -> Ui:
    """Return the UI state when no more of the analysis is to come; at its end, with what decided the game."""
    if not isinstance(ui.page, Replay) or (analysis := ui.page.analysis) is None:
        return ui
    there = replace(ui, page=replace(ui.page, judging=False))
    if not analysis.complete:
        text = _("Stopped: {progress}.").format(progress=describe_progress(analysis))
    else:
        text = describe_deciding(analysis) or _("No single move decided the game.")
    return replace(there, notice=Notice(text))


def seen_in(ui: Ui) -> TableModel:
    """Return the table as it was at the stop that `ui` shows."""
    return _model(ui.page) if isinstance(ui.page, Replay) else TableModel()


def _model(replay: Replay) -> TableModel:
    """Return the table at a stop: the hand shown is that of the seat looking, or of the seat on turn."""
    recording = replay.recording
    view = recording.view(replay.stop, replay.eyes)
    seat = view.turn if replay.eyes == recording.all_eyes else next(iter(replay.eyes), None)
    seats = [SeatSummary(name, here=True) for name in recording.names]
    return TableModel(TABLE, seat, state=TableState(TABLE, "playing", seats, 0), view=view)


def acted(ui: Ui, replay: Replay, action: Action, view: View) -> Ui:
    """Return the UI state after a key or a click; `view` is what is on the screen."""
    recording = replay.recording
    match replay.table, action:
        case Playing() as table, PointAt(cell):
            return with_table_page(ui, replace(table, cursor=cell))
        case Playing(), Act.NEXT:
            return gone(ui, replay, replay.stop + 1)
        case Playing() | Scoring(0), Act.BACK:
            return gone(ui, replay, replay.stop - 1)
        case Playing(), Act.PAGE_DOWN:
            # The last round leads to the last move first: the board is complete there, and not yet scored.
            last = recording.moves if replay.stop < recording.moves else recording.end
            return gone(ui, replay, min(replay.stop + view.seats, last))
        case Playing(), Act.PAGE_UP:
            return gone(ui, replay, replay.stop - view.seats)
        case Scoring(0), Act.PAGE_UP:
            return gone(ui, replay, replay.stop - 1)
        case (Scoring() | Result()) as table, _ if (step := _step_after(table, action, view)) is not None:
            return with_table_page(ui, at_step(view, step))
    match action:
        case Act.FIRST:
            return gone(ui, replay, 0)
        case Act.SKIP:
            return ended(ui, replay)
        case Act.ANALYSE if not replay.can_analyse and not recording.over:
            return replace(ui, notice=Notice(_("Only a finished game can be analysed.")))
        case Act.DECIDING if replay.analysis is not None and replay.analysis.deciding:
            numbers = sorted(move.number for move in replay.analysis.deciding)
            return gone(ui, replay, next((each for each in numbers if each > replay.stop), numbers[0]))
        case Act.GO:
            return replace(ui, entry=Entry().insert("go "))
        case Act.NEXT_EYES | Act.LAST_EYES:
            every = _every_eyes(recording)
            by = 1 if action is Act.NEXT_EYES else -1
            return seen_by(ui, replay, every[(every.index(replay.eyes) + by) % len(every)])
        case Act.ALL_EYES:
            return seen_by(ui, replay, recording.all_eyes)
        case Act.NO_EYES:
            return seen_by(ui, replay, SPECTATOR)
        case Pick(number) if number - 1 in recording.seats:
            return seen_by(ui, replay, eyes_of(Seat(number - 1)))
        case Pick(number):
            return replace(ui, notice=Notice(_("Nobody sits in seat {seat}.").format(seat=number)))
        case _:
            return ui


def gone(ui: Ui, replay: Replay, stop: int) -> Ui:
    """Return the UI state at another stop, or the nearest one."""
    return _at(ui, replace(replay, stop=min(max(stop, 0), replay.recording.end)))


def ended(ui: Ui, replay: Replay) -> Ui:
    """Return the UI state at the very end: the result, if the game came to one."""
    ui = gone(ui, replay, replay.recording.end)
    view = replay.recording.view(replay.recording.end, replay.eyes)
    return with_table_page(ui, Result()) if view.phase is Phase.OVER else ui


def seen_by(ui: Ui, replay: Replay, eyes: Eyes) -> Ui:
    """Return the UI state at the same stop, as other eyes see it."""
    there = _at(ui, replace(replay, eyes=eyes))
    match replay.table, table_page(there):
        case Playing(cursor=cursor), Playing() as table:
            return with_table_page(there, replace(table, cursor=cursor))
        case table, _:
            return with_table_page(there, table)


def _every_eyes(recording: Recording) -> list[Eyes]:
    return [recording.all_eyes, *(eyes_of(Seat(seat)) for seat in recording.seats), SPECTATOR]


def _at(ui: Ui, replay: Replay) -> Ui:
    """Return the UI state after following the game up to here."""
    seen = replay.recording.seen(replay.stop, replay.eyes)
    model = _model(replay)
    over = model.view is not None and model.view.phase is Phase.OVER
    there = replace(replay, table=Scoring() if over else Playing())
    after = news.heard(replace(ui, page=there, log=(), scroll=0), Happened(seen, len(seen)), model)
    if isinstance(table := table_page(after), Playing):
        return with_table_page(after, replace(table, cursor=_latest(replay, seen)))
    return after


def _latest(replay: Replay, seen: tuple[SeenEvent, ...]) -> Hex:
    """Return the hex that the last move was about, so that the panel explains it."""
    for event in reversed(seen):
        if isinstance(event, TileLaid):
            return HILLS[event.position]
        if isinstance(event, Placed | WolfPlaced):
            return replay.recording.view(replay.stop, replay.eyes).layout.hexes[event.field]
    return HILLS[0]


def _step_after(table: Scoring | Result, action: Action, view: View) -> int | None:
    """Return the step of the scoring that an action leads to, None if it leads to none."""
    step = step_of(table, view)
    match action:
        case Act.NEXT | PointAt():
            return step + 1
        case Act.BACK:
            return step - 1
        case Act.PAGE_DOWN:
            return next_hill_step(view, step)
        case Act.PAGE_UP:
            return _hill_before(view, step)
        case _:
            return None


def _hill_before(view: View, step: int) -> int:
    """Return the first step of this hill or, from there, of the one before."""
    hills = [hill_of(view.scoring[each.event]) for each in steps(view)]
    return hills.index(hills[step - 1])


class ReplayDrawing(AroundGame, frozen=True):
    """A record."""

    replay: Replay

    @property
    def place(self) -> str:
        return f"{self._move()}, {self.stage}"

    def title(self, width: int) -> Line:
        left = " " + f" {self.glyphs.dot} ".join((_("Replay"), self._move(), self.stage))
        eyes = f"  {describe_eyes(self.replay.recording, self.replay.eyes)} "
        return ends(line(left, "class:title"), line(eyes, "class:title"), width, "class:title")

    def small_body(self, width: int, height: int) -> Block:
        return self.table.small_body(width, height)

    def _move(self) -> str:
        return describe_stop(self.replay.recording, self.replay.stop)


class ReplayedDrawing(PlayingDrawing, frozen=True):
    """A running game in a record: nobody's own, whichever seat's view is shown."""

    replay: Replay

    def panel_block(self, width: int, height: int) -> Block:
        if (analysis := self.replay.analysis) is None:
            return super().panel_block(width, height)
        return chances_block(self.replay, analysis, self.view, self.glyphs, (width, height))

    def hand_line(self, width: int) -> Line:
        if (analysis := self.replay.analysis) is None:
            return super().hand_line(width)
        return chances_line(self.replay, analysis, self.view, width)

    @property
    def stage(self) -> str:
        return describe_turn_replayed(self.view, names_at(self.model))

    def hand_title(self) -> str:
        seat = self.model.seat
        return "" if seat is None else _("HAND OF {name}").format(name=names_at(self.model)[seat])


def describe_stop(recording: Recording, stop: int) -> str:
    return _("move {number} of {last}").format(number=min(stop, recording.moves), last=recording.moves)


def describe_turn_replayed(view: View, names: Sequence[str]) -> str:
    """Return whose turn it was: nobody's own, whichever seat's view is shown."""
    return _("all pieces placed") if view.turn is None else describe_turn(TableModel(TABLE, view=view), names)


def describe_eyes(recording: Recording, eyes: Eyes) -> str:
    """Return whose eyes see the board."""
    if eyes == recording.all_eyes:
        return _("everything shown")
    if not eyes:
        return _("seen by spectators")
    return _("seen by {name}").format(name=recording.names[next(iter(eyes))])

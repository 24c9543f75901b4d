"""A record on the screen: what a key makes of the place in it, and the table as it was there."""

from dataclasses import replace
from typing import Final

from client.language import _
from client.recording import Recording
from client.table import Happened, TableModel
from client.ui.update import news
from client.ui.update.actions import Act, Action, Pick, PointAt
from client.ui.update.entry import Entry
from client.ui.update.scoring_steps import hill_of, last_step, next_hill_step, steps
from client.ui.update.state import Notice, Replay, Ui
from engine.board import HILLS, Hex
from engine.events import Placed, SeenEvent, TileLaid, WolfPlaced
from engine.pieces import Seat
from engine.view import SPECTATOR, Eyes, Phase, View, eyes_of
from protocol.messages import SeatLine, TableState

TABLE: Final = "record"


def opened(recording: Recording, stop: int, eyes: Eyes) -> Ui:
    """Return the UI state when a record is opened there."""
    return _at(Ui(name=""), Replay(recording, stop, eyes))


def seen_in(ui: Ui) -> TableModel:
    """Return the table as it was where `ui` is in its record."""
    return TableModel() if ui.replay is None else _model(ui.replay)


def _model(replay: Replay) -> TableModel:
    """Return the table as it was there: the hand shown is that of the eyes, or of whoever is on turn."""
    recording = replay.recording
    view = recording.view(replay.stop, replay.eyes)
    seat = view.turn if replay.eyes == recording.all_eyes else next(iter(replay.eyes), None)
    seats = [SeatLine(name, here=True) for name in recording.names]
    return TableModel(TABLE, seat, state=TableState(TABLE, "playing", seats, 0), view=view)


def acted(ui: Ui, replay: Replay, action: Action, view: View) -> Ui:
    """Return the UI state after a key or a click; `view` is what is on the screen."""
    recording, scoring = replay.recording, view.phase is Phase.OVER
    match action:
        case PointAt(cell) if not scoring:
            return replace(ui, cursor=cell)
        case Act.NEXT | PointAt():
            if scoring:
                return replace(ui, step=min(ui.step + 1, last_step(view)))
            return gone(ui, replay, replay.stop + 1)
        case Act.BACK:
            return replace(ui, step=ui.step - 1) if ui.step else gone(ui, replay, replay.stop - 1)
        case Act.PAGE_DOWN:
            if scoring:
                return replace(ui, step=next_hill_step(view, ui.step))
            # The last round leads to the last move first: the board is complete there, and not yet scored.
            last = recording.moves if replay.stop < recording.moves else recording.end
            return gone(ui, replay, min(replay.stop + view.seats, last))
        case Act.PAGE_UP:
            if ui.step:
                return replace(ui, step=_hill_before(view, ui.step))
            return gone(ui, replay, replay.stop - (1 if scoring else view.seats))
        case Act.FIRST:
            return gone(ui, replay, 0)
        case Act.SKIP:
            return ended(ui, replay)
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
    """Return the UI state at another stop, as near to it as there is one."""
    return _at(ui, replace(replay, stop=min(max(stop, 0), replay.recording.end)))


def ended(ui: Ui, replay: Replay) -> Ui:
    """Return the UI state at the very end: the result, if the game came to one."""
    ui = gone(ui, replay, replay.recording.end)
    view = replay.recording.view(replay.recording.end, replay.eyes)
    return replace(ui, step=last_step(view)) if view.phase is Phase.OVER else ui


def seen_by(ui: Ui, replay: Replay, eyes: Eyes) -> Ui:
    """Return the UI state at the same place, seen by other eyes."""
    return replace(_at(ui, replace(replay, eyes=eyes)), step=ui.step, cursor=ui.cursor)


def _every_eyes(recording: Recording) -> list[Eyes]:
    return [recording.all_eyes, *(eyes_of(Seat(seat)) for seat in recording.seats), SPECTATOR]


def _at(ui: Ui, replay: Replay) -> Ui:
    """Return the UI state of who has followed the game up to here."""
    seen = replay.recording.seen(replay.stop, replay.eyes)
    fresh = replace(ui, replay=replay, log=(), last=None, step=0, scroll=0)
    followed = news.heard(fresh, Happened(seen, len(seen)), _model(replay))
    return replace(followed, cursor=_latest(replay, seen))


def _latest(replay: Replay, seen: tuple[SeenEvent, ...]) -> Hex:
    """Return the hex that the last move was about, so that the panel explains it."""
    for event in reversed(seen):
        if isinstance(event, TileLaid):
            return HILLS[event.position]
        if isinstance(event, Placed | WolfPlaced):
            return replay.recording.view(replay.stop, replay.eyes).layout.hexes[event.field]
    return HILLS[0]


def _hill_before(view: View, step: int) -> int:
    """Return the first step of this hill or, from there, of the one before."""
    hills = [hill_of(view.scoring[each.event]) for each in steps(view)]
    return hills.index(hills[step - 1])

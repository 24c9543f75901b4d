"""The page of a record: its game at one of its stops, and by whose eyes it is seen."""

from collections.abc import Sequence

from client.language import _
from client.records.recording import Recording
from client.tables.table import TableModel
from client.ui.draw.frame import Block
from client.ui.draw.lines import Line, ends, line
from client.ui.draw.page import AroundGame
from client.ui.draw.pages.chances import chances_block, chances_line
from client.ui.draw.pages.playing import PlayingDrawing
from client.ui.texts.events import describe_turn
from client.ui.texts.people import names_at
from client.ui.update.pages.replay import TABLE
from client.ui.update.state import Replay
from engine.view import Eyes, View


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

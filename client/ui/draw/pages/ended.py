"""The page of a game that its host has ended: the board as it was left."""

from client.language import _
from client.ui.draw.board import Marks
from client.ui.draw.pages.playing import PlayingDrawing
from client.ui.texts.changes import describe_ended
from client.ui.texts.scoring import describe_rematch


class EndedDrawing(PlayingDrawing, frozen=True):
    """A game that its host has ended."""

    @property
    def stage(self) -> str:
        return _("ended")

    def sentence(self) -> str:
        again = "" if self.model.state is None else describe_rematch(self.model.state, self.model.seat)
        said = self.ui.log[-1:] == (describe_ended(),)  # just above
        return again if said else f"{describe_ended()} {again}".strip()

    def marks(self) -> Marks:
        return Marks(last=self.playing.last)

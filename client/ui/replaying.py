"""A record on the screen, for any program that shows one."""

from client.ui.draw.frame import Frame
from client.ui.draw.screen import drawn
from client.ui.texts.glyphs import GlyphSet
from client.ui.update import autoplay
from client.ui.update.actions import Action
from client.ui.update.dispatch import Outcome, pressed, updated
from client.ui.update.pages import replay
from client.ui.update.requests import Request
from client.ui.update.state import Ui


class Replaying:
    """Its UI state, and the table as it was there."""

    def __init__(self, ui: Ui, glyphs: GlyphSet) -> None:
        self._ui, self._glyphs = ui, glyphs
        self._model = replay.seen_in(ui)

    @property
    def runs(self) -> bool:
        """Tell whether it goes on by itself."""
        return self._ui.ticks_left is not None

    def frame(self, width: int, height: int) -> Frame:
        return drawn(self._ui, self._model, self._glyphs, width, height)

    def tick(self) -> None:
        self._take((autoplay.ticked(self._ui, self._model), None))

    def press(self, name: str) -> Request | None:
        return self._take(pressed(self._ui, name, self._model))

    def act(self, action: Action) -> Request | None:
        return self._take(updated(self._ui, action, self._model))

    def _take(self, outcome: Outcome) -> Request | None:
        self._ui, request = outcome
        self._model = replay.seen_in(self._ui)
        return request

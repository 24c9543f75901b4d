"""The state that is on the screen, for all who change it."""

from collections.abc import Callable

from client.ui.update import news
from client.ui.update.state import Ui


class Shown:
    """The UI state; whoever changes it has it drawn."""

    def __init__(self, ui: Ui, redraw: Callable[[], None], redraw_later: Callable[[], None]) -> None:
        self.ui = ui
        self._redraw = redraw
        self._redraw_later = redraw_later

    def show(self, ui: Ui) -> None:
        """Show this state from now on."""
        self.ui = ui
        self._redraw()

    def show_later(self, ui: Ui) -> None:
        """Show this state from now on, which nobody waits for; the same one is not drawn again."""
        if ui != self.ui:
            self.ui = ui
            self._redraw_later()

    def log(self, sentence: str) -> None:
        """Add a sentence to the log."""
        self.show(news.logged(self.ui, [sentence]))

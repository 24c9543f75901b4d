"""The state that is on the screen, for all who change it."""

from collections.abc import Callable

from client.ui.update import news
from client.ui.update.state import Ui


class Shown:
    """The UI state; whoever changes it has it drawn."""

    def __init__(self, ui: Ui, redraw: Callable[[], None]) -> None:
        self.ui = ui
        self._redraw = redraw

    def show(self, ui: Ui) -> None:
        """Show this state from now on."""
        self.ui = ui
        self._redraw()

    def log(self, sentence: str) -> None:
        """Add a sentence to the log."""
        self.show(news.logged(self.ui, [sentence]))

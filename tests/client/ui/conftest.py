"""What several tests of the screen begin with."""

from collections.abc import AsyncIterator, Callable

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from client.network.connection import Connection
from client.ui import game as game_program
from client.ui.game import Client
from client.ui.state import Ui
from client.ui.visit import Destination, Player, Stay
from tests.client.ui.keyboard import Keyboard


@pytest.fixture
async def keys(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Keyboard]:
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        keyboard = Keyboard(pipe)

        class ObservedClient(Client):
            def __init__(
                self, player: Player, there: Destination, stay: Stay, connection: Connection
            ) -> None:
                super().__init__(player, there, stay, connection)
                for name in ("show", "show_later"):
                    shows = getattr(self.interaction, name)
                    monkeypatch.setattr(self.interaction, name, self._observed(shows))

            def _observed(self, show: Callable[[Ui], None]) -> Callable[[Ui], None]:
                def observed(ui: Ui) -> None:
                    show(ui)
                    keyboard.client = self
                    keyboard.changed.set()

                return observed

        monkeypatch.setattr(game_program, "Client", ObservedClient)
        yield keyboard


@pytest.fixture
def listed_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the lobby's list asked for as often as tests like, since nobody's server has to bear it."""
    monkeypatch.setattr(game_program, "_LOBBY_SECONDS", 0.05)

"""The list of finished games, as the start screen leads to it, or the lobby of a guest."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from client.language import _
from client.records import PastGame, ladder_of
from client.ui import requests
from client.ui.export.moment import as_svg, describe_not_saved, describe_saved, describe_unreadable, save
from client.ui.interaction import Interaction, Service
from client.ui.program import Replaying
from client.ui.requests import Request
from client.ui.screens.history import HistoryPage
from client.ui.screens.rivals import Rivals
from client.ui.state import Notice, Ui
from client.ui.visit import LookingBack
from engine.errors import DamagedRecord
from engine.pieces import Seat
from past_games.habits import habits_in
from past_games.records import past_games


async def looking_at_games(
    folder: Path, looking_back: LookingBack, own: str = "", name: str | None = None
) -> Service:
    """Return the page of the finished games whose records are in `folder`.

    `own` says what the player's own moves cost. With the player's `name`, it leads to their rivals.
    """
    looking = _LookingAtGames(folder, looking_back, own, name)
    await looking.list()
    return looking


class _LookingAtGames(Service):
    """The list of the finished games in a folder, and what is done with one of them."""

    def __init__(self, folder: Path, looking_back: LookingBack, own: str, name: str | None) -> None:
        page = HistoryPage(
            (),
            own=own,
            analyses=looking_back.analyses,
            saves=looking_back.saves,
            rivals=name is not None,
        )
        super().__init__(Ui("", screens=(page,)))
        self._folder, self._looking_back, self._name = folder, looking_back, name

    async def list(self) -> None:
        try:
            games = tuple(await asyncio.to_thread(past_games, self._folder))
        except OSError as error:
            self._show((), self._failure(describe_unreadable, error))
        else:
            self._show(games, self.ui.notice)

    @property
    def _games(self) -> tuple[PastGame, ...]:
        return self.ui.page.games if isinstance(self.ui.page, HistoryPage) else ()

    def _show(self, games: tuple[PastGame, ...], notice: Notice | None) -> None:
        if isinstance(page := self.ui.page, HistoryPage):
            page = replace(page, games=games, chosen=min(page.chosen, max(len(games) - 1, 0)))
            self.show(replace(self.ui.with_page(page), notice=notice))

    def carry_out(self, request: Request) -> None:
        try:
            match request:
                case requests.ReplayGame(file, analysed):
                    self._replay(self._folder / file, analysed=analysed)
                case requests.SaveGame(file, picture) if self._looking_back.folder is not None:
                    path = self._save(self._folder / file, self._looking_back.folder, picture=picture)
                    self._tell(Notice(describe_saved(path)))
                case requests.Errand.SEE_RIVALS if self._name is not None:
                    self.open(_LookingAtRivals(self._folder, self._name, self._games))
                case requests.RemoveGame(file):
                    (self._folder / file).unlink(missing_ok=True)
                    self._show(
                        tuple(each for each in self._games if each.file != file),
                        Notice(_("The game is removed.")),
                    )
                case _:
                    super().carry_out(request)
        except OSError as error:
            reads = isinstance(request, requests.ReplayGame)
            self._tell(self._failure(describe_unreadable if reads else describe_not_saved, error))
        except DamagedRecord as error:
            reason = _(error.text).format(**error.about)
            text = _("This record cannot be read: line {number}: {reason}.")
            self._tell(Notice(text.format(number=error.line, reason=reason), refusal=True))

    def _replay(self, file: Path, *, analysed: bool) -> None:
        recording = self._looking_back.read_record(_text_of(file))
        analyse, plays_on = self._looking_back.analyse, self._looking_back.plays_on
        eyes = recording.all_eyes
        own = next((Seat(seat) for seat, name in enumerate(recording.names) if name == self._name), None)
        self.open(Replaying(recording, 0, eyes, analyse, own=own, analysed=analysed, plays_on=plays_on))

    def _save(self, file: Path, folder: Path, *, picture: bool) -> Path:
        text, path = _text_of(file), folder / f"palatinus-{file.name}"
        if not picture:
            return save(path, text)
        recording = self._looking_back.read_record(text)
        return save(path.with_suffix(".svg"), as_svg(recording, recording.end, recording.all_eyes))

    def _tell(self, notice: Notice) -> None:
        self.show(replace(self.ui, notice=notice))

    def _failure(self, describe: Callable[[Path, OSError], str], error: OSError) -> Notice:
        """Say what went wrong; the folders of this computer are not the business of others' terminals."""
        path = Path(error.filename or self._folder)
        return Notice(describe(path if self._looking_back.saves else Path(path.name), error), refusal=True)


class _LookingAtRivals(Service):
    """The player's rivals in these games, and their habits, which take longer to read."""

    def __init__(self, folder: Path, name: str, games: tuple[PastGame, ...]) -> None:
        ladder = ladder_of(name, games)
        page = Rivals(ladder, min(ladder.beaten, len(ladder.bots) - 1))
        super().__init__(Ui("", screens=(page,)))
        self._folder, self._name, self._games = folder, name, games

    def start(self, interaction: Interaction) -> None:
        super().start(interaction)
        self.begin(self._read())

    async def _read(self) -> None:
        habits = await asyncio.to_thread(habits_in, self._folder, self._name, self._games)
        if isinstance(page := self.ui.page, Rivals):
            self.show(self.ui.with_page(replace(page, habits=habits)))


def _text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")

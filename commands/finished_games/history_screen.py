"""The list of finished games, as the start screen leads to it, or the lobby of a guest."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from client.language import _
from client.ui import requests
from client.ui.export.moment import as_svg, describe_not_saved, describe_saved, describe_unreadable, save
from client.ui.program import Replaying, choose, show
from client.ui.requests import Request
from client.ui.screens.history import HistoryPage
from client.ui.state import Capabilities, Notice, Ui
from client.ui.terminal.device import Device
from client.ui.visit import LookingBack
from commands.finished_games.records import past_games
from engine.errors import DamagedRecord


async def look_back(
    folder: Path,
    looking_back: LookingBack,
    device: Device | None = None,
    own: str = "",
    *,
    home: bool = False,
) -> Request:
    """Show the finished games whose records are in `folder`; return what the player chooses otherwise.

    That is to quit, to go home, or on this computer to play a game on. `own` says what the player's own moves
    cost. With `home` there is a start screen to go back to.
    """
    capabilities = Capabilities(
        analyses=looking_back.analyse is not None, saves=looking_back.folder is not None, home=home
    )
    chosen = 0
    notice: Notice | None = None
    while True:
        try:
            games = tuple(await asyncio.to_thread(past_games, folder))
        except OSError as error:
            games, notice = (), _failure_notice(describe_unreadable, folder, error, device)
        page = HistoryPage(games, min(chosen, max(len(games) - 1, 0)), own=own)
        ui = Ui("", capabilities=capabilities, page=page, notice=notice)
        ui, request = await choose(ui, device)
        if request in {requests.Errand.QUIT, requests.Errand.GO_HOME}:
            return request
        if isinstance(ui.page, HistoryPage):
            chosen = ui.page.chosen
        notice = None
        try:
            match request:
                case requests.ReplayGame(file, analysed):
                    recording = looking_back.read_record(_text_of(folder / file))
                    eyes, analyse, plays_on = recording.all_eyes, looking_back.analyse, device is None
                    replaying = Replaying(recording, 0, eyes, analyse, analysed=analysed, plays_on=plays_on)
                    wanted = await show(replaying, device)
                    if isinstance(wanted, requests.PlayOn):
                        return wanted
                case requests.SaveGame(file, picture) if looking_back.folder is not None:
                    text, path = _text_of(folder / file), looking_back.folder / f"palatinus-{file}"
                    if picture:
                        recording = looking_back.read_record(text)
                        text = as_svg(recording, recording.end, recording.all_eyes)
                        path = path.with_suffix(".svg")
                    notice = Notice(describe_saved(save(path, text)))
                case requests.RemoveGame(file):
                    (folder / file).unlink(missing_ok=True)
                    notice = Notice(_("The game is removed."))
        except OSError as error:
            reads = isinstance(request, requests.ReplayGame)
            describe = describe_unreadable if reads else describe_not_saved
            notice = _failure_notice(describe, folder, error, device)
        except DamagedRecord as error:
            reason = _(error.text).format(**error.about)
            text = _("This record cannot be read: line {number}: {reason}.")
            notice = Notice(text.format(number=error.line, reason=reason), refusal=True)


def _text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _failure_notice(
    describe: Callable[[Path, OSError], str], folder: Path, error: OSError, device: Device | None
) -> Notice:
    """Say what went wrong; the folders of this computer are not the business of others' terminals."""
    path = Path(error.filename or folder)
    return Notice(describe(path if device is None else Path(path.name), error), refusal=True)

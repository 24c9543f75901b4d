"""The list of finished games, as the start screen leads to it."""

import asyncio
from pathlib import Path

from client.bots.analysis.analyst import analyse
from client.language import _
from client.records.recording import Recording
from client.ui.export.file import saved
from client.ui.export.moment import as_svg
from client.ui.replay import run as run_replay
from client.ui.start import run
from client.ui.texts.kept import not_saved, saved_as
from client.ui.update import requests
from client.ui.update.requests import Request
from client.ui.update.state import History, Notice, Ui
from commands.finished_games.past_games import past_games, records_folder
from commands.finished_games.records import recording_of
from engine.errors import DamagedRecord


def look_back(*, ascii_wanted: bool) -> bool:
    """Show the finished games that were played or hosted here; return False if the player quits."""
    folder = records_folder()
    chosen = 0
    notice: Notice | None = None
    while True:
        try:
            games = tuple(past_games(folder))
        except OSError as error:
            games, notice = (), _failed(folder, error)
        page = History(games, min(chosen, max(len(games) - 1, 0)))
        ui, request = asyncio.run(run(Ui("", page=page, notice=notice), ascii_wanted=ascii_wanted))
        if isinstance(request, requests.Quit | requests.GoHome):
            return isinstance(request, requests.GoHome)
        if isinstance(ui.page, History):
            chosen = ui.page.chosen
        try:
            notice = _done(request, folder, ascii_wanted=ascii_wanted)
        except OSError as error:
            notice = _failed(folder, error)
        except DamagedRecord as error:
            reason = _(error.text).format(**error.about)
            text = _("This record cannot be read: line {number}: {reason}.")
            notice = Notice(text.format(number=error.line, reason=reason), refusal=True)


def _done(request: Request, folder: Path, *, ascii_wanted: bool) -> Notice | None:
    """Do what the player asks for, and return what there is to say; raises OSError or DamagedRecord."""
    match request:
        case requests.ShowGame(file, analysed):
            recording = _recording(folder / file)
            showing = run_replay(
                recording,
                0,
                recording.all_eyes,
                ascii_wanted=ascii_wanted,
                analyse=analyse,
                analysed=analysed,
            )
            asyncio.run(showing)
            return None
        case requests.SaveGame(file, False):
            text = (folder / file).read_text(encoding="utf-8")
            return Notice(saved_as(saved(Path.cwd() / f"palatinus-{file}", text)))
        case requests.SaveGame(file):
            recording = _recording(folder / file)
            picture = as_svg(recording, recording.end, recording.all_eyes)
            path = (Path.cwd() / f"palatinus-{file}").with_suffix(".svg")
            return Notice(saved_as(saved(path, picture)))
        case requests.RemoveGame(file):
            (folder / file).unlink(missing_ok=True)
            return Notice(_("The game is removed."))
        case _:
            return None


def _recording(path: Path) -> Recording:
    return recording_of(path.read_text(encoding="utf-8", errors="replace"))


def _failed(folder: Path, error: OSError) -> Notice:
    return Notice(not_saved(Path(error.filename or folder), error), refusal=True)

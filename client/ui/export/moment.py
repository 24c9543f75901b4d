"""A moment of a game as text or as a picture, and the file that it is saved in."""

import itertools
import json
from pathlib import Path
from typing import Final

from client.language import _, describe_reason
from client.records import Recording
from client.ui.draw.board import board_text
from client.ui.export.picture import Moment, drawing, in_document
from client.ui.frame import plain
from client.ui.screens.replay import describe_eyes, describe_stop, describe_turn_replayed
from client.ui.screens.scoring import last_step, result_lines, scene
from client.ui.spots import Marks, just_placed
from client.ui.texts.games import describe_result
from client.ui.texts.glyphs import ASCII, UNICODE
from engine.final import scoring_outcome
from engine.view import Eyes, View
from protocol.text import printable_json

_WIDTH: Final = 80  # of text


def as_svg(recording: Recording, stop: int, eyes: Eyes) -> str:
    return in_document(drawing(moment_at(recording, stop, eyes), recording.names))


def moment_at(recording: Recording, stop: int, eyes: Eyes) -> Moment:
    view = recording.view(stop, eyes)
    now = (
        describe_result(view.result, recording.names)
        if view.result
        else describe_turn_replayed(view, recording.names)
    )
    where = f"{describe_stop(recording, stop)}, {describe_eyes(recording, eyes)}"
    return Moment(view, _marks(view, recording), (where, now))


def as_text(recording: Recording, stop: int, eyes: Eyes, *, ascii_only: bool = False) -> str:
    view = recording.view(stop, eyes)
    return board_text(view, marks=_marks(view, recording), ascii_only=ascii_only) + "\n"


def points_of(recording: Recording, *, ascii_only: bool = False) -> str:
    """Return the winners and every player's points, as on the screen; empty before the end."""
    view = recording.view(recording.end, recording.all_eyes)
    if view.result is None:
        return ""
    glyphs = ASCII if ascii_only else UNICODE
    lines = result_lines(view, recording.names, glyphs, _WIDTH)
    return "".join(f"{plain(content).rstrip()}\n" for content in lines[1:])


def as_json(recording: Recording, stop: int, eyes: Eyes) -> str:
    view = recording.view(stop, eyes)
    told = {
        "version": 1,
        "players": view.seats,
        "names": recording.names,
        "peoples": ["".join(peoples) for peoples in view.start.peoples],
        "starting": view.start.starting,
        "eyes": sorted(eyes),
        "move": min(stop, recording.moves),
        "moves": recording.moves,
        "phase": view.phase,
        "turn": view.turn,
        "drawn": view.drawn,
        "tiles": [None if laid is None else [laid.tile, laid.orientation] for laid in view.tiles],
        "laurels": dict(view.laurels),
        "placements": [[view.owners[field], piece, field] for field, piece in view.placed.items()],
        "board": {field: [view.owners[field], piece] for field, piece in sorted(view.board.items())},
        "remaining": view.remaining,
        "hands": {str(seat): hand for seat, hand in view.hands.items()},
        "scoring": scoring_outcome(view.scoring) if view.result else None,
    }
    return printable_json(json.dumps(told, ensure_ascii=False, indent=2)) + "\n"


def _marks(view: View, recording: Recording) -> Marks:
    """Return what the board points at: the last piece, or, after the scoring, who took which hill."""
    if view.result is not None:
        return Marks(won=scene(view, last_step(view), recording.names).marks.won)
    return Marks(recent=just_placed(view))


def save(path: Path, content: str) -> Path:
    """Write `content` to `path`, or with a number added if that exists; return the path."""
    for number in itertools.count(2):
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(content)
        except FileExistsError:
            stem = path.stem if number == 2 else path.stem.rpartition("-")[0]
            path = path.with_stem(f"{stem}-{number}")
        else:
            return path
    raise AssertionError("there is always another number")


def describe_saved(path: Path) -> str:
    return _("Saved as {file} in {folder}.").format(file=path.name, folder=path.parent)


def describe_unreadable(path: Path, error: OSError) -> str:
    return _("Cannot read {file}: {reason}.").format(file=path, reason=describe_reason(error))


def describe_not_saved(path: Path, error: OSError) -> str:
    return _("Cannot write {file}: {reason}.").format(file=path, reason=describe_reason(error))

"""Where a record is being looked at, and by whose eyes, in words."""

from collections.abc import Sequence

from client.language import _
from client.table import TableModel
from client.ui.texts.sentences import describe_turn
from client.ui.update.replay import TABLE
from client.ui.update.state import Replay
from engine.view import View


def describe_place(replay: Replay) -> str:
    return _("move {number} of {last}").format(
        number=min(replay.stop, replay.recording.moves), last=replay.recording.moves
    )


def describe_turn_replayed(view: View, names: Sequence[str]) -> str:
    """Return whose turn it was: nobody's own, whosever eyes see it."""
    return _("all pieces placed") if view.turn is None else describe_turn(TableModel(TABLE, view=view), names)


def describe_eyes(replay: Replay) -> str:
    """Return whose eyes see the board."""
    if replay.eyes == replay.recording.all_eyes:
        return _("everything shown")
    if not replay.eyes:
        return _("seen by spectators")
    return _("seen by {name}").format(name=replay.recording.names[next(iter(replay.eyes))])

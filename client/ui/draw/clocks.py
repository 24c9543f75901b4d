"""What counts down on the screen: the pause before reconnecting, absences, the clock of whose turn it is."""

from math import ceil

from prompt_toolkit.utils import get_cwidth

from client.language import _
from client.tables.table import TableModel
from client.ui.at_table import next_vote
from client.ui.state import Outage, Ui
from client.ui.texts.people import names_of
from client.ui.texts.times import clock_time
from engine.pieces import Seat
from protocol.messages import SeatSummary


def describe_outage(outage: Outage, now: float, width: int) -> str:
    """Return why there is no connection and what happens next, in `width` cells if possible."""
    if outage.until is None:
        return outage.reason
    seconds = ceil(outage.until - now)
    again = (
        _("Trying again in {seconds} s.").format(seconds=seconds) if seconds >= 1 else _("Trying again now.")
    )
    whole = f"{outage.reason} {again}"
    return whole if get_cwidth(whole) <= width else " ".join((_("No connection."), again))


def countdown(ui: Ui) -> str:
    """Return how long the server still runs, if that is known; empty if it is not going to stop."""
    if ui.stops_at is None:
        return ""
    return _("server stops in {time}").format(time=clock_time(ui.stops_at - ui.now))


def seat_note(ui: Ui, model: TableModel, seat: Seat) -> str:
    """Return the note beside a player's name: away or played by a bot, and the time left."""
    if model.state is None or seat >= len(model.state.seats):
        return ""
    summary = model.state.seats[seat]
    words = []
    if summary.bot or summary.level is not None:
        words.append(_("bot"))
    elif not summary.here:
        words.append(_("away"))
        if summary.seconds_left:
            words.append(clock_time(summary.seconds_left - (ui.now - ui.told_at)))
    if (left := _seconds_to_think(ui, model, seat, summary)) is not None:
        words.append(clock_time(left))
    return " ".join(words)


def _seconds_to_think(ui: Ui, model: TableModel, seat: Seat, summary: SeatSummary) -> float | None:
    view = model.view
    if view is not None and view.turn == seat and model.clock is not None:
        paused = model.state is not None and model.state.paused is not None
        return model.clock / 1000 - (0 if paused else ui.now - ui.clock_at)
    return None if summary.clock is None else summary.clock / 1000


def pause_question(ui: Ui, model: TableModel) -> str:
    """Return who has paused the game or asks for a pause, and what this player can do; empty if nobody."""
    state = model.state
    if state is None or state.stage != "playing":
        return ""
    names = names_of(state, 0)
    if (pause := state.paused) is not None:
        form = _("{name} has paused the game. It resumes automatically in {time}.")
        left = clock_time(pause.seconds_left - (ui.now - ui.told_at))
        told, keys = form.format(name=names[pause.seat], time=left), _("p: play on")
    elif state.pause_asked:
        told = _("{name} asks for a pause: the host can agree, or everybody.").format(
            name=names[state.pause_asked[0]]
        )
        keys = _("p: take it back") if model.seat in state.pause_asked else _("p: agree")
    else:
        return ""
    return told if model.seat is None else f"{told} {keys}"


def vote_question(model: TableModel) -> str:
    """Return the vote that this player is asked for now; empty if there is none."""
    vote = next_vote(model)
    if vote is None or model.state is None:
        return ""
    summary = model.state.seats[vote.seat]
    name = names_of(model.state, 0)[vote.seat]
    form = (
        _("{name} is away. Let a bot play until they are back? v: yes ({votes} of {needed} agree)")
        if vote.agree
        else _("{name} is away. You agreed to let a bot play. v: take it back ({votes} of {needed} agree)")
    )
    return form.format(name=name, votes=len(summary.votes), needed=summary.votes_needed)

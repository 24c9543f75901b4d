"""What a screen tells besides its page: questions, clocks, chat, and the end of the log."""

from math import ceil
from typing import Final

from prompt_toolkit.utils import get_cwidth

from client.language import _, labelled
from client.tables.table import TableModel, open_request
from client.ui.at_table import next_vote
from client.ui.frame import (
    EMPTY,
    READ_ON,
    Block,
    Line,
    begun,
    beside,
    chips,
    fitted,
    line,
    stacked,
    width_of,
    wrapped,
)
from client.ui.state import Outage, Pane, Remark, Ui
from client.ui.texts.tables import describe_asked, describe_pause, names_of
from client.ui.texts.times import clock_time
from engine.legal import LegalPlaces
from engine.pieces import Seat
from protocol.limits import OTHERS_WAIT_SECONDS
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
    elif summary.holiday_until is not None:
        words.append(_("holiday"))
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
        stands = paused or summary.holiday_until is not None
        return model.clock / 1000 - (0 if stands else ui.now - ui.clock_at)
    return None if summary.clock is None else summary.clock / 1000


def asked_question(ui: Ui, model: TableModel) -> str:
    """Return who has paused the game or asks for something, and what this player can do; empty if nobody."""
    state = model.state
    if state is None or state.stage != "playing":
        return ""
    names = names_of(state, 0)
    if (pause := state.paused) is not None:
        form = _("{name} has paused the game. It resumes automatically in {time}.")
        left = clock_time(pause.seconds_left - (ui.now - ui.told_at))
        told = form.format(name=names[pause.seat], time=left)
        if pause.until is not None:
            told = describe_pause(pause, names)
        play_on = _("p: play on")
        waited = pause.seconds + ui.now - ui.told_at >= OTHERS_WAIT_SECONDS
        may_end = waited or model.seat in {pause.seat, state.host}
        return f"{told} {play_on}" if model.seat is not None and may_end else told
    return request_question(model)


def request_question(model: TableModel) -> str:
    """Return what a player asks the others for, and how this player answers; empty if nobody does."""
    state = model.state
    if state is None or (asked := open_request(state)) is None:
        return ""
    told = describe_asked(asked, names_of(state, 0), model.view)
    keys = _("V: withdraw the request") if model.seat in asked.seats else _("v: yes, V: no")
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


def describe_plan(model: TableModel) -> str:
    """Return what the player has planned for when it is their turn; empty if nothing."""
    if (plan := model.planned) is None:
        return ""
    legal = model.legal
    if isinstance(legal, LegalPlaces) and not (plan.piece in legal.pieces and plan.field in legal.fields):
        text = _("The move that you planned, {piece} on {field}, is not possible now.")
    else:
        text = _("Planned for your turn: {piece} on {field}. Type plan off if you change your mind.")
    return text.format(piece=plan.piece, field=plan.field)


_LEAST = 2  # lines below a page with fewer are for moves and questions
_SPARE = 6  # with as many, what has been read stays above the log


def latest_talk(ui: Ui, width: int, room: int) -> list[Line]:
    """Return the latest remarks for a part of `room` lines above the log: unread ones wherever possible.

    The player's own latest remark is included: a line just typed must not vanish as if it were lost.
    """
    if room < _LEAST or not (ui.talk.unread or ui.talk.echoed or room >= _SPARE):
        return []
    most = max(room // 3, 1)
    lines: list[Line] = []
    for remark in reversed(ui.talk.remarks[-most:]):
        rows = remark_rows(remark, width, most if not lines else most - len(lines), whole=bool(lines))
        if not rows:
            break
        lines = [*rows, *lines]
    return lines


def lobby_talk(ui: Ui, width: int, height: int) -> list[Line]:
    """Return the latest remarks in the lobby, as many as there is room for."""
    lines: list[Line] = []
    for remark in reversed(ui.talk.remarks):
        rows = remark_rows(remark, width)
        if len(lines) + len(rows) > height:
            break
        lines = [*rows, *lines]
    return lines


def remark_rows(remark: Remark, width: int, most: int | None = None, *, whole: bool = False) -> list[Line]:
    """Return a remark with its speaker, in at most `most` lines; with `whole`, nothing if it does not fit."""
    sign = EMPTY if remark.people is None else beside(chips([remark.people]), line(" "))
    text = labelled(remark.speaker, remark.text)
    speaker = text.removesuffix(remark.text).rstrip(" ")
    indent = width_of(sign)
    rows = wrapped(text, width - 4 - indent)
    if most is not None and len(rows) > most:
        if whole:
            return []
        rows = begun(rows, most, width - 4 - indent)
    first, *more = rows
    named = speaker if first.startswith(speaker) else first
    start = beside(line(" "), sign, line(named, "class:mine"), line(first[len(named) :], "class:talk"))
    return [start, *(line(f"{'':{indent + 3}}{row}", "class:talk") for row in more)]


LOG_LINES: Final = 3  # with fewer than these below the board, the log stands in the panel


def with_news(page: Block, pane: Pane, sentence: str = "", *, most: int = LOG_LINES) -> Block:
    """Return the page with the latest news below it, in at most `most` lines."""
    news = news_lines(pane.ui, pane.width, most, sentence)
    lines = [*stacked(page.lines, pane.width, pane.height - len(news)), *news]
    return Block(tuple(lines), page.targets)


def lines_wanted(ui: Ui, width: int, sentence: str) -> int:
    """Return how many lines the latest news takes, and what should be read now."""
    words, _style = _now(ui, sentence)
    latest = wrapped(ui.log[-1], width - 4) if ui.log else []
    return len(wrapped(words, width - 2)) + len(latest) + bool(ui.talk.unread)


def news_lines(ui: Ui, width: int, height: int, sentence: str) -> list[Line]:
    """Return the latest talk, the last lines of the log, and below them what should be read now."""
    now = words_now(ui, width, height, sentence)
    talk = latest_talk(ui, width, max(height - len(now), 0))
    room_left = max(height - len(now) - len(talk), 0)
    entries = [wrapped(text, width - 4) for text in ui.log[: len(ui.log) - ui.scroll][-height:]]
    if not ui.page.log_style and entries and len(entries[-1]) > room_left:
        entries[-1] = begun(entries[-1], room_left, width - 4, _dots(ui))
    first = len(entries)  # no sentence is shown without its beginning, unless it is the only one
    while first and sum(map(len, entries[first - 1 :])) <= room_left:
        first -= 1
    shown = entries[min(first, len(entries) - 1) :] if entries else []
    older = [f"{'   ' if at else ' '}{row}" for rows in shown for at, row in enumerate(rows)]
    log = [line(row, ui.page.log_style) for row in older[len(older) - min(room_left, len(older)) :]]
    return [*stacked(talk, width, len(talk)), *stacked(log, width, room_left), *now]


def words_now(ui: Ui, width: int, height: int, sentence: str = "") -> list[Line]:
    words, style = _now(ui, sentence)
    marked = style == "class:refusal" or ui.notice is not None  # over the whole width
    return [
        fitted(line(f" {row}", style), width, style if marked else "")
        for row in begun(wrapped(words, width - 2), height, width - 2, _dots(ui))
    ]


def _dots(ui: Ui) -> str:
    """Return what stands for the rest of a text: with the key that shows it, if there is one."""
    return READ_ON if ui.page.reads_on and ui.overlay is None else "..."


def _now(ui: Ui, sentence: str) -> tuple[str, str]:
    if ui.overlay is not None and (asked := ui.overlay.question(ui)):
        return asked, "class:refusal"
    if ui.notice is not None:
        return ui.notice.text, "class:refusal" if ui.notice.refusal else "class:info"
    return sentence, "class:info"

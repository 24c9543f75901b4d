"""Building blocks of screens: titles, lists, texts, a board with its panel, and below them what is new."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil
from typing import Final

from msgspec import Struct
from prompt_toolkit.utils import get_cwidth

from client.language import _, labelled
from client.tables.table import TableModel, open_request
from client.ui.at_table import next_vote
from client.ui.draw.board import HUGE, LARGE, MEDIUM, SMALL, drawn_board
from client.ui.frame import (
    EMPTY,
    NO_BREAK,
    READ_ON,
    Line,
    chips,
    clickable,
    dotted,
    ends,
    first_rows,
    fitted,
    indented,
    line,
    padded,
    plain,
    side_by_side,
    stacked,
    width_of,
    without,
    wrapped,
)
from client.ui.keys import Act, Action, ChooseLine, ChooseUnseen, Way
from client.ui.spots import Marks
from client.ui.state import Choices, Outage, Pane, Remark, Screen, Sign, TalkLog, Ui
from client.ui.texts.games import describe_turn
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.signs import in_words
from client.ui.texts.tables import (
    describe_answers,
    describe_asked,
    describe_pause,
    names_at,
    names_of,
    table_name,
)
from client.ui.texts.times import clock_time
from engine.board import HILLS, Hex
from engine.pieces import Seat
from engine.view import View
from protocol.bot_names import level_of
from protocol.limits import OTHERS_WAIT_SECONDS
from protocol.messages import Asked, SeatSummary


def describe_outage(outage: Outage, now: float, width: int) -> str:
    """Return the reason for the lost connection and the next attempt, in `width` cells if possible."""
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
    if summary.bot or (summary.level is not None and not level_of(summary.name or "")):
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
        stands = is_paused(model) or summary.holiday_until is not None
        return model.clock / 1000 - (0 if stands else ui.now - ui.clock_at)
    return None if summary.clock is None else summary.clock / 1000


def name_or_sign(signs: Iterable[Sign], seat: Seat, name: str, style: str = "") -> Line:
    """Return a player's name, or for some seconds the sign that the player has given."""
    shown = next((each for each in signs if each.seat == seat), None)
    return line(f" {name}", style) if shown is None else line(f" {in_words(shown.text)}", "class:talk")


def latest_sign(ui: Ui, model: TableModel) -> str:
    """Return the latest sign with its player, for a window without room for the seats; often empty."""
    if not ui.signs:
        return ""
    seat = ui.signs[-1].seat
    return _with_name(ui.signs[-1], None if seat is None else names_at(model)[seat])


def spectators_sign(signs: Iterable[Sign]) -> str:
    """Return the latest sign of a spectator, with the name; often empty."""
    return next((_with_name(each) for each in reversed(tuple(signs)) if each.seat is None), "")


def _with_name(sign: Sign, name: str | None = None) -> str:
    return labelled(sign.spectator if name is None else name, in_words(sign.text))


def asked_question(ui: Ui, model: TableModel) -> str:
    """Return the question about a pause or an open request, with this player's choices; empty without one."""
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
    """Return an open request as a question with this player's answers; empty without one."""
    state = model.state
    if state is None or (asked := open_request(state)) is None:
        return ""
    names = names_of(state, 0)
    told = describe_asked(asked, names, model.view)
    answers = describe_answers(asked, state.still_asked, names)
    return " ".join(filter(None, (told, answers, _keys_of_answers(asked, model.seat))))


def _keys_of_answers(asked: Asked, seat: Seat | None) -> str:
    """Return the keys with which this player answers a request; empty for spectators."""
    if seat is None:
        return ""
    if seat == asked.seats[0]:
        return _("n: withdraw the request")
    return _("n: no longer agree") if seat in asked.seats else _("y: yes, n: no")


def request_box(pane: Pane) -> list[Line]:
    """Return a box with an open request and everybody's answers; empty without a request."""
    model, width, frame = pane.model, pane.width, pane.glyphs.frame
    if (state := model.state) is None or (asked := open_request(state)) is None:
        return []
    names = names_of(state, 0)
    told = wrapped(describe_asked(asked, names, model.view), width - 4)
    agreed = (_("{name}: yes").format(name=names[seat]) for seat in asked.seats[1:])
    answers = (*agreed, *(f"{names[seat]} ..." for seat in state.still_asked))
    joined = ", ".join(each.replace(" ", NO_BREAK) for each in answers)
    in_edge = len(told) == 1 and width_of(line(told[0])) <= width - 6
    rows = [] if in_edge else [line(row, "class:heading") for row in told]
    rows += [line(row, "class:talk") for row in wrapped(joined, width - 4)]
    side = line(frame.side, "class:info")
    return [
        _edge(frame.top, told[0] if in_edge else "", width),
        *(side + line(" ") + fitted(row, width - 4) + line(" ") + side for row in rows),
        _edge(frame.bottom, _keys_of_answers(asked, model.seat), width),
    ]


def _edge(edge: tuple[str, str, str], words: str, width: int) -> Line:
    """Return the upper or the lower edge of a box, with words in it."""
    left, across, right = edge
    inside = line(f" {words} ", "class:heading") if words else EMPTY
    drawn = line(left + across, "class:info") + inside
    drawn = fitted(drawn, width - 1)[: len(drawn)]
    filling = across * (width - 1 - width_of(drawn))
    return drawn + line(filling + right, "class:info")


def vote_question(model: TableModel) -> str:
    """Return the vote that this player is asked for now; empty if there is none."""
    vote = next_vote(model)
    if vote is None or model.state is None:
        return ""
    summary = model.state.seats[vote.seat]
    name = names_of(model.state, 0)[vote.seat]
    form = (
        _("{name} is away. Let a bot play until they are back? y: yes ({votes} of {needed} agree)")
        if vote.agree
        else _("{name} is away. You agreed to let a bot play. n: take it back ({votes} of {needed} agree)")
    )
    return form.format(name=name, votes=len(summary.votes), needed=summary.votes_needed)


_LEAST = 2  # lines below a page with fewer are for moves and questions
_SPARE = 6  # with as many, what has been read stays above the log


def latest_talk(ui: Ui, width: int, room: int) -> list[Line]:
    """Return the latest remarks for a part of `room` lines above the log: new ones wherever possible.

    The player's own latest remark is included: a line just typed must not vanish as if it were lost.
    """
    if room < _LEAST or not (ui.talk.is_new or ui.talk.echoed or room >= _SPARE):
        return []
    return talk_lines(ui.talk, width, max(room // 3, 1), cuts=True)


def talk_lines(talk: TalkLog, width: int, height: int, *, cuts: bool = False) -> list[Line]:
    """Return the latest remarks that there is room for; with `cuts`, the last one at least in part."""
    lines: list[Line] = []
    for remark in reversed(talk.remarks):
        rows = remark_rows(remark, width, height if cuts and not lines else None)
        if len(lines) + len(rows) > height:
            break
        lines = [*rows, *lines]
    return lines


def remark_rows(remark: Remark, width: int, most: int | None = None) -> list[Line]:
    """Return a remark with its speaker, in at most `most` lines."""
    sign = EMPTY if remark.people is None else chips([remark.people]) + line(" ")
    text = labelled(remark.speaker, remark.text)
    speaker = text.removesuffix(remark.text).rstrip(" ")
    room = width - 4 - width_of(sign)
    first, *more = wrapped(text, room) if most is None else first_rows(wrapped(text, room), most, room)
    named = speaker if first.startswith(speaker) else first
    start = line(" ") + sign + line(named, "class:mine") + line(first[len(named) :], "class:talk")
    return [start, *(line(f"{'':{width_of(sign) + 3}}{row}", "class:talk") for row in more)]


LOG_LINES: Final = 3  # with fewer than these below the board, the log stands in the panel


def with_news(page: Sequence[Line], pane: Pane, sentence: str = "", *, most: int = LOG_LINES) -> list[Line]:
    """Return the page with the latest news below it, in at most `most` lines."""
    news = news_lines(pane.ui, pane.width, most, sentence)
    return [*stacked(page, pane.width, pane.height - len(news)), *news]


def lines_wanted(ui: Ui, width: int, sentence: str) -> int:
    """Return how many lines the latest news and the current notice take."""
    words, _style = _now(ui, sentence)
    latest = wrapped(log[-1], width - 4) if (log := _log_shown(ui, sentence)) else []
    return len(wrapped(words, width - 2)) + len(latest) + ui.talk.is_new


def _log_shown(ui: Ui, sentence: str) -> tuple[str, ...]:
    """Return what the screen shows of the log, up to where it is scrolled, without what is below it too.

    That is the notice or the sentence, which may say more.
    """
    log = ui.log_here[: len(ui.log_here) - ui.scroll]
    if ui.page.after_end:
        log = log[max(len(log) - ui.since_end, 0) :]
    below, _style = _now(ui, sentence)
    return log[:-1] if log and log[-1] and below.startswith(log[-1]) else log


def news_lines(ui: Ui, width: int, height: int, sentence: str) -> list[Line]:
    """Return the latest chat, the last lines of the log, and below them the current notice."""
    now = words_now(ui, width, height, sentence)
    talk = latest_talk(ui, width, max(height - len(now), 0))
    room_left = max(height - len(now) - len(talk), 0)
    entries = [wrapped(text, width - 4) for text in _log_shown(ui, sentence)[-height:]]
    if not ui.page.log_style and entries and len(entries[-1]) > room_left:
        entries[-1] = first_rows(entries[-1], room_left, width - 4, _dots(ui))
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
        for row in first_rows(wrapped(words, width - 2), height, width - 2, _dots(ui))
    ]


def _dots(ui: Ui) -> str:
    """Return what stands for the rest of a text: with the key that shows it, if there is one."""
    return READ_ON if ui.page.reads_on and ui.overlay is None else "..."


def _now(ui: Ui, sentence: str) -> tuple[str, str]:
    if ui.overlay is not None and (asked := ui.overlay.question(ui)):
        return asked, "class:refusal"
    if ui.notice is not None:
        return ui.notice.on_screen, "class:refusal" if ui.notice.refusal else "class:info"
    return sentence, "class:info"


def around(board: Sequence[Line], cell: Hex, width: int, height: int) -> list[Line]:
    """Return as much of the small board as there is room for, with `cell` as near the middle as possible."""
    width, height = min(width, SMALL.width), min(height, SMALL.height)
    column, row = SMALL.body_of(cell)
    left = _first_shown(column + SMALL.across // 2 - 1, width, SMALL.width)
    top = _first_shown(row, height, SMALL.height)
    return [fitted(without(content, left), width) for content in board[top : top + height]]


def _first_shown(middle: int, room: int, whole: int) -> int:
    return min(max(middle - room // 2, 0), whole - room)


MARK: Final = 4  # columns of a small window for how many lines of a list are left out


def shortened(page: Sequence[Line], width: int, height: int, glyphs: GlyphSet) -> list[Line]:
    """Return the part of a page around the chosen line, without empty lines.

    Where lines of a list are left out above or below, the first or last row ends in their number.
    """
    kept = [content for content in page if plain(content).strip()]
    chosen = [at for at, content in enumerate(kept) if any("class:chosen" in part[0] for part in content)]
    middle = chosen[0] + len(chosen) // 2 if chosen else 0
    first = _first_shown(middle, height, max(len(kept), height))
    shown = kept[first : first + height]
    ends_in = [EMPTY] * len(shown)
    unseen = _unseen(kept[:first], shown, kept[first + height :])
    for at, sign, each in zip((0, -1), (glyphs.above, glyphs.below), unseen, strict=True):
        if each is not None:
            ends_in[at] += clickable(line(f" {sign}{each.count}", "class:faint"), each)
    return [_cut_short(*each, width) for each in zip(shown, ends_in, strict=True)]


def _cut_short(content: Line, mark: Line, width: int) -> Line:
    """Return a row of exactly so many cells that ends in `mark`, and in dots before it if it is cut."""
    room = width - width_of(mark)
    if get_cwidth(plain(content).rstrip()) > room:
        content = (*fitted(content, room - 3), ("", "...", content[0][2]))
    return fitted(content, room, content[-1][0]) + mark


_PANEL_WIDTH: Final = 30
_PANEL_MOST: Final = 56  # wider, numbers would stand far from the names that they belong to


class Board(Struct, frozen=True):
    """A board with a panel beside it and the news, laid out for a window of any size.

    In a small one the board is cut around the cursor, with the `hand` in a line below and the `small_panel`
    beside it where there is room; one line in so many of its `share` is for what is new. A `box` stands in
    place of the sentence where there is room.
    """

    view: View
    marks: Marks
    panel: Callable[[Pane], list[Line]]
    sentence: str = ""
    hand: Callable[[Pane], Line] | None = None
    small_panel: Callable[[Pane], list[Line]] | None = None
    share: int = 2
    box: Callable[[Pane], list[Line]] | None = None

    def laid_out(self, pane: Pane) -> list[Line]:
        return self._small(pane) if pane.small else self._large(pane)

    def boxed(self, pane: Pane) -> list[Line]:
        """Return the box at this width, unless there is none or something else has to be read first."""
        ui = pane.ui
        hidden = ui.notice is not None or (ui.overlay is not None and bool(ui.overlay.question(ui)))
        return [] if self.box is None or hidden else self.box(pane)

    def news(self, pane: Pane) -> list[Line]:
        box = self.boxed(pane)
        if not box or len(box) > pane.height:
            return news_lines(pane.ui, pane.width, pane.height, self.sentence)
        return [*news_lines(pane.ui, pane.width, pane.height - len(box), ""), *box]

    def _large(self, pane: Pane) -> list[Line]:
        """Return board and panel, and below them the log: in the panel where the board needs the height."""
        width, height, sentence = pane.width, pane.height, self.sentence
        scale = next(
            scale
            for scale in (HUGE, LARGE, MEDIUM, SMALL)
            if scale is SMALL or (scale.width + 1 + _PANEL_WIDTH <= width and scale.height <= height)
        )
        margin = min(2, width - scale.width - 1 - _PANEL_WIDTH)
        left_width = margin + scale.width + 1
        panel_width = min(width - left_width, _PANEL_MOST)
        drawn = drawn_board(self.view, self.marks, pane.glyphs, scale)
        left = [line(" " * margin) + content for content in drawn]
        below = height - scale.height
        if below >= LOG_LINES:
            right = self.panel(pane.sized(panel_width, scale.height))
            both = side_by_side(left, right, left_width, panel_width, scale.height)
            return both + self.news(pane.sized(width, below))
        box = len(self.boxed(pane.sized(panel_width, height)))
        wanted = max(box or lines_wanted(pane.ui, panel_width, sentence), LOG_LINES)
        right = self.panel(pane.sized(panel_width, height - wanted))
        room_left = max(height - len(right) - 1, wanted)
        right = stacked(right, panel_width, height - room_left)
        right += self.news(pane.sized(panel_width, room_left))
        return side_by_side(left, right, left_width, panel_width, height)

    def _small(self, pane: Pane) -> list[Line]:
        """Return the board around the cursor, the hand in one line, and what is new."""
        width, height, marks = pane.width, pane.height, self.marks
        hand = EMPTY if self.hand is None else self.hand(pane)
        asks = self.sentence if pane.ui.notice is None else pane.ui.notice.on_screen
        below = height // self.share
        below = max(
            min(below, LOG_LINES, height - SMALL.height), min(below, len(wrapped(asks, width - 2))), 1
        )
        rows = height - below - bool(hand)
        drawn = drawn_board(self.view, marks, pane.glyphs, SMALL)
        shown = around(drawn, HILLS[0] if marks.cursor is None else marks.cursor, width, rows)
        told = self.news(pane.sized(width, below))
        board_width = min(SMALL.width, width) + 1
        if self.small_panel is not None and width - board_width >= _PANEL_WIDTH - 1:
            right = self.small_panel(pane.sized(min(width - board_width, _PANEL_MOST), rows))
            shown = side_by_side(shown, right, board_width, width - board_width, rows)
        return [*stacked(shown, width, rows), *([hand] if hand else ()), *told]


_LINES: Final = 4  # no more than the smallest window shows, or some would never be seen
_SETTING: Final = 10  # columns before the words of a setting


def line_chosen(action: Action, chosen: int, lines: int) -> int | None:
    """Return the line of a list that a key or a click leads to; None if it leads to no other line."""
    match action:
        case Way():
            return min(max(chosen + (1 if action is Way.DOWN else -1), 0), lines - 1)
        case ChooseLine(number) if number != chosen:
            return min(number, lines - 1)
        case _:
            return None


_LEAST_ROWS: Final = 3  # of a list: the chosen line, and what is said of those above and below


def rows_around(rows: Sequence[Line], chosen: int, room: int, glyphs: GlyphSet) -> list[Line]:
    """Return the rows of a list for which there is room, those of the line `chosen` among them.

    At an end where lines are left out, a row says how many; a click on it leads to the nearest of them.
    """
    room = max(room, _LEAST_ROWS)
    if len(rows) <= room:
        return list(rows)
    mine = [at for at, row in enumerate(rows) if _lines_in([row]) == {chosen: 1}]
    last = mine[0] if mine else 0
    while last + 1 in mine:
        last += 1
    first = max(min(last + 2, len(rows)) - room, 0)
    shown = list(rows[first : first + room])
    start, end = first + (first > 0), first + room - (first + room < len(rows))
    above, below = _unseen(rows[:start], rows[start:end], rows[end:])
    if above is not None:
        shown[0] = _row_of_unseen(glyphs.above, above)
    if below is not None:
        shown[-1] = _row_of_unseen(glyphs.below, below)
    return shown


def _row_of_unseen(sign: str, unseen: ChooseUnseen) -> Line:
    text = _("{sign} {n} more").format(sign=sign, n=unseen.count)
    return clickable(line(f"  {text}", "class:faint"), unseen)


def _unseen(
    above: Iterable[Line], shown: Iterable[Line], below: Iterable[Line]
) -> tuple[ChooseUnseen | None, ChooseUnseen | None]:
    """Return how many lines of a list are above and below the rows shown alone, and which is the nearest."""
    seen = _lines_in(shown)
    before = {number: count for number, count in _lines_in(above).items() if number not in seen}
    seen |= before
    after = {number: count for number, count in _lines_in(below).items() if number not in seen}
    return (
        ChooseUnseen(max(before), sum(before.values())) if before else None,
        ChooseUnseen(min(after), sum(after.values())) if after else None,
    )


def _lines_in(rows: Iterable[Line]) -> dict[int, int]:
    """Return the lines of a list that these rows are about, and how many there are at each."""
    found = {}
    for row in rows:
        for *_words, action in row:
            if isinstance(action, ChooseLine):
                found[action.number] = action.count if isinstance(action, ChooseUnseen) else 1
    return found


def choice(text: str, glyphs: GlyphSet, width: int, *, chosen: bool, style: str = "") -> Line:
    if chosen:
        return line(padded(f"{glyphs.pointer} {text}", width), "class:chosen")
    return line(f"  {text}", style)


class List(Struct, frozen=True):
    """A list to choose from, laid out for a window of any size, with a heading above it.

    Values stand `values_at` so many columns after the beginning of the texts. So does what each line is
    about, or it stands `below` the list while the player is on that line; if that line says nothing, what the
    list itself is `about` stands there.
    """

    heading: str
    choices: Choices
    values_at: int
    about: str = ""
    below: bool = True

    def laid_out(self, pane: Pane) -> list[Line]:
        return self._small(pane) if pane.small else self._large(pane)

    def _large(self, pane: Pane) -> list[Line]:
        lines, chosen, width = self.choices.lines, self.choices.chosen, pane.width
        here = lines[chosen].about if self.below and chosen < len(lines) else ""
        told = here or self.about
        below = [EMPTY, *indented(told, width, "class:faint")] if told else []
        above = [EMPTY, *indented(self.heading, width, "class:heading"), EMPTY]
        listed = [self._row(number, pane) for number in range(len(lines))]
        room = pane.height - LOG_LINES - len(below)
        if len(above) + len(listed) > room:
            above = [row for row in above if row]
        return with_news([*above, *rows_around(listed, chosen, room - len(above), pane.glyphs), *below], pane)

    def _row(self, number: int, pane: Pane) -> Line:
        each = self.choices.lines[number]
        sign = EMPTY if each.people is None else chips([each.people]) + line(" ")
        room = pane.width - 2 - width_of(sign)
        value = each.value if self.below else each.value or each.about
        text = padded(each.text, self.values_at) if value else each.text
        value = dotted(value, room - self.values_at)
        if number == self.choices.chosen:
            pointer = line(f"{pane.glyphs.pointer} ", "class:chosen")
            row = pointer + sign + line(padded(text + value, room), "class:chosen")
        else:
            style = each.style if self.below else "class:faint"
            row = line("  ") + sign + line(text, each.style) + line(value, style)
        return clickable(row, ChooseLine(number), pane.width)

    def _small(self, pane: Pane) -> list[Line]:
        """Return the part around the line that the player is on, and below that line what it is about."""
        width = pane.width
        rows = indented(self.heading, width + 2, "class:heading")
        for number, each in enumerate(self.choices.lines):
            chosen = number == self.choices.chosen
            pointer, style = (pane.glyphs.pointer, "class:chosen") if chosen else (" ", each.style)
            for part, words in enumerate(wrapped(each.words, width - 2 - MARK)):
                row = line(padded(f"{' ' if part else pointer} {words}", width), style)
                rows.append(clickable(row, ChooseLine(number)))
            told = wrapped(each.about, width - 4) if chosen else []
            rows += [clickable(line(f"    {row}", "class:faint"), ChooseLine(number), width) for row in told]
        return short_list(pane, [*rows, *indented(self.about, width + 2, "class:faint")])


class Section(Struct, frozen=True):
    """A heading with pieces of text, each kept on one page if it fits."""

    heading: tuple[Line, ...]
    pieces: tuple[tuple[Line, ...], ...]


_HEADS_AGAIN: Final = 12  # lines of a page from which on a section that goes on there has its heading again


def paged(text: Iterable[Section], height: int) -> list[list[Line]]:
    """Return a text split into pages, with no heading at the end of one."""
    height = max(height, 1)
    pages: list[list[Line]] = [[]]
    for section in text:
        whole = len(section.heading) + sum(map(len, section.pieces))
        if pages[-1] and height - len(pages[-1]) - 1 < min(whole, height // 2):
            pages.append([])
        part = (EMPTY, *section.heading)
        for at, piece in enumerate(section.pieces or ((),)):
            part += piece
            if len(pages[-1]) + len(part) > height >= len(part):
                pages.append([])
                if at and height >= _HEADS_AGAIN:
                    part = (*section.heading, *(piece[1:] if piece[:1] == (EMPTY,) else piece))
            for row in part:
                if len(pages[-1]) == height:
                    pages.append([])
                if row or (pages[-1] and pages[-1][-1]):
                    pages[-1].append(row)
            part = ()
    return pages


def sections(lines: Iterable[Line], width: int) -> list[Section]:
    """Return lines, which may be too long, as a text; each line is a piece unless it is a heading."""
    found: list[Section] = []
    for content in lines:
        rows = broken(content, width)
        if content[:1] and content[0][0] == "class:heading":
            found.append(Section(rows, ()))
        else:
            last = found.pop() if found else Section((), ())
            found.append(Section(last.heading, (*last.pieces, rows)))
    return found


def broken(content: Line, width: int) -> tuple[Line, ...]:
    """Return a line as rows of at most so many cells, in the style of its beginning if it takes several."""
    if width_of(content) <= width:
        return (content,)
    style = next((style for style, text, _ in content if text.strip()), "")
    return tuple(line(row, style) for row in wrapped(plain(content), width))


def scrolled(rows: Sequence[Line], top: int, width: int, height: int) -> tuple[list[Line], int]:
    """Return a text from line `top` on, and the last line that it can begin with."""
    last_top = max(len(rows) - height, 0)
    return stacked(rows[min(top, last_top) :], width, height), last_top


def scrolled_to(action: Action, top: int, last_top: int) -> int:
    if action is Act.PAGE_DOWN:
        return min(top + _LINES, last_top)
    return max(min(top, last_top) - _LINES, 0) if action is Act.PAGE_UP else top


def settings(keys_and_words: Iterable[tuple[str, str]], width: int, style: str = "") -> list[Line]:
    rows = []
    for keys, words in keys_and_words:
        first, *others = wrapped(words, width - _SETTING - 2)
        rows.append(line(f"    {keys:<6}", "class:key") + line(first, style))
        rows += [line(f"{'':{_SETTING}}{other}", style) for other in others]
    return rows


_AROUND_A_LIST: Final = 24  # lines of a whole page that a short list leaves out, at most


class ServerScreen(Screen):
    """The common part of screens at a server: a title with the table, the stage and the player."""

    __slots__ = ()
    at_server = True

    def stage(self, model: TableModel) -> str:
        return _("the game is paused") if is_paused(model) else describe_turn(model, names_at(model))

    def place(self, pane: Pane) -> str:
        return self.stage(pane.model)

    def title(self, pane: Pane) -> Line:
        model, dot = pane.model, pane.glyphs.dot
        style = "class:title-turn" if is_called(model) else "class:title"
        table = "" if model.table is None else f" {dot} {table_name(model.table, model.state)}"
        left = line(f" Palatinus{table} {dot} {self.stage(model)}", style)
        watches = model.table is not None and model.seat is None
        who = _("watching") if watches else pane.ui.name
        stops = countdown(pane.ui)
        who = f"{stops} {dot} {who}" if stops else who
        return ends(left, line(f"  {who} ", style), pane.width, style)


class ListScreen(Screen):
    """A list outside any server: `rows` draws it."""

    __slots__ = ()

    def rows(self, pane: Pane) -> list[Line]:
        raise NotImplementedError

    def heading(self, pane: Pane) -> str:
        return f"Palatinus {pane.glyphs.dot} {self.place(pane)}"

    def title(self, pane: Pane) -> Line:
        return ends(line(f" {self.heading(pane)}", "class:title"), EMPTY, pane.width, "class:title")

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        if pane.small:
            return short_list(pane, self.rows(pane.sized(pane.width, pane.height + _AROUND_A_LIST))), 0
        return with_news(self.rows(pane), pane), 0


# Two modules in a cell, the light ones drawn: most terminals without colours are dark.
_HALVES: Final = {(0, 0): "█", (0, 1): "▀", (1, 0): "▄", (1, 1): " "}


@functools.lru_cache(1)
def qr_code(text: str) -> tuple[Line, ...]:
    """Return a QR code as it is drawn on a page."""
    return tuple(line(row, "class:code") for row in qr_rows(text))


def qr_rows(text: str) -> Iterator[str]:
    """Yield the rows of a QR code, as a terminal shows it."""
    import segno  # noqa: PLC0415 - few tables are for phones

    rows = [tuple(row) for row in segno.make_qr(text, error="l").matrix_iter(border=2)]
    below = [*rows[1::2], (1,) * len(rows[0])]  # the number of rows is odd
    for top, bottom in zip(rows[::2], below, strict=True):
        yield "".join(_HALVES[pair] for pair in zip(top, bottom, strict=True))


def is_paused(model: TableModel) -> bool:
    return model.state is not None and model.state.paused is not None


def on_turn(model: TableModel) -> bool:
    return model.seat is not None and model.view is not None and model.view.turn == model.seat


def is_called(model: TableModel) -> bool:
    """Return whether the game waits for this player's move."""
    return on_turn(model) and not is_paused(model)


def short_list(pane: Pane, page: Sequence[Line]) -> list[Line]:
    """Return the part of a list around its chosen line, and the latest news below it."""
    width, height = pane.width, pane.height
    told = news_lines(pane.ui, width, min(LOG_LINES, height // 3), "")
    told = [content for content in told if plain(content).strip()]
    return stacked(shortened(page, width, height - len(told), pane.glyphs), width, height - len(told)) + told

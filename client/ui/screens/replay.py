"""A record on the screen: moving through it, whose eyes see it, and everybody's chances if it is analysed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from msgspec import structs

from client.language import N_, _
from client.records import Analysis, Recording
from client.tables.table import Happened, TableModel
from client.ui import requests
from client.ui.draw.page import Board
from client.ui.draw.panel import heading, pointer
from client.ui.frame import (
    EMPTY,
    READ_ON,
    Line,
    chips,
    curve_style,
    dotted,
    ends,
    first_rows,
    line,
    people_style,
    width_of,
    wrapped,
)
from client.ui.keys import (
    COMMAND,
    COUNTS,
    ON_EVERY_PAGE,
    READ_WHOLE,
    TALK,
    TOGETHER,
    Act,
    Action,
    GoToStop,
    Key,
    Pick,
    PointAt,
)
from client.ui.screens import news, scoring
from client.ui.screens.playing import Playing
from client.ui.state import GamePage, Outcome, Pane, TypedLine, Ui, with_game
from client.ui.texts.advice import explain, in_100, judge
from client.ui.texts.games import (
    describe_deciding,
    describe_progress,
    describe_stopped,
    describe_turn,
    percent,
)
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.names import OwnName, by, called, in_sentences, marked
from client.ui.texts.tables import describe_lead, names_at
from client.ui.texts.turning import describe_turn_of_game, turning_point, what_it_changed
from engine.board import HILLS, Hex
from engine.events import Placed, SeenEvent, TileLaid, WolfPlaced
from engine.pieces import People, Seat
from engine.view import SPECTATOR, Eyes, Phase, View, eyes_of
from protocol.messages import NEW, SeatSummary, Show, Study, TableState


def _type_move(_replay: object, ui: Ui, _model: TableModel) -> Outcome:
    return replace(ui, entry=TypedLine().filled("go ")), None


def all_eyes(replay: "Replay", ui: Ui, _model: TableModel) -> Outcome:
    return with_eyes(ui, replay, replay.recording.all_eyes), None


def no_eyes(replay: "Replay", ui: Ui, _model: TableModel) -> Outcome:
    return with_eyes(ui, replay, SPECTATOR), None


def next_eyes(replay: "Replay", ui: Ui, _model: TableModel) -> Outcome:
    return _with_other_eyes(replay, ui, 1), None


def _last_eyes(replay: "Replay", ui: Ui, _model: TableModel) -> Outcome:
    return _with_other_eyes(replay, ui, -1), None


def _with_other_eyes(replay: "Replay", ui: Ui, by: int) -> Ui:
    every = replay.recording.every_eyes
    if len(every) == 1:
        return ui.with_notice(_(_ONE_VIEW))
    return with_eyes(ui, replay, every[(every.index(replay.eyes) + by) % len(every)])


def go_to_decisive(replay: "Replay", ui: Ui, _model: TableModel) -> Outcome:
    """Go to the next move that decided the game, or say why there is none."""
    if (analysis := replay.analysis) is None:
        return ui if replay.judging else ui.with_notice(_("No record is being analysed here.")), None
    if analysis.deciding:
        numbers = sorted(move.number for move in analysis.deciding)
        return go_to(ui, replay, next((each for each in numbers if each > replay.stop), numbers[0])), None
    return ui.with_notice(
        describe_progress(analysis) if replay.judging else _describe_outcome(replay.recording, analysis)
    ), None


_LOOKING: Final = (
    Key(
        ("right", " ", "enter", "n", "l", "scroll-down"),
        Act.NEXT,
        N_("the next move, or step of the scoring"),
        N_("next"),
        typed=("", "next"),
    ),
    Key(
        ("left", "backspace", "h", "scroll-up"),
        Act.BACK,
        N_("the previous move or step"),
        N_("back"),
        typed=("back",),
    ),
    Key(
        ("down", "pagedown", "j"),
        Act.PAGE_DOWN,
        N_("one round forward, or one hill"),
        N_("round"),
        typed=("next page", "next hill"),
    ),
    Key(("up", "pageup", "k"), Act.PAGE_UP, N_("one round back, or one hill"), typed=("last page",)),
    Key(("escape",), Act.LEAVE, N_("stop the analysis, or leave")),
    Key(("home",), Act.FIRST, N_("to the start")),
    Key(("end",), Act.SKIP, N_("to the end, or the result if there is one"), typed=("result",)),
    Key(("G",), _type_move, N_("go to the move whose number you type"), N_("go to")),
    Key((">",), Act.RUN, N_("play automatically; again: faster; other keys stop"), N_("run")),
    Key(
        ("tab",),
        next_eyes,
        N_("another view: everything, each seat, spectators"),
        N_("view"),
        when=lambda replay, _ui, _model: len(replay.recording.every_eyes) > 1,
    ),
    Key(("s-tab",), _last_eyes, N_("another view: everything, each seat, spectators")),
    *(Key((str(n),), Pick(n), N_("what the seat with that number saw")) for n in range(1, 6)),
    Key(
        ("y",),
        Act.ANALYSE,
        N_("everybody's chances of winning, move by move"),
        N_("analyse"),
        typed=("analyse",),
        when=lambda replay, _ui, _model: replay.wants_analysis,
    ),
    Key(
        ("d",),
        go_to_decisive,
        N_("the next decisive move"),
        N_("decisive"),
        typed=("decisive",),
        when=lambda replay, _ui, _model: replay.analysis is not None and bool(replay.analysis.deciding),
    ),
)
_EYES: Final = tuple(
    Key((name,), act, N_("everything, hands and wolves; what spectators saw"))
    for name, act in (("0", all_eyes), ("-", no_eyes))
)
_READING: Final = (
    COMMAND,
    COUNTS,
    READ_WHOLE,
    *ON_EVERY_PAGE,
)
_PLAY_ON: Final = Key(
    ("p",),
    Act.PLAY_ON,
    N_("play on from here, against bots"),
    N_("play on"),
    typed=("play on",),
    when=lambda replay, _ui, _model: replay.can_play_on and replay.before_last_turn,
)
_GO_ON: Final = N_("play on: against bots; at a new table, open to all")
_KEYS: Final = (*_LOOKING, _PLAY_ON, *_EYES, *_READING)
_KEYS_AT_TABLE: Final = (
    *_LOOKING,
    structs.replace(_PLAY_ON, help=_GO_ON),
    Key(("B",), Act.STUDY, _GO_ON, N_("study"), when=lambda replay, _ui, _model: replay.before_last_turn),
    *_EYES,
    TOGETHER,
    *TALK,
    *_READING,
)


@dataclass(frozen=True, slots=True)
class Companions:
    """The others who look at the same record at a table: the leader's name, and the step.

    The player `leads`, or `follows` the leader.
    """

    leader: str = ""
    step: int = 0
    leads: bool = False
    follows: bool = False


@dataclass(frozen=True, slots=True)
class Replay(GamePage):
    """A record at one of its stops, as `eyes` see it; `table` is the part of the page about the game.

    It `can_analyse` if this program analyses games, and `can_play_on` if games are played on here; `analysis`
    is what there is of that, and it is `judging` as long as there is more to come. There is `company` at the
    table where the game was played.
    """

    recording: Recording
    stop: int
    eyes: Eyes
    own_log: tuple[str, ...] = ()
    can_analyse: bool = False
    can_play_on: bool = False
    analysis: Analysis | None = None
    judging: bool = False
    company: Companions | None = None

    leads_back = True

    @property
    def step(self) -> int:
        """Return the number of the stop, or after the last one of the step of the scoring."""
        if isinstance(self.table, Playing):
            return self.stop
        return self.stop + scoring.step_of(self.table, self.recording.view(self.stop, self.eyes))

    @property
    def wants_analysis(self) -> bool:
        """Return whether there is something left to analyse, and nothing at work on it."""
        started = self.judging or (self.analysis is not None and self.analysis.complete)
        return self.can_analyse and not started

    own_keys = _KEYS

    def keys(self, model: TableModel) -> tuple[Key, ...]:
        return _KEYS if self.company is None else _KEYS_AT_TABLE

    @property
    def before_last_turn(self) -> bool:
        """Return whether a player is to move, so that the game could continue from here."""
        return self.stop <= self.recording.last_turn

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        match action:
            case _ if model.view is None:
                return ui, None
            case Act.ANALYSE if self.wants_analysis:
                scored = not isinstance(self.table, Playing)  # where no chances are shown
                return go_to(ui, self, self.recording.moves) if scored else ui, requests.Errand.ANALYSE
            case Act.PLAY_ON if not self.can_play_on:
                told = _("You can continue a past game from *Past games* on the start screen.")
                return ui.with_notice(told), None
            case Act.PLAY_ON | Act.STUDY if not self.before_last_turn:
                return ui.with_notice(
                    _("The game is over at this point. Go back to a move to continue from.")
                ), None
            case Act.PLAY_ON:
                seat = model.view.turn if model.seat is None else model.seat
                recording = replace(self.recording, names=tuple(map(str, self.recording.names)))
                return ui, None if seat is None else requests.PlayOn(recording, self.stop, seat)
            case Act.STUDY:
                return ui, Study(NEW, self.stop)
            case Act.TOGETHER:
                return _together(ui, self)
            case Act.LEAVE:
                return ui, requests.Errand.STOP_ANALYSIS if self.judging else ui.way_back
            case _:
                return _look(ui, self, action, model.view), None

    def stage(self, model: TableModel) -> str:
        if isinstance(self.table, Playing) and model.view is not None:
            return describe_turn_replayed(model.view, names_at(model))
        return self.table.stage(model)

    def place(self, pane: Pane) -> str:
        everything = self.eyes == self.recording.all_eyes  # which it is unless the player chose otherwise
        stop, stage = describe_stop(self.recording, self.stop), self.stage(pane.model)
        seen = "" if everything else describe_eyes(self.recording, self.eyes)
        first, last = (stop, stage) if isinstance(self.table, Playing) else (stage, stop)
        told = first, describe_company(self.company), seen, last
        return f" {pane.glyphs.dot} ".join(filter(None, told))

    def title(self, pane: Pane) -> Line:
        dot = f" {pane.glyphs.dot} "
        left = " " + dot.join((_("Replay"), describe_stop(self.recording, self.stop)))
        stage = dot + self.stage(pane.model)
        seen = describe_company(self.company), describe_eyes(self.recording, self.eyes)
        right = f"  {dot.join(filter(None, seen))} "
        if width_of(line(left + stage + right)) <= pane.width:
            left += stage
        return ends(line(left, "class:title"), line(right, "class:title"), pane.width, "class:title")

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        if not isinstance(table := self.table, Playing):
            return table.block(pane)
        panel, hand = partial(self._panel, table), table.hand_line
        if self.analysis is not None:
            hand = partial(chances_line, self, self.analysis)
        board = Board(pane.view, table.marks(pane.model), panel, hand=hand, small_panel=panel, share=4)
        return board.laid_out(pane), 0

    def _panel(self, table: Playing, pane: Pane) -> list[Line]:
        """Return the panel of a running game: nobody's own, whichever seat's view is shown."""
        if self.analysis is not None:
            return chances_block(self, self.analysis, pane)
        return structs.replace(table.panel(pane), hand_title=hand_title(pane.model)).of_game()

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        where = describe_stop(self.recording, self.stop), describe_eyes(self.recording, self.eyes)
        scored = () if isinstance(self.table, Playing) else self.table.words(ui, model)
        company = describe_company(self.company)
        told = scored or self.own_log[-self._events_of_move() :]
        return (*told, ", ".join(where), *([f"{company}."] if company else ()))

    def _events_of_move(self) -> int:
        """Return how many events there are from the latest move on, each a line in the log."""
        seen = self.recording.seen(self.stop, self.eyes)
        moves = (n for n, event in enumerate(reversed(seen), 1) if isinstance(event, _MOVES))
        return next(moves, len(seen))


TABLE: Final = "record"
_MOVES: Final = (TileLaid, Placed, WolfPlaced)


def hand_title(model: TableModel) -> str:
    """Return whose hand is shown in a record: no spectator sees one."""
    if model.seat is None:
        return ""
    name = names_at(model)[model.seat]
    return by(name, _("HAND OF {name}"), _("YOUR HAND")).format(name=name)


def open_record(
    recording: Recording,
    stop: int,
    eyes: Eyes,
    *,
    own: Seat | None = None,
    can_analyse: bool = False,
    can_play_on: bool = False,
) -> Ui:
    """Return the UI state when a record is opened at that stop; only a finished game is analysed.

    Sentences about the reader's `own` seat are in the second person.
    """
    page = Replay(
        replace(recording, names=marked(recording.names, own)),
        stop,
        eyes,
        table=Playing(),
        can_analyse=can_analyse and recording.over,
        can_play_on=can_play_on,
    )
    return Ui("", screens=(_with_log(page),))


def begin_analysis(ui: Ui) -> Ui:
    """Return the UI state as long as nothing is known of the analysis that has begun."""
    return ui.with_page(replace(ui.page, judging=True)) if isinstance(ui.page, Replay) else ui


def with_analysis(ui: Ui, analysis: Analysis) -> Ui:
    """Return the UI state with so much of the analysis; more is to come."""
    if not isinstance(ui.page, Replay):
        return ui
    return ui.with_page(replace(ui.page, analysis=analysis, judging=True))


def _together(ui: Ui, replay: Replay) -> Outcome:
    """Return the state after the key to look together: it leads, follows who leads, or ends either."""
    company = replay.company
    if company is None:
        return ui.with_notice(_("Games can be looked at together at the table where they were played.")), None
    if company.leads or not company.leader:
        return ui, Show(NEW, None if company.leads else replay.step)
    return in_company(ui, replace(company, follows=not company.follows)), None


def in_company(ui: Ui, company: Companions) -> Ui:
    """Return the UI state with this company; who follows goes where they are led."""
    if not isinstance(ui.page, Replay):
        return ui
    page = replace(ui.page, company=company)
    if not company.follows or page.step == company.step:
        return ui.with_page(page)
    return go_to(ui, page, company.step)


def on_own_way(ui: Ui) -> Ui:
    """Return the UI state, no longer following a leader who is at another step."""
    page = ui.page
    if not isinstance(page, Replay) or page.company is None or not page.company.follows:
        return ui
    if page.step == page.company.step:
        return ui
    return ui.with_page(replace(page, company=replace(page.company, follows=False)))


def after_analysis(ui: Ui) -> Ui:
    """Return the UI state after the last part of the analysis, with the moves that decided the game.

    Who has not gone to a move yet, and follows nobody, is led to the one that decided most.
    """
    if not isinstance(ui.page, Replay):
        return ui
    page = replace(ui.page, judging=False)
    if (analysis := page.analysis) is None:
        return ui.with_page(page)
    follows = page.company is not None and page.company.follows
    turning = turning_point(analysis) if analysis.complete else None
    stays = follows or page.stop not in {0, page.recording.moves}
    there = ui.with_page(page) if turning is None or stays else go_to(ui, page, turning.number)
    return there.with_notice(_describe_outcome(page.recording, analysis))


def describe_turning(replay: Replay) -> str:
    """Return at which move the game turned; "" if its analysis is not complete, or knows of none."""
    analysis = replay.analysis
    if analysis is None or not analysis.complete or (turning := turning_point(analysis)) is None:
        return ""
    return describe_turn_of_game(replay.recording, turning)


def _describe_outcome(recording: Recording, analysis: Analysis) -> str:
    """Return what decided the game, or how far the analysis came before it was stopped."""
    if not analysis.complete:
        return describe_stopped(analysis)
    if (turning := turning_point(analysis)) is None:
        return _("No single move decided the game.")
    told = describe_turn_of_game(recording, turning), what_it_changed(recording, turning)
    return " ".join(filter(None, (*told, describe_deciding(analysis) if len(analysis.deciding) > 1 else "")))


def seen_in(ui: Ui) -> TableModel:
    return _model(ui.page) if isinstance(ui.page, Replay) else TableModel()


def _model(replay: Replay) -> TableModel:
    """Return the table at a stop: the hand shown is that of the seat looking, or of the seat to move."""
    recording = replay.recording
    view = recording.view(replay.stop, replay.eyes)
    seat = view.turn if len(replay.eyes) > 1 else next(iter(replay.eyes), None)
    seats = [SeatSummary(name, here=True) for name in recording.names]
    state = TableState(TABLE, "playing", seats, 0)
    return TableModel(TABLE, seat, state=state, view=view, recorded=True)


def _look(ui: Ui, replay: Replay, action: Action, view: View) -> Ui:
    """Return the UI state after a key or a click; `view` is what is on the screen."""
    recording = replay.recording
    match replay.table, action:
        case Playing() as table, PointAt(cell):
            return with_game(ui, replace(table, cursor=cell))
        case Playing(), Act.NEXT:
            return go_to(ui, replay, replay.stop + 1)
        case (Playing(), Act.BACK) | (scoring.Scoring(0), Act.BACK | Act.PAGE_UP):
            return go_to(ui, replay, replay.stop - 1)
        case Playing(), Act.PAGE_DOWN:
            # The last round leads to the last move first: the board is complete there, and not yet scored.
            last = recording.moves if replay.stop < recording.moves else recording.end
            return go_to(ui, replay, min(replay.stop + view.seats, last))
        case Playing(), Act.PAGE_UP:
            return go_to(ui, replay, replay.stop - view.seats)
        case _, Act.FIRST:
            return go_to(ui, replay, 0)
        case _, GoToStop(stop):
            return go_to(ui, replay, stop)
        case _, Act.SKIP:
            return go_to(ui, replay, _LAST)
        case (scoring.Scoring() | scoring.Result()) as table, _:
            if (step := scoring.step_after(table, action, view)) is not None:
                return with_game(ui, scoring.at_step(view, step))
    match action:
        case Act.ANALYSE if not replay.can_analyse and not recording.over:
            return ui.with_notice(_("Only a finished game can be analysed."))
        case Pick(number) if number - 1 in recording.seats:
            return with_eyes(ui, replay, eyes_of(Seat(number - 1)))
        case Pick(number):
            return ui.with_notice(_("Nobody sits in seat {seat}.").format(seat=number))
        case _:
            return ui


_ONE_VIEW: Final = N_("While the game is running, you can see it only from your own seat.")
_LAST: Final = 1_000_000  # a step after all others: the result, if there is one


def go_to(ui: Ui, replay: Replay, step: int) -> Ui:
    """Return the UI state at a stop or, after the last one, at a step of the scoring."""
    recording = replay.recording
    there = ui.with_page(_with_log(replace(replay, stop=min(max(step, 0), recording.end))))
    if step <= recording.end or not recording.over:
        return there
    view = recording.view(recording.end, replay.eyes)
    return with_game(there, scoring.at_step(view, step - recording.end))


def with_eyes(ui: Ui, replay: Replay, eyes: Eyes) -> Ui:
    if eyes not in replay.recording.every_eyes:
        return ui.with_notice(_(_ONE_VIEW))
    there = ui.with_page(_with_log(replace(replay, eyes=eyes)))
    match replay.table, there.page.game:
        case Playing(cursor=cursor), Playing() as table:
            return with_game(there, replace(table, cursor=cursor))
        case table, _:
            return with_game(there, table)


def _with_log(replay: Replay) -> Replay:
    """Return the page at its stop, with what has happened until then, the cursor at the last move."""
    seen = replay.recording.seen(replay.stop, replay.eyes)
    model = _model(replay)
    over = model.view is not None and model.view.phase is Phase.OVER
    there = replace(replay, table=scoring.Scoring() if over else Playing())
    after = news.after_update(Ui("", screens=(there,)), Happened(seen, len(seen)), model)
    table = after.page.game
    if isinstance(table, Playing):
        table = replace(table, cursor=_latest(replay, seen))
    assert table is not None  # noqa: S101 - it is the game's
    return replace(there, table=table, own_log=after.log)


def _latest(replay: Replay, seen: tuple[SeenEvent, ...]) -> Hex:
    """Return the hex that the last move was about, so that the panel explains it."""
    for event in reversed(seen):
        if isinstance(event, TileLaid):
            return HILLS[event.position]
        if isinstance(event, Placed | WolfPlaced):
            return replay.recording.view(replay.stop, replay.eyes).layout.hexes[event.field]
    return HILLS[0]


def describe_stop(recording: Recording, stop: int) -> str:
    return _("move {number} of {last}").format(number=min(stop, recording.moves), last=recording.moves)


def describe_turn_replayed(view: View, names: Sequence[str]) -> str:
    """Return whose turn it was, whichever seat's view is shown."""
    if view.turn is None:
        return _("all pieces placed")
    own = view.turn if isinstance(names[view.turn], OwnName) else None
    return describe_turn(TableModel(TABLE, own, view=view), names)


def describe_eyes(recording: Recording, eyes: Eyes) -> str:
    if not eyes:
        return _("seen by spectators")
    if len(eyes) > 1:
        return _("everything shown")
    name = recording.names[next(iter(eyes))]
    return by(name, _("seen by {name}"), _("seen by you")).format(name=name)


def describe_company(company: Companions | None) -> str:
    if company is None or not company.leader:
        return ""
    return describe_lead(company.leader, leads=company.leads, follows=company.follows)


_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_DECIDING: Final = "^"
_HERE: Final = "|"


def curve_lines(
    chances: Sequence[float], here: int | None, people: People, glyphs: GlyphSet, height: int
) -> list[Line]:
    """Return one seat's chances in so many lines, a cell for each moment; `here` is the one looked at.

    The bars are in the colour of the seat's people, on the ground of the terminal.

    In ASCII it is one line of digits: tens of per cent, rounded down, and 9 for all above 90.
    """
    if glyphs.ascii:
        return [
            _row([str(min(int(chance * 10), 9)) for chance in chances], here, people, people_style(people))
        ]
    rows = []
    for row in reversed(range(height)):
        parts = [max(0, min(8, round(chance * 8 * height) - 8 * row)) for chance in chances]
        # The lowest line shows that there is somebody, however little the chance.
        signs = [_EIGHTHS[max(part, not row)] for part in parts]
        rows.append(_row(signs, here, people, curve_style(people)))
    return rows


def marks_line(count: int, here: int | None, deciding: Iterable[int]) -> Line:
    """Return the line below the curves: the moments that decided most, and the current one."""
    signs = [" "] * count
    for moment in deciding:
        signs[moment] = _DECIDING
    if here is not None and signs[here] == " ":
        signs[here] = _HERE
    return line("".join(signs), "class:faint")


def moments_shown(count: int, width: int, keep: Iterable[int]) -> list[int]:
    """Return which of `count` moments are shown in so many cells: evenly spread ones, and those to keep."""
    if count <= width:
        return list(range(count))
    kept = set(sorted(set(keep))[:width])
    cells = sorted(kept.union(round(cell * (count - 1) / max(width - 1, 1)) for cell in range(width)))
    while len(cells) > width:  # the moment that stands closest between its neighbours makes room
        inner = [at for at, moment in enumerate(cells) if moment not in kept]
        del cells[min(inner, key=lambda at: cells[min(at + 1, len(cells) - 1)] - cells[max(at - 1, 0)])]
    return cells


def _row(signs: Sequence[str], here: int | None, people: People, style: str) -> Line:
    if here is None:
        return line("".join(signs), style)
    before, at, later = "".join(signs[:here]), signs[here], "".join(signs[here + 1 :])
    return line(before, style) + line(at, f"{people_style(people)} reverse") + line(later, style)


_TEXT_ROWS: Final = 8  # that higher curves leave for what is told below them
_HIGHEST: Final = 4  # lines of a curve


def chances_block(replay: Replay, analysis: Analysis, pane: Pane) -> list[Line]:
    """Return the chances at the stop that is shown, and before and after it."""
    view, glyphs, width, height = pane.view, pane.glyphs, pane.width, pane.height
    rows = [heading(_("CHANCES"), width, _progress(replay, analysis))]
    spare = height - 2 - _TEXT_ROWS - view.seats
    each = 1 if glyphs.ascii else max(1, min(_HIGHEST, spare // view.seats))
    moment = replay.stop - analysis.first
    here = moment if 0 <= moment < len(analysis.curve) else None
    marked = [move.number - analysis.first for move in analysis.deciding]
    cells = moments_shown(analysis.wanted + 1, width, marked if here is None else [*marked, here])
    judged = [moment for moment in cells if moment < len(analysis.curve)]
    at = judged.index(here) if here in judged else None
    move = analysis.move_at(replay.stop)
    for seat in map(Seat, range(view.seats)):
        moved = move is not None and move.seat == seat
        who = pointer(glyphs, shown=moved) + chips(view.start.peoples[seat])
        rows.append(_player(replay, analysis, seat, who, width))
        chances = [analysis.curve[moment][seat] for moment in judged]
        rows += curve_lines(chances, at, view.start.peoples[seat][0], glyphs, each)
    marks = [judged.index(moment) for moment in marked if moment in judged]
    rows.append(marks_line(len(judged), at, marks))
    told = [row for sentence in told_of_move(replay, analysis) for row in wrapped(sentence, width - 1)]
    shown = first_rows(told, height - len(rows) - 1, width, READ_ON)
    return [*rows, EMPTY, *map(line, shown)]


def chances_line(replay: Replay, analysis: Analysis, pane: Pane) -> Line:
    if (chances := analysis.at(replay.stop)) is None:
        return line(dotted(f" {_outside(replay, analysis)}", pane.width), "class:faint")
    peoples = zip(pane.view.start.peoples, chances, strict=True)
    left = sum(
        (part for own, chance in peoples for part in (chips(own[:1]), line(f" {percent(chance)} "))), EMPTY
    )
    progress = line(f"{_progress(replay, analysis)} ", "class:faint")
    fits = width_of(left) + width_of(progress) <= pane.width
    return ends(left, progress, pane.width) if fits else left


def _progress(replay: Replay, analysis: Analysis) -> str:
    return f"{len(analysis.moves)}/{analysis.wanted}" if replay.judging else ""


def _player(replay: Replay, analysis: Analysis, seat: Seat, who: Line, width: int) -> Line:
    """Return who it is, the chance at this stop, and what the last move has changed."""
    move, chances = analysis.move_at(replay.stop), analysis.at(replay.stop)
    left = who + line(f" {called(in_sentences(replay.recording.names)[seat])}")
    if chances is None:
        return ends(left, EMPTY, width)
    before = "" if move is None else f"{in_100(move.before[seat])} -> "
    return ends(left, line(f" {before}{percent(chances[seat])}", "class:mine"), width)


def told_of_move(replay: Replay, analysis: Analysis) -> list[str]:
    """Return the move before the current stop, in words."""
    move = analysis.move_at(replay.stop)
    if move is None:
        waits = replay.judging and not analysis.complete
        awaited = _("What decided the game is told when all its moves are analysed.") if waits else ""
        return [*filter(None, (_outside(replay, analysis), awaited))]
    if move in analysis.deciding:
        turned = analysis.complete and move == turning_point(analysis)
        told = [_("Here the game turned.") if turned else _("This move is one of those that decided most.")]
        told += filter(None, [what_it_changed(replay.recording, move)])
        return [*told, *judge(replay.recording, move)]
    return explain(replay.recording, move) or [_("No clearly better move was found.")]


def _outside(replay: Replay, analysis: Analysis) -> str:
    if analysis.at(replay.stop) is not None:
        return _("The chances before the first piece.")
    if replay.stop < analysis.first:
        return _("Chances are estimated from move {number} on.").format(number=analysis.first)
    return _("This move has not been analysed yet.") if replay.judging else _("This move was not analysed.")

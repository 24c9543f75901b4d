"""After a game: the walk through the scoring, the result, and what follows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from msgspec import Struct, structs

from client.language import N_, _, labelled, listed
from client.levels import describe_level, stronger_than
from client.tables.draws import describe_draws, describe_fault, is_plainly_right
from client.tables.table import TableModel
from client.ui.draw.page import (
    LOG_LINES,
    Board,
    ServerScreen,
    name_or_sign,
    news_lines,
    with_news,
    words_now,
)
from client.ui.draw.panel import heading, pointer
from client.ui.frame import (
    EMPTY,
    Line,
    chips,
    clickable,
    curve_style,
    ends,
    first_rows,
    fitted,
    indented,
    line,
    people_style,
    stacked,
    width_of,
    wrapped,
)
from client.ui.keys import AT_TABLE, EVENING, ON_EVERY_PAGE, READ_WHOLE, Act, Action, Key, PointAt
from client.ui.leads import new_leaders
from client.ui.led_walk import describe_seen, describe_seen_in_brief, is_led, leads, seen, show, step_shown
from client.ui.requests import Review
from client.ui.screens.action import May
from client.ui.screens.actions import (
    AGAIN,
    ANALYSE,
    APPLAUD,
    LEAVE,
    PICTURE,
    REVIEW,
    SAVE,
    STUDY,
    TOGETHER,
    keys_at,
)
from client.ui.screens.arguments import heirs
from client.ui.screens.menu import At
from client.ui.spots import NOBODY, Marks
from client.ui.state import Outcome, Pane, Screen, Sign, Ui
from client.ui.texts import games
from client.ui.texts.bluffs import Unmasked, describe_bluff, unmasked
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.manners import farewell
from client.ui.texts.names import by, called, in_sentences
from client.ui.texts.pieces import NAMED_SIGNS, kind_sentence, kind_words, piece_sign
from client.ui.texts.story import captives_of, story, what_it_means
from client.ui.texts.tables import describe_lead, names_at, players_at, who_leads
from engine import events
from engine.board import Field, Tile
from engine.components import LAUREL_WORTH
from engine.pieces import Piece, Seat, Wolf
from engine.scoring import points_won
from engine.view import View
from protocol.bot_names import level_of
from protocol.messages import NEW, Leave, Seen, Show, TableState

_BACK: Final = Key(
    ("left", "backspace", "h", "up", "k", "scroll-up"),
    Act.BACK,
    N_("one step back"),
    N_("back"),
    typed=("back",),
)
_FIRST: Final = Key(("home",), Act.FIRST, N_("back to the first step"), N_("from the start"))
_SKIP: Final = Key(("escape", "end"), Act.SKIP, N_("skip to the result"), N_("result"), typed=("result",))
SCORING_KEYS: Final = (
    Key(
        ("enter", " ", "right", "n", "l", "down", "j", "scroll-down"),
        Act.NEXT,
        N_("the next step"),
        N_("next"),
        typed=("", "next"),
    ),
    _BACK,
    Key(("tab", "pagedown"), Act.NEXT_HILL, N_("go to the next hill"), N_("next hill"), typed=("next hill",)),
    _SKIP,
    Key((">",), Act.RUN, N_("play automatically; again: faster; other keys stop"), N_("run")),
    _FIRST,
    READ_WHOLE,
    *TOGETHER.keys_offered(),
    *APPLAUD.keys_offered(),
    *STUDY.keys_offered(),
    *AT_TABLE,
    *ON_EVERY_PAGE,
)
_LED_KEYS: Final = (
    Key(("enter", " "), Act.SEEN, N_("say that you have seen this"), N_("seen"), typed=("", "seen")),
    Key(
        ("right", "n", "l", "down", "j", "scroll-down"),
        Act.NEXT,
        N_("continue alone"),
        N_("continue alone"),
        typed=("next",),
    ),
    *SCORING_KEYS[1:],
)
# As long as nothing has been seen of it: whoever presses a key for the move before must not miss it.
_BEGUN_KEYS: Final = tuple(
    part
    for key in SCORING_KEYS
    for part in (
        (
            Key(("escape",), Act.SKIP_UNSEEN, key.help, key.short),
            Key(("end",), Act.SKIP, key.help, typed=key.typed),
        )
        if key is _SKIP
        else (key,)
    )
)
RESULT_KEYS: Final = (
    EVENING,  # where the next game is, if there is one
    _BACK,
    _FIRST,
    *keys_at("over"),
    Key(READ_WHOLE.names, Act.WHOLE, N_("the log in full, and what the check of the draws says")),
    *LEAVE.keys,
    *(key for key in AT_TABLE if key is not EVENING),
    *ON_EVERY_PAGE,
)


class _Walk(ServerScreen):
    """The walk through the scoring; the result is drawn so as long as it is not known.

    If somebody else leads everybody through it, the player follows or walks `alone`.
    """

    __slots__ = ()
    after_end = True
    alone: bool

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        if (view := model.view) is None:
            return ui, None
        if (step := step_after(self, action, view)) is not None:
            return ui.with_page(at_step(view, step, alone=is_led(model))), None
        if action is Act.TOGETHER:
            return self._together(ui, model, view)
        return ui, Leave(NEW) if action is Act.LEAVE else None

    def follows(self, model: TableModel) -> bool:
        """Return whether the player is led through the scoring."""
        return is_led(model) and not self.alone

    def _together(self, ui: Ui, model: TableModel, view: View) -> Outcome:
        """Lead through the scoring, follow, or stop that; where that is impossible, look at the record."""
        state, led = model.state, step_shown(model.state, view)
        if state is None or TOGETHER.may(At(ui, model)) is not May.YES:
            return ui, None
        begins = state.shown is None and model.seat is not None
        if isinstance(self, Scoring) and (begins or leads(model)):
            return ui, show(state, view, self.step) if begins else Show(NEW)
        if led is None or leads(model):
            return ui, Review(together=True)
        alone = not self.alone
        return ui.with_page(at_step(view, step_of(self, view) if alone else led, alone=alone)), None

    def _company(self, model: TableModel) -> str:
        """Return who leads through the scoring, in a few words; empty if nobody does."""
        if (state := model.state) is None or step_shown(state, model.view) is None:
            return ""
        return describe_lead(who_leads(state), leads=leads(model), follows=self.follows(model))

    def stage(self, model: TableModel) -> str:
        return ", ".join(filter(None, (self._part(model), self._company(model))))

    def _part(self, model: TableModel) -> str:
        """Return what is scored at this step."""
        if (view := model.view) is None:
            return ""
        step = step_of(self, view)
        if steps(view)[step].turned:
            return _("the wolves turn up")
        if (hill := steps(view)[step].hill) is not None:
            return _("scoring hill {hill}").format(hill=hill)
        return _("the result") if step else _("the scoring")

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        scene = self.scene(pane)
        told = scene.sentence
        explains = pane.ui.explains is not None and pane.ui.explains.wanted
        if explains and step_of(self, pane.view) == 0 and not self.follows(pane.model):
            told = f"{told} {_explained()}"
        if _told_to_lead(pane.ui, pane.model) and step_of(self, pane.view) == 0:
            told = " ".join((told, _("f: lead everybody through the scoring")))
        told_before = structs.replace(pane, ui=self._with_hills(pane))
        return Board(scene.board, scene.marks, self.panel_block, told).laid_out(told_before), 0

    def _with_hills(self, pane: Pane) -> Ui:
        """Return the state with the hills scored so far in the log, and what else has come since the end."""
        view, names, ui = pane.view, names_at(pane.model), pane.ui
        hills = tuple(
            sentence_with_meaning(view, number, names)
            for number, step in enumerate(steps(view)[: step_of(self, view)])
            if isinstance(step.event, events.HillScored) and step.counting is None
        )
        since = ui.log[len(ui.log) - ui.since_end :] if ui.page is self else ()
        log = (*hills, *since)
        return replace(ui.with_page(self), log=log, since_end=len(log), scroll=0)

    def panel_block(self, pane: Pane) -> list[Line]:
        step, last = step_of(self, pane.view), last_step(pane.view)
        number = _("step {number} of {last}").format(number=step + 1, last=last + 1)
        return ScoringPanel(self.scene(pane), pane).block(number)

    def scene(self, pane: Pane) -> "Scene":
        return scene(pane.view, step_of(self, pane.view), names_at(pane.model))

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        if (view := model.view) is None:
            return ()
        step, names = steps(view)[step_of(self, view)], names_at(model)
        told = sentence_with_meaning(view, step_of(self, view), names)
        heard = describe_seen(model) if seen(model, step_of(self, view)) is None else ()
        if not isinstance(step.event, events.WolvesRevealed):
            return (told, *heard)
        begins = (games.describe_event(step.event, names),) if len(step.turned) < 2 else ()
        led = _told_to_lead(ui, model)
        wolves = (
            self._in_words(each, names[view.owners[each.field]])
            for seat in step.turned[-1:]
            for each in _wolves_of(view, seat)
        )
        return (
            *begins,
            told,
            *wolves,
            _("An empty line says that you have seen this; next continues alone.")
            if self.follows(model)
            else _("An empty line shows what is scored next; result leads to the end."),
            *([_("To lead everybody through the scoring, type together.")] if led else ()),
            *heard,
        )

    def _in_words(self, wolf: Unmasked, name: str) -> str:
        """Return what a wolf is, and what it had looked like."""
        form = by(name, _("{name}'s wolf on {field}: {kind}"), _("Your wolf on {field}: {kind}"))
        guess = labelled(_("looked like"), kind_words(Piece.of(wolf.piece.people, wolf.guess)))
        told = form.format(name=name, field=wolf.field, kind=kind_sentence(wolf.piece))
        return f"{told} ({guess} {wolf.chance:.0%})"

    @property
    def game(self) -> Screen:
        return self


def _may_lead(model: TableModel) -> bool:
    """Return whether there are others whom the player could lead, and nobody else does."""
    alone = model.state is None or model.state.shown is not None or model.seat is None
    return not alone and bool(heirs(model))


def _told_to_lead(ui: Ui, model: TableModel) -> bool:
    """Return whether the player is told how to lead: nobody would follow in a game against bots alone."""
    return _may_lead(model) and not ui.offers.private


def _explained() -> str:
    """Return what the scoring of a first game is."""
    return _(
        "On each hill soldiers act first, then influence is counted. "
        "Enter: next, Tab: next hill, Esc: result."
    )


@dataclass(frozen=True, slots=True)
class Scoring(_Walk):
    """The walk through the scoring, at one of its steps before the last.

    It has `begun` this moment if the game has just ended: whoever skips it then is asked to do so again.
    """

    step: int = 0
    begun: bool = False
    alone: bool = False

    own_keys = SCORING_KEYS
    reads_on = True

    def keys(self, model: TableModel) -> tuple[Key, ...]:
        on, *others = _BEGUN_KEYS if self.begun else self.own_keys
        walks = _LED_KEYS[:2] if self.follows(model) and model.seat is not None else (on,)
        if heirs(model):
            others = [each for each in others if each.action is not Act.TOGETHER]
            others[:0] = (
                structs.replace(key, short=self._word_for_company(model)) for key in TOGETHER.keys_offered()
            )
        again = AGAIN.keys_offered() if _again(model) else ()
        return (*again, *walks, *others)

    def _word_for_company(self, model: TableModel) -> str:
        """Return what the key of those who look together does now."""
        if is_led(model):
            return N_("follow") if self.alone else N_("stop following")
        if leads(model):
            return N_("stop leading")
        return N_("lead everybody") if _may_lead(model) else N_("together")

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        follows = self.follows(model) and model.seat is not None
        if action is Act.SEEN or (follows and isinstance(action, PointAt)):
            return self._say_seen(ui, model)
        if action is Act.NEXT and model.view is not None:
            step = step_shown_after(model.view, self.step)
            return ui.with_page(at_step(model.view, step, alone=is_led(model))), None
        if action is Act.SKIP_UNSEEN:
            text = _("The game is over, and the wolves turn up. Press Esc again to skip the scoring.")
            return ui.with_page(replace(self, begun=False)).with_notice(text), None
        return _Walk.act(self, ui, action, model)

    def _say_seen(self, ui: Ui, model: TableModel) -> Outcome:
        if (request := seen(model, self.step)) is not None or model.state is None:
            return ui, request
        told = _("{name} is still at this step. To continue alone, press Right or type next.")
        return ui.with_notice(told.format(name=who_leads(model.state))), None


@dataclass(frozen=True, slots=True)
class Result(_Walk):
    """The points and the winners: the last step of the walk through the scoring.

    `turned` says at which move the game turned, once it has been analysed.
    """

    alone: bool = False
    turned: str = ""

    own_keys = RESULT_KEYS

    def _part(self, model: TableModel) -> str:
        return _("the result")

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        if (ended := pane.view.result) is None:
            return _Walk.block(self, pane)
        if not pane.small:
            return with_news(result_page(pane), pane, _who_is_done(pane.model)), 0
        names, again, width, height = names_at(pane.model), _again(pane.model), pane.width, pane.height
        points = []
        for seat in in_order(ended):
            who = chips(pane.view.start.peoples[seat]) + name_or_sign(
                pane.ui.signs, seat, called(players_at(pane.model)[seat])
            )
            points.append(ends(who, line(f" {ended.tallies[seat].points:>2} "), width))
        asked = words_now(pane.ui, width, max(height // 3, 1), again)
        room = max(height - len(points) - len(asked), 0)
        warning = first_rows(wrapped(_describe_draws(pane.ui, pane.model)[0], width), room, width)
        won = first_rows(wrapped(games.describe_result(ended, names), width), room - len(warning), width)
        lines = [line(row, "class:refusal") for row in warning]
        lines += [*(line(row, "class:heading") for row in won), *points]
        choices = _choices(pane)
        if len(lines) + len(choices) + len(asked) <= height:
            lines += choices
        news = news_lines(pane.ui, width, min(height - len(lines), LOG_LINES), again)
        for sentence in filter(None, (self.turned, *story(pane.view, names, pane.model.seat))):
            told = [line(row) for row in wrapped(sentence, width)]
            if len(lines) + len(told) > height - len(news):
                break
            lines += told
        return stacked(lines, width, height - len(news)) + news, 0

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        """Return the result as sentences."""
        if model.view is None or (ended := model.view.result) is None:
            return _Walk.words(self, ui, model)
        names, order, (fault, draws) = (
            names_at(model),
            in_order(ended),
            _describe_draws(ui, model, in_full=True),
        )
        rows = []
        for seat in order:
            amounts = amounts_of(ended.tallies[seat])
            told = ", ".join(labelled(_(COLUMNS[at][0]), amounts[at]) for at in _columns(ended))
            rows.append(labelled(called(names[seat]), told))
        laurels = (_laurels(ended, seat, names) for seat in order)
        won = games.describe_result(ended, names)
        after = *story(model.view, names, model.seat), _next_level(model), farewell(model, ui.talk.hears)
        result = (won, *rows, *laurels, _tie(ended, names), self.turned, *after)
        possible = _possible(ui, model) if ui.page.at_server else ()  # a record has commands of its own
        options = ", ".join(f"{each.verb} ({each.names})" if each.names else each.verb for each in possible)
        now = labelled(_("You can type"), options) if options else ""
        return [each for each in (fault, *result, _standings(model), draws, _again(model), now) if each]


def at_step(view: View, step: int, *, alone: bool = False) -> Scoring | Result:
    return Scoring(max(step, 0), alone=alone) if step < last_step(view) else Result(alone)


def to_tell(page: Screen, model: TableModel) -> Show | Seen | None:
    """Return what the others are to be told of the player's step: the leader's, or the first seen alone."""
    state, view = model.state, model.view
    if state is None or view is None or not isinstance(page, Scoring | Result):
        return None
    step = step_of(page, view)
    if leads(model):
        return show(state, view, step)
    return seen(model, step) if page.alone or isinstance(page, Result) else None


def step_of(page: Screen, view: View) -> int:
    """Return the step of the walk that a page shows, the last one if it is the result."""
    last = last_step(view)
    return min(page.step, last) if isinstance(page, Scoring) else last


def step_after(page: Screen, action: Action, view: View) -> int | None:
    """Return the step of the walk that an action leads to, None if it leads to none."""
    step, hills = step_of(page, view), [each.hill for each in steps(view)]
    match action:
        case Act.NEXT | PointAt():
            return step + 1
        case Act.BACK:
            return step - 1
        case Act.NEXT_HILL | Act.PAGE_DOWN:  # or the result after the last one
            return next((at for at in range(step, len(hills)) if hills[at] != hills[step]), len(hills) - 1)
        case Act.PAGE_UP:  # the first step of this hill or, from there, of the one before
            return hills.index(hills[step - 1])
        case Act.FIRST:
            return 0
        case Act.SKIP:
            return len(hills) - 1
        case _:
            return None


def step_shown_after(view: View, step: int) -> int:
    """Return the step after this one, without the pieces of a hill about which there is no doubt."""
    found = steps(view)
    after = min(step + 1, len(found) - 1)
    while found[after].counting is not None and _is_clear(view, found[after].event):
        after += 1
    return after


def _is_clear(view: View, event: events.ScoringEvent) -> bool:
    """Return whether a hill goes to somebody with twice as much as anybody else, and decides nothing."""
    if not isinstance(event, events.HillScored):
        return False
    best, second = sorted(event.influence, reverse=True)[:2]
    return best >= 2 * second and not what_it_means(view, event, [""] * view.seats)


def decides(view: View, step: int) -> bool:
    """Return whether the lead changes, or becomes out of reach, with this step."""
    shown = steps(view)[step]
    if not isinstance(shown.event, events.HillScored) or shown.counting is not None:
        return False
    return bool(what_it_means(view, shown.event, [""] * view.seats))


def last_step(view: View) -> int:
    return len(steps(view)) - 1


class WalkStep(Struct, frozen=True):
    """A step of the walk-through: a scoring event, after `earlier` ones, or one piece's part in it.

    `counted` are the pieces whose influence has been counted, the last one being `counting`. Wolves turn up
    one player after the other: `turned` are those whose wolves have, the last one just now.
    """

    event: events.ScoringEvent
    earlier: tuple[events.ScoringEvent, ...]
    turned: tuple[Seat, ...] = ()
    counted: tuple[events.Influence, ...] = ()
    counting: events.Influence | None = None

    @property
    def hill(self) -> Tile | None:
        """Return the hill that is being scored; None before the first and after the last."""
        of_a_hill = events.SoldierFled | events.Captured | events.HillScored
        return self.event.hill if isinstance(self.event, of_a_hill) else None


def steps(view: View) -> list[WalkStep]:
    found: list[WalkStep] = []
    for index, event in enumerate(view.scoring):
        earlier = view.scoring[:index]
        if isinstance(event, events.WolvesRevealed) and (owners := _wolf_owners(view, event)):
            found += (WalkStep(event, earlier, owners[: at + 1]) for at in range(len(owners)))
            continue
        pieces = event.pieces if isinstance(event, events.HillScored) else ()
        found += (WalkStep(event, earlier, (), pieces[: at + 1], each) for at, each in enumerate(pieces))
        found.append(WalkStep(event, earlier, (), pieces))
    return found


def _wolf_owners(view: View, event: events.WolvesRevealed) -> tuple[Seat, ...]:
    return tuple(Seat(seat) for seat in sorted({view.owners[field] for field in event.pieces}))


def _wolves_of(view: View, seat: Seat) -> list[Unmasked]:
    return [each for each in unmasked(view).values() if view.owners[each.field] == seat]


def _before_scoring(view: View, turned: Iterable[Seat]) -> View:
    """Return the board before the scoring, with the wolves up that these seats have turned, and one's own."""
    up = {*view.eyes, *turned}
    down = {
        field: Wolf.of(piece.people)
        for event in view.scoring
        if isinstance(event, events.WolvesRevealed)
        for field, piece in event.pieces.items()
        if view.owners[field] not in up
    }
    return replace(view, placed={**view.placed, **down}, gone=set(), scoring=(), result=None)


def _describe_turned(view: View, turned: Sequence[Seat], names: Sequence[str]) -> str:
    """Return whose wolves turn up, which of them is a surprise, and on which hills that changes the lead."""
    whose = by(names[turned[-1]], _("{name}'s wolves turn up."), _("Your wolves turn up."))
    told = [whose.format(name=names[turned[-1]])]
    told.append(describe_bluff(_wolves_of(view, turned[-1])))
    for was, now in new_leaders(_before_scoring(view, turned[:-1]), _before_scoring(view, turned)):
        if now.leader is not None:
            form = by(
                names[now.leader],
                _("{name} leads on hill {hill}, not {other}."),
                _("You lead on hill {hill}, not {other}."),
            )
            told.append(form.format(name=names[now.leader], hill=now.hill, other=called(names[was])))
    return " ".join(filter(None, told))


def steps_in_brief(view: View) -> list[int]:
    """Return the numbers of the steps that remain if a hill's pieces are not counted one by one."""
    return [number for number, step in enumerate(steps(view)) if step.counting is None]


def sentence(view: View, number: int, names: Sequence[str]) -> str:
    step = steps(view)[number]
    if step.counting is not None:
        return games.describe_influence(step.counting, names)
    return games.describe_event(step.event, names)


def sentence_with_meaning(view: View, number: int, names: Sequence[str]) -> str:
    """Return a step in a sentence, with the effect of a scored hill on the game."""
    step, told = steps(view)[number], sentence(view, number, names)
    if step.turned:
        return _describe_turned(view, step.turned, names)
    if step.counting is None and isinstance(step.event, events.HillScored):
        return f"{told} {what_it_means(view, step.event, names)}".rstrip()
    return told


class Scene(Struct, frozen=True):
    """A step of the walk-through, ready to be drawn.

    `acts` are the actions of the hill's soldiers, `points` each seat's points so far.
    """

    step: WalkStep
    board: View
    marks: Marks
    sentence: str
    acts: tuple[events.SoldierFled | events.Captured, ...]
    points: tuple[int, ...]
    captives: tuple[tuple[Piece, ...], ...]


def scene(view: View, number: int, names: Sequence[str]) -> Scene:
    step = steps(view)[number]
    event, earlier = step.event, step.earlier
    acts = tuple(
        act
        for act in (*earlier, event)
        if isinstance(act, events.SoldierFled | events.Captured) and act.hill == step.hill
    )
    # A hill's soldiers act at once: each of them sees the board as it was before all of them (R5.4).
    acting = isinstance(event, events.SoldierFled | events.Captured)
    finished = (*earlier, event) if step.counting is None else earlier
    board = _before_scoring(view, step.turned or map(Seat, range(view.seats)))
    for each in earlier[: len(earlier) - len(acts) + 1] if acting else earlier:
        board.fold(each)
    told, points = sentence_with_meaning(view, number, names), points_won(finished, view.seats)
    so_far = replace(view, scoring=finished)
    captives = tuple(tuple(captives_of(so_far, Seat(seat))) for seat in range(view.seats))
    return Scene(step, board, _marks(view, step, finished), told, acts, points, captives)


def _marks(view: View, step: WalkStep, finished: Sequence[events.ScoringEvent]) -> Marks:
    marks = Marks(
        won={
            each.hill: view.start.peoples[each.leaders[0]][0].value if len(each.leaders) == 1 else NOBODY
            for each in finished
            if isinstance(each, events.HillScored)
        }
    )
    hexes = view.layout.hexes
    if step.turned:
        return replace(marks, recent=[each.field for each in _wolves_of(view, step.turned[-1])])
    match event := step.event:
        case events.SoldierFled():
            return replace(marks, cursor=hexes[event.field])
        case events.Captured():
            captives = frozenset((*event.taken, *event.shared))
            return replace(marks, cursor=hexes[event.field], captives=captives)
        case events.HillScored() if step.counting is not None:
            notes = {field: f"+{amount}" for field, amount in games.amounts(step.counting).items()}
            return replace(marks, cursor=hexes[step.counting.field], notes=notes)
        case events.HillScored():
            return replace(marks, cursor=view.layout.hills[event.hill])
        case _:
            return marks


class ScoringPanel(Struct, frozen=True):
    scene: Scene
    pane: Pane

    def block(self, number: str) -> list[Line]:
        """Return the hill being scored: its soldiers, the influence counted so far, the points so far."""
        rows: list[Line] = []
        step = self.scene.step
        if step.hill is not None:
            laurel = self.pane.view.laurels[step.hill].value
            rows.append(heading(_("HILL {hill}").format(hill=step.hill), self.pane.width, laurel))
            for act in self.scene.acts:
                rows += self._act(act, current=act is step.event)
            rows += [self._influence(each, current=each is step.counting) for each in step.counted]
            rows.append(EMPTY)
        if step.turned:
            rows += [*self._wolves(step.turned[-1]), EMPTY]
        rows.append(heading(_("SO FAR"), self.pane.width, _("influence").rjust(9) + _("points").rjust(8)))
        seats = [Seat(seat) for seat in range(self.pane.view.seats)]
        holders = [seat for seat in seats if self.scene.captives[seat]]
        told = [row for text in describe_seen(self.pane.model) for row in wrapped(text, self.pane.width)]
        if told and len(rows) + len(seats) + len(told) + 2 > self.pane.height:
            told = [describe_seen_in_brief(self.pane.model)]
        if len(rows) + len(seats) + len(holders) + len(told) + 2 > self.pane.height:
            holders = []
        for seat in seats:
            rows.append(self._points(seat))
            if seat in holders:
                rows.append(self._captives(seat))
        return [*rows, EMPTY, *(line(text, "class:talk") for text in told), line(number, "class:faint")]

    def _captives(self, seat: Seat) -> Line:
        """Return the pieces that the seat's soldiers have captured so far, and how many more than fit."""
        pieces = self.scene.captives[seat]
        shown = self.pane.width // _CAPTIVE - 2
        row = line("     ")
        for piece in pieces[:shown]:
            row += line(piece_sign(piece), people_style(piece.people)) + line(" ")
        return row + line(f"+{len(pieces) - shown}", "class:faint") if len(pieces) > shown else row

    def _act(self, act: events.SoldierFled | events.Captured, *, current: bool) -> Iterable[Line]:
        """Return what a soldier does; captives that do not fit go on the next line."""
        if isinstance(act, events.SoldierFled):
            text = _("flees ({merchants} {merchant}, {farmers} {farmer})")
            words = text.format(merchants=len(act.merchants), farmers=len(act.farmers), **NAMED_SIGNS)
        else:
            words = _("takes {fields}").format(fields=", ".join((*act.taken, *act.shared)))
        sign = pointer(self.pane.glyphs, shown=current)
        who = sign + line(f"{act.field} ") + self._piece_on(act.field) + line(" ")
        indent = line(" " * width_of(who))
        style, rows = "class:mine" if current else "", wrapped(words, self.pane.width - width_of(who))
        return ((indent if at else who) + line(row, style) for at, row in enumerate(rows))

    def _wolves(self, seat: Seat) -> Iterable[Line]:
        """Return the wolves of a seat that turn up, and what they had looked like."""
        yield heading(_("THE WOLVES TURN UP"), self.pane.width, _("looked like"))
        yield (
            line("  ")
            + chips(self.pane.view.start.peoples[seat])
            + line(f" {called(players_at(self.pane.model)[seat])}")
        )
        for each in _wolves_of(self.pane.view, seat):
            people, kind = each.piece.people, kind_words(Piece.of(each.piece.people, each.piece.kind))
            left = line(f"{each.field} ") + self._piece_on(each.field) + line(f" {kind}")
            chance = f"{each.chance:.0%}".replace("100%", "")  # which leaves no doubt, and no room
            right = f" {kind_words(Piece.of(people, each.guess))} {chance}".rstrip()
            yield ends(left, line(right, "class:mine" if each.surprising else "class:faint"), self.pane.width)

    def _influence(self, piece: events.Influence, *, current: bool) -> Line:
        sign = pointer(self.pane.glyphs, shown=current)
        left = sign + line(f"{piece.field} ") + self._piece_on(piece.field)
        amount = games.sum_of([term.amount for term in piece.terms])
        return ends(left, line(f" {amount}", "class:mine" if current else ""), self.pane.width)

    def _points(self, seat: Seat) -> Line:
        event, counting = self.scene.step.event, self.scene.step.counting
        leads = isinstance(event, events.HillScored) and counting is None and seat in event.leaders
        style = "class:mine" if leads else ""
        influence = sum(each.amount for each in self.scene.step.counted if each.seat == seat)
        people = chips(self.pane.view.start.peoples[seat])
        left = (
            pointer(self.pane.glyphs, shown=leads)
            + people
            + name_or_sign(self.pane.ui.signs, seat, called(names_at(self.pane.model)[seat]), style)
        )
        return ends(left, line(f" {influence or '':>4}{self.scene.points[seat]:>8}", style), self.pane.width)

    def _piece_on(self, field: Field) -> Line:
        piece = self.pane.view.placed[field]
        return line(f"{piece_sign(piece):<3}", people_style(piece.people))


COLUMNS = (  # with the room that they take
    (N_("captives"), 10),
    (N_("discs 1"), 9),
    (N_("discs 2"), 9),
    (N_("laurels"), 19),
    (N_("POINTS"), 8),
)
_CAPTIVE: Final = 4  # columns for a captured piece
_NAME: Final = 25
_SHORTEST_BAR: Final = 8
_LONGEST_BAR: Final = 30


def _again(model: TableModel) -> str:
    """Return who plays again; empty if nobody does."""
    return "" if model.state is None else games.describe_rematch(model.state, model.seat)


def _who_is_done(model: TableModel) -> str:
    """Return who plays again or, if nobody does yet, who has seen the result to which somebody leads."""
    return _again(model) or ", ".join(describe_seen(model))


def _standings(model: TableModel) -> str:
    return "" if model.state is None else games.describe_standings(model.state)


def _next_level(model: TableModel) -> str:
    """Return which level of bots to try next for a player who has beaten them by far; "" for others."""
    me, state = model.seat, model.state
    if me is None or state is None or model.view is None or (ended := model.view.result) is None:
        return ""
    others = [each.level or level_of(each.name or "") for seat, each in enumerate(state.seats) if seat != me]
    level = stronger_than(others)
    second = max(tally.points for seat, tally in enumerate(ended.tallies) if seat != me)
    if level is None or ended.winners != (me,) or 2 * ended.tallies[me].points < 3 * second:
        return ""
    return _("That was easy: next time, try {level}.").format(level=describe_level(level))


def _describe_draws(ui: Ui, model: TableModel, *, in_full: bool = False) -> tuple[str, str]:
    """Return what is wrong with the draws, and otherwise what can be said of them if others are there.

    That they are plainly right is said only `in_full`.
    """
    if (check := model.draws.check()) is None:
        return "", ""
    if check.fault is not None:
        return describe_fault(check.fault), ""
    names, plays = names_at(model), model.seat is not None
    if ui.offers.private or (not in_full and is_plainly_right(check, names, plays=plays)):
        return "", ""
    return "", describe_draws(check, names, plays=plays)


def result_page(pane: Pane) -> list[Line]:
    """Return the result, the story of the game, totals of several games, and the check of the draws.

    If there is too little room, the story is shortened.
    """
    players, names, me = players_at(pane.model), names_at(pane.model), pane.model.seat
    page = pane.ui.page
    turned = page.turned if isinstance(page, Result) else ""
    if not isinstance(page, Result):  # but a record, seen with the eyes of that seat
        me = None
    lines = result_lines(pane.view, players, pane.glyphs, pane.width, me, signs=pane.ui.signs)
    fault, draws = _describe_draws(pane.ui, pane.model)
    standings = _standings(pane.model)
    after = [EMPTY, *indented(standings, pane.width)] if standings else []
    choices = [EMPTY, *_choices(pane)] if isinstance(page, Result) else []
    after += [EMPTY, *indented(draws, pane.width, "class:faint")] if draws else []
    if fault:  # above all else, so that no window cuts it off
        lines = [EMPTY, *indented(fault, pane.width, "class:refusal"), *lines]
    height = pane.height - LOG_LINES
    room = height - sum(map(bool, (*lines, *choices, *after)))
    rows: list[Line] = []
    after_it = _next_level(pane.model), farewell(pane.model, pane.ui.talk.hears)
    for sentence in filter(None, (turned, *story(pane.view, names, me), *after_it)):
        told = indented(sentence, pane.width)
        if len(rows) + len(told) > room:
            break
        rows += told
    whole = [*lines, *choices, EMPTY, *rows, *after]
    over = len(whole) - height
    empty = [at for at, row in enumerate(whole) if not row][: max(over, 0)]
    return [row for at, row in enumerate(whole) if at not in empty]


_AFTERWARDS: Final = (
    (AGAIN, N_("play again")),
    (TOGETHER, N_("look together")),
    (APPLAUD, N_("applaud")),
    (STUDY, N_("the study of this game")),
    (REVIEW, N_("replay the game")),
    (ANALYSE, N_("what decided it")),
    (SAVE, N_("keep the record")),
    (PICTURE, N_("a picture")),
)


def _chosen(state: TableState) -> Mapping[str, str]:
    """Return who has chosen what after the game, by the verbs of these actions."""
    again = listed(each.name for each in state.seats if each.again and each.name)
    return {AGAIN.verb: again, TOGETHER.verb: who_leads(state)}


class _Choice(NamedTuple):
    """Something that can be done after a game: its key and command, in words, and who does it already."""

    key: Key
    verb: str
    words: str
    names: str


def _possible(ui: Ui, model: TableModel) -> Iterator[_Choice]:
    if (state := model.state) is None:
        return
    chosen = _chosen(state)
    for action, words in _AFTERWARDS:
        if action.may(At(ui, model)) is May.YES:
            (key,) = action.keys
            if model.seat is None and key.for_spectators is not None:
                words = key.for_spectators[1]  # noqa: PLW2901 - what the same key does for them
            yield _Choice(key, action.verb, _(words), chosen.get(action.verb, ""))


def _choices(pane: Pane) -> list[Line]:
    """Return what can be done now as a list in two columns; in a small window without names that are cut."""
    half = pane.width // 2
    told = []
    for key, _verb, words, names in _possible(pane.ui, pane.model):
        sign = line(f"  {key.names[0]}  ", "class:key")
        row = sign + line(labelled(words, names) if names else words)
        row = sign + line(words) if pane.small and width_of(row) > half else row
        told.append(clickable(fitted(row, half), key.action))
    rows = (len(told) + 1) // 2
    right = [*told[rows:], EMPTY]
    return [left + right[at] for at, left in enumerate(told[:rows])]


def result_lines(
    view: View,
    names: Sequence[str],
    glyphs: GlyphSet,
    width: int,
    me: Seat | None = None,
    *,
    signs: Sequence[Sign] = (),
) -> list[Line]:
    """Return the winners, the sources of the points, and the pieces captured; nothing before the result."""
    if (ended := view.result) is None:
        return []
    told = in_sentences(names)
    lines = [EMPTY, *indented(_headline(ended, told, me), width, "class:heading")]
    if ended.decided_by is not events.DecidedBy.POINTS:
        lines += indented(games.describe_result(ended, told), width)
    shown = _columns(ended)
    used = _NAME + sum(COLUMNS[at][1] for at in shown)
    lines += [EMPTY, _row(EMPTY, [_(COLUMNS[at][0]) for at in shown], shown, "class:faint")]
    order = in_order(ended)
    most = max(ended.tallies[order[0]].points, 1)
    for seat in order:
        won, tally = seat in ended.winners, ended.tallies[seat]
        style, people = "class:mine" if won else "", view.start.peoples[seat]
        who = (
            pointer(glyphs, shown=won) + chips(people) + name_or_sign(signs, seat, called(names[seat]), style)
        )
        amounts = amounts_of(tally)
        row = _row(who, [amounts[at] for at in shown], shown, style)
        room = min(width - used - 3, _LONGEST_BAR)
        if room >= _SHORTEST_BAR:
            row += line("  ") + line(glyphs.bar * (room * tally.points // most), curve_style(people[0]))
        lines.append(row)
    lines.append(EMPTY)
    for seat in order:
        lines += _held(view, ended, seat, told, width)
    if tie := _tie(ended, told):
        lines += [EMPTY, *indented(tie, width)]
    return lines


def _headline(ended: events.GameEnded, names: Sequence[str], me: Seat | None) -> str:
    """Return who won, and everybody's points, the most first."""
    points = "-".join(str(ended.tallies[seat].points) for seat in in_order(ended))
    if len(ended.winners) > 1:
        winners = listed(names[seat] for seat in ended.winners)
        return _("{winners} share the victory, {points}.").format(winners=winners, points=points)
    if ended.winners[0] == me:
        return _("YOU WIN, {points}.").format(points=points)
    return _("{name} wins, {points}.").format(name=names[ended.winners[0]], points=points)


def _columns(ended: events.GameEnded) -> list[int]:
    """Return which of the columns are shown: discs only if anybody has one."""
    ones, twos = (any(getattr(tally, name) for tally in ended.tallies) for name in ("ones", "twos"))
    return [at for at, shown in enumerate((True, ones, twos, True, True)) if shown]


def _held(
    view: View, ended: events.GameEnded, seat: Seat, names: Sequence[str], width: int
) -> Iterable[Line]:
    """Return the seat's laurels, and its captives as pieces; on one line if there is room."""
    laurels = _laurels(ended, seat, names)
    pieces: Line = ()
    for piece in captives_of(view, seat):
        pieces += line(" ") + line(piece_sign(piece), people_style(piece.people))
    if not pieces:
        return indented(laurels, width) if laurels else ()
    captives = line(labelled(called(names[seat]), _("captives"))) if not laurels else line(_("captives"))
    told = captives + pieces
    rows = indented(laurels, width) if laurels else []
    if rows and width_of(rows[-1]) + 2 + width_of(told) <= width - 2:
        return [*rows[:-1], rows[-1] + line("  ") + told]
    return [*rows, line("  ") + told]


def in_order(ended: events.GameEnded) -> list[Seat]:
    best = sorted(enumerate(ended.tallies), key=lambda each: (-each[1].points, -each[1].items))
    return [Seat(seat) for seat, _tally in best]


def amounts_of(tally: events.Tally) -> list[str]:
    """Return every source of points as arithmetic: `1x2 = 2`, `3+4 = 7`."""
    twos = 2 * tally.twos
    return [
        str(tally.captives),
        str(tally.ones),
        f"{tally.twos}x2 = {twos}" if twos else "0",
        games.sum_of([LAUREL_WORTH[laurel] for laurel in tally.laurels]),
        str(tally.points),
    ]


def _row(who: Line, words: Sequence[str], shown: Sequence[int], style: str) -> Line:
    cells = (f"{word:>{COLUMNS[at][1]}}" for word, at in zip(words, shown, strict=True))
    return fitted(who, _NAME) + line("".join(cells), style)


def _laurels(ended: events.GameEnded, seat: Seat, names: Sequence[str]) -> str:
    words = ", ".join(f"{laurel} {LAUREL_WORTH[laurel]}" for laurel in ended.tallies[seat].laurels)
    form = by(names[seat], _("{name} has {laurels}."), _("You have {laurels}."))
    return form.format(name=names[seat], laurels=words) if words else ""


def _tie(ended: events.GameEnded, names: Sequence[str]) -> str:
    """Return the count that breaks a tie (R7.2); empty if there is none."""
    if ended.decided_by is events.DecidedBy.POINTS:
        return ""
    best = max(tally.points for tally in ended.tallies)
    tied = [seat for seat, tally in enumerate(ended.tallies) if tally.points == best]
    counts = ", ".join(f"{called(names[seat])} {ended.tallies[seat].items}" for seat in tied)
    return _("The tie-break, captives, discs and laurels together: {counts}.").format(counts=counts)

"""A table on a page, as spectators see it: its parts, each of which replaces the content of an element."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from markupsafe import Markup, escape

from client.language import _, counted, labelled, parted
from client.tables.table import TableModel, safe_to_show
from client.ui.export.picture import BOARD_VIEW, NOTHING, board_parts
from client.ui.screens.scoring import (
    COLUMNS,
    Scene,
    amounts_of,
    in_order,
    last_step,
    scene,
    sentence_with_meaning,
    steps_in_brief,
)
from client.ui.spots import Marks, describe_field, hills, just_placed
from client.ui.texts import tables
from client.ui.texts.games import describe_event, describe_influence, describe_turn
from client.ui.texts.pieces import PEOPLES
from client.ui.texts.story import story
from client.ui.texts.times import universal_time
from engine.board import Field, Hex
from engine.events import Influence, SeenEvent
from engine.pieces import Seat
from engine.view import View
from pages.drawing.html import EMPTY, element, join, scrolled
from pages.drawing.seat_parts import SeatPage, company, navigation
from pages.shared import PlayerHand, SeatLater
from protocol.messages import SeatSummary, TableState

T = TypeVar("T")

_MOVES: Final = 8  # the last ones, which a phone shows without scrolling far
_BOARD: Final = tuple(f"hex{number}" for number in range(50))  # the ground, and what stands on each hex
PARTS: Final = (
    "title",
    "now",
    "players",
    "recent",
    "moves",
    "result",
    "words",
    "way-in",
    "watching",
    "play",
    *_BOARD,
)


def way_in(*, joins: str | None, plays: bool) -> dict[str, str]:
    """Return the parts that explain how to join the table with this code, or how to watch it."""
    heading, option = (_("Join"), "") if joins is not None else (_("Watch in a terminal"), " --watch")
    play = (
        element("a", _("Play in this browser"), href=f"../play/{joins}", class_="main")
        if joins and plays
        else ""
    )
    return {"way-in": str(join(heading)), "watching": option, "play": play}


def _way_to_a_seat(state: TableState, later: SeatLater) -> Markup:
    """Return how somebody who watches comes to play while no seat is free here."""
    if later is SeatLater.NEXT_GAME and state.next is not None:
        return element("a", _("Take a seat in the next game"), href=f"../play/{state.next}", class_="main")
    if later is SeatLater.ONCE_FREE:
        told = _("You can take a seat here as soon as one is free, or in the next game.")
        opens = element("a", _("Open a table"), href="../play/")
        return join(element("span", told, class_="faint"), " ", opens)
    return EMPTY


def _has_room(state: TableState) -> bool:
    """Return whether somebody may take a seat: a free one, a bot's before the game, or a vacant one."""
    if state.stage == "gathering":
        return state.room > 0 or any(seat.level is not None for seat in state.seats)
    return state.stage == "playing" and any(seat.vacant for seat in state.seats)


def table_parts(
    state: TableState,
    view: View | None,
    events: Sequence[SeenEvent],
    step: int | None,
    hand: PlayerHand | None = None,
    *,
    plays: bool = False,
    brief: bool = False,
    later: SeatLater = SeatLater.NEVER,
) -> tuple[dict[str, str], bool]:
    """Return the parts, and whether they are at a step of the scoring before the last.

    With a `hand` they are those of its player's page; otherwise, if the server `plays`, they lead there. In
    `brief`, a hill's pieces are counted together.
    """
    state = safe_to_show(state)
    seated = None if hand is None else SeatPage(state, view, hand)
    model = TableModel(state.table, state=state, view=view) if seated is None else seated.model
    names = tables.names_of(state, len(state.seats))
    now, shown, marks = _now(state, model, names), view, Marks()
    touch: Mapping[Hex, str] = NOTHING
    walking: Scene | None = None  # through the scoring
    look = EMPTY
    if view is not None and view.result is not None:
        last = last_step(view)
        at = last if step is None else min(step, last)
        if hand is not None:
            before = hand.moments - last  # steps
            at = min(hand.choice.moment - before, last) if hand.choice.moment else at
            look = join(navigation(before + at, hand.moments, hand.moments), company(state, hand))
        if brief and at < last:
            shorter = steps_in_brief(view)
            at = shorter[min(at, len(shorter) - 1)]
        current = scene(view, at, names)
        shown, marks, now = current.board, current.marks, current.sentence
        if brief and (counted_together := current.step.counted):
            marks = replace(marks, notes=_influence_of_each(counted_together))
        walking = current if at < last else None
    elif view is not None:
        marks = Marks(recent=just_placed(view))
        if hand is not None and not state.ended and hand.moments > 1:
            end = 0 if state.stage == "playing" else hand.moments
            look = join(navigation(hand.moment or hand.moments, hand.moments, end), company(state, hand))
        if hand is not None and hand.moment is not None:
            now = labelled(_("Looking back"), describe_event(events[-1], names))
        elif seated is not None and not state.ended:
            marks, touch = seated.on_board(view, marks)
    next_table = EMPTY
    if state.next is not None and hand is None:
        text = _("The players continue at table {code}.").format(code=state.next)
        next_table = element("p", element("a", text, href=state.next))
    parts: dict[str, str] = {
        "title": state.title,
        "now": now,
        "players": _players(state, view, names, walking),
        "recent": "" if view is None else _("Last moves") if view.result is None else _("The scoring"),
        "moves": _recent(events, names, hand, walking),
        "result": "" if walking is not None else join(_result(view, names), next_table),
        "words": "" if shown is None else _in_words(shown, marks),
        **way_in(joins=state.table if _has_room(state) else None, plays=plays),
    }
    if plays and not _has_room(state):
        parts["play"] = _way_to_a_seat(state, later)
    parts = {part: str(join(inside)) for part, inside in parts.items()}
    if seated is not None:
        parts |= seated.parts() | {"look": str(look)}
    drawn = [""] * len(_BOARD) if shown is None else board_parts(shown, marks, touch)
    parts |= dict(zip(_BOARD, drawn, strict=True))
    return parts, walking is not None and (hand is None or not hand.choice.moment)


def seconds_of_scoring(view: View, names: Sequence[str], seconds_for: Callable[[str], float]) -> float:
    """Return how long the scoring takes in brief if each sentence takes as long as `seconds_for` says."""
    *told, _result_itself = steps_in_brief(view)
    return sum(seconds_for(str(join(sentence_with_meaning(view, number, names)))) for number in told)


def _influence_of_each(pieces: Iterable[Influence]) -> dict[Field, str]:
    """Return what each of these pieces counts, by its field."""
    totals = ((each.field, sum(term.amount for term in each.terms)) for each in pieces)
    return {field: f"+{amount}" for field, amount in totals if amount}


def empty_board(label: str, *, touched: bool) -> Markup:
    """Return a board without its parts; in one that is `touched`, each field is a button with a name."""
    role = {"role": "group"} if touched else {}
    return board_of((element("g", id=part) for part in _BOARD), label, aria_describedby="words", **role)


def board_of(groups: Iterable[str], label: str, **more: str) -> Markup:
    about = {"viewBox": BOARD_VIEW, "fill": "#222222", "role": "img", "aria_label": label} | more
    return element("svg", *groups, class_="board", **about)


def _now(state: TableState, model: TableModel, names: Sequence[str]) -> str:
    if state.ended:
        return tables.describe_ended()
    if state.stage == "gathering":
        free = state.room
        if not free:
            return tables.describe_stage("gathering", full=True)
        return counted("{n} seat is free.", "{n} seats are free.", free).format(n=free)
    if state.paused is not None:
        return tables.describe_pause(state.paused, names, universal_time)
    return describe_turn(model, names)


def _players(state: TableState, view: View | None, names: Sequence[str], walking: Scene | None) -> Markup:
    rows = []
    for seat in map(Seat, range(len(state.seats))):
        content: list[str] = []
        if view is not None:
            content += (
                element("span", each.value, class_=f"people people-{each.value}", title=_(PEOPLES[each]))
                for each in view.start.peoples[seat]
            )
        free = state.seats[seat].name is None
        content.append(element("span", _("(free)"), class_="faint") if free else element("bdi", names[seat]))
        if note := _note(state.seats[seat], state):
            content.append(element("span", f"({note})", class_="faint"))
        if view is not None:
            form, n = _("{n} to place"), view.remaining[seat]
            if view.result is not None:  # all points, or those so far
                n = view.result.tallies[seat].points if walking is None else walking.points[seat]
                form = counted("{n} point", "{n} points", n)
            amount = escape(form).format(n=element("b", str(n)))
            content.append(element("span", amount, class_="amount"))
        turn = view is not None and view.turn == seat and not state.ended
        look = {"class_": "turn", "aria_current": "true"} if turn else {"class_": "away"} if note else {}
        rows.append(element("li", *content, **look))
    if watching := tables.describe_spectators(state):
        rows.append(element("li", element("bdi", watching), class_="faint"))
    return EMPTY.join(rows)


def _note(seat: SeatSummary, state: TableState) -> str:
    if seat.name is None or state.stage == "over":
        return ""
    if seat.vacant:
        return _("a seat is free")
    if seat.level is not None or seat.bot:
        return _("bot")
    if seat.holiday_until is not None:
        return _("holiday")
    return "" if seat.here else _("away")


def _recent(
    events: Sequence[SeenEvent], names: Sequence[str], hand: PlayerHand | None, walking: Scene | None
) -> Markup:
    """Return the last moves, or what has happened on the hill that is being scored, the latest first."""
    told = [describe_event(event, names) for event in (events if walking is None else walking.acts)]
    if walking is not None:
        told += [describe_influence(each, names) for each in walking.step.counted]
    elif hand is not None:
        told = [tables.by_stand_in(each) if at in hand.by_bot else each for at, each in enumerate(told)]
        told = [tables.while_away(each) if at in hand.missed else each for at, each in enumerate(told)]
    latest = list(reversed(told))[: _MOVES if walking is None else None]
    return EMPTY.join(element("li", each) for each in latest)


def _result(view: View | None, names: Sequence[str]) -> Markup:
    if view is None or (result := view.result) is None:
        return EMPTY
    heads = [
        element("th", "", scope="col"),
        *(element("th", _(word), scope="col") for word, _room in _points_first(COLUMNS)),
    ]
    rows = [
        element(
            "tr",
            element("th", element("bdi", names[seat]), scope="row"),
            *(element("td", amount) for amount in _points_first(amounts_of(result.tallies[seat]))),
        )
        for seat in in_order(result)
    ]
    table = element("table", element("thead", element("tr", *heads)), element("tbody", *rows))
    told = (element("p", each) for each in story(view, names))
    return join(element("h2", _("The result")), scrolled(table, _("The result")), *told)


def _points_first(columns: Sequence[T]) -> Sequence[T]:
    """Return the columns of the result for a page that may be too narrow for all of them."""
    return (*columns[-1:], *columns[:-1])


def _in_words(view: View, marks: Marks) -> Markup:
    """Return the board for those who hear it: each hill with its laurel, and what is on its fields."""
    lines = []
    for hill, fields in hills(view, marks).values():
        heading = _("Hill {hill}.").format(hill=hill.tile)
        if hill.laurel is not None:
            text = _("Hill {hill}, {laurel} laurel, worth {worth}.")
            heading = text.format(hill=hill.tile, laurel=hill.laurel, worth=hill.worth)
        told = parted(map(describe_field, fields))
        lines.append(element("li", element("strong", heading), " ", told))
    return EMPTY.join(lines)

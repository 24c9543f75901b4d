"""The move at which a game turned, and what would have come of the game without it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from client.language import _, counted
from client.records import Analysis, JudgedMove, Recording
from client.ui.texts.advice import describe_placement, in_100
from client.ui.texts.names import by, in_sentences
from engine import events
from engine.board import Tile
from engine.components import LAUREL_WORTH
from engine.pieces import Piece, Seat
from engine.scoring import Board, scored
from engine.view import View


def turning_point(analysis: Analysis) -> JudgedMove | None:
    """Return the move that decided most, if there is one."""
    return next(iter(analysis.deciding), None)


def describe_turn_of_game(recording: Recording, judged: JudgedMove) -> str:
    name = in_sentences(recording.names)[judged.seat]
    form = by(
        name,
        _("The game turned at move {number}, {move}: {name} went from {n} to {m} of 100 games won."),
        _("The game turned at move {number}, {move}: you went from {n} to {m} of 100 games won."),
    )
    return form.format(
        number=judged.number,
        move=describe_placement(judged.move),
        name=name,
        n=in_100(judged.before[judged.seat]),
        m=in_100(judged.after[judged.seat]),
    )


def what_it_changed(recording: Recording, judged: JudgedMove) -> str:
    """Return the largest effect of the piece on the scoring, for whom the chances rose most; "" for none."""
    rise = [after - before for before, after in zip(judged.before, judged.after, strict=True)]
    gainer = Seat(rise.index(max(rise)))
    found = list(_effects(recording, judged, gainer))
    return max(found, key=lambda effect: effect.worth).sentence if found else ""


class _Effect(NamedTuple):
    """What would have been different without a piece, and what that is worth in points, or parts of one."""

    worth: float
    sentence: str


class _Outcome(NamedTuple):
    """How the hills were scored, and how many pieces each seat captured."""

    hills: dict[Tile, events.HillScored]
    captives: Counter[Seat]


def _outcome(view: View, *, without: str = "") -> _Outcome:
    pieces = {
        field: piece
        for field, piece in view.placed.items()
        if field != without and isinstance(piece, Piece)  # all: no wolf is face down any more
    }
    hills, captives = {}, Counter[Seat]()
    for event in scored(Board(view.layout, pieces, view.owners), view.laurels, view.seats):
        match event:
            case events.HillScored():
                hills[event.hill] = event
            case events.Captured():
                captives[event.seat] += len(event.taken)
    return _Outcome(hills, captives)


def _effects(recording: Recording, judged: JudgedMove, gainer: Seat) -> Iterator[_Effect]:
    """Yield what the scoring gave the seat, or took from its rivals, only because of the piece."""
    names = in_sentences(recording.names)
    view = recording.view(recording.end, recording.all_eyes)
    was, without = _outcome(view), _outcome(view, without=judged.move.field)
    for hill, event in was.hills.items():
        then, now, worth = without.hills[hill].leaders, event.leaders, LAUREL_WORTH[event.laurel]
        other = then[0] if len(then) == 1 else None
        if now == (gainer,) and then != now:
            form = by(
                names[gainer],
                _("Without it, {name} would not have won hill {hill}, worth {worth}."),
                _("Without it, you would not have won hill {hill}, worth {worth}."),
            )
            if other is not None:
                form = by(
                    names[gainer],
                    by(
                        names[other],
                        _("Without it, {other} would have won hill {hill}, worth {worth}, and not {name}."),
                        _("Without it, you would have won hill {hill}, worth {worth}, and not {name}."),
                    ),
                    _("Without it, {other} would have won hill {hill}, worth {worth}, and not you."),
                )
        elif other is not None and other != gainer and then != now:
            form = by(
                names[other],
                _("Without it, {other} would have won hill {hill}, worth {worth}."),
                _("Without it, you would have won hill {hill}, worth {worth}."),
            )
        else:
            yield from _closer(event, without.hills[hill], gainer, names)
            continue
        rival = "" if other is None else names[other]
        told = form.format(name=names[gainer], other=rival, hill=hill, worth=worth)
        yield _Effect(worth, told)
    for seat in map(Seat, recording.seats):
        more = was.captives[seat] - without.captives[seat]
        if seat == gainer and more > 0:
            form = by(
                names[seat],
                counted(
                    "Because of it, {name} captured {n} more piece.",
                    "Because of it, {name} captured {n} more pieces.",
                    more,
                ),
                counted(
                    "Because of it, you captured {n} more piece.",
                    "Because of it, you captured {n} more pieces.",
                    more,
                ),
            )
        elif seat != gainer and more < 0:
            form = by(
                names[seat],
                counted(
                    "Without it, {name} would have captured {n} more piece.",
                    "Without it, {name} would have captured {n} more pieces.",
                    -more,
                ),
                counted(
                    "Without it, you would have captured {n} more piece.",
                    "Without it, you would have captured {n} more pieces.",
                    -more,
                ),
            )
        else:
            continue
        yield _Effect(abs(more), form.format(name=names[seat], n=abs(more)))


def _closer(
    was: events.HillScored, without: events.HillScored, gainer: Seat, names: Sequence[str]
) -> Iterator[_Effect]:
    """Yield that the seat won a hill by more influence than without the piece."""
    (own, rival), (own_without, rival_without) = (
        (event.influence[gainer], max(each for seat, each in enumerate(event.influence) if seat != gainer))
        for event in (was, without)
    )
    if own > rival and (gain := own - rival - own_without + rival_without) > 0:
        form = by(
            names[gainer],
            _("On hill {hill}, {name} had {own} influence against {rival}; without it, {n} against {m}."),
            _("On hill {hill}, you had {own} influence against {rival}; without it, {n} against {m}."),
        )
        told = form.format(
            hill=was.hill, name=names[gainer], own=own, rival=rival, n=own_without, m=rival_without
        )
        yield _Effect(gain / _MOST_INFLUENCE, told)


_MOST_INFLUENCE: Final = 1000  # so that any hill or captive is worth more

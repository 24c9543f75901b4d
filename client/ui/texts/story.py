"""What a finished game was about, in a few sentences that its scoring alone tells."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from client.language import _, counted
from client.ui.texts.bluffs import best_bluff
from client.ui.texts.names import by, called
from engine import events
from engine.components import LAUREL_WORTH
from engine.pieces import Piece, Seat
from engine.scoring import points_won, result
from engine.view import View


def story(view: View, names: Sequence[str], me: Seat | None = None) -> list[str]:
    """Return how the lead changed, the largest capture, the closest hill, the best bluff, what `me` lacked.

    Nothing before the result.
    """
    if view.result is None:
        return []
    hills = [event for event in view.scoring if isinstance(event, events.HillScored)]
    told = (
        _lead(view, view.result, hills, names),
        _largest_capture(view, names),
        _closest_hill(hills, names),
        best_bluff(view, names),
        "" if me is None else _missed(view, view.result, me),
    )
    return [sentence for sentence in told if sentence]


def captives_of(view: View, seat: Seat) -> list[Piece]:
    """Return the pieces that the seat's soldiers have captured, in this order."""
    captures = (event for event in view.scoring if isinstance(event, events.Captured) and event.seat == seat)
    pieces = (view.placed[field] for event in captures for field in event.taken)
    return [piece for piece in pieces if isinstance(piece, Piece)]  # all: no wolf is face down any more


def _lead(
    view: View, ended: events.GameEnded, hills: Sequence[events.HillScored], names: Sequence[str]
) -> str:
    """Return since when the winner had more points than anybody else; "" if they never had."""
    if len(ended.winners) > 1 or ended.decided_by is not events.DecidedBy.POINTS:
        return ""
    (winner,) = ended.winners
    ahead = [_is_ahead(winner, points_won(so_far, view.seats)) for so_far in _after_each_hill(view)]
    since = len(ahead) - next((at for at, leads in enumerate(reversed(ahead)) if not leads), len(ahead))
    if since == 0:
        form = by(
            names[winner],
            _("{name} led from the first hill to the last."),
            _("You led from the first hill to the last."),
        )
    elif since == len(hills) - 1:
        form = by(
            names[winner],
            _("{name} took the lead with the last hill, {hill}."),
            _("You took the lead with the last hill, {hill}."),
        )
    else:
        form = by(
            names[winner],
            _("{name} took the lead on hill {hill} and kept it."),
            _("You took the lead on hill {hill} and kept it."),
        )
    return form.format(name=names[winner], hill=hills[min(since, len(hills) - 1)].hill)


def _after_each_hill(view: View) -> list[tuple[events.ScoringEvent, ...]]:
    """Return what had happened in the scoring when each hill was settled."""
    so_far = accumulate(((event,) for event in view.scoring), lambda before, now: before + now)
    return [each for each in so_far if isinstance(each[-1], events.HillScored)]


def _is_ahead(seat: Seat, points: Sequence[int]) -> bool:
    return all(points[seat] > others for other, others in enumerate(points) if other != seat)


def _largest_capture(view: View, names: Sequence[str]) -> str:
    captures = [event for event in view.scoring if isinstance(event, events.Captured)]
    if not captures:
        return ""
    largest = max(captures, key=lambda event: len(event.taken))
    if len(largest.taken) < 2:
        return ""
    form = by(
        names[largest.seat],
        counted(
            "The largest capture: {name}'s soldier on {field} took {n} piece.",
            "The largest capture: {name}'s soldier on {field} took {n} pieces.",
            len(largest.taken),
        ),
        counted(
            "The largest capture: your soldier on {field} took {n} piece.",
            "The largest capture: your soldier on {field} took {n} pieces.",
            len(largest.taken),
        ),
    )
    return form.format(name=names[largest.seat], field=largest.field, n=len(largest.taken))


def _closest_hill(hills: Sequence[events.HillScored], names: Sequence[str]) -> str:
    """Return the hill with the least between the best two, if both had a part; the worthiest of equals."""
    contested = [
        (best - second, -LAUREL_WORTH[event.laurel], event)
        for event in hills
        for best, second, *_rest in [sorted(event.influence, reverse=True)]
        if second
    ]
    if not contested:
        return ""
    _gap, _worth, event = min(contested, key=lambda each: each[:2])
    order = sorted(range(len(event.influence)), key=lambda seat: -event.influence[seat])
    first, second = order[:2]
    return _("The closest hill was {hill}: {name} {most}, {other} {fewer}.").format(
        hill=event.hill,
        name=called(names[first]),
        most=event.influence[first],
        other=called(names[second]),
        fewer=event.influence[second],
    )


def _missed(view: View, ended: events.GameEnded, me: Seat) -> str:
    """Return the hill that would have won `me` the game with the least more influence; "" if none would.

    A tie may be enough.
    """
    if me in ended.winners:
        return ""
    decisive = []
    for at, event in enumerate(view.scoring):
        if not isinstance(event, events.HillScored):
            continue
        behind = max(event.influence) - event.influence[me]
        for lacked in (behind, behind + 1):
            otherwise = [*view.scoring[:at], _with_more(event, me, lacked), *view.scoring[at + 1 :]]
            if lacked and result(otherwise, view.seats).winners == (me,):
                decisive.append((lacked, event.hill))
    if not decisive:
        return ""
    lacked, hill = min(decisive)
    form = _("With {lacking} more influence on hill {hill} you would have won.")
    return form.format(lacking=lacked, hill=hill)


def _with_more(event: events.HillScored, seat: Seat, more: int) -> events.HillScored:
    influence = [each + more * (other == seat) for other, each in enumerate(event.influence)]
    leaders = [Seat(other) for other, each in enumerate(influence) if each == max(influence)]
    return replace(event, influence=tuple(influence), leaders=tuple(leaders))


def what_it_means(view: View, event: events.HillScored, names: Sequence[str]) -> str:
    """Return the player who leads since this hill, or cannot be caught any more; "" without a change.

    A player cannot be caught with more points than any other could reach with all remaining laurels and
    captives.
    """
    after = _after_each_hill(view)
    at = next(at for at, so_far in enumerate(after) if so_far[-1] == event)
    leader, before = (_leader(view, after[each]) if each >= 0 else None for each in (at, at - 1))
    if leader is None:
        return ""
    name = names[leader]
    told = by(name, _("{name} takes the lead."), _("You take the lead.")) if leader != before else ""
    if at + 1 < len(after) and _is_out_of_reach(view, leader, after[at]):
        was = leader == before and _is_out_of_reach(view, leader, after[at - 1])
        out = by(name, _("{name} cannot be caught any more."), _("Nobody can catch you any more."))
        told = "" if was else out
    return told.format(name=name)


def _leader(view: View, so_far: Sequence[events.ScoringEvent]) -> Seat | None:
    """Return who alone has the most points after these events."""
    points = points_won(so_far, view.seats)
    return next((Seat(seat) for seat in range(view.seats) if _is_ahead(Seat(seat), points)), None)


def _is_out_of_reach(view: View, leader: Seat, so_far: Sequence[events.ScoringEvent]) -> bool:
    points, most = points_won(so_far, view.seats), list(points_won(so_far, view.seats))
    for event in view.scoring[len(so_far) :]:
        if isinstance(event, events.HillScored):
            most = [each + LAUREL_WORTH[event.laurel] for each in most]
        elif isinstance(event, events.Captured):
            most[event.seat] += len(event.taken) + len(event.shared)
    return all(points[leader] > each for seat, each in enumerate(most) if seat != leader)

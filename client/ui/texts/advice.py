"""Moves compared in words: how often they win, what they take from whom, what speaks for the other."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from client.language import _, in_tenths
from client.records import (
    Awaited,
    Better,
    Captives,
    Contest,
    HiddenWolf,
    JudgedMove,
    Recording,
    Suggestion,
)
from client.ui.texts.games import bounds_text
from client.ui.texts.mechanisms import describe_mechanism
from client.ui.texts.names import OwnName, by, in_sentences
from client.ui.texts.pieces import a_kind, piece_sign
from engine.board import tile_of
from engine.events import Place
from engine.forecast import forecast
from engine.view import View, eyes_of


def describe_placement(move: Place) -> str:
    return _("{piece} on {field}").format(piece=piece_sign(move.piece), field=move.field)


class Advice(NamedTuple):
    """A suggested move: `brief` names it with its purpose, `more` compares it with others, if it can."""

    brief: str
    more: str


def describe_suggestion(view: View, move: Place, found: Suggestion, names: Sequence[str]) -> Advice:
    """Return the suggested move, its reasons, and a comparison with the next best.

    Immediate effects of the move are not among the reasons; the panel shows them.
    """
    hint, better, other = describe_placement(move), found.better, found.other
    if better is None or other is None:
        about = "" if other is None else _("{move} is about as good.").format(move=describe_placement(other))
        more = " ".join(filter(None, (found.reason, about)))
        if found.aim:
            return Advice(_("Hint: {aim}, {move}.").format(aim=found.aim, move=hint), more)
        return Advice(" ".join(filter(None, (_("Hint: {move}.").format(move=hint), more))), "")
    compared = _("{move} wins about {n} of 100 games, {other} about {m}.").format(
        move=hint, other=describe_placement(other), n=in_100(better.chance), m=in_100(better.instead_of)
    )
    aims = (
        _aim(reason, move, names)
        for reason in better.reasons
        if not isinstance(reason, Awaited) and _differs(reason)
    )
    if aim := next(filter(None, (*aims, found.aim)), ""):
        brief = _("Hint: {aim}, {move}.").format(aim=aim, move=hint)
    else:
        brief = _("Hint: {move}.").format(move=hint)
    return Advice(
        brief, " ".join(filter(None, (compared, *describe_reasons(view, better, other, names), found.reason)))
    )


def _aim(reason: Contest | Captives, move: Place, names: Sequence[str]) -> str:
    """Return what a move is for; "" if the reason speaks against it."""
    seat = reason.captor if isinstance(reason, Captives) else reason.seat
    own = seat == move.seat
    if (reason.often > reason.instead) != own:
        return ""
    if isinstance(reason, Captives):
        form = _("to capture more from {rival}") if own else _("to lose less to {name}")
        return form.format(rival=names[reason.owner], name=names[seat])
    if not own:
        form = _("to keep {name} from hill {hill}, worth {worth}")
    elif reason.rival is not None:
        form = _("to take hill {hill}, worth {worth}, from {rival}")
    else:
        form = _("for hill {hill}, worth {worth}")
    rival = "" if reason.rival is None else names[reason.rival]
    return form.format(name=names[seat], hill=reason.hill, worth=reason.worth, rival=rival)


def explain(recording: Recording, judged: JudgedMove) -> list[str]:
    """Return which move was better, by how much, and why, one sentence each, or why none could be known.

    There is nothing to return if neither is known.
    """
    name = in_sentences(recording.names)[judged.seat]
    if (better := judged.better) is None:
        return [] if judged.unknown is None else [_describe_unknown(judged.unknown, name)]
    text = by(
        name,
        _("Better, as {name} saw it: {move}, from {n} to {m} of 100 games won."),
        _("Better, as you saw it: {move}, from {n} to {m} of 100 games won."),
    )
    first = text.format(
        name=name,
        move=describe_placement(better.move),
        n=in_100(better.instead_of),
        m=in_100(better.chance),
    )
    return [first, *reasons_of(recording, judged, better)]


def _describe_unknown(wolf: HiddenWolf, name: str) -> str:
    form = by(
        name,
        _("{name} saw no better move, and could not know that the wolf on {field} was {a_kind}."),
        _("You saw no better move, and could not know that the wolf on {field} was {a_kind}."),
    )
    return form.format(name=name, field=wolf.field, a_kind=a_kind(wolf.kind))


def judge(recording: Recording, judged: JudgedMove) -> list[str]:
    """Return what there is to say of a move that decided the game: something in any case."""
    right, none = _("The move itself was right."), _("No clearly better move was found.")
    return explain(recording, judged) or [right if judged.gain > 0.0 else none]


def reasons_of(recording: Recording, judged: JudgedMove, better: Better) -> list[str]:
    """Return why a move was better than the one played, as its player could see."""
    view = recording.view(judged.number - 1, eyes_of(judged.seat))
    return list(describe_reasons(view, better, judged.move, in_sentences(recording.names)))


def describe_reasons(view: View, better: Better, other: Place, names: Sequence[str]) -> Iterator[str]:
    """Yield the reasons for and against a move compared with another, for the player who sees `view`."""
    move, seat = better.move, better.move.seat
    if better.condition is not None:
        yield _describe_condition(better.condition, names)
    gives, instead = (forecast(view, seat, each.piece, each.field) for each in (move, other))
    yield from describe_mechanism(view, move, describe_placement(move), names)
    for reason in better.reasons:
        if isinstance(reason, Awaited):
            yield _describe_awaited(reason, names)
        elif _differs(reason):
            yield _describe_reason(reason, move, other, names)
    if instead.gives is not None and gives.gives is not None and instead.gives.least > gives.gives.most:
        form = _("As the board stands, {other} gives more influence: {m} on hill {hill}, {move} {n}.")
        yield form.format(
            move=describe_placement(move),
            other=describe_placement(other),
            n=bounds_text(gives.gives, in_words=True),
            m=bounds_text(instead.gives, in_words=True),
            hill=tile_of(other.field),
        )


def _describe_condition(wolf: HiddenWolf, names: Sequence[str]) -> str:
    """Return which kind a hidden wolf has to be of for a move to be better."""
    if wolf.seems:
        form = by(
            names[wolf.seat],
            _("It is better unless {name} bluffs on {field}, where the wolf looks like {a_kind}."),
            _("It is better unless you bluff on {field}, where the wolf looks like {a_kind}."),
        )
    else:
        form = _("It is better only if the wolf on {field} is {a_kind}.")
    return form.format(name=names[wolf.seat], field=wolf.field, a_kind=a_kind(wolf.kind))


def _describe_awaited(reason: Awaited, names: Sequence[str]) -> str:
    form = by(
        names[reason.seat],
        _("If {field} stays free, {name} takes it in {n} of 100 games."),
        _("If {field} stays free, you take it in {n} of 100 games."),
    )
    return form.format(name=names[reason.seat], field=reason.field, n=in_100(reason.often))


_LEAST_DIFFERENCE: Final = 5  # of 100 games


def _differs(reason: Contest | Captives) -> bool:
    """Return whether the difference can be seen in the numbers, and is large enough to be a reason."""
    if isinstance(reason, Captives):
        return f"{reason.often:.1f}" != f"{reason.instead:.1f}"
    return abs(in_100(reason.often) - in_100(reason.instead)) >= _LEAST_DIFFERENCE


def _describe_reason(reason: Contest | Captives, move: Place, other: Place, names: Sequence[str]) -> str:
    """Return what differs, in a sentence about the move that it speaks for."""
    seat = reason.captor if isinstance(reason, Captives) else reason.seat
    own, (n, m) = seat == move.seat, (reason.often, reason.instead)
    if (n > m) != own:
        move, other, n, m = other, move, m, n
    about = {"move": describe_placement(move), "other": describe_placement(other), "name": names[seat]}
    if isinstance(reason, Captives):
        if own:
            form = by(
                names[reason.owner],
                _("{move} captures more from {rival}: {n} on average, {m} after {other}."),
                _("{move} captures more from you: {n} on average, {m} after {other}."),
            )
        else:
            form = by(
                names[seat],
                _("{move} loses less to {name}: {n} on average, {m} after {other}."),
                _("{move} loses less to you: {n} on average, {m} after {other}."),
            )
        return form.format(rival=names[reason.owner], n=in_tenths(n), m=in_tenths(m), **about)
    if not own:
        form = by(
            names[seat],
            _(
                "{move} keeps {name} from hill {hill}, worth {worth}: {name} wins it in {n} of 100 games, "
                "after {other} in {m}."
            ),
            _(
                "{move} keeps you from hill {hill}, worth {worth}: you win it in {n} of 100 games, "
                "after {other} in {m}."
            ),
        )
    elif reason.rival is not None and isinstance(names[reason.rival], OwnName):
        form = _(
            "{move} takes hill {hill}, worth {worth}, from you: {name} wins it in {n} of 100 games, "
            "after {other} in {m}."
        )
    elif reason.rival is not None:
        form = by(
            names[seat],
            _(
                "{move} takes hill {hill}, worth {worth}, from {rival}: {name} wins it in {n} of 100 games, "
                "after {other} in {m}."
            ),
            _(
                "{move} takes hill {hill}, worth {worth}, from {rival}: you win it in {n} of 100 games, "
                "after {other} in {m}."
            ),
        )
    else:
        form = by(
            names[seat],
            _(
                "{move} is better for hill {hill}, worth {worth}: {name} wins it in {n} of 100 games, "
                "after {other} in {m}."
            ),
            _(
                "{move} is better for hill {hill}, worth {worth}: you win it in {n} of 100 games, "
                "after {other} in {m}."
            ),
        )
    rival = "" if reason.rival is None else names[reason.rival]
    return form.format(hill=reason.hill, worth=reason.worth, rival=rival, n=in_100(n), m=in_100(m), **about)


def in_100(chance: float) -> int:
    """Return a chance as a number of 100 games."""
    return round(100 * chance)

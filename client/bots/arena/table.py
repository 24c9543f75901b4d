"""The standings of an arena as tables for people, and as JSON for programs."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from client.bots.arena.schedule import Schedule
from client.bots.arena.standings import Share, Standing
from client.language import _, counted

Rows: TypeAlias = list[list[str]]  # the first has the headings


def tables(
    schedule: Schedule, played: int, found: Sequence[Standing], *, times: bool
) -> list[tuple[str, Rows]]:
    """Return each table after what is said above it; without `times` the same seed gives the same text."""
    above = _heading(schedule, played)
    if not found:
        return [(above, [])]
    return [
        (above, []),
        ("", _overall(found, times=times)),
        (_("Wins by seat, seat 1 starting:"), _by_seat(schedule, found)),
        (_("How often the row's brain finishes ahead of the column's:"), _pairs(found)),
    ]


def as_json(schedule: Schedule, played: int, found: Sequence[Standing], *, times: bool) -> dict[str, Any]:
    """Return everything that the tables show."""
    return {
        "version": 1,
        "players": schedule.players,
        "seed": schedule.seed,
        "alone": schedule.names[0] if schedule.alone else None,
        "random_layout": schedule.random_layout,
        "games": played,
        "planned": schedule.games,
        "brains": [_brain_json(standing, times=times) for standing in found],
    }


def _heading(schedule: Schedule, played: int) -> str:
    form = counted(
        "{played} of {n} game, seed {seed}.", "{played} of {n} games, seed {seed}.", schedule.games
    )
    sentences = (
        form.format(played=played, n=schedule.games, seed=schedule.seed),
        _("Equal brains would win {share}.").format(share=f"{1 / schedule.players:.1%}"),
        _("In brackets: 95 per cent intervals."),
    )
    return " ".join(sentences)


def _overall(found: Sequence[Standing], *, times: bool) -> Rows:
    heads = [_("brain"), _("games"), _("wins"), "", _("points"), _("rating"), ""]
    rows = [
        [
            standing.name,
            str(standing.total.games),
            f"{standing.total.share:.1%}",
            _interval(standing.total, ".1f"),
            f"{standing.total.mean_points:.1f}",
            f"{standing.rating.mean:.1f}",
            f"±{standing.rating.reach:.1f}",
        ]
        for standing in found
    ]
    if times:
        heads += [_("ms a move"), _("longest")]
        for row, standing in zip(rows, found, strict=True):
            row += [f"{1000 * standing.mean_seconds:.2f}", f"{1000 * standing.longest:.1f}"]
    return [heads, *rows]


def _by_seat(schedule: Schedule, found: Sequence[Standing]) -> Rows:
    heads = [_("brain"), *(str(seat) for seat in range(1, schedule.players + 1))]
    return [heads, *([each.name, *map(_short, each.seats)] for each in found)]


def _pairs(found: Sequence[Standing]) -> Rows:
    names = [standing.name for standing in found]
    rows = [[each.name, *(_short(each.against.get(name)) for name in names)] for each in found]
    return [["", *names], *rows]


def _short(share: Share | None) -> str:
    if share is None or not share.games:
        return "-"
    return f"{share.share:.0%} {_interval(share, '.0f')}"


def _interval(share: Share, form: str) -> str:
    low, high = share.interval
    return f"[{format(100 * low, form)}, {format(100 * high, form)}]"


def _brain_json(standing: Standing, *, times: bool) -> dict[str, Any]:
    told = {
        "name": standing.name,
        **_share_json(standing.total),
        "rating": {"mean": standing.rating.mean, "deviation": standing.rating.deviation},
        "seats": [_share_json(share) for share in standing.seats],
        "ahead_of": {
            name: {"games": share.games, "share": share.share, "interval": share.interval}
            for name, share in standing.against.items()
        },
    }
    if times:
        told["seconds"] = {"mean": standing.mean_seconds, "longest": standing.longest}
    return told


def _share_json(share: Share) -> dict[str, Any]:
    if not share.games:
        return {"games": 0, "share": None, "interval": None, "points": None}
    return {
        "games": share.games,
        "share": share.share,
        "interval": share.interval,
        "points": share.mean_points,
    }

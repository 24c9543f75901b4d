"""The sentences about a game's draws: what they come from, and what is wrong with them."""

from collections.abc import Sequence
from typing import Final

from client.language import N_, _, counted, listed
from client.tables.draws import Doubt, DrawsCheck, Fault
from engine.draws import MISSING, Draws
from engine.fairness import Mismatch, Sources

_FAULTS: Final[dict[Fault, str]] = {
    Doubt.COMMITMENT: N_("the server changed its commitment after the players had revealed their shares"),
    Doubt.SHARE: N_("the server used a share other than yours"),
    Doubt.PLEDGE: N_("a player's share is not the one that was pledged"),
    Doubt.OPTIONS: N_(
        "the starting player or the way the tiles are laid was changed after the shares were revealed"
    ),
    Mismatch.SEED: N_("the server's seed is not the one to which it had committed itself"),
    Mismatch.STARTING: N_("seed and shares give another starting player"),
    Mismatch.TILES: N_("seed and shares give other tiles"),
    Mismatch.ORIENTATIONS: N_("seed and shares turn the tiles in another way"),
    Mismatch.LAURELS: N_("seed and shares give other laurels"),
}


def describe_fault(fault: Fault) -> str:
    """Return what is wrong with a game's draws, for people to notice."""
    return _("DO NOT TRUST THE DRAWS OF THIS GAME: {reason}.").format(reason=_(_FAULTS[fault]))


def describe_draws(check: DrawsCheck, names: Sequence[str], *, plays: bool) -> str:
    """Return what a game's draws come from, as far as they could be checked; `plays` is not a spectator."""
    if check.fault is not None:
        return describe_fault(check.fault)
    draws = check.draws
    if draws is None:
        return _("The draws cannot be checked: the server did not commit itself to a seed.")
    told = [_describe_right(draws)]
    if check.late:
        told.append(_("Yours came too late, or the server left it out, so they prove nothing to you."))
    elif plays and not check.own and draws.shared:
        told.append(_("None of them is yours, so they prove nothing to you."))
    missing = [names[seat] for seat, share in enumerate(draws.shares) if share == MISSING]
    if missing and not (check.late and len(missing) == 1):
        form = _("Promised, but not revealed in time: the share from {names}.")
        told.append(form.format(names=listed(missing)))
    if check.broken_off:
        form = counted(
            "Earlier, {n} draw was abandoned after the shares had been revealed.",
            "Earlier, {n} draws were abandoned after the shares had been revealed.",
            check.broken_off,
        )
        told.append(form.format(n=check.broken_off))
    return " ".join(told)


def describe_recorded_draws(sources: Sources, *, over: bool) -> str:
    """Return what the draws of a recorded game come from, or what is wrong with them."""
    if sources.draws is None:
        return _("The draws cannot be checked: the record does not say what they come from.")
    if not over:
        return _("The draws can be checked when the game is over.")
    return _describe_right(sources.draws) if sources.mismatch is None else describe_fault(sources.mismatch)


def _describe_right(draws: Draws) -> str:
    if not draws.shared:
        return _("The draws fit the server's seed, but prove nothing: no player has added a share.")
    form = counted(
        "The draws are right: they come from the server's seed and {n} share of {seats}.",
        "The draws are right: they come from the server's seed and {n} shares of {seats}.",
        draws.shared,
    )
    return form.format(n=draws.shared, seats=len(draws.shares))


def note_on_draws(checks: Sequence[DrawsCheck]) -> str:
    """Return in a few words what several clients of one program can say of the draws of their game."""
    if any(check.fault is not None for check in checks):
        return _("draws that are wrong")
    if not checks or any(check.draws is None for check in checks):
        return _("draws that cannot be checked")
    return _("draws checked") if all(check.own for check in checks) else _("draws without all their shares")


def draws_in_a_word(checks: Sequence[DrawsCheck]) -> str:
    """Return the same for programs: `right`, `wrong`, `unknown`, or `unshared` if a share is missing."""
    if any(check.fault is not None for check in checks):
        return "wrong"
    if not checks or any(check.draws is None for check in checks):
        return "unknown"
    return "right" if all(check.own for check in checks) else "unshared"

"""Whether a game's draws are those that server and players had committed themselves to, and in which words.

docs/fairness.md says what this client looks at, and what it proves.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from client.language import N_, _, counted, listed
from engine.draws import MISSING, NO_SHARE, OF_ROUND, Draws, Share, pledge_of
from engine.events import CentreTurned, GameEnded, GameStarted, LayoutDrawn, SeenEvent
from engine.fairness import Drawn, Mismatch, Sources, drawn_in, mismatch
from engine.view import View
from protocol.messages import DrawBegins, TableState


class Doubt(enum.StrEnum):
    """What the server changed after the clients had shown their shares."""

    COMMITMENT = "commitment"
    SHARE = "share"  # this client's own is not among them
    PLEDGE = "pledge"  # another one is not what had been pledged
    OPTIONS = "options"  # who starts, or how the tiles are laid


DrawsFault: TypeAlias = Doubt | Mismatch


@dataclass(frozen=True, slots=True)
class DrawsCheck:
    """What a client can say of a game's draws; without `draws` the server was committed to nothing.

    `fault` is what does not fit. `own` tells whether this client's share is among them, `late` whether it is
    missing though it was shown. `broken_off` counts the draws that led to no game.
    """

    draws: Draws | None = None
    fault: DrawsFault | None = None
    own: bool = False
    late: bool = False
    broken_off: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """What was settled when the clients were asked for their shares, and the share that this one showed."""

    commitment: str
    pledges: Sequence[str | None]
    seat: int | None
    starting: int | None
    random_layout: bool
    shown: Share | None = field(repr=False)


@dataclass(slots=True)
class DrawsWitness:
    """What a client has seen of how the draws of its table's game came about.

    Whoever comes back to a seat sets the `call` that was kept with it, and whoever comes from an evening the
    commitment that was `promised` for all tables of the round.
    """

    call: Call | None = None
    promised: str | None = None
    _broken_off: int = 0
    _draws: Draws | None = None
    _drawn: Drawn = field(default_factory=Drawn)
    _fault: DrawsFault | None = None
    _over: bool = False

    def share_called(
        self, message: DrawBegins, state: TableState | None, seat: int | None, share: Share
    ) -> bool:
        """Handle the start of a draw; return whether to reveal `share`. After that, the server knows it."""
        if self.call is not None and self.call.shown is not None:
            self._broken_off += 1
        starting = None if state is None else state.starting
        random_layout = state is not None and state.random_layout
        pledges = message.pledges
        due = (
            seat is not None
            and state is not None
            and len(pledges) == len(state.seats)
            and pledges[seat] == pledge_of(share)
        )
        shown = share if due else None
        self.call = Call(message.commitment, pledges, seat, starting, random_layout, shown)
        return due

    def fold(self, event: SeenEvent) -> None:
        """Take in the next event of the game."""
        begun = self._drawn.starting is not None
        self._drawn.fold(event)
        match event:
            case GameStarted() if begun:  # a game begins once
                self._doubt(Doubt.COMMITMENT)
            case GameStarted():
                self._start(event)
            case CentreTurned() | LayoutDrawn() if self.call is not None:
                if isinstance(event, LayoutDrawn) != self.call.random_layout:
                    self._doubt(Doubt.OPTIONS)
            case GameEnded():
                self._end(event)

    def look(self, view: View, state: TableState | None) -> None:
        """Take in a game as a whole: what was seen of it before still counts."""
        seen = drawn_in(view, random_layout=state is not None and state.random_layout)
        if self._drawn.starting is None:
            self._start(view.start)
        elif (self._drawn.starting, self._draws) != (seen.starting, view.start.draws):
            self._doubt(Doubt.COMMITMENT)
        if not self._drawn.agrees(seen):
            self._doubt(Mismatch.TILES)
        self._drawn = self._drawn.joined(seen)
        if view.result is not None:
            self._end(view.result)

    def check(self) -> DrawsCheck | None:
        """Return what can be said of the draws of a game with a result; None before it has one."""
        if not self._over:
            return None
        shown, own = None if self.call is None else self.call.shown, None
        if self.promised is not None and (self._draws is None or self._draws.commitment != self.promised):
            self._doubt(Doubt.COMMITMENT)
        if self._draws is not None and self.call is not None and self.call.seat is not None:
            own = self._draws.shares[self.call.seat]
        return DrawsCheck(
            self._draws,
            self._fault,
            own=shown is not None and own == shown,
            late=shown is not None and own == MISSING,
            broken_off=self._broken_off,
        )

    def _start(self, started: GameStarted) -> None:
        self._draws, call = started.draws, self.call
        if call is None:
            return
        if started.draws is None:
            self._doubt(Doubt.COMMITMENT)
            return
        shares = started.draws.shares
        if started.draws.commitment != call.commitment:
            if call.shown is not None and call.shown in shares:
                self._doubt(Doubt.COMMITMENT)
            elif call.shown is not None:  # there was another draw while this client was away
                self._broken_off += 1
            self.call = None
            return
        if (
            call.shown is not None
            and call.seat is not None
            and shares[call.seat] not in {call.shown, MISSING}
        ):
            self._doubt(Doubt.SHARE)
        if len(shares) != len(call.pledges) or not all(map(_fits, call.pledges, shares)):
            self._doubt(Doubt.PLEDGE)
        if started.draws.starting != (call.starting is None) or call.starting not in {None, started.starting}:
            self._doubt(Doubt.OPTIONS)

    def _end(self, ended: GameEnded) -> None:
        if not self._over and self._draws is not None:
            self._doubt(mismatch(self._draws, ended.seed, self._drawn))
        self._over = True

    def _doubt(self, fault: DrawsFault | None) -> None:
        self._fault = self._fault or fault


def _fits(pledge: str | None, share: Share) -> bool:
    """Return whether a seat with this pledge can have added this share, or none."""
    if pledge is None:
        return share in {NO_SHARE, OF_ROUND}
    return share == MISSING or pledge_of(share) == pledge


_FAULTS: Final[dict[DrawsFault, str]] = {
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


def describe_fault(fault: DrawsFault) -> str:
    return _("DO NOT TRUST THE DRAWS OF THIS GAME: {reason}.").format(reason=_(_FAULTS[fault]))


def describe_draws(check: DrawsCheck, names: Sequence[str], *, plays: bool) -> str:
    """Return what a game's draws come from, as far as they could be checked; `plays` is not a spectator."""
    if check.fault is not None:
        return describe_fault(check.fault)
    if check.draws is None:
        return _("The draws cannot be checked: the server did not commit itself to a seed.")
    return " ".join((_describe_right(check.draws), *_qualifications(check, check.draws, names, plays=plays)))


def is_plainly_right(check: DrawsCheck, names: Sequence[str], *, plays: bool) -> bool:
    """Return whether the draws are right without any qualification."""
    draws = check.draws
    if check.fault is not None or draws is None:
        return False
    proves = draws.shared or set(draws.shares) == {OF_ROUND}
    return bool(proves) and not _qualifications(check, draws, names, plays=plays)


def _qualifications(check: DrawsCheck, draws: Draws, names: Sequence[str], *, plays: bool) -> list[str]:
    """Return why draws that are right may prove less than that nobody could choose them."""
    told = []
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
    return told


def describe_recorded_draws(sources: Sources, *, over: bool) -> str:
    """Return what the draws of a recorded game come from, or what is wrong with them."""
    if sources.draws is None:
        return _("The draws cannot be checked: the record does not say what they come from.")
    if not over:
        return _("The draws can be checked when the game is over.")
    return _describe_right(sources.draws) if sources.mismatch is None else describe_fault(sources.mismatch)


def _describe_right(draws: Draws) -> str:
    if set(draws.shares) == {OF_ROUND}:
        return _("The draws are those of all tables of the round, and fit the seed committed to before it.")
    if not draws.shared:
        return _("The draws fit the server's seed, but prove nothing: no player has added a share.")
    form = counted(
        "The draws are right: they come from the server's seed and {n} share of {seats}.",
        "The draws are right: they come from the server's seed and {n} shares of {seats}.",
        draws.shared,
    )
    return form.format(n=draws.shared, seats=len(draws.shares))


NOTES_ON_DRAWS: Final = {  # for people, by the words for programs
    "wrong": N_("draws that are wrong"),
    "unknown": N_("draws that cannot be checked"),
    "right": N_("draws checked"),
    "unshared": N_("draws without all their shares"),
}


def draws_in_a_word(checks: Sequence[DrawsCheck]) -> str:
    """Return what several clients of one program can say of the draws of their game."""
    if any(check.fault is not None for check in checks):
        return "wrong"
    if not checks or any(check.draws is None for check in checks):
        return "unknown"
    return "right" if all(check.own for check in checks) else "unshared"

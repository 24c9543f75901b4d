"""Moves compared by what their player can know: which is better, by how much, and what differs.

Hidden wolves are drawn as the player may think them: as many of the worlds come from each of the things that
one may believe about their owners. Every move is searched in each of these worlds with everything open and
with the same chance. A move is advised if it gains on average, and is clearly worse in few worlds. In an
ending there is nothing to search: all worlds, likely ones counting for more, and all replies are played.

A search takes everybody for as good as itself, and its simulations follow few lines of play. So the shares
are drawn apart, or towards each other, by a stretch of their logits (Guo et al., "On Calibration of Modern
Neural Networks", ICML 2017), which was fitted on games between bots: `python -m bench.bots.calibration --fit`
does that, and without the option it shows how right the chances are.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from client.bots.search.brain import Ending, SearchBrain, exact_ending
from client.bots.search.tree import Move, TreeSearch, win_shares
from client.bots.search.worlds import MOTIVES, STEPS, WOLVES, Worlds, clues_in
from client.records import Awaited, Better, Captives, Chances, Contest, HiddenWolf, Reason
from engine.board import FIELDS, TILES, Field, Tile
from engine.components import LAUREL_WORTH, PEOPLES
from engine.events import Captured, HillScored, Place, Placed
from engine.pieces import Kind, Piece, Seat, Wolf
from engine.redaction import snapshot
from engine.scoring import Board, scored
from engine.terrain import EMPTY, FARMER, NUMBERS, Occupant
from engine.view import View

Shares: TypeAlias = tuple[float, ...]  # by seat; they add up to 1, and none is 0 or 1

# Each search settles on few lines of play, so two that are half as long judge better than one (measured).
_SEARCHES: Final = 2


def shares_of_wins(view: View, simulations: int, seed: str) -> Shares:
    """Return everybody's share of the wins in games from `view` on, the placing phase, to the end."""
    rng = random.Random(seed)
    wins = [1.0 / view.seats] * view.seats  # one more game, in which everybody is as good
    for _search in range(_SEARCHES):
        TreeSearch(view, rng, wins).run(simulations // _SEARCHES)
    return _parts(wins)


def _parts(wins: Sequence[float]) -> Shares:
    total = sum(wins)
    return tuple(each / total for each in wins)


# The stretch before the first piece is placed, and what it gains until the last one is.
FITTED: Final = (0.75, 0.0)


def chances_of(shares: Shares, placed: float, fitted: tuple[float, float] = FITTED) -> Shares:
    """Return the chances of winning, when this part of all pieces, from 0 to 1, is placed."""
    start, gain = fitted
    return _parts([share ** (start + gain * placed) for share in shares])


def part_placed(to_place: int, dealt: int) -> float:
    return 1.0 - to_place / dealt


def chances_in(view: View, shares: Shares) -> Chances:
    """Return the chances of winning that the shares of wins from `view` on mean."""
    dealt = sum(sum(hand.values()) for hand in view.start.hands)
    return chances_of(shares, part_placed(view.to_place, dealt))


def after(own: View, move: Place) -> View:
    there = snapshot(own, own.eyes)
    there.fold(Placed(move.seat, move.piece, move.field))
    return there


# Measured, not derived: `python -m bench.bots.advice` shows how good the advice is with other values.
_FOUND_BY: Final = 5  # times the simulations of a judgement: of the search that finds better moves
_TRIED: Final = 3  # moves that it visits most
_EACH: Final = 0.5  # of the simulations of a judgement: for each move in each world
_WORLDS: Final = 4  # for each of the beliefs
_PROMISING: Final = 2  # after so many of them, only the best of the moves is left, if it gains enough
_PROMISES: Final = 0.02
_BETTER: Final = 0.02  # a move that improves the player's chance by less is as good as another one
CLEARLY_BETTER: Final = 0.05
_NOISE: Final = 0.1  # a move that seems worse by less in a world may be as good
_BEHIND: Final = 0.2  # of the worlds, in which a move that is advised may be worse than the other
_AS_GOOD: Final = 0.03  # a gain by less, if a wolf is of the wrong kind, makes a move depend on it
_DEPENDS: Final = 0.1  # by so much more does a move gain if a wolf on which that depends is of the right kind
# What one may believe about the owners of hidden wolves: nothing, or one of these opposite motives.
_BELIEVED: Final = (MOTIVES[0], MOTIVES[3])
BELIEFS: Final = 1 + len(_BELIEVED)
_ENDS_BETWEEN: Final = 10  # simulations, of the second half, of which one is counted for the reasons
_KINDS: Final = tuple(Kind)  # in the order of occupants
_NO_HURRY: Final = float("inf")  # seconds: the simulations alone decide how long a search takes

World: TypeAlias = Sequence[Occupant]  # its board, by field


@dataclass(frozen=True, slots=True)
class _Outlook:
    """What came of a move: its player's chance in each world (of the beliefs in turn), and final boards."""

    move: Place
    chances: list[float]
    ends: list[list[Occupant]]

    @property
    def chance(self) -> float:
        return _mean(self.chances)


@dataclass(frozen=True, slots=True)
class _Compared:
    """A move compared with another one in the same worlds: their boards, weights, and chances in them.

    They are `exact` if these are all worlds and all replies.
    """

    boards: Sequence[World]
    weights: Sequence[float]
    best: _Outlook
    other: _Outlook
    exact: bool = False

    @property
    def gained(self) -> list[float]:
        return [each - instead for each, instead in zip(self.best.chances, self.other.chances, strict=True)]

    def chance(self, outlook: _Outlook) -> float:
        return _weighed(outlook.chances, self.weights)

    @property
    def gain(self) -> float:
        return self.chance(self.best) - self.chance(self.other)

    @property
    def sure(self) -> bool:
        return self.exact or holds(self.gained)

    def gain_if(self, field: Field, kind: Kind) -> float | None:
        """Return the gain in the worlds in which a wolf is of this kind; None without such worlds."""
        weights = [
            weight if (board[NUMBERS[field]] >= FARMER) == (kind is Kind.FARMER) else 0.0
            for board, weight in zip(self.boards, self.weights, strict=True)
        ]
        return _weighed(self.gained, weights) if any(weights) else None


def advise(own: View, seat: Seat, simulations: int, seed: str) -> tuple[Place, Place, Better | None]:
    """Return the best move of the seat to move and the next best, and how much better it is, if it is."""
    best, other, *_others = candidates(own, seat, _FOUND_BY * simulations, seed)
    found = _compare(own, [best], other, simulations, seed)
    if found.gain <= -_PROMISES:  # in these worlds, the search was wrong about which of them is better
        instead = compare_moves(own, other, best, simulations, seed)
        return (best, other, None) if instead is None else (other, best, instead)
    return best, other, _as_clearly_better(own, found)


def better(own: View, played: Place, simulations: int, seed: str) -> Better | None:
    """Return a better move than the one that was played, judged by what its player saw; None without one."""
    moves = _instead_of(played, own, simulations, seed)
    if not moves:
        return None
    found = _compare(own, moves, played, simulations, seed)
    others = [each for each in moves if each != found.best.move]
    if others and found.gain >= _BETTER and not found.sure:  # a venture, where another move may gain surely
        found = _compare(own, others, played, simulations, seed)
    return _as_better(own, found) if found.gain >= _BETTER and found.sure else None


def _instead_of(played: Place, view: View, simulations: int, seed: str) -> list[Place]:
    """Return the best of the other moves that one could have made."""
    best = candidates(view, played.seat, _FOUND_BY * simulations, seed)[:_TRIED]
    # People and wolf do not differ without need.
    alike = [
        Place(each.seat, played.piece, each.field) if each.piece.kind is played.piece.kind else each
        for each in best
    ]
    return [] if alike[0] == played else [each for each in alike if each != played]


def candidates(own: View, seat: Seat, simulations: int, seed: str) -> list[Place]:
    """Return moves of the seat to move, the one that a search visits most first."""
    visits = SearchBrain(simulations, _NO_HURRY).visits(own, random.Random(seed).getrandbits(64))
    # A wolf scores like its open twin, but the others do not see its kind.
    pieces = {piece.kind: piece for piece in sorted(own.hands[seat], key=lambda piece: piece.wolf)}
    ranked = sorted(visits, key=lambda move: visits[move], reverse=True)
    return [Place(seat, pieces[move.kind], FIELDS[move.field]) for move in ranked]


def compare_moves(
    own: View, move: Place, other: Place, simulations: int, seed: str, *, surely: bool = True
) -> Better | None:
    """Return how much better the move is than the other; None if they are about equal.

    Unless it has to be so surely, it is enough if the move is better on average.
    """
    return _as_clearly_better(own, _compare(own, [move], other, simulations, seed), surely=surely)


def _as_clearly_better(own: View, found: _Compared, *, surely: bool = True) -> Better | None:
    clearly = found.gain >= CLEARLY_BETTER and (not surely or found.sure)
    return _as_better(own, found) if clearly else None


def _as_better(own: View, found: _Compared) -> Better:
    best, other = found.best, found.other
    chances = found.chance(best), found.chance(other)
    return Better(best.move, *chances, tuple(_reasons(own, best, other)), _condition(own, found))


def holds(gained: Sequence[float]) -> bool:
    """Return whether a move that gained so much in the worlds is clearly worse in few of them."""
    return sum(gain < -_NOISE for gain in gained) <= _BEHIND * len(gained)


def _condition(own: View, found: _Compared) -> HiddenWolf | None:
    """Return the wolf without whose kind the move would be about as good as the other, if there is one."""
    wolf = _telling_wolf(own, found)
    if wolf is None:
        return None
    otherwise = found.gain_if(wolf.field, _other_kind(wolf.kind))
    return wolf if otherwise is not None and otherwise < _AS_GOOD else None


def unknown(own: View, everything: View, played: Place, simulations: int, seed: str) -> HiddenWolf | None:
    """Return the wolf whose kind the player could not see, and without which another move was no better.

    `everything` is the same moment with everything open: only a finished game may be asked for this.
    """
    moves = _instead_of(played, everything, simulations, seed)[:1]
    if not moves or not any(isinstance(piece, Wolf) for piece in own.placed.values()):
        return None
    true = {field: piece.kind for field, piece in everything.placed.items() if isinstance(piece, Piece)}
    return _telling_wolf(own, _compare(own, moves, played, simulations, seed, fully=True), true)


def _telling_wolf(own: View, found: _Compared, true: Mapping[Field, Kind] | None = None) -> HiddenWolf | None:
    """Return the hidden wolf on which the gain depends most, with the kind for which there is one.

    That kind has to be the `true` one, if those are given.
    """
    most, telling = _DEPENDS, None
    for field, piece in own.placed.items():
        if not isinstance(piece, Wolf):
            continue
        for kind in WOLVES if true is None else (true[field],):
            gain, otherwise = found.gain_if(field, kind), found.gain_if(field, _other_kind(kind))
            if gain is None or otherwise is None or gain < CLEARLY_BETTER:
                continue
            if gain - otherwise >= most:
                most, telling = gain - otherwise, (field, kind)
    if telling is None:
        return None
    field, kind = telling
    promised = clues_in(own).gains.get(NUMBERS[field], 0.0)
    looks = Kind.FARMER if promised > 0.0 else Kind.MERCHANT
    return HiddenWolf(own.owners[field], field, kind, abs(promised) > STEPS[0] and looks is kind)


def _other_kind(kind: Kind) -> Kind:
    return Kind.MERCHANT if kind is Kind.FARMER else Kind.FARMER


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _weighed(numbers: Sequence[float], weights: Sequence[float]) -> float:
    """Return the mean of the numbers with these weights."""
    return sum([each * weight for each, weight in zip(numbers, weights, strict=True)]) / sum(weights)


def _compare(
    own: View, moves: Sequence[Place], other: Place, simulations: int, seed: str, *, fully: bool = False
) -> _Compared:
    """Return the best of the moves compared with another one, in the same worlds.

    Unless it is wanted `fully`, moves that promise little are not looked at in all of them.
    """
    number = random.Random(seed).getrandbits(64)
    ending = exact_ending(own, _FOUND_BY * simulations, number)
    if ending is not None:
        return _compare_exactly(own, ending, moves, other, seed)
    rng = random.Random(f"{seed} worlds")
    worlds = _worlds_believed(own)
    boards = list[World]()
    tried, instead = [_Outlook(move, [], []) for move in moves], _Outlook(other, [], [])
    for at in range(_WORLDS * BELIEFS):
        boards.append(worlds[at % BELIEFS].draw(rng).board)
        for outlook in (*tried, instead):  # with the same seed, so that chance helps none of them
            _play(own, boards[-1], outlook, round(simulations * _EACH), f"{seed} {at}")
        if at + 1 == _PROMISING * BELIEFS:
            tried = [max(tried, key=lambda each: each.chance)]
            if not fully and tried[0].chance - instead.chance < _PROMISES:
                break  # the rest would hardly change that
    return _Compared(boards, [1.0] * len(boards), tried[0], instead)


def _compare_exactly(own: View, ending: Ending, moves: Sequence[Place], other: Place, seed: str) -> _Compared:
    """Return the best of the moves compared with another one, over all worlds and replies."""
    boards, weights = list[World](), list[float]()
    outlooks = [_Outlook(move, [], []) for move in (*moves, other)]
    for weight, world, found in ending.outcomes():
        boards.append(world.board)
        weights.append(weight)
        for outlook in outlooks:
            move = outlook.move
            worth = found[Move(move.piece.kind, NUMBERS[move.field])]
            outlook.chances.append(win_shares(worth)[move.seat])
    *tried, instead = outlooks
    compared = [_Compared(boards, weights, each, instead, exact=True) for each in tried]
    best = max(compared, key=lambda each: each.gain)
    worlds = list(zip(boards, weights, strict=True))
    random.Random(f"{seed} worlds").shuffle(worlds)  # neighbours differ in the same wolf
    for at, (board, times) in enumerate(_in_proportion(worlds)):
        for outlook in (best.best, instead):
            played = _Outlook(outlook.move, [], [])
            _play(own, board, played, _ENDS_PLAYED if own.to_place > 1 else 1, f"{seed} {at}")
            outlook.ends.extend(played.ends[-_ENDS_OF_EACH:] * times)
    return best


# For the reasons where chances are exact: simulations in a world, of which the last ends count, and worlds.
_ENDS_PLAYED: Final = 200
_ENDS_OF_EACH: Final = 2
_ENDS_IN: Final = 240  # a likely world counts as several


def _in_proportion(worlds: Sequence[tuple[World, float]]) -> Iterator[tuple[World, int]]:
    """Yield worlds, each with how many of `_ENDS_IN` it stands for, as near to its weight as can be."""
    step, passed, counted = sum(weight for _, weight in worlds) / _ENDS_IN, 0.0, 0
    for board, weight in worlds:
        passed += weight
        times = round(passed / step) - counted
        if times:
            yield board, times
            counted += times


def _worlds_believed(own: View) -> list[Worlds]:
    """Return the worlds by what one may believe."""
    promised = clues_in(own)
    sure = [tuple(float(each is motive) for each in MOTIVES) + (0.0,) * len(MOTIVES) for motive in _BELIEVED]
    return [Worlds(own), *(Worlds(own, promised, [belief] * own.seats) for belief in sure)]


def _play(own: View, board: World, outlook: _Outlook, simulations: int, seed: str) -> None:
    """Add what comes of the move in the world with this board."""
    view, ends = after(_open_view(own, board), outlook.move), list[list[Occupant]]()
    wins = [1.0 / view.seats] * view.seats
    TreeSearch(view, random.Random(seed), wins, ends=ends).run(simulations)
    outlook.chances.append(chances_in(view, _parts(wins))[outlook.move.seat])
    outlook.ends.extend(ends[len(ends) // 2 :: _ENDS_BETWEEN])


def _open_view(own: View, board: Sequence[Occupant]) -> View:
    """Return the view of somebody who sees everything, in a world with this board."""
    placed: dict[Field, Piece | Wolf] = {
        field: Piece.of(
            piece.people, Kind.FARMER if board[NUMBERS[field]] >= FARMER else Kind.MERCHANT, wolf=True
        )
        if isinstance(piece, Wolf)
        else piece
        for field, piece in own.placed.items()
    }
    on_board = Counter(placed.values())
    hands = {
        Seat(seat): {piece: left for piece, count in dealt.items() if (left := count - on_board[piece])}
        for seat, dealt in enumerate(own.start.hands)
    }
    return replace(own, eyes=frozenset(hands), placed=placed, hands=hands)


# -- what differs ----------------------------------------------------------------------------------

_LEAST_OFTEN: Final = 0.08  # of the games, by which a laurel's takers have to differ to be a reason
_CLEARLY_OFTEN: Final = 0.12  # smaller differences between laurel takers are mostly chance (measured)
_LEAST_POINTS: Final = 0.4  # that a reason is worth
_MOSTLY: Final = 0.5  # of the games
_MOST_REASONS: Final = 2  # for the move, and one against it


def _reasons(own: View, best: _Outlook, other: _Outlook) -> Iterator[Reason]:
    """Yield what differs most: for the better move, of which there is always something, and against it."""
    found = sorted(_differences(own, best, other), key=lambda each: -each[0])
    clear = [each for each in found if abs(each[0]) >= _LEAST_POINTS and _is_clear(each[1])]
    speaking = [reason for points, reason in clear if points > 0.0]
    yield from speaking[:_MOST_REASONS] or [reason for points, reason in found[:1] if points > 0.0]
    yield from [reason for points, reason in clear[-1:] if points < 0.0]
    yield from _awaited(best.move, other)


def _is_clear(reason: Reason) -> bool:
    return not isinstance(reason, Contest) or abs(reason.often - reason.instead) >= _CLEARLY_OFTEN


def _awaited(move: Place, other: _Outlook) -> Iterator[Awaited]:
    """Yield the rival who mostly takes the field of a move if the other one is made, if there is one."""
    at = NUMBERS[move.field]
    owners = Counter(Seat(end[at] % FARMER) for end in other.ends if end[at] != EMPTY)
    del owners[move.seat]
    for seat, count in owners.most_common(1):
        if count >= _MOSTLY * len(other.ends):
            yield Awaited(seat, move.field, count / len(other.ends))


def _differences(own: View, best: _Outlook, other: _Outlook) -> Iterator[tuple[float, Reason]]:
    """Yield what differs, and what that is worth to the player, in points ahead of the others."""
    seat, others = best.move.seat, [Seat(each) for each in range(own.seats) if each != best.move.seat]
    one, two = _tally_ends(own, best.ends), _tally_ends(own, other.ends)
    for hill in TILES:
        more = {each: one[hill, each] - two[hill, each] for each in (seat, *others)}
        sign = math.copysign(1.0, more[seat] - sum(more[each] for each in others) / len(others))
        rival = min(others, key=lambda each: sign * more[each])
        who = seat if abs(more[seat]) >= _LEAST_OFTEN or not more[rival] else rival
        taken = who == seat and -sign * more[rival] >= abs(more[seat]) / 2  # by one from the other
        worth = LAUREL_WORTH[own.laurels[hill]]
        points = worth * (more[seat] - sum(more[each] for each in others) / len(others))
        if points * (more[who] if who == seat else -more[who]) > 0.0:
            contest = Contest(hill, worth, who, rival if taken else None, one[hill, who], two[hill, who])
            yield points, contest
    for rival in others:
        for captor, owner, each in ((seat, rival, 1.0), (rival, seat, -1.0 / len(others))):
            often, instead = one[captor, owner], two[captor, owner]
            yield each * (often - instead), Captives(captor, owner, often, instead)


def _tally_ends(own: View, ends: Sequence[list[Occupant]]) -> Counter[tuple[Tile | Seat, Seat]]:
    """Return how often each seat takes each laurel (by hill and seat), and pieces (by captor and owner)."""
    tally = Counter[tuple[Tile | Seat, Seat]]()
    for end in ends:
        taken = [(field, each) for field, each in zip(FIELDS, end, strict=True) if each != EMPTY]
        owners = {field: Seat(each % FARMER) for field, each in taken}
        pieces = {field: Piece.of(PEOPLES[0], _KINDS[each // FARMER]) for field, each in taken}
        for event in scored(Board(own.layout, pieces, owners), own.laurels, own.seats):
            match event:
                case HillScored(hill=hill, leaders=(seat,)):
                    tally[hill, seat] += 1
                case Captured(seat=captor):
                    tally.update((captor, owners[field]) for field in (*event.taken, *event.shared))
                case _:
                    pass
    return Counter({key: count / len(ends) for key, count in tally.items()})

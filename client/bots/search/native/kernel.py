"""The simulations of `client.bots.search.tree`, for numba to compile: the same steps in the same order.

Every number comes out equal, also the last bit of a float: the generator of chance, sums, sorts and ties are
those of the plain search, and `tests/client/bots/test_native_search.py` compares the two. Numba keeps what it
has compiled until this file changes, and does not look at what the file imports. So all of it is here, and
what is tuned comes in as `Tuning`.
"""

import math
from typing import Final

from client.bots.search.native.arrays import HAND_BITS, Arrays, Floats, Position, State, Tree, Tuning, Whole
from client.bots.search.native.compiling import bit_count, compiled, compiled_and_kept

_FIELDS: Final = 42
_HILLS: Final = 7
_KINDS: Final = 3
_FARMER: Final = 5  # as `engine.terrain.FARMER`, and so on
_SOLDIER: Final = 10
_EMPTY: Final = 15
_POINT: Final = 256
_ITEM: Final = _POINT + 1
_SHARE: Final = 2 * _POINT + 1
_VISIT: Final = 2.0**20  # as in `averages`
_DRAWS: Final = 6  # see `engine.position.Hand`
_WORDS: Final = 624  # of the Mersenne Twister
_MIDDLE: Final = 397

# The counters of a `State`.
DONE: Final = 0
NODES: Final = 1
NEXT: Final = 2


@compiled_and_kept
def simulate(arrays: Arrays, simulations: int, batches: int) -> None:
    """Make so many simulations in all, but no more than so many batches of them now.

    Without batches, make so many simulations without the tree.
    """
    position, state, _, tuning = arrays
    done = state.counters
    for _ in range(max(1, batches)):
        count = simulations - done[DONE]
        if batches:
            _refresh(position, state)
            if done[DONE] >= tuning.inferred_from:
                _infer(position, state, tuning)
            count = min(tuning.batch, count)
        for _ in range(count):
            _draw_world(position, state)
            depth = _descend(arrays) if batches else 0
            _play_out(position, state, tuning.redraws, depth)
            _score(position, state)
            _judge(position, state)
            _count(arrays, depth)
        if done[DONE] >= simulations:
            break


@compiled_and_kept
def play_ending(position: Position, state: State, occupants: Whole, asker: int, values: Floats) -> None:
    """Work out what each free field is worth to the seat that asks, as `Ending`, on the board as it is.

    The pieces are placed in the order of `occupants`, the first by the seat that asks.
    """
    for place in range(len(position.free)):
        field = position.free[place]
        state.board[field] = occupants[0]
        _reply(position, state, occupants, asker)
        state.board[field] = _EMPTY
        values[place] = state.replies[1, asker]


@compiled
def _reply(position: Position, state: State, occupants: Whole, asker: int) -> None:
    """Place all pieces but the first where each is best for its seat; of equal fields, worst for the asker.

    What is best from the piece with a number on is in `replies`; behind the last, what the board is worth.
    """
    board, free, places, replies = state.board, position.free, state.places, state.replies
    end = len(occupants)
    number = 1
    places[number] = -1
    while True:
        if number < end:
            if places[number] < 0:
                replies[number, :] = -1.0
            place = places[number] + 1
            while place < len(free) and board[free[place]] != _EMPTY:
                place += 1
            places[number] = place
            if place < len(free):
                board[free[place]] = occupants[number]
                number += 1
                places[number] = -1
                continue
        else:
            _score(position, state)
            _judge(position, state)
            for seat in range(position.seats):
                replies[number, seat] = state.worth[seat]
        number -= 1
        if not number:
            break
        board[free[places[number]]] = _EMPTY
        seat = occupants[number] % _FARMER
        better = replies[number + 1, seat] - replies[number, seat]
        if better > 0 or (better == 0 and replies[number, asker] > replies[number + 1, asker]):
            for each in range(position.seats):
                replies[number, each] = replies[number + 1, each]


@compiled
def _random_word(words: Whole, counters: Whole) -> int:
    """Return the next 32 random bits, as `random.Random` has them.

    Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998.
    """
    index = counters[NEXT]
    if index >= _WORDS:
        _twist(words)
        index = 0
    counters[NEXT] = index + 1
    word = words[index]
    word ^= word >> 11
    word ^= (word << 7) & 0x9D2C5680
    word ^= (word << 15) & 0xEFC60000
    return word ^ (word >> 18)  # type: ignore[no-any-return]


@compiled
def _twist(words: Whole) -> None:
    """Work out the next words of the generator; without a modulo, several at a time."""
    for each in range(_WORDS - _MIDDLE):
        words[each] = words[each + _MIDDLE] ^ _mixed(words[each], words[each + 1])
    for each in range(_WORDS - _MIDDLE, _WORDS - 1):
        words[each] = words[each + _MIDDLE - _WORDS] ^ _mixed(words[each], words[each + 1])
    words[_WORDS - 1] = words[_MIDDLE - 1] ^ _mixed(words[_WORDS - 1], words[0])


@compiled
def _mixed(word: int, following: int) -> int:
    mixed = (word & 0x80000000) | (following & 0x7FFFFFFF)
    return (mixed >> 1) ^ (0x9908B0DF * (mixed & 1))


@compiled
def _draw_world(position: Position, state: State) -> None:
    """Put a random world on the board and into the hands, as `Worlds.draw`."""
    board, hands = state.board, state.hands
    for field in range(_FIELDS):
        board[field] = position.board[field]
    for seat in range(position.seats):
        hands[seat] = position.hands[seat]
    for group in range(len(position.group_seats)):
        first, end = position.way_starts[group], position.way_starts[group + 1]
        way = first
        if end - first > 1:
            high = _random_word(state.words, state.counters) >> 5
            low = _random_word(state.words, state.counters) >> 6
            chance = (high * 67108864.0 + low) * (1.0 / 9007199254740992.0)  # as `Random.random`
            point = chance * state.cumulative[end - 1]
            while state.cumulative[way] <= point:
                way += 1
        seat = position.group_seats[group]
        farmers = position.way_farmers[way]
        for each in range(position.field_starts[group], position.field_starts[group + 1]):
            board[position.group_fields[each]] = seat + _FARMER * (farmers & 1)
            farmers >>= 1
        hands[seat] += position.way_left[way]


@compiled
def _descend(arrays: Arrays) -> int:
    """Follow the tree, and return how many moves far."""
    position, state, tree, tuning = arrays
    node = depth = 0
    while node >= 0 and depth < len(position.order):
        seat = position.order[depth]
        kinds = position.kinds[state.hands[seat]]
        visits = tree.visits[node]
        if not visits & (visits - 1) and (not visits or visits >= tuning.sorted_from):
            _choose_moves(arrays, node, seat, kinds)
        best = -1
        for index in range(tree.lengths[node]):
            kind = tree.moves[node, index] // (_FARMER * _FIELDS)
            if kinds >> kind & 1 and (best < 0 or tree.values[node, index] > tree.values[node, best]):
                best = index
        if best < 0:
            break
        found, field = divmod(tree.moves[node, best], _FIELDS)
        state.path[depth, 0], state.path[depth, 1] = node, best
        depth += 1
        state.board[field] = found
        state.hands[seat] -= 1 << HAND_BITS * (found // _FARMER)
        child = tree.children[node, best]
        if not child and tree.counts[node, best] + 1 >= tuning.expanded_from:
            tree.children[node, best] = state.counters[NODES]
            state.counters[NODES] += 1
        node = child or -1
    return depth


@compiled
def _choose_moves(arrays: Arrays, node: int, seat: int, kinds: int) -> None:
    """Shortlist the moves that are visited most and those that are best on average."""
    position, state, tree, tuning = arrays
    kept = _keep_most_visited(tree, node, tuning.kept)
    chosen = kept
    for kind in range(_KINDS):
        if kinds >> kind & 1:
            for field in position.free:
                if state.board[field] == _EMPTY:
                    found = kind * _FARMER + seat
                    mean = state.means[found, field]
                    chosen = _add_by_mean(tree, found * _FIELDS + field, mean, kept, chosen, tuning.width)
    _replace_moves(tree, state, tuning, node, chosen)


@compiled
def _keep_most_visited(tree: Tree, node: int, most: int) -> int:
    """Choose the moves that are visited most, of equals the first; return how many."""
    known, counts = tree.lengths[node], tree.counts
    for chosen in range(min(most, known)):
        best = -1
        for index in range(known):
            if counts[node, index] > (counts[node, best] if best >= 0 else 0):
                new = True
                for before in range(chosen):
                    new &= tree.chosen[before] != tree.moves[node, index]
                if new:
                    best = index
        if best < 0:
            return chosen
        tree.chosen[chosen] = tree.moves[node, best]
    return min(most, known)  # type: ignore[no-any-return]


@compiled
def _add_by_mean(tree: Tree, move: int, mean: float, kept: int, chosen: int, width: int) -> int:  # noqa: PLR0917 - no object could hold them
    """Add a move behind those kept, the best mean first, of equals the first; return how many there are."""
    means, moves = tree.chosen_means, tree.chosen
    if chosen == width and mean <= means[width - 1]:
        return chosen
    for before in range(kept):
        if moves[before] == move:
            return chosen
    place = min(chosen, width - 1)
    while place > kept and means[place - 1] < mean:
        means[place], moves[place] = means[place - 1], moves[place - 1]
        place -= 1
    means[place], moves[place] = mean, move
    return min(chosen + 1, width)


@compiled
def _replace_moves(tree: Tree, state: State, tuning: Tuning, node: int, chosen: int) -> None:
    """Give the node the chosen moves, with what is known of them."""
    moves, means, known = tree.moves, state.means, tree.lengths[node]
    # Averages are over all of the game; what is known at this node tells by how much it differs here.
    shift = 0.0
    for index in range(known):
        mean = means[moves[node, index] // _FIELDS, moves[node, index] % _FIELDS]
        shift += tree.rave_totals[node, index] / tree.rave_counts[node, index] - mean
        tree.old_moves[index] = moves[node, index]
        tree.old_children[index] = tree.children[node, index]
        tree.old_counts[index] = tree.counts[node, index]
        tree.old_totals[index] = tree.totals[node, index]
        tree.old_rave_counts[index] = tree.rave_counts[node, index]
        tree.old_rave_totals[index] = tree.rave_totals[node, index]
    if known:
        shift /= known
    power, visits = 0, tree.visits[node]
    while visits >> power:
        power += 1
    tree.logs[node] = tuning.logs[power]
    tree.lengths[node] = chosen
    for index in range(chosen):
        move = tree.chosen[index]
        moves[node, index] = move
        tree.children[node, index] = 0
        tree.counts[node, index] = 0
        tree.totals[node, index] = 0.0
        tree.rave_counts[node, index] = tuning.prior
        tree.rave_totals[node, index] = tuning.prior * (means[move // _FIELDS, move % _FIELDS] + shift)
        for old in range(known):
            if tree.old_moves[old] == move:
                tree.children[node, index] = tree.old_children[old]
                tree.counts[node, index] = tree.old_counts[old]
                tree.totals[node, index] = tree.old_totals[old]
                tree.rave_counts[node, index] = tree.old_rave_counts[old]
                tree.rave_totals[node, index] = tree.old_rave_totals[old]
        tree.values[node, index] = _value(tree, tuning, node, index)


@compiled
def _value(tree: Tree, tuning: Tuning, node: int, index: int) -> float:
    """Return the upper bound of a move."""
    count = tree.counts[node, index]
    value = tree.rave_totals[node, index] / tree.rave_counts[node, index]
    if count:
        weight = tuning.rave_weights[count] if count < len(tuning.rave_weights) else 0.0
        value = weight * value + (1.0 - weight) * tree.totals[node, index] / count
    return value + tuning.exploration * math.sqrt(tree.logs[node] / (count + 1))  # type: ignore[no-any-return]


@compiled
def _play_out(position: Position, state: State, redraws: int, placed: int) -> None:
    """Place all that is left, each kind as likely and on a good field."""
    words, counters, board, hands, ranked = (
        state.words,
        state.counters,
        state.board,
        state.hands,
        state.ranked,
    )
    for ply in range(placed, len(position.order)):
        seat = position.order[ply]
        chance = _random_word(words, counters) >> 16
        kind = position.draws[hands[seat], chance % _DRAWS]
        hands[seat] -= 1 << HAND_BITS * kind
        found = kind * _FARMER + seat
        field = ranked[found, position.ranks[chance >> 8]]
        redrawn = 0
        while board[field] != _EMPTY and redrawn < redraws:
            field = ranked[found, position.ranks[_random_word(words, counters) >> 24]]
            redrawn += 1
        rank = 0
        while board[field] != _EMPTY:
            field = ranked[found, rank]
            rank += 1
        board[field] = found


@compiled
def _score(position: Position, state: State) -> None:
    """Work out the packed scores of the board, as `Terrain.packed_scores` (R5 to R7)."""
    board, packed, influence = state.board, state.packed, state.influence
    merchants = farmers = soldiers = 0  # bits of the fields
    for field in range(_FIELDS):
        found = board[field]
        merchants |= (found < _FARMER) << field
        farmers |= (_FARMER <= found < _SOLDIER) << field
        soldiers |= (_SOLDIER <= found < _EMPTY) << field
    packed[:] = 0
    for hill in range(_HILLS):
        captured = fled = 0
        for field in range(6 * hill, 6 * hill + 6):
            if soldiers >> field & 1:
                beside = position.adjacent[field]
                more = bit_count(merchants & beside) - bit_count(farmers & beside)
                captives = beside & (merchants if more > 0 else farmers)
                if more:
                    captured |= captives
                    packed[board[field] - _SOLDIER] += _ITEM * bit_count(captives)
                else:
                    fled |= 1 << field
        merchants &= ~captured
        farmers &= ~captured
        soldiers &= ~fled
        influence[:] = 0
        for field in range(6 * hill, 6 * hill + 6):
            beside = position.adjacent[field]
            if merchants >> field & 1:
                worth = bit_count(merchants & beside) + 2 * bit_count(farmers & beside)
                influence[board[field]] += worth + 3 * bit_count(soldiers & beside)
            elif farmers >> field & 1:
                empty = bit_count(beside & ~(merchants | farmers | soldiers))
                influence[board[field] - _FARMER] += position.springs[field] + 2 * empty
        most = leaders = 0
        for seat in range(position.seats):
            if influence[seat] > most:
                most, leaders = influence[seat], 0
            leaders += influence[seat] == most
        if most:
            gain = position.laurels[hill] * _POINT + 1 if leaders == 1 else _SHARE
            for seat in range(position.seats):
                packed[seat] += gain * (influence[seat] == most)


@compiled
def _judge(position: Position, state: State) -> None:
    """Work out the utilities, as `utilities`, and count the shares of the win."""
    packed, decisive = state.packed, position.decisive
    best = second = -1
    winners = 0
    for seat in range(position.seats):
        score = packed[seat]
        if score > best:
            best, second, winners = score, best, 0
        elif score > second:
            second = score
        winners += score == best
    for seat in range(position.seats):
        won, lead = 0.0, packed[seat] - best
        if not lead:
            won, lead = position.win / winners, best - second
            state.wins[seat] += 1.0 / winners
        lead = max(-decisive, min(decisive, lead))
        state.worth[seat] = won + position.margin * (0.5 + lead / (2 * decisive))


@compiled
def _count(arrays: Arrays, depth: int) -> None:
    """Count the end of a simulation for the averages, and in the nodes on its path."""
    position, state, tree, tuning = arrays
    board = state.board
    state.counters[DONE] += 1
    for field in position.fields:
        state.sums[board[field], field] += _VISIT + state.worth[board[field] % _FARMER]
    for ply in range(depth):
        node, chosen = state.path[ply, 0], state.path[ply, 1]
        utility = state.worth[position.order[ply]]
        tree.visits[node] += 1
        tree.counts[node, chosen] += 1
        tree.totals[node, chosen] += utility
        for index in range(tree.lengths[node]):
            move = tree.moves[node, index]
            if board[move % _FIELDS] == move // _FIELDS:  # so it is for the chosen one
                tree.rave_counts[node, index] += 1.0
                tree.rave_totals[node, index] += utility
                tree.values[node, index] = _value(tree, tuning, node, index)


@compiled
def _refresh(position: Position, state: State) -> None:
    """Work out the averages and the ranks anew, as `Averages.refresh`."""
    for found in range(_EMPTY):
        if found % _FARMER >= position.seats:
            continue
        means, ranked = state.means[found], state.ranked[found]
        for field in position.fields:
            entry = state.sums[found, field]
            if entry:
                visits = math.floor(entry / _VISIT)
                means[field] = (entry - visits * _VISIT + 0.5) / (visits + 1.0)
        for rank in range(1, len(ranked)):  # nearly sorted already; equals stay in their order
            field, place = ranked[rank], rank
            while place and means[ranked[place - 1]] < means[field]:
                ranked[place] = ranked[place - 1]
                place -= 1
            ranked[place] = field


@compiled
def _infer(position: Position, state: State, tuning: Tuning) -> None:
    """Weigh the worlds anew, as `Worlds.infer`."""
    means = state.means
    for group in range(len(position.group_seats)):
        seat, first = position.group_seats[group], position.field_starts[group]
        total = 0.0
        for way in range(position.way_starts[group], position.way_starts[group + 1]):
            exponent = 0.0
            for each in range(first, position.field_starts[group + 1]):
                if position.way_farmers[way] >> (each - first) & 1:
                    field = position.group_fields[each]
                    gain = means[seat + _FARMER, field] - means[seat, field]
                    exponent += max(-tuning.most_inferred, min(tuning.most_inferred, tuning.inference * gain))
            total += position.way_odds[way] * math.exp(exponent)
            state.cumulative[way] = total

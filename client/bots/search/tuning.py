"""The numbers that decide how the search plays, measured and not derived.

`python -m bench.bots.brains` shows whether other values play better.
"""

import math
from typing import Final

WIDTH: Final = 12  # a node knows so many moves: those with the best averages, and those visited most
KEPT: Final = 6  # ... of which so many are those visited most
SORTED_FROM: Final = 32  # visits after which a node chooses its moves anew, and again at each doubling
EXPANDED_FROM: Final = (
    4  # visits of a move after which it gets a node (Coulom, "Efficient Selectivity", 2006)
)
EXPLORATION: Final = 0.15  # from 0.05 to 0.3 no difference was measurable
PRIOR: Final = 10.0  # visits that the average from outside the tree counts for
RANDOM: Final = 100  # simulations without a tree, before there are averages
INFERRED_FROM: Final = 200  # simulations before which averages say too little about hidden wolves
BATCH: Final = 50  # simulations between two looks at the averages
REDRAWS: Final = 6  # picks of a playout that may be taken fields, before it takes the best free one

# A move's own mean weighs so much, by its visits, beside that of all simulations which end with it (RAVE).
_RAVE: Final = 300.0  # visits from which both say about as much
RAVE_WEIGHTS: Final = [
    math.sqrt(_RAVE / (3 * visits + _RAVE)) for visits in range(5000)
]  # less is as good as none

# A wolf's odds of being a farmer are multiplied by e to the first number of each pair times what its owner
# gains by that; the second is the greatest such exponent. Much stronger factors mislead the search.
MOTIVE: Final = 3.0  # gains in points, as the owner could expect them when it was placed
MOST_MOTIVE: Final = 4.0
CLEAR_MOTIVE: Final = 1.0  # from here on a wolf is taken for that kind when its owner's later ones are judged
INFERENCE: Final = 10.0  # gains in utility, as the search has found them so far
MOST_INFERRED: Final = 1.0

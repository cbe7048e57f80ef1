"""How many rounds of random matchings are enough: a test in two stages, then a sequential one.

First all hosts meet until a host that adds twice the margin stands out among the suspects nine
times of ten. Then only what is suspect decides whether it goes on: rounds are added in looks that
double, until nothing is suspect and not yet named, or until such a host would be beyond chance
nine times of ten. The chance of a false alarm is shared evenly by the looks, so that all of them
together keep it (Bonferroni), however often it is looked.

Source of the idea: R. Dorfman, The detection of defective members of large populations, Annals of
Mathematical Statistics 14 (1943); of deciding while measuring, A. Wald, Sequential Tests of
Statistical Hypotheses, ibid. 16 (1945); of a few looks with a shared level, S. J. Pocock, Group
sequential methods in the design and analysis of clinical trials, Biometrika 64 (1977).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from netsonde.model.node_links import Sight
from netsonde.model.tournament import most_rounds, round_count

LOOKS = 4
"""At the first rounds, and up to three times after more."""
SCREEN_DEVIATIONS = 2.0
"""So far out of line is suspect: 2 % of sound hosts are, and meet others again."""
MARGINS_FOUND = 2.0
"""A host that adds so many margins is to be found."""
NEARLY_ALL = 0.75
"""Of all pairs' rounds: so near to them, all pairs say more for little more time."""

Measure = tuple[Sight, float]
"""How well hosts' parts are known, and the margin, in the unit of the observations."""


def rounds_to_screen(measures: Sequence[Measure], hosts: int, planned: int) -> int:
    """Rounds that all hosts need for the first stage, ``planned`` or more; those of all pairs where
    they are nearly as many.

    What sound hosts differ by does not shrink with more rounds: a measure in which they differ too
    much asks for none.
    """
    wanted = [s.meetings_for(MARGINS_FOUND * margin, SCREEN_DEVIATIONS) for s, margin in measures]
    needed = max([planned, *(math.ceil(rounds) for rounds in wanted if math.isfinite(rounds))])
    every = round_count(hosts)
    if needed > planned and needed >= NEARLY_ALL * every:
        needed = every
    return min(needed, most_rounds(planned), every)


def rounds_of_look(
    measures: Sequence[Measure], look: int, first: int, done: int, planned: int
) -> int:
    """Rounds to add for suspects at a look, from 1 on; ``first`` for the first one, whatever is
    known. 0 where they would not help any more."""
    if look >= LOOKS:
        return 0
    wanted = [s.meetings_for(MARGINS_FOUND * margin) for s, margin in measures]
    needed = max([0, *(math.ceil(rounds) for rounds in wanted if math.isfinite(rounds))])
    left = min(needed, most_rounds(planned)) - done
    if look == 1:
        return max(first, min(left, 2 * first))
    return max(0, min(left, first << look))

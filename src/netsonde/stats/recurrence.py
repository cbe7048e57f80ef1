"""What comes again from trial to trial, and how much of it would by chance.

A trial (one launch of a program) hits some of many candidates (places of a sequence, values,
members). Something that is hit in most trials belongs to what is repeated; something that is hit in
one is likely an accident. Where every trial hits ``m`` of ``n`` candidates anywhere, a given one is
hit in it with the chance ``m / n``, and over trials the number of its hits has the distribution of
a sum of independent yes-or-no draws with different chances (S. D. Poisson's binomial). Times the
number of candidates that is how many are hit so often by chance; hits that come in bursts within a
trial do not change that, since it is an expectation.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from netsonde.stats.tails import poisson_from

MOST_DRAWS = 2000
"""With more trials the number of hits is taken for a Poisson variable of the same mean, whose tail
above the mean is no thinner."""
Candidate = TypeVar("Candidate", bound=Hashable)


def chance_of_hits(chances: Sequence[float], least: int) -> float:
    """The chance that at least so many of independent trials hit, each with its own chance.

    Raises ``ValueError`` for a chance outside 0..1.
    """
    if any(not 0.0 <= chance <= 1.0 for chance in chances):
        raise ValueError("a chance is a number from 0 to 1")
    if least <= 0:
        return 1.0
    if len(chances) > MOST_DRAWS:
        return poisson_from(least, sum(chances))
    counts = np.zeros(len(chances) + 1)
    counts[0] = 1.0
    for chance in chances:
        counts[1:] = counts[1:] * (1.0 - chance) + counts[:-1] * chance
        counts[0] *= 1.0 - chance
    return float(counts[least:].sum())


def expected_by_chance(candidates: float, chances: Sequence[float], hits: int) -> float:
    """How many of so many candidates are hit in ``hits`` or more trials where all are alike."""
    return candidates * chance_of_hits(chances, hits)


def hits_of(trials: Sequence[Collection[Candidate]]) -> Mapping[Candidate, int]:
    """In how many of the trials each candidate is, those of the most trials first."""
    found: dict[Candidate, int] = {}
    for trial in trials:
        for candidate in dict.fromkeys(trial):
            found[candidate] = found.get(candidate, 0) + 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))

"""Which members of a group make which mode of all their samples together."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from netsonde.stats.modes import find_modes

Member = TypeVar("Member", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Peak(Generic[Member]):
    """A mode of all samples: its ``location`` in their unit, its ``share`` of them, and the members
    that have most of their own samples there. Those that have not at any peak move between them."""

    location: float
    share: float
    members: tuple[Member, ...]


def find_peaks(samples: Mapping[Member, npt.ArrayLike]) -> tuple[Peak[Member], ...]:
    """The peaks in rising order, at least one; a sample belongs to the one nearest by its log.

    The tree of a collective shows so: ranks of one level share a peak. Source: N. A. W. Abdul
    Hamid, Communication Performance Measurement and Analysis on Commodity Clusters, 2008, sections
    3.9 and 7.6. Raises ``ValueError`` for no samples.
    """
    arrays = {member: np.asarray(own, np.float64) for member, own in samples.items()}
    modes = find_modes(np.concatenate(list(arrays.values())))
    places = np.array([mode.location for mode in modes])
    edges = np.sqrt(places[:-1] * places[1:]) if places[0] > 0 else (places[:-1] + places[1:]) / 2
    homes = {
        member: np.bincount(np.searchsorted(edges, own), minlength=len(modes)) / max(1, own.size)
        for member, own in arrays.items()
    }
    return tuple(
        Peak(
            mode.location,
            mode.share,
            tuple(member for member, shares in homes.items() if shares[number] > 0.5),
        )
        for number, mode in enumerate(modes)
    )

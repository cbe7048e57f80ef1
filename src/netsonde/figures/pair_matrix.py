"""What every host measured with every other: a table from x to, as reports draw it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PairMatrix:
    """One measure of all pairs of hosts.

    ``values`` has the shape (hosts, hosts): from (who sends) down, to (who receives) across, NaN
    where nothing was measured, the diagonal always. ``name`` is a figure's name and ends in its
    unit: ``round_trip_ns`` (mean without the slowest 5 %), ``round_trip_min_ns``, ``one_way_ns``,
    ``throughput_bit_per_s``, ``lost_ratio``. ``larger_is_worse`` says which end of the scale is
    bad. Round trips belong to a pair: their matrix is the same seen from both sides.

    ``switches`` has the hosts below each switch, from a description or inferred, and is empty where
    there is none. ``marks`` has what the model named, worst first; (from, to) are the cells that
    each touches, as numbers of hosts.
    """

    name: str
    hosts: tuple[str, ...]
    values: Values
    larger_is_worse: bool = True
    switches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()

    @property
    def unit(self) -> str:
        """``ns``, ``bit_per_s`` or ``ratio``."""
        for unit in ("bit_per_s", "ratio"):
            if self.name.endswith("_" + unit):
                return unit
        return "ns"

    @property
    def largest(self) -> float:
        """NaN where nothing was measured."""
        return float(np.nanmax(self.values)) if self._is_measured else float("nan")

    @property
    def smallest(self) -> float:
        """NaN where nothing was measured."""
        return float(np.nanmin(self.values)) if self._is_measured else float("nan")

    @property
    def median(self) -> float:
        """Of all cells. NaN where nothing was measured."""
        return float(np.nanmedian(self.values)) if self._is_measured else float("nan")

    @property
    def sent(self) -> Values:
        """The median of each host's row, shape (hosts,): what it gets towards the others."""
        return _medians(self.values)

    @property
    def received(self) -> Values:
        """The median of each host's column, shape (hosts,)."""
        return _medians(self.values.T)

    @property
    def _is_measured(self) -> bool:
        return bool(np.isfinite(self.values).any())

    def sorted_by(self, order: Sequence[int]) -> PairMatrix:
        """The same with its hosts in another order, marks too."""
        place = {old: new for new, old in enumerate(order)}
        return replace(
            self,
            hosts=tuple(self.hosts[number] for number in order),
            values=self.values[np.ix_(order, order)],
            marks=tuple(
                replace(m, cells=tuple((place[a], place[b]) for a, b in m.cells))
                for m in self.marks
            ),
        )

    def by_switch(self) -> PairMatrix:
        """With the hosts of each switch side by side; those of none come last."""
        smallest_first = sorted(self.switches, key=lambda name: (len(self.switches[name]), name))
        order: dict[int, None] = {}
        for name in smallest_first:
            order.update((n, None) for n, h in enumerate(self.hosts) if h in self.switches[name])
        order.update((n, None) for n in range(len(self.hosts)))
        return self.sorted_by(list(order))

    def pivot(self) -> PairMatrix:
        """The medians from switch to switch, over pairs of their hosts; the diagonal is within one.

        Of switches in levels, those that hosts hang on directly: no other switch's hosts are a
        part of theirs. The matrix itself where there are not two switches.
        """
        leaves = {
            name: hosts
            for name, hosts in self.switches.items()
            if not any(set(other) < set(hosts) for other in self.switches.values())
        }
        if len(leaves) < 2:
            return self
        members = [[n for n, h in enumerate(self.hosts) if h in hosts] for hosts in leaves.values()]
        values = np.full((len(members), len(members)), np.nan)
        for row, senders in enumerate(members):
            for column, receivers in enumerate(members):
                block = self.values[np.ix_(senders, receivers)]
                if np.isfinite(block).any():
                    values[row, column] = np.nanmedian(block)
        return PairMatrix(self.name, tuple(leaves), values, self.larger_is_worse)


@dataclass(frozen=True)
class Mark:
    """Something that was named: ``words`` is a short sentence; ``cells`` are at most
    ``CELLS_MOST`` of the (from, to) that it touches."""

    place: str
    words: str
    cells: tuple[tuple[int, int], ...]


CELLS_MOST = 100_000


def _medians(rows: Values) -> Values:
    found = np.full(len(rows), np.nan)
    for number, row in enumerate(rows):
        finite = row[np.isfinite(row)]
        if len(finite):
            found[number] = np.median(finite)
    return found

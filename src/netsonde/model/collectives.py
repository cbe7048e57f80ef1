"""Costs of collective algorithms: messages in turn, bytes in turn and bytes joined in turn.

time = alpha messages + beta bytes + gamma reduced, with alpha the latency of a message in ns, beta
its time per byte (one over the bandwidth) and gamma the time to join a byte in a reduction. n is
the whole of the operation: the message of a broadcast, the vector of a reduction, all parts that a
rank has at the start (scatter's root, alltoall, reduce-scatter) or at the end (gather's root,
allgather). Nobody waits for anybody else's line: contention is left out.

Sources: R. Thakur, R. Rabenseifner and W. Gropp, Optimization of Collective Communication
Operations in MPICH, International Journal of High Performance Computing Applications 2005; as
printed, with its slips, in N. A. W. Abdul Hamid, Communication Performance Measurement and Analysis
on Commodity Clusters, PhD thesis, University of Adelaide, 2008, section 6.3. Linear, chain, tree
and barrier costs count the steps of the algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from netsonde.model.goodput import check_positive
from netsonde.model.platform import check_ranks


@dataclass(frozen=True, slots=True)
class Counts:
    """What the slowest chain of steps holds."""

    messages: float
    bytes: float
    reduced_bytes: float = 0.0

    def time_ns(self, alpha_ns: float, beta_ns: float, gamma_ns: float = 0.0) -> float:
        """alpha messages + beta bytes + gamma reduced; the latter two in ns per byte."""
        return alpha_ns * self.messages + beta_ns * self.bytes + gamma_ns * self.reduced_bytes


CountsOf = Callable[[float, int], Counts]


@dataclass(frozen=True, slots=True)
class CostFormula:
    """An algorithm's cost by n and p. ``formula`` is for people; ``note`` says where a printed form
    is wrong, or what the formula leaves out."""

    name: str
    formula: str
    counts: CountsOf
    note: str = ""

    @property
    def family(self) -> str:
        return self.name.split("/")[0]


def levels(ranks: int) -> int:
    """ceil(lg p)."""
    return (ranks - 1).bit_length()


def whole_levels(ranks: int) -> int:
    """floor(lg p)."""
    return ranks.bit_length() - 1


def is_power_of_two(ranks: int) -> bool:
    return ranks & (ranks - 1) == 0


def others_share(ranks: int) -> float:
    """(p - 1) / p."""
    return (ranks - 1) / ranks


def chain_counts(message_bytes: float, ranks: int, segment_bytes: float) -> Counts:
    """A chain of p ranks that passes on s segments: p - 1 + s - 1 steps of one segment each."""
    check_ranks(ranks, least=1)
    check_positive("segment", segment_bytes, "bytes")
    if ranks == 1 or message_bytes == 0:
        return Counts(ranks - 1, 0.0)
    segments = math.ceil(message_bytes / segment_bytes)
    steps = ranks - 2 + segments
    return Counts(steps, steps * min(segment_bytes, message_bytes))


def best_segment_bytes(message_bytes: float, ranks: int, alpha_ns: float, beta_ns: float) -> float:
    """The segment with which a chain is fastest: sqrt(n alpha / ((p - 2) beta)), at most n.

    From the derivative of (p - 2 + n/s) (alpha + s beta). Raises ``ValueError`` for values <= 0.
    """
    check_positive("message", message_bytes, "bytes")
    check_positive("alpha", alpha_ns, "ns")
    check_positive("beta", beta_ns, "ns per byte")
    if ranks <= 2:
        return message_bytes
    best = math.sqrt(message_bytes * alpha_ns / ((ranks - 2) * beta_ns))
    return min(message_bytes, max(1.0, best))


def fold_counts(vector_bytes: float, ranks: int) -> Counts:
    """What joins the ranks beyond a power of two to their neighbours before: a message of n,
    reduced by n; nothing for a power of two."""
    if is_power_of_two(ranks):
        return Counts(0.0, 0.0)
    return Counts(1.0, vector_bytes, vector_bytes)


def _plus(*parts: Counts) -> Counts:
    return Counts(
        math.fsum(p.messages for p in parts),
        math.fsum(p.bytes for p in parts),
        math.fsum(p.reduced_bytes for p in parts),
    )


def _lower(ranks: int) -> int:
    """The largest power of two that is not larger."""
    return 1 << whole_levels(ranks)


# Broadcast.


def _linear_broadcast(n: float, p: int) -> Counts:
    return Counts(p - 1, (p - 1) * n)


def _binomial(n: float, p: int) -> Counts:
    return Counts(levels(p), levels(p) * n)


def _scatter_doubling(n: float, p: int) -> Counts:
    return _plus(_tree_parts(n, p), _gather_doubling(n, p))


def _scatter_doubling_printed(n: float, p: int) -> Counts:
    return Counts(math.log2(p), others_share(p) * n)


def _scatter_ring(n: float, p: int) -> Counts:
    return Counts(levels(p) + p - 1, 2 * others_share(p) * n)


# Scatter, gather, allgather: n is all parts together.


def _linear_parts(n: float, p: int) -> Counts:
    return Counts(p - 1, others_share(p) * n)


def _tree_parts(n: float, p: int) -> Counts:
    return Counts(levels(p), others_share(p) * n)


def _gather_doubling(n: float, p: int) -> Counts:
    """Recursive doubling; other p are folded: a part before, the whole after."""
    q = _lower(p)
    inner = Counts(whole_levels(p), others_share(q) * n)
    return inner if q == p else _plus(Counts(1.0, n / p), inner, Counts(1.0, n))


# Barrier.


def _dissemination(_: float, p: int) -> Counts:
    return Counts(levels(p), 0.0)


def _tree_barrier(_: float, p: int) -> Counts:
    return Counts(2 * levels(p), 0.0)


# Reductions: n is the vector; of reduce-scatter all parts of it.


def _reduce_binomial(n: float, p: int) -> Counts:
    return Counts(levels(p), levels(p) * n, levels(p) * n)


def _halving(n: float, p: int) -> Counts:
    """Recursive halving; where p is no power of two, folded to the one below and handed back."""
    q = _lower(p)
    inner = Counts(whole_levels(p), others_share(q) * n, others_share(q) * n)
    if q == p:
        return inner
    return _plus(fold_counts(n, p), inner, Counts(1.0, n / p))


def _halving_printed(n: float, p: int) -> Counts:
    if is_power_of_two(p):
        return _halving(n, p)
    return Counts(levels(p) + 2, 2 * n, (1 + others_share(p)) * n)


def _pairwise_parts(n: float, p: int) -> Counts:
    return Counts(p - 1, others_share(p) * n, others_share(p) * n)


def _reduce_doubling(n: float, p: int) -> Counts:
    """Recursive doubling; other p are folded: the vector before, a part after."""
    q = _lower(p)
    moved = (whole_levels(p) - others_share(q)) * n
    inner = Counts(whole_levels(p), moved, moved)
    return inner if q == p else _plus(fold_counts(n, p), inner, Counts(1.0, n / p))


def _reduce_doubling_printed(n: float, p: int) -> Counts:
    moved = (math.log2(p) - others_share(p)) * n
    return Counts(math.log2(p), moved, moved)


def _reduce_rabenseifner(n: float, p: int) -> Counts:
    """Reduce-scatter by halving and a binomial gather, both among the power of two below p."""
    q = _lower(p)
    share = others_share(q) * n
    inner = Counts(2 * whole_levels(p), 2 * share, share)
    return _plus(fold_counts(n, p), inner)


def _allreduce_doubling(n: float, p: int) -> Counts:
    inner = Counts(whole_levels(p), whole_levels(p) * n, whole_levels(p) * n)
    return inner if is_power_of_two(p) else _plus(fold_counts(n, p), inner, Counts(1.0, n))


def _allreduce_rabenseifner(n: float, p: int) -> Counts:
    inner = _reduce_rabenseifner(n, p)
    return inner if is_power_of_two(p) else _plus(inner, Counts(1.0, n))


def _allreduce_ring(n: float, p: int) -> Counts:
    return Counts(2 * (p - 1), 2 * others_share(p) * n, others_share(p) * n)


# All to all: n is what a rank has for all ranks, its own part too.


def _bruck(n: float, p: int) -> Counts:
    return Counts(levels(p), n / 2 * math.log2(p))


def _direct(n: float, p: int) -> Counts:
    return Counts(p - 1, n)


def _colour(n: float, p: int) -> Counts:
    rounds = p if p % 2 and p > 1 else p - 1
    return Counts(rounds, n / p * rounds if p % 2 else n)


def _exclusive_or(n: float, p: int) -> Counts:
    rounds = (1 << levels(p)) - 1
    return Counts(rounds, n if is_power_of_two(p) else n / p * rounds)


_DIRECT = "(p-1) alpha + n beta"
_OWN_PART = "n beta counts a rank's own part, as the source does; what is sent is (p-1)/p n."
_SEVERAL = "Many messages of one rank at once: the formula cannot tell it from one after the other."
_FOLDED = "Ranks beyond a power of two are folded; the time of the busiest is counted."

_TABLE = (
    CostFormula("broadcast/linear", "(p-1) (alpha + n beta)", _linear_broadcast),
    CostFormula("broadcast/binomial", "ceil(lg p) (alpha + n beta)", _binomial),
    CostFormula(
        "broadcast/scatter-recursive-doubling",
        "2 lg p alpha + 2 (p-1)/p n beta",
        _scatter_doubling,
        "Printed as lg p alpha + (p-1)/p n beta, which is one of its two phases only.",
    ),
    CostFormula("broadcast/scatter-ring", "(lg p + p-1) alpha + 2 (p-1)/p n beta", _scatter_ring),
    CostFormula("scatter/linear", "(p-1) alpha + (p-1)/p n beta", _linear_parts),
    CostFormula("scatter/binomial", "ceil(lg p) alpha + (p-1)/p n beta", _tree_parts),
    CostFormula("gather/linear", "(p-1) alpha + (p-1)/p n beta", _linear_parts),
    CostFormula("gather/binomial", "ceil(lg p) alpha + (p-1)/p n beta", _tree_parts),
    CostFormula("barrier/dissemination", "ceil(lg p) alpha", _dissemination),
    CostFormula("barrier/tree", "2 ceil(lg p) alpha", _tree_barrier),
    CostFormula("reduce/binomial", "ceil(lg p) (alpha + n beta + n gamma)", _reduce_binomial),
    CostFormula(
        "reduce/rabenseifner",
        "2 lg p alpha + 2 (p-1)/p n beta + (p-1)/p n gamma",
        _reduce_rabenseifner,
        _FOLDED + " A root that was folded away gets its result by one message of n more.",
    ),
    CostFormula(
        "allreduce/recursive-doubling",
        "lg p (alpha + n beta + n gamma)",
        _allreduce_doubling,
        _FOLDED,
    ),
    CostFormula(
        "allreduce/rabenseifner",
        "2 lg p alpha + 2 (p-1)/p n beta + (p-1)/p n gamma",
        _allreduce_rabenseifner,
        _FOLDED,
    ),
    CostFormula(
        "allreduce/ring", "2 (p-1) alpha + 2 (p-1)/p n beta + (p-1)/p n gamma", _allreduce_ring
    ),
    CostFormula(
        "allgather/recursive-doubling", "lg p alpha + (p-1)/p n beta", _gather_doubling, _FOLDED
    ),
    CostFormula("allgather/bruck", "ceil(lg p) alpha + (p-1)/p n beta", _tree_parts),
    CostFormula("allgather/ring", "(p-1) alpha + (p-1)/p n beta", _linear_parts),
    CostFormula(
        "reduce-scatter/recursive-halving",
        "lg p alpha + (p-1)/p n (beta + gamma)",
        _halving,
        "Other p are folded to the power of two below: a message of n before, a part after, so"
        " floor(lg p) + 2 messages.",
    ),
    CostFormula(
        "reduce-scatter/recursive-doubling",
        "lg p alpha + n (lg p - (p-1)/p) (beta + gamma)",
        _reduce_doubling,
        _FOLDED,
    ),
    CostFormula(
        "reduce-scatter/pairwise", "(p-1) alpha + (p-1)/p n (beta + gamma)", _pairwise_parts
    ),
    CostFormula("alltoall/bruck", "lg p alpha + (n/2) lg p beta", _bruck),
    CostFormula("alltoall/uncoordinated", _DIRECT, _direct, f"{_OWN_PART} {_SEVERAL}"),
    CostFormula("alltoall/staggered", _DIRECT, _direct, f"{_OWN_PART} {_SEVERAL}"),
    CostFormula("alltoall/shift", _DIRECT, _direct, _OWN_PART),
    CostFormula(
        "alltoall/pairwise-xor",
        _DIRECT,
        _exclusive_or,
        _OWN_PART + " Where p is no power of two there are 2^ceil(lg p) - 1 rounds.",
    ),
    CostFormula("alltoall/pairwise", _DIRECT, _colour, _OWN_PART + " Odd p take p rounds."),
)

FORMULAS: Mapping[str, CostFormula] = MappingProxyType({row.name: row for row in _TABLE})
"""Every algorithm whose cost is a line in n for a given p."""

PRINTED: Mapping[str, CostFormula] = MappingProxyType(
    {
        row.name: row
        for row in (
            CostFormula(
                "broadcast/scatter-recursive-doubling",
                "lg p alpha + (p-1)/p n beta",
                _scatter_doubling_printed,
                "As printed; it covers one phase only.",
            ),
            CostFormula(
                "reduce-scatter/recursive-halving",
                "(ceil(lg p) + 2) alpha + 2 n beta + (1 + (p-1)/p) n gamma",
                _halving_printed,
                "As printed, for p that is no power of two; said to be approximate.",
            ),
            CostFormula(
                "allgather/recursive-doubling",
                "ceil(lg p) alpha + (p-1)/p n beta",
                _tree_parts,
                "As printed, for any p; folding is left out.",
            ),
            CostFormula(
                "reduce-scatter/recursive-doubling",
                "lg p alpha + n (lg p - (p-1)/p) (beta + gamma)",
                _reduce_doubling_printed,
                "As printed, for any p; folding is left out.",
            ),
        )
    }
)
"""The printed form where the one in :data:`FORMULAS` corrects it."""


def counts_of(name: str, total_bytes: float, ranks: int, *, printed: bool = False) -> Counts:
    """The counts of an algorithm for n bytes and p ranks, all 0 for one rank.

    Raises ``ValueError`` for a name that has no such formula, n < 0 or p < 1.
    """
    table = PRINTED if printed else FORMULAS
    if name not in table:
        raise ValueError(f"no cost formula is called {name!r}; there are {', '.join(table)}")
    check_ranks(ranks, least=1)
    if not (total_bytes >= 0.0 and math.isfinite(total_bytes)):
        raise ValueError(f"{total_bytes} bytes; expected 0 or more")
    return Counts(0.0, 0.0) if ranks == 1 else table[name].counts(total_bytes, ranks)

"""The search for algorithms against clusters whose times are known, in virtual time."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from netsonde.errors import UsageError
from netsonde.operations import operations
from netsonde.tuning.mpi import bench
from netsonde.tuning.mpi.candidates import Cell, Link, predicted_ns, prune
from netsonde.tuning.mpi.choose import (
    crossovers,
    judge,
    leader,
    leaders,
    rules_of,
    sizes_between,
)
from netsonde.tuning.mpi.search import POINT_COST_NS, Found, Measured, Wanted, search

LINK = Link(10_000.0, 1.0)
SECOND = 10**9
Time = Callable[[str, int], float]


class Cluster:
    """Takes as long as a formula says, with launches that scatter by ``scatter``."""

    def __init__(self, time_ns: Time, scatter: float = 0.02, seed: int = 1) -> None:
        self.asked: list[tuple[str, int]] = []
        self._time_ns = time_ns
        self._scatter = scatter
        self._chance = random.Random(seed)
        self._now_ns = 0

    def spent_ns(self) -> int:
        return self._now_ns

    def measure(
        self,
        ways: Mapping[Cell, Sequence[str]],
        launches: int,
        cap_ns: int,
        name: str,
        time_ns: int,  # noqa: ARG002
    ) -> Measured:
        self.asked.append((name, sum(map(len, ways.values()))))
        times: dict[Cell, dict[str, dict[int, float]]] = {}
        for launch in range(1, launches + 1):
            level = math.exp(self._chance.gauss(0.0, 5 * self._scatter))  # of the whole launch
            for cell, of_cell in ways.items():
                for way in of_cell:
                    noise = math.exp(self._chance.gauss(0.0, self._scatter))
                    value = self._time_ns(way, cell.size_bytes) * level * noise
                    times.setdefault(cell, {}).setdefault(way, {})[launch] = value
                    self._now_ns += cap_ns + POINT_COST_NS
        return Measured(times)


def found_in(
    time_ns: Time,
    ways: Sequence[str] = ("native", "library:nb", "library:scattered"),
    sizes: Sequence[int] = (64, 1024, 16384, 262144),
    budget_ns: int = 600 * SECOND,
    seed: int = 1,
) -> tuple[Found, Cluster]:
    cells = tuple(Cell("alltoall", 8, 1, size) for size in sizes)
    cluster = Cluster(time_ns, seed=seed)
    wanted = Wanted(cells, {"alltoall": ways}, budget_ns, 0.03, seed, LINK)
    return search(cluster, wanted, lambda _: None), cluster


@pytest.mark.parametrize("seed", range(10))
def test_a_planted_bad_default_is_found(seed: int) -> None:
    """Above 4096 bytes the library takes twice what another of its ways does."""

    def time_ns(way: str, size: int) -> float:
        base = 10_000.0 + size
        return base * 2.0 if way == "native" and size > 4096 else base

    found, _ = found_in(time_ns, seed=seed)
    won = {cell.size_bytes for cell in found.winners}
    assert {16384, 262144} <= won
    assert not {size for size in won if size <= 4096}
    assert all(0.4 < found.verdicts[cell].ratio < 0.6 for cell in found.winners)


def test_equal_ways_give_few_rules() -> None:
    """All ways are the same: what a survey calls fastest is chance, as 95 % of intervals say."""
    won = 0
    cells = 0
    for seed in range(20):
        found, _ = found_in(lambda _, size: 10_000.0 + size, seed=seed)
        won += len(found.winners)
        cells += len(found.leaders)
    assert won <= 0.05 * cells


def test_sizes_are_refined_around_a_switch_point() -> None:
    """One way is better up to 3000 bytes, the other above: neighbours end a factor of 2 apart."""

    def time_ns(way: str, size: int) -> float:
        return {"native": 90_000.0, "library:nb": 20_000.0 + 10 * size}.get(way, 50_000.0)

    found, _ = found_in(time_ns)
    (first, *_) = found.crossovers
    assert (first.before, first.after) == ("library:nb", "library:scattered")
    assert first.low_bytes < 3000 <= first.high_bytes
    assert first.high_bytes <= 2.1 * first.low_bytes
    assert first.estimate_bytes == pytest.approx(3000, rel=0.25)


@pytest.mark.parametrize(
    ("ring_ns", "at_bytes"),
    [
        (lambda size: 20_000.0 + 2.0 * size, []),
        (lambda size: 5_000.0 + 2.0 * size, [5_000]),
        (lambda size: 10_000.0 + size + 3_000.0 * math.cos(math.log2(size)), [26, 231, 2_040]),
    ],
    ids=["none", "one", "several"],
)
def test_crossovers_are_as_many_as_there_are(
    ring_ns: Callable[[float], float], at_bytes: list[int]
) -> None:
    """Beside 10 us + n. With a scatter of 1 % over seven launches, of 16 to 16384 bytes."""
    chance = random.Random(7)
    sizes = [16 << n for n in range(11)]

    def launches(value: float) -> dict[int, float]:
        return {n: value * math.exp(chance.gauss(0.0, 0.01)) for n in range(7)}

    times = {
        Cell("alltoall", ranks, 1, size): {
            "native": launches(10_000.0 + size),
            "ring": launches(ring_ns(size) if ranks == 8 else 1e6),
        }
        for size in sizes
        for ranks in (4, 8)  # of other ranks nothing is said
    }
    found = crossovers(times, leaders(times, 0.03))
    assert {each.cell.ranks for each in found} <= {8}
    assert len(found) == len(at_bytes)
    for each, at in zip(found, at_bytes, strict=True):
        assert each.low_bytes / 2 <= at <= each.high_bytes * 2


def test_the_budget_bounds_what_is_measured() -> None:
    found, cluster = found_in(
        lambda way, size: (10_000.0 + size) * (2 if way == "native" else 1),
        sizes=[2**power for power in range(4, 20)],
        budget_ns=15 * SECOND,
    )
    assert cluster.spent_ns() <= 1.1 * 15 * SECOND
    assert any("left out" in note for note in found.notes)


def test_where_time_is_short_the_largest_savings_are_confirmed() -> None:
    def time_ns(way: str, size: int) -> float:
        return 10_000.0 * (1.0 if way != "native" else 1.2 + size / 100_000)

    found, _ = found_in(time_ns, budget_ns=20 * SECOND)
    assert any("not confirmed" in note for note in found.notes)
    assert max(cell.size_bytes for cell in found.winners) == 262144


def test_the_model_leaves_out_what_is_far_off_and_samples_it() -> None:
    """Bruck's of 256 KiB moves 1.5 times the bytes; a linear broadcast takes p - 1 messages."""
    cell = Cell("bcast", 64, 1, 262_144)
    ways = ["native", "linear", "binomial", "scatter-ring", "library:binomial", "library:knomial"]
    found = prune(ways, cell, LINK, random.Random(1))
    assert "native" in found.kept
    assert "library:knomial" in found.kept
    assert set(found.left_out) | set(found.sampled) == {"linear"}
    assert found.sampled == ("linear",)  # one at least
    assert predicted_ns("library:binomial", cell, LINK) == predicted_ns("binomial", cell, LINK)
    assert predicted_ns("native", cell, LINK) is None


def test_a_miss_of_the_model_is_told() -> None:
    """What the model takes for the slowest is the fastest here, as where a switch multicasts."""

    def time_ns(way: str, size: int) -> float:  # noqa: ARG001
        return 1_000.0 if way == "linear" else 50_000.0

    cells = (Cell("bcast", 64, 1, 65_536),)
    ways = ("native", "linear", "binomial", "scatter-ring")
    cluster = Cluster(time_ns)
    found = search(
        cluster, Wanted(cells, {"bcast": ways}, 60 * SECOND, 0.03, 1, LINK), lambda _: None
    )
    assert found.missed == {cells[0]: "linear"}
    assert found.sampled == 1


def test_judged_by_pairs_of_launches() -> None:
    """Launches differ by a factor of 4, the ways by 10 % in each."""
    native = {n: 1000.0 * 2 ** (n % 3) for n in range(1, 9)}
    other = {n: 0.9 * value for n, value in native.items()}
    found = judge("ring", native, other)
    assert found.ratio == pytest.approx(0.9)
    assert found.is_faster
    assert found.pairs == 8
    assert not judge("ring", native, {n: other[n] for n in (1, 2, 3)}).is_faster  # too few
    assert judge("ring", native, {}).ratio is None
    three = {n: native[n] * (0.9 if n < 7 else 1.01) for n in native}  # two of eight against it
    assert judge("ring", native, three).is_faster
    assert not judge("ring", native, three, among=3).is_faster
    assert judge("ring", other, native).is_slower


def test_native_leads_unless_beaten_clearly() -> None:
    ways = {"native": {1: 100.0}, "ring": {1: 98.0}}
    assert leader(ways, 0.03) == "native"
    assert leader(ways, 0.01) == "ring"
    assert leader({**ways, "bruck": {}}, 0.01) == "ring"  # not measured


def test_between_is_a_size_that_the_operation_takes() -> None:
    cells = {Cell("allreduce", 4, 1, 8): "ring", Cell("allreduce", 4, 1, 1000): "native"}
    (middle,) = sizes_between(cells, 2.0, operations()["allreduce"].multiple_bytes)
    assert middle.size_bytes % 8 == 0
    assert 8 < middle.size_bytes < 1000
    close = {Cell("bcast", 4, 1, 64): "ring", Cell("bcast", 4, 1, 128): "native"}
    assert not sizes_between(close, 2.0)


def test_rules_reach_from_the_first_to_the_last_size_that_was_won() -> None:
    cells = [Cell("alltoall", 8, 2, size) for size in (64, 256, 1024, 4096)]
    winners = {cells[0]: "bruck", cells[1]: "bruck", cells[3]: "library:nb"}
    rules = rules_of(winners, cells, has_hosts=True)
    assert [(r.from_bytes, r.to_bytes, r.algorithm) for r in rules] == [
        (64, 256, "bruck"),
        (4096, 4096, "library:nb"),
    ]
    assert {r.ranks_per_host for r in rules} == {2}
    assert {r.ranks_per_host for r in rules_of(winners, cells, has_hosts=False)} == {None}


def test_a_way_that_is_none_has_no_prediction() -> None:
    with pytest.raises(UsageError):
        predicted_ns("no-such", Cell("alltoall", 4, 1, 64), LINK)


def of_costs(costs: Mapping[int, float], budget_ns: int) -> tuple[Found, Cluster]:
    """Sizes by what they cost a program; library:nb takes half of what native does."""
    cells = {Cell("alltoall", 8, 1, size): cost for size, cost in costs.items()}
    cluster = Cluster(lambda way, size: (1.0 if way == "native" else 0.5) * (1000.0 + size))
    ways = {"alltoall": ("native", "library:nb")}
    wanted = Wanted(tuple(cells), ways, budget_ns, 0.03, 1, LINK, cells)
    return search(cluster, wanted, lambda _: None), cluster


def test_what_costs_a_program_most_is_measured_first() -> None:
    """The survey of two cells fits, of four it does not."""
    found, cluster = of_costs({64: 1.0, 128: 9.0, 256: 2.0, 512: 8.0}, 4 * SECOND)
    assert {cell.size_bytes for cell in found.leaders} == {128, 512}
    assert not any(name.startswith("refine") for name, _ in cluster.asked)
    assert any("2 cells that cost least left out" in note for note in found.notes)


def test_leaders_that_save_a_program_most_are_confirmed_first() -> None:
    costs = {2**i: 2.0**-i for i in range(6, 26)}
    found, _ = of_costs(costs, 60 * SECOND)
    confirmed = {cell.size_bytes for cell in found.verdicts}
    assert confirmed
    assert min(costs[size] for size in confirmed) > max(
        (costs[c.size_bytes] for c in found.leaders if c.size_bytes not in confirmed), default=0.0
    )


class Ending(Cluster):
    """Whose machine is gone once all was surveyed."""

    def measure(self, ways: Mapping[Cell, Sequence[str]], *more: Any, **named: Any) -> Measured:
        if self.asked:
            why = "host node07 is gone"
            return Measured({}, {(cell, way): why for cell, of in ways.items() for way in of})
        return super().measure(ways, *more, **named)


def test_a_survey_is_kept_where_nothing_can_be_confirmed() -> None:
    cells = tuple(Cell("alltoall", 8, 1, size) for size in (64, 128))
    cluster = Ending(lambda way, size: (2.0 if way == "native" else 1.0) * (1000.0 + size))
    wanted = Wanted(cells, {"alltoall": ("native", "library:nb")}, 60 * SECOND, 0.03, 1, LINK)
    found = search(cluster, wanted, lambda _: None)
    assert set(found.leaders.values()) == {"library:nb"}
    assert not found.winners
    assert "no leader confirmed: host node07 is gone" in found.notes


def test_launches_that_cannot_be_made_are_failures_of_a_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a step of the search has a time; a proof has none, and ends there."""

    def refuse(*_: Any) -> None:
        raise UsageError("not one point fits the budget of 1 s")

    monkeypatch.setattr(bench, "start_study", refuse)
    at = bench.StudyBench(bench.Job("mpich"), tmp_path, 1, ["test"], lambda _: None)
    cell = Cell("alltoall", 8, 1, 64)
    measured = at.measure({cell: ("native", "ring")}, 3, 10**7, "confirm", SECOND)
    assert not measured.times
    why = "not one point fits the budget of 1 s"
    assert measured.failures == {(cell, "native"): why, (cell, "ring"): why}
    with pytest.raises(UsageError, match="not one point"):
        at.measure({cell: ("native", "ring")}, 3, 10**7, "prove")

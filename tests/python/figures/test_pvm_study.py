"""The tables of P. Dasgupta's study come out of netsonde's own arithmetic (MS thesis, University of
Tennessee Knoxville, 2001)."""

import tomllib
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
from every_pair_made import ranks_point, run_of

from netsonde.figures.pair_sets import beside_each_other, pivot_of, ways_of
from netsonde.stats.matrices import reduce_matrix
from netsonde.units import change_in_words

TABLES = tomllib.loads((Path(__file__).parents[1] / "published" / "dasgupta_2001.toml").read_text())
PIVOT = TABLES["pivot"]
EIGHT = tuple(f"torc{number}" for number in range(1, 9))
S = 1e9


@pytest.fixture(scope="module")
def printed_run():
    """The round trips of figure 4.1 as a run."""
    points = []
    for number, length in enumerate(dict.fromkeys(row[1] for row in PIVOT["rows"]), 1):
        own = {row[0]: row[2:6] for row in PIVOT["rows"] if row[1] == length}

        def trips(_company, a, b, own=own):
            return [own[PIVOT["hosts"][a]][b] * S]

        size = length * PIVOT["item_bytes"]
        hosts = PIVOT["hosts"]
        points.append(ranks_point(trips, hosts, size, id_=f"p{number:03d}", pairs="together"))
    return run_of(*points)


@pytest.fixture(scope="module")
def way(printed_run):
    (way,) = ways_of(printed_run)
    return way


def test_the_pivot_has_the_printed_totals(way):
    lines = pivot_of(way, 4, "together").lines()
    printed = [row[6] for row in PIVOT["rows"]]
    own = [line[-1] for line in lines if line[1] is not None]
    assert own == pytest.approx(printed, abs=1e-9)
    totals = [line[2:] for line in lines if line[1] is None]
    assert [name for name, *_ in lines if "total" in name] == [
        *(f"{host} total" for host in PIVOT["hosts"]),
        "grand total",
    ]
    for found, row in zip(totals, PIVOT["totals"], strict=True):
        assert list(found) == pytest.approx(row[1:], abs=1e-9)
    assert totals[-1][-1] == pytest.approx(3.173269746, abs=1e-9)


def test_at_forty_bytes_the_two_slow_pairs_are_left_out(way):
    times = way.sets[4, 40, "together"]
    left = {(times.hosts[a], times.hosts[b]) for a, b in np.argwhere(times.reduced.left_out)}
    assert {("torc1", "torc3"), ("torc2", "torc3")} <= left
    assert times.reduced.count_left_out == len(left) == 3
    assert times.reduced.median / S == pytest.approx(0.001076, abs=1e-6)
    assert times.reduced.plain / S == pytest.approx(0.001534537, abs=1e-9)


def delays_run(column, rows):
    """Round trips, twice the delays, of all pairs of eight hosts."""
    points = [
        ranks_point(
            lambda _c, _a, _b, row=row: [2 * row[column] * S],
            EIGHT,
            row[0],
            id_=f"p{number:03d}",
            pairs="together",
        )
        for number, row in enumerate(rows, 1)
    ]
    return run_of(*points)


def two_ways(before, after, rows):
    (found,) = beside_each_other(
        ways_of(delays_run(before, rows)), ways_of(delays_run(after, rows))
    )
    return found


@pytest.mark.parametrize("name", ["encoding", "routing"])
def test_the_ratios_of_two_runs_are_the_printed_ones(name):
    rows = TABLES[name]["rows"]
    two = two_ways(2, 1, rows)
    ratios = {pair.place[1]: pair.ratio for pair in two.pairs}
    assert ratios == {row[0]: pytest.approx(row[3], rel=1e-4) for row in rows}


@pytest.mark.parametrize("name", ["latency", "latency_clusters"])
def test_the_ratios_of_empty_messages_are_the_printed_ones(name):
    for hosts, over, under, ratio in TABLES[name]["rows"]:
        values = [np.full((hosts, hosts), value) for value in (over, under)]
        first, second = (reduce_matrix(value).mean for value in values)
        assert first / second == pytest.approx(ratio, rel=1e-4)


def test_direct_and_raw_are_said_in_both_conventions():
    direct = {row[0]: row[1] / row[2] for row in TABLES["routing"]["rows"]}
    words = "27 % less time, 38 % more rate"
    assert change_in_words(direct[4_000_000], "ns") == words
    inverse = mean(1 / ratio for ratio in direct.values())
    assert change_in_words(mean(direct.values()), "ns", inverse) == words
    raw = {row[0]: row[2] / row[1] for row in TABLES["encoding"]["rows"]}
    assert change_in_words(raw[4_000_000], "ns") == "20 % less time, 25 % more rate"


def test_the_line_is_off_as_it_was_there():
    """L of the latency at eight hosts, B of the largest raw message."""
    rows = [[0, 0, TABLES["latency"]["rows"][-1][1]], *TABLES["encoding"]["rows"]]
    (way,) = ways_of(delays_run(2, rows))
    line = way.line(8, "together")
    assert line.bytes_per_ns * 1e3 == pytest.approx(3.527, abs=1e-3)
    off = [line.off(row[0], row[2] * S) for row in rows[1:]]
    expected = [-0.13, 0.31, 0.47, 0.12, 0.04, 0.03, 0.0]
    assert off == pytest.approx(expected, abs=0.01)


def test_the_rates_are_those_of_half_a_round_trip():
    (way,) = ways_of(delays_run(2, TABLES["encoding"]["rows"]))
    rates = [t.rate_bit_per_s(t.reduced.mean) / 1e6 for t in way.over_size(8, "together").values()]
    assert rates == pytest.approx([0.450, 5.83, 27.0, 30.0, 29.2, 29.0, 28.2], rel=0.003)

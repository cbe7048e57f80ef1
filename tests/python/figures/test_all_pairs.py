"""From the records of rounds to what is named, the matrices, the findings and the terminal."""

from __future__ import annotations

import io

import numpy as np
import pytest
from all_pairs_made import made_run
from rich.console import Console

from netsonde.explain.table import explain
from netsonde.figures.all_pairs import pair_values
from netsonde.figures.all_pairs_verdict import Named, Symptom, matrices_of, verdict_of
from netsonde.figures.compute import figures_of
from netsonde.figures.pair_matrix import PairMatrix
from netsonde.model.node_links import Way
from netsonde.report.all_pairs_lines import matrix_lines
from netsonde.report.point_table import checks_in_words
from netsonde.report.terminal import print_summary

LEAVES = {f"leaf{n}": [f"h{4 * n + m}" for m in range(4)] for n in range(3)}


def test_every_pair_and_direction_has_its_values():
    values = pair_values(made_run(8, follow_ups=0))
    assert set(values) == {
        "round_trip_ns",
        "round_trip_min_ns",
        "one_way_ns",
        "one_way_min_ns",
        "throughput_bit_per_s",
        "lost_ratio",
        "retransmitted_ratio",
    }
    rates = values["throughput_bit_per_s"]
    assert {tuple(p) for p in zip(rates.origin, rates.target, strict=True)} == {
        (a, b) for a in range(8) for b in range(8) if a != b
    }
    assert np.median(rates.value) == pytest.approx(80e6, rel=0.02)
    assert len(values["round_trip_ns"].value) == 28
    assert values["lost_ratio"].whole.sum() == 250 * 56


def test_the_slowest_twentieth_of_round_trips_is_left_out():
    run = made_run(4, follow_ups=0)
    times = run.points[0].batches[0].ends[0].series["round_trip_ns"]
    times[-1] = 10**9
    assert pair_values(run)["round_trip_ns"].value.max() < 3_000_000


def test_what_is_wrong_is_named_in_its_manner():
    run = made_run(12, late={3: 3.0}, slow={5: 0.3}, lossy={8: 0.03}, slow_pair=(0, 10))
    verdict = verdict_of(run)
    assert verdict is not None
    assert {(n.kind, n.place, n.manner) for n in verdict.named} == {
        ("host", "h3", "late"),
        ("host", "h5", "slow"),
        ("host", "h8", "loses"),
        ("pair", "h0 and h10", "late"),
    }
    (loses,) = (n.symptoms for n in verdict.named if n.manner == "loses")
    assert loses[0].way == "receives"
    assert loses[0].value == pytest.approx(0.03, rel=0.3)
    assert 66 < verdict.meetings <= 66 + 3 * 6


def test_nothing_is_named_where_nothing_is_wrong():
    run = made_run(12)
    verdict = verdict_of(run)
    assert verdict is not None
    assert verdict.named == ()
    kinds = {finding.kind for finding in explain(run, figures_of(run))}
    assert "all-alike" in kinds
    assert not any(kind.startswith(("slow-", "lossy-")) for kind in kinds)


def test_findings_say_where_what_and_what_to_do():
    run = made_run(12, late={3: 3.0}, lossy={8: 0.03})
    found = {f.kind: f for f in explain(run, figures_of(run)) if f.level == "bad"}
    assert found["slow-host"].claim.startswith("Host h3 answers late: round trips of 4.9")
    assert "netsonde host h3" in found["slow-host"].advice
    assert found["lossy-host"].claim.startswith("Host h8 loses ")
    assert found["lossy-host"].claim.endswith("of what it receives.")
    assert found["lossy-host"].place == "h8"
    assert all("times the usual spread" in f.evidence for f in found.values())


def test_a_delay_of_one_direction_is_named_with_it():
    run = made_run(8, delayed={3: 2.0})
    verdict = verdict_of(run)
    assert verdict is not None
    (named,) = verdict.named
    assert (named.kind, named.place, named.manner) == ("host", "h3", "far")
    assert {(s.name, s.way) for s in named.symptoms} == {
        ("one_way_ns", "sends"),
        ("one_way_min_ns", "sends"),
    }
    (found,) = (f for f in explain(run, figures_of(run)) if f.kind == "slow-host")
    assert found.claim == (
        "Host h3 adds to every message that it sends: one way 3.000 ms, the others 1.000 ms."
    )
    assert found.advice.startswith("The other direction is sound")
    (delays,) = (m for m in matrices_of(run) if m.name == "one_way_min_ns")
    assert delays.sent[3] == pytest.approx(3e6, rel=0.02)
    assert delays.received[3] == pytest.approx(1e6, rel=0.02)
    assert set(delays.marks[0].cells) == {(3, b) for b in range(8) if b != 3}


@pytest.mark.parametrize("error_ms", [0.9, -0.9])
def test_what_the_clocks_may_be_wrong_by_is_nobodys_fault(error_ms):
    """A clock that is thought to be ahead makes all that its host receives late, and what it sends
    early; far beyond margin and chance, but within what is known of clocks."""
    run = made_run(8, clock_error_ms=error_ms)
    found = pair_values(run)["one_way_ns"]
    of_host = (found.origin == 1) | (found.target == 1)
    assert found.uncertainty[of_host] == pytest.approx(0.9e6, rel=0.01)
    assert np.all(found.uncertainty[~of_host] == 0)
    late = found.origin == 1 if error_ms > 0 else found.target == 1
    assert np.median(found.value[late]) == pytest.approx(1.9e6, rel=0.05)
    verdict = verdict_of(run)
    assert verdict is not None
    assert verdict.named == ()


def test_dropped_hosts_and_failed_pairs_are_told():
    checks = {
        "round": {
            "pairs": 4,
            "dropped": {"h2": "h2: the worker was killed by SIGKILL"},
            "failed_pairs": [["h0", "h2", "h2 died"], ["h4", "h5", "refused"]],
        }
    }
    run = made_run(8, checks=checks)
    found = {f.kind: f for f in explain(run, figures_of(run))}
    assert found["dropped-host"].place == "h2"
    assert "SIGKILL" in found["dropped-host"].evidence
    assert found["failed-pairs"].claim == "1 pair of hosts could not be measured."


def test_matrices_mark_what_was_named():
    run = made_run(12, lossy={8: 0.03}, switches=LEAVES)
    (lost,) = (m for m in matrices_of(run) if m.name == "lost_ratio")
    (mark,) = lost.marks
    assert mark.place == "h8"
    assert set(mark.cells) == {(a, 8) for a in range(12) if a != 8}
    assert lost.received[8] > 0.01 > lost.sent[8]
    assert np.isnan(np.diag(lost.values)).all()
    (trips,) = (m for m in matrices_of(run) if m.name == "round_trip_ns")
    assert np.array_equal(trips.values, trips.values.T, equal_nan=True)


def test_a_pivot_has_the_medians_from_switch_to_switch():
    values = np.arange(16.0).reshape(4, 4)
    np.fill_diagonal(values, np.nan)
    matrix = PairMatrix(
        "round_trip_ns",
        ("a", "b", "c", "d"),
        values,
        switches={"s1": ("a", "c"), "s2": ("b", "d"), "root": ("a", "b", "c", "d")},
    )
    pivot = matrix.pivot()
    assert pivot.hosts == ("s1", "s2")
    assert pivot.values.tolist() == [
        [np.median([2, 8]), np.median([1, 3, 9, 11])],
        [np.median([4, 6, 12, 14]), np.median([7, 13])],
    ]
    one = PairMatrix("lost_ratio", ("a", "b"), values[:2, :2], switches={"s": ("a", "b")})
    assert one.pivot() is one
    ordered = matrix.by_switch()
    assert ordered.hosts == ("a", "c", "b", "d")
    assert ordered.values[0, 1] == values[0, 2]


@pytest.mark.parametrize("hosts", [8, 40])
def test_the_terminal_has_eighty_columns(hosts):
    run = made_run(hosts, late={3: 3.0}, lossy={5: 0.2}, follow_ups=1)
    figures = figures_of(run)
    out = io.StringIO()
    print_summary(run, figures, explain(run, figures), Console(file=out, width=80, highlight=False))
    text = out.getvalue()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "Host h3 answers late" in text
    assert f"{hosts} hosts have {hosts * (hosts - 1) // 2} pairs" in text


def test_cells_of_the_terminals_matrix_are_marked():
    run = made_run(8, slow={2: 0.3})
    (rates,) = (m for m in matrices_of(run) if m.name == "throughput_bit_per_s")
    lines = matrix_lines(rates)
    assert lines[0].startswith("throughput from (down) to (across), % of the median 79")
    slow, usual = lines[4].split()[1], lines[2].split()[2]  # from h2 to h0, from h0 to h1
    assert slow.startswith("*")
    assert float(slow[1:]) == pytest.approx(30, abs=3)
    assert float(usual) == pytest.approx(100, abs=8)


def test_a_round_says_what_it_could_not_measure() -> None:
    [whole] = checks_in_words({"round": {"pairs": 2, "failed_pairs": [], "dropped": {}}})
    assert (whole.verdict, whole.text) == ("told", "2 pairs met")
    lacking = {"pairs": 2, "failed_pairs": [["h1", "h2", "silent"]], "dropped": {"h2": "died"}}
    [partly] = checks_in_words({"round": lacking})
    assert partly.verdict == "failed"
    assert (
        partly.text == "1 of 2 pairs failed; the first, h1 and h2: silent; h2 takes no part: died"
    )


def symptom(name: str, value: float, usual: float, way: Way = "both") -> Symptom:
    return Symptom(name, way, value, usual, 9.0, 36, 6)


@pytest.mark.parametrize(
    ("delay", "rate", "manner"),
    [
        ((1.607e6, 1.303e6), (4.7e6, 18.7e6), "slow"),  # frames take longer on a slow link
        ((6.3e6, 1.3e6), (4.7e6, 18.7e6), "late"),  # windows wait for late answers
        ((6.3e6, 1.3e6), None, "late"),
        (None, (4.7e6, 18.7e6), "slow"),
    ],
)
def test_the_cause_is_named_and_not_what_comes_of_it(
    delay: tuple[float, float] | None, rate: tuple[float, float] | None, manner: str
) -> None:
    symptoms = []
    if delay is not None:
        symptoms.append(symptom("one_way_ns", *delay, "receives"))
    if rate is not None:
        symptoms.append(symptom("throughput_bit_per_s", *rate))
    named = Named("host", "h4", ("h4",), tuple(symptoms))
    assert named.manner == manner
    assert named.lead.name.startswith("through" if manner == "slow" else "one_way")

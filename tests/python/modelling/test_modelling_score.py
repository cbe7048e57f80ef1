"""A platform held against a run that is made: what fits, what does not, and what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netsonde.model.foretold import gather, in_a_stream, round_trip
from netsonde.model.platform import Cost, Platform
from netsonde.modelling.distributions import convolve_schedule, schedule_messages, single_times
from netsonde.modelling.score import score_run
from netsonde.modelling.show import score_document, score_lines, write_platform_page
from netsonde.modelling.show import write_score_page as write_page
from netsonde.records.data import Batch, EndData, Point, Run

COSTS = {
    "send_overhead": Cost(2_000.0, sizes=(64, 1000)),
    "send_gap": Cost(1_000.0, 80.0, sizes=(64, 1000)),
    "latency": Cost(40_000.0, 160.0, sizes=(64, 1000)),
    "receive_gap": Cost(2_000.0, 80.0, sizes=(64, 1000)),
    "receive_overhead": Cost(3_000.0, sizes=(64, 1000)),
    "user_overhead": Cost(1_000.0, sizes=(64, 1000)),
}
PLATFORM = Platform("made", "", 1000, 1e8, COSTS)
SIZES = (100, 300, 500, 700, 900)
S = 1_000_000_000


def end(rank: int, host: str, counters: dict[str, int], **series: Any) -> EndData:
    values = {name: np.asarray(value, np.int64) for name, value in series.items()}
    base = {"start_ns": 0, "end_ns": S, "sync_round_trip_ns": 0}
    return EndData(rank, host, values, base | counters)


def point(number: int, test: str, size: int, *batches: dict[int, EndData], **checks: Any) -> Point:
    made = [Batch(place, ends) for place, ends in enumerate(batches)]
    own = {"message_bytes": size, "count": 2} if test == "incast" else {"message_bytes": size}
    return Point(f"p{number:03d}", "udp", test, own, "finished", checks=checks, batches=made)


def trips(size: int, factor: float = 1.0, ranks: int = 2) -> np.ndarray:
    time = factor * round_trip(PLATFORM, size, ranks).time_ns
    return time * (1 + np.linspace(-0.01, 0.01, 201))


def latency(number: int, size: int, factor: float = 1.0, **checks: Any) -> Point:
    series = {"round_trip_ns": trips(size, factor)}
    ends = {0: end(0, "h1", {}, **series), 1: end(1, "h2", {})}
    return point(number, "latency", size, ends, **checks)


def stream(number: int, size: int, factor: float = 1.0) -> Point:
    sent = round(S / (factor * in_a_stream(PLATFORM, size).time_ns))
    counted = {"messages_sent": sent, "bytes_sent": sent * size, "drained_ns": S}
    got = {"messages_received": sent, "bytes_received": sent * size, "lost": 0}
    return point(number, "stream", size, *({0: end(0, "h1", counted), 1: end(1, "h2", got)},) * 8)


def incast(number: int, size: int) -> Point:
    time = round(gather(PLATFORM, size, 2, 3).time_ns)
    starts = np.arange(50) * 10_000_000
    ends: dict[int, EndData] = {}
    for flow in range(3):
        sent = {"bytes_sent": 100 * size, "messages_sent": 100}
        got = {"bytes_received": 100 * size, "messages_received": 100, "lost": 0}
        ends[2 * flow] = end(2 * flow, f"h{flow}", sent, round_start_ns=starts)
        ends[2 * flow + 1] = end(2 * flow + 1, "h9", got, round_end_ns=starts + time)
    return point(number, "incast", size, ends)


def run_of(tmp_path: Path, *points: Point) -> Run:
    return Run(tmp_path, {"origin": "emulated", "hosts": {}, "path": {}}, list(points), True)


def test_what_the_platform_says_scores_as_right(tmp_path: Path) -> None:
    points = [latency(n, size) for n, size in enumerate(SIZES)]
    points += [stream(10 + n, size) for n, size in enumerate(SIZES)]
    points += [incast(20 + n, size) for n, size in enumerate(SIZES)]
    score = score_run(PLATFORM, run_of(tmp_path, *points))
    assert len(score.items) == 15
    assert score.median_error < 0.002
    assert not score.misfits
    for one in score.items:
        assert abs(one.error) < 0.005, one
    (quantiles,) = {tuple(one.quantiles) for one in score.items if one.test == "incast"}
    assert quantiles == (0.1, 0.5, 0.9)  # of fifty rounds no p99


def test_a_misfit_names_its_term_and_page_and_lines_say_so(tmp_path: Path) -> None:
    points = [latency(n, size, 1.2) for n, size in enumerate(SIZES)]
    points.append(stream(10, 900))
    score = score_run(PLATFORM, run_of(tmp_path, *points))
    assert score.blamed == [("L", 5)]
    lines = score_lines(PLATFORM, score)
    assert max(map(len, lines)) <= 80
    assert any("Misfits by the term that weighs most: L in 5." in line for line in lines)
    document = score_document(PLATFORM, score)
    assert document["predictions"][0]["misfit"] is True
    page = tmp_path / "score.html"
    write_page(PLATFORM, score, page)
    assert "Predicted and measured times" in page.read_text()
    write_platform_page(PLATFORM, page)
    assert "Parameters over the size of a packet" in page.read_text()


def test_lateness_that_would_decide_counts_nothing(tmp_path: Path) -> None:
    late = latency(1, 500, 3.0, lab={"late_median_ns": 400_000})
    little = latency(2, 700, 1.01, lab={"late_median_ns": 1_000, "valid": False})
    score = score_run(PLATFORM, run_of(tmp_path, late, little))
    assert [one.late for one in score.items] == [True, False]
    assert score.median_error == pytest.approx(0.01, abs=0.001)
    assert any("came late" in line for line in score_lines(PLATFORM, score))


def test_what_cannot_be_foretold_is_a_note(tmp_path: Path) -> None:
    score = score_run(PLATFORM, run_of(tmp_path, latency(1, 500), latency(2, 700)))
    bare = Platform("bare", "", 1000, 1e8, {"send_gap": COSTS["send_gap"]})
    assert not score.notes
    with pytest.raises(ValueError, match="does not say its send overhead"):
        score_run(bare, run_of(tmp_path, latency(1, 500)))


@pytest.mark.worker
def test_a_schedule_is_convolved_from_a_runs_round_trips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A binomial tree of eight has three messages behind each other."""
    run = run_of(tmp_path, latency(1, 500))
    monkeypatch.setattr("netsonde.modelling.distributions.open_measured", lambda _: run)
    assert list(single_times(tmp_path)) == [500]
    assert len(schedule_messages("broadcast/binomial", 8, 500)) == 7
    found = convolve_schedule("broadcast/binomial", 8, 500, tmp_path)
    assert found.messages == 7
    median = found.quantiles_ns[0.5]
    assert median == pytest.approx(1.5 * round_trip(PLATFORM, 500).time_ns, rel=0.02)
    barrier = convolve_schedule("barrier/dissemination", 8, 0, tmp_path)
    assert barrier.messages == 24

"""What the report computes itself: digits, labels of axes, thinning; and the terminal's summary."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_made import Made
from report_synthetic import synthetic_findings
from rich.console import Console

from netsonde.catalogue.method import methods_of
from netsonde.catalogue.transport import TRANSPORTS
from netsonde.explain import Finding
from netsonde.figures import Figure
from netsonde.records.data import Batch, EndData, Point
from netsonde.report.lookup import Study
from netsonde.report.plot import Axis, Curve, Panel
from netsonde.report.quantity import (
    format_figure,
    format_value,
    format_value_and_interval,
    size_text,
)
from netsonde.report.terminal import print_summary
from netsonde.report.theme import DARK, LIGHT, SERIES
from netsonde.report.thinning import density, interval_rates, sequence, slower_than
from netsonde.report.throughput_plots import allowed_bit_per_s, rates_over_time
from netsonde.report.ticks import x_ticks


def figure(name: str, value: float, low: float | None, high: float | None) -> Figure:
    return Figure("p", "tcp", "latency", None, 64, name, value, low, high, 10, None, "m")


@pytest.mark.parametrize(
    ("name", "value", "low", "high", "text"),
    [
        ("jitter_ns", 23456.0, 23400.0, 23520.0, "23.456 µs [23.400 – 23.520]"),
        ("jitter_ns", 999.97, 999.9, 1000.1, "0.99997 µs [0.99990 – 1.00010]"),
        ("jitter_ns", 23456.0, None, None, "23.46 µs [no interval]"),
        ("wire_bit_per_s", 9.41e8, 9.3e8, 9.5e8, "941 Mbit/s [930 – 950]"),
        ("late_ratio", 0.0, 0.0, 0.0003, "0.000 % [0.000 – 0.030]"),
        ("late_ratio", 0.00028, 0.00011, 0.00071, "0.028 % [0.011 – 0.071]"),
        ("retransmitted_segments", 112.0, None, None, "112 [count]"),
    ],
)
def test_digits_follow_the_interval(
    name: str, value: float, low: float | None, high: float | None, text: str
) -> None:
    assert format_figure(figure(name, value, low, high)) == text


@given(
    st.floats(0, 1e18),
    st.floats(0, 1e15),
    st.sampled_from(["jitter_ns", "wire_bit_per_s", "late_ratio"]),
)
def test_any_figure_can_be_written(value: float, reach: float, name: str) -> None:
    text, interval = format_value_and_interval(
        figure(name, value, max(0.0, value - reach), value + reach)
    )
    assert text
    assert interval
    assert "e+" not in text + interval


def test_values_without_a_number() -> None:
    assert format_value(None, "time_ns") == ""
    assert format_value(float("nan"), "bit_per_s") == "–"
    assert format_value(1234567, "count") == "1\u202f234\u202f567"
    assert [size_text(n) for n in (0, 64, 1024, 1500, 1 << 20)] == [
        "0 B",
        "64 B",
        "1k",
        "1500 B",
        "1M",
    ]


@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=3000))
def test_the_tail_keeps_its_extremes(values: list[int]) -> None:
    samples = np.array(values, dtype=np.int64)
    times, shares = slower_than(samples, points=50)
    assert times[0] == samples.max()
    assert times[-1] == samples.min()
    assert shares[-1] == 1.0
    for time, share in zip(times, shares, strict=True):
        assert np.mean(samples > time) < share <= np.mean(samples >= time) + 1e-12


@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=2000))
def test_the_shape_counts_every_sample(values: list[int]) -> None:
    shape = density(np.array(values, dtype=np.int64))
    widths = np.log(shape.edges[1:] / shape.edges[:-1]) / np.log(1.01)
    assert np.all(np.diff(shape.edges) > 0)
    assert np.sum(widths * shape.share_per_percent) == pytest.approx(1.0)


@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=500), st.integers(1, 40))
def test_stretches_keep_extremes(values: list[int], points: int) -> None:
    samples = np.array(values, dtype=np.int64)
    drawn = sequence(samples, points)
    assert len(drawn.index) == (len(values) if len(values) <= points else points)
    assert drawn.largest.max() == samples.max()
    assert drawn.least.min() == samples.min()


def testrates_over_time_are_exact() -> None:
    """One message of 1000 bytes every 8 µs is 1 Gbit/s, in every stretch and over a stall."""
    times = np.arange(1, 10_001, dtype=np.int64) * 8000
    begins, ends, rates = interval_rates(times, 1000, 1e6)
    assert rates == pytest.approx(np.full(len(rates), 1e9))
    assert np.all(ends - begins >= 1e6)
    assert begins[0] == times[0]
    assert ends[-1] == times[-1]
    times[5000:] += 10_000_000
    begins, ends, rates = interval_rates(times, 1000, 1e6)
    assert np.sum(rates * (ends - begins)) == pytest.approx(9999 * 8000 * 1e9)
    assert rates.min() < 0.2e9


@pytest.mark.parametrize("high", [1.3e4, 4e4, 3e5, 8e7, 5e11])
def test_labels_of_a_log_axis_are_few_and_inside(high: float) -> None:
    panel = Panel(
        "",
        Axis("t", "time_ns", log=True),
        Axis("", "ratio"),
        [Curve("c", [1.0e4, high], [0.0, 1.0], "blue")],
    )
    ticks = x_ticks(panel)
    assert 1 <= len(ticks) <= 8
    assert all(1.0e4 / 1.03 <= value <= high * 1.03 for value, _ in ticks)
    assert len({label for _, label in ticks}) == len(ticks)


def test_the_link_leaves_less_to_payload_than_its_rate(made: Made) -> None:
    study = Study(made.run, made.figures)
    tcp = next(p for p in made.run.points if p.id == "tcp-stream-16384")
    udp = next(p for p in made.run.points if p.id == "udp-stream-1472")
    assert allowed_bit_per_s(study, tcp) == pytest.approx(1e9 * 1448 / 1514)
    assert allowed_bit_per_s(study, udp) == pytest.approx(1e9 * 1472 / 1514)


def test_both_colour_schemes_name_the_same_colours() -> None:
    assert LIGHT.keys() == DARK.keys()
    used = {"limit", "fit", "loss", "ink", "quiet", "line", "grid", "panel", *SERIES}
    used |= {row.colour for row in TRANSPORTS.values()}
    assert used <= LIGHT.keys()


def _printed(
    made: Made, *, terminal: bool = False, findings: Sequence[Finding] | None = None
) -> str:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=terminal)
    found = synthetic_findings() if findings is None else findings
    print_summary(made.run, made.figures, found, console)
    return file.getvalue()


def test_the_summary_fits_a_terminal_and_is_plain_elsewhere(made: Made) -> None:
    text = _printed(made)
    assert "\x1b" not in text
    assert all(len(line.rstrip()) <= 80 for line in text.splitlines() if "report.html" not in line)
    assert text.index("Bad: The two hosts") < text.index("Good: TCP uses")
    assert str(made.page) in text
    told = text[: text.index("one way")].splitlines()[:-1]
    assert all(line == line.rstrip() for line in told if line.startswith("  "))
    for words in ("UDP", "TCP", "MPI", "one way", "Set the same on both"):
        assert words in text
    assert "\x1b" in _printed(made, terminal=True)


def test_the_summary_has_all_that_is_wrong_and_few_notes(made: Made) -> None:
    wrong = [Finding("warning", f"Wrong {n}.", "", "") for n in range(7)]
    notes = [Finding("note", f"Known {n}.", "", "") for n in range(5)]
    text = _printed(made, findings=[*notes, *wrong])
    assert text.count("Warning: Wrong") == 7
    assert text.count("Note: Known") == 3
    assert "2 more: netsonde explain" in text
    assert _printed(made, findings=notes).count("Note: Known") == 5


def test_the_summary_shows_few_points_one_by_one(made: Made, tmp_path: Path) -> None:
    points = made.run.select("tcp", "latency")[:1]
    few = replace(made, run=replace(made.run, points=points, directory=tmp_path))
    text = _printed(few)
    assert "TCP latency 1 B" in text
    assert "p99" in text
    assert f"Run: {tmp_path}" in text.replace("\n", "")


def test_the_summary_does_not_read_markup(made: Made, tmp_path: Path) -> None:
    made.run.manifest["name"] = "x"
    run = replace(
        made.run,
        manifest=made.run.manifest | {"hosts": {"[bold]h[/nonsense]": {}}},
        directory=tmp_path,
    )
    assert "[bold]h[/nonsense]" in _printed(replace(made, run=run))


def test_every_figure_says_how_it_is_obtained(made: Made) -> None:
    methods = methods_of(made.figures)
    assert [m.place for m in methods if not m.short] == []
    assert len({m.anchor for m in methods}) == len(methods)


def bursts(count: int, batches: int = 1) -> Point:
    """Messages of 1000 bytes at 0.96 Gbit/s, of which the receiver reads ``count`` at once."""
    made = []
    for index in range(batches):
        sent = np.arange(1, 20_001, dtype=np.int64) * 8333
        times = sent[np.minimum(np.arange(20_000) // count * count + count, 20_000) - 1]
        end = EndData(1, "h2", {"received_ns": np.sort(times + np.arange(20_000) % count)})
        end.counters |= {"start_ns": 0}
        made.append(Batch(index, {0: EndData(0, "h1"), 1: end}))
    return Point("p001", "tcp", "stream", {"message_bytes": 1000}, "finished", batches=made)


@pytest.mark.parametrize(("count", "fewest", "most"), [(1, 60, 80), (200, 15, 40), (1000, 4, 10)])
def test_stretches_are_as_long_as_the_link_needs(count: int, fewest: int, most: int) -> None:
    """A receiver that reads bursts is no link that is faster than it is."""
    begins, _, rates = rates_over_time(bursts(count), 1e9)
    assert fewest <= len(begins) <= most
    assert max(rate for rate in rates if rate is not None) <= 1.02e9 or len(begins) <= 10
    assert len(rates_over_time(bursts(count), None)[0]) >= len(begins)

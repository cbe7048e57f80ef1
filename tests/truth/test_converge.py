"""Senders that go on, to one receiver: what each offered, what came through, what was lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lab_runs import run_over

from attempts import Attempts
from netsonde.figures.compute import figures_of
from netsonde.figures.data import Figure
from netsonde.lab import permission_problem
from netsonde.model.goodput import LINE, shaped_goodput_bit_per_s
from netsonde.records.data import Run
from netsonde.report.lookup import Study
from netsonde.report.pattern_plots import by_flow

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

RATE_BIT_PER_S = 20_000_000
EACH_BIT_PER_S = 10_000_000
SENDERS = 3
SIZE_BYTES = 1000
FRAME_BYTES = SIZE_BYTES + 42
BUFFER_BYTES = 32 * 1024
SCENARIO = f"""
hosts = {SENDERS + 1}
[pace]
calibrate = false
[link]
rate = "{RATE_BIT_PER_S}"
[[switch]]
name = "s1"
architecture = "output"
buffer = "32k"
"""
MEASURE = [
    {
        "transports": ["udp"],
        "test": "converge",
        "sizes": SIZE_BYTES,
        "rate": EACH_BIT_PER_S,
        "cap": "2s",
    }
]


@pytest.mark.tolerant
@pytest.mark.timeout(120)
def test_three_senders_offer_more_than_a_port_carries(tmp_path: Path, attempts: Attempts) -> None:
    """30 Mbit/s of payload are offered to a port of 20; what is above its goodput is lost, but for
    what the switch's buffer still holds at the end of a batch."""
    allowed = shaped_goodput_bit_per_s("udp", RATE_BIT_PER_S, SIZE_BYTES, framing=LINE)

    wanted = {
        "offered_bit_per_s": SENDERS * EACH_BIT_PER_S,
        "throughput_bit_per_s": allowed,
    }
    for attempt in attempts(2, of=3):
        run = run_over(tmp_path / str(attempt.number), SCENARIO, MEASURE)
        figures = figures_of(run)
        wanted["lost_ratio"] = lost_share(run, allowed)
        found = {figure.name: figure.value for figure in figures if figure.name in wanted}
        attempt.found(**found)
        with attempt:
            assert found == {name: pytest.approx(wanted[name], rel=0.06) for name in wanted}
            check_flows(run, figures)


def lost_share(run: Run, allowed_bit_per_s: float) -> float:
    (batch, *_) = run.points[0].batches
    sent = sum(end.counters.get("messages_sent", 0) for end in batch.ends.values())
    seconds = sent * 8 * SIZE_BYTES / (SENDERS * EACH_BIT_PER_S)
    came = allowed_bit_per_s * seconds / (8 * SIZE_BYTES) + BUFFER_BYTES / FRAME_BYTES
    return 1 - came / sent


def check_flows(run: Run, figures: list[Figure]) -> None:
    """What each sent and what became of it."""
    plot = by_flow(Study(run, figures))
    assert plot is not None
    columns = [column.name for column in plot.table.columns]
    rows = [dict(zip(columns, row, strict=True)) for row in plot.table.rows]
    assert [row["origin"] for row in rows] == ["h1", "h2", "h3"]
    assert [row["sent_bit_per_s"] for row in rows] == pytest.approx([EACH_BIT_PER_S] * 3, rel=0.05)
    # What each lost is what it sent less what came of it.
    for row in rows:
        arrived = row["throughput_bit_per_s"] / row["sent_bit_per_s"]
        assert row["lost_ratio"] == pytest.approx(1 - arrived, abs=0.08)
    loads = {f.name: f.value for f in figures if f.name.endswith("_load_ratio")}
    assert set(loads) == {"shared_host_load_ratio", "other_hosts_load_ratio"}
    # The hosts of a lab share this machine's CPUs.
    assert np.ptp(list(loads.values())) < 0.2

"""The line on a terminal while something is measured: what it says, and how wide it is."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from test_stored_runs import EVERY, unpacked

from netsonde.catalogue.test import test_row as row_of
from netsonde.cli import live_line
from netsonde.cli.interruption import ENDING, answer_interruptions
from netsonde.cli.live_line import LiveLine, Part, TimeLeft, fitted, known_parts
from netsonde.errors import InterruptedByUserError
from netsonde.figures.compute import figures_of_point
from netsonde.figures.so_far import Known, SoFar
from netsonde.records.data import Point
from netsonde.records.decode import encode_series
from netsonde.records.journal import read_journal
from netsonde.records.rundir import open_run

PARTS = [Part("tcp stream 64k", 1), Part("2.1 GB", 6), Part("9.41 Gbit/s ±0.3 %", 0)]


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (80, "tcp stream 64k  2.1 GB  9.41 Gbit/s ±0.3 %"),
        (41, "tcp stream 64k  9.41 Gbit/s ±0.3 %"),
        (30, "9.41 Gbit/s ±0.3 %"),
        (11, "9.41 Gbit/s"),
    ],
)
def test_what_matters_least_goes_first(columns: int, line: str) -> None:
    assert fitted(PARTS, columns) == line


def counters(rank: int, **values: int) -> dict[str, Any]:
    return {"record": "counters", "rank": rank, "host": f"h{rank}", "values": values}


def snapshots(rank: int, again: int) -> Iterator[dict[str, Any]]:
    for phase, value in (("before", 0), ("after", again)):
        yield {
            **{"record": "snapshot", "rank": rank, "host": f"h{rank}", "phase": phase},
            **{"time_ns": 0, "cost_ns": 0},
            "values": {"connection.test.total_retrans": value},
        }


def stream(rate_bit_per_s: int, **told: int) -> list[dict[str, Any]]:
    """A batch of half a second."""
    half_ns, sent = 500_000_000, rate_bit_per_s // 16
    span = {"start_ns": 0, "end_ns": half_ns, "sync_round_trip_ns": 0}
    return [
        counters(0, **span, bytes_sent=sent, messages_sent=sent // 1000),
        counters(1, **span, bytes_received=sent, **told),
    ]


def words(point: Point, *batches: list[dict[str, Any]]) -> str:
    so_far = SoFar(point)
    for records in batches:
        so_far.add(records)
    return fitted(known_parts(so_far.known(), point.kind), 200)


def test_a_stream_says_what_iperf3_does() -> None:
    point = Point("p001", "tcp", "stream", {"message_bytes": 1000})
    batches = [[*stream(rate), *snapshots(0, 2)] for rate in (900_000_000, 800_000_000)]
    assert words(point, *batches) == "0.00-1.00 s  106.2 MB  850.0 Mbit/s  4 retransmitted"
    alike = [stream(rate) for rate in range(800_000_000, 860_000_000, 10_000_000)]
    assert words(point, *alike) == "0.00-3.00 s  309.4 MB  825.0 Mbit/s ±3.0 %"


def test_datagrams_say_how_many_of_those_sent_were_lost() -> None:
    point = Point("p001", "udp", "stream", {"message_bytes": 1000})
    batches = [stream(800_000_000, lost=10), stream(800_000_000, lost=40)]
    assert words(point, *batches).endswith("  800.0 Mbit/s  50/100000 lost (0.05 %)")


def test_a_round_trip_says_messages_median_and_p99() -> None:
    point = Point("p001", "tcp", "latency", {"message_bytes": 64})
    times = np.arange(20_001, 20_101, dtype=np.int64)
    records = encode_series(0, "h0", "round_trip_ns", "ns", times)
    batch = [*records, counters(0, start_ns=0, end_ns=10**9, messages_sent=100)]
    found = words(point, batch, [*batch, *snapshots(0, 0)])
    assert found.startswith("0.00-2.00 s  200 messages  median 20.05 µs ±0.")
    assert found.endswith(" %  p99 20.10 µs")
    assert words(point, [*batch, *snapshots(0, 1)]).endswith("  p99 20.10 µs  1 retransmitted")


def test_an_operation_says_its_slowest_rank() -> None:
    point = Point("p001", "mpi", "collective", {"message_bytes": 64, "operation": "bcast"})
    batch = []
    for rank, times in enumerate(([10_000, 30_000], [20_000, 20_000])):
        batch += encode_series(rank, f"h{rank}", "duration_ns", "ns", np.array(times, np.int64))
        batch.append(counters(rank, start_ns=0, end_ns=10**8))
    assert words(point, batch) == "0.00-0.10 s  2 repetitions  median 25.00 µs  p99 29.90 µs"


def test_what_nobody_knows_is_left_out() -> None:
    known = Known(0, None, None, 1e9, 0, 0, None, None)
    assert fitted(known_parts(known, row_of("clock")), 80) == "0.00-1.00 s"


def test_the_time_left_is_by_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(live_line, "monotonic", lambda: now[0])
    left = TimeLeft(30.0, 30.0)
    assert left.in_words() == "≤ 30 s left"
    now[0] += 1.5
    assert left.in_words() == "≤ 29 s left"
    now[0] += 0.5
    left.add(10.0)  # of 30, in 2 s
    assert left.in_words() == "~4 s left"
    now[0] += 5
    assert left.in_words() == ""
    assert TimeLeft(None, 3.0).in_words() == ""


@pytest.mark.parametrize("name", EVERY)
def test_every_test_has_a_line_from_its_own_records(name: str, tmp_path: Path) -> None:
    """As long as nothing is known it may say little, but it says the figure of the run at its end,
    the warm-up apart."""
    directory = unpacked(name, tmp_path)
    run = open_run(directory)
    batches = [entry for entry in read_journal(directory) if entry["entry"] == "batch"]
    for point in run.points:
        so_far = SoFar(replace(point, batches=[]))
        own = [e["records"] for e in batches if e["point"] == point.id]
        if not own:
            continue
        for records in own:
            so_far.add(records)
        known = so_far.known()
        assert "0.00-" in fitted(known_parts(known, point.kind), 200)
        if known.middle is None:
            continue
        figures = [f for f in figures_of_point(point) if f.name == known.middle.name]
        assert all(known.middle.value == pytest.approx(f.value, rel=0.2) for f in figures)


class InterruptedTerminal(StringIO):
    """Ctrl-C comes while it takes the words that show the cursor again."""

    def write(self, text: str) -> int:
        taken = super().write(text)
        if self.getvalue().count("\x1b[?25h") == 1 and "\x1b[?25h" in text:
            signal.raise_signal(signal.SIGINT)
        return taken


@pytest.fixture
def answered() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in ENDING}
    answer_interruptions()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("answered")
def test_an_interruption_does_not_write_its_end_twice() -> None:
    terminal = InterruptedTerminal()
    console = Console(file=terminal, force_terminal=True)
    line = LiveLine(console)
    line.begin(TimeLeft(1.0, 1.0))
    with pytest.raises(InterruptedByUserError):
        line.end()
    console.print("what is kept")
    assert terminal.getvalue().count("\x1b[?25h") == 1
    assert not line.is_shown

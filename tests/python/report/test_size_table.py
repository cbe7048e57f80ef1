"""Tables by size: known figures come out as known text, aligned, in any width, on both media."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_records import rank_batch, rank_point
from report_browser import Browser
from rich.console import Console
from test_stored_runs import EVERY, unpacked

from netsonde.explain import Finding
from netsonde.figures import Figure
from netsonde.figures.compute import figures_of
from netsonde.records.data import Batch, EndData, Point, Run
from netsonde.records.rundir import open_run
from netsonde.report.lookup import Study
from netsonde.report.page import ROWS_OPEN, page
from netsonde.report.size_lines import print_size_tables
from netsonde.report.size_table import FIGURE_SPACE, POINT_SPACE, aligned, size_tables
from netsonde.report.terminal import print_summary

MANIFEST: dict[str, Any] = {
    **{"format": 1, "name": "made", "origin": "real", "seed": 1, "path": {}, "hosts": {}},
    **{"versions": {}, "command": ["netsonde"], "points": [], "started_utc": "2026-01-01T00:00:00"},
}
Made = tuple[Point, list[Figure]]


def point(
    number: int, transport: str, test: str, size: int, status: Any = "finished", **more: Any
) -> Point:
    parameters = {"message_bytes": size, "cap_ns": 10**9, "interval": 0.01, **more}
    batches = [Batch(0, {0: EndData(0, "h1")})] if status == "finished" else []
    return Point(f"p{number:03}", transport, test, parameters, status, batches=batches)


def figure(of: Point, name: str, value: float, low: float | None, high: float | None) -> Figure:
    given = (of.id, of.transport, of.test, of.operation, of.message_bytes)
    return Figure(*given, name, value, low, high, 100, None if low is None else 100.0, "latency")


def latency(number: int, size: int, median_ns: float, half_ns: float, **more: Any) -> Made:
    made = point(number, "tcp", "latency", size, **more)
    low, high = median_ns - half_ns, median_ns + half_ns
    return made, [
        figure(made, "round_trip_median_ns", median_ns, low, high),
        figure(made, "round_trip_p99_ns", 2 * median_ns, None, None),
    ]


def stream(number: int, size: int, rate: float, again: int, **more: Any) -> Made:
    made = point(number, "tcp", "stream", size, **more)
    return made, [
        figure(made, "throughput_bit_per_s", rate, 0.99 * rate, 1.02 * rate),
        figure(made, "retransmitted_segments", again, None, None),
    ]


def study_of(*made: Made) -> Study:
    run = Run(Path("runs/made"), dict(MANIFEST), [of for of, _ in made], True)
    return Study(run, [figure for _, figures in made for figure in figures])


def printed(study: Study, width: int = 80) -> list[str]:
    out = io.StringIO()
    print_size_tables(size_tables(study), Console(file=out, width=width, highlight=False))
    return out.getvalue().rstrip().splitlines()


SWEEP = (
    latency(3, 65536, 1_234_000, 12_000),
    latency(1, 64, 9_876.5, 23),
    latency(2, 1024, 52_340, 230),
)
OPTIONS = tuple(
    stream(10 * row + column, size, rate * (1 + row), 7 * row, label=label)
    for row, label in enumerate(("buffer 64k", "buffer 1M"))
    for column, (size, rate) in enumerate(((1024, 9.1e7), (65536, 9.41e8)))
)


def test_a_row_for_each_size_with_the_points_beneath_each_other() -> None:
    assert printed(study_of(*SWEEP)) == [
        "TCP latency",
        "size    median        95 % interval     p99",
        "   B        µs                   µs      µs",
        "  64     9.877     9.854 –    9.899    19.8",
        "  1k    52.34     52.11  –   52.57    105",
        " 64k  1234      1222     – 1246      2468",
        "",
        "95 % intervals within one launch",
    ]


def test_a_row_for_each_option_and_size() -> None:
    study = study_of(*reversed(OPTIONS))
    assert printed(study) == [
        "TCP stream",
        "buffer  size    rate    95 % interval  retransmitted",
        "           B  Mbit/s           Mbit/s",
        "1M        1k   182.0   180.2 –  185.6              7",
        "1M       64k  1882    1863   – 1920                7",
        "64k       1k    91.0    90.1 –   92.8              0",
        "64k      64k   941     932   –  960                0",
        "",
        "95 % intervals within one launch",
    ]


def test_options_that_differ_tell_rows_of_one_size_apart() -> None:
    made = [
        latency(n, 64, 50_000.0 / n, 100.0, options={"wait": wait, "no_delay": True})
        for n, wait in enumerate(("block", "spin"), 1)
    ]
    lines = printed(study_of(*made))
    assert lines[1].split()[:2] == ["wait", "size"]
    assert [line.split()[:2] for line in lines[3:5]] == [["block", "64"], ["spin", "64"]]


def test_names_without_room_go_on_beneath_and_leave_it_to_the_figures() -> None:
    long = "algorithm pairwise:segment=1492:over=link:timeout=200ms:flow-window=8"
    made = [
        stream(n, 1024, 9.1e7, 0, label=label) for n, label in enumerate(("algorithm ring", long))
    ]
    lines = printed(study_of(*made), 60)
    assert lines[4:7] == [
        "pairwise:segment=1492    1k    91.0  2.0              0",
        ":over=link:timeout=200ms",
        ":flow-window=8",
    ]
    assert max(len(line) for line in printed(study_of(*made), 40)) <= 40


def test_where_there_is_less_room_the_interval_is_a_share_and_the_last_columns_go() -> None:
    study = study_of(*OPTIONS)
    assert printed(study, 50)[3] == "64k       1k    91.0  2.0              0"
    narrow = printed(study, 36)
    assert narrow[1:4] == [
        "buffer  size    rate    ±",
        "           B  Mbit/s    %",
        "64k       1k    91.0  2.0",
    ]
    assert narrow[-2:] == [
        "no room for retransmitted: a wider ",
        "terminal and the report have them",
    ]


def test_a_point_that_failed_and_an_interval_that_is_missing_are_told_in_their_row() -> None:
    failed = point(4, "tcp", "latency", 4096, "failed")
    failed.error = "the other end at h2 closed the connection"
    bare = point(5, "tcp", "latency", 256)
    median = figure(bare, "round_trip_median_ns", 30_000, None, None)
    assert printed(study_of(SWEEP[1], (bare, [median]), (failed, [])))[2:] == [
        "   B      µs             µs    µs",
        "  64   9.877  9.854 – 9.899  19.8",
        " 256  30.0          –         –",
        "  4k  failed: the other end at h2 closed the connection",
        "",
        "95 % intervals within one launch; – too few samples",
    ]


def operation(name: str, size: int, base_us: float) -> Point:
    """Rank 1 takes longest, by a microsecond."""
    ramp = [0.01 * (7 * i % 40) for i in range(40)]
    stays = [[base + more for more in ramp] for base in (base_us, base_us + 1, base_us / 2)]
    batch = rank_batch([[100.0 * i for i in range(40)]] * 3, stays)
    made: Point = rank_point(name, batch, size=size)
    made.id = f"{name}-{size}"
    return made


OPERATIONS = (("bcast", 65536, 200.0), ("allreduce", 64, 20.0), ("bcast", 64, 10.0))


def test_operations_of_mpi_have_their_slowest_rank() -> None:
    points = [operation(*given) for given in (*OPERATIONS, ("barrier", 0, 4.0))]
    run = Run(Path("runs/made"), dict(MANIFEST), points, True)
    assert printed(Study(run, figures_of(run))) == [
        "MPI operations",
        "operation  size   median      95 % interval  slowest rank  rank",
        "              B       µs                 µs            µs",
        "barrier       0    5.195    5.100 –   5.290         5.195     1",
        "bcast        64   11.195   11.100 –  11.290        11.195     1",
        "bcast       64k  201.195  201.100 – 201.290       201.195     1",
        "allreduce    64   21.195   21.100 –  21.290        21.195     1",
        "",
        "95 % intervals within one launch",
    ]


def test_one_size_of_sockets_needs_no_table_and_one_operation_of_mpi_has_one() -> None:
    assert size_tables(study_of(SWEEP[0])) == []
    run = Run(Path("runs/made"), dict(MANIFEST), [operation(*OPERATIONS[0])], True)
    (table,) = size_tables(Study(run, figures_of(run)))
    assert len(table.rows) == 1


def test_of_several_launches_it_is_the_median_and_not_the_fastest() -> None:
    made = [
        latency(10 * launch + place, size, 10_000.0 * launch, 10, launch=launch)
        for launch in range(1, 8)
        for place, size in enumerate((64, 1024))
    ]
    lines = printed(study_of(*made))
    assert lines[3].split()[:5] == ["64", "40", "10", "–", "70"]
    assert len(lines) == 7
    assert lines[-1] == "95 % intervals of the median over launches"


@given(st.lists(st.floats(0, 1e9).map(lambda v: f"{v:.4g}"), min_size=1))
def test_points_stand_beneath_each_other(texts: Sequence[str]) -> None:
    plain = [text for text in texts if "e" not in text]
    cells = aligned(plain)
    assert [cell.strip() for cell in cells] == plain
    assert len({len(cell) for cell in cells}) <= 1
    places = {re.search(f"[.{POINT_SPACE}]", cell) for cell in cells}
    assert len({match.start() for match in places if match is not None}) <= 1
    assert all(set(cell) <= {*"0123456789.", FIGURE_SPACE, POINT_SPACE} for cell in cells)


def summary(study: Study, width: int, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, highlight=False)
    found = [Finding("note", "Something is worth knowing.", "", "")]
    print_summary(study.run, study.figures, found, console)
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_stand_before_what_was_found_and_fit(width: int) -> None:
    text = summary(study_of(*SWEEP, *OPTIONS), width)
    assert text.index("TCP latency") < text.index("TCP stream") < text.index("Note: Something")
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    coloured = summary(study_of(*SWEEP, *OPTIONS), width, terminal=True)
    assert "\x1b[1m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == text


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_kind_of_run_has_each_of_its_conditions_once(
    name: str, width: int, tmp_path: Path
) -> None:
    run = open_run(unpacked(name, tmp_path))
    study = Study(run, figures_of(run))
    tables = size_tables(study)
    shown = [id_ for table in tables for id_ in table.points]
    assert len(shown) == len(set(shown))
    rows = [row.point for table in tables for row in table.rows if not row.error]
    assert rows == [row for row in rows if row in {c[0].id for c in study.conditions}]
    assert all(p.carrier.has_ranks <= (p.id in shown) for p in run.points if _is_tabled(p))
    assert max(map(len, printed(study, width)), default=0) <= width


def _is_tabled(point: Point) -> bool:
    kind = point.kind
    apart = kind.is_program or kind.is_round or kind.compares_clocks or kind.is_simulated
    return point.measured and not apart and point.imported is None


def test_the_page_has_them_first_and_the_first_of_many_rows() -> None:
    many = [latency(n, n, 1000.0 * n, 5.0) for n in range(1, ROWS_OPEN + 6)]
    failed = point(99, "tcp", "latency", 4096, "failed")
    failed.error = "h2 <is> gone"
    study = study_of(*many, (failed, []))
    text = page(study.run, study.figures, [])
    assert text.index('id="by-size"') < text.index('id="verdicts"')
    assert text.index('<a href="#by-size">') < text.index('<a href="#verdicts">')
    own = text[text.index('<table class="by-size">') :].partition("</table>")[0]
    open_rows, closed, rest = own.partition('<tbody class="rest">')
    assert closed
    assert open_rows.count('<a href="#point-') == ROWS_OPEN
    assert rest.count('<a href="#point-') == 6
    assert "failed: h2 &lt;is&gt; gone" in rest
    assert f"Show all {ROWS_OPEN + 6} rows" in text
    few = study_of(*SWEEP)
    assert "Show all" not in page(few.run, few.figures, [])


def test_rows_are_opened_by_their_words_and_a_printer_has_all(
    tmp_path: Path, browser: Browser
) -> None:
    many = study_of(*[latency(n, n, 1000.0 * n, 5.0) for n in range(1, 31)])
    file = tmp_path / "page.html"
    file.write_text(page(many.run, many.figures, []), encoding="utf-8")
    shown = "getComputedStyle(document.querySelector('tbody.rest')).display"
    browser.show(1200)
    browser.open(file)
    assert browser.value(shown) == "none"
    browser.page.emulate_media(media="print")
    assert browser.value(shown) == "table-row-group"
    browser.page.emulate_media(media="screen")
    browser.page.get_by_label("Show all 30 rows").click()
    assert browser.value(shown) == "table-row-group"

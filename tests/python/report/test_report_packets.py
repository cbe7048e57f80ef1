"""The report's section on packets, and the groups of figures for the terminal."""

from __future__ import annotations

import copy
import io
from pathlib import Path

import pytest
from report_made import Made
from rich.console import Console

from netsonde.errors import UsageError
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.model.packets import tcp_frame, udp_frames
from netsonde.report.groups import GROUPS, parse_groups
from netsonde.report.lookup import Study
from netsonde.report.packet_table import (
    frame_in_words,
    packet_rows,
    packets_of_points,
    sizes_in_words,
)
from netsonde.report.page import page
from netsonde.report.terminal import print_summary


def test_a_frame_is_told_header_by_header() -> None:
    (one,) = udp_frames(1460)
    assert frame_in_words(one) == (
        "Ethernet 14, IP 20, UDP 8, payload 1460: 1502; with the check sequence 1506, "
        "with preamble and gap on the line 1526"
    )
    assert frame_in_words(tcp_frame(0)).startswith("Ethernet 14, IP 20, TCP 20, options 12: 66;")
    assert sizes_in_words(udp_frames(4096)) == "1514 + 1514 + 1178"
    assert sizes_in_words(udp_frames(65507)) == "44 of 1514 + 429"


def test_rows_of_a_point_are_those_that_have_a_value(made: Made) -> None:
    study = Study(made.run, made.figures)
    tables = {t.point: t for t in packets_of_points(study)}
    streams = made.run.select("tcp", "stream")
    assert next(iter(tables)) in {p.id for p in made.run.select(test="stream")}
    assert not [p for p in made.run.select("mpi") if p.id in tables]
    rows = {row.name: row for row in tables[streams[-1].id].rows}
    assert rows["Expected frame"].value.startswith("1\u202f514")
    assert "a full segment" in rows["Expected frame"].note
    assert all(row.value for table in tables.values() for row in table.rows)
    assert not any("interrupt" in name.lower() for name in rows)  # none names v0


def with_queues(made: Made, queues: int) -> Study:
    """The run with interrupts 1, 2, 3 and so on of the queues of every card."""
    run = copy.deepcopy(made.run)
    for point in run.points:
        for end in (end for batch in point.batches[:1] for end in batch.ends.values()):
            if end.before is not None and end.after is not None:
                for number in range(queues):
                    end.before.values[f"interrupt.v0-TxRx-{number}"] = 5
                    end.after.values[f"interrupt.v0-TxRx-{number}"] = 5 + number + 1
    return Study(run, made.figures)


def test_queues_stand_below_the_sum_of_their_interrupts(made: Made) -> None:
    study = with_queues(made, 4)
    point = study.run.select("tcp", "stream")[-1]
    host = point.batches[0].ends[0].host
    rows = {row.name: row for row in packet_rows(study, point)}
    assert (rows[f"Interrupts of v0, {host}"].value, rows[f"v0-TxRx-3, {host}"].value) == (
        "10",
        "4",
    )
    assert rows[f"Interrupts of v0, {host}"].note == "of 4 queues together"
    assert rows[f"v0-TxRx-3, {host}"].note == "40.0 %"
    alone = with_queues(made, 1)
    assert "TxRx" not in str(packet_rows(alone, alone.run.select("tcp", "stream")[-1]))


def test_a_large_card_has_some_queues_listed_and_the_rest_together(made: Made) -> None:
    study = with_queues(made, 70)
    rows = packet_rows(study, study.run.select("tcp", "stream")[-1])
    listed = [row for row in rows if row.name.startswith("v0-TxRx-")]
    assert len(listed) == 2 * 64
    rest = [row for row in rows if row.name.startswith("6 more queues")]
    assert [row.value for row in rest] == [str(sum(range(65, 71)))] * 2


def test_a_point_without_counters_has_no_rows(made: Made) -> None:
    point = made.run.select("udp", "stream")[0]
    bare = type(point)(point.id, "udp", "stream", point.parameters, batches=point.batches)
    study = Study(made.run, [])
    assert packet_rows(study, bare) == []  # nobody said which interface the path leaves by


def test_the_section_is_on_the_page_and_leads_to_its_methods(made: Made) -> None:
    text = page(made.run, made.figures, explain(made.run, made.figures))
    assert '<h2 id="packets">Packets</h2>' in text
    assert 'href="#method-packets-frames"' in text
    assert 'id="method-packets-frames"' in text


def test_groups_are_known_by_name_and_keep_their_order() -> None:
    assert parse_groups("jitter, loss") == ("jitter", "loss")
    assert parse_groups("loss,loss") == ("loss",)
    with pytest.raises(UsageError, match="'luck' is no group of figures; choose from rate, loss"):
        parse_groups("loss,luck")


def shown(made: Made, groups: tuple[str, ...], directory: Path) -> str:
    run = type(made.run)(
        directory, made.run.manifest, made.run.select("udp", "stream"), made.run.finished
    )
    out = io.StringIO()
    print_summary(run, figures_of(run), [], Console(file=out, width=80), groups)
    return out.getvalue()


def test_only_the_groups_that_were_asked_for_are_printed(made: Made, tmp_path: Path) -> None:
    text = shown(made, ("jitter", "loss"), tmp_path)
    assert text.index("jitter") < text.index("delay variation p99") < text.index("lost  ")
    assert "reordered" not in text
    assert "throughput" not in text
    assert max(len(line) for line in text.splitlines()) <= 80
    missing = shown(made, ("loss", "one-way"), tmp_path)
    assert "This run has no figures of the group one-way." in missing
    assert "no figures" not in text


def test_one_way_delays_are_printed_where_a_run_has_them(made: Made, tmp_path: Path) -> None:
    point = made.run.select("udp", "stream")[0]
    figure = next(f for f in made.figures if f.point == point.id and f.name == "jitter_ns")
    one_way = type(figure)(**{**_fields(figure), "name": "one_way_delay_median_ns"})
    run = type(made.run)(tmp_path, made.run.manifest, [point], True)
    out = io.StringIO()
    print_summary(run, [one_way], [], Console(file=out, width=80), ("one-way",))
    assert "one way delay median" in out.getvalue()
    assert "no figures" not in out.getvalue()


def _fields(figure: object) -> dict[str, object]:
    return {name: getattr(figure, name) for name in figure.__dataclass_fields__}  # type: ignore[attr-defined]


def test_every_group_says_what_it_holds() -> None:
    assert {"loss", "reorder", "jitter", "one-way"} <= GROUPS.keys()
    assert all(GROUPS.values())

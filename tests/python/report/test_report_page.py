"""The page as text: what it says, in what order, and what it must never contain."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_made import Made
from report_synthetic import (
    HOSTILE,
    Laboratory,
    hostile_run,
    synthetic_figures,
    synthetic_findings,
    synthetic_run,
)

from netsonde.catalogue.known_figures import METHODS
from netsonde.cli.method_pages import method_text
from netsonde.errors import UsageError
from netsonde.explain import Finding
from netsonde.explain.table import RULES
from netsonde.records.data import Point
from netsonde.report.lookup import Study
from netsonde.report.page import embedded_json, page, write_report
from netsonde.report.plots import all_plots

LARGEST_BYTES = 1_500_000


class Outline(HTMLParser):
    """Tags, headings and ids of a page, without what scripts and styles hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag if tag in ("script", "style") else None

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def ids(self) -> list[str]:
        return [a["id"] or "" for _, a in self.tags if "id" in a]


def test_sections_come_in_order_and_headings_skip_no_level(made: Made) -> None:
    outline = Outline(made.text)
    levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    places = [
        made.text.index(f'<h2 id="{name}"')
        for name in (
            "key",
            "verdicts",
            "latency",
            "throughput",
            "layers",
            "collectives",
            "order",
            "points",
            "counters",
            "circumstances",
        )
    ]
    assert places == sorted(places)
    assert {"header", "main", "nav", "footer"} <= {tag for tag, _ in outline.tags}


def test_ids_are_unique_and_links_lead_somewhere(made: Made) -> None:
    outline = Outline(made.text)
    ids = outline.ids()
    assert len(ids) == len(set(ids))
    targets = [a["href"] or "" for tag, a in outline.tags if tag == "a"]
    assert targets
    assert all(t.startswith("#") and t[1:] in ids for t in targets)


def test_methods_lead_to_the_page_itself_or_to_a_command(made: Made) -> None:
    held = replace(made.findings[0], level="bad", place="h1", docs="latency#quantiles")
    other = replace(held, claim="another", docs="explain#held-up")
    text = page(made.run, made.figures, [held, other])
    outline = Outline(text)
    assert "docs/methods" not in text
    assert 'More: <a href="#method-latency-quantiles">' in text
    assert "More: <code>netsonde man explain#held-up</code>" in text
    assert "method-latency-quantiles" in outline.ids()
    beneath_plots = [a["href"] for tag, a in outline.tags if tag == "a" and "href" in a]
    assert beneath_plots.count("#method-latency-quantiles") > 3
    assert {t[1:] for t in beneath_plots if t} <= set(outline.ids())


def test_every_place_that_a_page_names_is_shown_by_the_command() -> None:
    places = [*METHODS, *(f"explain#{rule.name}" for rule in RULES)]
    assert len(places) > 100
    for place in places:
        assert method_text(place.rstrip("#")).startswith("#"), place
    assert method_text("all-pairs#ranking").startswith("## Ranking of hosts")
    assert "## Groups of hosts" not in method_text("all-pairs#ranking")
    with pytest.raises(UsageError, match="there are latency"):
        method_text("latencey")
    with pytest.raises(UsageError, match="no part 'rankin'; there are ranking"):
        method_text("all-pairs#rankin")


def test_every_plot_has_words_and_a_table(made: Made) -> None:
    outline = Outline(made.text)
    plots = all_plots(Study(made.run, made.figures))
    assert len(plots) == 15
    places = [a for tag, a in outline.tags if a.get("class") == "plot"]
    assert len(places) == sum(len(plot.panels) for plot in plots)
    assert all(a["role"] == "img" and len(a["aria-label"] or "") > 30 for a in places)
    assert made.text.count("<summary>Numbers of") == len(plots)
    assert all(plot.table.rows for plot in plots)


def test_title_line_says_what_between_whom_over_what(made: Made) -> None:
    text = Outline(made.text).text
    assert "UDP, TCP and MPI between h1 and h2 over an emulated link of 1 Gbit/s" in text
    assert "namespaces of one machine" in text
    assert "2026-03-14 09:26 UTC" in text


@pytest.mark.parametrize(
    ("origin", "kind", "words"),
    [
        ("real", "network", "Real hosts and the real network"),
        ("real", "loopback", "no network was crossed"),
        ("simulated", "network", "No packet was sent"),
    ],
)
def test_origin_is_said_plainly(tmp_path: Path, origin: str, kind: str, words: str) -> None:
    run = synthetic_run(tmp_path, samples=300, origin=origin, with_mpi=False, odd=False)
    run.manifest["path"] = {"kind": kind, "rate_bit_per_s": None}
    assert words in Outline(page(run, synthetic_figures(run), [])).text


def test_verdicts_come_worst_first_with_evidence_and_advice(made: Made) -> None:
    text = Outline(made.text).text
    order = sorted(made.findings, key=lambda f: ("bad", "warning", "good", "note").index(f.level))
    places = [text.index(f.claim) for f in order]
    assert places == sorted(places)
    assert all(f.evidence in text and f.advice in text for f in made.findings)


def test_failed_partial_and_planned_points_are_named(made: Made) -> None:
    text = Outline(made.text).text
    assert "message of 131072 bytes is larger than a UDP datagram holds" in text
    assert "broken off" in text
    assert "not measured" in text
    assert "62 points, 2 without a result" in text


def test_differing_facts_are_marked_and_equal_ones_are_not(made: Made) -> None:
    rows = re.findall(r'<tr class="differs">.*?<code>(.*?)</code>', made.text)
    assert rows == ["sysctl.net.ipv4.tcp_congestion_control"]


def test_counters_show_differences_without_zeros(made: Made) -> None:
    text = Outline(made.text).text
    assert "interface.v0.tx_packets" in text
    assert "interface.v0.rx_dropped" not in text
    assert "memory.available_bytes" not in text


def test_small_enough_and_complete(made: Made) -> None:
    assert made.page.stat().st_size < LARGEST_BYTES
    outline = Outline(made.text)
    sources = [a for _, a in outline.tags for name in ("src", "srcset", "action") if name in a]
    assert sources == []
    links = [a["href"] for tag, a in outline.tags if tag == "link"]
    assert links == ["data:,"]


def test_of_many_points_the_first_are_shown_and_every_failed_one(
    tmp_path: Path, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netsonde.report.page.POINT_ROWS", 10)
    last = replace(made.findings[0], points=(made.run.points[-3].id,))
    path = write_report(made.run, made.figures, [last], tmp_path)
    outline = Outline(path.read_text(encoding="utf-8"))
    rows = [id_ for id_ in outline.ids() if id_.startswith("point-")]
    failed = {f"point-{p.id}" for p in made.run.points if p.status == "failed"}
    assert len(rows) == 10
    assert failed <= set(rows)
    assert f"10 of {len(made.run.points)} points: those without a result" in outline.text
    targets = [a["href"] or "" for tag, a in outline.tags if tag == "a"]
    assert "#points" in targets
    assert all(t[1:] in outline.ids() for t in targets)
    assert f"{len(made.run.points)} points, 2 without a result" in outline.text


@pytest.mark.parametrize(("most", "rows"), [(2, 10**6), (40, 1)])
def test_of_many_counters_those_of_the_first_points_are_shown(
    made: Made, monkeypatch: pytest.MonkeyPatch, most: int, rows: int
) -> None:
    monkeypatch.setattr("netsonde.report.page.DETAILED_POINTS", most)
    monkeypatch.setattr("netsonde.report.page.COUNTER_ROWS", rows)
    shown = most if rows > 1 else 1
    text = page(made.run, made.figures, [])
    assert text.count('aria-label="Table: Counters of') == shown < 10
    assert f"Of the first {shown} points. All of them:" in text
    assert "Of the first" not in made.text


def test_policy_allows_exactly_the_scripts_of_the_page(made: Made) -> None:
    policy = next(
        a["content"] or ""
        for tag, a in Outline(made.text).tags
        if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    )
    scripts = re.findall(r"<script>(.*?)</script>", made.text, flags=re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert len(scripts) == 1
    assert re.findall(r"'sha256-([^']+)'", policy) == digests
    assert policy.startswith("default-src 'none'")
    assert "connect-src" not in policy


def test_a_million_samples_do_not_bloat_the_page(tmp_path: Path) -> None:
    lab = Laboratory(3, 1000)
    point = lab.latency("tcp", 64, count=1_000_000)
    run = synthetic_run(tmp_path, samples=300, with_mpi=False, odd=False)
    run.points[:] = [point]
    samples = point.series("round_trip_ns")
    figures = synthetic_figures(run)
    embedded = _panels(page(run, figures, []))
    assert len(json.dumps(embedded)) < 300_000
    curves = embedded["plot-latency-distribution-2"]["curves"]
    tail = next(curve for curve in curves if curve["draw"] == "line")
    assert min(tail["x"]) == pytest.approx(samples.min(), rel=1e-5)
    assert max(tail["x"]) == pytest.approx(samples.max(), rel=1e-5)


def _panels(text: str) -> dict[str, Any]:
    found = re.search(
        r'<script type="application/json" id="panels">(.*?)</script>', text, flags=re.DOTALL
    )
    assert found is not None
    panels: dict[str, Any] = json.loads(found[1])
    return panels


def test_nothing_that_was_measured_becomes_code(tmp_path: Path) -> None:
    run = hostile_run(tmp_path)
    figures = [replace(f, method=HOSTILE) for f in synthetic_figures(run)]
    findings = [Finding("bad", HOSTILE, HOSTILE, HOSTILE, (HOSTILE, run.points[0].id))]
    text = page(run, figures, findings)
    assert HOSTILE not in text
    outline = Outline(text)
    assert sum(tag == "script" for tag, _ in outline.tags) == 2
    assert not any(tag in ("img", "iframe", "object") for tag, _ in outline.tags)
    assert not any(name.startswith("on") for _, a in outline.tags for name in a)


def test_embedded_values_cannot_end_their_element() -> None:
    value = {"a": "</script><!--<script>&\u2028"}
    text = embedded_json(value)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == value


@pytest.mark.parametrize("keep", ["nothing", "one", "no mpi", "only mpi", "failed", "one sample"])
def test_odd_runs_have_a_page(tmp_path: Path, keep: str) -> None:
    run = synthetic_run(tmp_path, samples=300, with_mpi=keep != "no mpi")
    lab = Laboratory(5, 300)
    if keep == "one sample":
        run.points[:] = [lab.latency("tcp", 64, count=1)]
    elif keep != "no mpi":
        wanted = {
            "nothing": [],
            "one": run.points[:1],
            "failed": run.points[-2:-1],
            "only mpi": [p for p in run.points if p.transport == "mpi"],
        }
        run.points[:] = wanted[keep]
    text = page(run, synthetic_figures(run), [])
    assert Outline(text).text
    if keep == "nothing":
        assert "Nothing was measured." in text


def test_no_loss_has_an_upper_bound(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path, samples=300, with_mpi=False, odd=False)
    point = Laboratory(5, 300).stream("udp", 1472, lost_ratio=0.0)
    run.points[:] = [point]
    assert point.counter("lost", 1) == 0
    text = Outline(page(run, synthetic_figures(run), [])).text
    assert re.search(r"0 % 0\.0+ – 0\.0\d+", text)


def test_empty_manifest_is_survived(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path, samples=300, with_mpi=False, odd=False)
    run.manifest |= {"path": {}, "hosts": {}, "started_utc": "", "versions": {}}
    assert "UDP and TCP between h1 and h2" in page(run, synthetic_figures(run), [])


def test_snapshots_may_be_missing(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path, samples=300, with_mpi=False, odd=False)
    for point in run.points:
        for batch in point.batches:
            for end in batch.ends.values():
                end.before = None
    assert "No throughput point has counters." in page(run, synthetic_figures(run), [])


def test_unanswered_everything(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path, samples=300, with_mpi=False, odd=False)
    point = Laboratory(5, 300).latency("udp", 64)
    for batch in point.batches:
        batch.ends[0].series["round_trip_ns"] = np.empty(0, dtype=np.int64)
    run.points[:] = [point]
    assert "not measured" in page(run, synthetic_figures(run), [])


def test_an_unfinished_run_says_so(tmp_path: Path, made: Made) -> None:
    run = replace(made.run, finished=False, directory=tmp_path)
    assert f"netsonde study resume {tmp_path}" in page(run, made.figures, made.findings)


def test_a_failed_check_is_a_sentence(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path, samples=300, with_mpi=False, odd=False)
    run.points[0].checks = {
        "samples": {"messages": 10, "samples": 9, "equal": False},
        "transport": {
            "verified": False,
            "interface": "lo",
            "interface_bytes": 5,
            "payload_bytes": 7,
        },
        "counters": {
            "compared": 1,
            "exact": False,
            "differences": [
                {
                    "batch": 3,
                    "rank": 0,
                    "direction": "rx",
                    "packets_expected": 5,
                    "packets_counted": 5,
                    "bytes_expected": 10,
                    "bytes_counted": 34,
                }
            ],
        },
    }
    text = Outline(page(run, synthetic_figures(run), [])).text
    assert "✗ 9 samples for 10 messages" in text
    assert "✗ lo counted 5 bytes for 7 of payload" in text
    assert "batch 3, rank 0 rx: +0 packets, +24 bytes against what was sent" in text


def test_an_unwritable_directory_is_one_sentence(tmp_path: Path, made: Made) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    with pytest.raises(UsageError, match=r"cannot write .*report\.html"):
        write_report(made.run, made.figures, synthetic_findings(), in_the_way)


def test_points_without_parameters_are_shown(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path, samples=300, with_mpi=False, odd=False)
    run.points.append(Point("p9", "tcp", "latency", {"message_bytes": 3}))
    assert 'id="point-p9"' in page(run, synthetic_figures(run), [])

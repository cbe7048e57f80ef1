"""Rounds of small tests: what they say, keep, give to Prometheus, and survive."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from netsonde.endpoint import Listen
from netsonde.errors import UsageError
from netsonde.launch.pairing import PairingCode
from netsonde.study.spec import parse_study
from netsonde.watch import told
from netsonde.watch.request import WatchRequest, between, check_budget, usual_study
from netsonde.watch.rounds import Watch, _beats, check_places

DASHBOARD = Path(__file__).parents[2] / "integrations" / "grafana" / "netsonde-watch.json"
SMALL = """
cap = "40ms"
[path]
kind = "loopback"
[[measure]]
transports = ["tcp", "udp"]
test = "latency"
sizes = "64"
[[measure]]
transports = "udp"
test = "stream"
sizes = "1000"
rate = "5M"
[[measure]]
transports = "tcp"
test = "stream"
sizes = "64k"
"""


def families(document):
    return {one.name: one for one in text_string_to_metric_families(document.decode())}


def value(document, name, **labels):
    for family in families(document).values():
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return sample.value
    return None


@pytest.fixture(scope="module")
def watched(tmp_path_factory, sonde_worker):  # noqa: ARG001
    """Two rounds over loopback, with all that is asked of them."""
    tmp_path = tmp_path_factory.mktemp("watched")
    said: list[str] = []
    request = WatchRequest(
        parse_study(SMALL, "small.toml"),
        10**9,
        tmp_path / "runs",
        rounds=2,
        history=tmp_path / "history.duckdb",
        metrics=tmp_path / "netsonde.prom",
        listen=Listen("127.0.0.1", 0),
        keep=1,
    )
    watch = Watch(request, ["netsonde", "watch"], said.append)
    watch.run()
    return watch, said, tmp_path


def test_two_rounds_of_this_host(watched):
    watch, said, folder = watched
    lines = [line for line in said if "TCP latency 64 B" in line]
    assert len(lines) == 2
    assert "UDP stream" in lines[0]
    assert len(list((folder / "runs").iterdir())) == 1  # --keep 1
    assert value(watch.document, "netsonde_watch_rounds_total") == 2
    assert value(watch.document, "netsonde_watch_failures_total") == 0
    assert value(watch.document, "netsonde_watch_whole") == 1
    assert time.time() - value(watch.document, "netsonde_watch_last_round_seconds") < 60
    assert (folder / "netsonde.prom").read_bytes() == watch.document
    host = {name: line for line in lines for name in re.findall(r"(\S+) to", line)}
    (name,) = host
    ends = {"from": name, "to": name}
    median = value(watch.document, "netsonde_round_trip_median_seconds", transport="tcp", **ends)
    assert 0 < median < 0.1
    from netsonde.history.trends import read_history

    assert len(read_history(folder / "history.duckdb").runs) == 2


def test_the_dashboard_asks_for_what_is_there(watched):
    watch, _, _ = watched
    samples = [sample for one in families(watch.document).values() for sample in one.samples]
    known = {sample.name for sample in samples}
    labels = {key for sample in samples for key in sample.labels}
    board = json.loads(DASHBOARD.read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    queries += [one["query"] for one in board["templating"]["list"] if one["type"] == "query"]
    legends = [target["legendFormat"] for panel in board["panels"] for target in panel["targets"]]
    assert set(re.findall(r"netsonde_\w+", " ".join(queries))) <= known
    assert set(re.findall(r"\{\{(\w+)\}\}", " ".join(legends))) - {"instance"} <= labels
    assert set(re.findall(r"(\w+)=~?\"", " ".join(queries))) <= labels


def test_a_round_that_reaches_nobody_is_no_end(tmp_path):
    said: list[str] = []
    code = PairingCode.make(b"nobody").text()
    spec = between(usual_study(), ["127.0.0.1:1"])
    request = WatchRequest(spec, 10**6, tmp_path, rounds=2, pair=code)
    watch = Watch(request, [], said.append)
    watch.run()
    assert [line for line in said if "nothing was measured: " in line] == said
    assert (watch.rounds, watch.failed) == (2, 2)
    assert value(watch.document, "netsonde_watch_failures_total") == 2
    assert value(watch.document, "netsonde_watch_whole") == 0


def test_the_document_is_given_while_it_runs(tmp_path):
    """From a round of its own on; asked in the middle of the last one."""
    code = PairingCode.make(b"nobody").text()
    answers: list[bytes] = []
    urls: list[str] = []

    def say(line):
        found = re.search(r"http://\S+", line)
        if found:
            urls.append(found[0])
        else:
            with urllib.request.urlopen(urls[0], timeout=10) as answer:
                answers.append(answer.read())

    request = WatchRequest(
        between(usual_study(), ["127.0.0.1:1"]),
        *(10**6, tmp_path),
        rounds=2,
        listen=Listen("127.0.0.1", 0),
        pair=code,
    )
    Watch(request, [], say).run()
    assert answers[0] == b"# EOF\n"
    assert value(answers[1], "netsonde_watch_rounds_total") == 1


def test_beats_do_not_drift_and_late_ones_are_left_out(monkeypatch):
    now = [0]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda s: now.__setitem__(0, now[0] + round(s * 1e9)))
    asked = WatchRequest(usual_study(), 10 * 10**9, Path("x"), rounds=5)
    begun = []
    for number in _beats(asked):
        begun.append(now[0] // 10**9)
        now[0] += (25 if number == 1 else 3) * 10**9
    assert begun == [0, 10, 40, 50, 60]
    now[0] = 0
    timed = WatchRequest(usual_study(), 10 * 10**9, Path("x"), time_ns=25 * 10**9)
    assert len(list(_beats(timed))) == 3


def test_hosts_of_a_study_or_of_the_command():
    assert between(usual_study(), ["n7"]).path.target == "n7"
    assert between(usual_study(), ["n1", "n2", "n3"]).path.between == [("n1", "n2"), ("n1", "n3")]
    with pytest.raises(UsageError, match="has hosts of its own"):
        between(between(usual_study(), ["n7"]), ["n8"])


def test_what_a_watch_may_take(tmp_path):
    request = WatchRequest(usual_study(), 600 * 10**9, tmp_path)
    check_budget(request, 10**13)
    assert request.in_words().startswith("every 10 min, at most ")
    with pytest.raises(UsageError, match=r"a round may take .* the next one begins after"):
        check_budget(WatchRequest(usual_study(), 2 * 10**9, tmp_path), None)
    with pytest.raises(UsageError, match="more than --daily-traffic 1"):
        check_budget(request, 10**9)
    with pytest.raises(UsageError, match="there is no folder"):
        check_places(WatchRequest(usual_study(), 10**9, tmp_path, metrics=tmp_path / "no" / "x"))


def test_a_level_that_changed_is_told_once(monkeypatch, tmp_path):
    found: dict[tuple[str, str], str] = {}
    monkeypatch.setattr(told, "_changes", lambda _: iter(found.items()))
    monkeypatch.setattr("netsonde.history.trends.read_history", lambda _: None)
    changes = told.Changes(tmp_path / "h")
    found["tcp latency 64", "run1"] = "old"
    assert list(changes.lines()) == []  # was there before the watch began
    found["tcp latency 64", "run7"] = "new"
    assert list(changes.lines()) == ["new"]
    assert list(changes.lines()) == []

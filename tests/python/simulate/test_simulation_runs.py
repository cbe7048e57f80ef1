"""Simulated run directories, read and shown as every other one; a fake sonde-sim writes records."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import HostError, UsageError
from netsonde.figures.compute import figures_of
from netsonde.figures.simulated import event_runs
from netsonde.launch.record_check import check_record
from netsonde.model.events import parse_events
from netsonde.records.journal import read_journal
from netsonde.records.rundir import open_run
from netsonde.report.lookup import Study
from netsonde.report.plot import Axis
from netsonde.report.simulation_plots import swept
from netsonde.simulate.process import Job, Simulators

pytestmark = pytest.mark.usefixtures("fake_sim")


def simulate(*words: str | Path) -> Any:
    return CliRunner().invoke(app, ["simulate", *map(str, words)])


def only_run(out: Path) -> Path:
    (directory,) = out.iterdir()
    return directory


def figures(directory: Path) -> dict[tuple[str, str], float]:
    return {(f.point, f.name): f.value for f in figures_of(open_run(directory))}


def test_a_run_has_its_records_and_figures(small: Path, tmp_path: Path) -> None:
    result = simulate(small, "--out", tmp_path / "runs", "--sweep", "window=24,48")
    assert result.exit_code == 0, result.output
    directory = only_run(tmp_path / "runs")
    run = open_run(directory)
    assert run.finished
    assert run.origin == "simulated"
    assert run.manifest["seed"] == 5
    assert [p.status for p in run.points] == ["finished", "finished"]
    assert run.points[0].opened[0]["window_packets"] == 24
    found = figures(directory)
    # 3 senders of 100 packets of 123.04 us, and the fake's seed in ns.
    assert found["p001", "completion_median_ns"] == 300 * 123_040 + 5
    assert found["p002", "completion_median_ns"] == 2 * 300 * 123_040 + 5
    assert found["p001", "line_use_ratio"] == pytest.approx(1.0, abs=1e-6)
    assert found["p002", "line_use_ratio"] == pytest.approx(0.5, abs=1e-6)
    rate = 8 * 1492 / 123.04e-6
    assert found["p001", "throughput_bit_per_s"] == pytest.approx(rate, rel=1e-6)
    assert found["p001", "lost_overflow_ratio"] == 0.1
    assert found["p001", "retransmitted_ratio"] == pytest.approx(30 / 330)
    assert found["p001", "time_outs"] == 3
    for line in (directory / "journal.jsonl").read_text().splitlines():
        for record in json.loads(line).get("records", ()):
            check_record(record)
    for file in ("report.html", "scenario.toml", "tables/figures.parquet"):
        assert (directory / file).stat().st_size


def test_report_explain_and_exports_work(small: Path, tmp_path: Path) -> None:
    simulate(small, "--out", tmp_path / "runs", "--sweep", "window=8..24:8")
    directory = only_run(tmp_path / "runs")
    for words in (
        ["report", str(directory)],
        ["report", str(directory), "--format", "csv"],
        ["report", str(directory), "--format", "json"],
        ["report", str(directory), "--format", "svg"],
        ["explain", str(directory)],
    ):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, (words, result.output, result.exception)
    page = (directory / "report.html").read_text()
    assert "No packet was sent: these are the results of a model." in page
    assert "Simulated sweeps" in page
    csv = (directory / "csv" / "simulated_swept.csv").read_text().splitlines()
    assert csv[0] == "key,beside,value,line_use_ratio,low,high"
    assert len(csv) == 4
    lost = (directory / "csv" / "simulated_lost.csv").read_text().splitlines()
    shares = {(c[0], float(c[3])): float(c[4]) for c in (line.split(",") for line in lost[1:])}
    retransmitted = pytest.approx(30 / 330)  # The fake's own, at each window.
    assert shares == {
        (name, window): share
        for name, share in (("lost_overflow_ratio", 0.1), ("retransmitted_ratio", retransmitted))
        for window in (8.0, 16.0, 24.0)
    }


def test_a_key_that_is_only_set_is_no_axis(small: Path, tmp_path: Path) -> None:
    words = ("--sweep", "packets=300", "--sweep", "window=8..24:8")
    simulate(small, "--out", tmp_path / "runs", *words)
    run = open_run(only_run(tmp_path / "runs"))
    plot = swept(Study(run, figures_of(run)))
    (panel,) = plot.panels
    assert panel.x == Axis("window", "count")
    assert panel.curves[0].x == [8.0, 16.0, 24.0]


def test_nothing_is_drawn_of_losses_where_nothing_was_swept(small: Path, tmp_path: Path) -> None:
    simulate(small, "--out", tmp_path / "runs")
    assert (
        "Drops and retransmissions over"
        not in (only_run(tmp_path / "runs") / "report.html").read_text()
    )


def test_the_same_seed_gives_the_same_journal(small: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        simulate(small, "--out", tmp_path / name, "--seed", str(seed))
    journals = []
    for name in ("a", "b", "c"):
        entries = [dict(e) for e in read_journal(only_run(tmp_path / name))]
        journals.append([{k: v for k, v in e.items() if k != "time_utc"} for e in entries])
    assert journals[0] == journals[1] != journals[2]


def test_runs_of_several_seeds_are_batches(small: Path, tmp_path: Path) -> None:
    small.write_text(small.read_text() + "[simulation]\nruns = 9\n")
    simulate(small, "--out", tmp_path / "runs")
    (point,) = open_run(only_run(tmp_path / "runs")).points
    assert len(point.batches) == 9
    found = figures_of(open_run(only_run(tmp_path / "runs")))
    median = next(f for f in found if f.name == "completion_median_ns")
    assert median.value == 300 * 123_040 + 9  # seeds 5 to 13
    assert median.low is not None
    assert median.low <= median.value <= (median.high or 0)


def test_json_is_one_document_and_quiet_is_quiet(small: Path, tmp_path: Path) -> None:
    result = simulate(small, "--out", tmp_path / "runs", "--json")
    document = json.loads(result.stdout)
    assert document["origin"] == "simulated"
    assert document["points"][0]["transport"] == "go-back-n"
    assert simulate(small, "--out", tmp_path / "quiet", "--quiet").stdout == ""


def test_the_summary_fits_80_columns(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = simulate(small, "--out", tmp_path / "runs", "--sweep", "window=12,24,48")
    table = [line for line in result.stdout.splitlines() if not line.startswith("Report:")]
    assert max(map(len, table)) <= 80
    assert "window 48" in result.stdout
    assert "simulated" in result.stdout


def test_chances_from_events(small: Path, tmp_path: Path) -> None:
    small.write_text(small.read_text() + "[simulation.output]\nevents = true\n")
    simulate(small, "--out", tmp_path / "runs")
    directory = only_run(tmp_path / "runs")
    batch = open_run(directory).points[0].batches[0]
    assert list(event_runs(batch.ends[1])) == [parse_events("P^9 N P^9 N TO P^9")]
    found = figures(directory)
    assert found["p001", "loss_chance_ratio"] == pytest.approx(2 / 27)
    assert found["p001", "severity_ratio"] == pytest.approx(1 / 2)
    assert found["p001", "last_time_out_ratio"] == 1.0


STUDY = """
name = "published"
[[simulate]]
scenario = "small.toml"
figure = "line_use_ratio"
formula = "three-states"
source = "a table"
reason = "the fake loses as it likes"
set = { "simulation.output.events" = true }
columns = ["senders", "window", "published", "predicted"]
rows = [[3, 24, 0.8, 0.75], [2, 48, 0.5, ""]]
[[simulate]]
scenario = "small.toml"
sweep = ["window=8,16"]
"""


def test_a_study_prints_published_formula_and_simulated(small: Path, tmp_path: Path) -> None:
    path = small.parent / "study.toml"
    path.write_text(STUDY)
    result = CliRunner().invoke(app, ["study", "plan", str(path)])
    assert result.output.splitlines()[-1] == "4 points to simulate"
    result = CliRunner().invoke(app, ["study", "run", str(path), "--out", str(tmp_path / "runs")])
    assert result.exit_code == 0, result.output
    assert "+25.0%" in result.output
    directory = only_run(tmp_path / "runs")
    found = figures(directory)
    # Eq. (4.10) with c = 2/27, 1-a = 1/2, f = 1: P / ((3c/2 + (1-c)/W) B_L + (1-a) c TObar).
    c = 2 / 27
    formula = 3 / ((1.5 * c + (1 - c) / 24) * 95 + 0.5 * c * 400)
    assert found["p001", "formula_line_use_ratio"] == pytest.approx(formula)
    CliRunner().invoke(app, ["report", str(directory), "--format", "csv"])
    rows = (directory / "csv" / "simulated_published.csv").read_text().splitlines()
    assert rows[0].startswith("point,label,figure,published,published_prediction,formula,simulated")
    assert rows[1].startswith('p001,"small: senders 3, window 24",line_use_ratio,0.8,0.75,')
    assert rows[1].endswith("a table,the fake loses as it likes")
    assert "deviates by" in (directory / "report.html").read_text()


def test_a_simulated_run_is_not_resumed(small: Path, tmp_path: Path) -> None:
    simulate(small, "--out", tmp_path / "runs")
    result = CliRunner().invoke(app, ["study", "resume", str(only_run(tmp_path / "runs"))])
    assert isinstance(result.exception, UsageError)
    assert "was simulated" in str(result.exception)


@pytest.mark.parametrize(
    ("mode", "kind", "words"),
    [
        ("refuse", UsageError, "13 packets are unlucky"),
        ("crash", HostError, "sonde-sim was killed by signal 11"),
        ("garbage", HostError, "sonde-sim wrote a line that is not JSON"),
        ("idle", HostError, "came to a standstill"),
    ],
)
def test_what_goes_wrong_is_a_sentence(
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    kind: type[Exception],
    words: str,
) -> None:
    monkeypatch.setenv("FAKE_SIM", mode)
    result = simulate(small, "--out", tmp_path / "runs")
    assert type(result.exception) is kind
    assert words in str(result.exception)
    if kind is HostError:
        assert open_run(only_run(tmp_path / "runs")).points[0].status == "failed"
    else:  # nothing was simulated, and nothing is left
        assert list((tmp_path / "runs").iterdir()) == []


def test_one_point_that_fails_leaves_the_others(small: Path, tmp_path: Path) -> None:
    result = simulate(small, "--out", tmp_path / "runs", "--sweep", "packets=12..14")
    assert isinstance(result.exception, UsageError)
    points = open_run(only_run(tmp_path / "runs")).points
    assert [p.status for p in points] == ["finished", "failed", "finished"]


def test_a_missing_simulator_is_a_sentence(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETSONDE_WORKERS", str(tmp_path))
    result = simulate(small, "--out", tmp_path / "runs")
    assert isinstance(result.exception, HostError)
    assert "there is no executable sonde-sim in it" in str(result.exception)
    assert not (tmp_path / "runs").exists()


def test_a_run_is_bounded_in_time(fake_sim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SIM", "hang")
    plan = {"workload": {}, "seed": 1}
    with Simulators(fake_sim / "sonde-sim", 2) as simulators:
        (result,) = simulators.results([Job(0, plan, 0.3)])
    assert isinstance(result.error, UsageError)
    assert "took more than 0 s; give it more in simulation.limits.elapsed" in str(result.error)


def test_an_interrupt_kills_every_simulator(small: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    environment = {
        **os.environ,
        "FAKE_SIM": "hang",
        "FAKE_SIM_OPTIONS": "pid_file",
        "FAKE_SIM_PIDS": str(pids),
    }
    command = [sys.executable, "-m", "netsonde", "simulate", str(small)]
    command += ["--out", str(tmp_path / "runs"), "--sweep", "window=1..8"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not pids.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 4
    assert "interrupted" in said
    started = [int(pid) for pid in pids.read_text().split()]
    assert 1 <= len(started) <= len(os.sched_getaffinity(0))
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_presets_are_listed() -> None:
    result = simulate("--presets")
    assert "gather-416" in result.stdout
    assert "piii-450" in result.stdout
    assert json.loads(simulate("--presets", "--json").stdout)["scenarios"]["exchange-8x2"]
    assert isinstance(simulate().exception, UsageError)


def test_input_can_be_shown(small: Path) -> None:
    result = simulate(small, "--show-input")
    assert json.loads(result.stdout)["workload"]["kind"] == "many_to_one"

"""From files of other tools to a run that reports, or to nothing at all."""

import hashlib
import io
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import HostError, UsageError
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.peers import importing
from netsonde.peers.importing import import_files
from netsonde.records.journal import Journal
from netsonde.records.rundir import open_run
from netsonde.report.files import export
from netsonde.report.page import write_report
from netsonde.report.terminal import print_summary

OUTPUTS = Path(__file__).parent / "outputs"
EVERY = sorted(OUTPUTS.iterdir())


def imported(tmp_path: Path, *names: str) -> Path:
    return import_files([OUTPUTS / name for name in names], tmp_path, ["netsonde", "import"])


def test_a_run_says_where_it_comes_from_and_keeps_the_file(tmp_path: Path) -> None:
    source = OUTPUTS / "iperf3-tcp.json"
    directory = import_files(
        [source], tmp_path, ["netsonde", "import"], tool_command="iperf3 -c h2 -J"
    )
    run = open_run(directory)
    assert run.origin == "imported"
    assert run.finished
    (file,) = run.manifest["imported"]
    assert (file["tool"], file["version"]) == ("iperf3", "3.12")
    assert file["command"] == "iperf3 -c h2 -J"
    assert file["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert (directory / file["kept"]).read_bytes() == source.read_bytes()
    (point,) = run.points
    assert (point.status, point.ended_by) == ("finished", "imported")
    assert point.imported is not None
    assert point.imported.series["interval_retransmits"] == [2, 0]


def test_figures_come_back_with_their_method_and_no_interval(tmp_path: Path) -> None:
    found = figures_of(open_run(imported(tmp_path, "iperf3-tcp.json")))
    throughput = next(f for f in found if f.name == "throughput_bit_per_s")
    assert throughput.value == pytest.approx(4155951536.92)
    assert throughput.method == "other-tools#iperf3"
    assert throughput.low is None


def test_a_log_has_netsondes_own_figures_from_its_samples(tmp_path: Path) -> None:
    run = open_run(imported(tmp_path, "sockperf-log.csv"))
    found = {f.name: f for f in figures_of(run)}
    assert len(run.points[0].series("round_trip_ns")) == 217
    median = found["round_trip_median_ns"]
    assert median.method == "latency#quantiles"
    assert median.low is not None
    # sockperf's is of halves, rounded to ns, without netsonde's warm-up cut.
    assert found["sockperf_latency_median_ns"].value == 45126
    assert found["unanswered_ratio"].value == 0


@pytest.mark.parametrize("path", EVERY, ids=lambda p: p.name)
def test_every_kind_reports_in_every_format(path: Path, tmp_path: Path) -> None:
    run = open_run(import_files([path], tmp_path, ["netsonde", "import"]))
    figures = figures_of(run)
    findings = explain(run, figures)
    assert any("not netsonde's" in finding.claim for finding in findings)
    page = write_report(run, figures, findings, run.directory).read_text()
    assert "as another tool measured it" in page
    assert "in a random one" not in page
    assert run.manifest["imported"][0]["sha256"] in page
    for format in ("csv", "json", "svg"):
        assert export(run, figures, findings, format, run.directory) or format == "svg"
    console = Console(width=80, record=True, file=io.StringIO())
    print_summary(run, figures, findings, console)
    tool = run.manifest["imported"][0]["tool"]
    assert tool in console.export_text()


def test_several_files_are_one_run_with_names(tmp_path: Path) -> None:
    run = open_run(imported(tmp_path, *(path.name for path in EVERY)))
    assert len(run.manifest["imported"]) == len(EVERY)
    assert len({p.id for p in run.points}) == len(run.points)
    labels = {p.label for p in run.points}
    assert {"iperf3 iperf3-tcp", "iperf3 iperf3-reverse-two-streams reverse"} <= labels
    write_report(run, figures_of(run), [], run.directory)


def test_one_bad_file_and_nothing_is_made(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text((OUTPUTS / "iperf3-tcp.json").read_text()[:500])
    out = tmp_path / "runs"
    with pytest.raises(UsageError, match=r"bad\.json: iperf3 wrote no JSON from line"):
        import_files([OUTPUTS / "iperf3-udp.json", bad], out, ["netsonde", "import"])
    assert not out.exists()


def test_a_failure_while_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise HostError("the disk is full")

    monkeypatch.setattr(Journal, "append", full)
    with pytest.raises(HostError, match="the disk is full"):
        imported(tmp_path, "iperf3-tcp.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\xff\xfe{", "line 1 holds bytes that are no UTF-8"),
        (b"abc\ndef\n\xff", "line 3 holds bytes"),
        (b"sockperf: \0", "zero bytes"),
        (b"", "none of iperf3"),
    ],
)
def test_files_that_are_no_text(content: bytes, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=sentence):
        import_files([path], tmp_path / "runs", [])
    assert not (tmp_path / "runs").exists()


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "FILE_LIMIT_BYTES", 2 << 20)
    large = tmp_path / "large"
    large.write_bytes(b"x" * ((2 << 20) + 1))
    with pytest.raises(UsageError, match="more than 2 MiB"):
        import_files([large], tmp_path / "runs", [])
    with pytest.raises(UsageError, match="200 at once"):
        import_files([large] * 201, tmp_path / "runs", [])
    with pytest.raises(UsageError, match="cannot read"):
        import_files([tmp_path / "none"], tmp_path / "runs", [])


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(UsageError, match=r"is not a file|Is a directory"):
            import_files([path], tmp_path / "runs", [])


def test_a_file_with_a_wild_name_is_kept_under_a_tame_one(tmp_path: Path) -> None:
    wild = tmp_path / "..$(x) <b>.json"
    shutil.copy(OUTPUTS / "iperf3-tcp.json", wild)
    run = open_run(import_files([wild], tmp_path / "runs", []))
    kept = run.manifest["imported"][0]["kept"]
    assert re.fullmatch(r"imported/001-[A-Za-z0-9_-][A-Za-z0-9._-]*\.json", kept)
    page = write_report(run, figures_of(run), [], run.directory).read_text()
    assert "<b>.json" not in page


def test_a_damaged_entry_is_a_sentence(tmp_path: Path) -> None:
    directory = imported(tmp_path, "iperf3-tcp.json")
    journal = directory / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"figures":[{', '"figures":[7,{'))
    with pytest.raises(UsageError, match="imported point of the journal is damaged"):
        open_run(directory)


def test_a_figure_that_no_row_knows_is_a_sentence(tmp_path: Path) -> None:
    directory = imported(tmp_path, "iperf3-tcp.json")
    journal = directory / "journal.jsonl"
    journal.write_text(journal.read_text().replace("iperf3_cpu_client_ratio", "of_tomorrow_ratio"))
    with pytest.raises(UsageError, match="no row of the catalogue knows the figure 'of_tomorrow_r"):
        open_run(directory)


def test_the_command(tmp_path: Path) -> None:
    runner = CliRunner()
    words = ["import", str(OUTPUTS / "iperf3-udp.json"), "--out", str(tmp_path), "--json"]
    result = runner.invoke(app, words)
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["origin"] == "imported"
    assert {f["name"] for f in document["figures"]} >= {"throughput_bit_per_s", "iperf3_lost_ratio"}
    for bad in (["--tool", "nuttcp"], ["--transport", "carrier-pigeon"]):
        refused = runner.invoke(app, [*words, *bad])
        assert isinstance(refused.exception, UsageError)
        assert bad[0] in str(refused.exception)


def test_there_is_nothing_to_resume(tmp_path: Path) -> None:
    directory = imported(tmp_path, "netpipe-3.out")
    result = CliRunner().invoke(app, ["study", "resume", str(directory)])
    assert isinstance(result.exception, UsageError)
    assert "imported from files" in str(result.exception)

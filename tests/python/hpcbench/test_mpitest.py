"""Hpcbench's mpitest: its letters, what they ask of the engine, its rows and files."""

import shutil
import subprocess
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from hpcbench_made import batch, end
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.hpcbench import client
from netsonde.hpcbench.client import run_client
from netsonde.hpcbench.options import Given, settings_of
from netsonde.hpcbench.plot import plot_text
from netsonde.hpcbench.ranks import RankEnds, read_machine_file
from netsonde.hpcbench.requests import outstanding, run_fields
from netsonde.hpcbench.result_file import Setting, asked_lines, describe, heading, row
from netsonde.hpcbench.results import Repetition, columns_of, screen_line


def mpi(**given):
    return settings_of("mpi", Given("local", **given))


def test_copies_started_by_a_launcher_are_refused(monkeypatch):
    monkeypatch.setenv("PMI_SIZE", "2")
    with pytest.raises(UsageError, match="started 2 times, by mpiexec"):
        run_client(mpi(), "mpitest", print, print)


@pytest.mark.parametrize(("hosts", "warned"), [(("a", "a"), True), (("a", "b"), False)])
@pytest.mark.parametrize("named", ["local", "lab:a"])
def test_two_ranks_of_one_host_are_no_network(monkeypatch, hosts, named, warned):
    said: list[str] = []
    ends = SimpleNamespace(host_names=hosts)
    monkeypatch.setattr(client, "open_session", lambda _: nullcontext(ends))
    monkeypatch.setattr(client, "_Client", lambda *_: SimpleNamespace(run=lambda _: None))
    run_client(settings_of("mpi", Given(named)), "mpitest", said.append, said.append)
    assert any("inside of one host" in words for words in said) is warned


def test_the_usual_test():
    settings = mpi()
    assert (settings.mode, settings.sizes, settings.call_bytes) == ("stream", (65536,), None)
    assert (settings.repetitions, settings.test_s, settings.program) == (10, 5.0, "mpitest")
    assert run_fields(settings, 65536) == {
        "test": "stream",
        "message_bytes": 65536,
        "clock": "wtime",
        "record_messages": False,
        "system_counters": False,
    }


def test_the_timer_is_mpis_own_and_its_tick_is_logged():
    for given in ({}, {"round_trip": True}, {"both_ways": True}, {"ready": True}):
        assert run_fields(mpi(**given), 64)["clock"] == "wtime"
    assert "clock" not in run_fields(settings_of("tcp", Given("local")), 64)
    facts = {"mpi.library": "M 1", "mpi.wtick_ns": 40.0}
    session = SimpleNamespace(host_of=lambda _: "h", facts=lambda: {"h": facts})
    opened = RankEnds(session).opened  # type: ignore[arg-type]
    setting = Setting("then", "mpitest", ("h", "h"), opened)
    text = heading(mpi(), setting, columns_of(mpi()))
    assert "# client has: MPI M 1, timer MPI_Wtime, MPI_Wtick 40.00 ns" in text


def test_modes():
    assert mpi(round_trip=True).sizes == (64,)
    assert mpi(round_trip_size="1k").mode == "round_trip"
    assert mpi(both_ways=True).mode == "ping_pong"
    assert mpi(both_ways=True, ready=True).mode == "both_ways"
    assert run_fields(mpi(both_ways=True, ready=True), 8)["test"] == "duplex"
    assert "outstanding" not in run_fields(mpi(both_ways=True, ready=True), 8)
    assert mpi(exponential=27).sizes[-1] == 1 << 27


def test_a_stream_that_does_not_block_has_messages_on_their_way():
    assert run_fields(mpi(ready=True), 65536)["outstanding"] == 16
    assert [outstanding(size) for size in (1, 1 << 22, 1 << 23, 1 << 27)] == [16, 16, 8, 2]
    assert "messages on their way at once 16" in asked_lines(mpi(ready=True))[1]
    assert "at once 2 to 16" in asked_lines(mpi(ready=True, exponential=27))[1]
    assert "at once" not in asked_lines(mpi())[1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"log_system": True}, "-c needs -o"),
        ({"plot": True}, "-P needs -o"),
        ({"exponential": 5, "message": "1k"}, "-e and -m"),
        ({"message": "2048m"}, "-m"),
        ({"time": "0"}, "-t"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(given, words):
    with pytest.raises(UsageError) as refusal:
        mpi(**given)
    assert words in str(refusal.value)


def test_what_has_no_effect_is_said():
    assert "-r has no effect" in mpi(exponential=5, repetitions=3).notices[0]


def repetition():
    """Hpcbench's table 4-4: 2873 messages of 64 KiB at 314.27 Mbps."""
    moved = 2873 * 65536
    lasted = round(moved * 8e9 / 314.27e6)
    return Repetition(
        1,
        65536,
        batch(
            end(
                0,
                start_ns=0,
                end_ns=lasted + 1000,
                notice_held_ns=1000,
                messages_sent=2873,
                bytes_sent=moved,
            ),
            end(1, start_ns=0, end_ns=lasted, bytes_received=moved),
        ),
    )


def test_a_row_and_a_line_of_a_stream():
    settings = mpi()
    columns = columns_of(settings)
    names = [name for name, _, _ in columns]
    values = dict(zip(names, row(columns, repetition()).split(), strict=True))
    assert values["Iterations"] == "2873"
    assert values["Bytes"] == "188284928"
    assert float(values["C_Mbps"]) == pytest.approx(314.27, abs=0.001)
    assert float(values["S_Mbps"]) == pytest.approx(314.27, abs=0.001)
    assert (
        screen_line(settings, repetition()) == f" (1) : {values['C_Mbps']} Mbps of payload (client)"
    )


def test_the_result_file_says_which_rank_is_which():
    opened = {0: {"mpi_library": "MPICH 5"}, 1: {"mpi_library": "MPICH 5"}}
    settings = mpi(ready=True)
    text = heading(
        settings,
        Setting("2026", "netsonde hpcbench mpitest -n", ("h1", "h2"), opened),
        columns_of(settings),
    )
    assert "rank 0 is the client, rank 1 the server" in text
    assert "server has: MPI MPICH 5" in text
    assert describe(settings).endswith("messages of 65536 bytes, non-blocking")


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")
def test_gnuplot_draws_it(tmp_path):
    settings = mpi(exponential=1, output="out", plot=True)
    columns = columns_of(settings)
    rows = "".join(row(columns, Repetition(i + 1, 1 << i, repetition().batch)) for i in range(2))
    setting = Setting("2026", "x", ("a", "b"), {})
    (tmp_path / "out").write_text(heading(settings, setting, columns) + rows)
    (tmp_path / "out.plot").write_text(plot_text(settings, columns, "out"))
    done = subprocess.run(
        ["gnuplot", "out.plot"], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "MPI stream" in (tmp_path / "out.svg").read_text()


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("node1\nnode2\nnode3\n", "node1,node2"),
        ("# a pool\n\nnode1 # first\n  node2:4\n", "node1,node2"),
        ("node1:2\nnode2\n", "node1"),
        ("node1 slots=2\n", "node1"),
        ("node1\n", "node1"),
    ],
)
def test_a_machine_file_names_the_first_two(tmp_path, text, hosts):
    (tmp_path / "m").write_text(text)
    assert read_machine_file(tmp_path / "m") == hosts


def test_machine_files_that_will_not_do(tmp_path):
    (tmp_path / "none").write_text("# nobody\n")
    (tmp_path / "odd").write_text("node1:many\n")
    for name, words in (("none", "names no host"), ("odd", "node1:many"), ("no", "cannot read")):
        with pytest.raises(UsageError, match=words):
            read_machine_file(tmp_path / name)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--hosts", "a,b", "--machinefile", "m"], "--hosts and --machinefile"),
        (["--hosts", "lab:a,b,c"], "lab"),
        (["-m", "x"], "-m 'x'"),
    ],
)
def test_bad_usage(words, said):
    result = CliRunner().invoke(app, ["hpcbench", "mpitest", *words])
    assert said in str(result.exception)

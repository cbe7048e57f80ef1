"""Studies inside Slurm's own allocations, on a cluster of Debian's daemons in a lab."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from slurm_cluster import PROBLEM, SlurmCluster, slurm_cluster, wait_for

from mpi_needed import require_mpi
from netsonde.lab import LabSpec, lab_up
from netsonde.launch.binaries import find_worker
from netsonde.records.data import Run
from netsonde.records.rundir import open_run
from pvm_needed import DAEMON

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(240),
    pytest.mark.skipif(PROBLEM is not None, reason=str(PROBLEM)),
]
ROOT = Path(__file__).parents[2]
NETSONDE = (sys.executable, "-m", "netsonde")
SOCKETS = """
relative_precision = 0.9
cap = "50ms"
[[measure]]
transports = ["tcp", "udp"]
test = "latency"
sizes = "64"
"""
PVM = """
[[measure]]
transports = "pvm"
test = "latency"
sizes = "64"
options = { route = "direct" }
"""
MPI = """
relative_precision = 0.9
cap = "50ms"
[mpi]
mpi = ["{name}"]
[[measure]]
transports = "mpi"
test = "latency"
sizes = "64"
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """Three nodes, h1 to h3; commands run on h1, the job's first node as well."""
    with (
        lab_up(LabSpec(hosts=3, name="slurm-launch")) as lab,
        slurm_cluster(lab, tmp_path_factory.mktemp("slurm")) as cluster,
    ):
        yield cluster


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment in which a node has no sonde-worker, and temporary files are ours."""
    (tmp_path / "tmp").mkdir()
    workers = str(find_worker("sonde-worker").parent)
    return {
        "PATH": "/usr/bin:/bin",
        "NETSONDE_WORKERS": workers,
        "TMPDIR": str(tmp_path / "tmp"),
        "XDG_CACHE_HOME": str(ROOT / "build" / "cache"),
    }


def study(folder: Path, text: str) -> str:
    path = folder / "nodes.toml"
    path.write_text(text)
    return str(path)


def run_of(runs: Path) -> Run:
    (directory,) = (d for d in runs.iterdir() if d.is_dir())
    return open_run(directory)


def check(run: Run, transports: list[str], ends: list[str]) -> None:
    assert run.manifest["origin"] == "real"
    assert [point.transport for point in run.points] == transports
    for point in run.points:
        assert point.status == "finished", point.error
        assert point.checks["transport"]["verified"]
        assert point.checks["transport"]["interface"] == "v0"
        assert [end.host for _, end in sorted(point.batches[0].ends.items())] == ends


def left_of(slurm: SlurmCluster) -> list[str]:
    """Processes in the lab that are none of the cluster's own."""
    shown = subprocess.run(
        slurm.lab.hosts[0].command(["ps", "-eo", "args"]),
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    ).stdout
    words = (
        "sonde-",
        "/proc/",
        "srun",
        "slurmstepd",
        "netsonde study",
        "HOLDER",
        "uname -s",
        "pvmd",
    )
    return [line for line in shown.splitlines() if any(word in line for word in words)]


@pytest.mark.parametrize("how", ["wrap", pytest.param("sample", marks=pytest.mark.soak)])
def test_a_job_of_sbatch_measures_between_its_nodes(
    slurm: SlurmCluster, bare: dict[str, str], tmp_path: Path, how: str
) -> None:
    """From an environment in which the nodes have no worker; and the documentation's sample."""
    has_pvm = DAEMON.exists() and (Path(bare["NETSONDE_WORKERS"]) / "sonde-pvm").exists()
    file = study(tmp_path, SOCKETS + (PVM if has_pvm else ""))
    runs, log = tmp_path / "runs", tmp_path / "job.log"
    if how == "wrap":
        words = ["--wrap", f"{' '.join(NETSONDE)} study run {file} --out {runs}; echo status $?"]
    else:
        tools = tmp_path / "tools"
        tools.mkdir()
        (tools / "netsonde").write_text(f'#!/bin/sh\n{" ".join(NETSONDE)} "$@"; echo status $?\n')
        (tools / "netsonde").chmod(0o755)
        bare |= {"PATH": f"{tools}:{bare['PATH']}", "NETSONDE_RUNS": str(runs)}
        words = [str(ROOT / "docs" / "examples" / "slurm.sh"), file]
    done = slurm.run("sbatch", "-N2", "-wh2,h3", f"--output={log}", *words, env=bare)
    assert done.returncode == 0, done.stderr
    slurm.wait_for_idle()
    assert log.read_text().splitlines()[-1] == "status 0", log.read_text()
    run = run_of(runs)
    check(run, ["tcp", "udp", "pvm"] if has_pvm else ["tcp", "udp"], ["h2", "h3"])
    assert run.manifest["path"]["launcher"] == "slurm"
    assert list((tmp_path / "tmp").iterdir()) == []
    assert left_of(slurm) == []


def test_chosen_nodes_of_an_allocation_by_name_and_by_launcher(
    slurm: SlurmCluster, bare: dict[str, str], tmp_path: Path
) -> None:
    """With settings of srun in the environment that would spoil what the worker says."""
    spoilt = {**bare, "SLURM_LABELIO": "1", "SLURM_NTASKS": "3", "SLURM_STDOUTMODE": "none"}
    runs = tmp_path / "runs"
    file = study(tmp_path, SOCKETS)
    words = ["study", "run", file, "--hosts", "h[1-3]!h2", "--launcher", "slurm"]
    done = slurm.run("salloc", "-N3", *NETSONDE, *words, "--out", str(runs), env=spoilt)
    assert done.returncode == 0, done.stderr
    check(run_of(runs), ["tcp", "udp"], ["h1", "h3"])
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    "name",
    [
        "mpich",
        "openmpi-debian",
        pytest.param("mpich-debian", marks=pytest.mark.soak),
        pytest.param(str(ROOT / ".venv" / "mpis" / "openmpi"), marks=pytest.mark.soak),
    ],
)
def test_mpi_inside_an_allocation(
    slurm: SlurmCluster, bare: dict[str, str], tmp_path: Path, name: str
) -> None:
    """mpiexec finds Slurm and starts its daemons through it; no ssh server is there."""
    require_mpi(name)
    runs = tmp_path / "runs"
    words = ["study", "run", study(tmp_path, MPI.format(name=name)), "--out", str(runs)]
    done = slurm.run("salloc", "-N2", *NETSONDE, *words, env=bare, timeout_s=200)
    assert done.returncode == 0, done.stderr
    check(run_of(runs), ["mpi"], ["h1", "h2"])


@pytest.mark.parametrize(
    "name",
    [
        "mpich@srun",
        pytest.param("mpich-debian@srun", marks=pytest.mark.soak),
        pytest.param("openmpi-debian@srun", marks=pytest.mark.soak),
        pytest.param("impi@srun", marks=pytest.mark.soak),
    ],
)
def test_srun_starts_the_ranks(
    slurm: SlurmCluster, bare: dict[str, str], tmp_path: Path, name: str
) -> None:
    """Over PMI-2, on the hosts in the order in which they were given, not in Slurm's."""
    require_mpi(name)
    runs = tmp_path / "runs"
    words = ["study", "run", study(tmp_path, MPI.format(name=name)), "--hosts", "h3,h1"]
    done = slurm.run("salloc", "-N3", *NETSONDE, *words, "--out", str(runs), env=bare)
    assert done.returncode == 0, done.stderr
    check(run_of(runs), ["mpi"], ["h3", "h1"])
    # Slurm's own process for the step lives on for some seconds where the MPI is an older one.
    wait_for(lambda: left_of(slurm) == [], "the end of the step")


def test_the_command_of_the_launchers_page(
    slurm: SlurmCluster, bare: dict[str, str], tmp_path: Path
) -> None:
    require_mpi("mpich")
    told = "mpi latency bcast -n 8 --hosts node[1-4] --mpi mpich@srun"
    words = told.replace("-n 8", "-n 3").replace("node[1-4]", "h[1-3]").split()
    given = (*words, "--time", "20ms", "--out", str(tmp_path / "runs"))
    done = slurm.run("salloc", "-N3", *NETSONDE, *given, env=bare)
    assert done.returncode == 0, done.stderr
    run = run_of(tmp_path / "runs")
    check(run, ["mpi"] * len(run.points), ["h1", "h2", "h3"])


def test_srun_that_starts_singletons_is_found_and_said(
    slurm: SlurmCluster, bare: dict[str, str], tmp_path: Path
) -> None:
    """Without PMI, each rank takes itself for the whole program."""
    runs = tmp_path / "runs"
    words = ["study", "run", study(tmp_path, MPI.format(name="mpich@srun:none"))]
    done = slurm.run("salloc", "-N2", *NETSONDE, *words, "--out", str(runs), env=bare)
    assert done.returncode == 3
    (point,) = run_of(runs).points
    assert "srun --mpi=none started 2 separate programs instead of one with 2 ranks" in str(
        point.error
    )
    slurm.wait_for_idle()
    assert left_of(slurm) == []


def test_netsonde_itself_is_started_once(
    slurm: SlurmCluster, bare: dict[str, str], tmp_path: Path
) -> None:
    words = [*NETSONDE, "study", "run", study(tmp_path, SOCKETS), "--out", str(tmp_path / "runs")]
    done = slurm.run("srun", "-N2", "-n2", *words, env=bare)
    assert done.returncode != 0
    assert "netsonde was started 2 times, by srun" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "line",
    [
        "study submit acceptance.toml -N 4 --partition batch",
        pytest.param(
            "study submit acceptance.toml -N 4 --account x --option=--qos=short",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_submit(slurm: SlurmCluster, bare: dict[str, str], tmp_path: Path, line: str) -> None:
    """The documentation's commands, for as many nodes as there are."""
    file, runs = study(tmp_path, SOCKETS), tmp_path / "runs"
    words = line.replace("acceptance.toml", file).replace("-N 4", "-N 2").split()
    done = slurm.run(*NETSONDE, *words, "--out", str(runs), "--option=--nice=1", env=bare)
    assert done.returncode == 0, done.stderr
    slurm.wait_for_idle()
    assert "Report:" in (runs / f"netsonde-{done.stdout.strip()}.log").read_text()
    assert {end.host for end in run_of(runs).points[0].batches[0].ends.values()} == {"h1", "h2"}


@pytest.mark.soak
def test_sbatch_that_refuses_is_one_sentence(
    slurm: SlurmCluster, bare: dict[str, str], tmp_path: Path
) -> None:
    words = ["study", "submit", study(tmp_path, SOCKETS), "-N", "2", "-p", "nosuch"]
    done = slurm.run(*NETSONDE, *words, "--out", str(tmp_path / "runs"), env=bare)
    assert done.returncode == 3
    assert "Slurm does not take the job: invalid partition specified: nosuch" in done.stderr
    assert len(done.stderr.splitlines()) == 1


LONG = """
cap = "2s"
relative_precision = 0.0001
[[measure]]
transports = "tcp"
test = "latency"
sizes = "1..16:2"
"""


@pytest.mark.soak
def test_a_cancelled_job_goes_on_in_another_with_the_same_nodes(
    slurm: SlurmCluster, bare: dict[str, str], tmp_path: Path
) -> None:
    runs, log = tmp_path / "runs", tmp_path / "job.log"
    to = ["-N2", "-wh1,h3", f"--output={log}", "--wrap"]
    command = f"{' '.join(NETSONDE)} study run {study(tmp_path, LONG)} --out {runs}"
    job = slurm.run("sbatch", "--parsable", *to, command, env=bare).stdout.strip()
    wait_for(
        lambda: any("p002" in p.read_text() for p in runs.glob("*/journal.jsonl")), "a point", 60
    )
    slurm.run("scancel", job)
    slurm.wait_for_idle()
    # Without control groups Slurm loses sight of what a script has started; netsonde ends when it
    # finds its steps gone.
    wait_for(lambda: left_of(slurm) == [], "the end of netsonde", 60)
    (directory,) = runs.iterdir()
    before = {p.id: p.batches[0].ends[0].done for p in open_run(directory).points if p.batches}
    assert 0 < len(before) < 5
    slurm.run("sbatch", *to, f"{' '.join(NETSONDE)} study resume {directory}", env=bare)
    slurm.wait_for_idle()
    run = run_of(runs)
    check(run, ["tcp"] * 5, ["h1", "h3"])
    finished = {p.id: p.batches[0].ends[0].done for p in run.points}
    assert len(finished) == 5
    kept = [identifier for identifier, done in before.items() if finished[identifier] == done]
    assert len(kept) >= len(before) - 1  # at most the point in flight is measured again


LOST = """
import sys
import time
from netsonde.errors import HostError
from netsonde.hosts import parse_hosts
from netsonde.launch.pair import open_pair
from netsonde.launch import remote
remote.CONTACT_TIMEOUT_S = 6.0
origin, target = parse_hosts(["h2", "h3"], launcher="slurm")
try:
    with origin, target, open_pair(origin, target, "tcp") as session:
        fields = {"test": "latency", "message_bytes": 64, "count": 10}
        session.run(fields, 20)
        print("ready", flush=True)
        sys.stdin.readline()
        # What is cancelled ends a moment later.
        end = time.monotonic() + 40
        while time.monotonic() < end:
            session.run(fields, 5)
except HostError as error:
    print(error)
"""


@pytest.mark.parametrize("what", ["step", "job", "worker"])
def test_what_is_lost_is_one_sentence(slurm: SlurmCluster, bare: dict[str, str], what: str) -> None:
    """A step or the whole job is cancelled, or a worker dies, between two batches."""
    command = slurm.command(["salloc", "-N3", sys.executable, "-c", LOST], env=bare)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            job = slurm.run("squeue", "--noheader", "--format=%i").stdout.strip()
            if what == "worker":
                os.kill(worker_at(slurm, "h3"), signal.SIGKILL)
            else:
                steps = slurm.run("squeue", "--steps", "--noheader", "--format=%i %N").stdout
                on_target = [line.split()[0] for line in steps.splitlines() if "h3" in line]
                # The holder is the earlier one.
                slurm.run("scancel", max(on_target) if what == "step" else job)
            said, wrong = process.communicate("\n", timeout=60)
        finally:
            process.terminate()
    # Of a step that is cancelled either is told first: that it was, or that its process is gone.
    how = "was cancelled" if "was cancelled" in said else "was killed by SIGKILL"
    sentences = {
        "step": ("h3: the worker", how),
        "worker": ("h3: the worker was killed by SIGKILL",),
        "job": ("the worker", "cancelled"),
    }
    # The end that is told first may say so before srun does.
    told = "told to end" in said and what != "worker"
    for words in sentences[what]:
        assert words in said or told, said + wrong
    slurm.wait_for_idle()
    assert left_of(slurm) == []


def worker_at(slurm: SlurmCluster, name: str) -> int:
    """A process of this machine's: the worker in a host that is no holder."""
    space = (Path("/proc") / str(slurm.lab.host(name).holder) / "ns" / "net").readlink()
    found = []
    for entry in (path for path in Path("/proc").iterdir() if path.name.isdigit()):
        with contextlib.suppress(OSError):
            program = (entry / "cmdline").read_text().split("\0")[0]
            if program == "sonde-worker" and (entry / "ns" / "net").readlink() == space:
                found.append(int(entry.name))
    (pid,) = found
    return pid


@pytest.mark.soak  # lasts as long as the timeout
def test_a_node_that_is_gone_is_one_sentence_in_time(
    slurm: SlurmCluster, bare: dict[str, str], tmp_path: Path
) -> None:
    """Its slurmd does not answer; srun would wait for minutes."""
    file = study(tmp_path, SOCKETS)
    words = ["study", "run", file, "--out", str(tmp_path / "runs")]
    daemon = slurm.slurmd["h3"]
    children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text()
    inner = int(children.split()[0])
    command = slurm.command(
        ["salloc", "-N3", "sh", "-c", 'echo ready; read -r _; exec "$@"', "sh", *NETSONDE, *words],
        env=bare,
    )
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            os.kill(inner, signal.SIGSTOP)
            start = time.monotonic()
            _, errors = process.communicate("\n", timeout=90)
            took_s = time.monotonic() - start
        finally:
            os.kill(inner, signal.SIGCONT)
            process.kill()
    assert process.returncode == 3, errors
    sentences = [line for line in errors.splitlines() if line.startswith("netsonde:")]
    assert len(sentences) == 1, errors
    assert "h3: it" in sentences[0]
    assert took_s < 60
    slurm.wait_for_idle()
    assert left_of(slurm) == []

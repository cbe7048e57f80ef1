"""Two hosts with their own ssh servers, as on a cluster: netsonde on one measures to the other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mpi_needed import require_mpi
from netsonde.lab import Lab, LabSpec, lab_up, permission_problem
from netsonde.launch.mpi_build import sonde_mpi_for
from netsonde.launch.mpi_found import find_mpi
from netsonde.records.rundir import open_run
from pvm_needed import require_pvm

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "docs" / "examples" / "slurm.sh"
PROBLEM = permission_problem()
SSHD = shutil.which("sshd") or "/usr/sbin/sshd"

pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="an ssh server needs root to log users in"),
    pytest.mark.skipif(not Path(SSHD).exists(), reason="no ssh server is installed"),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh is installed"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Path]]:
    """A lab whose hosts h1 and h2 let each other in by ssh, with a throw-away key; and a folder
    with an `ssh` that knows about it."""
    tmp_path = tmp_path_factory.mktemp("ssh")
    for name in ("id", "host_key"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name],
            check=True,
            timeout=30,
        )
    Path("/run/sshd").mkdir(exist_ok=True)  # sshd insists on it
    (tmp_path / "sshd_config").write_text(
        f"HostKey {tmp_path}/host_key\nAuthorizedKeysFile {tmp_path}/id.pub\nStrictModes no\n"
        "PasswordAuthentication no\nUsePAM no\nUseDNS no\nPermitRootLogin prohibit-password\n"
    )
    (tmp_path / "ssh_config").write_text(
        f"Host *\n  IdentityFile {tmp_path}/id\n  UserKnownHostsFile {tmp_path}/known\n"
        "  StrictHostKeyChecking yes\n  BatchMode yes\n"
    )
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ssh").write_text(
        f'#!/bin/sh\nexec {shutil.which("ssh")} -F {tmp_path}/ssh_config "$@"\n'
    )
    (tools / "ssh").chmod(0o755)
    with lab_up(LabSpec(name="ssh")) as lab:
        key = (tmp_path / "host_key.pub").read_text()
        names = [f"{host.name},{host.address('ipv4')},{host.address('ipv6')}" for host in lab.hosts]
        (tmp_path / "known").write_text("".join(f"{name} {key}" for name in names))
        servers = [
            host.start([SSHD, "-D", "-f", str(tmp_path / "sshd_config")]) for host in lab.hosts
        ]
        time.sleep(0.3)
        try:
            yield lab, tmp_path
        finally:
            for server in servers:
                server.stop(1)


def netsonde(cluster: tuple[Lab, Path], *arguments: str) -> dict[str, Any]:
    """Runs the command on h1; its JSON document."""
    lab, folder = cluster
    command = lab.hosts[0].command(
        [
            "env",
            f"PATH={folder}/tools:{os.environ['PATH']}",
            sys.executable,
            "-m",
            "netsonde",
            *arguments,
            "--json",
            "--out",
            str(folder / "runs"),
        ]
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def check(document: dict[str, Any], transports: set[str]) -> None:
    assert document["origin"] == "real"
    assert {point["transport"] for point in document["points"]} == transports
    for point in document["points"]:
        assert point["status"] == "finished"
        assert point["checks"]["samples"]["equal"]
        assert point["checks"]["transport"]["verified"]
        assert point["checks"]["transport"]["interface"] == "v0"


@pytest.mark.parametrize("transport", ["tcp", pytest.param("udp", marks=pytest.mark.soak)])
def test_sockets_to_a_host_by_ssh(cluster: tuple[Lab, Path], transport: str) -> None:
    check(netsonde(cluster, transport, "h2", "latency", "--count", "200"), {transport})


@pytest.mark.parametrize("route", [pytest.param("normal", marks=pytest.mark.soak), "direct"])
def test_tasks_of_pvm_to_a_host_by_ssh(cluster: tuple[Lab, Path], route: str) -> None:
    """The worker travels there as any other does, and starts the daemon: PVM's own rsh is not
    asked."""
    require_pvm()
    asked = ("latency", "--count", "100", "--route", route, "--check-data")
    document = netsonde(cluster, "pvm", "h2", *asked)
    check(document, {"pvm"})
    run = open_run(Path(document["run"]))
    assert run.points[0].opened[0]["route"] == route
    for process in Path("/proc").glob("[0-9]*/comm"):
        assert process.read_text() != "pvmd\n"
    assert list(Path("/tmp").glob("netsonde-pvm-*")) == []


@pytest.mark.timeout(900)  # builds sonde-mpi where no test before has
@pytest.mark.parametrize(
    "name",
    [
        "mpich",
        "openmpi-debian",
        pytest.param("mpich-debian", marks=pytest.mark.soak),
        pytest.param(str(ROOT / ".venv" / "mpis" / "openmpi"), marks=pytest.mark.soak),
        pytest.param("impi", marks=pytest.mark.soak),
    ],
)
def test_mpi_between_two_hosts_by_ssh(
    cluster: tuple[Lab, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mpiexec logs in to start its ranks, as a cluster without a batch system has it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(ROOT / "build" / "cache"))
    require_mpi(name)
    sonde_mpi_for(find_mpi(name))  # not within the command's time
    arguments = ["mpi", "latency", "bcast", "-n", "2", "--hosts", "h1,h2", "--sizes", "1k"]
    check(netsonde(cluster, *arguments, "--mpi", name, "--count", "20"), {"mpi"})


STUDY = """
relative_precision = 0.9
cap = "50ms"
[[measure]]
transports = "tcp"
test = "latency"
sizes = "64"
[[program]]
command = ["sh", "-c", "echo on $(uname -n) with $KIND; echo rate 42"]
where = "both"
count = 2
environment = { KIND = "quotes ' and spaces" }
figures = { rate = { pattern = "rate ([0-9]+)", unit = "units" } }
"""


def test_the_sample_for_slurm_on_the_nodes_of_a_job(cluster: tuple[Lab, Path]) -> None:
    """A study between the nodes that the queue names, with a program on each of them by ssh."""
    lab, folder = cluster
    runs = folder / "runs-of-the-sample"
    (folder / "study.toml").write_text(STUDY)
    (folder / "tools" / "scontrol").write_text("#!/bin/sh\necho h1\necho h2\n")
    (folder / "tools" / "netsonde").write_text(
        f'#!/bin/sh\nexec {sys.executable} -m netsonde "$@"\n'
    )
    for name in ("scontrol", "netsonde"):
        (folder / "tools" / name).chmod(0o755)
    settings = {
        "PATH": f"{folder}/tools:{os.environ['PATH']}",
        "SLURM_JOB_NODELIST": "h[1-2]",
        "NETSONDE_RUNS": str(runs),
    }
    command = lab.hosts[0].command(
        ["env", *(f"{k}={v}" for k, v in settings.items()), str(SAMPLE), f"{folder}/study.toml"]
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (directory,) = runs.iterdir()
    run = open_run(directory)
    assert [point.status for point in run.points] == ["finished"] * 3
    assert run.points[0].checks["transport"]["verified"]
    said = {}
    for point in run.points[1:]:
        end = point.batches[0].ends[0]
        said[point.parameters["where"]] = (end.host, str(end.done["output_tail"]).splitlines()[0])
        assert end.done["figure.rate"] == 42.0
    words = "with quotes ' and spaces"
    assert said == {"origin": ("h1", f"on h1 {words}"), "target": ("h2", f"on h2 {words}")}


def test_a_late_program_by_ssh_is_killed_there(cluster: tuple[Lab, Path]) -> None:
    """With its children: nothing of it is left on the other host."""
    lab, folder = cluster
    code = (
        "import os; from netsonde.launch.ssh import SshHost; "
        "from netsonde.launch.program import run_program; "
        "ended = run_program(SshHost('h2'), ['sh', '-c', 'sleep 987 & sleep 988'], {}, 1.0); "
        "print(ended.timed_out, ended.status)"
    )
    command = lab.hosts[0].command(
        ["env", f"PATH={folder}/tools:{os.environ['PATH']}", sys.executable, "-c", code]
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["True", "137"], done.stderr
    left = subprocess.run(
        lab.hosts[1].command(["ps", "-eo", "args"]),
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert "sshd" in left.stdout
    assert "sleep 98" not in left.stdout


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_settings_tried_over_ssh_are_put_back_after_a_kill(cluster: tuple[Lab, Path]) -> None:
    """At both ends, whose shells lose their input when netsonde dies."""
    lab, folder = cluster
    narrow = "10.77.0.0/24 dev v0 proto kernel scope link src 10.77.0.{} mtu 576"
    for number, host in enumerate(lab.hosts, 1):
        lab.in_host(host, ["ip", "route", "replace", *narrow.format(number).split()])

    def routes() -> list[str]:
        shown = [lab.in_host(host, ["ip", "route", "show", "10.77.0.0/24"]) for host in lab.hosts]
        return [" ".join(text.split()) for text in shown]

    before = routes()
    assert all("mtu 576" in route for route in before)
    tried = f"PATH={folder}/tools:{os.environ['PATH']}", sys.executable, "-m", "netsonde"
    words = "tune sockets h2 --for rate --change host --allow-host-changes --time 100ms -q --out"
    command = lab.hosts[0].command(["env", *tried, *words.split(), str(folder / "tuned")])
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 200
        while any(now == was for now, was in zip(routes(), before, strict=True)):
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < deadline, "nothing was tried"
            time.sleep(0.01)
        process.kill()
    assert [path for path in folder.glob("tuned/*/undo-h2.sh") if "mtu 576" in path.read_text()]
    deadline = time.monotonic() + 60
    while routes() != before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert routes() == before

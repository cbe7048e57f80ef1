"""The samples for batch queues, run as a queue would run them, over hosts of this machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from netsonde.errors import UsageError
from netsonde.records.rundir import open_run
from netsonde.study.placed import between_hosts
from netsonde.study.spec import parse_study

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.sh"))
STUDY = """
relative_precision = 0.9
cap = "20ms"
{path}
[[measure]]
transports = "tcp"
test = "latency"
sizes = "64"
"""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_sample_is_a_script(script):
    assert os.access(script, os.X_OK)
    checks = [["bash", "-n", script]]
    if shutil.which("shellcheck"):
        checks.append(["shellcheck", script])
    for check in checks:
        done = subprocess.run(check, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_sample_study_is_one():
    spec = parse_study((EXAMPLES / "nodes.toml").read_text(), "nodes.toml")
    assert between_hosts(spec, "n1,n2", Path("nodes.toml")).path.hosts == ["n1", "n2"]


@pytest.fixture
def job(tmp_path):
    """Runs a sample in a folder with fake commands of a queue; gives what it did."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "netsonde").write_text(f'#!/bin/sh\nexec {sys.executable} -m netsonde "$@"\n')
    (tools / "scontrol").write_text(
        '#!/bin/sh\n[ "$*" = "show hostnames node[1-2]" ] || exit 1\necho local\necho local\n'
    )
    for tool in tools.iterdir():
        tool.chmod(0o755)
    (tmp_path / "study.toml").write_text(STUDY.format(path=""))

    def run(name, *arguments, **environment):
        return subprocess.run(
            [EXAMPLES / name, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.mark.usefixtures("sonde_worker")
def test_slurm(job, tmp_path):
    done = job("slurm.sh", "study.toml", SLURM_JOB_NODELIST="node[1-2]")
    assert done.returncode == 0, done.stderr
    (directory,) = (tmp_path / "runs").iterdir()
    run = open_run(directory)
    assert [p.status for p in run.points] == ["finished"]
    assert (directory / "report.html").exists()
    again = job("slurm.sh", str(directory), SLURM_JOB_NODELIST="node[1-2]")
    assert again.returncode == 0, again.stderr
    assert list((tmp_path / "runs").iterdir()) == [directory]


def test_slurm_outside_of_a_job_or_without_nodes(job):
    outside = job("slurm.sh", "study.toml", SLURM_JOB_NODELIST="")
    assert outside.returncode != 0
    assert "start this with sbatch" in outside.stderr
    unknown = job("slurm.sh", "study.toml", SLURM_JOB_NODELIST="others")
    assert unknown.returncode != 0
    assert not unknown.stdout


def test_pbs_names_each_node_once(job, tmp_path):
    """A node of three slots is one host, and one host is too few."""
    (tmp_path / "slots").write_text("n9\nn9\nn9\n")
    done = job("pbs.sh", STUDY="study.toml", PBS_NODEFILE="slots", PBS_O_WORKDIR=str(tmp_path))
    assert done.returncode != 0
    assert "--hosts 'n9': a study needs two hosts" in done.stderr


@pytest.mark.usefixtures("sonde_worker")
def test_pbs(job, tmp_path):
    (tmp_path / "slots").write_text("local\nlocal\nlocal \n")  # two names of one machine
    done = job("pbs.sh", STUDY="study.toml", PBS_NODEFILE="slots", NETSONDE_RUNS="elsewhere")
    assert done.returncode == 0, done.stderr
    (directory,) = (tmp_path / "elsewhere").iterdir()
    assert [p.status for p in open_run(directory).points] == ["finished"]


@pytest.mark.parametrize(
    ("path", "hosts", "words"),
    [
        ("", "n1", "two hosts or more"),
        ("", "n1,,n2", "is not a host"),
        ("", "n[1", "no set of hosts"),
        ("[path]\nkind = 'lab'", "n1,n2", "--hosts and kind = 'lab' of x.toml"),
        ("[path]\nkind = 'loopback'", "n1,n2", "--hosts and kind = 'loopback' of x.toml"),
    ],
)
def test_hosts_that_cannot_be(path, hosts, words):
    spec = parse_study(STUDY.format(path=path), "x.toml")
    with pytest.raises(UsageError) as caught:
        between_hosts(spec, hosts, Path("x.toml"))
    assert words in str(caught.value)


def test_hosts_take_the_place_of_the_studys():
    spec = parse_study(
        STUDY.format(path="[path]\nkind = 'hosts'\ntarget = 'b'\nfamily = 'ipv6'"),
        "x",
    )
    changed = between_hosts(spec, "n[1-3]", Path("x"))
    assert changed.path.hosts == ["n1", "n2", "n3"]
    assert changed.path.family == "ipv6"
    assert changed.mpi.hosts == ["n1", "n2", "n3"]
    assert between_hosts(spec, "local,local", Path("x")).mpi.hosts == []
    assert between_hosts(spec, "local", Path("x")).path.kind == "loopback"
    assert changed.measure == spec.measure

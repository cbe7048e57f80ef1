"""Batch systems: which nodes are ours, how processes get there, and a study as a job. What Slurm's
own daemons make of it is tested in the lab; of Flux there is a fake only."""

import os
import subprocess
import sys
import threading
import time

import pytest
from launch_fakes import open_descriptors, write_fake
from typer.testing import CliRunner

from netsonde.cli.study import app
from netsonde.errors import HostError, UsageError
from netsonde.hosts import allocation_here, parse_hosts
from netsonde.launch import remote
from netsonde.launch.allocation import Allocation
from netsonde.launch.contact import connect_all, failure_in_words
from netsonde.launch.flux import FluxHost
from netsonde.launch.host import ChildProcess
from netsonde.launch.remote import RemoteHost
from netsonde.launch.slurm import SlurmHost
from netsonde.launch.submit import Batch, batch_script, submit, time_of
from netsonde.study.placed import on_own_nodes
from netsonde.study.spec import parse_study

JOB = Allocation("slurm", "7", ("n1", "n2"))
# What srun and `flux exec` do with one task on this machine.
SRUN = """#!/bin/sh
env | sed -n 's/^\\(SLURM_[A-Z_]*\\|SRUN_[A-Z_]*\\)=.*/\\1/p' >>"{log}"
echo "$*" | sed 's/ sh -c .*//; 1q' >>"{log}"
while [ "$1" != sh ]; do shift; done
{before}
exec "$@"
"""
FLUX = """#!/bin/sh
if [ "$1" = getattr ]; then echo "n[1-3]"; exit 0; fi
echo "$1 $2 $3" >>"{log}"
[ "$3" -lt 3 ] || {{ echo "flux-exec: Error: rank 3: No such file" >&2; exit 1; }}
shift 3
exec "$@"
"""


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A folder that is first on PATH; a log of what the fakes were asked; a worker to bring."""
    folder = tmp_path / "tools"
    folder.mkdir()
    workers = tmp_path / "workers"
    workers.mkdir()
    write_fake(workers)
    (tmp_path / "tmp").mkdir()
    for name in [*os.environ]:
        if name.startswith(("SLURM_", "FLUX_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("NETSONDE_WORKERS", str(workers))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return folder


def write_tool(folder, name, text, before=""):
    path = folder / name
    path.write_text(text.format(log=folder / "log", before=before))
    path.chmod(0o755)


class TestAllocation:
    def test_slurm(self):
        found = allocation_here({"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2,07],other"})
        assert found == Allocation("slurm", "7", ("n1", "n2", "n07", "other"))
        assert found.in_words == "Slurm job 7"

    def test_flux(self, tools):
        write_tool(tools, "flux", FLUX)
        found = allocation_here({"FLUX_URI": "local:///x", "FLUX_JOB_ID": "f2"})
        assert found == Allocation("flux", "f2", ("n1", "n2", "n3"))

    @pytest.mark.parametrize(
        "environ", [{}, {"SLURM_JOB_ID": "7"}, {"SLURM_JOB_NODELIST": "n1"}, {"FLUX_URI": "x"}]
    )
    def test_none(self, environ):
        assert allocation_here(environ) is None

    def test_a_batch_system_that_says_nothing(self, tools):
        write_tool(tools, "flux", "#!/bin/sh\necho broken >&2; exit 1\n")
        with pytest.raises(HostError, match="`flux getattr hostlist` failed: broken"):
            allocation_here({"FLUX_URI": "local:///x", "FLUX_JOB_ID": "f2"})


@pytest.mark.usefixtures("tools")
class TestChoiceOfLauncher:
    def kinds(self, monkeypatch, launcher):
        monkeypatch.setenv("SLURM_JOB_ID", "7")
        monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
        return [h.kind for h in parse_hosts(["n1", "n2", "n3", "local"], launcher=launcher)]

    def test_auto_takes_slurm_for_its_own_nodes(self, monkeypatch):
        assert self.kinds(monkeypatch, "auto") == ["slurm", "slurm", "ssh", "local"]

    def test_ssh_takes_ssh(self, monkeypatch):
        assert self.kinds(monkeypatch, "ssh") == ["ssh", "ssh", "ssh", "local"]

    def test_slurm_takes_no_other_host(self, monkeypatch):
        with pytest.raises(UsageError, match="host n3 is no node of Slurm job 7"):
            self.kinds(monkeypatch, "slurm")

    @pytest.mark.parametrize(("launcher", "title"), [("slurm", "Slurm"), ("flux", "Flux")])
    def test_outside_of_a_job(self, launcher, title):
        with pytest.raises(UsageError, match=f"a job of {title}, and this is in none"):
            parse_hosts(["n1"], launcher=launcher)


@pytest.mark.usefixtures("tools")
class TestStudyOnOwnNodes:
    STUDY = 'cap = "1s"\n{path}\n[[measure]]\ntransports = "tcp"\ntest = "latency"\nsizes = "64"\n'

    def hosts(self, path=""):
        return on_own_nodes(parse_study(self.STUDY.format(path=path), "s.toml")).path.hosts

    @pytest.fixture
    def job(self, tools, monkeypatch):
        monkeypatch.setenv("SLURM_CONF", str(tools))
        monkeypatch.setenv("SLURM_JOB_ID", "7")
        monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-3]")

    @pytest.mark.usefixtures("job")
    def test_a_study_that_says_nothing_takes_them(self):
        assert self.hosts() == ["n1", "n2", "n3"]
        assert self.hosts('[path]\nfamily = "ipv6"') == ["n1", "n2", "n3"]

    @pytest.mark.usefixtures("job")
    @pytest.mark.parametrize(
        "said", ['kind = "lab"', 'kind = "loopback"', 'target = "n9"', 'launcher = "ssh"']
    )
    def test_a_study_that_says_where_does_not(self, said):
        assert self.hosts(f"[path]\n{said}") == []

    @pytest.mark.usefixtures("job")
    def test_nor_in_a_job_of_one_node_or_outside(self, monkeypatch):
        monkeypatch.setenv("SLURM_JOB_NODELIST", "n1")
        assert self.hosts() == []
        monkeypatch.delenv("SLURM_JOB_NODELIST")
        assert self.hosts() == []

    def test_sets_in_the_file(self):
        path = '[path]\nkind = "hosts"\nhosts = "n[1-3]!n2"\n[mpi]\nhosts = ["a", "b[1-2]"]'
        spec = parse_study(self.STUDY.format(path=path), "s.toml")
        assert (spec.path.hosts, spec.mpi.hosts) == (["n1", "n3"], ["a", "b1", "b2"])
        with pytest.raises(UsageError, match="is no set of hosts"):
            parse_study(self.STUDY.format(path='[path]\nhosts = "n[1-"'), "s.toml")


class TestSlurmHost:
    def test_a_worker_is_brought_once_and_leaves_nothing(self, tools, tmp_path, monkeypatch):
        monkeypatch.setenv("SLURM_LABELIO", "1")
        monkeypatch.setenv("SLURM_NTASKS", "8")
        monkeypatch.setenv("SLURM_CONF", "/etc/slurm.conf")
        write_tool(tools, "srun", SRUN)
        descriptors = open_descriptors()
        with SlurmHost("n2", JOB) as host:
            for _ in range(2):
                with host.start_worker() as worker:
                    assert worker.request("close", 20)
            assert list((tmp_path / "tmp").iterdir()) == []
        assert open_descriptors() == descriptors
        asked = (tools / "log").read_text().splitlines()
        assert len(asked) == 6  # the holder and two workers
        assert set(asked[::2]) == {"SLURM_CONF"}
        for word in ("--jobid=7", "--nodelist=n2", "--overlap", "--ntasks=1", "--mpi=none"):
            assert all(word in line.split() for line in asked[1::2])

    @pytest.mark.parametrize(
        ("said", "sentence"),
        [
            (
                "srun: error: Unable to create step for job 7: Requested node configuration is not "
                "available",
                "n2: it could not be started by srun: the node is not in Slurm job 7",
            ),
            (
                "srun: error: Unable to confirm allocation for job 7: Invalid job id specified",
                "the allocation has ended: Slurm job 7",
            ),
            (
                "slurmstepd: error: *** STEP 7.1 ON n2 CANCELLED AT 2026 DUE TO TIME LIMIT ***",
                "was ended: Slurm job 7 has reached its time limit",
            ),
            (
                "srun: error: Unable to create step for job 7: Job/step already completing",
                "could not be started by srun: srun: error: Unable to create step",
            ),
            ("srun: error: n2: task 0: Exited with exit code 1", "n2: it ended with status 1"),
        ],
    )
    def test_what_srun_says_is_one_sentence(self, tools, said, sentence):
        write_tool(tools, "srun", SRUN, f"echo '{said}' >&2; exit 1")
        with pytest.raises(HostError) as caught:
            SlurmHost("n2", JOB).connect()
        assert sentence in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_task_that_is_killed_is_told_by_its_signal(self, tools):
        before = "echo 'srun: error: n2: task 0: Killed' >&2; "
        before += "echo 'srun: Force Terminated StepId=7.1' >&2; exit 137"
        write_tool(tools, "srun", SRUN, before)
        with pytest.raises(HostError, match=r"n2: it was killed by SIGKILL$"):
            SlurmHost("n2", JOB).connect()

    def test_an_srun_that_waits_for_ever_is_ended(self, tools, monkeypatch):
        monkeypatch.setattr(remote, "CONTACT_TIMEOUT_S", 0.5)
        monkeypatch.setattr(remote, "HOLDER_GRACE_S", 0.2)
        write_tool(tools, "srun", SRUN, "sleep 60")
        with pytest.raises(HostError, match="n2: it did not answer within 0 s"):
            SlurmHost("n2", JOB).connect()

    def test_addresses(self, tools):
        write_tool(tools, "scontrol", "#!/bin/sh\necho NodeName=$4 NodeAddr=192.0.2.7 CPUs=1\n")
        assert SlurmHost("127.0.0.1", JOB).address("ipv4") == "192.0.2.7"
        assert SlurmHost("no.such.host.invalid", JOB).address("ipv4") == "192.0.2.7"
        assert SlurmHost("192.0.2.1", JOB).address("ipv4") == "192.0.2.1"
        with pytest.raises(HostError, match=r"neither its name nor '192.0.2.7'"):
            SlurmHost("no.such.host.invalid", JOB).address("ipv6")

    def test_no_srun_here(self, tools, monkeypatch):
        monkeypatch.setenv("PATH", str(tools))
        with pytest.raises(HostError, match="cannot start srun"):
            SlurmHost("n2", JOB).connect()


class TestFluxHost:
    NODES = Allocation("flux", "f2", ("n1", "n2", "n3", "n4"))

    def test_a_worker(self, tools):
        write_tool(tools, "flux", FLUX)
        with FluxHost("n2", self.NODES) as host, host.start_worker() as worker:
            assert worker.request("close", 20)
        assert set((tools / "log").read_text().splitlines()) == {"exec --rank 1"}

    def test_a_broker_that_is_gone(self, tools):
        write_tool(tools, "flux", FLUX)
        with pytest.raises(HostError, match=r"n4: it could not be started by flux exec: .*rank 3"):
            FluxHost("n4", self.NODES).connect()


class SlowHost(RemoteHost):
    """Reached by a shell of this machine, after a while; notes how many are on their way."""

    kind = "ssh"
    waiting = 0
    most = 0
    lock = threading.Lock()

    def address(self, family):
        raise NotImplementedError

    def _explain(self, *_):
        return None

    def _start_shell(self, words):
        if self.name.startswith("dead"):
            return ChildProcess(["sh", "-c", "echo no answer >&2; exit 5"])
        return ChildProcess(["sh", "-c", *words])

    def connect(self, *_):
        with self.lock:
            SlowHost.waiting += 1
            SlowHost.most = max(SlowHost.most, SlowHost.waiting)
        time.sleep(0.05)
        try:
            super().connect()
        finally:
            with self.lock:
                SlowHost.waiting -= 1


@pytest.mark.usefixtures("tools")
def test_so_many_hosts_are_reached_at_once_and_no_more():
    hosts = [SlowHost(f"n{number}") for number in range(12)]
    assert connect_all([*hosts, *hosts], at_once=4) == {}
    assert SlowHost.most == 4
    for host in hosts:
        host.close()


@pytest.mark.usefixtures("tools")
def test_hosts_that_fail_are_one_sentence():
    failed = connect_all([SlowHost("n1"), *(SlowHost(f"dead{n}") for n in range(12))])
    assert list(failed) == [f"dead{n}" for n in range(12)]
    words = failure_in_words(failed)
    assert words.startswith("dead0: it ended with status 5: no answer (and 11 more of the hosts")
    assert words.endswith("dead1, dead2, dead3, dead4, dead5, dead6, dead7, dead8 and 3 others)")
    assert (
        failure_in_words({"dead0": failed["dead0"]}) == "dead0: it ended with status 5: no answer"
    )


class TestSubmit:
    def script(self, tmp_path, **settings):
        batch = Batch(**{"nodes": 4, "time_s": 5400, **settings})
        return batch_script(batch, "acceptance", tmp_path / "a b.toml", tmp_path / "runs")

    def test_the_script(self, tmp_path):
        lines = self.script(
            tmp_path, partition="batch", account="x", options=("--qos=short",)
        ).splitlines()
        assert lines[0] == "#!/bin/sh"
        for line in (
            "--nodes=4",
            "--time=01:30:00",
            "--partition=batch",
            "--account=x",
            "--qos=short",
            "--exclusive",
            "--signal=B:TERM@60",
            f"--output={tmp_path}/runs/netsonde-%j.log",
        ):
            assert f"#SBATCH {line}" in lines
        assert lines[-1] == (
            f"exec {sys.executable} -m netsonde study run '{tmp_path}/a b.toml' "
            f"--out {tmp_path}/runs"
        )
        subprocess.run(["sh", "-n", "-c", "\n".join(lines)], check=True, timeout=10)

    @pytest.mark.parametrize(
        ("seconds", "written"),
        [(1, "00:01:00"), (60, "00:01:00"), (61, "00:02:00"), (90_000, "1-01:00:00")],
    )
    def test_the_time(self, tmp_path, seconds, written):
        assert f"--time={written}\n" in self.script(tmp_path, time_s=seconds)

    def test_the_time_of_a_study(self):
        assert time_of(60 * 10**9) == 75 + 120

    @pytest.mark.parametrize(
        ("settings", "sentence"),
        [
            ({"nodes": 1}, "ask for 2 or more"),
            ({"partition": "a\nb"}, "is no name that Slurm knows"),
            ({"account": "x y"}, "is no name that Slurm knows"),
            ({"options": ("qos=short",)}, "is no option of sbatch"),
            ({"options": ("--qos=a\nrm",)}, "is no option of sbatch"),
        ],
    )
    def test_what_is_no_job(self, tmp_path, settings, sentence):
        with pytest.raises(UsageError, match=sentence):
            self.script(tmp_path, **settings)

    def test_what_the_command_shows(self, tmp_path):
        file = tmp_path / "two.toml"
        file.write_text(
            'name = "two"\ncap = "50ms"\n[[measure]]\ntransports = ["tcp", "udp"]\n'
            'test = "latency"\nsizes = "64"\n'
        )
        words = ["submit", str(file), "-N", "2", "--option=--nice=1", "--show"]
        shown = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "runs")])
        # Some seconds for two points, and 2 minutes around all.
        assert "#SBATCH --time=00:03:00\n" in shown.stdout
        assert "#SBATCH --nice=1\n" in shown.stdout
        assert not (tmp_path / "runs").exists()
        longer = CliRunner().invoke(app, [*words, "--time", "2h"])
        assert "#SBATCH --time=02:00:00\n" in longer.stdout
        file.write_text(file.read_text() + '[path]\nkind = "hosts"\nhosts = ["a", "b"]\n')
        named = CliRunner().invoke(app, words)
        assert isinstance(named.exception, UsageError)
        assert "a job's nodes would not be used" in str(named.exception)

    def test_handing_over(self, tools):
        write_tool(tools, "sbatch", '#!/bin/sh\ncat >"{log}"\necho "12;cluster"\n')
        assert submit("#!/bin/sh\n") == "12"
        assert (tools / "log").read_text() == "#!/bin/sh\n"

    def test_a_refusal_is_one_sentence(self, tools):
        said = "sbatch: error: invalid account\nsbatch: error: Batch job submission failed: x"
        write_tool(tools, "sbatch", f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
        with pytest.raises(HostError) as caught:
            submit("#!/bin/sh\n")
        assert str(caught.value) == "Slurm does not take the job: invalid account"

    def test_no_slurm_here(self, tools, monkeypatch):
        monkeypatch.setenv("PATH", str(tools))
        with pytest.raises(HostError, match="submit from a machine that has Slurm"):
            submit("")

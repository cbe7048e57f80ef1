"""Hosts over ssh, with a real sshd on a loopback port, throw-away keys and a configuration."""

import getpass
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from launch_fakes import FakeHost, open_descriptors, write_fake

from netsonde.errors import HostError
from netsonde.launch.binaries import find_worker
from netsonde.launch.pair import open_pair
from netsonde.launch.remote import HOLDER_SCRIPT, explain_script
from netsonde.launch.ssh import SshHost, explain_ssh
from netsonde.launch.worker import WorkerError

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
RUN = {"test": "latency", "message_bytes": 64, "count": 5}


def make_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def sshd(tmp_path_factory):
    """(directory, port) of an sshd that lets our user in with one key."""
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("no sshd or no ssh on this machine")
    directory = tmp_path_factory.mktemp("sshd")
    directory.chmod(0o755)
    host_key, user_key = make_key(directory / "host_key"), make_key(directory / "user_key")
    make_key(directory / "other_key")
    (directory / "authorized").write_text(user_key.with_suffix(".pub").read_text())
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    (directory / "tmp").mkdir()
    (directory / "sshd_config").write_text(f"""
ListenAddress 127.0.0.1:{port}
HostKey {host_key}
AuthorizedKeysFile {directory}/authorized
PidFile none
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
AcceptEnv NOTHING
SetEnv TMPDIR={directory}/tmp PATH=/usr/bin:/bin:/usr/sbin:/sbin:{directory}/bin
""")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # privilege separation insists on it
    log = directory / "log"
    process = subprocess.Popen([SSHD, "-D", "-f", directory / "sshd_config", "-E", log])
    try:
        wait_for_port(port, process, log)
        yield directory, port
    finally:
        process.terminate()
        process.wait()


def wait_for_port(port, process, log):
    for _ in range(200):
        if process.poll() is not None:
            pytest.skip(f"sshd does not run here: {log.read_text()[-300:]}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.skip("sshd does not listen")


@pytest.fixture
def ssh(sshd, tmp_path, monkeypatch):
    """A function that makes an SshHost; settings replace those of its configuration."""
    directory, port = sshd
    workers = tmp_path / "workers"
    workers.mkdir()
    write_fake(workers)
    monkeypatch.setenv("NETSONDE_WORKERS", str(workers))
    key = (directory / "host_key.pub").read_text()
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {key}")

    def make(name="node7", **settings):
        settings = {
            "HostName": "127.0.0.1",
            "Port": port,
            "User": getpass.getuser(),
            "IdentityFile": directory / "user_key",
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "UserKnownHostsFile": known,
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "yes",
            **settings,
        }
        lines = "".join(f"  {k} {v}\n" for k, v in settings.items())
        config = tmp_path / "ssh_config"
        config.write_text(f"Host {name}\n{lines}")
        return SshHost(name, options=("-F", str(config)))

    made = []

    def make_and_note(*words, **settings):
        made.append(make(*words, **settings))
        return made[-1]

    yield make_and_note
    for host in made:
        host.close()
    deadline = time.monotonic() + 10
    while left := list((directory / "tmp").iterdir()):
        assert time.monotonic() < deadline, f"{left} was left over"
        time.sleep(0.05)


def test_the_worker_is_brought_along_and_taken_away(ssh, sshd):
    descriptors = open_descriptors()
    with ssh() as host, host.start_worker() as worker:
        assert worker.hello["worker"] == "sonde-worker"
        assert list((sshd[0] / "tmp").iterdir()) == []  # it has no name any more
        assert "/fd/" in host._workers["sonde-worker"]
        assert worker.request("run", 20, **RUN, timeout_ns=10**9)[-1]["record"] == "done"
    assert open_descriptors() == descriptors


def test_a_transport_s_own_program_is_brought_along_beside_it(ssh):
    fake = find_worker("sonde-worker")
    fake.with_name("sonde-other").write_text(
        fake.read_text().replace("sonde-worker", "sonde-other")
    )
    fake.with_name("sonde-other").chmod(0o755)
    descriptors = open_descriptors()
    with ssh() as host, host.start_worker() as usual:
        with host.start_worker(program="sonde-other") as other:
            assert other.hello["worker"] == "sonde-other"
            assert "/fd/" in host._workers["sonde-other"]
            assert other.request("close", 20)
        assert usual.hello["worker"] == "sonde-worker"
        assert usual.request("close", 20)
    assert open_descriptors() == descriptors


def test_an_installed_worker_of_this_version_is_used(ssh, sshd):
    installed = sshd[0] / "bin"
    installed.mkdir()
    try:
        write_fake(installed)
        with ssh() as host, host.start_worker() as worker:
            assert worker.request("close", 20)
            assert host._workers["sonde-worker"] == "sonde-worker"
        text = (installed / "sonde-worker").read_text()
        (installed / "sonde-worker").write_text(text.replace("0.2.0", "0.0.9"))
        with ssh() as host, host.start_worker():  # another version: ours is brought along
            assert "/fd/" in host._workers["sonde-worker"]
    finally:
        shutil.rmtree(installed)


def test_the_copy_goes_when_ssh_is_killed(ssh):
    worker = ssh().start_worker()
    worker._channel.kill()
    # The shared connection has the worker's pipes, and closes them when it misses its client.

    def ask_until_it_is_missed():
        for _ in range(1000):
            worker.request("close", 20)
            time.sleep(0.01)

    with pytest.raises(WorkerError, match="was killed by SIGKILL"):
        ask_until_it_is_missed()
    worker.close()


def test_a_pair_with_one_end_over_ssh(ssh, tmp_path):
    host = ssh()
    with open_pair(FakeHost(tmp_path), host, "tcp") as session:
        assert session.opened[0]["asked_address"] == "127.0.0.1"
        assert session.hosts == {"h1", "node7"}
        assert session.run(RUN, 10)
    with open_pair(host, FakeHost(tmp_path, name="h2"), "tcp") as session:
        assert session.run(RUN, 10)


def test_a_command_with_an_environment(ssh):
    with ssh().start(["sh", "-c", 'echo "$1:$A"', "x", "it's $HOME"], env={"A": "b c"}) as process:
        assert process.read() == b"it's $HOME:b c\n"
        assert process.wait(10) == 0


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"HostName": "no.such.host.invalid"}, "its name cannot be resolved"),
        ({"Port": 1}, "connection refused; is an ssh server running there?"),
        ({"UserKnownHostsFile": "/dev/null"}, "log in once with `ssh node7` and accept the key"),
        ({"IdentityFile": "OTHER"}, "permission denied; netsonde cannot type passwords"),
    ],
)
def test_failures_are_sentences_that_say_what_to_do(ssh, sshd, settings, sentence):
    settings = {k: sshd[0] / "other_key" if v == "OTHER" else v for k, v in settings.items()}
    with pytest.raises(HostError) as caught:
        ssh(**settings).start_worker()
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("node7: it could not be reached by ssh")


def test_a_changed_host_key(ssh, sshd, tmp_path):
    changed = tmp_path / "changed"
    other = (sshd[0] / "other_key.pub").read_text()
    changed.write_text(f"[127.0.0.1]:{sshd[1]} {other}")
    with pytest.raises(HostError, match="host key has changed"):
        ssh(UserKnownHostsFile=changed).start_worker()


def test_addresses(ssh):
    assert ssh().address("ipv4") == "127.0.0.1"
    with pytest.raises(HostError, match=r"ssh knows it as 127.0.0.1, which has no ipv6 address"):
        ssh().address("ipv6")
    with pytest.raises(HostError, match="ssh does not accept its configuration"):
        ssh(NoSuchOption="yes").address("ipv4")


def test_another_kind_of_machine_is_said(ssh, monkeypatch):
    monkeypatch.setattr("netsonde.launch.remote.platform.machine", lambda: "m68k")
    with pytest.raises(HostError, match=r"the worker here is for Linux m68k; install netsonde"):
        ssh().start_worker()


class TestHolderScript:
    CONTENT = b"#!/bin/sh\ncase $1 in --version) echo 1; exit ;; esac\necho started; cat\n"

    @pytest.fixture
    def run(self, tmp_path):
        """A function that starts the script and answers its question; its process."""
        started = []

        def start(content, announced=None, **environment):
            announced = content if announced is None else announced
            process = subprocess.Popen(
                ["sh", "-c", HOLDER_SCRIPT, "sh", "TOKEN"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), **environment},
            )
            started.append(process)
            while process.stdout.readline() != b"TOKEN facts\n":
                pass
            digest = hashlib.sha256(announced).hexdigest()
            process.stdin.write(f"{len(announced)} {digest}\n".encode() + content)
            process.stdin.flush()
            return process

        yield start
        for process in started:
            process.kill()
            process.wait(20)
        assert list(tmp_path.iterdir()) == []

    @staticmethod
    def place(process):
        token, place = process.stdout.readline().decode().split()
        assert token == "TOKEN"
        return place

    def test_the_copy_runs_as_often_as_wanted_and_has_no_name(self, run, tmp_path):
        process = run(self.CONTENT)
        place = self.place(process)
        for _ in range(2):
            done = subprocess.run(
                [place], input=b"more\n", capture_output=True, timeout=20, check=True
            )
            assert done.stdout == b"started\nmore\n"
        assert list(tmp_path.iterdir()) == []
        process.communicate(timeout=20)
        assert process.returncode == 0
        assert not Path(place).exists()

    def test_no_copy_is_taken_where_none_is_sent(self, run):
        assert self.place(run(b"")) == "sonde-worker"

    @pytest.mark.parametrize("content", [CONTENT.replace(b"started", b"startle"), CONTENT[:-1]])
    def test_a_damaged_or_cut_copy_is_not_kept(self, run, content):
        process = run(content, announced=self.CONTENT)
        output, errors = process.communicate(timeout=20)
        assert output == b""
        assert "damaged" in explain_script("n", process.returncode, errors.decode())

    def test_a_copy_that_does_not_run_says_why(self, run):
        process = run(b"#!/bin/sh\necho no such library >&2; exit 1\n")
        _, errors = process.communicate(timeout=20)
        assert "no such library" in explain_script("n", process.returncode, errors.decode())

    def test_no_temporary_directory(self, run, tmp_path):
        process = run(self.CONTENT, TMPDIR=str(tmp_path / "missing"))
        _, errors = process.communicate(timeout=20)
        words = explain_script("n", process.returncode, errors.decode())
        assert "no temporary directory" in words

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
    def test_signals_leave_nothing(self, run, number):
        process = run(self.CONTENT)
        self.place(process)
        process.send_signal(number)
        assert process.wait(20) != 0  # the fixture looks for what is left

    def test_a_connection_lost_while_copying_leaves_nothing(self, run, tmp_path):
        process = run(self.CONTENT[:10], announced=self.CONTENT)
        deadline = time.monotonic() + 10
        while not list(tmp_path.glob("*/sonde-worker")):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.communicate(timeout=20)
        assert process.returncode != 0


def test_without_an_ssh_its_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match=r"node7: .* no command ssh here; .* openssh-client"):
        SshHost("node7").address("ipv4")


def test_unknown_failures_quote_ssh():
    assert "ssh: odd" in explain_ssh("n", 255, "x\nssh: odd\n")
    assert "ssh said no reason" in explain_ssh("n", 255, "")
    assert "noexec" in explain_script("n", 126, "sh: Permission denied")
    assert explain_ssh("n", 1, "") is explain_script("n", 1, "") is None

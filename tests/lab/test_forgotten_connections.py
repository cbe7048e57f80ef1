"""What a kernel remembers of earlier TCP connections is gone before a point that asks for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import HostError
from netsonde.lab import permission_problem
from netsonde.lab.cluster import lab_up
from netsonde.lab.spec import LabSpec
from netsonde.launch.memory import forget_connections

PROBLEM = permission_problem()


def said(host, *command: str) -> str:
    done = subprocess.run(
        host.command(command), check=True, timeout=20, capture_output=True, text=True
    )
    return done.stdout


@pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")
def test_a_host_forgets() -> None:
    with lab_up(LabSpec(hosts=2, rate_bit_per_s=10**8, name="forgetful")) as lab:
        one, two = lab.hosts
        for host in (one, two):
            said(host, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=0")
        server = (
            "import socket; s = socket.create_server(('10.77.0.2', 5001)); print(1, flush=True)"
        )
        server += "; c, _ = s.accept(); [None for _ in iter(lambda: c.recv(65536), b'')]"
        client = "import socket; s = socket.create_connection(('10.77.0.2', 5001), 10)"
        client += "; s.sendall(bytes(10**6)); s.shutdown(1); s.recv(1)"
        with subprocess.Popen(
            two.command(["python3", "-c", server]), stdout=subprocess.PIPE, text=True
        ) as listening:
            assert listening.stdout is not None
            assert listening.stdout.readline()
            said(one, "python3", "-c", client)
        assert "10.77.0.2" in said(one, "ip", "tcp_metrics", "show")
        forget_connections(one)
        assert said(one, "ip", "tcp_metrics", "show").strip() == ""


class Told:
    """A host of which only what it is asked for matters."""

    def __init__(self, name: str, kind: str = "ssh") -> None:
        self.name, self.kind = name, kind


def test_where_it_cannot_be_the_command_for_a_person_is_said() -> None:
    with pytest.raises(HostError, match="ip tcp_metrics flush there by hand"):
        forget_connections(Told("far", "paired"))  # type: ignore[arg-type]


def test_both_ends_forget_before_each_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten: list[str] = []
    monkeypatch.setattr(
        "netsonde.launch.memory.forget_connections", lambda host: forgotten.append(host.name)
    )
    words = ["tcp", "local", "latency", "--sizes", "1,64", "--count", "20", "-q", "--forget"]
    outcome = CliRunner().invoke(app, [*words, "--out", str(tmp_path)])
    assert outcome.exit_code == 0, outcome.output
    assert forgotten == ["local", "local"]  # two points; both ends are one host

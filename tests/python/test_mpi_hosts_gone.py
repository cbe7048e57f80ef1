"""MPI over hosts that cannot be reached: said of the hosts, in no launcher's words, and once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netsonde.cli.entry import main

NO_SUCH_HOST = """#!/bin/sh
[ "$1" = -G ] && exit 0
for word; do case $word in node*) host=$word; break;; esac; done
echo "ssh: Could not resolve hostname $host: Name or service not known" >&2
exit 255
"""


@pytest.mark.worker
def test_hosts_that_are_gone_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(NO_SUCH_HOST)
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    words = ["mpi", "latency", "--hosts", "node1,node2", "--out", str(tmp_path / "runs")]
    monkeypatch.setattr("sys.argv", ["netsonde", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 3
    *_, last = said.err.strip().splitlines()
    assert "MPI was not started: node1: it could not be reached by ssh: its name cannot" in last
    assert "node2: it could not be reached" in last
    assert "mpiexec" not in said.out + said.err
    assert said.err.count("MPI was not started") == 1

"""Whatever is killed, however often: resumed, a study has every point exactly once, and nothing of
it is left behind."""

from __future__ import annotations

import random
import socket
import subprocess
from collections import Counter

import pytest
from marked import Marked, needs_lab
from random_kills import BACK_S, VICTIMS, Killed, Server

LOOPBACK = """
name = "kills"
seed = {seed}
relative_precision = 0.5
cap = "3ms"
[path]
kind = "loopback"
[[measure]]
transports = ["tcp", "udp"]
test = "latency"
sizes = [{sizes}]
"""
LAB = """
name = "kills"
seed = {seed}
relative_precision = 0.5
cap = "3ms"
[path]
kind = "lab"
{path}
[lab]
{lab}
[[measure]]
transports = [{transports}]
test = "latency"
sizes = [{sizes}]
"""
HERE = """
name = "kills"
seed = {seed}
relative_precision = 0.5
cap = "3ms"
[path]
kind = "{kind}"
{path}
[mpi]
mpi = "{mpi}"
ranks = 3
[[measure]]
transports = [{transports}]
test = "latency"
sizes = [{sizes}]
"""
VARIANTS = {
    "loopback": (LOOPBACK, {}),
    "mpich": (HERE, {"kind": "loopback", "path": "", "mpi": "mpich", "transports": '"tcp", "mpi"'}),
    "openmpi": (
        HERE,
        {"kind": "loopback", "path": "", "mpi": "openmpi", "transports": '"tcp", "mpi"'},
    ),
    "serve": (
        HERE,
        {
            "kind": "hosts",
            "path": 'target = "127.0.0.1:PORT"',
            "mpi": "mpich",
            "transports": '"tcp", "udp"',
        },
    ),
    "bridge": (LAB, {"path": "", "lab": 'rate = "1G"', "transports": '"tcp", "udp"'}),
    "mpi": (LAB, {"path": "", "lab": 'rate = "1G"', "transports": '"tcp", "mpi"'}),
    "at once": (
        LAB,
        {
            "path": 'between = ["h1,h2", "h3,h4"]\nconcurrent = 2\non_dead_host = "stop"',
            "lab": 'hosts = 4\nrate = "1G"',
            "transports": '"tcp"',
        },
    ),
}


def study(variant: str, seed: int, sizes: int) -> str:
    text, keys = VARIANTS[variant]
    return text.format(seed=seed, sizes=", ".join(str(n) for n in range(1, sizes + 1)), **keys)


@needs_lab
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_killed_a_few_times(tmp_path, netsonde_command):
    (tmp_path / "study.toml").write_text(study("at once", 1, 12))
    killed = Killed(
        Marked(tmp_path),
        netsonde_command,
        tmp_path / "study.toml",
        tmp_path / "runs",
        random.Random(2),
        early=0.0,
    )
    directory = killed.until_done(5, (0.0, 0.3))
    assert killed.killed.total() > 0
    killed.expect_every_point_once(directory, 24)


KILLS = 1000
OF_ONE_STUDY = 25


@needs_lab
@pytest.mark.soak
@pytest.mark.timeout(4 * 3600)
def test_a_thousand_kills_of_studies_of_a_hundred_points(
    tmp_path, netsonde_command, record_property
):
    for mpi in ("mpich", "openmpi"):  # compiled before: killed in it, it would begin anew each time
        once = ["mpi", "latency", "-n", "2", "--mpi", mpi, "--count", "10"]
        subprocess.run([*netsonde_command, *once], cwd=tmp_path, check=True, timeout=900)
    rng = random.Random(200)
    total: Counter[str] = Counter()
    studies = resumes = torn = left = 0
    longest_s = 0.0
    while total.total() < KILLS:
        variant = sorted(VARIANTS)[studies % len(VARIANTS)]
        folder = tmp_path / str(studies)
        folder.mkdir()
        marked, port = Marked(folder), a_free_port()
        (folder / "study.toml").write_text(study(variant, studies, 50).replace("PORT", str(port)))
        killed = Killed(marked, netsonde_command, folder / "study.toml", folder / "runs", rng)
        if variant == "serve":
            killed.server = Server(marked, netsonde_command, folder / "code", port)
        directory = killed.until_done(min(OF_ONE_STUDY, KILLS - total.total()), (0.0, 2.0))
        killed.expect_every_point_once(directory, 100)
        total += killed.killed
        studies, resumes, torn = studies + 1, resumes + killed.resumes, torn + killed.torn
        longest_s, left = max(longest_s, killed.longest_s), left + killed.next_starts
        print(
            f"{studies} studies ({variant}), {dict(total)}, {resumes} resumes, {torn} torn lines, "
            f"back within {longest_s:.1f} s, {left} times shared memory for the next start",
            flush=True,
        )
    record_property("killed", dict(total))
    assert total.total() == KILLS
    assert set(total) == VICTIMS
    assert longest_s < BACK_S


def a_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

"""Whatever is killed, however often: resumed, a study has every point exactly once, and nothing of
it is left behind."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from marked import Marked, needs_lab
from random_kills import Killed

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
VARIANTS = {
    "loopback": (LOOPBACK, {}),
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


@needs_lab
@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_kills_of_studies_of_a_hundred_points(
    tmp_path, netsonde_command, record_property
):
    rng = random.Random(200)
    total: Counter[str] = Counter()
    studies = resumes = torn = 0
    while total.total() < 200:
        variant = sorted(VARIANTS)[studies % len(VARIANTS)]
        folder = tmp_path / str(studies)
        folder.mkdir()
        (folder / "study.toml").write_text(study(variant, studies, 50))
        killed = Killed(
            Marked(folder), netsonde_command, folder / "study.toml", folder / "runs", rng
        )
        directory = killed.until_done(min(25, 200 - total.total()), (0.0, 2.0))
        killed.expect_every_point_once(directory, 100)
        total += killed.killed
        studies, resumes, torn = studies + 1, resumes + killed.resumes, torn + killed.torn
        print(f"{studies} studies ({variant}), {dict(total)}, {resumes} resumes, {torn} torn lines")
    record_property("killed", dict(total))
    assert total.total() == 200
    assert set(total) == {"netsonde", "worker", "launcher", "host"}

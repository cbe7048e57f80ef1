"""Requirements on links whose rate is known: what they can carry is met, what not is missed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import netsonde
import warm
from attempts import Attempts
from netsonde.opened import OpenedRun

pytestmark = pytest.mark.lab

LINK = """
name = "promised"
seed = 1
cap = "300ms"
launches = 2
[path]
kind = "lab"
[lab]
rate = "100M"
[[measure]]
transports = "tcp"
test = "stream"
sizes = "64k"
[[measure]]
transports = "udp"
test = "stream"
sizes = "1400"
rate = "20M"
[[require]]
figure = "throughput_bit_per_s"
transport = "tcp"
at_least = "60M"
[[require]]
figure = "throughput_bit_per_s"
at_least = "98M"
[[require]]
figure = "lost_ratio"
at_most = "5%"
"""
"""A frame of 1514 bytes takes the time of 1538 on the line, and carries 1448: 94.1 Mbit/s."""
PAIRS = """
name = "promised"
seed = 1
[path]
kind = "lab"
[lab]
scenario = "{scenario}"
[tournament]
measures = "throughput"
time = "150ms"
follow_ups = 0
margin = 9.0
[[require]]
figure = "throughput_bit_per_s"
at_least = "30M"
"""
SCENARIO = """
hosts = 4
links = "switch"
[link]
rate = "100M"
[[host]]
name = "h3"
[host.link]
rate = "20M"
"""


def run_study(folder: Path, text: str) -> tuple[subprocess.CompletedProcess[str], OpenedRun]:
    (folder / "promised.toml").write_text(text)
    done = command("study", "run", folder / "promised.toml", "--out", folder / "runs")
    (directory,) = (folder / "runs").iterdir()
    return done, netsonde.open(directory)


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    done: subprocess.CompletedProcess[str] = warm.run([*map(str, words)])
    return done


WANTED = [
    (60e6, None, "tcp stream 64k", "met"),
    (98e6, None, "udp stream 1400", "missed"),
    (98e6, None, "tcp stream 64k", "missed"),
    (None, 0.05, "udp stream 1400", "met"),
]
CONTRARY = {"met": "missed", "missed": "met"}


@pytest.mark.tolerant
@pytest.mark.timeout(250)
def test_what_a_link_can_carry_is_met_and_what_it_cannot_is_missed(
    tmp_path: Path, attempts: Attempts
) -> None:
    """An interval that a busy machine made wide decides nothing, but nothing wrong either."""
    for attempt in attempts(2, of=3):
        folder = tmp_path / str(attempt.number)
        folder.mkdir()
        done, opened = run_study(folder, LINK)
        found = opened.requirements().select("at_least", "at_most", "label", "verdict").rows()
        verdicts = [verdict for *_, verdict in found]
        attempt.found(verdicts=verdicts)
        assert [asked for *asked, _ in found] == [asked for *asked, _ in WANTED]
        assert all(
            CONTRARY[row[-1]] != verdict for row, verdict in zip(WANTED, verdicts, strict=True)
        )
        judged = command("study", "judge", opened.run.directory)
        assert judged.returncode == done.returncode == 1, done.stderr
        with attempt:
            assert found == WANTED
            words = "netsonde: Requirement missed: throughput_bit_per_s at least 98.00 Mbit/s."
            assert words in done.stderr
            assert judged.stdout.splitlines()[-1] == "2 missed, 2 met"


@pytest.mark.timeout(110)
def test_the_pairs_of_a_slow_host_miss_what_the_others_meet(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    text = PAIRS.format(scenario=tmp_path / "scenario.toml")
    done, opened = run_study(tmp_path, text)
    assert done.returncode == 1, done.stderr
    verdicts = dict(opened.requirements().select("label", "verdict").rows())
    hosts = ["h1", "h2", "h3", "h4"]
    assert verdicts == {
        f"{a} to {b}": "missed" if "h3" in (a, b) else "met" for a in hosts for b in hosts if a != b
    }
    assert opened.run.finished

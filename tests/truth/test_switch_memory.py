"""A switch with little memory makes its hosts wait and says so; with too little it says that."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from netsonde.lab import permission_problem

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

# 60,000 frames of 1514 bytes a second, and each is two seconds on its way: 180 MB.
CROSS = f"""
import json, sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from lab_truth import links_of, scenario_lab, settle
from netsonde.lab.load import make_load
from netsonde.lab.observe import stats_in_words, switch_stats
try:
    with scenario_lab(
        hosts=2, link={{"rate": "1G", "delay": "1s"}}, switch=[{{"name": "s1", "buffer": "256M"}}]
    ) as lab:
        make_load(lab, [(1, 2)], frames_per_s=60_000, seconds=2.5)
        full = settle(lab, lambda seen: seen["loop"]["frames_inside"] == 0)
        before = links_of(full)["h2"]["down"]["arrived"]
        make_load(lab, [(1, 2)], frames=10, seconds=5)
        settle(lab, lambda seen: links_of(seen)["h2"]["down"]["arrived"] >= before + 10)
    print(json.dumps([before, full["loop"]["pool_full"], full["honest"], stats_in_words(full)]))
except Exception as error:
    print(json.dumps(f"{{type(error).__name__}}: {{error}}"))
"""


def cross(limit_mebibytes):
    done = subprocess.run(
        ["prlimit", f"--as={limit_mebibytes << 20}", sys.executable, "-c", CROSS],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.counts
@pytest.mark.timeout(120)
def test_with_little_memory_hosts_wait():
    arrived, waits, honest, words = cross(150)
    assert arrived > 10_000
    assert waits > 0
    assert not honest["valid"]
    assert "NOT VALID: hosts had to wait" in words
    assert "no memory for frames was left" in words


@pytest.mark.counts
@pytest.mark.timeout(120)
def test_with_too_little_memory_there_is_no_lab():
    assert "the switch needs 80; raise the limit (ulimit -v)" in cross(80)

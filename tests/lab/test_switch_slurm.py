"""Slurm's own daemons, one slurmd in each host, over the lab's switch."""

from __future__ import annotations

from pathlib import Path

import pytest
from slurm_cluster import PROBLEM, slurm_cluster

from netsonde.lab import lab_up
from netsonde.lab.observe import switch_stats
from netsonde.lab.scenario import lab_spec, scenario_of

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(120),
    pytest.mark.skipif(PROBLEM is not None, reason=str(PROBLEM)),
]


@pytest.mark.usefixtures("mark")
def test_srun_runs_on_every_host(tmp_path: Path) -> None:
    with (
        lab_up(lab_spec(scenario_of({"hosts": 3, "links": "switch"}))) as lab,
        slurm_cluster(lab, tmp_path) as slurm,
    ):
        before = {link["name"]: link["down"]["bytes"] for link in switch_stats(lab)["links"]}
        done = slurm.run("srun", "--immediate=5", "-N3", "-n3", "hostname")
        assert sorted(done.stdout.split()) == ["h1", "h2", "h3"], done.stderr
        after = {link["name"]: link["down"]["bytes"] for link in switch_stats(lab)["links"]}
        assert all(after[name] > before[name] + 1000 for name in ("h2", "h3"))

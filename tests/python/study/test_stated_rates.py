"""A path whose rate the user states, where no interface says it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.figures.compute import figures_of
from netsonde.records.rundir import open_run
from netsonde.study import testbed
from netsonde.study.estimate import path_rate_bit_per_s
from netsonde.study.spec import parse_study

STUDY = """
[path]
kind = "{kind}"
rate = "{rate}"
[[measure]]
transports = ["tcp"]
test = "stream"
sizes = "64k"
"""


@pytest.mark.parametrize("rate_bit_per_s", [10**7, 25 * 10**9, 10**11])
def test_limits_of_tcp_follow_the_stated_rate(tmp_path: Path, rate_bit_per_s: int) -> None:
    words = ["tcp", "local", "stream", "--count", "50", "--time", "1", "-q"]
    words += ["--link-rate", f"{rate_bit_per_s}", "--out", str(tmp_path)]
    outcome = CliRunner().invoke(app, words)
    assert outcome.exit_code == 0, outcome.output
    run = open_run(next(tmp_path.iterdir()))
    assert run.manifest["path"]["rate_bit_per_s"] == rate_bit_per_s
    found = {figure.name: figure.value for figure in figures_of(run)}
    product = rate_bit_per_s * found["path_round_trip_min_ns"] / 8e9
    assert found["bandwidth_delay_bytes"] == pytest.approx(product)
    assert found["recommended_buffer_bytes"] == pytest.approx(2 * product, abs=1)


def test_the_estimate_goes_by_it() -> None:
    assert path_rate_bit_per_s(parse_study(STUDY.format(kind="hosts", rate="5G"), "s")) == 5 * 10**9


def test_a_lab_knows_its_own_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    path = testbed.Testbed(parse_study(STUDY.format(kind="lab", rate="5G"), "s"))
    path.kind = "lab"
    monkeypatch.setattr(path, "_bring_up_lab", lambda: None)
    with pytest.raises(UsageError, match="leave out the stated one"), path:
        pass

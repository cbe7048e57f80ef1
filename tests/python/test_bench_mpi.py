"""netsonde's ping-pong over MPI beside the least loop: known pairs, and real ones."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest
from bench import mpi_latency, mpi_netpipe
from bench.mpi_latency import Pingpong, lines, summarised
from bench.peers import Route

from mpi_needed import require_mpi
from netsonde.errors import HostError
from netsonde.launch.local import LocalHost
from netsonde.launch.mpi_found import Mpi

ROOT = Path(__file__).parents[2]


def found(ratio: float, pairs: int = 40) -> mpi_latency.MpiLatency:
    draw = np.random.default_rng(5)
    least = 1000 + draw.normal(0, 100, pairs)
    own = ratio * least + draw.normal(0, 1, pairs)
    rounds = [
        {"netsonde": Pingpong(a, a - 10, 35.0), "minimal": Pingpong(b), "timed": Pingpong(a)}
        for a, b in zip(own, least, strict=True)
    ]
    return summarised("MPI loopback", rounds)


@pytest.mark.parametrize(("ratio", "word"), [(1.0, "met"), (1.05, "missed"), (1.02, "not decided")])
def test_the_goal_is_met_missed_or_not_decided(ratio: float, word: str) -> None:
    one = found(ratio)
    assert one.beside.ratio.ratio == pytest.approx(ratio, rel=0.002)
    assert one.recording_ns == 35
    said = lines([one])
    assert said[2].endswith(word)
    assert said[3].endswith("met")  # whose loop reads the clock as often
    assert "recording takes 35 ns between two" in said[4]
    assert all(len(text) <= 80 for text in said)


def test_both_loops_run_on_both_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    require_mpi()
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two CPUs are needed")
    monkeypatch.setattr(mpi_latency, "BLOCKS", 3)
    host = LocalHost()
    route = Route("loopback", host, host, 0, 0, "cubic")
    seen = mpi_latency.mpi_latency(route, 0.1, random.Random(1))
    assert [one.beside.title for one in seen] == list(mpi_latency.PATHS)
    for one in seen:
        for each in (one.beside, one.control):
            assert each.first > 0
            assert each.second > 0


@pytest.mark.timeout(900)  # builds sonde-mpi where no test before has
def test_netpipe_s_number_is_compared_under_the_same_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        (mpi, program), *_ = mpi_netpipe.present()
    except HostError as error:
        pytest.skip(str(error))
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two CPUs are needed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(ROOT / "build" / "cache"))
    monkeypatch.setattr(mpi_netpipe, "present", lambda: [(mpi, program)])
    monkeypatch.setattr(mpi_netpipe, "REPEATS", {64: 50, 65536: 20})
    host = LocalHost()
    route = Route("loopback", host, host, 0, 0, "cubic")
    found = mpi_netpipe.mpi_netpipe(route, 0.1, random.Random(1))
    assert [one.message_bytes for one in found] == [64, 65536]
    assert all(one.beside.first > 500 and one.beside.second > 500 for one in found)
    assert all(len(text) <= 80 for text in mpi_netpipe.lines(found))


@pytest.mark.parametrize(("ratio", "word"), [(1.0, "met"), (1.2, "missed"), (0.8, "missed")])
def test_the_same_number_is_met_or_missed(ratio: float, word: str) -> None:
    draw = np.random.default_rng(5)
    pairs = [(ratio * other, other) for other in 1000 + draw.normal(0, 50, 20)]
    one = mpi_netpipe.summarised("Open MPI 4.1.4", 65536, pairs)
    said = mpi_netpipe.lines([one])
    assert said[1].startswith("Open MPI 4.1.4, 64 KiB")
    assert said[1].endswith(word)


def test_a_netpipe_that_fails_says_why(tmp_path: Path) -> None:
    program = tmp_path / "NPfails"
    program.write_text("#!/bin/sh\necho it did not go >&2\nexit 1\n")
    program.chmod(0o700)
    mpi = Mpi("x", "openmpi", "4.1", program, None, None)
    with pytest.raises(HostError, match="NPfails failed: it did not go"):
        mpi_netpipe.netpipe(mpi, str(program), program, [0, 1], 64)

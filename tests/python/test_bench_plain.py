"""The bench's plain loop, which peers are found where, and what is said of answers and likeness."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from bench import plain
from bench.answer import Answer, lines
from bench.comparisons import comparisons
from bench.like import Alike, Ranks, _of_table, ranks
from bench.like import lines as like_lines
from bench.measured import Extent
from bench.peers import Route, look_also_in, missing_program, offers
from bench.turns import beside

from netsonde.errors import HostError
from netsonde.launch.local import LocalHost
from netsonde.peers.output import UnreadableOutputError


@pytest.fixture
def here() -> Route:
    host = LocalHost()
    cpus = sorted(os.sched_getaffinity(0))
    return Route("loopback", host, host, cpus[0], cpus[-1], "cubic")


@pytest.mark.worker
def test_the_plain_loop_says_what_came(here: Route) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    for transport in ("udp", "tcp"):
        trips = plain.round_trips(here, Extent(1), transport, 64)
        assert trips.value > 0
        assert int(trips.details["observations"] or 0) > 0
    cut = plain.cut_datagrams(here, Extent(1), 64, 128)
    assert 0 < int(cut.details["received_bytes"] or 0) <= int(cut.details["sent_bytes"] or 0)
    assert int(cut.details["sent_bytes"] or 0) % (64 * 128) == 0  # each call was taken whole
    stream = plain.stream(here, Extent(1), 65536)
    assert stream.details["received_bytes"] == stream.details["sent_bytes"]


@pytest.mark.parametrize("text", ["", "1 2", "1 2 3 4", "1 -2 3", "a b c"])
def test_a_plain_loop_that_says_something_else_is_not_read(text: str) -> None:
    with pytest.raises(UnreadableOutputError):
        plain._numbers(text, 3)


def test_peers_are_looked_for_where_one_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"])
    if missing_program("neper") is None:
        pytest.skip("neper is here")
    for name in ("tcp_stream", "udp_stream"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho '  --gsro  cut and join'\n")
        program.chmod(0o700)
    look_also_in([tmp_path])
    assert missing_program("neper") is None
    assert offers("tcp_stream", "--gsro")
    assert not offers("tcp_stream", "--zerocopy")
    assert not offers("no-such-program", "--gsro")


def test_rows_of_equal_technique_wait_at_once() -> None:
    known = {one.id: one for one in comparisons()}
    assert "plain" in known["udp-small"].peers
    assert set(known["udp-latency"].peers) == {"sockperf", "netperf", "plain", "busy"}
    assert "offloaded" in known["tcp-stream"].paths


def test_an_answer_is_judged_by_its_whole_interval() -> None:
    def word(low: float | None, high: float | None) -> str:
        return lines([Answer("tcp latency", 9, 0.45, low, high, 0.1, 1.0, 0.2)])[1].split()[-1]

    assert word(0.40, 0.49) == "met"
    assert word(0.51, 0.60) == "missed"
    assert word(0.45, 0.55) == "decided"
    assert word(None, None) == "decided"


def of(tool: str, test: str) -> Ranks:
    return next(one for one in ranks() if (one.tool, one.test, one.size) == (tool, test, 64))


def test_tables_of_ranks_are_read_at_their_size() -> None:
    osu = "# OSU MPI Latency Test\n# Size  Latency (us)\n64       2.50\n"
    imb = "#bytes #repetitions t[usec] Mbytes/sec\n  0 1000 1.0 0.0\n  64 1000 1.50 42.0\n"
    allreduce = "#bytes #repetitions t_min t_max t_avg\n  64 1000 1.0 3.0 2.0\n"
    assert _of_table(osu, of("osu", "latency")) == pytest.approx(2500)
    assert _of_table(imb, of("imb", "latency")) == pytest.approx(1500)
    assert _of_table(allreduce, of("imb", "allreduce")) == pytest.approx(2000)
    with pytest.raises(HostError, match="no row"):
        _of_table(osu.replace("64", "32"), of("osu", "latency"))


def test_likeness_is_said_of_what_is_there() -> None:
    same = beside("iperf3 tcp stream", "bit_per_s", [1e9] * 8, [1.001e9] * 8)
    said = like_lines([Alike("a", "iperf3", same), Alike("b", "osu", missing="it is not found")])
    assert said[1].endswith("met")
    assert said[2] == "b: skipped: it is not found"

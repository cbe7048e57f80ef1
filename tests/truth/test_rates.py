"""Over a lab link whose rate is known, netsonde finds that rate, and its counters add up."""

from __future__ import annotations

import pytest
from lab_runs import Silent

from netsonde.figures.compute import figures_of, find
from netsonde.lab import permission_problem
from netsonde.model.goodput import shaped_goodput_bit_per_s
from netsonde.records.rundir import open_run
from netsonde.study.execute import start_study
from netsonde.study.spec import StudySpec

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.slow,
]

THROUGHPUT_TOLERANCE = 0.01
ENDS_TOLERANCE = 0.002
# The link holds all that TCP may have under way, so that it loses nothing: after a loss nobody
# knows how long acknowledgements are, and the counters could not be judged.
BUFFER, TCP_WINDOW = "2M", "512k"


def measure(folder, rate, measures, family="ipv4"):
    """A run over a fresh lab link of that rate."""
    spec = StudySpec.model_validate(
        {
            "name": "truth",
            "seed": 1,
            "interval": 0.002,
            "cap": "2s",
            "path": {"kind": "lab", "family": family},
            "lab": {"rate": rate, "buffer": BUFFER},
            "measure": measures,
        }
    )
    outcome = start_study(spec, folder, ["test"], Silent())
    assert not outcome.failures
    return open_run(outcome.directory)


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("rate", "family"),
    [
        pytest.param("100M", "ipv4", marks=pytest.mark.soak),
        pytest.param("100M", "ipv6", marks=pytest.mark.soak),
        ("1G", "ipv4"),
        pytest.param("1G", "ipv6", marks=pytest.mark.soak),
        pytest.param("2G", "ipv4", marks=pytest.mark.soak),
        pytest.param("2G", "ipv6", marks=pytest.mark.soak),
    ],
)
def test_streams_find_the_rate_of_the_link(tmp_path, rate, family, attempts):
    full_frame = 1472 if family == "ipv4" else 1452
    # At 2 Gbit/s one call a frame is more than a small machine's core can do.
    udp_bytes = 16384 if rate == "2G" else full_frame
    measures = [
        {
            "transports": "tcp",
            "test": "stream",
            "sizes": "128k",
            "options": {"congestion_control": "cubic", "buffer": TCP_WINDOW},
        },
        {
            "transports": "udp",
            "test": "stream",
            "sizes": str(udp_bytes),
            "options": {"receive_buffer": "4M"},
        },
    ]
    for attempt in attempts(2, of=3):
        run = measure(tmp_path / str(attempt.number), rate, measures, family)
        assert not [problem for point in run.points for problem in faults(point)]
        found = {point.transport: share_of_link(run, point, family) for point in run.points}
        # The kernel that forwards is part of the link: without time for it the link is slower.
        attempt.found(**found, busiest_core=max(busiest_core(point) for point in run.points))
        with attempt:
            assert found == {name: pytest.approx(1, rel=THROUGHPUT_TOLERANCE) for name in found}


def share_of_link(run, point, family):
    """The throughput over what the link and the headers allow."""
    link = run.manifest["path"]["rate_bit_per_s"]
    allowed = shaped_goodput_bit_per_s(point.transport, link, point.message_bytes, family)
    return find(figures_of(run), "throughput_bit_per_s", point.id).value / allowed


def faults(point):
    """What no lack of CPU time excuses."""
    checks = point.checks
    wrong = {
        f"ends {checks['ends']}": checks["ends"]["ratio"] != pytest.approx(1, abs=ENDS_TOLERANCE),
        f"samples {checks['samples']}": not checks["samples"]["equal"],
        f"transport {checks['transport']}": not checks["transport"]["verified"],
        f"counters {checks['counters']}": not checks["counters"]["exact"],
    }
    return [f"{point.transport}: {what}" for what, is_wrong in wrong.items() if is_wrong]


def busiest_core(point):
    """The largest share of a batch's time that a CPU was not idle, of all its batches."""
    shares = []
    for batch in point.batches:
        ticks = batch.ends[0].differences()
        cores = {name.split(".")[1] for name in ticks if name.startswith("cpu.")} - {"all"}
        for core in cores:
            times = {n: t for n, t in ticks.items() if n.startswith(f"cpu.{core}.")}
            idle = times[f"cpu.{core}.idle"] + times[f"cpu.{core}.iowait"]
            shares.append(1 - idle / sum(times.values()))
    return max(shares)


BOTH_FAMILIES = pytest.mark.parametrize(
    "family", ["ipv4", pytest.param("ipv6", marks=pytest.mark.soak)]
)


@pytest.mark.counts
@pytest.mark.timeout(90)
@BOTH_FAMILIES
def test_every_packet_and_byte_is_accounted_for(tmp_path, family):
    """Round trips of sizes around every header and fragment boundary, both transports."""
    run = measure(
        tmp_path,
        "1G",
        [
            {
                "transports": ["tcp", "udp"],
                "test": "latency",
                "cap": "100ms",
                "sizes": [1, 8, 1448, 1449, 1452, 1453, 1472, 1473, 4000, 20000],
            }
        ],
        family,
    )
    check_accounts(run)


@pytest.mark.timeout(90)
@BOTH_FAMILIES
def test_packets_that_cross_are_accounted_for(tmp_path, family):
    both_ways = {"transports": ["tcp", "udp"], "test": "duplex", "sizes": "1400", "cap": "600ms"}
    check_accounts(measure(tmp_path, "1G", [both_ways], family))


def check_accounts(run):
    for point in run.points:
        assert point.checks["samples"]["equal"], point
        assert point.checks["counters"]["exact"], (
            point.test,
            point.message_bytes,
            point.checks["counters"],
        )


@pytest.mark.counts
@pytest.mark.timeout(60)
def test_the_check_notices_other_traffic():
    """With a second program on the link the counters must not add up."""
    import sys

    from netsonde.lab import LabSpec, lab_up
    from netsonde.launch.pair import open_pair
    from netsonde.records.data import Point
    from netsonde.records.decode import decode_batch
    from netsonde.study.checks import check_point

    spec = LabSpec(hosts=2, rate_bit_per_s=10**9, buffer_bytes=1 << 18, burst_bytes=None, name="x")
    noise = (
        "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "end = time.monotonic() + 10\n"
        "while time.monotonic() < end:\n s.sendto(b'x', ('{}', 9)); time.sleep(0.01)"
    )
    with lab_up(spec) as lab:
        program = noise.format(lab.hosts[1].address("ipv4"))
        noisy = lab.hosts[0].start([sys.executable, "-c", program])
        try:
            with open_pair(lab.hosts[0], lab.hosts[1], "tcp") as session:
                records = session.run(
                    {
                        "test": "stream",
                        "message_bytes": 65536,
                        "duration_ns": 500_000_000,
                        "timeout_ns": 10**10,
                    },
                    15,
                )
                point = Point(
                    "p001",
                    "tcp",
                    "stream",
                    {"message_bytes": 65536},
                    opened=session.opened,
                    batches=[decode_batch(0, records)],
                )
        finally:
            noisy.stop(1)
    assert not check_point(point, {"kind": "lab"})["counters"]["exact"]

"""Over a lab link the counters of both ends say what is known of its packets."""

from __future__ import annotations

import pytest
from lab_runs import Silent

from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.figures.packets import growth, packets_of
from netsonde.lab import permission_problem
from netsonde.records.rundir import open_run
from netsonde.study.execute import start_study
from netsonde.study.spec import StudySpec

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.counts,
]

LOST_EVERY = 10
FRAMES_LOST_BEFORE = 3
"""So many frames of earlier connections at most, lost and sent again, are to be expected."""
PLACES = [f"lost_{place}_frames" for place in ("sender", "network", "receiver")]
SCENARIO = f"""
hosts = 2
links = "switch"
[link]
rate = "100M"
delay = "50us"
[pace]
calibrate = false
[[host]]
name = "h2"
link = {{ down = {{ loss_every = {LOST_EVERY} }} }}
"""


def measure(folder, measures, family="ipv4", scenario=None):
    """A run over a fresh lab link, and its figures by point and name."""
    lab = {"rate": "200M", "buffer": "2M"}
    if scenario is not None:
        path = folder / "scenario.toml"
        path.write_text(scenario)
        lab = {"scenario": str(path)}
    spec = StudySpec.model_validate(
        {
            "seed": 1,
            "cap": "600ms",
            "path": {"kind": "lab", "family": family},
            "lab": lab,
            "measure": measures,
        }
    )
    outcome = start_study(spec, folder, ["test"], Silent())
    assert not outcome.failures
    run = open_run(outcome.directory)
    figures = figures_of(run)
    found = {p.id: {f.name: f.value for f in figures if f.point == p.id} for p in run.points}
    return run, found, figures


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("family", "ip"), [("ipv4", 20), pytest.param("ipv6", 40, marks=pytest.mark.soak)]
)
def test_frames_are_those_of_the_headers(tmp_path, family, ip):
    run, found, _ = measure(
        tmp_path,
        [
            {
                "transports": "udp",
                "test": "stream",
                "sizes": "1000,4000",
                "rate": "20M",
                "options": {"receive_buffer": "4M"},
            },
            {
                "transports": "tcp",
                "test": "stream",
                "sizes": "64k",
                "options": {"buffer": "512k"},
            },
            {"transports": ["udp", "tcp"], "test": "latency", "sizes": "700"},
        ],
        family,
    )
    small, fragmented, stream, udp, tcp = found.values()
    assert small["sent_frame_mean_bytes"] == small["expected_frame_mean_bytes"] == 1042 - 20 + ip
    assert fragmented["frames_per_datagram"] == 3
    for point in (small, fragmented, udp):
        for name in ("sent_frame_mean_bytes", "received_frame_mean_bytes"):
            assert point[name] == pytest.approx(point["expected_frame_mean_bytes"], rel=0.002)
    # The first few messages after a pause, before each batch, are acknowledged by themselves.
    segments, data = (
        growth(run.points[-1], 0, f"connection.test.{name}")
        for name in ("segs_out", "data_segs_out")
    )
    for name in ("sent_frame_mean_bytes", "received_frame_mean_bytes"):
        mean = tcp["expected_frame_mean_bytes"] - 700 * (1 - data / segments)
        assert tcp[name] == pytest.approx(mean, rel=0.001)
    assert data > 0.98 * segments
    assert udp["expected_frame_mean_bytes"] == 14 + ip + 8 + 700
    assert tcp["expected_frame_mean_bytes"] == 14 + ip + 32 + 700
    assert stream["expected_frame_mean_bytes"] == 1514
    assert stream["sent_frame_mean_bytes"] == pytest.approx(1514, rel=0.05)
    assert stream["ack_frame_mean_bytes"] == pytest.approx(46 + ip, rel=0.2)  # SACK after a loss
    assert 1 <= stream["data_frames_per_ack"] < 200
    # The way there carries payload and headers of its own frames, the other bare acknowledgements.
    payload = stream["sent_frame_mean_bytes"] - 46 - ip
    acks = stream["ack_frame_mean_bytes"] / stream["data_frames_per_ack"]
    assert stream["tcp_overhead_ratio"] == pytest.approx((46 + ip + acks) / payload, rel=0.02)
    assert stream["wire_bit_per_s"] / stream["throughput_bit_per_s"] == pytest.approx(
        (payload + 70 + ip) / payload, rel=0.005
    )


@pytest.mark.timeout(60)
def test_loss_on_the_way_is_found_on_the_way(tmp_path):
    """Every tenth frame towards h2 is lost, the control connection's among them; one of three
    fragments takes its datagram with it."""
    run, _, figures = measure(
        tmp_path,
        [
            {
                "transports": "udp",
                "test": "stream",
                "sizes": "1000,4000",
                "rate": "20M",
                "options": {"receive_buffer": "4M"},
            }
        ],
        scenario=SCENARIO,
    )
    bounds = {
        (f.point, f.name.removeprefix("lost_").removesuffix("_frames")): (f.low, f.high)
        for f in figures
        if f.name.startswith("lost_") and f.name.endswith("_frames")
    }
    for point in run.points:
        frames = 3 if point.message_bytes == 4000 else 1
        lost = point.counter("lost", 1) * frames
        least, most = (
            sum(bounds[point.id, place][end] for place in ("network", "receiver")) for end in (0, 1)
        )
        # Frames of a connection that was closed before may come again in the first batch.
        assert least <= lost <= most <= least + 2 * FRAMES_LOST_BEFORE
        assert bounds[point.id, "sender"] <= (0, FRAMES_LOST_BEFORE)
        expected = point.counter("messages_sent") * frames / LOST_EVERY
        assert bounds[point.id, "network"] == pytest.approx((expected, expected), rel=0.2)
    whole, fragmented = (point.id for point in run.points)
    assert bounds[whole, "network"][0] <= run.points[0].counter("lost", 1)
    assert run.points[0].counter("lost", 1) <= bounds[whole, "network"][1]
    assert bounds[whole, "receiver"][0] == 0
    (lost,) = [f for f in figures if f.name == "datagrams_lost_with_fragments"]
    assert lost.low <= run.points[1].counter("lost", 1) <= lost.high
    # What arrived of a datagram that was not whole was dropped behind the card.
    assert bounds[fragmented, "receiver"][0] > bounds[fragmented, "network"][1]
    claims = [f.claim for f in explain(run, figures) if "UDP lost" in f.claim]
    assert len(claims) == 2
    assert all(claim.endswith("in the network.") for claim in claims)


@pytest.mark.timeout(60)
def test_loss_in_a_small_buffer_is_found_there(tmp_path):
    options = {"buffer": "1M", "receive_buffer": "2k"}
    run, found, figures = measure(
        tmp_path, [{"transports": "udp", "test": "stream", "sizes": "1000", "options": options}]
    )
    (values,) = found.values()
    lost = run.points[0].counter("lost", 1)
    assert lost > 0
    assert values["lost_receiver_frames"] > 0
    # A frame of the system's own on the line makes each place's count as uncertain as that.
    places = [f for f in figures if f.name in PLACES]
    others = max(packets_of(run, run.points[0]).others)
    assert others <= FRAMES_LOST_BEFORE
    assert lost - others <= sum(f.low for f in places) <= lost
    assert lost <= sum(f.high for f in places) <= lost + 2 * others
    (finding,) = [f for f in explain(run, figures) if "UDP lost" in f.claim]
    assert "after the receiving card counted them" in finding.evidence

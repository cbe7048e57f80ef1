"""Findings of sweeps: a cause is claimed where evidence decides it, and only there."""

from pathlib import Path

import pytest
from sweep_points import OCTAVES, SAMPLES, hockney, swept_point, swept_points

from netsonde.explain.data import Seen
from netsonde.explain.sweeps import sweep_findings
from netsonde.figures.compute import figures_of
from netsonde.records.data import Run

LINE = hockney()
FACTS = {"interface.v0.mtu": 1500, "cpu.cache.l2_bytes": 1 << 20}


def dipped(low, high, factor=1.5, curve=LINE):
    """The curve, with times that are longer for sizes above low and up to high."""
    return lambda size: curve(size) * (factor if low < size <= high else 1.0)


def findings(*groups, facts=FACTS, path=None):
    points = [point for group in groups for point in group]
    manifest = {"origin": "real", "path": path or {}, "hosts": {"h1": facts}}
    run = Run(Path("runs/x"), manifest, points, True)
    return list(sweep_findings(Seen(run, figures_of(run))))


def dips(*groups, **fields):
    return [f for f in findings(*groups, **fields) if "throughput" in f.claim]


def test_a_clean_sweep_is_summed_up_and_nothing_else():
    (only,) = findings(swept_points(LINE))
    assert "TCP latency by size, one way: 20." in only.claim
    assert "towards 1.00" in only.claim or "towards 99" in only.claim
    assert "fitted lines" in only.evidence


def test_a_dip_without_a_cause_is_said_without_one():
    (dip,) = dips(swept_points(dipped(3000, 5000)), facts={})
    assert dip.level == "warning"
    assert "33% lower at 4k" in dip.claim or "34% lower at 4k" in dip.claim
    assert "cause" not in dip.claim
    assert "between 2k and 4k" in dip.evidence
    assert "No cause is decided" in dip.evidence
    assert "--refine" in dip.advice
    assert dip.points == ("p012", "p013")


def boundary_sizes(place):
    return tuple(sorted({*OCTAVES, place, place + 1}))


def test_one_more_segment_is_a_cause_where_it_was_counted():
    sizes = boundary_sizes(2896)
    curve = dipped(2896, 4095, 1.3)
    (dip,) = dips(swept_points(curve, sizes))
    assert "The cause is one more TCP segment." in dip.claim
    assert "Segments sent for a message: 2.00 and 3.00" in dip.evidence
    # The same curve where the kernel counted no further segment, and where it counted nothing.
    for count, is_near in ((7 * SAMPLES, False), (0, True)):
        counted = {"connection.test.data_segs_out": count}
        (other,) = dips(swept_points(curve, sizes, growth=counted))
        assert "The cause" not in other.claim
        assert ("Near: one more TCP segment" in other.evidence) == is_near


def test_a_segment_that_may_lie_there_by_chance_is_not_claimed():
    (dip,) = dips(swept_points(dipped(1500, 2100, 1.4)))
    assert "The cause" not in dip.claim
    assert "Near: one more TCP segment" in dip.evidence


def test_one_more_fragment_is_a_cause():
    fields = {"transport": "udp"}
    (dip,) = dips(swept_points(dipped(1472, 2000, 1.3), boundary_sizes(1472), **fields))
    assert "The cause is one more IP fragment at an MTU of 1500 bytes" in dip.claim
    assert "in 1 and in 2 packets" in dip.evidence
    (far,) = dips(swept_points(dipped(1500, 2100, 1.4), **fields))
    assert "The cause" not in far.claim


def buffered(buffer, factor=1.6, first=1, sizes=OCTAVES, at=None):
    """A sweep with a send buffer whose dip begins right above it, or at another place."""
    place = buffer if at is None else at
    return swept_points(
        dipped(place, 4 * place, factor),
        tuple(sorted({*sizes, place, place + place // 8})),
        first=first,
        label=f"buffer {buffer}",
        options={"buffer": buffer},
        opened={"send_buffer_bytes": buffer, "receive_buffer_bytes": 1 << 30},
    )


def test_a_buffer_is_a_cause_where_the_dip_moves_along_with_it():
    small, large = buffered(10_000), buffered(80_000, first=100)
    found = dips(small, large)
    assert len(found) == 2
    for dip in found:
        assert "The cause is the socket buffer (origin's send buffer)" in dip.claim
        assert "with another buffer" in dip.evidence


def test_a_buffer_is_none_where_the_dip_stays_or_nothing_was_varied():
    stays = dips(buffered(10_000), buffered(80_000, first=100, at=10_000))
    assert len(stays) == 2
    assert not any("The cause" in dip.claim for dip in stays)
    (alone,) = dips(buffered(10_000))
    assert "The cause" not in alone.claim
    assert "Near: the socket buffer" in alone.evidence
    assert "another --buffer" in alone.advice


def test_a_buffer_is_none_where_something_else_differs_too():
    other = buffered(80_000, first=100)
    for point in other:
        point.parameters["options"]["congestion_control"] = "bbr"
    assert not any("The cause" in dip.claim for dip in dips(buffered(10_000), other))


def slow_points(growth_inside, **opened):
    """A dip at 4 KiB with counters of its own there."""
    return [
        swept_point(
            i,
            size,
            dipped(3000, 5000, 2.0)(size),
            growth=growth_inside if size == 4096 else {"connection.test.total_retrans": 0},
            opened=opened,
        )
        for i, size in enumerate(OCTAVES, 1)
    ]


def test_segments_sent_again_are_a_cause_where_most_messages_met_it():
    (dip,) = dips(slow_points({"connection.test.total_retrans": SAMPLES}))
    assert "The cause is segments that were lost and retransmitted" in dip.claim
    (few,) = dips(slow_points({"connection.test.total_retrans": 2}))
    assert "The cause" not in few.claim
    assert "2 segments were retransmitted" in few.evidence


def test_nagle_and_a_delayed_acknowledgement_are_a_cause():
    slow = [
        swept_point(i, size, LINE(size) + (20e6 if size == 4096 else 0), opened={"no_delay": False})
        for i, size in enumerate(OCTAVES, 1)
    ]
    (dip,) = dips(slow)
    assert "The cause is Nagle's algorithm" in dip.claim
    without = [
        swept_point(i, size, LINE(size) + (20e6 if size == 4096 else 0))
        for i, size in enumerate(OCTAVES, 1)
    ]
    (dip,) = dips(without)
    assert "The cause" not in dip.claim


def test_a_change_of_mpis_protocol_is_named_where_the_library_names_its_size():
    curve = dipped(65536, 200_000, 1.4)
    sizes = boundary_sizes(65536)
    facts = {"mpi.environment.MPIR_CVAR_CH4_EAGER": "65536"}
    (named,) = dips(swept_points(curve, sizes, transport="mpi"), facts=facts)
    assert "The cause is MPI's change of protocol at MPIR_CVAR_CH4_EAGER=65536" in named.claim
    (unnamed,) = dips(swept_points(curve, sizes, transport="mpi"), facts={})
    assert "The cause" not in unnamed.claim
    assert "eager to rendezvous" in unnamed.evidence


def test_caches_are_near_and_never_a_cause():
    sizes = tuple(1 << power for power in range(24))
    (fall,) = dips(swept_points(dipped(1 << 20, 1 << 30, 1.5), sizes))
    assert "does not come back" in fall.claim
    assert "The cause" not in fall.claim
    assert "Near: the CPU's L2 cache" in fall.evidence


def test_paging_is_a_cause():
    (dip,) = dips(slow_points({"process.major_faults": 2 * SAMPLES}))
    assert "The cause is memory: the host was paging" in dip.claim


def test_a_burst_of_an_emulated_link_is_a_cause():
    path = {"kind": "lab", "rate_bit_per_s": 10**8, "burst_bytes": 16000}
    quick, slow = hockney(1000.0, 10**9), hockney(1000.0, 10**8)
    curve = lambda size: quick(size) if size <= 16384 else slow(size)  # noqa: E731
    (fall,) = dips(swept_points(curve), path=path)
    assert "The cause is the emulated link, which passes 16000 bytes at once" in fall.claim


def test_a_rate_above_the_emulated_links_has_its_reason():
    path = {"kind": "lab", "rate_bit_per_s": 10**9, "burst_bytes": 32000}
    quick, slow = swept_points(hockney(1000.0, 2 * 10**9)), swept_points(hockney(1000.0, 10**9))
    (above,) = findings(quick, path=path)
    words = "More than the link's 1.000 Gbit/s: it is emulated and passes 32000 bytes"
    assert words in above.claim
    assert "towards" not in above.claim
    for points, known in ((quick, {}), (slow, path)):
        (plain,) = findings(points, path=known)
        assert "emulated" not in plain.claim
        assert "towards" in plain.claim


def test_the_step_of_a_full_segment_is_said_where_it_is_decided():
    sizes = boundary_sizes(1448)
    step = lambda size: LINE(size) + (1500 if size > 1448 else 0)  # noqa: E731
    words = [f.claim for f in findings(swept_points(step, sizes, noise=0.001))]
    assert any("a byte more than a full segment of 1448 bytes costs 1." in w for w in words)
    flat = [f.claim for f in findings(swept_points(LINE, sizes, noise=0.001))]
    assert not any("a byte more" in w for w in flat)


def test_uneven_sizes_are_said():
    def beside(size, times=1.0):
        return [
            swept_point(200 + size, size - 3, LINE(size - 3), perturbed_bytes=-3),
            swept_point(900_000 + size, size + 3, LINE(size + 3) * times, perturbed_bytes=3),
        ]

    middle = OCTAVES[4:14]
    even = swept_points(LINE) + [p for size in middle for p in beside(size)]
    assert not any("a few bytes" in f.claim for f in findings(even))
    odd = swept_points(LINE)
    odd += [p for size in middle for p in beside(size, 1.3 if size == 4096 else 1.0)]
    (said,) = [f for f in findings(odd) if "a few bytes" in f.claim]
    assert "at 1 size a few bytes more or less matter" in said.claim
    assert "4099 bytes take +" in said.evidence
    assert "--refine measures it again" in said.advice


def test_curves_that_cross_are_said_with_the_place():
    quick = swept_points(hockney(45_000, 331e6), label="nodelay", options={"no_delay": True})
    steep = swept_points(hockney(137_000, 371e6), first=50, label="nagle", options={"no_delay": 0})
    (crossing,) = [f for f in findings(quick, steep) if " cross: " in f.claim]
    assert "TCP latency, nodelay is faster up to" in crossing.claim
    assert "(between 16k and 64k)" in crossing.claim or "(between 32k and 64k)" in crossing.claim
    same = swept_points(hockney(45_000, 331e6), first=90, label="again", options={"no_delay": 2})
    assert not [f for f in findings(quick, same) if " cross: " in f.claim]


def test_many_sweeps_are_summed_up_together():
    groups = [
        swept_points(hockney(bit_per_s=rate), first=100 * i, label=f"b{i}", options={"buffer": i})
        for i, rate in enumerate((1e9, 2e9, 3e9, 4e9, 5e9), 1)
    ]
    sums = [f.claim for f in findings(*groups) if "5 sweeps" in f.claim]
    assert len(sums) == 1
    assert "of TCP latency, b1 at least" in sums[0]
    assert "of TCP latency, b5 at most" in sums[0]


@pytest.mark.parametrize("seed", range(10))
def test_noise_is_not_explained(seed):
    said = findings(swept_points(LINE, noise=0.03, seed=seed))
    assert len(said) == 1

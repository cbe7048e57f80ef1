"""Figures from samples whose truth is known."""

import numpy as np
import pytest

from netsonde.figures.compute import figures_of_point, find
from netsonde.figures.slowest_rank import slowest_rank
from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.records.data import Batch, EndData, Point
from netsonde.stats.proportions import wilson_interval


def _end(rank, counters=None, **series):
    end = EndData(rank, f"h{rank + 1}", counters=counters or {})
    end.series = {k: np.asarray(v, dtype=np.int64) for k, v in series.items()}
    return end


def _point(transport, test, batches, **parameters):
    return Point("p001", transport, test, {"message_bytes": 1000, **parameters}, batches=batches)


def test_latency_figures_are_those_of_the_samples():
    rng = np.random.default_rng(1)
    samples = rng.exponential(10_000, 5000).astype(np.int64) + 20_000
    batches = [
        Batch(i, {0: _end(0, {"messages_sent": 500}, round_trip_ns=part)})
        for i, part in enumerate(np.split(samples, 10))
    ]
    figures = figures_of_point(_point("udp", "latency", batches))
    median = find(figures, "round_trip_median_ns", "p001")
    assert median.value == pytest.approx(np.median(samples))
    assert median.low < 20_000 + 10_000 * np.log(2) < median.high
    assert median.samples == 5000
    assert find(figures, "round_trip_min_ns", "p001").value == samples.min()
    assert find(figures, "round_trip_max_ns", "p001").value == samples.max()
    assert find(figures, "unanswered_ratio", "p001").value == 0
    echoes = figures_of_point(_point("icmp", "latency", batches))
    assert [(f.name, f.value) for f in echoes] == [(f.name, f.value) for f in figures]


def test_a_slow_start_is_left_out_of_the_median_but_not_of_the_largest():
    samples = np.concatenate([np.full(100, 90_000), np.full(900, 10_000)])
    samples = samples + np.random.default_rng(2).integers(0, 100, 1000)
    point = _point("tcp", "latency", [Batch(0, {0: _end(0, round_trip_ns=samples)})])
    figures = figures_of_point(point)
    assert find(figures, "round_trip_mean_ns", "p001").value < 11_000
    assert find(figures, "round_trip_max_ns", "p001").value > 90_000


def _udp_ends(drained):
    """1 ms of 125 kB in datagrams, 100 us on their way; the notice was held back for 30 us."""
    origin = {"start_ns": 0, "end_ns": 1_230_000, "sync_round_trip_ns": 200_000}
    origin |= {"notice_held_ns": 30_000, "bytes_sent": 125_000, "messages_sent": 125}
    origin |= {"drained_ns": 1_000_000} if drained else {}
    target = {"start_ns": 100_000, "end_ns": 1_100_000, "sync_round_trip_ns": 200_000}
    return {0: _end(0, origin), 1: _end(1, target | {"bytes_received": 125_000, "lost": 0})}


@pytest.mark.parametrize("drained", [True, False])
def test_datagrams_on_their_way_are_in_neither_ends_time(drained):
    """Both clocks run for 1 ms: from a departure to one, and from an arrival to one."""
    rates = stream_rates_bit_per_s(Batch(0, _udp_ends(drained)))
    assert rates == pytest.approx((1e9, 1e9))


def test_stream_rates_are_corrected_by_half_a_round_trip():
    # 1 ms of sending, seen with a round trip of 200 us: the origin's notice came 100 us late, the
    # target's clock began 100 us late. Both must find 1000 bytes * 125 in 1 ms = 1 Gbit/s.
    origin = _end(
        0,
        {
            "start_ns": 0,
            "end_ns": 1_100_000,
            "sync_round_trip_ns": 200_000,
            "bytes_sent": 125_000,
            "messages_sent": 125,
        },
    )
    target = _end(
        1,
        {
            "start_ns": 100_000,
            "end_ns": 1_000_000,
            "sync_round_trip_ns": 200_000,
            "bytes_received": 125_000,
        },
    )
    figures = figures_of_point(_point("tcp", "stream", [Batch(0, {0: origin, 1: target})]))
    assert find(figures, "throughput_bit_per_s", "p001").value == pytest.approx(1e9)
    assert find(figures, "throughput_origin_bit_per_s", "p001").value == pytest.approx(1e9)


def test_udp_losses_are_shares_of_what_was_sent():
    origin = _end(
        0,
        {
            "start_ns": 0,
            "end_ns": 10**6,
            "drained_ns": 10**6,
            "sync_round_trip_ns": 0,
            "bytes_sent": 10**6,
            "messages_sent": 1000,
        },
    )
    target = _end(
        1,
        {
            "start_ns": 0,
            "end_ns": 10**6,
            "sync_round_trip_ns": 0,
            "bytes_received": 990_000,
            "lost": 10,
            "reordered": 5,
            "duplicates": 2,
        },
    )
    figures = figures_of_point(_point("udp", "stream", [Batch(0, {0: origin, 1: target})]))
    lost = find(figures, "lost_ratio", "p001")
    assert lost.value == 0.01
    assert lost.low < 0.01 < lost.high
    assert find(figures, "reordered_ratio", "p001").value == 0.005
    assert find(figures, "duplicate_ratio", "p001").value == 0.002


def test_gaps_delay_order_and_runs_of_loss_of_datagrams():
    """Ten datagrams, one each us, 500 ns on their way; the second is 300 ns and the fifth 2,500 ns
    late, so that it comes behind the seventh; the ninth and tenth never come."""
    sent = np.arange(10) * 1000
    delay = np.full(10, 500)
    delay[1], delay[4] = 800, 3000
    order = np.array([0, 1, 2, 3, 5, 6, 4, 7])
    received = (sent + delay)[order]
    counters = {"start_ns": 0, "end_ns": 10**4, "drained_ns": 10**4, "sync_round_trip_ns": 0}
    origin = _end(0, {**counters, "bytes_sent": 1000, "messages_sent": 10}, sent_ns=sent.tolist())
    target = _end(
        1,
        {**counters, "bytes_received": 800, "lost": 2, "reordered": 1, "duplicates": 0},
        received_ns=received.tolist(),
        sequence=order.tolist(),
    )
    figures = figures_of_point(_point("udp", "stream", [Batch(0, {0: origin, 1: target})]))

    def value(name):
        return find(figures, name, "p001").value

    assert value("send_gap_median_ns") == 1000
    assert value("delay_variation_median_ns") == 0
    for name in ("send_gap", "delay_variation"):  # of ten there is none
        assert find(figures, f"{name}_p99_ns", "p001") is None
    assert value("arrival_gap_median_ns") == 1000
    assert value("reordering_extent_max") == 2
    assert value("loss_run_max") == 2
    assert 0 < value("jitter_ns") < 500


def _flow(number, start_ns, elapsed_ns, sent_bytes):
    """Origin and target of one flow on one clock, half a round trip of 100 ns apart."""
    ended = {"sync_round_trip_ns": 200, "end_ns": start_ns + elapsed_ns}
    origin = {**ended, "start_ns": start_ns, "drained_ns": start_ns + elapsed_ns}
    target = {**ended, "start_ns": start_ns + 100, "bytes_received": sent_bytes}
    return {
        2 * number: _end(2 * number, {**origin, "bytes_sent": sent_bytes}),
        2 * number + 1: _end(2 * number + 1, target),
    }


def test_several_flows_take_the_time_from_the_first_start_to_the_last_end():
    """1 ms of 1 MB, and from the middle of it 1 ms of 0.5 MB: 1.5 MB in 1.5 ms, not 12 Gbit/s."""
    batch = Batch(0, _flow(0, 0, 10**6, 10**6) | _flow(1, 500_000, 10**6, 500_000))
    figures = figures_of_point(_point("tcp", "stream", [batch], streams=2))
    assert find(figures, "throughput_bit_per_s", "p001").value == pytest.approx(8e9)
    assert find(figures, "throughput_origin_bit_per_s", "p001").value == pytest.approx(8e9)
    assert find(figures, "fastest_flow_bit_per_s", "p001").value == pytest.approx(8e9)
    assert find(figures, "slowest_flow_bit_per_s", "p001").value == pytest.approx(4e9)
    assert find(figures, "fairness_ratio", "p001").value == pytest.approx(0.9)


def test_a_duplex_loses_either_way():
    counters = {"start_ns": 0, "end_ns": 10**6, "sync_round_trip_ns": 0, "bytes_received": 1000}
    there = {**counters, "messages_sent": 100, "lost": 5, "reordered": 0, "duplicates": 0}
    back = {**counters, "messages_sent": 200, "lost": 20, "reordered": 0, "duplicates": 0}
    batch = Batch(0, {0: _end(0, there), 1: _end(1, back)})
    figures = figures_of_point(_point("udp", "duplex", [batch]))
    assert find(figures, "lost_ratio", "p001").value == 0.2
    assert find(figures, "lost_back_ratio", "p001").value == 0.025


def _open_loop_end(count, interval_ps, responses, last_answer_ns):
    counters = {
        **{"start_ns": 0, "interval_ps": interval_ps, "last_answer_ns": last_answer_ns},
        **{"messages_sent": count, "messages_received": len(responses)},
        "unanswered": count - len(responses),
    }
    intended = np.arange(count) * interval_ps // 1000
    return _end(0, counters, response_ns=responses, sent_ns=intended + 7)


def test_an_open_loop_has_its_pilots_for_the_capacity_alone():
    """Pilots of 1, 2 and 4 us a message; then one each 10 us, answered after 30 us, one never."""
    pilots = [
        Batch(i, {0: _open_loop_end(1000, 1, [10**6] * 1000, us * 10**6)})
        for i, us in enumerate((1, 2, 4))
    ]
    measured = Batch(3, {0: _open_loop_end(500, 10**7, [30_000] * 499, 5 * 10**6)})
    figures = figures_of_point(_point("udp", "open_loop", [*pilots, measured], load_ratio=0.2))

    def value(name):
        return find(figures, name, "p001").value

    assert value("capacity_messages_per_s") == pytest.approx(500_000)
    assert value("offered_messages_per_s") == pytest.approx(100_000)
    assert value("response_median_ns") == value("response_max_ns") == 30_000
    assert value("send_lag_p99_ns") == 7
    assert value("unanswered_ratio") == 1 / 500


def test_pingpong_throughput_counts_both_crossings():
    point = _point("tcp", "pingpong", [Batch(0, {0: _end(0, round_trip_ns=[16_000] * 50)})])
    figures = figures_of_point(point)
    assert find(figures, "throughput_bit_per_s", "p001").value == pytest.approx(1e9)


def test_a_collective_ends_with_its_slowest_rank():
    batch = Batch(
        0, {0: _end(0, duration_ns=[10, 40, 10, 10]), 1: _end(1, duration_ns=[20, 20, 20, 20])}
    )
    point = _point("mpi", "collective", [batch], operation="bcast")
    figures = figures_of_point(point)
    assert find(figures, "completion_max_ns", "p001").value == 40
    assert find(figures, "completion_median_ns", "p001").value == 20
    assert find(figures, "rank_duration_median_ns", "p001").value == 20
    assert find(figures, "slowest_rank_median_ns", "p001").value == 20


def test_the_slowest_rank_is_the_one_with_the_largest_median():
    """Not the one with the longest repetition, which the completion time shows."""
    times = {0: [10, 90, 10], 1: [20, 25, 21], 2: [15, 15, 15]}
    first = Batch(0, {rank: _end(rank, duration_ns=own) for rank, own in times.items()})
    second = Batch(1, {rank: _end(rank, duration_ns=[16] * 3) for rank in times})
    found = slowest_rank([first, second])
    assert (found.rank, list(found.times_ns)) == (1, [20, 25, 21, 16, 16, 16])
    figures = figures_of_point(_point("mpi", "collective", [first, second], operation="bcast"))
    assert find(figures, "slowest_rank_median_ns", "p001").value == 18
    assert find(figures, "completion_max_ns", "p001").value == 90
    assert slowest_rank([Batch(0, {0: _end(0, round_trip_ns=[1])})]) is None


def test_nothing_measured_gives_no_figures():
    assert figures_of_point(_point("tcp", "stream", [])) == []


def test_wilson_interval_covers():
    # Wilson 1927; the classical check value for 10 of 100 (Newcombe 1998, table I: 0.0552, 0.1744).
    low, high = wilson_interval(10, 100)
    assert (low, high) == (pytest.approx(0.0552, abs=1e-4), pytest.approx(0.1744, abs=1e-4))
    assert wilson_interval(0, 0) == (0.0, 1.0)

"""Figures of packets from counters whose meaning is known."""

from pathlib import Path

import pytest

from netsonde.figures.compute import figures_of
from netsonde.figures.packets import packets_of
from netsonde.records.data import Batch, EndData, Point, Run, Snapshot
from netsonde.records.interrupts import counted_apart

HOSTS = {
    "h1": {"interface.eth0.mtu": 1500, "interface.eth0.device": "virtio2"},
    "h2": {"interface.eth0.mtu": 1500, "interface.eth0.speed_mbit": 1000},
}
NETWORK = {"kind": "network", "rate_bit_per_s": None}
LAB = {"kind": "lab", "rate_bit_per_s": 10**9}


def end(rank, counters, growth, seconds=1.0):
    base = dict.fromkeys(growth, 1000)
    made = EndData(rank, f"h{rank + 1}", counters={"sync_round_trip_ns": 0, **counters})
    made.before = Snapshot("before", 0, 0, base)
    made.after = Snapshot(
        "after", int(seconds * 1e9), 0, {name: 1000 + growth[name] for name in growth}
    )
    return made


def interface(tx=(0, 0), rx=(0, 0), **more):
    names = ("tx_packets", "tx_bytes", "rx_packets", "rx_bytes")
    return {f"interface.eth0.{n}": v for n, v in zip(names, (*tx, *rx), strict=True)} | more


def udp_stream(size, sent, frames_out, bytes_out, frames_in, bytes_in, received, **more):
    """A stream of datagrams of 5 s, from the counters of both hosts."""
    times = {"start_ns": 0, "end_ns": 5 * 10**9, "drained_ns": 5 * 10**9}
    origin = {**times, "messages_sent": sent, "bytes_sent": sent * size}
    arrived = {"messages_received": received, "bytes_received": received * size}
    target = {**times, **arrived, "lost": sent - received, "duplicates": 0, "reordered": 0}
    return Point(
        "p001",
        "udp",
        "stream",
        {"message_bytes": size, **more},
        status="finished",
        opened={r: {"interface": "eth0", "local_address": "10.0.0.1"} for r in (0, 1)},
        batches=[
            Batch(
                0,
                {
                    0: end(0, origin, interface(tx=(frames_out, bytes_out))),
                    1: end(1, target, interface(rx=(frames_in, bytes_in))),
                },
            )
        ],
    )


def values(point, path=LAB, hosts=HOSTS):
    run = Run(Path("x"), {"path": path, "hosts": hosts}, [point], True)
    return {f.name: f for f in figures_of(run)}


def test_printed_counters_of_fragments():
    """Table 4-5 of Huang 2004, 4 KiB over 1 MB buffers, with the 1000 frames of the end left out:
    loss in the sending host, and fragments that reached the other and made no datagram."""
    found = values(udp_stream(4096, 244061, 293113, 410_000_000, 293110, 410_000_000, 89870))
    assert found["frames_per_datagram"].value == 3
    assert found["expected_frame_mean_bytes"].value == 1402
    sender, network, receiver = (
        found[f"lost_{place}_frames"].value for place in ("sender", "network", "receiver")
    )
    assert (sender, network) == (244061 * 3 - 293113, 3)
    assert receiver == 293110 - 3 * 89870
    assert sender + network + receiver == 3 * (244061 - 89870)
    lost_before = sender + network
    whole = found["datagrams_lost_with_fragments"]
    assert (whole.low, whole.high) == (-(-lost_before // 3), 244061)
    assert whole.confidence == 1
    assert found["delivered_ratio"].value == pytest.approx(89870 * 4096 / 410_000_000)


def test_average_and_expected_frames_of_datagrams():
    frames = 409_659
    found = values(
        udp_stream(1460, frames, frames, frames * 1506, frames, frames * 1506, frames), NETWORK
    )
    assert found["sent_frame_mean_bytes"].value == 1506  # a card that counts the check sequence
    assert found["expected_frame_mean_bytes"].value == 1502
    rate = frames * 1460 * 8 / 5
    assert found["wire_bit_per_s"].value == pytest.approx(rate * 1526 / 1460)
    assert found["frame_interval_ns"].value == pytest.approx(5e9 / frames)
    assert "lost_network_frames" not in found


def test_other_frames_widen_a_loss():
    """Whatever the protocols counted may be others', and ten frames a second but in a lab."""
    point = udp_stream(1000, 10_000, 9_990, 9_990 * 1042, 9_980, 9_980 * 1042, 9_970)
    point.batches[0].ends[0].after.values["snmp.Udp.OutDatagrams"] = 10_007
    point.batches[0].ends[0].before.values["snmp.Udp.OutDatagrams"] = 0
    found = values(point, NETWORK)["lost_sender_frames"]
    assert found.low == 10  # handed over 10,000, and 9,990 left at most
    assert found.high == min(10 + 7 + 10, 30)
    assert values(point, LAB)["lost_sender_frames"].high == 10 + 7


@pytest.mark.parametrize(("dropped", "lost"), [(0, 0), (1, 1), (None, 1)])
def test_a_frame_counted_late_is_not_lost_where_nothing_dropped(dropped, lost):
    """The interface counted one frame less; its queue's own counter says whether it was dropped."""
    point = udp_stream(1000, 10_000, 9_999, 9_999 * 1042, 9_980, 9_980 * 1042, 9_980)
    if dropped is not None:
        point.batches[0].ends[0].before.values["qdisc.eth0.dropped"] = 5
        point.batches[0].ends[0].after.values["qdisc.eth0.dropped"] = 5 + dropped
    found = values(point, LAB)
    assert found["lost_sender_frames"].low == lost
    assert found["lost_network_frames"].low == 20 - lost


def test_hosts_of_a_lab_ask_for_addresses_again():
    """In a batch of 31 s twice at most, and each answers the other twice."""
    point = udp_stream(1000, 10_000, 10_003, 10_003 * 1042, 9_993, 9_993 * 1042, 9_990)
    assert "lost_sender_frames" not in values(point)
    for batch_end in point.batches[0].ends.values():
        batch_end.after.time_ns = batch_end.before.time_ns + 31 * 10**9
    found = values(point)
    assert (found["lost_sender_frames"].low, found["lost_sender_frames"].high) == (0, 1)
    assert (found["lost_network_frames"].low, found["lost_network_frames"].high) == (6, 10)


def test_what_a_full_socket_dropped_is_not_others():
    """The receiver's kernel counts 30 errors, all of them at the test's own socket."""
    point = udp_stream(1000, 10_000, 10_000, 10_000 * 1042, 10_000, 10_000 * 1042, 9_970)
    ends = point.batches[0].ends[1]
    for name, grown in {
        "snmp.Udp.InDatagrams": 9_970,
        "snmp.Udp.InErrors": 30,
        "connection.test.drops": 30,
    }.items():
        ends.before.values[name] = 0
        ends.after.values[name] = grown
    found = values(point)["lost_receiver_frames"]
    assert (found.low, found.high) == (30, 30)
    del ends.after.values["connection.test.drops"]  # of an older worker
    assert values(point)["lost_receiver_frames"].low == 0


def test_other_frames_widen_the_datagrams_that_lost_fragments():
    """300 frames of 100 datagrams left, 290 came; three of either may be others'."""
    point = udp_stream(4000, 100, 300, 300 * 1402, 290, 290 * 1402, 88)
    ends = point.batches[0].ends[0]
    ends.before.values["snmp.Udp.OutDatagrams"] = 0
    ends.after.values["snmp.Udp.OutDatagrams"] = 103
    found = values(point)["datagrams_lost_with_fragments"]
    # From 10 lost frames, three of each datagram, to 13, one of each; 12 datagrams are lost.
    assert (found.low, found.high) == (4, 13)


def test_the_end_of_a_connection_before_may_fall_into_a_batch():
    """Its last frame was lost and came again: one more on both cards than the test has made."""
    point = udp_stream(1000, 10_000, 10_001, 10_001 * 1042, 9_991, 9_991 * 1042, 9_990)
    counted = (
        {"snmp.Tcp.OutSegs": 1, "snmp.Udp.OutDatagrams": 10_000},
        {"snmp.Tcp.InSegs": 1, "snmp.Udp.InDatagrams": 9_990},
    )
    for rank, grown in enumerate(counted):
        ends = point.batches[0].ends[rank]
        ends.before.values.update(dict.fromkeys(grown, 0))
        ends.after.values.update(grown)
    found = values(point)
    bounds = {
        place: (found[f"lost_{place}_frames"].low, found[f"lost_{place}_frames"].high)
        for place in ("sender", "network", "receiver")
    }
    assert bounds == {"sender": (0, 0), "network": (9, 10), "receiver": (0, 1)}


def test_a_frame_of_control_on_the_wrong_side_of_a_snapshot_does_no_harm():
    found = values(udp_stream(1000, 10_000, 10_000, 10**7, 9_979, 10**7, 9_980))
    places = ("sender", "network", "receiver")
    assert [found[f"lost_{place}_frames"].value for place in places] == [0, 20, 0]
    # More than that is no such thing, and nothing is claimed.
    found = values(udp_stream(1000, 10_000, 10_000, 10**7, 9_900, 10**7, 9_980))
    assert "lost_network_frames" not in found


def test_loss_is_not_placed_where_datagrams_are_cut_below_the_counters():
    point = udp_stream(
        1000, 10_000, 200, 10**7, 200, 10**7, 9_000, options={"segment_offload": True}
    )
    assert "lost_sender_frames" not in values(point)


def tcp_stream(message_bytes=65536, opened=None, seconds=1.0, **growth):
    """1000 full segments, answered by 500 bare acknowledgements and 4 frames of control."""
    payload = 1448 * 1000
    times = {"start_ns": 0, "end_ns": int(seconds * 1e9)}
    control_out = {"connection.control.segs_out": 4, "connection.control.bytes_sent": 64}
    control_in = {"connection.control.segs_in": 4, "connection.control.bytes_received": 64}
    control = {**control_out, **control_in}
    sent = (1000 + 4, 1000 * 1514 + 4 * 66 + 64)
    back = (500 + 4, 500 * 66 + 4 * 66 + 64)
    origin = interface(tx=sent, rx=back) | control
    origin |= {
        "connection.test.data_segs_out": 1000,
        "connection.test.bytes_sent": payload,
        "connection.test.segs_out": 1000,
        **growth,
    }
    target = interface(tx=back, rx=sent) | control
    target |= {"connection.test.data_segs_out": 0, "connection.test.segs_out": 500}
    target |= {"interrupt.virtio2-input.0": 77, "interrupt.eth0-TxRx-0": 150, "interrupt.eth01": 9}
    origin |= {"interrupt.virtio2-input.0": 300, "interrupt.virtio2-output.0": 200}
    ends = {
        0: end(0, {**times, "bytes_sent": payload, "messages_sent": 22}, origin, seconds),
        1: end(1, {**times, "bytes_received": payload, "messages_received": 22}, target, seconds),
    }
    options = {"interface": "eth0", "local_address": "10.0.0.1", "max_segment_bytes": 1448}
    return Point(
        "p001",
        "tcp",
        "stream",
        {"message_bytes": message_bytes},
        status="finished",
        opened=opened or {0: options, 1: options},
        batches=[Batch(0, ends)],
    )


def test_acknowledgements_overhead_and_interrupts_of_tcp():
    found = values(tcp_stream())
    assert found["sent_frame_mean_bytes"].value == 1514
    assert found["received_frame_mean_bytes"].value == 1514
    assert found["expected_frame_mean_bytes"].value == 1514
    assert found["data_frames_per_ack"].value == 2
    assert found["ack_frame_mean_bytes"].value == 66
    assert found["tcp_overhead_ratio"].value == pytest.approx(1500 * 66 / (1448 * 1000))
    assert found["wire_bit_per_s"].value == pytest.approx(1000 * 1538 * 8)
    assert found["frame_interval_ns"].value == pytest.approx(1e6)
    assert found["origin_frames_per_interrupt"].value == pytest.approx(1508 / 500)
    assert found["target_frames_per_interrupt"].value == pytest.approx(1508 / 150)
    assert found["target_interrupts_per_s"].value == pytest.approx(150)


def test_interrupts_are_counted_by_queue():
    point = tcp_stream(
        **{"interrupt.eth0-TxRx-10": 5, "interrupt.eth0-TxRx-2": 0, "interrupt.eth1-TxRx-2": 7}
    )
    run = Run(Path("x"), {"path": LAB, "hosts": HOSTS}, [point], True)
    card = packets_of(run, point).origin
    assert list(card.queues.items()) == [
        ("eth0-TxRx-2", 0),
        ("eth0-TxRx-10", 5),
        ("virtio2-input.0", 300),
        ("virtio2-output.0", 200),
    ]
    assert card.interrupts == 505


def test_interrupts_of_each_direction_are_kept_apart_where_the_card_does():
    found = values(tcp_stream())
    assert found["origin_sent_frames_per_interrupt"].value == pytest.approx(1004 / 200)
    assert found["origin_received_frames_per_interrupt"].value == pytest.approx(504 / 300)
    # The target's card has an interrupt of both that came.
    assert "target_sent_frames_per_interrupt" not in found
    assert "target_received_frames_per_interrupt" not in found


@pytest.mark.parametrize(
    ("queues", "apart"),
    [
        ({"eth0-rx-0": 5, "eth0-rx-1": 7, "eth0-tx-0": 3}, {"sent": 3, "received": 12}),
        ({"virtio2-input.0": 5, "virtio2-output.0": 0, "virtio2-config": 0}, {"received": 5}),
        ({"virtio2-input.0": 5, "virtio2-output.0": 4, "virtio2-config": 1}, None),
        ({"eth0-Tx-Rx-0": 5, "eth0-Tx-Rx-1": 5}, None),
        ({"eth0-TxRx-0": 5}, None),
        ({"eth0-rx-0": 5, "eth0-tx-0": 2, "eth0-Tx-Rx-1": 5}, None),
        ({"eth0-rx-0": 5}, None),  # nobody knows what frames that leave are told by
        ({"mlx5_comp0@pci:0000:03:00.0": 5}, None),
        ({}, None),
    ],
)
def test_names_say_what_an_interrupt_is_of(queues, apart):
    found = counted_apart(queues)
    assert found == (None if apart is None else {"sent": 0, "received": 0} | apart)


def test_six_and_no_time_stamps_are_seen_in_the_expected_frame():
    six = {"interface": "eth0", "local_address": "fd00::1", "max_segment_bytes": 1440}
    hosts = {name: {**facts, "sysctl.net.ipv4.tcp_timestamps": 0} for name, facts in HOSTS.items()}
    point = tcp_stream(opened={0: six, 1: six})
    run = Run(Path("x"), {"path": LAB, "hosts": hosts}, [point], True)
    (frame,) = packets_of(run, point).expected
    assert (frame.ip_bytes, frame.option_bytes, frame.payload_bytes) == (40, 0, 1440)


def test_what_does_not_tell_has_no_figures():
    point = tcp_stream()
    for rank in (0, 1):
        point.opened[rank] = {**point.opened[rank], "interface": "lo"}
    assert "sent_frame_mean_bytes" not in values(point)
    point = tcp_stream()
    for one in point.batches[0].ends.values():
        one.before = one.after = None
    assert "sent_frame_mean_bytes" not in values(point)
    assert "path_round_trip_min_ns" not in values(point)
    # Facts that no frame fits: a segment larger than the interface takes.
    tiny = {name: {"interface.eth0.mtu": 576} for name in HOSTS}
    assert "expected_frame_mean_bytes" not in values(tcp_stream(), hosts=tiny)


def test_window_round_trip_and_the_buffer_that_they_want():
    point = tcp_stream(
        **{
            "connection.test.busy_time": 1_000_000,
            "connection.test.rwnd_limited": 900_000,
            "connection.test.sndbuf_limited": 50_000,
        }
    )
    point.batches[0].ends[0].after.values["connection.test.min_rtt"] = 2900
    found = values(point)
    assert found["receive_window_limited_ratio"].value == 0.9
    assert found["send_buffer_limited_ratio"].value == 0.05
    assert found["path_round_trip_min_ns"].value == 2_900_000
    assert found["bandwidth_delay_bytes"].value == 362_500
    assert found["recommended_buffer_bytes"].value == 725_000
    assert "recommended_buffer_bytes" not in values(point, NETWORK)  # the speed of h1 is not known
    known = {name: {**facts, "interface.eth0.speed_mbit": 1000} for name, facts in HOSTS.items()}
    assert values(point, NETWORK, known)["recommended_buffer_bytes"].value == 725_000


def test_processor_time_for_what_was_moved():
    times = {"process.user_ns": 100_000_000, "process.system_ns": 400_000_000}
    point = tcp_stream(**times)
    assert "cpu_s_per_gbyte" not in values(point)  # the other end's time is not known
    other = point.batches[0].ends[1]
    for name, value in times.items():
        other.before.values[name] = 0
        other.after.values[name] = value
    assert values(point)["cpu_s_per_gbyte"].value == pytest.approx(1.0 / (1448e3 / 1e9))


WORKED = {"user": 3, "nice": 0, "system": 40, "irq": 2, "softirq": 25}


def test_interrupts_are_in_the_time_of_the_hosts():
    """Of 1.448 MB, by ticks of 10 ms; each of a machine's counters may be one off."""
    point = tcp_stream(**{f"cpu.all.{kind}": ticks for kind, ticks in WORKED.items()})
    other = point.batches[0].ends[1]
    assert "interrupt_cpu_s_per_gbyte" not in values(point, NETWORK)  # the other's is not known
    for kind, ticks in WORKED.items():
        other.before.values[f"cpu.all.{kind}"] = 7
        other.after.values[f"cpu.all.{kind}"] = 7 + 2 * ticks
    gbyte = 1448e3 / 1e9
    found = values(point, NETWORK)
    interrupts = found["interrupt_cpu_s_per_gbyte"]
    assert interrupts.value == pytest.approx(0.01 * 3 * 27 / gbyte)
    assert interrupts.low == pytest.approx(0.01 * (3 * 27 - 4) / gbyte)
    assert interrupts.high == pytest.approx(0.01 * (3 * 27 + 4) / gbyte)
    assert found["host_cpu_s_per_gbyte"].value == pytest.approx(0.01 * 3 * 70 / gbyte)


def test_hosts_of_a_lab_are_one_machine():
    point = tcp_stream(**{f"cpu.all.{kind}": ticks for kind, ticks in WORKED.items()})
    run = Run(Path("x"), {"path": LAB, "hosts": HOSTS, "origin": "emulated"}, [point], True)
    found = {f.name: f.value for f in figures_of(run)}
    assert found["interrupt_cpu_s_per_gbyte"] == pytest.approx(0.01 * 27 / (1448e3 / 1e9))

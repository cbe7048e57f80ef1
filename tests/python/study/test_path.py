"""Options of a study as those of the workers."""

import os

from netsonde.study.open_sockets import processors_apart, worker_options


def test_buffers_go_both_ways_and_apart():
    origin, target = worker_options("tcp", {"buffer": 1000})
    assert origin == target == {"send_buffer_bytes": 1000, "receive_buffer_bytes": 1000}
    origin, _ = worker_options("udp", {"buffer": 1000, "receive_buffer": 4000})
    assert origin == {"send_buffer_bytes": 1000, "receive_buffer_bytes": 4000}


def test_what_is_tcps_is_left_out_for_udp():
    options = {"no_delay": True, "congestion_control": "cubic", "max_segment": 500, "wait": "spin"}
    assert worker_options("udp", options)[0] == {"wait": "spin"}
    assert worker_options("tcp", options)[1] == {
        "no_delay": True,
        "congestion_control": "cubic",
        "max_segment_bytes": 500,
        "wait": "spin",
    }


def test_the_targets_buffers_may_differ():
    origin, target = worker_options("tcp", {"buffer": 1000, "target_buffer": 3000, "cork": True})
    assert origin == {"send_buffer_bytes": 1000, "receive_buffer_bytes": 1000, "cork": True}
    assert target == {"send_buffer_bytes": 3000, "receive_buffer_bytes": 3000, "cork": True}
    origin, _ = worker_options("udp", {"cork": True, "multipath": True, "traffic_class": 8})
    assert origin == {"traffic_class": 8}
    both = {"datagrams_per_call": 8, "segment_offload": True}
    assert worker_options("udp", both)[1] == both
    assert worker_options("tcp", both)[1] == {}


def test_echoes_have_few_options():
    options = {"buffer": 1000, "no_delay": True, "kernel_times": True, "segment_offload": True}
    options |= {"traffic_class": 8, "busy_poll_us": 5, "wait": "spin", "origin_cpu": 1}
    assert worker_options("icmp", options)[0] == {
        **{"traffic_class": 8, "busy_poll_us": 5, "wait": "spin", "cpu": 1}
    }


def test_each_end_gets_its_own_processor():
    origin, target = worker_options("tcp", {"origin_cpu": 3, "target_cpu": 5})
    assert (origin["cpu"], target["cpu"]) == (3, 5)


def test_processors_apart_differ_and_are_allowed(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {4, 2, 9})
    assert processors_apart() == {"origin_cpu": 2, "target_cpu": 4}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {4})
    assert processors_apart() == {}

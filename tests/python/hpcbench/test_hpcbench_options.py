"""Options of Hpcbench's clients and of sysmon: defaults, units, and what is refused."""

import dataclasses
from typing import Any

import pytest

from netsonde.errors import UsageError
from netsonde.hpcbench.amounts import parse_rate_bit_per_s, parse_size_bytes, parse_time
from netsonde.hpcbench.monitor_options import (
    GivenMonitor,
    monitor_settings_of,
    refuse_beside_kill,
)
from netsonde.hpcbench.options import Given, settings_of
from netsonde.hpcbench.requests import changed_buffers, run_fields, socket_options


def tcp(**given):
    return settings_of("tcp", Given("node7", **given))


def udp(**given):
    return settings_of("udp", Given("node7", **given))


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("1", 1), ("1460", 1460), ("64k", 65536), ("64K", 65536), ("1m", 1 << 20), ("10M", 10 << 20)],
)
def test_sizes_are_binary(text, size_bytes):
    assert parse_size_bytes(text, "-m", 1, 1 << 30) == size_bytes


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5k", "1g", "k", "1 k", "1kB", "9" * 18, "२"])
def test_what_is_no_size_or_does_not_fit_is_refused(text):
    with pytest.raises(UsageError, match="-m"):
        parse_size_bytes(text, "-m", 1, 1 << 30)


def test_rates_are_decimal():
    assert parse_rate_bit_per_s("10M", "-T", 1000, 10**12) == 10_000_000
    assert parse_rate_bit_per_s("500k", "-T", 1000, 10**12) == 500_000
    with pytest.raises(UsageError, match="-T"):
        parse_rate_bit_per_s("10", "-T", 1000, 10**12)


def test_times_may_have_parts():
    assert [parse_time(text, "-t", 0.05, 10) for text in ("5", "0.5", ".5", "5.")] == [
        5,
        0.5,
        0.5,
        5,
    ]
    for text in ("", ".", "1e3", "11", "0", "nan", "-1"):
        with pytest.raises(UsageError, match="-t"):
            parse_time(text, "-t", 0.05, 10)


def test_the_usual_tcp_test():
    settings = tcp()
    assert (settings.mode, settings.sizes, settings.call_bytes) == ("stream", (65536,), 8192)
    assert (settings.repetitions, settings.test_s, settings.iterations) == (10, 5.0, None)
    assert (settings.buffer_bytes, settings.server_buffer_bytes) == (None, None)
    assert not settings.no_delay
    assert settings.port is None


def test_the_usual_udp_test():
    settings = udp()
    assert (settings.mode, settings.sizes, settings.call_bytes) == ("stream", (1460,), None)
    assert (settings.repetitions, settings.test_s) == (10, 5.0)
    assert settings.amount_bytes == 1 << 20
    assert settings.rate_bit_per_s is None


def test_modes():
    assert tcp(round_trip=True).mode == "round_trip"
    assert tcp(round_trip=True).sizes == (64,)
    assert tcp(round_trip_size="1k").sizes == (1024,)
    assert tcp(both_ways=True).mode == "ping_pong"
    assert tcp(both_ways=True, ready=True).mode == "both_ways"
    assert udp(both_ways=True).mode == "both_ways"
    assert udp(generator=True, rate="1M").mode == "generator"


def test_exponential_sizes():
    assert tcp(exponential=4).sizes == (1, 2, 4, 8, 16)
    assert len(tcp(exponential=27).sizes) == 28
    assert tcp(exponential=27).repetitions == 1
    assert udp(exponential_datagrams=True, datagram="100").sizes == (1, 2, 4, 8, 16, 32, 64, 100)
    assert udp(exponential_datagrams=True, datagram="64").sizes == (1, 2, 4, 8, 16, 32, 64)
    assert udp(exponential_datagrams=True).sizes[-2:] == (1024, 1460)


def test_a_call_of_udp_is_a_datagram():
    assert udp(call="1000").sizes == (1000,)


def test_the_servers_buffer_follows_the_clients():
    assert tcp(buffer="100k").server_buffer_bytes == 102400
    assert tcp(buffer="100k", server_buffer="1m").server_buffer_bytes == 1 << 20
    assert tcp(server_buffer="1m").buffer_bytes is None


@pytest.mark.parametrize(
    ("transport", "given", "words"),
    [
        ("tcp", {"log_system": True}, "-c needs -o"),
        ("tcp", {"plot": True}, "-P needs -o"),
        ("tcp", {"exponential": 5, "message": "1k"}, "-e and -m"),
        ("tcp", {"json": True}, "--json needs -o"),
        ("udp", {"csv": True}, "--csv needs -o"),
        ("tcp", {"port": 3000}, "-p 3000 is the port of a server"),
        ("tcp", {"file": "x", "ready": True}, "-f and -n"),
        ("tcp", {"file": "x", "both_ways": True}, "-f and -i"),
        ("tcp", {"segment": "40"}, "-M"),
        ("tcp", {"message": "5000m"}, "-m"),
        ("tcp", {"time": "0"}, "-t"),
        ("udp", {"generator": True, "round_trip": True}, "-a and -g"),
        ("udp", {"generator": True, "rate": "1M", "server_buffer": "1m"}, "-g and -B"),
        ("udp", {"generator": True, "rate": "1M", "both_ways": True}, "-g and -i"),
        ("udp", {"both_ways": True, "rate": "1M"}, "-i and -T"),
        ("udp", {"call": "1461"}, "-d 1461 and -l 1460"),
        ("udp", {"datagram": "65508"}, "-l"),
        ("udp", {"datagram": "10k", "buffer": "10k"}, "-l 10240 and -b 10240"),
        ("udp", {"datagram": "10k", "buffer": "1m", "server_buffer": "8k"}, "-l 10240 and -B 8192"),
        ("udp", {"round_trip_size": "8k", "buffer": "8k"}, "-A 8192 and -b 8192"),
        ("udp", {"exponential_datagrams": True, "message": "100m"}, "-m 100m and -e"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(transport, given, words):
    with pytest.raises(UsageError) as refusal:
        settings_of(transport, Given("node7", **given))
    assert words in str(refusal.value)


def test_what_has_no_effect_is_said():
    assert "-t has no effect" in tcp(iterations=5, time="3").notices[0]
    assert "-r has no effect" in tcp(exponential=5, repetitions=3).notices[0]
    assert "-p has no effect" in settings_of("tcp", Given("local", port=3000)).notices[0]
    assert "as fast as this host can" in udp(generator=True).notices[0]
    assert "in spite of -N" in tcp(cork=True, no_delay=True).notices[0]
    assert tcp(port=3000, pair="x").notices == ()
    assert udp(exponential_datagrams=True, message="1k").amount_bytes == 1024


def test_half_of_a_buffer_is_asked_for():
    client, server = socket_options(tcp(buffer="100k", server_buffer="1m", quality=3, cork=True))
    assert client["send_buffer_bytes"] == client["receive_buffer_bytes"] == 51200
    assert server["send_buffer_bytes"] == 524288
    assert (client["traffic_class"], client["cork"], client["no_delay"]) == (0x28, True, False)
    assert "no_delay" not in socket_options(udp())[0]
    assert socket_options(tcp(ready=True))[1]["wait"] == "ready"
    assert socket_options(tcp(file="x"))[0]["sending"] == "sendfile"


def test_buffers_that_the_system_cut_are_named():
    opened = {
        0: {"send_buffer_bytes": 102400, "receive_buffer_bytes": 102400},
        1: {"send_buffer_bytes": 425984, "receive_buffer_bytes": 1 << 20},
    }
    found = changed_buffers(tcp(buffer="100k", server_buffer="1m"), opened)
    assert found == [
        "the server's system cut the send buffer from 1048576 to 425984 bytes, "
        "the most that it allows"
    ]
    assert changed_buffers(tcp(), opened) == []
    client = {0: opened[0]}
    assert changed_buffers(tcp(buffer="102401"), client) == []  # odd: rounded


@pytest.mark.parametrize("asked", [2, 3, 100, 2303, 2304, 2305, 4606, 4608, 10000])
def test_buffers_that_the_system_raised_are_named(asked):
    """As Linux does: no send buffer below 4608 bytes, no receive buffer below 2304."""
    even = asked // 2 * 2
    got = {"send_buffer_bytes": max(even, 4608), "receive_buffer_bytes": max(even, 2304)}
    found = changed_buffers(tcp(buffer=str(asked)), {0: got, 1: got})
    named = [
        f"the {end}'s system raised the {way} buffer from {asked} to {least} bytes"
        for end in ("client", "server")
        for way, least in (("send", 4608), ("receive", 2304))
        if even < least
    ]
    assert [text.partition(", ")[0] for text in found] == named


IGNORED: dict[str, dict[str, Any]] = {
    "tcp": {
        **{"call": "4k", "exponential": 3, "file": "x", "both_ways": True, "message": "nonsense"},
    },
    "udp": {
        **{"call": "9", "exponential_datagrams": True, "both_ways": True, "datagram": "9"},
        **{"message": "1k", "rate": "1M"},
    },
    "mpi": {"exponential": 3, "both_ways": True, "message": "1k", "ready": True},
}


@pytest.mark.parametrize("letter", [{"round_trip": True}, {"round_trip_size": "64"}])
@pytest.mark.parametrize(
    ("transport", "name"),
    [(transport, name) for transport in IGNORED for name in IGNORED[transport]],
)
def test_round_trips_look_at_nothing_else(transport, name, letter):
    """As Hpcbench's -a: what is given besides is ignored, and that is said."""
    plain = settings_of(transport, Given("node7", **letter))
    given = Given("node7", **letter, **{name: IGNORED[transport][name]})
    found = settings_of(transport, given)
    assert "no effect" in found.notices[0]
    assert dataclasses.replace(found, notices=()) == plain


def test_a_file_is_named_to_the_client_alone(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    client, server = socket_options(tcp(file="x y"))
    assert client["file"] == str(tmp_path / "x y")
    assert "file" not in server
    assert client["sending"] == server["sending"] == "sendfile"


def test_fields_of_a_run():
    assert run_fields(tcp(both_ways=True, call="4k"), 65536) == {
        "test": "pingpong",
        "message_bytes": 65536,
        "call_bytes": 4096,
        "system_counters": False,
    }
    assert run_fields(udp(rate="10M"), 1460) == {
        "test": "stream",
        "message_bytes": 1460,
        "rate_bit_per_s": 10_000_000,
        "record_messages": False,
        "system_counters": False,
    }
    logged = tcp(round_trip=True, log_system=True, output="out")
    assert run_fields(logged, 64) == {"test": "latency", "message_bytes": 64}


def monitor(**given):
    return monitor_settings_of(GivenMonitor(**given))


def test_the_usual_monitor():
    settings = monitor()
    assert (settings.samples, settings.interval_s, settings.writes) == (10, 2.0, False)
    assert monitor(write_each=True).writes
    assert monitor(output="x").writes


def test_a_week_of_ten_minutes():
    settings = monitor(background=True, write=True, interval="600", minutes="10080")
    assert (settings.samples, settings.interval_s) == (1008, 600.0)
    assert monitor(write=True, interval="0.1", minutes="0.005").samples == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"background": True}, "-b needs a file"),
        ({"minutes": "5"}, "-T needs a file"),
        ({"write": True, "minutes": "5", "samples": 4}, "-T and -r"),
        ({"write": True, "minutes": "1", "interval": "61"}, "-T 1 and -t 61"),
        ({"interval": "0"}, "-t"),
    ],
)
def test_what_a_monitor_cannot_do(given, words):
    with pytest.raises(UsageError) as refusal:
        monitor(**given)
    assert words in str(refusal.value)


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(GivenMonitor)])
def test_nothing_goes_with_kill(field):
    changes: dict[str, Any] = {"kill": True, field: True}
    given = GivenMonitor(**changes)
    if field == "kill":
        refuse_beside_kill(given)
        return
    with pytest.raises(UsageError, match="-k and -"):
        refuse_beside_kill(given)

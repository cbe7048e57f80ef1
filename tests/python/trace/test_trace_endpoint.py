"""The values of the moment over HTTP: by a parser of OpenMetrics that is not ours."""

import contextlib
import socket
import urllib.error
import urllib.request

import pytest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from trace_made import head, made_trace, write_file

from netsonde import endpoint as serving
from netsonde.endpoint import Endpoint, Listen, parse_listen
from netsonde.errors import UsageError
from netsonde.trace.endpoint import Values
from netsonde.trace.journal import Counter
from netsonde.trace.openmetrics import metrics

COUNTERS = {
    Counter("cpu.all.user", "c", "jiffies"): 300,
    Counter("cpu.0.user", "c", "jiffies"): 150,
    Counter("cpu.1.user", "c", "jiffies"): 151,
    Counter("interface.eth0.1.rx_bytes", "c", "bytes"): -1,
    Counter("interface.eth0.1.index", "g", "count"): 3,
    Counter("interrupt.virtio3-input.0", "c", "count"): 17,
    Counter('interrupt.a"b\\c', "c", "count"): 1,
    Counter("interrupt_cpu.1.virtio3-input.0", "c", "count"): 17,
    Counter("driver.eth0.rx_queue_0_drops", "u", "count"): 5,
    Counter("qdisc.eth0.fq_codel@1:1.drops", "c", "count"): 6,
    Counter("qdisc.eth0.fq_codel@1:1.backlog_bytes", "g", "bytes"): 7,
    Counter("frequency.0_khz", "g", "kHz"): 2_400_000,
    Counter("frequency.0.core_throttled", "c", "count"): 2,
    Counter("pressure.cpu.some_us", "c", "us"): 1_500_000,
    Counter("load.one_minute_milli", "g", "1/1000"): 1250,
    Counter("snmp.Tcp.RetransSegs", "c", "count"): 9,
    Counter("memory.free_bytes", "g", "bytes"): 4096,
    Counter("infiniband.mlx5_0.1.tx_bytes", "c", "bytes"): 8,
    Counter("link.eth0.speed_mt_per_s", "g", "MT/s"): 8000,
    Counter("gone.x", "c", "count"): None,
}


def parsed(text):
    """{(sample, labels): value}, and the families by name."""
    families = {f.name: f for f in text_string_to_metric_families(text)}
    samples = {
        (s.name, tuple(sorted(s.labels.items()))): s.value
        for f in families.values()
        for s in f.samples
    }
    return samples, families


def test_every_kind_of_counter_is_understood_by_the_parser():
    info = {"host": 'node "1"', "version": "0"}
    text = metrics(COUNTERS, COUNTERS.values(), info, 1785412800.5, 100).decode()
    samples, families = parsed(text)
    assert samples[("netsonde_cpu_seconds_total", (("cpu", "1"), ("mode", "user")))] == 1.51
    assert samples[("netsonde_interface_rx_bytes_total", (("interface", "eth0.1"),))] == float(
        2**64 - 1
    )
    assert samples[("netsonde_interrupts_total", (("interrupt", 'a"b\\c'),))] == 1
    assert (
        samples[
            ("netsonde_interrupts_by_cpu_total", (("cpu", "1"), ("interrupt", "virtio3-input.0")))
        ]
        == 17
    )
    assert (
        samples[("netsonde_driver", (("interface", "eth0"), ("statistic", "rx_queue_0_drops")))]
        == 5
    )
    queue = (("interface", "eth0"), ("kind", "fq_codel"), ("parent", "1:1"))
    assert samples[("netsonde_qdisc_drops_total", queue)] == 6
    assert samples[("netsonde_qdisc_backlog_bytes", queue)] == 7
    assert samples[("netsonde_cpu_frequency_hertz", (("cpu", "0"),))] == 2.4e9
    assert samples[("netsonde_pressure_some_seconds_total", (("resource", "cpu"),))] == 1.5
    assert samples[("netsonde_load_one_minute", ())] == 1.25
    assert samples[("netsonde_snmp_Tcp_RetransSegs_total", ())] == 9
    assert samples[("netsonde_memory_free_bytes", ())] == 4096
    assert samples[("netsonde_trace_sampled_timestamp_seconds", ())] == 1785412800.5
    assert families["netsonde_interface_rx_bytes"].unit == "bytes"
    assert families["netsonde_driver"].type == "unknown"
    assert not any("all" in dict(labels).get("cpu", "") for _, labels in samples)
    assert text.endswith("# EOF\n")


@pytest.fixture
def running(tmp_path):
    made_trace(tmp_path, [{"a.x": 1, "snmp.Tcp.RetransSegs": 4}, {"a.x": 2}])
    with Endpoint(Values(tmp_path).document, Listen("127.0.0.1", 0)) as one:
        yield one


def test_who_asks_gets_the_latest_values(running, tmp_path):
    def asked():
        with urllib.request.urlopen(running.url, timeout=10) as answer:
            assert answer.headers["Content-Type"] == CONTENT_TYPE_LATEST
            return parsed(answer.read().decode())[0]

    assert asked()[("netsonde_a_x_total", ())] == 2
    assert ("netsonde_snmp_Tcp_RetransSegs_total", ()) not in asked()
    with (tmp_path / "trace-000001.log").open("a") as file:
        file.write("S 2 0 0 1+5\n")
    assert asked()[("netsonde_a_x_total", ())] == 7


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET /secret HTTP/1.1", 404),
        ("POST /metrics HTTP/1.1", 405),
        ("nonsense", 400),
        ("GET /metrics", 400),
        ("GET " + "/" * 9000 + " HTTP/1.1", 400),
        ("HEAD /metrics HTTP/1.1", 200),
        ("GET /metrics?x=1 HTTP/1.0", 200),
    ],
)
def test_other_requests(running, request_line, status):
    with socket.create_connection(("127.0.0.1", running.port), 10) as connection:
        connection.sendall(request_line.encode() + b"\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            answer = connection.recv(100)
    assert int(answer.split(b" ")[1]) == status


def test_who_says_nothing_is_not_waited_for(running, monkeypatch):
    monkeypatch.setattr(serving, "PATIENCE_S", 0.2)
    idle = [socket.create_connection(("127.0.0.1", running.port), 10) for _ in range(6)]
    with urllib.request.urlopen(running.url, timeout=20) as answer:
        assert answer.status == 200
    for connection in idle:
        connection.close()


def test_a_trace_that_cannot_be_read_is_no_end(tmp_path):
    write_file(tmp_path, head() + "nonsense\n")
    with Endpoint(Values(tmp_path).document, Listen("127.0.0.1", 0)) as one:
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(one.url, timeout=10)
            assert error.value.code == 503


def test_places_to_listen():
    assert parse_listen("9100") == Listen("127.0.0.1", 9100)
    assert parse_listen("0.0.0.0:0") == Listen("0.0.0.0", 0)
    assert parse_listen("[::1]:9100") == Listen("::1", 9100)
    for text in ("", "port", "1:2:3", "70000", "-1", ":80"):
        with pytest.raises(UsageError, match="is no port"):
            parse_listen(text)


def test_a_port_that_is_taken(running, tmp_path):
    with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1 port {running.port}"):
        Endpoint(Values(tmp_path).document, Listen("127.0.0.1", running.port))
